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
//! through its nodes for those whose keeper is no more, unless that found little when
//! it was half as large; so it is bounded by twice the peak of what was taken at once, plus
//! a few per thread alive.  What the threads that a fork left behind had taken stays
//! taken in the child.

use super::Pool;
use crate::door::{
    ARENA_CACHED, ARENA_FIRST_SEARCH, ARENA_FIRST_SEGMENT, AtomicPtr, AtomicU32, AtomicU64, Order,
    constructor, generation, is_gone, map_slots, nulls, orders, thread,
};
use core::marker::PhantomData;

orders! {
    /// A node that was pushed is seen with its link and all that its last owner
    /// wrote.
    ARENA_POP = Acquire;
    /// The same, from the pusher's side.
    ARENA_PUSH = Release;
    /// A segment is written once, with the pages behind it.
    ARENA_BASE = Acquire;
    /// As above.
    ARENA_MAP = Release;
    /// Whoever finds a thread gone sees what it wrote to the nodes it kept.
    ARENA_KEEPER = Acquire;
    /// As above, from the keeper's side.
    ARENA_KEEP = Release;
    /// A search sees what the one before it took over.
    ARENA_SEARCH = Acquire;
    /// As above.
    ARENA_SEARCHED = Release;
}

/// With whoever took it.
const TAKEN: u32 = 0;
/// On the common list.
const COMMON: u32 = u32::MAX;

#[derive(Debug, Default)]
#[repr(C, align(64))]
struct Slot<T> {
    node: T,
    /// Its own number; written once, before anybody has the node.
    number: AtomicU32,
    /// The number of the next free node in the same place; 0 ends the list.
    link: AtomicU32,
    keeper: AtomicU32,
}

/// Segments of an arena: each has twice the slots of the one before.
const SEGMENTS: usize = 16;

/// A store of nodes; `const` to make, maps its memory as it is needed.
#[derive(Debug)]
pub struct Arena<T> {
    segments: [AtomicPtr<Slot<T>>; SEGMENTS],
    /// The common list: the first node's number below, a tag above that changes
    /// at every push and pop.
    common: AtomicU64,
    /// Numbers given out so far.
    used: AtomicU32,
    /// When `used` reaches this, search for orphans before growing.
    search_at: AtomicU32,
    /// The generation whose thread is searching, or 0: one at a time.
    searching: AtomicU32,
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
                segments: nulls!(AtomicPtr, SEGMENTS),
                common: AtomicU64::new(0),
                used: AtomicU32::new(0),
                search_at: AtomicU32::new(Self::FIRST_SEARCH),
                searching: AtomicU32::new(0),
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
            if least < limit { least } else { limit }
        } else {
            scaled
        }
    }

    const CACHED: u32 = Self::scaled(ARENA_CACHED, 1);
    const FIRST_SEARCH: u32 = Self::scaled(ARENA_FIRST_SEARCH, 4);

    /// Slots of the first segment, a power of two.
    const FIRST: u32 = 1 << Self::scaled(ARENA_FIRST_SEGMENT, 1).ilog2();

    /// Nodes ever taken at once, plus those in caches.
    pub fn used(&self) -> u32 {
        self.used.load(Order::RELAXED)
    }

    /// Segment and place in it of the node of that number.
    const fn place(number: u32) -> (usize, usize) {
        let shifted = number - 1 + Self::FIRST;
        let segment = shifted.ilog2() - Self::FIRST.ilog2();
        (
            segment as usize,
            (shifted - (Self::FIRST << segment)) as usize,
        )
    }

    fn slot(&self, number: u32) -> &'static Slot<T> {
        let (segment, index) = Self::place(number);
        let base = self.segments[segment].load(ARENA_BASE);
        // SAFETY: a number in hand was given out by `grow`, which mapped and
        // wrote its slot.
        unsafe { &*base.add(index) }
    }

    fn slot_of(&self, node: &'static T) -> &'static Slot<T> {
        // SAFETY: the node is the first field of a slot of this arena.
        unsafe { &*core::ptr::from_ref(node).cast() }
    }

    fn push(&self, slot: &'static Slot<T>) {
        slot.keeper.store(COMMON, Order::RELAXED);
        let number = u64::from(slot.number.load(Order::RELAXED));
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
            if self.used() < self.search_at.load(Order::RELAXED) || !self.adopt_orphans() {
                return self.grow();
            }
        }
    }

    /// A node that never was.
    fn grow(&self) -> &'static T {
        let number = self.used.fetch_add(1, Order::RELAXED).wrapping_add(1);
        let (segment, index) = Self::place(number);
        if segment >= SEGMENTS {
            out_of_memory("too many acquisitions at once for the lock arena");
        }
        let base = self.mapped(segment);
        // SAFETY: the place is within the segment and nobody else's.  The link and
        // the keeper are good as mapped, and not written again here: somebody may
        // be looking for orphans.
        unsafe {
            let slot = base.add(index);
            (&raw mut (*slot).node).write(T::default());
            (*slot).number.store(number, Order::RELAXED);
            &(*slot).node
        }
    }

    fn mapped(&self, segment: usize) -> *mut Slot<T> {
        let place = &self.segments[segment];
        let base = place.load(ARENA_BASE);
        if !base.is_null() {
            return base;
        }
        let count = (Self::FIRST as usize) << segment;
        let Some(fresh) = map_slots(count, Slot::<T>::default) else {
            out_of_memory("the system refuses memory for the lock arena (ulimit -v or -l?)")
        };
        let fresh = fresh.as_ptr();
        match place.compare_exchange(core::ptr::null_mut(), fresh, ARENA_MAP, ARENA_BASE) {
            Ok(_) => fresh,
            // Another thread was first; the spare segment stays, untouched.
            Err(theirs) => theirs,
        }
    }

    /// Puts what threads of the past kept on the common list; false if another
    /// thread is at it.
    #[cold]
    fn adopt_orphans(&self) -> bool {
        // One at a time: between finding a keeper gone and taking its node over,
        // nobody else may, or a new thread of that number could have it by then.
        // A search that a fork cut short belongs to an older generation.
        let here = generation();
        let searching = self.searching.load(Order::RELAXED);
        if searching == here
            || self
                .searching
                .compare_exchange(searching, here, ARENA_SEARCH, Order::RELAXED)
                .is_err()
        {
            return false;
        }
        let used = self.used();
        let mut alive = TAKEN;
        let mut adopted = 0;
        for number in 1..=used {
            let (segment, _) = Self::place(number);
            if self.segments[segment].load(ARENA_BASE).is_null() {
                // Its first node is just being made.
                break;
            }
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
                adopted += 1;
            }
        }
        // A search that freed half of what it looked through has paid, and the
        // next one may as well; else the arena is simply in use, and may double.
        let pays = adopted >= used / 2;
        let search_at = if pays { used } else { used.saturating_mul(2) };
        self.search_at.store(search_at, Order::RELAXED);
        self.searching.store(0, ARENA_SEARCHED);
        true
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
        cache.set((slot.number.load(Order::RELAXED), count + 1));
    }

    fn number(&self, node: &'static T) -> u32 {
        self.slot_of(node).number.load(Order::RELAXED)
    }

    unsafe fn at(&self, number: u32) -> &'static T {
        &self.slot(number).node
    }

    fn bytes(&self) -> usize {
        self.used() as usize * Self::NODE_BYTES
    }
}
