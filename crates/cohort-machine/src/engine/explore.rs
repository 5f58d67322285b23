//! Schedules that time does not decide: chance before every step, or priorities.
//!
//! Caches and CPUs play no part here.  A step takes [`STEP`], and if nobody can go on,
//! time jumps to the next deadline.  Now and then it does so anyway, or by some other
//! length: on a machine a deadline may come at any moment.

use super::clock::{CYCLE, NEVER, Ticks};
use super::coherence::Access;
use super::door::Change;
use super::lines::LineId;
use super::options::{Options, Schedule};
use super::random::Random;
use super::thread::State;
use super::turns::{Engine, Next};

/// How long a step takes.
const STEP: Ticks = 8 * CYCLE;

/// One step in so many comes only after the next deadline has.
const RUSH: u64 = 64;

/// One step in so many takes long: up to 2 to the power of `LONGEST` ticks.
const DELAY: u64 = 16;
const LONGEST: u64 = 26;

/// Which thread goes on, and when.
#[derive(Debug)]
pub(crate) struct Explorer {
    random: Random,
    priorities: Option<Priorities>,
    /// Without priorities: one step in so many goes to another thread.  Each run
    /// has its own, since some bugs need many changes and some need few.
    patience: u64,
    /// Threads that can go on.
    runnable: Vec<usize>,
    now: Ticks,
    /// The threads that were chosen to go on.
    chosen: Option<usize>,
}

/// The priorities of PCT.
#[derive(Debug)]
struct Priorities {
    /// Of each thread; the highest one goes on.
    of: Vec<i64>,
    /// Steps at which the running thread's is lowered, in falling order.
    changes: Vec<u64>,
    /// The last one given to a thread that gives way.
    lowest: i64,
}

impl Explorer {
    pub(crate) fn new(options: &Options, threads: usize) -> Option<Self> {
        let mut random = Random::new(options.seed, u64::MAX);
        let priorities = match options.schedule {
            Schedule::Time => return None,
            Schedule::Random => None,
            Schedule::Pct { depth, steps } => {
                Some(Priorities::new(&mut random, depth, steps, threads))
            }
        };
        let patience = [1, 1, 3, 8, 20][random.below(5) as usize];
        Some(Self {
            random,
            priorities,
            patience,
            runnable: (0..threads).collect(),
            now: 0,
            chosen: None,
        })
    }

    /// The thread that goes on; one can.
    fn choose(&mut self, step: u64, current: usize) -> usize {
        let Some(priorities) = &mut self.priorities else {
            if self.random.below(self.patience) > 0 && self.runnable.contains(&current) {
                return current;
            }
            let count = self.runnable.len() as u64;
            return self.runnable[self.random.below(count) as usize];
        };
        while priorities
            .changes
            .last()
            .is_some_and(|change| *change <= step)
        {
            priorities.of[current] = priorities.changes.len() as i64;
            priorities.changes.pop();
        }
        let highest = self
            .runnable
            .iter()
            .max_by_key(|thread| priorities.of[**thread]);
        *highest.expect("somebody can go on")
    }

    /// Lets everybody else come first, once.
    fn give_way(&mut self, thread: usize) {
        if let Some(priorities) = &mut self.priorities {
            priorities.lowest -= 1;
            priorities.of[thread] = priorities.lowest;
        }
    }

    fn block(&mut self, thread: usize) {
        self.runnable.retain(|other| *other != thread);
    }
}

impl Priorities {
    fn new(random: &mut Random, depth: u32, steps: u64, threads: usize) -> Self {
        // Those of the beginning are above those of the changes.
        let mut of: Vec<i64> = (0..threads)
            .map(|thread| (thread + depth as usize) as i64)
            .collect();
        for place in (1..threads).rev() {
            of.swap(place, random.below(place as u64 + 1) as usize);
        }
        let mut changes: Vec<u64> = (1..depth).map(|_| random.below(steps.max(1)) + 1).collect();
        changes.sort_unstable_by(|one, other| other.cmp(one));
        Self {
            of,
            changes,
            lowest: 0,
        }
    }
}

