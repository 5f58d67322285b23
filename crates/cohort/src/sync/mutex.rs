//! `Mutex<T>`: data behind a lock, the default one or any other.

use crate::door::recorder::{self, Doing, How};
use crate::door::{Cell, now, to_its_end};
use crate::numa::DefaultLock;
use crate::support::context::Kept;
use crate::support::defer::Defer;
use crate::support::heed::heeding;
use crate::sync::fair_release::ReleaseFairly;
use crate::sync::token::Token;
use cohort_raw::{Abortable, Deadline, Outcome, Patience, RawLock, RawTry, ThreadOblivious};
use core::fmt;
use core::marker::PhantomData;
use core::mem::{self, ManuallyDrop};
use core::ops::{Deref, DerefMut};
use core::ptr::{self, NonNull};
use core::time::Duration;

/// Data accessed by one thread at a time. The default lock adds eight bytes to the data. Not
/// poisoned by a panic, which releases the lock.
///
/// Any other lock can replace the default lock. Some locks' acquisitions have a context, such as a
/// queue node. A guard can be moved and a context cannot, so a guard keeps it in a block of a pool.
/// Closures ([`locking`](Self::locking)) keep it in their frame.
///
/// ```
/// use cohort::Mutex;
/// use cohort::basic::{Mcs, Ticket};
/// use cohort::compose::{CacheGroup, Clof, Gated, Numa};
///
/// // Threads that share a cache take turns first, then those of a NUMA node.
/// type Near = Clof<Ticket, Clof<Mcs, Ticket, Numa>, CacheGroup>;
/// let total: Mutex<u64, Near> = Mutex::from(1);
/// assert_eq!(total.locking(|total| { *total += 1; *total }), 2);
///
/// // In strict order, but for more threads than CPUs.
/// let list: Mutex<Vec<u32>, Gated<Mcs>> = Mutex::from(Vec::new());
/// list.lock().push(1);
///
/// // Data without a size of its own.
/// let words: &Mutex<[u32], Ticket> = &Mutex::<_, Ticket>::from([1, 2, 3]);
/// words.lock()[0] = 4;
/// assert_eq!(format!("{words:?}"), "Mutex { data: [4, 2, 3] }");
/// ```
///
/// Data must be able to move to another thread to be shared by a mutex,
///
/// ```compile_fail,E0277
/// # use cohort::Mutex;
/// # use std::rc::Rc;
/// let shared = Mutex::new(Rc::new(1));
/// std::thread::scope(|scope| {
///     scope.spawn(|| drop(shared.lock()));
/// });
/// ```
///
/// and to be shared between threads if its guard is:
///
/// ```compile_fail,E0277
/// # use cohort::Mutex;
/// # use std::cell::Cell;
/// let mutex = Mutex::new(Cell::new(1));
/// let guard = mutex.lock();
/// std::thread::scope(|scope| {
///     scope.spawn(|| guard.set(2));
/// });
/// ```
#[derive(Default)]
pub struct Mutex<T: ?Sized, L = DefaultLock> {
    lock: L,
    data: Cell<T>,
}

/// Access to a [`Mutex`]'s data; unlocks when dropped. A forgotten guard leaves the mutex locked.
///
/// ```
/// let total = cohort::Mutex::new(1);
/// let mut guard: cohort::MutexGuard<'_, u64> = total.lock();
/// *guard += 1;
/// assert_eq!(format!("{guard}"), "2");
/// ```
#[must_use = "the mutex is unlocked as soon as its guard is dropped"]
pub struct MutexGuard<'a, T: ?Sized, L: RawLock = DefaultLock> {
    mutex: &'a Mutex<T, L>,
    /// Dropped by the guard itself, after the release.
    context: ManuallyDrop<Kept<L>>,
    /// A guard may be shared if `&mut T` may.
    data: PhantomData<&'a mut T>,
}

/// Access to a part of a [`Mutex`]'s data, by [`MutexGuard::map`]; unlocks when dropped.
///
/// ```
/// use cohort::{MappedMutexGuard, Mutex, MutexGuard};
///
/// let pair = Mutex::new((1, "one"));
/// let number: MappedMutexGuard<'_, i32> = MutexGuard::map(pair.lock(), |pair| &mut pair.0);
/// assert_eq!(*number, 1);
/// ```
#[must_use = "the mutex is unlocked as soon as its guard is dropped"]
pub struct MappedMutexGuard<'a, T: ?Sized, L: RawLock = DefaultLock> {
    lock: &'a L,
    context: ManuallyDrop<Kept<L>>,
    part: NonNull<T>,
    data: PhantomData<&'a mut T>,
}

