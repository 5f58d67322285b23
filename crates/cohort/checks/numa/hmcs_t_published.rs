//! Checks of `hmcs-t-published`.

use crate::runner::prelude::*;

/// One queue.
type One<P> = HmcsTPublished<(), 0, 0, P>;

/// Two cohorts without hand-offs.
type Small<P> = HmcsTPublished<(Numa,), 2, 0, P, 1>;

/// [`Small`] below one cohort with all threads.
type Tall<P> = HmcsTPublished<(Numa, Whole), 2, 1, P, 2>;

/// [`Small`] without waiters that never time out, so that releasers leave nodes to late successors.
type Hurried<P> = super::hmcs_t::Endable<Small<P>>;

looked_for_in!["hmcs_t_published::"];

models![
    lighter("hmcs_t_published::excludes", SPIN, || {
        mutex::excludes::<One<SpinOnly>>(3, 1, 1);
    }),
    lighter("hmcs_t_published::two_levels", SPIN, || {
        mutex::excludes::<Small<SpinOnly>>(3, 1, 0);
    }),
    lighter("hmcs_t_published::leaves_nodes", SPIN, || {
        mutex::excludes::<Hurried<SpinOnly>>(3, 1, 0);
    }),
    lighter("hmcs_t_published::hurried_again", PARK, || {
        mutex::excludes::<Hurried<MayPark>>(2, 2, 0);
    }),
    quick("hmcs_t_published::lets_go", TICKING_3, || {
        mutex::lets_go::<One<MayPark>>(2, 1, 1);
    }),
    quick("hmcs_t_published::turns", SPIN_1, || {
        mutex::takes_turns::<Small<SpinOnly>, _>([2, 1]);
    }),
    quick("hmcs_t_published::park", PARK_1, || {
        mutex::excludes::<One<MayPark>>(2, 2, 0);
    }),
    quick("hmcs_t_published::two_let_go", SPIN_1, || {
        mutex::lets_go::<One<SpinOnly>>(3, 1, 2);
    }),
    quick("hmcs_t_published::all_let_go", SPIN_0, || {
        mutex::all_let_go::<One<SpinOnly>>(3);
    }),
    quick("hmcs_t_published::persists", SPIN_1, || {
        mutex::persists::<One<SpinOnly>>(2);
    }),
    quick("hmcs_t_published::comes_back", PARK_1, || {
        mutex::comes_back::<One<MayPark>>(2, 1, false);
    }),
    lighter("hmcs_t_published::another_comes", SPIN_1, || {
        mutex::comes_back::<One<SpinOnly>>(3, 1, true);
    }),
    lighter("hmcs_t_published::two_levels_let_go", SPIN_1, || {
        mutex::lets_go::<Small<SpinOnly>>(3, 1, 2);
    }),
    lighter("hmcs_t_published::two_levels_come_back", SPIN_1, || {
        mutex::comes_back::<Small<SpinOnly>>(3, 1, false);
    }),
    quick("hmcs_t_published::three_levels_let_go", SPIN_0, || {
        mutex::lets_go::<Tall<SpinOnly>>(3, 1, 2);
    }),
];

on_machine! {
    _ => [
        few("hmcs_t_published_excludes"),
        few("hmcs_t_published_lets_go"),
        few("hmcs_t_published_comes_back"),
        few("hmcs_t_published_lets_others_in"),
    ];
}
