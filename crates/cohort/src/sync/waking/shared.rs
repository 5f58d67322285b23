//! [`Waking`] around the default rwlock: tasks wait to read or to write without blocking a thread.
//!
//! The list of tasks is a mutex's, with readers and writers in one order.
//!
//! **Who is woken.** A lock that becomes free wakes the first task. If that reads, the reading tasks
//! behind it are woken too, up to the first that writes. A lock that is free for readers alone
//! wakes no writing task. A writing future that is dropped wakes the readers behind it.
//!
//! **Writers' progress.** A task's first attempt to read stands behind listed and called writers.
//! Later attempts of the task do not: it was called, and keeps its place. In an unused lock the
//! writer may be a future that is never polled, so the reader wakes its own task at once, behind the
//! called writer's in the executor's queue. Threads pass writing tasks.
//!
//! A writing future may leave between a reader's attempt and its entry in the list. So the reader
//! looks for writers once more.
//!
//! **A task moves between threads**, so its read lock is no thread's: it is counted in the lock's
//! word alone, and any thread ends it. A task is not known to hold it when it reads again.

use super::{EXCLUSIVE, ONE, Stage, WaitingTask, Waking};
use crate::door::{Order, flaws, mutant};
use crate::rwlock::{RawRwLock, TOO_MANY};
use crate::sync::rwlock::RwLock;
use cohort_raw::{AbortableShared, Outcome, Patience, RawShared, Recursion};
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::pin::Pin;
use core::task::{Context, Poll};

flaws! {
    /// A reading task passes waiting writing tasks.
    PASS_WRITERS = "waking-shared.pass-writers";
    /// A dropped writing future leaves the readers behind it asleep.
    LEAVE_READERS = "waking-shared.leave-readers";
    /// The last reader wakes no task.
    FORGET_READER = "waking-shared.forget-reader";
    /// A reading task acquires an unused lock before a called writing task is polled.
    PASS_CALLED = "waking-shared.pass-called";
    /// A reading task in an unused lock leaves its wake-up to a called writing task.
    TRUST_CALLED = "waking-shared.trust-called";
    /// A reading task sleeps behind a writing future that has been dropped.
    LOOK_ONCE = "waking-shared.look-once";
}

/// The data and the lock of these futures and guards.
type Shared<T> = RwLock<T, Waking<RawRwLock>>;

impl Waking<RawRwLock> {
    fn admits(&self, reads: bool) -> bool {
        if reads {
            !self.lock.keeps_readers_out()
        } else {
            !self.lock.is_locked()
        }
    }

    /// Deregisters the calling thread or poll.
    #[inline]
    fn go_shared(&self) {
        self.go(|reads| self.admits(reads));
    }

    /// Acquires by `take`, or deregisters.
    #[inline]
    fn come_and(&self, take: impl FnOnce() -> bool) -> bool {
        self.come();
        let acquired = take();
        if !acquired {
            self.go_shared();
        }
        acquired
    }

    /// Whether a poll with that entry stands behind writing tasks; and the state that says so.
    fn stands_back(&self, entry: &WaitingTask) -> (bool, u32) {
        let state = self.state.load(Order::RELAXED);
        let stands_back = entry.ticket() == 0 && state & EXCLUSIVE != 0;
        (stands_back && !mutant(flaw::PASS_WRITERS), state)
    }

    /// Polls a future with that entry, which reads.
    fn poll_read(&self, entry: &WaitingTask, cx: &Context<'_>) -> bool {
        let take = || !self.stands_back(entry).0 && self.lock.try_read_task();
        if self.come_and(take) {
            return true;
        }
        let (stands_back, state) = self.stands_back(entry);
        if stands_back && state < ONE && !mutant(flaw::PASS_CALLED) {
            let waker = cx.waker().clone();
            let _former = self.change(|tasks| tasks.put(entry, waker));
            if !mutant(flaw::TRUST_CALLED) {
                cx.waker().wake_by_ref();
            }
            return false;
        }
        if self.wait(entry, cx, take) {
            return true;
        }
        let has_writers = self.state.load(Order::RELAXED) & EXCLUSIVE != 0;
        !has_writers && self.admits(true) && !mutant(flaw::LOOK_ONCE) && self.come_and(take)
    }

    /// Polls a future with that entry, which writes.
    fn poll_write(&self, entry: &WaitingTask, cx: &Context<'_>) -> bool {
        let take = || self.lock.try_write();
        self.come_and(take) || self.wait(entry, cx, take)
    }

    /// Ends a task's read lock.
    ///
    /// # Safety
    /// There is one, which ends here.
    unsafe fn end_read(&self) {
        // SAFETY: the caller's.
        unsafe { self.lock.release_task() };
        if mutant(flaw::FORGET_READER) {
            self.state.fetch_sub(ONE, Order::RELAXED);
        } else {
            self.go_shared();
        }
    }
}

// SAFETY: an acquisition is one of the inner lock.
unsafe impl RawShared for Waking<RawRwLock> {
    type Context = ();

