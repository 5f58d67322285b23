//! Segments of threads: stretches of a thread between its creations and joins of others, and its
//! hand-shakes with them.
//!
//! A segment follows its predecessor in the thread; a thread's first follows its creator's segment.
//! It also follows the last segment of a thread joined before it, and a segment handed on by another
//! thread through a condition, a semaphore or a barrier. Unordered segments may run concurrently
//! (Bensalem and Havelund, *Dynamic Deadlock Analysis of Multi-threaded Programs*, 2005, section 4).

use super::{How, MADE, Records, SEGMENTS, mixed};
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// One segment. Its number is assigned after its predecessors' numbers.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Segment {
    /// The kernel's thread number; 0: not begun.
    pub thread: AtomicU32,
    /// Its predecessors; 0: none.
    pub after: [AtomicU32; 2],
}

/// Bits of a segment in a word of [`Records::made`]; above them is the hash of the pair.
const SEGMENT_BITS: u32 = 20;
const _: () = assert!(SEGMENTS <= 1 << SEGMENT_BITS);

/// How many places are tried for a word.
const PROBES: usize = 64;

/// A hash of two locks, by their addresses and numbers, and of how each is acquired.
#[must_use]
pub fn pair(locks: [u64; 2], numbers: [u32; 2], hows: [How; 2]) -> u64 {
    let which = u64::from(numbers[0]) << 32 | u64::from(numbers[1]);
    let how = (hows[0] as u64) << 8 | hows[1] as u64;
    mixed(locks[0] ^ mixed(locks[1] ^ mixed(which ^ mixed(how))))
}

fn word(pair: u64, segment: u32) -> u64 {
    // No pair is zero: that means a free place.
    (pair >> SEGMENT_BITS | 1) << SEGMENT_BITS | u64::from(segment)
}

impl Records {
    /// Begins a segment with those predecessors, of a thread that may not have begun; 0: no room.
    pub fn begin_segment(&self, thread: u32, after: [u32; 2]) -> u32 {
        let number = self.segmented.fetch_add(1, AcqRel) + 1;
        let Some(segment) = self.segments.get(number as usize) else {
            self.segmented.store(SEGMENTS as u32, Relaxed);
            return 0;
        };
        segment.thread.store(thread, Relaxed);
        for (place, before) in segment.after.iter().zip(after) {
            place.store(before, Relaxed);
        }
        number
    }

    /// Notes that a pair of locks was acquired, nested, in a segment; 0: in an unknown one. Returns
    /// whether that is new.
    #[inline]
    pub fn note_made(&self, pair: u64, segment: u32) -> bool {
        let word = word(pair, segment);
        let first = mixed(word) as usize;
        for probe in 0..PROBES {
            let place = &self.made[(first + probe) % MADE];
            let known = match place.load(Relaxed) {
                0 => match place.compare_exchange(0, word, Release, Relaxed) {
                    Ok(_) => return true,
                    Err(known) => known,
                },
                known => known,
            };
            if known == word {
                return false;
            }
        }
        self.lost_made.store(1, Relaxed);
        false
    }

    /// The noted pairs, in the form of [`made_of`], each with a segment.
    pub fn made(&self) -> impl Iterator<Item = (u64, u32)> {
        let words = self.made.iter().map(|place| place.load(Acquire));
        words.filter(|word| *word != 0).map(|word| {
            let segment = word & ((1 << SEGMENT_BITS) - 1);
            (word >> SEGMENT_BITS, segment as u32)
        })
    }
}

/// The form of a pair in [`Records::made`].
#[must_use]
pub fn made_of(pair: u64) -> u64 {
    word(pair, 0) >> SEGMENT_BITS
}
