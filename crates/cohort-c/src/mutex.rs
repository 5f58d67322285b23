//! `cohort_mutex_t`: the default lock.

use crate::libc::{EBUSY, EINVAL, EPERM, ETIMEDOUT, timespec};
use crate::observed::{At, from_here, may_be_observed};
use crate::time;
use crate::token::{cohort_token_t, unless};
use cohort::door::{Doing, How, thread};
use cohort::numa::FutexHmcs;
use cohort::{Abortable, Outcome, Patience, Quick, QuickRelease, RawLock, RawTry};
use core::ffi::c_int;
use core::ptr::with_exposed_provenance_mut;

/// Mutex: eight bytes, valid when zero.
#[repr(C)]
pub struct cohort_mutex_t {
    pub lock: FutexHmcs,
}

const _: () = assert!(size_of::<cohort_mutex_t>() == 8 && align_of::<cohort_mutex_t>() == 4);

/// The mutex at that address.
macro_rules! at {
    ($mutex:expr) => {
        // SAFETY: the caller's: null, or a mutex.
        match unsafe { $mutex.as_ref() } {
            Some(mutex) => &mutex.lock,
            None => return EINVAL,
        }
    };
}

/// # Safety
/// As `cohort_mutex_lock`.
unsafe fn within(lock: &FutexHmcs, patience: &Patience) -> c_int {
    // SAFETY: the caller's.
    match unsafe { lock.acquire_within(&(), patience) } {
        Outcome::Acquired => 0,
        Outcome::GaveUp => ETIMEDOUT,
    }
}

/// Acquires a mutex as `acquire` does, and reports it.
///
/// # Safety
/// The address of a mutex.
unsafe fn report(
    at: &At,
    doing: Doing,
    mutex: usize,
    acquire: impl FnOnce(&FutexHmcs) -> c_int,
) -> c_int {
    // SAFETY: the caller's.
    let lock = unsafe { &(*with_exposed_provenance_mut::<cohort_mutex_t>(mutex)).lock };
    at.lock(doing, How::Own, mutex, lock.is_locked(), || acquire(lock))
}

/// # Safety
/// As `cohort_mutex_lock`.
unsafe fn acquire(lock: &FutexHmcs) -> c_int {
    // SAFETY: the caller's; the lock has no contexts.
    unsafe { lock.acquire(&()) };
    0
}

/// # Safety
/// As `cohort_mutex_lock`.
unsafe fn try_acquire(lock: &FutexHmcs) -> c_int {
    // SAFETY: the caller's; the lock has no contexts.
    if unsafe { lock.try_acquire(&()) } {
        0
    } else {
        EBUSY
    }
}

/// # Safety
/// As `cohort_mutex_lock_until`.
unsafe fn acquire_until(lock: &FutexHmcs, clock: c_int, time: *const timespec) -> c_int {
    // SAFETY: the caller's.
    unsafe { time::by(clock, time, |patience| within(lock, patience)) }
}

/// Initialises a mutex in any memory, as `COHORT_MUTEX_INIT` does.
///
/// # Safety
/// Null, or memory for an unused mutex.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_mutex_init(mutex: *mut cohort_mutex_t) -> c_int {
    if mutex.is_null() {
        return EINVAL;
    }
    let lock = FutexHmcs::new();
    // SAFETY: the caller's: any mutex in that memory ends.
    unsafe {
        FutexHmcs::begin_at(mutex.cast());
        mutex.write(cohort_mutex_t { lock });
    }
    if may_be_observed() {
        // SAFETY: the operation is safe.
        return unsafe {
            from_here(mutex.addr(), 0, 0, |at, mutex, _, _| {
                at.begin(How::Own, mutex);
                0
            })
        };
    }
    0
}

