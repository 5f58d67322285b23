//! Readers and writers share one rwlock.

use super::background::Burners;
use super::crowd::{Crowd, Member};
use super::pthread::RwLock;
use super::{CachePadded, Outcome, Sharing};
use crate::world::work::{Pace, Work};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Options of the load.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    crowd: Crowd,
    /// Percentage of read acquisitions
    #[arg(long, value_name = "PERCENT", default_value_t = 90,
        value_parser = clap::value_parser!(u8).range(0..=100))]
    readers: u8,
    /// Hold time, in nanoseconds
    #[arg(long, value_name = "NS", default_value_t = 200)]
    section: u32,
    /// Time between two acquisitions of a thread, in nanoseconds
    #[arg(long, value_name = "NS", default_value_t = 200)]
    gap: u32,
    /// Sleep for that time
    #[arg(long)]
    sleeps: bool,
    /// Number of busy processes
    #[arg(long, value_name = "N", default_value_t = 0)]
    burners: u16,
    /// Time acquisitions
    #[arg(long)]
    latency: bool,
}

/// Runs the load.
///
/// # Errors
/// As for [`under`].
pub fn run(options: &Options) -> Result<Outcome, String> {
    under(&CachePadded(RwLock::new()), options)
}

/// Runs the load under `lock`. Blocks.
///
/// # Errors
/// A thread that cannot be created, or a reader beside a writer.
pub fn under(lock: &impl Sharing, options: &Options) -> Result<Outcome, String> {
    let pace = Pace::measure();
    let section = pace.work(options.section);
    let gap = if options.sleeps {
        Gap::Sleep(Duration::from_nanos(options.gap.into()))
    } else {
        Gap::Work(pace.work(options.gap))
    };
    let _burners = Burners::start(options.burners)?;
    let guarded = &Guarded::default();
    let outcome = options.crowd.run(options.latency, |index| {
        let random = SmallRng::seed_from_u64(index as u64);
        let readers = options.readers;
        Ok(move |member: &mut Member| {
            take_turns(
                lock,
                guarded,
                readers,
                (section, gap),
                random.clone(),
                member,
            );
        })
    })?;
    if guarded.violated.0.load(Relaxed) {
        return Err("the lock let a writer in beside another thread".to_owned());
    }
    Ok(outcome)
}

/// What a thread does between two acquisitions.
#[derive(Clone, Copy)]
enum Gap {
    Work(Work),
    Sleep(Duration),
}

impl Gap {
    fn pass(self) {
        match self {
            Self::Work(work) => work.perform(),
            Self::Sleep(time) => std::thread::sleep(time),
        }
    }
}

/// Two counts that every writer advances, one at its begin and one at its end.
#[derive(Default)]
struct Guarded {
    counts: CachePadded<[AtomicU64; 2]>,
    violated: CachePadded<AtomicBool>,
}

impl Guarded {
    fn read(&self, section: Work) {
        let [begun, ended] = &self.counts.0;
        let before = begun.load(Relaxed);
        section.perform();
        self.expect(before == ended.load(Relaxed));
    }

    fn write(&self, section: Work) {
        let [begun, ended] = &self.counts.0;
        let before = begun.load(Relaxed);
        begun.store(before + 1, Relaxed);
        section.perform();
        self.expect(before == ended.load(Relaxed));
        ended.store(before + 1, Relaxed);
    }

    fn expect(&self, kept: bool) {
        if !kept {
            self.violated.0.store(true, Relaxed);
        }
    }
}

fn take_turns(
    lock: &impl Sharing,
    guarded: &Guarded,
    readers: u8,
    (section, gap): (Work, Gap),
    mut random: SmallRng,
    member: &mut Member,
) {
    loop {
        let reads = random.random_range(0..100) < readers;
        let begun = member.begins();
        let latency = || begun.map(|begun| begun.elapsed());
        let latency = if reads {
            lock.reading(|| {
                let latency = latency();
                guarded.read(section);
                latency
            })
        } else {
            lock.writing(|| {
                let latency = latency();
                guarded.write(section);
                latency
            })
        };
        member.keep(latency);
        if !member.goes_on() {
            break;
        }
        gap.pass();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(readers: u8) -> Options {
        Options {
            crowd: Crowd {
                threads: 3,
                seconds: 0.03,
            },
            readers,
            section: 50,
            gap: 50,
            sleeps: false,
            burners: 0,
            latency: false,
        }
    }

    #[test]
    fn readers_and_writers_get_on() {
        for readers in [0, 50, 100] {
            assert!(run(&options(readers)).unwrap().operations > 0, "{readers}");
        }
    }

    #[test]
    fn threads_that_sleep_wait_seldom() {
        let rare = Options {
            sleeps: true,
            gap: 10_000_000,
            latency: true,
            ..options(50)
        };
        let outcome = run(&rare).unwrap();
        // At most one acquisition each 10 ms, and one at the beginning and the end.
        assert!(outcome.operations <= 3 * 5, "{}", outcome.operations);
        assert!(outcome.latency.unwrap().sampled > 0);
    }

    #[test]
    fn no_exclusion_is_noticed() {
        struct Nothing;
        impl Sharing for Nothing {
            fn reading<R>(&self, section: impl FnOnce() -> R) -> R {
                section()
            }
            fn writing<R>(&self, section: impl FnOnce() -> R) -> R {
                section()
            }
        }
        let mut crowded = options(50);
        crowded.section = 100_000;
        assert!(under(&Nothing, &crowded).unwrap_err().contains("a writer"));
    }
}
