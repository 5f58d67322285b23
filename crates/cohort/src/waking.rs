//! `Waking<L>`: a lock for which tasks wait too, that keep no thread waiting; and [`LockAsync`],
//! the future by which they do.
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `lock` | threads, and polls that try it | the lock that excludes |
//! | `state` | threads and polls that come and go | how many of them are here, waiting or holding, in `ONE`s; with `LISTED`: the list is not empty |
//! | `tasks` | polls in vain, futures that are dropped, and threads that go; it has a lock of its own | the tasks that wait, in the order in which they came first |
//! | an entry's `ticket` | its first poll in vain | its place in that order; 0: it has none yet |
//! | an entry's `waits` | as `tasks` | what to wake, as long as it is in the list, and the next entry |
//!
//! **Nobody is forgotten.**  A poll is counted before it tries the lock.  If it does so in vain, it
//! puts its task into the list and goes.  If somebody else was counted then, that one finds the
//! mark when it goes; if nobody was, the poll tries once more.  A thread that goes last wakes the
//! first task of the list, and the next, until the list is empty or somebody else is counted, to
//! which all the rest is left.  One that is not the last leaves it to the others, and wakes a
//! task all the same where it sees the lock free, so that tasks get in between threads.
//!
//! No access to `state` carries an order.  Of one word every thread sees the same sequence of
//! exchanges, and the mark stands in it from when a task is put into the list to when the list is
//! empty, since both are done in the list's lock.  A poll that finds nobody else here may not see yet
//! that the lock has become free, and looks again in a moment.
//!
//! **Nobody is granted the lock.**  A task may keep a future that it does not poll, and wait for
//! something that waits for the lock; were the lock handed to that future, everybody would stand
//! still ("futurelock").  So a future is only told that the lock may be free.  One that is not polled then
//! is passed over: those behind it are told too, as long as nobody comes.  When it is polled, it has the
//! lock, or is in the list again, where it was before.  Therefore a future that is dropped owes nobody
//! anything.  The price is that a lock which becomes free may wake all tasks that wait for it, where
//! none of them is polled before the last is woken.
//!
//! Wakers are called and dropped in no lock: they may lock this very mutex.

use crate::basic::Futex;
use crate::context::Kept;
use crate::door::{AtomicU32, AtomicU64, Cell, Order, Spinner, caught, constructor, flaws, mutant};
use crate::mutex::{Mutex, MutexGuard};
use cohort_raw::{Abortable, Outcome, Patience, RawLock, RawTry, ThreadOblivious, forwards};
use core::fmt;
use core::marker::PhantomPinned;
use core::mem::{self, ManuallyDrop};
use core::pin::Pin;
use core::ptr;
use core::task::{Context, Poll, Waker};

flaws! {
    /// A thread goes although tasks wait.
    FORGET_TASKS = "waking.forget-tasks";
    /// A poll leaves its task to others, also where nobody is.
    TRUST_OTHERS = "waking.trust-others";
    /// The thread that goes last wakes the first task alone.
    CALL_ONE = "waking.call-one";
    /// Wakers are called in the list's lock.
    WAKE_INSIDE = "waking.wake-inside";
    /// A future that is dropped stays in the list.
    KEEP_DROPPED = "waking.keep-dropped";
    /// A task that was woken in vain goes to the end of the list.
    LOSE_PLACE = "waking.lose-place";
}

/// Tasks wait.
const LISTED: u32 = 1;
/// One thread or poll here.
const ONE: u32 = 2;

/// A future's place in the list, in the future itself.
#[derive(Debug)]
struct Entry {
    ticket: AtomicU64,
    waits: Cell<Waits>,
    /// The list points to it.
    _stays: PhantomPinned,
}

#[derive(Debug)]
struct Waits {
    /// None: it is not in the list.
    waker: Option<Waker>,
    next: *const Entry,
}

// SAFETY: the pointer is followed in the list's lock alone.
unsafe impl Send for Waits {}

impl Entry {
    fn new() -> Self {
        let waits = Waits {
            waker: None,
            next: ptr::null(),
        };
        Self {
            ticket: AtomicU64::new(0),
            waits: Cell::new(waits),
            _stays: PhantomPinned,
        }
    }

    fn ticket(&self) -> u64 {
        self.ticket.load(Order::RELAXED)
    }

    /// What it had before.  Only in the list's lock; so for the next two.
    fn replace(&self, waker: Option<Waker>) -> Option<Waker> {
        // SAFETY: nobody else is in the list's lock.
        self.waits
            .with_mut(|waits| unsafe { mem::replace(&mut (*waits).waker, waker) })
    }

    fn next(&self) -> *const Self {
        // SAFETY: as above.
        self.waits.with(|waits| unsafe { (*waits).next })
    }

