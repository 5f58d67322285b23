//! Objects at which threads handed on a segment: conditions, mutexes, semaphores and barriers.

use super::bits::Bits;
use cohort::records::{SEGMENTS, mixed};
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU32, AtomicU64};

/// Bits of a word of [`GIVEN`] for the segment; above them is a hash of the object.
pub const SEGMENT_BITS: u32 = 20;
const _: () = assert!(SEGMENTS <= 1 << SEGMENT_BITS);

/// Entries that an object may have.
const PROBES: usize = 8;

/// Conditions, mutexes, semaphores and barriers, each with the segment that a thread last handed on
/// there; 0: free.
static GIVEN: [AtomicU64; 4096] = [const { AtomicU64::new(0) }; 4096];

/// Objects that may be in [`GIVEN`].
pub static ARE_GIVEN: Bits = Bits::new();

/// Words of `made` that have been written so far.
pub static WRITTEN: AtomicU32 = AtomicU32::new(0);

/// Drops the segments that the parent's threads handed on: they belong to another process.
pub fn begin_anew() {
    for place in &GIVEN {
        place.store(0, Relaxed);
    }
    WRITTEN.store(0, Relaxed);
}

/// Whether a segment may have been handed on at an object.
#[inline(always)]
pub fn is_given(object: usize) -> bool {
    ARE_GIVEN.has(object as u64)
}

/// An object's word without a segment, and its entries.
pub fn places_of(object: usize) -> (u64, impl Iterator<Item = &'static AtomicU64>) {
    let hash = mixed(object as u64);
    let word = (hash >> SEGMENT_BITS | 1) << SEGMENT_BITS;
    let places = (0..PROBES).map(move |probe| &GIVEN[(hash as usize + probe) % GIVEN.len()]);
    (word, places)
}

/// Forgets an object: another begins at that address.
pub fn forget(object: usize) {
    if is_given(object) {
        let (word, places) = places_of(object);
        for place in places {
            let known = place.load(Relaxed);
            if known >> SEGMENT_BITS == word >> SEGMENT_BITS {
                place.store(word, Relaxed);
            }
        }
    }
}
