//! The owner of a recursive or error-checking mutex, and the writer of a rwlock: a thread by its
//! [name](cohort::door::ThreadRecord::name). Names are unique: a later thread on an ended owner's
//! stack has another. Unlike the kernel's thread ID, a name stays the same in a forked child, so
//! the child still owns its thread's mutexes.

use cohort::door::thread;

/// No thread.
pub const NOBODY: usize = 0;

/// The calling thread.
#[inline(always)]
pub fn me() -> usize {
    thread().name()
}
