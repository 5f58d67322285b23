//! `ReentrantMutex<T>`: data visible to one thread at a time, which may lock it again.
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `owner` | the holder | the holder's name; 0: none |
//! | `guards` | the owner | the number of its guards |
//! | `context` | the owner | the context of its acquisition |

use crate::door::recorder::Doing;
use crate::door::{AtomicUsize, Cell, Order, thread};
use crate::numa::FutexHmcs;
use crate::support::context::Kept;
use crate::support::defer::Defer;
use crate::sync::fair_release::ReleaseFairly;
use crate::sync::mutex::{acquiring, patience, releasing};
use cohort_raw::{Abortable, Outcome, RawLock, RawTry, ThreadOblivious};
use core::fmt;
use core::marker::PhantomData;
use core::mem::{self, ManuallyDrop};
use core::ops::Deref;
use core::ptr::NonNull;
use core::time::Duration;

/// Data visible to one thread at a time, which may lock it again: for recursive code under a lock.
/// Its guards lend the data shared, since there may be several, and stay in their thread.
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
    hold: Hold<L>,
    data: Cell<T>,
}

/// The lock, and its owner's state.
#[derive(Default)]
struct Hold<L: RawLock> {
    lock: L,
    owner: AtomicUsize,
    guards: Cell<usize>,
    context: Cell<Option<Kept<L>>>,
}

/// Shared access to a [`ReentrantMutex`]'s data; the last guard of a thread unlocks when dropped.
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
    /// Stays in its thread.
    here: PhantomData<*const ()>,
}

/// Shared access to a part of a [`ReentrantMutex`]'s data, by [`ReentrantMutexGuard::map`]; the
/// last guard of a thread unlocks when dropped.
///
/// ```
/// use cohort::{MappedReentrantMutexGuard, ReentrantMutex, ReentrantMutexGuard};
///
/// let pair = ReentrantMutex::new((1, "one"));
/// let number: MappedReentrantMutexGuard<'_, i32> =
///     ReentrantMutexGuard::map(pair.lock(), |pair| &pair.0);
/// assert_eq!(*number, 1);
/// ```
#[must_use = "the mutex is unlocked as soon as its last guard is dropped"]
pub struct MappedReentrantMutexGuard<'a, T: ?Sized, L: RawLock = FutexHmcs> {
    hold: &'a Hold<L>,
    part: NonNull<T>,
    /// Stays in its thread.
    here: PhantomData<&'a T>,
}

// SAFETY: it lends `&T`.
unsafe impl<T: ?Sized + Sync, L: RawLock> Sync for ReentrantMutexGuard<'_, T, L> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Sync, L: RawLock> Sync for MappedReentrantMutexGuard<'_, T, L> {}

/// No owner.
const NOBODY: usize = 0;

/// The calling thread's name.
fn name() -> usize {
    thread().name()
}

