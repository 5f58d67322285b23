//! Checks of the admission gate in front of a lock.

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
    // Releases grant to waiters with deadlines.
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
    // The admitted thread tries, and so do others before they park.
    quick("gate::tries", TRIES_1, || {
        host::excludes(host::in_place::<Mcs>(), 3, 1, 0)
    }),
    quick("gate::tries_ticket", TRIES_1, || {
        host::excludes(host::in_place::<Ticket>(), 3, 1, 0)
    }),
    quick("gate::tries_inflated", TRIES_1, || {
        host::excludes(host::inflated::<Anderson<2>>(), 3, 1, 0)
    }),
    // Oversubscription does not affect correctness.
    quick("gate::scarce", PARK_1, || {
        Gate::expect_scarcity();
        host::excludes_in_scarcity(host::in_place::<Mcs>(), 3, 1)
    }),
    // Two slots: a holder wakes the last thread while one slot is taken.
    quick("gate::ahead", ABSENT_1, || {
        Gate::expect_scarcity();
        mutex::queues::<Gated<Mcs>, 4>([1; 4])
    }),
    // Preempted threads report oversubscription while others arrive and leave.
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
    // A signal handler runs while its thread is at the gate, or admitted but not queued.
    quick("gate::interrupted", PARK_1, || {
        arrivals::is_arrived_at(host::inflated_abandonable::<Tas>, |moment, handler, it| {
            door::interrupted_at_step(moment, handler, it)
        });
    }),
    // Or while its thread tries, or holds the lock after a try.
    quick("gate::interrupted_trying", TRIES_1, || {
        arrivals::is_arrived_at(arrivals::before_sleepers::<Tas>, |moment, handler, it| {
            door::interrupted_at_step(moment, handler, it)
        });
    }),
    // Two admitted threads leave at once while two are parked.
    lighter("gate::two_leave", PARK, gate::lets_all_in_when_two_leave),
    quick("fork::gate_in_scarcity", FORK, || {
        Gate::expect_scarcity();
        fork::holds(host::in_place::<Ticket>(), 3)
    }),
    deep("gate::again", PARK_1, || {
        host::excludes(host::in_place::<Ticket>(), 3, 2, 0)
    }),
];

on_machine! {
    "gate.forget-others" => [gate::lets_all_in_when_two_leave];
    _ => [few("ticket_in_place"), few("mcs_in_place"), few("mcs_in_scarcity")];
}
