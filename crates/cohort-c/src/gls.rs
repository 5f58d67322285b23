//! A lock for any address (GLS; Antić, Chatzopoulos, Guerraoui and Trigonakis 2016 §4), without a
//! declaration, choice or initialisation; and any lock of the catalogue for any address.
//!
//! The table and its locks are [`cohort_service`]'s. This module adds C's names and errors, the
//! latter as for `pthread_mutex_t`.

use crate::libc::{CLOCK_REALTIME, EBUSY, EINVAL, ENOMEM, EPERM, ETIMEDOUT, timespec};
use crate::observed::{At, from_here, may_be_observed};
use crate::time;
use crate::token::{cohort_token_t, unless};
use cohort::Patience;
use cohort::door::{Doing, How};
use cohort_service::gls::{Refusal, address, free_all, reserve};
use core::ffi::{c_int, c_void};
use core::ptr::{with_exposed_provenance, with_exposed_provenance_mut};

fn answer(result: Result<(), Refusal>) -> c_int {
    match result {
        Ok(()) => 0,
        Err(Refusal::NoKey | Refusal::OtherKind) => EINVAL,
        Err(Refusal::Busy) => EBUSY,
        Err(Refusal::NotHeld) => EPERM,
        Err(Refusal::TimedOut) => ETIMEDOUT,
        Err(Refusal::NoMemory) => ENOMEM,
    }
}

/// Allocates room for the locks of `expected` addresses; otherwise the table grows on demand.
/// `ENOMEM` without memory.
#[unsafe(no_mangle)]
pub extern "C" fn cohort_gls_init(expected: usize) -> c_int {
    answer(reserve(expected))
}

/// Frees the locks of all addresses, as `cohort_gls_free` does for one; the process reuses their
/// memory. `EBUSY` if some are held or have waiters; these stay.
#[unsafe(no_mangle)]
pub extern "C" fn cohort_gls_destroy() -> c_int {
    answer(free_all())
}

/// Blocks until the lock of that address is acquired. Any value except null is an address, whatever
/// its content. The first call creates the lock, about 100 bytes until `cohort_gls_free`. A thread
/// that already holds the lock deadlocks. `EINVAL` for null, and for an address with a lock of
/// another algorithm; so for all below.
#[unsafe(no_mangle)]
pub extern "C" fn cohort_gls_lock(address: *const c_void) -> c_int {
    if may_be_observed() {
        // SAFETY: the operation is safe.
        return unsafe {
            from_here(address.addr(), 0, 0, |at, key, _, _| {
                report(at, Doing::Lock, key, |key| answer(address::lock(key)))
            })
        };
    }
    answer(address::lock(address.addr()))
}

/// Acquires a key's lock as `acquire` does, and reports it.
fn report(at: &At, doing: Doing, key: usize, acquire: impl FnOnce(usize) -> c_int) -> c_int {
    at.lock(doing, How::Key, key, address::is_held(key), || acquire(key))
}

/// Releases a key's lock, and reports it.
fn report_unlock(at: &At, key: usize, unlock: impl FnOnce() -> Result<(), Refusal>) -> c_int {
    at.unlock(How::Key, key, address::is_held(key), || answer(unlock()))
}

/// Acquires a lock within that time.
///
/// # Safety
/// The time is null or readable.
unsafe fn until(
    clock: c_int,
    time: *const timespec,
    acquire: impl FnOnce(&Patience) -> Result<(), Refusal>,
) -> c_int {
    // SAFETY: the caller's.
    unsafe { time::by(clock, time, |patience| answer(acquire(patience))) }
}

/// Acquires the lock of that address, or returns `EBUSY` if it is held; never blocks. Shortly after
/// `cohort_gls_free`, another address's lock may appear held.
#[unsafe(no_mangle)]
pub extern "C" fn cohort_gls_trylock(address: *const c_void) -> c_int {
    if may_be_observed() {
        // SAFETY: the operation is safe.
        return unsafe {
            from_here(address.addr(), 0, 0, |at, key, _, _| {
                report(at, Doing::Nothing, key, |key| {
                    answer(address::try_lock(key))
                })
            })
        };
    }
    answer(address::try_lock(address.addr()))
}

