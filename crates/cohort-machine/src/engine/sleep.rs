//! Sleep on a word, as with a futex: comparing the word and joining the queue are one step, and
//! there are no spurious wake-ups.

use super::access::Access;
use super::clock::{NEVER, Ticks};
use super::state::Engine;
use super::thread::State;

impl Engine<'_> {
    /// The current thread enters the kernel.
    pub(crate) fn enter_kernel(&mut self) {
        self.compute(self.hardware.scheduler.system_call);
    }

    /// The current thread, at its turn, reads the word that it may sleep on.
    pub(crate) fn compare(&mut self, address: usize) {
        self.access(address, Access::Load);
        self.me().look.act();
    }

    /// Puts the current thread to sleep; its fiber must be suspended.
    pub(crate) fn fall_asleep(&mut self, address: usize, expected: u32, bits: u32, until: Ticks) {
        let index = self.current;
        self.sleepers.add(index, address, expected, bits);
        self.record.slept();
        let sleep = self.hardware.scheduler.sleep;
        let thread = &mut self.threads[index];
        thread.state = State::Asleep;
        thread.woken = false;
        thread.poll.since = thread.clock;
        thread.poll.until = until;
        let (cpu, at) = (thread.cpu, thread.clock + sleep);
        self.set_stuck(index, until == NEVER);
        if self.explorer.is_some() {
            self.block_exploring(until);
            return;
        }
        self.schedule(index);
        self.vacate(cpu, at);
    }

    /// The current thread, at its turn, wakes up to `count` sleepers that share one of `bits`;
    /// returns their number.
    pub(crate) fn wake(&mut self, address: usize, count: u32, bits: u32) -> usize {
        let mut woken = 0;
        while woken < count as usize
            && let Some(sleeper) = self.sleepers.take(address, bits)
        {
            woken += 1;
            self.compute(self.hardware.scheduler.wake);
            self.threads[sleeper].woken = true;
            self.rise(sleeper);
        }
        self.me().look.act();
        woken
    }

    /// Records that the current thread woke a sleeper.
    fn rise(&mut self, index: usize) {
        self.set_stuck(index, false);
        self.record.woken();
        if self.explorer.is_some() {
            self.explore_again(index);
            return;
        }
        let at = self.me().clock + self.hardware.scheduler.wake_latency;
        self.agenda.set(index, NEVER);
        // It may not be asleep yet.
        let at = at.max(self.threads[index].poll.since + self.hardware.scheduler.sleep);
        self.make_ready(index, at);
    }

    /// Ends a sleep by its deadline.
    pub(crate) fn time_out(&mut self, index: usize, at: Ticks) {
        self.sleepers.remove(index);
        let at = at.max(self.threads[index].poll.since + self.hardware.scheduler.sleep);
        self.make_ready(index, at);
    }
}
