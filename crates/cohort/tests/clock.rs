//! The wall clock is set while threads wait by it: this process has one of its own, in place of the C
//! library's, so that no other sees that.
//!
//! What the kernel does for a sleeper is not looked at here: only root can set its clock.

use cohort::abortable::{AClh, AMcs, ClhNb, McsNb};
use cohort::basic::{Bo, Ttas};
use cohort::compose::AClof;
use cohort::numa::{HmcsT1, HmcsT2};
use cohort::wait::SpinOnly;
use cohort::{Abortable, Clock, Deadline, Mutex, Patience};
use libc::{SYS_clock_gettime, c_int, c_long, syscall, timespec};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::thread;

/// The seconds of the wall clock.
static SECONDS: AtomicI64 = AtomicI64::new(0);

/// How often it was read.
static READINGS: AtomicU64 = AtomicU64::new(0);

/// Takes the place of the C library's: the wall clock is ours, the others are the kernel's.
///
/// # Safety
/// As there.
// SAFETY: it does what the C library's does, and no other in this program has its name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(clock: c_int, out: *mut timespec) -> c_int {
    if clock != libc::CLOCK_REALTIME {
        // SAFETY: the caller's.
        return unsafe { syscall(SYS_clock_gettime, c_long::from(clock), out) } as c_int;
    }
    let now = timespec {
        tv_sec: SECONDS.load(Ordering::SeqCst),
        tv_nsec: 0,
    };
    // SAFETY: the caller's.
    unsafe { out.write(now) };
    READINGS.fetch_add(1, Ordering::SeqCst);
    0
}

/// Readings after which a waiter has surely looked.
const LOOKS: u64 = 3;

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
        while READINGS.load(Ordering::SeqCst) < before + LOOKS {
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
            // Set back, and later forward again, short of the deadline.
            for seconds in [DUE - 5_000, DUE - 1] {
                SECONDS.store(seconds, Ordering::SeqCst);
                looks();
                assert!(!gave_up.load(Ordering::SeqCst), "early");
            }
            SECONDS.store(DUE, Ordering::SeqCst);
        });
    });
    assert!(gave_up.into_inner());
    // A clock that is past the deadline leaves one attempt.
    assert!(mutex.locking_within(&patience, |_| ()).is_some());
}

#[test]
fn a_clock_that_is_set_is_the_one_that_counts() {
    waits_by_the_clock_as_it_is::<Ttas<SpinOnly>>();
    waits_by_the_clock_as_it_is::<Bo<SpinOnly>>();
    waits_by_the_clock_as_it_is::<HmcsT1<SpinOnly>>();
    waits_by_the_clock_as_it_is::<HmcsT2<SpinOnly>>();
    waits_by_the_clock_as_it_is::<ClhNb<SpinOnly>>();
    waits_by_the_clock_as_it_is::<McsNb<SpinOnly>>();
    waits_by_the_clock_as_it_is::<AClof<AClh<SpinOnly>, Bo<SpinOnly>>>();
    waits_by_the_clock_as_it_is::<AClof<AMcs<SpinOnly>, HmcsT1<SpinOnly>>>();
}
