//! Which of a process's locks serves an object: the process's own, or another that was assigned
//! to this object.
//!
//! The answer stands in spare bits of a word of the object that nobody else writes while the
//! object is in use.  The thread that initialises the object writes it there; an object that nobody
//! initialises is all zero, and its first user writes it, before that user touches any other
//! byte.  Of several first users at once, each of which may want another lock, one decides, and
//! the others go by that.
//!
//! | bits of the word | meaning |
//! |---|---|
//! | 0–15, 24–31 | the face's |
//! | 16–23 | 0: nobody has used the object; else one more than the place of its lock |
//!
//! No order is asked of these accesses: every byte that a lock reads was zero before, and the
//! answer alone says how to read it.

use crate::door::{AtomicU32, Order, flaws, mutant};

flaws! {
    BELIEVE_OWN = "assigned.believe-own";
    OVERWRITE = "assigned.overwrite";
}

/// The bits of the word that say which lock it is.
pub const BITS: u32 = 0xff << SHIFT;

const SHIFT: u32 = 16;

/// The bits that say so of the lock in that place, of which there are at most 255.
#[must_use]
pub const fn bits(place: u32) -> u32 {
    (place + 1) << SHIFT
}

/// The place of the lock that a word names; none if nobody has used the object.
#[inline(always)]
#[must_use]
pub const fn place(word: u32) -> Option<u32> {
    ((word & BITS) >> SHIFT).checked_sub(1)
}

/// The place of the object's lock; if nobody has used the object, that is `wanted` from here on,
/// or what another first user wants at the same moment.
#[inline]
pub fn assign(word: &AtomicU32, wanted: impl FnOnce() -> u32) -> u32 {
    let seen = word.load(Order::RELAXED);
    if let Some(place) = place(seen) {
        return place;
    }
    let wanted = wanted();
    if mutant(flaw::OVERWRITE) {
        word.store(seen | bits(wanted), Order::RELAXED);
        return wanted;
    }
    match word.compare_exchange(seen, seen | bits(wanted), Order::RELAXED, Order::RELAXED) {
        Err(now) if !mutant(flaw::BELIEVE_OWN) => place(now).unwrap_or(wanted),
        _ => wanted,
    }
}