// SAFETY: it is `&mut T`, and the right to release the lock. Guards exist only for locks that any
// thread may release.
unsafe impl<T: ?Sized + Send, L: RawLock<Context: Send>> Send for MappedMutexGuard<'_, T, L> {}
// SAFETY: it lends `&T`.
unsafe impl<T: ?Sized + Sync, L: RawLock<Context: Sync>> Sync for MappedMutexGuard<'_, T, L> {}

impl<T> Mutex<T> {
    crate::door::constructor! {
        /// Creates an unlocked mutex around `data`, under the default lock.
        ///
        /// ```
        /// static TOTAL: cohort::Mutex<u64> = cohort::Mutex::new(0);
        /// *TOTAL.lock() += 1;
        /// ```
        #[must_use]
        pub fn new(data: T) -> Self {
            Self::from_raw(DefaultLock::new(), data)
        }
    }
}

impl<T, L> Mutex<T, L> {
    crate::door::constructor! {
        /// Creates a mutex around `data` under `lock`, which is free: for statics, if the lock has
        /// a `const` constructor. Elsewhere, `Mutex::from(data)` creates both.
        ///
        /// [`Mutex::new`] is for the default lock alone. For all locks, a plain `Mutex::new(0)`
        /// would be ambiguous (E0283): Rust uses a parameter's default in written types only, not
        /// in inferred ones. For the same reason `HashMap::new` makes maps of the default hasher.
        /// Types of the feature `lock_api` always name their lock: `static TURNS:
        /// lock_api::Mutex<Ticket, u32> = lock_api::Mutex::new(0)`.
        ///
        /// ```
        /// use cohort::Mutex;
        /// use cohort::basic::{Mcs, Ticket};
        /// use cohort::compose::{CTktMcs, Gated};
        ///
        /// static TURNS: Mutex<u32, Ticket> = Mutex::from_raw(Ticket::new(), 0);
        /// static QUEUE: Mutex<u32, Gated<Mcs>> = Mutex::from_raw(Gated::new(Mcs::new()), 0);
        /// static NODES: Mutex<u32, CTktMcs> = Mutex::from_raw(CTktMcs::new(), 0);
        /// *TURNS.lock() += 1;
        /// *QUEUE.lock() += 1;
        /// *NODES.lock() += 1;
        /// assert_eq!(*TURNS.lock() + *QUEUE.lock() + *NODES.lock(), 3);
        /// ```
        #[must_use]
        pub fn from_raw(lock: L, data: T) -> Self {
            Self {
                lock,
                data: Cell::new(data),
            }
        }
    }

    /// Returns the data, without locking: the mutex is owned.
    ///
    /// ```
    /// assert_eq!(cohort::Mutex::new(1).into_inner(), 1);
    /// ```
    #[must_use]
    pub fn into_inner(self) -> T {
        self.data.into_inner()
    }
}

impl<T, L: RawLock> From<T> for Mutex<T, L> {
    fn from(data: T) -> Self {
        Self::from_raw(L::default(), data)
    }
}

impl<T: ?Sized, L> Mutex<T, L> {
    /// Returns the data's address. Access without holding the mutex is a race.
    ///
    /// ```
    /// let total = cohort::Mutex::new(1);
    /// let guard = total.lock();
    /// // SAFETY: locked above.
    /// assert_eq!(unsafe { *total.data_ptr() }, 1);
    /// # drop(guard);
    /// ```
    pub fn data_ptr(&self) -> *mut T {
        self.data.with_mut(|data| data)
    }

    /// Borrows the data, without locking: the mutex is borrowed mutably.
    ///
    /// ```
    /// let mut total = cohort::Mutex::new(1);
    /// *total.get_mut() += 1;
    /// assert_eq!(total.into_inner(), 2);
    /// ```
    pub fn get_mut(&mut self) -> &mut T {
        // SAFETY: borrowed mutably.
        self.data.with_mut(|data| unsafe { &mut *data })
    }

    /// The lock. Whoever acquires it here releases it here.
    ///
    /// ```
    /// use cohort::{Mutex, RawLock, basic::Ticket};
    ///
    /// let total: Mutex<u64, Ticket> = Mutex::from(1);
    /// // SAFETY: the lock has no contexts, and stays for the release.
    /// unsafe {
    ///     total.raw().acquire(&());
    ///     assert!(total.try_lock().is_none());
    ///     total.raw().release(&());
    /// }
    /// ```
    pub const fn raw(&self) -> &L {
        &self.lock
    }
}

