//! The choice of the next thread in schedules without time: at random, or by priorities (PCT).

use super::clock::Ticks;
use super::options::{Options, Schedule};
use crate::random::Random;

/// The chosen thread, and the state of the choice.
#[derive(Debug)]
pub(crate) struct Explorer {
    pub(super) random: Random,
    priorities: Option<Priorities>,
    /// Without priorities: one step in so many switches threads. It varies between runs, since some
    /// bugs need many switches and some need few.
    patience: u64,
    /// Runnable threads.
    pub(super) runnable: Vec<usize>,
    pub(super) now: Ticks,
    /// The thread chosen to run.
    pub(super) chosen: Option<usize>,
}

/// The priorities of PCT.
#[derive(Debug)]
struct Priorities {
    /// Each thread's priority; the highest runs.
    of: Vec<i64>,
    /// Steps at which the running thread's priority is lowered, in descending order.
    changes: Vec<u64>,
    /// The last priority given to a yielding thread.
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

    /// The next thread; at least one is runnable.
    pub(super) fn choose(&mut self, step: u64, current: usize) -> usize {
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
        *highest.expect("a thread is runnable")
    }

    /// Lets all other threads precede, once.
    pub(super) fn give_way(&mut self, thread: usize) {
        if let Some(priorities) = &mut self.priorities {
            priorities.lowest -= 1;
            priorities.of[thread] = priorities.lowest;
        }
    }

    pub(super) fn block(&mut self, thread: usize) {
        self.runnable.retain(|other| *other != thread);
    }
}

impl Priorities {
    fn new(random: &mut Random, depth: u32, steps: u64, threads: usize) -> Self {
        // Initial priorities are above those given at the changes.
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
