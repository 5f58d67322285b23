//! `clh`: an implicit queue; each waiter looks at its predecessor's node, and owns it after its own
//! acquisition (Craig; Landin and Hagersten; Chehab et al. 2021 §2.1).
//!
//! **Not for** machines where reads of a remote node are expensive and not cached; there `mcs`
//! spins on its own node.
//!
//! The published lock keeps a dummy node while free.  Here a free lock's tail is null, so that a
//! free lock owns no memory and a zeroed mutex is valid.  The holder keeps its node if there is no
//! waiter, and leaves it to its successor otherwise.
//!
//! | `tail` | state |
//! |---|---|
//! | null | free |
//! | the holder's node | held, no waiter |
//! | another node | held; that node is the last waiter's |
//!
//! A node's `released` is written by its owner and read by its successor, which owns the node from
//! then on: 1 plus the number that is carried.

use crate::door::{AtomicPtr, Cell, Order, constructor, orders, pool};
use crate::host::Pool;
use crate::wait::{MayPark, WaitCell};
use cohort_raw::{
    DetectsWaiters, Fair, Inherit, LowLock, RawLock, RawTry, ThreadOblivious, standalone,
};
use core::ptr;

orders! {
    /// Acquires what the last holder did if the lock was free; publishes the fresh node to the
    /// successor.
    CLH_ENQUEUE = AcqRel;
    /// What the holder did is seen by its successor.
    CLH_RELEASE = Release;
    /// Sees it.
    CLH_RELEASED = Acquire;
    /// What the holder did is seen by the thread that finds the lock free.
    CLH_LEAVE = Release;
    /// Sees what the last holder did; publishes the fresh node.
    CLH_TRY = AcqRel;
}

/// A waiter's node, which its successor looks at.
#[derive(Debug, Default)]
pub struct ClhNode {
    released: WaitCell<MayPark>,
}

impl ClhNode {
    /// Blocks until the node's owner has released it.
    #[inline]
    pub(super) fn await_release(&self, order: Order) {
        self.released
            .wait_for(order, CLASS, |released| released != NO);
    }

    /// Leaves the node to the successor.
    #[inline]
    pub(super) fn release(&self, value: u32, order: Order) {
        self.released.set(value, order);
    }

    /// The node's state, as a hint.
    pub(super) fn state(&self) -> u32 {
        self.released.value(Order::RELAXED)
    }

    /// Makes it a holder's node again.
    pub(super) fn hold(&self) {
        self.released.reset(NO);
    }
}

pool! {
    /// Nodes change owners with each contended acquisition, so no stack frame owns one.
    static NODES: ClhNode, cache 1
}

/// Bytes of all nodes made.
pub(crate) fn pool_bytes() -> usize {
    NODES.bytes()
}

pub(super) const NO: u32 = 0;
pub(super) const YES: u32 = 1;
const CLASS: u32 = 1;

/// A node that its owner leaves to its successor.
pub trait Inherited: Send + Sync + Sized + 'static {
    /// The pool of such nodes.
    fn pool() -> &'static (impl Pool<Self> + 'static);

    /// Makes it an unreleased node.
    fn renew(&self);
}

impl Inherited for ClhNode {
    #[inline]
    fn pool() -> &'static (impl Pool<Self> + 'static) {
        &NODES
    }

    #[inline]
    fn renew(&self) {
        self.released.reset(NO);
    }
}

/// The context of an acquisition of `clh`.
pub type ClhContext = Owned<ClhNode>;

/// The nodes that an acquisition owns.
#[derive(Debug)]
pub struct Owned<N: Inherited> {
    /// The node in the queue, or for the next acquisition.
    mine: Cell<Option<&'static N>>,
    /// The predecessor's, if there was one.
    spare: Cell<Option<&'static N>>,
}

impl<N: Inherited> Owned<N> {
    constructor! {
        /// Without a node: the first acquisition takes one.
        #[must_use]
        pub fn new() -> Self {
            Self {
                mine: Cell::new(None),
                spare: Cell::new(None),
            }
        }
    }
}

impl<N: Inherited> Default for Owned<N> {
    fn default() -> Self {
        Self::new()
    }
}

