//! `FairMutex<T>`: a mutex in FIFO order.

use crate::basic::Ticket;
use crate::compose::Gated;
use crate::sync::mutex::{MappedMutexGuard, Mutex, MutexGuard};
use core::fmt;
use core::ops::{Deref, DerefMut};

/// The lock of a [`FairMutex`]: a ticket lock that admits as many waiters as there are CPUs; the
/// others sleep in front of it.
///
/// ```
/// use cohort::{FairLock, Mutex};
///
/// let total: Mutex<u64, FairLock> = Mutex::from(1);
/// *total.lock() += 1;
/// ```
pub type FairLock = Gated<Ticket>;

/// Access to a [`FairMutex`]'s data; unlocks when dropped.
///
/// ```
/// use cohort::{FairMutex, FairMutexGuard};
///
/// let total = FairMutex::new(1);
/// let guard: FairMutexGuard<'_, u64> = total.lock();
/// assert_eq!(*guard, 1);
/// ```
pub type FairMutexGuard<'a, T> = MutexGuard<'a, T, FairLock>;

/// Access to a part of a [`FairMutex`]'s data; unlocks when dropped.
///
/// ```
/// use cohort::{FairMutex, MappedFairMutexGuard, MutexGuard};
///
/// let pair = FairMutex::new((1, "one"));
/// let number: MappedFairMutexGuard<'_, i32> = MutexGuard::map(pair.lock(), |pair| &mut pair.0);
/// assert_eq!(*number, 1);
/// ```
pub type MappedFairMutexGuard<'a, T> = MappedMutexGuard<'a, T, FairLock>;

/// A [`Mutex`] that grants to its queue in FIFO order; a hand-over may have to wait until a
/// preempted waiter runs. It has all operations of a `Mutex` under [`FairLock`].
///
/// Waiters with deadlines stand beside the queue. After half a millisecond, or half of its time,
/// such a waiter gets the mutex at the next release, ahead of the queue.
///
/// ```
/// use cohort::FairMutex;
///
/// static TOTAL: FairMutex<u64> = FairMutex::new(0);
/// std::thread::scope(|scope| {
///     for _ in 0..4 {
///         scope.spawn(|| *TOTAL.lock() += 1);
///     }
/// });
/// let guard = TOTAL.try_lock().unwrap();
/// assert_eq!(*guard, 4);
/// assert!(TOTAL.try_lock_for(std::time::Duration::from_millis(1)).is_none());
/// ```
#[derive(Default)]
pub struct FairMutex<T: ?Sized> {
    mutex: Mutex<T, FairLock>,
}

impl<T> FairMutex<T> {
    crate::door::constructor! {
        /// An unlocked mutex around `data`.
        ///
        /// ```
        /// assert_eq!(*cohort::FairMutex::new(1).lock(), 1);
        /// ```
        #[must_use]
        pub fn new(data: T) -> Self {
            Self {
                mutex: Mutex::from_raw(Gated::new(Ticket::new()), data),
            }
        }
    }

    /// Unwraps the data.
    ///
    /// ```
    /// assert_eq!(cohort::FairMutex::new(1).into_inner(), 1);
    /// ```
    #[must_use]
    pub fn into_inner(self) -> T {
        self.mutex.into_inner()
    }
}

impl<T> From<T> for FairMutex<T> {
    fn from(data: T) -> Self {
        Self::new(data)
    }
}

impl<T: ?Sized> Deref for FairMutex<T> {
    type Target = Mutex<T, FairLock>;

    fn deref(&self) -> &Self::Target {
        &self.mutex
    }
}

impl<T: ?Sized> DerefMut for FairMutex<T> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.mutex
    }
}

/// Prints the data, or that it is locked.
impl<T: ?Sized + fmt::Debug> fmt::Debug for FairMutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.mutex.fmt(f)
    }
}
