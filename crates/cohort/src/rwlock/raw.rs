//! The raw reader–writer lock: readers truly share, writers make progress, and nobody is woken for
//! nothing.
//!
//! One waiter at a time, the *head*, waits on the word itself; the others wait
//! for the gate, a [`Futex`], and so inherit how it spins, sleeps, barges and hands
//! over.  A release wakes at most the head: no herd.  Readers that are awake at the gate
//! look at the word too, so that readers which one release lets in enter together.
//!
//! **Not for** sections of a few instructions that thousands of readers a
//! millisecond enter from many CPUs: they share, but they all write one word to
//! say so.
//!
//! | bits of `word` | meaning | set and cleared by |
//! |---|---|---|
//! | `READERS` | how many hold it to read, or are about to see that they may not; from `FULL` on no other gets in | each reader |
//! | `WRITER` | held to write | the writer |
//! | `UPGRADABLE` | a reader is the upgradable one, without the gate | a writer that goes on as such; the same thread |
//! | `COUNTS` | how often it is taken is counted | the head; the writer that is counted last |
//! | `TAKEN` | that count, up to its end | each reader and writer; the head |
//! | `TAKEN` without `COUNTS` | when a reader passed (`deference.rs`) the head's marks | that reader; whichever thread clears the last mark |
//! | `PENDING` | the head is a writer: new readers wait behind it | the head |
//! | `RESERVED` | the head has waited longer than [`PATIENCE_NANOSECONDS`]: nobody passes it | the head |
//! | `PARKED` | the head sleeps: a release wakes it | the head; a releasing writer clears it |
//!
//! **Turns.**  Where holders come back sooner than the lock could change CPUs, the head
//! leaves it to them for half a millisecond, a turn, as in `futex`, whose rules and memory of
//! what paid serve here too: those of the gate, which needs none itself.  How soon they come
//! back shows in `TAKEN`, for which the head asks, and at which it looks rarely: at other times nothing
//! is counted, so that a writer finds 0 and leaves 0, without a look at the word before its exchanges.
//! Such a look would have to wait for the last exchange.  Readers that share are left together.
//!
//! **An upgradable reader** holds the gate beside its read lock, marked as
//! [queued](Futex::is_queued), so that it is the head when it wants to write.  Then it gives its
//! read lock for `PENDING` and `RESERVED` in one step, past which no writer comes.  With a
//! deadline it keeps the read lock, with which it may have to go on, and looks now and then.
//!
//! **A writer that goes on as one** would have to wait for the gate, which the head has.  `UPGRADABLE`
//! stands for the gate then, and bars others of the sort.  When such a reader wants to write, it keeps
//! its read lock too, looks now and then, and asks by `RESERVED` beside `UPGRADABLE` that no reader
//! come in, the head among them, which defers for no more than five milliseconds.  It leaves the
//! head's other marks, since the head may sleep.
//!
//! **Reading again.**  A reader that waits behind a writer may hold this lock already, or a
//! thread that holds it may wait for that reader, and then the wait would never end.  So it
//! passes `PENDING` and `RESERVED` after five milliseconds.  So does a thread that only tries, or gives
//! up sooner, and comes again five milliseconds or more after waiting writers alone refused it, of
//! whichever lock; one that it got to read meanwhile by a try, or by a wait, makes that begin anew.  And since that shows that threads of this process may read what they read already,
//! each of them counts the read locks that it takes from then on, and passes at once while it has some
//! of these, of whichever lock.  Readers that depend on each other follow the first that passes:
//! `deference.rs` says how long.  To count takes time of each read, which a process that never reads
//! again is spared.  A caller that
//! [says](RawRwLock::read_again) that it reads again passes at once in any case;
//! [`Recursion::Excluded`] does away with all of it.
//!
//! **In a forked child** the marks of the parent's threads are cleared, once, by the first thread that
//! heeds or leaves one, or releases a lock whose word has some.  Holders stay, since no child can tell
//! which of them was its own.  Readers counted beside a writer hold nothing: they are cleared too.

