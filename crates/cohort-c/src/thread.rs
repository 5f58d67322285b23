//! Names of threads.

use cohort::door::thread;
use core::ffi::c_int;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

/// Returns the calling thread's name: nonzero, and different from the names of all other present
/// and past threads of the process. A forking thread keeps its name in the child.
#[unsafe(no_mangle)]
pub extern "C" fn cohort_thread_name() -> u64 {
    thread().name() as u64
}

/// 1 if the calling thread has stored its name there as the owner, else 0. Concurrent stores by
/// other threads do not change the result.
///
/// # Safety
/// A word with a single writer, its owner.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_thread_is_owner(owner: *const u64) -> c_int {
    // SAFETY: the caller's; a thread finds its own name only where it has stored that itself.
    let owner = unsafe { AtomicU64::from_ptr(owner.cast_mut()) };
    c_int::from(owner.load(Relaxed) == cohort_thread_name())
}

/// Stores the calling thread's name there, as the owner.
///
/// # Safety
/// A word that the caller may write: it holds the lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_thread_set_owner(owner: *mut u64) {
    // SAFETY: the caller's.
    unsafe { AtomicU64::from_ptr(owner) }.store(cohort_thread_name(), Relaxed);
}
