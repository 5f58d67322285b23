//! `cohort_cond_t`: a condition variable, for mutexes, for locks created by name, and for delegated
//! locks.

use crate::delegate::{cohort_delegated_lock, cohort_delegated_t, cohort_delegated_unlock};
use crate::libc::{EBUSY, EINVAL, EPERM, ETIMEDOUT, timespec};
use crate::lock::cohort_lock_t;
use crate::mutex::cohort_mutex_t;
use crate::observed::{At, from_here, may_be_observed};
use crate::time;
use crate::token::{cohort_token_t, unless};
use cohort::condvar::{RawCondvar, Waited};
use cohort::door::{Doing, How};
use cohort::{Patience, RawLock};
use core::ffi::{c_int, c_void};
use core::ptr::{with_exposed_provenance, with_exposed_provenance_mut};

/// Condition variable: 24 bytes, valid when zero.
#[repr(C)]
pub struct cohort_cond_t {
    queue: RawCondvar,
    _unused: u32,
}

const _: () = assert!(size_of::<cohort_cond_t>() == 24 && align_of::<cohort_cond_t>() == 4);

/// The condition at that address.
macro_rules! at {
    ($cond:expr) => {
        // SAFETY: the caller's: null, or a condition.
        match unsafe { $cond.as_ref() } {
            Some(cond) => &cond.queue,
            None => return EINVAL,
        }
    };
}

fn ended(waited: Waited) -> c_int {
    match waited {
        Waited::Signalled | Waited::Broadcast => 0,
        Waited::GaveUp => ETIMEDOUT,
    }
}

/// # Safety
/// Null, or a condition and a mutex.
unsafe fn wait(cond: *mut cohort_cond_t, mutex: *mut cohort_mutex_t, patience: &Patience) -> c_int {
    let queue = at!(cond);
    // SAFETY: the caller's.
    let Some(mutex) = (unsafe { mutex.as_ref() }) else {
        return EINVAL;
    };
    if !mutex.lock.is_locked() {
        return EPERM;
    }
    // SAFETY: the program waits with a mutex that it has locked; all signals come through this
    // module.
    ended(unsafe { queue.wait_with(&mutex.lock, patience) })
}

/// # Safety
/// Null, or a condition and a lock.
unsafe fn wait_lock(
    cond: *mut cohort_cond_t,
    lock: *mut cohort_lock_t,
    patience: &Patience,
) -> c_int {
    let queue = at!(cond);
    let known = (How::Own, lock.addr());
    // SAFETY: the caller's.
    let Some(lock) = (unsafe { lock.as_ref() }) else {
        return EINVAL;
    };
    if !lock.is_held() {
        return EPERM;
    }
    report_between(cond, known, patience, || {
        // SAFETY: the program waits with a lock that it holds; all signals come through this module.
        ended(unsafe { queue.wait_between(|| _ = lock.release(), || lock.acquire(), patience) })
    })
}

/// # Safety
/// Null, or a condition and a lock.
unsafe fn wait_delegated(
    cond: *mut cohort_cond_t,
    lock: *mut cohort_delegated_t,
    patience: &Patience,
) -> c_int {
    let queue = at!(cond);
    // SAFETY: the caller's.
    if !unsafe { lock.as_ref() }.is_some_and(|lock| lock.is_held()) {
        return EPERM;
    }
    let unknown = (How::Condition, cond.addr());
    report_between(cond, unknown, patience, || {
        // SAFETY: the program waits with a lock that it has locked; all signals come through this
        // module.
        ended(unsafe {
            queue.wait_between(
                || _ = cohort_delegated_unlock(lock),
                || _ = cohort_delegated_lock(lock),
                patience,
            )
        })
    })
}

/// Function that releases or acquires a lock of the program's own.
#[expect(non_camel_case_types, reason = "as C has it")]
pub type cohort_step_t = Option<unsafe extern "C" fn(argument: *mut c_void)>;

