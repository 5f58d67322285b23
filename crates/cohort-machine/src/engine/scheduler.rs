//! The assignment of CPUs to threads, and preemption.

use super::clock::{NEVER, Ticks};
use super::hardware::ONE;
use super::state::Engine;
use super::thread::State;
use std::collections::VecDeque;

impl Engine<'_> {
    /// Whether a thread of the workload waits for a CPU.
    pub(crate) fn lacks_cpus(&self) -> bool {
        let queues = self.cpus.cpus.iter().map(|cpu| &cpu.queue);
        self.cpus.waiting > 0
            && queues
                .flatten()
                .any(|index| !self.threads[*index].background)
    }

    /// Makes a thread runnable from `at`.
    pub(crate) fn make_ready(&mut self, index: usize, at: Ticks) {
        let cpu = self.choose_cpu(index);
        let thread = &mut self.threads[index];
        thread.state = State::Ready;
        thread.clock = at;
        if thread.cpu != cpu {
            thread.cpu = cpu;
            thread.carry += self.hardware.scheduler.migration;
        }
        if self.cpus.cpus[cpu].current.is_none() {
            let free = self.cpus.cpus[cpu].free;
            self.occupy(cpu, index, at.max(free));
        } else {
            self.queue(cpu, index, at);
        }
    }

    fn queue(&mut self, cpu: usize, index: usize, at: Ticks) {
        self.cpus.waiting += 1;
        let place = &mut self.cpus.cpus[cpu];
        place.queue.push_back(index);
        let slice = self.hardware.scheduler.slice_among(place.queue.len() + 1);
        if place.slice_end == NEVER {
            place.slice_end = at.max(place.began + slice);
            let end = place.slice_end;
            let current = place.current.expect("a thread runs");
            if self.fiber_runs && current == self.current {
                self.horizon = self.horizon.min(end);
            } else {
                self.schedule(current);
            }
        }
    }

    /// Assigns a free CPU to a thread at `at`.
    fn occupy(&mut self, cpu: usize, index: usize, at: Ticks) {
        self.traffic.busy.come(at);
        let place = &mut self.cpus.cpus[cpu];
        let slice = self.hardware.scheduler.slice_among(place.queue.len() + 1);
        place.current = Some(index);
        place.began = at;
        place.slice_end = if place.queue.is_empty() {
            NEVER
        } else {
            at + slice
        };
        let thread = &mut self.threads[index];
        thread.state = State::Running;
        thread.clock = at + std::mem::take(&mut thread.carry);
        self.cpus.set_load(self.hardware, cpu, ONE);
        self.schedule(index);
    }

    /// Removes a thread from its CPU at `at`; the next one follows.
    pub(crate) fn vacate(&mut self, cpu: usize, at: Ticks) {
        self.traffic.busy.leave(at);
        let place = &mut self.cpus.cpus[cpu];
        place.current = None;
        place.free = at;
        place.slice_end = NEVER;
        self.cpus.set_load(self.hardware, cpu, 0);
        let next = self.cpus.cpus[cpu]
            .queue
            .pop_front()
            .or_else(|| self.steal(cpu));
        if let Some(next) = next {
            self.cpus.waiting -= 1;
            let at = at.max(self.threads[next].clock) + self.hardware.scheduler.switch;
            self.occupy(cpu, next, at);
        }
    }

    /// Takes a thread from the longest queue for an idle CPU.
    fn steal(&mut self, cpu: usize) -> Option<usize> {
        if self.cpus.waiting == 0 {
            return None;
        }
        let movable = |queue: &VecDeque<usize>| {
            let mut queue = queue.iter();
            queue.position(|index| self.may_use(*index, cpu))
        };
        let here = self.hardware.places[cpu];
        let (from, place) = (0..self.cpus.cpus.len())
            .filter_map(|from| {
                let queue = &self.cpus.cpus[from].queue;
                movable(queue).map(|place| (from, place, queue.len()))
            })
            .min_by_key(|(from, _, length)| {
                let away = self.hardware.places[*from].abs_diff(here);
                (usize::MAX - length, away)
            })
            .map(|(from, place, _)| (from, place))?;
        let index = self.cpus.cpus[from].queue.remove(place)?;
        self.threads[index].cpu = cpu;
        self.threads[index].carry += self.hardware.scheduler.migration;
        self.record.moved();
        Some(index)
    }

    /// Whether a thread may migrate to that CPU.
    fn may_use(&self, index: usize, cpu: usize) -> bool {
        let thread = &self.threads[index];
        let allowed = if thread.background {
            &self.allowed_behind
        } else {
            &self.allowed
        };
        !thread.pinned && allowed[cpu]
    }

    /// The CPU for a thread that becomes runnable: its former one, or if that is taken and the
    /// thread may move, the nearest free one.
    fn choose_cpu(&self, index: usize) -> usize {
        let thread = &self.threads[index];
        let is_free = |cpu: &usize| self.cpus.cpus[*cpu].current.is_none();
        if thread.pinned || is_free(&thread.cpu) {
            return thread.cpu;
        }
        let is_free = |cpu: &usize| is_free(cpu) && self.may_use(index, *cpu);
        let here = self.hardware.places[thread.cpu];
        (0..self.cpus.cpus.len())
            .filter(is_free)
            .min_by_key(|cpu| self.hardware.places[*cpu].abs_diff(here))
            .unwrap_or(thread.cpu)
    }

    /// Whether a thread is preempted at its event.
    pub(crate) fn is_preempted(&mut self, index: usize, at: Ticks) -> bool {
        let thread = &self.threads[index];
        if !matches!(thread.state, State::Running | State::Polling) {
            return false;
        }
        let cpu = thread.cpu;
        if at < self.cpus.cpus[cpu].slice_end {
            return false;
        }
        if self.cpus.is_wanted(cpu) {
            self.preempt(index, at);
            return true;
        }
        // The thread that waited for it has found another.
        self.cpus.cpus[cpu].slice_end = NEVER;
        let due = match thread.state {
            State::Polling => thread.poll.until,
            _ => thread.clock,
        };
        if due > at {
            self.schedule(index);
        }
        due > at
    }

    /// Preempts a thread at `at`.
    pub(crate) fn preempt(&mut self, index: usize, at: Ticks) {
        if self.threads[index].state == State::Polling {
            self.unwatch(index);
            self.threads[index].clock = at;
            self.traffic.polling.leave(at);
        }
        if self.threads[index].stuck {
            self.doubtful.push(index);
        }
        let thread = &mut self.threads[index];
        thread.carry = thread.clock.saturating_sub(at);
        thread.clock = at;
        thread.state = State::Ready;
        let cpu = thread.cpu;
        self.cpus.waiting += 1;
        self.cpus.cpus[cpu].queue.push_back(index);
        self.agenda.set(index, NEVER);
        self.record.preempted();
        self.vacate(cpu, at);
        if at >= self.cpus.balance {
            self.cpus.balance = at + self.hardware.scheduler.balance;
            self.balance();
        }
    }

    /// Moves a waiting thread from the most loaded to the least loaded of its permitted CPUs, if
    /// that makes a difference.
    fn balance(&mut self) {
        let wanted = |cpu: usize| {
            let cpu = &self.cpus.cpus[cpu];
            cpu.queue.len() + usize::from(cpu.current.is_some())
        };
        let all = 0..self.cpus.cpus.len();
        let Some(most) = all
            .clone()
            .max_by_key(|cpu| (wanted(*cpu), usize::MAX - cpu))
        else {
            return;
        };
        let here = self.hardware.places[most];
        let found = self.cpus.cpus[most]
            .queue
            .iter()
            .enumerate()
            .find_map(|(place, index)| {
                all.clone()
                    .filter(|cpu| self.may_use(*index, *cpu))
                    .min_by_key(|cpu| (wanted(*cpu), self.hardware.places[*cpu].abs_diff(here)))
                    .map(|least| (place, *index, least))
            });
        let Some((place, index, least)) = found else {
            return;
        };
        if wanted(most) < wanted(least) + 2 {
            return;
        }
        self.cpus.cpus[most].queue.remove(place);
        self.cpus.waiting -= 1;
        let thread = &mut self.threads[index];
        thread.cpu = least;
        thread.carry += self.hardware.scheduler.migration;
        let at = thread.clock;
        self.record.moved();
        if self.cpus.cpus[least].current.is_none() {
            let free = self.cpus.cpus[least].free;
            self.occupy(least, index, at.max(free));
        } else {
            self.queue(least, index, at);
        }
    }
}
