//! Operations of guards, reported to the observing library (feature `observe`).
//!
//! Not those [by address](crate::gls::address): they are for languages with call sites of their own,
//! as the library for C is, which reports them.

use crate::lock::Lock;
use crate::table::TABLE;
use cohort::door::recorder;
use cohort::door::{Doing, How};
use cohort::service::{Held, Refusal};

/// Acquires a key's lock as `acquire` does.
#[inline(always)]
pub fn acquiring<T>(
    doing: Doing,
    key: usize,
    acquire: impl FnOnce(usize) -> Result<T, Refusal>,
) -> Result<T, Refusal> {
    if !cfg!(feature = "observe") {
        return acquire(key);
    }
    let mut result = Err(Refusal::NoKey);
    let is_held = || TABLE.is_held(key);
    recorder::acquiring(doing, How::Key, key, is_held, || {
        result = acquire(key);
        result.is_ok()
    });
    result
}

/// Releases a key's lock.
#[inline(always)]
pub fn releasing(held: Held<Lock>) {
    if cfg!(feature = "observe") {
        recorder::releasing(How::Key, held.key(), || held.unlock());
    } else {
        held.unlock();
    }
}

/// Ends a key's lock as `free` does.
#[inline(always)]
pub fn ending(key: usize, free: impl FnOnce(usize) -> Result<(), Refusal>) -> Result<(), Refusal> {
    if !cfg!(feature = "observe") {
        return free(key);
    }
    let result = free(key);
    recorder::ending(How::Key, key, result == Err(Refusal::Busy));
    result
}
