//! Checks of `rcl`; the models of `sanl` cover faults between its threads, too.

use crate::runner::prelude::*;

as_in! { "sanl": Rcl }

models![
    quick("rcl::alone", PARK, || delegate::runs::<Rcl>(2, 1, 0)),
    quick("rcl::alone_here", PARK_1, || delegate::runs::<Rcl>(3, 1, 1)),
    lighter("rcl::attended", PARK, || delegate::is_attended::<Rcl>(
        2, 1, 0
    )),
    lighter("rcl::attended_spin", SPIN, || delegate::is_attended::<Rcl>(
        2, 1, 0
    )),
    lighter(
        "rcl::attended_again",
        PARK_1,
        || delegate::is_attended::<Rcl>(2, 2, 0)
    ),
    quick("rcl::attended_here", PARK, || delegate::is_attended::<Rcl>(
        2, 1, 1
    )),
    quick("rcl::destroyed", PARK, || delegate::is_destroyed::<Rcl>(
        2, 1
    )),
    quick("rcl::timed", TICKING, || delegate::lets_go::<Rcl>(
        2, 1, 1, 0
    )),
    quick("rcl::attended_timed", TICKING_1, || {
        delegate::is_attended_within::<Rcl>(2, 1)
    }),
    quick("rcl::brought_by_its_server", PARK_1, || {
        delegate::is_brought_by_its_server::<Rcl>()
    }),
    deep(
        "rcl::attended_both",
        PARK_1,
        || delegate::is_attended::<Rcl>(3, 1, 1)
    ),
    deep(
        "rcl::attended_three",
        PARK_1,
        || delegate::is_attended::<Rcl>(3, 1, 0)
    ),
];
