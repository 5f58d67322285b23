//! One thread acquires and releases an uncontended mutex.

use super::in_c::{DelegatedInC, InC};
use super::pthread::{self, MutexKind};
use super::{CachePadded, Exclusion, Outcome, Pair, exclusion};
use crate::options::seconds;
use crate::stats::Estimate;
use cohort::adaptive::Glk;
use cohort::basic::{Clh, Hemlock, Mcs, Ticket, Ttas};
use cohort::compose::{Bypass, CacheGroup, Clof, Fast, Numa, Package};
use cohort::delegation::SanlPlus;
use cohort::numa::{HmcsT1, HmcsT4};
use cohort::{Abortable, Delegated, DetectsWaiters, Mutex, Patience, RawLock};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Options of the load.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    company: Company,
    /// Use this lock instead of a pthread mutex
    #[arg(long, value_name = "LOCK")]
    raw: Option<Raw>,
    /// Use a mutex of cohort.h, by the functions of this shared library
    #[arg(long = "library", value_name = "FILE", conflicts_with = "raw")]
    file: Option<PathBuf>,
    /// Delegate to a lock of that library
    #[arg(long, requires = "file")]
    delegated: bool,
    /// Use pthread_mutex_timedlock with a deadline in an hour
    #[arg(long, conflicts_with_all = ["raw", "file"])]
    timed: bool,
    /// Duration in seconds
    #[arg(long, default_value = "1", value_parser = seconds)]
    seconds: f64,
}

/// Threads that are there and do nothing: a process with one thread only is a special
/// case for many a lock.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Company {
    /// Number of other, sleeping threads
    #[arg(long, default_value_t = 2, conflicts_with = "single",
        value_parser = clap::value_parser!(u16).range(1..))]
    threads: u16,
    /// Create no other thread
    #[arg(long)]
    single: bool,
}

impl Company {
    /// No other thread.
    #[cfg(test)]
    pub const NONE: Self = Self {
        threads: 1,
        single: true,
    };

    /// Creates them; they stay until the process ends.
    ///
    /// # Errors
    /// A thread cannot be created.
    pub fn gather(self) -> Result<(), String> {
        let others = if self.single { 0 } else { self.threads };
        for _ in 0..others {
            std::thread::Builder::new()
                .spawn(|| {
                    loop {
                        std::thread::park();
                    }
                })
                .map_err(|error| format!("cannot create a thread: {error}"))?;
        }
        Ok(())
    }
}

/// A composition, inlined as its users have it, and what it is made of.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Raw {
    /// Lock of each cache group
    Hemlock,
    /// Lock of each NUMA node
    Mcs,
    /// Lock of each package
    Clh,
    /// The top lock
    Ticket,
    /// The adaptive lock
    Glk,
    /// The composition of the four
    Composition,
    /// The four nested, with waiter detection, without cohorts: the lower bound of a
    /// composition
    Nested,
    /// The composition with a bypass to the top lock
    Bypass,
    /// Word of the fast path
    Ttas,
    /// The composition with a fast path
    Fast,
    /// Data under mcs, by a closure
    Closure,
    /// Data under mcs, by a guard
    Guard,
    /// Delegation under sanl+
    Delegated,
    /// Immediate timeout at a held hmcs-t-1
    #[value(name = "giving-up-hmcs-t-1")]
    GivingUpHmcsT1,
    /// Immediate timeout at a held hmcs-t-4
    #[value(name = "giving-up-hmcs-t-4")]
    GivingUpHmcsT4,
}

/// Four levels, each with another lock.
type Four = Clof<Hemlock, Clof<Mcs, Clof<Clh, Ticket, Package>, Numa>, CacheGroup>;

