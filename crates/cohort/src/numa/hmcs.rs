//! `hmcs-2` to `hmcs-5`: a tree of `mcs` queues, one for each cohort of each level.  The head of a
//! cohort's queue enters the queue above on the cohort's behalf.  The holder passes all that it
//! holds to the next waiter in the lowest queue that has one (Chabbi, Fagan and Mellor-Crummey;
//! Chabbi et al. 2017 §2).
//!
//! **Not for** locks with little contention: an uncontended acquisition enters every level.  Nor
//! for more runnable threads than CPUs unless its waiters may sleep, as `mcs`.
//!
//! | a node's `status` | written by | meaning |
//! |---|---|---|
//! | `WAITING` | its owner, before it enters | in the queue |
//! | n, up to `HAND_OFFS` | its predecessor; 1 also its owner | holds the queue and all above; nth in a row |
//! | `ALONE` | its predecessor | holds the queue, and must enter the one above |
//!
//! | field of a cohort | written by | meaning |
//! |---|---|---|
//! | `tail` | arrivals; the last to leave | as in `mcs` |
//! | `up.node` | the holder of the cohort's queue | its place in the queue above |
//! | `up.above` | its maker | the enclosing cohort; null: the whole system |
//!
//! Nodes of threads and of cohorts are alike to a queue.  So an acquisition may enter the tree
//! above its leaf, among the cohorts of its cohort.  A try-acquisition enters the system's queue
//! alone; `ahmcs` chooses the level.
//!
//! The queue above is left before the cohort's own queue is passed on, so that the cohort's node is
//! never in use twice.  A cohort is made at its first arrival.  A release leaves its cohort's queue
//! after the system's, when another thread may hold the lock.  So the lock may be dropped only
//! after all releases have returned, as a borrow ensures; an inflated object never drops it.
//!
//! The orders are those of a queue lock at each level.  They suffice on each path of the lock
//! to the next holder: down by grants, or up by leaving and entering each queue.

use super::linked;
use super::shape::{ChosenShape, Shape};
use crate::compose::{
    CacheGroup, Core, INNER, INNER_NODES, LEAVES, NODE_LEAVES, Numa, Package, Tree,
};
use crate::door::{
    Absence, AtomicPtr, Order, constructor, flaws, inner_places, leaf_places, mutant, orders,
    thread,
};
use crate::host::{Arena, Pool, pooled_forms};
use crate::support::padded::CachePadded;
use crate::wait::{MayPark, Parking, SpinOnly, WaitCell};
use cohort_raw::{
    DetectsWaiters, Fair, Inherit, RawLock, RawTry, ThreadOblivious, TwoForms, standalone,
};
use core::fmt;
use core::marker::PhantomData;
use core::ptr;

orders! {
    /// Sees the last holder's work if the queue was empty, above all its use of the cohort's node;
    /// publishes the node's fresh fields to the successor that will write `next`.
    HMCS_ENQUEUE = AcqRel;
    /// Publishes the successor's fresh node to the thread that will grant it.
    HMCS_LINK = Release;
    /// Sees that fresh node before writing its status.
    HMCS_SUCCESSOR = Acquire;
    /// Publishes the holder's work to its successor.
    HMCS_GRANT = Release;
    /// As above, on the successor's side.
    HMCS_GRANTED = Acquire;
    /// Publishes the holder's work to a thread that finds the queue empty.
    HMCS_LEAVE = Release;
    /// Sees the last holder's work; publishes the fresh node.
    HMCS_TRY = AcqRel;
}

flaws! {
    KEEP_FOR_EVER = "hmcs.keep-for-ever";
    LOW_FIRST = "hmcs.low-first";
    FORGET_ABOVE = "hmcs.forget-above";
    FORGET_LEVEL = "hmcs.forget-level";
    FORGET_THE_AWAY = "hmcs.forget-the-away";
}

const WAITING: u32 = 0;
/// The first acquisition in a row.
const FIRST: u32 = 1;
const ALONE: u32 = WaitCell::<MayPark>::MAX;
const CLASS: u32 = 1;

/// A place in a queue, for a thread, or for a cohort in the queue above.
#[derive(Debug, Default)]
#[repr(C)]
struct HmcsNode<P: Parking> {
    next: AtomicPtr<HmcsNode<P>>,
    status: WaitCell<P>,
    /// Whether its waiter has yielded its CPU; used if something is [`Carried`].
    absence: Absence,
}

