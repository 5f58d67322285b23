//! `cohort_shared_t`: a reader–writer lock created by name, the default one or one with readers
//! counted by cohort, as `cohort run --rwlock` serves programs.
//!
//! The locks with counts by cohort share one [table](Table) of them. Their writers use the default
//! mutex.

use crate::libc::{
    EAGAIN, EBUSY, EINVAL, ENOMEM, EPERM, ETIMEDOUT, aligned_alloc, free, set_errno, timespec,
};
use crate::observed::{At, Operation, from_here};
use crate::time;
use crate::token::{cohort_token_t, unless};
use cohort::door::{Doing, How};
use cohort::numa::FutexHmcs;
use cohort::rwlock::in_object::Words;
use cohort::rwlock::object::{Object, Writers};
use cohort::rwlock::{RawRwLock, Table};
use cohort::{Abortable, Inherit, Outcome, Patience, RawLock, RawTry, Recursion};
use core::ffi::{CStr, c_char, c_int};
use core::ptr::{self, with_exposed_provenance, with_exposed_provenance_mut};
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;

/// Reader–writer lock created by its name.
#[expect(non_camel_case_types, reason = "as C has it")]
pub struct cohort_shared_t {
    lock: Lock,
}

/// The kinds of locks.
enum Lock {
    Word(RawRwLock),
    ByCohort(ByCohort),
}

/// Cohorts with rows of their own, and locks with slots of their own.
const ROWS: usize = 32;
const SLOTS: usize = 256;

/// Reader counts of all these locks, except counts held in the locks themselves.
static TABLE: Table<ROWS, SLOTS> = Table::new();

/// `c-rw-np`, or `c-rw-wp` unless it is neutral.
struct ByCohort {
    words: Words,
    writers: FutexHmcs,
    /// Writers that wait for the mutex and will hold it.
    waiters: AtomicU32,
    is_neutral: bool,
}

impl ByCohort {
    fn new(is_neutral: bool) -> Self {
        Self {
            words: Words::default(),
            writers: FutexHmcs::new(),
            waiters: AtomicU32::new(0),
            is_neutral,
        }
    }

    fn object(&self) -> Object<'_, OfWriters<'_>, ROWS, SLOTS> {
        self.words.object(&TABLE, OfWriters(self), self.is_neutral)
    }
}

/// The mutex of a lock's writers.
struct OfWriters<'a>(&'a ByCohort);

impl Writers for OfWriters<'_> {
    fn acquire(&self) {
        self.0.waiters.fetch_add(1, Relaxed);
        // SAFETY: the mutex has no contexts, and stays with the lock; so for all below.
        unsafe { self.0.writers.acquire(&()) };
        self.0.waiters.fetch_sub(1, Relaxed);
    }

    fn try_acquire(&self) -> bool {
        // SAFETY: as above.
        unsafe { self.0.writers.try_acquire(&()) }
    }

    fn acquire_within(&self, patience: &Patience) -> bool {
        // SAFETY: as above.
        unsafe { self.0.writers.acquire_within(&(), patience) == Outcome::Acquired }
    }

    unsafe fn release(&self) {
        // SAFETY: the caller's.
        unsafe { self.0.writers.release(&()) };
    }

    unsafe fn forget(&self) {
        self.0.waiters.store(0, Relaxed);
        // SAFETY: the caller's.
        unsafe { self.0.writers.inherit(None) };
    }

    unsafe fn forget_waiters(&self) {
        self.0.waiters.store(0, Relaxed);
        // SAFETY: the caller's.
        unsafe { self.0.writers.inherit(Some(&())) };
    }

    fn has_waiters(&self) -> bool {
        self.0.waiters.load(Relaxed) > 0
    }

    fn begin(&self) {
        self.0.words.set_begun(true);
    }

    fn end(&self) {
        self.0.words.set_begun(false);
    }

    fn has_begun(&self) -> bool {
        self.0.words.has_begun()
    }
}

impl cohort_shared_t {
    fn is_full(&self) -> bool {
        matches!(&self.lock, Lock::Word(lock) if lock.is_full())
    }

    fn is_locked(&self) -> bool {
        match &self.lock {
            Lock::Word(lock) => lock.is_locked(),
            Lock::ByCohort(lock) => lock.object().is_locked(),
        }
    }

