//! `cohort_rwlock_t`: the default reader–writer lock.

use crate::libc::{EAGAIN, EBUSY, EINVAL, EPERM, ETIMEDOUT, timespec};
use crate::time;
use crate::token::{cohort_token_t, unless};
use cohort::rwlock::RawRwLock;
use cohort::{Outcome, Patience, Recursion};
use core::ffi::c_int;

/// A reader–writer lock: sixteen bytes, ready when they are zero.
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

/// Makes a lock of any bytes, as `COHORT_RWLOCK_INIT` does.
///
/// # Safety
/// Null, or memory for a lock that nobody uses.
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

/// Ends a lock, which is ready again at once; `EBUSY` if somebody holds it.  Nothing is lost
/// if nobody calls this.
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

/// Blocks until the lock is held to read; past waiting writers after five milliseconds, since the
/// thread may hold it already.  Once one of the process had to wait so, a thread that has taken a read
/// lock since passes at once.  `EAGAIN` if half a million hold it.
///
/// cbindgen:postfix=COHORT_ACQUIRE_SHARED(*rwlock)
///
/// # Safety
/// Null, or a lock; so for all below.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_rwlock_read(rwlock: *mut cohort_rwlock_t) -> c_int {
    read(at!(rwlock), &Patience::ENDLESS)
}

/// Takes the lock to read, or returns `EBUSY` if a writer holds it or waits; never blocks.  A thread
/// that waiting writers have refused for five milliseconds passes them, here and where it gives up
/// sooner than that.
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

/// Blocks until the lock is held to read, or returns `ETIMEDOUT` at that time of
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

/// Blocks until the lock is held to read, or returns `ETIMEDOUT` after so many nanoseconds.
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

/// Blocks until the lock is held to read, or returns `ECANCELED` once the token is cancelled.
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

/// Blocks until the lock is held to write.  A thread that holds it waits for ever.
///
/// cbindgen:postfix=COHORT_ACQUIRE(*rwlock)
///
/// # Safety
/// As `cohort_rwlock_read`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_rwlock_write(rwlock: *mut cohort_rwlock_t) -> c_int {
    write(at!(rwlock), &Patience::ENDLESS)
}

/// Takes the lock to write, or returns `EBUSY` if somebody holds it; never blocks.
///
/// cbindgen:postfix=COHORT_TRY_ACQUIRE(0, *rwlock)
///
/// # Safety
/// As `cohort_rwlock_read`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_rwlock_write_try(rwlock: *mut cohort_rwlock_t) -> c_int {
    if at!(rwlock).try_write() { 0 } else { EBUSY }
}

/// Blocks until the lock is held to write, or returns `ETIMEDOUT` at that time of
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

/// Blocks until the lock is held to write, or returns `ETIMEDOUT` after so many nanoseconds.
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

/// Blocks until the lock is held to write, or returns `ECANCELED` once the token is cancelled.
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

/// Releases what the caller holds, to read or to write; `EPERM` if nobody holds the lock.
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

/// 1 if a writer held the lock a moment ago, else 0: for assertions.
///
/// # Safety
/// As `cohort_rwlock_read`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_rwlock_is_written(rwlock: *const cohort_rwlock_t) -> c_int {
    // SAFETY: the caller's.
    let rwlock = unsafe { rwlock.as_ref() };
    c_int::from(rwlock.is_some_and(|rwlock| rwlock.lock.is_write_locked()))
}
