//! Locks for arbitrary addresses: the table from keys to locks (GLS; Antić, Chatzopoulos, Guerraoui
//! and Trigonakis 2016 §4.1). Crate `cohort-service` is its interface.
//!
//! **Not for** a lock with memory of its own: a look-up costs a hash and a cache line.
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `level` | the thread that grows the table | there are `FIRST << level` buckets |
//! | `first`, `segments` | the same | the buckets; each segment has as many as all before it |
//! | `Bucket::ready` | the thread that splits the previous bucket | its keys have moved here |
//! | `Bucket::entries` | the bucket's owner | up to six entries, with bits of their keys' hashes |
//! | `Bucket::more` | the same | a further line of the bucket |
//! | `KeyedLock::key` | the bucket's owner, which puts or frees the key | the address served by this lock |
//! | `KeyedLock::waiting` | waiters; who puts or frees the key | number of waiters; `FREED` without a key |
//!
//! A look-up only reads: as a rule the bucket's line, and the entry's, which the caller locks
//! anyway. It takes no more steps than the table has levels and the bucket has lines, whatever
//! other threads do. A key is stored in its entry only, so a line has room for six: bits of the
//! hash rule out nearly all other entries without a look at them. A failed look-up is repeated by
//! the bucket's owner, so two first users of a key get one entry.
//!
//! The table grows by a segment of empty buckets, in one step. A bucket gets its keys from its
//! predecessor when a thread first puts a key that belongs there; entries stay in place. A thread
//! that reads the old bucket meanwhile finds nothing, and looks again as the bucket's owner.
//!
//! An entry stays an entry for ever, for one key after another, so a stale pointer is harmless. A
//! thread that has locked an entry compares the key, which is constant while the lock is held, and
//! looks again on a mismatch. A thread that must wait first registers in the entry, which then
//! serves no other key: a holder of that key's lock may wait for locks of this thread. The last of
//! the threads registered when a key was freed returns the entry to the pool.
//!
//! So each thread may remember its last entry. No generation of the key is compared (Antić et al.
//! 2016 are silent on both): an entry with the same key again *is* its lock.
//!
//! A table may have locks of several kinds. A key's first user chooses the kind of its lock, until
//! the key is freed. An entry's kind never changes, so a look at it is never stale.
//!
//! A fork may leave a bucket owned, or half split, by a thread that the child lacks. A bucket owned
//! in another process is free. Keys count only once they are complete, and an incomplete split
//! starts again. A lock held by such a thread stays held in the child; so does the lock of a key
//! that it was freeing, which it holds meanwhile.

use crate::door::{
    AtomicPtr, AtomicU32, AtomicUsize, CACHES, Order, Spinner, constructor, flaws, generation,
    key_of, map_slots, mutant, orders, repeated, thread,
};
use crate::host::Pool;
use cohort_raw::{Abortable, Outcome, Patience, RawTry};
use core::ops::Deref;
use core::ptr::{self, NonNull};

orders! {
    /// A visible key's entry is visible too.
    GLS_FIND = Acquire;
    /// As above, from the other side.
    GLS_PUT = Release;
    /// A thread that follows moved keys to their new bucket sees them there.
    GLS_READY = Acquire;
    /// As above.
    GLS_SPLIT = Release;
    /// A further line, and a segment's buckets, are initialised.
    GLS_MORE = Acquire;
    /// As above.
    GLS_ADD = Release;
    /// A bucket's owner sees the last owner's writes.
    GLS_TAKE = Acquire;
    /// As above.
    GLS_LEAVE = Release;
    /// A thread about to wait at an entry sees the key.
    GLS_WAIT = Acquire;
    /// As above.
    GLS_SERVE = Release;
}

