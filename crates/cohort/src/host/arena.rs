//! Node storage for all locks: memory that is never returned and never changes type.
//!
//! A free node is in the common list or in a thread's cache; a taken one is in neither:
//!
//! | `keeper` | location |
//! |---|---|
//! | `TAKEN` | with the thread that took it |
//! | `LEFT` + t | taken, and in the list of thread t, which has [left](Pool::leave) it to others |
//! | `COMMON` | on the common list, a stack of numbers with a tag against ABA |
//! | t | in the cache of thread t, at hand or in its list |
//!
//! A waiter that gives up leaves its node in the queue, and needs another for its next acquisition.
//! The thread that passes the node returns it to its owner's list by one store. The published lock
//! too keeps such a node in its thread's local pool (Dice et al. 2015 §3.4.2). So waiters that give
//! up do not contend for the common list.
//!
//! **Bounds.** After `ATTEMPTS` failed exchanges of the common list, a thread keeps the node it
//! gives, or makes a new one. A signal handler that interrupts its thread's own take or give has no
//! such bound.
//!
//! An exiting thread leaves its cache behind, as do the threads that a fork does not copy; no code
//! runs then. Before an arena grows, it searches its nodes for orphans: nodes kept by threads that
//! are gone. It skips the search if the one at half this size found few. So its size is at most
//! twice the peak of nodes taken at once, plus a few per live thread. Nodes taken by threads that a
//! fork did not copy stay taken in the child.
//!
//! A signal handler may take and give nodes even in the middle of the same thread's doing so. If it
//! finds the thread's [`Cache`](crate::door::Cache) in use, it uses the common list, where each
//! step is one exchange.
//!
//! If the system is out of memory, even beyond its [reserve](map_slots), a thread waits for a node:
//! taken nodes are given back eventually.

use super::{Census, Pool};
use crate::door::{
    ARENA_CACHED, ARENA_FIRST_SEARCH, ARENA_FIRST_SEGMENT, AtomicPtr, AtomicU32, AtomicU64, CACHES,
    Opened, Order, constructor, flaws, generation, is_gone, map_slots, mutant, nap, orders,
    repeated, thread, unmap_slots,
};
use core::marker::PhantomData;
use core::mem::offset_of;
use core::ptr::{self, NonNull};

orders! {
    /// A popped node is seen with its link and its last owner's writes.
    ARENA_POP = Acquire;
    /// The pusher's side of `ARENA_POP`.
    ARENA_PUSH = Release;
    /// A node with a number has been made.
    ARENA_MADE = Acquire;
    /// The maker's side of `ARENA_MADE`.
    ARENA_NUMBER = Release;
    /// A segment is set once, after its pages are mapped.
    ARENA_BASE = Acquire;
    /// The mapper's side of `ARENA_BASE`.
    ARENA_MAP = Release;
    /// A thread that finds another gone sees its writes to the nodes it kept. The owner of a
    /// returned node sees the others' writes to it.
    ARENA_KEEPER = Acquire;
    /// The keeper's side of `ARENA_KEEPER`.
    ARENA_KEEP = Release;
    /// A search sees what the one before it adopted.
    ARENA_SEARCH = Acquire;
    /// The earlier search's side of `ARENA_SEARCH`.
    ARENA_SEARCHED = Release;
}

flaws! {
    /// A thread takes a node that it has left to others.
    TAKE_LEFT = "arena.take-left";
}

/// With the thread that took it.
const TAKEN: u32 = 0;
/// On the common list.
const COMMON: u32 = u32::MAX;
/// Added to a thread's number: with other threads, which return the node to that thread. Above all
/// thread numbers.
const LEFT: u32 = 1 << 31;

/// The number of failed exchanges after which a thread does without the common list.
const ATTEMPTS: u32 = 16;

/// A node and its tag.
#[derive(Debug, Default)]
#[repr(C, align(64))]
struct Slot<T> {
    node: T,
    tag: Tag,
}

/// The number and location of a node.
#[derive(Debug, Default)]
struct Tag {
    /// The node's own number; written once, before a thread gets the node.
    number: AtomicU32,
    /// The number of the next free node in the same place; 0 ends the list.
    link: AtomicU32,
    keeper: AtomicU32,
}

