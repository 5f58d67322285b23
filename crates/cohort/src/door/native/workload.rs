//! The load of the whole machine.

use super::allowed::{Beyond, is_allowed};
use super::atoms::{AtomicU32, Ordering};
use super::place::{file_of, leading};

/// Runnable tasks of the machine, and its CPUs; `None` if the kernel does not report them, or must
/// not be asked.
#[must_use]
pub fn workload() -> Option<(i64, i64)> {
    if !is_allowed(Beyond::Files) {
        return None;
    }
    let mut text = [0u8; 64];
    let averages = file_of("/proc/loadavg", &mut text)?;
    // Three averages, then `runnable/all`.
    let runnable = averages.split(|byte| *byte == b' ').nth(3)?;
    Some((leading(runnable)? as i64, online()?))
}

/// The number of online CPUs, read once.
fn online() -> Option<i64> {
    static ONLINE: AtomicU32 = AtomicU32::new(0);
    let known = ONLINE.load(Ordering::Relaxed);
    if known != 0 {
        return Some(i64::from(known));
    }
    let mut text = [0u8; 1024];
    let list = file_of("/sys/devices/system/cpu/online", &mut text)?;
    let count = count(list)?;
    ONLINE.store(count, Ordering::Relaxed);
    Some(i64::from(count))
}

/// The number of elements of a list such as `0-3,8`.
fn count(list: &[u8]) -> Option<u32> {
    list.split(|byte| *byte == b',').try_fold(0, |sum, range| {
        let mut ends = range.split(|byte| *byte == b'-').map(leading);
        let first = ends.next()??;
        let last = ends.next().unwrap_or(Some(first))?;
        Some(sum + (last.checked_sub(first)? + 1) as u32)
    })
}
