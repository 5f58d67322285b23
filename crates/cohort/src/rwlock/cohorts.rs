//! `c-rw-np`, `c-rw-wp`: readers are counted in their own cohort, writers take any lock
//! (000 §7 and 002 §4.1.2 name them; Calciu et al., *NUMA-Aware Reader-Writer Locks*,
//! 2013).
//!
//! A reader writes one line, that only readers of its cohort write, and looks at one
//! that changes when writers come and go.  Writers queue in a lock of their own, which
//! keeps them in a cohort if it is a composition; the one that has it closes the lock to
//! readers, waits for those of every cohort, and leaves it closed for the next writer: for
//! some in a row, and for more if no reader is owed entry.
//!
//! **Not for** data that is mostly written: a writer looks at every cohort's count.  Nor
//! for many small objects: a lock is two lines for each of its cohorts, used or not.  Nor
//! for a program that forks while others hold it: no child can tell who they were.
//!
//! | field | written by | read by | meaning |
//! |---|---|---|---|
//! | `phase` | whoever holds `writers`; readers add marks | everybody | the table below |
//! | a cohort's `readers` | its readers, as they come and go | the writer | how many are inside, or about to see that they may not |
//! | a cohort's `owed` | its readers that wait | the writer | how many are let in before the next writer |
//! | `turns` | whoever holds `writers` | the same | how many writers in a row found the lock closed, up to a bound |
//! | `WANTED` in either | the writer | its readers | the writer sleeps until the count is zero |
//! | `writers` | writers | writers | who of them is next |
//!
//! | bits of `phase` | meaning | set and cleared by |
//! |---|---|---|
//! | none | open | the writer that leaves |
//! | `PENDING` | a writer waits for readers: new ones wait behind it | the writer |
//! | `WRITING` | it does not any more, or soon finds out: nobody reads | the writer |
//! | `ASLEEP` | readers sleep until it is open | they; the writer that opens it |
//! | `ASLEEP_PASSING` | readers that pass a waiting writer sleep until it waits | they; a writer that opens it or goes back to waiting |
//!
//! **Agreement.**  A reader counts itself and then looks at the phase; a writer sets
//! `WRITING` and then looks at the counts; between the two each passes a full fence.  So
//! a reader that finds no `WRITING` is counted by the writer.  One that finds it is
//! counted for a moment all the same, and takes that back.  The writer never waits for
//! readers in `WRITING`: it goes back to `PENDING`, because readers may be inside that
//! have still to pass it.
//!
//! **Who passes.**  A thread that holds a read lock already, of whichever lock, passes
//! `PENDING`: it might hold this one, and waiting behind a writer would never end.  Any
//! other reader passes after five milliseconds, since a reader that is inside might wait
//! for it.  [`Recursion::Excluded`] does away with both.
//!
//! **Fairness.**  A reader that waits is owed entry: at once in the neutral form, after
//! five milliseconds in the one that prefers writers.  After `TURNS` writers in a row one
//! that finds anybody owed when it leaves opens the lock, and one that comes then waits,
//! with the lock open, until nobody is: nobody becomes owed who finds the lock open, so
//! that is soon.  So at most `TURNS` and two writers get in before a reader that is owed,
//! and readers that do not pass hold up a writer no longer than those inside take.  Among
//! writers it is as fair as their lock.
//! Only sections longer than five milliseconds, overlapping for ever, keep a writer out,
//! since their readers pass; unless recursion is excluded.
//!
//! Writers that can give up look for their lock now and then instead of queueing for it,
//! so others come first.

use super::raw::DEFERENCE_NANOSECONDS;
use crate::basic::futex::NAP_NANOSECONDS;
use crate::compose::{CTktTkt, CacheGroup, Place};
use crate::door::{
    Advice, AtomicU32, Cell, Order, Spinner, expired, fence_after_update, mutant, nap, now, orders,
    sleep_on, thread, wake,
};
use cohort_raw::{
    AbortableShared, DetectsWaiters, Outcome, Patience, RawLock, RawShared, RawTry, Recursion,
};
use core::fmt;

orders! {
    /// Between counting oneself and looking at the phase: either the reader sees that
    /// the lock is closed, or the writer that closes it counts the reader.
    RWC_ARRIVE = SeqCst;
    /// The same, from the writer's side.
    RWC_CLOSE = SeqCst;
    /// A reader sees what the last writer did.
    RWC_READ = Acquire;
    /// What a reader read is read before the next writer writes.
    RWC_READ_DONE = Release;
    /// A writer sees that all readers have done so.
    RWC_WRITE = Acquire;
    /// What a writer did is seen by readers; the next writers' updates of the phase go on
    /// publishing it.
    RWC_WRITE_DONE = Release;
}