/// The number of segments; each has twice the slots of the one before. If the first is a page of
/// cache lines, all together have as many slots as there are numbers.
const SEGMENTS: usize = 26;

/// Programs hold, or forget, millions of mutexes at a time.
const _: () = assert!(ARENA_FIRST_SEGMENT as u64 * ((1 << SEGMENTS) - 1) > 100_000_000);

/// How long a thread waits for a node, or for memory, before it retries.
const SHORTAGE_NANOSECONDS: u64 = 1_000_000;

/// By how many places the caches of an arena have [moved](Arena::move_caches).
#[derive(Debug)]
struct Moved {
    #[cfg(feature = "several")]
    by: AtomicU32,
}

impl Moved {
    constructor! {
        fn new() -> Self {
            Self {
                #[cfg(feature = "several")]
                by: AtomicU32::new(0),
            }
        }
    }

    /// The present place of that cache.
    #[inline(always)]
    fn place(&self, cache: usize) -> usize {
        #[cfg(feature = "several")]
        let cache = cache + self.by.load(Order::RELAXED) as usize;
        cache
    }
}

/// A store of nodes. It is `const` to make, and maps memory on demand.
#[derive(Debug)]
pub struct Arena<T> {
    slots: Slots,
    /// The index of this arena's cache among each thread's.
    cache: usize,
    moved: Moved,
    node: PhantomData<T>,
}

// SAFETY: nodes are handed from thread to thread, so `T: Send`; the arena itself consists of
// atomics.
unsafe impl<T: Send> Sync for Arena<T> {}

impl<T: Default + 'static> Arena<T> {
    constructor! {
        /// An arena with that cache of the threads, which no other arena may use.
        #[must_use]
        pub fn new(cache: usize) -> Self {
            assert!(cache < CACHES, "threads have no such cache");
            Self {
                slots: Slots {
                    segments: repeated!(AtomicPtr::null(), SEGMENTS),
                    common: AtomicU64::new(0),
                    used: AtomicU32::new(0),
                    search_at: AtomicU32::new(0),
                    searching: AtomicU32::new(0),
                },
                cache,
                moved: Moved::new(),
                node: PhantomData,
            }
        }
    }

    constructor! {
        /// An arena for users that pass the cache, or use none. It is all zero, so many of them take
        /// no space in a file.
        #[must_use]
        pub fn bare() -> Self {
            Self::new(0)
        }
    }

    /// Moves this arena's use of the threads' caches that many places further. If a process has
    /// several locks for its objects, each lock's pools have their own caches. To be called before
    /// a node is taken.
    #[cfg(feature = "several")]
    pub(super) fn move_caches(&self, by: u32) {
        self.moved.by.store(by, Order::RELAXED);
    }

    /// The size of one node.
    pub const NODE_BYTES: usize = size_of::<Slot<T>>();

    /// The backend's limits are for nodes of one cache line. Larger nodes have proportionally lower
    /// limits, but at least `least`.
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

    const SHAPE: Shape = Shape {
        bytes: Self::NODE_BYTES,
        // One at hand, and another in the list.
        cached: Self::scaled(ARENA_CACHED, 2),
        tag: offset_of!(Slot<T>, tag),
        first: 1 << Self::scaled(ARENA_FIRST_SEGMENT, 1).ilog2(),
        first_search: Self::scaled(ARENA_FIRST_SEARCH, 4),
        map: |count| map_slots(count, Slot::<T>::default).map(NonNull::cast),
        unmap: |slots, count| unmap_slots(slots.cast::<Slot<T>>(), count),
        // SAFETY: a node is the first field of its slot, which belongs to the caller.
        make: |slot| unsafe { slot.cast::<T>().write(T::default()) },
    };

    /// The peak of nodes taken at once, plus those in caches.
    pub fn used(&self) -> u32 {
        self.slots.used()
    }

    /// [`Pool::take`] without the threads' caches.
    pub fn take_uncached(&self) -> &'static T {
        // SAFETY: a slot of this arena.
        unsafe { Self::node(self.slots.take_common(&Self::SHAPE)) }
    }

    /// [`Pool::give`] without the threads' caches.
    ///
    /// # Safety
    /// As for [`Pool::give`].
    pub unsafe fn give_uncached(&self, node: &'static T) {
        self.slots.push(
            Slots::tag(&Self::SHAPE, NonNull::from(node).cast()),
            u32::MAX,
        );
    }

    /// Whether this arena has that node.
    pub(super) fn has(&self, node: &'static T) -> bool {
        let slot = NonNull::from(node).cast();
        let number = Slots::tag(&Self::SHAPE, slot).number.load(Order::RELAXED);
        let (segment, index) = Self::SHAPE.place(number);
        let base = self.slots.segments[segment].load(ARENA_BASE);
        base.wrapping_add(index * Self::NODE_BYTES) == slot.as_ptr()
    }

    /// The node of a slot.
    ///
    /// # Safety
    /// It is a slot of an arena of such nodes.
    #[inline(always)]
    unsafe fn node(slot: NonNull<u8>) -> &'static T {
        // SAFETY: the node is the first field, and stays mapped.
        unsafe { slot.cast().as_ref() }
    }
}