impl Raw {
    fn run(self, options: &Options) -> Result<Outcome, String> {
        match self {
            Self::Hemlock => alone::<Hemlock>(options),
            Self::Mcs => alone::<Mcs>(options),
            Self::Clh => alone::<Clh>(options),
            Self::Ticket => alone::<Ticket>(options),
            Self::Glk => alone::<Glk>(options),
            Self::Composition => alone::<Four>(options),
            Self::Nested => alone::<Nested>(options),
            Self::Bypass => alone::<Bypass<Four>>(options),
            Self::Ttas => alone::<Ttas>(options),
            Self::Fast => alone::<Fast<Four>>(options),
            Self::Closure => data(options, Mutex::<_, Mcs>::from(0), |total| {
                total.locking(|total| *total += 1);
            }),
            Self::Guard => data(options, Mutex::<_, Mcs>::from(0), |total| {
                *total.lock() += 1;
            }),
            Self::Delegated => data(options, Delegated::<_, SanlPlus>::from(0), |total| {
                total.run(|total| *total += 1);
            }),
            Self::GivingUpHmcsT1 => giving_up::<HmcsT1>(options),
            Self::GivingUpHmcsT4 => giving_up::<HmcsT4>(options),
        }
    }
}

/// A turn is a wait for a held lock, with an expired timeout.
fn giving_up<L: Abortable>(options: &Options) -> Result<Outcome, String> {
    options.company.gather()?;
    let lock = CachePadded(L::default());
    let [holder, waiter] = [(); 2].map(|()| CachePadded(L::Context::default()));
    // SAFETY: the lock and both contexts stay in place until this returns, and each context is used
    // for one acquisition.
    unsafe {
        lock.0.acquire(&holder.0);
        let outcome = per_turn(options.seconds, |turns| {
            for _ in 0..turns {
                let lock = &std::hint::black_box(&lock).0;
                let outcome = lock.acquire_within(&waiter.0, &Patience::NONE);
                assert_eq!(outcome, cohort::Outcome::GaveUp, "the lock is held");
            }
        });
        lock.0.release(&holder.0);
        Ok(outcome)
    }
}

/// Pthread mutex with a distant deadline.
struct Timed(pthread::Mutex, libc::timespec);

impl Exclusion for Timed {
    type Token = ();

    fn token(&self) {}

    #[inline]
    fn with<R>(&self, (): &mut (), section: impl FnOnce() -> R) -> R {
        assert!(self.0.lock_until(&self.1), "it is uncontended");
        let result = section();
        // SAFETY: locked above, by this thread.
        unsafe { self.0.unlock() };
        result
    }
}

/// Lock with its context, on lines of their own.
#[derive(Default)]
struct With<L: RawLock>(CachePadded<L>, CachePadded<L::Context>);

impl<L: DetectsWaiters> With<L> {
    /// # Safety
    /// One thread at a time calls it, and then releases the lock in place.
    #[inline(always)]
    unsafe fn acquire(&self) {
        // SAFETY: the caller's.
        unsafe { self.0.0.acquire(&self.1.0) };
    }

    /// # Safety
    /// As `release`.
    #[inline(always)]
    unsafe fn has_waiters(&self) -> bool {
        // SAFETY: the caller's.
        unsafe { self.0.0.has_waiters(&self.1.0) }
    }

    /// # Safety
    /// The caller has acquired it.
    #[inline(always)]
    unsafe fn release(&self) {
        // SAFETY: acquired with the same context.
        unsafe { self.0.0.release(&self.1.0) };
    }
}

/// The locks of [`Four`], nested without cohorts.
#[derive(Default)]
struct Nested {
    hemlock: CachePadded<Hemlock>,
    mcs: With<Mcs>,
    clh: With<Clh>,
    ticket: CachePadded<Ticket>,
}

// SAFETY: each of the four excludes, and only the holder of the first uses the inner contexts.
unsafe impl RawLock for Nested {
    type Context = <Hemlock as RawLock>::Context;

    #[inline]
    unsafe fn acquire(&self, cx: &Self::Context) {
        // SAFETY: the caller's; only the holder of the first acquires the others.
        unsafe {
            self.hemlock.0.acquire(cx);
            self.mcs.acquire();
            self.clh.acquire();
            self.ticket.0.acquire(&());
        }
    }

