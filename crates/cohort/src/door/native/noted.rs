//! Times noted of objects that have no room for them.
//!
//! A table for the whole process: objects whose addresses share an entry take each other's
//! time for their own, so what is noted may only ever be advice.

use super::{AtomicU32, atoms};
use atoms::Ordering;

const ENTRIES: usize = 256;

/// Zero is a time as good as any.
static TIMES: [atoms::AtomicU32; ENTRIES] = [const { atoms::AtomicU32::new(0) }; ENTRIES];

fn entry(object: *const AtomicU32) -> &'static atoms::AtomicU32 {
    // Fibonacci's hash spreads addresses that differ in their middle bits only.
    let spread = (object.addr() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    &TIMES[(spread >> (u64::BITS - ENTRIES.ilog2())) as usize]
}

/// Notes a time, in a unit of the caller's.
pub fn note(object: *const AtomicU32, time: u32) {
    entry(object).store(time, Ordering::Relaxed);
}

/// The time that was last noted; in a checker's world, which has no table, `now`.
#[must_use]
pub fn noted(object: *const AtomicU32, _now: u32) -> u32 {
    entry(object).load(Ordering::Relaxed)
}
