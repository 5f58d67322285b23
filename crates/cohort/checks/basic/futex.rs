//! Checks of `futex`.

use crate::runner::prelude::*;

impl Checked for Futex {
    type Smallest = Self;
}

looked_for_in!["futex::", "condvar::"];

models![
    quick("futex::park_deeper", PARK_3, || {
        mutex::excludes::<Futex>(3, 1, 0)
    }),
    quick("futex::try_deeper", PARK_3, || {
        mutex::excludes::<Futex>(3, 1, 1)
    }),
    quick("futex::again_deeper", PARK_3, || {
        mutex::excludes::<Futex>(2, 2, 0)
    }),
    quick("futex::handed_over", IMPATIENT, || {
        mutex::excludes::<Futex>(3, 1, 0)
    }),
    quick("futex::handed_over_again", IMPATIENT, || {
        mutex::excludes::<Futex>(2, 2, 0)
    }),
    quick("futex::handed_over_timed", IMPATIENT, || {
        mutex::lets_go::<Futex>(3, 1, 1)
    }),
    quick("futex::timed_again", TICKING, || {
        mutex::remembers::<Futex>([false, true, false])
    }),
    quick("futex::remembers", TICKING, || {
        mutex::remembers::<Futex>([true, true, false])
    }),
    quick("futex::timed_by_two", TICKING, || {
        mutex::lets_go::<Futex>(3, 2, 2)
    }),
    lighter("futex::three_again", PARK_3, || {
        mutex::excludes::<Futex>(3, 2, 0)
    }),
    quick("futex::four", PARK, || mutex::excludes::<Futex>(4, 1, 0)),
    quick("futex::quick_three_again", QUIET_1, || {
        mutex::excludes::<Futex>(3, 2, 0)
    }),
    quick("futex::visits", VISITS, || {
        mutex::excludes::<Futex>(3, 1, 0)
    }),
    quick("futex::visits_again", VISITS, || {
        mutex::excludes::<Futex>(2, 2, 0)
    }),
    quick("futex::visits_spin", SPIN_VISITS, || {
        mutex::excludes::<Futex>(3, 1, 0)
    }),
    quick("futex::visits_timed", VISITS_TICK, || {
        mutex::lets_go::<Futex>(3, 1, 1)
    }),
    quick("futex::visits_handed_over", VISITS_IMPATIENT, || {
        mutex::excludes::<Futex>(3, 1, 0)
    }),
    quick("futex::visits_quick", VISITS_QUIET, || {
        mutex::excludes::<Futex>(2, 2, 0)
    }),
    quick("futex::visits_destroyed", VISITS, || {
        destroy::is_destroyed::<Futex>(2)
    }),
    quick("futex::turns", TURNS, || mutex::excludes::<Futex>(3, 1, 0)),
    quick("futex::turns_again", TURNS, || {
        mutex::excludes::<Futex>(2, 2, 0)
    }),
    quick("futex::turns_try", TURNS_END, || {
        mutex::excludes::<Futex>(3, 1, 1)
    }),
    quick("futex::turns_timed", TURNS_TICK, || {
        mutex::lets_go::<Futex>(3, 1, 2)
    }),
    quick("futex::turns_destroyed", TURNS_END, || {
        destroy::is_destroyed::<Futex>(2)
    }),
    lighter("futex::turns_end", TURNS_END, || {
        mutex::excludes::<Futex>(3, 1, 0)
    }),
    quick("futex::turns_end_again", TURNS_END, || {
        mutex::excludes::<Futex>(2, 2, 0)
    }),
    quick("futex::turns_end_four", TURNS_END_1, || {
        mutex::excludes::<Futex>(4, 1, 0)
    }),
    lighter("futex::turns_end_timed", TURNS_END, || {
        mutex::lets_go::<Futex>(3, 1, 1)
    }),
    quick("futex::turns_starved", TURNS_STARVED, || {
        mutex::excludes::<Futex>(3, 1, 0)
    }),
    quick("futex::turns_starved_timed", TURNS_STARVED, || {
        mutex::lets_go::<Futex>(3, 1, 2)
    }),
    lighter("futex::turns_led_in_order", TURNS_END, || {
        pairs::lead_in_order()
    }),
    deep("futex::turns_left", TURNS_LEFT, || {
        mutex::remembers::<Futex>([false, true, false])
    }),
    quick("futex::turns_end_quick", QUIET_TURNS, || {
        mutex::excludes::<Futex>(2, 2, 0)
    }),
    lighter("futex::turns_end_quick_three", QUIET_TURNS, || {
        mutex::excludes::<Futex>(3, 1, 0)
    }),
    quick("futex::quick", QUIET, || {
        mutex::excludes::<Futex>(2, 2, 0);
    }),
    quick("futex::quick_three", QUIET, || {
        mutex::excludes::<Futex>(3, 1, 0);
    }),
    quick("futex::quick_timed", QUIET, || {
        mutex::lets_go::<Futex>(3, 1, 1);
    }),
    quick("futex::quick_destroyed", QUIET, || {
        destroy::is_destroyed::<Futex>(2);
    }),
    quick("futex::fair", PARK_3, || {
        mutex::excludes::<mutex::Fairly<Futex>>(3, 1, 0)
    }),
    quick("futex::fair_again", PARK, || {
        mutex::excludes::<mutex::Fairly<Futex>>(2, 2, 1)
    }),
    quick("futex::fair_timed", TICKING, || {
        mutex::lets_go::<mutex::Fairly<Futex>>(3, 1, 1)
    }),
    quick("futex::fair_turns", TURNS_END_1, || {
        mutex::excludes::<mutex::Fairly<Futex>>(3, 1, 0)
    }),
    quick("futex::fair_quick", QUIET_1, || {
        mutex::excludes::<mutex::Fairly<Futex>>(3, 1, 0)
    }),
    quick("fork::futex_turns", FORK_TURNS, || {
        fork::holds(fork::bare::<Futex>(), 3)
    }),
    quick("fork::futex_turns_beside", FORK_TURNS, || {
        fork::looks_on(fork::bare::<Futex>(), 3)
    }),
    quick("fork::futex_turns_multiplies", FORK_TURNS, || {
        fork::multiplies(fork::bare::<Futex>(), 2);
    }),
    quick("futex::visit_endless_handed_over", PAIR, || {
        pairs::meet::<Futex>(AcquireBy::Visit, Limit::Endless, Free::HandedOver);
    }),
    lighter("futex::visit_endless_turn", PAIR_TURNS, || {
        pairs::meet::<Futex>(AcquireBy::Visit, Limit::Endless, Free::Usual);
    }),
    quick("futex::visit_endless_quick", PAIR_QUIET, || {
        pairs::meet::<Futex>(AcquireBy::Visit, Limit::Endless, Free::Usual);
    }),
    quick("futex::visit_endless_revoked", PAIR_QUIET_1, || {
        pairs::meet::<Futex>(AcquireBy::Visit, Limit::Endless, Free::Twice);
    }),
    quick("futex::visit_timed_handed_over", PAIR, || {
        pairs::meet::<Futex>(AcquireBy::Visit, Limit::Deadline, Free::HandedOver);
    }),
    lighter("futex::visit_timed_turn", PAIR_TURNS, || {
        pairs::meet::<Futex>(AcquireBy::Visit, Limit::Deadline, Free::Usual);
    }),
    quick("futex::visit_timed_quick", PAIR_QUIET, || {
        pairs::meet::<Futex>(AcquireBy::Visit, Limit::Deadline, Free::Usual);
    }),
    quick("futex::visit_timed_revoked", PAIR_QUIET_1, || {
        pairs::meet::<Futex>(AcquireBy::Visit, Limit::Deadline, Free::Twice);
    }),
    quick("futex::visit_cancelled_handed_over", PAIR, || {
        pairs::meet::<Futex>(AcquireBy::Visit, Limit::Cancelled, Free::HandedOver);
    }),
    quick("futex::visit_cancelled_turn", PAIR_TURNS_1, || {
        pairs::meet::<Futex>(AcquireBy::Visit, Limit::Cancelled, Free::Usual);
    }),
    quick("futex::visit_cancelled_quick", PAIR_QUIET_1, || {
        pairs::meet::<Futex>(AcquireBy::Visit, Limit::Cancelled, Free::Usual);
    }),
    quick("futex::visit_cancelled_revoked", PAIR_QUIET_1, || {
        pairs::meet::<Futex>(AcquireBy::Visit, Limit::Cancelled, Free::Twice);
    }),
    quick("futex::often_endless_handed_over", PAIR, || {
        pairs::meet::<Futex>(AcquireBy::Often, Limit::Endless, Free::HandedOver);
    }),
    quick("futex::often_endless_turn", PAIR_TURNS_1, || {
        pairs::meet::<Futex>(AcquireBy::Often, Limit::Endless, Free::Usual);
    }),
    quick("futex::often_endless_quick", PAIR_QUIET, || {
        pairs::meet::<Futex>(AcquireBy::Often, Limit::Endless, Free::Usual);
    }),
    quick("futex::often_endless_revoked", PAIR_QUIET_1, || {
        pairs::meet::<Futex>(AcquireBy::Often, Limit::Endless, Free::Twice);
    }),
    quick("futex::often_timed_handed_over", PAIR, || {
        pairs::meet::<Futex>(AcquireBy::Often, Limit::Deadline, Free::HandedOver);
    }),
    quick("futex::often_timed_turn", PAIR_TURNS_1, || {
        pairs::meet::<Futex>(AcquireBy::Often, Limit::Deadline, Free::Usual);
    }),
    quick("futex::often_timed_quick", PAIR_QUIET, || {
        pairs::meet::<Futex>(AcquireBy::Often, Limit::Deadline, Free::Usual);
    }),
    quick("futex::often_timed_revoked", PAIR_QUIET_1, || {
        pairs::meet::<Futex>(AcquireBy::Often, Limit::Deadline, Free::Twice);
    }),
    quick("futex::often_cancelled_handed_over", PAIR, || {
        pairs::meet::<Futex>(AcquireBy::Often, Limit::Cancelled, Free::HandedOver);
    }),
    quick("futex::often_cancelled_turn", PAIR_TURNS_1, || {
        pairs::meet::<Futex>(AcquireBy::Often, Limit::Cancelled, Free::Usual);
    }),
    quick("futex::often_cancelled_quick", PAIR_QUIET_1, || {
        pairs::meet::<Futex>(AcquireBy::Often, Limit::Cancelled, Free::Usual);
    }),
    quick("futex::often_cancelled_revoked", PAIR_QUIET_1, || {
        pairs::meet::<Futex>(AcquireBy::Often, Limit::Cancelled, Free::Twice);
    }),
    quick("futex::moved_endless_handed_over", PAIR, || {
        pairs::meet::<Futex>(AcquireBy::Moved, Limit::Endless, Free::HandedOver);
    }),
    quick("futex::moved_endless_turn", PAIR_TURNS_1, || {
        pairs::meet::<Futex>(AcquireBy::Moved, Limit::Endless, Free::Usual);
    }),
    quick("futex::moved_endless_quick", PAIR_QUIET_1, || {
        pairs::meet::<Futex>(AcquireBy::Moved, Limit::Endless, Free::Usual);
    }),
    quick("futex::moved_endless_revoked", PAIR_QUIET_1, || {
        pairs::meet::<Futex>(AcquireBy::Moved, Limit::Endless, Free::Twice);
    }),
    quick("futex::moved_timed_handed_over", PAIR, || {
        pairs::meet::<Futex>(AcquireBy::Moved, Limit::Deadline, Free::HandedOver);
    }),
    quick("futex::moved_timed_turn", PAIR_TURNS_1, || {
        pairs::meet::<Futex>(AcquireBy::Moved, Limit::Deadline, Free::Usual);
    }),
    quick("futex::moved_timed_quick", PAIR_QUIET_1, || {
        pairs::meet::<Futex>(AcquireBy::Moved, Limit::Deadline, Free::Usual);
    }),
    quick("futex::moved_timed_revoked", PAIR_QUIET_1, || {
        pairs::meet::<Futex>(AcquireBy::Moved, Limit::Deadline, Free::Twice);
    }),
    quick("futex::moved_late_endless_handed_over", PAIR, || {
        pairs::meet::<Futex>(AcquireBy::MovedLate, Limit::Endless, Free::HandedOver);
    }),
    quick("futex::moved_late_timed_handed_over", PAIR, || {
        pairs::meet::<Futex>(AcquireBy::MovedLate, Limit::Deadline, Free::HandedOver);
    }),
    lighter("futex::often_endless_turn_beside_visit", PAIR_TURNS, || {
        pairs::meet::<Futex>(AcquireBy::OftenBesideVisit, Limit::Endless, Free::Usual);
    }),
    lighter("futex::often_timed_turn_beside_visit", PAIR_TURNS, || {
        pairs::meet::<Futex>(AcquireBy::OftenBesideVisit, Limit::Deadline, Free::Usual);
    }),
    deep("futex::deep", PARK, || mutex::excludes::<Futex>(3, 2, 0)),
];

on_machine! {
    _ => [
        || mutex::excludes::<Futex>(3, 2, 0),
        || mutex::excludes::<Futex>(4, 4, 0),
        few("futex_lets_go"),
        few("condvar_signals"),
        few("condvar_broadcasts"),
    ];
}
