//! The CPUs of this process.

use super::atoms::{AtomicU32, Ordering};
use super::std;

static CPUS: AtomicU32 = AtomicU32::new(0);

/// How many CPUs this process may run on, read once; 1 if the system does not say.
#[must_use]
#[inline]
pub fn cpus() -> u32 {
    match CPUS.load(Ordering::Relaxed) {
        0 => count_cpus(),
        known => known,
    }
}

#[cold]
#[inline(never)]
fn count_cpus() -> u32 {
    let count = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
    CPUS.store(count, Ordering::Relaxed);
    count
}
