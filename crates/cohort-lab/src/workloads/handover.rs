//! Two threads on separate CPUs hand a lock to each other.
//!
//! The latency is the time from the holder's release to the waiter's entry. To time exactly that
//! for any lock order, the data determine the next thread. A holder keeps the lock until the other
//! has requested it, and then for a given time. It requests the lock again only after the other's
//! entry. With a short time, the waiter is still spinning; with a long one, it has settled.
//!
//! A *visit* is the uncontended case: the next thread arrives at a free lock. The
//! latency is that of an uncontended acquisition and release, of a lock last held on another CPU.
//!
//! A thread's own preemption shows in the percentiles beyond the median. On a busy machine, only
//! the median is meaningful.

use super::pthread::{Mutex, MutexKind};
use super::{CachePadded, Exclusion, Latency, Outcome};
use super::{Times, times};
use crate::options::seconds;
use crate::world::disturb::allowed_cpus;
use crate::world::native::Clock;
use crate::world::work::{Pace, Work};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Options of the load.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Hold time after the other thread starts to wait, in nanoseconds
    #[arg(long, value_name = "NS", default_value_t = 200)]
    hold: u32,
    /// Acquire only after the release
    #[arg(long, conflicts_with = "hold")]
    visit: bool,
    /// Duration in seconds; longer if the two threads seldom run simultaneously
    #[arg(long, default_value = "1", value_parser = seconds)]
    seconds: f64,
}

/// Number of turns for a meaningful median. If other processes keep the two threads from running
/// concurrently, the load runs up to `EXTENSIONS` times longer.
const ENOUGH: u64 = 1_000;
const EXTENSIONS: u32 = 20;

/// The longest distinguishable time, in cycles of the clock.
const LONGEST: u64 = 1 << 40;

/// Shared state of the two, each word on a line of its own. Turns count from 0, and alternate
/// between the threads; a number stands for all turns before it.
#[derive(Default)]
struct Turns {
    /// Turns that have requested the lock.
    asked: CachePadded<AtomicU64>,
    /// Turns that have entered.
    entered: CachePadded<AtomicU64>,
    /// Turns that have released it.
    left: CachePadded<AtomicU64>,
    /// The time of the last release.
    released: CachePadded<AtomicU64>,
    over: CachePadded<AtomicBool>,
}

/// Runs the load.
///
/// # Errors
/// There is only one CPU, or the mutex cannot be created.
pub fn run(options: &Options) -> Result<Outcome, String> {
    let mutex =
        Mutex::new(MutexKind::Normal).map_err(|error| format!("cannot create a mutex: {error}"))?;
    under(&mutex, options)
}

/// Runs the load under `lock`; the outcome's latency is that of hand-overs or visits. Blocks.
///
/// # Errors
/// There is only one CPU, or a thread cannot be pinned.
pub fn under(lock: &impl Exclusion, options: &Options) -> Result<Outcome, String> {
    let &[first, second, ..] = allowed_cpus().as_slice() else {
        return Err("two CPUs are needed, and this process may use only one".to_owned());
    };
    let clock = Clock::measure();
    let hold = Pace::measure().work(options.hold);
    let turns = Turns::default();
    let begun = Instant::now();
    let parts = std::thread::scope(|scope| {
        let threads = [(0, first), (1, second)].map(|(parity, cpu)| {
            let (turns, clock) = (&turns, &clock);
            scope.spawn(move || {
                let part = settle(cpu).and_then(|()| {
                    if options.visit {
                        visit(lock, turns, parity, clock)
                    } else {
                        take_over(lock, turns, parity, clock, hold)
                    }
                });
                // The other must not wait for an ended thread.
                turns.over.0.store(true, Ordering::Relaxed);
                part
            })
        });
        for _ in 0..=EXTENSIONS {
            std::thread::sleep(Duration::from_secs_f64(options.seconds));
            if turns.done() >= ENOUGH || turns.over.0.load(Ordering::Relaxed) {
                break;
            }
        }
        turns.over.0.store(true, Ordering::Relaxed);
        threads.map(|thread| thread.join())
    });
    let elapsed = begun.elapsed().as_secs_f64();
    let mut all = times(LONGEST)?;
    for part in parts {
        let part = part.map_err(|_| "a thread panicked".to_owned())??;
        all.add(part)
            .map_err(|error| format!("cannot merge times: {error}"))?;
    }
    if all.is_empty() {
        return Err("no hand-off finished in time".to_owned());
    }
    Ok(Outcome {
        operations: all.len(),
        seconds: elapsed,
        per_second: all.len() as f64 / elapsed,
        latency: Some(Latency::of(&all, |cycles| clock.nanoseconds(cycles))),
        ..Outcome::default()
    })
}

