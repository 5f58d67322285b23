//! `ReentrantMutex<T>`: data that one thread at a time may see, which may lock it again.
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `owner` | the thread that holds the lock | that thread's name; 0: nobody's |
//! | `guards` | the owner | how many guards it has |
//! | `context` | the owner | by which it holds the lock |

use crate::context::Kept;
use crate::door::{AtomicUsize, Cell, Order, thread};
use crate::mutex::patience;
use crate::numa::FutexHmcs;
use cohort_raw::{Abortable, Outcome, RawLock, RawTry, ThreadOblivious};
use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;
use core::ptr;
use core::time::Duration;

/// Data that one thread at a time may see, which may lock it again: for code that calls itself
/// while it holds the lock.  Its guards lend the data shared, since there may be several, and stay
/// in their thread.
///
/// ```
/// use cohort::ReentrantMutex;
/// use std::cell::Cell;
///
/// static TOTAL: ReentrantMutex<Cell<u64>> = ReentrantMutex::new(Cell::new(0));
///
/// fn add(times: u64) {
///     let total = TOTAL.lock();
///     if times > 0 {
///         total.set(total.get() + 1);
///         add(times - 1);
///     }
/// }
///
/// std::thread::scope(|scope| {
///     for _ in 0..4 {
///         scope.spawn(|| add(10));
///     }
/// });
/// assert_eq!(TOTAL.lock().get(), 40);
/// ```
///
/// A guard cannot go to another thread:
///
/// ```compile_fail,E0277
/// let mutex = cohort::ReentrantMutex::new(1);
/// let guard = mutex.lock();
/// std::thread::scope(|scope| {
///     scope.spawn(move || drop(guard));
/// });
/// ```
#[derive(Default)]
pub struct ReentrantMutex<T: ?Sized, L: RawLock = FutexHmcs> {
    lock: L,
    owner: AtomicUsize,
    guards: Cell<usize>,
    context: Cell<Option<Kept<L>>>,
    data: Cell<T>,
}

/// Sight of a [`ReentrantMutex`]'s data; the last of a thread's guards unlocks when dropped.
///
/// ```
/// use cohort::{ReentrantMutex, ReentrantMutexGuard};
///
/// let total = ReentrantMutex::new(1);
/// let outer: ReentrantMutexGuard<'_, i32> = total.lock();
/// let inner = total.lock();
/// assert_eq!(*outer, *inner);
/// ```
#[must_use = "the mutex is unlocked as soon as its last guard is dropped"]
pub struct ReentrantMutexGuard<'a, T: ?Sized, L: RawLock = FutexHmcs> {
    mutex: &'a ReentrantMutex<T, L>,
    /// Its thread's.
    here: PhantomData<*const ()>,
}

/// The owner's name of nobody.
const NOBODY: usize = 0;

/// A name of the calling thread's, which no other living thread has, and a forked child's thread
/// keeps.
fn name() -> usize {
    ptr::from_ref(thread()).addr()
}

impl<T> ReentrantMutex<T> {
    crate::door::constructor! {
        /// A mutex around `data`, unlocked, under the default lock.
        ///
        /// ```
        /// static TOTAL: cohort::ReentrantMutex<u64> = cohort::ReentrantMutex::new(1);
        /// assert_eq!(*TOTAL.lock(), 1);
        /// ```
        #[must_use]
        pub fn new(data: T) -> Self {
            Self::from_raw(FutexHmcs::new(), data)
        }
    }
}

impl<T, L: RawLock> ReentrantMutex<T, L> {
    crate::door::constructor! {
        /// A mutex around `data` under that lock, which nobody holds.
        ///
        /// ```
        /// use cohort::ReentrantMutex;
        /// use cohort::basic::Ticket;
        ///
        /// static TOTAL: ReentrantMutex<u64, Ticket> = ReentrantMutex::from_raw(Ticket::new(), 1);
        /// assert_eq!(*TOTAL.lock(), 1);
        /// ```
        #[must_use]
        pub fn from_raw(lock: L, data: T) -> Self {
            Self {
                lock,
                owner: AtomicUsize::new(NOBODY),
                guards: Cell::new(0),
                context: Cell::new(None),
                data: Cell::new(data),
            }
        }
    }

    /// The data, of a mutex that nobody else has any more.
    ///
    /// ```
    /// assert_eq!(cohort::ReentrantMutex::new(1).into_inner(), 1);
    /// ```
    #[must_use]
    pub fn into_inner(self) -> T {
        self.data.into_inner()
    }
}

impl<T, L: RawLock> From<T> for ReentrantMutex<T, L> {
    fn from(data: T) -> Self {
        Self::from_raw(L::default(), data)
    }
}

impl<T: ?Sized, L: RawLock> ReentrantMutex<T, L> {
    /// The data, without locking: nobody else has the mutex.
    ///
    /// ```
    /// let mut total = cohort::ReentrantMutex::new(1);
    /// *total.get_mut() += 1;
    /// assert_eq!(*total.lock(), 2);
    /// ```
    pub fn get_mut(&mut self) -> &mut T {
        // SAFETY: borrowed mutably.
        self.data.with_mut(|data| unsafe { &mut *data })
    }