    fn set_next(&self, next: *const Self) {
        // SAFETY: as above.
        self.waits.with_mut(|waits| unsafe { (*waits).next = next });
    }
}

/// The list, by tickets.  An entry stays where it is until it is taken out.
#[derive(Debug)]
struct Tasks {
    first: *const Entry,
    /// The ticket drawn last.
    drawn: u64,
}

// SAFETY: as `Waits`.
unsafe impl Send for Tasks {}

impl Tasks {
    const fn new() -> Self {
        Self {
            first: ptr::null(),
            drawn: 0,
        }
    }

    /// What is behind that entry, or, behind none, the first.
    fn next(&self, before: *const Entry) -> *const Entry {
        // SAFETY: null, or in the list.
        unsafe { before.as_ref() }.map_or(self.first, Entry::next)
    }

    fn link(&mut self, before: *const Entry, next: *const Entry) {
        // SAFETY: as above.
        match unsafe { before.as_ref() } {
            None => self.first = next,
            Some(before) => before.set_next(next),
        }
    }

    /// The last entry with a smaller ticket, or null.
    fn before(&self, ticket: u64) -> *const Entry {
        let mut last = ptr::null();
        loop {
            let here = self.next(last);
            // SAFETY: as above.
            match unsafe { here.as_ref() } {
                Some(entry) if entry.ticket() < ticket => last = here,
                _ => return last,
            }
        }
    }

    /// Puts the entry where its ticket says, if it is not there, with that waker; the waker of before.
    fn put(&mut self, entry: &Entry, waker: Waker) -> Option<Waker> {
        let former = entry.replace(Some(waker));
        if former.is_none() {
            if entry.ticket() == 0 || mutant(flaw::LOSE_PLACE) {
                self.drawn += 1;
                entry.ticket.store(self.drawn, Order::RELAXED);
            }
            let before = self.before(entry.ticket());
            entry.set_next(self.next(before));
            self.link(before, entry);
        }
        former
    }

    /// Takes the entry out, if it is in the list; its waker.
    fn take_out(&mut self, entry: &Entry) -> Option<Waker> {
        let waker = entry.replace(None);
        if waker.is_some() {
            self.link(self.before(entry.ticket()), entry.next());
        }
        waker
    }

    fn take_first(&mut self) -> Option<Waker> {
        // SAFETY: as above.
        let first = unsafe { self.first.as_ref() }?;
        self.take_out(first)
    }
}

impl Default for Tasks {
    fn default() -> Self {
        Self::new()
    }
}

/// A lock around `L` for which tasks wait too, by [`Mutex::lock_async`].  Each acquisition
/// is counted here, by two more exchanges on one line than `L` needs.  A release wakes tasks: the first that
/// waits, or, where nobody else is at the lock, one after the other until somebody comes.
///
/// A task gets the lock where no thread has it or, under a lock that serves in order, waits for it. For
/// many tasks that want short sections `Posting`, of the feature `std`, does better: there a section is
/// brought to the data, and no task is woken in vain.
///
/// ```
/// use cohort::basic::Mcs;
/// use cohort::{Mutex, Waking};
///
/// static TOTAL: Mutex<u64, Waking<Mcs>> = Mutex::from_raw(Waking::new(Mcs::new()), 1);
/// *TOTAL.lock() += 1;
/// assert_eq!(*TOTAL.lock(), 2);
/// ```
///
/// A lock that cannot be tried cannot be waited for by tasks:
///
/// ```compile_fail,E0599
/// # use cohort::{Mutex, Waking, delegation::CcSynch};
/// let total: Mutex<u64, Waking<CcSynch>> = Mutex::from(1);
/// let future = total.lock_async();
/// ```
#[derive(Default)]
pub struct Waking<L> {
    lock: L,
    state: AtomicU32,
    tasks: Mutex<Tasks, Futex>,
}

impl<L> fmt::Debug for Waking<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waking").finish_non_exhaustive()
    }
}

impl<L> Waking<L> {
    constructor! {
        /// That lock, for which no task waits.
        ///
        /// ```
        /// use cohort::basic::Ticket;
        /// use cohort::{Mutex, Waking};
        ///
        /// static TOTAL: Mutex<u64, Waking<Ticket>> = Mutex::from_raw(Waking::new(Ticket::new()), 1);
        /// assert_eq!(*TOTAL.lock(), 1);
        /// ```
        #[must_use]
        pub fn new(lock: L) -> Self {
            Self {
                lock,
                state: AtomicU32::new(0),
                tasks: Mutex::from_raw(Futex::new(), Tasks::new()),
            }
        }
    }

    /// Counts the calling thread or poll.
    #[inline]
    fn come(&self) {
        self.state.fetch_add(ONE, Order::RELAXED);
    }

