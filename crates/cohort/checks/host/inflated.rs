//! Checks of inflated locks.

use crate::runner::prelude::*;

/// Patience that ends at a waiter's first sleep or unsuccessful look.
const LITTLE: Option<u64> = Some(1);

looked_for_in![
    "inflated::anderson",
    "inflated::three",
    "inflated::try",
    "inflated::ahead",
    "inflated::abandoned",
    "comers::",
    "glk::passes",
    "rw_object::abandoned",
    "fork::inflated",
    "fork::anderson"
];

models![
    lighter("inflated::three", PARK, || {
        host::excludes(host::inflated::<Anderson<2>>(), 3, 1, 0);
    }),
    lighter("inflated::try", PARK, || {
        host::excludes(host::inflated::<Anderson<2>>(), 3, 1, 1);
    }),
    // A waiter competes for the object before it inflates it.
    quick("inflated::few", TURNS, || {
        host::excludes(host::inflated::<Anderson<2>>(), 2, 2, 0);
    }),
    quick("inflated::ahead", PARK_3, || {
        migrating::looks_ahead::<Small<Hesitant<Mcs>, Ticket>>(|| ())
    }),
    // A waiter that times out may be the last user of the inflated lock, after the holder has
    // deregistered.
    quick("inflated::abandoned", PARK_3, || {
        host::is_claimed(host::inflated_abandonable::<Tas>(), 2, 2, [LITTLE]);
    }),
    quick("inflated::abandoned_by_two", PARK, || {
        host::is_claimed(host::inflated_abandonable::<Tas>(), 3, 1, [LITTLE; 2]);
    }),
    quick("inflated::abandoned_by_all", PARK, || {
        host::is_claimed_by_many(host::inflated_abandonable::<Tas>(), [LITTLE; 3]);
    }),
    quick("inflated::abandoned_queue", PARK, || {
        host::is_claimed(host::inflated_abandonable::<HmcsT1>(), 2, 1, [LITTLE]);
    }),
    quick("inflated::abandoned_queue_of_two", PARK_1, || {
        host::is_claimed(host::inflated_abandonable::<HmcsT1>(), 3, 1, [LITTLE; 2]);
    }),
    quick("fork::inflated_abandonable", FORK, || {
        fork::holds_what_is_claimed(host::inflated_abandonable::<Tas>(), 2);
    }),
    lighter("fork::inflated_ahead", FORK_3, || {
        migrating::looks_ahead::<Small<Hesitant<Ticket>, Ticket>>(door::fork)
    }),
    quick("fork::inflated_beside", FORK_2, || {
        fork::looks_on(host::inflated::<Anderson<2>>(), 3);
    }),
];

on_machine! {
    "inflated.take-anothers" => [few("glk_passes")];
    "inflated.count-past" => [few("glk_passes")];
    "inflated.believe-hurried" => [few("object_of_a_host_that_is_left")];
    _ => [few("anderson_inflated")];
}
