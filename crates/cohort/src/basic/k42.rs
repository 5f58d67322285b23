//! `k42`: the queue of `mcs` behind an interface without nodes.  A waiter needs a node only while
//! it waits; the lock itself is the holder's place in the queue (Auslander, Edelsohn, Krieger,
//! Rosenburg and Wisniewski; Zhang et al. 2017 §2).
//!
//! **Not for** more runnable threads than CPUs unless its waiters may sleep, as `mcs`; nor for
//! speed under load: a granted waiter first puts the lock in its node's place, and thereby writes
//! the line that all arrivals write.
//!
//! | `tail` | `head` | state |
//! |---|---|---|
//! | 0 | 0 | free |
//! | `LOCK` | 0 | held, no waiter |
//! | n | 0 | held; a waiter has arrived and is about to link itself |
//! | n | m | held; waiters from node m to node n |
//!
//! Arrivals write `tail`, and so do threads that are granted the lock, release it or have no
//! successor.  The first arrival behind the lock's own place writes `head`, and so does a granted
//! thread.  Nodes are identified by number, so that the lock is eight bytes.
//!
//! The published lock enters the queue by a compare-exchange and retries after a failure, so a
//! waiter may be overtaken without bound.  Here an arrival at a taken lock exchanges
//! unconditionally; if the lock has become free meanwhile, it is the holder.

use crate::door::{AtomicU32, Order, Spinner, constructor, orders, pool};
use crate::host::{Arena, Pool};
use crate::wait::{MayPark, WaitCell};
use cohort_raw::{DetectsWaiters, Fair, Inherit, RawLock, RawTry, ThreadOblivious, standalone};

orders! {
    /// Sees what the last holder did.
    K42_TAKE = Acquire;
    /// Acquires what the last holder did if the lock was free after all; publishes the fresh node
    /// to the successor that links itself to it.
    K42_ENQUEUE = AcqRel;
    /// Publishes the fresh node to the thread that grants it.
    K42_LINK = Release;
    /// Sees that fresh node: the holder, before it grants.
    K42_SUCCESSOR = Acquire;
    /// What the holder did is seen by its successor.
    K42_GRANT = Release;
    /// Sees it.
    K42_GRANTED = Acquire;
    /// Publishes that the lock's own place has no successor yet, to the arrival that links itself
    /// there.
    K42_REPLACE = Release;
    /// What the holder did is seen by the thread that finds the lock free.
    K42_LEAVE = Release;
}

/// A waiter's place in the queue.
#[derive(Debug, Default)]
pub struct K42Node {
    next: AtomicU32,
    granted: WaitCell<MayPark>,
}

pool! {
    /// A waiter has a node while it waits.
    static NODES: K42Node, cache 4
}

/// Bytes of all nodes made.
pub(crate) fn pool_bytes() -> usize {
    NODES.bytes()
}

/// No node.
const NOBODY: u32 = 0;
/// In `tail`: the lock's own place, which stands for the holder's.
const LOCK: u32 = u32::MAX;

const NO: u32 = 0;
const YES: u32 = 1;
const CLASS: u32 = 1;

/// The lock; all zero when new.
///
/// ```
/// use cohort::{Mutex, basic::K42};
///
/// static TOTAL: Mutex<u64, K42> = Mutex::from_raw(K42::new(), 1);
/// *TOTAL.lock() += 1;
/// assert_eq!(*TOTAL.lock(), 2);
/// ```
#[derive(Debug, Default)]
#[repr(C)]
pub struct K42 {
    tail: AtomicU32,
    head: AtomicU32,
}

impl K42 {
    constructor! {
        /// A free lock.
        #[must_use]
        pub fn new() -> Self {
            Self {
                tail: AtomicU32::new(0),
                head: AtomicU32::new(0),
            }
        }
    }
}

/// The node with that number.
///
/// # Safety
/// A waiter owns it.
unsafe fn node(number: u32) -> &'static K42Node {
    // SAFETY: a waiter's number came from this pool.
    unsafe { NODES.at(number) }
}