impl<T: ?Sized, L: RawLock> Mutex<T, L> {
    /// Returns whether the mutex was locked a moment ago; never blocks.
    ///
    /// ```
    /// let total = cohort::Mutex::new(1);
    /// assert!(!total.is_locked());
    /// let guard = total.lock();
    /// assert!(total.is_locked());
    /// # drop(guard);
    /// ```
    pub fn is_locked(&self) -> bool {
        self.lock.is_locked()
    }

    /// Unlocks a mutex after its guard was forgotten, as [`MutexGuard::unlock_fair`] does.
    ///
    /// ```
    /// let total = cohort::Mutex::new(1);
    /// std::mem::forget(total.lock());
    /// // SAFETY: locked and forgotten above.
    /// unsafe { total.force_unlock_fair() };
    /// assert!(!total.is_locked());
    /// ```
    ///
    /// # Safety
    /// The mutex is locked, by a guard that was forgotten.
    pub unsafe fn force_unlock_fair(&self)
    where
        L: RawLock<Context = ()> + ReleaseFairly,
    {
        // SAFETY: the caller's.
        releasing(&self.lock, || unsafe { self.lock.release_fairly(&()) });
    }

    /// Creates a guard of a locked mutex without one: its guard was forgotten, or the lock was
    /// [acquired directly](Self::raw). Only for locks without contexts, since a guard keeps the
    /// context of its acquisition.
    ///
    /// ```
    /// let total = cohort::Mutex::new(1);
    /// std::mem::forget(total.lock());
    /// // SAFETY: locked and forgotten above.
    /// drop(unsafe { total.make_guard_unchecked() });
    /// assert!(!total.is_locked());
    /// ```
    ///
    /// # Safety
    /// The mutex is locked, the caller is entitled to unlock it, and there is no other guard.
    pub unsafe fn make_guard_unchecked(&self) -> MutexGuard<'_, T, L>
    where
        L: RawLock<Context = ()> + ThreadOblivious,
    {
        self.guard(Kept::new())
    }

    /// Unlocks a mutex after its guard was forgotten.
    ///
    /// ```
    /// let total = cohort::Mutex::new(1);
    /// std::mem::forget(total.lock());
    /// assert!(total.is_locked());
    /// // SAFETY: locked and forgotten above.
    /// unsafe { total.force_unlock() };
    /// assert!(!total.is_locked());
    /// ```
    ///
    /// # Safety
    /// The mutex is locked, by a guard that was forgotten.
    pub unsafe fn force_unlock(&self)
    where
        L: RawLock<Context = ()> + ThreadOblivious,
    {
        // SAFETY: the caller's.
        unsafe { release(&self.lock, &()) };
    }
}

/// Acquires a mutex's lock as `acquire` does, and reports it.
#[inline(always)]
pub(crate) fn acquiring<L: RawLock>(
    lock: &L,
    doing: Doing,
    acquire: impl FnOnce() -> bool,
) -> bool {
    let object = ptr::from_ref(lock).addr();
    recorder::acquiring(doing, How::Own, object, || lock.is_locked(), acquire)
}

/// Releases a mutex's lock as `release` does, and reports it.
#[inline(always)]
pub(crate) fn releasing<L: RawLock>(lock: &L, release: impl FnOnce()) {
    recorder::releasing(How::Own, ptr::from_ref(lock).addr(), release);
}

/// Acquires a mutex's lock, and reports it.
///
/// # Safety
/// As [`RawLock::acquire`].
#[inline(always)]
pub(crate) unsafe fn acquire<L: RawLock>(lock: &L, context: &L::Context) {
    acquiring(lock, Doing::Lock, || {
        // SAFETY: the caller's.
        unsafe { lock.acquire(context) };
        true
    });
}

/// Releases a mutex's lock, and reports it.
///
/// # Safety
/// As [`RawLock::release`].
#[inline(always)]
pub(crate) unsafe fn release<L: RawLock>(lock: &L, context: &L::Context) {
    // SAFETY: the caller's.
    releasing(lock, || unsafe { lock.release(context) });
}

/// Access by guards, which may move to another thread. Each function has its own bounds on the
/// lock, so that the compiler can suggest an alternative to an unsuitable lock.
impl<T: ?Sized, L> Mutex<T, L> {
    #[inline(always)]
    pub(crate) fn guard(&self, context: Kept<L>) -> MutexGuard<'_, T, L>
    where
        L: RawLock + ThreadOblivious,
    {
        MutexGuard {
            mutex: self,
            context: ManuallyDrop::new(context),
            data: PhantomData,
        }
    }

