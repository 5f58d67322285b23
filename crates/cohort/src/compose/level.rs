//! The levels of a machine's hierarchy, as types: a composition names one for each of
//! its locks but the top one.

use crate::door;

/// A level at which threads are in cohorts, as a type.
pub trait StaticLevel: Send + Sync + 'static {
    /// The cohort of the calling thread at this moment.  Never blocks.
    fn cohort() -> usize;
}

/// What tells a composition in which cohort a thread is: a [`StaticLevel`], which takes no
/// room, or one that is [`Chosen`] when the lock is made.
pub trait Place: Default + Send + Sync + 'static {
    /// Whether compositions with it are compiled by the hundred: then those that differ in
    /// their lowest lock alone share the code of the others, which is a call for each level.
    const SHARES_CODE: bool;

    /// As [`StaticLevel::cohort`].
    fn cohort(&self) -> usize;

    /// The place for that level; a level that is a type is itself, whatever is asked.
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

/// A level that is chosen when the lock is made.
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
    /// CPUs that share their last cache.
    CacheGroup;
    /// CPUs that share their nearest memory.
    Numa;
    /// CPUs of one package.
    Package;
    /// CPUs of one blade, on simulated machines; elsewhere all of them.
    Blade;
}
