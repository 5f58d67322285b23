//! The models that every lock of the catalogue has, by what it says that it can do.
//!
//! A lock that is new in the catalogue has them too, as the type that stands there; if that is
//! too large for loom, [`smallest!`] has a smaller one.

use super::models::{FORK, Model, PARK, SPIN, SmallACBoBo, SmallACBoClh, SmallAhmcs};
use super::models::{SmallAnderson, SmallCna, SmallHmcs};
use super::models::{SmallHmcsT, SmallNear, SmallPtl, deep, quick};
use crate::clients::{destroy, host, mutex};
use crate::fork_clients as fork;
use crate::locks::door::Model as Bounds;
use crate::locks::wait::MayPark;

/// The form of a lock that has the fewest steps, slots and cohorts, so that few threads share
/// what many would.
macro_rules! smallest {
    (ptl, $lock:ty) => { SmallPtl };
    (anderson, $lock:ty) => { SmallAnderson };
    (cna, $lock:ty) => { SmallCna<MayPark> };
    (near, $lock:ty) => { SmallNear<MayPark> };
    (hmcs_2, $lock:ty) => { SmallHmcs<MayPark> };
    (hmcs_t_2, $lock:ty) => { SmallHmcsT<MayPark> };
    (ahmcs_3, $lock:ty) => { SmallAhmcs<MayPark> };
    (a_c_bo_bo, $lock:ty) => { SmallACBoBo<MayPark> };
    (a_c_bo_clh, $lock:ty) => { SmallACBoClh<MayPark> };
    ($name:ident, $lock:ty) => { $lock };
}

/// A model's bounds, with one preemption fewer for locks with many steps.
macro_rules! within {
    (hmcs_t_1, $bounds:expr) => { within!(@fewer $bounds) };
    (hmcs_t_2, $bounds:expr) => { within!(@fewer $bounds) };
    (a_c_bo_bo, $bounds:expr) => { within!(@fewer $bounds) };
    (a_c_bo_clh, $bounds:expr) => { within!(@fewer $bounds) };
    (@fewer $bounds:expr) => { Bounds { preemptions: 1, ..$bounds } };
    ($name:ident, $bounds:expr) => { $bounds };
}