    /// Blocks until the mutex is locked. Locking it twice in one thread never returns.
    ///
    /// ```
    /// let words = cohort::Mutex::new(vec!["one"]);
    /// words.lock().push("two");
    /// assert_eq!(*words.lock(), ["one", "two"]);
    /// ```
    #[cfg_attr(observed, inline(always))]
    #[cfg_attr(not(observed), inline)]
    pub fn lock(&self) -> MutexGuard<'_, T, L>
    where
        L: RawLock + ThreadOblivious,
    {
        // If the lock panics, its queue may still contain the context.
        let context = ManuallyDrop::new(Kept::new());
        // SAFETY: a new context, in a block. Its guard keeps it, and borrows the lock until the
        // release; if the guard is forgotten, the lock is not released, and the block stays. So for
        // all guards.
        unsafe { acquire(&self.lock, context.get()) };
        self.guard(ManuallyDrop::into_inner(context))
    }

    /// Locks the mutex if it is free; never blocks.
    ///
    /// ```
    /// let total = cohort::Mutex::new(1);
    /// let guard = total.lock();
    /// assert!(total.try_lock().is_none());
    /// drop(guard);
    /// assert_eq!(total.try_lock().as_deref(), Some(&1));
    /// ```
    #[cfg_attr(observed, inline(always))]
    #[cfg_attr(not(observed), inline)]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T, L>>
    where
        L: RawTry + ThreadOblivious,
    {
        let context = ManuallyDrop::new(Kept::new());
        // SAFETY: as in `lock`.
        let locked = acquiring(&self.lock, Doing::Nothing, || unsafe {
            self.lock.try_acquire(context.get())
        });
        let context = ManuallyDrop::into_inner(context);
        locked.then(|| self.guard(context))
    }

    /// Blocks until the mutex is locked or patience runs out.
    ///
    /// ```
    /// use cohort::{Deadline, Mutex, Patience};
    ///
    /// let total = Mutex::new(1);
    /// let past = Patience::until(Deadline::monotonic(1));
    /// let guard = total.lock();
    /// assert!(total.lock_within(&past).is_none());
    /// drop(guard);
    /// assert!(total.lock_within(&Patience::ENDLESS).is_some());
    /// ```
    #[cfg_attr(observed, inline(always))]
    #[cfg_attr(not(observed), inline)]
    pub fn lock_within(&self, patience: &Patience) -> Option<MutexGuard<'_, T, L>>
    where
        L: Abortable + ThreadOblivious,
    {
        heeding(patience, |patience| {
            let context = ManuallyDrop::new(Kept::new());
            // SAFETY: as in `lock`.
            let acquired = acquiring(&self.lock, Doing::Timed, || unsafe {
                self.lock.acquire_within(context.get(), patience) == Outcome::Acquired
            });
            let context = ManuallyDrop::into_inner(context);
            acquired.then(|| self.guard(context))
        })
    }

    /// Blocks until the mutex is locked or the timeout ends.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let total = cohort::Mutex::new(1);
    /// let guard = total.lock();
    /// assert!(total.try_lock_for(Duration::from_millis(1)).is_none());
    /// drop(guard);
    /// assert_eq!(total.try_lock_for(Duration::from_millis(1)).map(|total| *total), Some(1));
    /// ```
    ///
    /// Waiters of most queue locks cannot give up:
    ///
    /// ```compile_fail,E0277
    /// # use std::time::Duration;
    /// let total: cohort::Mutex<u64, cohort::basic::Mcs> = cohort::Mutex::from(1);
    /// total.try_lock_for(Duration::from_millis(1));
    /// ```
    #[cfg_attr(observed, inline(always))]
    #[cfg_attr(not(observed), inline)]
    pub fn try_lock_for(&self, timeout: Duration) -> Option<MutexGuard<'_, T, L>>
    where
        L: Abortable + ThreadOblivious,
    {
        self.lock_within(&patience(timeout))
    }

    /// Blocks until the mutex is locked or the token is cancelled, which wakes this thread. For a
    /// deadline as well, use `lock_within(&Patience::until(deadline).unless(&token))`.
    ///
    /// ```
    /// let (total, stop) = (cohort::Mutex::new(1), cohort::Token::new());
    /// let guard = total.lock();
    /// stop.cancel();
    /// assert!(total.lock_unless(&stop).is_none());
    /// # drop(guard);
    /// ```
    #[cfg_attr(observed, inline(always))]
    #[cfg_attr(not(observed), inline)]
    pub fn lock_unless(&self, token: &Token) -> Option<MutexGuard<'_, T, L>>
    where
        L: Abortable + ThreadOblivious,
    {
        self.lock_within(&Patience::ENDLESS.unless(token))
    }
}

