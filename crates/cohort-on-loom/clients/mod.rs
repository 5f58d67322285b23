//! Small programs that use the locks, each checking one promise.
//!
//! They run in every world.  Whoever includes them provides, at its root, `locks`
//! (the build of the locks to use) and `world`: `together` to run threads, `Kept`
//! for memory that outlives its threads' failures, `nodes` for pools, `soon` for a
//! deadline that passes.

pub mod arena;
pub mod condvar;
pub mod destroy;
pub mod host;
pub mod late;
pub mod mutex;
pub mod near;
pub mod object;
pub mod recipes;
pub mod rwlock;

use crate::locks::door::Cell;

/// Adds one, plainly: two threads that do so at once are a race.
pub fn add_one(count: &Cell<u64>) {
    // SAFETY: the caller holds the lock that guards the count; a checker reports
    // it if that lock does not exclude others.
    count.with_mut(|count| unsafe { *count += 1 });
}

/// Reads plainly.
pub fn read<T: Copy>(cell: &Cell<T>) -> T {
    // SAFETY: as in `add_one`.
    cell.with(|value| unsafe { *value })
}

/// Writes plainly.
pub fn write<T>(cell: &Cell<T>, value: T) {
    // SAFETY: as in `add_one`.
    cell.with_mut(|place| unsafe { *place = value });
}
