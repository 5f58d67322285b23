//! Small programs that use the locks, each checking one promise.
//!
//! They run in every world.  A program that includes them provides, at its root, `locks`
//! (the build of the locks to use) and `world`: `together` to run threads, `Kept`
//! for memory that outlives its threads' failures, `nodes` for pools, `soon` for a
//! deadline that passes, `linger` for a moment in which others may come.

pub mod arena;
pub mod condvar;
pub mod destroy;
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
pub mod service;
pub mod waking;

use crate::locks::door::Cell;
use crate::world::linger;

/// Makes a wrapper with a number a lock as the one in its field is.
macro_rules! passes_on {
    ($wrapper:ident<$lock:ident: $bound:ident, const $number:ident>) => {
        // SAFETY: the lock inside excludes, and has the same contexts.
        unsafe impl<$lock: $bound, const $number: u32> $crate::locks::RawLock
            for $wrapper<$lock, $number>
        {
            type Context = $lock::Context;

            unsafe fn acquire(&self, cx: &$lock::Context) {
                // SAFETY: the caller's.
                unsafe { self.0.acquire(cx) };
            }

            unsafe fn release(&self, cx: &$lock::Context) {
                // SAFETY: the caller's, with the context by which the lock inside is held.
                unsafe { self.0.release(cx) };
            }

            fn is_locked(&self) -> bool {
                self.0.is_locked()
            }
        }
    };
}
pub(crate) use passes_on;

/// Adds one, plainly: two threads that do so at once are a race.
pub fn add_one(count: &Cell<u64>) {
    let seen = read(count);
    // Where nothing but the sum tells of a race, another thread has to come just then.
    linger();
    write(count, seen + 1);
}

/// Reads plainly.
pub fn read<T: Copy>(cell: &Cell<T>) -> T {
    // SAFETY: the caller holds the lock that guards the cell; a checker reports it if that
    // lock does not exclude others.
    cell.with(|value| unsafe { *value })
}

/// Writes plainly.
pub fn write<T>(cell: &Cell<T>, value: T) {
    // SAFETY: as in `read`.
    cell.with_mut(|place| unsafe { *place = value });
}