/// Access by closures, under every lock.
impl<T: ?Sized, L> Mutex<T, L> {
    /// Blocks until the mutex is locked, and runs `section` on the data. Locking it twice in one
    /// thread never returns.
    ///
    /// ```
    /// use cohort::{Mutex, basic::Mcs};
    ///
    /// // The queue's node is in this frame, and not in a block of a pool.
    /// let words: Mutex<Vec<&str>, Mcs> = Mutex::from(vec!["one"]);
    /// assert_eq!(words.locking(|words| words.len()), 1);
    /// ```
    #[cfg_attr(observed, inline(always))]
    #[cfg_attr(not(observed), inline)]
    pub fn locking<R>(&self, section: impl FnOnce(&mut T) -> R) -> R
    where
        L: RawLock,
    {
        let context = L::Context::default();
        // SAFETY: a new context, which this frame keeps until `inside` has released the lock, even
        // if the section panics; the lock is borrowed. So for all closures.
        unsafe {
            to_its_end(size_of::<L::Context>() > 0, || {
                acquire(&self.lock, &context)
            });
            self.inside(&context, section)
        }
    }

    /// Runs `section` on the data if the mutex is free; never blocks for the lock.
    ///
    /// ```
    /// use cohort::{Mutex, basic::Mcs};
    ///
    /// let total: Mutex<u64, Mcs> = Mutex::from(1);
    /// assert_eq!(total.try_locking(|total| *total), Some(1));
    /// total.locking(|_| assert_eq!(total.try_locking(|total| *total), None));
    /// ```
    #[cfg_attr(observed, inline(always))]
    #[cfg_attr(not(observed), inline)]
    pub fn try_locking<R>(&self, section: impl FnOnce(&mut T) -> R) -> Option<R>
    where
        L: RawTry,
    {
        let context = L::Context::default();
        // SAFETY: as in `locking`.
        unsafe {
            let locked = to_its_end(size_of::<L::Context>() > 0, || {
                acquiring(&self.lock, Doing::Nothing, || {
                    self.lock.try_acquire(&context)
                })
            });
            locked.then(|| self.inside(&context, section))
        }
    }

    /// Blocks until the mutex is locked, and runs `section` on the data; gives up when patience
    /// runs out.
    ///
    /// ```
    /// use cohort::{Deadline, Mutex, Patience, numa::HmcsT2};
    ///
    /// let total: Mutex<u64, HmcsT2> = Mutex::from(1);
    /// let past = Patience::until(Deadline::monotonic(1));
    /// total.locking(|_| assert_eq!(total.locking_within(&past, |total| *total), None));
    /// ```
    #[cfg_attr(observed, inline(always))]
    #[cfg_attr(not(observed), inline)]
    pub fn locking_within<R>(
        &self,
        patience: &Patience,
        section: impl FnOnce(&mut T) -> R,
    ) -> Option<R>
    where
        L: Abortable,
    {
        let context = L::Context::default();
        let held = heeding(patience, |patience| {
            // SAFETY: as in `locking`.
            let acquired = to_its_end(size_of::<L::Context>() > 0, || {
                let outcome = || {
                    // SAFETY: as in `locking`.
                    unsafe { self.lock.acquire_within(&context, patience) }
                };
                acquiring(&self.lock, Doing::Timed, || outcome() == Outcome::Acquired)
            });
            // SAFETY: acquired above, and released once.
            let release = || unsafe { release(&self.lock, &context) };
            acquired.then(|| Defer(release))
        });
        // SAFETY: the lock is held.
        held.map(|_held| self.data.with_mut(|data| section(unsafe { &mut *data })))
    }

    /// Blocks until the mutex is locked, and runs `section` on the data; gives up when the timeout
    /// ends.
    ///
    /// ```
    /// use cohort::Mutex;
    /// use cohort::numa::HmcsT2;
    /// use std::time::Duration;
    ///
    /// // Waiters stand in a queue for each NUMA node, and leave it when their time is up.
    /// let total: Mutex<u64, HmcsT2> = Mutex::from(1);
    /// let soon = Duration::from_millis(1);
    /// total.locking(|_| assert_eq!(total.try_locking_for(soon, |total| *total), None));
    /// assert_eq!(total.try_locking_for(soon, |total| *total), Some(1));
    /// ```
    #[inline]
    pub fn try_locking_for<R>(
        &self,
        timeout: Duration,
        section: impl FnOnce(&mut T) -> R,
    ) -> Option<R>
    where
        L: Abortable,
    {
        self.locking_within(&patience(timeout), section)
    }

