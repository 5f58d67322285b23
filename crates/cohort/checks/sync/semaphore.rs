//! Checks of semaphores over a mutex without a queue: the default lock has models of its own.

use crate::runner::prelude::*;

models![
    quick("semaphore::excludes", PARK, || by_word(|| {
        semaphore::excludes(2, 1)
    })),
    quick("semaphore::spin", SPIN, || by_word(|| semaphore::excludes(
        2, 1
    ))),
    quick("semaphore::admits", PARK_1, || by_word(|| {
        semaphore::admits(3, 2)
    })),
    quick("semaphore::tried", PARK, || by_word(
        || semaphore::is_tried(2)
    )),
    quick("semaphore::added", PARK, || by_word(|| {
        semaphore::adds_for_all(3)
    })),
    quick("semaphore::loses_none", PARK_1, || {
        by_word(|| semaphore::loses_no_permit(2));
    }),
    lighter("semaphore::three", PARK_1, || by_word(|| {
        semaphore::excludes(3, 1)
    })),
];

on_machine! {
    _ => [few("semaphore_excludes"), few("semaphore_gives_up")];
}
