//! One thread occasionally acquires a lock that other threads use all the time.
//!
//! Its waits are those of a program's user: the thread represents one that answers requests, the
//! others background work. It pauses after each acquisition, so that a long wait counts once.

use super::background::{Burners, Hogs};
use super::choice::{self, Choice};
use super::{Exclusion, Latency, Outcome};
use super::{LONGEST, Times, times};
use crate::options::seconds;
use crate::world::work::Pace;
use std::time::{Duration, Instant};

/// Options of the load.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    load: Load,
    #[command(flatten)]
    choice: Choice,
}

/// Options that are the same for every lock.
#[derive(Clone, Debug, clap::Args)]
struct Load {
    /// Number of threads that reacquire the lock immediately
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u16).range(1..))]
    hogs: u16,
    /// Hold time of each, in nanoseconds
    #[arg(long, value_name = "NS", default_value_t = 2_000)]
    section: u32,
    /// Sleep of the occasional thread between acquisitions, in nanoseconds
    #[arg(long, value_name = "NS", default_value_t = 1_000_000)]
    gap: u32,
    /// Number of busy processes
    #[arg(long, value_name = "N", default_value_t = 0)]
    burners: u16,
    /// Nice value of the occasional thread
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(i8).range(0..20))]
    nice: i8,
    /// Duration in seconds
    #[arg(long, default_value = "1", value_parser = seconds)]
    seconds: f64,
}

/// Runs the load. The outcome's latency is that of the occasional thread, which counts as the least
/// served; operations are those of all threads.
///
/// # Errors
/// An unknown lock, or a failed creation of a thread, a process or a mutex.
pub fn run(options: &Options) -> Result<Outcome, String> {
    options.choice.run(&options.load)
}

impl choice::Load for Load {
    fn under(&self, lock: &impl Exclusion) -> Result<Outcome, String> {
        let hogs = Hogs {
            threads: self.hogs,
            section: Pace::measure().work(self.section),
        };
        let _burners = Burners::start(self.burners)?;
        let (visits, counts) = hogs.beside(lock, || self.visit(lock))?;
        let (waits, elapsed) = visits?;
        let operations = waits.len() + counts.iter().sum::<u64>();
        Ok(Outcome {
            operations,
            seconds: elapsed,
            per_second: operations as f64 / elapsed,
            least: counts.iter().copied().chain([waits.len()]).min(),
            most: counts.iter().copied().max(),
            latency: Some(Latency::of(&waits, |nanoseconds| nanoseconds)),
            ..Outcome::default()
        })
    }
}

impl Load {
    /// The occasional thread's waits, and the duration in seconds.
    fn visit(&self, lock: &impl Exclusion) -> Result<(Times, f64), String> {
        if self.nice != 0 {
            // For this thread only: the others exist already.
            rustix::process::setpriority_process(None, self.nice.into())
                .map_err(|error| format!("cannot change the nice value: {error}"))?;
        }
        let mut waits = times(LONGEST)?;
        let mut token = lock.token();
        let begun = Instant::now();
        while begun.elapsed().as_secs_f64() < self.seconds {
            let asked = Instant::now();
            let waited = lock.with(&mut token, || asked.elapsed());
            waits.saturating_record(u64::try_from(waited.as_nanos()).unwrap_or(LONGEST));
            std::thread::sleep(Duration::from_nanos(self.gap.into()));
        }
        Ok((waits, begun.elapsed().as_secs_f64()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_occasional_thread_is_timed() {
        for raw in [None, Some("parking_lot"), Some("mcs")] {
            let options = Options {
                load: Load {
                    hogs: 2,
                    section: 2_000,
                    gap: 100_000,
                    burners: 1,
                    nice: 0,
                    seconds: 0.05,
                },
                choice: Choice {
                    raw: raw.map(str::to_owned),
                    ..Choice::default()
                },
            };
            let outcome = run(&options).unwrap();
            let latency = outcome.latency.unwrap();
            assert!(latency.sampled > 0, "{raw:?}");
            assert!(latency.p50 <= latency.p90 && latency.p90 <= latency.most);
            assert!(outcome.operations > latency.sampled, "{raw:?}");
        }
    }
}
