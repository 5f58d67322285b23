//! Small programs that use the locks, each checking one guarantee.
//!
//! They run on every backend. A program that includes them provides at its root `locks`, the build
//! of the locks, and `world`: `together` runs threads, `Kept` is memory that outlives its threads'
//! failures, `nodes` creates pools, `soon` is a deadline that passes, `linger` is a moment in which
//! others may arrive.

pub mod arena;
pub mod barrier;
pub mod condvar;
pub mod destroy;
pub mod gate;
pub mod glk;
pub mod guest;
pub mod host;
pub mod mutex;
pub mod near;
pub mod near_wrap;
pub mod object;
pub mod once;
pub mod p_sim;
pub mod recipes;
pub mod rwlock;
pub mod semaphore;
pub mod service;
pub mod waking;
pub mod waking_shared;

use crate::locks::door::Cell;
use crate::world::linger;

/// Implements the lock traits for a wrapper with a number, by its field.
macro_rules! passes_on {
    ($wrapper:ident<$lock:ident: $bound:ident, const $number:ident>) => {
        // SAFETY: the inner lock excludes, and has the same contexts.
        unsafe impl<$lock: $bound, const $number: u32> $crate::locks::RawLock
            for $wrapper<$lock, $number>
        {
            type Context = $lock::Context;

            unsafe fn acquire(&self, cx: &$lock::Context) {
                // SAFETY: the caller's.
                unsafe { self.0.acquire(cx) };
            }

            unsafe fn release(&self, cx: &$lock::Context) {
                // SAFETY: the caller's, with the context that holds the inner lock.
                unsafe { self.0.release(cx) };
            }

            fn is_locked(&self) -> bool {
                self.0.is_locked()
            }
        }
    };
}
pub(crate) use passes_on;

/// Increments without atomicity: two concurrent calls race.
pub fn add_one(count: &Cell<u64>) {
    let seen = read(count);
    // Backends that detect races only by the sum need another thread to run here.
    linger();
    write(count, seen + 1);
}

/// Reads without atomicity.
pub fn read<T: Copy>(cell: &Cell<T>) -> T {
    // SAFETY: the caller holds the lock that guards the cell; a checker reports a lock that does
    // not exclude.
    cell.with(|value| unsafe { *value })
}

/// Writes without atomicity.
pub fn write<T>(cell: &Cell<T>, value: T) {
    // SAFETY: as in `read`.
    cell.with_mut(|place| unsafe { *place = value });
}