    #[inline]
    unsafe fn release(&self, cx: &Self::Context) {
        // SAFETY: the caller holds all of them.
        let waited_for = unsafe {
            self.hemlock.0.has_waiters(cx) || self.mcs.has_waiters() || self.clh.has_waiters()
        };
        std::hint::black_box(waited_for);
        // SAFETY: all four were acquired by the caller.
        unsafe {
            self.ticket.0.release(&());
            self.clh.release();
            self.mcs.release();
            self.hemlock.0.release(cx);
        }
    }

    fn is_locked(&self) -> bool {
        self.ticket.0.is_locked()
    }
}

fn alone<L: RawLock>(options: &Options) -> Result<Outcome, String> {
    under(&CachePadded(exclusion::Raw(L::default())), options)
}

/// A turn with data behind a lock; the compiler cannot see that the data are the same each time.
fn data<D>(options: &Options, total: D, turn: impl Fn(&D)) -> Result<Outcome, String> {
    options.company.gather()?;
    Ok(per_turn(options.seconds, |turns| {
        for _ in 0..turns {
            turn(std::hint::black_box(&total));
        }
    }))
}

/// Number of turns timed together, which makes the clock's cost negligible.
const BATCH: u32 = 2_000;

/// Runs the load.
///
/// # Errors
/// The mutex or the other threads cannot be created.
pub fn run(options: &Options) -> Result<Outcome, String> {
    if let Some(raw) = options.raw {
        return raw.run(options);
    }
    if let Some(library) = &options.file {
        if options.delegated {
            return under(&CachePadded(DelegatedInC::open(library)?), options);
        }
        return under(&CachePadded(InC::open(library)?), options);
    }
    let mutex = pthread::Mutex::new(MutexKind::Normal)
        .map_err(|error| format!("cannot create a mutex: {error}"))?;
    if options.timed {
        let hour = Duration::from_secs(3600);
        return under(&Timed(mutex, pthread::realtime_after(hour)), options);
    }
    under(&mutex, options)
}

/// Runs the load under `lock`.  Blocks.
///
/// # Errors
/// The other threads cannot be created.
pub fn under(lock: &impl Exclusion, options: &Options) -> Result<Outcome, String> {
    options.company.gather()?;
    let mut token = lock.token();
    Ok(per_turn(options.seconds, |turns| {
        lock.pairs(&mut token, turns);
    }))
}

/// The time of one turn; `work` performs a given number of them. Blocks for about that many
/// seconds.
pub fn per_turn(seconds: f64, mut work: impl FnMut(u32)) -> Outcome {
    let duration = Duration::from_secs_f64(seconds);
    let begun = Instant::now();
    let mut batches = Vec::new();
    while batches.is_empty() || begun.elapsed() < duration {
        let batch = Instant::now();
        work(BATCH);
        batches.push(batch.elapsed().as_secs_f64() * 1e9 / f64::from(BATCH));
    }
    let least = batches.iter().copied().fold(f64::INFINITY, f64::min);
    let median = Estimate::of(&batches).map_or(least, |estimate| estimate.median);
    Outcome {
        operations: batches.len() as u64 * u64::from(BATCH),
        seconds,
        per_second: 1e9 / median,
        pair: Some(Pair { least, median }),
        ..Outcome::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_takes_time() {
        let raw = clap::ValueEnum::value_variants().iter().copied().map(Some);
        let ways = raw.map(|raw| (raw, false));
        for (raw, timed) in ways.chain([(None, false), (None, true)]) {
            let options = Options {
                company: Company {
                    threads: 1,
                    single: false,
                },
                raw,
                file: None,
                delegated: false,
                timed,
                seconds: 0.02,
            };
            let pair = run(&options).unwrap().pair.unwrap();
            assert!(pair.least > 0.0 && pair.median >= pair.least, "{raw:?}");
        }
    }
}
