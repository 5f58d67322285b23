//! `Waking<L>`: a lock for which tasks can wait without blocking a thread; and [`LockAsync`], their
//! future. [`shared`]: the same for an rwlock.
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `lock` | threads, and polls that try it | the lock that excludes |
//! | `state` | arriving and leaving threads and polls | the registered ones, waiting or holding, in `ONE`s; with `LISTED`: the list is not empty; with `EXCLUSIVE`: a listed or called task needs the lock alone |
//! | `tasks` | failed polls, dropped futures, and leaving threads; it has a lock of its own | the waiting tasks, in the order of their first polls, and the number of called ones |
//! | an entry's `ticket` | its first failed poll | its place in that order; 0: none yet |
//! | an entry's `waits` | as `tasks` | its stage, its waker, and its neighbours in the list |
//!
//! | stage of an entry | meaning | set by |
//! |---|---|---|
//! | `Out` | not waiting | a ready or dropped future |
//! | `Waiting` | in the list | a failed poll |
//! | `Called` | unlinked from the list, and woken | a leaving thread |
//!
//! **One wake per task.** A leaving thread or poll calls the first entry of the list: it wakes only
//! that task. The future locks the mutex at its next poll, or returns to its former place in the
//! list. A called future that is dropped passes its call on. If a called future is not polled, the
//! next leaving thread or poll calls the next entry.
//!
//! **No lost wake.** A poll registers before it tries the lock. If it fails, it enters the list and
//! leaves. If another thread or poll was registered then, that one finds the mark when it leaves;
//! otherwise the poll tries again. The last one to leave always calls an entry. Others call an
//! entry if the lock is free and no call is pending, so that tasks get the lock between threads.
//!
//! No access to `state` carries an order. All threads see one sequence of its exchanges. The mark
//! is set in it while the list is not empty, since both change under the list's lock. A poll that
//! is registered alone may not see yet that the lock is free, and retries in a moment.
//!
//! **No hand-over.** A task may keep a future without polling it, and wait for another task that
//! waits for the lock ("futurelock"). If the lock were handed to that future, both would wait for
//! ever. A called future owns nothing: every other thread and poll may lock the mutex before it.
//!
//! Every operation on the list takes a constant number of steps, with one exception: an entry that
//! returns out of order searches the other returned entries for its place.
//!
//! Wakers are called and dropped outside all locks: they may lock this mutex.

use crate::basic::Futex;
use crate::door::{AtomicU32, AtomicU64, Cell, Order, Spinner, caught, constructor, flaws, mutant};
use crate::support::context::Kept;
use crate::sync::mutex::{Mutex, MutexGuard};
use cohort_raw::{Abortable, Outcome, Patience, RawLock, RawTry, ThreadOblivious, forwards};
use core::fmt;
use core::marker::PhantomPinned;
use core::mem::{self, ManuallyDrop};
use core::pin::Pin;
use core::ptr;
use core::task::{Context, Poll, Waker};

pub(crate) mod shared;

flaws! {
    /// A thread leaves without calling a waiting task.
    FORGET_TASKS = "waking.forget-tasks";
    /// A poll leaves its task to registered threads, even if there are none.
    TRUST_OTHERS = "waking.trust-others";
    /// The last one to leave assumes that a called future is polled.
    TRUST_CALLED = "waking.trust-called";
    /// A called future that is dropped keeps its call.
    KEEP_CALL = "waking.keep-call";
    /// Wakers are called under the list's lock.
    WAKE_INSIDE = "waking.wake-inside";
    /// A dropped future stays in the list.
    KEEP_DROPPED = "waking.keep-dropped";
    /// A task woken in vain goes to the end of the list.
    LOSE_PLACE = "waking.lose-place";
    /// Of several reading tasks at the head of the list, one is called.
    CALL_ONE_READER = "waking.call-one-reader";
}

/// Mark: tasks wait.
const LISTED: u32 = 1;
/// Mark: one of them, or of the called tasks, needs the lock alone.
const EXCLUSIVE: u32 = 2;
/// One registered thread or poll.
const ONE: u32 = 4;

/// Progress of a future.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Out,
    Waiting,
    Called,
}

/// A future's list entry, inside the future.
#[derive(Debug)]
struct WaitingTask {
    /// Whether it shares the lock with others of its kind.
    reads: bool,
    ticket: AtomicU64,
    waits: Cell<Waits>,
    /// Pinned, since the list points to it.
    _stays: PhantomPinned,
}

