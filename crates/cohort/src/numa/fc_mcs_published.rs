//! `fc-mcs-published`: `fc-mcs` as published.  Each thread has a record in the publication list of
//! its NUMA node.  A combiner scans that list several times, and appends the waiting threads'
//! records to one `mcs` queue (Dice, Marathe and Shavit 2011, by flat combining, Hendler et al.
//! 2010; Dice et al. 2015 §1, §5.1).
//!
//! **Not for** programs: a record stays in the list after its thread has left, and costs every
//! combiner a read until it is old.  It is a baseline for `fc-mcs`.
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `combining` of a list | the combiner | whether a combiner scans the list |
//! | `passes` of a list | the combiner | the number of combinings; it wraps |
//! | `era` of a list | a forked child | records of another era are not listed |
//! | `first` of a list | threads that add a record | the newest record |
//! | `tail` | combiners; a thread at a free lock; a holder without successor | as in `mcs` |
//! | a record's `asks` | its thread, then the combiner | whether its thread waits to be appended |
//! | a record's `place` | its thread, the combiner | `LISTED`: in a list; `LEFT`: without an owner |
//! | a record's `next` | its thread, as it enters a list; the combiner | the record before it in the list |
//! | a record's `used` | as `next` | the last combining that found it in use |
//! | a record's `successor`, `granted` | as in `mcs` | as in `mcs` |
//!
//! A thread that finds the lock free acquires it by one exchange, as in the published lock (Dice et
//! al. 2015 §5.1.5).  A combiner unlinks a record that was idle for `AGE` combinings, but never the
//! newest record, to which others are being linked.  A waiting thread checks whether its record is
//! listed, and links it again if not, until the record is appended.  A thread that migrates to
//! another node, or uses another lock, takes a new record.  The combiner that unlinks the old one
//! frees it.

use super::{NODES, linked};
use crate::door::{
    self, AtomicPtr, AtomicU32, Cell, Level, Order, Spinner, constructor, flaws, mutant, orders,
    pool, repeated,
};
use crate::host::{Arena, Pool};
use crate::support::padded::CachePadded;
use crate::wait::{MayPark, WaitCell};
use cohort_raw::{DetectsWaiters, Inherit, RawLock, RawTry, ThreadOblivious, standalone};
use core::ptr;

orders! {
    /// Publishes a record with no successor and no grant.
    FCP_ASK = Release;
    /// As above, on the combiner's side.
    FCP_ASKED = Acquire;
    /// Publishes the record's link and age to combiners.
    FCP_ENTER = Release;
    /// Pairs with `FCP_ENTER`: reads the link and age of a record.
    FCP_LIST = Acquire;
    /// A combiner's last access to an unlinked record precedes its thread's writes; the last access
    /// to a record without an owner precedes its return to the pool.
    FCP_PLACE = AcqRel;
    /// As above, on the side of the thread that links the record again.
    FCP_UNLISTED = Acquire;
    /// Sees the previous combiner's writes to the list and its records.
    FCP_BEGIN = Acquire;
    /// As above, on the previous combiner's side.
    FCP_END = Release;
    /// Sees the last holder's work if the queue was empty; publishes the last record's null link to
    /// the combiner that will write it.
    FCP_APPEND = AcqRel;
    /// Publishes the appended records to the threads that will grant them.
    FCP_LINK = Release;
    /// Sees those records.
    FCP_SUCCESSOR = Acquire;
    /// Publishes the holder's work to its successor.
    FCP_GRANT = Release;
    /// As above, on the successor's side.
    FCP_GRANTED = Acquire;
    /// Publishes the holder's work to a thread that finds the queue empty.
    FCP_LEAVE = Release;
    /// Sees the last holder's work; publishes the fresh record.
    FCP_TRY = AcqRel;
}

flaws! {
    /// A combiner appends the first waiting record only.
    FORGET_FOLLOWERS = "fc-mcs-published.forget-followers";
    /// A thread does not relink a record that was unlinked as it began to wait.
    STAY_OUT = "fc-mcs-published.stay-out";
}

const NO: u32 = 0;
const YES: u32 = 1;
const CLASS: u32 = 1;

/// The record is in a list.
const LISTED: u32 = 1;
/// The record has no owner.
const LEFT: u32 = 2;

/// A thread's published request, and its node in the queue.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Record {
    asks: AtomicU32,
    place: AtomicU32,
    next: AtomicPtr<Record>,
    used: Cell<u32>,
    successor: AtomicPtr<Record>,
    granted: WaitCell<MayPark>,
}

pool! {
    /// Records of all such locks: combiners read them after their owners have left.
    static RECORDS: Record, placed
}

