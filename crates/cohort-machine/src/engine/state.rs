//! The state of a run's machine: one value, which all fibers of the run reach through a pointer
//! (see `current.rs`). The other modules of the engine operate on it.

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
    /// How long a waiter spins.
    pub(crate) spin: Ticks,
    pub(crate) threads: Vec<Thread>,
    /// The CPUs that the run's threads may use, and those of background threads.
    pub(crate) allowed: Vec<bool>,
    pub(crate) allowed_behind: Vec<bool>,
    /// The thread of the running fiber.
    pub(crate) current: usize,
    /// The time up to which it may run without a check for other threads.
    pub(crate) horizon: Ticks,
    pub(crate) agenda: Agenda,
    pub(crate) lines: Lines,
    pub(crate) caches: Caches,
    pub(crate) cpus: Cpus,
    pub(crate) sleepers: Sleepers,
    /// The scheduler that replaces time, if any.
    pub(crate) explorer: Option<Explorer>,
    /// Steps so far.
    pub(crate) steps: u64,
    /// Unfinished threads, and those of them that only another thread can let proceed; without
    /// background threads.
    pub(crate) live: usize,
    pub(crate) stuck: usize,
    /// Stuck threads that were preempted and watch no lines: any write may be what they wait for.
    pub(crate) doubtful: Vec<usize>,
    /// The shortest time slice after a yield.
    pub(crate) shortest_turn: Option<Ticks>,
    pub(crate) traffic: Traffic,
    pub(crate) record: Record,
    /// Objects that are static natively and one per run here, by the address of their native
    /// stand-in.
    pub(crate) statics: Vec<(usize, *const ())>,
    /// The threads in the middle of a plain memory access, under schedules without time.
    pub(crate) inside: Inside,
    /// Whether a thread's fiber runs, so that it has no event.
    pub(crate) fiber_runs: bool,
    /// A reusable buffer.
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
            spin: hardware.rate.ticks(options.spin),
            options,
            threads,
        }
    }

    pub(crate) fn me(&mut self) -> &mut Thread {
        &mut self.threads[self.current]
    }

    /// Adds a computation of the current thread, in ticks of an undisturbed CPU.
    #[inline]
    pub(crate) fn compute(&mut self, ticks: Ticks) {
        let cpu = self.threads[self.current].cpu;
        let factor = self.cpus.factor[cpu];
        self.me().clock += ticks * factor / ONE;
    }

    /// The current thread's time in virtual nanoseconds.
    pub(crate) fn nanoseconds(&self) -> u64 {
        let clock = self.threads[self.current].clock;
        self.hardware.rate.nanoseconds(clock)
    }

    /// The time for counts beside the machine, in virtual nanoseconds. Under random schedules it is
    /// the common time, since a thread's own computation is reset at its next step.
    pub(crate) fn moment(&self) -> u64 {
        match &self.explorer {
            Some(explorer) => self.hardware.rate.nanoseconds(explorer.now),
            None => self.nanoseconds(),
        }
    }
}