/// The layout of slots with nodes of one type, so that the slow paths are compiled once for all
/// types.
struct Shape {
    /// Bytes of a slot.
    bytes: usize,
    /// The most slots that a thread keeps.
    cached: u32,
    /// The offset of the tag.
    tag: usize,
    /// The slots of the first segment, a power of two.
    first: u32,
    /// The number of nodes from which a search for orphans may pay.
    first_search: u32,
    /// Maps that many slots.
    map: fn(usize) -> Option<NonNull<u8>>,
    /// Unmaps that many unused slots.
    unmap: fn(NonNull<u8>, usize),
    /// Makes the node of a slot, which is mapped and exclusive to the caller.
    make: unsafe fn(NonNull<u8>),
}

/// An arena without its node type; all calls on it pass the same shape.
#[derive(Debug)]
struct Slots {
    segments: [AtomicPtr<u8>; SEGMENTS],
    /// The common list: the first node's number, and above it a tag that changes with every push
    /// and pop.
    common: AtomicU64,
    /// The numbers assigned so far.
    used: AtomicU32,
    /// The value of `used` from which a search for orphans precedes growth. Zero before the first
    /// search: a new arena is all zero but for its cache's index.
    search_at: AtomicU32,
    /// The generation of the searching thread, or 0. Searches are exclusive.
    searching: AtomicU32,
}

impl Slots {
    fn used(&self) -> u32 {
        self.used.load(Order::RELAXED)
    }

    /// The slot of that number, which `grow` has assigned.
    #[inline(always)]
    fn at(&self, shape: &Shape, number: u32) -> NonNull<u8> {
        let (segment, index) = shape.place(number);
        // SAFETY: `grow` found the segment, mapped it and wrote the slot.
        unsafe {
            let base = self.segments.get_unchecked(segment).load(ARENA_BASE);
            NonNull::new_unchecked(base.add(index * shape.bytes))
        }
    }

