//! A lock for any address: which key has which lock (GLS; Antić, Chatzopoulos, Guerraoui and
//! Trigonakis 2016 §4.1).  Crate `cohort-service` is the face of it.
//!
//! **Not for** a lock that has a place of its own: finding one costs a hash and a cache line.
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `level` | the thread that grows the table | there are `FIRST << level` buckets |
//! | `first`, `segments` | the same | bucket after bucket; each segment has as many as all before it |
//! | `Bucket::ready` | the thread that splits the bucket before it | its keys are here, no longer there |
//! | `Bucket::entries` | threads that have the bucket | up to six keys' entries, each address with a few bits of its key's hash; null: none |
//! | `Bucket::more` | the same | a further bucket of the same place |
//! | `Entry::key` | the thread that puts or frees it, which has the bucket | the address that has this lock |
//! | `Entry::waiting` | threads that wait; the thread that puts or frees it | how many wait for its lock, and `FREED` while no key has it |
//!
//! To find a key is to read: the bucket's line and the entry's, which the caller locks anyway, as a
//! rule; no more steps than the table has levels and the bucket has lines, whatever other threads do.
//! A key stands in its entry alone, so a line has room for six: bits of the hash tell nearly all others'
//! entries from the key's without a look at them.  What is looked up in vain is looked for once
//! more by a thread that has the bucket, so two first users of a key get one entry.
//!
//! The table grows by a segment of empty buckets, which is all.  A bucket gets its keys from the one
//! that had them when a thread first puts a key that belongs there; entries stay where they are.
//! A thread that looks in the old place meanwhile finds nothing, and looks with the bucket taken.
//!
//! An entry stays an entry for ever, of other keys in turn, so an old look at one does no harm: a
//! thread that has locked it compares the key, which nobody changes while it is locked, and looks
//! again if it is another's.  A thread that has to wait says so in the entry first, and that serves no
//! other key as long as it does: the holder of that key's lock may wait for what this thread has locked.
//! The last of the threads that waited when a key was freed gives its entry back.
//! So may each thread remember the last entry that it had.  No number of
//! the key's generation is compared beside it (Antić et al. 2016 are silent on both): an entry
//! that is the same key's once more *is* its lock.
//!
//! A table's locks may be of several kinds.  A key's first user says of which kind its lock is,
//! until the key is freed; an entry is of one kind for ever, so a look at its kind is never old.
//!
//! A fork may leave a bucket taken, or half split, by a thread that the child has not: a bucket that was
//! taken in another process is free, keys count only once they are whole, and a split begins
//! again where it was not completed.  A lock that such a thread held stays locked there; so does that of a
//! key which it was freeing, since it holds the lock meanwhile.

use crate::door::{
    AtomicPtr, AtomicU32, AtomicUsize, CACHES, Order, Spinner, constructor, flaws, generation,
    key_of, map_slots, mutant, orders, repeated, thread,
};
use crate::host::Pool;
use cohort_raw::{Abortable, Outcome, Patience, RawTry};
use core::ops::Deref;
use core::ptr::{self, NonNull};

orders! {
    /// The entry of a key that is seen is seen too.
    GLS_FIND = Acquire;
    /// As above, from the other side.
    GLS_PUT = Release;
    /// Keys that were moved are seen in their new bucket by a thread that goes there.
    GLS_READY = Acquire;
    /// As above.
    GLS_SPLIT = Release;
    /// A further bucket, and those of a segment, have been made.
    GLS_MORE = Acquire;
    /// As above.
    GLS_ADD = Release;
    /// A thread that has a bucket sees what the last one did there.
    GLS_TAKE = Acquire;
    /// As above.
    GLS_LEAVE = Release;
    /// A thread that is to wait at an entry sees for which key.
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
    /// A thread waits at an entry without saying so.
    WAIT_UNSEEN = "gls.wait-unseen";
    /// A thread that says so does not look for which key it waits.
    BELIEVE_WAIT = "gls.believe-wait";
}

