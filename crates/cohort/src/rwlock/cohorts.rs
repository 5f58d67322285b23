//! `c-rw-np`, `c-rw-wp`: readers are counted per cohort, writers use any lock (named by Dice et al.
//! 2015 §7 and Chehab et al. 2021 §4.1.2; Calciu et al., *NUMA-Aware Reader-Writer Locks*, 2013).
//!
//! A reader writes a line that only readers of its cohort write, and reads a line that changes when
//! writers acquire and release. Writers queue in a lock of their own, which is NUMA-aware if it is
//! a composition. Its holder closes the lock to readers and waits for the readers of every cohort.
//! It leaves the lock closed for the next writer: for a bounded run, and longer if no reader is
//! owed entry.
//!
//! **Not for** data that is mostly written: a writer reads every cohort's count. Nor for many small
//! objects: a lock takes two lines for each cohort, used or not. Nor for a program that forks while
//! other threads hold it: a child cannot tell which threads they were.
//!
//! | field | written by | read by | meaning |
//! |---|---|---|---|
//! | `phase` | the holder of `writers`; readers add marks | all | whether readers are admitted |
//! | a cohort's `readers` | its readers | the writer | how many are inside, or about to turn back |
//! | a cohort's `owed` | its waiting readers | the writer | how many are owed entry before the next writer |
//! | `turns` | the holder of `writers` | the same | writers in a row that found the lock closed |
//! | `writers` | writers | writers | the writers' queue |
//!
//! [`super::phase`] describes the phase and who waits for whom.
//!
//! [`super::writers`] describes how a writer with a deadline waits.

use super::count::Count;
use super::phase::{Indicators, OPEN, Phase, Wait, next_turn};
use super::writers::ForWriters;
use crate::compose::{CTktTkt, CacheGroup, Place};
use crate::door::{AtomicU32, Cell, Order, orders, thread};
use crate::support::padded::CachePadded;
use cohort_raw::{AbortableShared, Outcome, Patience, RawLock, RawShared, Recursion};
use core::fmt;

orders! {
    /// What a reader read is read before the next writer writes.
    RWC_READ_DONE = Release;
}

/// A cohort's readers, on two lines of their own: processors fetch lines in pairs.
#[derive(Debug, Default)]
#[repr(C, align(128))]
struct Indicator {
    readers: Count,
    owed: Count,
}

impl Indicators for [Indicator] {
    /// The cohort.
    type CountedAt = usize;

    #[inline(always)]
    fn enter(&self, cohort: usize) -> usize {
        self[cohort].readers.enter();
        cohort
    }

    #[inline(always)]
    fn take_back(&self, cohort: usize) {
        self[cohort].readers.leave(Order::RELAXED);
    }

    fn is_idle(&self, order: Order) -> bool {
        self.iter().all(|cohort| cohort.readers.is_zero(order))
    }

    fn wait_until_idle(&self, patience: &Patience, wait: &Wait) -> Outcome {
        for cohort in self {
            if cohort.readers.wait_for_zero(patience, wait) == Outcome::GaveUp {
                return Outcome::GaveUp;
            }
        }
        Outcome::Acquired
    }

    fn owe(&self, cohort: usize) -> usize {
        self[cohort].owed.enter();
        cohort
    }

    fn pay(&self, cohort: usize) {
        self[cohort].owed.leave(Order::RELAXED);
    }

    fn owes(&self) -> bool {
        self.iter()
            .any(|cohort| !cohort.owed.is_zero(Order::RELAXED))
    }

    #[inline]
    fn wait_until_paid(&self, patience: &Patience, wait: &Wait) -> Option<bool> {
        let mut empty = true;
        for cohort in self {
            if cohort.owed.wait_for_zero(patience, wait) == Outcome::GaveUp {
                return None;
            }
            empty &= cohort.readers.is_zero(Order::RELAXED);
        }
        Some(empty)
    }
}

/// The context of one acquisition: a reader's cohort, or a writer's context of the writers' lock.
#[derive(Debug, Default)]
pub struct SharedContext<C> {
    cohort: Cell<usize>,
    writer: C,
}

