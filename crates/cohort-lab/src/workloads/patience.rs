//! Threads acquire one mutex, each with a timeout.

use super::crowd::{Crowd, Member};
use super::pthread::{Mutex, MutexKind};
use super::{CachePadded, Outcome};
use crate::world::work::Pace;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Options of the load.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    crowd: Crowd,
    /// Timeout of an acquisition, in nanoseconds
    #[arg(long, value_name = "NS", default_value_t = 300_000)]
    patience: u32,
    /// Hold time, in nanoseconds
    #[arg(long, value_name = "NS", default_value_t = 2_000)]
    section: u32,
    /// Time between two attempts of a thread, in nanoseconds
    #[arg(long, value_name = "NS", default_value_t = 1_000)]
    gap: u32,
    /// Function that waits
    #[arg(long, value_enum, default_value_t = TimedCall::Timedlock)]
    by: TimedCall,
}

/// How a thread waits no longer than it likes.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum TimedCall {
    /// By `pthread_mutex_timedlock`
    Timedlock,
    /// By `pthread_mutex_clocklock` and the monotonic clock, as C++'s `std::timed_mutex` does
    Clocklock,
    /// By `try_lock_for` of the crate `parking_lot`
    ParkingLot,
}

/// Mutex with timed waits.
trait Timed: Sync {
    /// Runs `section` with the mutex, if acquired within `patience`; true if so. Blocks.
    fn with_within(&self, patience: Duration, section: impl FnOnce()) -> bool;
}

/// The C library's mutex, with either clock.
struct Native {
    mutex: Mutex,
    steadily: bool,
}

impl Timed for Native {
    fn with_within(&self, patience: Duration, section: impl FnOnce()) -> bool {
        let taken = if self.steadily {
            self.mutex.lock_within_monotonic(patience)
        } else {
            self.mutex.lock_within(patience)
        };
        if taken {
            section();
            // SAFETY: taken above, by this thread.
            unsafe { self.mutex.unlock() };
        }
        taken
    }
}

impl Timed for CachePadded<parking_lot::Mutex<()>> {
    fn with_within(&self, patience: Duration, section: impl FnOnce()) -> bool {
        let guard = self.0.try_lock_for(patience);
        guard.as_ref().map(|_| section()).is_some()
    }
}

/// Runs the load. Operations are successful acquisitions; the latency is the delay of the timeouts.
/// Blocks.
///
/// # Errors
/// A thread or the mutex cannot be created, or a timeout was early.
pub fn run(options: &Options) -> Result<Outcome, String> {
    let steadily = match options.by {
        TimedCall::Timedlock => false,
        TimedCall::Clocklock => true,
        TimedCall::ParkingLot => {
            return under(&CachePadded(parking_lot::Mutex::new(())), options);
        }
    };
    let mutex =
        Mutex::new(MutexKind::Normal).map_err(|error| format!("cannot create a mutex: {error}"))?;
    under(&Native { mutex, steadily }, options)
}

fn under(mutex: &impl Timed, options: &Options) -> Result<Outcome, String> {
    let pace = Pace::measure();
    let (section, gap) = (pace.work(options.section), pace.work(options.gap));
    let patience = Duration::from_nanos(options.patience.into());
    let (served, early) = (&AtomicU64::new(0), &AtomicU64::new(0));
    let outcome = options.crowd.run(true, |_| {
        Ok(move |member: &mut Member| {
            let mut own = 0;
            loop {
                let asked = Instant::now();
                let taken = mutex.with_within(patience, || section.perform());
                if !taken {
                    match asked.elapsed().checked_sub(patience) {
                        Some(late) => member.keep(Some(late)),
                        None => {
                            early.fetch_add(1, Relaxed);
                        }
                    }
                }
                if !member.goes_on() {
                    break;
                }
                own += u64::from(taken);
                gap.perform();
            }
            served.fetch_add(own, Relaxed);
        })
    })?;
    let early = early.load(Relaxed);
    if early > 0 {
        return Err(format!("{early} waits ended before their deadline"));
    }
    let operations = served.load(Relaxed);
    Ok(Outcome {
        operations,
        seconds: outcome.seconds,
        per_second: operations as f64 / outcome.seconds,
        latency: outcome.latency.filter(|late| late.sampled > 0),
        ..Outcome::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(by: TimedCall) -> Options {
        Options {
            crowd: Crowd {
                threads: 3,
                seconds: 0.1,
            },
            patience: 20_000,
            section: 2_000_000,
            gap: 1_000,
            by,
        }
    }

    #[test]
    fn threads_are_served_or_give_up() {
        for way in <TimedCall as clap::ValueEnum>::value_variants() {
            let outcome = run(&options(*way)).unwrap();
            assert!(outcome.operations > 0, "{way:?}");
            assert!(outcome.latency.unwrap().sampled > 0, "{way:?}");
        }
    }

    #[test]
    fn a_wait_that_ends_too_soon_is_noticed() {
        struct Hasty;
        impl Timed for Hasty {
            fn with_within(&self, _patience: Duration, _section: impl FnOnce()) -> bool {
                false
            }
        }
        let slow = Options {
            patience: u32::MAX,
            ..options(TimedCall::Timedlock)
        };
        let error = under(&Hasty, &slow).unwrap_err();
        assert!(error.contains("before their deadline"), "{error}");
    }
}
