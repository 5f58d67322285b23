//! Nodes for everybody: memory that is never returned and never changes type.
//!
//! A free node is in one of three places, and a taken one in none:
//!
//! | `keeper` | where it is |
//! |---|---|
//! | `TAKEN` | with whoever took it |
//! | `COMMON` | on the common list, a stack of numbers with a tag against ABA |
//! | t | in the cache of thread t |
//!
//! A thread that exits leaves its cache behind, and so does every thread that a
//! fork did not carry over; nothing runs then.  Before an arena grows it looks
//! through its nodes for those whose keeper is no more, so it is bounded by the
//! peak of what was taken at once, plus a few per thread alive.

use super::Pool;
use crate::door::{
    ARENA_CACHED, ARENA_CAPACITY, ARENA_FIRST_SEARCH, AtomicPtr, AtomicU32, AtomicU64, Order,
    constructor, is_gone, map_slots, orders, thread,
};
use core::marker::PhantomData;

orders! {
    /// A node that was pushed is seen with its link and all that its last owner
    /// wrote.
    ARENA_POP = Acquire;
    /// The same, from the pusher's side.
    ARENA_PUSH = Release;
    /// The base is written once, with the pages behind it.
    ARENA_BASE = Acquire;
    /// As above.
    ARENA_MAP = Release;
    /// Whoever finds a thread gone sees what it wrote to the nodes it kept.
    ARENA_KEEPER = Acquire;
    /// As above, from the keeper's side.
    ARENA_KEEP = Release;
}

/// With whoever took it.
const TAKEN: u32 = 0;
/// On the common list.
const COMMON: u32 = u32::MAX;

#[derive(Debug, Default)]
#[repr(C, align(64))]
struct Slot<T> {
    node: T,
    /// The number of the next free node in the same place; 0 ends the list.
    link: AtomicU32,
    keeper: AtomicU32,
}

/// A store of nodes; `const` to make, maps its memory at the first use.
#[derive(Debug)]
pub struct Arena<T> {
    base: AtomicPtr<Slot<T>>,
    /// The common list: the first node's number below, a tag above that changes
    /// at every push and pop.
    common: AtomicU64,
    /// Numbers given out so far.
    used: AtomicU32,
    /// When `used` reaches this, search for orphans before growing.
    search_at: AtomicU32,
    /// Which of each thread's caches is this arena's.
    cache: usize,
    node: PhantomData<T>,
}

// SAFETY: nodes are handed from thread to thread, so `T: Send`; the arena itself
// is atoms.
unsafe impl<T: Send> Sync for Arena<T> {}

