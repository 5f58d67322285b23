//! The models that every delegate of the catalogue has, by what it says that it can do.

use super::models::{ENDING, FORK_0, Model, PARK, PARK_3, SPIN, TICKING, TICKING_3, deep, quick};
use crate::delegate_clients::{
    self as delegate, Apart, Bringing, Chained, Hastily, Patiently, Voting,
};
use crate::fork_clients as fork;
use crate::locks::basic::Mcs;
use crate::locks::delegation::{CcSynch, InTwoForms, Sanl};
use crate::locks::door::Model as Bounds;
use crate::locks::wait::MayPark;

/// Threads that end leave something behind.
const ENDING_2: Bounds = Bounds {
    preemptions: 2,
    ..ENDING
};
/// The same, for clients that switch threads by themselves.
const ENDING_0: Bounds = Bounds {
    preemptions: 0,
    ..ENDING
};
/// For clients with many steps.
const PARK_1: Bounds = Bounds {
    preemptions: 1,
    ..PARK
};
/// The same, where deadlines pass.
const TICKING_1: Bounds = Bounds {
    preemptions: 1,
    ..TICKING
};

/// The form of a delegate that has the fewest steps.
macro_rules! smallest {
    (cc_synch, $delegate:ty) => { CcSynch<MayPark, 2> };
    (sanl, $delegate:ty) => { Sanl<Mcs, Voting> };
    ($name:ident, $delegate:ty) => { $delegate };
}

/// How three threads of a delegate are explored: less deeply, if they have many steps.
macro_rules! three {
    (sanl, $bounds:expr) => {
        Bounds {
            preemptions: 1,
            ..$bounds
        }
    };
    ($name:ident, $bounds:expr) => {
        $bounds
    };
}

macro_rules! owed {
    // What is theirs alone is in `SANL`.
    ($models:ident, sanl_flat, $($rest:tt)*) => {};
    ($models:ident, sanl_distance_first, $($rest:tt)*) => {};

    ($models:ident, $name:ident, $delegate:ty, [$($can:ident),*]) => {
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
            quick(concat!(stringify!($name), "::three"), three!($name, PARK), || {
                delegate::runs::<smallest!($name, $delegate)>(3, 1, 0);
            }),
            quick(concat!(stringify!($name), "::again"), PARK_3, || {
                delegate::runs::<smallest!($name, $delegate)>(2, 2, 0);
            }),
            quick(concat!(stringify!($name), "::here"), three!($name, PARK), || {
                delegate::runs::<smallest!($name, $delegate)>(3, 1, 2);
            }),
            quick(concat!(stringify!($name), "::gone"), three!($name, ENDING_2), || {
                delegate::runs::<smallest!($name, $delegate)>(3, 1, 0);
            }),
            deep(concat!(stringify!($name), "::three_again"), three!($name, PARK), || {
                delegate::runs::<smallest!($name, $delegate)>(3, 2, 1);
            }),
        ]);
        $(owed!(@$can $models, $name, $delegate);)*
    };
    (@TryDelegate $models:ident, $name:ident, $delegate:ty) => {
        $models.push(quick(concat!(stringify!($name), "::try"), PARK, || {
            delegate::is_tried::<smallest!($name, $delegate)>(2, 1, 1);
        }));
    };
    (@AbortableDelegate $models:ident, $name:ident, $delegate:ty) => {
        $models.extend([
            quick(concat!(stringify!($name), "::timed"), TICKING_3, || {
                delegate::lets_go::<smallest!($name, $delegate)>(2, 1, 1, 0);
            }),
            quick(concat!(stringify!($name), "::timed_three"), three!($name, TICKING), || {
                delegate::lets_go::<smallest!($name, $delegate)>(3, 1, 1, 0);
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

/// A `sanl` whose sections are all brought.
static SANL: &[Model] = &[
    quick("sanl::brings", PARK_3, || {
        delegate::runs::<Bringing<Patiently>>(2, 1, 0)
    }),
    quick("sanl::brings_spin", SPIN, || {
        delegate::runs::<Bringing<Patiently>>(2, 1, 0)
    }),
    quick("sanl::brings_again", PARK, || {
        delegate::runs::<Bringing<Patiently>>(2, 2, 0)
    }),
    quick("sanl::brings_and_takes", PARK_3, || {
        delegate::runs::<Bringing<Patiently>>(2, 1, 1)
    }),
    quick("sanl::brings_gone", ENDING_0, || {
        delegate::runs::<Bringing<Chained>>(3, 1, 0)
    }),
    quick("sanl::brings_late", TICKING_3, || {
        delegate::runs::<Bringing<Hastily>>(2, 1, 0)
    }),
    quick("sanl::brings_late_and_takes", TICKING_1, || {
        delegate::runs::<Bringing<Hastily>>(3, 1, 1)
    }),
    quick("sanl::brings_apart", TICKING, || {
        delegate::runs::<Bringing<Apart>>(2, 1, 0)
    }),
    quick("sanl::brings_timed", TICKING, || {
        delegate::lets_go::<Bringing<Patiently>>(2, 1, 1, 0)
    }),
    quick("sanl::brings_timed_and_takes", TICKING_1, || {
        delegate::lets_go::<Bringing<Patiently>>(3, 1, 1, 1)
    }),
    quick("sanl::panics", PARK, || {
        delegate::panics::<Bringing<Patiently>>(2)
    }),
    quick("sanl::brings_three", PARK_1, || {
        delegate::runs::<Bringing<Patiently>>(3, 1, 0)
    }),
    quick("fork::sanl_here", FORK_0, || {
        fork::drops_what_others_brought::<Bringing<Patiently>>(2)
    }),
    quick("fork::sanl_queued", FORK_0, || {
        fork::drops_what_others_brought::<Bringing<Hastily>>(2)
    }),
];

/// All of them, in the catalogue's order.
pub fn models() -> Vec<Model> {
    let mut models = cohort_on_loom::for_each_delegate!(all);
    models.extend_from_slice(SANL);
    models
}