/// # Safety
/// Null, or a condition and two functions that may be called with the argument.
unsafe fn wait_between(
    cond: *mut cohort_cond_t,
    release: cohort_step_t,
    acquire: cohort_step_t,
    argument: *mut c_void,
    patience: &Patience,
) -> c_int {
    let queue = at!(cond);
    let (Some(release), Some(acquire)) = (release, acquire) else {
        return EINVAL;
    };
    let unknown = (How::Condition, cond.addr());
    report_between(cond, unknown, patience, || {
        // SAFETY: the caller's; all signals come through this module.
        ended(unsafe { queue.wait_between(|| release(argument), || acquire(argument), patience) })
    })
}

/// Waits as `wait` does, and reports it: with a lock, or with the condition for a lock that reports
/// its own operations or is unknown.
fn report_between(
    cond: *mut cohort_cond_t,
    (how, object): (How, usize),
    patience: &Patience,
    wait: impl FnOnce() -> c_int,
) -> c_int {
    if !may_be_observed() {
        return wait();
    }
    let doing = if patience.is_endless() {
        Doing::Condition
    } else {
        Doing::Timed
    };
    let at = At::inside();
    at.wait(doing, cond.addr(), how, object, wait)
}

/// Waits with a mutex as `wait` does, and reports it.
fn report(
    at: &At,
    doing: Doing,
    [cond, mutex]: [usize; 2],
    wait: impl FnOnce(*mut cohort_cond_t, *mut cohort_mutex_t) -> c_int,
) -> c_int {
    let [c, m] = [cond, mutex];
    at.wait(doing, cond, How::Own, mutex, || {
        wait(
            with_exposed_provenance_mut(c),
            with_exposed_provenance_mut(m),
        )
    })
}

/// Initialises a condition variable in any memory, as `COHORT_COND_INIT` does.
///
/// # Safety
/// Null, or memory for an unused condition.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_cond_init(cond: *mut cohort_cond_t) -> c_int {
    if cond.is_null() {
        return EINVAL;
    }
    let queue = RawCondvar::new();
    // SAFETY: the caller's.
    unsafe { cond.write(cohort_cond_t { queue, _unused: 0 }) };
    0
}

/// Destroys a condition variable, which is immediately valid again; `EBUSY` if it has waiters.
/// Optional.
///
/// # Safety
/// Null, or a condition.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_cond_destroy(cond: *mut cohort_cond_t) -> c_int {
    if !at!(cond).is_quiet() {
        return EBUSY;
    }
    // SAFETY: passed on.
    unsafe { cohort_cond_init(cond) }
}

/// Unlocks the mutex, blocks until signalled, and locks the mutex again; `EPERM` if the mutex is
/// free. Wake-ups may be spurious: check the predicate in a loop. Not a cancellation point.
///
/// cbindgen:postfix=COHORT_REQUIRES(*mutex)
///
/// # Safety
/// Null, or a condition and a mutex; so for all below.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_cond_wait(
    cond: *mut cohort_cond_t,
    mutex: *mut cohort_mutex_t,
) -> c_int {
    // SAFETY: passed on.
    unsafe {
        if may_be_observed() {
            let (cond, mutex) = (cond.expose_provenance(), mutex.expose_provenance());
            return from_here(cond, mutex, 0, |at, cond, mutex, _| {
                report(at, Doing::Condition, [cond, mutex], |cond, mutex| {
                    wait(cond, mutex, &Patience::ENDLESS)
                })
            });
        }
        wait(cond, mutex, &Patience::ENDLESS)
    }
}

/// As `cohort_cond_wait`, or returns `ETIMEDOUT` with the mutex locked, at that time of
/// `CLOCK_MONOTONIC` or `CLOCK_REALTIME`.
///
/// cbindgen:postfix=COHORT_REQUIRES(*mutex)
///
/// # Safety
/// As `cohort_cond_wait`; the time is null or readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_cond_wait_until(
    cond: *mut cohort_cond_t,
    mutex: *mut cohort_mutex_t,
    clock: c_int,
    time: *const timespec,
) -> c_int {
    // SAFETY: passed on.
    unsafe {
        let patience = match time::until(clock, time) {
            Ok(patience) => patience,
            Err(error) => return error,
        };
        if may_be_observed() {
            let (cond, mutex) = (cond.expose_provenance(), mutex.expose_provenance());
            let patience = (&raw const patience).expose_provenance();
            return from_here(cond, mutex, patience, |at, cond, mutex, patience| {
                let patience = &*with_exposed_provenance::<Patience<'_>>(patience);
                report(at, Doing::Timed, [cond, mutex], |cond, mutex| {
                    wait(cond, mutex, patience)
                })
            });
        }
        wait(cond, mutex, &patience)
    }
}

