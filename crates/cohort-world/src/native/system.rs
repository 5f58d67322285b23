//! The C library's mutex as a lock under test, and no lock.

use super::super::raw::{Tested, open};
use crate::NO_LOCK;
use cohort::{Clock, Outcome, Patience};
use std::cell::UnsafeCell;
use std::sync::Arc;

/// The lock of that name, if it is not in the catalogue.
pub fn lock(name: &str) -> Option<Arc<dyn Tested>> {
    match name {
        NO_LOCK => Some(open()),
        "posix" | "system" => Some(Arc::new(Posix::default())),
        _ => None,
    }
}

/// Default mutex, on lines of its own.
#[repr(align(128))]
struct Posix(UnsafeCell<libc::pthread_mutex_t>);

impl Default for Posix {
    fn default() -> Self {
        Self(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER))
    }
}

// SAFETY: a pthread mutex is made to be shared.
unsafe impl Send for Posix {}
// SAFETY: as above.
unsafe impl Sync for Posix {}

// SAFETY: it is a mutex.
unsafe impl Tested for Posix {
    fn acquire(&self, _thread: usize) {
        // SAFETY: the mutex is initialised and stays where it is.
        let result = unsafe { libc::pthread_mutex_lock(self.0.get()) };
        assert_eq!(result, 0, "a default mutex cannot fail to be locked");
    }

    fn acquire_within(&self, _thread: usize, patience: &Patience) -> Option<Outcome> {
        let deadline = patience.deadline()?;
        let at = libc::timespec {
            tv_sec: deadline.seconds,
            tv_nsec: i64::from(deadline.nanoseconds),
        };
        let clock = match deadline.clock {
            Clock::Monotonic => libc::CLOCK_MONOTONIC,
            Clock::Realtime => libc::CLOCK_REALTIME,
        };
        // SAFETY: as above; the time is alive until the call returns.
        match unsafe { pthread_mutex_clocklock(self.0.get(), clock, &raw const at) } {
            0 => Some(Outcome::Acquired),
            _ => Some(Outcome::GaveUp),
        }
    }

    unsafe fn release(&self, _thread: usize) {
        // SAFETY: the caller has locked it.
        unsafe { libc::pthread_mutex_unlock(self.0.get()) };
    }

    fn is_locked(&self) -> bool {
        // SAFETY: as above; what was locked is unlocked at once.
        unsafe {
            let free = libc::pthread_mutex_trylock(self.0.get()) == 0;
            if free {
                libc::pthread_mutex_unlock(self.0.get());
            }
            !free
        }
    }
}

unsafe extern "C" {
    fn pthread_mutex_clocklock(
        mutex: *mut libc::pthread_mutex_t,
        clock: libc::clockid_t,
        at: *const libc::timespec,
    ) -> libc::c_int;
}