    /// Changes the list, and the mark with it.
    fn change(&self, change: impl FnOnce(&mut Tasks) -> Option<Waker>) -> Option<Waker> {
        self.tasks.locking(|tasks| {
            let was_empty = tasks.first.is_null();
            let waker = change(tasks);
            let is_empty = tasks.first.is_null();
            if was_empty && !is_empty {
                self.state.fetch_or(LISTED, Order::RELAXED);
            } else if is_empty && !was_empty {
                self.state.fetch_and(!LISTED, Order::RELAXED);
            }
            waker
        })
    }

    /// Wakes the first task of the list; false if that is empty.
    fn call_first(&self) -> bool {
        let waker = self.change(|tasks| {
            let waker = tasks.take_first();
            if mutant(flaw::WAKE_INSIDE)
                && let Some(waker) = &waker
            {
                waker.wake_by_ref();
            }
            waker
        });
        let Some(waker) = waker else { return false };
        // A waker's panic has been reported, and keeps nobody else asleep.
        let _ = caught(|| waker.wake());
        true
    }
}

impl<L: RawLock> Waking<L> {
    /// The calling thread, which is counted, and has the lock no more, is so no longer.
    #[inline]
    fn go(&self) {
        let before = self.state.fetch_sub(ONE, Order::RELAXED);
        if before & LISTED != 0 && !mutant(flaw::FORGET_TASKS) {
            self.call(before < 2 * ONE);
        }
    }

    /// Wakes tasks; all of them, until somebody comes, where nobody else is here.
    #[cold]
    fn call(&self, alone: bool) {
        if !alone && self.lock.is_locked() {
            return;
        }
        let is_here = || self.state.load(Order::RELAXED) >= ONE;
        while self.call_first() && alone && !is_here() && !mutant(flaw::CALL_ONE) {}
    }
}

// SAFETY: an acquisition is one of the lock inside.
unsafe impl<L: RawLock> RawLock for Waking<L> {
    type Context = L::Context;

    #[inline]
    unsafe fn acquire(&self, cx: &L::Context) {
        self.come();
        // SAFETY: the caller's.
        unsafe { self.lock.acquire(cx) };
    }

    #[inline]
    unsafe fn release(&self, cx: &L::Context) {
        // SAFETY: the caller's.
        unsafe { self.lock.release(cx) };
        self.go();
    }

    fn is_locked(&self) -> bool {
        self.lock.is_locked()
    }
}

// SAFETY: as above.
unsafe impl<L: RawTry> RawTry for Waking<L> {
    #[inline]
    unsafe fn try_acquire(&self, cx: &L::Context) -> bool {
        self.come();
        // SAFETY: the caller's.
        let acquired = unsafe { self.lock.try_acquire(cx) };
        if !acquired {
            self.go();
        }
        acquired
    }
}

// SAFETY: as above.
unsafe impl<L: Abortable> Abortable for Waking<L> {
    #[inline]
    unsafe fn acquire_within(&self, cx: &L::Context, patience: &Patience) -> Outcome {
        self.come();
        // SAFETY: the caller's.
        let outcome = unsafe { self.lock.acquire_within(cx, patience) };
        if outcome == Outcome::GaveUp {
            self.go();
        }
        outcome
    }
}

// A thread that gives up may have to wake any number of tasks.
forwards! {
    [L: RawLock] Waking<L>: L in lock;
    RawTry: own,
    Abortable: own,
    BoundedAbort: none,
    ThreadOblivious: inner,
    DetectsWaiters: none,
    HandsOver: none,
    Fair: none,
    Inherit: none,
    Adapts: none,
    Hosted: none,
    QuickRelease: none,
    LowLock: none,
    HighLock: none,
    Resumable: none,
}

/// The future of [`Mutex::lock_async`]: ready with the mutex locked.
///
/// ```
/// use cohort::basic::Mcs;
/// use cohort::{LockAsync, Mutex, Waking};
///
/// fn wait(total: &Mutex<u64, Waking<Mcs>>) -> LockAsync<'_, u64, Mcs> {
///     total.lock_async()
/// }
/// ```
#[must_use = "nothing is locked before the first poll"]
pub struct LockAsync<'a, T: ?Sized, L> {
    mutex: &'a Mutex<T, Waking<L>>,
    entry: Entry,
}

impl<T: ?Sized, L> fmt::Debug for LockAsync<'_, T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockAsync").finish_non_exhaustive()
    }
}

impl<T: ?Sized, L> LockAsync<'_, T, L> {
    /// Its task waits no more.
    fn leave(&self) {
        if self.entry.ticket() > 0 {
            // The waker is dropped behind the list's lock.
            let _waker = self.mutex.raw().change(|tasks| tasks.take_out(&self.entry));
        }
    }
}