/// Adds a lock's models to a list.
macro_rules! owed {
    // Trees of other heights, and compositions: the models of `hmcs_2` and `ahmcs_3` and those
    // named `hmcs`, `ahmcs` and `clof` are of the same code.
    ($models:ident, hmcs_3, $($rest:tt)*) => {};
    ($models:ident, hmcs_4, $($rest:tt)*) => {};
    ($models:ident, hmcs_4_package, $($rest:tt)*) => {};
    ($models:ident, hmcs_t_3, $($rest:tt)*) => {};
    ($models:ident, hmcs_t_4, $($rest:tt)*) => {};
    ($models:ident, ahmcs_4, $($rest:tt)*) => {};
    ($models:ident, c_bo_bo, $($rest:tt)*) => {};
    ($models:ident, c_tkt_tkt, $($rest:tt)*) => {};
    ($models:ident, c_ptl_tkt, $($rest:tt)*) => {};
    ($models:ident, c_bo_mcs, $($rest:tt)*) => {};
    ($models:ident, c_tkt_mcs, $($rest:tt)*) => {};
    ($models:ident, c_mcs_mcs, $($rest:tt)*) => {};

    ($models:ident, $name:ident, $lock:ty, $placement:ident, [$($capability:ident),*]) => {
        $models.extend([
            quick(concat!(stringify!($name), "::spin"), within!($name, SPIN), || {
                mutex::excludes::<smallest!($name, $lock)>(3, 1, 0);
            }),
            quick(concat!(stringify!($name), "::park"), within!($name, PARK), || {
                mutex::excludes::<smallest!($name, $lock)>(3, 1, 0);
            }),
            quick(concat!(stringify!($name), "::again"), within!($name, PARK), || {
                mutex::excludes::<smallest!($name, $lock)>(2, 2, 0);
            }),
        ]);
        owed!(@destroyed $models, $name, $lock);
        owed!(@$placement $models, $name, $lock);
        $(owed!(@$capability $models, $name, $lock);)*
    };

    // A release of these touches the lock, or its nodes, after another thread may have destroyed it, so no host
    // has them in an object.
    (@destroyed $models:ident, anderson, $lock:ty) => {};
    (@destroyed $models:ident, fc_mcs, $lock:ty) => {};
    (@destroyed $models:ident, hmcs_2, $lock:ty) => {};
    (@destroyed $models:ident, hmcs_t_1, $lock:ty) => {};
    (@destroyed $models:ident, hmcs_t_2, $lock:ty) => {};
    (@destroyed $models:ident, ahmcs_3, $lock:ty) => {};
    (@destroyed $models:ident, a_c_bo_bo, $lock:ty) => {};
    (@destroyed $models:ident, a_c_bo_clh, $lock:ty) => {};
    (@destroyed $models:ident, $name:ident, $lock:ty) => {
        $models.push(quick(concat!(stringify!($name), "::destroyed"), PARK, || {
            destroy::is_destroyed::<smallest!($name, $lock)>(2);
        }));
    };

    (@RawTry $models:ident, $name:ident, $lock:ty) => {
        $models.push(quick(concat!(stringify!($name), "::try"), within!($name, SPIN), || {
            mutex::excludes::<smallest!($name, $lock)>(3, 1, 2);
        }));
    };
    (@Abortable $models:ident, $name:ident, $lock:ty) => {
        $models.extend([
            quick(concat!(stringify!($name), "::timed"), within!($name, PARK), || {
                mutex::lets_go::<smallest!($name, $lock)>(3, 1, 1);
            }),
            quick(concat!(stringify!($name), "::timed_spin"), within!($name, SPIN), || {
                mutex::lets_go::<smallest!($name, $lock)>(3, 1, 1);
            }),
        ]);
    };
    // What these promise shows in every model, or on the simulated machine only.
    (@BoundedAbort $($rest:tt)*) => {};
    (@ThreadOblivious $($rest:tt)*) => {};
    (@DetectsWaiters $($rest:tt)*) => {};
    (@Fair $($rest:tt)*) => {};
    // Its host forks.
    (@Inherit $($rest:tt)*) => {};

    (@Word $models:ident, $name:ident, $lock:ty) => {
        $models.extend([
            quick(concat!("fork::", stringify!($name)), FORK, || {
                fork::holds(fork::bare::<smallest!($name, $lock)>(), 2);
            }),
            deep(concat!("fork::", stringify!($name), "_three"), FORK, || {
                fork::holds(fork::bare::<smallest!($name, $lock)>(), 3);
            }),
        ]);
    };
    (@InPlace $models:ident, $name:ident, $lock:ty) => {
        owed!(@hosted in_place $models, $name, $lock);
    };
    (@Inflated $models:ident, $name:ident, $lock:ty) => {
        owed!(@hosted inflated $models, $name, $lock);
    };
    (@Apart $models:ident, $name:ident, $lock:ty) => {
        owed!(@hosted inflated $models, $name, $lock);
    };
    // A host could have it, though no program's does.
    (@Nowhere $models:ident, $name:ident, $lock:ty) => {
        owed!(@hosted in_place $models, $name, $lock);
    };
    (@hosted $host:ident $models:ident, $name:ident, $lock:ty) => {
        $models.extend([
            quick(concat!(stringify!($host), "::", stringify!($name)), PARK, || {
                host::excludes(host::$host::<smallest!($name, $lock)>(), 2, 2, 0);
            }),
            quick(concat!("fork::", stringify!($name)), FORK, || {
                fork::holds(host::$host::<smallest!($name, $lock)>(), 2);
            }),
            deep(concat!("fork::", stringify!($name), "_three"), FORK, || {
                fork::holds(host::$host::<smallest!($name, $lock)>(), 3);
            }),
        ]);
    };
}

macro_rules! all {
    ($($name:ident, $lock:ty, $placement:ident, [$($alias:literal),*], $about:literal,
       $source:literal, $capabilities:tt;)+) => {{
        let mut models = Vec::new();
        $(owed!(models, $name, $lock, $placement, $capabilities);)+
        models
    }};
}

/// All of them, in the catalogue's order.
pub fn models() -> Vec<Model> {
    cohort_on_loom::for_each_lock!(all)
}
