//! Hand-overs on this machine: two pinned threads increment a counter in turn.
//!
//! A line's home matters as much as the two CPUs, so each pair uses many lines: some in pages of
//! each node, one after the other. A pair's time is the median over its lines. A pair with
//! scattered times was disturbed, and is measured again; if that does not help, it is left out.

use super::Stop;
use super::map::{Pair, median};
use crate::interrupt;
use crate::progress::Progress;
use crate::rounds::Observer;
use crate::world::Topology;
use crate::world::disturb::{TOLERANCE, Watch};
use crate::world::native::{Clock, Lines};
use crate::world::{Memory, WORDS};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Lines in the pages of each node: two pages of them, so that their homes differ even if lines are
/// spread over a node's caches.
const LINES: usize = 64;

/// Hand-overs on a line before the next line's turn.
const TURNS: u64 = 64;

/// How long a pair is measured.
const LONG: Duration = Duration::from_millis(2);

/// Repetitions of a disturbed pair.
const AGAIN: usize = 3;

/// Time without progress before a pair is abandoned: one of its threads has no CPU.
const PATIENCE: Duration = Duration::from_millis(200);

/// This machine, ready to measure pairs.
pub struct Bench {
    cpus: Vec<usize>,
    clock: Clock,
    lines: Vec<Lines>,
    /// Pairs left out.
    pub left_out: Vec<Pair>,
}

impl Bench {
    /// Creates lines in each node, by threads that run there.
    ///
    /// # Errors
    /// A thread cannot be pinned.
    pub fn new(topology: &Topology) -> Result<Self, String> {
        let cpus = topology.cpus().to_vec();
        let numa = topology
            .levels()
            .iter()
            .position(|level| level.name == "numa");
        let mut firsts: Vec<usize> = Vec::new();
        let mut met = Vec::new();
        for cpu in &cpus {
            let node = numa.and_then(|level| topology.cohort_of(*cpu, level));
            if !met.contains(&node) {
                met.push(node);
                firsts.push(*cpu);
            }
        }
        // The first access determines a page's node.
        let lines = firsts.into_iter().map(|cpu| {
            let there = std::thread::spawn(move || {
                pin(cpu)?;
                let lines = Lines::zeroed(LINES);
                (0..LINES).for_each(|line| lines.write(line, WORDS - 1, 1));
                Ok(lines)
            });
            there.join().map_err(|_| "a thread panicked".to_owned())?
        });
        Ok(Self {
            clock: Clock::measure(),
            lines: lines.collect::<Result<_, String>>()?,
            cpus,
            left_out: Vec::new(),
        })
    }

    /// Measures pairs of CPUs, one after the other.  Blocks.
    ///
    /// # Errors
    /// A thread cannot be pinned, or a signal arrived.
    pub fn measure(
        &mut self,
        pairs: &[Pair],
        progress: &mut Progress,
    ) -> Result<Vec<Option<f64>>, Stop> {
        let mut times = Vec::new();
        for pair in pairs {
            interrupt::check().map_err(Stop::Interrupted)?;
            let (one, other) = (self.cpus[pair.0], self.cpus[pair.1]);
            progress.starts(&format!("CPUs {one} and {other}"), false);
            let mut time = self.quiet(one, other).map_err(Stop::Failed)?;
            for _ in 0..AGAIN {
                if time.is_none() {
                    progress.starts(&format!("CPUs {one} and {other}"), true);
                    time = self.quiet(one, other).map_err(Stop::Failed)?;
                }
            }
            if time.is_none() {
                self.left_out.push(*pair);
            }
            times.push(time);
        }
        Ok(times)
    }

    /// A pair's time; none if it was disturbed.
    fn quiet(&self, one: usize, other: usize) -> Result<Option<f64>, String> {
        let watch = Watch::start(&[one, other]);
        let begun = Instant::now();
        let times = self.pair(one, other)?;
        let foreign = watch.and_then(|watch| watch.foreign(begun.elapsed(), Duration::ZERO));
        let busy = foreign.is_some_and(|share| share > TOLERANCE);
        // Half of the turns without a disturbance suffice for a median.
        let enough = times.len() >= self.lines.len() * LINES / 4;
        Ok(median(&times).filter(|_| enough && !busy))
    }

    /// The nanoseconds of a hand-over on each line, as often as time permits.
    pub fn pair(&self, one: usize, other: usize) -> Result<Vec<f64>, String> {
        let over = Arc::new(AtomicBool::new(false));
        for lines in &self.lines {
            (0..LINES).for_each(|line| lines.write(line, 0, 0));
        }
        std::thread::scope(|scope| {
            let second = scope.spawn(|| {
                let pinned = pin(other);
                if pinned.is_ok() {
                    self.take_turns(1, &over);
                }
                over.store(true, Ordering::Relaxed);
                pinned
            });
            let first = scope.spawn(|| {
                let pinned = pin(one);
                let times = pinned.map(|()| self.take_turns(0, &over));
                over.store(true, Ordering::Relaxed);
                times
            });
            let times = first.join().map_err(|_| "a thread panicked")??;
            second.join().map_err(|_| "a thread panicked")??;
            Ok(times)
        })
    }

    /// Increments the counter whenever it is even (`parity` 0) or odd, line by line, until the time
    /// is up; the first of the two takes the time.
    fn take_turns(&self, parity: u64, over: &AtomicBool) -> Vec<f64> {
        let begun = Instant::now();
        let mut times = Vec::new();
        for round in 1.. {
            for line in 0..LINES {
                for lines in &self.lines {
                    let from = self.clock.now();
                    let last = round * TURNS;
                    let first = last - TURNS;
                    for turn in (first + parity..last).step_by(2) {
                        if !wait(lines, line, turn, over) {
                            return times;
                        }
                        lines.add(line, 0, 1);
                    }
                    if parity == 0 {
                        if !wait(lines, line, last, over) {
                            return times;
                        }
                        let took = self.clock.nanoseconds(self.clock.now() - from);
                        // In the first round, the other thread is still arriving.
                        if round > 1 {
                            times.push(took as f64 / TURNS as f64);
                        }
                    }
                }
            }
            if parity == 0 && begun.elapsed() >= LONG && round > 1 {
                break;
            }
        }
        times
    }
}

/// Waits until the counter reaches `count`; false if the other thread has ended, or is away too
/// long.
fn wait(lines: &Lines, line: usize, count: u64, over: &AtomicBool) -> bool {
    const LOOKS: u32 = 1 << 12;
    let mut since = None;
    loop {
        for _ in 0..LOOKS {
            if lines.read(line, 0) >= count {
                return true;
            }
            spin_loop();
        }
        let since = since.get_or_insert_with(Instant::now);
        if over.load(Ordering::Relaxed) || since.elapsed() > PATIENCE {
            return false;
        }
    }
}

fn pin(cpu: usize) -> Result<(), String> {
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set)
        .map_err(|error| format!("cannot pin a thread to CPU {cpu}: {error}"))
}