/// As `cohort_cond_wait_until`, with a timeout in nanoseconds.
///
/// cbindgen:postfix=COHORT_REQUIRES(*mutex)
///
/// # Safety
/// As `cohort_cond_wait`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_cond_wait_for(
    cond: *mut cohort_cond_t,
    mutex: *mut cohort_mutex_t,
    nanoseconds: u64,
) -> c_int {
    // SAFETY: passed on.
    unsafe {
        if may_be_observed() {
            let (cond, mutex) = (cond.expose_provenance(), mutex.expose_provenance());
            return from_here(
                cond,
                mutex,
                nanoseconds as usize,
                |at, cond, mutex, time| {
                    report(at, Doing::Timed, [cond, mutex], |cond, mutex| {
                        wait(cond, mutex, &time::during(time as u64))
                    })
                },
            );
        }
        wait(cond, mutex, &time::during(nanoseconds))
    }
}

/// As `cohort_cond_wait`, or returns `ECANCELED` with the mutex locked, once the token is
/// cancelled.
///
/// cbindgen:postfix=COHORT_REQUIRES(*mutex)
///
/// # Safety
/// As `cohort_cond_wait`; null, or a token.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_cond_wait_unless(
    cond: *mut cohort_cond_t,
    mutex: *mut cohort_mutex_t,
    token: *mut cohort_token_t,
) -> c_int {
    // SAFETY: passed on.
    unsafe {
        if may_be_observed() {
            let (cond, mutex) = (cond.expose_provenance(), mutex.expose_provenance());
            return from_here(
                cond,
                mutex,
                token.expose_provenance(),
                |at, cond, mutex, token| {
                    let token = with_exposed_provenance_mut(token);
                    report(at, Doing::Timed, [cond, mutex], |cond, mutex| {
                        unless(token, |patience| wait(cond, mutex, patience))
                    })
                },
            );
        }
        unless(token, |patience| wait(cond, mutex, patience))
    }
}

/// `cohort_cond_wait` with a lock created by name, acquired without a context of the caller's; else
/// `EPERM`.
///
/// cbindgen:postfix=COHORT_REQUIRES(*lock)
///
/// # Safety
/// Null, or a condition and a lock; so for all below.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_cond_wait_lock(
    cond: *mut cohort_cond_t,
    lock: *mut cohort_lock_t,
) -> c_int {
    // SAFETY: passed on.
    unsafe { wait_lock(cond, lock, &Patience::ENDLESS) }
}

/// As `cohort_cond_wait_lock`, until that time of `CLOCK_MONOTONIC` or `CLOCK_REALTIME` at the
/// latest.
///
/// cbindgen:postfix=COHORT_REQUIRES(*lock)
///
/// # Safety
/// As `cohort_cond_wait_lock`; the time is null or readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_cond_wait_lock_until(
    cond: *mut cohort_cond_t,
    lock: *mut cohort_lock_t,
    clock: c_int,
    time: *const timespec,
) -> c_int {
    // SAFETY: passed on.
    unsafe { time::by(clock, time, |patience| wait_lock(cond, lock, patience)) }
}

/// As `cohort_cond_wait_lock`, with a timeout in nanoseconds.
///
/// cbindgen:postfix=COHORT_REQUIRES(*lock)
///
/// # Safety
/// As `cohort_cond_wait_lock`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_cond_wait_lock_for(
    cond: *mut cohort_cond_t,
    lock: *mut cohort_lock_t,
    nanoseconds: u64,
) -> c_int {
    // SAFETY: passed on.
    unsafe { wait_lock(cond, lock, &time::during(nanoseconds)) }
}