flaws! {
    BELIEVE_ENTRY = "gls.believe-entry";
    PUT_AT_ONCE = "gls.put-at-once";
    SPLIT_EARLY = "gls.split-early";
    BELIEVE_PLACE = "gls.believe-place";
    FREE_HELD = "gls.free-held";
    FREE_EARLY = "gls.free-early";
    ANY_KIND = "gls.any-kind";
    /// The key of a freed entry is cleared once another may put the key again.
    CLEAR_LATE = "gls.clear-late";
    /// A thread waits at an entry without registering.
    WAIT_UNSEEN = "gls.wait-unseen";
    /// A registered thread does not check the key.
    BELIEVE_WAIT = "gls.believe-wait";
}

/// A lock for an entry: it needs no context.
pub trait Lockable: Default + Send + Sync + 'static {
    /// The kind of lock, in a table with several kinds. An entry's kind never changes.
    type Kind: Copy;

    /// Whether it is of that kind.
    fn is(&self, kind: Self::Kind) -> bool;

    /// A free entry of that kind, from the table's pool if it holds that kind.
    fn take(
        kind: Self::Kind,
        pool: &(impl Pool<KeyedLock<Self>> + ?Sized),
    ) -> &'static KeyedLock<Self>;

    /// Returns the entry to the pool of its kind.
    ///
    /// # Safety
    /// The entry is from [`take`](Self::take), and no key has it.
    unsafe fn give(entry: &'static KeyedLock<Self>, pool: &(impl Pool<KeyedLock<Self>> + ?Sized));

    /// Blocks until it is locked.
    fn lock(&self);

    /// Locks it if it is free.
    fn try_lock(&self) -> bool;

    /// Blocks until it is locked or patience runs out; false after a timeout.
    fn lock_within(&self, patience: &Patience) -> bool;

    /// Unlocks it.
    ///
    /// # Safety
    /// It is locked, and the caller may unlock it.
    unsafe fn unlock(&self);

    /// Unlocks it; false if it was free.
    ///
    /// # Safety
    /// If it is locked, the caller may unlock it.
    unsafe fn unlock_held(&self) -> bool {
        let held = self.is_locked();
        if held {
            // SAFETY: the caller's.
            unsafe { self.unlock() };
        }
        held
    }

    /// Whether it was locked a moment ago.
    fn is_locked(&self) -> bool;
}

impl<L: RawTry<Context = ()> + Abortable + 'static> Lockable for L {
    type Kind = ();

    fn is(&self, (): ()) -> bool {
        true
    }

    fn take((): (), pool: &(impl Pool<KeyedLock<Self>> + ?Sized)) -> &'static KeyedLock<Self> {
        pool.take()
    }

    unsafe fn give(entry: &'static KeyedLock<Self>, pool: &(impl Pool<KeyedLock<Self>> + ?Sized)) {
        // SAFETY: passed on.
        unsafe { pool.give(entry) };
    }

    fn lock(&self) {
        // SAFETY: the lock has no contexts, and stays in place while it is an entry's; so below.
        unsafe { self.acquire(&()) };
    }

    fn try_lock(&self) -> bool {
        // SAFETY: as above.
        unsafe { self.try_acquire(&()) }
    }

    fn lock_within(&self, patience: &Patience) -> bool {
        // SAFETY: as above.
        unsafe { self.acquire_within(&(), patience) == Outcome::Acquired }
    }

    unsafe fn unlock(&self) {
        // SAFETY: the caller's.
        unsafe { self.release(&()) };
    }

    fn is_locked(&self) -> bool {
        cohort_raw::RawLock::is_locked(self)
    }
}

/// A lock and its key.
#[derive(Debug, Default)]
pub struct KeyedLock<L> {
    lock: L,
    key: AtomicUsize,
    waiting: AtomicU32,
}

/// No key has the entry.
const FREED: u32 = 1 << 31;

impl<L> KeyedLock<L> {
    /// Its lock.
    pub const fn lock(&self) -> &L {
        &self.lock
    }

    /// Assigns it, from the pool, to that key.
    fn serve(&self, key: usize) {
        self.key.store(key, Order::RELAXED);
        self.waiting.store(0, GLS_SERVE);
    }

