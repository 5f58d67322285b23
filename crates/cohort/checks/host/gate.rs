//! Checks of the gate before a lock.

use crate::runner::prelude::*;

models![
    lighter("gate::mcs", PARK, || {
        host::excludes(host::in_place::<Mcs>(), 3, 1, 0)
    }),
    lighter("gate::ticket", PARK_1, || {
        host::excludes(host::in_place::<Ticket>(), 3, 1, 0)
    }),
    lighter("gate::four", PARK_1, || {
        host::excludes(host::in_place::<Mcs>(), 4, 1, 0)
    }),
    quick("gate::gated", PARK_1, || {
        mutex::excludes::<Gated<Ticket>>(3, 1, 0)
    }),
    // Waiters with deadlines are handed what holders have.
    quick("gate::gated_timed", DUE_1, || {
        mutex::lets_go::<Gated<Ticket>>(3, 1, 1)
    }),
    quick("gate::gated_all_timed", DUE_1, || {
        mutex::lets_go::<Gated<Ticket>>(2, 2, 1)
    }),
    quick("gate::gated_cancelled", DUE_1, || {
        mutex::is_cancelled_or_granted::<Gated<Ticket>>(2, true)
    }),
    quick("gate::impatient", IMPATIENT_1, || {
        host::excludes(host::in_place::<Mcs>(), 3, 1, 0)
    }),
    // The one inside tries, and so do those outside before they sleep.
    quick("gate::tries", TRIES_1, || {
        host::excludes(host::in_place::<Mcs>(), 3, 1, 0)
    }),
    quick("gate::tries_ticket", TRIES_1, || {
        host::excludes(host::in_place::<Ticket>(), 3, 1, 0)
    }),
    quick("gate::tries_inflated", TRIES_1, || {
        host::excludes(host::inflated::<Anderson<2>>(), 3, 1, 0)
    }),
    // Whether CPUs are scarce changes nothing of how it is in and out.
    quick("gate::scarce", PARK_1, || {
        Gate::expect_scarcity();
        host::excludes_in_scarcity(host::in_place::<Mcs>(), 3, 1)
    }),
    // Two places: a holder wakes the last one while one of them is taken.
    quick("gate::ahead", ABSENT_1, || {
        Gate::expect_scarcity();
        mutex::queues::<Gated<Mcs>, 4>([1; 4])
    }),
    // Those that find their CPUs lost say so while others come and go.
    quick("gate::becomes_scarce", PARK_ABSENT, || {
        mutex::takes_turns::<Gated<Ticket>, _>([2, 1, 1])
    }),
    quick("gate::destroyed_in_scarcity", PARK_1, || {
        Gate::expect_scarcity();
        destroy::is_destroyed::<Gated<Ticket>>(3)
    }),
    quick("gate::claimed_in_scarcity", DUE_1, || {
        Gate::expect_scarcity();
        host::is_claimed(host::in_place::<Ticket>(), 3, 1, [Some(1)]);
    }),
    quick("gate::inflated_in_scarcity", PARK_1, || {
        Gate::expect_scarcity();
        host::excludes(host::inflated::<Anderson<2>>(), 3, 1, 0)
    }),
    // A signal handler comes while its thread is at the gate, or inside of it and not in line yet.
    quick("gate::interrupted", PARK_1, || {
        arrivals::is_arrived_at(host::inflated_abandonable::<Tas>, |moment, handler, it| {
            door::interrupted_at_step(moment, handler, it)
        });
    }),
    // Or while its thread tries, or has the lock by that.
    quick("gate::interrupted_trying", TRIES_1, || {
        arrivals::is_arrived_at(arrivals::before_sleepers::<Tas>, |moment, handler, it| {
            door::interrupted_at_step(moment, handler, it)
        });
    }),
    // Two that are inside leave at once, and two sleep.
    lighter("gate::two_leave", PARK, pairs::lets_all_in_when_two_leave),
    // Threads that are counted by an addition, some of them one too many.
    lighter("gate::wide", PARK, pairs::lets_all_in_that_arrive_at_once),
    quick("fork::gate_in_scarcity", FORK, || {
        Gate::expect_scarcity();
        fork::holds(host::in_place::<Ticket>(), 3)
    }),
    deep("gate::again", PARK_1, || {
        host::excludes(host::in_place::<Ticket>(), 3, 2, 0)
    }),
];

on_machine! {
    _ => [few("ticket_in_place"), few("mcs_in_place"), few("mcs_in_scarcity")];
}
