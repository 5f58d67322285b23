//! The C library's locks, called by symbols that a preloaded library may define.

use rustix::time::{ClockId, clock_gettime};
use std::cell::UnsafeCell;
use std::io;
use std::time::Duration;

/// The kinds of mutex that a load can ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum MutexKind {
    /// `PTHREAD_MUTEX_NORMAL`
    #[default]
    Normal,
    /// `PTHREAD_MUTEX_ADAPTIVE_NP`: spins for a while
    Adaptive,
}

/// A `pthread_mutex_t` on cache lines of its own, to exclude false sharing.
#[repr(align(128))]
pub struct Mutex(UnsafeCell<libc::pthread_mutex_t>);

// SAFETY: pthread mutexes are thread-safe.
unsafe impl Sync for Mutex {}
// SAFETY: it is never moved while locked: locking borrows it, and its owner can only move it when
// no borrow is left.
unsafe impl Send for Mutex {}

impl Mutex {
    /// A free mutex of `kind`.
    ///
    /// # Errors
    /// The C library's refusal.
    pub fn new(kind: MutexKind) -> io::Result<Self> {
        let mut mutex = libc::PTHREAD_MUTEX_INITIALIZER;
        let kind = match kind {
            MutexKind::Normal => libc::PTHREAD_MUTEX_NORMAL,
            MutexKind::Adaptive => libc::PTHREAD_MUTEX_ADAPTIVE_NP,
        };
        // SAFETY: the attributes are initialised before they are used and are
        // destroyed; the mutex is writable, and free when it is moved.
        unsafe {
            let mut attributes: libc::pthread_mutexattr_t = std::mem::zeroed();
            accepted(libc::pthread_mutexattr_init(&raw mut attributes))?;
            accepted(libc::pthread_mutexattr_settype(&raw mut attributes, kind))?;
            accepted(libc::pthread_mutex_init(
                &raw mut mutex,
                &raw const attributes,
            ))?;
            accepted(libc::pthread_mutexattr_destroy(&raw mut attributes))?;
        }
        Ok(Self(UnsafeCell::new(mutex)))
    }

    /// Locks the mutex. Blocks.
    #[inline]
    pub fn lock(&self) {
        // SAFETY: the mutex is initialised.
        unsafe { libc::pthread_mutex_lock(self.0.get()) };
    }

    /// Locks the mutex, with a timeout by the realtime clock; true if successful. Blocks.
    pub fn lock_within(&self, patience: Duration) -> bool {
        self.lock_until(&realtime_after(patience))
    }

    /// Locks the mutex, with a deadline; true if successful. Blocks.
    #[inline]
    pub fn lock_until(&self, deadline: &libc::timespec) -> bool {
        // SAFETY: the mutex is initialised.
        unsafe { libc::pthread_mutex_timedlock(self.0.get(), deadline) == 0 }
    }

    /// As [`lock_within`](Self::lock_within), by the monotonic clock.
    pub fn lock_within_monotonic(&self, patience: Duration) -> bool {
        unsafe extern "C" {
            fn pthread_mutex_clocklock(
                mutex: *mut libc::pthread_mutex_t,
                clock: libc::clockid_t,
                deadline: *const libc::timespec,
            ) -> libc::c_int;
        }
        let deadline = after(ClockId::Monotonic, patience);
        let clock = libc::CLOCK_MONOTONIC;
        // SAFETY: the mutex is initialised.
        unsafe { pthread_mutex_clocklock(self.0.get(), clock, &raw const deadline) == 0 }
    }

    /// Releases the mutex.
    ///
    /// # Safety
    /// The calling thread holds it.
    #[inline]
    pub unsafe fn unlock(&self) {
        // SAFETY: the caller holds it.
        unsafe { libc::pthread_mutex_unlock(self.0.get()) };
    }