/// Bytes of all records made so far.
pub(crate) fn pool_bytes() -> usize {
    RECORDS.bytes()
}

impl Record {
    fn pointer(&self) -> *mut Self {
        ptr::from_ref(self).cast_mut()
    }

    /// Prepares it as the end of a queue, not granted.
    #[inline]
    fn renew(&self) {
        self.successor.store(ptr::null_mut(), Order::RELAXED);
        self.granted.reset(NO);
    }

    #[inline]
    fn is_listed(&self) -> bool {
        self.place.load(FCP_UNLISTED) & LISTED != 0
    }

    /// The last combining in which its thread waited.
    fn used(&self) -> u32 {
        // SAFETY: a combiner calls, for a record in its list.
        self.used.with(|used| unsafe { *used })
    }

    fn set_used(&self, pass: u32) {
        // SAFETY: its thread calls, for a record in no list; or a combiner, for a record in its
        // list.
        self.used.with_mut(|used| unsafe { *used = pass });
    }

    /// Drops its owner; the list keeps it, if it is listed.
    fn leave(&'static self) {
        let before = self.place.fetch_or(LEFT, FCP_PLACE);
        if before & LISTED == 0 {
            // SAFETY: no list and no context refers to it.
            unsafe { RECORDS.give(self) };
        }
    }

    /// Drops its list, which has unlinked it; the owner keeps it, if any.
    fn unlist(&'static self) {
        let before = self.place.fetch_and(!LISTED, FCP_PLACE);
        if before & LEFT != 0 {
            // SAFETY: as above.
            unsafe { RECORDS.give(self) };
        }
    }
}

/// The publication list of a NUMA node.
#[derive(Debug)]
#[repr(C)]
struct List {
    combining: AtomicU32,
    passes: AtomicU32,
    era: AtomicU32,
    first: AtomicPtr<Record>,
}

impl List {
    constructor! {
        /// Empty.
        fn new() -> Self {
            Self {
                combining: AtomicU32::new(NO),
                passes: AtomicU32::new(0),
                era: AtomicU32::new(0),
                first: AtomicPtr::null(),
            }
        }
    }

    /// Adds a record that is in no list.
    fn enter(&self, record: &Record) {
        record.place.store(LISTED, Order::RELAXED);
        record.set_used(self.passes.load(Order::RELAXED));
        let mut first = self.first.load(Order::RELAXED);
        loop {
            record.next.store(first, Order::RELAXED);
            match self
                .first
                .compare_exchange(first, record.pointer(), FCP_ENTER, Order::RELAXED)
            {
                Ok(_) => return,
                Err(newer) => first = newer,
            }
        }
    }

    /// Makes the caller the combiner, if there is none.
    #[inline]
    fn begin(&self) -> bool {
        self.combining.load(Order::RELAXED) == NO
            && self
                .combining
                .compare_exchange(NO, YES, FCP_BEGIN, Order::RELAXED)
                .is_ok()
    }

    fn end(&self) {
        self.combining.store(NO, FCP_END);
    }

    /// The records, newest first.  The caller is the combiner.
    fn records(&self) -> impl Iterator<Item = &'static Record> {
        // SAFETY: a record in a list is not freed before its combiner unlinks it.
        let record = |at: *mut Record| unsafe { at.as_ref() };
        let mut at = self.first.load(FCP_LIST);
        core::iter::from_fn(move || {
            let found = record(at)?;
            at = found.next.load(Order::RELAXED);
            Some(found)
        })
    }
}

/// Records that a combiner appends.
struct Chain {
    first: &'static Record,
    last: &'static Record,
}

/// Per-acquisition state.
#[derive(Debug)]
pub struct FcMcsPublishedContext {
    /// Its record, if it has one yet.
    record: Cell<Option<&'static Record>>,
    /// The address of the record's list, and that list's era.
    home: Cell<(usize, u32)>,
}

impl Default for FcMcsPublishedContext {
    fn default() -> Self {
        Self {
            record: Cell::new(None),
            home: Cell::new((0, 0)),
        }
    }
}

