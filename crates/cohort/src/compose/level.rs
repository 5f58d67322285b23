//! The levels of a machine's hierarchy, as types: a composition names one for each of its locks
//! except the top one.

use crate::door;

/// A level of cohorts, as a type.
pub trait StaticLevel: Send + Sync + 'static {
    /// The calling thread's present cohort.  Never blocks.
    fn cohort() -> usize;
}

/// The source of a thread's cohort in a composition: a [`StaticLevel`], which takes no memory, or a
/// level [`Chosen`] when the lock is made.
pub trait Place: Default + Send + Sync + 'static {
    /// Whether compositions with it are compiled by the hundred.  Then compositions that differ
    /// only in their lowest lock share the rest of the code, at the price of a call for each level.
    const SHARES_CODE: bool;

    /// As [`StaticLevel::cohort`].
    fn cohort(&self) -> usize;

    /// The place for that level; a level that is a type ignores the argument.
    fn at(level: door::Level) -> Self;
}

impl<L: StaticLevel + Default> Place for L {
    const SHARES_CODE: bool = false;

    #[inline]
    fn cohort(&self) -> usize {
        L::cohort()
    }

    fn at(_level: door::Level) -> Self {
        Self::default()
    }
}

/// A level chosen when the lock is made.
///
/// ```
/// use cohort::basic::{Mcs, Ticket};
/// use cohort::compose::{Chosen, Clof, Composed, Plan};
/// use cohort::{Mutex, recipe::Level};
///
/// type Two = Clof<Mcs, Ticket, Chosen>;
/// let plan = Plan { levels: &[Level::Package], ..Plan::default() };
/// let total: Mutex<u64, Two> = Mutex::from_raw(Two::planned(&plan), 1);
/// *total.lock() += 1;
/// ```
#[derive(Debug)]
pub struct Chosen(door::Level);

impl Default for Chosen {
    fn default() -> Self {
        Self(door::Level::Numa)
    }
}

impl Place for Chosen {
    const SHARES_CODE: bool = true;

    #[inline]
    fn cohort(&self) -> usize {
        door::cohort(self.0)
    }

    fn at(level: door::Level) -> Self {
        Self(level)
    }
}

macro_rules! levels {
    ($($(#[doc = $about:literal])+ $name:ident;)+) => {
        $($(#[doc = $about])+
        #[derive(Debug, Default)]
        pub struct $name;

        impl StaticLevel for $name {
            #[inline]
            fn cohort() -> usize {
                door::cohort(door::Level::$name)
            }
        })+
    };
}

levels! {
    /// Hardware threads of one core.
    Core;
    /// CPUs with a common last cache.
    CacheGroup;
    /// CPUs with a common nearest memory.
    Numa;
    /// CPUs of one package.
    Package;
    /// CPUs of one blade, on simulated machines; elsewhere all of them.
    Blade;
}