/// Destroys a mutex, which is immediately valid again; `EBUSY` if it is locked. Optional.
///
/// # Safety
/// Null, or a mutex.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_mutex_destroy(mutex: *mut cohort_mutex_t) -> c_int {
    let is_locked = at!(mutex).is_locked();
    if may_be_observed() {
        // SAFETY: the caller's.
        return unsafe {
            from_here(
                mutex.expose_provenance(),
                is_locked.into(),
                0,
                |at, mutex, locked, _| {
                    at.end(How::Own, mutex, locked != 0);
                    if locked != 0 {
                        return EBUSY;
                    }
                    let lock = FutexHmcs::new();
                    with_exposed_provenance_mut::<cohort_mutex_t>(mutex)
                        .write(cohort_mutex_t { lock });
                    0
                },
            )
        };
    }
    if is_locked {
        return EBUSY;
    }
    // SAFETY: passed on.
    unsafe { cohort_mutex_init(mutex) }
}

/// Blocks until the mutex is locked. A thread that has already locked it deadlocks.
///
/// cbindgen:postfix=COHORT_ACQUIRE(*mutex)
///
/// # Safety
/// Null, or a mutex that does not move until it is unlocked; so for all below.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_mutex_lock(mutex: *mut cohort_mutex_t) -> c_int {
    let lock = at!(mutex);
    // SAFETY: the caller's.
    unsafe {
        if may_be_observed() {
            return from_here(mutex.expose_provenance(), 0, 0, |at, mutex, _, _| {
                report(at, Doing::Lock, mutex, |lock| acquire(lock))
            });
        }
        acquire(lock);
    }
    thread().holds.set(mutex.addr());
    0
}

/// Locks the mutex, or returns `EBUSY` if it is locked; never blocks.
///
/// cbindgen:postfix=COHORT_TRY_ACQUIRE(0, *mutex)
///
/// # Safety
/// As `cohort_mutex_lock`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_mutex_lock_try(mutex: *mut cohort_mutex_t) -> c_int {
    let lock = at!(mutex);
    // SAFETY: the caller's.
    unsafe {
        if may_be_observed() {
            return from_here(mutex.expose_provenance(), 0, 0, |at, mutex, _, _| {
                report(at, Doing::Nothing, mutex, |lock| try_acquire(lock))
            });
        }
        try_acquire(lock)
    }
}

/// Blocks until the mutex is locked, or returns `ETIMEDOUT` at that time of `CLOCK_MONOTONIC` or
/// `CLOCK_REALTIME`.
///
/// cbindgen:postfix=COHORT_TRY_ACQUIRE(0, *mutex)
///
/// # Safety
/// As `cohort_mutex_lock`; the time is null or readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_mutex_lock_until(
    mutex: *mut cohort_mutex_t,
    clock: c_int,
    time: *const timespec,
) -> c_int {
    let lock = at!(mutex);
    // SAFETY: the caller's.
    unsafe {
        if may_be_observed() {
            let (mutex, time) = (mutex.expose_provenance(), time.expose_provenance());
            return from_here(mutex, clock as usize, time, |at, mutex, clock, time| {
                let time = with_exposed_provenance_mut::<timespec>(time);
                report(at, Doing::Timed, mutex, |lock| {
                    acquire_until(lock, clock as c_int, time)
                })
            });
        }
        acquire_until(lock, clock, time)
    }
}

/// As `cohort_mutex_lock_until`, with a timeout in nanoseconds.
///
/// cbindgen:postfix=COHORT_TRY_ACQUIRE(0, *mutex)
///
/// # Safety
/// As `cohort_mutex_lock`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_mutex_lock_for(
    mutex: *mut cohort_mutex_t,
    nanoseconds: u64,
) -> c_int {
    let lock = at!(mutex);
    // SAFETY: the caller's.
    unsafe {
        if may_be_observed() {
            let mutex = mutex.expose_provenance();
            return from_here(
                mutex,
                nanoseconds as usize,
                0,
                |at, mutex, nanoseconds, _| {
                    report(at, Doing::Timed, mutex, |lock| {
                        within(lock, &time::during(nanoseconds as u64))
                    })
                },
            );
        }
        within(lock, &time::during(nanoseconds))
    }
}

