//! `pthread_rwlock_*`.

#[cfg(feature = "compositions")]
use crate::by_cohort;
use crate::choice::{Rwlocks, are_plain, choice, rwlocks};
use crate::count::count;
use crate::layout::{Attr, PREFER_WRITER, RWLOCK_KIND, RwLock, clear};
use crate::libc::{
    CLOCK_MONOTONIC, EAGAIN, EBUSY, EDEADLK, ETIMEDOUT, PTHREAD_PROCESS_PRIVATE, Timespec,
    attribute,
};
use crate::mutex::Wait;
#[cfg(not(feature = "observe"))]
use crate::mutex::also;
use crate::next::{pthread_rwlockattr_getkind_np, pthread_rwlockattr_getpshared};
use crate::owner::{self, NOBODY};
use crate::{next, time};
use cohort::door::runs_out;
use cohort::report::ServedKind;
use cohort::rwlock::Recursion;
use cohort::{Clock, Outcome, Patience};
use core::ffi::c_int;
use core::sync::atomic::Ordering::Relaxed;

impl RwLock {
    /// Whether the default serves it, and acquisitions are not counted: the fast path.
    #[inline(always)]
    pub fn is_plain(&self) -> bool {
        self.shared.load(Relaxed) == 0 && are_plain(Rwlocks::Word)
    }

    /// Fast path of a read acquisition, and whether it acquired the lock; none if the lock has no
    /// fast path.
    #[inline(always)]
    pub fn begin_to_read(&self) -> Option<bool> {
        self.is_plain().then(|| self.lock.arrive(self.recursion()))
    }

    /// [`begin_to_read`](Self::begin_to_read), for writing.
    #[inline(always)]
    pub fn begin_to_write(&self) -> Option<bool> {
        self.is_plain().then(|| {
            let taken = self.lock.write_at_once();
            if taken {
                self.writer.store(owner::me(), Relaxed);
            }
            taken
        })
    }

    /// Whether the default serves it, and thus leaves [`identity`](Self::identity) unused.
    #[cfg(feature = "observe")]
    #[inline(always)]
    pub fn is_word(&self) -> bool {
        self.shared.load(Relaxed) == 0 && rwlocks() == Rwlocks::Word
    }

    /// Whether a lock with reader counts per cohort serves it, and acquisitions are not counted.
    #[cfg(feature = "compositions")]
    #[inline(always)]
    fn is_plain_by_cohort(&self) -> bool {
        self.shared.load(Relaxed) == 0
            && (are_plain(Rwlocks::Neutral) || are_plain(Rwlocks::WritersFirst))
    }

    fn is_libcs(&self) -> bool {
        self.shared.load(Relaxed) != 0 || rwlocks() == Rwlocks::System
    }

    /// Acquires it for reading, if immediately possible. After a failure, the caller must wait.
    fn arrive(&self) -> bool {
        #[cfg(feature = "compositions")]
        if let Some(lock) = by_cohort::of(self) {
            return lock.read_at_once();
        }
        self.lock.arrive(self.recursion())
    }

    fn try_read(&self) -> bool {
        #[cfg(feature = "compositions")]
        if let Some(lock) = by_cohort::of(self) {
            return lock.try_read(self.recursion());
        }
        self.lock.try_read(self.recursion())
    }

    /// Whether the reader count is at its maximum.
    fn is_full(&self) -> bool {
        #[cfg(feature = "compositions")]
        if by_cohort::of(self).is_some() {
            return false;
        }
        self.lock.is_full()
    }

    fn read(&self, patience: &Patience) -> Outcome {
        #[cfg(feature = "compositions")]
        if let Some(lock) = by_cohort::of(self) {
            return lock.read(self.recursion(), patience);
        }
        self.lock.read(self.recursion(), patience)
    }

    fn try_write(&self) -> bool {
        #[cfg(feature = "compositions")]
        if let Some(lock) = by_cohort::of(self) {
            return lock.try_write();
        }
        self.lock.try_write()
    }