    /// The tag of that slot.
    #[inline(always)]
    fn tag(shape: &Shape, slot: NonNull<u8>) -> &'static Tag {
        // SAFETY: a slot of that shape has a tag there, and stays mapped.
        unsafe { slot.add(shape.tag).cast().as_ref() }
    }

    /// A slot exclusive to the caller.
    #[inline(always)]
    fn take(&self, shape: &Shape, cache: usize) -> NonNull<u8> {
        let me = thread();
        let keeper = |slot| &Self::tag(shape, slot).keeper;
        if me.is_settled()
            && let Some(slot) = me.caches[cache % CACHES]
                .take_at_hand(|slot| keeper(slot).load(Order::RELAXED) == me.id())
        {
            keeper(slot).store(TAKEN, Order::RELAXED);
            return slot;
        }
        self.take_listed(shape, cache)
    }

    /// Gives a slot back.
    #[inline(always)]
    fn give(&self, shape: &Shape, cache: usize, slot: NonNull<u8>) {
        let me = thread();
        if me.is_settled()
            && let Some(open) = me.caches[cache % CACHES].open()
            && open.at_hand().is_none()
        {
            Self::tag(shape, slot).keeper.store(me.id(), ARENA_KEEP);
            open.put_at_hand(slot);
            return;
        }
        self.give_listed(shape, cache, slot);
    }

    /// [`take`](Self::take) if the thread has no slot at hand.
    #[cold]
    #[inline(never)]
    fn take_listed(&self, shape: &Shape, cache: usize) -> NonNull<u8> {
        let me = thread();
        me.settle();
        let Some(cache) = me.caches[cache % CACHES].open() else {
            return self.take_common(shape);
        };
        let Some(slot) = self.unlink(shape, &cache) else {
            drop(cache);
            return self.take_common(shape);
        };
        Self::tag(shape, slot).keeper.store(TAKEN, Order::RELAXED);
        slot
    }

    /// Unlinks the first slot of the calling thread's list that no other thread has. Looks at
    /// `cached` slots at most.
    #[inline(never)]
    fn unlink(&self, shape: &Shape, cache: &Opened<'_>) -> Option<NonNull<u8>> {
        let me = thread().id();
        let (first, count) = cache.list();
        let mut number = first;
        let mut before: Option<&Tag> = None;
        for _ in 0..shape.cached {
            if number == 0 {
                break;
            }
            let slot = self.at(shape, number);
            let tag = Self::tag(shape, slot);
            let next = tag.link.load(Order::RELAXED);
            if tag.keeper.load(ARENA_KEEPER) == me || mutant(flaw::TAKE_LEFT) {
                match before {
                    Some(before) => before.link.store(next, Order::RELAXED),
                    None => number = next,
                }
                let first = if before.is_none() { number } else { first };
                cache.set_list((first, count - 1));
                return Some(slot);
            }
            (before, number) = (Some(tag), next);
        }
        None
    }

    /// Puts a slot at the head of the calling thread's list.
    fn link(cache: &Opened<'_>, tag: &Tag, keeper: u32) {
        let (first, count) = cache.list();
        tag.link.store(first, Order::RELAXED);
        tag.keeper.store(keeper, ARENA_KEEP);
        cache.set_list((tag.number.load(Order::RELAXED), count + 1));
    }

    /// [`give`](Self::give) if the thread has a slot at hand.
    #[cold]
    #[inline(never)]
    fn give_listed(&self, shape: &Shape, cache: usize, slot: NonNull<u8>) {
        let me = thread();
        me.settle();
        let tag = Self::tag(shape, slot);
        let Some(cache) = me.caches[cache % CACHES].open() else {
            self.push(tag, u32::MAX);
            return;
        };
        let kept = cache.list().1;
        // The list's counter limits the number of kept slots.
        let attempts = if kept < u16::MAX { ATTEMPTS } else { u32::MAX };
        self.give_to(shape, &cache, tag, attempts);
    }

    /// Gives a slot to the common list if the thread keeps enough, and a second one if it keeps too
    /// many. Keeps the slot if that takes too many exchanges.
    fn give_to(&self, shape: &Shape, cache: &Opened<'_>, tag: &'static Tag, attempts: u32) {
        // The slot at hand counts too.
        let kept = u32::from(cache.list().1) + 1;
        let mut tag = tag;
        for _ in shape.cached..=kept.min(shape.cached + 1) {
            if !self.push(tag, attempts) {
                break;
            }
            let Some(slot) = self.unlink(shape, cache) else {
                return;
            };
            tag = Self::tag(shape, slot);
        }
        Self::link(cache, tag, thread().id());
    }

    /// Records a slot that other threads will return, if the calling thread's list has room.
    #[cold]
    #[inline(never)]
    fn leave(&self, shape: &Shape, cache: usize, slot: NonNull<u8>) {
        let me = thread();
        me.settle();
        if let Some(cache) = me.caches[cache % CACHES].open()
            && u32::from(cache.list().1) + 1 < shape.cached
        {
            Self::link(&cache, Self::tag(shape, slot), LEFT | me.id());
        }
    }

    /// Gives back a slot that its owner may have left; then it is its owner's again.
    #[cold]
    #[inline(never)]
    fn return_left(&self, shape: &Shape, cache: usize, slot: NonNull<u8>) {
        let keeper = &Self::tag(shape, slot).keeper;
        match keeper.load(Order::RELAXED) {
            TAKEN => self.give(shape, cache, slot),
            owner => keeper.store(owner & !LEFT, ARENA_KEEP),
        }
    }

    /// [`take`](Self::take), compiled once for all shapes; the same for the two below.
    #[inline(never)]
    fn take_seldom(&self, shape: &Shape, cache: usize) -> NonNull<u8> {
        self.take(shape, cache)
    }

    #[inline(never)]
    fn give_seldom(&self, shape: &Shape, cache: usize, slot: NonNull<u8>) {
        self.give(shape, cache, slot);
    }

    #[inline(never)]
    fn at_seldom(&self, shape: &Shape, number: u32) -> NonNull<u8> {
        self.at(shape, number)
    }

    /// Puts a slot on the common list; false after `attempts` failed exchanges.
    #[cold]
    #[inline(never)]
    fn push(&self, tag: &Tag, attempts: u32) -> bool {
        tag.keeper.store(COMMON, Order::RELAXED);
        let number = u64::from(tag.number.load(Order::RELAXED));
        let mut head = self.common.load(Order::RELAXED);
        for _ in 0..attempts {
            tag.link.store(head as u32, Order::RELAXED);
            match self.common.compare_exchange(
                head,
                retagged(head) | number,
                ARENA_PUSH,
                Order::RELAXED,
            ) {
                Ok(_) => return true,
                Err(now) => head = now,
            }
        }
        false
    }

    fn is_common_empty(&self) -> bool {
        self.common.load(Order::RELAXED) as u32 == 0
    }

    /// Pops a slot off the common list; none if it is empty, or after too many failed exchanges.
    fn pop(&self, shape: &Shape) -> Option<NonNull<u8>> {
        let mut head = self.common.load(ARENA_POP);
        for _ in 0..ATTEMPTS {
            let number = head as u32;
            if number == 0 {
                return None;
            }
            let slot = self.at(shape, number);
            let tag = Self::tag(shape, slot);
            let next = u64::from(tag.link.load(Order::RELAXED));
            match self
                .common
                .compare_exchange(head, retagged(head) | next, ARENA_POP, ARENA_POP)
            {
                Ok(_) => {
                    tag.keeper.store(TAKEN, Order::RELAXED);
                    return Some(slot);
                }
                Err(now) => head = now,
            }
        }
        None
    }

    /// A slot from the common list, or a new one.
    #[cold]
    #[inline(never)]
    fn take_common(&self, shape: &Shape) -> NonNull<u8> {
        loop {
            if let Some(slot) = self.pop(shape) {
                return slot;
            }
            let search_at = self.search_at.load(Order::RELAXED).max(shape.first_search);
            if self.used() >= search_at && self.adopt_orphans(shape) {
                continue;
            }
            if let Some(slot) = self.grow(shape) {
                return slot;
            }
            if !self.adopt_orphans(shape) || self.is_common_empty() {
                nap(SHORTAGE_NANOSECONDS);
            }
        }
    }

    /// A new slot with its node, if there is memory for one.
    fn grow(&self, shape: &Shape) -> Option<NonNull<u8>> {
        // Further numbers have no slot.
        self.used().checked_add(shape.first)?;
        // One addition, however many threads need their first node at once.
        let number = self.used.fetch_add(1, Order::RELAXED) + 1;
        let (segment, index) = shape.place(number);
        let Some(base) = self.mapped(shape, segment) else {
            // Undone unless a later number has been assigned; then this number stays unused.
            let _ = self
                .used
                .compare_exchange(number, number - 1, Order::RELAXED, Order::RELAXED);
            return None;
        };
        // SAFETY: the place is within the segment and exclusive to the caller. The link and the
        // keeper are valid as mapped, and not written here: a search for orphans may read them.
        let slot = unsafe {
            let slot = base.add(index * shape.bytes);
            (shape.make)(slot);
            slot
        };
        Self::tag(shape, slot).number.store(number, ARENA_NUMBER);
        Some(slot)
    }

    /// The base of the segment; maps it if there is memory.
    fn mapped(&self, shape: &Shape, segment: usize) -> Option<NonNull<u8>> {
        let place = self.segments.get(segment)?;
        if let Some(base) = NonNull::new(place.load(ARENA_BASE)) {
            return Some(base);
        }
        let count = (shape.first as usize) << segment;
        let Some(fresh) = (shape.map)(count) else {
            // Another thread may have mapped the segment with the last memory.
            return NonNull::new(place.load(ARENA_BASE));
        };
        let published =
            place.compare_exchange(ptr::null_mut(), fresh.as_ptr(), ARENA_MAP, ARENA_BASE);
        let Err(theirs) = published else {
            return Some(fresh);
        };
        // Another thread mapped it first.
        (shape.unmap)(fresh, count);
        NonNull::new(theirs)
    }

    /// Moves the nodes kept by threads that are gone to the common list. False if another thread is
    /// searching.
    #[cold]
    #[inline(never)]
    fn adopt_orphans(&self, shape: &Shape) -> bool {
        // Searches are exclusive. Between the check of a keeper and the adoption of its node,
        // another search could adopt it first; then a new thread of that number could keep it. A
        // search interrupted by a fork has an older generation.
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
            let (segment, _) = shape.place(number);
            if self.segments[segment].load(ARENA_BASE).is_null() {
                // Another thread is making its first node.
                break;
            }
            let tag = Self::tag(shape, self.at(shape, number));
            let keeper = tag.keeper.load(ARENA_KEEPER);
            if keeper == TAKEN || keeper & LEFT != 0 || keeper == alive {
                continue;
            }
            if !is_gone(keeper) {
                alive = keeper;
            } else if tag
                .keeper
                .compare_exchange(keeper, TAKEN, ARENA_KEEPER, Order::RELAXED)
                .is_ok()
            {
                self.push(tag, u32::MAX);
                adopted += 1;
            }
        }
        // A search that freed half of the nodes has paid, so the next may follow soon. Otherwise
        // the nodes are in use, and the arena may double.
        let pays = adopted >= used / 2;
        let search_at = if pays { used } else { used.saturating_mul(2) };
        self.search_at.store(search_at, Order::RELAXED);
        self.searching.store(0, ARENA_SEARCHED);
        true
    }
}