/// Blocks until the successor in the queue has linked itself.
fn linked(place: &AtomicU32) -> u32 {
    let mut spinner = Spinner::new();
    loop {
        let successor = place.load(K42_SUCCESSOR);
        if successor != NOBODY {
            return successor;
        }
        spinner.moment();
    }
}

impl K42 {
    #[cold]
    fn acquire_contended(&self) {
        let mine = NODES.take();
        mine.next.store(NOBODY, Order::RELAXED);
        mine.granted.reset(NO);
        let number = NODES.number(mine);
        let predecessor = self.tail.swap(number, K42_ENQUEUE);
        if predecessor != NOBODY {
            let link = if predecessor == LOCK {
                &self.head
            } else {
                // SAFETY: it cannot leave the queue before it has read this link.
                &unsafe { node(predecessor) }.next
            };
            link.store(number, K42_LINK);
            mine.granted
                .wait_for(K42_GRANTED, CLASS, |granted| granted == YES);
        }
        self.replace(mine, number);
        // SAFETY: taken above; the queue has no reference to it.
        unsafe { NODES.give(mine) };
    }

    /// Replaces the holder's node in the queue by the lock.
    fn replace(&self, mine: &K42Node, number: u32) {
        let mut successor = mine.next.load(K42_SUCCESSOR);
        if successor == NOBODY {
            self.head.store(NOBODY, Order::RELAXED);
            if self
                .tail
                .compare_exchange(number, LOCK, K42_REPLACE, Order::RELAXED)
                .is_ok()
            {
                return;
            }
            successor = linked(&mine.next);
        }
        self.head.store(successor, Order::RELAXED);
    }
}

// SAFETY: the head of the queue is the holder's place; a successor waits for its flag,
// which only the holder before it sets, once, after its own work.
unsafe impl RawLock for K42 {
    type Context = ();

    #[inline]
    unsafe fn acquire(&self, (): &()) {
        // SAFETY: the caller's.
        if !unsafe { self.try_acquire(&()) } {
            self.acquire_contended();
        }
    }

    #[inline]
    unsafe fn release(&self, (): &()) {
        let mut successor = self.head.load(K42_SUCCESSOR);
        if successor == NOBODY {
            if self
                .tail
                .compare_exchange(LOCK, NOBODY, K42_LEAVE, Order::RELAXED)
                .is_ok()
            {
                return;
            }
            successor = linked(&self.head);
        }
        // SAFETY: a linked successor waits until it is granted.
        unsafe { node(successor) }.granted.set(YES, K42_GRANT);
    }

    fn is_locked(&self) -> bool {
        self.tail.load(Order::RELAXED) != NOBODY
    }
}

standalone! {
    [] K42:
    Hosted { node_bytes: Arena::<K42Node>::NODE_BYTES },
    QuickRelease,
    LowLock,
    HighLock
}

// SAFETY: an empty queue is a free lock, and one exchange takes it.
unsafe impl RawTry for K42 {
    #[inline]
    unsafe fn try_acquire(&self, (): &()) -> bool {
        self.tail
            .compare_exchange(NOBODY, LOCK, K42_TAKE, Order::RELAXED)
            .is_ok()
    }
}

// SAFETY: release reads and writes the lock and its waiters' nodes alone.
unsafe impl ThreadOblivious for K42 {}

impl Fair for K42 {}

// SAFETY: a holder replaces its node by the lock's own place, so any other tail is a waiter's node,
// which stays until that holds the lock.
unsafe impl DetectsWaiters for K42 {
    #[inline]
    unsafe fn has_waiters(&self, (): &()) -> bool {
        self.tail.load(Order::RELAXED) != LOCK
    }
}

// SAFETY: afterwards the queue is empty or the lock's own place alone.
unsafe impl Inherit for K42 {
    unsafe fn inherit(&self, holder: Option<&()>) {
        let tail = if holder.is_some() { LOCK } else { NOBODY };
        self.tail.store(tail, Order::RELAXED);
        self.head.store(NOBODY, Order::RELAXED);
    }
}