impl<T> ReentrantMutex<T> {
    crate::door::constructor! {
        /// Creates an unlocked mutex around `data`, under the default lock.
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
        /// Creates a mutex around `data` under `lock`, which is free.
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
                hold: Hold {
                    lock,
                    owner: AtomicUsize::new(NOBODY),
                    guards: Cell::new(0),
                    context: Cell::new(None),
                },
                data: Cell::new(data),
            }
        }
    }

    /// Returns the data, without locking: the mutex is owned.
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
    /// Borrows the data, without locking: the mutex is borrowed mutably.
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

    /// Returns the data's address. Writing there while a guard exists is a race.
    ///
    /// ```
    /// let total = cohort::ReentrantMutex::new(1);
    /// let guard = total.lock();
    /// // SAFETY: locked above, and only read.
    /// assert_eq!(unsafe { *total.data_ptr() }, *guard);
    /// ```
    pub fn data_ptr(&self) -> *mut T {
        self.data.with_mut(|data| data)
    }

    /// Returns whether the mutex was locked a moment ago; never blocks.
    ///
    /// ```
    /// let total = cohort::ReentrantMutex::new(1);
    /// let guard = total.lock();
    /// assert!(total.is_locked());
    /// drop(guard);
    /// assert!(!total.is_locked());
    /// ```
    pub fn is_locked(&self) -> bool {
        self.hold.lock.is_locked()
    }

    /// The lock. Whoever acquires it here releases it here; the mutex does not record this.
    ///
    /// ```
    /// use cohort::{RawLock, ReentrantMutex};
    ///
    /// let total = ReentrantMutex::new(1);
    /// let guard = total.lock();
    /// assert!(total.raw().is_locked());
    /// # drop(guard);
    /// ```
    pub const fn raw(&self) -> &L {
        &self.hold.lock
    }

    /// Creates a guard for the calling thread, instead of a forgotten one.
    ///
    /// ```
    /// let total = cohort::ReentrantMutex::new(1);
    /// std::mem::forget(total.lock());
    /// // SAFETY: locked and forgotten above.
    /// drop(unsafe { total.make_guard_unchecked() });
    /// assert!(!total.is_locked());
    /// ```
    ///
    /// # Safety
    /// The calling thread has locked the mutex, by a guard that was forgotten.
    pub unsafe fn make_guard_unchecked(&self) -> ReentrantMutexGuard<'_, T, L> {
        ReentrantMutexGuard {
            mutex: self,
            here: PhantomData,
        }
    }

    /// Ends a forgotten guard of the calling thread, as [`ReentrantMutexGuard::unlock_fair`] does.
    ///
    /// ```
    /// let total = cohort::ReentrantMutex::new(1);
    /// std::mem::forget(total.lock());
    /// // SAFETY: locked and forgotten above.
    /// unsafe { total.force_unlock_fair() };
    /// assert!(!total.is_locked());
    /// ```
    ///
    /// # Safety
    /// As [`force_unlock`](Self::force_unlock).
    pub unsafe fn force_unlock_fair(&self)
    where
        L: ReleaseFairly,
    {
        self.hold.leave_fair();
    }

    /// Ends a forgotten guard of the calling thread.
    ///
    /// ```
    /// let total = cohort::ReentrantMutex::new(1);
    /// std::mem::forget(total.lock());
    /// assert!(total.is_locked());
    /// // SAFETY: locked and forgotten above.
    /// unsafe { total.force_unlock() };
    /// assert!(!total.is_locked());
    /// ```
    ///
    /// # Safety
    /// The calling thread has locked the mutex, by a guard that was forgotten.
    pub unsafe fn force_unlock(&self) {
        self.hold.leave();
    }

    /// Returns whether the calling thread has locked the mutex.
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
        self.hold.is_callers()
    }
}

impl<T: ?Sized, L: RawLock + ThreadOblivious> ReentrantMutex<T, L> {
    /// Blocks until the mutex is locked; returns at once if the calling thread has already locked
    /// it.
    ///
    /// ```
    /// let total = cohort::ReentrantMutex::new(1);
    /// let (outer, inner) = (total.lock(), total.lock());
    /// assert_eq!(*outer + *inner, 2);
    /// ```
    #[cfg_attr(observed, inline(always))]
    pub fn lock(&self) -> ReentrantMutexGuard<'_, T, L> {
        // SAFETY: guaranteed by `enter`; so for all below.
        let guard = self.enter(Doing::Lock, |lock, context| unsafe {
            lock.acquire(context);
            true
        });
        guard.unwrap_or_else(|| unreachable!("an acquisition without an end has been made"))
    }

    /// Locks the mutex unless another thread has locked it; never blocks.
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
    #[cfg_attr(observed, inline(always))]
    pub fn try_lock(&self) -> Option<ReentrantMutexGuard<'_, T, L>>
    where
        L: RawTry,
    {
        // SAFETY: as above.
        self.enter(Doing::Nothing, |lock, context| unsafe {
            lock.try_acquire(context)
        })
    }

    /// Blocks until the mutex is locked or the timeout ends.
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
    #[cfg_attr(observed, inline(always))]
    pub fn try_lock_for(&self, timeout: Duration) -> Option<ReentrantMutexGuard<'_, T, L>>
    where
        L: Abortable,
    {
        let patience = patience(timeout);
        // SAFETY: as above.
        self.enter(Doing::Timed, |lock, context| unsafe {
            lock.acquire_within(context, &patience) == Outcome::Acquired
        })
    }

    /// Adds a guard to a held lock, or to the lock that `acquire` acquires. The context is new, in
    /// a block that stays, as the lock does, until the last guard has released it; or for ever.
    #[cfg_attr(observed, inline(always))]
    fn enter(
        &self,
        doing: Doing,
        acquire: impl FnOnce(&L, &L::Context) -> bool,
    ) -> Option<ReentrantMutexGuard<'_, T, L>> {
        // Not `then_some`: a guard created for nothing would be dropped.
        self.hold
            .enter(doing, acquire)
            .then(|| ReentrantMutexGuard {
                mutex: self,
                here: PhantomData,
            })
    }
}

