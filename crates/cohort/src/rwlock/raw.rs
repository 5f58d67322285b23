//! The raw reader–writer lock: readers share it, writers make progress, and no wake-up is wasted.
//!
//! One waiter, the *head*, waits on the word itself. The others wait for the gate, a [`Futex`], and
//! so spin, sleep, barge and hand over as its waiters do. A release wakes at most the head, so
//! there is no thundering herd. Readers awake at the gate read the word too, so that all readers
//! admitted by one release enter together.
//!
//! Each reader writes the lock's one word, unless writers are rare: see below.
//!
//! | bits of `word` | meaning | set and cleared by |
//! |---|---|---|
//! | `READERS` | number of counted readers, admitted or about to turn back; from `FULL` on closed | each reader |
//! | `BIASED` | readers may be in their own slots | a counted reader; the head |
//! | `WRITER` | held to write | the writer |
//! | `UPGRADABLE` | the upgradable reader has no gate | a writer that downgrades; the same thread |
//! | `COUNTS` | acquisitions are counted | the head; the writer that reaches the count's end |
//! | `TAKEN` | that count, up to its end | each reader and writer; the head |
//! | `TAKEN` without `COUNTS` | when a reader passed the head | that reader; who clears the last mark |
//! | `PENDING` | the head is a writer: new readers wait behind it | the head |
//! | `RESERVED` | no bypassing: the head waited longer than [`PATIENCE_NANOSECONDS`] | the head |
//! | `PARKED` | the head sleeps: a release wakes it | the head; a releasing writer clears it |
//!
//! **Turns.** Where holders reacquire sooner than the lock could move to another CPU, the head
//! leaves it to them for half a millisecond, a turn. The rules and the statistics are the gate's,
//! as in `futex`; the gate itself needs none. `TAKEN` shows how soon holders reacquire. The head
//! turns the count on and reads it rarely. At other times nothing is counted: a writer finds 0 and
//! leaves 0, and reads no word before its exchanges, since such a load would wait for the previous
//! exchange. The head does not leave turns to readers that share the lock.
//!
//! **An upgradable reader** holds the gate beside its read lock, marked as
//! [queued](Futex::is_queued), so it is the head when it upgrades. It then exchanges its read lock
//! for `PENDING` and `RESERVED` in one step, which no writer bypasses. With a deadline it keeps the
//! read lock, which it needs after a timeout, and polls.
//!
//! **A writer that downgrades to an upgradable reader** would have to wait for the gate, which the
//! head holds. `UPGRADABLE` stands for the gate then and keeps out other upgradable readers. For an
//! upgrade, such a reader keeps its read lock and polls. Meanwhile `RESERVED` beside `UPGRADABLE`
//! keeps out new readers, and the head too, which defers for five milliseconds at most. The head's
//! other marks stay, since the head may sleep.
//!
//! **Recursive reads.** A reader that waits behind a writer may already hold this lock, or a holder
//! may wait for that reader: a deadlock. So it passes `PENDING` and `RESERVED` after five
//! milliseconds. A thread that only tries, or times out sooner, passes at its first attempt five
//! milliseconds or more after waiting writers alone first refused it, at any lock. A read lock that
//! it acquires meanwhile restarts that time.
//!
//! The first pass shows that threads of this process may read recursively. From then on each thread
//! counts its read locks, and passes at once while it holds a counted one, of whichever lock.
//! Readers that depend on each other follow the first that passes: `deference.rs` says how long.
//! Counting slows each read, so a process without recursive reads is spared it. A caller that
//! [says](RawRwLock::read_again) that it reads recursively always passes at once;
//! [`Recursion::Excluded`] turns all of this off.
//!
//! **Bias.** Where threads read the lock at the same time and writers are rare, a reader sets
//! `BIASED`. Readers then [announce](super::announced) themselves in slots of their own and do not
//! write the word. They do so only while the word has no marks, so `PENDING` or `RESERVED` closes the
//! slots. The head that wants to write marks the word, waits until no slot names the lock, and clears
//! `BIASED`; no thread without the gate does. Until then the lock counts as read. It leaves no turn,
//! since announced readers share the lock. [`pace`] says when a bias may begin: it must not cost more
//! than a few percent, whatever the share of writes.
//!
//! A reader in its slot finds `BIASED` when it releases, since the head waits for it. Elsewhere its
//! release costs one test of a word that it loads anyway.
//!
//! **In a forked child** the marks of the parent's threads are cleared, once: by the first thread
//! that heeds or sets a mark, releases a marked lock, or counts itself without an exchange. Holders
//! stay, since a child cannot tell which are its own. Readers counted beside a writer hold nothing
//! and are cleared too. They are the parent's: a reader of the child may turn back only after the
//! clearing, and a writer of the child that acquired before it found no reader counted. `BIASED`
//! stays, and so do announced readers.

use super::announced::{ANNOUNCED, Readers};
use super::deference::{DEFERENCE_NANOSECONDS, PassedAt, has_deferred, is_let_in};
use super::pace;
use crate::basic::Futex;
use crate::basic::futex::{
    ABSENCE_NANOSECONDS, FIRST_PAUSE_NANOSECONDS, NAP_NANOSECONDS, PATIENCE_NANOSECONDS,
};
use crate::door::{
    Advice, AtomicU32, Order, Spinner, at_most, beforehand, constructor, count_reads, counts_reads,
    cpus, finds_readers, flaws, has_barrier, has_waited, may_fork, mutant, nap, now, orders,
    others_go_on, runs_out, sleep_within, thread, waits_often, wake,
};
use crate::host::Generation;
use cohort_raw::{
    AbortableShared, Inherit, Outcome, Patience, RawLock, RawShared, RawTry, Recursion,
};
use core::mem::offset_of;

orders! {
    /// A reader sees what the last writer did.
    RW_READ = Acquire;
    /// The same, for a reader that will not wait.
    RW_READ_TRY = Acquire;
    /// The same, for a reader that waited.
    RW_READ_LATE = Acquire;
    /// What a reader read is read before the next writer writes.
    RW_READ_DONE = Release;
    /// A writer sees what the last holders did.
    RW_WRITE = Acquire;
    /// The same, for a writer that waited.
    RW_WRITE_LATE = Acquire;
    /// What this writer did is seen by the next holders.
    RW_WRITE_DONE = Release;
    /// The same, when the head has left marks.
    RW_WRITE_DONE_MARKED = Release;
    /// A reader that becomes a writer sees that all other readers are done.
    RW_UPGRADE = Acquire;
    /// The same, for an upgrade that does not wait, or not for ever.
    RW_UPGRADE_TRY = Acquire;
    /// What a writer did is seen by the readers admitted beside it from here on.
    RW_DOWNGRADE = Release;
    /// The head's marks carry no data.
    RW_MARK = Relaxed;
    /// An announced reader sees what the last writer did.
    RW_ANNOUNCED = Acquire;
    /// What announced readers read is read before any later writer writes.
    RW_UNBIASED = Release;
}

flaws! {
    LEAVE_SILENTLY = "rwlock.leave-silently";
    FORGET_WAKE = "rwlock.forget-wake";
    UPGRADE_UNRESERVED = "rwlock.upgrade-unreserved";
    SHARE_UPGRADES = "rwlock.share-upgrades";
    DROP_MARKS = "rwlock.drop-marks";
    COUNT_NOTHING = "rwlock.count-nothing";
    WAIT_AGAIN = "rwlock.wait-again";
    KEEP_GHOSTS = "rwlock.keep-ghosts";
    HEED_PARENTS = "rwlock.heed-parents";
    ARRIVE_UNSETTLED = "rwlock.arrive-unsettled";
    LOOK_ONCE_FOR_WRITER = "rwlock.look-once-for-writer";
    ARRIVE_WITH_GATE = "rwlock.arrive-with-gate";
    UNBIAS_OPEN = "rwlock.unbias-open";
}