    /// Runs `section` with the mutex held.
    #[inline]
    pub fn with<R>(&self, section: impl FnOnce() -> R) -> R {
        self.lock();
        let result = section();
        // SAFETY: locked above, by this thread.
        unsafe { self.unlock() };
        result
    }
}

impl Drop for Mutex {
    fn drop(&mut self) {
        // SAFETY: it is not borrowed, so it is free and has no waiters.
        unsafe { libc::pthread_mutex_destroy(self.0.get()) };
    }
}

/// A `pthread_cond_t` by the monotonic clock, on cache lines of its own.
#[repr(align(128))]
pub struct Condition(UnsafeCell<libc::pthread_cond_t>);

// SAFETY: conditions are thread-safe.
unsafe impl Sync for Condition {}
// SAFETY: it is never moved while a thread waits for it: waiting borrows it.
unsafe impl Send for Condition {}

impl Condition {
    /// A condition without waiters.
    ///
    /// # Errors
    /// The C library's refusal.
    pub fn new() -> io::Result<Self> {
        let mut condition = libc::PTHREAD_COND_INITIALIZER;
        // SAFETY: the attributes are initialised before they are used and are destroyed; the
        // condition is writable, and has no waiters when it is moved.
        unsafe {
            let mut attributes: libc::pthread_condattr_t = std::mem::zeroed();
            accepted(libc::pthread_condattr_init(&raw mut attributes))?;
            accepted(libc::pthread_condattr_setclock(
                &raw mut attributes,
                libc::CLOCK_MONOTONIC,
            ))?;
            accepted(libc::pthread_cond_init(
                &raw mut condition,
                &raw const attributes,
            ))?;
            accepted(libc::pthread_condattr_destroy(&raw mut attributes))?;
        }
        Ok(Self(UnsafeCell::new(condition)))
    }

    /// Waits for a signal, with the mutex released. Blocks.
    ///
    /// # Safety
    /// The calling thread holds `mutex`, and all waiters use the same mutex.
    pub unsafe fn wait(&self, mutex: &Mutex) {
        // SAFETY: both are initialised, and the caller holds the mutex.
        unsafe { libc::pthread_cond_wait(self.0.get(), mutex.0.get()) };
    }

    /// [`wait`](Self::wait) with a timeout; true if signalled before. Blocks.
    ///
    /// # Safety
    /// As for [`Condition::wait`].
    pub unsafe fn wait_within(&self, mutex: &Mutex, patience: Duration) -> bool {
        let deadline = after(ClockId::Monotonic, patience);
        // SAFETY: both are initialised, and the caller holds the mutex.
        unsafe {
            libc::pthread_cond_timedwait(self.0.get(), mutex.0.get(), &raw const deadline) == 0
        }
    }

    /// Wakes a waiter.
    pub fn signal(&self) {
        // SAFETY: the condition is initialised.
        unsafe { libc::pthread_cond_signal(self.0.get()) };
    }
}

impl Drop for Condition {
    fn drop(&mut self) {
        // SAFETY: it is not borrowed, so it has no waiters.
        unsafe { libc::pthread_cond_destroy(self.0.get()) };
    }
}

/// A `sem_t` on cache lines of its own.
#[repr(align(128))]
pub struct Semaphore(UnsafeCell<libc::sem_t>);

// SAFETY: semaphores are thread-safe.
unsafe impl Sync for Semaphore {}
// SAFETY: it is never moved while a thread waits for it: waiting borrows it.
unsafe impl Send for Semaphore {}