    fn is_written(&self) -> bool {
        match &self.lock {
            Lock::Word(lock) => lock.is_write_locked(),
            Lock::ByCohort(lock) => lock.object().is_write_locked(),
        }
    }

    fn read(&self, patience: &Patience) -> c_int {
        let outcome = match &self.lock {
            Lock::Word(lock) => lock.read(Recursion::Allowed, patience),
            Lock::ByCohort(lock) => lock.object().read(Recursion::Allowed, patience),
        };
        match outcome {
            Outcome::Acquired => 0,
            Outcome::GaveUp if self.is_full() => EAGAIN,
            Outcome::GaveUp => ETIMEDOUT,
        }
    }

    fn read_try(&self) -> c_int {
        let is_acquired = match &self.lock {
            Lock::Word(lock) => lock.try_read(Recursion::Allowed),
            Lock::ByCohort(lock) => lock.object().try_read(Recursion::Allowed),
        };
        match is_acquired {
            true => 0,
            false if self.is_full() => EAGAIN,
            false => EBUSY,
        }
    }

    fn write(&self, patience: &Patience) -> c_int {
        let outcome = match &self.lock {
            Lock::Word(lock) => lock.write(patience),
            Lock::ByCohort(lock) => lock.object().write(patience),
        };
        match outcome {
            Outcome::Acquired => 0,
            Outcome::GaveUp => ETIMEDOUT,
        }
    }

    fn write_try(&self) -> c_int {
        let is_acquired = match &self.lock {
            Lock::Word(lock) => lock.try_write(),
            Lock::ByCohort(lock) => lock.object().try_write(),
        };
        if is_acquired { 0 } else { EBUSY }
    }

    /// # Safety
    /// The caller holds the lock, or it is free.
    unsafe fn release(&self) -> c_int {
        // SAFETY: the caller's.
        let was_held = unsafe {
            match &self.lock {
                Lock::Word(lock) => lock.release(),
                Lock::ByCohort(lock) => lock.object().release(),
            }
        };
        if was_held { 0 } else { EPERM }
    }
}

/// Acquires the lock for reading as `acquire` does, and reports it.
///
/// # Safety
/// The address of a lock.
unsafe fn read_by(
    at: &At,
    doing: Doing,
    lock: usize,
    acquire: impl FnOnce(&cohort_shared_t) -> c_int,
) -> c_int {
    // SAFETY: the caller's.
    let face = unsafe { &*with_exposed_provenance::<cohort_shared_t>(lock) };
    at.lock(doing, How::OwnRead, lock, face.is_written(), || {
        acquire(face)
    })
}

/// [`read_by`], for writing.
///
/// # Safety
/// The address of a lock.
unsafe fn write_by(
    at: &At,
    doing: Doing,
    lock: usize,
    acquire: impl FnOnce(&cohort_shared_t) -> c_int,
) -> c_int {
    // SAFETY: the caller's.
    let face = unsafe { &*with_exposed_provenance::<cohort_shared_t>(lock) };
    at.lock(doing, How::OwnWrite, lock, face.is_locked(), || {
        acquire(face)
    })
}

/// Runs an operation on a lock with the place of the program's call; `EINVAL` for null. A function's
/// last call.
///
/// # Safety
/// As that of the operation for these words.
#[inline(always)]
unsafe fn on(lock: *mut cohort_shared_t, argument: usize, operation: Operation) -> c_int {
    if lock.is_null() {
        return EINVAL;
    }
    // SAFETY: the caller's.
    unsafe { from_here(lock.expose_provenance(), argument, 0, operation) }
}

