//! Threads in turn acquire one lock, hold it for a given time, and pause for a given time.

use super::choice::{self, Choice};
use super::crowd::{Crowd, Member};
use super::{CachePadded, Exclusion, Outcome};
use crate::world::work::{Pace, Work};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

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
pub struct Load {
    #[command(flatten)]
    crowd: Crowd,
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
/// An unknown lock, a failed creation of a mutex, or a violation of mutual exclusion.
pub fn run(options: &Options) -> Result<Outcome, String> {
    options.choice.run(&options.load)
}

impl choice::Load for Load {
    fn under(&self, lock: &impl Exclusion) -> Result<Outcome, String> {
        under(lock, self)
    }
}

/// Runs the load under `lock`.  Blocks.
///
/// # Errors
/// A thread that cannot be created, or a violation of mutual exclusion.
pub fn under(lock: &impl Exclusion, load: &Load) -> Result<Outcome, String> {
    let pace = Pace::measure();
    let (section, gap) = (pace.work(load.section), pace.work(load.gap));
    let guarded = &CachePadded(AtomicU64::new(0));
    let outcome = load.crowd.run(load.latency, |_| {
        Ok(move |member: &mut Member| take_turns(lock, guarded, (section, gap), member))
    })?;
    // Each thread's last critical section does not count.
    let sections = guarded
        .0
        .load(Relaxed)
        .saturating_sub(u64::from(load.crowd.threads));
    if sections == outcome.operations {
        Ok(outcome)
    } else {
        Err(format!(
            "the lock violated mutual exclusion: {} critical sections, {sections} increments",
            outcome.operations
        ))
    }
}

/// Every critical section updates a line of data; overlapping ones lose an update.
fn take_turns<L: Exclusion>(
    lock: &L,
    guarded: &CachePadded<AtomicU64>,
    (section, gap): (Work, Work),
    member: &mut Member,
) {
    let mut token = lock.token();
    loop {
        let begun = member.begins();
        let latency = lock.with(&mut token, || {
            let latency = begun.map(|begun| begun.elapsed());
            let before = guarded.0.load(Relaxed);
            section.perform();
            guarded.0.store(before + 1, Relaxed);
            latency
        });
        member.keep(latency);
        if !member.goes_on() {
            break;
        }
        gap.perform();
    }
}

#[cfg(test)]
mod tests {
    use super::super::MutexKind;
    use super::*;

    fn options(raw: Option<&str>) -> Options {
        Options {
            load: Load {
                crowd: Crowd {
                    threads: 2,
                    seconds: 0.05,
                },
                section: 100,
                gap: 100,
                latency: true,
            },
            choice: Choice {
                kind: MutexKind::Adaptive,
                raw: raw.map(str::to_owned),
            },
        }
    }

    #[test]
    fn every_lock_excludes() {
        let own = cohort::catalogue::LOCKS.iter().map(|lock| Some(lock.name));
        let delegates = cohort::catalogue::DELEGATES.iter();
        let own = own.chain(delegates.map(|delegate| Some(delegate.name)));
        for raw in own.chain([None, Some("parking_lot"), Some("actor")]) {
            let outcome = run(&options(raw)).unwrap();
            assert!(outcome.operations > 0, "{raw:?}");
            assert!(outcome.latency.unwrap().sampled > 0, "{raw:?}");
        }
    }

    #[test]
    fn no_exclusion_is_noticed() {
        struct Nothing;
        impl Exclusion for Nothing {
            type Token = ();
            fn token(&self) {}
            fn with<R>(&self, (): &mut (), section: impl FnOnce() -> R) -> R {
                section()
            }
        }
        let mut crowded = options(None);
        crowded.load.section = 100_000;
        assert!(
            under(&Nothing, &crowded.load)
                .unwrap_err()
                .contains("mutual exclusion")
        );
    }

    #[test]
    fn an_unknown_lock_is_refused() {
        assert!(run(&options(Some("nope"))).unwrap_err().contains("nope"));
    }
}
