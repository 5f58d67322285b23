//! `cohort_rwlock_t`: the default reader–writer lock. [`crate::shared`] has others, by name.

use crate::libc::{EAGAIN, EBUSY, EINVAL, EPERM, ETIMEDOUT, timespec};
use crate::observed::{At, from_here, may_be_observed};
use crate::time;
use crate::token::{cohort_token_t, unless};
use cohort::door::{Doing, How};
use cohort::rwlock::RawRwLock;
use cohort::{Outcome, Patience, Recursion};
use core::ffi::c_int;
use core::ptr::{with_exposed_provenance, with_exposed_provenance_mut};

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

/// # Safety
/// The caller holds the lock, or it is free.
unsafe fn release(lock: &RawRwLock) -> c_int {
    // SAFETY: the caller's.
    if unsafe { lock.release() } { 0 } else { EPERM }
}

fn read_try(lock: &RawRwLock) -> c_int {
    if lock.try_read(Recursion::Allowed) {
        0
    } else if lock.is_full() {
        EAGAIN
    } else {
        EBUSY
    }
}

fn write_try(lock: &RawRwLock) -> c_int {
    if lock.try_write() { 0 } else { EBUSY }
}

fn read_upgradable(lock: &RawRwLock, patience: &Patience) -> c_int {
    match lock.read_upgradably(patience) {
        Outcome::Acquired => 0,
        Outcome::GaveUp if lock.is_full() => EAGAIN,
        Outcome::GaveUp => ETIMEDOUT,
    }
}

fn read_upgradable_try(lock: &RawRwLock) -> c_int {
    if lock.try_read_upgradably() { 0 } else { EBUSY }
}

/// # Safety
/// The caller holds the lock upgradable.
unsafe fn upgrade(lock: &RawRwLock, patience: &Patience) -> c_int {
    // SAFETY: the caller's.
    match unsafe { lock.upgrade(patience) } {
        Outcome::Acquired => 0,
        Outcome::GaveUp => ETIMEDOUT,
    }
}

/// # Safety
/// The caller holds the lock, or it is free.
unsafe fn release_fair(lock: &RawRwLock) -> c_int {
    // SAFETY: the caller's.
    if unsafe { lock.release_fairly() } {
        0
    } else {
        EPERM
    }
}

/// The lock at an address.
///
/// # Safety
/// There is one.
unsafe fn lock_at<'a>(rwlock: usize) -> &'a RawRwLock {
    // SAFETY: the caller's.
    unsafe { &(*with_exposed_provenance::<cohort_rwlock_t>(rwlock)).lock }
}

/// Acquires the lock for reading as `acquire` does, and reports it.
///
/// # Safety
/// The address of a lock.
unsafe fn report_read(
    at: &At,
    doing: Doing,
    rwlock: usize,
    acquire: impl FnOnce(&RawRwLock) -> c_int,
) -> c_int {
    // SAFETY: the caller's.
    let lock = unsafe { lock_at(rwlock) };
    let is_held = lock.keeps_readers_out();
    at.lock(doing, How::OwnRead, rwlock, is_held, || acquire(lock))
}

/// [`report_read`], for writing.
///
/// # Safety
/// The address of a lock.
unsafe fn report_write(
    at: &At,
    doing: Doing,
    rwlock: usize,
    acquire: impl FnOnce(&RawRwLock) -> c_int,
) -> c_int {
    // SAFETY: the caller's.
    let lock = unsafe { lock_at(rwlock) };
    at.lock(doing, How::OwnWrite, rwlock, lock.is_locked(), || {
        acquire(lock)
    })
}

/// [`report_read`], for reading upgradable.
///
/// # Safety
/// The address of a lock.
unsafe fn report_upgradable(
    at: &At,
    doing: Doing,
    rwlock: usize,
    acquire: impl FnOnce(&RawRwLock) -> c_int,
) -> c_int {
    // SAFETY: the caller's.
    let lock = unsafe { lock_at(rwlock) };
    let is_written = lock.is_write_locked();
    at.lock(doing, How::OwnUpgradable, rwlock, is_written, || {
        acquire(lock)
    })
}

