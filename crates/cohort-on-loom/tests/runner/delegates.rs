//! The models that every delegate of the catalogue has.

use super::models::{ENDING, Model, PARK, PARK_3, SPIN, deep, quick};
use crate::delegate_clients as delegate;
use crate::locks::delegation::{CcSynch, InTwoForms};
use crate::locks::door::Model as Bounds;
use crate::locks::wait::MayPark;

/// Threads that end leave something behind.
const ENDING_2: Bounds = Bounds {
    preemptions: 2,
    ..ENDING
};

/// The form of a delegate that has the fewest steps.
macro_rules! smallest {
    (cc_synch, $delegate:ty) => { CcSynch<MayPark, 2> };
    ($name:ident, $delegate:ty) => { $delegate };
}

macro_rules! owed {
    ($models:ident, $name:ident, $delegate:ty, $can:tt) => {
        $models.extend([
            quick(concat!(stringify!($name), "::spin"), SPIN, || {
                delegate::runs::<smallest!($name, $delegate)>(2, 1, 0);
            }),
            quick(concat!(stringify!($name), "::spin_only"), SPIN, || {
                delegate::runs::<<smallest!($name, $delegate) as InTwoForms>::Spinning>(2, 1, 0);
            }),
            quick(concat!(stringify!($name), "::park"), PARK_3, || {
                delegate::runs::<smallest!($name, $delegate)>(2, 1, 0);
            }),
            quick(concat!(stringify!($name), "::three"), PARK, || {
                delegate::runs::<smallest!($name, $delegate)>(3, 1, 0);
            }),
            quick(concat!(stringify!($name), "::again"), PARK_3, || {
                delegate::runs::<smallest!($name, $delegate)>(2, 2, 0);
            }),
            quick(concat!(stringify!($name), "::here"), PARK, || {
                delegate::runs::<smallest!($name, $delegate)>(3, 1, 2);
            }),
            quick(concat!(stringify!($name), "::gone"), ENDING_2, || {
                delegate::runs::<smallest!($name, $delegate)>(3, 1, 0);
            }),
            deep(concat!(stringify!($name), "::three_again"), PARK, || {
                delegate::runs::<smallest!($name, $delegate)>(3, 2, 1);
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

/// All of them, in the catalogue's order.
pub fn models() -> Vec<Model> {
    cohort_on_loom::for_each_delegate!(all)
}