impl<P: Parking> HmcsNode<P> {
    fn pointer(&self) -> *mut Self {
        ptr::from_ref(self).cast_mut()
    }

    fn renew(&self, status: u32) {
        self.next.store(ptr::null_mut(), Order::RELAXED);
        self.status.reset(status);
    }
}

/// Outcome of entering a queue.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Entered {
    /// It was empty.
    Empty,
    /// Granted without the queues above.
    Alone,
    /// Granted with all queues above.
    WithAllAbove,
}

/// One queue of the tree.
#[derive(Debug, Default)]
#[repr(transparent)]
struct Queue<P: Parking> {
    tail: AtomicPtr<HmcsNode<P>>,
}

impl<P: Parking> Queue<P> {
    constructor! {
        fn new() -> Self {
            Self {
                tail: AtomicPtr::null(),
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.tail.load(Order::RELAXED).is_null()
    }

    /// Blocks until the queue is held.  If it `shows`, the node records when its waiter has yielded
    /// its CPU.
    #[inline]
    fn enter(&self, node: &HmcsNode<P>, shows: bool) -> Entered {
        node.renew(WAITING);
        let predecessor = self.tail.swap(node.pointer(), HMCS_ENQUEUE);
        let mut entered = Entered::Empty;
        if !predecessor.is_null() {
            // SAFETY: the predecessor cannot leave before it has read this link.
            unsafe { &*predecessor }
                .next
                .store(node.pointer(), HMCS_LINK);
            let wait = || {
                node.status
                    .wait_for(HMCS_GRANTED, CLASS, |status| status != WAITING);
            };
            if shows {
                thread().shown.during(&node.absence, wait);
            } else {
                wait();
            }
            if node.status.value(Order::RELAXED) != ALONE {
                return Entered::WithAllAbove;
            }
            entered = Entered::Alone;
        }
        node.status.reset(FIRST);
        entered
    }

    /// Enters it if it is empty.
    fn try_enter(&self, node: &HmcsNode<P>) -> bool {
        if !self.is_empty() {
            return false;
        }
        node.renew(FIRST);
        self.tail
            .compare_exchange(ptr::null_mut(), node.pointer(), HMCS_TRY, Order::RELAXED)
            .is_ok()
    }

    /// Grants that status to the successor, if one is linked.
    #[inline]
    fn pass(&self, node: &HmcsNode<P>, status: u32) -> bool {
        let successor = node.next.load(HMCS_SUCCESSOR);
        if successor.is_null() {
            return false;
        }
        // SAFETY: a linked successor stays until it is granted.
        unsafe { &*successor }.status.set(status, HMCS_GRANT);
        true
    }

    /// Whether the successor has yielded its CPU.
    fn next_is_away(node: &HmcsNode<P>) -> bool {
        // SAFETY: a linked successor stays until it is granted.
        let successor = unsafe { node.next.load(HMCS_SUCCESSOR).as_ref() };
        successor.is_some_and(|next| next.absence.lasts())
    }

    /// Passes it to the next waiter with that status, or leaves it empty.
    #[inline]
    fn leave(&self, node: &HmcsNode<P>, status: u32) {
        if self.pass(node, status)
            || self
                .tail
                .compare_exchange(node.pointer(), ptr::null_mut(), HMCS_LEAVE, Order::RELAXED)
                .is_ok()
        {
            return;
        }
        linked(&node.next, HMCS_SUCCESSOR);
        self.pass(node, status);
    }

    /// Drops every waiter.
    fn reset(&self, holder: Option<&HmcsNode<P>>) {
        let tail = holder.map_or(ptr::null_mut(), |node| {
            node.renew(FIRST);
            node.pointer()
        });
        self.tail.store(tail, Order::RELAXED);
    }
}

/// A cohort of one lock.
#[derive(Debug, Default)]
#[repr(C, align(128))]
pub struct Cohort<P: Parking> {
    queue: Queue<P>,
    /// On a line of its own: releasing holders read it, and arrivals at the queue must not delay
    /// them.
    up: CachePadded<Up<P>>,
}

/// A cohort's position in the tree.
#[derive(Debug, Default)]
#[repr(C)]
struct Up<P: Parking> {
    node: HmcsNode<P>,
    above: AtomicPtr<Cohort<P>>,
}

impl<P: Parking> Cohort<P> {
    fn above(&self) -> Option<&Self> {
        // SAFETY: cohorts are pool nodes, which are never freed, and null is none.
        unsafe { self.up.0.above.load(Order::RELAXED).as_ref() }
    }

    /// Whether no other cohort was linked behind this one at any level, by a recent look; for the
    /// holder.
    fn is_alone(&self) -> bool {
        let mut cohort = Some(self);
        while let Some(here) = cohort {
            if !here.up.0.node.next.load(Order::RELAXED).is_null() {
                return false;
            }
            cohort = here.above();
        }
        true
    }
}

pooled_forms! { cohorts: Cohort, [placed], [placed] }

/// Bytes of all cohorts made so far.
pub(crate) fn pool_bytes() -> usize {
    PARKING.bytes() + SPINNING.bytes()
}

/// Beyond every level: the value for an uncontended acquisition.
pub const NOWHERE: usize = usize::MAX;

/// The inner lock of a lock with waiters in this tree.  It passes with the tree from one
/// thread to the next without a release.
pub(crate) trait Carried {
    /// Leaves the system's queue, passing the inner lock on, or after releasing it.
    fn leave<P: Parking>(&self, root: RootQueue<'_, P>);

    /// Whether it may pass to the next waiter of the same cohort.
    fn may_go_on(&self) -> bool;

    /// Whether it stays in a cohort past the hand-off bound while no other cohort waits.
    fn stays_uncontended(&self) -> bool;

    /// Whether it stays in a cohort only if the next waiter there has not yielded its CPU.
    fn needs_presence(&self) -> bool;
}

/// The system's queue, which the holder must leave at that node.
pub(crate) struct RootQueue<'a, P: Parking> {
    queue: &'a Queue<P>,
    node: &'a HmcsNode<P>,
}

impl<P: Parking> RootQueue<'_, P> {
    /// Passes it on with the inner lock; false if no successor is linked yet.
    #[inline]
    pub(crate) fn pass(&self) -> bool {
        self.queue.pass(self.node, FIRST)
    }

    /// Passes it on without the inner lock, at once or when a successor arrives.
    #[inline]
    pub(crate) fn leave(self) {
        self.queue.leave(self.node, ALONE);
    }
}

/// No inner lock.
struct Nothing;

impl Carried for Nothing {
    #[inline]
    fn leave<P: Parking>(&self, root: RootQueue<'_, P>) {
        root.queue.leave(root.node, FIRST);
    }

