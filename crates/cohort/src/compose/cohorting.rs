//! The cohort locks of Dice et al. 2015 §3 and similar ones, as compositions: one lock for each
//! NUMA node below a global one, named top lock first (Dice et al. 2015 §1.3).  They stay in a node
//! for up to a hundred hand-offs (Dice et al. 2015 §2.2).
//!
//! **Not for** machines with one node, where the lower lock is superfluous.
//!
//! **Deadlines.**  Waiters of [`ACBoBo`] and [`ACBoClh`] can give up anywhere.  Those of the others
//! cannot.  With them `Mutex::try_lock_for` does not compile, and a program's timed waiter polls
//! until its deadline, outside any queue (`cohort list`: timed).

use super::{AClof, AbortableVisitor, Clof, Counted, Numa, Visitor};
use crate::abortable::{ABo, AClh, clh};
use crate::basic::{Bo, Mcs, Ptl, Ticket};
use crate::wait::{MayPark, Parking};
use cohort_raw::recipe::Bound;

const HAND_OFFS: u32 = Bound::OF_COHORT_LOCKS.hand_offs;

/// A cohort lock: `Local` in each node, `Global` above.
type Cohorts<Global, Local> = Clof<Local, Global, Numa, HAND_OFFS>;

/// `c-bo-bo` (Dice et al. 2015 §3.4.1, where it is the first step to an abortable lock).
///
/// ```
/// use cohort::{Mutex, compose::CBoBo};
///
/// let total: Mutex<u64, CBoBo> = Mutex::from(1);
/// *total.lock() += 1;
/// assert_eq!(total.into_inner(), 2);
/// ```
pub type CBoBo<P = MayPark> = Cohorts<Bo<P>, Counted<Bo<P>>>;
/// `c-tkt-tkt` (Dice et al. 2015 §3.1).
///
/// ```
/// use cohort::{Mutex, compose::CTktTkt};
///
/// let total: Mutex<u64, CTktTkt> = Mutex::from(1);
/// *total.lock() += 1;
/// assert_eq!(total.into_inner(), 2);
/// ```
pub type CTktTkt<P = MayPark> = Cohorts<Ticket<P>, Ticket<P>>;
/// `c-ptl-tkt` (Dice et al. 2015 §3.2).
///
/// ```
/// use cohort::{Mutex, compose::CPtlTkt};
///
/// let total: Mutex<u64, CPtlTkt> = Mutex::from(1);
/// *total.lock() += 1;
/// assert_eq!(total.into_inner(), 2);
/// ```
pub type CPtlTkt<P = MayPark> = Cohorts<Ptl<8, P>, Ticket<P>>;
/// `c-bo-mcs` (Dice et al. 2015 §3.3).
///
/// ```
/// use cohort::{Mutex, compose::CBoMcs};
///
/// let total: Mutex<u64, CBoMcs> = Mutex::from(1);
/// *total.lock() += 1;
/// assert_eq!(total.into_inner(), 2);
/// ```
pub type CBoMcs<P = MayPark> = Cohorts<Bo<P>, Mcs<P>>;
/// `c-tkt-mcs` (Dice et al. 2015 §1.3 names it; Zhang et al. 2017 §4.1 compares with it).
///
/// ```
/// use cohort::{Mutex, compose::CTktMcs};
///
/// let total: Mutex<u64, CTktMcs> = Mutex::from(1);
/// *total.lock() += 1;
/// assert_eq!(total.into_inner(), 2);
/// ```
pub type CTktMcs<P = MayPark> = Cohorts<Ticket<P>, Mcs<P>>;
/// `c-mcs-mcs`: each node has its own top-level queue node, the second of the two ways
/// in Dice et al. 2015 §6 (1).
///
/// ```
/// use cohort::{Mutex, compose::CMcsMcs};
///
/// let total: Mutex<u64, CMcsMcs> = Mutex::from(1);
/// *total.lock() += 1;
/// assert_eq!(total.into_inner(), 2);
/// ```
pub type CMcsMcs<P = MayPark> = Cohorts<Mcs<P>, Mcs<P>>;

/// As [`Cohorts`], with locks with timed waiters.
type AbortableCohorts<Global, Local> = AClof<Local, Global, Numa, HAND_OFFS>;

/// `a-c-bo-bo` (Dice et al. 2015 §3.4.1, with a bound, which figure 6 does not show).
///
/// ```
/// use cohort::{Mutex, compose::ACBoBo};
/// use std::time::Duration;
///
/// let total: Mutex<u64, ACBoBo> = Mutex::from(1);
/// let guard = total.lock();
/// assert!(total.try_lock_for(Duration::from_millis(1)).is_none());
/// # drop(guard);
/// ```
pub type ACBoBo<P = MayPark> = AbortableCohorts<Bo<P>, ABo<P>>;
/// `a-c-bo-clh` (Dice et al. 2015 §3.4.2).
///
/// ```
/// use cohort::{Mutex, compose::ACBoClh};
/// use std::time::Duration;
///
/// let total: Mutex<u64, ACBoClh> = Mutex::from(1);
/// let guard = total.lock();
/// assert!(total.try_lock_for(Duration::from_millis(1)).is_none());
/// # drop(guard);
/// ```
pub type ACBoClh<P = MayPark> = AbortableCohorts<Bo<P>, AClh<P>>;

macro_rules! cohort_locks {
    ($($name:literal = $lock:ident),+; abortable: $($abortable:literal = $abortable_lock:ident),+) => {
        /// The printed names of the locks of [`find`], a line each.
        pub(crate) const NAMES: &str = concat!($($name, "\n"),+);

        /// The printed names of the locks of [`find_abortable`].
        pub(crate) const ABORTABLE_NAMES: &str = concat!($($abortable, "\n"),+);

        /// Calls `visitor` with the cohort lock of that printed name, in the form with or without
        /// sleeping waiters; `None` if there is none.
        pub fn find<P: Parking, V: Visitor>(name: &str, visitor: V) -> Option<V::Found> {
            Some(match name {
                $($name => visitor.found::<$lock<P>>(),)+
                _ => return None,
            })
        }

        /// As [`find`], for locks with waiters that can give up; see [`gives_up`].
        pub fn find_abortable<P: clh::Form, V: AbortableVisitor>(
            name: &str,
            visitor: V,
        ) -> Option<V::Found> {
            Some(match name {
                $($abortable => visitor.found::<$abortable_lock<P>>(),)+
                _ => return None,
            })
        }
    };
}
cohort_locks! {
    "c-bo-bo" = CBoBo,
    "c-tkt-tkt" = CTktTkt,
    "c-ptl-tkt" = CPtlTkt,
    "c-bo-mcs" = CBoMcs,
    "c-tkt-mcs" = CTktMcs,
    "c-mcs-mcs" = CMcsMcs;
    abortable: "a-c-bo-bo" = ACBoBo, "a-c-bo-clh" = ACBoClh
}

/// Whether the catalogue has a cohort lock of that printed name.
#[must_use]
pub fn is_listed(name: &str) -> bool {
    NAMES.lines().any(|known| known == name) || gives_up(name)
}

/// Whether waiters of the cohort lock of that printed name can give up.
#[must_use]
pub fn gives_up(name: &str) -> bool {
    ABORTABLE_NAMES.lines().any(|known| known == name)
}