    /// Registers the calling thread as a waiter, unless the entry is free.
    fn await_turn(&self) -> bool {
        let mut seen = self.waiting.load(Order::RELAXED);
        while seen & FREED == 0 {
            let more = self
                .waiting
                .compare_exchange(seen, seen + 1, GLS_WAIT, Order::RELAXED);
            match more {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }
}

/// Keys of a cache line.
const WIDTH: usize = 6;

/// The lowest bit that is 0 in every address. Kernels give higher addresses on request only, and
/// the pools of entries do not request them.
const SPARE: u32 = 48;

/// A cache line of keys.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Bucket<L: 'static> {
    /// The generation of the owner's process, or 0.
    taken: AtomicU32,
    ready: AtomicU32,
    entries: [AtomicPtr<KeyedLock<L>>; WIDTH],
    more: AtomicPtr<Self>,
}

impl<L> Default for Bucket<L> {
    fn default() -> Self {
        Self {
            taken: AtomicU32::new(0),
            ready: AtomicU32::new(0),
            entries: repeated!(AtomicPtr::null(), WIDTH),
            more: AtomicPtr::null(),
        }
    }
}

/// The reason of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Null is no key.
    NoKey,
    /// The key's lock is held or has waiters.
    Busy,
    /// The key's lock is free.
    NotHeld,
    /// The deadline passed.
    TimedOut,
    /// The key's lock is of another kind.
    OtherKind,
    /// The system has no memory left.
    NoMemory,
}

/// More segments than addresses can fill.
const SEGMENTS: usize = 26;

/// The table. Its entries and further lines come from two pools, and stay there for ever. It grows
/// when there are more keys than `FULL` for each bucket.
#[derive(Debug)]
pub struct Table<L: 'static, E, B, const FIRST: usize = 64, const FULL: u32 = 4> {
    level: AtomicU32,
    used: AtomicU32,
    /// The generation of the process of the growing thread, or 0.
    growing: AtomicU32,
    cache: usize,
    first: [Bucket<L>; FIRST],
    segments: [AtomicPtr<Bucket<L>>; SEGMENTS],
    entries: E,
    more: B,
}

/// A bucket owned by the caller; no other thread changes it.
struct Taken<'a, L: 'static> {
    bucket: &'a Bucket<L>,
    /// The level at which its number is a key's.
    level: u32,
}

impl<L> Drop for Taken<'_, L> {
    fn drop(&mut self) {
        self.bucket.taken.store(0, GLS_LEAVE);
    }
}

/// A key's hash, which selects its bucket.
fn hash(key: usize) -> usize {
    let key = key_of(key) as u64;
    // Spreads keys that differ in their upper bits only, such as floating-point numbers.
    let folded = key ^ key >> 32;
    (folded.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize
}

/// The spare bits in the entry of a key with that hash: the bits of the hash least related to the
/// bucket.
fn tag(hash: usize) -> usize {
    hash >> (u32::BITS + SPARE - usize::BITS) << SPARE
}

/// The entry in a place of a bucket, if there is one.
fn entry_in<L>(place: *mut KeyedLock<L>) -> Option<&'static KeyedLock<L>> {
    // SAFETY: null, or of a pool with permanent nodes.
    unsafe {
        place
            .map_addr(|address| address & ((1 << SPARE) - 1))
            .as_ref()
    }
}

impl<L: Lockable> Bucket<L> {
    /// The lines of this bucket.
    fn lines(&self) -> impl Iterator<Item = &Self> {
        core::iter::successors(Some(self), |line| {
            // SAFETY: of a pool with permanent nodes, if there is one.
            unsafe { line.more.load(GLS_MORE).as_ref() }
        })
    }

