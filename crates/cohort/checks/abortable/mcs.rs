//! Checks of `mcs` as a low lock with timed waiters.

use super::bo::OneCohort;
use crate::runner::prelude::*;

looked_for_in!["a_mcs::"];

models![
    quick("a_mcs::lets_go", PARK, || {
        mutex::lets_go::<OneCohort<AMcs<MayPark>>>(2, 1, 1);
    }),
    quick("a_mcs::comes_back", SPIN, || {
        mutex::comes_back::<OneCohort<AMcs<MayPark>>>(2, 1, false);
    }),
    lighter("a_mcs::three", SPIN_1, || {
        mutex::lets_go::<OneCohort<AMcs<MayPark>>>(3, 1, 1);
    }),
    deep("a_mcs::two_let_go", SPIN_1, || {
        mutex::lets_go::<OneCohort<AMcs<MayPark>>>(3, 1, 2);
    }),
    quick("a_mcs::lets_go_later", SPIN_LATER_1, || {
        mutex::lets_go::<OneCohort<AMcs<SpinOnly>>>(2, 1, 1);
    }),
    quick("a_mcs::comes_back_late", SPIN_0, || {
        mutex::comes_back_late::<OneCohort<AMcs<MayPark>>>();
    }),
    deep("a_mcs::passes_over", SPIN_1, || {
        mutex::passes_over::<OneCohort<AMcs<MayPark>>>();
    }),
    quick("a_mcs::cut_off_by_a_fork", SPIN_0, || {
        mutex::begins_anew_after_a_fork::<AMcs<MayPark>>();
    }),
    quick("a_mcs::again", SPIN_1, || {
        mutex::excludes::<OneCohort<AMcs<MayPark>>>(2, 2, 0);
    }),
];

on_machine! {
    _ => [few("a_mcs_lets_go")];
}
