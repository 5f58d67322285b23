//! The choice of the lock that serves an object: the process's default, or a lock assigned to this
//! object.
//!
//! Spare bits of the object hold the choice. No other code writes their word while the object is in
//! use. The initialising thread sets them. An object without initialisation is all zero; its first
//! user sets them before it touches any other byte. If several first users differ, the first
//! exchange decides for all.
//!
//! | bits of the word | meaning |
//! |---|---|
//! | 0–15, 24–31 | the face's |
//! | 16–23 | 0: unused object; otherwise the place of its lock plus one |
//!
//! Relaxed accesses suffice: all bytes that a lock reads were zero before, and these bits alone say
//! how to read them.

use crate::door::{AtomicU32, Order, flaws, mutant};

flaws! {
    BELIEVE_OWN = "assigned.believe-own";
    OVERWRITE = "assigned.overwrite";
}

/// The bits of the word that identify the lock.
pub const BITS: u32 = 0xff << SHIFT;

const SHIFT: u32 = 16;

/// The bits that identify the lock at that place; places are below 255.
#[must_use]
pub const fn bits(place: u32) -> u32 {
    (place + 1) << SHIFT
}

/// The place of the lock that a word identifies; none for an unused object.
#[inline(always)]
#[must_use]
pub const fn place(word: u32) -> Option<u32> {
    ((word & BITS) >> SHIFT).checked_sub(1)
}

/// The place of the object's lock. An unused object gets `wanted`, or the choice of a concurrent
/// first user.
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