/// Pins the calling thread to that CPU.
fn settle(cpu: usize) -> Result<(), String> {
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).map_err(|error| format!("cannot use CPU {cpu}: {error}"))
}

impl Turns {
    /// The number of turns so far.
    fn done(&self) -> u64 {
        let of = |count: &CachePadded<AtomicU64>| count.0.load(Ordering::Relaxed);
        of(&self.entered).max(of(&self.left))
    }

    /// Waits until `count` has reached `turn`; false if the load is over.
    #[inline]
    fn wait(&self, count: &CachePadded<AtomicU64>, turn: u64) -> bool {
        while count.0.load(Ordering::Acquire) < turn {
            if self.over.0.load(Ordering::Relaxed) {
                return false;
            }
            std::hint::spin_loop();
        }
        true
    }
}

/// Times from release to entry.
fn take_over(
    lock: &impl Exclusion,
    turns: &Turns,
    parity: u64,
    clock: &Clock,
    hold: Work,
) -> Result<Times, String> {
    let mut times = times(LONGEST)?;
    let mut token = lock.token();
    let mut turn = parity;
    while turns.wait(&turns.entered, turn) {
        turns.asked.0.store(turn + 1, Ordering::Release);
        lock.with(&mut token, || {
            let now = clock.now_after_reads();
            let released = turns.released.0.load(Ordering::Relaxed);
            // The first turn has no predecessor.
            if turn > 0 {
                times.saturating_record(now.saturating_sub(released));
            }
            turns.entered.0.store(turn + 1, Ordering::Release);
            if turns.wait(&turns.asked, turn + 2) {
                hold.perform();
            }
            turns.released.0.store(clock.now(), Ordering::Relaxed);
        });
        turn += 2;
    }
    Ok(times)
}

/// Times from request to release.
fn visit(
    lock: &impl Exclusion,
    turns: &Turns,
    parity: u64,
    clock: &Clock,
) -> Result<Times, String> {
    let mut times = times(LONGEST)?;
    let mut token = lock.token();
    let mut turn = parity;
    while turns.wait(&turns.left, turn) {
        let asked = clock.now();
        lock.with(&mut token, || ());
        times.saturating_record(clock.now_after_reads().saturating_sub(asked));
        turns.left.0.store(turn + 1, Ordering::Release);
        turn += 2;
    }
    Ok(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(hold: u32, visit: bool) -> Options {
        Options {
            hold,
            visit,
            seconds: 0.05,
        }
    }

    fn latency(outcome: Result<Outcome, String>) -> Option<Latency> {
        match outcome {
            Ok(outcome) => outcome.latency,
            // With one CPU, the load reports an error.
            Err(why) => {
                assert!(why.contains("two CPUs"), "{why}");
                None
            }
        }
    }

    #[test]
    fn turns_are_taken_and_timed() {
        for options in [options(100, false), options(0, true)] {
            if let Some(latency) = latency(run(&options)) {
                assert!(latency.sampled > 0 && latency.p50 > 0, "{options:?}");
            }
        }
    }

    #[test]
    fn a_waiter_that_comes_late_is_late() {
        /// Sleeps before it acquires the lock.
        struct Sleepy(Mutex);
        impl Exclusion for Sleepy {
            type Token = ();
            fn token(&self) {}
            fn with<R>(&self, (): &mut (), section: impl FnOnce() -> R) -> R {
                std::thread::sleep(Duration::from_millis(2));
                self.0.with(section)
            }
        }
        let lock = Sleepy(Mutex::new(MutexKind::Normal).unwrap());
        if let Some(latency) = latency(under(&lock, &options(0, false))) {
            assert!(latency.p50 > 500_000, "{}", latency.p50);
        }
    }
}
