//! The models that every lock of the catalogue has, by what it says that it can do.
//!
//! A lock that is new in the catalogue has them too; its file in `crates/cohort/checks` says in
//! which form, and how deep they go.

use super::bounds::{FORK, PARK, SPIN};
use super::models::{Model, deep, quick};
use crate::checks::{Checked, Standard};
use crate::clients::{destroy, host, mutex};
use crate::fork_clients as fork;

/// Adds a lock's models to a list.
macro_rules! owed {
    ($models:ident, $name:ident, $lock:ty, $storage:ident, [$($capability:ident),*]) => {{
        type Lock = <$lock as Checked>::Smallest;
        const STANDARD: Standard = <$lock as Checked>::STANDARD;
        if STANDARD.as_in.is_none() {
            $models.extend([
                quick(concat!(stringify!($name), "::spin"), STANDARD.within(SPIN), || {
                    mutex::excludes::<Lock>(3, 1, 0);
                }).with_fewer(STANDARD.fewer),
                quick(concat!(stringify!($name), "::park"), STANDARD.within(PARK), || {
                    mutex::excludes::<Lock>(3, 1, 0);
                }).with_fewer(STANDARD.fewer),
                quick(concat!(stringify!($name), "::again"), STANDARD.within(PARK), || {
                    mutex::excludes::<Lock>(2, 2, 0);
                }).with_fewer(STANDARD.fewer),
            ]);
            if STANDARD.destroyed {
                $models.push(quick(concat!(stringify!($name), "::destroyed"), PARK, || {
                    destroy::is_destroyed::<Lock>(2);
                }));
            }
            owed!(@$storage $models, $name, Lock, STANDARD);
            $(owed!(@$capability $models, $name, Lock, STANDARD);)*
        }
    }};

    (@RawTry $models:ident, $name:ident, $lock:ty, $standard:ident) => {
        $models.push(quick(concat!(stringify!($name), "::try"), $standard.within(SPIN), || {
            mutex::excludes::<$lock>(3, 1, 2);
        }).with_fewer($standard.fewer));
    };
    (@Abortable $models:ident, $name:ident, $lock:ty, $standard:ident) => {
        $models.extend([
            quick(concat!(stringify!($name), "::timed"), $standard.within(PARK), || {
                mutex::lets_go::<$lock>(3, 1, 1);
            }).with_fewer($standard.fewer),
            quick(concat!(stringify!($name), "::timed_spin"), $standard.within(SPIN), || {
                mutex::lets_go::<$lock>(3, 1, 1);
            }).with_fewer($standard.fewer),
            quick(concat!(stringify!($name), "::cancelled"), $standard.within(PARK), || {
                mutex::is_cancelled::<$lock>(2);
            }),
            quick(concat!(stringify!($name), "::cancelled_or_granted"), $standard.within(PARK), || {
                mutex::is_cancelled_or_granted::<$lock>(2, true);
            }),
        ]);
    };
    // What these promise shows in every model, or on the simulated machine only.
    (@BoundedAbort $($rest:tt)*) => {};
    (@ThreadOblivious $($rest:tt)*) => {};
    (@DetectsWaiters $models:ident, $name:ident, $lock:ty, $standard:ident) => {
        $models.push(quick(concat!(stringify!($name), "::waiters"), $standard.within(SPIN), || {
            mutex::tells_no_lies_about_waiters::<$lock>(2);
        }).with_fewer($standard.fewer));
    };
    (@Fair $($rest:tt)*) => {};
    (@Inherit $models:ident, $name:ident, $lock:ty, $standard:ident) => {
        $models.extend([
            quick(concat!("inherited::", stringify!($name)), FORK, || {
                fork::is_inherited::<$lock>(2, true);
            }),
            quick(concat!("inherited_free::", stringify!($name)), FORK, || {
                fork::is_inherited::<$lock>(2, false);
            }),
        ]);
    };

    (@Word $models:ident, $name:ident, $lock:ty, $standard:ident) => {
        $models.extend([
            quick(concat!("fork::", stringify!($name)), FORK, || {
                fork::holds(fork::bare::<$lock>(), 2);
            }),
            deep(concat!("fork::", stringify!($name), "_three"), FORK, || {
                fork::holds(fork::bare::<$lock>(), 3);
            }),
        ]);
    };
    (@InPlace $models:ident, $name:ident, $lock:ty, $standard:ident) => {
        owed!(@hosted in_place $models, $name, $lock, $standard);
    };
    (@Inflated $models:ident, $name:ident, $lock:ty, $standard:ident) => {
        owed!(@hosted inflated $models, $name, $lock, $standard);
    };
    (@Apart $models:ident, $name:ident, $lock:ty, $standard:ident) => {
        owed!(@hosted inflated $models, $name, $lock, $standard);
    };
    // A host could have it, though no program's does.
    (@Nowhere $models:ident, $name:ident, $lock:ty, $standard:ident) => {
        owed!(@hosted in_place $models, $name, $lock, $standard);
    };
    (@hosted $host:ident $models:ident, $name:ident, $lock:ty, $standard:ident) => {
        $models.extend([
            quick(concat!(stringify!($host), "::", stringify!($name)), PARK, || {
                host::excludes(host::$host::<$lock>(), 2, 2, 0);
            }).with_fewer($standard.fewer_hosted),
            quick(concat!("fork::", stringify!($name)), FORK, || {
                fork::holds(host::$host::<$lock>(), 2);
            }),
            deep(concat!("fork::", stringify!($name), "_three"), FORK, || {
                fork::holds(host::$host::<$lock>(), 3);
            }),
        ]);
    };
}

macro_rules! all {
    ($($name:ident, $lock:ty, $storage:ident, [$($alias:literal),*], $about:literal,
       $source:literal, $capabilities:tt;)+) => {{
        let mut models = Vec::new();
        $(owed!(models, $name, $lock, $storage, $capabilities);)+
        models
    }};
}

macro_rules! each {
    ($($name:ident, $lock:ty, $storage:ident, [$($alias:literal),*], $about:literal,
       $source:literal, $capabilities:tt;)+) => {
        [$(<$lock as Checked>::STANDARD),+]
    };
}

/// All of them, in the catalogue's order.
pub fn models() -> Vec<Model> {
    cohort_on_loom::for_each_lock!(all)
}

/// What each lock of the catalogue has of them, in its order.
pub fn standards() -> impl Iterator<Item = Standard> {
    cohort_on_loom::for_each_lock!(each).into_iter()
}