const OPEN: u32 = 0;
const PENDING: u32 = 1;
const WRITING: u32 = 2;
const CLOSED: u32 = PENDING | WRITING;
const ASLEEP: u32 = 4;
const ASLEEP_PASSING: u32 = 8;

/// Classes of sleepers on the phase.
const WAITING: u32 = 1;
const PASSING: u32 = 2;
const EVERY_CLASS: u32 = WAITING | PASSING;

const WANTED: u32 = 1 << 31;

/// The one class of sleepers on a count.
const DRAINER: u32 = 1;

/// A count that one thread at a time waits for to be zero: the holder of the writers'
/// lock.
#[derive(Debug, Default)]
#[repr(transparent)]
struct Count(AtomicU32);

impl Count {
    #[inline(always)]
    fn enter(&self) {
        self.0.fetch_add(1, Order::RELAXED);
    }

    #[inline(always)]
    fn leave(&self, order: Order) {
        let at = &raw const self.0;
        if self.0.fetch_sub(1, order) == WANTED | 1 {
            Self::wake(at);
        }
    }

    /// Wakes the writer, when the lock may be somebody else's memory already: the
    /// address is only a name.
    #[cold]
    fn wake(at: *const AtomicU32) {
        if !mutant("rw-cohorts.forget-writer") {
            wake(at, 1, DRAINER);
        }
    }

    #[inline(always)]
    fn is_zero(&self, order: Order) -> bool {
        self.0.load(order) & !WANTED == 0
    }

    /// Blocks until the count was zero or patience runs out.
    #[inline]
    fn wait_for_zero(&self, patience: &Patience) -> Outcome {
        if self.is_zero(Order::RELAXED) {
            return Outcome::Acquired;
        }
        self.wait_long(patience)
    }

    #[cold]
    fn wait_long(&self, patience: &Patience) -> Outcome {
        let mut spinner = Spinner::new();
        let mut marked = false;
        let outcome = loop {
            let word = self.0.load(Order::RELAXED);
            if word & !WANTED == 0 {
                break Outcome::Acquired;
            }
            if patience.deadline().is_some_and(expired) {
                break Outcome::GaveUp;
            }
            if spinner.step() == Advice::Again {
                continue;
            }
            let wanted = word | WANTED;
            if word == wanted
                || self
                    .0
                    .compare_exchange(word, wanted, Order::RELAXED, Order::RELAXED)
                    .is_ok()
            {
                marked = true;
                let _ = sleep_on(&self.0, wanted, DRAINER, patience.deadline());
                spinner = Spinner::new();
            }
        };
        if marked {
            self.0.fetch_and(!WANTED, Order::RELAXED);
        }
        outcome
    }
}

/// A cohort's readers, on lines of their own: processors fetch them in pairs.
#[derive(Debug, Default)]
#[repr(C, align(128))]
struct Indicator {
    readers: Count,
    owed: Count,
}

/// A field on lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Apart<T>(T);

/// What one acquisition carries: of a reader its cohort, of a writer the context of the
/// writers' lock.
#[derive(Debug, Default)]
pub struct SharedContext<C> {
    cohort: Cell<usize>,
    writer: C,
}

impl<C> SharedContext<C> {
    fn cohort(&self) -> usize {
        // SAFETY: only the acquisition that owns the context touches it.
        self.cohort.with(|cohort| unsafe { *cohort })
    }

    fn set_cohort(&self, cohort: usize) {
        // SAFETY: as above.
        self.cohort.with_mut(|place| unsafe { *place = cohort });
    }
}

/// The lock: `Writers` exclude each other, readers are counted at the level `At`, and
/// `NEUTRAL` says that neither side is preferred.  Up to `TURNS` writers follow another
/// before one of them asks whether readers are owed entry.  Cohorts beyond `COHORTS` share
/// counts.
///
/// A thread that is moved departs where it arrived.  A writers' lock that cannot tell
/// whether others wait is [`Counted`](crate::compose::Counted).
#[repr(C)]
pub struct CohortRw<
    Writers,
    const NEUTRAL: bool = true,
    At = CacheGroup,
    const TURNS: u32 = 32,
    const COHORTS: usize = 32,
