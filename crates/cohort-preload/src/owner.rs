//! The owner of a recursive or error-checking mutex: a thread, named by the address
//! of its own thread-local words.  Unlike the kernel's number, that name is the
//! same in a forked child, which therefore goes on owning what its thread owned.
//! A thread that exits while it owns one is taken for the next thread whose stack
//! the C library puts in the same place.

use cohort::door::thread;

/// Nobody.
pub const NOBODY: usize = 0;

/// The calling thread.
#[inline(always)]
pub fn me() -> usize {
    core::ptr::from_ref(thread()) as usize
}