/// Blocks until the mutex is locked, or returns `ECANCELED` once the token is cancelled.
///
/// cbindgen:postfix=COHORT_TRY_ACQUIRE(0, *mutex)
///
/// # Safety
/// As `cohort_mutex_lock`; null, or a token.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_mutex_lock_unless(
    mutex: *mut cohort_mutex_t,
    token: *mut cohort_token_t,
) -> c_int {
    let lock = at!(mutex);
    // SAFETY: the caller's.
    unsafe {
        if may_be_observed() {
            let (mutex, token) = (mutex.expose_provenance(), token.expose_provenance());
            return from_here(mutex, token, 0, |at, mutex, token, _| {
                let token = with_exposed_provenance_mut(token);
                report(at, Doing::Timed, mutex, |lock| {
                    unless(token, |patience| within(lock, patience))
                })
            });
        }
        unless(token, |patience| within(lock, patience))
    }
}

/// Unlocks the mutex; `EPERM` if it is free. A mutex has no owner: unlocking another thread's mutex
/// is not detected, and breaks mutual exclusion for that thread. If another thread has unlocked the
/// mutex that the caller locked last, the caller's own unlock does not detect it either.
///
/// cbindgen:postfix=COHORT_RELEASE(*mutex)
///
/// # Safety
/// As `cohort_mutex_lock`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_mutex_unlock(mutex: *mut cohort_mutex_t) -> c_int {
    let lock = at!(mutex);
    let holds = &thread().holds;
    // Reading the word just after the exchange that changed it costs as much as two uncontended
    // unlocks. A thread that has locked this mutex last skips the check.
    if holds.get() == mutex.addr() {
        holds.set(0);
    } else if may_be_observed() {
        // An observed thread never skips the check.
        // SAFETY: the caller's.
        return unsafe { from_here(mutex.expose_provenance(), 0, 0, unlock_observed) };
    } else if !lock.is_locked() {
        return EPERM;
    }
    // SAFETY: locked, and the program unlocks what it locked.
    match unsafe { lock.release_quickly(&()) } {
        Quick::Released => 0,
        // Calls of other functions are tail calls, so this function needs no frame.
        Quick::MarkLost => answer_lost_mark(mutex),
        Quick::Refused => unlock_attentive(lock),
    }
}

/// [`cohort_mutex_unlock`], reported.
///
/// # Safety
/// The address of a mutex that the caller may unlock, or that is free.
unsafe fn unlock_observed(at: &At, mutex: usize, _: usize, _: usize) -> c_int {
    // SAFETY: the caller's.
    let lock = unsafe { &(*with_exposed_provenance_mut::<cohort_mutex_t>(mutex)).lock };
    let is_locked = lock.is_locked();
    at.unlock(How::Own, mutex, is_locked, || {
        if is_locked {
            unlock_attentive(lock)
        } else {
            EPERM
        }
    })
}

/// [`cohort_mutex_unlock`] by a read-modify-write.
#[inline(never)]
fn unlock_attentive(lock: &FutexHmcs) -> c_int {
    // SAFETY: the program unlocks what it locked.
    unsafe { lock.release_attentive() };
    done()
}

/// Wakes the sleepers after a quick release overwrote their mark; the mutex may be gone.
#[cold]
#[inline(never)]
fn answer_lost_mark(mutex: *const cohort_mutex_t) -> c_int {
    FutexHmcs::wake_everybody(mutex.cast());
    done()
}

/// 0, opaque to the optimiser: with a known result, callers would return it after the call, and
/// lose the tail call.
fn done() -> c_int {
    core::hint::black_box(0)
}

/// 1 if the mutex was locked at the time of the call, else 0; for assertions.
///
/// # Safety
/// As `cohort_mutex_lock`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_mutex_is_locked(mutex: *const cohort_mutex_t) -> c_int {
    // SAFETY: the caller's.
    let mutex = unsafe { mutex.as_ref() };
    c_int::from(mutex.is_some_and(|mutex| mutex.lock.is_locked()))
}