use super::deference::{DEFERENCE_NANOSECONDS, PassedAt, has_deferred, is_let_in};
use crate::basic::Futex;
use crate::basic::futex::{
    ABSENCE_NANOSECONDS, FIRST_PAUSE_NANOSECONDS, NAP_NANOSECONDS, PATIENCE_NANOSECONDS,
};
use crate::door::{
    Advice, AtomicU32, Order, Spinner, at_most, constructor, count_reads, counts_reads, cpus,
    flaws, is_alone, mutant, nap, now, orders, runs_out, sleep_within, thread, wake,
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
    /// A reader that becomes a writer sees that all others have read what they wanted.
    RW_UPGRADE = Acquire;
    /// The same, for one that will not wait, or not for ever.
    RW_UPGRADE_TRY = Acquire;
    /// What a writer did is seen by those that read beside it from now on.
    RW_DOWNGRADE = Release;
    /// The head's marks carry no data.
    RW_MARK = Relaxed;
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
}

/// While `COUNTS` is set, the count; otherwise when a reader passed waiting writers.
const TAKEN: u32 = !(ONCE - 1);
const ONCE: u32 = 1 << 26;
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
/// The uppermost of `READERS`: those below count as many again, which is more than there can be
/// threads that have not seen it yet.
const FULL: u32 = PARKED >> 1;
const MARKS: u32 = PENDING | RESERVED | PARKED;
/// The upgradable reader without the gate wants to write.
const ASKED: u32 = UPGRADABLE | RESERVED;
/// What keeps out a reader that holds a read lock already.
const SHUT: u32 = WRITER | FULL;
/// What keeps out any other.
const BARS: u32 = SHUT | PENDING | RESERVED;
const HEAD: u32 = 1;

/// Blocks until a read lock is had in that way, also where as many read as can be counted: for a guard
/// that gives its own back for a while, and cannot be without it afterwards.
#[inline(always)]
pub(crate) fn read_at_last(read: impl Fn() -> Outcome) {
    while read() == Outcome::GaveUp {
        nap(NAP_NANOSECONDS);
    }
}

pub(super) const TOO_MANY: &str = "cohort: more than 524288 read locks on one lock";

/// For how long the head counts acquisitions: enough of them for the shortest and the
/// longest interval between two to even out.
const SAMPLE_NANOSECONDS: u64 = 4_000;

/// How many it counts meanwhile: more than there are in that time if the holders are not those that
/// come back at once, also where a look is late.
const SAMPLED: u32 = 32;

/// With more CPUs a reader looks before it counts itself: an exchange fails beside other readers, and
/// takes the word from them once more.  Simulated, 24 readers then got three quarters.
const FEW: u32 = 4;

/// The lock; all zero when new.
///
/// ```
/// use cohort::rwlock::{RawRwLock, Recursion};
///
/// let lock = RawRwLock::new();
/// assert!(lock.try_read(Recursion::Allowed) && !lock.try_write());
/// // SAFETY: read above, by this thread.
/// unsafe { lock.release_read() };
/// ```
#[derive(Debug, Default)]
#[repr(C)]
pub struct RawRwLock {
    gate: Futex,
    word: AtomicU32,
    generation: Generation,
}

/// What an onlooker sees that reads the memory of a process.
///
/// ```
/// use cohort::rwlock::RawRwLock;
///
/// let seen = RawRwLock::seen(0);
/// assert!(seen.readers == 0 && !seen.is_written && !seen.has_sleeper);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// How many hold the lock to read.
    pub readers: u32,
    /// Whether it is held to write.
    pub is_written: bool,
    /// Whether a thread sleeps at the word.
    pub has_sleeper: bool,
}

/// For such an onlooker.
impl RawRwLock {
    /// Where the word is.
    pub const WORD: usize = offset_of!(Self, word);
    /// Where the lock notes in which process it was last used, of those that forked each other: a
    /// small number.
    pub const GENERATION: usize = offset_of!(Self, generation);