    /// The entry of a key, if visible.
    #[inline]
    fn find(&self, key: usize, hash: usize) -> Option<&'static KeyedLock<L>> {
        let tag = tag(hash);
        for line in self.lines() {
            for place in &line.entries {
                let place = place.load(GLS_FIND);
                if place.addr() >> SPARE << SPARE == tag
                    && let Some(entry) = entry_in(place)
                    && entry.key.load(Order::RELAXED) == key
                {
                    return Some(entry);
                }
            }
        }
        None
    }

    /// Inserts the entry of an absent key; the caller owns the bucket, or it is not published yet.
    fn put(&self, hash: usize, entry: &'static KeyedLock<L>, more: &(impl Pool<Self> + ?Sized)) {
        let tagged = ptr::from_ref(entry).cast_mut().map_addr(|address| {
            assert_eq!(address >> SPARE, 0, "no bits to spare");
            address | tag(hash)
        });
        let mut last = self;
        for line in self.lines() {
            for place in &line.entries {
                if place.load(Order::RELAXED).is_null() {
                    place.store(tagged, GLS_PUT);
                    return;
                }
            }
            last = line;
        }
        let line = more.take();
        line.entries[0].store(tagged, GLS_PUT);
        last.more.store(ptr::from_ref(line).cast_mut(), GLS_ADD);
    }

    /// All places.
    fn places(&self) -> impl Iterator<Item = &AtomicPtr<KeyedLock<L>>> {
        self.lines().flat_map(|line| &line.entries)
    }

    /// Removes the entries of all keys that satisfy `which`; the caller owns the bucket, or it is
    /// not published yet.
    fn forget(&self, which: impl Fn(usize) -> bool) {
        for place in self.places() {
            if let Some(entry) = entry_in(place.load(Order::RELAXED))
                && which(entry.key.load(Order::RELAXED))
            {
                place.store(ptr::null_mut(), Order::RELAXED);
            }
        }
    }

    /// Becomes the owner, after the present owner, who is soon done.
    fn take(&self) {
        let mine = generation();
        let mut spinner = Spinner::new();
        loop {
            let seen = self.taken.load(Order::RELAXED);
            let free = seen != mine
                && self
                    .taken
                    .compare_exchange(seen, mine, GLS_TAKE, Order::RELAXED)
                    .is_ok();
            if free {
                return;
            }
            spinner.moment();
        }
    }
}

