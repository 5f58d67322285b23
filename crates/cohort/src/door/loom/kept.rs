//! Memory that stays until the execution ends.
//!
//! A thread that unwinds from an abandoned execution leaves its queue nodes behind, and other
//! threads may still follow pointers to them. So memory visible to a lock is never freed during an
//! execution.

use super::execution::with;
use super::std;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::sync::Mutex;
use std::vec::Vec;

struct Block {
    serial: u64,
    at: NonNull<u8>,
    layout: Layout,
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: allocated in `allocate` with this layout, and freed once.
        unsafe { dealloc(self.at.as_ptr(), self.layout) };
    }
}

std::thread_local! {
    static BLOCKS: core::cell::RefCell<Vec<Block>> = const { core::cell::RefCell::new(Vec::new()) };
}

/// Allocates zeroed memory until the end of the execution.
pub(super) fn allocate(layout: Layout) -> NonNull<u8> {
    let serial = with(|execution| execution.serial);
    // SAFETY: no call is for zero bytes; `Kept` pads its type to one.
    let at = NonNull::new(unsafe { alloc_zeroed(layout) }).expect("no memory left for the model");
    BLOCKS.with_borrow_mut(|blocks| {
        blocks.retain(|block| block.serial == serial);
        blocks.push(Block { serial, at, layout });
    });
    at
}

/// Nodes in an arena's first segment: few, since each is created in advance.
pub const ARENA_FIRST_SEGMENT: u32 = 2;

/// Cached nodes of one arena per thread: few, so that a model reaches the common list.
pub const ARENA_CACHED: u32 = 2;

/// Nodes in use before an arena searches for orphans.
pub const ARENA_FIRST_SEARCH: u32 = 2;

/// Bytes for the context of any lock; its atoms are large here.
pub const CONTEXT_BYTES: usize = 2048;

/// Queues that order a lock's waiters: so few that two locks compete for one.
pub const QUEUES: usize = 1;

/// Threads that can announce themselves as readers: so few that one has no slot in some models.
pub const READER_SLOTS: usize = 2;

/// Distinct cache groups in such a queue.
pub const QUEUE_GROUPS: usize = 2;

/// Distinct NUMA nodes in such a queue.
pub const QUEUE_NODES: usize = 2;

/// Distinct cache groups in the count of an inflated lock's waiters.
pub const FAT_GROUPS: usize = 2;

/// Places in one lock for NUMA nodes, where the lock is to have that many.
#[must_use]
pub const fn node_places(usual: usize) -> usize {
    usual
}

/// Places in a tree for cohorts of its smallest level, where it is to have that many.
#[must_use]
pub const fn leaf_places(usual: usize) -> usize {
    usual
}

/// Places in a tree for cohorts of all other levels together, where it is to have that many.
#[must_use]
pub const fn inner_places(usual: usize) -> usize {
    usual
}

/// How often a holder finds groups uncontended before their arrivals need no registration.
pub const CALM_LOOKS: u32 = 1;

/// A static of the native backend: created in each execution by its first user.
#[derive(Debug)]
pub struct OfExecution<T> {
    make: fn() -> T,
    /// The execution of its last creation, and its address.
    made: Mutex<(u64, usize)>,
}

impl<T: 'static> OfExecution<T> {
    /// Wraps the function that creates it.
    #[must_use]
    pub const fn new(make: fn() -> T) -> Self {
        Self {
            make,
            made: Mutex::new((0, 0)),
        }
    }

    /// The execution's own.
    ///
    /// # Panics
    /// If another user of it panicked.
    pub fn get(&self) -> &'static T {
        let serial = with(|execution| execution.serial);
        let mut made = self.made.lock().expect("no user of a static panics");
        if *made == (0, 0) || made.0 != serial {
            let at = allocate(Layout::new::<T>()).cast::<T>();
            // SAFETY: fresh memory of that layout.
            unsafe { at.write((self.make)()) };
            *made = (serial, at.as_ptr() as usize);
        }
        // SAFETY: written above in this execution, never dropped while that lasts.
        unsafe { &*(made.1 as *const T) }
    }
}

/// Creates it now, if necessary: before there are threads, so that each thread sees it as a static.
pub fn beforehand<T: 'static>(it: &'static OfExecution<T>) {
    let _ = it.get();
}

/// The input for a hash of an object's address.
#[must_use]
pub const fn key_of(address: usize) -> usize {
    address
}

/// Room for `count` slots, each created by `make`, until the execution ends.
#[must_use]
pub fn map_slots<S>(count: usize, make: fn() -> S) -> Option<NonNull<S>> {
    let slots = allocate(Layout::array::<S>(count).ok()?).cast::<S>();
    for index in 0..count {
        // SAFETY: fresh memory for that many.
        unsafe { slots.add(index).write(make()) };
    }
    Some(slots)
}

/// Natively, unmaps that room, still unused.
pub const fn unmap_slots<S>(_slots: NonNull<S>, _count: usize) {}

/// A value in memory that outlives it: dropped in place, or not at all if its thread unwinds.
#[derive(Debug)]
pub struct Kept<T>(NonNull<T>);

// SAFETY: owns its value like a box.
unsafe impl<T: Send> Send for Kept<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Kept<T> {}

impl<T> Kept<T> {
    /// Keeps `value`.
    pub fn new(value: T) -> Self {
        let layout = Layout::new::<(T, u8)>();
        let at = allocate(layout).cast::<T>();
        // SAFETY: fresh memory of that layout.
        unsafe { at.write(value) };
        Self(at)
    }
}

impl<T> Deref for Kept<T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: written in `new`, dropped in `drop` only.
        unsafe { self.0.as_ref() }
    }
}

impl<T> DerefMut for Kept<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above.
        unsafe { self.0.as_mut() }
    }
}

impl<T> Drop for Kept<T> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: the value is dropped once, and its memory stays.
            unsafe { self.0.drop_in_place() };
        }
    }
}