/// Creates a reader–writer lock by its name: `rwlock`, the default one; `c-rw-np`, with readers
/// counted by cohort and no preference; `c-rw-wp`, the same with writers preferred for up to five
/// milliseconds. Null, with `errno` `EINVAL` for another name, or `ENOMEM`.
///
/// # Safety
/// Null, or a text that ends with zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_shared_new(name: *const c_char) -> *mut cohort_shared_t {
    // SAFETY: the caller's.
    let name = (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) });
    let lock = match name.map(CStr::to_bytes) {
        Some(b"rwlock") => Lock::Word(RawRwLock::new()),
        Some(b"c-rw-np") => Lock::ByCohort(ByCohort::new(true)),
        Some(b"c-rw-wp") => Lock::ByCohort(ByCohort::new(false)),
        _ => {
            set_errno(EINVAL);
            return ptr::null_mut();
        }
    };
    const ALIGN: usize = align_of::<cohort_shared_t>();
    // SAFETY: the alignment is a power of two, and the size a multiple of it.
    let made = unsafe { aligned_alloc(ALIGN, size_of::<cohort_shared_t>()) };
    let made = made.cast::<cohort_shared_t>();
    if made.is_null() {
        set_errno(ENOMEM);
    } else {
        // SAFETY: memory of that size, exclusively the caller's.
        unsafe {
            made.write(cohort_shared_t { lock });
            if let Lock::ByCohort(lock) = &(*made).lock {
                FutexHmcs::begin_at(&raw const lock.writers);
            }
        }
    }
    made
}

/// Destroys a lock and frees its memory. `EBUSY` if a thread holds it; the lock remains valid. No
/// effect for null.
///
/// # Safety
/// Null, or a lock that is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_shared_free(lock: *mut cohort_shared_t) -> c_int {
    // SAFETY: the caller's.
    let Some(face) = (unsafe { lock.as_ref() }) else {
        return 0;
    };
    if face.is_locked() {
        return EBUSY;
    }
    // SAFETY: the caller's; made above.
    unsafe {
        lock.drop_in_place();
        free(lock.cast());
    }
    0
}

/// Blocks until the lock is acquired for reading. A thread that holds it for reading may acquire it
/// again. `EAGAIN` at half a million readers of a `rwlock`.
///
/// cbindgen:postfix=COHORT_ACQUIRE_SHARED(*lock)
///
/// # Safety
/// Null, or a lock; so for all below.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_shared_read(lock: *mut cohort_shared_t) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        on(lock, 0, |at, lock, _, _| {
            read_by(at, Doing::Read, lock, |lock| lock.read(&Patience::ENDLESS))
        })
    }
}

/// Acquires the lock for reading, or returns `EBUSY` if a writer holds it or waits; never blocks.
///
/// cbindgen:postfix=COHORT_TRY_ACQUIRE_SHARED(0, *lock)
///
/// # Safety
/// As `cohort_shared_read`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_shared_read_try(lock: *mut cohort_shared_t) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        on(lock, 0, |at, lock, _, _| {
            read_by(at, Doing::Nothing, lock, cohort_shared_t::read_try)
        })
    }
}

/// Blocks until the lock is acquired for reading, or returns `ETIMEDOUT` at that time of
/// `CLOCK_MONOTONIC` or `CLOCK_REALTIME`.
///
/// cbindgen:postfix=COHORT_TRY_ACQUIRE_SHARED(0, *lock)
///
/// # Safety
/// As `cohort_shared_read`; the time is null or readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_shared_read_until(
    lock: *mut cohort_shared_t,
    clock: c_int,
    time: *const timespec,
) -> c_int {
    if lock.is_null() {
        return EINVAL;
    }
    // SAFETY: the caller's.
    unsafe {
        from_here(
            lock.expose_provenance(),
            clock as usize,
            time.expose_provenance(),
            |at, lock, clock, time| {
                let time = with_exposed_provenance(time);
                read_by(at, Doing::Timed, lock, |lock| {
                    time::by(clock as c_int, time, |patience| lock.read(patience))
                })
            },
        )
    }
}

/// As `cohort_shared_read_until`, with a timeout in nanoseconds.
///
/// cbindgen:postfix=COHORT_TRY_ACQUIRE_SHARED(0, *lock)
///
/// # Safety
/// As `cohort_shared_read`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_shared_read_for(
    lock: *mut cohort_shared_t,
    nanoseconds: u64,
) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        on(lock, nanoseconds as usize, |at, lock, nanoseconds, _| {
            read_by(at, Doing::Timed, lock, |lock| {
                lock.read(&time::during(nanoseconds as u64))
            })
        })
    }
}