/// Makes the upgradable reader the writer as `upgrade` does, and reports it; `EPERM` if the lock is
/// free.
///
/// # Safety
/// The address of a lock.
unsafe fn report_upgrade(
    at: &At,
    doing: Doing,
    rwlock: usize,
    upgrade: impl FnOnce(&RawRwLock) -> c_int,
) -> c_int {
    // SAFETY: the caller's; so for the next.
    let result = unsafe {
        if !lock_at(rwlock).is_locked() {
            return EPERM;
        }
        report_write(at, doing, rwlock, upgrade)
    };
    if result == 0 {
        // Not before: other threads' waits need the hold.
        at.unlock(How::OwnUpgradable, rwlock, true, || 0);
    }
    result
}

/// Replaces the holder's rights by lesser ones as `change` does, and reports it; `EPERM` if the lock is
/// not held that way.
///
/// # Safety
/// The address of a lock.
unsafe fn report_change(
    at: &At,
    (from, to): (How, How),
    rwlock: usize,
    change: impl FnOnce(&RawRwLock),
) -> c_int {
    // SAFETY: the caller's.
    let lock = unsafe { lock_at(rwlock) };
    let is_held = if from == How::OwnWrite {
        lock.is_write_locked()
    } else {
        lock.is_locked()
    };
    if !is_held {
        return EPERM;
    }
    at.unlock(from, rwlock, true, || 0);
    at.lock(Doing::Nothing, to, rwlock, false, || {
        change(lock);
        0
    })
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
    if may_be_observed() {
        // SAFETY: the operation is safe.
        return unsafe {
            from_here(rwlock.addr(), 0, 0, |at, rwlock, _, _| {
                at.begin(How::OwnRead, rwlock);
                0
            })
        };
    }
    0
}

/// Destroys a lock, which is immediately valid again; `EBUSY` if it is held. Optional.
///
/// # Safety
/// Null, or a lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_rwlock_destroy(rwlock: *mut cohort_rwlock_t) -> c_int {
    let is_locked = at!(rwlock).is_locked();
    if may_be_observed() {
        // SAFETY: the caller's.
        return unsafe {
            from_here(
                rwlock.expose_provenance(),
                is_locked.into(),
                0,
                |at, rwlock, locked, _| {
                    at.end(How::OwnRead, rwlock, locked != 0);
                    if locked != 0 {
                        return EBUSY;
                    }
                    let lock = RawRwLock::new();
                    with_exposed_provenance_mut::<cohort_rwlock_t>(rwlock)
                        .write(cohort_rwlock_t { lock });
                    0
                },
            )
        };
    }
    if is_locked {
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
    let lock = at!(rwlock);
    if may_be_observed() {
        // SAFETY: the caller's.
        return unsafe {
            from_here(rwlock.expose_provenance(), 0, 0, |at, rwlock, _, _| {
                report_read(at, Doing::Read, rwlock, |lock| {
                    read(lock, &Patience::ENDLESS)
                })
            })
        };
    }
    read(lock, &Patience::ENDLESS)
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
    if may_be_observed() {
        // SAFETY: the caller's.
        return unsafe {
            from_here(rwlock.expose_provenance(), 0, 0, |at, rwlock, _, _| {
                report_read(at, Doing::Nothing, rwlock, read_try)
            })
        };
    }
    read_try(lock)
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
    let lock = at!(rwlock);
    // SAFETY: the caller's.
    unsafe {
        if may_be_observed() {
            let (rwlock, time) = (rwlock.expose_provenance(), time.expose_provenance());
            return from_here(rwlock, clock as usize, time, |at, rwlock, clock, time| {
                let time = with_exposed_provenance(time);
                report_read(at, Doing::Timed, rwlock, |lock| {
                    time::by(clock as c_int, time, |patience| read(lock, patience))
                })
            });
        }
        time::by(clock, time, |patience| read(lock, patience))
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
    let lock = at!(rwlock);
    if may_be_observed() {
        let rwlock = rwlock.expose_provenance();
        // SAFETY: the caller's.
        return unsafe {
            from_here(
                rwlock,
                nanoseconds as usize,
                0,
                |at, rwlock, nanoseconds, _| {
                    report_read(at, Doing::Timed, rwlock, |lock| {
                        read(lock, &time::during(nanoseconds as u64))
                    })
                },
            )
        };
    }
    read(lock, &time::during(nanoseconds))
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
    unsafe {
        if may_be_observed() {
            let (rwlock, token) = (rwlock.expose_provenance(), token.expose_provenance());
            return from_here(rwlock, token, 0, |at, rwlock, token, _| {
                let token = with_exposed_provenance_mut(token);
                report_read(at, Doing::Timed, rwlock, |lock| {
                    unless(token, |patience| read(lock, patience))
                })
            });
        }
        unless(token, |patience| read(lock, patience))
    }
}

/// Blocks until the lock is acquired for writing. A thread that already holds it deadlocks.
///
/// cbindgen:postfix=COHORT_ACQUIRE(*rwlock)
///
/// # Safety
/// As `cohort_rwlock_read`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_rwlock_write(rwlock: *mut cohort_rwlock_t) -> c_int {
    let lock = at!(rwlock);
    if may_be_observed() {
        // SAFETY: the caller's.
        return unsafe {
            from_here(rwlock.expose_provenance(), 0, 0, |at, rwlock, _, _| {
                report_write(at, Doing::Write, rwlock, |lock| {
                    write(lock, &Patience::ENDLESS)
                })
            })
        };
    }
    write(lock, &Patience::ENDLESS)
}

