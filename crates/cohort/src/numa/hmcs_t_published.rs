//! `hmcs-t-published-1` to `-5`: `hmcs-t` as printed (Chabbi et al. 2017 §3, §4), for comparison.
//!
//! **Not for** programs: a thread has one node for all its acquisitions, and a context that ends
//! while its node is abandoned keeps that node from its pool for ever.  The paper's destructor
//! waits for the node instead.
//!
//! Each arrival exchanges its node's status for `WAITING`; the status that it finds says what to
//! do.  A waiter that gives up leaves its node in the queue.  A releaser walks over such nodes, and
//! recycles them on its way back, after the grant.
//!
//! | a node's `status` | written by | meaning to an arrival |
//! |---|---|---|
//! | `RECYCLED` | the releaser that passed it; a late successor | in no queue: enter |
//! | `WAITING` | its owner, by exchange | |
//! | `ABANDONED` | its owner, over `WAITING` | in its queue: wait there |
//! | `PREFIX` | a releaser, by exchange; its owner | passed over: wait until it is recycled |
//! | `FIRST` | its holder | the queue was inherited: go on above |
//! | `FIRST` + n | a releaser, by exchange | as `PREFIX`; to a waiter: all above is held too |
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | a node's `next` | its successor, by exchange; a releaser | successor; after a skip: the node before; `IMPATIENT`: released before the successor had linked itself |
//! | a queue's `tail` | arrivals; the last to leave | as in `mcs` |
//! | a cohort's `node` | the holder of the cohort's queue | its place in the queue above |
//!
//! **Beside `hmcs-t`.**  A patient thread's node is like any other: granted by an exchange, and
//! recycled by another write.  A releaser waits for no returning neighbour.  The fast path needs a
//! recycled node, and tries the system's queue on each arrival (§5, after Chabbi and
//! Mellor-Crummey 2016), as `hmcs-fast` does.
//!
//! **Mended**, since the printed steps do not exclude.  The paper's waiter times out by an exchange,
//! which could overwrite a grant (§4, step 1); its text also has the compare-exchange that is here.
//! Before `IMPATIENT` is left at a node, its `FIRST` becomes `PREFIX`, lest the node's next user
//! take its queue as inherited.

use super::linked;
use super::shape::{ChosenShape, Shape};
use crate::compose::{INNER, LEAVES, Tree};
use crate::door::{AtomicPtr, Counter, Order, constructor, count, flaws, mutant, orders};
use crate::host::{Arena, Pool};
use crate::support::padded::CachePadded;
use crate::wait::{MayPark, Parking, SpinOnly, WaitCell};
use cohort_raw::{Abortable, BoundedAbort, Fair, Outcome, Patience, RawLock, RawTry, TwoForms};
use core::fmt;
use core::ptr;

orders! {
    /// Sees the links that the recycler left in the node.
    HMCS_TP_CLAIM = Acquire;
    /// As above, on the recycler's side.
    HMCS_TP_RECYCLE = Release;
    /// Sees the last holder's work if the queue was empty; publishes the fresh node to the
    /// successor that will write `next`.
    HMCS_TP_ENQUEUE = AcqRel;
    /// Publishes the fresh node to the thread that will grant it; sees the work of a releaser that
    /// did not wait for the link.
    HMCS_TP_LINK = AcqRel;
    /// Sees that fresh node before writing its status.
    HMCS_TP_SUCCESSOR = Acquire;
    /// Publishes the holder's work to its successor.
    HMCS_TP_GRANT = Release;
    /// As above, on the successor's side.
    HMCS_TP_GRANTED = Acquire;
    /// Publishes the holder's work to a thread that finds the queue empty.
    HMCS_TP_LEAVE = Release;
    /// Publishes the holder's work to the successor that finds the mark.
    HMCS_TP_IMPATIENT = Release;
    /// Sees the last holder's work; publishes the fresh node.
    HMCS_TP_TRY = AcqRel;
}