/// Blocks until the lock is acquired for reading, or returns `ECANCELED` once the token is
/// cancelled.
///
/// cbindgen:postfix=COHORT_TRY_ACQUIRE_SHARED(0, *lock)
///
/// # Safety
/// As `cohort_shared_read`; null, or a token.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_shared_read_unless(
    lock: *mut cohort_shared_t,
    token: *mut cohort_token_t,
) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        on(lock, token.expose_provenance(), |at, lock, token, _| {
            let token = with_exposed_provenance_mut(token);
            read_by(at, Doing::Timed, lock, |lock| {
                unless(token, |patience| lock.read(patience))
            })
        })
    }
}

/// Blocks until the lock is acquired for writing. A thread that already holds it deadlocks.
///
/// cbindgen:postfix=COHORT_ACQUIRE(*lock)
///
/// # Safety
/// As `cohort_shared_read`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_shared_write(lock: *mut cohort_shared_t) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        on(lock, 0, |at, lock, _, _| {
            write_by(at, Doing::Write, lock, |lock| {
                lock.write(&Patience::ENDLESS)
            })
        })
    }
}

/// Acquires the lock for writing, or returns `EBUSY` if it is held; never blocks.
///
/// cbindgen:postfix=COHORT_TRY_ACQUIRE(0, *lock)
///
/// # Safety
/// As `cohort_shared_read`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_shared_write_try(lock: *mut cohort_shared_t) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        on(lock, 0, |at, lock, _, _| {
            write_by(at, Doing::Nothing, lock, cohort_shared_t::write_try)
        })
    }
}

/// Blocks until the lock is acquired for writing, or returns `ETIMEDOUT` at that time of
/// `CLOCK_MONOTONIC` or `CLOCK_REALTIME`.
///
/// cbindgen:postfix=COHORT_TRY_ACQUIRE(0, *lock)
///
/// # Safety
/// As `cohort_shared_read`; the time is null or readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_shared_write_until(
    lock: *mut cohort_shared_t,
    clock: c_int,
    time: *const timespec,
) -> c_int {
    if lock.is_null() {
        return EINVAL;
    }
    // SAFETY: the caller's.
    unsafe {
        from_here(
            lock.expose_provenance(),
            clock as usize,
            time.expose_provenance(),
            |at, lock, clock, time| {
                let time = with_exposed_provenance(time);
                write_by(at, Doing::Timed, lock, |lock| {
                    time::by(clock as c_int, time, |patience| lock.write(patience))
                })
            },
        )
    }
}

/// As `cohort_shared_write_until`, with a timeout in nanoseconds.
///
/// cbindgen:postfix=COHORT_TRY_ACQUIRE(0, *lock)
///
/// # Safety
/// As `cohort_shared_read`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_shared_write_for(
    lock: *mut cohort_shared_t,
    nanoseconds: u64,
) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        on(lock, nanoseconds as usize, |at, lock, nanoseconds, _| {
            write_by(at, Doing::Timed, lock, |lock| {
                lock.write(&time::during(nanoseconds as u64))
            })
        })
    }
}

/// Blocks until the lock is acquired for writing, or returns `ECANCELED` once the token is
/// cancelled.
///
/// cbindgen:postfix=COHORT_TRY_ACQUIRE(0, *lock)
///
/// # Safety
/// As `cohort_shared_read`; null, or a token.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_shared_write_unless(
    lock: *mut cohort_shared_t,
    token: *mut cohort_token_t,
) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        on(lock, token.expose_provenance(), |at, lock, token, _| {
            let token = with_exposed_provenance_mut(token);
            write_by(at, Doing::Timed, lock, |lock| {
                unless(token, |patience| lock.write(patience))
            })
        })
    }
}

/// Releases the caller's read or write lock; `EPERM` if the lock is free.
///
/// cbindgen:postfix=COHORT_RELEASE_GENERIC(*lock)
///
/// # Safety
/// As `cohort_shared_read`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_shared_unlock(lock: *mut cohort_shared_t) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        on(lock, 0, |at, lock, _, _| {
            let face = &*with_exposed_provenance::<cohort_shared_t>(lock);
            at.unlock(How::OwnRead, lock, face.is_locked(), || face.release())
        })
    }
}

/// 1 if a writer held the lock at the time of the call, else 0; for assertions.
///
/// # Safety
/// As `cohort_shared_read`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cohort_shared_is_written(lock: *const cohort_shared_t) -> c_int {
    // SAFETY: the caller's.
    let lock = unsafe { lock.as_ref() };
    c_int::from(lock.is_some_and(cohort_shared_t::is_written))
}