/// While `COUNTS` is set, the count; otherwise when a reader passed waiting writers.
const TAKEN: u32 = !(ONCE - 1);
const ONCE: u32 = 1 << 27;
const BIASED: u32 = 1 << 26;
const UPGRADABLE: u32 = 1 << 25;
const COUNTS: u32 = 1 << 24;
/// The count at which a writer ends the counting.  A reader, which adds to the word, counts to the
/// end of `TAKEN` and no further.
const LAST: u32 = TAKEN - ONCE;
const WRITER: u32 = 1 << 23;
const PENDING: u32 = 1 << 22;
const RESERVED: u32 = 1 << 21;
const PARKED: u32 = 1 << 20;
const READERS: u32 = PARKED - 1;
/// The highest bit of `READERS`. The bits below it leave room for as many arrivals that have not
/// seen it yet, which is more than there can be threads.
const FULL: u32 = PARKED >> 1;
const MARKS: u32 = PENDING | RESERVED | PARKED;
/// The upgradable reader without the gate waits to write.
const ASKED: u32 = UPGRADABLE | RESERVED;
/// The bits that keep out a writer.
const HELD: u32 = WRITER | READERS | BIASED;
/// The bits beside which no bias begins.
const UNFIT: u32 = BARS | BIASED | COUNTS | UPGRADABLE;
/// The bits that keep out a thread with a read lock.
const SHUT: u32 = WRITER | FULL;
/// The bits that keep out any other reader.
const BARS: u32 = SHUT | PENDING | RESERVED;
const HEAD: u32 = 1;

/// Blocks until `read` acquires, even while the lock has the greatest number of readers. For a
/// guard that released its read lock for a while and must have it back.
#[inline(always)]
pub(crate) fn read_at_last(read: impl Fn() -> Outcome) {
    while read() == Outcome::GaveUp {
        nap(NAP_NANOSECONDS);
    }
}

pub(crate) const TOO_MANY: &str = "cohort: more than 524288 read locks on one lock";

/// How often a thread that releases another's hold looks for it.
const LOOKS_FOR_HOLD: u32 = 2;

/// How long the head counts acquisitions: long enough to average the intervals between them.
const SAMPLE_NANOSECONDS: u64 = 4_000;

/// How many acquisitions the head counts meanwhile: more than occur in that time unless the holders
/// reacquire at once, even if the head reads late.
const SAMPLED: u32 = 31;

/// With more CPUs a reader loads the word before it counts itself. An exchange fails beside other
/// readers and takes the cache line from them once more: 24 simulated readers then got three
/// quarters.
const FEW: u32 = 4;

/// A reader–writer lock in one word beside its gate; all zero when new.
///
/// ```
/// use cohort::rwlock::{RawRwLock, Recursion};
///
/// let lock = RawRwLock::new();
/// assert!(lock.try_read(Recursion::Allowed) && !lock.try_write());
/// // SAFETY: read above, by this thread.
/// unsafe { lock.release_read() };
/// ```
#[derive(Debug)]
#[repr(C)]
pub struct RawRwLock {
    gate: Futex,
    word: AtomicU32,
    generation: Generation,
}

impl Default for RawRwLock {
    fn default() -> Self {
        Self::new()
    }
}

/// An observer's view of the lock, read from the memory of a process.
///
/// ```
/// use cohort::rwlock::RawRwLock;
///
/// let seen = RawRwLock::seen(0);
/// assert!(seen.readers == 0 && !seen.is_written && !seen.has_sleeper);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// How many hold the lock to read, beside those in slots of their own.
    pub readers: u32,
    /// Whether there may be readers in slots of their own.
    pub is_biased: bool,
    /// Whether it is held to write.
    pub is_written: bool,
    /// Whether a thread sleeps at the word.
    pub has_sleeper: bool,
}

/// Layout for such an observer.
impl RawRwLock {
    /// Where the word is.
    pub const WORD: usize = offset_of!(Self, word);
    /// Offset of the generation: a small number for the process that last used the lock, among
    /// processes forked from each other.
    pub const GENERATION: usize = offset_of!(Self, generation);

    /// Decodes that word.
    ///
    /// ```
    /// use cohort::rwlock::RawRwLock;
    ///
    /// let lock = RawRwLock::new();
    /// assert!(lock.try_write());
    ///  // SAFETY: the lock's word is there, and no other thread changes it.
    /// let word = unsafe { (&raw const lock).byte_add(RawRwLock::WORD).cast::<u32>().read() };
    /// assert!(RawRwLock::seen(word).is_written);
    /// ```
    #[must_use]
    pub const fn seen(word: u32) -> Seen {
        Seen {
            readers: word & READERS,
            is_biased: word & BIASED != 0,
            is_written: word & WRITER != 0,
            has_sleeper: word & PARKED != 0,
        }
    }
}

impl RawRwLock {
    constructor! {
        /// A free lock.
        ///
        /// ```
        /// static LOCK: cohort::rwlock::RawRwLock = cohort::rwlock::RawRwLock::new();
        /// assert!(!LOCK.is_locked());
        /// ```
        #[must_use]
        pub fn new() -> Self {
            beforehand(&ANNOUNCED);
            Self {
                gate: Futex::new(),
                word: AtomicU32::new(0),
                generation: Generation::new(),
            }
        }
    }

    /// Acquires the lock to read, unless patience runs out first; gives up at once if it has the
    /// greatest number of readers.
    ///
    /// ```
    /// use cohort::{Outcome, Patience};
    /// use cohort::rwlock::{RawRwLock, Recursion};
    ///
    /// let lock = RawRwLock::new();
    /// assert_eq!(lock.read(Recursion::Allowed, &Patience::ENDLESS), Outcome::Acquired);
    /// // SAFETY: read above, by this thread.
    /// unsafe { lock.release_read() };
    /// ```
    #[inline]
    pub fn read(&self, recursion: Recursion, patience: &Patience) -> Outcome {
        if self.come_past(BARS) {
            return Outcome::Acquired;
        }
        self.read_contended(recursion, patience)
    }

    /// [`read`](Self::read) with recursion, by a caller that already holds a read lock: it passes
    /// waiting writers at once.
    ///
    /// ```
    /// use cohort::{Outcome, Patience};
    /// use cohort::rwlock::{RawRwLock, Recursion};
    ///
    /// let lock = RawRwLock::new();
    /// assert!(lock.try_read(Recursion::Allowed));
    /// assert_eq!(lock.read_again(&Patience::ENDLESS), Outcome::Acquired);
    /// // SAFETY: read twice above, by this thread.
    /// unsafe {
    ///     lock.release_read();
    ///     lock.release_read();
    /// }
    /// ```
    #[inline]
    pub fn read_again(&self, patience: &Patience) -> Outcome {
        if !mutant(flaw::WAIT_AGAIN) && self.come_past(SHUT) {
            return Outcome::Acquired;
        }
        self.read_contended(Recursion::Allowed, patience)
    }

    #[cold]
    fn read_contended(&self, recursion: Recursion, patience: &Patience) -> Outcome {
        let outcome = self.read_late(recursion, patience);
        if outcome == Outcome::Acquired {
            is_let_in();
        }
        outcome
    }

    fn read_late(&self, recursion: Recursion, patience: &Patience) -> Outcome {
        self.settle();
        // Readers admitted by the same release enter side by side.
        let enters = || {
            let passes = || self.is_passed(recursion) && self.arrive_past(SHUT);
            self.arrive(recursion) || passes()
        };
        if enters() {
            return Outcome::Acquired;
        }
        let seldom = !waits_often();
        let outcome = self.read_in_line(recursion, patience, seldom, &enters);
        has_waited();
        outcome
    }

    /// Blocks until the lock is held to read, as by `enters`, or patience runs out; for a thread that
    /// `seldom` waits, or often.
    fn read_in_line(
        &self,
        recursion: Recursion,
        patience: &Patience,
        seldom: bool,
        enters: &dyn Fn() -> bool,
    ) -> Outcome {
        self.gate.mode().consider_turns();
        loop {
            if self.is_full() {
                return Outcome::GaveUp;
            }
            // This thread may hold a read lock, or a reader that does may wait for this thread: so
            // it must not wait behind a writer for ever.
            let deference = match recursion {
                Recursion::Excluded => *patience,
                Recursion::Allowed => at_most(patience, DEFERENCE_NANOSECONDS),
            };
            match self.gate.acquire_unless(&deference, seldom, enters) {
                None => return Outcome::Acquired,
                Some(Outcome::Acquired) => break,
                Some(Outcome::GaveUp) => {
                    let gives_up = runs_out(patience);
                    if recursion == Recursion::Allowed
                        && !self.is_write_locked()
                        && (!gives_up || has_deferred())
                        && self.pass()
                    {
                        return Outcome::Acquired;
                    }
                    if gives_up {
                        return Outcome::GaveUp;
                    }
                }
            }
        }
        let outcome = self.read_as_head(patience, WRITER, seldom);
        // SAFETY: acquired above.
        unsafe { self.gate.release(&()) };
        outcome
    }

    /// Waits, with the gate held, until no bit of `barred` is set and the lock is held to read.
    fn read_as_head(&self, patience: &Patience, barred: u32, seldom: bool) -> Outcome {
        let outcome = self.wait_as_head(patience, seldom, barred, 0, |this, word| {
            let read = one_more(without(word, MARKS));
            this.word
                .compare_exchange(word, read, RW_READ_LATE, Order::RELAXED)
                .is_ok()
        });
        if outcome == Outcome::Acquired {
            Self::reads_more();
        }
        outcome
    }