> {
    indicators: [Indicator; COHORTS],
    phase: Apart<AtomicU32>,
    turns: Apart<Cell<u32>>,
    writers: Apart<Writers>,
    at: At,
}

/// `c-rw-np`: neither readers nor writers are preferred.
///
/// Readers are counted where a cache is shared, since a line that many write is dear as
/// soon as it leaves one; the papers count them by NUMA node.
pub type CRwNp<Writers = CTktTkt, At = CacheGroup> = CohortRw<Writers, true, At>;

/// `c-rw-wp`: writers are preferred for up to five milliseconds.
pub type CRwWp<Writers = CTktTkt, At = CacheGroup> = CohortRw<Writers, false, At>;

impl<Writers, const NEUTRAL: bool, At, const TURNS: u32, const COHORTS: usize> fmt::Debug
    for CohortRw<Writers, NEUTRAL, At, TURNS, COHORTS>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CohortRw").finish_non_exhaustive()
    }
}

impl<Writers, const NEUTRAL: bool, At, const TURNS: u32, const COHORTS: usize> Default
    for CohortRw<Writers, NEUTRAL, At, TURNS, COHORTS>
where
    Writers: RawLock,
    At: Place,
{
    fn default() -> Self {
        Self::new(Writers::default(), At::default())
    }
}

impl<Writers, const NEUTRAL: bool, At, const TURNS: u32, const COHORTS: usize>
    CohortRw<Writers, NEUTRAL, At, TURNS, COHORTS>
