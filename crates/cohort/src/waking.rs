//! `Waking<L>`: a lock for which tasks wait too, that keep no thread waiting; and [`LockAsync`],
//! the future by which they do.
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `lock` | threads, and polls that try it | the lock that excludes |
//! | `state` | arriving and leaving threads and polls | how many of them are here, waiting or holding, in `ONE`s; with `LISTED`: the list is not empty |
//! | `tasks` | failed polls, dropped futures, and leaving threads; it has a lock of its own | the waiting tasks, in the order of their first polls, and the number of called ones |
//! | an entry's `ticket` | its first failed poll | its place in that order; 0: it has none yet |
//! | an entry's `waits` | as `tasks` | its stage, its waker, and its neighbours in the list |
//!
//! | stage of an entry | meaning | set by |
//! |---|---|---|
//! | `Out` | not waiting | a ready or dropped future |
//! | `Waiting` | in the list | a failed poll |
//! | `Called` | taken from the list, and woken | a leaving thread |
//!
//! **One wake to one task.**  A leaving thread or poll calls the first entry of the list: it wakes that
//! task alone.  The future locks the mutex at its next poll, or is in the list again at its former place.
//! A called future that is dropped passes its call on.  If a called future is not polled, the next
//! thread or poll that leaves calls the next entry.
//!
//! **No wake is lost.**  A poll is counted before it tries the lock.  If it fails, it enters the list and
//! leaves.  If another thread or poll was counted then, that one finds the mark when it leaves;
//! otherwise the poll tries once more.  The last one that leaves calls an entry in any case.  Another one
//! calls an entry if the lock is free and no call is under way, so that tasks get in between threads.
//!
//! No access to `state` carries an order.  Of one word every thread sees the same sequence of
//! exchanges, and the mark stands in it while the list is not empty, since both are changed in the list's
//! lock.  A poll that finds no other here may not see yet that the lock has become free, and looks again
//! in a moment.
//!
//! **The lock is not handed over.**  A task may keep a future that it does not poll, and wait for another
//! task that waits for the lock ("futurelock"); with the lock handed to that future, both would
//! wait for ever.  A called future owns nothing, and every other thread and poll may lock the mutex
//! before it.
//!
//! Every operation on the list takes a constant number of steps.  Only entries that come back to their
//! places out of order look for them among the others that came back.
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
    /// A thread leaves although tasks wait.
    FORGET_TASKS = "waking.forget-tasks";
    /// A poll leaves its task to others, also where there are none.
    TRUST_OTHERS = "waking.trust-others";
    /// The last to leave trusts that a called future is polled.
    TRUST_CALLED = "waking.trust-called";
    /// A called future that is dropped keeps its call.
    KEEP_CALL = "waking.keep-call";
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

/// How far a future is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Out,
    Waiting,
    Called,
}

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
    stage: Stage,
    waker: Option<Waker>,
    /// Neighbours in the list, or null.
    next: *const Entry,
    previous: *const Entry,
}

// SAFETY: the pointers are followed in the list's lock alone.
unsafe impl Send for Waits {}