/// Acquires the lock for writing, or returns `EBUSY` if it is held; never blocks.
///
/// cbindgen:postfix=COHORT_TRY_ACQUIRE(0, *rwlock)
///
/// # Safety
/// As `cohort_rwlock_read`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_rwlock_write_try(rwlock: *mut cohort_rwlock_t) -> c_int {
    let lock = at!(rwlock);
    if may_be_observed() {
        // SAFETY: the caller's.
        return unsafe {
            from_here(rwlock.expose_provenance(), 0, 0, |at, rwlock, _, _| {
                report_write(at, Doing::Nothing, rwlock, write_try)
            })
        };
    }
    write_try(lock)
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
    let lock = at!(rwlock);
    // SAFETY: the caller's.
    unsafe {
        if may_be_observed() {
            let (rwlock, time) = (rwlock.expose_provenance(), time.expose_provenance());
            return from_here(rwlock, clock as usize, time, |at, rwlock, clock, time| {
                let time = with_exposed_provenance(time);
                report_write(at, Doing::Timed, rwlock, |lock| {
                    time::by(clock as c_int, time, |patience| write(lock, patience))
                })
            });
        }
        time::by(clock, time, |patience| write(lock, patience))
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
    let lock = at!(rwlock);
    if may_be_observed() {
        let rwlock = rwlock.expose_provenance();
        // SAFETY: the caller's.
        return unsafe {
            from_here(
                rwlock,
                nanoseconds as usize,
                0,
                |at, rwlock, nanoseconds, _| {
                    report_write(at, Doing::Timed, rwlock, |lock| {
                        write(lock, &time::during(nanoseconds as u64))
                    })
                },
            )
        };
    }
    write(lock, &time::during(nanoseconds))
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
    unsafe {
        if may_be_observed() {
            let (rwlock, token) = (rwlock.expose_provenance(), token.expose_provenance());
            return from_here(rwlock, token, 0, |at, rwlock, token, _| {
                let token = with_exposed_provenance_mut(token);
                report_write(at, Doing::Timed, rwlock, |lock| {
                    unless(token, |patience| write(lock, patience))
                })
            });
        }
        unless(token, |patience| write(lock, patience))
    }
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
    unsafe {
        if may_be_observed() {
            return from_here(rwlock.expose_provenance(), 0, 0, |at, rwlock, _, _| {
                let lock = lock_at(rwlock);
                at.unlock(How::OwnRead, rwlock, lock.is_locked(), || release(lock))
            });
        }
        release(lock)
    }
}

