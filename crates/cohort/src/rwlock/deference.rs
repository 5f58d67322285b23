//! When readers pass waiting writers.
//!
//! A reader that waits behind a writer may hold the lock already, or the lock's holder may depend on
//! that reader.  So a reader passes waiting writers after [`DEFERENCE_NANOSECONDS`]; a thread that
//! tries, or gives up sooner, passes at its first attempt after that time.
//!
//! A reader that passes notes the [moment](PassedAt) in the lock's word.  For as long as it deferred,
//! arriving readers follow it at once: otherwise each of many dependent reads would wait anew.
//! Then readers defer again, and for at least as long, in which the readers inside can drain.  So a
//! stream of readers delays a waiting writer by a bounded time, and the writer clears the note.

use crate::door::{flaws, mutant, now, thread};

flaws! {
    REFUSE_FOR_EVER = "rw-deference.refuse-for-ever";
    PASS_ALONE = "rw-deference.pass-alone";
}

/// How long a reader that may recurse waits behind writers before it passes them.
pub(super) const DEFERENCE_NANOSECONDS: u64 = 5_000_000;

/// The unit of the moments noted.
const UNIT_NANOSECONDS: u64 = 1_000_000;

const DEFERENCE: u64 = DEFERENCE_NANOSECONDS / UNIT_NANOSECONDS;

/// Whether waiting writers have refused the calling thread a read lock for the whole deference, of
/// any lock; the first refusal starts it.
#[cold]
pub(super) fn has_deferred() -> bool {
    let refused = &thread().refused;
    let now = now();
    if refused.get() == 0 {
        refused.set(now);
    }
    now - refused.get() >= DEFERENCE_NANOSECONDS && !mutant(flaw::REFUSE_FOR_EVER)
}

/// The calling thread, which may have been refused before, has acquired a read lock.
#[inline]
pub(super) fn is_let_in() {
    thread().refused.set(0);
}

/// The moment when a reader last passed waiting writers, in the bits `FIELD` of a word; 0 if none
/// has.  Moments repeat after as many units as the field has values: an old one reads as recent for
/// a few units of each round, which shortens no deference below its length.
pub(super) struct PassedAt<const FIELD: u32>;

impl<const FIELD: u32> PassedAt<FIELD> {
    const ONE: u32 = FIELD & FIELD.wrapping_neg();
    /// As 0 stands for none.
    const MOMENTS: u64 = (FIELD / Self::ONE) as u64;

    fn moment() -> u64 {
        now() / UNIT_NANOSECONDS % Self::MOMENTS
    }

    /// How many units before that moment the word's is.
    fn before(word: u32, moment: u64) -> Option<u64> {
        const { assert!(Self::MOMENTS > 4 * DEFERENCE) };
        let noted = u64::from((word & FIELD) / Self::ONE);
        (noted != 0).then(|| (moment + Self::MOMENTS + 1 - noted) % Self::MOMENTS)
    }

    /// Whether readers that arrive at that word pass waiting writers at once.
    pub fn is_recent(word: u32) -> bool {
        word & FIELD != 0
            && Self::before(word, Self::moment()).is_some_and(|units| units < DEFERENCE)
            && !mutant(flaw::PASS_ALONE)
    }

    /// The word once a reader passes; unchanged until readers have deferred since the last note.
    pub fn noted(word: u32) -> u32 {
        let moment = Self::moment();
        match Self::before(word, moment) {
            Some(units) if units < 2 * DEFERENCE => word,
            _ => (word & !FIELD) | ((moment as u32 + 1) * Self::ONE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Few = PassedAt<0xfc00_0000>;

    #[test]
    fn a_moment_is_recent_for_the_deference_in_each_round() {
        let moments = Few::MOMENTS;
        assert_eq!(moments, 63);
        assert_eq!(Few::before(0x03ff_ffff, 7), None);
        for noted in 0..moments {
            let word = ((noted as u32 + 1) * Few::ONE) | 0x0155_5555;
            for units in 0..moments {
                let moment = (noted + units) % moments;
                assert_eq!(Few::before(word, moment), Some(units));
            }
        }
    }

    #[test]
    fn other_bits_stay() {
        let word = 0x0155_5555;
        let noted = Few::noted(word);
        assert_eq!(noted & !0xfc00_0000, word);
        assert!(Few::is_recent(noted) && !Few::is_recent(word));
        assert_eq!(Few::noted(noted), noted);
    }
}