impl<L, E, B, const FIRST: usize, const FULL: u32> Table<L, E, B, FIRST, FULL>
where
    L: Lockable,
    E: Deref<Target: Pool<KeyedLock<L>>>,
    B: Deref<Target: Pool<Bucket<L>>>,
{
    constructor! {
        /// An empty table, which uses the threads' cache of that number; no other table or arena
        /// may use it.
        #[must_use]
        pub fn new(cache: usize, entries: E, more: B) -> Self {
            assert!(cache < CACHES, "threads have no such cache");
            Self {
                level: AtomicU32::new(0),
                used: AtomicU32::new(0),
                growing: AtomicU32::new(0),
                cache,
                first: repeated!(
                    Bucket {
                        taken: AtomicU32::new(0),
                        ready: AtomicU32::new(0),
                                    entries: repeated!(AtomicPtr::null(), WIDTH),
                        more: AtomicPtr::null(),
                    },
                    FIRST
                ),
                segments: repeated!(AtomicPtr::null(), SEGMENTS),
                entries,
                more,
            }
        }
    }

    /// The bucket of that number, if its segment exists.
    #[inline]
    fn bucket(&self, number: usize) -> Option<&Bucket<L>> {
        if number < FIRST {
            return Some(&self.first[number]);
        }
        let segment = (number / FIRST).ilog2();
        let base = self.segments[segment as usize].load(GLS_MORE);
        // SAFETY: mapped for that many, for ever, if it is there.
        (!base.is_null()).then(|| unsafe { &*base.add(number - (FIRST << segment)) })
    }

    /// The last ready bucket for a hash, and the lowest level at which the hash leads there.
    #[inline]
    fn nearest(&self, hash: usize) -> (&Bucket<L>, u32) {
        let mut level = self.level.load(Order::RELAXED);
        loop {
            let number = hash & ((FIRST << level) - 1);
            if number < FIRST {
                return (&self.first[number], 0);
            }
            // The first level with such a number.
            level = (number / FIRST).ilog2() + 1;
            if let Some(bucket) = self.bucket(number)
                && bucket.ready.load(GLS_READY) != 0
            {
                return (bucket, level);
            }
            level -= 1;
        }
    }

    /// The key's entry, if visible.
    #[inline]
    fn find(&self, key: usize) -> Option<&'static KeyedLock<L>> {
        let hash = hash(key);
        self.nearest(hash).0.find(key, hash)
    }

    /// Becomes the owner of the bucket with a hash's keys.
    fn taken(&self, hash: usize) -> Taken<'_, L> {
        loop {
            let (bucket, level) = self.nearest(hash);
            bucket.take();
            let taken = Taken { bucket, level };
            if ptr::eq(self.nearest(hash).0, bucket) || mutant(flaw::BELIEVE_PLACE) {
                return taken;
            }
        }
    }

    /// The entry of a key that was not visible; `None` if it has none.
    #[cold]
    #[inline(never)]
    fn find_exclusive(&self, key: usize) -> Option<&'static KeyedLock<L>> {
        let hash = hash(key);
        self.taken(hash).bucket.find(key, hash)
    }

    /// The key's entry; a new one of that kind, if it had none.
    #[inline]
    fn entry(&self, kind: L::Kind, key: usize) -> &'static KeyedLock<L> {
        self.find(key).unwrap_or_else(|| self.put(kind, key))
    }

    #[cold]
    #[inline(never)]
    fn put(&self, kind: L::Kind, key: usize) -> &'static KeyedLock<L> {
        let hash = hash(key);
        let (entry, used) = loop {
            let taken = self.taken(hash);
            if let Some(entry) = taken.bucket.find(key, hash)
                && !mutant(flaw::PUT_AT_ONCE)
            {
                return entry;
            }
            if self.splits(&taken, hash) {
                continue;
            }
            let entry = L::take(kind, &*self.entries);
            entry.serve(key);
            // Counted before another thread can free it.
            let used = self.used.fetch_add(1, Order::RELAXED) + 1;
            taken.bucket.put(hash, entry, &*self.more);
            break (entry, used);
        };
        let level = self.level.load(Order::RELAXED);
        if used as usize > (FIRST << level) * FULL as usize {
            self.grow(level);
        }
        entry
    }

    /// Moves keys to the next bucket for a hash, unless the caller's bucket is the last; returns
    /// whether it did.
    fn splits(&self, taken: &Taken<'_, L>, hash: usize) -> bool {
        let number = |hash, level: u32| hash & ((FIRST << level) - 1);
        let from = number(hash, taken.level);
        let mut levels = taken.level + 1..=self.level.load(Order::RELAXED);
        let Some(level) = levels.find(|level| number(hash, *level) != from) else {
            return false;
        };
        let to = number(hash, level);
        let Some(bucket) = self.bucket(to) else {
            return false;
        };
        let moves = |key| key != 0 && number(self::hash(key), level) == to;
        if mutant(flaw::SPLIT_EARLY) {
            bucket.ready.store(1, GLS_SPLIT);
        }
        // Remains of an incomplete split.
        bucket.forget(|_| true);
        for place in taken.bucket.places() {
            if let Some(entry) = entry_in(place.load(Order::RELAXED)) {
                let key = entry.key.load(Order::RELAXED);
                if moves(key) {
                    bucket.put(self::hash(key), entry, &*self.more);
                }
            }
        }
        bucket.ready.store(1, GLS_SPLIT);
        taken.bucket.forget(moves);
        true
    }

    /// Makes room for so many keys at once, instead of step by step later.
    ///
    /// # Errors
    /// There is no memory for them, or the table cannot grow so far.
    pub fn reserve(&self, keys: usize) -> Result<(), Refusal> {
        let buckets = keys.div_ceil(FULL as usize);
        // Checked before the table grows as far as it can, which would slow each search.
        if buckets > FIRST << SEGMENTS {
            return Err(Refusal::NoMemory);
        }
        let mut spinner = Spinner::new();
        loop {
            let level = self.level.load(Order::RELAXED);
            if buckets <= FIRST << level {
                return Ok(());
            }
            let is_done = self.grow(level);
            if self.level.load(Order::RELAXED) == level {
                if is_done {
                    return Err(Refusal::NoMemory);
                }
                // Another thread grows the table.
                spinner.moment();
            }
        }
    }

    /// Doubles the number of buckets, unless another thread does or memory is lacking; false if
    /// another thread does.
    #[cold]
    fn grow(&self, level: u32) -> bool {
        let mine = generation();
        let seen = self.growing.load(Order::RELAXED);
        let alone = seen != mine
            && self
                .growing
                .compare_exchange(seen, mine, GLS_TAKE, Order::RELAXED)
                .is_ok();
        if !alone {
            return false;
        }
        if self.level.load(Order::RELAXED) == level && (level as usize) < SEGMENTS {
            let count = FIRST << level;
            let segment = &self.segments[level as usize];
            if !segment.load(GLS_MORE).is_null() {
                // A fork came between; its thread is not in this process.
                self.level.store(level + 1, Order::RELAXED);
            } else if let Some(base) = map_slots(count, Bucket::default) {
                segment.store(base.as_ptr(), GLS_ADD);
                self.level.store(level + 1, Order::RELAXED);
            }
        }
        self.growing.store(0, GLS_LEAVE);
        true
    }

    /// The calling thread's last entry, if it is that key's.
    #[inline]
    fn remembered(&self, key: usize) -> Option<&'static KeyedLock<L>> {
        let me = thread();
        me.settle();
        let entry = me.caches[self.cache % CACHES].open()?.at_hand()?;
        // SAFETY: an entry of this table's pool, where nodes stay; this table alone puts it there.
        let entry = unsafe { entry.cast::<KeyedLock<L>>().as_ref() };
        (entry.key.load(Order::RELAXED) == key).then_some(entry)
    }

    #[inline]
    fn remember(&self, entry: &'static KeyedLock<L>) {
        if let Some(cache) = thread().caches[self.cache % CACHES].open() {
            cache.put_at_hand(NonNull::from(entry).cast());
        }
    }

    /// Locks a key's entry, at once or else by `waits`; returns the reason of a failure.
    #[inline]
    fn locked(
        &self,
        kind: L::Kind,
        key: usize,
        waits: impl Fn(&'static KeyedLock<L>) -> Option<Result<(), Refusal>>,
    ) -> Result<Held<L>, Refusal> {
        if key == 0 {
            return Err(Refusal::NoKey);
        }
        let mut entry = self.remembered(key).unwrap_or_else(|| {
            let entry = self.entry(kind, key);
            self.remember(entry);
            entry
        });
        loop {
            // The entry was the key's during this call, and so was its kind.
            of_kind(entry, kind)?;
            if entry.lock.try_lock() {
                if entry.key.load(Order::RELAXED) == key || mutant(flaw::BELIEVE_ENTRY) {
                    return Ok(Held { entry });
                }
                // SAFETY: locked just now.
                unsafe { entry.lock.unlock() };
            } else if let Some(ended) = waits(entry) {
                return ended.map(|()| Held { entry });
            }
            // As the bucket's owner: a plain look-up could find the same entry.
            entry = self.put(kind, key);
            self.remember(entry);
        }
    }

    /// Waits for the key's entry, by `how`; `None` if the entry is no longer the key's.
    #[inline(never)]
    fn waits(
        &self,
        entry: &'static KeyedLock<L>,
        key: usize,
        how: impl Fn(&L) -> Result<(), Refusal>,
    ) -> Option<Result<(), Refusal>> {
        let is_key_s = || entry.key.load(Order::RELAXED) == key;
        let counted = !mutant(flaw::WAIT_UNSEEN);
        if counted && !entry.await_turn() {
            return None;
        }
        let mut ended = None;
        if is_key_s() || mutant(flaw::BELIEVE_WAIT) {
            let locked = how(&entry.lock);
            if is_key_s() {
                ended = Some(locked);
            } else if locked.is_ok() {
                // SAFETY: locked just now.
                unsafe { entry.lock.unlock() };
            }
        }
        if counted && entry.waiting.fetch_sub(1, Order::RELAXED) == FREED | 1 {
            // SAFETY: its key was freed, and it has no other waiter.
            unsafe { L::give(entry, &*self.entries) };
        }
        ended
    }

    /// Blocks until the key's lock is held.
    ///
    /// # Errors
    /// Null is no key; the key's lock is of another kind.
    #[inline]
    pub fn lock(&self, kind: L::Kind, key: usize) -> Result<Held<L>, Refusal> {
        let how = |lock: &L| {
            lock.lock();
            Ok(())
        };
        self.locked(kind, key, |entry| self.waits(entry, key, how))
    }

    /// Takes the key's lock if it is free.
    ///
    /// # Errors
    /// As [`lock`](Self::lock); the lock is held.
    #[inline]
    pub fn try_lock(&self, kind: L::Kind, key: usize) -> Result<Held<L>, Refusal> {
        self.locked(kind, key, |entry| {
            let is_key_s = entry.key.load(Order::RELAXED) == key;
            is_key_s.then_some(Err(Refusal::Busy))
        })
    }

    /// Blocks until the key's lock is held or patience runs out.
    ///
    /// # Errors
    /// As [`lock`](Self::lock); the deadline passed.
    pub fn lock_within(
        &self,
        kind: L::Kind,
        key: usize,
        patience: &Patience,
    ) -> Result<Held<L>, Refusal> {
        let how = |lock: &L| {
            let locked = lock.lock_within(patience);
            locked.then_some(()).ok_or(Refusal::TimedOut)
        };
        self.locked(kind, key, |entry| self.waits(entry, key, how))
    }

    /// Releases the key's lock, from any thread.
    ///
    /// # Errors
    /// As [`lock`](Self::lock); the lock is free, or the key has none.
    ///
    /// # Safety
    /// If the lock is held, the caller may release it. If it is not, no thread [frees](Self::free)
    /// the key meanwhile: its entry may be another key's then, and held.
    pub unsafe fn unlock(&self, kind: L::Kind, key: usize) -> Result<(), Refusal> {
        if key == 0 {
            return Err(Refusal::NoKey);
        }
        let seen = self.remembered(key).or_else(|| self.find(key));
        let entry = seen.or_else(|| self.find_exclusive(key));
        let entry = entry.ok_or(Refusal::NotHeld)?;
        of_kind(entry, kind)?;
        // SAFETY: the caller's; a key with a held lock keeps its entry.
        let held = unsafe { entry.lock.unlock_held() };
        held.then_some(()).ok_or(Refusal::NotHeld)
    }

    /// Whether the key has a lock, and the lock was held a moment ago.
    pub fn is_held(&self, key: usize) -> bool {
        let seen = self.remembered(key).or_else(|| self.find(key));
        seen.is_some_and(|entry| entry.lock.is_locked())
    }

    /// Forgets a key; its memory goes to other keys. Does nothing for a key without a lock.
    ///
    /// # Errors
    /// Null is no key; the lock is held or waited for.
    pub fn free(&self, key: usize) -> Result<(), Refusal> {
        if key == 0 {
            return Err(Refusal::NoKey);
        }
        loop {
            let seen = self.find(key).or_else(|| self.find_exclusive(key));
            let Some(entry) = seen else {
                return Ok(());
            };
            let locked = entry.lock.try_lock();
            if entry.key.load(Order::RELAXED) != key {
                if locked {
                    // SAFETY: locked just now.
                    unsafe { entry.lock.unlock() };
                }
                continue;
            }
            if !locked && !mutant(flaw::FREE_HELD) {
                return Err(Refusal::Busy);
            }
            let early = mutant(flaw::FREE_EARLY);
            if early {
                // SAFETY: locked above.
                unsafe { entry.lock.unlock() };
            }
            let taken = self.taken(hash(key));
            taken.bucket.forget(|its| its == key);
            let taken = (!mutant(flaw::CLEAR_LATE)).then_some(taken);
            // While no other thread can give the key a new entry: a thread that unlocks that entry
            // may remember this one.
            entry.key.store(0, Order::RELAXED);
            drop(taken);
            self.used.fetch_sub(1, Order::RELAXED);
            if !early {
                // SAFETY: locked above.
                unsafe { entry.lock.unlock() };
            }
            if entry.waiting.fetch_or(FREED, Order::RELAXED) == 0 {
                // SAFETY: no key has it, and no registered thread takes it for this key's.
                unsafe { L::give(entry, &*self.entries) };
            }
            return Ok(());
        }
    }

    /// Forgets all keys. Keys put by other threads meanwhile may stay.
    ///
    /// # Errors
    /// Some locks are held or waited for: their keys stay.
    pub fn clear(&self) -> Result<(), Refusal> {
        let mut cleared = Ok(());
        let buckets = FIRST << self.level.load(Order::RELAXED);
        for bucket in (0..buckets).filter_map(|number| self.bucket(number)) {
            for place in bucket.places() {
                let key =
                    entry_in(place.load(GLS_FIND)).map(|entry| entry.key.load(Order::RELAXED));
                if let Some(key) = key.filter(|key| *key != 0) {
                    cleared = cleared.and(self.free(key));
                }
            }
        }
        cleared
    }

    /// How many keys have locks.
    pub fn keys(&self) -> u32 {
        self.used.load(Order::RELAXED)
    }

    /// Bytes of all locks, keys and buckets beyond the table's own.
    pub fn bytes(&self) -> usize {
        let buckets = (FIRST << self.level.load(Order::RELAXED)) - FIRST;
        buckets * size_of::<Bucket<L>>() + self.entries.bytes() + self.more.bytes()
    }
}

