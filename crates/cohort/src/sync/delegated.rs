//! `Delegated<T>`: data accessed by critical sections that any thread may run.
//!
//! | field | written by | read by | meaning |
//! |---|---|---|---|
//! | `lock` | threads that bring sections | the same | it decides which of them runs the sections |
//! | `changed` | a section that finds its condition unmet, which joins; threads that have brought a section | sections, once they have run; these threads | the threads that wait for a section of another to meet their condition |
//! | `runs` | the thread that runs a section | threads that bring one | see there |
//! | `data` | sections | sections | the data |
//!
//! **Waiting for a condition.** A section checks the condition, and if it is false, registers its
//! thread in `changed`. It does both under the lock, so no other section runs in between. Its
//! thread then waits on its own stack. Every other section checks for registered waiters when it
//! has run. If there are any, its thread wakes them all after the release, and each repeats its
//! check.

use crate::delegation::SanlPlus;
use crate::door::recorder::{Doing, delegating, serving};
use crate::door::{
    AtomicU32, Cell, Order, Panic, caught, constructor, flaws, mutant, panic_on, thread_id,
    to_its_end,
};
use crate::support::condvar::{NAMELESS, RawCondvar, WAITERS, Waited};
use crate::support::heed::heeding;
use crate::sync::mutex::patience;
use cohort_raw::{AbortableDelegate, Delegate, Outcome, Patience, Section, TryDelegate};
use core::fmt;
use core::ptr;
use core::time::Duration;

flaws! {
    /// Waiters for a condition are not notified after a section.
    FORGET_AWAITED = "delegated.forget-awaited";
    /// A thread registers after its check's section has ended.
    JOIN_LATE = "delegated.join-late";
    /// A waiter for a condition ignores its patience.
    WAIT_FOR_EVER = "delegated.wait-for-ever";
}

/// The thread that runs a section records itself, in debug builds.
const WATCHES: bool = cfg!(debug_assertions);

/// Data accessed by one critical section at a time, which need not run in the calling thread. Under
/// contention, one thread runs the sections of all, with the data in its cache (Zhang et al. 2017
/// §2.2).
///
/// Sections may borrow from the calling thread, which waits until they have been run. Their
/// captures and results move to another thread and back, so they must be [`Send`]; thread-locals
/// are those of the other thread. [`locking`](Self::locking) runs a section in the calling thread:
/// for sections that need it, and for sections that wait for other threads, which would otherwise
/// deadlock. [`run_when`](Self::run_when) waits for a condition on the data before its section,
/// [`pausing`](Self::pausing) inside it. Under
/// [`Posting`](crate::Posting), tasks can run sections without blocking a thread.
///
/// Not poisoned by a panic, which continues in the calling thread. Without this crate's feature
/// `std`, it ends the process.
///
/// ```
/// use cohort::Delegated;
/// use cohort::delegation::CcSynch;
///
/// let words: Delegated<Vec<String>, CcSynch> = Delegated::from(Vec::new());
/// std::thread::scope(|scope| {
///     for name in ["one", "two", "three"] {
///         let words = &words;
///         scope.spawn(move || words.run(|words| words.push(name.to_owned())));
///     }
/// });
/// assert_eq!(words.run(|words| words.len()), 3);
/// ```
///
/// Every [`RawLock`](crate::RawLock) is such a lock, too; threads then run their own sections:
///
/// ```
/// use cohort::{Delegated, basic::Mcs};
///
/// let total: Delegated<u64, Mcs> = Delegated::from(1);
/// assert_eq!(total.run(|total| { *total += 1; *total }), 2);
/// ```
///
/// A capture must be able to move to another thread,
///
/// ```compile_fail,E0277
/// # use cohort::{Delegated, basic::Mcs};
/// # use std::rc::Rc;
/// let total: Delegated<u64, Mcs> = Delegated::from(1);
/// let mine = Rc::new(1);
/// total.run(|total| *total += *mine);
/// ```
///
/// and so must a result,
///
/// ```compile_fail,E0277
/// # use cohort::{Delegated, basic::Mcs};
/// # use std::rc::Rc;
/// let total: Delegated<u64, Mcs> = Delegated::from(1);
/// let theirs = total.run(|total| Rc::new(*total));
/// ```
///
/// unless the section runs in place:
///
/// ```
/// # use cohort::{Delegated, basic::Mcs};
/// # use std::rc::Rc;
/// let total: Delegated<u64, Mcs> = Delegated::from(1);
/// let mine = Rc::new(1);
/// total.locking(|total| *total += *mine);
/// ```
///
/// A result may not borrow from the data:
///
/// ```compile_fail
/// # use cohort::{Delegated, basic::Mcs};
/// let words: Delegated<Vec<u8>, Mcs> = Delegated::from(vec![1]);
/// let first = words.run(|words| &words[0]);
/// ```
#[derive(Default)]
pub struct Delegated<T, L = SanlPlus> {
    lock: L,
    /// In debug builds, the thread that runs a section, or 0; detects a thread that would wait for
    /// itself.
    runs: AtomicU32,
    changed: RawCondvar,
    data: Cell<T>,
}