    #[inline]
    fn may_go_on(&self) -> bool {
        true
    }

    #[inline]
    fn stays_uncontended(&self) -> bool {
        false
    }

    #[inline]
    fn needs_presence(&self) -> bool {
        false
    }
}

/// The policy for the level at which acquisitions enter the tree, with its state in a context.
/// Levels are numbered from the smallest cohorts, 0, to the system, `top`.
///
/// # Safety
/// A tree uses it unchecked: [`level`](Self::level) is at most `top`.
pub unsafe trait Entry: Default + Send + Sync + 'static {
    /// Whether it adapts to contention.
    const LEARNS: bool;

    /// Whether an acquisition first tries the system's queue.
    const TRIES_FIRST: bool = false;

    /// The level at which the next acquisition enters.
    fn level(&self, top: usize) -> usize;

    /// Learns from an acquisition: `met` is the first level with another thread in the queue, or
    /// [`NOWHERE`].
    fn learn(&self, top: usize, met: usize);
}

/// Always the smallest cohort.
#[derive(Debug, Default)]
pub struct AtLeaf;

// SAFETY: there is a level 0.
unsafe impl Entry for AtLeaf {
    const LEARNS: bool = false;

    #[inline]
    fn level(&self, _top: usize) -> usize {
        0
    }

    #[inline]
    fn learn(&self, _top: usize, _met: usize) {}
}

/// Always the smallest cohort, after one try at an empty system's queue (Chabbi et al. 2017 §5: the
/// fast path).
#[derive(Debug, Default)]
pub struct ByFastPath;

