//! What the engine knows of one simulated thread.

use super::clock::{NEVER, Ticks};
use super::lines::LineId;
use crate::random::Random;
use corosensei::Yielder;
use std::any::Any;
use std::collections::VecDeque;

/// Lets the rest of the machine go on.
pub(crate) type Fiber = Yielder<(), ()>;

/// What a thread is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Has a CPU and goes on at its clock.
    Running,
    /// Waits for a CPU.
    Ready,
    /// Has a CPU and looks again and again at lines that do not change.
    Polling,
    /// Asleep in the kernel.
    Asleep,
    /// Has returned.
    Done,
}

/// One simulated thread.
#[derive(Debug)]
pub(crate) struct Thread {
    pub(crate) state: State,
    /// When it goes on; while it runs, where it is.
    pub(crate) clock: Ticks,
    /// The CPU it has, had last, or waits for.
    pub(crate) cpu: usize,
    /// Whether it may be moved to another.
    pub(crate) pinned: bool,
    /// Whether the run goes on without it.
    pub(crate) background: bool,
    /// What was left to wait for or to compute when it lost its CPU.
    pub(crate) carry: Ticks,
    /// What it has looked at since it last passed time in a wait.
    pub(crate) look: Look,
    /// What it looked at before that.
    pub(crate) last_look: Look,
    /// The present wait.
    pub(crate) poll: Poll,
    /// Whether only another thread can get it on.
    pub(crate) stuck: bool,
    /// Stores under way, by when they are complete; the last one is the latest.
    pub(crate) stores: VecDeque<Ticks>,
    /// Whether the last sleep was ended by a waker.
    pub(crate) woken: bool,
    /// What its waits have found out about its CPU.
    pub(crate) turns: Turns,
    pub(crate) random: Random,
    pub(crate) fiber: *const Fiber,
    /// What the door keeps for it.
    pub(crate) local: Option<Box<dyn Any>>,
}

impl Thread {
    pub(crate) fn new(cpu: usize, pinned: bool, background: bool, random: Random) -> Self {
        Self {
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
            woken: false,
            turns: Turns::default(),
            random,
            fiber: std::ptr::null(),
            local: None,
        }
    }

    /// When all its stores are complete.
    pub(crate) fn drained(&self) -> Ticks {
        self.stores.back().copied().unwrap_or(0)
    }
}

/// What a thread's waits have found out about its CPU, and are told of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Turns {
    /// How many turns in a row it has given away that nobody took, up to a few.
    pub(crate) untaken: u8,
    /// How many in a row that others took.
    pub(crate) taken: u8,
    /// How many of its waits in a row did not end by spinning, up to a few.
    pub(crate) vain: u8,
    /// Whether its waits may keep the CPU though others want it.
    pub(crate) keeps_cpu: bool,
    /// Whether one that may has lost it since somebody asked.
    pub(crate) lost: bool,
    /// Whether another thread ran in the last turn that it gave away.
    pub(crate) is_taken: bool,
}

/// How a wait passes its time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Poll {
    /// When it began.
    pub(crate) since: Ticks,
    /// How long one look takes.
    pub(crate) period: Ticks,
    /// When it ends though nothing has changed.
    pub(crate) until: Ticks,
}

/// Lines that a look can depend on; more are not kept, and such a look is simply
/// repeated.
const LINES: usize = 6;

/// One look at shared memory: what a thread did between two steps of a wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    lines: [(LineId, u32); LINES],
    count: u8,
    /// Whether it did nothing but load, a few lines at most; or read-modify-writes
    /// that changed nothing.
    pub(crate) pure: bool,
    /// Whether there were such, so that it needs its lines for itself alone.
    pub(crate) owns: bool,
    /// The earliest deadline that it asked about in vain.
    pub(crate) deadline: Ticks,
    /// Whether it read the clock, so that nobody knows what it waits for.
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
    /// It loaded a line of that version.
    #[inline]
    pub(crate) fn load(&mut self, line: LineId, version: u32) {
        if !self.pure {
            return;
        }
        let seen = &mut self.lines[..self.count as usize];
        if let Some(place) = seen.iter_mut().find(|(seen, _)| *seen == line) {
            // Two values of one line in one look: a thread that compares them must look
            // again.
            self.pure = place.1 == version;
        } else if (self.count as usize) < LINES {
            self.lines[self.count as usize] = (line, version);
            self.count += 1;
        } else {
            self.pure = false;
        }
    }

    /// It did something that others can see.
    #[inline]
    pub(crate) const fn act(&mut self) {
        self.pure = false;
    }

    /// The lines it loaded, each with the version it saw.
    pub(crate) fn lines(&self) -> &[(LineId, u32)] {
        &self.lines[..self.count as usize]
    }

    /// Whether it loaded the same lines as another, in the same order.
    pub(crate) fn repeats(&self, other: &Self) -> bool {
        let lines = self.lines().iter().zip(other.lines());
        self.pure
            && other.pure
            && self.count > 0
            && self.count == other.count
            && lines.into_iter().all(|(one, other)| one.0 == other.0)
    }
}
