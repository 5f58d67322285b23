//! `pthread_spin_*`.
//!
//! The word keeps the C library's meaning: a process-shared spin lock is not marked as one, and its
//! other users may not run under Cohort. Only waiting differs: a waiter yields its CPU after some
//! spinning.

use crate::choice::{choice, is_plain, is_system};
use crate::count::count;
use crate::layout::Spin;
use crate::libc::EBUSY;
use crate::next;
use cohort::door::Spinner;
use cohort::report::ServedKind;
use core::ffi::c_int;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// The C library's values: on x86-64, a free lock is 1, and a held one 0 or less.
#[cfg(target_arch = "x86_64")]
const FREE: u32 = 1;
#[cfg(target_arch = "x86_64")]
const HELD: u32 = 0;
#[cfg(not(target_arch = "x86_64"))]
const FREE: u32 = 0;
#[cfg(not(target_arch = "x86_64"))]
const HELD: u32 = 1;

/// Whether the lock was held a moment ago.
#[cfg(feature = "observe")]
pub fn is_held(lock: &Spin) -> bool {
    lock.load(Relaxed) != FREE
}

fn try_acquire(lock: &Spin) -> bool {
    // A swap, because the C library decrements a held lock further.
    lock.load(Relaxed) == FREE && lock.swap(HELD, Acquire) == FREE
}

/// See `pthread_spin_lock(3)`.
///
/// # Safety
/// As that page asks.
#[cfg_attr(not(feature = "observe"), unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_spin_lock(lock: *mut Spin) -> c_int {
    // SAFETY: the program's.
    if is_plain() && unsafe { &*lock }.swap(HELD, Acquire) == FREE {
        return 0;
    }
    // SAFETY: passed on.
    unsafe { lock_slow(lock) }
}

#[cold]
#[inline(never)]
unsafe fn lock_slow(lock: *mut Spin) -> c_int {
    if is_system() {
        // SAFETY: passed on.
        return unsafe { next::pthread_spin_lock(lock) };
    }
    // SAFETY: the program's.
    let object = unsafe { &*lock };
    let at_once = try_acquire(object);
    if !at_once {
        let mut spinner = Spinner::new();
        while !try_acquire(object) {
            spinner.turn();
        }
    }
    if choice().1 {
        count(ServedKind::Spin, !at_once);
    }
    0
}

/// See `pthread_spin_trylock(3)`.
///
/// # Safety
/// As that page asks.
#[cfg_attr(not(feature = "observe"), unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_spin_trylock(lock: *mut Spin) -> c_int {
    if is_system() {
        // SAFETY: passed on.
        return unsafe { next::pthread_spin_trylock(lock) };
    }
    // SAFETY: the program's.
    if !try_acquire(unsafe { &*lock }) {
        return EBUSY;
    }
    if choice().1 {
        count(ServedKind::Spin, false);
    }
    0
}

/// See `pthread_spin_unlock(3)`.
///
/// # Safety
/// As that page asks.
#[cfg_attr(not(feature = "observe"), unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_spin_unlock(lock: *mut Spin) -> c_int {
    if !is_plain() && is_system() {
        // SAFETY: passed on.
        return unsafe { next::pthread_spin_unlock(lock) };
    }
    // SAFETY: the program's.
    unsafe { &*lock }.store(FREE, Release);
    0
}

/// See `pthread_spin_init(3)`.
///
/// # Safety
/// As that page asks.
#[cfg_attr(not(feature = "observe"), unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_spin_init(lock: *mut Spin, shared: c_int) -> c_int {
    if is_system() {
        // SAFETY: passed on.
        return unsafe { next::pthread_spin_init(lock, shared) };
    }
    // SAFETY: the program's.
    unsafe { &*lock }.store(FREE, Relaxed);
    0
}

/// See `pthread_spin_destroy(3)`.
///
/// # Safety
/// As that page asks.
#[cfg_attr(not(feature = "observe"), unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_spin_destroy(lock: *mut Spin) -> c_int {
    if is_system() {
        // SAFETY: passed on.
        return unsafe { next::pthread_spin_destroy(lock) };
    }
    0
}
