//! Schedules without timing: a random choice before every step, or priorities.
//!
//! Caches and CPUs play no part here. A step takes [`STEP`]; if no thread can proceed, time jumps to
//! the next deadline. Sometimes it jumps there, or by a random length, although threads can proceed:
//! on a machine, a deadline may pass at any moment.

use super::access::{Access, Change};
use super::clock::{CYCLE, NEVER, Ticks};
use super::explorer::Explorer;
use super::lines::LineId;
use super::state::Engine;
use super::thread::State;
use super::turns::Next;

/// The duration of a step.
const STEP: Ticks = 8 * CYCLE;

/// One step in `RUSH` is preceded by the next deadline.
const RUSH: u64 = 64;

/// One step in `DELAY` takes long: up to 2 to the power of `LONGEST` ticks.
const DELAY: u64 = 16;
const LONGEST: u64 = 26;

impl Engine<'_> {
    fn explorer(&mut self) -> &mut Explorer {
        self.explorer.as_mut().expect("the run explores")
    }

    /// The current thread is about to take a step; returns whether another thread was chosen.
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

    /// Resumes the threads with expired deadlines; if `rushes`, jumps to the next deadline
    /// first.
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

    /// Records an access of the current thread; only the order of events matters.
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
        self.caches.write_undelayed(line);
        let mut woken = Vec::new();
        self.caches.watchers(line, &mut woken);
        for index in woken {
            self.end_watch(index as usize, line);
            self.notice(index as usize, 0);
        }
    }

    /// Records a look of the current thread without a new value: other threads run first, and after
    /// a repeated look it waits for a change.
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

    /// Blocks the current thread until another thread wakes it, or until that time.
    pub(crate) fn block_exploring(&mut self, until: Ticks) {
        let index = self.current;
        self.agenda.set(index, until);
        let explorer = self.explorer();
        explorer.block(index);
        explorer.chosen = None;
    }

    /// Makes a thread runnable again.
    pub(crate) fn explore_again(&mut self, index: usize) {
        self.set_stuck(index, false);
        self.agenda.set(index, NEVER);
        self.threads[index].state = State::Running;
        self.explorer().runnable.push(index);
    }

    /// Records that the current thread has returned.
    pub(crate) fn finish_exploring(&mut self) {
        let index = self.current;
        let explorer = self.explorer();
        explorer.block(index);
        explorer.chosen = None;
    }
}
