//! The CPUs of this process.

use super::atoms::{AtomicU32, Ordering};
use super::kernel::{call, number};

static CPUS: AtomicU32 = AtomicU32::new(0);

/// How many CPUs this process may run on, read once: a thread bound to one CPU would read 1.
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
    let mut mask = [0u64; 128];
    // SAFETY: the kernel writes at most the given size into the mask.
    let bytes = unsafe {
        call(
            number::SCHED_GETAFFINITY,
            [0, size_of_val(&mask), mask.as_mut_ptr() as usize, 0, 0, 0],
        )
    };
    let words = bytes.max(0) as usize / size_of::<u64>();
    let count = mask[..words].iter().map(|word| word.count_ones()).sum();
    let count = u32::max(count, 1);
    CPUS.store(count, Ordering::Relaxed);
    count
}