/// `cohort_rwlock_unlock`, and a thread that waits at the lock acquires it before any later arrival.
///
/// cbindgen:postfix=COHORT_RELEASE_GENERIC(*rwlock)
///
/// # Safety
/// As `cohort_rwlock_read`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_rwlock_unlock_fair(rwlock: *mut cohort_rwlock_t) -> c_int {
    let _ = at!(rwlock);
    // SAFETY: the program releases what it holds.
    unsafe {
        from_here(rwlock.expose_provenance(), 0, 0, |at, rwlock, _, _| {
            let lock = lock_at(rwlock);
            at.unlock(How::OwnRead, rwlock, lock.is_locked(), || {
                release_fair(lock)
            })
        })
    }
}

/// Blocks until the lock is acquired for reading beside other readers, but no other upgradable
/// reader: its holder may become the writer with no writer in between. `EAGAIN` at half a million
/// readers.
///
/// cbindgen:postfix=COHORT_ACQUIRE_SHARED(*rwlock)
///
/// # Safety
/// As `cohort_rwlock_read`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_rwlock_read_upgradable(rwlock: *mut cohort_rwlock_t) -> c_int {
    let _ = at!(rwlock);
    // SAFETY: the caller's.
    unsafe {
        from_here(rwlock.expose_provenance(), 0, 0, |at, rwlock, _, _| {
            report_upgradable(at, Doing::ReadUpgradably, rwlock, |lock| {
                read_upgradable(lock, &Patience::ENDLESS)
            })
        })
    }
}

/// Acquires the lock for upgradable reading, or returns `EBUSY` if another thread writes, waits or
/// reads upgradable; never blocks.
///
/// cbindgen:postfix=COHORT_TRY_ACQUIRE_SHARED(0, *rwlock)
///
/// # Safety
/// As `cohort_rwlock_read`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_rwlock_read_upgradable_try(rwlock: *mut cohort_rwlock_t) -> c_int {
    let _ = at!(rwlock);
    // SAFETY: the caller's.
    unsafe {
        from_here(rwlock.expose_provenance(), 0, 0, |at, rwlock, _, _| {
            report_upgradable(at, Doing::Nothing, rwlock, read_upgradable_try)
        })
    }
}

/// Blocks until the lock is acquired for upgradable reading, or returns `ETIMEDOUT` at that time of
/// `CLOCK_MONOTONIC` or `CLOCK_REALTIME`.
///
/// cbindgen:postfix=COHORT_TRY_ACQUIRE_SHARED(0, *rwlock)
///
/// # Safety
/// As `cohort_rwlock_read`; the time is null or readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_rwlock_read_upgradable_until(
    rwlock: *mut cohort_rwlock_t,
    clock: c_int,
    time: *const timespec,
) -> c_int {
    let _ = at!(rwlock);
    let (address, time) = (rwlock.expose_provenance(), time.expose_provenance());
    // SAFETY: the caller's.
    unsafe {
        from_here(address, clock as usize, time, |at, rwlock, clock, time| {
            let time = with_exposed_provenance(time);
            report_upgradable(at, Doing::Timed, rwlock, |lock| {
                time::by(clock as c_int, time, |patience| {
                    read_upgradable(lock, patience)
                })
            })
        })
    }
}