impl Shape {
    /// The segment of the slot of that number, and its place there.
    #[inline(always)]
    const fn place(&self, number: u32) -> (usize, usize) {
        let shifted = number - 1 + self.first;
        // Never zero; spares the compiler's check.
        let segment = (shifted | 1).ilog2() - self.first.ilog2();
        (
            segment as usize,
            (shifted - (self.first << segment)) as usize,
        )
    }
}

/// The list's head without its number, with the next tag.
const fn retagged(head: u64) -> u64 {
    (head & !0xffff_ffff).wrapping_add(1 << 32)
}

// SAFETY: a node is in one place at a time. Pop and push move it by a tagged exchange, and a
// thread's cache is its own.
unsafe impl<T: Default + Send + 'static> Pool<T> for Arena<T> {
    #[inline]
    fn take(&self) -> &'static T {
        // SAFETY: a slot of this arena.
        unsafe { Self::node(self.slots.take(&Self::SHAPE, self.moved.place(self.cache))) }
    }

    #[inline]
    unsafe fn give(&self, node: &'static T) {
        let slot = NonNull::from(node).cast();
        self.slots
            .give(&Self::SHAPE, self.moved.place(self.cache), slot);
    }

    fn take_seldom(&self) -> &'static T {
        // SAFETY: a slot of this arena.
        unsafe {
            Self::node(
                self.slots
                    .take_seldom(&Self::SHAPE, self.moved.place(self.cache)),
            )
        }
    }

    unsafe fn give_seldom(&self, node: &'static T) {
        let slot = NonNull::from(node).cast();
        self.slots
            .give_seldom(&Self::SHAPE, self.moved.place(self.cache), slot);
    }

    unsafe fn leave(&self, node: &'static T) {
        let (slot, cache) = (NonNull::from(node).cast(), self.moved.place(self.cache));
        self.slots.leave(&Self::SHAPE, cache, slot);
    }

    unsafe fn return_left(&self, node: &'static T) {
        let (slot, cache) = (NonNull::from(node).cast(), self.moved.place(self.cache));
        self.slots.return_left(&Self::SHAPE, cache, slot);
    }

    #[inline]
    fn number(&self, node: &'static T) -> u32 {
        let slot = NonNull::from(node).cast();
        Slots::tag(&Self::SHAPE, slot).number.load(Order::RELAXED)
    }

    #[inline]
    unsafe fn at(&self, number: u32) -> &'static T {
        // SAFETY: a slot of this arena.
        unsafe { Self::node(self.slots.at(&Self::SHAPE, number)) }
    }

    fn bytes(&self) -> usize {
        self.used() as usize * Self::NODE_BYTES
    }
}