impl<T, L> fmt::Debug for Delegated<T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delegated").finish_non_exhaustive()
    }
}

impl<T, L: Delegate> From<T> for Delegated<T, L> {
    fn from(data: T) -> Self {
        Self::with_lock(data, L::default())
    }
}

impl<T> Delegated<T> {
    constructor! {
        /// Creates data under the default delegation lock, [`SanlPlus`]; also in statics. Other locks:
        /// `Delegated::from`, or [`with_lock`](Self::with_lock) in statics.
        ///
        /// ```
        /// static TOTAL: cohort::Delegated<u64> = cohort::Delegated::new(0);
        ///
        /// std::thread::scope(|scope| {
        ///     for _ in 0..4 {
        ///         scope.spawn(|| TOTAL.run(|total| *total += 1));
        ///     }
        /// });
        /// assert_eq!(TOTAL.run(|total| *total), 4);
        /// ```
        #[must_use]
        pub fn new(data: T) -> Self {
            Self::with_lock(data, SanlPlus::new())
        }
    }
}

impl<T, L> Delegated<T, L> {
    constructor! {
        /// Creates data under a lock with its own parameters, such as the thresholds that `cohort tune
        /// sanl` finds for a machine; or in a static.
        ///
        /// ```
        /// use cohort::{Delegated, Thresholds, Tunable, WHOLE, delegation::Sanl};
        ///
        /// static WORDS: Delegated<Vec<&str>, Sanl> = Delegated::with_lock(Vec::new(), Sanl::new());
        /// WORDS.run(|words| words.push("one"));
        ///
        /// let thresholds = Thresholds {
        ///     brings: WHOLE / 8,
        ///     ..Thresholds::USUAL
        /// };
        /// let total: Delegated<u64, Sanl> = Delegated::with_lock(1, Sanl::with(&thresholds));
        /// assert_eq!(total.run(|total| *total + 1), 2);
        /// ```
        #[must_use]
        pub fn with_lock(data: T, lock: L) -> Self {
            Self {
                lock,
                runs: AtomicU32::new(0),
                changed: RawCondvar::new(),
                data: Cell::new(data),
            }
        }
    }
}

impl<T, L: Delegate> Delegated<T, L> {
    /// Runs `section` on the data, in any thread, and returns its result. Blocks until then.
    ///
    /// A section must not call this on its own data: it would never return.
    ///
    /// # Panics
    /// If `section` does; in debug builds, also inside a section of the same data.
    ///
    /// ```
    /// use cohort::{Delegated, delegation::Sanl};
    ///
    /// let total: Delegated<u64, Sanl> = Delegated::from(1);
    /// let doubled = total.run(|total| {
    ///     *total *= 2;
    ///     *total
    /// });
    /// assert_eq!(doubled, 2);
    /// ```
    #[inline]
    pub fn run<R: Send>(&self, section: impl FnOnce(&mut T) -> R + Send) -> R {
        let mut context = L::Context::default();
        let result = self.bring(section, |section| {
            self.lock.run(&mut context, section);
            true
        });
        result.unwrap_or_else(|| unreachable!("a delegate has run what was brought to it"))
    }