    /// Takes the lock to read unless a writer holds it or waits ahead of the caller. Never blocks,
    /// and a failure leaves no trace in the lock. Where recursion is allowed, a thread that waiting
    /// writers first refused at least five milliseconds ago passes them.
    ///
    /// ```
    /// use cohort::rwlock::{RawRwLock, Recursion};
    ///
    /// let lock = RawRwLock::new();
    /// assert!(lock.try_read(Recursion::Excluded));
    /// // SAFETY: read above, by this thread.
    /// unsafe { lock.release_read() };
    /// ```
    #[inline]
    pub fn try_read(&self, recursion: Recursion) -> bool {
        match self.try_read_past(bars(recursion) | BIASED) {
            Ok(()) => true,
            Err(word) => word & SHUT == 0 && self.try_read_otherwise(word, recursion),
        }
    }

    /// The same, where the lock is biased or has marks.
    #[inline(never)]
    fn try_read_otherwise(&self, word: u32, recursion: Recursion) -> bool {
        if word & (BARS | BIASED) == BIASED && self.announce() {
            Self::reads_more();
            is_let_in();
            return true;
        }
        let biased = word & BIASED != 0;
        biased && self.try_read_past(bars(recursion)).is_ok() || self.try_read_late(recursion)
    }

    /// The same, for a thread refused by marks alone.
    #[cold]
    fn try_read_late(&self, recursion: Recursion) -> bool {
        if self.settles() && self.try_read_past(bars(recursion)).is_ok() {
            return true;
        }
        if self.is_passed(recursion) {
            return self.try_read_past(SHUT).is_ok();
        }
        recursion == Recursion::Allowed && has_deferred() && self.pass()
    }

    /// Whether readers pass waiting writers, as an earlier reader did.
    fn is_passed(&self, recursion: Recursion) -> bool {
        let word = self.word.load(Order::RELAXED);
        recursion == Recursion::Allowed && word & COUNTS == 0 && PassedAt::<TAKEN>::is_recent(word)
    }

    /// Takes the lock to read unless a writer holds it, past waiting writers; later readers follow.
    #[cold]
    fn pass(&self) -> bool {
        count_reads();
        let mut word = self.word.load(Order::RELAXED);
        while word & SHUT == 0 {
            let bars = word & COUNTS == 0 && word & BARS != 0;
            let noted = if bars {
                PassedAt::<TAKEN>::noted(word)
            } else {
                word
            };
            match self
                .word
                .compare_exchange(word, one_more(noted), RW_READ_TRY, Order::RELAXED)
            {
                Ok(_) => {
                    Self::reads_more();
                    is_let_in();
                    return true;
                }
                Err(now) => word = now,
            }
        }
        false
    }

    /// The same, by a caller that already holds a read lock: it passes waiting writers.
    ///
    /// ```
    /// use cohort::rwlock::{RawRwLock, Recursion};
    ///
    /// let lock = RawRwLock::new();
    /// assert!(lock.try_read(Recursion::Allowed) && lock.try_read_again());
    /// ```
    #[inline]
    pub fn try_read_again(&self) -> bool {
        self.try_read_past(SHUT).is_ok()
    }

    /// Takes the lock to read if no bit of `barred` is set; returns the word otherwise.
    #[inline]
    fn try_read_past(&self, barred: u32) -> Result<(), u32> {
        let counts = counts_reads();
        self.count_if(barred)?;
        Self::reads_more_if(counts);
        is_let_in();
        Ok(())
    }

    /// Counts one more reader in the word if no bit of `barred` is set; returns the word otherwise.
    #[inline(always)]
    fn count_if(&self, barred: u32) -> Result<(), u32> {
        let mut word = self.word.load(Order::RELAXED);
        while word & barred == 0 {
            match self
                .word
                .compare_exchange(word, one_more(word), RW_READ_TRY, Order::RELAXED)
            {
                Ok(_) => return Ok(()),
                Err(now) => word = now,
            }
        }
        Err(word)
    }

    /// [`try_read`](Self::try_read) for a task, which moves between threads: no thread counts the
    /// read lock as its own, and [`release_task`](Self::release_task) ends it in any.
    pub(crate) fn try_read_task(&self) -> bool {
        self.count_if(BARS).is_ok() || self.settles() && self.count_if(BARS).is_ok()
    }

    /// Ends a read lock by [`try_read_task`](Self::try_read_task).
    ///
    /// # Safety
    /// There is one, which ends here.
    pub(crate) unsafe fn release_task(&self) {
        self.leave();
    }

    /// The first step of a [`read`](Self::read), which must follow a failure: other threads may
    /// have seen a reader.
    ///
    /// ```
    /// use cohort::rwlock::{RawRwLock, Recursion};
    ///
    /// let lock = RawRwLock::new();
    /// assert!(lock.arrive(Recursion::Allowed) && !lock.try_write());
    /// ```
    #[inline]
    pub fn arrive(&self, recursion: Recursion) -> bool {
        self.arrive_past(bars(recursion))
    }

    /// Takes the lock to read if no bit of `barred` is set.
    #[inline]
    fn arrive_past(&self, barred: u32) -> bool {
        self.arrive_at(self.word.load(Order::RELAXED), barred, counts_reads())
    }

    /// The same for a caller that has not read the word. On few CPUs a lone reader needs no load,
    /// which would wait for the exchange of its last release.
    #[inline]
    fn come_past(&self, barred: u32) -> bool {
        if cpus() > FEW {
            return self.arrive_past(barred);
        }
        // An exchange would take the word from the other announced readers.
        if thread().biased.get() == self.readers().0 {
            return self.come_to_biased(barred);
        }
        // A load after the word's exchange would wait for it.
        let counts = counts_reads();
        match self.word.compare_exchange(0, 1, RW_READ, Order::RELAXED) {
            Ok(_) => {
                Self::reads_more_if(counts);
                true
            }
            Err(word) => self.arrive_at(word, barred, counts),
        }
    }

    /// The same for a thread that last found this lock biased.
    #[cold]
    #[inline(never)]
    fn come_to_biased(&self, barred: u32) -> bool {
        let word = self.word.load(Order::RELAXED);
        if word & BIASED == 0 {
            thread().biased.set(0);
        }
        self.arrive_at(word, barred, counts_reads())
    }

    /// The same, by a caller that has just read that word. A reader that finds the lock barred
    /// afterwards was counted for a moment and takes that back. An exchange instead would fail for
    /// all but one of many simultaneous readers.
    #[inline]
    fn arrive_at(&self, word: u32, barred: u32, counts: bool) -> bool {
        if word & (barred | COUNTS | BIASED) != 0 || !self.may_turn_back() {
            return self.arrive_otherwise(word, barred, counts);
        }
        let late = self.word.fetch_add(1, RW_READ);
        if late & barred != 0 {
            self.turn_back();
            return false;
        }
        Self::reads_more_if(counts);
        // By the first word: a branch that is hard to predict then costs no time beside the addition.
        if word & READERS != 0 {
            self.meet_readers();
        }
        true
    }

    /// Takes the lock to read where the word or the process says how.
    #[cold]
    #[inline(never)]
    fn arrive_otherwise(&self, word: u32, barred: u32, counts: bool) -> bool {
        if word & (BARS | BIASED) == BIASED && self.announce() {
            Self::reads_more_if(counts);
            return true;
        }
        word & barred == 0 && self.arrive_by_exchange(barred)
    }

    /// The caller is counted, and has found other readers.
    #[cold]
    #[inline(never)]
    fn meet_readers(&self) {
        if finds_readers() {
            self.consider_bias();
        }
    }

    /// The lock, as its readers' slots name it.
    #[inline(always)]
    fn readers(&self) -> Readers {
        Readers(core::ptr::from_ref(self).addr())
    }

    /// Takes the biased lock to read without writing its word; not if it is marked, or the calling
    /// thread has no free slot.
    #[inline]
    fn announce(&self) -> bool {
        let readers = self.readers();
        thread().biased.set(readers.0);
        others_go_on()
            && readers.announce(|| self.word.load(RW_ANNOUNCED) & (BARS | BIASED) == BIASED)
    }

    fn are_announced(&self) -> bool {
        others_go_on() && self.readers().are_present()
    }

