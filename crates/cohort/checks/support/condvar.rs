//! Checks of condition variables.

use crate::runner::prelude::*;

models![
    quick("condvar::signal", PARK, || {
        condvar::tells::<Futex>(2, 1, false, false);
    }),
    quick("condvar::signal_held", PARK, || {
        condvar::tells::<Futex>(2, 1, false, true);
    }),
    quick("condvar::signal_held_queued", PARK, || {
        condvar::tells::<Queued>(2, 1, false, true);
    }),
    quick("condvar::signal_two", PARK, || {
        condvar::tells::<Futex>(3, 1, false, false);
    }),
    quick("condvar::signal_two_held", PARK, || {
        condvar::tells::<Futex>(3, 1, false, true);
    }),
    quick("condvar::broadcast", PARK, || {
        condvar::tells::<Futex>(3, 1, true, false);
    }),
    quick("condvar::broadcast_held", PARK, || {
        condvar::tells::<Queued>(3, 1, true, true);
    }),
    quick("condvar::timed", PARK, || {
        condvar::spends_no_signal_on_a_waiter_that_gave_up::<Futex>(3, true, false);
    }),
    quick("condvar::cancelled", PARK, || {
        condvar::spends_no_signal_on_a_waiter_that_gave_up::<Queued>(3, false, true);
    }),
    quick("condvar::signal_looking", PARK_3, || {
        condvar::tells::<Looking>(2, 1, false, false);
    }),
    quick("condvar::broadcast_looking_held", PARK, || {
        condvar::tells::<Looking>(3, 1, true, true);
    }),
    quick("condvar::timed_looking", PARK, || {
        condvar::spends_no_signal_on_a_waiter_that_gave_up::<Looking>(3, true, false);
    }),
    quick("condvar::cancelled_looking", PARK, || {
        condvar::spends_no_signal_on_a_waiter_that_gave_up::<Looking>(3, false, true);
    }),
    quick("condvar::left", PARK, condvar::is_left::<Queued>),
    quick("condvar::left_looking", PARK, condvar::is_left::<Looking>),
    quick("condvar::destroyed_looking", PARK, || {
        condvar::is_destroyed::<Looking>(false);
    }),
    quick("condvar::destroyed", PARK, || {
        condvar::is_destroyed::<Futex>(false);
    }),
    quick("condvar::destroyed_queued", PARK, || {
        condvar::is_destroyed::<Queued>(false);
    }),
    quick("condvar::destroyed_by_broadcast", PARK, || {
        condvar::is_destroyed::<Futex>(true);
    }),
];

on_machine! {
    _ => [
        few("condvar_signals"),
        || condvar::spends_no_signal_on_a_waiter_that_gave_up::<Queued>(3, false, true),
    ];
}
