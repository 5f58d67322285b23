//! The memory of workloads and locks.
//!
//! Addresses are real, so layouts have their real costs. Runs identify them by their offset in this
//! arena, and so do not depend on where the host placed it.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::ptr::NonNull;

/// The owner of a line, for the counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Owner {
    /// The lock's own state and queue nodes.
    Lock,
    /// Data guarded by the lock, and the threads' own.
    Data,
    /// Memory outside the arena: fibers' stacks and the host's heap.
    #[default]
    Other,
}

impl Owner {
    /// The number of owners.
    pub(crate) const COUNT: usize = 3;
}

/// The alignment of objects, at least every machine's line size.
const ALIGNMENT: usize = 256;

/// The reserved bytes, more than any workload needs; untouched pages cost nothing.
const CAPACITY: usize = 1 << 30;

/// An arena that outlives the runs that use it. Its contents are never dropped.
#[derive(Debug)]
pub struct Memory {
    base: NonNull<u8>,
    layout: Layout,
    /// The first object's offset, since the host's allocation may be unaligned.
    first: usize,
    used: Cell<usize>,
    /// The ends of consecutive objects with one owner.
    owners: RefCell<Vec<(usize, Owner)>>,
    one_thread: PhantomData<*const ()>,
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

impl Memory {
    /// An empty arena.
    ///
    /// # Panics
    /// If the host refuses to reserve 1 GiB of addresses.
    #[must_use]
    pub fn new() -> Self {
        let layout = Layout::from_size_align(CAPACITY, 16).expect("a sound layout");
        // SAFETY: the layout is not empty.
        let base = unsafe { alloc_zeroed(layout) };
        let Some(base) = NonNull::new(base) else {
            handle_alloc_error(layout)
        };
        let first = base.as_ptr().align_offset(4096);
        Self {
            base,
            layout,
            first,
            used: Cell::new(first),
            owners: RefCell::default(),
            one_thread: PhantomData,
        }
    }

    /// Places a lock's object on lines of its own, aligned to 256 bytes.
    pub fn lock<T>(&self, value: T) -> &T {
        self.place(value, Owner::Lock)
    }

    /// Places data on lines of its own.
    pub fn data<T>(&self, value: T) -> &T {
        self.place(value, Owner::Data)
    }

    /// The address of zeroed bytes of data on lines of their own, for
    /// [`Thread::read`](super::Thread::read) and [`Thread::write`](super::Thread::write).
    pub fn bytes(&self, bytes: usize) -> usize {
        let layout = Layout::from_size_align(bytes, 1).expect("a sound size");
        self.allocate(layout, Owner::Data).as_ptr() as usize
    }

    fn place<T>(&self, value: T, owner: Owner) -> &T {
        let at = self.allocate(Layout::new::<T>(), owner).cast::<T>();
        // SAFETY: fresh memory of that layout, which stays until the arena is dropped.
        unsafe {
            at.write(value);
            at.as_ref()
        }
    }

    /// Zeroed memory on lines of its own, valid as long as the arena.
    ///
    /// # Panics
    /// If the arena is full.
    pub fn allocate(&self, layout: Layout, owner: Owner) -> NonNull<u8> {
        assert!(
            layout.align() <= ALIGNMENT,
            "the simulated memory aligns to {ALIGNMENT} bytes at most"
        );
        let size = layout.size().max(1).next_multiple_of(ALIGNMENT);
        let offset = self.used.get();
        let end = offset.saturating_add(size);
        assert!(
            end <= CAPACITY,
            "the simulated memory is full: its objects exceed {CAPACITY} bytes"
        );
        self.used.set(end);
        let mut owners = self.owners.borrow_mut();
        match owners.last_mut() {
            Some((last, same)) if *same == owner => *last = end,
            _ => owners.push((end, owner)),
        }
        // SAFETY: within the allocation.
        unsafe { self.base.add(offset) }
    }

    /// The offset of an address in the arena, if it lies there.
    #[inline]
    pub(crate) fn offset(&self, address: usize) -> Option<usize> {
        let offset = address.wrapping_sub(self.base.as_ptr() as usize + self.first);
        (offset < self.used.get() - self.first).then_some(offset)
    }

    /// The owner of the byte at an [`offset`](Self::offset).
    pub(crate) fn owner(&self, offset: usize) -> Owner {
        let owners = self.owners.borrow();
        let index = owners.partition_point(|(end, _)| *end <= offset + self.first);
        owners.get(index).map_or(Owner::Other, |(_, owner)| *owner)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout; all borrows of the arena have ended.
        unsafe { dealloc(self.base.as_ptr(), self.layout) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_have_lines_of_their_own_and_owners() {
        let memory = Memory::new();
        let lock = memory.lock(1_u32);
        let data = memory.bytes(300);
        let more = memory.data([0_u64; 3]);
        let offset = |address| memory.offset(address).expect("in the arena");
        let at = [
            offset(std::ptr::from_ref(lock) as usize),
            offset(data),
            offset(std::ptr::from_ref(more) as usize),
        ];
        assert_eq!(at, [0, 256, 768]);
        assert_eq!(
            at.map(|at| memory.owner(at)),
            [Owner::Lock, Owner::Data, Owner::Data]
        );
        assert_eq!(memory.offset(&raw const memory as usize), None);
    }
}
