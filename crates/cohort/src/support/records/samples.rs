//! Samples on their way from a thread to the one reader of a process's records.
//!
//! Neither waits for the other: a sample without a place is dropped, and a sample being written is
//! not visible.
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `put` | the thread | number of samples written |
//! | `taken` | the reader | number of samples read; their places are free |
//! | `places` | the thread | the samples, each at its number |

use crate::door::{AtomicU32, Cell, Order, orders};

orders! {
    /// A reader that sees a sample's number sees all of the sample.
    SAMPLE_PUT = Release;
    /// The same, from the reader's side.
    SAMPLE_SEEN = Acquire;
    /// A place is free once its sample has been read.
    SAMPLE_TAKEN = Release;
    /// The same, from the thread's side: it writes there only afterwards.
    SAMPLE_FREE = Acquire;
}

/// The words of a sample.
pub const WORDS: usize = 4;

/// A thread's samples; all zero when new.
#[derive(Debug)]
#[repr(C)]
pub struct Samples<const PLACES: usize> {
    put: AtomicU32,
    taken: AtomicU32,
    places: [Cell<[u64; WORDS]>; PLACES],
}

impl<const PLACES: usize> Default for Samples<PLACES> {
    fn default() -> Self {
        Self {
            put: AtomicU32::default(),
            taken: AtomicU32::default(),
            places: core::array::from_fn(|_| Cell::default()),
        }
    }
}

impl<const PLACES: usize> Samples<PLACES> {
    /// Puts a sample there; false, and the sample is dropped, if there is no place.
    ///
    /// # Safety
    /// No other thread puts samples here.
    pub unsafe fn put(&self, sample: [u64; WORDS]) -> bool {
        let put = self.put.load(Order::RELAXED);
        if put.wrapping_sub(self.taken.load(SAMPLE_FREE)) >= PLACES as u32 {
            return false;
        }
        // SAFETY: the reader has read what was there, and looks again only once this counts.
        self.places[put as usize % PLACES].with_mut(|place| unsafe { *place = sample });
        self.put.store(put.wrapping_add(1), SAMPLE_PUT);
        true
    }

    /// Number of unread samples, by the view of the writing thread: an upper bound.
    #[must_use]
    pub fn waiting(&self) -> u32 {
        let put = self.put.load(Order::RELAXED);
        put.wrapping_sub(self.taken.load(Order::RELAXED))
    }

    /// Takes the oldest sample, if there is one.
    ///
    /// # Safety
    /// No other thread takes samples from here.
    pub unsafe fn take(&self) -> Option<[u64; WORDS]> {
        let taken = self.taken.load(Order::RELAXED);
        if taken == self.put.load(SAMPLE_SEEN) {
            return None;
        }
        // SAFETY: the thread has written this, and writes again only once it is read.
        let sample = self.places[taken as usize % PLACES].with(|place| unsafe { *place });
        self.taken.store(taken.wrapping_add(1), SAMPLE_TAKEN);
        Some(sample)
    }
}
