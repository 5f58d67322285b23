//! Nodes of which each context keeps a list, and looks through it before each acquisition for one
//! that others are done with (Chabbi et al. 2017 §6.2 describe the lists of the locks of Scott
//! 2002).
//!
//! **Not for** locks whose waiters often give up: a waiter that leaves leaves its node too, for
//! somebody else to find, and the list grows as long as nobody does.
//!
//! | a link's `state` | written by | meaning |
//! |---|---|---|
//! | `TAKEN` | its context's thread | in a queue, or about to be |
//! | `FREE` | the last other thread that needs the node, over `TAKEN` | the context may take it again |
//! | `ORPHAN` | its context, over `TAKEN`, as it goes | the last other thread that needs the node gives it back |

use crate::door::{AtomicPtr, AtomicU32, Counter, Order, count, flaws, mutant, orders};
use crate::host::{Arena, Pool};
use core::ptr;

orders! {
    /// What others read of the node, they read before its context writes it again.
    SWEPT_CLAIM = Acquire;
    /// As above, from the side of the last that reads it.
    SWEPT_RECYCLE = Release;
}

flaws! {
    /// Nobody says that the node is free.
    FORGET_NODE = "swept.forget-node";
}

const TAKEN: u32 = 0;
const FREE: u32 = 1;
const ORPHAN: u32 = 2;

/// A node that is in a context's list.
pub trait Swept: Default + Send + Sync + 'static {
    /// Its place there.
    fn link(&self) -> &Link<Self>;

    /// The pool.  Nodes may outlive their contexts in a queue, so no frame owns one.
    fn pool() -> &'static (impl Pool<Self> + 'static);
}

/// A node's place in the list of its context.
#[derive(Debug)]
pub struct Link<N> {
    state: AtomicU32,
    /// Its context's alone.
    next: AtomicPtr<N>,
}

impl<N> Default for Link<N> {
    fn default() -> Self {
        Self {
            state: AtomicU32::new(TAKEN),
            next: AtomicPtr::null(),
        }
    }
}

/// Says that nobody will touch the node any more but its context.
pub fn recycle<N: Swept>(node: &'static N) {
    if mutant(flaw::FORGET_NODE) {
        return;
    }
    let freed = node
        .link()
        .state
        .compare_exchange(TAKEN, FREE, SWEPT_RECYCLE, Order::RELAXED);
    if freed.is_err() {
        // SAFETY: its context is gone, and was the only other one that might have used it.
        unsafe { N::pool().give(node) };
    }
}

/// A context: its nodes, and the one of its acquisition.
#[derive(Debug)]
pub struct List<N: Swept> {
    first: AtomicPtr<N>,
    current: AtomicPtr<N>,
}

impl<N: Swept> Default for List<N> {
    fn default() -> Self {
        Self {
            first: AtomicPtr::null(),
            current: AtomicPtr::null(),
        }
    }
}

impl<N: Swept> List<N> {
    /// A node for an acquisition: the first of the list that is free, or else one more.
    pub fn take(&self) -> &'static N {
        let mut place = &self.first;
        // SAFETY: nodes of a pool stay, and null is none.
        while let Some(node) = unsafe { place.load(Order::RELAXED).as_ref() } {
            let link = node.link();
            if link.state.load(SWEPT_CLAIM) == FREE {
                link.state.store(TAKEN, Order::RELAXED);
                return self.begin(node);
            }
            place = &link.next;
        }
        let node = N::pool().take();
        count(Counter::Bytes, Arena::<N>::NODE_BYTES as u64);
        node.link().state.store(TAKEN, Order::RELAXED);
        node.link().next.store(ptr::null_mut(), Order::RELAXED);
        place.store(ptr::from_ref(node).cast_mut(), Order::RELAXED);
        self.begin(node)
    }

    fn begin(&self, node: &'static N) -> &'static N {
        self.current
            .store(ptr::from_ref(node).cast_mut(), Order::RELAXED);
        node
    }

    /// The node that was taken last.
    ///
    /// # Panics
    /// If none was.
    pub fn current(&self) -> &'static N {
        // SAFETY: as above.
        match unsafe { self.current.load(Order::RELAXED).as_ref() } {
            Some(node) => node,
            None => unreachable!("a context that holds the lock has a node"),
        }
    }
}

impl<N: Swept> Drop for List<N> {
    fn drop(&mut self) {
        let mut at = self.first.load(Order::RELAXED);
        // SAFETY: as above.
        while let Some(node) = unsafe { at.as_ref() } {
            let link = node.link();
            at = link.next.load(Order::RELAXED);
            let left = link
                .state
                .compare_exchange(TAKEN, ORPHAN, Order::RELAXED, SWEPT_CLAIM);
            if left.is_err() {
                // SAFETY: free, and this context's alone.
                unsafe { N::pool().give(node) };
            }
        }
    }
}
