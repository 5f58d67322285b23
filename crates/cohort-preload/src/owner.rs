//! The owner of a recursive or error-checking mutex, and the writer of a rwlock: a thread by its
//! [name](cohort::door::ThreadRecord::name).  No other thread has it, not even one on the same
//! stack after the owner has ended.  Unlike the kernel's number, it is the same in a forked child,
//! which therefore goes on owning what its thread owned.

use cohort::door::thread;

/// No thread.
pub const NOBODY: usize = 0;

/// The calling thread.
#[inline(always)]
pub fn me() -> usize {
    thread().name()
}