// SAFETY: there is a level 0.
unsafe impl Entry for ByFastPath {
    const LEARNS: bool = false;
    const TRIES_FIRST: bool = true;

    #[inline]
    fn level(&self, _top: usize) -> usize {
        0
    }

    #[inline]
    fn learn(&self, _top: usize, _met: usize) {}
}

/// Per-acquisition state.
#[derive(Debug, Default)]
#[repr(C)]
pub struct HmcsContext<P: Parking = MayPark, E = AtLeaf> {
    node: HmcsNode<P>,
    /// The cohort of the node's queue; null: the system.
    cohort: AtomicPtr<Cohort<P>>,
    entry: E,
}

impl<P: Parking, E> HmcsContext<P, E> {
    fn cohort(&self) -> Option<&Cohort<P>> {
        // SAFETY: as `Cohort::above`.
        unsafe { self.cohort.load(Order::RELAXED).as_ref() }
    }
}

/// The lock of the levels `L` and the whole system, with space for `LEAVES` cohorts of the smallest
/// level and `INNER` of all others together.  A cohort has it up to `HAND_OFFS` times in a row,
/// unless the shape `L` says otherwise.
///
/// ```
/// use cohort::{Mutex, compose::{CacheGroup, Numa}, numa::Hmcs};
///
/// // A tree that has no name: cache groups below NUMA nodes below the system.
/// let total: Mutex<u64, Hmcs<(CacheGroup, Numa), 64, 16>> = Mutex::from(1);
/// *total.lock() += 1;
/// ```
#[repr(C)]
pub struct Hmcs<
    L,
    const LEAVES: usize,
    const INNER: usize,
    P: Form = MayPark,
    const HAND_OFFS: u32 = 128,
    E = AtLeaf,
> {
    root: CachePadded<Queue<P>>,
    cohorts: Tree<Cohort<P>, LEAVES, INNER>,
    shape: L,
    entry: PhantomData<fn() -> E>,
}

/// `hmcs-2@numa,system`.
///
/// ```
/// use cohort::{Mutex, numa::Hmcs2};
///
/// let total: Mutex<u64, Hmcs2> = Mutex::from(1);
/// *total.lock() += 1;
/// assert_eq!(total.into_inner(), 2);
/// ```
pub type Hmcs2<P = MayPark> = Hmcs<(Numa,), NODE_LEAVES, 0, P>;
/// `hmcs-3@core,numa,system`.
///
/// ```
/// use cohort::{Mutex, numa::Hmcs3};
///
/// let total: Mutex<u64, Hmcs3> = Mutex::from(1);
/// *total.lock() += 1;
/// assert_eq!(total.into_inner(), 2);
/// ```
pub type Hmcs3<P = MayPark> = Hmcs<(Core, Numa), LEAVES, INNER_NODES, P>;
/// `hmcs-4@core,cache,numa,system`.
///
/// ```
/// use cohort::{Mutex, numa::Hmcs4};
///
/// let total: Mutex<u64, Hmcs4> = Mutex::from(1);
/// *total.lock() += 1;
/// assert_eq!(total.into_inner(), 2);
/// ```
pub type Hmcs4<P = MayPark> = Hmcs<(Core, CacheGroup, Numa), LEAVES, INNER, P>;
/// `hmcs-4@cache,numa,package,system`, for machines with several nodes per package.
///
/// ```
/// use cohort::{Mutex, numa::Hmcs4Package};
///
/// let total: Mutex<u64, Hmcs4Package> = Mutex::from(1);
/// *total.lock() += 1;
/// assert_eq!(total.into_inner(), 2);
/// ```
pub type Hmcs4Package<P = MayPark> =
    Hmcs<(CacheGroup, Numa, Package), { leaf_places(64) }, { inner_places(32) }, P>;
/// `hmcs-5@core,cache,numa,package,system`, for the largest machines.
///
/// ```
/// use cohort::{Mutex, numa::Hmcs5};
///
/// let total: Mutex<u64, Hmcs5> = Mutex::from(1);
/// *total.lock() += 1;
/// assert_eq!(total.into_inner(), 2);
/// ```
pub type Hmcs5<P = MayPark> =
    Hmcs<(Core, CacheGroup, Numa, Package), LEAVES, { inner_places(192) }, P>;