    /// Acquires it for writing, if immediately possible. After a failure, the caller must wait.
    fn write_at_once(&self) -> bool {
        #[cfg(feature = "compositions")]
        if let Some(lock) = by_cohort::of(self) {
            return lock.try_write();
        }
        self.lock.write_at_once()
    }

    fn write(&self, patience: &Patience) -> Outcome {
        #[cfg(feature = "compositions")]
        if let Some(lock) = by_cohort::of(self) {
            return lock.write(patience);
        }
        self.lock.write(patience)
    }

    /// Whether readers wait for waiting writers, even recursive readers.
    #[cfg(feature = "observe")]
    pub fn lets_writers_first(&self) -> bool {
        matches!(self.recursion(), Recursion::Excluded)
    }

    /// Whether readers may recurse; not if the program chose the non-recursive kind.
    fn recursion(&self) -> Recursion {
        if self.flags.load(Relaxed) & RWLOCK_KIND == PREFER_WRITER {
            Recursion::Excluded
        } else {
            Recursion::Allowed
        }
    }
}

/// The patience of a wait; `None` not to wait at all.
///
/// # Errors
/// `EINVAL`, even if the lock is free, as the C library does.
///
/// # Safety
/// A time, if any, is readable.
unsafe fn patience(wait: Wait) -> Result<Option<Patience<'static>>, c_int> {
    match wait {
        Wait::No => Ok(None),
        Wait::Endless => Ok(Some(Patience::ENDLESS)),
        // SAFETY: the caller's.
        Wait::Until(clock, at) => unsafe { time::until(clock, at) }.map(Some),
    }
}

/// All ways to lock for reading, without the fast path.
///
/// # Safety
/// The lock is valid; a time, if any, is readable.
#[cold]
#[inline(never)]
pub unsafe fn read(lock: *mut RwLock, wait: Wait) -> c_int {
    // SAFETY: the program's.
    let object = unsafe { &*lock };
    if object.is_libcs() {
        // SAFETY: the C library's lock, and the program's time.
        return unsafe {
            match wait {
                Wait::No => next::pthread_rwlock_tryrdlock(lock),
                Wait::Endless => next::pthread_rwlock_rdlock(lock),
                Wait::Until(Clock::Realtime, at) => next::pthread_rwlock_timedrdlock(lock, at),
                Wait::Until(Clock::Monotonic, at) => {
                    next::pthread_rwlock_clockrdlock(lock, CLOCK_MONOTONIC, at)
                }
            }
        };
    }
    // SAFETY: passed on.
    let patience = match unsafe { patience(wait) } {
        Ok(patience) => patience,
        Err(error) => return error,
    };
    let at_once = match patience {
        None => object.try_read(),
        Some(_) => object.arrive(),
    };
    let result = match patience {
        _ if at_once => 0,
        None if object.is_full() => EAGAIN,
        None => EBUSY,
        Some(_) if object.writer.load(Relaxed) == owner::me() => EDEADLK,
        Some(patience) => match object.read(&patience) {
            Outcome::Acquired => 0,
            Outcome::GaveUp if runs_out(&patience) => ETIMEDOUT,
            // The only other reason to give up: too many readers.
            Outcome::GaveUp => EAGAIN,
        },
    };
    if choice().1 && result == 0 {
        count(ServedKind::Read, !at_once);
    }
    result
}

