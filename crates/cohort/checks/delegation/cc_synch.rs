//! Checks of `cc-synch`.

use crate::runner::prelude::*;

impl Checked for CcSynch {
    type Smallest = CcSynch<MayPark, 2>;
}

models![
    quick("cc_synch::made_again", PARK, || {
        delegate::is_made_again::<CcSynch<MayPark, 2>>(2)
    }),
    quick("cc_synch::locked", PARK_1, || {
        delegate::serves_nobody_locked::<CcSynch<MayPark, 2>>(2)
    }),
    quick("cc_synch::unlocks", PARK_1, || {
        delegate::unlocks_in_order_of_locking::<CcSynch<MayPark, 2>>(2)
    }),
    quick("cc_synch::tries_turns", PARK, || {
        delegate::turns_are_tried::<CcSynch<MayPark, 2>>(3, 2)
    }),
    quick("cc_synch::tries_again", PARK, || {
        delegate::is_tried::<CcSynch<MayPark, 2>>(2, 2, 1)
    }),
    quick("cc_synch::timed_again", TICKING, || {
        delegate::lets_go::<CcSynch<MayPark, 2>>(2, 2, 1, 0)
    }),
    quick("cc_synch::timed_both", TICKING, || {
        delegate::lets_go::<CcSynch<MayPark, 2>>(2, 1, 2, 0)
    }),
    quick("cc_synch::timed_and_takes", TICKING_1, || {
        delegate::lets_go::<CcSynch<MayPark, 2>>(3, 1, 1, 1)
    }),
];

on_machine! {
    _ => [
        few("cc_synch_hands_on"),
        few("cc_synch_is_inside"),
        few("cc_synch_is_locked"),
    ];
}