/// As `cohort_rwlock_read_upgradable_until`, with a timeout in nanoseconds.
///
/// cbindgen:postfix=COHORT_TRY_ACQUIRE_SHARED(0, *rwlock)
///
/// # Safety
/// As `cohort_rwlock_read`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_rwlock_read_upgradable_for(
    rwlock: *mut cohort_rwlock_t,
    nanoseconds: u64,
) -> c_int {
    let _ = at!(rwlock);
    // SAFETY: the caller's.
    unsafe {
        from_here(
            rwlock.expose_provenance(),
            nanoseconds as usize,
            0,
            |at, rwlock, nanoseconds, _| {
                report_upgradable(at, Doing::Timed, rwlock, |lock| {
                    read_upgradable(lock, &time::during(nanoseconds as u64))
                })
            },
        )
    }
}

/// Blocks until the lock is acquired for upgradable reading, or returns `ECANCELED` once the token is
/// cancelled.
///
/// cbindgen:postfix=COHORT_TRY_ACQUIRE_SHARED(0, *rwlock)
///
/// # Safety
/// As `cohort_rwlock_read`; null, or a token.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_rwlock_read_upgradable_unless(
    rwlock: *mut cohort_rwlock_t,
    token: *mut cohort_token_t,
) -> c_int {
    let _ = at!(rwlock);
    let (address, token) = (rwlock.expose_provenance(), token.expose_provenance());
    // SAFETY: the caller's.
    unsafe {
        from_here(address, token, 0, |at, rwlock, token, _| {
            let token = with_exposed_provenance_mut(token);
            report_upgradable(at, Doing::Timed, rwlock, |lock| {
                unless(token, |patience| read_upgradable(lock, patience))
            })
        })
    }
}

/// Blocks until the upgradable reader is the writer; `cohort_rwlock_unlock` releases it then.
/// `EPERM` if the lock is free.
///
/// # Safety
/// As `cohort_rwlock_read`; the caller holds it upgradable, or it is free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_rwlock_upgrade(rwlock: *mut cohort_rwlock_t) -> c_int {
    let _ = at!(rwlock);
    // SAFETY: the caller's.
    unsafe {
        from_here(rwlock.expose_provenance(), 0, 0, |at, rwlock, _, _| {
            report_upgrade(at, Doing::Write, rwlock, |lock| {
                upgrade(lock, &Patience::ENDLESS)
            })
        })
    }
}

/// Makes the upgradable reader the writer, or returns `EBUSY` if there are other readers, and the
/// caller still reads upgradable; never blocks.
///
/// # Safety
/// As `cohort_rwlock_upgrade`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_rwlock_upgrade_try(rwlock: *mut cohort_rwlock_t) -> c_int {
    let _ = at!(rwlock);
    // SAFETY: the caller's.
    unsafe {
        from_here(rwlock.expose_provenance(), 0, 0, |at, rwlock, _, _| {
            report_upgrade(at, Doing::Nothing, rwlock, |lock| {
                if lock.try_upgrade() { 0 } else { EBUSY }
            })
        })
    }
}

/// Blocks until the upgradable reader is the writer, or returns `ETIMEDOUT` at that time of
/// `CLOCK_MONOTONIC` or `CLOCK_REALTIME`, and the caller still reads upgradable.
///
/// # Safety
/// As `cohort_rwlock_upgrade`; the time is null or readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_rwlock_upgrade_until(
    rwlock: *mut cohort_rwlock_t,
    clock: c_int,
    time: *const timespec,
) -> c_int {
    let _ = at!(rwlock);
    let (address, time) = (rwlock.expose_provenance(), time.expose_provenance());
    // SAFETY: the caller's.
    unsafe {
        from_here(address, clock as usize, time, |at, rwlock, clock, time| {
            let time = with_exposed_provenance(time);
            report_upgrade(at, Doing::Timed, rwlock, |lock| {
                time::by(clock as c_int, time, |patience| upgrade(lock, patience))
            })
        })
    }
}

