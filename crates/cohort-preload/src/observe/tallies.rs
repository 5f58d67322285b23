//! The calling thread's tallies: counts of acquisitions, each for a lock and a site.

use super::own::Own;
use cohort::records::{TALLIES, Tally};

/// The topmost bits of a hash of a lock and a site, as the lowest ones: as many as tallies need.
#[inline(always)]
fn hashed(lock: u64, site: u64) -> u64 {
    lock.wrapping_add(site << 3)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        >> (u64::BITS - TALLIES.ilog2())
}

/// The index of a thread's tally for a lock and a site.
#[inline(always)]
pub fn place(lock: u64, site: u64) -> usize {
    hashed(lock, site) as usize % TALLIES
}

/// The tally at that index.
#[inline(always)]
pub fn tally(own: &Own, place: usize) -> &'static Tally {
    &own.thread.tallies[place]
}