/// Checks the kind of an entry's lock.
#[inline]
fn of_kind<L: Lockable>(entry: &KeyedLock<L>, kind: L::Kind) -> Result<(), Refusal> {
    if entry.lock.is(kind) || mutant(flaw::ANY_KIND) {
        return Ok(());
    }
    Err(Refusal::OtherKind)
}

/// A key's lock, held: it can be released without a look-up.
#[derive(Debug)]
#[must_use = "nothing else says which lock is held"]
pub struct Held<L: 'static> {
    entry: &'static KeyedLock<L>,
}

impl<L: Lockable> Held<L> {
    /// Its key.
    #[inline]
    #[must_use]
    pub fn key(&self) -> usize {
        // Constant while the lock is held.
        self.entry.key.load(Order::RELAXED)
    }

    /// Releases it.
    #[inline]
    pub fn unlock(self) {
        // SAFETY: it is held, and its key keeps its entry meanwhile.
        unsafe { self.entry.lock.unlock() };
    }
}

#[cfg(all(test, not(checker)))]
mod tests {
    use super::hash;

    /// A name, and how numbers become keys.
    type Sort = (&'static str, fn(usize) -> usize);

    #[test]
    fn keys_of_all_sorts_are_spread_over_the_buckets() {
        const KEYS: usize = 1_024;
        const BUCKETS: usize = 256;
        let sorts: [Sort; 7] = [
            ("one apart", |number| number),
            ("lines", |number| number << 6),
            ("pages", |number| number << 12),
            ("from the end", |number| usize::MAX - number),
            ("upper half", |number| number << 32),
            ("upper bits", |number| number << 48),
            ("floating-point numbers", |number| {
                (number as f64).to_bits() as usize
            }),
        ];
        for (sort, key) in sorts {
            let mut keys = [0; BUCKETS];
            for number in 1..=KEYS {
                keys[hash(key(number)) % BUCKETS] += 1;
            }
            // By chance, one in a thousand such tables has so many keys in a bucket; the mean is
            // four.
            let fullest = keys.iter().max();
            assert!(fullest < Some(&16), "{sort}: {fullest:?} in one bucket");
        }
    }
}