impl<L: RawLock> Hold<L> {
    /// Returns whether the calling thread is the owner.
    fn is_callers(&self) -> bool {
        // A thread reads its own name only where it wrote it.
        self.owner.load(Order::RELAXED) == name()
    }

    /// Adds a guard for the calling thread, and makes it the owner by `acquire` unless it already
    /// is; false if it did not acquire.
    #[cfg_attr(observed, inline(always))]
    fn enter(&self, doing: Doing, acquire: impl FnOnce(&L, &L::Context) -> bool) -> bool {
        if !self.is_callers() {
            // If the lock panics, its queue may still contain the context.
            let context = ManuallyDrop::new(Kept::new());
            let acquired = acquiring(&self.lock, doing, || acquire(&self.lock, context.get()));
            let context = ManuallyDrop::into_inner(context);
            if !acquired {
                return false;
            }
            // SAFETY: the lock is held, and only its holder reaches this.
            self.context
                .with_mut(|held| unsafe { *held = Some(context) });
            self.owner.store(name(), Order::RELAXED);
        }
        // SAFETY: as above. No program lives long enough to make 2^63 guards and forget them.
        self.guards.with_mut(|guards| unsafe { *guards += 1 });
        true
    }

    /// Ends a guard of the calling thread.
    fn leave(&self) {
        // SAFETY: acquired by that context, and released once.
        self.leave_by(|lock, context| unsafe { lock.release(context) });
    }

    /// Ends a guard of the calling thread, by a fair release if it is the last.
    fn leave_fair(&self)
    where
        L: ReleaseFairly,
    {
        // SAFETY: as above.
        self.leave_by(|lock, context| unsafe { lock.release_fairly(context) });
    }

    /// Ends a guard by `leave`, runs `pause`, and acquires a new guard.
    fn without_one<R>(&self, leave: fn(&Self), pause: impl FnOnce() -> R) -> R {
        leave(self);
        let _last = Defer(|| {
            // SAFETY: as in `lock`.
            self.enter(Doing::Lock, |lock, context| unsafe {
                lock.acquire(context);
                true
            });
        });
        pause()
    }

    fn leave_by(&self, release: impl FnOnce(&L, &L::Context)) {
        // SAFETY: only the owner has guards, and reaches this.
        let left = self.guards.with_mut(|guards| unsafe {
            *guards -= 1;
            *guards
        });
        if left == 0 {
            self.owner.store(NOBODY, Order::RELAXED);
            // SAFETY: as above.
            let context = self.context.with_mut(|held| unsafe { (*held).take() });
            if let Some(context) = context {
                releasing(&self.lock, || release(&self.lock, context.get()));
            }
        }
    }
}