    /// Whether somebody had locked the mutex a moment ago; never blocks.
    ///
    /// ```
    /// let total = cohort::ReentrantMutex::new(1);
    /// let guard = total.lock();
    /// assert!(total.is_locked());
    /// drop(guard);
    /// assert!(!total.is_locked());
    /// ```
    pub fn is_locked(&self) -> bool {
        self.lock.is_locked()
    }

    /// Whether the calling thread has locked the mutex.
    ///
    /// ```
    /// let total = cohort::ReentrantMutex::new(1);
    /// let guard = total.lock();
    /// assert!(total.is_owned_by_current_thread());
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| assert!(!total.is_owned_by_current_thread()));
    /// });
    /// # drop(guard);
    /// ```
    pub fn is_owned_by_current_thread(&self) -> bool {
        // A thread finds its own name only where it has written that itself.
        self.owner.load(Order::RELAXED) == name()
    }
}

impl<T: ?Sized, L: RawLock + ThreadOblivious> ReentrantMutex<T, L> {
    /// Blocks until the mutex is locked; at once, if the calling thread has locked it already.
    ///
    /// ```
    /// let total = cohort::ReentrantMutex::new(1);
    /// let (outer, inner) = (total.lock(), total.lock());
    /// assert_eq!(*outer + *inner, 2);
    /// ```
    pub fn lock(&self) -> ReentrantMutexGuard<'_, T, L> {
        let guard = self.enter(|context| {
            self.lock.acquire(context);
            true
        });
        guard.unwrap_or_else(|| unreachable!("an acquisition without an end has been made"))
    }

    /// Locks the mutex if no other thread has; never blocks.
    ///
    /// ```
    /// let total = cohort::ReentrantMutex::new(1);
    /// let guard = total.lock();
    /// assert!(total.try_lock().is_some());
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| assert!(total.try_lock().is_none()));
    /// });
    /// # drop(guard);
    /// ```
    pub fn try_lock(&self) -> Option<ReentrantMutexGuard<'_, T, L>>
    where
        L: RawTry,
    {
        self.enter(|context| self.lock.try_acquire(context))
    }

    /// Blocks until the mutex is locked, but no longer than that.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let mutex = cohort::ReentrantMutex::new(1);
    /// let soon = Duration::from_millis(1);
    /// let guard = mutex.lock();
    /// assert!(mutex.try_lock_for(soon).is_some());
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| assert!(mutex.try_lock_for(soon).is_none()));
    /// });
    /// assert_eq!(*guard, 1);
    /// ```
    pub fn try_lock_for(&self, timeout: Duration) -> Option<ReentrantMutexGuard<'_, T, L>>
    where
        L: Abortable,
    {
        let patience = patience(timeout);
        self.enter(|context| self.lock.acquire_within(context, &patience) == Outcome::Acquired)
    }

    /// One guard more, of what is held, or of what `acquire` acquires.
    fn enter(
        &self,
        acquire: impl FnOnce(&L::Context) -> bool,
    ) -> Option<ReentrantMutexGuard<'_, T, L>> {
        if !self.is_owned_by_current_thread() {
            let context = Kept::new();
            if !acquire(context.get()) {
                return None;
            }
            // SAFETY: the lock is held, and its holder alone comes here.
            self.context
                .with_mut(|held| unsafe { *held = Some(context) });
            self.owner.store(name(), Order::RELAXED);
        }
        // SAFETY: as above.  No program lives long enough to make 2^63 guards and forget them.
        self.guards.with_mut(|guards| unsafe { *guards += 1 });
        Some(ReentrantMutexGuard {
            mutex: self,
            here: PhantomData,
        })
    }
}

impl<T: ?Sized, L: RawLock> ReentrantMutex<T, L> {
    /// Ends one of the calling thread's guards.
    fn leave(&self) {
        // SAFETY: the owner alone has guards, and comes here.
        let left = self.guards.with_mut(|guards| unsafe {
            *guards -= 1;
            *guards
        });
        if left == 0 {
            self.owner.store(NOBODY, Order::RELAXED);
            // SAFETY: as above.
            let context = self.context.with_mut(|held| unsafe { (*held).take() });
            if let Some(context) = context {
                // SAFETY: acquired by that context, and released once.
                unsafe { self.lock.release(context.get()) };
            }
        }
    }
}

impl<T: ?Sized, L: RawLock> Deref for ReentrantMutexGuard<'_, T, L> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard's thread holds the lock, and nobody has the data mutably.
        self.mutex.data.with(|data| unsafe { &*data })
    }
}

impl<T: ?Sized, L: RawLock> Drop for ReentrantMutexGuard<'_, T, L> {
    fn drop(&mut self) {
        self.mutex.leave();
    }
}

impl<T: ?Sized + fmt::Debug, L: RawLock> fmt::Debug for ReentrantMutexGuard<'_, T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// What the data is, or that another thread has locked it.
impl<T: ?Sized + fmt::Debug, L: RawTry + ThreadOblivious> fmt::Debug for ReentrantMutex<T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.try_lock() {
            Some(guard) => f
                .debug_struct("ReentrantMutex")
                .field("data", &&*guard)
                .finish(),
            None => write!(f, "ReentrantMutex {{ <locked> }}"),
        }
    }
}
