//! Readers and writers share one rwlock.

use super::Outcome;
use super::crowd::{Crowd, Member};
use super::pthread::RwLock;
use crate::world::work::{Pace, Work};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

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
    /// Time acquisitions
    #[arg(long)]
    latency: bool,
}

/// Runs the load.
///
/// # Errors
/// A thread cannot be created.
pub fn run(options: &Options) -> Result<Outcome, String> {
    let pace = Pace::measure();
    let works = (pace.work(options.section), pace.work(options.gap));
    let (lock, readers) = (RwLock::new(), options.readers);
    let lock = &lock;
    options.crowd.run(options.latency, |index| {
        let random = SmallRng::seed_from_u64(index as u64);
        Ok(move |member: &mut Member| take_turns(lock, readers, works, random.clone(), member))
    })
}

fn take_turns(
    lock: &RwLock,
    readers: u8,
    (section, gap): (Work, Work),
    mut random: SmallRng,
    member: &mut Member,
) {
    loop {
        let reads = random.random_range(0..100) < readers;
        let begun = member.begins();
        if reads {
            lock.read();
        } else {
            lock.write();
        }
        let latency = begun.map(|begun| begun.elapsed());
        section.perform();
        // SAFETY: acquired above, by this thread.
        unsafe { lock.unlock() };
        member.keep(latency);
        if !member.goes_on() {
            break;
        }
        gap.perform();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_and_writers_get_on() {
        for readers in [0, 50, 100] {
            let options = Options {
                crowd: Crowd {
                    threads: 3,
                    seconds: 0.03,
                },
                readers,
                section: 50,
                gap: 50,
                latency: false,
            };
            assert!(run(&options).unwrap().operations > 0, "{readers}");
        }
    }
}
