//! Locks of Rust and of the C library, in their users' form.

use cohort_lab::workloads::{CachePadded, Exclusion, Sharing};
use std::cell::UnsafeCell;

/// A lock on cache lines of its own.
pub struct Own<L>(CachePadded<L>);

impl<L> Own<L> {
    /// `lock` on lines of its own.
    pub fn new(lock: L) -> Self {
        Self(CachePadded(lock))
    }
}

/// Implements [`Exclusion`] for locks released by guards.
macro_rules! guarded {
    ($($lock:ty, $self:ident => $guard:expr;)+) => {
        $(impl Exclusion for Own<$lock> {
            type Token = ();

            fn token(&self) {}

            #[inline]
            fn with<R>(&self, (): &mut (), section: impl FnOnce() -> R) -> R {
                let $self = &self.0.0;
                let _guard = $guard;
                section()
            }
        })+
    };
}

guarded! {
    cohort::Mutex<()>, lock => lock.lock();
    std::sync::Mutex<()>, lock => lock.lock().unwrap();
    parking_lot::Mutex<()>, lock => lock.lock();
    mcslock::barging::spins::Mutex<()>, lock => lock.lock();
}

/// Implements [`Sharing`] for rwlocks released by guards.
macro_rules! shared {
    ($($lock:ty, $self:ident => $read:expr, $write:expr;)+) => {
        $(impl Sharing for Own<$lock> {
            #[inline]
            fn reading<R>(&self, section: impl FnOnce() -> R) -> R {
                let $self = &self.0.0;
                let _guard = $read;
                section()
            }

            #[inline]
            fn writing<R>(&self, section: impl FnOnce() -> R) -> R {
                let $self = &self.0.0;
                let _guard = $write;
                section()
            }
        })+
    };
}

shared! {
    cohort::RwLock<()>, lock => lock.read(), lock.write();
    std::sync::RwLock<()>, lock => lock.read().unwrap(), lock.write().unwrap();
    parking_lot::RwLock<()>, lock => lock.read(), lock.write();
}

/// Implements [`Exclusion`] for `mcslock`'s locks.
macro_rules! mcslock {
    ($($lock:ty),+) => {
        $(impl Exclusion for Own<$lock> {
            type Token = CachePadded<mcslock::raw::MutexNode>;

            fn token(&self) -> Self::Token {
                CachePadded(mcslock::raw::MutexNode::new())
            }

            #[inline]
            fn with<R>(&self, token: &mut Self::Token, section: impl FnOnce() -> R) -> R {
                self.0.0.lock_with_then(&mut token.0, |()| section())
            }
        })+
    };
}

mcslock!(
    mcslock::raw::spins::Mutex<()>,
    mcslock::raw::yields::Mutex<()>
);

/// Implements [`Exclusion`] for `clhlock`'s locks, with nodes that change owners.
macro_rules! clhlock {
    ($($lock:ty),+) => {
        $(impl Exclusion for Own<$lock> {
            type Token = Option<clhlock::raw::MutexNode>;

            fn token(&self) -> Self::Token {
                Some(clhlock::raw::MutexNode::new())
            }

            #[inline]
            fn with<R>(&self, token: &mut Self::Token, section: impl FnOnce() -> R) -> R {
                let node = token.take().unwrap_or_else(clhlock::raw::MutexNode::new);
                let guard = self.0.0.lock_with(node);
                let result = section();
                *token = Some(guard.unlock());
                result
            }
        })+
    };
}

clhlock!(
    clhlock::raw::spins::Mutex<()>,
    clhlock::raw::yields::Mutex<()>
);

/// A `pthread_spinlock_t`.
pub struct Spin(CachePadded<UnsafeCell<libc::pthread_spinlock_t>>);

// SAFETY: pthread spin locks are thread-safe.
unsafe impl Sync for Spin {}

impl Spin {
    /// A free spin lock.
    pub fn new() -> Self {
        let lock = Self(CachePadded::default());
        // SAFETY: the memory is a spin lock's, and not yet shared.
        unsafe { libc::pthread_spin_init(lock.0.0.get(), libc::PTHREAD_PROCESS_PRIVATE) };
        lock
    }
}

impl Exclusion for Spin {
    type Token = ();

    fn token(&self) {}

    #[inline]
    fn with<R>(&self, (): &mut (), section: impl FnOnce() -> R) -> R {
        // SAFETY: the lock is initialised.
        unsafe { libc::pthread_spin_lock(self.0.0.get()) };
        let result = section();
        // SAFETY: acquired above, by this thread.
        unsafe { libc::pthread_spin_unlock(self.0.0.get()) };
        result
    }
}
