//! The wall clock is set while threads wait by it. This process reads a wall clock of its own, so
//! no other process is affected.
//!
//! The kernel's handling of sleepers is not tested: only root can set its clock.
// Not on the portable backend: the standard library has no clock to replace.
#![cfg(not(feature = "portable"))]

use cohort::abortable::{AClh, AMcs, ClhNb, McsNb};
use cohort::basic::{Bo, Ttas};
use cohort::compose::AClof;
use cohort::door::{Timespec, set_clock_gettime};
use cohort::numa::{HmcsT1, HmcsT2};
use cohort::wait::SpinOnly;
use cohort::{Abortable, Clock, Deadline, Mutex, Patience};
use libc::{SYS_clock_gettime, c_int, c_long, syscall};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The seconds of the wall clock.
static SECONDS: AtomicI64 = AtomicI64::new(0);

/// The number of readings.
static READINGS: AtomicU64 = AtomicU64::new(0);

/// Reads the test's wall clock; the kernel's for other clocks.
///
/// # Safety
/// `out` is writable.
unsafe extern "C" fn clock_gettime(clock: c_int, out: *mut Timespec) -> c_int {
    if clock != libc::CLOCK_REALTIME {
        // SAFETY: the caller's.
        return unsafe { syscall(SYS_clock_gettime, c_long::from(clock), out) } as c_int;
    }
    let now = Timespec {
        seconds: SECONDS.load(Ordering::SeqCst),
        nanoseconds: 0,
    };
    // SAFETY: the caller's.
    unsafe { out.write(now) };
    READINGS.fetch_add(1, Ordering::SeqCst);
    0
}

/// Readings after which a waiter has certainly looked.
const LOOKS: u64 = 3;

/// The time after which a waiter that does not read the wall clock fails the test.
const WATCHDOG: Duration = Duration::from_secs(60);

fn waits_by_the_clock_as_it_is<L: Abortable>() {
    const DUE: i64 = 1_000;
    SECONDS.store(DUE - 10, Ordering::SeqCst);
    let (mutex, gave_up) = (Mutex::<u32, L>::from(0), AtomicBool::new(false));
    let patience = Patience::until(Deadline {
        clock: Clock::Realtime,
        seconds: DUE,
        nanoseconds: 0,
    });
    let looks = || {
        let before = READINGS.load(Ordering::SeqCst);
        let begun = Instant::now();
        while READINGS.load(Ordering::SeqCst) < before + LOOKS {
            if begun.elapsed() > WATCHDOG {
                // An assertion would unwind into the scope, which joins the waiter.
                eprintln!("the waiter has not read the wall clock");
                std::process::exit(1);
            }
            thread::yield_now();
        }
    };
    mutex.locking(|_| {
        thread::scope(|scope| {
            scope.spawn(|| {
                let got = mutex.locking_within(&patience, |_| ()).is_some();
                assert!(!got, "the lock was held");
                gave_up.store(true, Ordering::SeqCst);
            });
            looks();
            // The clock goes back, and later forward to just before the deadline.
            for seconds in [DUE - 5_000, DUE - 1] {
                SECONDS.store(seconds, Ordering::SeqCst);
                looks();
                assert!(!gave_up.load(Ordering::SeqCst), "early");
            }
            SECONDS.store(DUE, Ordering::SeqCst);
        });
    });
    assert!(gave_up.into_inner());
    // An expired deadline leaves one attempt.
    assert!(mutex.locking_within(&patience, |_| ()).is_some());
}

#[test]
fn a_clock_that_is_set_is_the_one_that_counts() {
    // SAFETY: it fills the given time, as required.
    unsafe { set_clock_gettime(clock_gettime) };
    waits_by_the_clock_as_it_is::<Ttas<SpinOnly>>();
    waits_by_the_clock_as_it_is::<Bo<SpinOnly>>();
    waits_by_the_clock_as_it_is::<HmcsT1<SpinOnly>>();
    waits_by_the_clock_as_it_is::<HmcsT2<SpinOnly>>();
    waits_by_the_clock_as_it_is::<ClhNb<SpinOnly>>();
    waits_by_the_clock_as_it_is::<McsNb<SpinOnly>>();
    waits_by_the_clock_as_it_is::<AClof<AClh<SpinOnly>, Bo<SpinOnly>>>();
    waits_by_the_clock_as_it_is::<AClof<AMcs<SpinOnly>, HmcsT1<SpinOnly>>>();
}
