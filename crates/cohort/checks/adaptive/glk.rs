//! Checks of `glk` and `glk-plus`; in some, each critical section changes the mode.

use crate::runner::prelude::*;

impl Checked for Glk {
    type Smallest = Self;
    const STANDARD: Standard = Standard {
        fewer: 1,
        fewer_hosted: 2,
        ..ALL
    };
}

impl Checked for GlkPlus {
    type Smallest = Self;
    const STANDARD: Standard = Standard {
        fewer: 1,
        fewer_hosted: 2,
        ..ALL
    };
}

models![
    quick("glk::changes", SPIN_1, || {
        by_word(|| mutex::excludes::<Forwards>(3, 1, 0));
    }),
    quick("glk::changes_back", PARK_1, || {
        by_word(|| mutex::excludes::<Backwards>(3, 1, 0));
    }),
    quick("glk::comes_back_changed", SPIN_1, || {
        by_word(|| mutex::takes_turns::<ToAndFro, _>([2, 1]));
    }),
    lighter("glk::to_and_fro", SPIN_1, || {
        by_word(|| mutex::takes_turns::<ToAndFro, _>([2, 1, 1]));
    }),
    lighter("glk::again_changed", PARK, || {
        by_word(|| mutex::takes_turns::<Forwards, _>([2, 2]));
    }),
    quick("glk::tries", SPIN_1, || {
        by_word(|| mutex::excludes::<Forwards>(3, 1, 2));
    }),
    quick("glk::comes_round", SPIN_1, || by_word(|| {
        glk::comes_round(3)
    })),
    quick("glk::is_free", SPIN, || by_word(
        glk::is_free_for_a_try::<Forwards>
    )),
    quick("glk::destroyed_changed", PARK, || {
        by_word(|| destroy::is_destroyed::<Forwards>(2));
    }),
    quick("glk::inflated", PARK_1, || {
        by_word(|| host::excludes(host::inflated_adapting::<Backwards>(), 2, 2, 0));
    }),
    quick("glk::inflated_in_a_crowd", PARK_1, || {
        by_word(|| host::excludes(host::inflated_adapting::<InAndOut>(), 2, 2, 0));
    }),
    // Threads take the inflated lock ahead of a sleeper, and again after the object has dropped it.
    quick("glk::passes", PARK, || {
        by_word(|| host::excludes(host::inflated_adapting::<InMutex>(), 2, 3, 0));
    }),
    quick("glk::passes_on_two_cpus", TWO_CPUS, || {
        by_word(|| host::excludes(host::inflated_adapting::<InMutex>(), 2, 3, 0));
    }),
    // A handler takes the inflated lock ahead of its own waiting thread, at each step of the
    // arrival.
    quick("glk::interrupted", PARK_1, || {
        FutexHmcs::never_queue();
        arrivals::is_arrived_at(host::inflated_adapting::<InMutex>, |moment, handler, it| {
            door::interrupted_at_step(moment, handler, it)
        });
    }),
    quick("glk::passes_by_three", TWO_CPUS_1, || {
        by_word(|| host::excludes(host::inflated_adapting::<InMutex>(), 3, 1, 0));
    }),
    // With the mutex's queue: its waiters may acquire a mode that the lock has left.
    quick("glk::queue", SPIN_0, || {
        mutex::takes_turns::<InAndOut, _>([2, 1]);
    }),
    quick("glk::forked", FORK, || {
        by_word(fork::holds_changed::<Forwards>);
    }),
];

on_machine! {
    _ => [
        few("glk_changes"),
        few("glk_changes_back"),
        few("glk_tries"),
    ];
}
