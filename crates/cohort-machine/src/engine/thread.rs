//! The engine's record of a simulated thread.

use super::clock::{NEVER, Ticks};
use super::course::{Course, Decision};
use super::lines::LineId;
use super::suspended::{Linked, Suspended};
use crate::random::Random;
use corosensei::Yielder;
use std::any::Any;
use std::collections::VecDeque;

/// Yields to the rest of the machine.
pub(crate) type Fiber = Yielder<(), ()>;

/// A thread's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Runs on a CPU, up to its clock.
    Running,
    /// Runnable, waiting for a CPU.
    Ready,
    /// On a CPU, polling lines that do not change.
    Polling,
    /// Asleep in the kernel.
    Asleep,
    /// Has returned.
    Done,
}

/// One simulated thread. What its looks need comes first: with thousands of threads, most lines of
/// the host's memory are far away.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Thread {
    /// The time of its next step; while it runs, its current time.
    pub(crate) clock: Ticks,
    /// The current, last or awaited CPU.
    pub(crate) cpu: usize,
    /// The present wait.
    pub(crate) poll: Poll,
    pub(crate) state: State,
    /// The instructions before each access of the code that it executes.
    pub(crate) instructions: Ticks,
    /// Whether only another thread can let it proceed.
    pub(crate) stuck: bool,
    /// Whether the engine has begun the fiber's next step.
    pub(crate) has_arrived: bool,
    /// Whether the run goes on without it.
    pub(crate) background: bool,
    /// Whether it must stay on its CPU.
    pub(crate) pinned: bool,
    /// The wait in which its fiber is suspended, if the engine looks in its place.
    pub(crate) suspended: Option<Suspended>,
    /// That wait.
    pub(crate) wait: Course,
    /// The accesses before that.
    pub(crate) last_look: Look,
    /// Accesses since time last passed in a wait.
    pub(crate) look: Look,
    /// Remaining time of the wait or computation in which it was preempted.
    pub(crate) carry: Ticks,
    /// The next decision of its wait, made in place of its fiber.
    pub(crate) decided: Option<Decision>,
    /// The fiber's next exchange, if the engine has begun it.
    pub(crate) linked: Option<Linked>,
    /// Completion times of pending stores, in ascending order.
    pub(crate) stores: VecDeque<Ticks>,
    /// Store-conditionals that failed since the last successful one.
    pub(crate) failed_conditionals: u32,
    /// Whether a waker ended the last sleep.
    pub(crate) woken: bool,
    /// What its waits have learnt about its CPU.
    pub(crate) turns: Turns,
    pub(crate) random: Random,
    pub(crate) fiber: *const Fiber,
    /// The platform layer's data for it.
    pub(crate) local: Option<Box<dyn Any>>,
}

impl Thread {
    pub(crate) fn new(
        cpu: usize,
        pinned: bool,
        background: bool,
        instructions: Ticks,
        random: Random,
    ) -> Self {
        Self {
            instructions,
            state: State::Ready,
            clock: 0,
            cpu,
            pinned,
            background,
            carry: 0,
            look: Look::default(),
            last_look: Look::default(),
            poll: Poll::default(),
            stuck: false,
            stores: VecDeque::new(),
            failed_conditionals: 0,
            woken: false,
            turns: Turns::default(),
            random,
            fiber: std::ptr::null(),
            suspended: None,
            linked: None,
            wait: Course::default(),
            has_arrived: false,
            decided: None,
            local: None,
        }
    }

    /// When all its stores are complete.
    pub(crate) fn drained(&self) -> Ticks {
        self.stores.back().copied().unwrap_or(0)
    }
}

/// What a thread's waits have learnt about its CPU, as input to their decisions.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Turns {
    /// Consecutive yields after which no other thread ran, up to a few.
    pub(crate) untaken: u8,
    /// Consecutive yields after which another thread ran.
    pub(crate) taken: u8,
    /// Consecutive waits that did not end by spinning, up to a few.
    pub(crate) vain: u8,
    /// Whether its waits may keep spinning while other threads need the CPU.
    pub(crate) keeps_cpu: bool,
    /// Whether it was preempted while it kept the CPU, since the last query.
    pub(crate) lost: bool,
    /// Whether another thread ran during its last yield.
    pub(crate) is_taken: bool,
}

/// How a wait spends time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Poll {
    /// When it began.
    pub(crate) since: Ticks,
    /// The duration of one look.
    pub(crate) period: Ticks,
    /// When it ends without a change.
    pub(crate) until: Ticks,
}

/// Maximal number of lines that a skippable look depends on; a look with more is simulated each
/// time.
const LINES: usize = 6;

/// One look at shared memory: the accesses between two steps of a wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    lines: [(LineId, u32); LINES],
    count: u8,
    /// Whether it consists of loads, a few lines at most, or of read-modify-writes without effect.
    pub(crate) pure: bool,
    /// Whether it has such read-modify-writes, and so needs its lines exclusively.
    pub(crate) owns: bool,
    /// The earliest deadline that was checked and not reached.
    pub(crate) deadline: Ticks,
    /// Whether it read the clock, so that its wait may depend on time.
    pub(crate) clock: bool,
}

impl Default for Look {
    fn default() -> Self {
        Self {
            lines: [(0, 0); LINES],
            count: 0,
            pure: true,
            owns: false,
            deadline: NEVER,
            clock: false,
        }
    }
}

impl Look {
    /// Records a load of a line at that version.
    #[inline]
    pub(crate) fn load(&mut self, line: LineId, version: u32) {
        if !self.pure {
            return;
        }
        let seen = &mut self.lines[..self.count as usize];
        if let Some(place) = seen.iter_mut().find(|(seen, _)| *seen == line) {
            // Two values of one line in one look: a thread that compares them must look again.
            self.pure = place.1 == version;
        } else if (self.count as usize) < LINES {
            self.lines[self.count as usize] = (line, version);
            self.count += 1;
        } else {
            self.pure = false;
        }
    }

    /// Records an access with an effect on others.
    #[inline]
    pub(crate) const fn act(&mut self) {
        self.pure = false;
    }

    /// The loaded lines, each with the version seen.
    pub(crate) fn lines(&self) -> &[(LineId, u32)] {
        &self.lines[..self.count as usize]
    }

    /// Whether both looks loaded the same lines in the same order.
    pub(crate) fn repeats(&self, other: &Self) -> bool {
        let lines = self.lines().iter().zip(other.lines());
        self.pure
            && other.pure
            && self.count > 0
            && self.count == other.count
            && lines.into_iter().all(|(one, other)| one.0 == other.0)
    }
}
