//! The queue of `lock_api`'s `Condvar`, for every lock under its `Mutex`.

use super::Held;
use crate::numa::FutexHmcs;
use crate::support::condvar::{RawCondvar as Queue, Waited};
use crate::sync::interop::instant::left;
use crate::sync::mutex::patience;
use cohort_raw::{Patience, RawLock};
use core::any::Any;
use core::fmt;
use core::marker::PhantomData;
use core::time::Duration;
use lock_api_05::{RawMutex, RawMutexTimed};
use std::time::Instant;

extern crate std;

/// The queue of a `lock_api::Condvar`, 20 bytes. Waiters are notified by real-time priority, FIFO
/// among equals, and counted exactly; they may use several mutexes.
///
/// ```
/// use cohort::{basic::Mcs, compose::Gated, lock_api_05::RawCondvar};
/// use lock_api_05::{Condvar, Mutex};
///
/// static LIST: Mutex<Gated<Mcs>, Vec<u32>> = Mutex::new(Vec::new());
/// static FILLED: Condvar<RawCondvar<Gated<Mcs>>> = Condvar::new();
///
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         LIST.lock().push(1);
///         FILLED.notify_one();
///     });
///     let mut list = LIST.lock();
///     FILLED.wait_while(&mut list, |list| list.is_empty());
///     assert_eq!(list.pop(), Some(1));
/// });
/// ```
pub struct RawCondvar<L> {
    queue: Queue,
    lock: PhantomData<fn() -> L>,
}

impl<L> RawCondvar<L> {
    const fn new() -> Self {
        Self {
            queue: Queue::new(),
            lock: PhantomData,
        }
    }
}

impl<L> Default for RawCondvar<L> {
    fn default() -> Self {
        Self::new()
    }
}

impl<L> fmt::Debug for RawCondvar<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawCondvar").finish_non_exhaustive()
    }
}

impl<L: RawLock + 'static> RawCondvar<L> {
    /// # Safety
    /// The caller holds the lock by that state.
    unsafe fn wait_within(&self, lock: &L, held: &Held<L>, patience: &Patience) -> Waited {
        let default: Option<&FutexHmcs> = (lock as &dyn Any).downcast_ref();
        // SAFETY: the caller's; every thread that notifies does so below. The context stays in its block
        // and serves the later acquisition too.
        unsafe {
            match default {
                Some(lock) => self.queue.wait_with(lock, patience),
                None => self.queue.wait_between(
                    || lock.release(held.context()),
                    || lock.acquire(held.context()),
                    patience,
                ),
            }
        }
    }
}

// SAFETY: a waiter registers before it unlocks the mutex, and locks it before it returns, by the guard's
// own context. A panic between ends the process.
unsafe impl<L> lock_api_05::RawCondvar for RawCondvar<L>
where
    L: RawMutex<Guard = Held<L>> + RawLock + 'static,
{
    #[allow(clippy::declare_interior_mutable_const, reason = "the trait's")]
    const INIT: Self = Self::new();
    type RawMutex = L;

    unsafe fn wait(&self, mutex: &L, held: &mut Held<L>) {
        // SAFETY: the caller's.
        let _ = unsafe { self.wait_within(mutex, held, &Patience::ENDLESS) };
    }

    fn notify_one(&self) -> bool {
        self.queue.notify_one()
    }

    fn notify_all(&self) -> usize {
        self.queue.notify_all()
    }
}

// SAFETY: as above.
unsafe impl<L> lock_api_05::RawCondvarTimed for RawCondvar<L>
where
    L: RawMutexTimed<Guard = Held<L>, Duration = Duration, Instant = Instant> + RawLock + 'static,
{
    fn checked_duration_to_instant(timeout: &Duration) -> Option<Instant> {
        Instant::now().checked_add(*timeout)
    }

    unsafe fn wait_until(&self, mutex: &L, held: &mut Held<L>, deadline: &Instant) -> bool {
        // SAFETY: the caller's.
        let waited = unsafe { self.wait_within(mutex, held, &patience(left(*deadline))) };
        waited == Waited::GaveUp
    }
}
