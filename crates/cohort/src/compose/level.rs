//! The levels of a machine's hierarchy, as types: a composition names one for each of
//! its locks but the top one.

use crate::door;

/// A level at which threads are in cohorts.
pub trait Level: Send + Sync + 'static {
    /// The cohort of the calling thread at this moment.  Never blocks.
    fn cohort() -> usize;
}

macro_rules! levels {
    ($($(#[doc = $about:literal])+ $name:ident;)+) => {
        $($(#[doc = $about])+
        #[derive(Debug)]
        pub struct $name;

        impl Level for $name {
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
}
