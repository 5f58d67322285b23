//! The calling thread's CPU time.

use crate::libc::Timespec;
use cohort::door::system_call;

#[cfg(target_arch = "x86_64")]
const CLOCK_GETTIME: usize = 228;
#[cfg(target_arch = "aarch64")]
const CLOCK_GETTIME: usize = 113;

/// CPU time of the calling thread, in nanoseconds.
pub fn cpu_time() -> u64 {
    const CLOCK_THREAD_CPUTIME_ID: usize = 3;
    let mut at = Timespec {
        seconds: 0,
        nanoseconds: 0,
    };
    // SAFETY: the time is writable.
    unsafe {
        let at = (&raw mut at) as usize;
        system_call(CLOCK_GETTIME, [CLOCK_THREAD_CPUTIME_ID, at, 0, 0, 0, 0]);
    }
    at.seconds as u64 * 1_000_000_000 + at.nanoseconds as u64
}