    /// Blocks until the mutex is locked, and runs `section` on the data; gives up when the token is
    /// cancelled.
    ///
    /// ```
    /// use cohort::{Mutex, Token, numa::HmcsT2};
    ///
    /// let (total, stop): (Mutex<u64, HmcsT2>, _) = (Mutex::from(1), Token::new());
    /// stop.cancel();
    /// total.locking(|_| assert_eq!(total.locking_unless(&stop, |total| *total), None));
    /// ```
    #[inline]
    pub fn locking_unless<R>(&self, token: &Token, section: impl FnOnce(&mut T) -> R) -> Option<R>
    where
        L: Abortable,
    {
        self.locking_within(&Patience::ENDLESS.unless(token), section)
    }

    /// Runs the section, and releases the lock.
    ///
    /// # Safety
    /// The caller has acquired the lock, with that context.
    #[inline(always)]
    unsafe fn inside<R>(&self, context: &L::Context, section: impl FnOnce(&mut T) -> R) -> R
    where
        L: RawLock,
    {
        // SAFETY: the caller's.
        let _last = Defer(|| unsafe { release(&self.lock, context) });
        // SAFETY: the lock is held.
        self.data.with_mut(|data| section(unsafe { &mut *data }))
    }
}

/// Returns the patience of a timeout that starts now; endless if its end is beyond the clock.
pub(crate) fn patience(timeout: Duration) -> Patience<'static> {
    let nanoseconds = u64::try_from(timeout.as_nanos()).ok();
    let end = nanoseconds.and_then(|nanoseconds| now().checked_add(nanoseconds));
    end.map_or(Patience::ENDLESS, |end| {
        Patience::until(Deadline::monotonic(end))
    })
}

/// Prints the data, or that it is locked.
impl<T: ?Sized + fmt::Debug, L: RawTry> fmt::Debug for Mutex<T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.try_locking(|data| f.debug_struct("Mutex").field("data", &data).finish());
        shown.unwrap_or_else(|| write!(f, "Mutex {{ <locked> }}"))
    }
}