flaws! {
    /// A holder's `FIRST` stays under `IMPATIENT`, as printed.
    KEEP_FIRST = "hmcs-t-published.keep-first";
    /// A waiter that gives up overwrites a grant, as printed.
    OVERWRITE_GRANT = "hmcs-t-published.overwrite-grant";
    /// A waiter that finds the mark waits nevertheless.
    IGNORE_MARK = "hmcs-t-published.ignore-mark";
    /// A releaser recycles no node.
    FORGET_NODES = "hmcs-t-published.forget-nodes";
    /// A cohort keeps the lock for ever.
    KEEP_FOR_EVER = "hmcs-t-published.keep-for-ever";
}

const RECYCLED: u32 = 0;
const WAITING: u32 = 1;
const ABANDONED: u32 = 2;
const PREFIX: u32 = 3;
/// The first acquisition in a row: the paper's C.
const FIRST: u32 = 4;
const CLASS: u32 = 1;

/// Looks of a hurried release for the link of a successor in the queue.
const LOOKS: u32 = 2;

/// In a node's `next`: its releaser did not wait for the successor.
const IMPATIENT: usize = 1;

/// In a context's `cohort`.
const PATIENT: usize = 1;

/// A place in a queue, of a context, or of a cohort in the queue above.
#[derive(Debug, Default)]
#[repr(C)]
pub struct HmcsTPublishedNode<P: Parking> {
    next: AtomicPtr<HmcsTPublishedNode<P>>,
    status: WaitCell<P>,
}

impl<P: Parking> HmcsTPublishedNode<P> {
    fn pointer(&self) -> *mut Self {
        ptr::from_ref(self).cast_mut()
    }

    fn mark() -> *mut Self {
        ptr::without_provenance_mut(IMPATIENT)
    }

    fn recycle(&self) {
        self.status.set(RECYCLED, HMCS_TP_RECYCLE);
    }

    /// Exchanges its status for `WAITING`, and waits for its recycler if one is on its way.  None if
    /// patience runs out first.
    fn begin(&self, patience: &Patience) -> Option<u32> {
        let found = self.status.swap(WAITING, HMCS_TP_CLAIM);
        debug_assert_ne!(found, WAITING, "one thread at a time uses a node");
        if found <= ABANDONED || found == FIRST {
            return Some(found);
        }
        let is_back = |status| status == RECYCLED;
        let back = self
            .status
            .wait_within(HMCS_TP_CLAIM, CLASS, is_back, patience);
        let left = !back
            && self
                .status
                .exchange(WAITING, PREFIX, Order::RELAXED, HMCS_TP_CLAIM);
        if left {
            return None;
        }
        self.status.reset(WAITING);
        Some(RECYCLED)
    }
}

/// Outcome of entering a queue.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Entered {
    /// The queue is held.
    Alone,
    /// The queue and all above are held.
    WithAllAbove,
    /// Patience ran out; the node stays in the queue if it was there.
    GaveUp,
}

/// One queue of the tree.
#[derive(Debug, Default)]
#[repr(transparent)]
struct Queue<P: Parking> {
    tail: AtomicPtr<HmcsTPublishedNode<P>>,
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

    /// Takes it if it is empty, with a node in no queue.
    fn take(&self, node: &HmcsTPublishedNode<P>) -> bool {
        if !self.is_empty() {
            return false;
        }
        node.next.store(ptr::null_mut(), Order::RELAXED);
        let taken = self
            .tail
            .compare_exchange(ptr::null_mut(), node.pointer(), HMCS_TP_TRY, Order::RELAXED)
            .is_ok();
        if taken {
            node.status.reset(FIRST);
        }
        taken
    }

