//! Waiting by polling.
//!
//! A look that only loads a few lines, with the values of the previous look, repeats until one of
//! those lines is written or a deadline passes. So its thread is taken off the agenda until then. It
//! keeps its CPU, slows its siblings, and resumes when its next look would have begun. A skipped look
//! costs the host nothing.

use super::clock::{NEVER, Ticks};
use super::course::Pause;
use super::hardware::ONE;
use super::lines::LineId;
use super::state::Engine;
use super::thread::{Look, State};

/// A look that reads the clock may wait for any moment. Its thread looks again after 1/`PARTS` of
/// the time waited so far, which bounds its delay.
const PARTS: Ticks = 16;

impl Engine<'_> {
    /// The current thread found no new value and spends a little time, until `until` at most
    /// without a change; returns whether its fiber must be suspended.
    pub(crate) fn poll(&mut self, pause: Pause, until: Ticks) -> bool {
        self.record.polled();
        if self.explorer.is_some() {
            return self.poll_exploring(until);
        }
        let index = self.current;
        let cpu = self.threads[index].cpu;
        let scheduler = &self.hardware.scheduler;
        let length = match pause {
            Pause::Spin => self.hardware.costs.pause,
            Pause::Yield => scheduler.yield_alone,
        };
        let before = self.threads[index].clock;
        self.compute(length);
        let thread = &mut self.threads[index];
        let look = std::mem::take(&mut thread.look);
        let again = look.repeats(&thread.last_look);
        if !again {
            thread.poll.since = before;
        }
        thread.last_look = look;
        let unchanged = |(line, version): &(LineId, u32)| self.caches.version(*line) == *version;
        let idle = again && look.lines().iter().all(unchanged);
        if pause == Pause::Yield && self.cpus.is_wanted(cpu) {
            let endless = until.min(look.deadline) == NEVER && !look.clock;
            self.set_stuck(index, idle && endless);
            self.threads[index].turns.is_taken = true;
            let at = self.threads[index].clock;
            self.preempt(index, at);
            return true;
        }
        if !idle {
            self.set_stuck(index, false);
            return self.is_early();
        }
        self.sleep_on_lines(&look, length, until);
        true
    }

    /// Takes the current thread off the agenda until a line of its look is written.
    fn sleep_on_lines(&mut self, look: &Look, length: Ticks, until: Ticks) {
        let index = self.current;
        let thread = &mut self.threads[index];
        let now = thread.clock;
        // A time slice that ends before the look began sets the thread's clock back.
        let waited = now.saturating_sub(thread.poll.since);
        let load = thread.instructions + self.hardware.hit.load;
        // The next look begins now; each takes this long.
        thread.poll.period = length + load * look.lines().len() as Ticks;
        let mut until = until.min(look.deadline);
        if look.clock {
            until = until.min(now + (waited / PARTS).max(thread.poll.period));
        }
        thread.poll.until = until.max(now);
        thread.state = State::Polling;
        let cpu = thread.cpu;
        for (line, _) in look.lines() {
            self.caches.watch(*line, index as u32, look.owns);
        }
        self.traffic.polling.come(now);
        self.cpus
            .set_load(self.hardware, cpu, self.hardware.spinning);
        self.set_stuck(index, until == NEVER);
        self.schedule(index);
    }

    /// The current thread spins until then without looking at memory; returns whether its fiber
    /// must be suspended.
    pub(crate) fn delay(&mut self, until: Ticks) -> bool {
        let index = self.current;
        let thread = &mut self.threads[index];
        thread.look = Look::default();
        thread.last_look = Look::default();
        if thread.clock >= until {
            return false;
        }
        thread.state = State::Polling;
        thread.poll.since = thread.clock;
        thread.poll.until = until;
        let (cpu, now) = (thread.cpu, thread.clock);
        if self.explorer.is_some() {
            self.block_exploring(until);
        } else {
            self.traffic.polling.come(now);
            self.cpus
                .set_load(self.hardware, cpu, self.hardware.spinning);
            self.schedule(index);
        }
        true
    }

    /// A line that a polling thread watches was written and is visible to it at `at`; it looks when
    /// its next look begins.
    pub(crate) fn notice(&mut self, index: usize, at: Ticks) {
        self.set_stuck(index, false);
        if self.explorer.is_some() {
            self.explore_again(index);
            return;
        }
        let thread = &mut self.threads[index];
        if at > thread.clock {
            let looks = (at - thread.clock).div_ceil(thread.poll.period);
            thread.clock += looks * thread.poll.period;
        }
        self.go_on(index);
    }

    /// Ends a polling thread's wait by time, without a change.
    pub(crate) fn end_poll(&mut self, index: usize, at: Ticks) {
        self.unwatch(index);
        self.threads[index].clock = at;
        self.go_on(index);
        self.agenda.set(index, NEVER);
    }

    fn go_on(&mut self, index: usize) {
        let thread = &mut self.threads[index];
        thread.state = State::Running;
        let cpu = thread.cpu;
        self.traffic.polling.leave(thread.clock);
        self.cpus.set_load(self.hardware, cpu, ONE);
        self.schedule(index);
    }

    /// Removes a thread from the watchers of all its lines.
    pub(crate) fn unwatch(&mut self, index: usize) {
        let look = self.threads[index].last_look;
        for (line, _) in look.lines() {
            self.caches.unwatch(*line, index as u32);
        }
    }

    /// Removes a thread from the watchers of its lines except `written`, which has dropped it
    /// already.
    pub(crate) fn end_watch(&mut self, index: usize, written: LineId) {
        let look = self.threads[index].last_look;
        for (line, _) in look.lines().iter().filter(|(line, _)| *line != written) {
            self.caches.unwatch(*line, index as u32);
        }
    }
}