/// What a lock in an entry has to do: it needs no context.
pub trait Lockable: Default + Send + Sync + 'static {
    /// Which lock it is, where a table's are of several kinds.  An entry is of one kind for ever.
    type Kind: Copy;

    /// Whether it is of that kind.
    fn is(&self, kind: Self::Kind) -> bool;

    /// An entry of that kind that no key has, from the table's pool if such entries are there.
    fn take(kind: Self::Kind, pool: &(impl Pool<Entry<Self>> + ?Sized)) -> &'static Entry<Self>;

    /// Gives it back to where such entries are.
    ///
    /// # Safety
    /// It was taken so, and no key has it.
    unsafe fn give(entry: &'static Entry<Self>, pool: &(impl Pool<Entry<Self>> + ?Sized));

    /// Blocks until it is locked.
    fn lock(&self);

    /// Locks it if nobody has.
    fn try_lock(&self) -> bool;

    /// Blocks until it is locked or patience runs out; false then.
    fn lock_within(&self, patience: &Patience) -> bool;

    /// Unlocks it.
    ///
    /// # Safety
    /// It is locked, and the caller may unlock it.
    unsafe fn unlock(&self);

    /// Unlocks it; false if nobody has locked it.
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

    fn take((): (), pool: &(impl Pool<Entry<Self>> + ?Sized)) -> &'static Entry<Self> {
        pool.take()
    }

    unsafe fn give(entry: &'static Entry<Self>, pool: &(impl Pool<Entry<Self>> + ?Sized)) {
        // SAFETY: passed on.
        unsafe { pool.give(entry) };
    }

    fn lock(&self) {
        // SAFETY: the lock has no contexts, and stays where it is while it is an entry's; so below.
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

/// A lock, and of which key it is.
#[derive(Debug, Default)]
pub struct Entry<L> {
    lock: L,
    key: AtomicUsize,
    waiting: AtomicU32,
}

/// No key has the entry.
const FREED: u32 = 1 << 31;

impl<L> Entry<L> {
    /// Its lock.
    pub const fn lock(&self) -> &L {
        &self.lock
    }

    /// Makes it that key's, from the pool.
    fn serve(&self, key: usize) {
        self.key.store(key, Order::RELAXED);
        self.waiting.store(0, GLS_SERVE);
    }

    /// Counts the calling thread among the waiters, unless no key has the entry.
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

/// From which bit on an address is 0: kernels give programs no higher ones unless they ask for them,
/// which the pools of entries do not.
const SPARE: u32 = 48;

/// A cache line of keys.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Bucket<L: 'static> {
    /// The generation of the process in which a thread has it, or 0.
    taken: AtomicU32,
    ready: AtomicU32,
    entries: [AtomicPtr<Entry<L>>; WIDTH],
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

/// Why something was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Null is no key.
    NoKey,
    /// The key's lock is held, or somebody waits for it.
    Busy,
    /// Nobody holds the key's lock.
    NotHeld,
    /// The time was over.
    TimedOut,
    /// The key's lock is of another kind.
    OtherKind,
    /// The system has no memory left.
    NoMemory,
}

/// More segments than addresses can fill.
const SEGMENTS: usize = 26;

/// The table; its entries and its further buckets are of two pools, and stay there for ever.
/// It grows when there are more keys than `FULL` for each bucket.
#[derive(Debug)]
pub struct Table<L: 'static, E, B, const FIRST: usize = 64, const FULL: u32 = 4> {
    level: AtomicU32,
    used: AtomicU32,
    /// The generation of the process in which a thread makes it grow, or 0.
    growing: AtomicU32,
    cache: usize,
    first: [Bucket<L>; FIRST],
    segments: [AtomicPtr<Bucket<L>>; SEGMENTS],
    entries: E,
    more: B,
}

/// A bucket that the caller has; nobody changes it meanwhile.
struct Taken<'a, L: 'static> {
    bucket: &'a Bucket<L>,
    /// At which level its number is a key's.
    level: u32,
}

impl<L> Drop for Taken<'_, L> {
    fn drop(&mut self) {
        self.bucket.taken.store(0, GLS_LEAVE);
    }
}

/// What decides on a key's bucket.
fn hash(key: usize) -> usize {
    let key = key_of(key) as u64;
    // Lest keys that differ in their upper bits alone, as floating-point numbers do, come to one bucket.
    let folded = key ^ key >> 32;
    (folded.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize
}

/// What stands in the spare bits of the entry of a key of that hash: those that say least about its
/// bucket.
fn tag(hash: usize) -> usize {
    hash >> (u32::BITS + SPARE - usize::BITS) << SPARE
}

/// The entry in a place of a bucket, if there is one.
fn entry_in<L>(place: *mut Entry<L>) -> Option<&'static Entry<L>> {
    // SAFETY: null, or of a pool whose nodes stay.
    unsafe {
        place
            .map_addr(|address| address & ((1 << SPARE) - 1))
            .as_ref()
    }
}

