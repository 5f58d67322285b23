//! How a waiter passes the time between two looks.

use super::super::{Advice, Attempt, WaitPolicy};
use super::AtomicU32;
use super::execution::{poll, with};
use super::std;
use super::thread::visits;

/// Does nothing: the model says how its waiters wait.
pub fn set_policy(_policy: WaitPolicy) {}

/// The model's wait policy.
#[must_use]
pub fn policy() -> WaitPolicy {
    with(|execution| execution.settings.policy)
}

/// The number of CPUs: so few that three threads exceed them.
#[must_use]
pub fn cpus() -> u32 {
    // So many that two of a cache group may queue, in a model with preemption.
    if with(|execution| execution.settings.one_group) {
        16
    } else if shows_absence() {
        4
    } else {
        2
    }
}

/// Whether to count the calling thread's present operation: always here.
#[must_use]
pub const fn is_counted(_one_in: u32) -> bool {
    true
}

/// Whether the calling thread should try something that pays only now and then: always, in a model
/// with such attempts.
#[must_use]
pub fn is_worth_a_try(_one_in: u32) -> bool {
    tries_anything()
}

/// Whether the calling thread should spin before it sleeps: it may.
#[must_use]
pub const fn should_spin() -> bool {
    true
}

/// Does nothing: what happens meanwhile is explored all the same.
pub fn spin_before_sleep(_awaited: impl Fn() -> bool) {}

/// Whether threads ever make occasional attempts: no model without them finds anything there.
#[must_use]
pub fn tries_anything() -> bool {
    with(|execution| execution.settings.tries)
}

/// Does nothing: no time passes here.
pub const fn keep_cpu(_keeps: bool) {}

/// `None`: no model depends on other processes.
#[must_use]
pub const fn workload() -> Option<(i64, i64)> {
    None
}

/// Whether threads lack CPUs: yes and no in turns, for all threads together.
#[must_use]
pub fn threads_lack_cpus() -> Option<bool> {
    with(|execution| {
        execution.lacking = !execution.lacking;
        Some(execution.lacking)
    })
}

/// Whether a wait has lost its CPU: only in a model that lacks CPUs.
#[must_use]
pub fn has_lost_cpu() -> bool {
    shows_absence()
}

/// Whether another thread took an offered CPU: as above.
#[must_use]
pub fn offer_cpu() -> bool {
    shows_absence()
}

/// Whether waiters show that they have yielded: in a model that lacks CPUs.
#[must_use]
pub fn shows_absence() -> bool {
    with(|execution| execution.settings.absent)
}

/// Does nothing: see [`waits_often`].
pub const fn has_waited() {}

/// Whether the calling thread has waited recently: always here, except for all threads in a model
/// of [visits](super::Model::visits), and for a thread that [visits](super::visit).
#[must_use]
pub fn waits_often() -> bool {
    !with(|execution| execution.settings.visits) && !visits()
}

/// One wait: created at its beginning, called between looks.
#[derive(Debug, Default)]
pub struct Spinner {
    steps: u32,
}

impl Spinner {
    /// A spinner for an ordinary wait.
    #[must_use]
    pub const fn new() -> Self {
        Self { steps: 0 }
    }

    /// The same.
    #[must_use]
    pub const fn keeping_turns() -> Self {
        Self::new()
    }

    /// The same.
    #[must_use]
    pub const fn keeping_turns_if_lost() -> Self {
        Self::new()
    }

    /// The same.
    #[must_use]
    pub const fn sparing_turns(_seldom: bool) -> Self {
        Self::new()
    }

    /// The same.
    #[must_use]
    pub const fn keeping_turns_briefly() -> Self {
        Self::new()
    }

    /// The same.
    #[must_use]
    pub const fn in_line() -> Self {
        Self::new()
    }

    /// One failed look, by a caller that can sleep: advises to sleep at once, if the policy is to
    /// park.
    #[track_caller]
    pub fn step(&mut self) -> Advice {
        self.steps += 1;
        let parks = policy() == WaitPolicy::Park;
        if !parks || self.steps > 1 {
            super::thread().shown.away(poll);
        }
        if parks { Advice::Sleep } else { Advice::Again }
    }

    /// As [`step`](Self::step): no time passes here.
    #[track_caller]
    pub fn step_past(&mut self, _sleepers: bool) -> Advice {
        self.step()
    }

    /// As [`step`](Self::step): no time passes here.
    #[track_caller]
    pub fn pause(&mut self, _nanoseconds: u64) -> Advice {
        self.step()
    }

    /// For the simulated machine, which looks in place of a waiter.
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

    /// As [`step`](Self::step): nothing watches words here.
    #[track_caller]
    pub fn step_at(&mut self, _word: &AtomicU32, _seen: u32) -> Advice {
        self.step()
    }

    /// One more look at `so`.
    pub fn watch(&mut self, _nanoseconds: u64, mut so: impl FnMut() -> bool) -> bool {
        so()
    }

    /// One failed look, by a caller that counts its looks.
    #[track_caller]
    pub fn spin(&mut self) {
        self.turn();
    }

    /// Goes on after an advice to sleep that the caller cannot follow: the failed look is already
    /// counted.
    pub const fn insist(&mut self) {}

    /// One failed look, by a caller that cannot sleep.
    #[track_caller]
    pub fn turn(&mut self) {
        self.steps += 1;
        poll();
    }

    /// The same.
    #[track_caller]
    pub fn moment(&mut self) {
        self.turn();
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        if self.steps > 0 && !std::thread::panicking() {
            with(|execution| execution.event());
        }
    }
}