impl FcMcsPublishedContext {
    #[inline]
    fn record(&self) -> Option<&'static Record> {
        // SAFETY: only the acquisition that owns the context accesses it.
        self.record.with(|record| unsafe { *record })
    }

    #[inline]
    fn home(&self) -> (usize, u32) {
        // SAFETY: as above.
        self.home.with(|home| unsafe { *home })
    }

    #[inline(never)]
    fn new_record(&self) -> &'static Record {
        let record = RECORDS.take();
        record.asks.store(NO, Order::RELAXED);
        record.place.store(0, Order::RELAXED);
        // SAFETY: as above.
        self.record
            .with_mut(|place| unsafe { *place = Some(record) });
        record
    }

    /// Its record, in any list.
    #[inline]
    fn any_record(&self) -> &'static Record {
        self.record().unwrap_or_else(|| self.new_record())
    }

    /// Its record, in this list or in none.
    #[inline]
    fn record_for(&self, list: &List) -> &'static Record {
        let home = (ptr::from_ref(list).addr(), list.era.load(Order::RELAXED));
        let mut record = self.any_record();
        if self.home() != home {
            if record.is_listed() {
                record.leave();
                record = self.new_record();
            }
            // SAFETY: as above.
            self.home.with_mut(|own| unsafe { *own = home });
        }
        record
    }
}

impl Drop for FcMcsPublishedContext {
    fn drop(&mut self) {
        if let Some(record) = self.record() {
            record.leave();
        }
    }
}

/// The default number of scans, used everywhere, as in Dice et al. 2015 §5.1.1.  It was tuned for
/// LBench on the simulated sparc-t5440, with equal weight for 1 to 256 threads.  Its mean
/// throughput over 8 to 256 threads is 1.3 % above that of 32 scans.  The example `tune` of
/// `cohort-lab` repeats the tuning.
pub const FOR_T5440: u32 = 16;

/// The lock; all zero when new.  A combiner scans its list `PASSES` times, and unlinks records that
/// were idle for `AGE` combinings.
///
/// ```
/// use cohort::{Mutex, numa::FcMcsPublished};
///
/// static TOTAL: Mutex<u64, FcMcsPublished> = Mutex::from_raw(FcMcsPublished::new(), 1);
/// *TOTAL.lock() += 1;
/// assert_eq!(*TOTAL.lock(), 2);
/// ```
#[derive(Debug)]
#[repr(C)]
pub struct FcMcsPublished<const PASSES: u32 = FOR_T5440, const AGE: u32 = 100> {
    tail: CachePadded<AtomicPtr<Record>>,
    lists: [CachePadded<List>; NODES],
}

impl<const PASSES: u32, const AGE: u32> Default for FcMcsPublished<PASSES, AGE> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const PASSES: u32, const AGE: u32> FcMcsPublished<PASSES, AGE> {
    constructor! {
        /// A free lock.
        #[must_use]
        pub fn new() -> Self {
            Self {
                tail: CachePadded(AtomicPtr::null()),
                lists: repeated!(CachePadded(List::new()), NODES),
            }
        }
    }

    fn tail(&self) -> &AtomicPtr<Record> {
        &self.tail.0
    }

    /// The list of the calling thread's node.
    #[inline]
    fn list(&self) -> &List {
        &self.lists[door::cohort(Level::Numa) % NODES].0
    }

    /// Collects the list's waiting records.  The caller is its combiner.
    fn collect(list: &List) -> Option<Chain> {
        let passes = list.passes.load(Order::RELAXED).wrapping_add(1);
        list.passes.store(passes, Order::RELAXED);
        let mut chain: Option<Chain> = None;
        for _ in 0..PASSES {
            let mut newer: Option<&'static Record> = None;
            for record in list.records() {
                if record.asks.load(FCP_ASKED) == YES {
                    record.set_used(passes);
                    match &mut chain {
                        None => {
                            chain = Some(Chain {
                                first: record,
                                last: record,
                            });
                        }
                        Some(_) if mutant(flaw::FORGET_FOLLOWERS) => {}
                        Some(chain) => {
                            chain.last.successor.store(record.pointer(), FCP_LINK);
                            chain.last = record;
                        }
                    }
                    record.asks.store(NO, Order::RELAXED);
                } else if passes.wrapping_sub(record.used()) > AGE
                    && let Some(newer) = newer
                {
                    let older = record.next.load(Order::RELAXED);
                    newer.next.store(older, Order::RELAXED);
                    record.unlist();
                    continue;
                }
                newer = Some(record);
            }
        }
        chain
    }

    /// Appends the list's waiting records to the queue.  The caller is its combiner.
    fn combine(&self, list: &List) {
        let Some(chain) = Self::collect(list) else {
            return;
        };
        let predecessor = self.tail().swap(chain.last.pointer(), FCP_APPEND);
        // SAFETY: the predecessor cannot leave before it has read this link.
        match unsafe { predecessor.as_ref() } {
            Some(predecessor) => predecessor.successor.store(chain.first.pointer(), FCP_LINK),
            None => chain.first.granted.set(YES, FCP_GRANT),
        }
    }