/// Notes where a reader is counted; returns whether it is.
#[inline(always)]
fn note<C>(cx: &SharedContext<C>, place: Option<usize>) -> bool {
    if let Some(cohort) = place {
        cx.set_cohort(cohort);
    }
    place.is_some()
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

/// A reader–writer lock: `Writers` excludes writers, readers are counted at the level `At`, and
/// `NEUTRAL` says that neither side is preferred. Up to `TURNS` writers follow each other before
/// one checks whether readers are owed entry. Cohorts beyond `COHORTS` share counts.
///
/// A thread that migrates is uncounted where it was counted. A writers' lock that cannot detect
/// waiters is wrapped in [`Counted`](crate::compose::Counted).
///
/// ```
/// use cohort::compose::{CMcsMcs, Numa};
/// use cohort::{RwLock, rwlock::CohortRw};
///
/// // Readers are counted by NUMA node, writers take c-mcs-mcs.
/// let total: RwLock<u64, CohortRw<CMcsMcs, true, Numa>> = RwLock::from(1);
/// assert_eq!(total.reading(|total| *total), 1);
/// ```
#[repr(C)]
pub struct CohortRw<
    Writers,
    const NEUTRAL: bool = true,
    At = CacheGroup,
    const TURNS: u32 = 32,
    const COHORTS: usize = 32,
> {
    indicators: [Indicator; COHORTS],
    phase: CachePadded<AtomicU32>,
    turns: CachePadded<Cell<u32>>,
    writers: CachePadded<Writers>,
    at: At,
}

/// `c-rw-np`: neither readers nor writers are preferred.
///
/// Readers are counted per shared cache, since a contended line is expensive as soon as it leaves
/// one; the papers count them by NUMA node.
///
/// ```
/// use cohort::{RwLock, rwlock::CRwNp};
///
/// let total: RwLock<u64, CRwNp> = RwLock::from(1);
/// total.writing(|total| *total += 1);
/// assert_eq!(total.reading(|total| *total), 2);
/// ```
pub type CRwNp<Writers = CTktTkt, At = CacheGroup> = CohortRw<Writers, true, At>;

/// `c-rw-wp`: writers are preferred for up to five milliseconds.
///
/// ```
/// use cohort::{RwLock, rwlock::CRwWp};
///
/// let total: RwLock<u64, CRwWp> = RwLock::from(1);
/// total.writing(|total| *total += 1);
/// assert_eq!(total.reading(|total| *total), 2);
/// ```
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
    /// A free lock, with that writers' lock, and with readers counted by cohorts of that place.
    #[must_use]
    pub fn new(writers: Writers, at: At) -> Self {
        const { assert!(COHORTS > 0) };
        Self {
            indicators: core::array::from_fn(|_| Indicator::default()),
            phase: CachePadded(AtomicU32::new(OPEN)),
            turns: CachePadded(Cell::new(0)),
            writers: CachePadded(writers),
            at,
        }
    }

    #[inline(always)]
    fn phase(&self) -> Phase<'_, [Indicator]> {
        Phase {
            word: &self.phase.0,
            readers: &self.indicators,
            is_neutral: NEUTRAL,
        }
    }

    /// The cohort where the caller is counted.
    #[inline(always)]
    fn cohort(&self) -> usize {
        self.at.cohort() % COHORTS
    }

    /// Whether a writer leaves the lock closed for the next.
    fn passes_on(&self) -> bool {
        // SAFETY: the caller holds the writers' lock, as every thread that reads the turns does.
        let turn = self.turns.0.with(|turns| unsafe { *turns });
        let next = next_turn(turn, TURNS, || self.owes_entry());
        if next != Some(turn) {
            // SAFETY: as above.
            self.turns
                .0
                .with_mut(|turns| unsafe { *turns = next.unwrap_or(0) });
        }
        next.is_some()
    }

    /// Whether a waiting reader is owed entry before the next writer: a hint.
    pub fn owes_entry(&self) -> bool {
        self.indicators.owes()
    }
}

// SAFETY: writers exclude each other by their lock. Each either found no reader after closing the
// lock, or was handed the lock by a writer that had. A reader that enters found the lock open, so
// the writer that closes it later counts the reader.
unsafe impl<Writers, const NEUTRAL: bool, At, const TURNS: u32, const COHORTS: usize> RawShared
    for CohortRw<Writers, NEUTRAL, At, TURNS, COHORTS>
