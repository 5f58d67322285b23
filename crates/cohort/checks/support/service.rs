//! Checks of the table of locks by address.

use crate::runner::prelude::*;

looked_for_in!["gls::"];

models![
    quick("gls::first_users", SPIN, || service::excludes::<Tas, _>([
        &[1],
        &[1]
    ])),
    quick("gls::grows", SPIN_1, || {
        service::excludes::<Tas, _>([&[1, 2, 3][..], &[3, 2]])
    }),
    quick("gls::splits", SPIN_1, || {
        service::excludes::<Tas, _>([&[1, 2, 3, 4][..], &[4, 1]])
    }),
    deep("gls::three", SPIN_1, || {
        service::excludes::<Tas, _>([&[1, 3][..], &[2, 3], &[3]])
    }),
    lighter("gls::frees", SPIN, || service::frees::<Tas>(1)),
    // The locks change their modes at each critical section, unnoticed by waiting threads.
    quick("gls::first_users_adapt", SPIN_1, || {
        by_word(|| service::excludes::<Noted<Forwards>, _>([&[1, 1], &[1]]));
    }),
    lighter("gls::frees_adapting", SPIN_1, || {
        by_word(|| service::frees::<Noted<Forwards>>(1));
    }),
    quick("gls::is_found", SPIN_1, || service::is_found([2, 3, 4])),
    lighter("gls::keeps_order", SPIN, service::keeps_order),
    quick(
        "gls::unlocked_elsewhere",
        SPIN,
        service::is_unlocked_elsewhere
    ),
    quick("gls::clears", SPIN, || service::clears(1)),
    quick("gls::reserves", SPIN_1, || service::reserves(4)),
    quick("gls::is_of_one_kind", SPIN, service::is_of_one_kind),
    quick("gls::forks", FORK, fork::puts_keys),
];

on_machine! {
    _ => [
        few("gls_excludes"),
        few("gls_frees"),
        few("gls_frees_adapting"),
        few("gls_keeps_order"),
        few("gls_is_unlocked_elsewhere"),
        few("gls_is_found"),
        few("gls_clears"),
        few("gls_reserves"),
        few("gls_is_of_one_kind"),
    ];
}