impl<'a, T: ?Sized, L: RawLock> ReentrantMutexGuard<'a, T, L> {
    /// Narrows the guard to a part of the data. An associated function, since the data may have a
    /// method of this name.
    ///
    /// ```
    /// use cohort::{ReentrantMutex, ReentrantMutexGuard};
    ///
    /// let pair = ReentrantMutex::new((1, "one"));
    /// let number = ReentrantMutexGuard::map(pair.lock(), |pair| &pair.0);
    /// assert!(*number == 1 && pair.is_owned_by_current_thread());
    /// drop(number);
    /// assert!(!pair.is_locked());
    /// ```
    pub fn map<U: ?Sized>(
        this: Self,
        part: impl FnOnce(&T) -> &U,
    ) -> MappedReentrantMutexGuard<'a, U, L> {
        let part = NonNull::from(part(&this));
        Self::with_part(this, part)
    }

    /// Narrows the guard to a part of the data, if there is one.
    ///
    /// # Errors
    /// The guard, if there is none.
    ///
    /// ```
    /// use cohort::{ReentrantMutex, ReentrantMutexGuard};
    ///
    /// let words = ReentrantMutex::new(vec!["one"]);
    /// let all = ReentrantMutexGuard::try_map(words.lock(), |words| words.get(1)).unwrap_err();
    /// assert_eq!(*ReentrantMutexGuard::try_map(all, |words| words.first()).unwrap(), "one");
    /// ```
    pub fn try_map<U: ?Sized>(
        this: Self,
        part: impl FnOnce(&T) -> Option<&U>,
    ) -> Result<MappedReentrantMutexGuard<'a, U, L>, Self> {
        match part(&this).map(NonNull::from) {
            Some(part) => Ok(Self::with_part(this, part)),
            None => Err(this),
        }
    }

    fn with_part<U: ?Sized>(this: Self, part: NonNull<U>) -> MappedReentrantMutexGuard<'a, U, L> {
        let hold = &this.mutex.hold;
        mem::forget(this);
        MappedReentrantMutexGuard {
            hold,
            part,
            here: PhantomData,
        }
    }

    /// The guard's mutex.
    ///
    /// ```
    /// use cohort::{ReentrantMutex, ReentrantMutexGuard};
    ///
    /// let total = ReentrantMutex::new(1);
    /// let guard = total.lock();
    /// assert!(ReentrantMutexGuard::remutex(&guard).is_owned_by_current_thread());
    /// ```
    pub const fn remutex(this: &Self) -> &'a ReentrantMutex<T, L> {
        this.mutex
    }

    /// Ends this guard, runs `pause`, and blocks until the thread has locked the mutex again. Other
    /// threads may lock the mutex meanwhile, if this is the thread's only guard.
    ///
    /// ```
    /// use cohort::{ReentrantMutex, ReentrantMutexGuard};
    ///
    /// let total = ReentrantMutex::new(1);
    /// let mut guard = total.lock();
    /// ReentrantMutexGuard::unlocked(&mut guard, || assert!(!total.is_locked()));
    /// assert!(total.is_owned_by_current_thread());
    /// ```
    pub fn unlocked<R>(this: &mut Self, pause: impl FnOnce() -> R) -> R {
        this.mutex.hold.without_one(Hold::leave, pause)
    }

    /// [`unlocked`](Self::unlocked), by the release of [`unlock_fair`](Self::unlock_fair).
    ///
    /// ```
    /// use cohort::{ReentrantMutex, ReentrantMutexGuard};
    ///
    /// let total = ReentrantMutex::new(1);
    /// let mut guard = total.lock();
    /// ReentrantMutexGuard::unlocked_fair(&mut guard, || assert!(!total.is_locked()));
    /// assert!(total.is_owned_by_current_thread());
    /// ```
    pub fn unlocked_fair<R>(this: &mut Self, pause: impl FnOnce() -> R) -> R
    where
        L: ReleaseFairly,
    {
        this.mutex.hold.without_one(Hold::leave_fair, pause)
    }

    /// Hands the mutex to a waiter, if there is one and this is the thread's only guard, and blocks
    /// until it is locked again.
    ///
    /// ```
    /// use cohort::{ReentrantMutex, ReentrantMutexGuard};
    ///
    /// let total = ReentrantMutex::new(1);
    /// let mut guard = total.lock();
    /// ReentrantMutexGuard::bump(&mut guard);
    /// assert!(total.is_owned_by_current_thread());
    /// ```
    pub fn bump(this: &mut Self)
    where
        L: ReleaseFairly,
    {
        Self::unlocked_fair(this, || ());
    }

    /// Ends the guard. The thread's last guard hands the mutex to a sleeping waiter, ahead of all
    /// arrivals: see [`ReleaseFairly`].
    ///
    /// ```
    /// use cohort::{ReentrantMutex, ReentrantMutexGuard};
    ///
    /// let total = ReentrantMutex::new(1);
    /// ReentrantMutexGuard::unlock_fair(total.lock());
    /// assert!(!total.is_locked());
    /// ```
    pub fn unlock_fair(this: Self)
    where
        L: ReleaseFairly,
    {
        let hold = &this.mutex.hold;
        mem::forget(this);
        hold.leave_fair();
    }
}

