//! The calling thread's samples.

use super::own::Own;
use cohort::records::{Drawn, NO_SAMPLES, SAMPLES, STACKS_ONLY, WATCH_BITS};
use core::sync::atomic::Ordering::Relaxed;

/// Nanoseconds between samples until the command sets them.
const AT_FIRST: u32 = 100_000;

/// Nanoseconds between a pair's samples; none if samples are off.
pub fn spacing(own: &Own) -> Option<u32> {
    match own.records().spacing.load(Relaxed) {
        0 => Some(AT_FIRST),
        NO_SAMPLES | STACKS_ONLY => None,
        spacing => Some(spacing),
    }
}

/// A sample's bits of its watch.
pub fn watch_of(own: &Own) -> u8 {
    (own.watch & WATCH_BITS) as u8
}

/// Whether few of the thread's samples are uncollected: the remaining entries are for other
/// samples.
pub fn has_room(own: &Own) -> bool {
    own.thread.samples.waiting() < SAMPLES as u32 / 4
}

/// Adds a sample to the thread's; false, and the sample is dropped, if there is no room.
#[cold]
pub fn put(own: &Own, drawn: Drawn) -> bool {
    // SAFETY: the calling thread's own.
    unsafe { own.thread.samples.put(drawn.to_words()) }
}
