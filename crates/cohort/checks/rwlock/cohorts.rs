//! Checks of rwlocks whose readers are counted by cohort.

use crate::runner::prelude::*;

/// Readers of two cohorts, a basic lock for writers, and no preference.
type Neutral<W> = CohortRw<W, true, Numa, 0, 2>;

/// [`Neutral`], with preferred writers.
type WritersFirst<W> = CohortRw<W, false, Numa, 1, 2>;

looked_for_in!["rw_cohorts::", "rw_cohorts_w::"];

models![
    quick("rw_cohorts::read_again", PARK, || {
        rwlock::is_read_again::<Neutral<Ticket>>(1);
    }),
    quick("rw_cohorts::read_again_spin", SPIN, || {
        rwlock::is_read_again::<Neutral<Ticket>>(1);
    }),
    quick("rw_cohorts::beside_another", PARK, || {
        rwlock::is_read_beside_another::<Neutral<Ticket>>(2, 1);
    }),
    quick("rw_cohorts::try", SPIN, || {
        rwlock::is_tried::<Neutral<Ticket>>(3, 1);
    }),
    lighter("rw_cohorts::timed_again", PARK, || {
        rwlock::lets_go::<Neutral<Ticket>>(2, 1, 2, 1);
    }),
    lighter("rw_cohorts::lets_writers_go", PARK, || {
        rwlock::lets_writers_go::<Neutral<Ticket>>(2, 2);
    }),
    quick("rw_cohorts::timed_writer", PARK, || {
        rwlock::lets_go::<Neutral<Ticket>>(2, 2, 1, 1);
    }),
    quick("rw_cohorts::timed_both", PARK, || {
        rwlock::lets_go::<Neutral<Ticket>>(2, 1, 1, 2);
    }),
    quick("rw_cohorts::lets_readers_in", SPIN_1, || {
        rwlock::lets_readers_in::<Mcs, true, 0, 2>(1);
    }),
    quick("rw_cohorts::spin", SPIN_1, || {
        rwlock::shares::<Neutral<Ticket>>(3, 1, 1, 0);
    }),
    quick("rw_cohorts::park", PARK_1, || {
        rwlock::shares::<Neutral<Ticket>>(3, 1, 1, 0);
    }),
    lighter("rw_cohorts::strictly", PARK, || {
        rwlock::shares_without_recursion::<Neutral<Ticket>>(3, 1, 1);
    }),
    quick("rw_cohorts::writers", SPIN_1, || {
        rwlock::shares::<Neutral<Mcs>>(3, 2, 1, 0);
    }),
    lighter("rw_cohorts::writers_park", PARK, || {
        rwlock::shares_without_recursion::<Neutral<Mcs>>(3, 2, 1);
    }),
    lighter("rw_cohorts::again", PARK, || {
        rwlock::shares::<Neutral<Mcs>>(2, 1, 2, 0);
    }),
    quick("rw_cohorts::timed", PARK_1, || {
        rwlock::lets_go::<Neutral<Ticket>>(3, 1, 1, 1);
    }),
    quick("rw_cohorts::timed_writers", PARK_1, || {
        rwlock::lets_go::<Neutral<Mcs>>(3, 2, 1, 2);
    }),
    quick("rw_cohorts::composition", SPIN_1, || {
        rwlock::shares::<Neutral<Small<Ticket<SpinOnly>, Mcs<SpinOnly>>>>(3, 2, 1, 0);
    }),
    quick("rw_cohorts_w::spin", SPIN_1, || {
        rwlock::shares::<WritersFirst<Mcs>>(3, 2, 1, 0);
    }),
    quick("rw_cohorts_w::park", PARK_1, || {
        rwlock::shares_without_recursion::<WritersFirst<Mcs>>(3, 2, 1);
    }),
    quick("rw_cohorts_w::deference", IMPATIENT_1, || {
        rwlock::shares::<WritersFirst<Ticket>>(3, 1, 1, 0);
    }),
    quick("rw_cohorts_w::read_again", PARK, || {
        rwlock::is_read_again::<WritersFirst<Ticket>>(1);
    }),
    quick("rw_cohorts_w::lets_readers_in", IMPATIENT_1, || {
        rwlock::lets_readers_in::<Mcs, false, 0, 2>(1);
    }),
];