impl<T: Default + Send + 'static> Census<T> for Arena<T> {
    fn each(&self, look: &mut dyn FnMut(&'static T)) {
        for number in 1..=self.slots.used() {
            let (segment, _) = Self::SHAPE.place(number);
            if self.slots.segments[segment].load(ARENA_BASE).is_null() {
                // Another thread is making its first node.
                return;
            }
            let slot = self.slots.at(&Self::SHAPE, number);
            if Slots::tag(&Self::SHAPE, slot).number.load(ARENA_MADE) == number {
                // SAFETY: a slot of this arena with a node.
                look(unsafe { Self::node(slot) });
            }
        }
    }
}

/// An arena for nodes taken and given at each acquisition. Its cache's index is a constant in the
/// code, which avoids a load.
#[derive(Debug)]
pub struct Often<T, const CACHE: usize>(Arena<T>);

impl<T: Default + 'static, const CACHE: usize> Often<T, CACHE> {
    constructor! {
        /// As [`Arena::new`].
        #[must_use]
        pub fn new() -> Self {
            Self(Arena::new(CACHE))
        }
    }

    /// As [`Arena::move_caches`].
    #[cfg(feature = "several")]
    pub(super) fn move_caches(&self, by: u32) {
        self.0.move_caches(by);
    }
}