    /// # Panics
    /// If the lock has the greatest number of readers.
    #[inline]
    unsafe fn read(&self, (): &(), recursion: Recursion) {
        let acquired =
            self.come_and(|| self.lock.read(recursion, &Patience::ENDLESS) == Outcome::Acquired);
        assert!(acquired, "{TOO_MANY}");
    }

    #[inline]
    unsafe fn try_read(&self, (): &(), recursion: Recursion) -> bool {
        self.come_and(|| self.lock.try_read(recursion))
    }

    #[inline]
    unsafe fn release_read(&self, (): &()) {
        // SAFETY: the caller's.
        unsafe { self.lock.release_read() };
        self.go_shared();
    }

    #[inline]
    unsafe fn write(&self, (): &()) {
        self.come();
        let _ = self.lock.write(&Patience::ENDLESS);
    }

    #[inline]
    unsafe fn try_write(&self, (): &()) -> bool {
        self.come_and(|| self.lock.try_write())
    }

    #[inline]
    unsafe fn release_write(&self, (): &()) {
        // SAFETY: the caller's.
        unsafe { self.lock.release_write() };
        self.go_shared();
    }

    fn is_locked(&self) -> bool {
        self.lock.is_locked()
    }

    fn is_write_locked(&self) -> bool {
        self.lock.is_write_locked()
    }
}

/// The outcome of an attempt.
const fn outcome(acquired: bool) -> Outcome {
    if acquired {
        Outcome::Acquired
    } else {
        Outcome::GaveUp
    }
}

// SAFETY: as above.
unsafe impl AbortableShared for Waking<RawRwLock> {
    #[inline]
    unsafe fn read_within(&self, (): &(), recursion: Recursion, patience: &Patience) -> Outcome {
        outcome(self.come_and(|| self.lock.read(recursion, patience) == Outcome::Acquired))
    }

    #[inline]
    unsafe fn write_within(&self, (): &(), patience: &Patience) -> Outcome {
        outcome(self.come_and(|| self.lock.write(patience) == Outcome::Acquired))
    }
}

/// The future of [`RwLock::read_async`]: ready with the lock held to read.
///
/// ```
/// use cohort::rwlock::RawRwLock;
/// use cohort::{ReadAsync, RwLock, Waking};
///
/// fn look(total: &RwLock<u64, Waking<RawRwLock>>) -> ReadAsync<'_, u64> {
///     total.read_async()
/// }
/// ```
#[must_use = "nothing is locked before the first poll"]
pub struct ReadAsync<'a, T: ?Sized> {
    lock: &'a Shared<T>,
    entry: WaitingTask,
}

/// The future of [`RwLock::write_async`]: ready with the lock held to write.
///
/// ```
/// use cohort::rwlock::RawRwLock;
/// use cohort::{RwLock, Waking, WriteAsync};
///
/// fn change(total: &RwLock<u64, Waking<RawRwLock>>) -> WriteAsync<'_, u64> {
///     total.write_async()
/// }
/// ```
#[must_use = "nothing is locked before the first poll"]
pub struct WriteAsync<'a, T: ?Sized> {
    lock: &'a Shared<T>,
    entry: WaitingTask,
}

/// A task's shared access to an [`RwLock`]'s data; unlocks when dropped, in any thread.
///
/// ```
/// use cohort::rwlock::RawRwLock;
/// use cohort::{RwLock, TaskReadGuard, Waking};
///
/// async fn sum(parts: &RwLock<Vec<u64>, Waking<RawRwLock>>) -> u64 {
///     let parts: TaskReadGuard<'_, Vec<u64>> = parts.read_async().await;
///     parts.iter().sum()
/// }
/// ```
#[must_use = "the lock is released as soon as its guard is dropped"]
pub struct TaskReadGuard<'a, T: ?Sized> {
    lock: &'a Shared<T>,
}

/// A task's exclusive access to an [`RwLock`]'s data; unlocks when dropped, in any thread.
///
/// ```
/// use cohort::rwlock::RawRwLock;
/// use cohort::{RwLock, TaskWriteGuard, Waking};
///
/// async fn clear(parts: &RwLock<Vec<u64>, Waking<RawRwLock>>) {
///     let mut parts: TaskWriteGuard<'_, Vec<u64>> = parts.write_async().await;
///     parts.clear();
/// }
/// ```
#[must_use = "the lock is released as soon as its guard is dropped"]
pub struct TaskWriteGuard<'a, T: ?Sized> {
    lock: &'a Shared<T>,
    data: PhantomData<&'a mut T>,
}

