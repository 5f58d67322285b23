//! Which thread calls.

use cohort::door::thread;
use core::ffi::c_int;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

/// Returns the name of the calling thread: never 0, and different from the name of every other thread
/// that the process has or has had.  The thread that forks keeps its name in the child.
#[unsafe(no_mangle)]
pub extern "C" fn cohort_thread_name() -> u64 {
    thread().name() as u64
}

/// 1 if the calling thread has written its name there, as the owner, else 0: then it is no other
/// thread's, though others may write there meanwhile.
///
/// # Safety
/// A word with a single writer, its owner.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_thread_is_owner(owner: *const u64) -> c_int {
    // SAFETY: the caller's; a thread finds its own name only where it has written that itself.
    let owner = unsafe { AtomicU64::from_ptr(owner.cast_mut()) };
    c_int::from(owner.load(Relaxed) == cohort_thread_name())
}

/// Writes the calling thread's name there, as the owner.
///
/// # Safety
/// A word, which the caller may write: it holds the lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_thread_set_owner(owner: *mut u64) {
    // SAFETY: the caller's.
    unsafe { AtomicU64::from_ptr(owner) }.store(cohort_thread_name(), Relaxed);
}
