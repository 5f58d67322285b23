//! How a waiter passes the time between two looks: as natively, by the machine's
//! clock.

use super::super::{Advice, WaitPolicy, loan};
use super::{AtomicU32, nap};
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

/// Whether the calling thread should try, this time, what pays now and then only:
/// once in `one_in`, a power of two.
pub fn is_worth_a_try(one_in: u32) -> bool {
    let tries = &super::thread().tries;
    let count = tries.get().wrapping_add(1);
    tries.set(count);
    count & (one_in - 1) == 0
}

/// As natively: threads that began alike would all win the same lots.
#[must_use]
pub fn is_counted(one_in: u32) -> bool {
    let lots = &super::thread().lots;
    if lots.get() == 0 {
        lots.set(super::random() as u32);
    }
    super::super::draws(lots, one_in)
}

/// Whether waiters show that they have given their CPU away: they do.
#[inline(always)]
#[must_use]
pub const fn shows_absence() -> bool {
    true
}

/// Whether the calling thread should look before it sleeps: it does not, as natively one that has looked
/// in vain of late.
#[must_use]
pub const fn hopes() -> bool {
    false
}

/// Does not look.
pub fn watch_in_hope(_awaited: impl Fn() -> bool) {}

/// Whether threads ever try what is only worth a try: here they do.
#[inline(always)]
#[must_use]
pub const fn tries_anything() -> bool {
    true
}

/// As natively.
pub fn keep_cpu(keeps: bool) {
    door::keep_cpu(keeps);
}

/// As natively.
#[must_use]
pub fn has_lost_cpu() -> bool {
    door::has_lost_cpu()
}

/// Threads that run or could, those of the background too, and CPUs.
#[must_use]
pub fn workload() -> Option<(i64, i64)> {
    let (threads, cpus) = door::workload()?;
    Some((threads as i64, cpus as i64))
}

/// Whether threads of the run stand in line for a CPU: the simulated scheduler knows.
#[must_use]
pub fn threads_lack_cpus() -> Option<bool> {
    door::lacks_cpus()
}

/// Does nothing: see [`waits_often`].
pub const fn has_waited() {}

/// Whether the calling thread has waited a short while ago too: here every thread has.
#[must_use]
pub const fn waits_often() -> bool {
    true
}

/// One wait: made at its beginning, asked between looks.
#[derive(Debug, Default)]
pub struct Spinner {
    wait: door::Wait,
    loans: u32,
}

const fn advice(sleeps: bool) -> Advice {
    if sleeps { Advice::Sleep } else { Advice::Again }
}

impl Spinner {
    /// At the beginning of a wait.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            wait: door::Wait::new(),
            loans: 0,
        }
    }

    /// At the beginning of a wait that is to sleep rather than give a turn away.
    #[must_use]
    pub const fn keeping_turns() -> Self {
        Self {
            wait: door::Wait::keeping_turns(),
            loans: 0,
        }
    }

    /// At the beginning of a wait that gives turns away: no thread remembers here whether its last
    /// one was lost.
    #[must_use]
    pub const fn keeping_turns_if_lost() -> Self {
        Self::new()
    }

    /// As [`keeping_turns`](Self::keeping_turns).
    #[must_use]
    pub const fn keeping_turns_briefly() -> Self {
        Self::keeping_turns()
    }

    /// At the beginning of a wait for one's own place in a line.
    #[must_use]
    pub const fn in_line() -> Self {
        Self {
            wait: door::Wait::in_line(),
            loans: 0,
        }
    }

    /// Passes a little time and says what pays next.
    pub fn step(&mut self) -> Advice {
        let shown = &super::thread().shown;
        advice(self.wait.step_showing(|others| shown.away(others)))
    }

    /// [`step`](Self::step), past others that sleep, or not.
    pub fn step_past(&mut self, sleepers: bool) -> Advice {
        advice(self.wait.step_past(sleepers))
    }

    /// Goes on after an advice to sleep that the caller cannot follow.
    pub fn insist(&mut self) {
        door::yield_now();
    }

    /// Passes a little time, for a wait that cannot sleep.
    pub fn turn(&mut self) {
        if self.step() == Advice::Sleep {
            self.insist();
        }
    }

    /// Passes a little time, for a wait that cannot sleep and is for the next few instructions
    /// of another thread: lends the CPU once they are late, unless waiters never sleep.
    pub fn moment(&mut self) {
        if self.wait.step() {
            nap(loan(self.loans));
            self.loans += 1;
        }
    }

    /// [`step`](Self::step) until that many nanoseconds have passed or sleeping pays.
    pub fn pause(&mut self, nanoseconds: u64) -> Advice {
        advice(self.wait.pause(nanoseconds))
    }

    /// As [`step`](Self::step): this machine does not watch words.
    pub fn step_at(&mut self, _word: &AtomicU32, _seen: u32) -> Advice {
        self.step()
    }

    /// Looks again and again for that many nanoseconds; false as soon as a look finds
    /// what was `so` no longer so.
    pub fn watch(&mut self, nanoseconds: u64, mut so: impl FnMut() -> bool) -> bool {
        let until = super::now() + nanoseconds;
        while super::now() < until {
            self.spin();
            if !so() {
                return false;
            }
        }
        true
    }

    /// One failed look, by a caller that counts its looks itself: passes as little
    /// time as can be, and never gives the CPU away.
    pub fn spin(&mut self) {
        door::spin_once();
    }
}