#[derive(Debug)]
struct Waits {
    stage: Stage,
    waker: Option<Waker>,
    /// Neighbours in the list, or null.
    next: *const WaitingTask,
    previous: *const WaitingTask,
}

// SAFETY: the pointers are followed under the list's lock only.
unsafe impl Send for Waits {}

impl WaitingTask {
    fn new(reads: bool) -> Self {
        let waits = Waits {
            stage: Stage::Out,
            waker: None,
            next: ptr::null(),
            previous: ptr::null(),
        };
        Self {
            reads,
            ticket: AtomicU64::new(0),
            waits: Cell::new(waits),
            _stays: PhantomPinned,
        }
    }

    fn ticket(&self) -> u64 {
        self.ticket.load(Order::RELAXED)
    }

    /// Changes the entry; only under the list's lock.
    fn with<R>(&self, change: impl FnOnce(&mut Waits) -> R) -> R {
        // SAFETY: one thread at a time holds the list's lock, and changes do not nest.
        self.waits.with_mut(|waits| change(unsafe { &mut *waits }))
    }
}

/// The list, ordered by tickets. An entry does not move until it is unlinked.
#[derive(Debug)]
struct Tasks {
    first: *const WaitingTask,
    last: *const WaitingTask,
    /// The last entry that returned to a place before others; null if it is gone.
    returned: *const WaitingTask,
    /// The number of entries.
    listed: usize,
    /// The number of called futures.
    called: usize,
    /// The number of entries and called futures that need the lock alone.
    exclusive: usize,
    /// The last ticket drawn.
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
            listed: 0,
            called: 0,
            exclusive: 0,
            drawn: 0,
        }
    }

    /// The marks of this list.
    const fn marks(&self) -> u32 {
        let listed = if self.listed > 0 { LISTED } else { 0 };
        let exclusive = if self.exclusive > 0 { EXCLUSIVE } else { 0 };
        listed | exclusive
    }

    /// Returns the entry after `before`, or the first for null.
    fn next(&self, before: *const WaitingTask) -> *const WaitingTask {
        // SAFETY: null, or in the list.
        unsafe { before.as_ref() }.map_or(self.first, |entry| entry.with(|waits| waits.next))
    }

    /// Links the entry after `before`, or as the first for null.
    fn link(&mut self, entry: &WaitingTask, before: *const WaitingTask) {
        self.listed += 1;
        let next = self.next(before);
        entry.with(|waits| (waits.previous, waits.next) = (before, next));
        self.join(before, entry);
        self.join(entry, next);
    }

    /// Makes two entries neighbours; null is the beginning or the end.
    fn join(&mut self, before: *const WaitingTask, next: *const WaitingTask) {
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

    /// Returns the last entry with a smaller ticket, or null; for a returning entry.
    fn before(&self, ticket: u64) -> *const WaitingTask {
        let is_before = |entry: *const WaitingTask| {
            // SAFETY: null, or in the list.
            unsafe { entry.as_ref() }.is_some_and(|e| e.ticket() < ticket)
        };
        // Entries usually return in order.
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

    /// Links the entry at the place of its ticket, with that waker; returns the previous waker.
    fn put(&mut self, entry: &WaitingTask, waker: Waker) -> Option<Waker> {
        let (stage, former) = entry.with(|waits| {
            let stage = mem::replace(&mut waits.stage, Stage::Waiting);
            (stage, waits.waker.replace(waker))
        });
        match stage {
            Stage::Waiting => return former,
            Stage::Called => self.called -= 1,
            Stage::Out => self.exclusive += usize::from(!entry.reads),
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

    /// Unlinks the entry and sets its stage; returns its waker.
    fn unlink(&mut self, entry: &WaitingTask, stage: Stage) -> Option<Waker> {
        let (previous, next, waker) = entry.with(|waits| {
            waits.stage = stage;
            (waits.previous, waits.next, waits.waker.take())
        });
        self.listed -= 1;
        self.join(previous, next);
        if ptr::eq(self.returned, entry) {
            self.returned = previous;
        }
        waker
    }

    /// Ends the entry's wait; returns its waker and its stage.
    fn take_out(&mut self, entry: &WaitingTask) -> (Option<Waker>, Stage) {
        let stage = entry.with(|waits| waits.stage);
        if stage != Stage::Out {
            self.exclusive -= usize::from(!entry.reads);
        }
        let waker = match stage {
            Stage::Out => None,
            Stage::Waiting => self.unlink(entry, Stage::Out),
            Stage::Called => {
                self.called -= 1;
                entry.with(|waits| waits.stage = Stage::Out);
                None
            }
        };
        (waker, stage)
    }

    /// Whether the first entry reads; nothing for an empty list.
    fn first_reads(&self) -> Option<bool> {
        // SAFETY: null, or in the list.
        unsafe { self.first.as_ref() }.map(|first| first.reads)
    }

    /// Calls the first entry; returns its waker.
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

/// A lock around `L` for which tasks can wait, too, by [`Mutex::lock_async`]. Each acquisition
/// registers here, by two more exchanges on one line than `L` needs. A release wakes the first
/// waiting task.
///
/// A task acquires the lock if it is free; under a lock with FIFO order, also without waiting
/// threads. For many tasks with short critical sections, `Posting`, of the feature `std`, is
/// faster: it runs a section where the data is, and wakes no task in vain.
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
/// Tasks cannot wait for a lock without a try operation:
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
        /// Creates the lock, without waiting tasks.
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

    /// Registers the calling thread or poll.
    #[inline]
    fn come(&self) {
        self.state.fetch_add(ONE, Order::RELAXED);
    }

    /// Changes the list, and its marks.
    fn change<R>(&self, change: impl FnOnce(&mut Tasks) -> R) -> R {
        self.tasks.locking(|tasks| {
            let before = tasks.marks();
            let result = change(tasks);
            let after = tasks.marks();
            if after & !before != 0 {
                self.state.fetch_or(after & !before, Order::RELAXED);
            }
            if before & !after != 0 {
                self.state.fetch_and(!(before & !after), Order::RELAXED);
            }
            result
        })
    }

    /// Calls the first task of the list if the lock `admits` such a reader or exclusive holder;
    /// during a pending call only if `in_any_case`. After a reader, calls the readers behind it.
    fn call_first(&self, in_any_case: bool, admits: impl Fn(bool) -> bool) {
        // Called readers that fail return to the list meanwhile.
        let mut most = usize::MAX;
        let mut after_reader = false;
        while most > 0 {
            let called = self.change(|tasks| {
                most = most.min(tasks.listed);
                let reads = tasks.first_reads()?;
                let is_due = if after_reader {
                    reads
                } else {
                    let is_pending = tasks.called > 0;
                    let waits = is_pending && (!in_any_case || mutant(flaw::TRUST_CALLED));
                    !waits && admits(reads)
                };
                let waker = if is_due { tasks.call_first() } else { None };
                if mutant(flaw::WAKE_INSIDE)
                    && let Some(waker) = &waker
                {
                    waker.wake_by_ref();
                }
                waker.map(|waker| (waker, reads))
            });
            let Some((waker, reads)) = called else { return };
            most -= 1;
            // A waker's panic has been reported; its task will not be polled.
            if caught(|| waker.wake()).is_ok() {
                if !reads || mutant(flaw::CALL_ONE_READER) {
                    return;
                }
                after_reader = true;
            }
        }
    }

    /// Deregisters the calling thread or poll, which no longer holds the lock. `admits` returns
    /// whether the lock has room for a reader, or for an exclusive holder.
    #[inline]
    fn go(&self, admits: impl Fn(bool) -> bool) {
        let before = self.state.fetch_sub(ONE, Order::RELAXED);
        if before & LISTED != 0 && !mutant(flaw::FORGET_TASKS) {
            self.call(before < 2 * ONE, admits);
        }
    }

    /// Calls a task for a leaving thread or poll; `alone`: no other one is registered.
    #[cold]
    fn call(&self, alone: bool, admits: impl Fn(bool) -> bool) {
        if alone {
            self.call_first(true, |_| true);
        } else if admits(true) {
            self.call_first(false, admits);
        }
    }

    /// Waits in a poll of the future with that entry: returns true once `take` has acquired the
    /// lock, or false with the task in the list.
    fn wait(&self, entry: &WaitingTask, cx: &Context<'_>, take: impl Fn() -> bool) -> bool {
        let mut spinner = Spinner::new();
        loop {
            // Cloning may panic; this poll is not registered yet.
            let waker = cx.waker().clone();
            self.come();
            if take() {
                return true;
            }
            // The previous waker is dropped after this poll has deregistered.
            let _former = self.change(|tasks| tasks.put(entry, waker));
            let before = self.state.fetch_sub(ONE, Order::RELAXED);
            if before >= 2 * ONE || mutant(flaw::TRUST_OTHERS) {
                return false;
            }
            // The lock is free, or another thread or poll has just arrived.
            spinner.moment();
        }
    }

    /// Ends the wait of the task with that entry; returns its stage.
    fn leave(&self, entry: &WaitingTask) -> Stage {
        if entry.ticket() == 0 {
            return Stage::Out;
        }
        // The waker is dropped outside the list's lock.
        let (_waker, stage) = self.change(|tasks| tasks.take_out(entry));
        stage
    }

    /// Ends the wait for a future that is dropped; returns the entry's stage.
    fn forget(&self, entry: &WaitingTask) -> Stage {
        if mutant(flaw::KEEP_DROPPED) {
            return Stage::Out;
        }
        let stage = self.leave(entry);
        // If other threads or polls are registered, the last of them calls the next task.
        let is_unused = self.state.load(Order::RELAXED) < ONE;
        if stage == Stage::Called && is_unused && !mutant(flaw::KEEP_CALL) {
            self.call_first(true, |_| true);
        }
        stage
    }
}

impl<L: RawLock> Waking<L> {
    /// [`go`](Self::go) for a mutex's lock.
    #[inline]
    fn go_alone(&self) {
        self.go(|_| !self.lock.is_locked());
    }
}

// SAFETY: an acquisition is one of the inner lock.
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
        self.go_alone();
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
            self.go_alone();
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
            self.go_alone();
        }
        outcome
    }
}