    /// Blocks until the record of a waiting thread is in the queue.
    fn publish(&self, list: &List, record: &Record) {
        let mut spinner = Spinner::new();
        let stays_out = mutant(flaw::STAY_OUT) && record.is_listed();
        while record.asks.load(Order::RELAXED) == YES {
            if !record.is_listed() {
                if stays_out {
                    return;
                }
                list.enter(record);
            }
            if list.begin() {
                self.combine(list);
                list.end();
            } else {
                spinner.turn();
            }
        }
    }
}

impl<const PASSES: u32, const AGE: u32> Drop for FcMcsPublished<PASSES, AGE> {
    fn drop(&mut self) {
        for CachePadded(list) in &self.lists {
            list.records().for_each(Record::unlist);
        }
    }
}

// SAFETY: the head of the queue is the holder's record; every other record waits for its flag.  Its
// predecessor sets it, once, after its own work, or a combiner that finds the queue empty.
unsafe impl<const PASSES: u32, const AGE: u32> RawLock for FcMcsPublished<PASSES, AGE> {
    type Context = FcMcsPublishedContext;

    #[inline]
    unsafe fn acquire(&self, cx: &FcMcsPublishedContext) {
        // SAFETY: the caller's.
        if unsafe { self.try_acquire(cx) } {
            return;
        }
        let list = self.list();
        let record = cx.record_for(list);
        record.renew();
        record.asks.store(YES, FCP_ASK);
        self.publish(list, record);
        record
            .granted
            .wait_for(FCP_GRANTED, CLASS, |granted| granted == YES);
    }

    #[inline]
    unsafe fn release(&self, cx: &FcMcsPublishedContext) {
        let Some(record) = cx.record() else {
            unreachable!("a context that holds the lock has a record")
        };
        let mut successor = record.successor.load(FCP_SUCCESSOR);
        if successor.is_null() {
            if self
                .tail()
                .compare_exchange(record.pointer(), ptr::null_mut(), FCP_LEAVE, Order::RELAXED)
                .is_ok()
            {
                return;
            }
            successor = linked(&record.successor, FCP_SUCCESSOR);
        }
        // SAFETY: a linked successor stays until it is granted.
        unsafe { &*successor }.granted.set(YES, FCP_GRANT);
    }

    fn is_locked(&self) -> bool {
        !self.tail().load(Order::RELAXED).is_null()
    }
}

standalone! {
    [const PASSES: u32, const AGE: u32] FcMcsPublished<PASSES, AGE>:
    Hosted { node_bytes: Arena::<Record>::NODE_BYTES },
    QuickRelease,
    LowLock,
    HighLock
}

// SAFETY: an empty queue is a free lock, and one exchange acquires it.
unsafe impl<const PASSES: u32, const AGE: u32> RawTry for FcMcsPublished<PASSES, AGE> {
    #[inline]
    unsafe fn try_acquire(&self, cx: &FcMcsPublishedContext) -> bool {
        if self.is_locked() {
            return false;
        }
        let record = cx.any_record();
        record.renew();
        self.tail()
            .compare_exchange(ptr::null_mut(), record.pointer(), FCP_TRY, Order::RELAXED)
            .is_ok()
    }
}

// SAFETY: release reads and writes the lock, the context and its records alone.
unsafe impl<const PASSES: u32, const AGE: u32> ThreadOblivious for FcMcsPublished<PASSES, AGE> {}

// SAFETY: a tail other than the holder's record is a record that a combiner appended behind it, and
// stays until it is granted; a waiter that is still in a list is missed.
unsafe impl<const PASSES: u32, const AGE: u32> DetectsWaiters for FcMcsPublished<PASSES, AGE> {
    #[inline]
    unsafe fn has_waiters(&self, cx: &FcMcsPublishedContext) -> bool {
        cx.record()
            .is_some_and(|record| self.tail().load(Order::RELAXED) != record.pointer())
    }
}

// SAFETY: afterwards the queue is empty or the holder's record alone, and no record is listed.
unsafe impl<const PASSES: u32, const AGE: u32> Inherit for FcMcsPublished<PASSES, AGE> {
    unsafe fn inherit(&self, holder: Option<&FcMcsPublishedContext>) {
        for CachePadded(list) in &self.lists {
            let era = list.era.load(Order::RELAXED);
            list.era.store(era.wrapping_add(1), Order::RELAXED);
            list.first.store(ptr::null_mut(), Order::RELAXED);
            list.combining.store(NO, Order::RELAXED);
        }
        let record = holder.and_then(FcMcsPublishedContext::record);
        if let Some(record) = record {
            record.renew();
        }
        let tail = record.map_or(ptr::null_mut(), Record::pointer);
        self.tail().store(tail, Order::RELAXED);
    }
}
