//! `Bypass<L>`: a composition whose threads first try its top lock directly, and take the way
//! through their cohorts only if that is taken (Dice et al. 2015 §5.1.5).
//!
//! **Not for** permanently contended locks: there the look at the top lock fails, and its line is
//! shared by all.
//!
//! An uncontended acquisition costs one lock, whatever the number of levels.  It has its own
//! context for the top lock, since it does not hold the low lock that owns a cohort's context.
//! Fairness is the top lock's: a cohort's first waiter has its place in the top lock's order, and a
//! bypassing thread finds that lock free.
//!
//! [`Fast`] puts a test-and-set word above a composition as the bypass (Chehab et al. 2021 §6).
//!
//! [`Adaptive`] looks at the top lock ever more rarely while that fails, and at each acquisition
//! after a success (Dice et al. 2015 §5.1.5).  This history is in the context, so that a thread
//! learns from its own acquisitions without shared writes.

use super::forward::composed;
use super::{Clof, Composed, Place, Shareable, Visitor};
use crate::basic::Ttas;
use crate::door::{self, Cell, constructor, flaws, mutant};
use crate::wait::MayPark;
use cohort_raw::{
    DetectsWaiters, Fair, HighLock, Hosted, Inherit, RawLock, RawTry, ThreadOblivious, TwoForms,
    forwards, standalone,
};

flaws! {
    FORGET_WAY = "bypass.forget-way";
}

/// A composition under a word: an arrival acquires a free word and nothing else; a queue that holds
/// it keeps it for up to `HAND_OFFS` hand-offs.
///
/// ```
/// use cohort::{Mutex, compose::{CTktMcs, Fast}};
///
/// let total: Mutex<u64, Fast<CTktMcs>> = Mutex::from(1);
/// *total.lock() += 1;
/// ```
pub type Fast<L, P = MayPark, const HAND_OFFS: u32 = 128> =
    Bypass<Clof<L, Ttas<P>, Everybody, HAND_OFFS, 1>>;

/// A composition that threads bypass while that succeeds.
///
/// ```
/// use cohort::{Mutex, compose::{Adaptive, CTktMcs}};
///
/// let total: Mutex<u64, Adaptive<CTktMcs>> = Mutex::from(1);
/// *total.lock() += 1;
/// ```
pub type Adaptive<L> = Bypass<L, true>;

/// The most consecutive acquisitions through the cohorts without a look at the top lock: a lock
/// that has become uncontended is bypassed again after as many.
const LONGEST_ABSTENTION: u8 = 63;

/// All threads as one cohort.
///
/// ```
/// use cohort::basic::{Mcs, Ttas};
/// use cohort::{Mutex, compose::{Clof, Everybody}};
///
/// // A word that is handed over within one queue of all threads.
/// let total: Mutex<u64, Clof<Mcs, Ttas, Everybody, 128, 1>> = Mutex::from(1);
/// *total.lock() += 1;
/// ```
#[derive(Debug, Default)]
pub struct Everybody;

impl Place for Everybody {
    const SHARES_CODE: bool = false;

    #[inline]
    fn cohort(&self) -> usize {
        0
    }

    fn at(_level: door::Level) -> Self {
        Self
    }
}

/// The context of an acquisition: the composition's context, the top lock's, and which of them is
/// in use.
#[derive(Debug, Default)]
pub struct BypassContext<C, T> {
    whole: C,
    top: T,
    bypassed: Cell<bool>,
    learnt: Cell<Learnt>,
}

/// A thread's history of bypasses.
#[derive(Clone, Copy, Debug, Default)]
struct Learnt {
    /// How many further acquisitions do not look.
    abstain: u8,
    /// How many did not after the last failed look.
    abstained: u8,
}

impl<C, T> BypassContext<C, T> {
    fn has_bypassed(&self) -> bool {
        // SAFETY: only the acquisition that owns the context touches it.
        self.bypassed.with(|bypassed| unsafe { *bypassed })
    }

    fn note(&self, bypassed: bool) {
        // SAFETY: as above.
        self.bypassed.with_mut(|place| unsafe { *place = bypassed });
    }

    fn learnt(&self) -> Learnt {
        // SAFETY: as above.
        self.learnt.with(|learnt| unsafe { *learnt })
    }

    fn learn(&self, learnt: Learnt) {
        // SAFETY: as above.
        self.learnt.with_mut(|place| unsafe { *place = learnt });
    }

