//! Sleeping in the kernel on a word, as a futex does: comparing the word and
//! joining the queue are one step, and nobody is woken by chance.

use super::clock::{NEVER, Ticks};
use super::coherence::Access;
use super::thread::State;
use super::turns::Engine;

/// The sleepers, those that came first in front.
#[derive(Debug, Default)]
pub(crate) struct Sleepers {
    queue: Vec<Sleeper>,
}

#[derive(Clone, Copy, Debug)]
struct Sleeper {
    thread: usize,
    address: usize,
    expected: u32,
    bits: u32,
}

impl Sleepers {
    /// Takes a thread out of the queue.
    pub(crate) fn remove(&mut self, thread: usize) {
        self.queue.retain(|one| one.thread != thread);
    }

    /// Puts the first thread that sleeps on `from` behind all others, on `to`; whether
    /// there was one.
    pub(crate) fn move_one(&mut self, from: usize, to: usize) -> bool {
        let Some(place) = self.queue.iter().position(|one| one.address == from) else {
            return false;
        };
        let sleeper = self.queue.remove(place);
        self.queue.push(Sleeper {
            address: to,
            ..sleeper
        });
        true
    }

    /// The word that a thread sleeps on, and what it holds there.
    pub(crate) fn word(&self, thread: usize) -> Option<(usize, u32)> {
        let sleeper = self.queue.iter().find(|one| one.thread == thread)?;
        Some((sleeper.address, sleeper.expected))
    }
}

impl Engine<'_> {
    /// The current thread enters the kernel.
    pub(crate) fn enter_kernel(&mut self) {
        self.compute(self.hardware.scheduler.system_call);
    }

    /// The current thread, whose turn it is, looks at a word it may sleep on.
    pub(crate) fn compare(&mut self, address: usize) {
        self.access(address, Access::Load);
        self.me().look.act();
    }

    /// Lays the current thread to sleep; its fiber must be suspended.
    pub(crate) fn fall_asleep(&mut self, address: usize, expected: u32, bits: u32, until: Ticks) {
        let index = self.current;
        self.sleepers.queue.push(Sleeper {
            thread: index,
            address,
            expected,
            bits,
        });
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

    /// The current thread, whose turn it is, wakes up to `count` sleepers that share
    /// one of `bits`; how many there were.
    pub(crate) fn wake(&mut self, address: usize, count: u32, bits: u32) -> usize {
        let mut woken = 0;
        let mut place = 0;
        while place < self.sleepers.queue.len() && woken < count as usize {
            let sleeper = self.sleepers.queue[place];
            if sleeper.address != address || sleeper.bits & bits == 0 {
                place += 1;
                continue;
            }
            self.sleepers.queue.remove(place);
            woken += 1;
            self.compute(self.hardware.scheduler.wake);
            self.threads[sleeper.thread].woken = true;
            self.rise(sleeper.thread);
        }
        self.me().look.act();
        woken
    }

    /// A sleeper has been woken by the current thread.
    fn rise(&mut self, index: usize) {
        self.set_stuck(index, false);
        self.record.woken();
        if self.explorer.is_some() {
            self.explore_again(index);
            return;
        }
        let at = self.me().clock + self.hardware.scheduler.wake_latency;
        self.agenda.set(index, NEVER);
        // It may still be on its way to sleep.
        let at = at.max(self.threads[index].poll.since + self.hardware.scheduler.sleep);
        self.make_ready(index, at);
    }

    /// A sleeper's deadline has come.
    pub(crate) fn time_out(&mut self, index: usize, at: Ticks) {
        self.sleepers.remove(index);
        let at = at.max(self.threads[index].poll.since + self.hardware.scheduler.sleep);
        self.make_ready(index, at);
    }
}