impl<T: Default + 'static, const CACHE: usize> Default for Often<T, CACHE> {
    fn default() -> Self {
        Self::new()
    }
}

// SAFETY: as the arena.
unsafe impl<T: Default + Send + 'static, const CACHE: usize> Pool<T> for Often<T, CACHE> {
    #[inline(always)]
    fn take(&self) -> &'static T {
        // SAFETY: a slot of that arena.
        unsafe {
            Arena::node(
                self.0
                    .slots
                    .take(&Arena::<T>::SHAPE, self.0.moved.place(CACHE)),
            )
        }
    }

    #[inline(always)]
    unsafe fn give(&self, node: &'static T) {
        let slot = NonNull::from(node).cast();
        let cache = self.0.moved.place(CACHE);
        self.0.slots.give(&Arena::<T>::SHAPE, cache, slot);
    }

    fn take_seldom(&self) -> &'static T {
        self.0.take_seldom()
    }

    unsafe fn give_seldom(&self, node: &'static T) {
        // SAFETY: passed on.
        unsafe { self.0.give_seldom(node) };
    }

    #[inline]
    fn number(&self, node: &'static T) -> u32 {
        self.0.number(node)
    }

    #[inline]
    unsafe fn at(&self, number: u32) -> &'static T {
        // SAFETY: passed on.
        unsafe { self.0.at(number) }
    }

    fn bytes(&self) -> usize {
        self.0.bytes()
    }
}

impl<T: Default + Send + 'static, const CACHE: usize> Census<T> for Often<T, CACHE> {
    fn each(&self, look: &mut dyn FnMut(&'static T)) {
        self.0.each(look);
    }
}

/// Values that may be too large for a thread's stack, and are made at their final place.
pub trait MadeInPlace: Default + 'static {
    /// The threads' cache for these values. A process uses one lock for its objects, so all locks
    /// share it.
    const CACHE: usize;

    /// Makes a value at `place`.
    ///
    /// # Safety
    /// The place is valid for writes, and exclusive to the caller.
    unsafe fn make_at(place: *mut Self);
}