impl<L: Lockable> Bucket<L> {
    /// The lines of this place.
    fn lines(&self) -> impl Iterator<Item = &Self> {
        core::iter::successors(Some(self), |line| {
            // SAFETY: of a pool whose nodes stay, if there is one.
            unsafe { line.more.load(GLS_MORE).as_ref() }
        })
    }

    /// The entry of a key, if it is seen.
    #[inline]
    fn find(&self, key: usize, hash: usize) -> Option<&'static Entry<L>> {
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

    /// Puts in the entry of a key that is not there; the caller has the bucket, or nobody knows it yet.
    fn put(&self, hash: usize, entry: &'static Entry<L>, more: &(impl Pool<Self> + ?Sized)) {
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
    fn places(&self) -> impl Iterator<Item = &AtomicPtr<Entry<L>>> {
        self.lines().flat_map(|line| &line.entries)
    }

    /// Forgets the entries of all keys of which that is true; the caller has the bucket, or nobody knows it
    /// yet.
    fn forget(&self, which: impl Fn(usize) -> bool) {
        for place in self.places() {
            if let Some(entry) = entry_in(place.load(Order::RELAXED))
                && which(entry.key.load(Order::RELAXED))
            {
                place.store(ptr::null_mut(), Order::RELAXED);
            }
        }
    }

    /// Takes it, once the thread that has it is done, which is soon.
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
    E: Deref<Target: Pool<Entry<L>>>,
    B: Deref<Target: Pool<Bucket<L>>>,
{
    constructor! {
        /// An empty table, which uses the threads' cache of that number, as no other table and no
        /// arena does.
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

    /// The bucket of that number, if there is its segment.
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

    /// The last bucket that is ready of those that a hash may lead to, and the lowest level at
    /// which it does.
    #[inline]
    fn nearest(&self, hash: usize) -> (&Bucket<L>, u32) {
        let mut level = self.level.load(Order::RELAXED);
        loop {
            let number = hash & ((FIRST << level) - 1);
            if number < FIRST {
                return (&self.first[number], 0);
            }
            // The level at which there first was such a number.
            level = (number / FIRST).ilog2() + 1;
            if let Some(bucket) = self.bucket(number)
                && bucket.ready.load(GLS_READY) != 0
            {
                return (bucket, level);
            }
            level -= 1;
        }
    }

    /// The key's entry, if it is seen.
    #[inline]
    fn find(&self, key: usize) -> Option<&'static Entry<L>> {
        let hash = hash(key);
        self.nearest(hash).0.find(key, hash)
    }

    /// Takes the bucket where a hash's keys are.
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

    /// The entry of a key that was not seen; none if it has none.
    #[cold]
    #[inline(never)]
    fn find_surely(&self, key: usize) -> Option<&'static Entry<L>> {
        let hash = hash(key);
        self.taken(hash).bucket.find(key, hash)
    }

    /// The key's entry, which it has from here on; of that kind, if it had none.
    #[inline]
    fn entry(&self, kind: L::Kind, key: usize) -> &'static Entry<L> {
        self.find(key).unwrap_or_else(|| self.put(kind, key))
    }

    #[cold]
    #[inline(never)]
    fn put(&self, kind: L::Kind, key: usize) -> &'static Entry<L> {
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
            // Counted before anybody can free it.
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

    /// Gives the next bucket that a hash leads to its keys, if the one that the caller has is not
    /// the last; whether it has.
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
        // What a split left behind that was not completed.
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

