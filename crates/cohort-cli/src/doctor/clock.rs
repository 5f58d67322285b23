//! The clock that bounds spinning, and the cost of reading it.

use super::Finding;
use crate::sysfs;
use std::hint::black_box;
use std::time::Instant;

const READS: u32 = 2_000;
const ROUNDS: usize = 15;

/// The clock, and the time of a reading.
pub fn clock() -> Finding {
    let source = sysfs::text("/sys/devices/system/clocksource/clocksource0/current_clocksource")
        .unwrap_or_else(|| "unknown".to_owned());
    let reading = median(|| {
        black_box(Instant::now());
    });
    let call = median(|| {
        // SAFETY: takes no arguments, touches no memory and cannot fail.
        black_box(unsafe { libc::syscall(libc::SYS_getpid) });
    });
    // A clock read in the kernel cannot be this much faster than a system call.
    let in_user_space = reading < call / 2.0;
    let way = if in_user_space {
        "without entering the kernel"
    } else {
        "by a system call"
    };
    let finding = Finding::good(
        "clock",
        format!("source {source}; {reading:.0} ns per read, {way} (system call: {call:.0} ns)"),
        "bounds the spin time",
    );
    if in_user_space {
        finding
    } else {
        finding.costs("spinning threads poll less often; a `tsc` or `kvm-clock` source is faster")
    }
}

/// Nanoseconds of one `work`, the median of several rounds.
fn median(work: impl Fn()) -> f64 {
    let mut rounds = [0.0; ROUNDS];
    for round in &mut rounds {
        let began = Instant::now();
        for _ in 0..READS {
            work();
        }
        *round = began.elapsed().as_secs_f64() * 1e9 / f64::from(READS);
    }
    rounds.sort_by(f64::total_cmp);
    rounds[ROUNDS / 2]
}