    /// Enters it with a node that was found with that status.
    fn enter(&self, node: &HmcsTPublishedNode<P>, found: u32, patience: &Patience) -> Entered {
        if found == FIRST {
            // The thread that passed on the queue below held this one too.
            node.status.reset(FIRST);
            return Entered::Alone;
        }
        count(
            if found == ABANDONED {
                Counter::Resumed
            } else {
                Counter::Begun
            },
            1,
        );
        if found == RECYCLED {
            node.next.store(ptr::null_mut(), Order::RELAXED);
            let before = self.tail.swap(node.pointer(), HMCS_TP_ENQUEUE);
            // SAFETY: nodes are never freed, and this one stays in the queue until it is linked.
            let Some(before) = (unsafe { before.as_ref() }) else {
                node.status.reset(FIRST);
                return Entered::Alone;
            };
            let was = before.next.swap(node.pointer(), HMCS_TP_LINK);
            if was == HmcsTPublishedNode::mark() && !mutant(flaw::IGNORE_MARK) {
                before.recycle();
                node.status.reset(FIRST);
                return Entered::Alone;
            }
        }
        let granted = |status| status != WAITING;
        if !node
            .status
            .wait_within(HMCS_TP_GRANTED, CLASS, granted, patience)
        {
            if mutant(flaw::OVERWRITE_GRANT) {
                node.status.reset(ABANDONED);
                return Entered::GaveUp;
            }
            if node
                .status
                .exchange(WAITING, ABANDONED, Order::RELAXED, HMCS_TP_GRANTED)
            {
                return Entered::GaveUp;
            }
        }
        if node.status.value(Order::RELAXED) != PREFIX {
            return Entered::WithAllAbove;
        }
        node.status.reset(FIRST);
        Entered::Alone
    }
}

/// A releaser's way along a queue, over abandoned nodes.
struct Walk<'a, P: Parking> {
    /// The last node that it reached.
    at: &'a HmcsTPublishedNode<P>,
    /// The node before, from which `next` leads back to the releaser's own.
    behind: *mut HmcsTPublishedNode<P>,
}

impl<'a, P: Parking> Walk<'a, P> {
    fn from(node: &'a HmcsTPublishedNode<P>) -> Self {
        Self {
            at: node,
            behind: ptr::null_mut(),
        }
    }

    /// Grants that status to the first waiter; false, at the last linked node, if there is none.
    fn pass(&mut self, status: u32) -> bool {
        loop {
            let next = self.at.next.load(HMCS_TP_SUCCESSOR);
            debug_assert_ne!(next, HmcsTPublishedNode::mark(), "released twice");
            // SAFETY: a linked successor stays until it is granted or recycled, and nodes are never
            // freed.
            let Some(successor) = (unsafe { next.as_ref() }) else {
                return false;
            };
            let waits = successor.status.swap(status, HMCS_TP_GRANT) == WAITING;
            count(Counter::Steps, 1);
            if waits {
                return true;
            }
            count(Counter::Passed, 1);
            self.at.next.store(self.behind, Order::RELAXED);
            (self.at, self.behind) = (successor, self.at.pointer());
        }
    }

    /// Passes the queue on, or leaves it empty, and recycles the nodes.
    fn finish(mut self, queue: &Queue<P>, status: u32, is_patient: bool) {
        while !self.pass(status) {
            if queue
                .tail
                .compare_exchange(
                    self.at.pointer(),
                    ptr::null_mut(),
                    HMCS_TP_LEAVE,
                    Order::RELAXED,
                )
                .is_ok()
            {
                break;
            }
            if is_patient {
                linked(&self.at.next, Order::RELAXED);
                continue;
            }
            if (0..LOOKS).any(|_| !self.at.next.load(Order::RELAXED).is_null()) {
                continue;
            }
            if self.at.status.value(Order::RELAXED) == FIRST && !mutant(flaw::KEEP_FIRST) {
                self.at.status.reset(PREFIX);
            }
            if self
                .at
                .next
                .compare_exchange(
                    ptr::null_mut(),
                    HmcsTPublishedNode::mark(),
                    HMCS_TP_IMPATIENT,
                    Order::RELAXED,
                )
                .is_ok()
            {
                // The late successor recycles the last node.
                return self.recycle_behind();
            }
        }
        self.recycle();
    }

    /// Recycles the passed nodes, the last first.
    fn recycle(&self) {
        count(Counter::Steps, 1);
        if !mutant(flaw::FORGET_NODES) {
            self.at.recycle();
        }
        self.recycle_behind();
    }

