//! The state of a run's machine: one value, which all fibers of the run reach through a pointer
//! (see `current.rs`).  The files above this one say how it goes on.

use super::agenda::Agenda;
use super::clock::Ticks;
use super::coherence::Caches;
use super::cpus::Cpus;
use super::explorer::Explorer;
use super::hardware::{Hardware, ONE};
use super::inside::Inside;
use super::lines::Lines;
use super::memory::Memory;
use super::options::Options;
use super::placement::allowed;
use super::record::Record;
use super::sleepers::Sleepers;
use super::tally::Traffic;
use super::thread::Thread;

/// A run's machine.
#[derive(Debug)]
pub(crate) struct Engine<'m> {
    pub(crate) hardware: &'m Hardware,
    pub(crate) memory: &'m Memory,
    pub(crate) options: Options,
    pub(crate) threads: Vec<Thread>,
    /// The CPUs that they may use, and those that background threads may.
    pub(crate) allowed: Vec<bool>,
    pub(crate) allowed_behind: Vec<bool>,
    /// The thread whose fiber runs.
    pub(crate) current: usize,
    /// Until when it may go on without looking which other is due.
    pub(crate) horizon: Ticks,
    pub(crate) agenda: Agenda,
    pub(crate) lines: Lines,
    pub(crate) caches: Caches,
    pub(crate) cpus: Cpus,
    pub(crate) sleepers: Sleepers,
    /// What decides instead of time, if anything does.
    pub(crate) explorer: Option<Explorer>,
    /// Steps so far.
    pub(crate) steps: u64,
    /// Threads that are not done, and those of them that only another thread
    /// can get on; background threads apart.
    pub(crate) live: usize,
    pub(crate) stuck: usize,
    /// Stuck threads that lost their CPU, and so do not watch: a write may be what
    /// they wait for.
    pub(crate) doubtful: Vec<usize>,
    /// How long the shortest turn took that somebody gave away.
    pub(crate) shortest_turn: Option<Ticks>,
    pub(crate) traffic: Traffic,
    pub(crate) record: Record,
    /// Objects that are static natively and one a run here, by the place that
    /// stands for them.
    pub(crate) statics: Vec<(usize, *const ())>,
    /// The threads that are in plain memory, where time does not decide.
    pub(crate) inside: Inside,
    /// Whether a thread's fiber runs, so that it has no event.
    pub(crate) fiber_runs: bool,
    /// Room for a list that is made often.
    pub(super) woken: Vec<u32>,
}

impl<'m> Engine<'m> {
    pub(crate) fn new(
        hardware: &'m Hardware,
        memory: &'m Memory,
        options: Options,
        threads: Vec<Thread>,
    ) -> Self {
        let explorer = Explorer::new(&options, threads.len());
        let live = threads.iter().filter(|thread| !thread.background).count();
        Self {
            hardware,
            memory,
            allowed: allowed(hardware, &options.placement),
            allowed_behind: allowed(hardware, &options.background_at),
            current: 0,
            horizon: 0,
            agenda: Agenda::new(threads.len()),
            lines: Lines::new(hardware.line_bytes),
            caches: Caches::new(hardware),
            cpus: Cpus::new(hardware),
            sleepers: Sleepers::default(),
            explorer,
            steps: 0,
            live,
            stuck: 0,
            doubtful: Vec::new(),
            shortest_turn: None,
            traffic: Traffic::new(hardware),
            record: Record::new(hardware, &options, &threads),
            statics: Vec::new(),
            inside: Inside::default(),
            fiber_runs: false,
            woken: Vec::new(),
            options,
            threads,
        }
    }

    pub(crate) fn me(&mut self) -> &mut Thread {
        &mut self.threads[self.current]
    }

    /// Something the current thread computes, in ticks of an undisturbed CPU.
    #[inline]
    pub(crate) fn compute(&mut self, ticks: Ticks) {
        let cpu = self.threads[self.current].cpu;
        let factor = self.cpus.factor[cpu];
        self.me().clock += ticks * factor / ONE;
    }

    /// Virtual nanoseconds at the current thread.
    pub(crate) fn nanoseconds(&self) -> u64 {
        let clock = self.threads[self.current].clock;
        self.hardware.rate.nanoseconds(clock)
    }

    /// The same, for what is counted beside the machine.  Where schedules are by chance what a
    /// thread computes is taken back at its next step: there it is the time of all.
    pub(crate) fn moment(&self) -> u64 {
        match &self.explorer {
            Some(explorer) => self.hardware.rate.nanoseconds(explorer.now),
            None => self.nanoseconds(),
        }
    }
}