#[inline]
fn get<N>(cell: &Cell<Option<&'static N>>) -> Option<&'static N> {
    // SAFETY: only the acquisition that owns the context touches it.
    cell.with(|node| unsafe { *node })
}

#[inline]
fn set<N>(cell: &Cell<Option<&'static N>>, node: Option<&'static N>) {
    // SAFETY: as in `get`.
    cell.with_mut(|place| unsafe { *place = node });
}

/// Returns a node to its pool.
#[inline(never)]
pub(crate) fn discard<N: Inherited>(node: Option<&'static N>) {
    if let Some(node) = node {
        // SAFETY: the caller owns the node, and no other thread looks at it.
        unsafe { N::pool().give(node) };
    }
}

/// Returns a node that its owner has left in a queue.
#[inline(never)]
pub(crate) fn return_left<N: Inherited>(node: &'static N) {
    // SAFETY: the caller owns the node, and no other thread looks at it.
    unsafe { N::pool().return_left(node) };
}

impl<N: Inherited> Owned<N> {
    /// The context's own node, not yet released.
    #[inline]
    pub(crate) fn fresh(&self) -> &'static N {
        let node = get(&self.mine).unwrap_or_else(|| self.first());
        node.renew();
        node
    }

    #[inline(never)]
    fn first(&self) -> &'static N {
        let node = N::pool().take();
        set(&self.mine, Some(node));
        node
    }

    /// The node of an acquisition that holds the lock; `None` before the first one.
    #[inline]
    pub(crate) fn node(&self) -> Option<&'static N> {
        get(&self.mine)
    }

    /// The predecessor's node, if the lock was handed over.
    #[inline]
    pub(crate) fn predecessor(&self) -> Option<&'static N> {
        get(&self.spare)
    }

    /// Takes over the node that the predecessor has released.
    #[inline]
    pub(crate) fn succeed(&self, predecessor: &'static N) {
        set(&self.spare, Some(predecessor));
    }

    /// Drops the node of a former predecessor, which is one too many.  A forked child may find one
    /// in a context with which it acquires again.
    #[inline]
    pub(crate) fn forget_predecessor(&self) {
        let spare = get(&self.spare);
        if spare.is_some() {
            set(&self.spare, None);
            discard(spare);
        }
    }

    /// Leaves the node in its queue: it is the successor's from then on.
    #[inline]
    pub(crate) fn abandon(&self, node: &'static N) {
        set(&self.mine, None);
        // SAFETY: the pool's; its successor sees it as left when the caller publishes that.
        unsafe { N::pool().leave(node) };
    }

    /// Leaves the node to the successor, just before its release.
    #[inline]
    pub(crate) fn leave(&self) {
        // In this order: a forked child may find it half done, and continue with the context.
        let spare = get(&self.spare);
        set(&self.spare, None);
        set(&self.mine, spare);
    }
}

impl<N: Inherited> Drop for Owned<N> {
    fn drop(&mut self) {
        discard(get(&self.mine));
        discard(get(&self.spare));
    }
}

/// A node's address, as a queue's tail stores it.
#[inline]
pub(crate) fn pointer<N>(node: &'static N) -> *mut N {
    ptr::from_ref(node).cast_mut()
}

/// The lock; all zero when new.
///
/// ```
/// use cohort::{Mutex, basic::Clh};
///
/// static TOTAL: Mutex<u64, Clh> = Mutex::from_raw(Clh::new(), 1);
/// *TOTAL.lock() += 1;
/// assert_eq!(*TOTAL.lock(), 2);
/// ```
#[derive(Debug, Default)]
#[repr(C)]
pub struct Clh {
    tail: AtomicPtr<ClhNode>,
}

impl Clh {
    constructor! {
        /// A free lock.
        #[must_use]
        pub fn new() -> Self {
            Self {
                tail: AtomicPtr::null(),
            }
        }
    }
}

// SAFETY: each waiter waits for the release of the one node before its own,
// which that node's owner sets once, after its own work.
unsafe impl RawLock for Clh {
    type Context = ClhContext;

    #[inline]
    unsafe fn acquire(&self, cx: &ClhContext) {
        self.enter(cx);
    }

