//! The CPUs: run queues, time slices, and slowdown by siblings.

use super::clock::{NEVER, Ticks};
use super::hardware::{Hardware, ONE};
use std::collections::VecDeque;
use std::ops::Range;

/// The CPUs.
#[derive(Debug)]
pub(crate) struct Cpus {
    pub(super) cpus: Vec<Cpu>,
    /// How much slower each CPU is than the machine's clock, in 256ths, by its class and its
    /// siblings.
    pub(crate) factor: Vec<u64>,
    /// The weight of each CPU's thread for its siblings, and the load of each core, in 256ths of a
    /// CPU.
    weights: Vec<u64>,
    load: Vec<u64>,
    /// The CPUs of each core, core by core, and the place of each core's first.
    siblings: Vec<u16>,
    first: Vec<u16>,
    /// Threads that wait for a CPU.
    pub(super) waiting: usize,
    /// The time of the next load balancing.
    pub(super) balance: Ticks,
}

#[derive(Debug, Default)]
pub(super) struct Cpu {
    /// The thread on it.
    pub(super) current: Option<usize>,
    /// Threads that wait for it.
    pub(super) queue: VecDeque<usize>,
    /// When it became free.
    pub(super) free: Ticks,
    /// When its thread got it.
    pub(super) began: Ticks,
    /// The end of its thread's time slice.
    pub(super) slice_end: Ticks,
}

impl Cpus {
    pub(crate) fn new(hardware: &Hardware) -> Self {
        let mut siblings: Vec<u16> = (0..hardware.cpus as u16).collect();
        siblings.sort_by_key(|cpu| hardware.core_of[*cpu as usize]);
        let first = |core| siblings.partition_point(|cpu| hardware.core_of[*cpu as usize] < core);
        let first = (0..=hardware.cores as u16)
            .map(|core| first(core) as u16)
            .collect();
        let cpu = |_| Cpu {
            slice_end: NEVER,
            ..Cpu::default()
        };
        Self {
            cpus: (0..hardware.cpus).map(cpu).collect(),
            factor: hardware.own_slowdown.clone(),
            weights: vec![0; hardware.cpus],
            load: vec![0; hardware.cores],
            siblings,
            first,
            waiting: 0,
            balance: hardware.scheduler.balance,
        }
    }

    /// The end of the time slice of the CPU's thread.
    #[inline]
    pub(crate) fn slice_end(&self, cpu: usize) -> Ticks {
        self.cpus[cpu].slice_end
    }

    /// Runnable threads, and CPUs.
    pub(crate) fn workload(&self) -> (usize, usize) {
        let running = self.cpus.iter().filter(|cpu| cpu.current.is_some());
        (running.count() + self.waiting, self.cpus.len())
    }

    /// Whether a thread waits for the CPU.
    pub(crate) fn is_wanted(&self, cpu: usize) -> bool {
        !self.cpus[cpu].queue.is_empty()
    }

    /// Whether other CPUs share its core.
    pub(crate) fn has_siblings(&self, hardware: &Hardware, cpu: usize) -> bool {
        self.siblings_of(hardware.core_of[cpu] as usize).len() > 1
    }

    /// The places of a core's CPUs among `siblings`.
    fn siblings_of(&self, core: usize) -> Range<usize> {
        self.first[core] as usize..self.first[core + 1] as usize
    }

    /// Sets the weight of a CPU's thread for its siblings, in 256ths.
    pub(crate) fn set_load(&mut self, hardware: &Hardware, cpu: usize, load: u64) {
        if hardware.slowdown.len() == 1 {
            return;
        }
        let core = hardware.core_of[cpu] as usize;
        let old = std::mem::replace(&mut self.weights[cpu], load);
        if old == load {
            return;
        }
        self.load[core] = self.load[core] + load - old;
        for sibling in self.siblings_of(core) {
            let sibling = self.siblings[sibling] as usize;
            let others = self.load[core] - self.weights[sibling];
            let index = (others + ONE / 2) / ONE;
            let last = hardware.slowdown.len() - 1;
            let shared = hardware.slowdown[(index as usize).min(last)];
            self.factor[sibling] = shared * hardware.own_slowdown[sibling] / ONE;
        }
    }
}