where
    Writers: ForWriters,
    At: Place,
{
    type Context = SharedContext<Writers::Context>;

    #[inline]
    unsafe fn read(&self, cx: &Self::Context, recursion: Recursion) {
        // SAFETY: the caller's.
        let _ = unsafe { self.read_within(cx, recursion, &Patience::ENDLESS) };
    }

    #[inline]
    unsafe fn try_read(&self, cx: &Self::Context, recursion: Recursion) -> bool {
        note(cx, self.phase().try_read(self.cohort(), recursion))
    }

    #[inline]
    unsafe fn release_read(&self, cx: &Self::Context) {
        let reading = &thread().reading;
        reading.set(reading.get().saturating_sub(1));
        self.indicators[cx.cohort()].readers.leave(RWC_READ_DONE);
    }

    #[inline]
    unsafe fn write(&self, cx: &Self::Context) {
        // SAFETY: the caller's.
        unsafe { self.writers.0.acquire(&cx.writer) };
        let _ = self.phase().close(&Patience::ENDLESS);
    }

    #[inline]
    unsafe fn try_write(&self, cx: &Self::Context) -> bool {
        let writers = &self.writers.0;
        // SAFETY: the caller's.
        if !unsafe { writers.try_acquire(&cx.writer) } {
            return false;
        }
        if self.phase().try_close() {
            return true;
        }
        // SAFETY: acquired above, with this context.
        unsafe { writers.release(&cx.writer) };
        false
    }

    #[inline]
    unsafe fn release_write(&self, cx: &Self::Context) {
        let writers = &self.writers.0;
        // SAFETY: the caller's. The waiting writer finds the lock closed.
        let stays_closed = unsafe { writers.has_writers(&cx.writer) } && self.passes_on();
        if !stays_closed {
            self.phase().open();
        }
        // SAFETY: the caller's.
        unsafe { writers.release(&cx.writer) };
    }

    fn is_locked(&self) -> bool {
        self.is_write_locked() || !self.indicators.is_idle(Order::RELAXED)
    }

    fn is_write_locked(&self) -> bool {
        self.phase().is_writing()
    }
}

// SAFETY: as above; a writer that gives up has opened the lock again.
unsafe impl<Writers, const NEUTRAL: bool, At, const TURNS: u32, const COHORTS: usize>
    AbortableShared for CohortRw<Writers, NEUTRAL, At, TURNS, COHORTS>
where
    Writers: ForWriters,
    At: Place,
{
    #[inline]
    unsafe fn read_within(
        &self,
        cx: &Self::Context,
        recursion: Recursion,
        patience: &Patience,
    ) -> Outcome {
        let (phase, cohort) = (self.phase(), self.cohort());
        let place = phase
            .read_at_once(cohort)
            .or_else(|| phase.read_contended(cohort, recursion, patience));
        if note(cx, place) {
            Outcome::Acquired
        } else {
            Outcome::GaveUp
        }
    }

    unsafe fn write_within(&self, cx: &Self::Context, patience: &Patience) -> Outcome {
        let writers = &self.writers.0;
        // SAFETY: the caller's.
        if unsafe { writers.write_within(&cx.writer, patience) } == Outcome::GaveUp {
            return Outcome::GaveUp;
        }
        let outcome = self.phase().close(patience);
        if outcome == Outcome::GaveUp {
            // SAFETY: acquired above, with this context.
            unsafe { writers.release(&cx.writer) };
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use crate::door::waits_often;
    use core::time::Duration;
    use std::thread::{scope, sleep, spawn};

    /// Longer than the time in which a thread that waits often waits again.
    const LONG: Duration = Duration::from_millis(2);

    /// The readers of each cohort leave at another time.
    #[test]
    fn a_writer_that_waits_for_two_cohorts_waits_once() {
        let waits_often_after = |acquisitions: u32| {
            let lock: CRwNp = CohortRw::default();
            for _ in 0..acquisitions {
                let cohorts = &lock.indicators[..2];
                for cohort in cohorts {
                    let _ = cohort.readers.enter();
                }
                scope(|scope| {
                    scope.spawn(|| {
                        for cohort in cohorts {
                            sleep(LONG);
                            cohort.readers.leave(RWC_READ_DONE);
                        }
                    });
                    assert_eq!(lock.phase().close(&Patience::ENDLESS), Outcome::Acquired);
                    lock.phase().open();
                });
                sleep(LONG);
            }
            waits_often()
        };
        let writer = spawn(move || waits_often_after(u8::BITS));
        assert!(!writer.join().expect("no assertion failed"));
    }
}
