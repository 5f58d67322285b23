//! Constants of new locks, so that a static can contain a composition of them.
//!
//! A generic `const fn` cannot call functions of a composition's lock types, but may use their
//! constants.  A composition is not all zero: its cohorts have a bound.
//!
//! **Not for** locks with parts chosen at run time by a plan or recipe ([`Any`](super::Any),
//! [`Chosen`](super::Chosen), [`Stacked`](super::Stacked)): there `Mutex::from(data)` makes them.

use super::aclof::{self, AClof};
use super::clof::{self, Clof, ClofContext};
use super::{Blade, CacheGroup, Core, Counted, Everybody, Gated, Numa, Package};
use crate::abortable::{ABo, AClh, ClhNb, ClhTry, McsNb, McsTry, clh, clh_nb, clh_try, mcs_nb};
use crate::adaptive::Glk;
use crate::adaptive::glk::Judge;
use crate::basic::clh::{Inherited, Owned};
use crate::basic::hemlock::HemlockNode;
use crate::basic::mcs::McsNode;
use crate::basic::{
    Anderson, Bo, Clh, ClhPublished, Futex, Hemlock, K42, Malthusian, Mcs, Ptl, Reciprocating, Tas,
    Ticket, TicketApart, Ttas,
};
use crate::numa::{
    Cna, FcMcs, FcMcsPublished, Fissile, FutexHmcs, Hbo, Hclh, Hmcs, HmcsT, Near, Shfl, hclh, hmcs,
    hmcs_t,
};
use crate::wait::Parking;
use cohort_raw::RawLock;
use cohort_raw::recipe::Bound;

/// A free lock, an unused context or a level, as a constant.
#[diagnostic::on_unimplemented(
    message = "no constant makes `{Self}`, so that no composition with it stands in a static",
    label = "made at run time only",
    note = "`Mutex::from(data)` makes it at run time, for a `LazyLock` if need be"
)]
pub trait Fresh: Sized {
    /// A new value at each use.
    #[allow(
        clippy::declare_interior_mutable_const,
        reason = "each use is a lock of its own, as it is meant"
    )]
    const FRESH: Self;
}

macro_rules! fresh {
    ($([$($generics:tt)*] $type:ty = $new:expr;)+) => {$(
        impl<$($generics)*> Fresh for $type {
            const FRESH: Self = $new;
        }
    )+};
}

