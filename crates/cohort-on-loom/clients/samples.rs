//! A reader takes each sample whole and in order while the thread adds more.

use crate::locks::records::{Samples, WORDS};
use crate::world::together;
use std::sync::Arc;

/// Adds samples to a buffer of so many places while another thread takes them.
pub fn come_whole<const PLACES: usize>(samples: u64) {
    let shared = Arc::new(Samples::<PLACES>::default());
    let theirs = Arc::clone(&shared);
    let both = together(2, move |thread| {
        if thread == 0 {
            let put = (1..=samples).filter(|number| {
                let had_room = theirs.waiting() < PLACES as u32;
                // SAFETY: no other thread adds.
                let is_put = unsafe { theirs.put([*number; WORDS]) };
                assert!(is_put || !had_room, "what had room was dropped");
                is_put
            });
            put.collect::<Vec<u64>>()
        } else {
            // SAFETY: no other thread takes.
            let taken = (0..samples).filter_map(|_| unsafe { theirs.take() });
            taken.map(whole).collect()
        }
    });
    if let Some([put, taken]) = both.as_deref() {
        let mut taken = taken.clone();
        // SAFETY: the other threads have ended.
        while let Some(sample) = unsafe { shared.take() } {
            taken.push(whole(sample));
        }
        assert_eq!(*put, taken, "what was put is not what was taken");
    }
}

/// The number in all words of a sample.
fn whole(sample: [u64; WORDS]) -> u64 {
    assert!(
        sample.iter().all(|word| *word == sample[0]),
        "a sample was read while it was written"
    );
    sample[0]
}
