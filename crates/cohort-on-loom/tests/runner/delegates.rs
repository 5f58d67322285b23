//! The models of every delegate in the catalogue, by its capabilities.

use super::bounds::{ENDING_2, PARK, PARK_3, SPIN, TICKING, TICKING_3};
use super::models::{Model, deep, lighter, quick};
use crate::checks::{Checked, Standard};
use crate::delegate_clients as delegate;
use crate::locks::delegation::InTwoForms;

macro_rules! owed {
    ($models:ident, $name:ident, $delegate:ty, [$($can:ident),*]) => {{
        type Least = <$delegate as Checked>::Smallest;
        const STANDARD: Standard = <$delegate as Checked>::STANDARD;
        if STANDARD.as_in.is_none() {
            $models.extend([
                quick(concat!(stringify!($name), "::spin"), SPIN, || {
                    delegate::runs::<Least>(2, 1, 0);
                }),
                quick(concat!(stringify!($name), "::spin_only"), SPIN, || {
                    delegate::runs::<<Least as InTwoForms>::Spinning>(2, 1, 0);
                }),
                quick(concat!(stringify!($name), "::park"), PARK_3, || {
                    delegate::runs::<Least>(2, 1, 0);
                }),
                quick(concat!(stringify!($name), "::three"), STANDARD.within(PARK), || {
                    delegate::runs::<Least>(3, 1, 0);
                }),
                lighter(concat!(stringify!($name), "::again"), PARK_3, || {
                    delegate::runs::<Least>(2, 2, 0);
                }),
                quick(concat!(stringify!($name), "::here"), STANDARD.within(PARK), || {
                    delegate::runs::<Least>(3, 1, 2);
                }),
                quick(concat!(stringify!($name), "::destroyed"), STANDARD.within(PARK), || {
                    delegate::is_destroyed::<Least>(2, 0);
                }),
                quick(concat!(stringify!($name), "::destroyed_spin_only"), STANDARD.within(SPIN), || {
                    delegate::is_destroyed::<<Least as InTwoForms>::Spinning>(2, 0);
                }),
                lighter(concat!(stringify!($name), "::destroyed_three"), STANDARD.within(PARK), || {
                    delegate::is_destroyed::<Least>(3, 1);
                }),
                quick(concat!(stringify!($name), "::gone"), STANDARD.within(ENDING_2), || {
                    delegate::runs::<Least>(3, 1, 0);
                }),
                quick(concat!(stringify!($name), "::inside"), STANDARD.within(PARK), || {
                    delegate::serves_nobody_inside::<Least>(2);
                }),
                deep(concat!(stringify!($name), "::three_again"), STANDARD.within(PARK), || {
                    delegate::runs::<Least>(3, 2, 1);
                }),
            ]);
            $(owed!(@$can $models, $name, Least, STANDARD);)*
        }
    }};
    (@Attended $models:ident, $name:ident, $least:ty, $standard:ident) => {};
    (@Tunable $models:ident, $name:ident, $least:ty, $standard:ident) => {};
    (@TryDelegate $models:ident, $name:ident, $least:ty, $standard:ident) => {
        $models.push(quick(concat!(stringify!($name), "::try"), PARK, || {
            delegate::is_tried::<$least>(2, 1, 1);
        }));
    };
    (@AbortableDelegate $models:ident, $name:ident, $least:ty, $standard:ident) => {
        $models.extend([
            quick(concat!(stringify!($name), "::timed"), TICKING_3, || {
                delegate::lets_go::<$least>(2, 1, 1, 0);
            }),
            quick(concat!(stringify!($name), "::timed_three"), $standard.within(TICKING), || {
                delegate::lets_go::<$least>(3, 1, 1, 0);
            }),
            quick(concat!(stringify!($name), "::destroyed_timed"), $standard.within(TICKING), || {
                delegate::is_destroyed_within::<$least>(2, 1);
            }),
        ]);
    };
}

macro_rules! all {
    ($($name:ident, $delegate:ty, $about:literal, $source:literal, $can:tt;)+) => {{
        let mut models = Vec::new();
        $(owed!(models, $name, $delegate, $can);)+
        models
    }};
}

/// All models, in the catalogue's order.
pub fn models() -> Vec<Model> {
    cohort_on_loom::for_each_delegate!(all)
}