    /// Biases the lock if that may pay; the caller is counted.
    #[cold]
    #[inline(never)]
    fn consider_bias(&self) {
        let word = self.word.load(Order::RELAXED);
        let Readers(lock) = self.readers();
        if word & UNFIT != 0 || !pace::allows(lock) || !has_barrier() {
            return;
        }
        // Of an earlier lock in this memory, never released; or about to turn back.
        if self.are_announced() {
            return;
        }
        let biased =
            self.word
                .compare_exchange(word, word | BIASED, Order::RELAXED, Order::RELAXED);
        if biased.is_ok() {
            pace::has_begun(lock);
        }
    }

    /// Ends the bias, for the head, which has marked the word, once no reader is in its slot; false
    /// after a timeout. The readers are awaited for as long as patience lasts, or for a moment
    /// without one.
    #[cold]
    #[inline(never)]
    fn end_bias(&self, patience: Option<&Patience>) -> bool {
        if !others_go_on() {
            // No reader either.
            self.word.fetch_and(!BIASED, RW_UNBIASED);
            return true;
        }
        let mut began = 0;
        let begin = || began = now();
        let readers = self.readers();
        if mutant(flaw::UNBIAS_OPEN) {
            self.word.fetch_and(!MARKS, RW_MARK);
        }
        let ended = match patience {
            Some(patience) => readers.outlast(patience, begin),
            None => !readers.are_present() && readers.outlast_short(begin),
        };
        if ended {
            self.word.fetch_and(!BIASED, RW_UNBIASED);
            pace::has_ended(readers.0, began);
        }
        ended
    }

    /// Whether a reader that is counted too early can be told from the parent's: only after the
    /// parent's have been cleared.
    #[inline(always)]
    fn may_turn_back(&self) -> bool {
        !may_fork() || self.generation.is_settled() || mutant(flaw::ARRIVE_UNSETTLED)
    }

    /// The same, by exchanges: while acquisitions are counted, and at the process's first arrival.
    /// An increment of a count that has ended would stay, and later acquisitions would not find the
    /// word at rest.
    #[cold]
    #[inline(never)]
    fn arrive_by_exchange(&self, barred: u32) -> bool {
        self.settle();
        self.try_read_past(barred).is_ok()
    }

    /// Takes back the caller's arrival. Rare, and therefore out of line.
    #[cold]
    #[inline(never)]
    fn turn_back(&self) {
        if mutant(flaw::LEAVE_SILENTLY) {
            self.word.fetch_sub(1, RW_READ_DONE);
        } else {
            self.leave();
        }
    }

    /// Acquires the lock to write, unless patience runs out first.
    ///
    /// ```
    /// use cohort::{Outcome, Patience};
    /// use cohort::rwlock::RawRwLock;
    ///
    /// let lock = RawRwLock::new();
    /// assert_eq!(lock.write(&Patience::ENDLESS), Outcome::Acquired);
    /// // SAFETY: held to write above.
    /// unsafe { lock.release_write() };
    /// ```
    #[inline]
    pub fn write(&self, patience: &Patience) -> Outcome {
        if self
            .word
            .compare_exchange(0, WRITER, RW_WRITE, Order::RELAXED)
            .is_ok()
        {
            return Outcome::Acquired;
        }
        self.write_contended(patience)
    }

    #[cold]
    fn write_contended(&self, patience: &Patience) -> Outcome {
        self.settle();
        if self.write_at_once() {
            return Outcome::Acquired;
        }
        let seldom = !waits_often();
        let outcome = self.write_in_line(patience, seldom);
        has_waited();
        outcome
    }

    /// Blocks until the lock is held to write or patience runs out; for a thread that `seldom` waits, or often.
    fn write_in_line(&self, patience: &Patience, seldom: bool) -> Outcome {
        self.gate.mode().consider_turns();
        if self.gate.acquire_unless(patience, seldom, &|| false) == Some(Outcome::GaveUp) {
            return Outcome::GaveUp;
        }
        let outcome = self.wait_as_head(patience, seldom, HELD, PENDING, |this, word| {
            let written = written(without(word, MARKS));
            this.word
                .compare_exchange(word, written, RW_WRITE_LATE, Order::RELAXED)
                .is_ok()
        });
        // SAFETY: acquired above.
        unsafe { self.gate.release(&()) };
        outcome
    }

    /// Takes the lock to write if it is free; never blocks.
    ///
    /// ```
    /// use cohort::rwlock::RawRwLock;
    ///
    /// let lock = RawRwLock::new();
    /// assert!(lock.try_write() && !lock.try_write());
    /// ```
    #[inline]
    pub fn try_write(&self) -> bool {
        self.write_at_once() || self.word.load(Order::RELAXED) & HELD == BIASED && self.try_unbias()
    }

    /// The same for a biased lock.
    #[cold]
    #[inline(never)]
    fn try_unbias(&self) -> bool {
        self.settle();
        // A thread with the gate reads, or is about to acquire.
        // SAFETY: the gate has no contexts, and stays with the lock.
        if !unsafe { self.gate.try_acquire(&()) } {
            return false;
        }
        let mut word = self.word.fetch_or(PENDING, RW_MARK) | PENDING;
        let mut is_written = false;
        if word & BIASED == 0 || word & HELD == BIASED && self.end_bias(None) {
            word = self.word.load(Order::RELAXED);
            while word & HELD == 0 && !is_written {
                let marked = written(without(word, MARKS));
                match self
                    .word
                    .compare_exchange(word, marked, RW_WRITE, Order::RELAXED)
                {
                    Ok(_) => is_written = true,
                    Err(now) => word = now,
                }
            }
        }
        if !is_written {
            self.word.fetch_and(!(MARKS | TAKEN), RW_MARK);
        }
        // SAFETY: acquired above.
        unsafe { self.gate.release(&()) };
        is_written
    }

