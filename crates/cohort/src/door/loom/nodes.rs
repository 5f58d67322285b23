//! A pool without steps of its own, for models of whatever uses nodes.
//!
//! A node goes back to the thread that made it, as an arena's caches would have
//! it, so it needs no order beyond the lock's.  After a fork they are all the child's, as
//! orphans are.

use super::execution::with;
use super::kept::allocate;
use super::std;
use crate::host::Pool;
use core::marker::PhantomData;
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
    thread: usize,
    free: bool,
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
// the execution ends, and with it whoever could look at it.
unsafe impl<T: Default + Send + Sync + 'static> Pool<T> for Nodes<T> {
    fn take(&self) -> &'static T {
        let (me, forked) = with(|execution| (execution.current, execution.generation > 1));
        let known = self.of_this_execution(|nodes| {
            nodes
                .iter_mut()
                .find(|node| node.free && (forked || node.thread == me))
                .map(|node| {
                    node.free = false;
                    node.address
                })
        });
        let address = known.unwrap_or_else(|| {
            let at = allocate(Layout::new::<(T, u8)>()).cast::<T>();
            // SAFETY: fresh memory of that layout.
            unsafe { at.write(T::default()) };
            let address = at.as_ptr() as usize;
            self.of_this_execution(|nodes| {
                nodes.push(Node {
                    address,
                    thread: me,
                    free: false,
                });
            });
            address
        });
        // SAFETY: a node of this type, never dropped.
        unsafe { &*(address as *const T) }
    }

    unsafe fn give(&self, node: &'static T) {
        if std::thread::panicking() {
            return;
        }
        let address = core::ptr::from_ref(node) as usize;
        self.of_this_execution(|nodes| {
            let node = nodes
                .iter_mut()
                .find(|node| node.address == address)
                .expect("a node goes back to its own pool");
            assert!(!node.free, "a node was given back twice");
            node.free = true;
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
