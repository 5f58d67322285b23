//! Times noted for objects without room for them.
//!
//! One table for the process: objects with addresses of one entry see each other's times, so a
//! noted time is advice only.

use super::{AtomicU32, atoms};
use atoms::Ordering;

const ENTRIES: usize = 256;

/// Zero is an ordinary time.
static TIMES: [atoms::AtomicU32; ENTRIES] = [const { atoms::AtomicU32::new(0) }; ENTRIES];

fn entry(object: *const AtomicU32) -> &'static atoms::AtomicU32 {
    // Fibonacci's hash spreads addresses that differ in their middle bits only.
    let spread = (object.addr() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    &TIMES[(spread >> (u64::BITS - ENTRIES.ilog2())) as usize]
}

/// Notes a time, in the caller's unit.
pub fn note(object: *const AtomicU32, time: u32) {
    entry(object).store(time, Ordering::Relaxed);
}

/// The last noted time; in a checker's backend, which has no table, `now`.
#[must_use]
pub fn noted(object: *const AtomicU32, _now: u32) -> u32 {
    entry(object).load(Ordering::Relaxed)
}