/// An arena for rarely taken nodes: its code is shared by all types, and not inlined.
#[derive(Debug)]
pub struct Seldom<T>(Arena<T>);

impl<T: MadeInPlace> Seldom<T> {
    const SHAPE: Shape = Shape {
        // SAFETY: a node is the first field of its slot, which is the caller's.
        make: |slot| unsafe { T::make_at(slot.cast().as_ptr()) },
        ..Arena::<T>::SHAPE
    };

    constructor! {
        /// As [`Arena::new`]; all zero.
        #[must_use]
        pub fn new() -> Self {
            Self(Arena::bare())
        }
    }

    /// As [`Arena::used`].
    pub fn used(&self) -> u32 {
        self.0.used()
    }

    /// As [`Arena::move_caches`].
    #[cfg(feature = "several")]
    pub fn move_caches(&self, by: u32) {
        self.0.move_caches(by);
    }
}

impl<T: MadeInPlace> Default for Seldom<T> {
    fn default() -> Self {
        Self::new()
    }
}

// SAFETY: as the arena.
unsafe impl<T: MadeInPlace + Send> Pool<T> for Seldom<T> {
    fn take(&self) -> &'static T {
        let arena = &self.0;
        // SAFETY: a slot of that arena.
        unsafe {
            Arena::node(
                arena
                    .slots
                    .take_seldom(&Self::SHAPE, arena.moved.place(T::CACHE)),
            )
        }
    }

    unsafe fn give(&self, node: &'static T) {
        let (arena, slot) = (&self.0, NonNull::from(node).cast());
        let cache = arena.moved.place(T::CACHE);
        arena.slots.give_seldom(&Self::SHAPE, cache, slot);
    }

    fn number(&self, node: &'static T) -> u32 {
        self.0.number(node)
    }

    unsafe fn at(&self, number: u32) -> &'static T {
        let arena = &self.0;
        // SAFETY: a slot of that arena.
        unsafe { Arena::node(arena.slots.at_seldom(&Self::SHAPE, number)) }
    }

    fn bytes(&self) -> usize {
        self.0.bytes()
    }
}

// Atomics of the other backends exist only during their runs.
#[cfg(all(test, not(checker)))]
mod tests {
    extern crate std;

    use super::*;
    use std::collections::BTreeSet;
    use std::vec::Vec;

    /// The cache of no other arena in these tests.
    const CACHE: usize = 15;

    fn number(node: &'static u64) -> u32 {
        let slot = NonNull::from(node).cast();
        Slots::tag(&Arena::<u64>::SHAPE, slot)
            .number
            .load(Order::RELAXED)
    }

    /// A thread keeps nodes that the common list does not accept, and gives them there later.
    #[test]
    fn what_the_common_list_does_not_take_is_kept() {
        const SHAPE: &Shape = &Arena::<u64>::SHAPE;
        const NODES: u16 = 3 * ARENA_CACHED as u16;
        std::thread::spawn(|| {
            let arena = Arena::<u64>::new(CACHE);
            let me = thread();
            me.settle();
            let kept = || {
                let cache = me.caches[CACHE].open().expect("it is closed");
                cache.list().1
            };
            let give = |node: &'static u64, attempts| {
                let tag = Slots::tag(SHAPE, NonNull::from(node).cast());
                let cache = me.caches[CACHE].open().expect("it is closed");
                arena.slots.give_to(SHAPE, &cache, tag, attempts);
            };
            let taken: Vec<_> = (0..NODES).map(|_| arena.take()).collect();
            taken.iter().for_each(|node| give(node, 0));
            assert_eq!(kept(), NODES);
            for node in &taken {
                let before = kept();
                let again = arena.take();
                give(again, ATTEMPTS);
                let less = u16::from(u32::from(before) > SHAPE.cached) + 1;
                let least = ARENA_CACHED as u16 - 1;
                assert_eq!(kept(), (before - less).max(least), "{}", number(node));
            }
            let again: BTreeSet<u32> = (0..NODES).map(|_| number(arena.take())).collect();
            assert_eq!(again, taken.iter().map(|node| number(node)).collect());
            assert_eq!(arena.used(), u32::from(NODES));
        })
        .join()
        .unwrap();
    }
}