impl Entry {
    fn new() -> Self {
        let waits = Waits {
            stage: Stage::Out,
            waker: None,
            next: ptr::null(),
            previous: ptr::null(),
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

    /// Changes it; only in the list's lock.
    fn with<R>(&self, change: impl FnOnce(&mut Waits) -> R) -> R {
        // SAFETY: one thread at a time is in the list's lock, and the changes do not nest.
        self.waits.with_mut(|waits| change(unsafe { &mut *waits }))
    }
}

/// The list, by tickets.  An entry stays where it is until it is taken out.
#[derive(Debug)]
struct Tasks {
    first: *const Entry,
    last: *const Entry,
    /// The entry that came back last to a place before others; null, if it is gone.
    returned: *const Entry,
    /// How many futures are called.
    called: usize,
    /// The ticket drawn last.
    drawn: u64,
}

// SAFETY: as `Waits`.
unsafe impl Send for Tasks {}

impl Tasks {
    const fn new() -> Self {
        Self {
            first: ptr::null(),
            last: ptr::null(),
            returned: ptr::null(),
            called: 0,
            drawn: 0,
        }
    }

    /// The entry behind that one, or, behind none, the first.
    fn next(&self, before: *const Entry) -> *const Entry {
        // SAFETY: null, or in the list.
        unsafe { before.as_ref() }.map_or(self.first, |entry| entry.with(|waits| waits.next))
    }

    /// Links the entry in behind that one, or, behind none, as the first.
    fn link(&mut self, entry: &Entry, before: *const Entry) {
        let next = self.next(before);
        entry.with(|waits| (waits.previous, waits.next) = (before, next));
        self.join(before, entry);
        self.join(entry, next);
    }

    /// Makes two entries neighbours; null is the beginning, or the end.
    fn join(&mut self, before: *const Entry, next: *const Entry) {
        // SAFETY: null, or in the list; so for the next.
        match unsafe { before.as_ref() } {
            None => self.first = next,
            Some(before) => before.with(|waits| waits.next = next),
        }
        // SAFETY: as above.
        match unsafe { next.as_ref() } {
            None => self.last = before,
            Some(next) => next.with(|waits| waits.previous = before),
        }
    }

    /// The last entry with a smaller ticket, or null, for an entry that comes back.
    fn before(&self, ticket: u64) -> *const Entry {
        // SAFETY: null, or in the list.
        let is_before =
            |entry: *const Entry| unsafe { entry.as_ref() }.is_some_and(|e| e.ticket() < ticket);
        // As a rule entries come back in order.
        let mut last = if is_before(self.returned) {
            self.returned
        } else {
            ptr::null()
        };
        loop {
            let here = self.next(last);
            if !is_before(here) {
                return last;
            }
            last = here;
        }
    }

    /// Puts the entry into the list, where its ticket says, with that waker; the waker of before.
    fn put(&mut self, entry: &Entry, waker: Waker) -> Option<Waker> {
        let (stage, former) = entry.with(|waits| {
            let stage = mem::replace(&mut waits.stage, Stage::Waiting);
            (stage, waits.waker.replace(waker))
        });
        match stage {
            Stage::Waiting => return former,
            Stage::Called => self.called -= 1,
            Stage::Out => {}
        }
        if entry.ticket() == 0 || mutant(flaw::LOSE_PLACE) {
            self.drawn += 1;
            entry.ticket.store(self.drawn, Order::RELAXED);
            self.link(entry, self.last);
        } else {
            self.link(entry, self.before(entry.ticket()));
            self.returned = entry;
        }
        former
    }

    /// Takes the entry out of the list, and gives it that stage; its waker.
    fn unlink(&mut self, entry: &Entry, stage: Stage) -> Option<Waker> {
        let (previous, next, waker) = entry.with(|waits| {
            waits.stage = stage;
            (waits.previous, waits.next, waits.waker.take())
        });
        self.join(previous, next);
        if ptr::eq(self.returned, entry) {
            self.returned = previous;
        }
        waker
    }

    /// Ends the entry's wait: its waker, and whether it was called.
    fn take_out(&mut self, entry: &Entry) -> (Option<Waker>, bool) {
        match entry.with(|waits| waits.stage) {
            Stage::Out => (None, false),
            Stage::Waiting => (self.unlink(entry, Stage::Out), false),
            Stage::Called => {
                self.called -= 1;
                entry.with(|waits| waits.stage = Stage::Out);
                (None, true)
            }
        }
    }

    /// Calls the first entry: its waker.
    fn call_first(&mut self) -> Option<Waker> {
        // SAFETY: null, or in the list.
        let first = unsafe { self.first.as_ref() }?;
        self.called += 1;
        self.unlink(first, Stage::Called)
    }
}

impl Default for Tasks {
    fn default() -> Self {
        Self::new()
    }
}

/// A lock around `L` for which tasks wait too, by [`Mutex::lock_async`].  Each acquisition
/// is counted here, by two more exchanges on one line than `L` needs.  A release wakes one task, the first
/// that waits.
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
    fn change<R>(&self, change: impl FnOnce(&mut Tasks) -> R) -> R {
        self.tasks.locking(|tasks| {
            let was_empty = tasks.first.is_null();
            let result = change(tasks);
            let is_empty = tasks.first.is_null();
            if was_empty && !is_empty {
                self.state.fetch_or(LISTED, Order::RELAXED);
            } else if is_empty && !was_empty {
                self.state.fetch_and(!LISTED, Order::RELAXED);
            }
            result
        })
    }

    /// Calls the first task of the list; also where a call is under way, if `in_any_case`.
    fn call_first(&self, in_any_case: bool) {
        loop {
            let waker = self.change(|tasks| {
                if tasks.called > 0 && (!in_any_case || mutant(flaw::TRUST_CALLED)) {
                    return None;
                }
                let waker = tasks.call_first();
                if mutant(flaw::WAKE_INSIDE)
                    && let Some(waker) = &waker
                {
                    waker.wake_by_ref();
                }
                waker
            });
            let Some(waker) = waker else { return };
            // A waker's panic has been reported, and its task is not polled.
            if caught(|| waker.wake()).is_ok() {
                return;
            }
        }
    }

    /// The calling thread or poll, which is counted, and has the lock no more, is so no longer.
    #[inline]
    fn go(&self)
    where
        L: RawLock,
    {
        let before = self.state.fetch_sub(ONE, Order::RELAXED);
        if before & LISTED != 0 && !mutant(flaw::FORGET_TASKS) {
            self.call(before < 2 * ONE);
        }
    }

    /// Calls a task, for a thread or poll that was here alone, or not.
    #[cold]
    fn call(&self, alone: bool)
    where
        L: RawLock,
    {
        if alone || !self.lock.is_locked() {
            self.call_first(alone);
        }
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
    /// Its task waits no more; whether it was called.
    fn leave(&self) -> bool {
        if self.entry.ticket() == 0 {
            return false;
        }
        // The waker is dropped behind the list's lock.
        let (_waker, was_called) = self.mutex.raw().change(|tasks| tasks.take_out(&self.entry));
        was_called
    }
}

impl<'a, T: ?Sized, L: RawTry + ThreadOblivious> LockAsync<'a, T, L> {
    /// It has locked the mutex by that context.
    fn ready(&self, context: ManuallyDrop<Kept<Waking<L>>>) -> Poll<MutexGuard<'a, T, Waking<L>>> {
        let guard = self.mutex.guard(ManuallyDrop::into_inner(context));
        let _ = self.leave();
        Poll::Ready(guard)
    }
}

impl<T: ?Sized, L: RawTry + ThreadOblivious> Mutex<T, Waking<L>> {
    /// A future that is ready with the mutex locked.
    ///
    /// A poll locks the mutex if no thread has it or waits for it ahead, as [`try_lock`](Self::try_lock)
    /// does, and never blocks for the mutex.  If it fails, the task is woken once the mutex may be
    /// free, in the order in which the futures were first polled.  The mutex is not handed to the task:
    /// the first task or thread to arrive locks it.  A future whose poll fails again keeps its place.
    ///
    /// Each unlocking wakes one task.  A woken future that is dropped passes its turn on.  If a woken
    /// future is not polled, the next unlocking, or failed attempt to lock, wakes the next task.  So a
    /// task may keep a future that it does not poll; but if it also waits for another task that waits for
    /// this mutex, both wait until some thread or task locks or tries the mutex.
    ///
    /// Wakers are called by the threads that unlock, give up, or drop futures.  If a waker panics, the
    /// next task is woken, and the panic goes no further.
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
        if mutant(flaw::KEEP_DROPPED) {
            return;
        }
        let waking = self.mutex.raw();
        // Where a thread or poll is here, the last of them calls the next.
        if self.leave() && waking.state.load(Order::RELAXED) < ONE && !mutant(flaw::KEEP_CALL) {
            waking.call_first(true);
        }
    }
}
