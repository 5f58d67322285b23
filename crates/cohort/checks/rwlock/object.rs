//! Checks of rwlocks hosted as in programs.

use crate::runner::prelude::*;

/// A rwlock in an object, its readers in its word until two cohorts meet.
type Nameless<W> = Beginning<W, true, NAMELESS>;

/// [`Nameless`], with readers in a table.
type Named<W> = Beginning<W, true, NAMED>;

looked_for_in!["fork::rw_object"];

models![
    quick("rw_object::park", PARK_1, || {
        rwlock::shares_without_recursion::<Nameless<Ticket>>(3, 1, 1);
    }),
    deep("rw_object::writers", PARK_1, || {
        rwlock::shares::<Nameless<Mcs>>(3, 2, 1, 0);
    }),
    quick("rw_object::is_named", PARK_1, || {
        rwlock::is_read_on::<Nameless<Ticket>>(1);
    }),
    deep("rw_object::meet", PARK_1, || {
        rwlock::shares::<Nameless<Ticket>>(3, 1, 2, 0);
    }),
    lighter("rw_object::named", PARK, || {
        rwlock::shares_without_recursion::<Named<Ticket>>(3, 1, 1);
    }),
    quick("rw_object::named_spin", SPIN_1, || {
        rwlock::shares::<Named<Ticket>>(3, 1, 1, 0);
    }),
    deep("rw_object::named_writers", PARK_1, || {
        rwlock::shares::<Named<Mcs>>(3, 2, 1, 0);
    }),
    lighter("rw_object::named_again", PARK, || {
        rwlock::shares::<Named<Mcs>>(2, 1, 2, 0);
    }),
    quick("rw_object::readers", PARK_3, || {
        rwlock::shares::<Nameless<Ticket>>(3, 0, 2, 0);
    }),
    quick("rw_object::crowded", PARK_1, || {
        rwlock::shares::<Beginning<Ticket, true, CROWDED>>(3, 1, 1, 0);
    }),
    quick("rw_object::read_again", PARK, || {
        rwlock::is_read_again::<Named<Ticket>>(1);
    }),
    quick("rw_object::beside_another", PARK, || {
        rwlock::is_read_beside_another::<Nameless<Ticket>>(2, 1);
    }),
    lighter("rw_object::try", SPIN, || {
        rwlock::is_tried::<Named<Ticket>>(3, 1);
    }),
    quick("rw_object::timed", PARK_1, || {
        rwlock::lets_go::<Named<Ticket>>(3, 1, 1, 1);
    }),
    lighter("rw_object::timed_writers", PARK_1, || {
        rwlock::lets_go::<Nameless<Mcs>>(3, 2, 1, 2);
    }),
    // A leaving writer must not count as a writer for which another left the lock closed.
    lighter("rw_object::abandoned", PARK_4, || {
        let writers = host::inflated_abandonable::<Tas>();
        host::is_claimed(object::hosted(writers), 2, 1, [Some(1)]);
    }),
    quick("rw_object::deference", IMPATIENT_1, || {
        rwlock::shares::<Beginning<Ticket, false, NAMED>>(3, 1, 1, 0);
    }),
    quick("fork::rw_object", FORK, || {
        fork::holds(object::hosted(host::in_place::<Ticket>()), 2)
    }),
    lighter("fork::rw_object_written", FORK_3, || {
        fork::writes(object::hosted(host::in_place::<Tas>()), 2)
    }),
    quick("fork::rw_object_of_futex", FORK, || {
        fork::holds(object::hosted(fork::bare::<Futex>()), 2)
    }),
    quick("fork::rw_object_of_futex_beside", FORK_2, || {
        fork::looks_on_grants(object::hosted(fork::bare::<Futex>()), 2)
    }),
    quick("fork::rw_object_read", FORK, || {
        fork::reads(object::hosted(host::in_place::<Tas>()), 2)
    }),
    quick("fork::rw_object_tried", FORK_IMPATIENT, || {
        fork::tries(object::hosted(host::in_place::<Tas>()), 2)
    }),
    quick("fork::rw_object_multiplies", FORK_0, || {
        fork::multiplies(object::hosted(host::in_place::<Tas>()), 2)
    }),
    quick("fork::rw_object_beside", FORK_2, || {
        fork::looks_on_grants(object::hosted(host::in_place::<Tas>()), 2)
    }),
    lighter("fork::rw_object_written_beside_another", FORK_2, || {
        fork::writes_beside_another(
            object::hosted(host::in_place::<Tas>()),
            host::Host::try_lock,
        )
    }),
    quick("fork::rw_object_meets_a_reader", FORK_2, || {
        fork::meets_a_reader(object::hosted(host::in_place::<Tas>()))
    }),
    quick("fork::rw_object_inflated", FORK, || {
        fork::holds(object::hosted(host::inflated::<Anderson<2>>()), 2)
    }),
];

on_machine! {
    _ => [
        few("object_readers_give_way"),
        few("object_readers_share"),
        few("object_of_a_composition"),
    ];
}