    fn recycle_behind(&self) {
        let mut node = self.behind;
        // SAFETY: nodes are never freed, and these are the releaser's until it recycles them.
        while let Some(here) = unsafe { node.as_ref() } {
            node = here.next.load(Order::RELAXED);
            count(Counter::Steps, 1);
            if !mutant(flaw::FORGET_NODES) {
                here.recycle();
            }
        }
    }
}

/// A cohort of one lock.
#[derive(Debug, Default)]
#[repr(C, align(128))]
pub struct Cohort<P: Parking> {
    queue: Queue<P>,
    above: AtomicPtr<Cohort<P>>,
    /// On a line of its own: its writers are not the cohort's arrivals.
    node: CachePadded<HmcsTPublishedNode<P>>,
}

impl<P: Parking> Cohort<P> {
    fn above(&self) -> Option<&'static Self> {
        // SAFETY: cohorts are pool nodes, which are never freed, and null is none.
        unsafe { self.above.load(Order::RELAXED).as_ref() }
    }
}

tree_forms! { HmcsTPublishedNode }

/// A thread's node, and its acquisition.
#[derive(Debug)]
#[repr(C)]
pub struct PublishedContext<P: Form = MayPark> {
    /// Null: none yet.
    node: AtomicPtr<HmcsTPublishedNode<P>>,
    /// The lock of its last acquisition, by the address of its top queue.
    lock: AtomicPtr<Queue<P>>,
    /// The cohort of the acquisition's first queue; null: the system.  The bit `PATIENT`: its
    /// thread has no deadline.
    cohort: AtomicPtr<Cohort<P>>,
}

impl<P: Form> Default for PublishedContext<P> {
    fn default() -> Self {
        Self {
            node: AtomicPtr::null(),
            lock: AtomicPtr::null(),
            cohort: AtomicPtr::null(),
        }
    }
}

impl<P: Form> PublishedContext<P> {
    fn node(&self) -> Option<&'static HmcsTPublishedNode<P>> {
        // SAFETY: pool nodes are never freed, and null is none.
        unsafe { self.node.load(Order::RELAXED).as_ref() }
    }

    fn begin(&self, cohort: *mut Cohort<P>, is_patient: bool) {
        let cohort = cohort.map_addr(|at| at | if is_patient { PATIENT } else { 0 });
        self.cohort.store(cohort, Order::RELAXED);
    }

    /// The cohort of its first queue, and whether its thread is patient.
    fn began(&self) -> (Option<&'static Cohort<P>>, bool) {
        let cohort = self.cohort.load(Order::RELAXED);
        let is_patient = cohort.addr() & PATIENT != 0;
        // SAFETY: as `Cohort::above`.
        let cohort = unsafe { cohort.map_addr(|at| at & !PATIENT).as_ref() };
        (cohort, is_patient)
    }

    /// Its node, for an acquisition of the lock with that top queue.
    fn node_for(&self, top: &Queue<P>) -> &'static HmcsTPublishedNode<P> {
        let top = ptr::from_ref(top).cast_mut();
        match self.node() {
            Some(node) if self.lock.load(Order::RELAXED) == top => node,
            node => self.node_at(node, top),
        }
    }

    /// As above, with the node from another lock, if any: it stays there unless it is recycled.
    #[cold]
    fn node_at(
        &self,
        node: Option<&'static HmcsTPublishedNode<P>>,
        top: *mut Queue<P>,
    ) -> &'static HmcsTPublishedNode<P> {
        self.lock.store(top, Order::RELAXED);
        if let Some(node) = node
            && node.status.value(HMCS_TP_CLAIM) == RECYCLED
        {
            return node;
        }
        let node = P::nodes().take();
        count(
            Counter::Bytes,
            Arena::<HmcsTPublishedNode<P>>::NODE_BYTES as u64,
        );
        node.status.reset(RECYCLED);
        self.node.store(node.pointer(), Order::RELAXED);
        node
    }
}