// A waiter that gives up may have to wake any number of tasks.
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
    entry: WaitingTask,
}

impl<T: ?Sized, L> fmt::Debug for LockAsync<'_, T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockAsync").finish_non_exhaustive()
    }
}

impl<T: ?Sized, L: RawTry + ThreadOblivious> Mutex<T, Waking<L>> {
    /// Creates a future that is ready with the mutex locked.
    ///
    /// A poll locks the mutex if it is free and no thread waits ahead, as
    /// [`try_lock`](Self::try_lock) does, and never blocks for the mutex. If it fails, the task is
    /// woken once the mutex may be free, in the order of the futures' first polls. The mutex is not
    /// handed to the task: the first task or thread to arrive locks it. A future whose poll fails
    /// again keeps its place.
    ///
    /// Each unlocking wakes one task. A woken future that is dropped passes its turn on. If a woken
    /// future is not polled, the next unlocking, or failed attempt to lock, wakes the next task. So
    /// a task may keep a future without polling it. But if it also waits for another task that
    /// waits for this mutex, both wait until some thread or task locks or tries the mutex.
    ///
    /// Wakers are called by the threads that unlock, give up, or drop futures. If a waker panics,
    /// the next task is woken, and the panic does not propagate.
    ///
    /// After it was ready, a further poll locks again.
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
    /// Tasks can wait for a mutex under this lock only:
    ///
    /// ```compile_fail,E0599
    /// let total = cohort::Mutex::new(1);
    /// let future = total.lock_async();
    /// ```
    pub fn lock_async(&self) -> LockAsync<'_, T, L> {
        LockAsync {
            mutex: self,
            entry: WaitingTask::new(false),
        }
    }
}

impl<'a, T: ?Sized, L: RawTry + ThreadOblivious> Future for LockAsync<'a, T, L> {
    type Output = MutexGuard<'a, T, Waking<L>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.into_ref().get_ref();
        let waking = this.mutex.raw();
        // If the lock panics, its queue may still contain the context.
        let context = ManuallyDrop::new(Kept::<Waking<L>>::new());
        // SAFETY: a new context, in a block, which moves to the guard, if there is one: as in
        // `Mutex::lock`.
        let acquired = unsafe { waking.try_acquire(context.get()) }
            || waking.wait(&this.entry, cx, || {
                // SAFETY: as above.
                unsafe { waking.lock.try_acquire(context.get()) }
            });
        let context = ManuallyDrop::into_inner(context);
        if !acquired {
            return Poll::Pending;
        }
        let guard = this.mutex.guard(context);
        let _ = waking.leave(&this.entry);
        Poll::Ready(guard)
    }
}

impl<T: ?Sized, L> Drop for LockAsync<'_, T, L> {
    fn drop(&mut self) {
        let _ = self.mutex.raw().forget(&self.entry);
    }
}