impl<'a, T: ?Sized, L: RawTry + ThreadOblivious> LockAsync<'a, T, L> {
    /// It has locked the mutex by that context.
    fn ready(&self, context: ManuallyDrop<Kept<Waking<L>>>) -> Poll<MutexGuard<'a, T, Waking<L>>> {
        let guard = self.mutex.guard(ManuallyDrop::into_inner(context));
        self.leave();
        Poll::Ready(guard)
    }
}

impl<T: ?Sized, L: RawTry + ThreadOblivious> Mutex<T, Waking<L>> {
    /// A future that is ready with the mutex locked.
    ///
    /// A poll locks the mutex if no thread has it or waits for it ahead, as [`try_lock`](Self::try_lock)
    /// does, and never blocks for the mutex.  If it is in vain, the task is woken once the mutex may be
    /// free, in the order in which the futures were first polled.  That is no promise of the mutex:
    /// whichever task or thread comes first has it, and the future is polled in vain again, and keeps its
    /// place among those that wait.
    ///
    /// A future that is not polled holds up nobody, also when it has been woken.  One that is dropped
    /// is forgotten.  The mutex is never handed to a future; so a task may keep one and wait meanwhile
    /// for what needs the mutex.
    ///
    /// Wakers are called by the threads that unlock, or give up, one after the other.  A waker that panics
    /// keeps no other from being called, and the panic goes no further.  Until a task that was woken is polled, a
    /// thread that unlocks while nobody else is at the mutex wakes the others too: among n tasks of one
    /// thread that all wait, each unlocking wakes n.
    ///
    /// A poll after the one that was ready locks anew.
    ///
    /// ```
    /// use cohort::basic::Mcs;
    /// use cohort::{Mutex, Waking};
    /// use std::pin::pin;
    /// use std::sync::Arc;
    /// use std::task::{Context, Poll, Wake, Waker};
    /// use std::thread::{self, Thread};
    ///
    /// struct Unparks(Thread);
    ///
    /// impl Wake for Unparks {
    ///     fn wake(self: Arc<Self>) {
    ///         self.0.unpark();
    ///     }
    /// }
    ///
    /// /// An executor of one task.
    /// fn block_on<R>(future: impl Future<Output = R>) -> R {
    ///     let mut future = pin!(future);
    ///     let waker = Waker::from(Arc::new(Unparks(thread::current())));
    ///     loop {
    ///         match future.as_mut().poll(&mut Context::from_waker(&waker)) {
    ///             Poll::Ready(result) => return result,
    ///             Poll::Pending => thread::park(),
    ///         }
    ///     }
    /// }
    ///
    /// let total: Mutex<u64, Waking<Mcs>> = Mutex::from(0);
    /// thread::scope(|scope| {
    ///     for each in 1..=4 {
    ///         let total = &total;
    ///         scope.spawn(move || block_on(async {
    ///             *total.lock_async().await += each;
    ///         }));
    ///     }
    ///     *total.lock() += 5;
    /// });
    /// assert_eq!(*total.lock(), 15);
    /// ```
    ///
    /// Tasks wait for a mutex under no other lock:
    ///
    /// ```compile_fail,E0599
    /// let total = cohort::Mutex::new(1);
    /// let future = total.lock_async();
    /// ```
    pub fn lock_async(&self) -> LockAsync<'_, T, L> {
        LockAsync {
            mutex: self,
            entry: Entry::new(),
        }
    }
}

impl<'a, T: ?Sized, L: RawTry + ThreadOblivious> Future for LockAsync<'a, T, L> {
    type Output = MutexGuard<'a, T, Waking<L>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.into_ref().get_ref();
        let waking = this.mutex.raw();
        // If the lock panicked, its queue might still have the context.
        let context = ManuallyDrop::new(Kept::<Waking<L>>::new());
        // SAFETY: a new context, in a block, which goes to the guard, if there is one: as in `Mutex::lock`.
        if unsafe { waking.try_acquire(context.get()) } {
            return this.ready(context);
        }
        let mut spinner = Spinner::new();
        loop {
            // It may panic: nothing is counted yet.
            let waker = cx.waker().clone();
            waking.come();
            // SAFETY: as above.
            if unsafe { waking.lock.try_acquire(context.get()) } {
                return this.ready(context);
            }
            // The waker of before is dropped once this poll is counted no more.
            let _former = waking.change(|tasks| tasks.put(&this.entry, waker));
            let before = waking.state.fetch_sub(ONE, Order::RELAXED);
            if before >= 2 * ONE || mutant(flaw::TRUST_OTHERS) {
                drop(ManuallyDrop::into_inner(context));
                return Poll::Pending;
            }
            // The lock is free, or somebody has just come.
            spinner.moment();
        }
    }
}

impl<T: ?Sized, L> Drop for LockAsync<'_, T, L> {
    fn drop(&mut self) {
        if !mutant(flaw::KEEP_DROPPED) {
            self.leave();
        }
    }
}