impl<P: Form> Drop for PublishedContext<P> {
    fn drop(&mut self) {
        if let Some(node) = self.node()
            && node.status.value(HMCS_TP_CLAIM) == RECYCLED
        {
            // SAFETY: in no queue, and the context's alone.
            unsafe { P::nodes().give(node) };
        }
    }
}

/// The lock of the levels `L` and the whole system, with space for `LEAVES` cohorts of the smallest
/// level and `INNER` of all others together.  A cohort has it up to `HAND_OFFS` times in a row,
/// unless the shape `L` says otherwise.
///
/// ```
/// use cohort::{Mutex, compose::Numa, numa::HmcsTPublished};
///
/// let total: Mutex<u64, HmcsTPublished<(Numa,), 64, 0>> = Mutex::from(1);
/// total.locking(|total| *total += 1);
/// assert_eq!(total.into_inner(), 2);
/// ```
#[repr(C)]
pub struct HmcsTPublished<
    L,
    const LEAVES: usize,
    const INNER: usize,
    P: Form = MayPark,
    const HAND_OFFS: u32 = 64,
> {
    root: CachePadded<Queue<P>>,
    cohorts: Tree<Cohort<P>, LEAVES, INNER>,
    shape: L,
}

/// The lock with levels chosen at construction.
///
/// ```
/// use cohort::{Mutex, numa::AnyHmcsTPublished};
///
/// let total: Mutex<u64, AnyHmcsTPublished> = Mutex::from(1);
/// total.locking(|total| *total += 1);
/// assert_eq!(total.into_inner(), 2);
/// ```
pub type AnyHmcsTPublished<P = MayPark, S = ChosenShape> = HmcsTPublished<S, LEAVES, INNER, P>;

impl<L, const LEAVES: usize, const INNER: usize, P: Form, const HAND_OFFS: u32> fmt::Debug
    for HmcsTPublished<L, LEAVES, INNER, P, HAND_OFFS>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HmcsTPublished").finish_non_exhaustive()
    }
}

impl<L: Default, const LEAVES: usize, const INNER: usize, P: Form, const HAND_OFFS: u32> Default
    for HmcsTPublished<L, LEAVES, INNER, P, HAND_OFFS>
{
    fn default() -> Self {
        Self::shaped(L::default())
    }
}

impl<L, const LEAVES: usize, const INNER: usize, P: Form, const HAND_OFFS: u32>
    HmcsTPublished<L, LEAVES, INNER, P, HAND_OFFS>
{
    constructor! {
        /// A free lock of that shape.
        #[must_use]
        pub fn shaped(shape: L) -> Self {
            Self {
                root: CachePadded(Queue::new()),
                cohorts: Tree::new(),
                shape,
            }
        }
    }
}

impl<L, const LEAVES: usize, const INNER: usize, P: Form, const HAND_OFFS: u32> Drop
    for HmcsTPublished<L, LEAVES, INNER, P, HAND_OFFS>
{
    fn drop(&mut self) {
        self.cohorts.give_back(P::cohorts());
    }
}

