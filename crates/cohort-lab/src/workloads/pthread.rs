//! The C library's locks, called by the symbols that a preloaded library may
//! define.

use std::cell::UnsafeCell;
use std::io;

/// The kinds of mutex that a load can ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    /// `PTHREAD_MUTEX_NORMAL`
    #[default]
    Normal,
    /// `PTHREAD_MUTEX_ADAPTIVE_NP`: spins for a while
    Adaptive,
}

/// A `pthread_mutex_t` on cache lines of its own, so that it is measured and not
/// its neighbours.
#[repr(align(128))]
pub struct Mutex(UnsafeCell<libc::pthread_mutex_t>);

// SAFETY: pthread mutexes are made to be used by several threads.
unsafe impl Sync for Mutex {}
// SAFETY: it is never moved while locked: locking borrows it, and whoever owns it
// can only move it once no borrow is left.
unsafe impl Send for Mutex {}

impl Mutex {
    /// A free mutex of `kind`.
    ///
    /// # Errors
    /// The C library's refusal.
    pub fn new(kind: Kind) -> io::Result<Self> {
        let mut mutex = libc::PTHREAD_MUTEX_INITIALIZER;
        let kind = match kind {
            Kind::Normal => libc::PTHREAD_MUTEX_NORMAL,
            Kind::Adaptive => libc::PTHREAD_MUTEX_ADAPTIVE_NP,
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

    /// Takes the mutex.  Blocks.
    #[inline]
    pub fn lock(&self) {
        // SAFETY: the mutex is initialised.
        unsafe { libc::pthread_mutex_lock(self.0.get()) };
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

    /// Runs `section` while holding the mutex.
    #[inline]
    pub fn with<R>(&self, section: impl FnOnce() -> R) -> R {
        self.lock();
        let result = section();
        // SAFETY: taken above, by this thread.
        unsafe { self.unlock() };
        result
    }
}

impl Drop for Mutex {
    fn drop(&mut self) {
        // SAFETY: nobody borrows it, so nobody holds it or waits for it.
        unsafe { libc::pthread_mutex_destroy(self.0.get()) };
    }
}

/// A `pthread_rwlock_t` on cache lines of its own.
#[repr(align(128))]
pub struct RwLock(UnsafeCell<libc::pthread_rwlock_t>);

// SAFETY: pthread rwlocks are made to be used by several threads.
unsafe impl Sync for RwLock {}
// SAFETY: as for `Mutex`.
unsafe impl Send for RwLock {}

impl RwLock {
    /// A free rwlock with the C library's default preference.
    pub const fn new() -> Self {
        Self(UnsafeCell::new(libc::PTHREAD_RWLOCK_INITIALIZER))
    }

    /// Takes a read lock.  Blocks.
    #[inline]
    pub fn read(&self) {
        // SAFETY: the rwlock is initialised.
        unsafe { libc::pthread_rwlock_rdlock(self.0.get()) };
    }

    /// Takes the write lock.  Blocks.
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

    /// Runs `section` while holding a read lock.
    #[inline]
    pub fn reading<R>(&self, section: impl FnOnce() -> R) -> R {
        self.read();
        let result = section();
        // SAFETY: taken above, by this thread.
        unsafe { self.unlock() };
        result
    }

    /// Runs `section` while holding the write lock.
    #[inline]
    pub fn writing<R>(&self, section: impl FnOnce() -> R) -> R {
        self.write();
        let result = section();
        // SAFETY: taken above, by this thread.
        unsafe { self.unlock() };
        result
    }
}

impl Drop for RwLock {
    fn drop(&mut self) {
        // SAFETY: nobody borrows it, so nobody holds it or waits for it.
        unsafe { libc::pthread_rwlock_destroy(self.0.get()) };
    }
}

fn accepted(status: i32) -> io::Result<()> {
    match status {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}
