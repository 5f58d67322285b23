//! Threads acquire locks by address, or in place.

use super::crowd::{Crowd, Member};
use super::{CachePadded, Exclusion, Outcome, uncontended::per_turn};
use crate::options::seconds;
use crate::world::work::Pace;
use cohort::catalogue::LOCKS;
use cohort::host::served::{Object, SERVICES, Service};
use cohort_service::gls::address;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Options of the load.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    load: Load,
    /// Use embedded locks instead
    #[arg(long)]
    direct: bool,
}

/// Options that are the same however a lock is found.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Load {
    /// Number of locks; one thread locks them in turn
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    keys: u32,
    /// Number of threads that lock them at random
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Hold time of each, in nanoseconds
    #[arg(long, value_name = "NS", default_value_t = 200, requires = "threads")]
    section: u32,
    /// Time between two acquisitions
    #[arg(long, value_name = "NS", default_value_t = 200, requires = "threads")]
    gap: u32,
    /// Duration in seconds
    #[arg(long, default_value = "1", value_parser = seconds)]
    seconds: f64,
}

/// Object of `glk`, the lock of all addresses; its own address is a key too.
#[derive(Debug)]
pub struct GlkObject(CachePadded<(Object, &'static Service)>);

impl GlkObject {
    /// A free lock, on lines of its own.
    ///
    /// # Errors
    /// The lock is missing.
    pub fn new() -> Result<Self, String> {
        let place = LOCKS.iter().position(|lock| lock.name == "glk");
        let service = place.and_then(|place| SERVICES[place].as_ref());
        let service = service.ok_or("glk is not available here")?;
        Ok(Self(CachePadded((Object::default(), service))))
    }

    /// Its address.
    #[must_use]
    pub fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}

impl Exclusion for GlkObject {
    type Token = ();

    fn token(&self) {}

    #[inline]
    fn with<R>(&self, (): &mut (), section: impl FnOnce() -> R) -> R {
        let CachePadded((object, service)) = &self.0;
        // SAFETY: the object is private to this place, so only that lock serves it.
        unsafe { (service.pair.lock)(object) };
        let result = section();
        // SAFETY: as above, and locked by this thread.
        unsafe { (service.pair.unlock)(object) };
        result
    }
}

/// Access to the lock of an address.
pub trait ByAddress: Sync {
    /// Runs `section` with the place's lock held. Blocks.
    fn with<R: Send>(&self, place: &GlkObject, section: impl FnOnce() -> R + Send) -> R;

    /// Frees the place's lock.
    fn forget(&self, _place: &GlkObject) {}
}

/// Access to the lock in place.
#[derive(Clone, Copy, Debug)]
pub struct InPlace;

impl ByAddress for InPlace {
    #[inline]
    fn with<R: Send>(&self, place: &GlkObject, section: impl FnOnce() -> R + Send) -> R {
        place.with(&mut (), section)
    }
}

/// Access by GLS, as in C programs: the lock is looked up at its release too.
struct Gls;

impl ByAddress for Gls {
    #[inline]
    fn with<R>(&self, place: &GlkObject, section: impl FnOnce() -> R) -> R {
        let key = place.address();
        // It fails for null only.
        let _ = address::lock(key);
        let result = section();
        // SAFETY: locked above, without a guard.
        let _ = unsafe { address::unlock(key) };
        result
    }

    fn forget(&self, place: &GlkObject) {
        // The lock is free.
        let _ = address::free(place.address());
    }
}

/// Distance between successive locks: odd, so that the sequence visits each of a power of two once,
/// and large enough to defeat prefetchers.
const STRIDE: usize = 181;

/// Runs the load. Blocks.
///
/// # Errors
/// The lock of an address is missing, a thread cannot be created, or mutual exclusion failed.
pub fn run(options: &Options) -> Result<Outcome, String> {
    if options.direct {
        under(&InPlace, &options.load)
    } else {
        under(&Gls, &options.load)
    }
}

/// Runs the load with that access to the locks. Blocks.
///
/// # Errors
/// As [`run`].
pub fn under(locks: &impl ByAddress, load: &Load) -> Result<Outcome, String> {
    let places = (0..load.keys).map(|_| GlkObject::new());
    let places: Vec<GlkObject> = places.collect::<Result<_, _>>()?;
    // Excludes the cost of each lock's first use.
    for place in &places {
        locks.with(place, || ());
    }
    let outcome = match load.threads {
        None => Ok(in_turn(locks, &places, load.seconds)),
        Some(threads) => at_random(locks, &places, threads, load),
    };
    for place in &places {
        locks.forget(place);
    }
    outcome
}

/// One thread, with timed turns.
fn in_turn(locks: &impl ByAddress, places: &[GlkObject], seconds: f64) -> Outcome {
    let mut next = 0;
    per_turn(seconds, |turns| {
        for _ in 0..turns {
            let place = &places[next];
            next = (next + STRIDE) % places.len();
            locks.with(place, || ());
        }
    })
}

/// Several threads, with their numbers of critical sections.
fn at_random(
    locks: &impl ByAddress,
    places: &[GlkObject],
    threads: u16,
    load: &Load,
) -> Result<Outcome, String> {
    let pace = Pace::measure();
    let (section, gap) = (pace.work(load.section), pace.work(load.gap));
    let crowd = Crowd {
        threads,
        seconds: load.seconds,
    };
    // Overlapping critical sections lose one of their updates.
    let traces: Vec<CachePadded<AtomicU64>> =
        places.iter().map(|_| CachePadded::default()).collect();
    let traces = &traces;
    let outcome = crowd.run(false, |thread| {
        let mut random = SmallRng::seed_from_u64(thread as u64);
        Ok(move |member: &mut Member| {
            loop {
                let chosen = random.random_range(0..places.len());
                let CachePadded(trace) = &traces[chosen];
                locks.with(&places[chosen], || {
                    let before = trace.load(Relaxed);
                    section.perform();
                    trace.store(before + 1, Relaxed);
                });
                if !member.goes_on() {
                    break;
                }
                gap.perform();
            }
        })
    })?;
    let left: u64 = traces.iter().map(|trace| trace.0.load(Relaxed)).sum();
    // Each thread's last critical section does not count.
    if left == outcome.operations + u64::from(threads) {
        Ok(outcome)
    } else {
        Err(format!(
            "a lock violated mutual exclusion: {} critical sections, {left} increments",
            outcome.operations + u64::from(threads)
        ))
    }
}

/// Serialises the tests that count the keys of the process's table.
#[cfg(test)]
pub(super) static COUNTED: std::sync::Mutex<()> = std::sync::Mutex::new(());

#[cfg(test)]
mod tests {
    use super::*;

    const LOAD: Load = Load {
        keys: 1,
        threads: None,
        section: 100,
        gap: 100,
        seconds: 0.01,
    };

    #[test]
    fn every_address_has_its_lock_and_gives_it_back() {
        let _turn = COUNTED.lock().unwrap();
        for (keys, direct) in [(1, true), (1, false), (512, true), (512, false)] {
            let load = Load { keys, ..LOAD };
            let pair = run(&Options { load, direct }).unwrap().pair.unwrap();
            assert!(pair.least > 0.0 && pair.median >= pair.least);
            let threads = Some(3);
            let load = Load { threads, ..load };
            let outcome = run(&Options { load, direct }).unwrap();
            assert!(outcome.operations > 0 && outcome.pair.is_none());
        }
        assert!(cohort_service::gls::bytes() > 0, "no address had a lock");
        assert_eq!(cohort_service::gls::keys(), 0);
    }

    #[test]
    fn no_exclusion_is_noticed() {
        struct Nothing;
        impl ByAddress for Nothing {
            fn with<R>(&self, _place: &GlkObject, section: impl FnOnce() -> R) -> R {
                section()
            }
        }
        let load = Load {
            threads: Some(2),
            section: 100_000,
            seconds: 0.05,
            ..LOAD
        };
        assert!(
            under(&Nothing, &load)
                .unwrap_err()
                .contains("mutual exclusion")
        );
    }
}