fresh! {
    [] () = ();
    [P: Parking] Tas<P> = Self::new();
    [P: Parking] Ttas<P> = Self::new();
    [P: Parking] Bo<P> = Self::new();
    [P: Parking, const UNIT: u64] Ticket<P, UNIT> = Self::new();
    [const SLOTS: usize, P: Parking] Ptl<SLOTS, P> = Self::new();
    [P: Parking] Mcs<P> = Self::new();
    [P: Parking] McsNode<P> = Self::new();
    [] Clh = Self::new();
    [N: Inherited] Owned<N> = Self::new();
    [const CTR: bool, P: Parking] Hemlock<CTR, P> = Self::new();
    [P: Parking] HemlockNode<P> = Self::new();
    [] Futex = Self::new();
    [] FutexHmcs = Self::new();
    [] K42 = Self::new();
    [P: Parking] TicketApart<P> = Self::new();
    [] ClhPublished = Self::new();
    [const SLOTS: usize, P: Parking] Anderson<SLOTS, P> = Self::new();
    [P: Parking] Reciprocating<P> = Self::new();
    [P: Parking, const ONE_IN: u32] Malthusian<P, ONE_IN> = Self::new();
    [J: Judge] Glk<J> = Self::new();
    [P: Parking, const HAND_OFFS: u32] Cna<P, HAND_OFFS> = Self::new();
    [P: Parking, const BOUND: u8] Near<P, BOUND> = Self::new();
    [P: Parking, const GRACE: u64, const HAND_OFFS: u32] Fissile<P, GRACE, HAND_OFFS> = Self::new();
    [P: Parking, const BATCH: u32] Shfl<P, BATCH> = Self::new();
    [P: Parking, T] Hbo<P, T> = Self::new();
    [P: Parking, const WINDOW: u64] FcMcs<P, WINDOW> = Self::new();
    [const PASSES: u32, const AGE: u32] FcMcsPublished<PASSES, AGE> = Self::new();
    [P: hclh::Form, const WINDOW: u64] Hclh<P, WINDOW> = Self::new();
    [P: Parking] ABo<P> = Self::new();
    [P: clh::Form] AClh<P> = Self::new();
    [P: clh_nb::Form] ClhNb<P> = Self::new();
    [P: mcs_nb::Form] McsNb<P> = Self::new();
    [P: clh_try::Form] ClhTry<P> = Self::new();
    [P: Parking] McsTry<P> = Self::new();
    [
        L: Fresh,
        const LEAVES: usize,
        const INNER: usize,
        P: hmcs::Form,
        const HAND_OFFS: u32,
        E
    ] Hmcs<L, LEAVES, INNER, P, HAND_OFFS, E> = Self::shaped(L::FRESH);
    [
        L: Fresh,
        const LEAVES: usize,
        const INNER: usize,
        P: hmcs_t::Form,
        const HAND_OFFS: u32,
        E
    ] HmcsT<L, LEAVES, INNER, P, HAND_OFFS, E> = Self::shaped(L::FRESH);
    [A: Fresh] (A,) = (A::FRESH,);
    [A: Fresh, B: Fresh] (A, B) = (A::FRESH, B::FRESH);
    [A: Fresh, B: Fresh, C: Fresh] (A, B, C) = (A::FRESH, B::FRESH, C::FRESH);
    [A: Fresh, B: Fresh, C: Fresh, D: Fresh] (A, B, C, D) =
        (A::FRESH, B::FRESH, C::FRESH, D::FRESH);
    [L: Fresh] Gated<L> = Self::new(L::FRESH);
    [] Core = Self;
    [] CacheGroup = Self;
    [] Numa = Self;
    [] Package = Self;
    [] Blade = Self;
    [] Everybody = Self;
    [L: Fresh] Counted<L> = Self::new(L::FRESH);
    [C: Fresh] ClofContext<C> = Self::new(C::FRESH);
    [
        Low: Fresh,
        High: RawLock<Context: Fresh> + Fresh,
        At: Fresh,
        const HAND_OFFS: u32,
        const COHORTS: usize
    ] Clof<Low, High, At, HAND_OFFS, COHORTS> = Self::new();
    [
        Low: Fresh,
        High: RawLock<Context: Fresh> + Fresh,
        At: Fresh,
        const HAND_OFFS: u32,
        const COHORTS: usize
    ] AClof<Low, High, At, HAND_OFFS, COHORTS> = Self::new();
}

macro_rules! compositions {
    ($($(#[$about:meta])+ $composition:ident in $module:ident;)+) => {$(
        impl<Low, High, At, const HAND_OFFS: u32, const COHORTS: usize>
            $composition<Low, High, At, HAND_OFFS, COHORTS>
        where
            Low: Fresh,
            High: RawLock<Context: Fresh> + Fresh,
            At: Fresh,
        {
            $(#[$about])+
            #[must_use]
            pub const fn new() -> Self {
                let cohorts = [const {
                    let bound = Bound::hand_offs(HAND_OFFS);
                    $module::Cohort::around(Low::FRESH, <High::Context>::FRESH, bound)
                }; COHORTS];
                Self::of(cohorts, High::FRESH, At::FRESH)
            }
        }
    )+};
}

compositions! {
    /// A free lock, for statics; `default` makes the same from any locks.
    ///
    /// ```
    /// use cohort::Mutex;
    /// use cohort::basic::{Mcs, Ticket};
    /// use cohort::compose::{CTktMcs, CacheGroup, Clof, Numa};
    ///
    /// static TOTAL: Mutex<u64, CTktMcs> = Mutex::from_raw(CTktMcs::new(), 1);
    ///
    /// type Tree = Clof<Ticket, Clof<Mcs, Ticket, Numa>, CacheGroup>;
    /// static OTHER: Mutex<u64, Tree> = Mutex::from_raw(Tree::new(), 1);
    ///
    /// *TOTAL.lock() += *OTHER.lock();
    /// assert_eq!(*TOTAL.lock(), 2);
    /// ```
    Clof in clof;
    /// A free lock, for statics; `default` makes the same from any locks.
    ///
    /// ```
    /// use cohort::{Mutex, compose::ACBoClh};
    /// use std::time::Duration;
    ///
    /// static TOTAL: Mutex<u64, ACBoClh> = Mutex::from_raw(ACBoClh::new(), 1);
    /// let guard = TOTAL.lock();
    /// assert!(TOTAL.try_lock_for(Duration::from_millis(1)).is_none());
    /// # drop(guard);
    /// ```
    AClof in aclof;
}