/// As `cohort_cond_wait_lock`, or returns `ECANCELED` with the lock held, once the token is
/// cancelled.
///
/// cbindgen:postfix=COHORT_REQUIRES(*lock)
///
/// # Safety
/// As `cohort_cond_wait_lock`; null, or a token.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_cond_wait_lock_unless(
    cond: *mut cohort_cond_t,
    lock: *mut cohort_lock_t,
    token: *mut cohort_token_t,
) -> c_int {
    // SAFETY: passed on.
    unsafe { unless(token, |patience| wait_lock(cond, lock, patience)) }
}

/// `cohort_cond_wait` with a delegated lock that the caller has locked by `cohort_delegated_lock`;
/// else `EPERM`. Not for use in a delegated critical section.
///
/// cbindgen:postfix=COHORT_REQUIRES(*lock)
///
/// # Safety
/// Null, or a condition and a lock; so for all below.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_cond_wait_delegated(
    cond: *mut cohort_cond_t,
    lock: *mut cohort_delegated_t,
) -> c_int {
    // SAFETY: passed on.
    unsafe { wait_delegated(cond, lock, &Patience::ENDLESS) }
}

/// As `cohort_cond_wait_delegated`, until that time of `CLOCK_MONOTONIC` or `CLOCK_REALTIME` at the
/// latest.
///
/// cbindgen:postfix=COHORT_REQUIRES(*lock)
///
/// # Safety
/// As `cohort_cond_wait_delegated`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_cond_wait_delegated_until(
    cond: *mut cohort_cond_t,
    lock: *mut cohort_delegated_t,
    clock: c_int,
    time: *const timespec,
) -> c_int {
    // SAFETY: passed on.
    unsafe { time::by(clock, time, |patience| wait_delegated(cond, lock, patience)) }
}

/// `cohort_cond_wait` with any other lock, held by the caller: `release` releases it, and `acquire`
/// acquires it again. The waiting thread calls each once, with `argument`; both must return
/// normally.
///
/// # Safety
/// Null, or a condition and two functions; so for all below.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_cond_wait_between(
    cond: *mut cohort_cond_t,
    release: cohort_step_t,
    acquire: cohort_step_t,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: passed on.
    unsafe { wait_between(cond, release, acquire, argument, &Patience::ENDLESS) }
}

/// As `cohort_cond_wait_between`, or returns `ETIMEDOUT` with the lock acquired again, at that time
/// of `CLOCK_MONOTONIC` or `CLOCK_REALTIME`.
///
/// # Safety
/// As `cohort_cond_wait_between`; the time is null or readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_cond_wait_between_until(
    cond: *mut cohort_cond_t,
    release: cohort_step_t,
    acquire: cohort_step_t,
    argument: *mut c_void,
    clock: c_int,
    time: *const timespec,
) -> c_int {
    // SAFETY: passed on.
    unsafe {
        time::by(clock, time, |patience| {
            wait_between(cond, release, acquire, argument, patience)
        })
    }
}

/// As `cohort_cond_wait_between_until`, with a timeout in nanoseconds.
///
/// # Safety
/// As `cohort_cond_wait_between`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_cond_wait_between_for(
    cond: *mut cohort_cond_t,
    release: cohort_step_t,
    acquire: cohort_step_t,
    argument: *mut c_void,
    nanoseconds: u64,
) -> c_int {
    // SAFETY: passed on.
    unsafe { wait_between(cond, release, acquire, argument, &time::during(nanoseconds)) }
}

/// Wakes the longest waiting thread, if any.
///
/// # Safety
/// Null, or a condition.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_cond_signal(cond: *mut cohort_cond_t) -> c_int {
    at!(cond).notify_one();
    0
}

/// Wakes all waiting threads.
///
/// # Safety
/// Null, or a condition.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_cond_broadcast(cond: *mut cohort_cond_t) -> c_int {
    at!(cond).notify_all();
    0
}