/// As `cohort_rwlock_upgrade_until`, with a timeout in nanoseconds.
///
/// # Safety
/// As `cohort_rwlock_upgrade`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_rwlock_upgrade_for(
    rwlock: *mut cohort_rwlock_t,
    nanoseconds: u64,
) -> c_int {
    let _ = at!(rwlock);
    // SAFETY: the caller's.
    unsafe {
        from_here(
            rwlock.expose_provenance(),
            nanoseconds as usize,
            0,
            |at, rwlock, nanoseconds, _| {
                report_upgrade(at, Doing::Timed, rwlock, |lock| {
                    upgrade(lock, &time::during(nanoseconds as u64))
                })
            },
        )
    }
}

/// Blocks until the upgradable reader is the writer, or returns `ECANCELED` once the token is
/// cancelled, and the caller still reads upgradable.
///
/// # Safety
/// As `cohort_rwlock_upgrade`; null, or a token.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_rwlock_upgrade_unless(
    rwlock: *mut cohort_rwlock_t,
    token: *mut cohort_token_t,
) -> c_int {
    let _ = at!(rwlock);
    let (address, token) = (rwlock.expose_provenance(), token.expose_provenance());
    // SAFETY: the caller's.
    unsafe {
        from_here(address, token, 0, |at, rwlock, token, _| {
            let token = with_exposed_provenance_mut(token);
            report_upgrade(at, Doing::Timed, rwlock, |lock| {
                unless(token, |patience| upgrade(lock, patience))
            })
        })
    }
}

/// Turns the caller's write lock into a read lock, with no writer in between; `EPERM` if there is no
/// writer. Never blocks.
///
/// # Safety
/// As `cohort_rwlock_read`; the caller holds it for writing, if a thread does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_rwlock_downgrade(rwlock: *mut cohort_rwlock_t) -> c_int {
    let _ = at!(rwlock);
    // SAFETY: the caller's.
    unsafe {
        from_here(rwlock.expose_provenance(), 0, 0, |at, rwlock, _, _| {
            report_change(at, (How::OwnWrite, How::OwnRead), rwlock, |lock| {
                lock.downgrade();
            })
        })
    }
}

/// Turns the caller's write lock into an upgradable read lock, with no writer in between; `EPERM` if
/// there is no writer. Never blocks.
///
/// # Safety
/// As `cohort_rwlock_downgrade`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_rwlock_downgrade_upgradable(rwlock: *mut cohort_rwlock_t) -> c_int {
    let _ = at!(rwlock);
    // SAFETY: the caller's.
    unsafe {
        from_here(rwlock.expose_provenance(), 0, 0, |at, rwlock, _, _| {
            let change = (How::OwnWrite, How::OwnUpgradable);
            report_change(at, change, rwlock, |lock| lock.downgrade_to_upgradable())
        })
    }
}

/// Turns the caller's upgradable read lock into an ordinary one; `EPERM` if the lock is free. Never
/// blocks.
///
/// # Safety
/// As `cohort_rwlock_upgrade`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_rwlock_end_upgradable(rwlock: *mut cohort_rwlock_t) -> c_int {
    let _ = at!(rwlock);
    // SAFETY: the caller's.
    unsafe {
        from_here(rwlock.expose_provenance(), 0, 0, |at, rwlock, _, _| {
            let change = (How::OwnUpgradable, How::OwnRead);
            report_change(at, change, rwlock, |lock| lock.end_upgradable())
        })
    }
}

/// Releases the caller's upgradable read lock; `EPERM` if the lock is free.
///
/// cbindgen:postfix=COHORT_RELEASE_SHARED(*rwlock)
///
/// # Safety
/// As `cohort_rwlock_upgrade`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_rwlock_unlock_upgradable(rwlock: *mut cohort_rwlock_t) -> c_int {
    let _ = at!(rwlock);
    // SAFETY: the program releases what it holds.
    unsafe {
        from_here(rwlock.expose_provenance(), 0, 0, |at, rwlock, _, _| {
            let lock = lock_at(rwlock);
            let is_locked = lock.is_locked();
            at.unlock(How::OwnUpgradable, rwlock, is_locked, || {
                if !is_locked {
                    return EPERM;
                }
                lock.end_upgradable();
                lock.release_read();
                0
            })
        })
    }
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