impl<'a, T: ?Sized, L: RawLock> MutexGuard<'a, T, L> {
    /// Narrows the guard to a part of the data. An associated function, since the data may have a
    /// method of this name.
    ///
    /// ```
    /// use cohort::{Mutex, MutexGuard};
    ///
    /// let pair = Mutex::new((1, "one"));
    /// let mut number = MutexGuard::map(pair.lock(), |pair| &mut pair.0);
    /// *number += 1;
    /// assert!(pair.is_locked());
    /// drop(number);
    /// assert_eq!(*pair.lock(), (2, "one"));
    /// ```
    pub fn map<U: ?Sized>(
        mut this: Self,
        part: impl FnOnce(&mut T) -> &mut U,
    ) -> MappedMutexGuard<'a, U, L> {
        let part = NonNull::from(part(&mut this));
        Self::with_part(this, part)
    }

    /// Narrows the guard to a part of the data, if there is one.
    ///
    /// # Errors
    /// The guard, if there is none.
    ///
    /// ```
    /// use cohort::{Mutex, MutexGuard};
    ///
    /// let words = Mutex::new(vec!["one"]);
    /// let empty = MutexGuard::try_map(words.lock(), |words| words.get_mut(1)).unwrap_err();
    /// *MutexGuard::try_map(empty, |words| words.get_mut(0)).unwrap() = "two";
    /// assert_eq!(*words.lock(), ["two"]);
    /// ```
    pub fn try_map<U: ?Sized>(
        mut this: Self,
        part: impl FnOnce(&mut T) -> Option<&mut U>,
    ) -> Result<MappedMutexGuard<'a, U, L>, Self> {
        match part(&mut this).map(NonNull::from) {
            Some(part) => Ok(Self::with_part(this, part)),
            None => Err(this),
        }
    }

    fn with_part<U: ?Sized>(this: Self, part: NonNull<U>) -> MappedMutexGuard<'a, U, L> {
        let this = ManuallyDrop::new(this);
        MappedMutexGuard {
            lock: &this.mutex.lock,
            // SAFETY: moved out of a guard that is never dropped.
            context: unsafe { ptr::read(&raw const this.context) },
            part,
            data: PhantomData,
        }
    }

    /// The guard's mutex.
    ///
    /// ```
    /// use cohort::{Mutex, MutexGuard};
    ///
    /// let total = Mutex::new(1);
    /// let guard = total.lock();
    /// assert!(std::ptr::eq(MutexGuard::mutex(&guard), &total));
    /// ```
    pub const fn mutex(this: &Self) -> &'a Mutex<T, L> {
        this.mutex
    }

    /// Leaves the mutex locked for good, and returns the data for the mutex's lifetime.
    ///
    /// ```
    /// use cohort::{Mutex, MutexGuard};
    ///
    /// let total = Mutex::new(1);
    /// let data: &mut i32 = MutexGuard::leak(total.lock());
    /// *data += 1;
    /// assert!(total.is_locked());
    /// ```
    pub fn leak(this: Self) -> &'a mut T {
        let mutex = this.mutex;
        mem::forget(this);
        // SAFETY: locked for ever, by a guard that was forgotten.
        mutex.data.with_mut(|data| unsafe { &mut *data })
    }

    /// Unlocks the mutex, runs `pause`, and blocks until the mutex is locked again.
    ///
    /// ```
    /// use cohort::{Mutex, MutexGuard};
    ///
    /// let total = Mutex::new(1);
    /// let mut guard = total.lock();
    /// MutexGuard::unlocked(&mut guard, || *total.lock() += 1);
    /// assert_eq!(*guard, 2);
    /// ```
    pub fn unlocked<R>(this: &mut Self, pause: impl FnOnce() -> R) -> R {
        let (lock, context) = Self::held(this);
        // SAFETY: the guard holds the lock, is borrowed, and is returned when it holds the lock
        // again.
        unsafe { release(lock, context) };
        // SAFETY: as in `lock`; the context has just released the lock.
        let _last = Defer(|| to_its_end(true, || unsafe { acquire(lock, context) }));
        pause()
    }

    /// Unlocks the mutex, and hands it to a sleeping waiter, ahead of all arrivals: see
    /// [`ReleaseFairly`].
    ///
    /// ```
    /// use cohort::{Mutex, MutexGuard};
    ///
    /// let total = Mutex::new(1);
    /// MutexGuard::unlock_fair(total.lock());
    /// assert!(!total.is_locked());
    /// ```
    pub fn unlock_fair(this: Self)
    where
        L: ReleaseFairly,
    {
        let mut this = ManuallyDrop::new(this);
        // SAFETY: the guard stands for the acquisition, and ends here.
        unsafe {
            releasing(&this.mutex.lock, || {
                this.mutex.lock.release_fairly(this.context.get())
            });
            ManuallyDrop::drop(&mut this.context);
        }
    }

    /// Unlocks the mutex as [`unlock_fair`](Self::unlock_fair) does, runs `pause`, and blocks until
    /// the mutex is locked again.
    ///
    /// ```
    /// use cohort::{Mutex, MutexGuard};
    ///
    /// let total = Mutex::new(1);
    /// let mut guard = total.lock();
    /// MutexGuard::unlocked_fair(&mut guard, || *total.lock() += 1);
    /// assert_eq!(*guard, 2);
    /// ```
    pub fn unlocked_fair<R>(this: &mut Self, pause: impl FnOnce() -> R) -> R
    where
        L: ReleaseFairly,
    {
        let (lock, context) = Self::held(this);
        // SAFETY: the guard holds the lock, is borrowed, and is returned when it holds the lock
        // again.
        releasing(lock, || unsafe { lock.release_fairly(context) });
        // SAFETY: as in `lock`; the context has just released the lock.
        let _last = Defer(|| to_its_end(true, || unsafe { acquire(lock, context) }));
        pause()
    }

    /// Hands the mutex to a waiter, if there is one, and blocks until it is locked again: like
    /// [`unlocked_fair`](Self::unlocked_fair) with an empty `pause`.
    ///
    /// ```
    /// use cohort::{Mutex, MutexGuard};
    ///
    /// let total = Mutex::new(0);
    /// std::thread::scope(|scope| {
    ///     for _ in 0..4 {
    ///         scope.spawn(|| {
    ///             let mut guard = total.lock();
    ///             for _ in 0..100 {
    ///                 *guard += 1;
    ///                 MutexGuard::bump(&mut guard);
    ///             }
    ///         });
    ///     }
    /// });
    /// assert_eq!(total.into_inner(), 400);
    /// ```
    pub fn bump(this: &mut Self)
    where
        L: ReleaseFairly,
    {
        let (lock, context) = Self::held(this);
        if lock.is_waited_for(context) {
            Self::unlocked_fair(this, || ());
        }
    }

    /// The guard's context: the mutex stays locked.
    #[cfg(all(feature = "std", not(checker)))]
    pub(crate) fn into_kept(this: Self) -> Kept<L> {
        let mut this = ManuallyDrop::new(this);
        // SAFETY: the guard is not dropped, so the context is taken once.
        unsafe { ManuallyDrop::take(&mut this.context) }
    }

    /// The guard's lock and context.
    pub(crate) fn held(this: &Self) -> (&'a L, &L::Context) {
        (&this.mutex.lock, this.context.get())
    }
}

