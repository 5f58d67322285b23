//! Queue nodes in a list of each context.  Before each acquisition, the context scans the list for
//! a node that other threads have finished with (Chabbi et al. 2017 §6.2 describe such lists for
//! the locks of Scott 2002).
//!
//! **Not for** locks with frequent timeouts: a waiter that leaves also leaves its node, until
//! another thread finds it, and the list grows meanwhile.
//!
//! | a link's `state` | written by | meaning |
//! |---|---|---|
//! | `TAKEN` | its context's thread | in a queue, or about to be |
//! | `FREE` | the last other thread that needs the node, over `TAKEN` | the context may reuse it |
//! | `ORPHAN` | its context, over `TAKEN`, as it is dropped | the last other thread that needs the node returns it to the pool |

use crate::door::{AtomicPtr, AtomicU32, Counter, Order, count, flaws, mutant, orders};
use crate::host::{Arena, Pool};
use core::ptr;

orders! {
    /// Other threads' reads of the node precede its context's next write.
    SWEPT_CLAIM = Acquire;
    /// The same, from the side of the last reader.
    SWEPT_RECYCLE = Release;
}

flaws! {
    /// No thread marks the node as free.
    FORGET_NODE = "swept.forget-node";
}

const TAKEN: u32 = 0;
const FREE: u32 = 1;
const ORPHAN: u32 = 2;

/// A node in a context's list.
pub trait Swept: Default + Send + Sync + 'static {
    /// Its link in the list.
    fn link(&self) -> &Link<Self>;

    /// The pool.  Nodes may outlive their contexts in a queue, so no stack frame owns one.
    fn pool() -> &'static (impl Pool<Self> + 'static);
}

/// A node's place in its context's list.
#[derive(Debug)]
pub struct Link<N> {
    state: AtomicU32,
    /// Accessed by its context alone.
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

/// Marks the node as used by its context alone.
pub fn recycle<N: Swept>(node: &'static N) {
    if mutant(flaw::FORGET_NODE) {
        return;
    }
    let freed = node
        .link()
        .state
        .compare_exchange(TAKEN, FREE, SWEPT_RECYCLE, Order::RELAXED);
    if freed.is_err() {
        // SAFETY: its context is gone, and was the only other possible user.
        unsafe { N::pool().give(node) };
    }
}

/// A context: its nodes, and the node of its acquisition.
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
    /// A node for an acquisition: the first free one in the list, or a new one.
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

    /// The node of the last [`take`](Self::take).
    ///
    /// # Panics
    /// If there was none.
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
