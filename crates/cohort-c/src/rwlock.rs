//! `cohort_rwlock_t`: the default reader–writer lock.

use crate::libc::{EAGAIN, EBUSY, EINVAL, EPERM, ETIMEDOUT, timespec};
use crate::time;
use crate::token::{cohort_token_t, unless};
use cohort::rwlock::RawRwLock;
use cohort::{Outcome, Patience, Recursion};
use core::ffi::c_int;

/// Reader–writer lock: sixteen bytes, valid when zero.
#[repr(C)]
pub struct cohort_rwlock_t {
    lock: RawRwLock,
}

const _: () = assert!(size_of::<cohort_rwlock_t>() == 16 && align_of::<cohort_rwlock_t>() == 4);

/// The lock at that address.
macro_rules! at {
    ($lock:expr) => {
        // SAFETY: the caller's: null, or a lock.
        match unsafe { $lock.as_ref() } {
            Some(lock) => &lock.lock,
            None => return EINVAL,
        }
    };
}

fn read(lock: &RawRwLock, patience: &Patience) -> c_int {
    match lock.read(Recursion::Allowed, patience) {
        Outcome::Acquired => 0,
        Outcome::GaveUp if lock.is_full() => EAGAIN,
        Outcome::GaveUp => ETIMEDOUT,
    }
}

fn write(lock: &RawRwLock, patience: &Patience) -> c_int {
    match lock.write(patience) {
        Outcome::Acquired => 0,
        Outcome::GaveUp => ETIMEDOUT,
    }
}

/// Initialises a lock in any memory, as `COHORT_RWLOCK_INIT` does.
///
/// # Safety
/// Null, or memory for an unused lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_rwlock_init(rwlock: *mut cohort_rwlock_t) -> c_int {
    if rwlock.is_null() {
        return EINVAL;
    }
    let lock = RawRwLock::new();
    // SAFETY: the caller's.
    unsafe { rwlock.write(cohort_rwlock_t { lock }) };
    0
}

/// Destroys a lock, which is immediately valid again; `EBUSY` if it is held. Optional.
///
/// # Safety
/// Null, or a lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_rwlock_destroy(rwlock: *mut cohort_rwlock_t) -> c_int {
    if at!(rwlock).is_locked() {
        return EBUSY;
    }
    // SAFETY: passed on.
    unsafe { cohort_rwlock_init(rwlock) }
}

/// Blocks until the lock is acquired for reading. After five milliseconds, a reader overtakes
/// waiting writers, since it may be a recursive reader. Once this has happened in the process, a
/// thread that has since acquired a read lock overtakes them immediately. `EAGAIN` at half a
/// million readers.
///
/// cbindgen:postfix=COHORT_ACQUIRE_SHARED(*rwlock)
///
/// # Safety
/// Null, or a lock; so for all below.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_rwlock_read(rwlock: *mut cohort_rwlock_t) -> c_int {
    read(at!(rwlock), &Patience::ENDLESS)
}

/// Acquires the lock for reading, or returns `EBUSY` if a writer holds it or waits; never blocks. A
/// thread refused because of waiting writers for five milliseconds overtakes them, here and in
/// timed calls with a shorter timeout.
///
/// cbindgen:postfix=COHORT_TRY_ACQUIRE_SHARED(0, *rwlock)
///
/// # Safety
/// As `cohort_rwlock_read`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_rwlock_read_try(rwlock: *mut cohort_rwlock_t) -> c_int {
    let lock = at!(rwlock);
    if lock.try_read(Recursion::Allowed) {
        0
    } else if lock.is_full() {
        EAGAIN
    } else {
        EBUSY
    }
}

/// Blocks until the lock is acquired for reading, or returns `ETIMEDOUT` at that time of
/// `CLOCK_MONOTONIC` or `CLOCK_REALTIME`.
///
/// cbindgen:postfix=COHORT_TRY_ACQUIRE_SHARED(0, *rwlock)
///
/// # Safety
/// As `cohort_rwlock_read`; the time is null or readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_rwlock_read_until(
    rwlock: *mut cohort_rwlock_t,
    clock: c_int,
    time: *const timespec,
) -> c_int {
    // SAFETY: the caller's.
    match unsafe { time::until(clock, time) } {
        Ok(patience) => read(at!(rwlock), &patience),
        Err(error) => error,
    }
}