    /// Tries to bypass, unless that failed recently.
    fn bypasses(&self, attempt: impl FnOnce() -> bool) -> bool {
        let Learnt { abstain, abstained } = self.learnt();
        if abstain > 0 {
            self.learn(Learnt {
                abstain: abstain - 1,
                abstained,
            });
            return false;
        }
        let bypasses = attempt();
        let longer = (2 * abstained + 1).min(LONGEST_ABSTENTION);
        let abstain = if bypasses { 0 } else { longer };
        self.learn(Learnt {
            abstain,
            abstained: abstain,
        });
        bypasses
    }
}

/// The composition, without additions.  Threads try to bypass it each time, or, with `LEARNS`, as
/// often as pays.
///
/// ```
/// use cohort::{Mutex, compose::{Bypass, CTktMcs}};
///
/// let total: Mutex<u64, Bypass<CTktMcs>> = Mutex::from(1);
/// *total.lock() += 1;
/// ```
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Bypass<L, const LEARNS: bool = false> {
    lock: L,
}

impl<L, const LEARNS: bool> Bypass<L, LEARNS> {
    constructor! {
        /// That composition, with a bypass.
        ///
        /// ```
        /// use cohort::Mutex;
        /// use cohort::compose::{Bypass, CTktMcs, Clof, Fast};
        ///
        /// static TOTAL: Mutex<u64, Fast<CTktMcs>> = Mutex::from_raw(Bypass::new(Clof::new()), 1);
        /// *TOTAL.lock() += 1;
        /// assert_eq!(*TOTAL.lock(), 2);
        /// ```
        #[must_use]
        pub fn new(lock: L) -> Self {
            Self { lock }
        }
    }
}

type Top<L> = <L as Composed>::Top;

impl<L: Composed<Top: RawTry>, const LEARNS: bool> Bypass<L, LEARNS> {
    /// Whether the acquisition has the top lock directly; otherwise the context notes the way
    /// through the cohorts.
    ///
    /// # Safety
    /// As [`RawTry::try_acquire`].
    #[inline(always)]
    unsafe fn bypasses(&self, cx: &<Self as RawLock>::Context) -> bool {
        // SAFETY: the caller's.
        let attempt = || unsafe { self.try_acquire(cx) };
        let bypasses = if LEARNS {
            cx.bypasses(attempt)
        } else {
            attempt()
        };
        if !bypasses && !mutant(flaw::FORGET_WAY) {
            cx.note(false);
        }
        bypasses
    }
}

// SAFETY: an acquisition that returns holds the composition or its top lock, and a holder of the
// composition holds its top lock, which excludes.
unsafe impl<L: Composed<Top: RawTry>, const LEARNS: bool> RawLock for Bypass<L, LEARNS> {
    type Context = BypassContext<L::Context, <Top<L> as RawLock>::Context>;

    #[inline]
    unsafe fn acquire(&self, cx: &Self::Context) {
        // SAFETY: the caller's.
        unsafe {
            if !self.bypasses(cx) {
                self.lock.acquire(&cx.whole);
            }
        }
    }

    #[inline]
    unsafe fn release(&self, cx: &Self::Context) {
        // SAFETY: acquired with this context, in the way that it notes.
        unsafe {
            if cx.has_bypassed() {
                self.lock.top().release(&cx.top);
            } else {
                self.lock.release(&cx.whole);
            }
        }
    }

    fn is_locked(&self) -> bool {
        self.lock.is_locked()
    }
}

forwards! {
    [L: Composed<Top: RawTry + Hosted>, const LEARNS: bool] Bypass<L, LEARNS>: L in lock;
    RawTry: own,
    Abortable: none,
    BoundedAbort: none,
    ThreadOblivious: own,
    DetectsWaiters: own,
    HandsOver: none,
    Fair: own,
    Inherit: own,
    Adapts: none,
    Hosted: inner {
        grants: L::HOSTING.grants || Top::<L>::HOSTING.grants,
        node_bytes: L::HOSTING.node_bytes + Top::<L>::HOSTING.node_bytes,
    },
    QuickRelease: none,
    LowLock: own,
    HighLock: own,
    Resumable: none,
}

// SAFETY: as above.
unsafe impl<L: Composed<Top: RawTry> + HighLock, const LEARNS: bool> HighLock
    for Bypass<L, LEARNS>
{
    #[inline]
    unsafe fn acquire_at_cached_place(&self, cx: &Self::Context) {
        // SAFETY: the caller's.
        unsafe {
            if !self.bypasses(cx) {
                self.lock.acquire_at_cached_place(&cx.whole);
            }
        }
    }

    #[inline(always)]
    unsafe fn forget_cached_place(cx: &Self::Context) {
        // SAFETY: the caller's.
        unsafe { L::forget_cached_place(&cx.whole) };
    }
}

