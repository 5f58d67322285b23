//! Guarantees of every readers–writer lock to readers beside waiting writers.

use crate::runner::prelude::*;

/// Readers of two cohorts, and a basic lock for writers.
type ByCohort<const NEUTRAL: bool> = CohortRw<Ticket, NEUTRAL, Numa, 0, 2>;

/// A rwlock in an object, with readers in its word or in a table.
type InObject<const NEUTRAL: bool, const NAME: u32> = Beginning<Ticket, NEUTRAL, NAME>;

looked_for_in!["rw_deference::", "rwlock::read_again"];

/// Each guarantee for each lock, except for tries alone: loom lets them read old values again and
/// again. The stress test covers those.
macro_rules! promises {
    ($($name:literal: $lock:ty),+ $(,)?) => {
        models![$(
            quick(concat!("rw_deference::tried_for_another::", $name), PARK, || {
                rwlock::is_read_for_another::<$lock>(false);
            }),
            quick(concat!("rw_deference::hurriedly_for_another::", $name), PARK, || {
                rwlock::is_read_for_another::<$lock>(true);
            }),
        )+];
    };
}
promises! {
    "rwlock": RawRwLock,
    "rw_cohorts": ByCohort<true>,
    "rw_cohorts_w": ByCohort<false>,
    "rw_object": InObject<true, NAMELESS>,
    "rw_object_named": InObject<true, NAMED>,
    "rw_object_w": InObject<false, NAMELESS>,
}

on_machine! {
    _ => [
        few("rwlock_is_read_again_at_last"),
        few("cohorts_are_read_again_at_last"),
        few("rwlock_is_read_for_another"),
        few("cohorts_are_read_for_another"),
    ];
}