/// The lock with levels chosen at construction.
///
/// ```
/// use cohort::{Mutex, numa::{AnyHmcs, ChosenShape}, tree::Tree};
/// use cohort::recipe::{Level, Levels};
///
/// let levels = Levels::of(&[Level::CacheGroup, Level::Numa]);
/// let shape = ChosenShape::of(&Tree::default(), levels, None);
/// let total: Mutex<u64, AnyHmcs> = Mutex::from_raw(AnyHmcs::shaped(shape), 1);
/// *total.lock() += 1;
/// ```
pub type AnyHmcs<P = MayPark, S = ChosenShape> = Hmcs<S, LEAVES, INNER, P>;
/// [`AnyHmcs`] with the fast path of `hmcs-t`: a thread that finds the system's queue empty enters
/// no other.
///
/// ```
/// use cohort::{Mutex, numa::{AnyHmcsFast, ChosenShape}, tree::Tree};
/// use cohort::recipe::{Level, Levels};
///
/// let levels = Levels::of(&[Level::CacheGroup, Level::Numa]);
/// let shape = ChosenShape::of(&Tree::default(), levels, None);
/// let total: Mutex<u64, AnyHmcsFast> = Mutex::from_raw(AnyHmcsFast::shaped(shape), 1);
/// *total.lock() += 1;
/// ```
pub type AnyHmcsFast<P = MayPark, S = ChosenShape> = Hmcs<S, LEAVES, INNER, P, 128, ByFastPath>;

impl<L, const LEAVES: usize, const INNER: usize, P: Form, const HAND_OFFS: u32, E> fmt::Debug
    for Hmcs<L, LEAVES, INNER, P, HAND_OFFS, E>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hmcs").finish_non_exhaustive()
    }
}

impl<L: Default, const LEAVES: usize, const INNER: usize, P: Form, const HAND_OFFS: u32, E> Default
    for Hmcs<L, LEAVES, INNER, P, HAND_OFFS, E>
{
    fn default() -> Self {
        Self::shaped(L::default())
    }
}

impl<L, const LEAVES: usize, const INNER: usize, P: Form, const HAND_OFFS: u32, E>
    Hmcs<L, LEAVES, INNER, P, HAND_OFFS, E>
{
    constructor! {
        /// A free lock of that shape.
        ///
        /// ```
        /// use cohort::{Mutex, compose::Numa, numa::Hmcs2};
        ///
        /// static TOTAL: Mutex<u64, Hmcs2> = Mutex::from_raw(Hmcs2::shaped((Numa,)), 1);
        /// *TOTAL.lock() += 1;
        /// assert_eq!(*TOTAL.lock(), 2);
        /// ```
        #[must_use]
        pub fn shaped(shape: L) -> Self {
            Self {
                root: CachePadded(Queue::new()),
                cohorts: Tree::new(),
                shape,
                entry: PhantomData,
            }
        }
    }
}

impl<L, const LEAVES: usize, const INNER: usize, P: Form, const HAND_OFFS: u32, E> Drop
    for Hmcs<L, LEAVES, INNER, P, HAND_OFFS, E>
{
    fn drop(&mut self) {
        self.cohorts.give_back(P::cohorts());
    }
}