where
    Writers: RawLock,
    At: Place,
{
    /// A lock held by nobody, whose writers take that one and whose readers are in
    /// cohorts of that place.
    #[must_use]
    pub fn new(writers: Writers, at: At) -> Self {
        const { assert!(COHORTS > 0) };
        Self {
            indicators: core::array::from_fn(|_| Indicator::default()),
            phase: Apart(AtomicU32::new(OPEN)),
            turns: Apart(Cell::new(0)),
            writers: Apart(writers),
            at,
        }
    }

    /// The caller's cohort, noted in its context.
    #[inline]
    fn enter(&self, cx: &SharedContext<Writers::Context>) -> &Indicator {
        let cohort = self.at.cohort() % COHORTS;
        cx.set_cohort(cohort);
        &self.indicators[cohort]
    }

    /// Whether the phase bars whom those bits bar.
    #[inline(always)]
    fn bars(&self, barring: u32, order: Order) -> bool {
        self.phase.0.load(order) & barring != 0
    }

    /// Gets in unless the phase bars whom those bits bar.
    #[inline(always)]
    fn arrive(&self, cohort: &Indicator, barring: u32) -> bool {
        cohort.readers.enter();
        fence_after_update(RWC_ARRIVE);
        if self.bars(barring, RWC_READ) {
            // It has read nothing.
            cohort.readers.leave(Order::RELAXED);
            return false;
        }
        let reading = &thread().reading;
        reading.set(reading.get() + 1);
        true
    }

    #[cold]
    fn read_contended(
        &self,
        cohort: &Indicator,
        recursion: Recursion,
        patience: &Patience,
    ) -> Outcome {
        let recurses = recursion == Recursion::Allowed;
        let mut passes = recurses && thread().reading.get() > 0;
        if mutant("rw-cohorts.bar-everybody") {
            passes = false;
        }
        let mut owed = false;
        // Whether the caller waits differently after a time.
        let mut defers = !NEUTRAL || (recurses && !passes);
        let until = now() + DEFERENCE_NANOSECONDS;
        let mut spinner = Spinner::new();
        let outcome = loop {
            let barring = if passes { WRITING } else { CLOSED };
            let phase = self.phase.0.load(Order::RELAXED);
            if phase & barring == 0 {
                if self.arrive(cohort, barring) {
                    break Outcome::Acquired;
                }
                continue;
            }
            if NEUTRAL && !owed {
                owed = true;
                cohort.owed.enter();
            }
            if patience.deadline().is_some_and(expired) {
                break Outcome::GaveUp;
            }
            if defers && now() > until {
                defers = false;
                passes |= recurses;
                if !owed {
                    owed = true;
                    cohort.owed.enter();
                }
                continue;
            }
            if spinner.step() == Advice::Sleep {
                if defers {
                    self.sleep(phase, passes, &patience.at_most(until));
                } else {
                    self.sleep(phase, passes, patience);
                }
                spinner = Spinner::new();
            }
        };
        if owed && (outcome == Outcome::Acquired || !mutant("rw-cohorts.stay-owed")) {
            cohort.owed.leave(Order::RELAXED);
        }
        outcome
    }

    /// Sleeps on a phase that was seen, unless it has changed.
    fn sleep(&self, phase: u32, passes: bool, patience: &Patience) {
        let (mark, class) = if passes {
            (ASLEEP_PASSING, PASSING)
        } else {
            (ASLEEP, WAITING)
        };
        let marked = phase | mark;
        if phase == marked
            || self
                .phase
                .0
                .compare_exchange(phase, marked, Order::RELAXED, Order::RELAXED)
                .is_ok()
        {
            let _ = sleep_on(&self.phase.0, marked, class, patience.deadline());
        }
    }

    /// Wakes every reader of those classes.
    #[cold]
    fn wake_readers(&self, classes: u32) {
        if !mutant("rw-cohorts.forget-readers") {
            wake(&raw const self.phase.0, i32::MAX as u32, classes);
        }
    }

    /// Whether a writer leaves the lock closed for the next.
    fn passes_on(&self) -> bool {
        // SAFETY: the caller holds the writers' lock, as all who look at the turns do.
        let turn = self.turns.0.with(|turns| unsafe { *turns });
        let passes = turn < TURNS || !self.owes_entry() || mutant("rw-cohorts.stay-closed");
        let next = if passes { (turn + 1).min(TURNS) } else { 0 };
        if next != turn {
            // SAFETY: as above.
            self.turns.0.with_mut(|turns| unsafe { *turns = next });
        }
        passes
    }

    /// Lets readers in; the caller holds the writers' lock.
    #[inline]
    fn open(&self) {
        if self.phase.0.swap(OPEN, RWC_WRITE_DONE) & (ASLEEP | ASLEEP_PASSING) != 0 {
            self.wake_readers(EVERY_CLASS);
        }
    }

    /// Whether a reader waits that is let in before the next writer: a hint.
    pub fn owes_entry(&self) -> bool {
        self.indicators
            .iter()
            .any(|cohort| !cohort.owed.is_zero(Order::RELAXED))
    }

    /// Whether somebody reads, or is about to see that it may not.
    fn is_read(&self, order: Order) -> bool {
        self.indicators
            .iter()
            .any(|cohort| !cohort.readers.is_zero(order))
    }

    /// Bars readers for good if nobody is inside; the caller holds the writers' lock.
    #[inline]
    fn bar(&self) -> bool {
        self.phase.0.fetch_or(CLOSED, Order::RELAXED);
        fence_after_update(RWC_CLOSE);
        !self.is_read(RWC_WRITE) || mutant("rw-cohorts.look-once")
    }

    /// Blocks until nobody reads or patience runs out; the caller holds the writers'
    /// lock.
    #[inline]
    fn close(&self, patience: &Patience) -> Outcome {
        // Left closed by the last writer.
        if self.bars(WRITING, Order::RELAXED) {
            return Outcome::Acquired;
        }
        let mut read = false;
        for cohort in &self.indicators {
            if !mutant("rw-cohorts.forget-owed")
                && cohort.owed.wait_for_zero(patience) == Outcome::GaveUp
            {
                return Outcome::GaveUp;
            }
            read |= !cohort.readers.is_zero(Order::RELAXED);
        }
        if !read && self.bar() {
            return Outcome::Acquired;
        }
        self.close_contended(patience)
    }

    #[cold]
    fn close_contended(&self, patience: &Patience) -> Outcome {
        loop {
            self.retreat();
            for cohort in &self.indicators {
                if cohort.readers.wait_for_zero(patience) == Outcome::GaveUp {
                    if !mutant("rw-cohorts.leave-pending") {
                        self.open();
                    }
                    return Outcome::GaveUp;
                }
            }
            // Readers that pass may have come in the meantime.
            if self.bar() {
                return Outcome::Acquired;
            }
        }
    }

    /// Lets readers in that pass a waiting writer, and no others.
    fn retreat(&self) {
        let phase = &self.phase.0;
        let mut old = phase.load(Order::RELAXED);
        loop {
            let new = old & !(WRITING | ASLEEP_PASSING) | PENDING;
            match phase.compare_exchange(old, new, Order::RELAXED, Order::RELAXED) {
                Ok(_) => break,
                Err(now) => old = now,
            }
        }
        if old & ASLEEP_PASSING != 0 && !mutant("rw-cohorts.forget-passing") {
            self.wake_readers(PASSING);
        }
    }
}