/// All ways to lock for writing, without the fast path.
///
/// # Safety
/// The lock is valid; a time, if any, is readable.
#[cold]
#[inline(never)]
pub unsafe fn write(lock: *mut RwLock, wait: Wait) -> c_int {
    // SAFETY: the program's.
    let object = unsafe { &*lock };
    if object.is_libcs() {
        // SAFETY: the C library's lock, and the program's time.
        return unsafe {
            match wait {
                Wait::No => next::pthread_rwlock_trywrlock(lock),
                Wait::Endless => next::pthread_rwlock_wrlock(lock),
                Wait::Until(Clock::Realtime, at) => next::pthread_rwlock_timedwrlock(lock, at),
                Wait::Until(Clock::Monotonic, at) => {
                    next::pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, at)
                }
            }
        };
    }
    // SAFETY: passed on.
    let patience = match unsafe { patience(wait) } {
        Ok(patience) => patience,
        Err(error) => return error,
    };
    let me = owner::me();
    let at_once = match patience {
        None => object.try_write(),
        Some(_) => object.write_at_once(),
    };
    let result = match patience {
        _ if at_once => 0,
        None => EBUSY,
        Some(_) if object.writer.load(Relaxed) == me => EDEADLK,
        Some(patience) => match object.write(&patience) {
            Outcome::Acquired => 0,
            Outcome::GaveUp => ETIMEDOUT,
        },
    };
    if result == 0 {
        object.writer.store(me, Relaxed);
        if choice().1 {
            count(ServedKind::Write, !at_once);
        }
    }
    result
}

/// See `pthread_rwlock_rdlock(3)`.
///
/// # Safety
/// As that page asks.
#[cfg_attr(not(feature = "observe"), unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_rwlock_rdlock(lock: *mut RwLock) -> c_int {
    // SAFETY: the program's.
    let object = unsafe { &*lock };
    if object.begin_to_read() == Some(true) {
        return 0;
    }
    #[cfg(feature = "compositions")]
    if object.is_plain_by_cohort() && object.arrive() {
        return 0;
    }
    // SAFETY: passed on.
    unsafe { read(lock, Wait::Endless) }
}

/// See `pthread_rwlock_tryrdlock(3)`.
///
/// # Safety
/// As that page asks.
#[cfg_attr(not(feature = "observe"), unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_rwlock_tryrdlock(lock: *mut RwLock) -> c_int {
    // SAFETY: the program's.
    let object = unsafe { &*lock };
    if object.is_plain() && object.lock.try_read(object.recursion()) {
        return 0;
    }
    // SAFETY: passed on.
    unsafe { read(lock, Wait::No) }
}

/// See `pthread_rwlock_timedrdlock(3)`.
///
/// # Safety
/// As that page asks.
#[cfg_attr(not(feature = "observe"), unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_rwlock_timedrdlock(
    lock: *mut RwLock,
    at: *const Timespec,
) -> c_int {
    // SAFETY: passed on.
    unsafe { read(lock, Wait::Until(Clock::Realtime, at)) }
}

/// See `pthread_rwlock_clockrdlock(3)`.
///
/// # Safety
/// As that page asks.
#[cfg_attr(not(feature = "observe"), unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_rwlock_clockrdlock(
    lock: *mut RwLock,
    clock: c_int,
    at: *const Timespec,
) -> c_int {
    match time::clock(clock) {
        Err(error) => error,
        // SAFETY: passed on.
        Ok(clock) => unsafe { read(lock, Wait::Until(clock, at)) },
    }
}

/// See `pthread_rwlock_wrlock(3)`.
///
/// # Safety
/// As that page asks.
#[cfg_attr(not(feature = "observe"), unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_rwlock_wrlock(lock: *mut RwLock) -> c_int {
    // SAFETY: the program's.
    let object = unsafe { &*lock };
    if object.begin_to_write() == Some(true) {
        return 0;
    }
    // SAFETY: passed on.
    unsafe { write(lock, Wait::Endless) }
}

/// See `pthread_rwlock_trywrlock(3)`.
///
/// # Safety
/// As that page asks.
#[cfg_attr(not(feature = "observe"), unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_rwlock_trywrlock(lock: *mut RwLock) -> c_int {
    // SAFETY: passed on.
    unsafe { write(lock, Wait::No) }
}