    /// [`run`](Self::run), in the calling thread: for sections that need it, or that wait for other
    /// threads.
    ///
    /// # Panics
    /// As [`run`](Self::run).
    ///
    /// ```
    /// use cohort::{Delegated, delegation::Sanl};
    ///
    /// let total: Delegated<u64, Sanl> = Delegated::from(1);
    /// let here = std::thread::current().id();
    /// total.locking(|_| assert_eq!(std::thread::current().id(), here));
    /// ```
    #[inline]
    pub fn locking<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        let mut context = L::Context::default();
        let result = self.bring(section, |section| {
            self.lock.run_here(&mut context, section);
            true
        });
        result.unwrap_or_else(|| unreachable!("a delegate has run what was brought to it"))
    }

    /// Blocks until `condition` is true, runs `section` on the same data, in any thread, and
    /// returns its result. No other section runs in between.
    ///
    /// The calling thread waits on its own, and blocks no thread that runs sections. The condition
    /// is evaluated at first, and again after other sections, since each wakes all waiters.
    ///
    /// Not for use inside a section of other data: the thread that runs that section would wait.
    ///
    /// # Panics
    /// If `condition` or `section` does; in debug builds, also inside a section of the same data.
    ///
    /// ```
    /// use cohort::{Delegated, delegation::Sanl};
    ///
    /// let words: Delegated<Vec<&str>, Sanl> = Delegated::from(Vec::new());
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| words.run(|words| words.push("one")));
    ///     let word = words.run_when(|words| !words.is_empty(), |words| words.pop());
    ///     assert_eq!(word, Some("one"));
    /// });
    /// ```
    ///
    /// The condition, too, must be able to move to another thread,
    ///
    /// ```compile_fail,E0277
    /// # use cohort::{Delegated, basic::Mcs};
    /// # use std::rc::Rc;
    /// let total: Delegated<u64, Mcs> = Delegated::from(1);
    /// let mine = Rc::new(1);
    /// total.run_when(|total| *total == *mine, |total| *total += 1);
    /// ```
    ///
    /// and cannot change the data:
    ///
    /// ```compile_fail,E0594
    /// # use cohort::{Delegated, basic::Mcs};
    /// let total: Delegated<u64, Mcs> = Delegated::from(1);
    /// total.run_when(|total| { *total += 1; true }, |total| *total += 1);
    /// ```
    pub fn run_when<R: Send>(
        &self,
        condition: impl FnMut(&T) -> bool + Send,
        section: impl FnOnce(&mut T) -> R + Send,
    ) -> R {
        let result = self.when(&Patience::ENDLESS, condition, section, |cx, section| {
            self.lock.run(cx, section);
            true
        });
        result.unwrap_or_else(|| unreachable!("a delegate has run what was brought to it"))
    }

    /// [`run_when`](Self::run_when), until patience runs out: then `section` never runs. A section
    /// that has begun is completed.
    ///
    /// If patience has run out before the call, a free lock still evaluates the condition once, and
    /// runs `section` if it is true.
    ///
    /// # Panics
    /// As [`run_when`](Self::run_when).
    ///
    /// ```
    /// use cohort::{Deadline, Delegated, Patience, delegation::Sanl};
    ///
    /// let words: Delegated<Vec<&str>, Sanl> = Delegated::from(Vec::new());
    /// let over = Patience::until(Deadline::monotonic(1));
    /// let word = words.run_when_within(&over, |words| !words.is_empty(), |words| words.pop());
    /// assert_eq!(word, None);
    /// ```
    pub fn run_when_within<R: Send>(
        &self,
        patience: &Patience,
        condition: impl FnMut(&T) -> bool + Send,
        section: impl FnOnce(&mut T) -> R + Send,
    ) -> Option<R>
    where
        L: AbortableDelegate,
    {
        heeding(patience, |patience| {
            self.when(patience, condition, section, |cx, section| {
                self.lock.run_within(cx, section, patience) == Outcome::Acquired
            })
        })
    }

    /// [`run_when_within`](Self::run_when_within), with a timeout.
    ///
    /// ```
    /// use cohort::{Delegated, delegation::Sanl};
    /// use std::time::Duration;
    ///
    /// let total: Delegated<u64, Sanl> = Delegated::from(1);
    /// let soon = Duration::from_millis(1);
    /// assert_eq!(total.try_run_when_for(soon, |total| *total > 1, |total| *total), None);
    /// assert_eq!(total.try_run_when_for(soon, |total| *total > 0, |total| *total), Some(1));
    /// ```
    ///
    /// # Panics
    /// As [`run_when`](Self::run_when).
    pub fn try_run_when_for<R: Send>(
        &self,
        timeout: Duration,
        condition: impl FnMut(&T) -> bool + Send,
        section: impl FnOnce(&mut T) -> R + Send,
    ) -> Option<R>
    where
        L: AbortableDelegate,
    {
        self.run_when_within(&patience(timeout), condition, section)
    }

    /// Has `to` run checks of the condition until one has run the section or patience runs out.
    /// `to` returns whether its check has been run.
    fn when<R>(
        &self,
        patience: &Patience,
        mut condition: impl FnMut(&T) -> bool,
        section: impl FnOnce(&mut T) -> R,
        to: impl Fn(&mut L::Context, Section<'_>) -> bool,
    ) -> Option<R> {
        let mut section = Some(section);
        // SAFETY: without a mutex name, and of one pool.
        let join = || unsafe { self.changed.enqueue(&WAITERS, NAMELESS) };
        loop {
            let mut context = L::Context::default();
            let look = |data: &mut T| match section.take_if(|_| condition(data)) {
                Some(section) => Ok(section(data)),
                None => Err((!mutant(flaw::JOIN_LATE)).then(join)),
            };
            let (looked, awaited) = self.carry(look, |section| to(&mut context, section));
            let Some(Ok(Err(waiter))) = looked else {
                self.tell(awaited);
                return looked.map(returned)?.ok();
            };
            let waiter = waiter.unwrap_or_else(join);
            let patience = if mutant(flaw::WAIT_FOR_EVER) {
                &Patience::ENDLESS
            } else {
                patience
            };
            // SAFETY: it joined this queue, and waits once.
            let left = unsafe { self.changed.wait(&WAITERS, waiter, patience) };
            // Otherwise the loop would check the condition for ever while the lock is free.
            if left.waited == Waited::GaveUp {
                return None;
            }
        }
    }

    /// The lock, for locks that [need a server](crate::Attended).
    ///
    /// ```
    /// use cohort::{Attended, Delegated, delegation::Rcl};
    ///
    /// let total: Delegated<u64, Rcl> = Delegated::from(1);
    /// // Nothing has been brought that a server could run.
    /// assert!(!total.raw().attend());
    /// total.raw().leave();
    /// ```
    pub const fn raw(&self) -> &L {
        &self.lock
    }

    /// Runs `section` if no other section is running, without waiting for one.
    ///
    /// ```
    /// use cohort::{Delegated, basic::Tas};
    ///
    /// let total: Delegated<u64, Tas> = Delegated::from(1);
    /// assert_eq!(total.try_run(|total| *total), Some(1));
    /// total.locking(|_| {
    ///     std::thread::scope(|scope| {
    ///         scope.spawn(|| assert_eq!(total.try_run(|total| *total), None));
    ///     });
    /// });
    /// ```
    ///
    /// # Panics
    /// As [`run`](Self::run).
    #[inline]
    pub fn try_run<R: Send>(&self, section: impl FnOnce(&mut T) -> R + Send) -> Option<R>
    where
        L: TryDelegate,
    {
        let mut context = L::Context::default();
        self.bring(section, |section| self.lock.try_run(&mut context, section))
    }

    /// Runs `section`, unless patience runs out before it begins. Blocks until then; a section that
    /// has begun is completed.
    ///
    /// # Panics
    /// As [`run`](Self::run).
    ///
    /// ```
    /// use cohort::{Delegated, Patience, basic::Tas};
    ///
    /// let total: Delegated<u64, Tas> = Delegated::from(1);
    /// assert_eq!(total.run_within(&Patience::ENDLESS, |total| *total), Some(1));
    /// ```
    #[inline]
    pub fn run_within<R: Send>(
        &self,
        patience: &Patience,
        section: impl FnOnce(&mut T) -> R + Send,
    ) -> Option<R>
    where
        L: AbortableDelegate,
    {
        let mut context = L::Context::default();
        heeding(patience, |patience| {
            self.bring(section, |section| {
                self.lock.run_within(&mut context, section, patience) == Outcome::Acquired
            })
        })
    }

    /// Runs `section`, unless the timeout ends before it begins. Blocks until then.
    ///
    /// ```
    /// use cohort::{Delegated, basic::Tas};
    /// use std::time::Duration;
    ///
    /// let total: Delegated<u64, Tas> = Delegated::from(1);
    /// assert_eq!(total.try_run_for(Duration::from_millis(1), |total| *total), Some(1));
    /// ```
    ///
    /// # Panics
    /// As [`run`](Self::run).
    #[inline]
    pub fn try_run_for<R: Send>(
        &self,
        timeout: Duration,
        section: impl FnOnce(&mut T) -> R + Send,
    ) -> Option<R>
    where
        L: AbortableDelegate,
    {
        self.run_within(&patience(timeout), section)
    }

    /// The data, for a thread that holds the lock.
    pub(crate) const fn data(&self) -> &Cell<T> {
        &self.data
    }

    /// The threads that wait for another section.
    pub(crate) const fn changed(&self) -> &RawCondvar {
        &self.changed
    }

    /// Whether there are any, seen during a section.
    #[inline]
    pub(crate) fn is_awaited(&self) -> bool {
        self.changed.is_awaited()
    }

    /// Records in debug builds whether the calling thread runs a section.
    pub(crate) fn is_run_here(&self, is_here: bool) {
        if WATCHES {
            let runs = if is_here { thread_id() } else { 0 };
            self.runs.store(runs, Order::RELAXED);
        }
    }

    /// Passes the section to `to`, which returns whether it has been run; returns its result.
    #[inline(always)]
    fn bring<R>(
        &self,
        section: impl FnOnce(&mut T) -> R,
        to: impl FnOnce(Section<'_>) -> bool,
    ) -> Option<R> {
        let (result, awaited) = self.carry(section, to);
        self.tell(awaited);
        result.map(returned)
    }

    /// Notifies the waiters for a condition, if a section of the calling thread saw any.
    #[inline]
    pub(crate) fn tell(&self, awaited: bool) {
        if awaited && !mutant(flaw::FORGET_AWAITED) {
            self.changed.notify_all();
        }
    }

    /// Passes the section to `to`, which returns whether it has been run. Returns how it ended, and
    /// whether waiters for a condition were registered then.
    #[inline(always)]
    fn carry<R>(
        &self,
        section: impl FnOnce(&mut T) -> R,
        to: impl FnOnce(Section<'_>) -> bool,
    ) -> (Option<Result<R, Panic>>, bool) {
        self.expect_elsewhere();
        let mut section = Some(section);
        let mut result: Option<Result<R, Panic>> = None;
        let mut awaited = false;
        let has_run = delegating(Doing::Lock, ptr::from_ref(self).addr(), |call| {
            let mut whole = || {
                if let Some(section) = section.take() {
                    serving(call.as_ref(), || {
                        // SAFETY: the lock runs one section at a time.
                        let ended = unsafe { self.inside(section) };
                        (result, awaited) = (Some(ended.0), ended.1);
                    });
                }
            };
            // SAFETY: a panic is caught; the section's captures and results are `Send`, or this
            // thread runs it.
            let section = unsafe { Section::new(&mut whole) };
            to_its_end(true, || to(section))
        });
        (result.filter(|_| has_run), awaited)
    }

    /// Panics in debug builds inside a section of this data.
    #[inline(always)]
    pub(crate) fn expect_elsewhere(&self) {
        assert!(
            !WATCHES || self.runs.load(Order::RELAXED) != thread_id(),
            "a section brings another to its own data, and would wait for it for ever"
        );
    }

    /// Runs the section on the data. Returns how it ended, and whether waiters for a condition were
    /// registered then.
    ///
    /// # Safety
    /// The calling thread runs a section of the lock, and lends the data to no other thread.
    #[inline(always)]
    pub(crate) unsafe fn inside<R>(
        &self,
        section: impl FnOnce(&mut T) -> R,
    ) -> (Result<R, Panic>, bool) {
        if WATCHES {
            self.runs.store(thread_id(), Order::RELAXED);
        }
        // SAFETY: the caller's; sections exclude each other.
        let on_data = || self.data.with_mut(|data| section(unsafe { &mut *data }));
        let ended = caught(on_data);
        // Inside the section, while the line is in this CPU's cache.
        let awaited = self.changed.is_awaited();
        if WATCHES {
            self.runs.store(0, Order::RELAXED);
        }
        (ended, awaited)
    }
}

/// Returns a section's result, or continues its panic.
pub(crate) fn returned<R>(ended: Result<R, Panic>) -> R {
    match ended {
        Ok(result) => result,
        Err(panic) => panic_on(panic),
    }
}
