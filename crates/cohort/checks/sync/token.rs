//! Checks of tokens; each lock with timed waiters has models with one, too.

use crate::runner::prelude::*;

looked_for_in!["token::"];

models![
    quick("token::spinner", SPIN, || {
        mutex::is_cancelled::<Ttas<MayPark>>(2);
    }),
    quick("token::sleeper", PARK_3, || {
        mutex::is_cancelled::<Ttas<MayPark>>(2);
    }),
    quick("token::sleepers", PARK_1, || {
        mutex::is_cancelled::<Ttas<MayPark>>(3);
    }),
    quick("token::sleeper_in_queue", PARK, || {
        mutex::is_cancelled::<HmcsT1<MayPark>>(2);
    }),
    quick("token::first_of_two", PARK, || {
        mutex::is_cancelled_by_either::<Ttas<MayPark>>(0);
    }),
    quick("token::second_of_two", PARK, || {
        mutex::is_cancelled_by_either::<Ttas<MayPark>>(1);
    }),
    quick("token::then_let_go", PARK, || {
        mutex::is_cancelled_or_granted::<Ttas<MayPark>>(2, true);
    }),
    quick("token::let_go_then", PARK, || {
        mutex::is_cancelled_or_granted::<HmcsT1<MayPark>>(2, false);
    }),
    quick("token::or_deadline", SPIN_LATER, || {
        // In this form releases are exchanges: see `a_clh`.
        mutex::is_cancelled_or_late::<Ttas<MayPark>>();
    }),
    quick("token::or_deadline_in_queue", SPIN_LATER_1, || {
        mutex::is_cancelled_or_late::<HmcsT1<SpinOnly>>();
    }),
    deep("token::three", PARK_1, || {
        mutex::is_cancelled_or_granted::<HmcsT1<MayPark>>(3, false);
    }),
];

on_machine! {
    _ => [few("token_cancels")];
}