impl<L: Shape, const LEAVES: usize, const INNER: usize, P: Form, const HAND_OFFS: u32, E: Entry>
    Hmcs<L, LEAVES, INNER, P, HAND_OFFS, E>
{
    /// The caller's cohort at that level; null above the last.
    #[inline]
    fn find(&self, level: usize) -> *mut Cohort<P> {
        const {
            let enough = Tree::<Cohort<P>, LEAVES, INNER>::has_room_for(L::MOST);
            assert!(enough, "each level has a place at least");
            assert!(HAND_OFFS < ALONE, "a run of hand-offs has an end");
        }
        let count = self.shape.count();
        if level == count {
            return ptr::null_mut();
        }
        let cohort = self.shape.cohort(level);
        let known = self.cohorts.find(level, count, cohort);
        if known.is_null() {
            self.make(level, cohort)
        } else {
            known
        }
    }

    #[cold]
    fn make(&self, level: usize, cohort: usize) -> *mut Cohort<P> {
        let new = P::cohorts().take();
        new.queue.reset(None);
        new.up.0.above.store(self.find(level + 1), Order::RELAXED);
        self.cohorts
            .put((level, self.shape.count(), cohort), new, P::cohorts())
    }

    /// The caller's cohort at that level, recorded in its context.
    #[inline]
    fn begin<'a>(&self, cx: &'a HmcsContext<P, E>, level: usize) -> Option<&'a Cohort<P>> {
        cx.cohort.store(self.find(level), Order::RELAXED);
        cx.cohort()
    }

    /// Enters the queue of the caller's cohort at that level, and all above.  Returns the first
    /// level with another thread in the queue, or [`NOWHERE`], and whether the [`Carried`] lock
    /// was passed on with it.  With `shows`, nodes record when their waiters have yielded their
    /// CPUs.
    #[inline]
    fn climb(&self, mut level: usize, cx: &HmcsContext<P, E>, shows: bool) -> (usize, bool) {
        let mut met = NOWHERE;
        let mut cohort = self.begin(cx, level);
        let mut node = &cx.node;
        loop {
            let queue = cohort.map_or(&self.root.0, |here| &here.queue);
            let entered = queue.enter(node, shows);
            if entered != Entered::Empty {
                met = met.min(level);
            }
            match cohort {
                Some(here) if entered != Entered::WithAllAbove => {
                    (cohort, node) = (here.above(), &here.up.0.node);
                    level += 1;
                }
                _ => return (met, entered == Entered::WithAllAbove),
            }
        }
    }

    /// Blocks until it is held; whether the [`Carried`] lock was passed on with it.
    ///
    /// # Safety
    /// As [`RawLock::acquire`].
    pub(crate) unsafe fn acquire_counted(&self, cx: &HmcsContext<P, E>) -> bool {
        self.climb(0, cx, true).1
    }

    /// Releases it, with the carried lock passed on or released.
    ///
    /// # Safety
    /// As [`RawLock::release`].
    pub(crate) unsafe fn release_carried(&self, cx: &HmcsContext<P, E>, carried: &impl Carried) {
        self.pass_on(cx.cohort(), &cx.node, carried);
    }

    /// Passes on all that is held from that cohort upwards.
    #[inline]
    fn pass_on(&self, cohort: Option<&Cohort<P>>, node: &HmcsNode<P>, carried: &impl Carried) {
        let Some(here) = cohort else {
            let queue = &self.root.0;
            return carried.leave(RootQueue { queue, node });
        };
        let consecutive = node.status.value(Order::RELAXED);
        let most = self.shape.in_a_row(HAND_OFFS);
        let may = carried.may_go_on()
            && (consecutive < most
                || carried.stays_uncontended() && here.is_alone()
                || mutant(flaw::KEEP_FOR_EVER));
        let away = may && carried.needs_presence() && Queue::next_is_away(node);
        if away && mutant(flaw::FORGET_THE_AWAY) {
            return;
        }
        // A cohort that keeps the lock counts from one again, and checks again at the bound.
        let count = if consecutive < most {
            consecutive + 1
        } else {
            FIRST
        };
        if may && !away && here.queue.pass(node, count) {
            return;
        }
        if mutant(flaw::LOW_FIRST) {
            here.queue.leave(node, ALONE);
            return self.pass_on(here.above(), &here.up.0.node, carried);
        }
        if !mutant(flaw::FORGET_ABOVE) {
            self.pass_on(here.above(), &here.up.0.node, carried);
        }
        here.queue.leave(node, ALONE);
    }
}

// SAFETY: a thread that returns from an acquisition heads its cohort's queue and, with the cohorts'
// nodes, each queue above: by its own climb, or by a predecessor's hand-off.  Each queue has one
// head, and a grant publishes the work before it.
unsafe impl<
    L: Shape,
    const LEAVES: usize,
    const INNER: usize,
    P: Form,
    const HAND_OFFS: u32,
    E: Entry,