/// Blocks until the lock of that address is acquired, or returns `ETIMEDOUT` at that time of
/// `CLOCK_REALTIME`.
///
/// # Safety
/// The time is null or readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_gls_timedlock(
    address: *const c_void,
    time: *const timespec,
) -> c_int {
    // SAFETY: the caller's.
    unsafe { cohort_gls_clocklock(address, CLOCK_REALTIME, time) }
}

/// Blocks until the lock of that address is acquired, or returns `ETIMEDOUT` at that time of
/// `CLOCK_MONOTONIC` or `CLOCK_REALTIME`.
///
/// # Safety
/// The time is null or readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_gls_clocklock(
    address: *const c_void,
    clock: c_int,
    time: *const timespec,
) -> c_int {
    if may_be_observed() {
        let time = time.expose_provenance();
        // SAFETY: the caller's.
        return unsafe {
            from_here(
                address.addr(),
                clock as usize,
                time,
                |at, key, clock, time| {
                    report(at, Doing::Timed, key, |key| {
                        let time = with_exposed_provenance(time);
                        until(clock as c_int, time, |patience| {
                            address::lock_within(key, patience)
                        })
                    })
                },
            )
        };
    }
    let key = address.addr();
    // SAFETY: the caller's.
    unsafe { until(clock, time, |patience| address::lock_within(key, patience)) }
}

/// `cohort_gls_trylock`, as other locks' functions are named.
#[unsafe(no_mangle)]
pub extern "C" fn cohort_gls_lock_try(address: *const c_void) -> c_int {
    cohort_gls_trylock(address)
}

/// `cohort_gls_clocklock`, as other locks' functions are named.
///
/// # Safety
/// The time is null or readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_gls_lock_until(
    address: *const c_void,
    clock: c_int,
    time: *const timespec,
) -> c_int {
    // SAFETY: the caller's.
    unsafe { cohort_gls_clocklock(address, clock, time) }
}

/// As `cohort_gls_lock_until`, with a timeout in nanoseconds.
#[unsafe(no_mangle)]
pub extern "C" fn cohort_gls_lock_for(address: *const c_void, nanoseconds: u64) -> c_int {
    if may_be_observed() {
        // SAFETY: the operation is safe.
        return unsafe {
            from_here(
                address.addr(),
                nanoseconds as usize,
                0,
                |at, key, nanoseconds, _| {
                    report(at, Doing::Timed, key, |key| {
                        answer(address::lock_within(key, &time::during(nanoseconds as u64)))
                    })
                },
            )
        };
    }
    answer(address::lock_within(
        address.addr(),
        &time::during(nanoseconds),
    ))
}

/// Blocks until the lock of that address is acquired, or returns `ECANCELED` once the token is
/// cancelled.
///
/// # Safety
/// Null, or a token.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_gls_lock_unless(
    address: *const c_void,
    token: *mut cohort_token_t,
) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        if may_be_observed() {
            let token = token.expose_provenance();
            return from_here(address.addr(), token, 0, |at, key, token, _| {
                let token = with_exposed_provenance_mut(token);
                report(at, Doing::Timed, key, |key| {
                    unless(token, |patience| {
                        answer(address::lock_within(key, patience))
                    })
                })
            });
        }
        unless(token, |patience| {
            answer(address::lock_within(address.addr(), patience))
        })
    }
}

/// Releases the lock of that address. `EPERM` if it is free or does not exist, unless another
/// thread frees it concurrently. A lock has no owner: releasing another thread's lock is not
/// detected, and breaks mutual exclusion for that thread.
///
/// # Safety
/// The caller holds the lock; or the lock is free, and no thread frees its memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_gls_unlock(address: *const c_void) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        if may_be_observed() {
            return from_here(address.addr(), 0, 0, |at, key, _, _| {
                report_unlock(at, key, || address::unlock(key))
            });
        }
        answer(address::unlock(address.addr()))
    }
}

/// Frees the lock of that address, of whatever algorithm; call it before the memory at the address
/// is reused. `EBUSY` if the lock is held or has waiters; 0 also if the address has no lock.
#[unsafe(no_mangle)]
pub extern "C" fn cohort_gls_free(address: *const c_void) -> c_int {
    if may_be_observed() {
        // SAFETY: the operation is safe.
        return unsafe {
            from_here(address.addr(), 0, 0, |at, key, _, _| {
                let result = address::free(key);
                at.end(How::Key, key, result == Err(Refusal::Busy));
                answer(result)
            })
        };
    }
    answer(address::free(address.addr()))
}

