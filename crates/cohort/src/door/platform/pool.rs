//! A pool of a fixed number of nodes: there is no allocator, and no thread has a cache of nodes.

use super::{calls, to_its_end};
use crate::host::{Census, Pool};
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::{AtomicU8, Ordering};

/// Nodes of each pool.
const NODES: usize = 128;

/// Looks of a taker for a free node, each after a yield, before it gives up: nodes that locks keep do not come
/// back by waiting.
const LOOKS: u32 = 1 << 24;

/// Not made yet.
const UNMADE: u8 = 0;
const FREE: u8 = 1;
const TAKEN: u8 = 2;
/// Taken for the first time.
const MAKING: u8 = 3;

/// One node and its state. On lines of its own.
#[repr(C, align(64))]
struct Slot<N> {
    node: UnsafeCell<MaybeUninit<N>>,
    state: AtomicU8,
}

/// Nodes, lent to the first taker. If all are lent, a taker polls for a free one, [`LOOKS`] times at most; then
/// the program ends.
#[derive(Debug)]
pub struct Fixed<N> {
    slots: [Slot<N>; NODES],
}

impl<N> core::fmt::Debug for Slot<N> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Slot").finish_non_exhaustive()
    }
}

// SAFETY: a node is lent to one taker at a time, and other threads only look at it.
unsafe impl<N: Sync> Sync for Fixed<N> {}

impl<N> Default for Fixed<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<N> Fixed<N> {
    /// A pool without nodes taken.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            slots: [const {
                Slot {
                    node: UnsafeCell::new(MaybeUninit::uninit()),
                    state: AtomicU8::new(UNMADE),
                }
            }; NODES],
        }
    }
}

impl<N: Default + Sync + 'static> Fixed<N> {
    /// The node of a slot. The caller has seen that it is made.
    fn made(slot: &Slot<N>) -> &'static N {
        // SAFETY: made, and only lent since. The pool is a static: `pool!` alone creates one.
        unsafe { &*slot.node.get().cast_const().cast::<N>() }
    }

    fn try_take(slot: &Slot<N>) -> Option<&'static N> {
        let state = slot.state.load(Ordering::Relaxed);
        let next = match state {
            FREE => TAKEN,
            UNMADE => MAKING,
            _ => return None,
        };
        slot.state
            .compare_exchange(state, next, Ordering::Acquire, Ordering::Relaxed)
            .ok()?;
        if next == MAKING {
            // SAFETY: this thread alone has the slot until it is taken.
            unsafe { (*slot.node.get()).write(N::default()) };
            slot.state.store(TAKEN, Ordering::Release);
        }
        Some(Self::made(slot))
    }

    fn place_of(&self, node: &'static N) -> usize {
        let first = ptr::from_ref(&self.slots).addr();
        (ptr::from_ref(node).addr() - first) / size_of::<Slot<N>>()
    }
}

// SAFETY: a slot's state changes from free to taken by one thread's exchange, which acquires what the giver
// released.
unsafe impl<N: Default + Sync + 'static> Pool<N> for Fixed<N> {
    fn take(&self) -> &'static N {
        for _ in 0..LOOKS {
            if let Some(node) = self.slots.iter().find_map(Self::try_take) {
                return node;
            }
            calls::yield_now();
        }
        to_its_end(true, || {
            panic!(
                "all {NODES} nodes of a pool are in use: fewer locks or guards at once, or closures"
            )
        })
    }

    unsafe fn give(&self, node: &'static N) {
        self.slots[self.place_of(node)]
            .state
            .store(FREE, Ordering::Release);
    }

    fn number(&self, node: &'static N) -> u32 {
        self.place_of(node) as u32 + 1
    }

    unsafe fn at(&self, number: u32) -> &'static N {
        Self::made(&self.slots[number as usize - 1])
    }

    fn bytes(&self) -> usize {
        size_of::<Self>()
    }
}

impl<N: Default + Sync + 'static> Census<N> for Fixed<N> {
    fn each(&self, look: &mut dyn FnMut(&'static N)) {
        for slot in &self.slots {
            let state = slot.state.load(Ordering::Acquire);
            if state == FREE || state == TAKEN {
                look(Self::made(slot));
            }
        }
    }
}
