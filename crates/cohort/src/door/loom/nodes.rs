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
    known: Known,
    node: PhantomData<fn() -> T>,
}

/// What is known of its nodes, whatever they are: compiled once for all pools.
#[derive(Debug)]
struct Known(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    serial: u64,
    nodes: Vec<Node>,
}

#[derive(Debug)]
struct Node {
    address: usize,
    /// The thread that has it, and in which process that thread was.
    thread: usize,
    generation: u32,
    free: bool,
    /// Whether another thread has given it back.
    comes_from_afar: bool,
}

impl Known {
    fn of_this_execution<R>(&self, look: impl FnOnce(&mut Vec<Node>) -> R) -> R {
        let serial = with(|execution| execution.serial);
        let mut state = self.0.lock().expect("no user of the pool panics");
        if state.serial != serial {
            *state = State {
                serial,
                nodes: Vec::new(),
            };
        }
        look(&mut state.nodes)
    }

    /// Gives a free node to the running thread, if there is one for it: where it is, and whether
    /// another thread has given it back.
    fn take(&self) -> Option<(usize, bool)> {
        let (me, generation) = with(|execution| (execution.current, execution.generation));
        self.of_this_execution(|nodes| {
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
        })
    }

    /// Notes a node that the running thread has made.
    fn add(&self, address: usize) {
        let (thread, generation) = with(|execution| (execution.current, execution.generation));
        self.of_this_execution(|nodes| {
            nodes.push(Node {
                address,
                thread,
                generation,
                free: false,
                comes_from_afar: false,
            });
        });
    }

    /// Whether that node is the running thread's.
    fn is_own(&self, address: usize) -> bool {
        let me = with(|execution| execution.current);
        self.of_this_execution(|nodes| nodes[place(nodes, address)].thread == me)
    }

    /// Takes that node back, from its own thread or another one.
    fn give(&self, address: usize, own: bool) {
        self.of_this_execution(|nodes| {
            let place = place(nodes, address);
            let node = &mut nodes[place];
            assert!(!node.free, "a node was given back twice");
            node.free = true;
            node.comes_from_afar = !own;
        });
    }

    fn number(&self, address: usize) -> u32 {
        self.of_this_execution(|nodes| place(nodes, address) as u32 + 1)
    }

    fn address(&self, number: u32) -> usize {
        self.of_this_execution(|nodes| nodes[number as usize - 1].address)
    }

    fn addresses(&self) -> Vec<usize> {
        self.of_this_execution(|nodes| nodes.iter().map(|node| node.address).collect())
    }

    fn taken(&self) -> usize {
        self.of_this_execution(|nodes| nodes.iter().filter(|node| !node.free).count())
    }
}

/// Where a node stands among those of its pool.
fn place(nodes: &[Node], address: usize) -> usize {
    let place = nodes.iter().position(|node| node.address == address);
    place.expect("a node of this pool, to which it goes back")
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
            known: Known(Mutex::new(State {
                serial: 0,
                nodes: Vec::new(),
            })),
            node: PhantomData,
        }
    }

    /// How many nodes are taken.
    ///
    /// # Panics
    /// If another user of the pool panicked.
    pub fn taken(&self) -> usize {
        self.known.taken()
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
        let (address, comes_from_afar) = self.known.take().unwrap_or_else(|| {
            let at = allocate(Layout::new::<Slot<T>>()).cast::<Slot<T>>();
            let slot = Slot {
                node: T::default(),
                returns: AtomicU32::new(0),
            };
            // SAFETY: fresh memory of that layout.
            unsafe { at.write(slot) };
            let address = at.as_ptr() as usize;
            self.known.add(address);
            (address, false)
        });
        if comes_from_afar {
            take_back(returns::<T>(address));
        }
        // SAFETY: a node of this type, never dropped.
        unsafe { &*(address as *const T) }
    }

    unsafe fn give(&self, node: &'static T) {
        if std::thread::panicking() {
            return;
        }
        let address = core::ptr::from_ref(node) as usize;
        let own = self.known.is_own(address);
        if !own {
            give_back(returns::<T>(address));
        }
        self.known.give(address, own);
    }

    fn number(&self, node: &'static T) -> u32 {
        self.known.number(core::ptr::from_ref(node) as usize)
    }

    unsafe fn at(&self, number: u32) -> &'static T {
        // SAFETY: a node of this type, never dropped.
        unsafe { &*(self.known.address(number) as *const T) }
    }
}

impl<T: Default + Send + Sync + 'static> Census<T> for Nodes<T> {
    fn each(&self, look: &mut dyn FnMut(&'static T)) {
        for address in self.known.addresses() {
            // SAFETY: a node of this type, never dropped.
            look(unsafe { &*(address as *const T) });
        }
    }
}

/// The running thread sees what was done to a node by the one that gave it back.
fn take_back(returns: &AtomicU32) {
    step("take back", || returns.fetch_add(0, Acquire));
}

/// The running thread gives back a node of another one.
fn give_back(returns: &AtomicU32) {
    step("give back", || returns.fetch_add(1, Release));
}