impl<'a, T: ?Sized, L: RawLock> MappedMutexGuard<'a, T, L> {
    /// As [`MutexGuard::unlock_fair`].
    ///
    /// ```
    /// use cohort::{MappedMutexGuard, Mutex, MutexGuard};
    ///
    /// let pair = Mutex::new((1, 2));
    /// MappedMutexGuard::unlock_fair(MutexGuard::map(pair.lock(), |pair| &mut pair.0));
    /// assert!(!pair.is_locked());
    /// ```
    pub fn unlock_fair(this: Self)
    where
        L: ReleaseFairly,
    {
        let mut this = ManuallyDrop::new(this);
        // SAFETY: the guard stands for the acquisition, and ends here.
        unsafe {
            releasing(this.lock, || this.lock.release_fairly(this.context.get()));
            ManuallyDrop::drop(&mut this.context);
        }
    }

    /// Narrows the guard to a part of its part.
    ///
    /// ```
    /// use cohort::{MappedMutexGuard, Mutex, MutexGuard};
    ///
    /// let nested = Mutex::new((1, (2, 3)));
    /// let pair = MutexGuard::map(nested.lock(), |nested| &mut nested.1);
    /// *MappedMutexGuard::map(pair, |pair| &mut pair.0) += 1;
    /// assert_eq!(*nested.lock(), (1, (3, 3)));
    /// ```
    pub fn map<U: ?Sized>(
        mut this: Self,
        part: impl FnOnce(&mut T) -> &mut U,
    ) -> MappedMutexGuard<'a, U, L> {
        let part = NonNull::from(part(&mut this));
        Self::with_part(this, part)
    }

    /// Narrows the guard to a part of its part, if there is one.
    ///
    /// # Errors
    /// The guard, if there is none.
    ///
    /// ```
    /// use cohort::{MappedMutexGuard, Mutex, MutexGuard};
    ///
    /// let words = Mutex::new((1, ["one"]));
    /// let word = MutexGuard::map(words.lock(), |words| &mut words.1[..]);
    /// assert!(MappedMutexGuard::try_map(word, |words| words.get_mut(1)).is_err());
    /// ```
    pub fn try_map<U: ?Sized>(
        mut this: Self,
        part: impl FnOnce(&mut T) -> Option<&mut U>,
    ) -> Result<MappedMutexGuard<'a, U, L>, Self> {
        match part(&mut this).map(NonNull::from) {
            Some(part) => Ok(Self::with_part(this, part)),
            None => Err(this),
        }
    }

    fn with_part<U: ?Sized>(this: Self, part: NonNull<U>) -> MappedMutexGuard<'a, U, L> {
        let this = ManuallyDrop::new(this);
        MappedMutexGuard {
            lock: this.lock,
            // SAFETY: moved out of a guard that is never dropped.
            context: unsafe { ptr::read(&raw const this.context) },
            part,
            data: PhantomData,
        }
    }
}

impl<T: ?Sized, L: RawLock> Deref for MutexGuard<'_, T, L> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard holds the lock, and lends the data no longer than itself.
        self.mutex.data.with(|data| unsafe { &*data })
    }
}

impl<T: ?Sized, L: RawLock> DerefMut for MutexGuard<'_, T, L> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the guard is borrowed mutably.
        self.mutex.data.with_mut(|data| unsafe { &mut *data })
    }
}

impl<T: ?Sized, L: RawLock> Deref for MappedMutexGuard<'_, T, L> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: a part of the data of the lock, which the guard holds.
        unsafe { self.part.as_ref() }
    }
}

impl<T: ?Sized, L: RawLock> DerefMut for MappedMutexGuard<'_, T, L> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the guard is borrowed mutably.
        unsafe { self.part.as_mut() }
    }
}

impl<T: ?Sized, L: RawLock> Drop for MutexGuard<'_, T, L> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard stands for the acquisition, and ends here.
        unsafe {
            release(&self.mutex.lock, self.context.get());
            ManuallyDrop::drop(&mut self.context);
        }
    }
}

impl<T: ?Sized, L: RawLock> Drop for MappedMutexGuard<'_, T, L> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard stands for the acquisition, and ends here.
        unsafe {
            release(self.lock, self.context.get());
            ManuallyDrop::drop(&mut self.context);
        }
    }
}

impl<T: ?Sized + fmt::Debug, L: RawLock> fmt::Debug for MutexGuard<'_, T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug, L: RawLock> fmt::Debug for MappedMutexGuard<'_, T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display, L: RawLock> fmt::Display for MutexGuard<'_, T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display, L: RawLock> fmt::Display for MappedMutexGuard<'_, T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