/// See `pthread_rwlock_timedwrlock(3)`.
///
/// # Safety
/// As that page asks.
#[cfg_attr(not(feature = "observe"), unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_rwlock_timedwrlock(
    lock: *mut RwLock,
    at: *const Timespec,
) -> c_int {
    // SAFETY: passed on.
    unsafe { write(lock, Wait::Until(Clock::Realtime, at)) }
}

/// See `pthread_rwlock_clockwrlock(3)`.
///
/// # Safety
/// As that page asks.
#[cfg_attr(not(feature = "observe"), unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_rwlock_clockwrlock(
    lock: *mut RwLock,
    clock: c_int,
    at: *const Timespec,
) -> c_int {
    match time::clock(clock) {
        Err(error) => error,
        // SAFETY: passed on.
        Ok(clock) => unsafe { write(lock, Wait::Until(clock, at)) },
    }
}

/// See `pthread_rwlock_unlock(3)`. Releasing a free lock has no effect.
///
/// # Safety
/// As that page asks.
#[cfg_attr(not(feature = "observe"), unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_rwlock_unlock(lock: *mut RwLock) -> c_int {
    // SAFETY: the program's.
    let object = unsafe { &*lock };
    if !object.is_plain() && object.is_libcs() {
        // SAFETY: the C library's lock.
        return unsafe { next::pthread_rwlock_unlock(lock) };
    }
    #[cfg(feature = "compositions")]
    if !object.is_plain()
        && let Some(lock) = by_cohort::of(object)
    {
        // SAFETY: the program releases what it holds.
        unsafe { lock.release() };
        return 0;
    }
    if object.writer.load(Relaxed) != NOBODY {
        object.writer.store(NOBODY, Relaxed);
    }
    // SAFETY: the program releases what it holds.
    unsafe { object.lock.release() };
    0
}

/// See `pthread_rwlock_init(3)`.
///
/// # Safety
/// As that page asks.
#[cfg_attr(not(feature = "observe"), unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_rwlock_init(lock: *mut RwLock, attributes: Attr) -> c_int {
    // SAFETY: the program's attributes are initialised, and its memory is for an unused lock.
    unsafe {
        let mut flags = 0;
        if !attributes.is_null() {
            if attribute(attributes, pthread_rwlockattr_getpshared) != PTHREAD_PROCESS_PRIVATE {
                return next::pthread_rwlock_init(lock, attributes);
            }
            flags = attribute(attributes, pthread_rwlockattr_getkind_np) as u32;
        }
        if rwlocks() == Rwlocks::System {
            return next::pthread_rwlock_init(lock, attributes);
        }
        clear(lock);
        (*lock).flags.store(flags, Relaxed);
    }
    0
}

/// See `pthread_rwlock_destroy(3)`.
///
/// # Safety
/// As that page asks.
#[cfg_attr(not(feature = "observe"), unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_rwlock_destroy(lock: *mut RwLock) -> c_int {
    // SAFETY: the program's; passed on.
    unsafe {
        if (*lock).is_libcs() {
            return next::pthread_rwlock_destroy(lock);
        }
        #[cfg(feature = "compositions")]
        if by_cohort::of(&*lock).is_some() {
            return 0;
        }
        // The program may use the memory as another object without initialising it.
        (*lock).lock.retire();
    }
    0
}

#[cfg(not(feature = "observe"))]
also! {
    __pthread_rwlock_init = pthread_rwlock_init(lock: *mut RwLock, attributes: Attr);
    __pthread_rwlock_destroy = pthread_rwlock_destroy(lock: *mut RwLock);
    __pthread_rwlock_rdlock = pthread_rwlock_rdlock(lock: *mut RwLock);
    __pthread_rwlock_tryrdlock = pthread_rwlock_tryrdlock(lock: *mut RwLock);
    __pthread_rwlock_wrlock = pthread_rwlock_wrlock(lock: *mut RwLock);
    __pthread_rwlock_trywrlock = pthread_rwlock_trywrlock(lock: *mut RwLock);
    __pthread_rwlock_unlock = pthread_rwlock_unlock(lock: *mut RwLock);
}
