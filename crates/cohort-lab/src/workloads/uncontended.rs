//! One thread takes and releases a mutex that nobody else wants.

use super::pthread::{Kind, Mutex};
use super::{Apart, Exclusion, Outcome, Pair, exclusion};
use crate::options::seconds;
use crate::stats::Estimate;
use cohort::RawLock;
use cohort::basic::{Clh, Hemlock, Mcs, Ticket, Ttas};
use cohort::compose::{Bypass, CacheGroup, Clof, Fast, Numa, Package};
use std::time::{Duration, Instant};

/// Options of the load.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// How many other threads are alive, asleep
    #[arg(long, default_value_t = 2, conflicts_with = "single",
        value_parser = clap::value_parser!(u16).range(1..))]
    threads: u16,
    /// Never make another thread
    #[arg(long)]
    single: bool,
    /// Instead of a pthread mutex
    #[arg(long, value_name = "LOCK")]
    raw: Option<Raw>,
    /// For how many seconds
    #[arg(long, default_value = "1", value_parser = seconds)]
    seconds: f64,
}

/// A composition, inlined as its users have it, and what it is made of.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Raw {
    /// The lock of each cache group
    Hemlock,
    /// That of each NUMA node
    Mcs,
    /// That of each package
    Clh,
    /// The top lock
    Ticket,
    /// The four of them
    Composition,
    /// Those with a bypass to the top lock
    Bypass,
    /// The word of a fast path
    Ttas,
    /// The four under such a word
    Fast,
}

/// Four levels, with another lock at each.
type Four = Clof<Hemlock, Clof<Mcs, Clof<Clh, Ticket, Package>, Numa>, CacheGroup>;

impl Raw {
    fn run(self, options: &Options) -> Result<Outcome, String> {
        match self {
            Self::Hemlock => alone::<Hemlock>(options),
            Self::Mcs => alone::<Mcs>(options),
            Self::Clh => alone::<Clh>(options),
            Self::Ticket => alone::<Ticket>(options),
            Self::Composition => alone::<Four>(options),
            Self::Bypass => alone::<Bypass<Four>>(options),
            Self::Ttas => alone::<Ttas>(options),
            Self::Fast => alone::<Fast<Four>>(options),
        }
    }
}

fn alone<L: RawLock>(options: &Options) -> Result<Outcome, String> {
    under(&Apart(exclusion::Raw(L::default())), options)
}

/// Pairs that are timed together, so that reading the clock costs nothing.
const BATCH: u32 = 2_000;

/// Runs the load.
///
/// # Errors
/// The mutex or the other threads cannot be made.
pub fn run(options: &Options) -> Result<Outcome, String> {
    if let Some(raw) = options.raw {
        return raw.run(options);
    }
    let mutex =
        Mutex::new(Kind::Normal).map_err(|error| format!("no mutex can be made: {error}"))?;
    under(&mutex, options)
}

/// Runs the load under `lock`.  Blocks.
///
/// # Errors
/// The other threads cannot be made.
pub fn under(lock: &impl Exclusion, options: &Options) -> Result<Outcome, String> {
    let mut sleepers = Vec::new();
    if !options.single {
        for _ in 0..options.threads {
            let sleeper = std::thread::Builder::new()
                .spawn(|| {
                    loop {
                        std::thread::park();
                    }
                })
                .map_err(|error| format!("a thread cannot be made: {error}"))?;
            sleepers.push(sleeper);
        }
    }
    let batches = batches(lock, Duration::from_secs_f64(options.seconds));
    let least = batches.iter().copied().fold(f64::INFINITY, f64::min);
    let median = Estimate::of(&batches).map_or(least, |estimate| estimate.median);
    let operations = batches.len() as u64 * u64::from(BATCH);
    Ok(Outcome {
        operations,
        seconds: options.seconds,
        per_second: 1e9 / median,
        pair: Some(Pair { least, median }),
        ..Outcome::default()
    })
}

/// Nanoseconds for a pair, in each batch.
fn batches(lock: &impl Exclusion, duration: Duration) -> Vec<f64> {
    let begun = Instant::now();
    let mut token = lock.token();
    let mut batches = Vec::new();
    loop {
        let batch = Instant::now();
        lock.pairs(&mut token, BATCH);
        batches.push(batch.elapsed().as_secs_f64() * 1e9 / f64::from(BATCH));
        if begun.elapsed() >= duration {
            return batches;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_takes_time() {
        let raw = clap::ValueEnum::value_variants().iter().copied().map(Some);
        for raw in raw.chain([None]) {
            let options = Options {
                threads: 1,
                single: false,
                raw,
                seconds: 0.02,
            };
            let pair = run(&options).unwrap().pair.unwrap();
            assert!(pair.least > 0.0 && pair.median >= pair.least, "{raw:?}");
        }
    }
}
