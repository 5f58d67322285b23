//! Whether a lock is held, and whether an operation has acquired it.

use crate::choice::is_plain_default;
use crate::layout::{ERRORCHECK, Mutex, NO_KIND, NORMAL, RECURSIVE, RwLock};
use crate::{mutex, owner};
use cohort::RawLock;
use cohort::records::{How, OBJECT};
use core::ffi::c_int;
use core::ptr::with_exposed_provenance;
use core::sync::atomic::Ordering::Relaxed;

/// Whether the lock is held, so that the thread will wait; none if unknown.
///
/// # Safety
/// The lock is valid, of that sort, and alive.
#[inline(always)]
pub unsafe fn is_taken(how: How, object: usize) -> Option<bool> {
    // SAFETY: the caller's.
    unsafe {
        match how {
            How::Mutex => {
                let mutex = &*with_exposed_provenance::<Mutex>(object);
                if is_plain_default() && mutex.kind.load(Relaxed) == NORMAL {
                    return Some(mutex.futex.is_locked());
                }
                is_taken_otherwise(mutex)
            }
            How::Read | How::Write => {
                let lock = &*with_exposed_provenance::<RwLock>(object);
                if !lock.is_word() {
                    return None;
                }
                match how {
                    How::Read => Some(lock.lock.keeps_readers_out()),
                    _ => lock.lock.keeps_writers_out(),
                }
            }
            _ => None,
        }
    }
}

/// Whether the mutex of that identity is held; false if unknown.
pub fn is_mutex_taken(lock: u64) -> bool {
    // SAFETY: the calling thread is about to acquire it.
    unsafe { is_taken(How::Mutex, (lock & OBJECT) as usize) == Some(true) }
}

/// [`is_taken`] for a mutex under another lock than the default, or of another kind than plain.
fn is_taken_otherwise(mutex: &Mutex) -> Option<bool> {
    let kind = mutex.kind.load(Relaxed) & !NO_KIND;
    if matches!(kind, RECURSIVE | ERRORCHECK) && mutex.owner.load(Relaxed) == owner::me() {
        return Some(false);
    }
    mutex::is_taken(mutex)
}

/// A robust mutex is locked even after the death of its owner.
const EOWNERDEAD: c_int = 130;

/// Whether an operation with that result has acquired the lock.
pub fn is_locked(result: c_int) -> bool {
    result == 0 || result == EOWNERDEAD
}