/// The same functions for each lock of the catalogue, with its name: `cohort_gls_mcs_lock`. The
/// test that generates the header declares them, since cbindgen does not see items made by macros.
mod named {
    use super::with_exposed_provenance;
    use super::{answer, c_int, c_void, report, report_unlock, timespec, until};
    use crate::libc::CLOCK_REALTIME;
    use crate::observed::{from_here, may_be_observed};
    use cohort::catalogue;
    use cohort::door::Doing;
    use cohort::named::LOCKS;
    use cohort_service::kind::Algorithm;

    /// The index of the lock with that identifier.
    const fn place(identifier: &str) -> usize {
        let mut place = 0;
        while !is(catalogue::LOCKS[place].identifier, identifier) {
            place += 1;
        }
        place
    }

    const fn is(one: &str, other: &str) -> bool {
        let (one, other) = (one.as_bytes(), other.as_bytes());
        let mut at = 0;
        while at < one.len() && at < other.len() && one[at] == other[at] {
            at += 1;
        }
        at == one.len() && at == other.len()
    }

    macro_rules! functions {
        ($($name:ident, $lock:ty, $storage:ident, $alias:tt, $about:literal, $source:literal,
           $capabilities:tt;)+) => {
            $(mod $name {
                use super::*;

                /// `glk` is the kind of addresses without a chosen lock.
                static KIND: Algorithm = if is(stringify!($name), "glk") {
                    Algorithm::usual()
                } else {
                    Algorithm::new(&LOCKS[place(stringify!($name))])
                };

                #[unsafe(export_name = concat!("cohort_gls_", stringify!($name), "_lock"))]
                extern "C" fn lock(address: *const c_void) -> c_int {
                    if may_be_observed() {
                        // SAFETY: the operation is safe.
                        return unsafe {
                            from_here(address.addr(), 0, 0, |at, key, _, _| {
                                report(at, Doing::Lock, key, |key| answer(KIND.lock(key)))
                            })
                        };
                    }
                    answer(KIND.lock(address.addr()))
                }

                #[unsafe(export_name = concat!("cohort_gls_", stringify!($name), "_trylock"))]
                extern "C" fn trylock(address: *const c_void) -> c_int {
                    if may_be_observed() {
                        // SAFETY: the operation is safe.
                        return unsafe {
                            from_here(address.addr(), 0, 0, |at, key, _, _| {
                                report(at, Doing::Nothing, key, |key| answer(KIND.try_lock(key)))
                            })
                        };
                    }
                    answer(KIND.try_lock(address.addr()))
                }

                /// # Safety
                /// The time is null or readable.
                #[unsafe(export_name = concat!("cohort_gls_", stringify!($name), "_timedlock"))]
                unsafe extern "C" fn timedlock(
                    address: *const c_void,
                    time: *const timespec,
                ) -> c_int {
                    // SAFETY: the caller's.
                    unsafe { clocklock(address, CLOCK_REALTIME, time) }
                }

                /// # Safety
                /// As above.
                #[unsafe(export_name = concat!("cohort_gls_", stringify!($name), "_clocklock"))]
                unsafe extern "C" fn clocklock(
                    address: *const c_void,
                    clock: c_int,
                    time: *const timespec,
                ) -> c_int {
                    // SAFETY: the caller's.
                    unsafe {
                        if may_be_observed() {
                            let time = time.expose_provenance();
                            return from_here(address.addr(), clock as usize, time, |at, key, clock, time| {
                                report(at, Doing::Timed, key, |key| {
                                    let time = with_exposed_provenance(time);
                                    until(clock as c_int, time, |patience| KIND.lock_within(key, patience))
                                })
                            });
                        }
                        until(clock, time, |patience| KIND.lock_within(address.addr(), patience))
                    }
                }

                /// # Safety
                /// As of `cohort_gls_unlock`.
                #[unsafe(export_name = concat!("cohort_gls_", stringify!($name), "_unlock"))]
                unsafe extern "C" fn unlock(address: *const c_void) -> c_int {
                    // SAFETY: the caller's.
                    unsafe {
                        if may_be_observed() {
                            return from_here(address.addr(), 0, 0, |at, key, _, _| {
                                report_unlock(at, key, || KIND.unlock(key))
                            });
                        }
                        answer(KIND.unlock(address.addr()))
                    }
                }
            })+
        };
    }
    cohort::for_each_lock!(functions);
}
