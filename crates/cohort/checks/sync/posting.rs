//! Checks of sections delegated by tasks.

use crate::runner::prelude::*;

models![
    quick("posting::mcs", PARK, || delegate::posts::<Mcs>(2, 1)),
    quick("posting::both", PARK, || delegate::posts::<Mcs>(2, 2)),
    quick("posting::cc_synch", PARK_1, || {
        delegate::posts::<CcSynch<MayPark, 2>>(2, 1)
    }),
    quick("posting::dropped", PARK, || {
        delegate::drops_what_it_posted::<Mcs>(2)
    }),
    quick("posting::inside", PARK_1, || {
        delegate::serves_no_task_inside::<CcSynch<MayPark, 2>>(2)
    }),
    quick("posting::three", PARK_1, || delegate::posts::<Mcs>(3, 2)),
    quick("posting::hurried", TICKING, || {
        delegate::posts_beside_hurried::<Tas>(2, 1)
    }),
];

on_machine! {
    _ => [
        few("posting_posts"),
        few("posting_drops"),
        few("posting_is_inside"),
        few("posting_hurried"),
    ];
}
