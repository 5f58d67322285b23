//! Checks of compositions with timed waiters.

use crate::runner::prelude::*;

/// A composition with one hand-off.
pub type SmallAClof<Low, High> = AClof<Low, High, Numa, 1, 2>;

/// Three levels with three different locks, and three cores; the first and the third are
/// neighbours.
type TallAClof = AClof<AClh<SpinOnly>, SmallAClof<ABo<SpinOnly>, HmcsT1<SpinOnly>>, Core, 1, 3>;

/// Three levels, the lower two with the same cohorts: a waiter that times out at the top holds both
/// locks of its neighbour's cohorts.
type StayingAClof = SmallAClof<AClh<SpinOnly>, SmallAClof<ABo<SpinOnly>, HmcsT1<SpinOnly>>>;

looked_for_in!["aclof::"];

models![
    quick("aclof::two_contexts", SPIN_1, || {
        mutex::excludes::<SmallAClof<ABo<SpinOnly>, AClh<SpinOnly>>>(3, 1, 0);
    }),
    quick("aclof::lets_go_above", SPIN_1, || {
        mutex::lets_go::<SmallAClof<AClh<SpinOnly>, AClh<SpinOnly>>>(3, 1, 1);
    }),
    quick("aclof::below_hmcs_t", SPIN_1, || {
        mutex::lets_go::<SmallAClof<AClh<SpinOnly>, HmcsT1<SpinOnly>>>(3, 1, 1);
    }),
    lighter("aclof::lets_go_above_later", SPIN_LATER_1, || {
        mutex::lets_go::<SmallAClof<AClh<SpinOnly>, AClh<SpinOnly>>>(3, 1, 1);
    }),
    quick("aclof::all_let_go_later", SPIN_LATER_0, || {
        mutex::all_let_go::<SmallAClof<AClh<MayPark>, AClh<MayPark>>>(3);
    }),
    lighter("aclof::below_hmcs_t_later", SPIN_LATER_1, || {
        mutex::lets_go::<SmallAClof<AClh<SpinOnly>, HmcsT1<SpinOnly>>>(3, 1, 1);
    }),
    quick("aclof::dropped_while_held", SPIN_0, || {
        returned::gives_all_back::<SmallAClof<AMcs<SpinOnly>, HmcsT1<SpinOnly>>>(3, 2, true);
    }),
    quick("aclof::dropped", SPIN_0, || {
        returned::gives_all_back::<SmallAClof<AMcs<SpinOnly>, HmcsT1<SpinOnly>>>(3, 2, false);
    }),
    quick("aclof::three_levels", SPIN_1, || {
        mutex::lets_go::<TallAClof>(3, 1, 1);
    }),
    quick("aclof::three_levels_two_let_go", SPIN_1, || {
        mutex::lets_go::<TallAClof>(3, 1, 2);
    }),
    quick("aclof::outlasts_a_neighbour", SPIN_1, || {
        mutex::outlasts_a_neighbour::<StayingAClof>();
    }),
    quick("aclof::stays", SPIN_1, || {
        mutex::lets_go::<StayingAClof>(3, 1, 1);
    }),
    deep("aclof::stays_and_others_let_go", SPIN_1, || {
        mutex::lets_go::<StayingAClof>(3, 1, 2);
    }),
    lighter("aclof::stays_later", SPIN_LATER_1, || {
        mutex::lets_go::<StayingAClof>(3, 1, 1);
    }),
    quick("aclof::stays_and_comes_back", SPIN_0, || {
        mutex::comes_back::<StayingAClof>(3, 2, false);
    }),
    quick("aclof::stays_beside_a_try", SPIN_1, || {
        mutex::lets_go_beside_a_try::<StayingAClof>(3, 1, 1);
    }),
];

on_machine! {
    "aclof.keep-for-ever" => [keeps_to_its_hand_offs];
    "aclof.stay-for-ever" => [hands_few_waits_on];
    _ => [few("aclof_of_three_levels")];
}