impl<L: Shape, const LEAVES: usize, const INNER: usize, P: Form, const HAND_OFFS: u32>
    HmcsTPublished<L, LEAVES, INNER, P, HAND_OFFS>
{
    /// The caller's cohort at that level; null above the last.
    fn find(&self, level: usize) -> *mut Cohort<P> {
        const {
            let enough = Tree::<Cohort<P>, LEAVES, INNER>::has_room_for(L::MOST);
            assert!(enough, "each level has a place at least");
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
        new.queue.tail.store(ptr::null_mut(), Order::RELAXED);
        new.node.0.status.reset(RECYCLED);
        new.above.store(self.find(level + 1), Order::RELAXED);
        let place = (level, self.shape.count(), cohort);
        let put = self.cohorts.put(place, new, P::cohorts());
        if ptr::eq(put, new) {
            count(Counter::Bytes, Arena::<Cohort<P>>::NODE_BYTES as u64);
        }
        put
    }

    fn queue<'a>(&'a self, cohort: Option<&'a Cohort<P>>) -> &'a Queue<P> {
        cohort.map_or(&self.root.0, |here| &here.queue)
    }

    /// Blocks until it is held, or patience runs out; with or without the fast path.
    fn arrive(&self, cx: &PublishedContext<P>, patience: &Patience, is_fast: bool) -> Outcome {
        let node = cx.node_for(&self.root.0);
        let Some(found) = node.begin(patience) else {
            return Outcome::GaveUp;
        };
        let is_patient = patience.is_endless();
        // A thread that has migrated starts in its new cohort if its node is recycled (§5).
        let first = if found == RECYCLED {
            if is_fast && self.root.0.take(node) {
                count(Counter::Begun, 1);
                count(Counter::Steps, 1);
                cx.begin(ptr::null_mut(), is_patient);
                return Outcome::Acquired;
            }
            self.find(0)
        } else {
            let (cohort, _) = cx.began();
            cohort.map_or(ptr::null_mut(), |here| ptr::from_ref(here).cast_mut())
        };
        cx.begin(first, is_patient);
        // SAFETY: as `Cohort::above`.
        self.climb(unsafe { first.as_ref() }, node, found, patience)
    }

    /// Acquires without the fast path, for a contended lock.  Blocks.
    ///
    /// # Safety
    /// As [`RawLock::acquire`].
    pub unsafe fn acquire_among_others(&self, cx: &PublishedContext<P>) {
        let _ = self.arrive(cx, &Patience::ENDLESS, false);
    }

    /// Whether a queue of the holder's path has a waiter or an abandoned node: a hint.
    ///
    /// # Safety
    /// The caller holds the lock by that context.
    pub unsafe fn is_followed(&self, cx: &PublishedContext<P>) -> bool {
        let mut node = cx.node();
        let (mut cohort, _) = cx.began();
        while let Some(here) = node {
            if self.queue(cohort).tail.load(Order::RELAXED) != here.pointer() {
                return true;
            }
            node = cohort.map(|cohort| &cohort.node.0);
            cohort = cohort.and_then(Cohort::above);
        }
        false
    }

    /// Enters the queue of `leaf` with a node that was found with that status, and all above.
    fn climb(
        &self,
        leaf: Option<&Cohort<P>>,
        node: &HmcsTPublishedNode<P>,
        found: u32,
        patience: &Patience,
    ) -> Outcome {
        let mut cohort = leaf;
        let mut entered = self.queue(cohort).enter(node, found, patience);
        let mut held = 0;
        loop {
            match entered {
                Entered::WithAllAbove => {
                    count(Counter::Steps, 1);
                    return Outcome::Acquired;
                }
                Entered::GaveUp => {
                    if let Some(here) = leaf
                        && held > 0
                    {
                        Self::retreat(here, node, held - 1);
                    }
                    return Outcome::GaveUp;
                }
                Entered::Alone => count(Counter::Steps, 1),
            }
            let Some(here) = cohort else {
                return Outcome::Acquired;
            };
            held += 1;
            cohort = here.above();
            let above = &here.node.0;
            entered = match above.begin(patience) {
                Some(found) => self.queue(cohort).enter(above, found, patience),
                None => Entered::GaveUp,
            };
        }
    }

    /// Gives up the queue of `here`, held at `node`, and those of `above` more cohorts: all to a
    /// waiter of the smallest cohort that has one, and the queues below it to other waiters (§4).
    fn retreat(here: &Cohort<P>, node: &HmcsTPublishedNode<P>, above: usize) {
        let mut walk = Walk::from(node);
        let passed = above > 0 && walk.pass(PREFIX);
        if !passed {
            if above > 0
                && let Some(next) = here.above()
            {
                Self::retreat(next, &here.node.0, above - 1);
            }
            return walk.finish(&here.queue, PREFIX, false);
        }
        walk.recycle();
    }

    /// Passes on all that is held from that cohort upwards; its queue is held at `node`.
    fn pass_on(&self, cohort: Option<&Cohort<P>>, node: &HmcsTPublishedNode<P>, is_patient: bool) {
        let mut walk = Walk::from(node);
        let Some(here) = cohort else {
            return walk.finish(&self.root.0, FIRST + 1, is_patient);
        };
        let consecutive = node.status.value(Order::RELAXED);
        let end = FIRST + self.shape.in_a_row(HAND_OFFS);
        let may = consecutive + 1 < end || mutant(flaw::KEEP_FOR_EVER);
        if !(may && walk.pass((consecutive + 1).min(end))) {
            self.pass_on(here.above(), &here.node.0, is_patient);
            return walk.finish(&here.queue, PREFIX, is_patient);
        }
        walk.recycle();
    }
}

// SAFETY: a thread that returns from an acquisition heads its first queue and, with the cohorts'
// nodes, each queue above: by its own climb, by a hand-off, or by queues that a waiter which gave
// up left held.  Each queue has one head, and a grant publishes the work before it.
unsafe impl<L: Shape, const LEAVES: usize, const INNER: usize, P: Form, const HAND_OFFS: u32>
    RawLock for HmcsTPublished<L, LEAVES, INNER, P, HAND_OFFS>
{
    type Context = PublishedContext<P>;

    unsafe fn acquire(&self, cx: &PublishedContext<P>) {
        // SAFETY: the caller's.
        let _ = unsafe { self.acquire_within(cx, &Patience::ENDLESS) };
    }

    unsafe fn release(&self, cx: &PublishedContext<P>) {
        let Some(node) = cx.node() else {
            unreachable!("a context that holds the lock has a node")
        };
        let (cohort, is_patient) = cx.began();
        self.pass_on(cohort, node, is_patient);
    }

    fn is_locked(&self) -> bool {
        !self.root.0.is_empty()
    }
}

// SAFETY: a thread that finds the system's queue empty holds the lock with it alone.
unsafe impl<L: Shape, const LEAVES: usize, const INNER: usize, P: Form, const HAND_OFFS: u32> RawTry
    for HmcsTPublished<L, LEAVES, INNER, P, HAND_OFFS>
{
    unsafe fn try_acquire(&self, cx: &PublishedContext<P>) -> bool {
        let node = cx.node_for(&self.root.0);
        if node.status.value(HMCS_TP_CLAIM) != RECYCLED || !self.root.0.take(node) {
            return false;
        }
        cx.begin(ptr::null_mut(), false);
        true
    }
}

// SAFETY: a waiter that gives up holds no queue afterwards; its node is in none, is marked as
// abandoned, or will be recycled by the releaser that has passed it.
unsafe impl<L: Shape, const LEAVES: usize, const INNER: usize, P: Form, const HAND_OFFS: u32>
    Abortable for HmcsTPublished<L, LEAVES, INNER, P, HAND_OFFS>
{
    unsafe fn acquire_within(&self, cx: &PublishedContext<P>, patience: &Patience) -> Outcome {
        self.arrive(cx, patience, self.shape.count() > 0)
    }
}

// SAFETY: after its deadline a waiter looks once at each level above, and skips at most the nodes
// in the queues that it holds, one for each context; none returns before it is recycled.
unsafe impl<L: Shape, const LEAVES: usize, const INNER: usize, P: Form, const HAND_OFFS: u32>
    BoundedAbort for HmcsTPublished<L, LEAVES, INNER, P, HAND_OFFS>
{
}

impl<L: Shape, const LEAVES: usize, const INNER: usize, P: Form, const HAND_OFFS: u32> Fair
    for HmcsTPublished<L, LEAVES, INNER, P, HAND_OFFS>
{
}

impl<L: Shape, const LEAVES: usize, const INNER: usize, P: Form, const HAND_OFFS: u32> TwoForms
    for HmcsTPublished<L, LEAVES, INNER, P, HAND_OFFS>
{
    type Spinning = HmcsTPublished<L, LEAVES, INNER, SpinOnly, HAND_OFFS>;
}
