//! Checks of `hmcs-t`.

use crate::runner::prelude::*;

/// Two cohorts and no hand-off.
type SmallHmcsT<P> = HmcsT<(Numa,), 2, 0, P, 1>;

impl Checked for HmcsT1 {
    type Smallest = Self;
    const STANDARD: Standard = Standard {
        preemptions: 1,
        destroyed: false,
        ..ALL
    };
}

impl Checked for HmcsT2 {
    type Smallest = SmallHmcsT<MayPark>;
    const STANDARD: Standard = Standard {
        preemptions: 1,
        destroyed: false,
        ..ALL
    };
}

as_in! { "hmcs_t_2": HmcsT3, HmcsT4 }

looked_for_in!["hmcs_t_1::", "hmcs_t_2::", "hmcs_t::", "fork::hmcs_t"];

models![
    deep("hmcs_t::turns", SPIN_1, || {
        mutex::takes_turns::<SmallHmcsT<SpinOnly>, _>([2, 1, 1]);
    }),
    quick("hmcs_t::two_let_go", SPIN_1, || {
        mutex::lets_go::<HmcsT1<SpinOnly>>(3, 1, 2);
    }),
    quick("hmcs_t::leaves_its_own", SPIN, || {
        mutex::comes_by::<SmallHmcsT<SpinOnly>>(3, SmallHmcsT::acquire_among_others);
    }),
    quick("hmcs_t::all_let_go", SPIN_0, || {
        mutex::all_let_go::<HmcsT1<SpinOnly>>(3);
    }),
    quick("hmcs_t::lets_go", TICKING_3, || {
        mutex::lets_go::<HmcsT1<MayPark>>(2, 1, 1);
    }),
    quick("hmcs_t::comes_back", PARK, || {
        mutex::comes_back::<HmcsT1<MayPark>>(2, 1, false);
    }),
    quick("hmcs_t::another_comes", SPIN_1, || {
        mutex::comes_back::<HmcsT1<SpinOnly>>(3, 1, true);
    }),
    deep("hmcs_t::two_levels_come_back", SPIN_1, || {
        mutex::comes_back::<SmallHmcsT<SpinOnly>>(3, 1, false);
    }),
    quick("hmcs_t::two_levels_two_let_go", SPIN_1, || {
        mutex::lets_go::<SmallHmcsT<SpinOnly>>(3, 1, 2);
    }),
];

on_machine! {
    _ => [
        few("hmcs_t_lets_go"),
        few("hmcs_t_comes_back"),
        few("hmcs_t_of_three_levels"),
        few("hmcs_t_lets_others_in"),
    ];
}
