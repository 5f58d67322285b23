//! Checks of the rwlock of one word.

use crate::runner::prelude::*;

looked_for_in!["rwlock::"];

models![
    quick("rwlock::park", PARK, || {
        rwlock::shares::<RawRwLock>(3, 1, 1, 0)
    }),
    quick("rwlock::spin", SPIN, || {
        rwlock::shares::<RawRwLock>(3, 1, 1, 0)
    }),
    quick("rwlock::writers", PARK, || {
        rwlock::shares::<RawRwLock>(3, 2, 1, 0)
    }),
    quick("rwlock::again", PARK, || {
        rwlock::shares::<RawRwLock>(2, 1, 2, 0)
    }),
    quick("rwlock::reserved", IMPATIENT_2, || {
        rwlock::shares::<RawRwLock>(3, 1, 1, 0)
    }),
    quick("rwlock::turns", TURNS_END_1, || {
        rwlock::shares::<RawRwLock>(3, 1, 1, 0)
    }),
    quick("rwlock::timed_turns", TURNS_TICK, || {
        rwlock::lets_go::<RawRwLock>(3, 2, 1, 1)
    }),
    quick("rwlock::timed", PARK, || {
        rwlock::lets_go::<RawRwLock>(3, 1, 1, 1)
    }),
    quick("rwlock::timed_writer", PARK, || {
        rwlock::lets_go::<RawRwLock>(2, 2, 1, 1)
    }),
    quick("rwlock::timed_writer_of_three", PARK, || {
        rwlock::lets_go::<RawRwLock>(3, 3, 1, 1)
    }),
    quick("rwlock::try", PARK, || rwlock::is_tried::<RawRwLock>(3, 1)),
    quick("rwlock::read_again", PARK, || {
        rwlock::is_read_again::<RawRwLock>(1)
    }),
];

on_machine! {
    _ => [few("readers_share"), few("readers_and_writers_let_go")];
}
