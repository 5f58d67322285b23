//! The models that every lock of the catalogue has, by what it says that it can do.
//!
//! A lock that is new in the catalogue has them too; its file in `crates/cohort/checks` says in
//! which form, and how deep they go.

use super::bounds::{FORK, PARK, SPIN};
use super::models::{Model, deep, quick};
use crate::checks::{Checked, Standard};
use crate::clients::{destroy, host, mutex};
use crate::fork_clients as fork;
use crate::locks::door::Model as Bounds;
use crate::locks::host::Served;
use crate::locks::{Abortable, DetectsWaiters, Inherit, QuickRelease, RawTry};

/// The models of one lock, added to a list.
struct OfLock<'a> {
    models: &'a mut Vec<Model>,
    name: &'static str,
    standard: Standard,
}

impl OfLock<'_> {
    /// The name of a model in the lock's own group. The list exists once in a process.
    fn own(&self, what: &str) -> &'static str {
        format!("{}::{what}", self.name).leak()
    }

    /// The name of the lock's model in a group of such models.
    fn under(&self, what: &str) -> &'static str {
        format!("{what}::{}", self.name).leak()
    }

    /// Adds a model within the lock's bounds.
    fn within(&mut self, what: &str, bounds: Bounds, fewer: usize, client: fn()) {
        let model = quick(self.own(what), self.standard.within(bounds), client);
        self.models.push(model.with_fewer(fewer));
    }

    fn every<L: RawTry + 'static>(&mut self) {
        let fewer = self.standard.fewer;
        self.within("spin", SPIN, fewer, || mutex::excludes::<L>(3, 1, 0));
        self.within("park", PARK, fewer, || mutex::excludes::<L>(3, 1, 0));
        self.within("again", PARK, fewer, || mutex::excludes::<L>(2, 2, 0));
        if self.standard.destroyed {
            let client = || destroy::is_destroyed::<L>(2);
            self.models.push(quick(self.own("destroyed"), PARK, client));
        }
    }

    fn tried<L: RawTry + 'static>(&mut self) {
        let fewer = self.standard.fewer;
        self.within("try", SPIN, fewer, || mutex::excludes::<L>(3, 1, 2));
    }

    fn abortable<L: Abortable + 'static>(&mut self) {
        let fewer = self.standard.fewer;
        self.within("timed", PARK, fewer, || mutex::lets_go::<L>(3, 1, 1));
        self.within("timed_spin", SPIN, fewer, || mutex::lets_go::<L>(3, 1, 1));
        self.within("cancelled", PARK, 0, || mutex::is_cancelled::<L>(2));
        self.within("cancelled_or_granted", PARK, 0, || {
            mutex::is_cancelled_or_granted::<L>(2, true);
        });
    }

    fn detects_waiters<L: DetectsWaiters + 'static>(&mut self) {
        let fewer = self.standard.fewer;
        self.within("waiters", SPIN, fewer, || {
            mutex::tells_no_lies_about_waiters::<L>(2);
        });
    }

    fn inherited<L: Inherit + 'static>(&mut self) {
        let models = [
            quick(self.under("inherited"), FORK, || {
                fork::is_inherited::<L>(2, true);
            }),
            quick(self.under("inherited_free"), FORK, || {
                fork::is_inherited::<L>(2, false);
            }),
        ];
        self.models.extend(models);
    }

    fn forked(&mut self, two: fn(), three: fn()) {
        let name = self.under("fork");
        let deeper = format!("{name}_three").leak();
        self.models
            .extend([quick(name, FORK, two), deep(deeper, FORK, three)]);
    }

    fn in_word<L: RawTry<Context = ()> + Inherit + 'static>(&mut self) {
        self.forked(
            || fork::holds(fork::bare::<L>(), 2),
            || fork::holds(fork::bare::<L>(), 3),
        );
    }

    fn hosted(&mut self, host: &str, excludes: fn()) {
        let model = quick(self.under(host), PARK, excludes);
        self.models
            .push(model.with_fewer(self.standard.fewer_hosted));
    }

    fn in_place<L: Served + QuickRelease>(&mut self) {
        self.hosted("in_place", || {
            host::excludes(host::in_place::<L>(), 2, 2, 0);
        });
        self.forked(
            || fork::holds(host::in_place::<L>(), 2),
            || fork::holds(host::in_place::<L>(), 3),
        );
    }

    fn inflated<L: Served>(&mut self) {
        self.hosted("inflated", || {
            host::excludes(host::inflated::<L>(), 2, 2, 0);
        });
        self.forked(
            || fork::holds(host::inflated::<L>(), 2),
            || fork::holds(host::inflated::<L>(), 3),
        );
    }
}

/// The models of a capability or a storage.
macro_rules! owed {
    ($of:ident $lock:ty: RawTry) => {
        $of.tried::<$lock>()
    };
    ($of:ident $lock:ty: Abortable) => {
        $of.abortable::<$lock>()
    };
    ($of:ident $lock:ty: DetectsWaiters) => {
        $of.detects_waiters::<$lock>()
    };
    ($of:ident $lock:ty: Inherit) => {
        $of.inherited::<$lock>()
    };
    // What these promise shows in every model, or on the simulated machine only.
    ($of:ident $lock:ty: BoundedAbort) => {};
    ($of:ident $lock:ty: ThreadOblivious) => {};
    ($of:ident $lock:ty: Fair) => {};
    ($of:ident $lock:ty: Word) => {
        $of.in_word::<$lock>()
    };
    ($of:ident $lock:ty: InPlace) => {
        $of.in_place::<$lock>()
    };
    ($of:ident $lock:ty: Inflated) => {
        $of.inflated::<$lock>()
    };
    ($of:ident $lock:ty: Apart) => {
        $of.inflated::<$lock>()
    };
    // A host could have it, though no program's does.
    ($of:ident $lock:ty: Nowhere) => {
        $of.in_place::<$lock>()
    };
}

macro_rules! all {
    ($($name:ident, $lock:ty, $storage:ident, [$($alias:literal),*], $about:literal,
       $source:literal, [$($capability:ident),*];)+) => {{
        let mut models = Vec::new();
        $({
            type Lock = <$lock as Checked>::Smallest;
            let standard = <$lock as Checked>::STANDARD;
            let name = stringify!($name);
            let mut of = OfLock { models: &mut models, name, standard };
            if standard.as_in.is_none() {
                of.every::<Lock>();
                owed!(of Lock: $storage);
                $(owed!(of Lock: $capability);)*
            }
        })+
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
