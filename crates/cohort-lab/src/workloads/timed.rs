//! A thread with a timeout acquires a mutex that other threads use all the time.

use super::background::Hogs;
use super::pthread::{Mutex, MutexKind};
use super::{LONGEST, times};
use super::{Latency, Outcome};
use crate::options::seconds;
use crate::world::work::Pace;
use std::time::{Duration, Instant};

/// Options of the load.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Timeout of the thread, in nanoseconds
    #[arg(long, value_name = "NS", default_value_t = 1_000_000)]
    deadline: u32,
    /// Number of threads that reacquire the mutex immediately
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u16).range(1..))]
    hogs: u16,
    /// Hold time, in nanoseconds
    #[arg(long, value_name = "NS", default_value_t = 3_000_000)]
    section: u32,
    /// Time between two attempts of the thread, in nanoseconds
    #[arg(long, value_name = "NS", default_value_t = 1_000)]
    gap: u32,
    /// Duration in seconds
    #[arg(long, default_value = "1", value_parser = seconds)]
    seconds: f64,
}

/// Runs the load. Operations are the thread's successful acquisitions, and the latency is theirs.
/// Blocks.
///
/// # Errors
/// A thread or the mutex cannot be created.
pub fn run(options: &Options) -> Result<Outcome, String> {
    let mutex =
        Mutex::new(MutexKind::Normal).map_err(|error| format!("cannot create a mutex: {error}"))?;
    let pace = Pace::measure();
    let (section, gap) = (pace.work(options.section), pace.work(options.gap));
    let patience = Duration::from_nanos(options.deadline.into());
    let mut served = times(LONGEST)?;
    let hogs = Hogs {
        threads: options.hogs,
        section,
    };
    let visit = || {
        let begun = Instant::now();
        while begun.elapsed().as_secs_f64() < options.seconds {
            let asked = Instant::now();
            if mutex.lock_within(patience) {
                let waited = asked.elapsed().as_nanos();
                served.saturating_record(u64::try_from(waited).unwrap_or(LONGEST));
                section.perform();
                // SAFETY: locked above, by this thread.
                unsafe { mutex.unlock() };
            }
            gap.perform();
        }
        begun.elapsed().as_secs_f64()
    };
    let (elapsed, _) = hogs.beside(&mutex, visit)?;
    Ok(Outcome {
        operations: served.len(),
        seconds: elapsed,
        per_second: served.len() as f64 / elapsed,
        latency: Some(Latency::of(&served, |nanoseconds| nanoseconds)),
        ..Outcome::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patient_thread_is_served() {
        let options = Options {
            deadline: 2_000_000_000,
            hogs: 1,
            section: 1_000,
            gap: 1_000,
            seconds: 0.05,
        };
        let outcome = run(&options).unwrap();
        assert!(outcome.operations > 0);
        assert!(outcome.latency.unwrap().most < 2_000_000_000);
    }
}
