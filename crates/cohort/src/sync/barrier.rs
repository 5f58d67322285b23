//! `Barrier`: threads wait until all of a group have arrived.
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `arrived` | arriving threads, under its lock | the threads of this round that have arrived |
//! | `round` | the last thread of a round, under that lock | the number of complete rounds, modulo `WaitCell::MAX + 1` |
//! | `threads` | | the size of the group |
//!
//! An arriving thread reads `round` under the lock, so it never sees an earlier round's number. It
//! waits outside the lock, for any other number. A waiter would miss the end of its round only if
//! 2³¹ further rounds ended while it is not running.

use crate::basic::Futex;
use crate::door::{constructor, flaws, mutant, orders};
use crate::sync::mutex::Mutex;
use crate::wait::WaitCell;
use core::fmt;
use core::panic::RefUnwindSafe;

orders! {
    /// Publishes the writes of all threads of the round, which the lock has given the last one.
    BARRIER_OPEN = Release;
    /// A thread that passes sees them.
    BARRIER_PASS = Acquire;
}

flaws! {
    /// The last thread leaves the count for the next round.
    KEEP_COUNT = "barrier.keep-count";
    /// The last thread but one opens the barrier.
    OPEN_EARLY = "barrier.open-early";
}

/// All waiters are woken at once.
const CLASS: u32 = 1;

/// Lets the threads of a group wait until all of them have arrived, any number of times; as
/// [`std::sync::Barrier`](https://doc.rust-lang.org/std/sync/struct.Barrier.html). Writes before
/// [`wait`](Self::wait) are visible to all threads after it.
///
/// ```
/// use cohort::{Barrier, Mutex};
///
/// let (barrier, words) = (Barrier::new(4), Mutex::new(0));
/// std::thread::scope(|scope| {
///     for _ in 0..4 {
///         scope.spawn(|| {
///             *words.lock() += 1;
///             barrier.wait();
///             assert_eq!(*words.lock(), 4);
///         });
///     }
/// });
/// ```
pub struct Barrier {
    arrived: Mutex<usize, Futex>,
    round: WaitCell,
    threads: usize,
}

// No panic leaves a round half counted.
impl RefUnwindSafe for Barrier {}

/// The end of a wait at a [`Barrier`].
///
/// ```
/// let result: cohort::BarrierWaitResult = cohort::Barrier::new(1).wait();
/// assert!(result.is_leader());
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// Whether the caller was the last of its round: true for one thread of each round.
    ///
    /// ```
    /// let barrier = cohort::Barrier::new(1);
    /// assert!(barrier.wait().is_leader());
    /// ```
    #[must_use]
    pub const fn is_leader(&self) -> bool {
        self.0
    }
}

impl Barrier {
    constructor! {
        /// Creates a barrier for a group of `threads`; 0 is as 1.
        ///
        /// ```
        /// static BARRIER: cohort::Barrier = cohort::Barrier::new(1);
        /// BARRIER.wait();
        /// ```
        #[must_use]
        pub fn new(threads: usize) -> Self {
            Self {
                arrived: Mutex::from_raw(Futex::new(), 0),
                round: WaitCell::new(),
                threads,
            }
        }
    }

    /// Blocks until all threads of the group have called it; then the next round begins.
    ///
    /// ```
    /// let barrier = cohort::Barrier::new(2);
    /// let leaders = std::thread::scope(|scope| {
    ///     let other = scope.spawn(|| barrier.wait().is_leader());
    ///     [barrier.wait().is_leader(), other.join().unwrap()]
    /// });
    /// assert_ne!(leaders[0], leaders[1]);
    /// ```
    pub fn wait(&self) -> BarrierWaitResult {
        let round = self.arrived.locking(|arrived| {
            *arrived += 1;
            // The lock orders the reads and writes of the round's number.
            let round = self.round.value(crate::door::Order::RELAXED);
            let missing = self.threads.saturating_sub(*arrived);
            if missing > usize::from(mutant(flaw::OPEN_EARLY)) {
                return Some(round);
            }
            if !mutant(flaw::KEEP_COUNT) {
                *arrived = 0;
            }
            let next = if round == WaitCell::<crate::wait::MayPark>::MAX {
                0
            } else {
                round + 1
            };
            self.round.set(next, BARRIER_OPEN);
            None
        });
        if let Some(round) = round {
            let is_over = |number| number != round;
            // Many threads may wait at once, so none uses UMWAIT or WFET.
            self.round
                .wait_spaced(BARRIER_PASS, CLASS, is_over, |_| 0, || true);
        }
        BarrierWaitResult(round.is_none())
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").finish_non_exhaustive()
    }
}

impl fmt::Debug for BarrierWaitResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BarrierWaitResult")
            .field("is_leader", &self.is_leader())
            .finish()
    }
}