// SAFETY: as above.
unsafe impl<L: Composed<Top: RawTry>, const LEARNS: bool> RawTry for Bypass<L, LEARNS> {
    #[inline]
    unsafe fn try_acquire(&self, cx: &Self::Context) -> bool {
        let top = self.lock.top();
        // SAFETY: the caller's.
        let bypasses = !top.is_locked() && unsafe { top.try_acquire(&cx.top) };
        if bypasses {
            cx.note(true);
        }
        bypasses
    }
}

// SAFETY: release goes to locks that do not depend on the thread.
unsafe impl<L, const LEARNS: bool> ThreadOblivious for Bypass<L, LEARNS> where
    L: Composed<Top: RawTry + ThreadOblivious> + ThreadOblivious
{
}

// SAFETY: passed on to the lock by which it is held.
unsafe impl<L, const LEARNS: bool> DetectsWaiters for Bypass<L, LEARNS>
where
    L: Composed<Top: RawTry + DetectsWaiters> + DetectsWaiters,
{
    #[inline]
    unsafe fn has_waiters(&self, cx: &Self::Context) -> bool {
        // SAFETY: the caller's: it holds the lock in one of the two ways.
        unsafe {
            if cx.has_bypassed() {
                self.lock.top().has_waiters(&cx.top)
            } else {
                self.lock.has_waiters(&cx.whole)
            }
        }
    }
}

standalone! {
    [
        L: Composed<Top: RawTry + DetectsWaiters> + DetectsWaiters,
        const LEARNS: bool
    ] Bypass<L, LEARNS>: LowLock
}

impl<L: Composed<Top: RawTry + Fair> + Fair, const LEARNS: bool> Fair for Bypass<L, LEARNS> {}

// SAFETY: afterwards the composition is free, or held in the holder's way: a free composition has a
// free top lock, which is then held for the holder alone.
unsafe impl<L, const LEARNS: bool> Inherit for Bypass<L, LEARNS>
where
    L: Composed<Top: RawTry + Inherit> + Inherit,
{
    unsafe fn inherit(&self, holder: Option<&Self::Context>) {
        let bypassed = holder.filter(|cx| cx.has_bypassed());
        let whole = holder.filter(|cx| !cx.has_bypassed());
        // SAFETY: the caller is alone; the contexts are the acquisition's.
        unsafe {
            self.lock.inherit(whole.map(|cx| &cx.whole));
            if let Some(cx) = bypassed {
                self.lock.top().inherit(Some(&cx.top));
            }
        }
    }
}

// SAFETY: the top is that of the lock inside.
unsafe impl<L: Composed<Top: RawTry>, const LEARNS: bool> Composed for Bypass<L, LEARNS> {
    composed!(L in lock);
}

impl<L, const LEARNS: bool> TwoForms for Bypass<L, LEARNS>
where
    L: Composed<Top: RawTry> + TwoForms<Spinning: Composed<Top: RawTry>>,
{
    type Spinning = Bypass<L::Spinning, LEARNS>;
}

/// A visitor that passes the visited composition to another visitor, with a bypass.
#[derive(Debug)]
pub struct WithBypass<V, const LEARNS: bool = false>(pub V);

impl<V: Visitor, const LEARNS: bool> Visitor for WithBypass<V, LEARNS> {
    type Found = V::Found;

    fn found<L: Shareable>(self) -> V::Found {
        self.0.found::<Bypass<L, LEARNS>>()
    }
}

#[cfg(all(test, not(checker)))]
mod tests {
    use super::*;

    /// The number of looks among so many acquisitions.
    fn looks(cx: &BypassContext<(), ()>, acquisitions: u32, succeeds: bool) -> u32 {
        let mut looks = 0;
        for _ in 0..acquisitions {
            cx.bypasses(|| {
                looks += 1;
                succeeds
            });
        }
        looks
    }

    #[test]
    fn looks_in_vain_become_rare_and_come_back() {
        let cx = BypassContext::default();
        assert_eq!(looks(&cx, 100, true), 100);
        // 1 + 2 + 4 + 8 + 16 + 32 + 64 acquisitions, and 64 for each look from then on.
        assert_eq!(looks(&cx, 127, false), 7);
        assert_eq!(looks(&cx, 640, false), 10);
        assert_eq!(looks(&cx, 63, true), 0);
        assert_eq!(looks(&cx, 100, true), 100);
    }
}
