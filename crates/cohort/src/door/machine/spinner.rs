//! How a waiter passes the time between two looks: as natively, by the machine's
//! clock.

use super::super::{Advice, WaitPolicy};
use cohort_machine::{Waiting, door};

/// Does nothing: the run says how its waiters wait.
pub fn set_policy(_policy: WaitPolicy) {}

/// How waiters wait.
#[must_use]
pub fn policy() -> WaitPolicy {
    match door::waiting() {
        Waiting::Park => WaitPolicy::Park,
        Waiting::Spin => WaitPolicy::Spin,
        Waiting::Yield => WaitPolicy::Yield,
    }
}

/// How many CPUs the machine has.
#[must_use]
pub fn cpus() -> u32 {
    door::cpus() as u32
}

/// One wait: made at its beginning, asked between looks.
#[derive(Debug, Default)]
pub struct Spinner(door::Wait);

const fn advice(sleeps: bool) -> Advice {
    if sleeps { Advice::Sleep } else { Advice::Again }
}

impl Spinner {
    /// At the beginning of a wait.
    #[must_use]
    pub const fn new() -> Self {
        Self(door::Wait::new())
    }

    /// Passes a little time and says what pays next.
    pub fn step(&mut self) -> Advice {
        advice(self.0.step())
    }

    /// Passes a little time, for a wait that cannot sleep.
    pub fn turn(&mut self) {
        if self.0.step() {
            door::yield_now();
        }
    }

    /// [`step`](Self::step) until that many nanoseconds have passed or sleeping pays.
    pub fn pause(&mut self, nanoseconds: u64) -> Advice {
        advice(self.0.pause(nanoseconds))
    }

    /// One failed look, by a caller that counts its looks itself: passes as little
    /// time as can be, and never gives the CPU away.
    pub fn spin(&mut self) {
        door::spin_once();
    }
}
