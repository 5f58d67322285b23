//! The operations of a simulated thread's program.

use super::access::Access;
use super::clock::{CYCLE, Ticks};
use super::current::{step, suspend, with};
use super::state::Engine;

/// A simulated thread, as its program sees it.
///
/// The methods act for the running thread, and only while it runs.
#[derive(Clone, Copy, Debug)]
pub struct Thread {
    pub(crate) number: usize,
}

/// Cycles after which a long computation takes its siblings' changes into account.
const CHUNK: Ticks = 2000 * CYCLE;

fn of_run<R>(look: impl FnOnce(&mut Engine<'_>) -> R) -> R {
    with(look).expect("a simulated thread lives inside its run")
}

impl Thread {
    /// Its number, from 0.
    #[must_use]
    pub const fn number(&self) -> usize {
        self.number
    }

    /// The CPU it runs on.
    #[must_use]
    pub fn cpu(&self) -> usize {
        of_run(|engine| engine.me().cpu)
    }

    /// The cohort it runs in, by level, smallest first.
    ///
    /// # Panics
    /// If the machine has no such level.
    #[must_use]
    pub fn cohort(&self, level: usize) -> usize {
        of_run(|engine| engine.hardware.cohort(level, engine.me().cpu))
    }

    /// Nanoseconds since the start of the run.
    #[must_use]
    pub fn now(&self) -> u64 {
        of_run(|engine| engine.nanoseconds())
    }

    /// Cycles since the start of the run.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        of_run(|engine| engine.me().clock / CYCLE)
    }

    /// Random bits of the thread's own stream.
    #[must_use]
    pub fn random(&self) -> u64 {
        of_run(|engine| engine.me().random.next())
    }

    /// A random number below `bound`.
    ///
    /// # Panics
    /// If `bound` is 0.
    #[must_use]
    pub fn random_below(&self, bound: u64) -> u64 {
        assert!(bound > 0, "nothing is below 0");
        of_run(|engine| engine.me().random.below(bound))
    }

    /// Computes for that many cycles of an undisturbed CPU at the machine's clock rate.
    pub fn work(&self, cycles: u64) {
        let mut left = cycles.saturating_mul(CYCLE);
        while left > 0 {
            let (done, early) = of_run(|engine| engine.work(left, CHUNK));
            left -= done;
            if early {
                suspend();
            }
        }
    }

    /// Loads from the line of an address: one access, regardless of size.
    pub fn read(&self, address: usize) {
        step(|engine| engine.access(address, Access::Load));
    }

    /// Stores to the line of an address.
    pub fn write(&self, address: usize) {
        step(|engine| engine.access(address, Access::Store));
    }

    /// Yields the CPU to another thread that waits for it, if any.
    pub fn yield_now(&self) {
        super::door::yield_now();
    }

    /// Whether the run has counted enough, so that the thread should return.
    #[must_use]
    pub fn is_over(&self) -> bool {
        of_run(|engine| engine.record.is_over())
    }

    /// Records the start of an acquisition or of a release, from which its latency counts.
    pub fn begin(&self) {
        of_run(|engine| {
            let at = engine.me().clock;
            engine.record.begin_call(engine.current, at);
        });
    }

    /// Whether the run counts at present: not during the warm-up, nor after the end.
    #[must_use]
    pub fn counts(&self) -> bool {
        of_run(|engine| engine.record.counts())
    }

    /// Whether the warm-up is over.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        of_run(|engine| engine.record.has_begun())
    }

    /// Records that the thread begins to wait for a lock, for its section, or to read. Until it
    /// [has waited](Self::has_waited), the run is not [steady](super::Rule::Steady).
    pub fn waits(&self) {
        of_run(|engine| {
            let at = engine.me().clock;
            engine.record.begin_wait(self.number, at);
        });
    }

    /// Records the end of the thread's wait, a timeout included.
    pub fn has_waited(&self) {
        of_run(|engine| {
            let at = engine.me().clock;
            engine.record.end_wait(self.number, at);
        });
    }

    /// Records a shared acquisition: counted as an acquisition, except in
    /// [`Outcome::handovers`](super::Outcome::handovers).
    pub fn shares(&self) {
        of_run(|engine| engine.record.shared(engine.current));
    }

    /// Records an acquisition of the lock of that number: small numbers, chosen by the workload.
    pub fn acquired(&self, lock: usize) {
        of_run(|engine| {
            let (thread, hardware) = (engine.current, engine.hardware);
            let (cpu, at) = (engine.me().cpu, engine.me().clock);
            engine.record.acquired(hardware, thread, cpu, lock, at);
        });
    }

    /// Records a timeout of the thread, for [`Length::given_up`](super::Length::given_up).
    pub fn gave_up(&self) {
        of_run(|engine| engine.record.gave_up());
    }

    /// Records a release by the thread.
    pub fn released(&self) {
        of_run(|engine| {
            let at = engine.me().clock;
            engine.record.released(engine.current, at);
        });
    }

    /// Records a round of the thread's work; throughput and fairness count rounds in workloads that
    /// call this.
    pub fn round(&self) {
        of_run(|engine| engine.record.round(engine.current));
    }
}

impl Engine<'_> {
    /// Computes for `left` ticks or a chunk of them; returns how many, and whether the fiber must
    /// be suspended.
    fn work(&mut self, left: Ticks, chunk: Ticks) -> (Ticks, bool) {
        if self.explorer.is_some() {
            return (left, self.arrive_exploring());
        }
        let cpu = self.me().cpu;
        let done = if self.cpus.has_siblings(self.hardware, cpu) {
            left.min(chunk)
        } else {
            left
        };
        self.compute(done);
        (done, self.is_early())
    }
}
