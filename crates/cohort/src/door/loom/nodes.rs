//! A pool with hardly a step of its own, for models of whatever uses nodes.
//!
//! A node goes back to the thread that made it, which sees what was done to it by the
//! thread that gave it back, as by way of the list that an arena's threads share: that is a
//! step, where it was another thread.  After a fork, of which the child has seen all that went
//! before, those of the threads that are not there any more go to the thread that comes first,
//! as orphans do.

use super::execution::{step, with};
use super::kept::allocate;
use super::std;
use crate::host::{Census, Pool};
use core::marker::PhantomData;
use core::sync::atomic::Ordering::{Acquire, Release};
use loom::sync::atomic::AtomicU32;
use std::alloc::Layout;
use std::sync::Mutex;
use std::vec::Vec;

/// The pool; `const` to make, empty again at each execution.
#[derive(Debug)]
pub struct Nodes<T> {
    state: Mutex<State>,
    node: PhantomData<fn() -> T>,
}

#[derive(Debug, Default)]
struct State {
    serial: u64,
    nodes: Vec<Node>,
}

#[derive(Debug)]
struct Node {
    address: usize,
    /// Whose it is, and in which process that thread was.
    thread: usize,
    generation: u32,
    free: bool,
    /// Whether another thread has given it back.
    comes_from_afar: bool,
}

/// A node's memory.
#[repr(C)]
struct Slot<T> {
    node: T,
    /// Counts when it was given back by another thread than its own.
    returns: AtomicU32,
}

/// The count beside a node.
fn returns<T>(address: usize) -> &'static AtomicU32 {
    // SAFETY: a slot of a pool of such nodes, never dropped while the execution runs.
    &unsafe { &*(address as *const Slot<T>) }.returns
}

impl<T> Nodes<T> {
    /// An empty pool.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            state: Mutex::new(State {
                serial: 0,
                nodes: Vec::new(),
            }),
            node: PhantomData,
        }
    }

    /// How many nodes are taken.
    ///
    /// # Panics
    /// If another user of the pool panicked.
    pub fn taken(&self) -> usize {
        self.of_this_execution(|nodes| nodes.iter().filter(|node| !node.free).count())
    }

    fn of_this_execution<R>(&self, look: impl FnOnce(&mut Vec<Node>) -> R) -> R {
        let serial = with(|execution| execution.serial);
        let mut state = self.state.lock().expect("no user of the pool panics");
        if state.serial != serial {
            *state = State {
                serial,
                nodes: Vec::new(),
            };
        }
        look(&mut state.nodes)
    }
}

impl<T> Default for Nodes<T> {
    fn default() -> Self {
        Self::new()
    }
}

// SAFETY: a node is marked as taken from `take` to `give`; its memory stays until
// the execution ends, and with it every thread that could look at it.
unsafe impl<T: Default + Send + Sync + 'static> Pool<T> for Nodes<T> {
    fn take(&self) -> &'static T {
        let (me, generation) = with(|execution| (execution.current, execution.generation));
        let known = self.of_this_execution(|nodes| {
            nodes
                .iter_mut()
                .find(|node| {
                    // The thread that forks is the first, and goes on.
                    let is_orphan = node.generation < generation && node.thread != 0;
                    node.free && (node.thread == me || is_orphan)
                })
                .map(|node| {
                    node.free = false;
                    (node.thread, node.generation) = (me, generation);
                    (node.address, core::mem::take(&mut node.comes_from_afar))
                })
        });
        let (address, comes_from_afar) = known.unwrap_or_else(|| {
            let at = allocate(Layout::new::<Slot<T>>()).cast::<Slot<T>>();
            let slot = Slot {
                node: T::default(),
                returns: AtomicU32::new(0),
            };
            // SAFETY: fresh memory of that layout.
            unsafe { at.write(slot) };
            let address = at.as_ptr() as usize;
            self.of_this_execution(|nodes| {
                nodes.push(Node {
                    address,
                    thread: me,
                    generation,
                    free: false,
                    comes_from_afar: false,
                });
            });
            (address, false)
        });
        if comes_from_afar {
            step("take back", || returns::<T>(address).fetch_add(0, Acquire));
        }
        // SAFETY: a node of this type, never dropped.
        unsafe { &*(address as *const T) }
    }

    unsafe fn give(&self, node: &'static T) {
        if std::thread::panicking() {
            return;
        }
        let address = core::ptr::from_ref(node) as usize;
        let me = with(|execution| execution.current);
        let find = |nodes: &[Node]| {
            let place = nodes.iter().position(|node| node.address == address);
            place.expect("a node goes back to its own pool")
        };
        let own = self.of_this_execution(|nodes| nodes[find(nodes)].thread == me);
        if !own {
            step("give back", || returns::<T>(address).fetch_add(1, Release));
        }
        self.of_this_execution(|nodes| {
            let place = find(nodes);
            let node = &mut nodes[place];
            assert!(!node.free, "a node was given back twice");
            node.free = true;
            node.comes_from_afar = !own;
        });
    }

    fn number(&self, node: &'static T) -> u32 {
        let address = core::ptr::from_ref(node) as usize;
        self.of_this_execution(|nodes| {
            let index = nodes.iter().position(|node| node.address == address);
            index.expect("a node of this pool") as u32 + 1
        })
    }

    unsafe fn at(&self, number: u32) -> &'static T {
        let address = self.of_this_execution(|nodes| nodes[number as usize - 1].address);
        // SAFETY: a node of this type, never dropped.
        unsafe { &*(address as *const T) }
    }
}

impl<T: Default + Send + Sync + 'static> Census<T> for Nodes<T> {
    fn each(&self, look: &mut dyn FnMut(&'static T)) {
        let addresses: Vec<usize> =
            self.of_this_execution(|nodes| nodes.iter().map(|node| node.address).collect());
        for address in addresses {
            // SAFETY: a node of this type, never dropped.
            look(unsafe { &*(address as *const T) });
        }
    }
}