    /// Makes room for so many keys at once, so that the table does not grow step by step later.
    ///
    /// # Errors
    /// There is no memory for them, or nowhere so much room.
    pub fn reserve(&self, keys: usize) -> Result<(), Refusal> {
        let buckets = keys.div_ceil(FULL as usize);
        // Before the table grows as far as it can: each search would go through all of that.
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
                // Another thread does.
                spinner.moment();
            }
        }
    }

    /// Doubles the number of buckets, unless another thread does, or memory is lacking; false if
    /// another does.
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
                // A fork came between, and its thread is not here.
                self.level.store(level + 1, Order::RELAXED);
            } else if let Some(base) = map_slots(count, Bucket::default) {
                segment.store(base.as_ptr(), GLS_ADD);
                self.level.store(level + 1, Order::RELAXED);
            }
        }
        self.growing.store(0, GLS_LEAVE);
        true
    }

    /// The entry that the calling thread had last, if it is that key's.
    #[inline]
    fn remembered(&self, key: usize) -> Option<&'static Entry<L>> {
        let me = thread();
        me.settle();
        let entry = me.caches[self.cache % CACHES].open()?.at_hand()?;
        // SAFETY: an entry of this table's pool, where nodes stay; this table alone puts it there.
        let entry = unsafe { entry.cast::<Entry<L>>().as_ref() };
        (entry.key.load(Order::RELAXED) == key).then_some(entry)
    }

    #[inline]
    fn remember(&self, entry: &'static Entry<L>) {
        if let Some(cache) = thread().caches[self.cache % CACHES].open() {
            cache.put_at_hand(NonNull::from(entry).cast());
        }
    }

    /// Locks a key's entry, at once or else by `waits`; if that did not, that is why.
    #[inline]
    fn locked(
        &self,
        kind: L::Kind,
        key: usize,
        waits: impl Fn(&'static Entry<L>) -> Option<Result<(), Refusal>>,
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
            // It was the key's since the caller asked, and so was its kind.
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
            // With the bucket taken: another look without could find the same.
            entry = self.put(kind, key);
            self.remember(entry);
        }
    }

    /// Waits for the key's entry, by `how`; nothing if it is another key's, or none's, by now.
    #[inline(never)]
    fn waits(
        &self,
        entry: &'static Entry<L>,
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
            // SAFETY: its key was freed, and no other thread waits.
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

    /// Takes the key's lock if nobody has it.
    ///
    /// # Errors
    /// As [`lock`](Self::lock); somebody has the lock.
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
    /// As [`lock`](Self::lock); the time was over.
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

    /// Releases the key's lock, whichever thread took it.
    ///
    /// # Errors
    /// As [`lock`](Self::lock); nobody holds the lock, if the key has one at all.
    ///
    /// # Safety
    /// If the lock is held, the caller may release it; if it is not, no thread [frees](Self::free) the
    /// key meanwhile, whose lock may be another key's then, and held.
    pub unsafe fn unlock(&self, kind: L::Kind, key: usize) -> Result<(), Refusal> {
        if key == 0 {
            return Err(Refusal::NoKey);
        }
        let seen = self.remembered(key).or_else(|| self.find(key));
        let entry = seen.or_else(|| self.find_surely(key));
        let entry = entry.ok_or(Refusal::NotHeld)?;
        of_kind(entry, kind)?;
        // SAFETY: the caller's; a key whose lock is held keeps its entry.
        let held = unsafe { entry.lock.unlock_held() };
        held.then_some(()).ok_or(Refusal::NotHeld)
    }

    /// Forgets a key, whose memory goes to other keys; one that has no lock is forgotten already.
    ///
    /// # Errors
    /// Null is no key; the lock is held or waited for.
    pub fn free(&self, key: usize) -> Result<(), Refusal> {
        if key == 0 {
            return Err(Refusal::NoKey);
        }
        loop {
            let seen = self.find(key).or_else(|| self.find_surely(key));
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
            // While no other thread can give the key a new entry: a thread that unlocks that one
            // may remember this.
            entry.key.store(0, Order::RELAXED);
            drop(taken);
            self.used.fetch_sub(1, Order::RELAXED);
            if !early {
                // SAFETY: locked above.
                unsafe { entry.lock.unlock() };
            }
            if entry.waiting.fetch_or(FREED, Order::RELAXED) == 0 {
                // SAFETY: no key has it, and no thread waits that takes it for this key's.
                unsafe { L::give(entry, &*self.entries) };
            }
            return Ok(());
        }
    }

    /// Forgets all keys.  What other threads put meanwhile may stay.
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

/// Whether an entry's lock is of the kind that is asked for.
#[inline]
fn of_kind<L: Lockable>(entry: &Entry<L>, kind: L::Kind) -> Result<(), Refusal> {
    if entry.lock.is(kind) || mutant(flaw::ANY_KIND) {
        return Ok(());
    }
    Err(Refusal::OtherKind)
}

/// A key's lock, held: the code that has this may release it without looking for it.
#[derive(Debug)]
#[must_use = "nothing else says which lock is held"]
pub struct Held<L: 'static> {
    entry: &'static Entry<L>,
}

impl<L: Lockable> Held<L> {
    /// Releases it.
    #[inline]
    pub fn unlock(self) {
        // SAFETY: it is held, and its key keeps its entry so long.
        unsafe { self.entry.lock.unlock() };
    }
}

#[cfg(all(test, world = "native"))]
mod tests {
    use super::hash;

    /// A name, and how keys are made of numbers.
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
            // By chance one in a thousand such tables has so many keys in a bucket, where four come
            // to each in the mean.
            let fullest = keys.iter().max();
            assert!(fullest < Some(&16), "{sort}: {fullest:?} in one bucket");
        }
    }
}
