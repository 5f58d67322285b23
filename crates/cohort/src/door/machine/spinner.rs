//! How a waiter passes the time between two looks: as natively, by the machine's clock.

use super::super::{Advice, Attempt, WaitPolicy, loan};
use super::{AtomicU32, nap};
use cohort_machine::{Waiting, door};

/// Does nothing: the run says how its waiters wait.
pub fn set_policy(_policy: WaitPolicy) {}

/// The run's wait policy.
#[must_use]
pub fn policy() -> WaitPolicy {
    match door::waiting() {
        Waiting::Park => WaitPolicy::Park,
        Waiting::Spin => WaitPolicy::Spin,
        Waiting::Yield => WaitPolicy::Yield,
    }
}

/// The machine's number of CPUs.
#[must_use]
pub fn cpus() -> u32 {
    door::cpus() as u32
}

/// Whether the calling thread should try something that pays only now and then: once in `one_in`
/// calls, a power of two.
pub fn is_worth_a_try(one_in: u32) -> bool {
    let tries = &super::thread().tries;
    let count = tries.get().wrapping_add(1);
    tries.set(count);
    count & (one_in - 1) == 0
}

/// As natively: threads with one seed would all draw the same samples.
#[must_use]
pub fn is_counted(one_in: u32) -> bool {
    let lots = &super::thread().lots;
    if lots.get() == 0 {
        lots.set(super::random() as u32);
    }
    super::super::draws(lots, one_in)
}

/// Whether waiters publish that they are off the CPU: they do.
#[inline(always)]
#[must_use]
pub const fn shows_absence() -> bool {
    true
}

/// Whether the calling thread should spin before it sleeps: never, like a native thread after
/// recent failures.
#[must_use]
pub const fn should_spin() -> bool {
    false
}

/// Does nothing.
pub fn spin_before_sleep(_awaited: impl Fn() -> bool) {}

/// Whether threads ever try what only pays now and then: here they do.
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

/// As natively.
#[must_use]
pub fn offer_cpu() -> bool {
    door::offer_cpu()
}

/// Runnable threads, including background ones, and CPUs.
#[must_use]
pub fn workload() -> Option<(i64, i64)> {
    let (threads, cpus) = door::workload()?;
    Some((threads as i64, cpus as i64))
}

/// Whether threads of the run wait for a CPU: known to the simulated scheduler.
#[must_use]
pub fn threads_lack_cpus() -> Option<bool> {
    door::lacks_cpus()
}

/// Does nothing: see [`waits_often`].
pub const fn has_waited() {}

/// Whether the calling thread has waited recently: always here.
#[must_use]
pub const fn waits_often() -> bool {
    true
}

/// One wait: created at its beginning, called between looks.
#[derive(Debug, Default)]
pub struct Spinner {
    wait: door::Wait,
    loans: u32,
}

const fn advice(sleeps: bool) -> Advice {
    if sleeps { Advice::Sleep } else { Advice::Again }
}

impl Spinner {
    /// A spinner for an ordinary wait.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            wait: door::Wait::new(),
            loans: 0,
        }
    }

    /// A spinner that sleeps rather than yields.
    #[must_use]
    pub const fn keeping_turns() -> Self {
        Self {
            wait: door::Wait::keeping_turns(),
            loans: 0,
        }
    }

    /// A spinner that yields: threads do not remember here whether their last turn was lost.
    #[must_use]
    pub const fn keeping_turns_if_lost() -> Self {
        Self::new()
    }

    /// A spinner that yields if the thread waits often.
    #[must_use]
    pub const fn sparing_turns(seldom: bool) -> Self {
        if seldom {
            Self::keeping_turns()
        } else {
            Self::keeping_turns_if_lost()
        }
    }

    /// As [`keeping_turns`](Self::keeping_turns).
    #[must_use]
    pub const fn keeping_turns_briefly() -> Self {
        Self::keeping_turns()
    }

    /// A spinner for a wait for one's own place in a queue.
    #[must_use]
    pub const fn in_line() -> Self {
        Self {
            wait: door::Wait::in_line(),
            loans: 0,
        }
    }

    /// Passes a little time and says what to do next.
    pub fn step(&mut self) -> Advice {
        let shown = &super::thread().shown;
        advice(self.wait.step_showing(|others| shown.away(others)))
    }

    /// [`step`](Self::step), past sleeping waiters or not.
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

    /// Passes a little time, for a wait that cannot sleep, for the next few instructions of another
    /// thread: lends the CPU once they are late, unless waiters never sleep.
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

    /// Lets the engine look at `word` in place of this thread, after each step.
    ///
    /// # Safety
    /// `word` and `ready` stay until the last step, and `ready` depends on the value alone. After a
    /// step that does not advise sleep, the caller's next access is that attempt; if it is in vain,
    /// which it is unless `ready`, the next step follows.
    pub unsafe fn foresee(
        &mut self,
        word: &AtomicU32,
        attempt: Attempt,
        ready: &impl Fn(u32) -> bool,
    ) {
        let address = core::ptr::from_ref(word) as usize;
        let attempt = match attempt {
            Attempt::Load => door::Attempt::Load,
            Attempt::Update => door::Attempt::Update,
            Attempt::Compare => door::Attempt::Compare,
        };
        // SAFETY: the caller's.
        unsafe { self.wait.foresee(address, attempt, ready) };
    }

    /// As [`step`](Self::step): this machine does not watch words.
    pub fn step_at(&mut self, _word: &AtomicU32, _seen: u32) -> Advice {
        self.step()
    }

    /// Polls for that many nanoseconds; false as soon as `so` is false.
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

    /// One failed look, by a caller that counts its looks: takes as little time as possible, and
    /// never yields.
    pub fn spin(&mut self) {
        door::spin_once();
    }
}