impl<T: Default + 'static> Arena<T> {
    constructor! {
        /// An arena that uses the threads' cache of that number, which no other
        /// arena may use.
        #[must_use]
        pub fn new(cache: usize) -> Self {
            Self {
                base: AtomicPtr::null(),
                common: AtomicU64::new(0),
                used: AtomicU32::new(0),
                search_at: AtomicU32::new(Self::FIRST_SEARCH),
                cache,
                node: PhantomData,
            }
        }
    }

    /// Bytes that one node takes.
    pub const NODE_BYTES: usize = size_of::<Slot<T>>();

    /// The door's limits are for nodes of a cache line; bigger ones are kept in
    /// proportion, and one at least.
    const fn scaled(limit: u32, least: u32) -> u32 {
        let scaled = (limit as usize * 64 / Self::NODE_BYTES) as u32;
        if scaled > limit {
            limit
        } else if scaled < least {
            least
        } else {
            scaled
        }
    }

    const CACHED: u32 = Self::scaled(ARENA_CACHED, 1);
    const FIRST_SEARCH: u32 = Self::scaled(ARENA_FIRST_SEARCH, 4);

    /// Nodes ever taken at once, plus those in caches.
    pub fn used(&self) -> u32 {
        self.used.load(Order::RELAXED)
    }

    /// Bytes of memory the nodes take.
    pub fn bytes(&self) -> usize {
        self.used() as usize * Self::NODE_BYTES
    }

    fn slot(&self, number: u32) -> &'static Slot<T> {
        let base = self.base.load(ARENA_BASE);
        // SAFETY: a number in hand was given out by `grow`, which mapped and
        // wrote its slot.
        unsafe { &*base.add(number as usize - 1) }
    }

    fn slot_of(&self, node: &'static T) -> &'static Slot<T> {
        // SAFETY: the node is the first field of a slot of this arena.
        unsafe { &*core::ptr::from_ref(node).cast() }
    }

    fn number_of(&self, slot: &'static Slot<T>) -> u32 {
        let base = self.base.load(ARENA_BASE) as usize;
        ((core::ptr::from_ref(slot) as usize - base) / Self::NODE_BYTES) as u32 + 1
    }

    fn push(&self, slot: &'static Slot<T>) {
        slot.keeper.store(COMMON, Order::RELAXED);
        let number = u64::from(self.number_of(slot));
        let mut head = self.common.load(Order::RELAXED);
        loop {
            slot.link.store(head as u32, Order::RELAXED);
            match self.common.compare_exchange(
                head,
                retagged(head) | number,
                ARENA_PUSH,
                Order::RELAXED,
            ) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    fn pop(&self) -> Option<&'static Slot<T>> {
        let mut head = self.common.load(ARENA_POP);
        loop {
            let number = head as u32;
            if number == 0 {
                return None;
            }
            let slot = self.slot(number);
            let next = u64::from(slot.link.load(Order::RELAXED));
            match self
                .common
                .compare_exchange(head, retagged(head) | next, ARENA_POP, ARENA_POP)
            {
                Ok(_) => {
                    slot.keeper.store(TAKEN, Order::RELAXED);
                    return Some(slot);
                }
                Err(now) => head = now,
            }
        }
    }

    /// When neither the thread nor the common list has a node.
    #[cold]
    fn take_common(&self) -> &'static T {
        loop {
            if let Some(slot) = self.pop() {
                return &slot.node;
            }
            let used = self.used.load(Order::RELAXED);
            if used >= self.search_at.load(Order::RELAXED) {
                self.search_at.store(used.saturating_mul(2), Order::RELAXED);
                self.adopt_orphans();
                continue;
            }
            return self.grow();
        }
    }

    /// A node that never was.
    fn grow(&self) -> &'static T {
        let base = self.mapped();
        let index = self.used.fetch_add(1, Order::RELAXED) as usize;
        if index >= ARENA_CAPACITY {
            out_of_memory("too many acquisitions at once for the lock arena");
        }
        // SAFETY: the index is within the mapping and nobody else's.  The link and
        // the keeper are good as mapped, and not written again here: somebody may
        // be looking for orphans.
        unsafe {
            let slot = base.add(index);
            (&raw mut (*slot).node).write(T::default());
            &(*slot).node
        }
    }

    fn mapped(&self) -> *mut Slot<T> {
        let base = self.base.load(ARENA_BASE);
        if !base.is_null() {
            return base;
        }
        let Some(fresh) = map_slots(ARENA_CAPACITY, Slot::<T>::default) else {
            out_of_memory("the system refuses address space for the lock arena (ulimit -v?)")
        };
        let fresh = fresh.as_ptr();
        match self
            .base
            .compare_exchange(core::ptr::null_mut(), fresh, ARENA_MAP, ARENA_BASE)
        {
            Ok(_) => fresh,
            // Another thread was first; the spare mapping stays, untouched.
            Err(theirs) => theirs,
        }
    }

    /// Puts what threads of the past kept on the common list.
    fn adopt_orphans(&self) {
        let mut alive = 0;
        for number in 1..=self.used() {
            let slot = self.slot(number);
            let keeper = slot.keeper.load(ARENA_KEEPER);
            if matches!(keeper, TAKEN | COMMON) || keeper == alive {
                continue;
            }
            if !is_gone(keeper) {
                alive = keeper;
            } else if slot
                .keeper
                .compare_exchange(keeper, TAKEN, ARENA_KEEPER, Order::RELAXED)
                .is_ok()
            {
                self.push(slot);
            }
        }
    }
}

/// The list's head without its number, its tag moved on.
const fn retagged(head: u64) -> u64 {
    (head & !0xffff_ffff).wrapping_add(1 << 32)
}

#[cold]
fn out_of_memory(why: &'static str) -> ! {
    panic!("cohort: {why}")
}

// SAFETY: a node is in one place at a time: pop and push move it under a tagged
// exchange, and a thread's cache is its own.
unsafe impl<T: Default + Send + 'static> Pool<T> for Arena<T> {
    #[inline]
    fn take(&self) -> &'static T {
        let me = thread();
        me.settle();
        let cache = &me.caches[self.cache];
        let (first, count) = cache.get();
        if first == 0 {
            return self.take_common();
        }
        let slot = self.slot(first);
        cache.set((slot.link.load(Order::RELAXED), count - 1));
        slot.keeper.store(TAKEN, Order::RELAXED);
        &slot.node
    }

    #[inline]
    unsafe fn give(&self, node: &'static T) {
        let me = thread();
        me.settle();
        let cache = &me.caches[self.cache];
        let (first, count) = cache.get();
        let slot = self.slot_of(node);
        if count >= Self::CACHED {
            return self.push(slot);
        }
        slot.link.store(first, Order::RELAXED);
        slot.keeper.store(crate::door::thread_id(), ARENA_KEEP);
        cache.set((self.number_of(slot), count + 1));
    }

    fn number(&self, node: &'static T) -> u32 {
        self.number_of(self.slot_of(node))
    }

    unsafe fn at(&self, number: u32) -> &'static T {
        &self.slot(number).node
    }
}