impl<T: ?Sized> Shared<T> {
    /// Creates a future that is ready with the lock held to read.
    ///
    /// Readers share the lock. A task that starts to read waits behind waiting writing tasks: a task
    /// with a read guard must not await another of the same lock. If the lock is unused, it waits for
    /// one turn of its executor. Threads with [`reading`](Self::reading) pass waiting tasks.
    ///
    /// Tasks are woken in the order of their futures' first polls, and reading tasks that follow each
    /// other at once. A dropped future leaves nothing, and passes its turn on. As under
    /// [`Mutex::lock_async`](crate::Mutex::lock_async), a woken task owns nothing yet, and a woken
    /// future that is not polled is passed over by the next unlocking.
    ///
    /// ```
    /// use cohort::rwlock::RawRwLock;
    /// use cohort::{RwLock, Waking};
    /// use std::pin::pin;
    /// use std::task::{Context, Poll, Waker};
    ///
    /// let total: RwLock<u64, Waking<RawRwLock>> = RwLock::from(1);
    /// let (one, other) = (pin!(total.read_async()), pin!(total.read_async()));
    /// let mut context = Context::from_waker(Waker::noop());
    /// let Poll::Ready(one) = one.poll(&mut context) else { panic!("it is free") };
    /// let Poll::Ready(other) = other.poll(&mut context) else { panic!("readers share it") };
    /// assert_eq!(*one + *other, 2);
    /// assert!(pin!(total.write_async()).poll(&mut context).is_pending());
    /// ```
    pub fn read_async(&self) -> ReadAsync<'_, T> {
        ReadAsync {
            lock: self,
            entry: WaitingTask::new(true),
        }
    }

    /// Creates a future that is ready with the lock held to write.
    ///
    /// Its task is woken when the last holder leaves; see [`read_async`](Self::read_async). Threads
    /// that read without a pause can keep it waiting.
    ///
    /// ```
    /// use cohort::rwlock::RawRwLock;
    /// use cohort::{RwLock, Waking};
    /// use std::pin::pin;
    /// use std::task::{Context, Poll, Waker};
    ///
    /// let total: RwLock<u64, Waking<RawRwLock>> = RwLock::from(1);
    /// let mut context = Context::from_waker(Waker::noop());
    /// let Poll::Ready(mut guard) = pin!(total.write_async()).poll(&mut context) else {
    ///     panic!("it is free")
    /// };
    /// *guard += 1;
    /// drop(guard);
    /// assert_eq!(total.reading(|total| *total), 2);
    /// ```
    pub fn write_async(&self) -> WriteAsync<'_, T> {
        WriteAsync {
            lock: self,
            entry: WaitingTask::new(false),
        }
    }
}

impl<'a, T: ?Sized> Future for ReadAsync<'a, T> {
    type Output = TaskReadGuard<'a, T>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.into_ref().get_ref();
        let waking = this.lock.raw();
        if !waking.poll_read(&this.entry, cx) {
            return Poll::Pending;
        }
        // First the guard: to drop a waker may panic.
        let guard = TaskReadGuard { lock: this.lock };
        let _ = waking.leave(&this.entry);
        Poll::Ready(guard)
    }
}

impl<'a, T: ?Sized> Future for WriteAsync<'a, T> {
    type Output = TaskWriteGuard<'a, T>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.into_ref().get_ref();
        let waking = this.lock.raw();
        if !waking.poll_write(&this.entry, cx) {
            return Poll::Pending;
        }
        // As for a reader.
        let guard = TaskWriteGuard {
            lock: this.lock,
            data: PhantomData,
        };
        let _ = waking.leave(&this.entry);
        Poll::Ready(guard)
    }
}

impl<T: ?Sized> Drop for ReadAsync<'_, T> {
    fn drop(&mut self) {
        let _ = self.lock.raw().forget(&self.entry);
    }
}

impl<T: ?Sized> Drop for WriteAsync<'_, T> {
    fn drop(&mut self) {
        let waking = self.lock.raw();
        let stage = waking.forget(&self.entry);
        // The readers behind it waited for it alone, if readers hold the lock.
        if stage != Stage::Out && !mutant(flaw::LEAVE_READERS) {
            waking.call_first(true, |reads| reads && waking.admits(true));
        }
    }
}

impl<T: ?Sized> Deref for TaskReadGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard holds the lock to read, and lends the data no longer than itself.
        self.lock.data.with(|data| unsafe { &*data })
    }
}

impl<T: ?Sized> Deref for TaskWriteGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard holds the lock to write, and lends the data no longer than itself.
        self.lock.data.with(|data| unsafe { &*data })
    }
}

impl<T: ?Sized> DerefMut for TaskWriteGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the guard is borrowed mutably.
        self.lock.data.with_mut(|data| unsafe { &mut *data })
    }
}

impl<T: ?Sized> Drop for TaskReadGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard stands for the read lock, and ends here.
        unsafe { self.lock.raw().end_read() };
    }
}

impl<T: ?Sized> Drop for TaskWriteGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard stands for the acquisition, and ends here.
        unsafe { RawShared::release_write(self.lock.raw(), &()) };
    }
}

impl<T: ?Sized> fmt::Debug for ReadAsync<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadAsync").finish_non_exhaustive()
    }
}

impl<T: ?Sized> fmt::Debug for WriteAsync<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteAsync").finish_non_exhaustive()
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for TaskReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for TaskWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