// SAFETY: writers exclude each other by their lock, and each either has found no reader
// after it had barred them, or got the lock from one that had.  A reader that gets in has
// not been barred, so whoever bars it later counts it.
unsafe impl<Writers, const NEUTRAL: bool, At, const TURNS: u32, const COHORTS: usize> RawShared
    for CohortRw<Writers, NEUTRAL, At, TURNS, COHORTS>
where
    Writers: RawTry + DetectsWaiters,
    At: Place,
{
    type Context = SharedContext<Writers::Context>;

    #[inline]
    fn read(&self, cx: &Self::Context, recursion: Recursion) {
        let _ = self.read_within(cx, recursion, &Patience::ENDLESS);
    }

    #[inline]
    fn try_read(&self, cx: &Self::Context, recursion: Recursion) -> bool {
        let passes = recursion == Recursion::Allowed && thread().reading.get() > 0;
        let barring = if passes { WRITING } else { CLOSED };
        !self.bars(barring, Order::RELAXED) && self.arrive(self.enter(cx), barring)
    }

    #[inline]
    unsafe fn release_read(&self, cx: &Self::Context) {
        let reading = &thread().reading;
        reading.set(reading.get().saturating_sub(1));
        self.indicators[cx.cohort()].readers.leave(RWC_READ_DONE);
    }

    #[inline]
    fn write(&self, cx: &Self::Context) {
        self.writers.0.acquire(&cx.writer);
        let _ = self.close(&Patience::ENDLESS);
    }

    #[inline]
    fn try_write(&self, cx: &Self::Context) -> bool {
        let writers = &self.writers.0;
        if !writers.try_acquire(&cx.writer) {
            return false;
        }
        if self.bars(WRITING, Order::RELAXED) {
            return true;
        }
        if !self.is_read(Order::RELAXED) && !self.owes_entry() {
            if self.bar() {
                return true;
            }
            self.open();
        }
        // SAFETY: acquired above, with this context.
        unsafe { writers.release(&cx.writer) };
        false
    }

    #[inline]
    unsafe fn release_write(&self, cx: &Self::Context) {
        let writers = &self.writers.0;
        // Whoever waits comes, and finds it closed.
        let stays_closed = writers.has_waiters(&cx.writer) && self.passes_on();
        if !stays_closed {
            self.open();
        }
        // SAFETY: the caller's.
        unsafe { writers.release(&cx.writer) };
    }

    fn is_locked(&self) -> bool {
        self.is_write_locked() || self.is_read(Order::RELAXED)
    }

    fn is_write_locked(&self) -> bool {
        self.bars(WRITING, Order::RELAXED)
    }
}

// SAFETY: as above; a writer that gives up has opened the lock again.
unsafe impl<Writers, const NEUTRAL: bool, At, const TURNS: u32, const COHORTS: usize>
    AbortableShared for CohortRw<Writers, NEUTRAL, At, TURNS, COHORTS>
where
    Writers: RawTry + DetectsWaiters,
    At: Place,
{
    #[inline]
    fn read_within(
        &self,
        cx: &Self::Context,
        recursion: Recursion,
        patience: &Patience,
    ) -> Outcome {
        let cohort = self.enter(cx);
        if !self.bars(CLOSED, Order::RELAXED) && self.arrive(cohort, CLOSED) {
            return Outcome::Acquired;
        }
        self.read_contended(cohort, recursion, patience)
    }

    fn write_within(&self, cx: &Self::Context, patience: &Patience) -> Outcome {
        let writers = &self.writers.0;
        if patience.deadline().is_none() {
            self.write(cx);
            return Outcome::Acquired;
        }
        let mut spinner = Spinner::new();
        while !writers.try_acquire(&cx.writer) {
            if patience.deadline().is_some_and(expired) {
                return Outcome::GaveUp;
            }
            if spinner.step() == Advice::Sleep {
                nap(NAP_NANOSECONDS);
            }
        }
        let outcome = self.close(patience);
        if outcome == Outcome::GaveUp {
            // SAFETY: acquired above, with this context.
            unsafe { writers.release(&cx.writer) };
        }
        outcome
    }
}