impl Semaphore {
    /// A semaphore with that many units.
    ///
    /// # Errors
    /// The C library's refusal.
    pub fn new(units: u32) -> io::Result<Self> {
        let mut semaphore = std::mem::MaybeUninit::<libc::sem_t>::zeroed();
        // SAFETY: the place is writable, and the semaphore has no waiters when it is moved.
        if unsafe { libc::sem_init(semaphore.as_mut_ptr(), 0, units) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: initialised above.
        Ok(Self(UnsafeCell::new(unsafe { semaphore.assume_init() })))
    }

    /// Acquires a unit if one is available; true if so.
    pub fn try_acquire(&self) -> bool {
        // SAFETY: the semaphore is initialised.
        unsafe { libc::sem_trywait(self.0.get()) == 0 }
    }

    /// Acquires a unit. Blocks.
    pub fn acquire(&self) {
        // A handler of a signal may interrupt it.
        // SAFETY: the semaphore is initialised.
        while unsafe { libc::sem_wait(self.0.get()) } != 0 {}
    }

    /// Releases a unit.
    pub fn release(&self) {
        // SAFETY: the semaphore is initialised.
        unsafe { libc::sem_post(self.0.get()) };
    }
}

impl Drop for Semaphore {
    fn drop(&mut self) {
        // SAFETY: it is not borrowed, so it has no waiters.
        unsafe { libc::sem_destroy(self.0.get()) };
    }
}

/// A `pthread_rwlock_t` on cache lines of its own.
#[repr(align(128))]
pub struct RwLock(UnsafeCell<libc::pthread_rwlock_t>);

// SAFETY: pthread rwlocks are thread-safe.
unsafe impl Sync for RwLock {}
// SAFETY: as for `Mutex`.
unsafe impl Send for RwLock {}

impl RwLock {
    /// A free rwlock with the C library's default preference.
    pub const fn new() -> Self {
        Self(UnsafeCell::new(libc::PTHREAD_RWLOCK_INITIALIZER))
    }

    /// Acquires a read lock. Blocks.
    #[inline]
    pub fn read(&self) {
        // SAFETY: the rwlock is initialised.
        unsafe { libc::pthread_rwlock_rdlock(self.0.get()) };
    }

    /// Acquires the write lock. Blocks.
    #[inline]
    pub fn write(&self) {
        // SAFETY: the rwlock is initialised.
        unsafe { libc::pthread_rwlock_wrlock(self.0.get()) };
    }

    /// Releases a read lock or the write lock.
    ///
    /// # Safety
    /// The calling thread holds it.
    #[inline]
    pub unsafe fn unlock(&self) {
        // SAFETY: the caller holds it.
        unsafe { libc::pthread_rwlock_unlock(self.0.get()) };
    }

    /// Runs `section` with a read lock held.
    #[inline]
    pub fn reading<R>(&self, section: impl FnOnce() -> R) -> R {
        self.read();
        let result = section();
        // SAFETY: acquired above, by this thread.
        unsafe { self.unlock() };
        result
    }

    /// Runs `section` with the write lock held.
    #[inline]
    pub fn writing<R>(&self, section: impl FnOnce() -> R) -> R {
        self.write();
        let result = section();
        // SAFETY: acquired above, by this thread.
        unsafe { self.unlock() };
        result
    }
}

impl Default for RwLock {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for RwLock {
    fn drop(&mut self) {
        // SAFETY: it is not borrowed, so it is free and has no waiters.
        unsafe { libc::pthread_rwlock_destroy(self.0.get()) };
    }
}

/// The end of `patience` on the realtime clock.
#[must_use]
pub fn realtime_after(patience: Duration) -> libc::timespec {
    after(ClockId::Realtime, patience)
}

/// The end of `patience` on `clock`.
fn after(clock: ClockId, patience: Duration) -> libc::timespec {
    let now = clock_gettime(clock);
    let nanoseconds = now.tv_nsec + i64::from(patience.subsec_nanos());
    libc::timespec {
        tv_sec: now.tv_sec + patience.as_secs().cast_signed() + nanoseconds / 1_000_000_000,
        tv_nsec: nanoseconds % 1_000_000_000,
    }
}

/// Converts a call's status into a result.
///
/// # Errors
/// The status is an error's number.
pub fn accepted(status: i32) -> io::Result<()> {
    match status {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}
