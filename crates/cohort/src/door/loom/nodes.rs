//! A pool with hardly a step of its own, for models of users of nodes.
//!
//! A node goes back to the thread that created it, which sees the writes of the thread that gave it
//! back, as through an arena's shared list: a step, if that was another thread. After a fork, whose
//! child has seen everything before, the nodes of missing threads go to the first thread that needs
//! one, like orphans.

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

/// A pool; `const` to create, empty at the start of each execution.
#[derive(Debug)]
pub struct Nodes<T> {
    known: Known,
    node: PhantomData<fn() -> T>,
}

/// The state of its nodes, independent of their type: compiled once for all pools.
#[derive(Debug)]
struct Known(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    serial: u64,
    nodes: Vec<ExecutionNode>,
}

#[derive(Debug)]
struct ExecutionNode {
    address: usize,
    /// Its thread, and that thread's process.
    thread: usize,
    generation: u32,
    free: bool,
    /// Whether another thread has given it back.
    comes_from_afar: bool,
}

impl Known {
    fn of_this_execution<R>(&self, look: impl FnOnce(&mut Vec<ExecutionNode>) -> R) -> R {
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

    /// Gives a free node to the running thread, if it has one: its address, and whether another
    /// thread gave it back.
    fn take(&self) -> Option<(usize, bool)> {
        let (me, generation) = with(|execution| (execution.current, execution.generation));
        self.of_this_execution(|nodes| {
            nodes
                .iter_mut()
                .find(|node| {
                    // The forking thread is the first, and goes on.
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

    /// Adds a node created by the running thread.
    fn add(&self, address: usize) {
        let (thread, generation) = with(|execution| (execution.current, execution.generation));
        self.of_this_execution(|nodes| {
            nodes.push(ExecutionNode {
                address,
                thread,
                generation,
                free: false,
                comes_from_afar: false,
            });
        });
    }

    /// Whether that node belongs to the running thread.
    fn is_own(&self, address: usize) -> bool {
        let me = with(|execution| execution.current);
        self.of_this_execution(|nodes| nodes[place(nodes, address)].thread == me)
    }

    /// Takes that node back, from its own thread or another.
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

/// The index of a node in its pool.
fn place(nodes: &[ExecutionNode], address: usize) -> usize {
    let place = nodes.iter().position(|node| node.address == address);
    place.expect("a node of this pool, to which it goes back")
}

/// A node's memory.
#[repr(C)]
struct Slot<T> {
    node: T,
    /// Counts returns by other threads than its own.
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

/// Orders the running thread after the return of a node by another thread.
fn take_back(returns: &AtomicU32) {
    step("take back", || returns.fetch_add(0, Acquire));
}

/// Orders the return of another thread's node.
fn give_back(returns: &AtomicU32) {
    step("give back", || returns.fetch_add(1, Release));
}