    /// The first step of a [`write`](Self::write): takes the lock if it is free and not biased.
    ///
    /// ```
    /// use cohort::rwlock::RawRwLock;
    ///
    /// let lock = RawRwLock::new();
    /// assert!(lock.write_at_once() && !lock.write_at_once());
    /// ```
    #[inline]
    pub fn write_at_once(&self) -> bool {
        let mut word = self.word.load(Order::RELAXED);
        while word & (HELD | RESERVED) == 0 {
            match self
                .word
                .compare_exchange(word, written(word), RW_WRITE, Order::RELAXED)
            {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        word & HELD == 0 && self.settles() && self.write_at_once()
    }

    /// Clears the marks of a parent process's threads in a forked child. Called before a thread
    /// heeds or sets a mark.
    #[cold]
    #[inline(never)]
    fn settle(&self) {
        self.generation.settle(|| self.inherit());
    }

    /// The same, for a thread that marks refused: whether they may have been the parent's.
    #[cold]
    fn settles(&self) -> bool {
        let unsettled = !self.generation.is_settled();
        self.settle();
        unsettled && !mutant(flaw::HEED_PARENTS)
    }

    /// Waits, with the gate held, until no bit of `barred` is set; then `take` tries to acquire.
    /// `mark` stands in the word meanwhile.  A thread that `seldom` waits sleeps rather than yields.
    #[inline(never)]
    fn wait_as_head(
        &self,
        patience: &Patience,
        seldom: bool,
        barred: u32,
        mark: u32,
        take: fn(&Self, u32) -> bool,
    ) -> Outcome {
        let mut since = 0;
        let mode = self.gate.mode();
        if mode.takes_turns() && self.word.load(Order::RELAXED) & BIASED == 0 {
            since = now();
            if self.leave_a_turn(patience) {
                mode.welcome_turns();
            } else {
                mode.give_up_turns();
            }
        }
        let mut spinner = Spinner::sparing_turns(seldom);
        loop {
            let word = self.word.load(Order::RELAXED);
            // A new reader would delay the upgradable reader that waits to write.
            let mut defers = word & ASKED == ASKED;
            if defers {
                if since == 0 {
                    since = now();
                }
                defers = now() - since < DEFERENCE_NANOSECONDS;
            }
            if word & barred == 0 && !defers {
                if take(self, word) {
                    return Outcome::Acquired;
                }
                continue;
            }
            if word & mark != mark {
                let _ = self
                    .word
                    .compare_exchange(word, word | mark, RW_MARK, Order::RELAXED);
                continue;
            }
            if word & barred & BIASED != 0 && self.end_bias(Some(patience)) {
                continue;
            }
            if runs_out(patience) {
                self.word.fetch_and(!(MARKS | TAKEN), RW_MARK);
                return Outcome::GaveUp;
            }
            let advice = spinner.step();
            if since == 0 {
                since = now();
            }
            let mut marked = word;
            if now() - since > PATIENCE_NANOSECONDS {
                marked |= RESERVED;
            }
            if advice == Advice::Sleep {
                marked |= PARKED;
            }
            if word != marked
                && self
                    .word
                    .compare_exchange(word, marked, RW_MARK, Order::RELAXED)
                    .is_err()
            {
                continue;
            }
            if advice == Advice::Sleep {
                let patience = if defers {
                    let deferred = now().saturating_sub(since);
                    at_most(patience, DEFERENCE_NANOSECONDS.saturating_sub(deferred))
                } else {
                    *patience
                };
                let _ = sleep_within(&self.word, marked, HEAD, &patience);
                spinner = Spinner::sparing_turns(seldom);
            }
        }
    }

    /// Leaves the lock for a whole turn to holders that reacquire at once and do not share it.
    /// Returns false otherwise, and as soon as they stop.
    #[inline(never)]
    fn leave_a_turn(&self, patience: &Patience) -> bool {
        let left = self.look_with_naps(patience);
        self.word.fetch_and(!(COUNTS | TAKEN), RW_MARK);
        left
    }

    fn look_with_naps(&self, patience: &Patience) -> bool {
        let since = now();
        let mut spinner = Spinner::new();
        let begun = self.count_next(SAMPLED);
        spinner.watch(SAMPLE_NANOSECONDS, || true);
        let word = self.word.load(Order::RELAXED);
        let seldom = |taken: u32| u64::from(taken) * ABSENCE_NANOSECONDS <= now() - since;
        if times_taken(begun, word).is_some_and(seldom) || word & READERS > 1 {
            return false;
        }
        let mut pause = FIRST_PAUSE_NANOSECONDS;
        while now() - since < PATIENCE_NANOSECONDS && !runs_out(patience) {
            let begun = self.count_next(1);
            if spinner.pause(pause) == Advice::Sleep {
                nap(NAP_NANOSECONDS);
            }
            if times_taken(begun, self.word.load(Order::RELAXED)) == Some(0) {
                return false;
            }
            pause *= 2;
        }
        true
    }

    /// Has the next `times` acquisitions counted, for the head; returns the count's initial value.
    fn count_next(&self, times: u32) -> u32 {
        let begins = COUNTS | (LAST - (times - 1) * ONCE);
        if self.word.load(Order::RELAXED) & (COUNTS | TAKEN) != 0 {
            self.word.fetch_and(!(COUNTS | TAKEN), RW_MARK);
        }
        self.word.fetch_or(begins, RW_MARK);
        begins
    }

    /// Releases the caller's lock, read or write; false if the lock was free.
    ///
    /// # Safety
    /// The caller is entitled to release it, if it is held.
    ///
    /// ```
    /// use cohort::rwlock::RawRwLock;
    ///
    /// let lock = RawRwLock::new();
    /// assert!(lock.try_write());
    ///  // SAFETY: held to write above, and free afterwards.
    /// unsafe { assert!(lock.release() && !lock.release()) };
    /// ```
    #[inline]
    pub unsafe fn release(&self) -> bool {
        let word = self.word.load(Order::RELAXED);
        if word & (WRITER | BIASED) == 0 {
            if word & READERS == 0 {
                return false;
            }
            Self::reads_less();
            self.leave();
            return true;
        }
        if word & BIASED != 0 {
            return self.release_biased();
        }
        // SAFETY: held to write, by the caller.
        unsafe { self.release_write() };
        true
    }

    /// The same, of a biased lock: held to read by the caller, or by a thread for which the caller
    /// releases it.
    #[inline(never)]
    fn release_biased(&self) -> bool {
        let readers = self.readers();
        if readers.is_announced() && readers.leave() {
            Self::reads_less();
            return true;
        }
        if self.uncount(self.word.load(Order::RELAXED)) || readers.take() {
            return true;
        }
        // The hold may have moved between the word and a slot: an update reads the last value.
        let looks = || self.uncount(self.word.fetch_or(0, Order::RELAXED)) || readers.take();
        (0..LOOKS_FOR_HOLD).any(|_| looks())
    }

    /// Counts one reader less, if any is counted, by a caller that has just read that word. A
    /// subtraction could underflow beside the release of another thread's hold.
    #[inline]
    fn uncount(&self, mut word: u32) -> bool {
        let at = &raw const self.word;
        while word & READERS != 0 {
            match self
                .word
                .compare_exchange(word, word - 1, RW_READ_DONE, Order::RELAXED)
            {
                Ok(_) => {
                    Self::reads_less();
                    if word & PARKED != 0 && word & READERS == 1 {
                        Self::wake_head(at);
                    }
                    return true;
                }
                Err(now) => word = now,
            }
        }
        false
    }

    /// Releases a lock held to read.
    ///
    /// # Safety
    /// The caller is one of its readers.
    ///
    /// ```
    /// use cohort::rwlock::{RawRwLock, Recursion};
    ///
    /// let lock = RawRwLock::new();
    /// assert!(lock.try_read(Recursion::Allowed));
    /// // SAFETY: read above, by this thread.
    /// unsafe { lock.release_read() };
    /// assert!(!lock.is_locked());
    /// ```
    #[inline]
    pub unsafe fn release_read(&self) {
        Self::reads_less();
        if self.readers().is_announced() && self.leave_slot() {
            return;
        }
        self.leave();
    }

    /// Ends the caller's announcement; false if another thread has released that hold already.
    #[cold]
    #[inline(never)]
    fn leave_slot(&self) -> bool {
        self.readers().leave()
    }

    /// Counts one more read lock of the calling thread, if read locks are counted.
    #[inline]
    fn reads_more() {
        Self::reads_more_if(counts_reads());
    }

    #[inline]
    fn reads_more_if(counts: bool) {
        if counts && !mutant(flaw::COUNT_NOTHING) {
            let reading = &thread().reading;
            reading.set(reading.get() + 1);
        }
    }

    /// Counts one read lock less of the calling thread, if they are counted. The lock may be older
    /// than the counting.
    #[inline]
    fn reads_less() {
        if counts_reads() {
            let reading = &thread().reading;
            reading.set(reading.get().saturating_sub(1));
        }
    }

    /// Counts one reader less.
    #[inline]
    fn leave(&self) {
        let at = &raw const self.word;
        let word = self.word.fetch_sub(1, RW_READ_DONE);
        if word & PARKED != 0 && word & READERS == 1 {
            Self::wake_head(at);
        }
    }

    /// Releases a lock held to write.
    ///
    /// # Safety
    /// The caller is its writer.
    ///
    /// ```
    /// use cohort::rwlock::RawRwLock;
    ///
    /// let lock = RawRwLock::new();
    /// assert!(lock.try_write());
    /// // SAFETY: held to write above.
    /// unsafe { lock.release_write() };
    /// assert!(!lock.is_locked());
    /// ```
    #[inline]
    pub unsafe fn release_write(&self) {
        if self
            .word
            .compare_exchange(WRITER, 0, RW_WRITE_DONE, Order::RELAXED)
            .is_err()
        {
            self.release_write_marked();
        }
    }

    /// The same, where the word has other bits too.
    #[cold]
    #[inline(never)]
    fn release_write_marked(&self) {
        self.settle();
        let at = &raw const self.word;
        // Releases before the head has woken need not wake it again.
        let word = self
            .word
            .fetch_and(!(WRITER | PARKED), RW_WRITE_DONE_MARKED);
        if word & PARKED != 0 {
            Self::wake_head(at);
        }
    }

    /// Releases a lock held to write, so that a head that has left a mark acquires it next: no
    /// arrival bypasses it.
    ///
    /// # Safety
    /// As [`release_write`](Self::release_write).
    ///
    /// ```
    /// use cohort::rwlock::RawRwLock;
    ///
    /// let lock = RawRwLock::new();
    /// assert!(lock.try_write());
    /// // SAFETY: held to write above.
    /// unsafe { lock.release_write_fairly() };
    /// assert!(lock.try_write());
    /// ```
    pub unsafe fn release_write_fairly(&self) {
        if self.is_waited_for() {
            self.settle();
        }
        let at = &raw const self.word;
        let mut word = self.word.load(Order::RELAXED);
        // The head takes all marks away when it acquires, this one too.
        while word & MARKS != 0 {
            let left = word & !(WRITER | PARKED) | RESERVED;
            match self
                .word
                .compare_exchange(word, left, RW_WRITE_DONE_MARKED, Order::RELAXED)
            {
                Ok(_) if word & PARKED != 0 => return Self::wake_head(at),
                Ok(_) => return,
                Err(now) => word = now,
            }
        }
        // SAFETY: the caller's.
        unsafe { self.release_write() };
    }

    /// Releases a lock held to read in the same way.
    ///
    /// # Safety
    /// As [`release_read`](Self::release_read).
    ///
    /// ```
    /// use cohort::rwlock::{RawRwLock, Recursion};
    ///
    /// let lock = RawRwLock::new();
    /// assert!(lock.try_read(Recursion::Allowed));
    /// // SAFETY: read above, by this thread.
    /// unsafe { lock.release_read_fairly() };
    /// assert!(lock.try_write());
    /// ```
    pub unsafe fn release_read_fairly(&self) {
        if self.is_waited_for() {
            self.settle();
        }
        Self::reads_less();
        let at = &raw const self.word;
        let mut word = self.word.load(Order::RELAXED);
        let readers = self.readers();
        if readers.is_announced() {
            while word & MARKS != 0 && word & RESERVED == 0 {
                match self
                    .word
                    .compare_exchange(word, word | RESERVED, RW_MARK, Order::RELAXED)
                {
                    Ok(_) => break,
                    Err(now) => word = now,
                }
            }
            if readers.leave() {
                return;
            }
            word = self.word.load(Order::RELAXED);
        }
        while let Err(now) = self.word.compare_exchange(
            word,
            (word - 1) | if word & MARKS != 0 { RESERVED } else { 0 },
            RW_READ_DONE,
            Order::RELAXED,
        ) {
            word = now;
        }
        if word & PARKED != 0 && word & READERS == 1 {
            Self::wake_head(at);
        }
    }

    /// [`release`](Self::release), so that a head that has left a mark acquires the lock next.
    ///
    /// # Safety
    /// As [`release`](Self::release).
    ///
    /// ```
    /// use cohort::rwlock::RawRwLock;
    ///
    /// let lock = RawRwLock::new();
    /// assert!(lock.try_write());
    ///  // SAFETY: held to write above, and free afterwards.
    /// unsafe { assert!(lock.release_fairly() && !lock.release_fairly()) };
    /// ```
    pub unsafe fn release_fairly(&self) -> bool {
        let word = self.word.load(Order::RELAXED);
        if word & WRITER != 0 {
            // SAFETY: held to write, by the caller.
            unsafe { self.release_write_fairly() };
        } else if word & BIASED != 0 && !self.readers().is_announced() {
            // Counted, or in another thread's slot: arrivals find the marks that the head keeps.
            return self.release_biased();
        } else if word & (READERS | BIASED) == 0 {
            return false;
        } else {
            // SAFETY: held to read, by the caller.
            unsafe { self.release_read_fairly() };
        }
        true
    }

    /// Whether the lock had a waiter a moment ago that a fair release would admit first.
    ///
    /// ```
    /// use cohort::rwlock::RawRwLock;
    ///
    /// let lock = RawRwLock::new();
    /// assert!(lock.try_write() && !lock.is_waited_for());
    /// ```
    pub fn is_waited_for(&self) -> bool {
        self.word.load(Order::RELAXED) & MARKS != 0
    }

    /// Turns the caller's write lock into a read lock, with no writer in between. Never blocks.
    ///
    /// # Safety
    /// The caller is its writer.
    ///
    /// ```
    /// use cohort::rwlock::{RawRwLock, Recursion};
    ///
    /// let lock = RawRwLock::new();
    /// assert!(lock.try_write());
    /// // SAFETY: held to write above.
    /// unsafe { lock.downgrade() };
    /// assert!(lock.try_read(Recursion::Allowed) && !lock.try_write());
    /// ```
    pub unsafe fn downgrade(&self) {
        self.become_reader(0);
    }

    /// The same, to an [upgradable](Self::read_upgradably) read lock.
    ///
    /// # Safety
    /// The caller is its writer.
    ///
    /// ```
    /// use cohort::rwlock::RawRwLock;
    ///
    /// let lock = RawRwLock::new();
    /// assert!(lock.try_write());
    /// // SAFETY: held to write above.
    /// unsafe { lock.downgrade_to_upgradable() };
    /// // SAFETY: held to read upgradably since.
    /// assert!(unsafe { lock.try_upgrade() });
    /// ```
    pub unsafe fn downgrade_to_upgradable(&self) {
        self.become_reader(UPGRADABLE);
    }

    fn become_reader(&self, kind: u32) {
        let mut word = self.word.load(Order::RELAXED);
        if word != WRITER {
            self.settle();
            word = self.word.load(Order::RELAXED);
        }
        loop {
            let mut read = (word - WRITER + 1) | kind;
            if read & UPGRADABLE != 0 {
                // Whichever head set it: no upgrade is pending.
                read = without(read, RESERVED);
            }
            // A head that writes sleeps on; a head that reads enters, and admits others.
            let lets_in = word & (PENDING | PARKED) == PARKED;
            let marked = if lets_in { read & !PARKED } else { read };
            match self
                .word
                .compare_exchange(word, marked, RW_DOWNGRADE, Order::RELAXED)
            {
                Ok(_) => {
                    Self::reads_more();
                    if lets_in {
                        Self::wake_head(&raw const self.word);
                    }
                    return;
                }
                Err(now) => word = now,
            }
        }
    }

    /// Acquires the lock to read beside ordinary readers, but no other upgradable reader, unless
    /// patience runs out first. Gives up at once if the lock has the greatest number of readers.
    ///
    /// ```
    /// use cohort::{Outcome, Patience};
    /// use cohort::rwlock::RawRwLock;
    ///
    /// let lock = RawRwLock::new();
    /// assert_eq!(lock.read_upgradably(&Patience::ENDLESS), Outcome::Acquired);
    /// assert!(!lock.try_read_upgradably());
    /// ```
    pub fn read_upgradably(&self, patience: &Patience) -> Outcome {
        self.settle();
        let has_gate = self.gate.acquire_untouched();
        if has_gate && self.arrive_upgradable() {
            self.begin_upgradable(true);
            return Outcome::Acquired;
        }
        let seldom = !waits_often();
        let outcome = self.upgradable_read_in_line(patience, seldom, has_gate);
        has_waited();
        outcome
    }

    /// Takes the lock to read if it can be at once, with the gate held.
    fn arrive_upgradable(&self) -> bool {
        !self.is_full() && self.arrive_with_gate(BARS | Self::other_upgrades())
    }

    /// Blocks until the lock is held to read upgradably or patience runs out; for a thread that
    /// `seldom` waits, or often, and perhaps has the gate.
    fn upgradable_read_in_line(
        &self,
        patience: &Patience,
        seldom: bool,
        has_gate: bool,
    ) -> Outcome {
        if !has_gate
            && self.gate.acquire_unless(patience, seldom, &|| false) == Some(Outcome::GaveUp)
        {
            return Outcome::GaveUp;
        }
        let barred = WRITER | Self::other_upgrades();
        let came = self.arrive_upgradable()
            || !self.is_full() && self.read_as_head(patience, barred, seldom) == Outcome::Acquired;
        self.begin_upgradable(came);
        if came {
            Outcome::Acquired
        } else {
            Outcome::GaveUp
        }
    }

    /// Takes the lock to read if no bit of `barred` is set. By an exchange: a forked child of the
    /// upgradable reader could not tell a reader that turns back from an ordinary one.
    fn arrive_with_gate(&self, barred: u32) -> bool {
        if mutant(flaw::ARRIVE_WITH_GATE) {
            self.arrive_past(barred)
        } else {
            self.try_read_past(barred).is_ok()
        }
    }

    /// [`read_upgradably`](Self::read_upgradably), if no writer holds the lock, and no other thread
    /// waits for it or reads it upgradably; never blocks.
    ///
    /// ```
    /// use cohort::rwlock::RawRwLock;
    ///
    /// let lock = RawRwLock::new();
    /// assert!(lock.try_read_upgradably() && !lock.try_write());
    /// ```
    pub fn try_read_upgradably(&self) -> bool {
        self.settle();
        // SAFETY: the gate has no contexts, and stays with the lock.
        if !unsafe { self.gate.try_acquire(&()) } {
            return false;
        }
        let came = self.try_read_past(BARS | Self::other_upgrades()).is_ok();
        self.begin_upgradable(came);
        came
    }

    /// The bit that also keeps out an upgradable reader with the gate.
    fn other_upgrades() -> u32 {
        if mutant(flaw::SHARE_UPGRADES) {
            0
        } else {
            UPGRADABLE
        }
    }

    /// Keeps the gate, or releases it if the caller does not read.
    fn begin_upgradable(&self, reads: bool) {
        if reads {
            self.gate.mark_queued();
        } else {
            // SAFETY: acquired by the caller.
            unsafe { self.gate.release(&()) };
        }
    }

    /// Turns the caller's upgradable read lock into an ordinary one. Never blocks.
    ///
    /// # Safety
    /// The caller holds it to read upgradably.
    ///
    /// ```
    /// use cohort::rwlock::RawRwLock;
    ///
    /// let lock = RawRwLock::new();
    /// assert!(lock.try_read_upgradably());
    /// // SAFETY: held to read upgradably above.
    /// unsafe { lock.end_upgradable() };
    /// // Two readers now.
    /// assert!(lock.try_read_upgradably());
    /// ```
    pub unsafe fn end_upgradable(&self) {
        if !self.end_bit() {
            self.gate.release_queued();
        }
    }

    /// The same, but the first thread asleep at the gate, if any, acquires it next.
    ///
    /// # Safety
    /// As [`end_upgradable`](Self::end_upgradable).
    ///
    /// ```
    /// use cohort::rwlock::RawRwLock;
    ///
    /// let lock = RawRwLock::new();
    /// assert!(lock.try_read_upgradably());
    /// // SAFETY: held to read upgradably above.
    /// unsafe { lock.end_upgradable_fairly() };
    /// assert!(lock.try_read_upgradably());
    /// ```
    pub unsafe fn end_upgradable_fairly(&self) {
        if !self.end_bit() {
            self.gate.release_queued_fair();
        }
    }

    /// Clears the caller's bit, if it is upgradable by the bit and not by the gate.
    fn end_bit(&self) -> bool {
        let is_by_bit = self.is_upgradable_by_bit();
        if is_by_bit {
            let word = self.word.fetch_and(!UPGRADABLE, RW_MARK);
            // The head may have waited for this. If there is a writer, it wakes the head later.
            if word & (PARKED | WRITER) == PARKED {
                Self::wake_head(&raw const self.word);
            }
        }
        is_by_bit
    }

    /// Whether the caller, the upgradable reader, became so without the gate.
    fn is_upgradable_by_bit(&self) -> bool {
        self.word.load(Order::RELAXED) & UPGRADABLE != 0
    }

    /// Blocks until the caller is the only reader, then holds the lock to write; or until patience
    /// runs out, then keeps the upgradable read lock. No thread has written in between.
    ///
    /// # Safety
    /// The caller holds it to read upgradably.
    ///
    /// ```
    /// use cohort::{Outcome, Patience};
    /// use cohort::rwlock::RawRwLock;
    ///
    /// let lock = RawRwLock::new();
    /// assert!(lock.try_read_upgradably());
    /// // SAFETY: held to read upgradably above.
    /// assert_eq!(unsafe { lock.upgrade(&Patience::ENDLESS) }, Outcome::Acquired);
    /// assert!(lock.is_write_locked());
    /// ```
    pub unsafe fn upgrade(&self, patience: &Patience) -> Outcome {
        // SAFETY: the caller's.
        let outcome = unsafe { self.upgrade_for_a_while(patience) };
        if outcome == Outcome::Acquired {
            // SAFETY: the caller is upgradable, which it need not be from here on.
            unsafe { self.end_upgradable() };
        }
        outcome
    }

    /// [`upgrade`](Self::upgrade), but the caller stays the upgradable reader: it is one again as
    /// soon as it goes back to [reading](Self::downgrade).
    ///
    /// # Safety
    /// As [`upgrade`](Self::upgrade).
    ///
    /// ```
    /// use cohort::{Outcome, Patience};
    /// use cohort::rwlock::RawRwLock;
    ///
    /// let lock = RawRwLock::new();
    /// assert!(lock.try_read_upgradably());
    /// // SAFETY: held to read upgradably above, and then to write.
    /// unsafe {
    ///     assert_eq!(lock.upgrade_for_a_while(&Patience::ENDLESS), Outcome::Acquired);
    ///     lock.downgrade();
    /// }
    /// assert!(!lock.is_write_locked() && !lock.try_read_upgradably());
    /// ```
    pub unsafe fn upgrade_for_a_while(&self, patience: &Patience) -> Outcome {
        self.settle();
        if patience.is_endless() && !self.is_upgradable_by_bit() {
            self.upgrade_as_head();
            Outcome::Acquired
        } else {
            self.upgrade_in_time(patience)
        }
    }

    /// The same, with the gate and no deadline.
    fn upgrade_as_head(&self) {
        let marks = if mutant(flaw::UPGRADE_UNRESERVED) {
            PENDING
        } else {
            PENDING | RESERVED
        };
        // The caller is the head, so the word has no marks.
        let mut word = self.word.load(Order::RELAXED);
        while let Err(now) =
            self.word
                .compare_exchange(word, (word - 1) | marks, Order::RELAXED, Order::RELAXED)
        {
            word = now;
        }
        Self::reads_less();
        // Without other readers it does not wait, and the thread's history stays as it is.
        let waits = self.word.load(Order::RELAXED) & HELD != 0;
        let seldom = !waits || !waits_often();
        let _ = self.wait_as_head(&Patience::ENDLESS, seldom, HELD, marks, |this, word| {
            this.word
                .compare_exchange(
                    word,
                    written(without(word, MARKS)),
                    RW_UPGRADE,
                    Order::RELAXED,
                )
                .is_ok()
        });
        if waits {
            has_waited();
        }
    }

    /// The same, by polling, for any other caller.
    fn upgrade_in_time(&self, patience: &Patience) -> Outcome {
        let mut spinner = Spinner::new();
        loop {
            // SAFETY: the caller's.
            if unsafe { self.try_upgrade_for_a_while() } {
                return Outcome::Acquired;
            }
            if runs_out(patience) {
                let mut word = self.word.load(Order::RELAXED);
                while let Err(now) = self.word.compare_exchange(
                    word,
                    without(word, RESERVED),
                    RW_MARK,
                    Order::RELAXED,
                ) {
                    word = now;
                }
                if word & PARKED != 0 {
                    // The head may have deferred.
                    Self::wake_head(&raw const self.word);
                }
                return Outcome::GaveUp;
            }
            // New readers wait.
            let word = self.word.fetch_or(RESERVED, RW_MARK);
            if word & BIASED != 0 && self.end_bias(Some(patience)) {
                continue;
            }
            if spinner.step() == Advice::Sleep {
                nap(NAP_NANOSECONDS);
            }
        }
    }

    /// The same, if the caller is the only reader; never blocks.
    ///
    /// # Safety
    /// As [`upgrade`](Self::upgrade).
    ///
    /// ```
    /// use cohort::rwlock::RawRwLock;
    ///
    /// let lock = RawRwLock::new();
    /// assert!(lock.try_read_upgradably());
    /// // SAFETY: held to read upgradably above.
    /// assert!(unsafe { lock.try_upgrade() });
    /// ```
    pub unsafe fn try_upgrade(&self) -> bool {
        // SAFETY: the caller's.
        let alone = unsafe { self.try_upgrade_for_a_while() };
        if alone {
            // SAFETY: as in `upgrade`.
            unsafe { self.end_upgradable() };
        }
        alone
    }

    /// [`upgrade_for_a_while`](Self::upgrade_for_a_while), if the caller is the only reader; never
    /// blocks.
    ///
    /// # Safety
    /// As [`upgrade`](Self::upgrade).
    ///
    /// ```
    /// use cohort::rwlock::{RawRwLock, Recursion};
    ///
    /// let lock = RawRwLock::new();
    /// assert!(lock.try_read(Recursion::Allowed) && lock.try_read_upgradably());
    /// // SAFETY: held to read upgradably above.
    /// assert!(!unsafe { lock.try_upgrade_for_a_while() }, "another reads");
    /// ```
    pub unsafe fn try_upgrade_for_a_while(&self) -> bool {
        let mut word = self.word.load(Order::RELAXED);
        let mut marked = false;
        if word & (BIASED | READERS) == BIASED | 1 {
            // The caller has the gate: no bias begins beside the bit.
            marked = self.word.fetch_or(RESERVED, RW_MARK) & RESERVED == 0;
            let _ = self.end_bias(None);
            word = self.word.load(Order::RELAXED);
        }
        while word & (BIASED | READERS) == 1 {
            // A caller with the gate is the head; beside a caller with the bit, another head may
            // sleep.
            let own = if word & UPGRADABLE != 0 && !mutant(flaw::DROP_MARKS) {
                RESERVED
            } else {
                MARKS
            };
            let free = without(word, own) - 1;
            match self
                .word
                .compare_exchange(word, written(free), RW_UPGRADE_TRY, Order::RELAXED)
            {
                Ok(_) => {
                    Self::reads_less();
                    return true;
                }
                Err(now) => word = now,
            }
        }
        if marked {
            self.word.fetch_and(!RESERVED, RW_MARK);
        }
        false
    }

    /// Wakes the head after a release. The lock's memory may be in other use by then: the address
    /// serves only as a name.
    #[cold]
    fn wake_head(word: *const AtomicU32) {
        if !mutant(flaw::FORGET_WAKE) {
            wake(word, 1, HEAD);
        }
    }

    /// Whether the lock was held a moment ago.
    ///
    /// ```
    /// use cohort::rwlock::{RawRwLock, Recursion};
    ///
    /// let lock = RawRwLock::new();
    /// assert!(!lock.is_locked());
    /// assert!(lock.try_read(Recursion::Allowed) && lock.is_locked());
    /// ```
    pub fn is_locked(&self) -> bool {
        let word = self.word.load(Order::RELAXED);
        word & (WRITER | READERS) != 0 || word & BIASED != 0 && self.are_announced()
    }

    /// Whether the lock was free and unmarked a moment ago.
    ///
    /// ```
    /// use cohort::rwlock::{RawRwLock, Recursion};
    ///
    /// let lock = RawRwLock::new();
    /// assert!(lock.is_at_rest() && lock.try_read(Recursion::Allowed) && !lock.is_at_rest());
    /// ```
    pub fn is_at_rest(&self) -> bool {
        match self.word.load(Order::RELAXED) {
            0 => true,
            BIASED => !self.are_announced(),
            _ => false,
        }
    }

    /// Ends the bias of a lock without users: its word is as a new lock's then.
    ///
    /// ```
    /// use cohort::rwlock::RawRwLock;
    ///
    /// let lock = RawRwLock::new();
    /// lock.retire();
    /// assert!(lock.is_at_rest());
    /// ```
    #[inline]
    pub fn retire(&self) {
        if self.word.load(Order::RELAXED) == BIASED {
            self.word.store(0, Order::RELAXED);
        }
    }

    /// Whether the lock had the greatest number of readers a moment ago.
    ///
    /// ```
    /// assert!(!cohort::rwlock::RawRwLock::new().is_full());
    /// ```
    pub fn is_full(&self) -> bool {
        self.word.load(Order::RELAXED) & FULL != 0
    }

    /// Whether a writer held the lock a moment ago.
    ///
    /// ```
    /// use cohort::rwlock::{RawRwLock, Recursion};
    ///
    /// let lock = RawRwLock::new();
    /// assert!(lock.try_read(Recursion::Allowed) && !lock.is_write_locked());
    /// ```
    pub fn is_write_locked(&self) -> bool {
        self.word.load(Order::RELAXED) & WRITER != 0
    }

    /// Whether a reader that arrived a moment ago had to wait.
    ///
    /// ```
    /// use cohort::rwlock::{RawRwLock, Recursion};
    ///
    /// let lock = RawRwLock::new();
    /// assert!(!lock.keeps_readers_out());
    /// assert!(lock.try_write() && lock.keeps_readers_out());
    /// ```
    pub fn keeps_readers_out(&self) -> bool {
        self.word.load(Order::RELAXED) & BARS != 0
    }

    /// Whether a writer that arrived a moment ago had to wait: for a holder, or for the head, which
    /// may be on its way. Unknown if it had to end a bias first.
    ///
    /// ```
    /// use cohort::rwlock::{RawRwLock, Recursion};
    ///
    /// let lock = RawRwLock::new();
    /// assert_eq!(lock.keeps_writers_out(), Some(false));
    /// assert!(lock.try_read(Recursion::Allowed));
    /// assert_eq!(lock.keeps_writers_out(), Some(true));
    /// ```
    pub fn keeps_writers_out(&self) -> Option<bool> {
        let word = self.word.load(Order::RELAXED);
        if word & (WRITER | READERS | RESERVED) != 0 {
            Some(true)
        } else if word & BIASED != 0 {
            self.are_announced().then_some(true)
        } else {
            Some(false)
        }
    }

    /// Clears what a parent left: a forked child has no waiters. Holders stay what they were.
    ///
    /// Readers counted beside a writer are the parent's, and about to turn back for ever.
    #[cold]
    fn inherit(&self) {
        let mut word = self.word.load(Order::RELAXED);
        let seen = word;
        loop {
            // A writer of this process may release meanwhile, and admit readers.
            let looked = if mutant(flaw::LOOK_ONCE_FOR_WRITER) {
                seen
            } else {
                word
            };
            let ghosts = if looked & WRITER != 0 && !mutant(flaw::KEEP_GHOSTS) {
                READERS
            } else {
                0
            };
            let left = word & !(MARKS | COUNTS | TAKEN | ghosts);
            match self
                .word
                .compare_exchange(word, left, RW_MARK, Order::RELAXED)
            {
                Ok(_) => break,
                Err(now) => word = now,
            }
        }
        // An upgradable reader stays upgradable and keeps the gate, where the parent's marks do no
        // harm.
        if !self.gate.is_queued() {
            // SAFETY: no thread of this process is in it, as each settles first.
            unsafe { self.gate.inherit(None) };
        }
    }
}

// SAFETY: the methods of the same names, which share and exclude.
unsafe impl RawShared for RawRwLock {
    type Context = ();

    #[inline]
    /// # Panics
    /// If the lock has the greatest number of readers.
    unsafe fn read(&self, (): &(), recursion: Recursion) {
        let outcome = self.read(recursion, &Patience::ENDLESS);
        assert!(outcome == Outcome::Acquired, "{TOO_MANY}");
    }

    #[inline]
    unsafe fn try_read(&self, (): &(), recursion: Recursion) -> bool {
        self.try_read(recursion)
    }

    #[inline]
    unsafe fn release_read(&self, (): &()) {
        // SAFETY: passed on.
        unsafe { self.release_read() };
    }

    #[inline]
    unsafe fn write(&self, (): &()) {
        let _ = self.write(&Patience::ENDLESS);
    }

    #[inline]
    unsafe fn try_write(&self, (): &()) -> bool {
        self.try_write()
    }

    #[inline]
    unsafe fn release_write(&self, (): &()) {
        // SAFETY: passed on.
        unsafe { self.release_write() };
    }

    fn is_locked(&self) -> bool {
        self.is_locked()
    }

    fn is_write_locked(&self) -> bool {
        self.is_write_locked()
    }
}

// SAFETY: as above.
unsafe impl AbortableShared for RawRwLock {
    #[inline]
    unsafe fn read_within(&self, (): &(), recursion: Recursion, patience: &Patience) -> Outcome {
        self.read(recursion, patience)
    }

    #[inline]
    unsafe fn write_within(&self, (): &(), patience: &Patience) -> Outcome {
        self.write(patience)
    }
}

/// The bits that keep out the calling thread.
#[inline(always)]
fn bars(recursion: Recursion) -> u32 {
    if recursion == Recursion::Allowed && thread().reading.get() > 0 {
        SHUT
    } else {
        BARS
    }
}

/// The addition to the count by a reader that finds that word.
#[inline(always)]
const fn counted(word: u32) -> u32 {
    if word & COUNTS != 0 && word & TAKEN != TAKEN {
        ONCE
    } else {
        0
    }
}

/// The word with one more reader.
#[inline(always)]
const fn one_more(word: u32) -> u32 {
    word + counted(word) + 1
}

/// The word without those marks. The time of a pass goes with the last mark.
#[inline(always)]
const fn without(word: u32, marks: u32) -> u32 {
    let left = word & !marks;
    if left & (MARKS | COUNTS) == 0 {
        left & !TAKEN
    } else {
        left
    }
}

/// How often the lock was acquired since the count began, by its word; `None` once the count has
/// ended.
const fn times_taken(begun: u32, word: u32) -> Option<u32> {
    if word & COUNTS == 0 || word & TAKEN == TAKEN {
        None
    } else {
        Some((word & TAKEN).wrapping_sub(begun & TAKEN) / ONCE)
    }
}

/// A free lock's word, with a writer.
#[inline(always)]
const fn written(word: u32) -> u32 {
    let counted = if word & COUNTS == 0 {
        word
    } else if word & TAKEN >= LAST {
        word & !(COUNTS | TAKEN)
    } else {
        word + ONCE
    };
    counted | WRITER
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_that_has_ended_is_not_added_to() {
        let lock = RawRwLock::new();
        // The head has ended the count since the reader looked.
        assert!(lock.arrive_at(COUNTS | LAST, BARS, false));
        // SAFETY: read above.
        unsafe { lock.release_read() };
        assert!(lock.is_at_rest(), "each acquisition finds a mark");
    }
}
