//! Threads that run the same operation for a while, and their counts.

use super::Outcome;
use super::latency::{LONGEST, Latency, Times, times};
use crate::options::seconds;
use crate::progress::tell;
use rustix::time::{ClockId, clock_gettime};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// One in this many acquisitions is timed: often enough for percentiles, rarely enough not to
/// affect the load. A prime, to avoid beating with another period.
const SAMPLED: u64 = 13;

/// How many threads, for how long.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Crowd {
    /// Number of threads
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: u16,
    /// Duration in seconds
    #[arg(long, default_value = "1", value_parser = seconds)]
    pub seconds: f64,
}

/// Running thread.
pub struct Member<'a> {
    over: &'a AtomicBool,
    count: u64,
    latencies: Option<Times>,
}

impl Member<'_> {
    /// Counts a completed operation; true if another one should follow. Operations that end after
    /// the time limit do not count.
    #[inline]
    pub fn goes_on(&mut self) -> bool {
        if self.over.load(Ordering::Relaxed) {
            return false;
        }
        self.count += 1;
        true
    }

    /// The beginning of this acquisition, if it is timed.
    #[inline]
    pub fn begins(&self) -> Option<Instant> {
        (self.latencies.is_some() && self.count.is_multiple_of(SAMPLED)).then(Instant::now)
    }

    /// Records the latency of a timed acquisition.
    #[inline]
    pub fn keep(&mut self, latency: Option<Duration>) {
        if let (Some(latencies), Some(latency)) = (&mut self.latencies, latency) {
            let nanoseconds = u64::try_from(latency.as_nanos()).unwrap_or(LONGEST);
            latencies.saturating_record(nanoseconds);
        }
    }
}

impl Crowd {
    /// Runs `prepare` in every thread, then repeats the returned operation until the time limit;
    /// `latency` times acquisitions. Blocks.
    ///
    /// # Errors
    /// A thread cannot be created, or its preparation failed.
    pub fn run<'a, P, W>(&self, latency: bool, prepare: P) -> Result<Outcome, String>
    where
        P: Fn(usize) -> Result<W, String> + Sync,
        W: FnMut(&mut Member) + 'a,
    {
        let prepare = |index| prepare(index).map(|work| Box::new(work) as Work<'a>);
        self.run_prepared(latency, &prepare)
    }

    /// [`run`](Self::run), compiled once and not for each lock of a load.
    fn run_prepared(&self, latency: bool, prepare: &Prepare<'_, '_>) -> Result<Outcome, String> {
        let threads = usize::from(self.threads);
        let over = AtomicBool::new(false);
        let start = Barrier::new(threads + 1);
        let (elapsed, used, members) = std::thread::scope(|scope| {
            let mut handles = Vec::new();
            for index in 0..threads {
                let (over, start) = (&over, &start);
                let body = move || take_part(index, over, start, prepare, latency);
                let builder = std::thread::Builder::new().name(format!("load-{index}"));
                match builder.spawn_scoped(scope, body) {
                    Ok(handle) => handles.push(handle),
                    Err(error) => {
                        // The other threads wait at the barrier for a thread that will never
                        // arrive.
                        tell(format_args!(
                            "cohort: cannot create thread {}: {error}",
                            index + 1
                        ));
                        std::process::exit(1);
                    }
                }
            }
            start.wait();
            let (begun, used) = (Instant::now(), cpu_seconds());
            std::thread::sleep(Duration::from_secs_f64(self.seconds));
            over.store(true, Ordering::Relaxed);
            let (elapsed, used) = (begun.elapsed(), cpu_seconds() - used);
            let members: Vec<_> = handles.into_iter().map(|handle| handle.join()).collect();
            (elapsed, used, members)
        });
        let mut counts = Vec::new();
        let mut latencies: Option<Times> = None;
        for member in members {
            let (count, own) = member.map_err(|_| "a thread panicked".to_owned())??;
            counts.push(count);
            match (&mut latencies, own) {
                (Some(all), Some(own)) => all
                    .add(own)
                    .map_err(|error| format!("cannot merge latencies: {error}"))?,
                (None, own) => latencies = own,
                (Some(_), None) => {}
            }
        }
        let operations = counts.iter().sum();
        let seconds = elapsed.as_secs_f64();
        Ok(Outcome {
            operations,
            seconds,
            per_second: operations as f64 / seconds,
            least: counts.iter().min().copied(),
            most: counts.iter().max().copied(),
            latency: latencies.map(|all| Latency::of(&all, |nanoseconds| nanoseconds)),
            cpu_seconds: Some(used),
            ..Outcome::default()
        })
    }
}

/// CPU seconds of this process so far.
fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// A prepared thread's operation.
type Work<'a> = Box<dyn FnMut(&mut Member) + 'a>;

/// Preparation of the thread of that number.
type Prepare<'p, 'a> = dyn Fn(usize) -> Result<Work<'a>, String> + Sync + 'p;

type Part = Result<(u64, Option<Times>), String>;

fn take_part(
    index: usize,
    over: &AtomicBool,
    start: &Barrier,
    prepare: &Prepare<'_, '_>,
    latency: bool,
) -> Part {
    let latencies = latency.then(|| times(LONGEST)).transpose();
    let prepared = prepare(index);
    start.wait();
    let mut work = prepared?;
    let mut member = Member {
        over,
        count: 0,
        latencies: latencies?,
    };
    work(&mut member);
    Ok((member.count, member.latencies))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Crowd = Crowd {
        threads: 3,
        seconds: 0.05,
    };

    #[test]
    fn everyone_counts_and_is_timed() {
        let outcome = SHORT
            .run(true, |_| {
                Ok(|member: &mut Member| {
                    loop {
                        let begun = member.begins();
                        std::thread::sleep(Duration::from_micros(200));
                        let latency = begun.map(|begun| begun.elapsed());
                        member.keep(latency);
                        if !member.goes_on() {
                            break;
                        }
                    }
                })
            })
            .unwrap();
        assert!(outcome.seconds >= SHORT.seconds);
        assert!(outcome.least.unwrap() > 0);
        assert!(outcome.operations >= outcome.least.unwrap() + outcome.most.unwrap());
        let latency = outcome.latency.unwrap();
        assert!(latency.p50 >= 200_000 && latency.most >= latency.p50);
        assert!(latency.sampled * SAMPLED <= outcome.operations + 3 * SAMPLED);
    }

    #[test]
    fn a_thread_that_cannot_prepare_ends_it_for_all() {
        let outcome = SHORT.run(false, |index| {
            if index == 1 {
                return Err("no room".to_owned());
            }
            Ok(|member: &mut Member| while member.goes_on() {})
        });
        assert_eq!(outcome.unwrap_err(), "no room");
    }
}