> RawLock for Hmcs<L, LEAVES, INNER, P, HAND_OFFS, E>
{
    type Context = HmcsContext<P, E>;

    #[inline]
    unsafe fn acquire(&self, cx: &HmcsContext<P, E>) {
        // SAFETY: the caller's.
        if E::TRIES_FIRST && unsafe { self.try_acquire(cx) } {
            return;
        }
        let top = self.shape.count();
        let (met, _) = self.climb(cx.entry.level(top), cx, false);
        cx.entry.learn(top, met);
    }

    #[inline]
    unsafe fn release(&self, cx: &HmcsContext<P, E>) {
        if mutant(flaw::FORGET_LEVEL) {
            self.begin(cx, 0);
        }
        self.pass_on(cx.cohort(), &cx.node, &Nothing);
    }

    fn is_locked(&self) -> bool {
        !self.root.0.is_empty()
    }
}

standalone! {
    [L: Shape, const LEAVES: usize, const INNER: usize, P: Form, const HAND_OFFS: u32, E: Entry] Hmcs<L, LEAVES, INNER, P, HAND_OFFS, E>:
    Hosted { cohort_bytes: L::MOST * Arena::<Cohort<P>>::NODE_BYTES },
    LowLock,
    HighLock
}

// SAFETY: a thread that finds the system's queue empty holds the lock with it alone.
unsafe impl<
    L: Shape,
    const LEAVES: usize,
    const INNER: usize,
    P: Form,
    const HAND_OFFS: u32,
    E: Entry,
> RawTry for Hmcs<L, LEAVES, INNER, P, HAND_OFFS, E>
{
    unsafe fn try_acquire(&self, cx: &HmcsContext<P, E>) -> bool {
        self.begin(cx, self.shape.count());
        self.root.0.try_enter(&cx.node)
    }
}

// SAFETY: release reads the cohort from the context, and no state of the thread.
unsafe impl<
    L: Shape,
    const LEAVES: usize,
    const INNER: usize,
    P: Form,
    const HAND_OFFS: u32,
    E: Entry,
> ThreadOblivious for Hmcs<L, LEAVES, INNER, P, HAND_OFFS, E>
{
}

impl<L: Shape, const LEAVES: usize, const INNER: usize, P: Form, const HAND_OFFS: u32, E: Entry>
    Fair for Hmcs<L, LEAVES, INNER, P, HAND_OFFS, E>
{
}

// SAFETY: at each level the holder's queue ends with its own node or its cohort's.  Any other tail
// is the node of a thread that waits for the whole lock.  Grants between HMCS's own levels are not
// hand-offs of a composition: no count is passed on.
unsafe impl<
    L: Shape,
    const LEAVES: usize,
    const INNER: usize,
    P: Form,
    const HAND_OFFS: u32,
    E: Entry,
> DetectsWaiters for Hmcs<L, LEAVES, INNER, P, HAND_OFFS, E>
{
    #[inline]
    unsafe fn has_waiters(&self, cx: &HmcsContext<P, E>) -> bool {
        let mut cohort = cx.cohort();
        let mut node = &cx.node;
        while let Some(here) = cohort {
            if here.queue.tail.load(Order::RELAXED) != node.pointer() {
                return true;
            }
            (cohort, node) = (here.above(), &here.up.0.node);
        }
        self.root.0.tail.load(Order::RELAXED) != node.pointer()
    }
}

// SAFETY: afterwards every queue is empty except on the holder's path.
unsafe impl<
    L: Shape,
    const LEAVES: usize,
    const INNER: usize,
    P: Form,
    const HAND_OFFS: u32,
    E: Entry,
> Inherit for Hmcs<L, LEAVES, INNER, P, HAND_OFFS, E>
{
    unsafe fn inherit(&self, holder: Option<&HmcsContext<P, E>>) {
        for cohort in self.cohorts.all() {
            cohort.queue.reset(None);
        }
        let Some(cx) = holder else {
            return self.root.0.reset(None);
        };
        let mut cohort = cx.cohort();
        let mut node = &cx.node;
        while let Some(here) = cohort {
            here.queue.reset(Some(node));
            (cohort, node) = (here.above(), &here.up.0.node);
        }
        self.root.0.reset(Some(node));
    }
}

impl<L: Shape, const LEAVES: usize, const INNER: usize, P: Form, const HAND_OFFS: u32, E: Entry>
    TwoForms for Hmcs<L, LEAVES, INNER, P, HAND_OFFS, E>
{
    type Spinning = Hmcs<L, LEAVES, INNER, SpinOnly, HAND_OFFS, E>;
}