impl<'a, T: ?Sized, L: RawLock> MappedReentrantMutexGuard<'a, T, L> {
    /// As [`ReentrantMutexGuard::unlock_fair`].
    ///
    /// ```
    /// use cohort::{MappedReentrantMutexGuard, ReentrantMutex, ReentrantMutexGuard};
    ///
    /// let pair = ReentrantMutex::new((1, 2));
    /// let first = ReentrantMutexGuard::map(pair.lock(), |pair| &pair.0);
    /// MappedReentrantMutexGuard::unlock_fair(first);
    /// assert!(!pair.is_locked());
    /// ```
    pub fn unlock_fair(this: Self)
    where
        L: ReleaseFairly,
    {
        let hold = this.hold;
        mem::forget(this);
        hold.leave_fair();
    }

    /// Narrows the guard to a part of its part, if there is one.
    ///
    /// # Errors
    /// The guard, if there is none.
    ///
    /// ```
    /// use cohort::{MappedReentrantMutexGuard, ReentrantMutex, ReentrantMutexGuard};
    ///
    /// let words = ReentrantMutex::new((1, ["one"]));
    /// let all = ReentrantMutexGuard::map(words.lock(), |words| &words.1[..]);
    /// assert!(MappedReentrantMutexGuard::try_map(all, |words| words.get(1)).is_err());
    /// ```
    pub fn try_map<U: ?Sized>(
        this: Self,
        part: impl FnOnce(&T) -> Option<&U>,
    ) -> Result<MappedReentrantMutexGuard<'a, U, L>, Self> {
        let Some(part) = part(&this).map(NonNull::from) else {
            return Err(this);
        };
        let hold = this.hold;
        mem::forget(this);
        Ok(MappedReentrantMutexGuard {
            hold,
            part,
            here: PhantomData,
        })
    }

    /// Narrows the guard to a part of its part.
    ///
    /// ```
    /// use cohort::{MappedReentrantMutexGuard, ReentrantMutex, ReentrantMutexGuard};
    ///
    /// let nested = ReentrantMutex::new((1, (2, 3)));
    /// let pair = ReentrantMutexGuard::map(nested.lock(), |nested| &nested.1);
    /// assert_eq!(*MappedReentrantMutexGuard::map(pair, |pair| &pair.1), 3);
    /// ```
    pub fn map<U: ?Sized>(
        this: Self,
        part: impl FnOnce(&T) -> &U,
    ) -> MappedReentrantMutexGuard<'a, U, L> {
        let (hold, part) = (this.hold, NonNull::from(part(&this)));
        mem::forget(this);
        MappedReentrantMutexGuard {
            hold,
            part,
            here: PhantomData,
        }
    }
}

impl<T: ?Sized, L: RawLock> Deref for MappedReentrantMutexGuard<'_, T, L> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: a part of the data, which the guard's thread has locked and lends shared only.
        unsafe { self.part.as_ref() }
    }
}

impl<T: ?Sized, L: RawLock> Drop for MappedReentrantMutexGuard<'_, T, L> {
    fn drop(&mut self) {
        self.hold.leave();
    }
}

impl<T: ?Sized, L: RawLock> Deref for ReentrantMutexGuard<'_, T, L> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard's thread holds the lock and lends the data shared only.
        self.mutex.data.with(|data| unsafe { &*data })
    }
}

impl<T: ?Sized, L: RawLock> Drop for ReentrantMutexGuard<'_, T, L> {
    fn drop(&mut self) {
        self.mutex.hold.leave();
    }
}

impl<T: ?Sized + fmt::Debug, L: RawLock> fmt::Debug for ReentrantMutexGuard<'_, T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug, L: RawLock> fmt::Debug for MappedReentrantMutexGuard<'_, T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display, L: RawLock> fmt::Display for ReentrantMutexGuard<'_, T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display, L: RawLock> fmt::Display for MappedReentrantMutexGuard<'_, T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Prints the data, or that another thread has locked it.
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