/// As `cohort_rwlock_read_until`, with a timeout in nanoseconds.
///
/// cbindgen:postfix=COHORT_TRY_ACQUIRE_SHARED(0, *rwlock)
///
/// # Safety
/// As `cohort_rwlock_read`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_rwlock_read_for(
    rwlock: *mut cohort_rwlock_t,
    nanoseconds: u64,
) -> c_int {
    read(at!(rwlock), &time::during(nanoseconds))
}

/// Blocks until the lock is acquired for reading, or returns `ECANCELED` once the token is
/// cancelled.
///
/// cbindgen:postfix=COHORT_TRY_ACQUIRE_SHARED(0, *rwlock)
///
/// # Safety
/// As `cohort_rwlock_read`; null, or a token.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_rwlock_read_unless(
    rwlock: *mut cohort_rwlock_t,
    token: *mut cohort_token_t,
) -> c_int {
    let lock = at!(rwlock);
    // SAFETY: the caller's.
    unsafe { unless(token, |patience| read(lock, patience)) }
}

/// Blocks until the lock is acquired for writing. A thread that already holds it deadlocks.
///
/// cbindgen:postfix=COHORT_ACQUIRE(*rwlock)
///
/// # Safety
/// As `cohort_rwlock_read`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_rwlock_write(rwlock: *mut cohort_rwlock_t) -> c_int {
    write(at!(rwlock), &Patience::ENDLESS)
}

/// Acquires the lock for writing, or returns `EBUSY` if it is held; never blocks.
///
/// cbindgen:postfix=COHORT_TRY_ACQUIRE(0, *rwlock)
///
/// # Safety
/// As `cohort_rwlock_read`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_rwlock_write_try(rwlock: *mut cohort_rwlock_t) -> c_int {
    if at!(rwlock).try_write() { 0 } else { EBUSY }
}

/// Blocks until the lock is acquired for writing, or returns `ETIMEDOUT` at that time of
/// `CLOCK_MONOTONIC` or `CLOCK_REALTIME`.
///
/// cbindgen:postfix=COHORT_TRY_ACQUIRE(0, *rwlock)
///
/// # Safety
/// As `cohort_rwlock_read`; the time is null or readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_rwlock_write_until(
    rwlock: *mut cohort_rwlock_t,
    clock: c_int,
    time: *const timespec,
) -> c_int {
    // SAFETY: the caller's.
    match unsafe { time::until(clock, time) } {
        Ok(patience) => write(at!(rwlock), &patience),
        Err(error) => error,
    }
}

/// As `cohort_rwlock_write_until`, with a timeout in nanoseconds.
///
/// cbindgen:postfix=COHORT_TRY_ACQUIRE(0, *rwlock)
///
/// # Safety
/// As `cohort_rwlock_read`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_rwlock_write_for(
    rwlock: *mut cohort_rwlock_t,
    nanoseconds: u64,
) -> c_int {
    write(at!(rwlock), &time::during(nanoseconds))
}

/// Blocks until the lock is acquired for writing, or returns `ECANCELED` once the token is
/// cancelled.
///
/// cbindgen:postfix=COHORT_TRY_ACQUIRE(0, *rwlock)
///
/// # Safety
/// As `cohort_rwlock_read`; null, or a token.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_rwlock_write_unless(
    rwlock: *mut cohort_rwlock_t,
    token: *mut cohort_token_t,
) -> c_int {
    let lock = at!(rwlock);
    // SAFETY: the caller's.
    unsafe { unless(token, |patience| write(lock, patience)) }
}

/// Releases the caller's read or write lock; `EPERM` if the lock is free.
///
/// cbindgen:postfix=COHORT_RELEASE_GENERIC(*rwlock)
///
/// # Safety
/// As `cohort_rwlock_read`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_rwlock_unlock(rwlock: *mut cohort_rwlock_t) -> c_int {
    let lock = at!(rwlock);
    // SAFETY: the program releases what it holds.
    if unsafe { lock.release() } { 0 } else { EPERM }
}

/// 1 if a writer held the lock at the time of the call, else 0; for assertions.
///
/// # Safety
/// As `cohort_rwlock_read`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_rwlock_is_written(rwlock: *const cohort_rwlock_t) -> c_int {
    // SAFETY: the caller's.
    let rwlock = unsafe { rwlock.as_ref() };
    c_int::from(rwlock.is_some_and(|rwlock| rwlock.lock.is_write_locked()))
}
