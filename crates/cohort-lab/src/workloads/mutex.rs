//! Threads take one lock in turn, hold it for a given time and stay away for a
//! given time.

use super::Outcome;
use super::crowd::{Crowd, Member};
use super::pthread::{self, Kind};
use super::work::{Pace, Work};
use parking_lot::lock_api::RawMutex as _;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Options of the load.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    crowd: Crowd,
    /// How long a thread holds the lock, in nanoseconds
    #[arg(long, value_name = "NS", default_value_t = 200)]
    section: u32,
    /// How long a thread stays away, in nanoseconds
    #[arg(long, value_name = "NS", default_value_t = 200)]
    gap: u32,
    /// The kind of pthread mutex
    #[arg(long, value_enum, default_value_t, conflicts_with = "raw")]
    kind: Kind,
    /// Instead of a pthread mutex: `parking_lot`, or a lock of `cohort list` by
    /// itself
    #[arg(long, value_name = "NAME")]
    raw: Option<String>,
    /// Time acquisitions
    #[arg(long)]
    latency: bool,
}

/// What all kinds of locks have in common here.
trait Exclusion: Sync {
    /// What a thread brings along.
    type Token: Default;
    fn lock(&self, token: &Self::Token);
    /// # Safety
    /// The calling thread holds the lock, with this token.
    unsafe fn unlock(&self, token: &Self::Token);
}

impl Exclusion for pthread::Mutex {
    type Token = ();

    #[inline]
    fn lock(&self, (): &()) {
        pthread::Mutex::lock(self);
    }

    #[inline]
    unsafe fn unlock(&self, (): &()) {
        // SAFETY: the caller holds it.
        unsafe { pthread::Mutex::unlock(self) };
    }
}

#[repr(align(128))]
struct ParkingLot(parking_lot::RawMutex);

impl Exclusion for ParkingLot {
    type Token = ();

    #[inline]
    fn lock(&self, (): &()) {
        self.0.lock();
    }

    #[inline]
    unsafe fn unlock(&self, (): &()) {
        // SAFETY: the caller holds it.
        unsafe { self.0.unlock() };
    }
}

#[repr(align(128))]
#[derive(Default)]
struct Raw<L>(L);

impl<L: cohort::RawLock> Exclusion for Raw<L> {
    type Token = L::Context;

    #[inline]
    fn lock(&self, token: &L::Context) {
        self.0.acquire(token);
    }

    #[inline]
    unsafe fn unlock(&self, token: &L::Context) {
        // SAFETY: the caller holds it, and acquired it with this context.
        unsafe { self.0.release(token) };
    }
}

/// What the lock guards: every section moves a line of data, and two sections at
/// once lose one of their traces.
#[repr(align(128))]
struct Guarded(AtomicU64);

/// Runs the load.
///
/// # Errors
/// An unknown lock, a mutex that cannot be made, or a lock that let two threads
/// in at once.
pub fn run(options: &Options) -> Result<Outcome, String> {
    let Some(name) = &options.raw else {
        let mutex = pthread::Mutex::new(options.kind)
            .map_err(|error| format!("no mutex can be made: {error}"))?;
        return under(&mutex, options);
    };
    if name == "parking_lot" {
        return under(&ParkingLot(parking_lot::RawMutex::INIT), options);
    }
    let found = cohort::catalogue::find(name).ok_or_else(|| {
        format!("no lock is called `{name}`; write `parking_lot` or a name of `cohort list`")
    })?;
    macro_rules! dispatch {
        ($($name:ident, $lock:ty, $placement:ident, [$($alias:literal),*], $about:literal,
           $source:literal, [$($capability:ident),*];)+) => {
            match found.identifier {
                $(stringify!($name) => under(&Raw::<$lock>::default(), options),)+
                other => Err(format!("`{other}` cannot be used by itself")),
            }
        };
    }
    cohort::for_each_lock!(dispatch)
}

fn under(lock: &impl Exclusion, options: &Options) -> Result<Outcome, String> {
    let pace = Pace::measure();
    let (section, gap) = (pace.work(options.section), pace.work(options.gap));
    let guarded = &Guarded(AtomicU64::new(0));
    let outcome = options.crowd.run(options.latency, |_| {
        Ok(move |member: &mut Member| take_turns(lock, guarded, (section, gap), member))
    })?;
    // Each thread's last section does not count.
    let sections = guarded
        .0
        .load(Relaxed)
        .saturating_sub(u64::from(options.crowd.threads));
    if sections == outcome.operations {
        Ok(outcome)
    } else {
        Err(format!(
            "the lock let threads in together: {} sections left a trace of {sections}",
            outcome.operations
        ))
    }
}

fn take_turns<L: Exclusion>(
    lock: &L,
    guarded: &Guarded,
    (section, gap): (Work, Work),
    member: &mut Member,
) {
    let token = L::Token::default();
    loop {
        let begun = member.begins();
        lock.lock(&token);
        let latency = begun.map(|begun| begun.elapsed());
        let before = guarded.0.load(Relaxed);
        section.perform();
        guarded.0.store(before + 1, Relaxed);
        // SAFETY: taken above, by this thread, with this token.
        unsafe { lock.unlock(&token) };
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

    fn options(raw: Option<&str>) -> Options {
        Options {
            crowd: Crowd {
                threads: 2,
                seconds: 0.05,
            },
            section: 100,
            gap: 100,
            kind: Kind::Adaptive,
            raw: raw.map(str::to_owned),
            latency: true,
        }
    }

    #[test]
    fn every_lock_excludes() {
        let own = cohort::catalogue::LOCKS.iter().map(|lock| Some(lock.name));
        for raw in own.chain([None, Some("parking_lot")]) {
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
            fn lock(&self, (): &()) {}
            unsafe fn unlock(&self, (): &()) {}
        }
        let mut crowded = options(None);
        crowded.section = 100_000;
        assert!(under(&Nothing, &crowded).unwrap_err().contains("together"));
    }

    #[test]
    fn an_unknown_lock_is_refused() {
        assert!(run(&options(Some("nope"))).unwrap_err().contains("nope"));
    }
}
