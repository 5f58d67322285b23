//! Checks of `glk` and `glk-plus`: in some of them it changes its mode at each section.

use crate::runner::prelude::*;

impl Checked for Glk {
    type Smallest = Self;
    const STANDARD: Standard = Standard {
        fewer: 1,
        fewer_hosted: 1,
        ..ALL
    };
}

impl Checked for GlkPlus {
    type Smallest = Self;
    const STANDARD: Standard = Standard {
        fewer: 1,
        fewer_hosted: 1,
        ..ALL
    };
}

models![
    quick("glk::changes", SPIN_1, || {
        mutex::excludes::<Forwards>(3, 1, 0);
    }),
    quick("glk::changes_back", PARK_1, || {
        mutex::excludes::<Backwards>(3, 1, 0);
    }),
    quick("glk::comes_back_changed", SPIN_1, || {
        mutex::takes_turns::<ToAndFro, _>([2, 1]);
    }),
    lighter("glk::to_and_fro", SPIN_1, || {
        mutex::takes_turns::<ToAndFro, _>([2, 1, 1]);
    }),
    lighter("glk::again_changed", PARK, || {
        mutex::takes_turns::<Forwards, _>([2, 2]);
    }),
    quick("glk::tries", SPIN_1, || {
        mutex::excludes::<Forwards>(3, 1, 2);
    }),
    quick("glk::comes_round", SPIN_1, || glk::comes_round(3)),
    quick("glk::is_free", SPIN, glk::is_free_for_a_try::<Forwards>),
    quick("glk::destroyed_changed", PARK, || {
        destroy::is_destroyed::<Forwards>(2);
    }),
    quick("glk::inflated", PARK_1, || {
        host::excludes(host::inflated::<Backwards>(), 2, 2, 0);
    }),
    quick("glk::forked", FORK, || {
        fork::holds_changed::<Forwards>();
    }),
];

on_machine! {
    _ => [
        few("glk_changes"),
        few("glk_changes_back"),
        few("glk_tries"),
    ];
}