    /// What that word says.
    ///
    /// ```
    /// use cohort::rwlock::RawRwLock;
    ///
    /// let lock = RawRwLock::new();
    /// assert!(lock.try_write());
    /// // SAFETY: the lock's word is there, and nobody changes it now.
    /// let word = unsafe { (&raw const lock).byte_add(RawRwLock::WORD).cast::<u32>().read() };
    /// assert!(RawRwLock::seen(word).is_written);
    /// ```
    #[must_use]
    pub const fn seen(word: u32) -> Seen {
        Seen {
            readers: word & READERS,
            is_written: word & WRITER != 0,
            has_sleeper: word & PARKED != 0,
        }
    }
}

impl RawRwLock {
    constructor! {
        /// A lock held by nobody.
        ///
        /// ```
        /// static LOCK: cohort::rwlock::RawRwLock = cohort::rwlock::RawRwLock::new();
        /// assert!(!LOCK.is_locked());
        /// ```
        #[must_use]
        pub fn new() -> Self {
            Self {
                gate: Futex::new(),
                word: AtomicU32::new(0),
                generation: Generation::new(),
            }
        }
    }

    /// Blocks until the lock is held to read, or patience runs out; gives up at once where as
    /// many hold it as can be counted.
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

    /// As [`read`](Self::read) where readers may read again, by a caller that says that it reads
    /// already: it passes waiting writers at once.
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
        // Readers that are let in by the same release enter side by side.
        let done = || self.arrive(recursion) || self.is_passed(recursion) && self.arrive_past(SHUT);
        if done() {
            return Outcome::Acquired;
        }
        self.gate.mode().consider_turns();
        loop {
            if self.is_full() {
                return Outcome::GaveUp;
            }
            // This thread may hold the lock to read, or a reader that does may be waiting for it,
            // so it must not wait behind a writer for ever.
            let deference = match recursion {
                Recursion::Excluded => *patience,
                Recursion::Allowed => at_most(patience, DEFERENCE_NANOSECONDS),
            };
            match self.gate.acquire_unless(&deference, &done) {
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
        let outcome = self.read_as_head(patience, WRITER);
        // SAFETY: acquired above.
        unsafe { self.gate.release(&()) };
        outcome
    }

    /// Waits, holding the gate, until the lock is held to read, past which none of `barred` is set.
    fn read_as_head(&self, patience: &Patience, barred: u32) -> Outcome {
        let outcome = self.wait_as_head(patience, barred, 0, |this, word| {
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

    /// Takes the lock to read if no writer holds it, nor waits for it ahead of the caller; never
    /// blocks, and leaves no trace in the lock where it fails.  Where readers may read again, a thread
    /// that waiting writers first refused five milliseconds ago or earlier passes them.
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
        match self.try_read_past(bars(recursion)) {
            Ok(()) => true,
            Err(word) => word & SHUT == 0 && self.try_read_late(recursion),
        }
    }

    /// The same, by a thread that marks alone refused.
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

    /// Whether readers pass waiting writers, as one did before them.
    fn is_passed(&self, recursion: Recursion) -> bool {
        let word = self.word.load(Order::RELAXED);
        recursion == Recursion::Allowed && word & COUNTS == 0 && PassedAt::<TAKEN>::is_recent(word)
    }

    /// Takes the lock to read if no writer holds it, past waiting writers; readers that arrive
    /// follow.
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

    /// The same, by a caller that says that it reads already: it passes waiting writers.
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

    /// Takes the lock to read if none of `barred` is set; the word otherwise.
    #[inline]
    fn try_read_past(&self, barred: u32) -> Result<(), u32> {
        let counts = counts_reads();
        let mut word = self.word.load(Order::RELAXED);
        while word & barred == 0 {
            match self
                .word
                .compare_exchange(word, one_more(word), RW_READ_TRY, Order::RELAXED)
            {
                Ok(_) => {
                    Self::reads_more_if(counts);
                    is_let_in();
                    return Ok(());
                }
                Err(now) => word = now,
            }
        }
        Err(word)
    }

    /// The same as the first step of a [`read`](Self::read), which must follow where this
    /// fails: others may have seen a reader.
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

    /// Takes the lock to read if none of `barred` is set.
    #[inline]
    fn arrive_past(&self, barred: u32) -> bool {
        self.arrive_at(self.word.load(Order::RELAXED), barred, counts_reads())
    }

    /// The same for a caller that has not looked at the lock yet: on few CPUs the lone reader needs no
    /// look, which would wait for the exchange by which it left.
    #[inline]
    fn come_past(&self, barred: u32) -> bool {
        if cpus() > FEW {
            return self.arrive_past(barred);
        }
        // What is looked at after the word's exchange waits for it.
        let counts = counts_reads();
        match self.word.compare_exchange(0, 1, RW_READ, Order::RELAXED) {
            Ok(_) => {
                Self::reads_more_if(counts);
                true
            }
            Err(word) => self.arrive_at(word, barred, counts),
        }
    }

    /// The same, by a caller that has just seen that word.  A reader that finds the lock barred only
    /// afterwards was counted for a moment, and takes that back: an exchange in its place would fail
    /// for all but one of many readers at once.
    #[inline]
    fn arrive_at(&self, word: u32, barred: u32, counts: bool) -> bool {
        if word & (barred | COUNTS) != 0 {
            return word & barred == 0 && self.arrive_counted(barred);
        }
        let word = self.word.fetch_add(1, RW_READ);
        if word & barred != 0 {
            self.turn_back();
            return false;
        }
        Self::reads_more_if(counts);
        true
    }

    /// The same where acquisitions are counted, by exchanges: what is added to a count that has
    /// ended would stay, and each acquisition would find a word that is not at rest.
    #[cold]
    #[inline(never)]
    fn arrive_counted(&self, barred: u32) -> bool {
        self.try_read_past(barred).is_ok()
    }

    /// Takes back that the caller was counted.  Seldom, and so in one place.
    #[cold]
    #[inline(never)]
    fn turn_back(&self) {
        if mutant(flaw::LEAVE_SILENTLY) {
            self.word.fetch_sub(1, RW_READ_DONE);
        } else {
            self.leave();
        }
    }

    /// Blocks until the lock is held to write, or patience runs out.
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
        if self.try_write() {
            return Outcome::Acquired;
        }
        self.gate.mode().consider_turns();
        if self.gate.acquire_unless(patience, &|| false) == Some(Outcome::GaveUp) {
            return Outcome::GaveUp;
        }
        let outcome = self.wait_as_head(patience, WRITER | READERS, PENDING, |this, word| {
            let written = written(without(word, MARKS));
            this.word
                .compare_exchange(word, written, RW_WRITE_LATE, Order::RELAXED)
                .is_ok()
        });
        // SAFETY: acquired above.
        unsafe { self.gate.release(&()) };
        outcome
    }

    /// Takes the lock to write if nobody holds it; never blocks.
    ///
    /// ```
    /// use cohort::rwlock::RawRwLock;
    ///
    /// let lock = RawRwLock::new();
    /// assert!(lock.try_write() && !lock.try_write());
    /// ```
    #[inline]
    pub fn try_write(&self) -> bool {
        let mut word = self.word.load(Order::RELAXED);
        while word & (WRITER | READERS | RESERVED) == 0 {
            match self
                .word
                .compare_exchange(word, written(word), RW_WRITE, Order::RELAXED)
            {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        word & (WRITER | READERS) == 0 && self.settles() && self.try_write()
    }

    /// Before a thread heeds or leaves a mark: those of a parent process's threads are cleared in a
    /// forked child.
    #[cold]
    #[inline(never)]
    fn settle(&self) {
        self.generation.settle(|| self.inherit());
    }

    /// The same, for a thread that marks refused: whether they may have been such.
    #[cold]
    fn settles(&self) -> bool {
        let unsettled = !self.generation.is_settled();
        self.settle();
        unsettled && !mutant(flaw::HEED_PARENTS)
    }

    /// Waits, holding the gate, until none of `barred` is set; then `take` tries
    /// to turn that word into the caller's.  `mark` stands in the word meanwhile.
    #[inline(never)]
    fn wait_as_head(
        &self,
        patience: &Patience,
        barred: u32,
        mark: u32,
        take: fn(&Self, u32) -> bool,
    ) -> Outcome {
        let mut since = 0;
        let mode = self.gate.mode();
        if mode.takes_turns() {
            since = now();
            if self.leave_a_turn(patience) {
                mode.welcome_turns();
            } else {
                mode.give_up_turns();
            }
        }
        let mut spinner = Spinner::new();
        loop {
            let word = self.word.load(Order::RELAXED);
            // A reader that comes in keeps the one from writing that has asked to.
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
                spinner = Spinner::new();
            }
        }
    }

    /// Leaves the lock for a whole turn to the threads that have it, if they come back at once and
    /// do not share it; false otherwise, and as soon as they leave it alone.
    #[inline(never)]
    fn leave_a_turn(&self, patience: &Patience) -> bool {
        let left = self.look_rarely(patience);
        self.word.fetch_and(!(COUNTS | TAKEN), RW_MARK);
        left
    }

    fn look_rarely(&self, patience: &Patience) -> bool {
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

    /// Has so many acquisitions counted that come from here on, for the head: what the count begins
    /// with.
    fn count_next(&self, times: u32) -> u32 {
        let begins = COUNTS | (LAST - (times - 1) * ONCE);
        if self.word.load(Order::RELAXED) & (COUNTS | TAKEN) != 0 {
            self.word.fetch_and(!(COUNTS | TAKEN), RW_MARK);
        }
        self.word.fetch_or(begins, RW_MARK);
        begins
    }

    /// Releases what the caller holds, whichever it is; false if nobody held
    /// the lock.
    ///
    /// # Safety
    /// The caller is entitled to release it, if it is held.
    ///
    /// ```
    /// use cohort::rwlock::RawRwLock;
    ///
    /// let lock = RawRwLock::new();
    /// assert!(lock.try_write());
    /// // SAFETY: held to write above, and by nobody afterwards.
    /// unsafe { assert!(lock.release() && !lock.release()) };
    /// ```
    #[inline]
    pub unsafe fn release(&self) -> bool {
        let word = self.word.load(Order::RELAXED);
        if word & WRITER != 0 {
            // SAFETY: held to write, by the caller.
            unsafe { self.release_write() };
        } else if word & READERS != 0 {
            // SAFETY: held to read, by the caller among others.
            unsafe { self.release_read() };
        } else {
            return false;
        }
        true
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
        self.leave();
    }

    /// The calling thread has one read lock more, if such are counted.
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

    /// The calling thread has one read lock less, if such are counted: that one may be from
    /// before they were.
    #[inline]
    fn reads_less() {
        if counts_reads() {
            let reading = &thread().reading;
            reading.set(reading.get().saturating_sub(1));
        }
    }

    /// One reader less.
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

    /// The same, where the word says more.
    #[cold]
    #[inline(never)]
    fn release_write_marked(&self) {
        self.settle();
        let at = &raw const self.word;
        // Releases that come before the head has woken need not wake it again.
        let word = self
            .word
            .fetch_and(!(WRITER | PARKED), RW_WRITE_DONE_MARKED);
        if word & PARKED != 0 {
            Self::wake_head(at);
        }
    }

    /// Releases a lock held to write so that the head, if it has left a mark, is the next to have it:
    /// no thread that comes passes it.
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
        // A head that has left a mark takes all of them away, this one too.
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

    /// Whether a thread waited for the lock a moment ago that a fair release lets in first.
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

    /// Goes on to read what the caller has written, without letting another writer in.  Never
    /// blocks.
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

    /// The same, as the one that reads [upgradably](Self::read_upgradably).
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
                // Of whichever head it is: nobody has asked.
                read = without(read, RESERVED);
            }
            // A head that writes sleeps on; one that reads comes in, and lets others follow.
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

    /// Blocks until the lock is held to read, beside other readers but no other of this sort, or
    /// patience runs out; gives up at once where as many hold it as can be counted.
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
        if self.gate.acquire_unless(patience, &|| false) == Some(Outcome::GaveUp) {
            return Outcome::GaveUp;
        }
        let others = Self::other_upgrades();
        let came = !self.is_full()
            && (self.arrive_past(BARS | others)
                || self.read_as_head(patience, WRITER | others) == Outcome::Acquired);
        self.begin_upgradably(came);
        if came {
            Outcome::Acquired
        } else {
            Outcome::GaveUp
        }
    }

    /// The same, if no writer holds the lock and no other thread waits for it or reads it so;
    /// never blocks.
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
        self.begin_upgradably(came);
        came
    }

    /// What keeps out an upgradable reader that has the gate, beside that.
    fn other_upgrades() -> u32 {
        if mutant(flaw::SHARE_UPGRADES) {
            0
        } else {
            UPGRADABLE
        }
    }

    /// Keeps the gate, or lets go of it where the caller does not read.
    fn begin_upgradably(&self, reads: bool) {
        if reads {
            self.gate.mark_queued();
        } else {
            // SAFETY: acquired by the caller.
            unsafe { self.gate.release(&()) };
        }
    }

    /// Goes on as any other reader.  Never blocks.
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

    /// The same, and a thread that sleeps for the gate, if one does, is the next to have it.
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
            self.gate.release_queued_fairly();
        }
    }

    /// Takes the caller's bit away, if it is upgradable by that and not by the gate.
    fn end_bit(&self) -> bool {
        let is_by_bit = self.is_upgradable_by_bit();
        if is_by_bit {
            let word = self.word.fetch_and(!UPGRADABLE, RW_MARK);
            // The head may have waited for this.  A writer wakes it later.
            if word & (PARKED | WRITER) == PARKED {
                Self::wake_head(&raw const self.word);
            }
        }
        is_by_bit
    }

    /// Whether the upgradable reader, which the caller is, has come without the gate.
    fn is_upgradable_by_bit(&self) -> bool {
        self.word.load(Order::RELAXED) & UPGRADABLE != 0
    }

    /// Blocks until the caller is the only one that reads, and holds the lock to write; or until
    /// patience runs out, and reads on upgradably.  Nobody has written in between.
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
            // SAFETY: it has the right to upgrade, which it needs no more.
            unsafe { self.end_upgradable() };
        }
        outcome
    }

    /// Blocks until the caller is the only one that reads, and holds the lock to write, or patience
    /// runs out; it keeps what makes it an upgradable reader, and is one again as soon as it goes on to
    /// [read](Self::downgrade).
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

    /// The same, of one that has the gate and no deadline.
    fn upgrade_as_head(&self) {
        let marks = if mutant(flaw::UPGRADE_UNRESERVED) {
            PENDING
        } else {
            PENDING | RESERVED
        };
        // Nobody else is the head, so no marks stand there.
        let mut word = self.word.load(Order::RELAXED);
        while let Err(now) =
            self.word
                .compare_exchange(word, (word - 1) | marks, Order::RELAXED, Order::RELAXED)
        {
            word = now;
        }
        Self::reads_less();
        let _ = self.wait_as_head(&Patience::ENDLESS, WRITER | READERS, marks, |this, word| {
            this.word
                .compare_exchange(
                    word,
                    written(without(word, MARKS)),
                    RW_UPGRADE,
                    Order::RELAXED,
                )
                .is_ok()
        });
    }

    /// The same, by looks, of any other.
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
            self.word.fetch_or(RESERVED, RW_MARK);
            if spinner.step() == Advice::Sleep {
                nap(NAP_NANOSECONDS);
            }
        }
    }

    /// The same, if nobody else reads; never blocks.
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

    /// [`upgrade_for_a_while`](Self::upgrade_for_a_while), if nobody else reads; never blocks.
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
        while word & READERS == 1 {
            // A caller that has the gate is the head; beside one that has the bit another may sleep.
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
        false
    }

    /// Wakes the head after a release, when the lock may be somebody else's memory
    /// already: its address is only a name.
    #[cold]
    fn wake_head(word: *const AtomicU32) {
        if !mutant(flaw::FORGET_WAKE) {
            wake(word, 1, HEAD);
        }
    }

    /// Whether somebody held the lock a moment ago.
    ///
    /// ```
    /// use cohort::rwlock::{RawRwLock, Recursion};
    ///
    /// let lock = RawRwLock::new();
    /// assert!(!lock.is_locked());
    /// assert!(lock.try_read(Recursion::Allowed) && lock.is_locked());
    /// ```
    pub fn is_locked(&self) -> bool {
        self.word.load(Order::RELAXED) & (WRITER | READERS) != 0
    }

    /// Whether the lock was free a moment ago, and no waiter had left a mark.
    ///
    /// ```
    /// use cohort::rwlock::{RawRwLock, Recursion};
    ///
    /// let lock = RawRwLock::new();
    /// assert!(lock.is_at_rest() && lock.try_read(Recursion::Allowed) && !lock.is_at_rest());
    /// ```
    pub fn is_at_rest(&self) -> bool {
        self.word.load(Order::RELAXED) == 0
    }

    /// Whether as many held the lock to read, a moment ago, as can be counted.
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

    /// Whether a reader that came a moment ago had to wait.
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

    /// In a forked child no thread waits; holders stay what they were.
    ///
    /// Readers counted beside a writer are about to turn back, which those of the parent never do.
    /// Other threads of the child may be about to as well, so only a lone thread clears them.
    #[cold]
    fn inherit(&self) {
        let is_written = self.word.load(Order::RELAXED) & WRITER != 0;
        let ghosts = if is_written && is_alone() && !mutant(flaw::KEEP_GHOSTS) {
            READERS
        } else {
            0
        };
        self.word
            .fetch_and(!(MARKS | COUNTS | TAKEN | ghosts), RW_MARK);
        // An upgradable reader stays one, and keeps the gate, where marks of the parent's do no harm.
        if !self.gate.is_queued() {
            // SAFETY: the caller is alone, and no thread of this process is in it.
            unsafe { self.gate.inherit(None) };
        }
    }
}

// SAFETY: the methods of the same names, which share and exclude.
unsafe impl RawShared for RawRwLock {
    type Context = ();

    #[inline]
    /// # Panics
    /// If as many hold it already as can be counted.
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

/// What keeps out the calling thread.
#[inline(always)]
fn bars(recursion: Recursion) -> u32 {
    if recursion == Recursion::Allowed && thread().reading.get() > 0 {
        SHUT
    } else {
        BARS
    }
}

/// What a reader that finds that word adds to be counted.
#[inline(always)]
const fn counted(word: u32) -> u32 {
    if word & COUNTS != 0 && word & TAKEN != TAKEN {
        ONCE
    } else {
        0
    }
}

/// The word with one reader more.
#[inline(always)]
const fn one_more(word: u32) -> u32 {
    word + counted(word) + 1
}

/// The word without those marks.  When readers passed is forgotten with the last.
#[inline(always)]
const fn without(word: u32, marks: u32) -> u32 {
    let left = word & !marks;
    if left & (MARKS | COUNTS) == 0 {
        left & !TAKEN
    } else {
        left
    }
}

/// How often the lock has been taken, by its word, since the count began; nothing if that has come to
/// its end.
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