    #[inline]
    unsafe fn release(&self, cx: &ClhContext) {
        self.leave(cx, YES);
    }

    fn is_locked(&self) -> bool {
        !self.tail.load(Order::RELAXED).is_null()
    }
}

standalone! {
    [] Clh:
    Hosted { node_bytes: crate::host::Arena::<ClhNode>::NODE_BYTES },
    QuickRelease,
    HighLock
}

impl Clh {
    /// Blocks until the lock is held; whether a predecessor left it to the caller.
    #[inline(always)]
    fn enter(&self, cx: &ClhContext) -> bool {
        let node = cx.fresh();
        let predecessor = self.tail.swap(pointer(node), CLH_ENQUEUE);
        if predecessor.is_null() {
            cx.forget_predecessor();
            return false;
        }
        // SAFETY: nodes live for ever, and this one is left to its successor.
        let predecessor = unsafe { &*predecessor };
        predecessor.await_release(CLH_RELEASED);
        cx.succeed(predecessor);
        true
    }

    /// Releases the lock: free, or to the successor with that value in the node.
    #[inline(always)]
    fn leave(&self, cx: &ClhContext, value: u32) {
        let Some(node) = cx.node() else {
            unreachable!("a context that holds the lock owns a node")
        };
        // The exchange waits for all earlier writes; so none precede it.  Arrivals use the tail; a
        // load does not take its line from them, as the exchange does.  A carried number implies a
        // waiter.
        let alone = value == YES
            && self.tail.load(Order::RELAXED) == pointer(node)
            && self
                .tail
                .compare_exchange(pointer(node), ptr::null_mut(), CLH_LEAVE, Order::RELAXED)
                .is_ok();
        if alone {
            cx.forget_predecessor();
        } else {
            cx.leave();
            node.release(value, CLH_RELEASE);
        }
    }
}

// SAFETY: a null tail is a free lock, and one exchange takes it.
unsafe impl RawTry for Clh {
    #[inline]
    unsafe fn try_acquire(&self, cx: &ClhContext) -> bool {
        if !self.tail.load(Order::RELAXED).is_null() {
            return false;
        }
        let taken = self
            .tail
            .compare_exchange(
                ptr::null_mut(),
                pointer(cx.fresh()),
                CLH_TRY,
                Order::RELAXED,
            )
            .is_ok();
        if taken {
            cx.forget_predecessor();
        }
        taken
    }
}

// SAFETY: release reads and writes the lock and the context alone.
unsafe impl ThreadOblivious for Clh {}

impl Fair for Clh {}

// SAFETY: a thread that has linked itself waits, and leaves with the lock.
unsafe impl DetectsWaiters for Clh {
    #[inline]
    unsafe fn has_waiters(&self, cx: &ClhContext) -> bool {
        cx.node()
            .is_some_and(|node| self.tail.load(Order::RELAXED) != pointer(node))
    }
}

// SAFETY: the carried count is in the predecessor's node, which the holder owns and no thread
// writes; without a predecessor there is none.
unsafe impl LowLock for Clh {
    #[inline(always)]
    fn hand_off_limit(&self) -> u32 {
        WaitCell::<MayPark>::MAX - YES
    }

    #[inline(always)]
    unsafe fn hand_offs(&self, cx: &ClhContext) -> u32 {
        cx.predecessor().map_or(0, |node| {
            node.released.value(Order::RELAXED).saturating_sub(YES)
        })
    }

    #[inline(always)]
    unsafe fn acquire_counted(&self, cx: &ClhContext) -> u32 {
        if self.enter(cx) {
            // SAFETY: acquired just now, by that context.
            unsafe { self.hand_offs(cx) }
        } else {
            0
        }
    }

    #[inline]
    unsafe fn release_counted(&self, cx: &ClhContext, number: u32) {
        self.leave(cx, YES + number);
    }
}

// SAFETY: afterwards the tail is null or the holder's node.
unsafe impl Inherit for Clh {
    unsafe fn inherit(&self, holder: Option<&ClhContext>) {
        let node = holder.and_then(ClhContext::node);
        if let Some(node) = node {
            node.hold();
        }
        self.tail
            .store(node.map_or(ptr::null_mut(), pointer), Order::RELAXED);
    }
}