impl Engine<'_> {
    fn explorer(&mut self) -> &mut Explorer {
        self.explorer.as_mut().expect("the run explores")
    }

    /// The current thread is about to take a step: whether another was chosen.
    pub(crate) fn arrive_exploring(&mut self) -> bool {
        self.steps += 1;
        let step = self.steps;
        let current = self.current;
        let explorer = self.explorer();
        explorer.now += STEP;
        if explorer.random.below(DELAY) == 0 {
            explorer.now += 1 << explorer.random.below(LONGEST + 1);
        }
        let rushes = explorer.random.below(RUSH) == 0;
        self.pass_deadlines(rushes);
        let explorer = self.explorer();
        let chosen = explorer.choose(step, current);
        explorer.chosen = Some(chosen);
        let now = explorer.now;
        self.me().clock = now;
        chosen != current || self.steps >= self.options.steps
    }

    /// Lets those go on whose deadline has come; or whose comes next.
    fn pass_deadlines(&mut self, rushes: bool) {
        let next = self.agenda.earliest();
        if next == NEVER {
            return;
        }
        let explorer = self.explorer();
        if rushes {
            explorer.now = explorer.now.max(next);
        }
        let now = explorer.now;
        while self.agenda.earliest() <= now {
            let Some((_, index)) = self.agenda.pop() else {
                return;
            };
            if self.threads[index].state == State::Polling {
                self.unwatch(index);
            } else {
                self.sleepers.remove(index);
            }
            self.explore_again(index);
        }
    }

    /// What happens next.
    pub(crate) fn next_exploring(&mut self) -> Next {
        let step = self.steps;
        let current = self.current;
        if self.explorer().runnable.is_empty() {
            self.pass_deadlines(true);
        }
        let now = self.explorer().now;
        if self.record.reach(now, &self.traffic) {
            return Next::Finished;
        }
        let explorer = self.explorer();
        let chosen = match explorer.chosen.take() {
            Some(chosen) => chosen,
            None if explorer.runnable.is_empty() => return Next::Deadlock,
            None => explorer.choose(step, current),
        };
        let now = explorer.now;
        self.current = chosen;
        self.me().clock = now;
        Next::Run(chosen)
    }

    /// An access of the current thread: only the order of events matters.
    pub(crate) fn access_exploring(&mut self, line: LineId, access: Access) {
        let version = self.caches.version(line);
        let thread = self.me();
        let writes = !matches!(
            access,
            Access::Load
                | Access::LoadLinked
                | Access::ReadModifyWrite(Change::None | Change::Same)
        );
        if !writes {
            thread.look.load(line, version);
            return;
        }
        thread.look.act();
        self.caches.write_at_once(line);
        let mut woken = Vec::new();
        self.caches.watchers(line, &mut woken);
        for index in woken {
            self.end_watch(index as usize, line);
            self.notice(index as usize, 0);
        }
    }

    /// The current thread looked in vain: others come first, and if it would only
    /// look again, it waits until something changes.
    pub(crate) fn poll_exploring(&mut self, until: Ticks) -> bool {
        let index = self.current;
        let thread = self.me();
        let look = std::mem::take(&mut thread.look);
        let again = look.repeats(&thread.last_look);
        thread.last_look = look;
        let unchanged = |(line, version): &(LineId, u32)| self.caches.version(*line) == *version;
        if !again || !look.lines().iter().all(unchanged) {
            self.explorer().give_way(index);
            return false;
        }
        let until = until.min(look.deadline);
        let now = self.explorer().now;
        let until = if look.clock {
            until.min(now + 64 * STEP)
        } else {
            until
        };
        let thread = self.me();
        thread.state = State::Polling;
        thread.poll.since = now;
        thread.poll.until = until;
        for (line, _) in look.lines() {
            self.caches.watch(*line, index as u32, false);
        }
        self.set_stuck(index, until == NEVER);
        self.block_exploring(until);
        true
    }

    /// The current thread cannot go on before somebody lets it, or until then.
    pub(crate) fn block_exploring(&mut self, until: Ticks) {
        let index = self.current;
        self.agenda.set(index, until);
        let explorer = self.explorer();
        explorer.block(index);
        explorer.chosen = None;
    }

    /// A thread can go on again.
    pub(crate) fn explore_again(&mut self, index: usize) {
        self.set_stuck(index, false);
        self.agenda.set(index, NEVER);
        self.threads[index].state = State::Running;
        self.explorer().runnable.push(index);
    }

    /// The current thread has returned.
    pub(crate) fn finish_exploring(&mut self) {
        let index = self.current;
        let explorer = self.explorer();
        explorer.block(index);
        explorer.chosen = None;
    }
}

/// Somebody between the beginning and the end of a plain access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inside {
    thread: usize,
    address: usize,
    writes: bool,
}

impl Engine<'_> {
    /// The current thread begins to touch plain memory.
    pub(crate) fn enter_plain(&mut self, address: usize, writes: bool) {
        let thread = self.current;
        let here = |other: &&Inside| other.address == address && other.thread != thread;
        if let Some(other) = self
            .inside
            .iter()
            .filter(here)
            .find(|other| other.writes || writes)
        {
            let other = other.thread;
            panic!("threads {other} and {thread} are in the same data at once");
        }
        self.inside.push(Inside {
            thread,
            address,
            writes,
        });
    }

    /// It has done so.
    pub(crate) fn leave_plain(&mut self, address: usize) {
        let thread = self.current;
        let own = |one: &Inside| one.thread == thread && one.address == address;
        if let Some(place) = self.inside.iter().rposition(own) {
            self.inside.swap_remove(place);
        }
    }
}
