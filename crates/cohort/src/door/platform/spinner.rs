//! How a waiter passes the time between two looks: pauses that double, then yields.

use super::super::{Advice, Attempt, WaitPolicy};
use super::{AtomicU32, calls, now};
use core::sync::atomic::{AtomicU64, Ordering};

/// Looks with pauses between them, before the waiter yields between looks.
const PAUSES: u32 = 64;

/// Does nothing: without a system, every waiter spins.
pub const fn set_policy(_policy: WaitPolicy) {}

/// The wait policy.
#[must_use]
pub const fn policy() -> WaitPolicy {
    WaitPolicy::Spin
}

/// How many CPUs the program runs on: at least two, as far as locks care.
#[must_use]
pub const fn cpus() -> u32 {
    2
}

/// Whether a waiter should spin before it sleeps: its sleep polls.
#[must_use]
pub const fn should_spin() -> bool {
    false
}

/// Does nothing.
pub const fn spin_before_sleep(_awaited: impl Fn() -> bool + Copy) {}

/// Whether the caller should try something that pays only now and then, once in `one_in` calls: a power of
/// two.
#[must_use]
pub fn is_worth_a_try(one_in: u32) -> bool {
    random() & u64::from(one_in - 1) == 0
}

/// The same.
#[must_use]
pub fn is_counted(one_in: u32) -> bool {
    is_worth_a_try(one_in)
}

/// Bits for a waiter that must not keep step with others. Not for secrets.
#[must_use]
pub fn random() -> u64 {
    static STATE: AtomicU64 = AtomicU64::new(0);
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut bits = STATE.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
    bits = (bits ^ (bits >> 32)).wrapping_mul(STEP);
    bits = (bits ^ (bits >> 29)).wrapping_mul(STEP);
    bits ^ (bits >> 32)
}

/// Whether waiters publish that they are off the CPU: no.
#[inline(always)]
#[must_use]
pub const fn shows_absence() -> bool {
    false
}

/// Whether threads ever try what only pays now and then.
#[inline(always)]
#[must_use]
pub const fn tries_anything() -> bool {
    true
}

/// Does nothing.
pub const fn keep_cpu(_keeps: bool) {}

/// Whether a wait that keeps its CPU has lost it: unknown.
#[must_use]
pub const fn has_lost_cpu() -> bool {
    false
}

/// Yields; whether another thread has run is unknown.
#[must_use]
pub fn offer_cpu() -> bool {
    calls::yield_now();
    false
}

/// Whether the caller has waited recently.
#[must_use]
pub const fn waits_often() -> bool {
    true
}

/// Does nothing.
pub const fn has_waited() {}

/// Whether threads wait for a CPU: unknown.
#[must_use]
pub const fn threads_lack_cpus() -> Option<bool> {
    None
}

/// One wait: created at its beginning, called between looks.
#[derive(Debug, Default)]
pub struct Spinner {
    looks: u32,
}

impl Spinner {
    /// A spinner for an ordinary wait.
    #[must_use]
    pub const fn new() -> Self {
        Self { looks: 0 }
    }

    /// [`new`](Self::new); so are the others.
    #[must_use]
    pub const fn keeping_turns() -> Self {
        Self::new()
    }

    /// [`new`](Self::new).
    #[must_use]
    pub const fn keeping_turns_briefly() -> Self {
        Self::new()
    }

    /// [`new`](Self::new).
    #[must_use]
    pub const fn keeping_turns_if_lost() -> Self {
        Self::new()
    }

    /// [`new`](Self::new).
    #[must_use]
    pub const fn sparing_turns(_seldom: bool) -> Self {
        Self::new()
    }

    /// [`new`](Self::new).
    #[must_use]
    pub const fn in_line() -> Self {
        Self::new()
    }

    /// Passes a little time and says what to do next: to look again.
    pub fn step(&mut self) -> Advice {
        if self.looks < PAUSES {
            self.looks += 1;
            calls::pause();
        } else {
            calls::yield_now();
        }
        Advice::Again
    }

    /// [`step`](Self::step).
    pub fn step_past(&mut self, _sleepers: bool) -> Advice {
        self.step()
    }

    /// [`step`](Self::step).
    pub fn step_at(&mut self, _word: &AtomicU32, _seen: u32) -> Advice {
        self.step()
    }

    /// Goes on after an advice to sleep.
    pub fn insist(&mut self) {
        calls::yield_now();
    }

    /// Passes a little time, for a wait that cannot sleep.
    pub fn turn(&mut self) {
        let _ = self.step();
    }

    /// The same, for the next few instructions of another thread.
    pub fn moment(&mut self) {
        let _ = self.step();
    }

    /// For the simulated machine.
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    pub const unsafe fn foresee(
        &mut self,
        _word: &AtomicU32,
        _attempt: Attempt,
        _ready: &impl Fn(u32) -> bool,
    ) {
    }

    /// [`step`](Self::step) until that many nanoseconds have passed, by a bounded number of looks: the clock
    /// may stand still.
    pub fn pause(&mut self, nanoseconds: u64) -> Advice {
        let until = now().saturating_add(nanoseconds);
        for _ in 0..PAUSES {
            let _ = self.step();
            if now() >= until {
                break;
            }
        }
        Advice::Again
    }

    /// Polls for that many nanoseconds, with as many looks at most; false as soon as `so` is false.
    pub fn watch(&mut self, nanoseconds: u64, mut so: impl FnMut() -> bool) -> bool {
        let until = now().saturating_add(nanoseconds);
        for _ in 0..nanoseconds {
            if now() >= until {
                break;
            }
            self.spin();
            if !so() {
                return false;
            }
        }
        true
    }

    /// One failed look, by a caller that counts its looks.
    #[inline]
    pub fn spin(&mut self) {
        calls::pause();
    }
}
