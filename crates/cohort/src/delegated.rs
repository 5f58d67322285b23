//! `Delegated<T>`: data that sections are brought to, by whichever thread.
//!
//! | field | written by | read by | meaning |
//! |---|---|---|---|
//! | `lock` | threads that bring sections | the same | which of them runs them |
//! | `changed` | a section that finds its condition unmet, which joins; threads that have brought a section | sections, once they have run; these threads | the threads that wait for a section of another to meet their condition |
//! | `runs` | the thread that runs a section | threads that bring one | see there |
//! | `data` | sections | sections | the data |
//!
//! **Waiting for a condition.**  A section looks whether the condition is met, and if not joins the
//! queue of `changed` for its thread: in the lock, so that no other section comes between the look
//! and that.  Its thread then waits on its own stack.  Every section that has run, and is no such
//! look, sees there whether somebody waits; then its thread wakes all that do, once the lock is
//! behind it, and each brings its look again.

use crate::condvar::{NAMELESS, RawCondvar, WAITERS, Waited};
use crate::door::{
    AtomicU32, Cell, Order, Panic, caught, flaws, mutant, panic_on, thread_id, to_its_end,
};
use crate::heed::heeding;
use crate::mutex::patience;
use cohort_raw::{AbortableDelegate, Delegate, Outcome, Patience, Section, TryDelegate};
use core::time::Duration;

flaws! {
    /// Threads that wait for a condition are not told that a section has been run.
    FORGET_AWAITED = "delegated.forget-awaited";
    /// A thread joins those that wait once its look is over.
    JOIN_LATE = "delegated.join-late";
    /// A thread that waits for a condition does so for ever.
    WAIT_FOR_EVER = "delegated.wait-for-ever";
}

/// Whether the thread that runs a section says so.
const WATCHES: bool = cfg!(debug_assertions);

/// Data that one section at a time may touch, which need not run in the thread that brings it:
/// where many threads want the data, one of them runs the sections of all, and has the data in
/// its cache (Zhang et al. 2017 §2.2).
///
/// Sections may borrow from the thread that brings them, which waits until they have been run.
/// What they capture and return goes to another thread and back, so it has to be [`Send`];
/// thread-locals are another thread's. A section that needs its own thread is run by
/// [`locking`](Self::locking), and one that waits for other threads too: they may be those that
/// wait for it.  One that waits until the data is as it needs it is run by
/// [`run_when`](Self::run_when).  Under [`Posting`](crate::Posting) tasks bring sections too, and
/// keep no thread waiting.
///
/// Not poisoned by a panic: that goes on in the thread that brought the section. Without this
/// crate's feature `std` it ends the process.
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
/// Any [`RawLock`](crate::RawLock) is such a lock too, under which threads run their own
/// sections:
///
/// ```
/// use cohort::{Delegated, basic::Mcs};
///
/// let total: Delegated<u64, Mcs> = Delegated::from(1);
/// assert_eq!(total.run(|total| { *total += 1; *total }), 2);
/// ```
///
/// What cannot go to another thread cannot be captured,
///
/// ```compile_fail,E0277
/// # use cohort::{Delegated, basic::Mcs};
/// # use std::rc::Rc;
/// let total: Delegated<u64, Mcs> = Delegated::from(1);
/// let mine = Rc::new(1);
/// total.run(|total| *total += *mine);
/// ```
///
/// nor come back from there,
///
/// ```compile_fail,E0277
/// # use cohort::{Delegated, basic::Mcs};
/// # use std::rc::Rc;
/// let total: Delegated<u64, Mcs> = Delegated::from(1);
/// let theirs = total.run(|total| Rc::new(*total));
/// ```
///
/// but may be used in place:
///
/// ```
/// # use cohort::{Delegated, basic::Mcs};
/// # use std::rc::Rc;
/// let total: Delegated<u64, Mcs> = Delegated::from(1);
/// let mine = Rc::new(1);
/// total.locking(|total| *total += *mine);
/// ```
///
/// What a section returns may not borrow from the data:
///
/// ```compile_fail
/// # use cohort::{Delegated, basic::Mcs};
/// let words: Delegated<Vec<u8>, Mcs> = Delegated::from(vec![1]);
/// let first = words.run(|words| &words[0]);
/// ```
#[derive(Debug, Default)]
pub struct Delegated<T, L> {
    lock: L,
    /// In debug builds, the thread that runs a section, or 0: one that would wait for itself is
    /// told so.
    runs: AtomicU32,
    changed: RawCondvar,
    data: Cell<T>,
}

impl<T, L: Delegate> From<T> for Delegated<T, L> {
    fn from(data: T) -> Self {
        Self::with_lock(data, L::default())
    }
}

impl<T, L: Delegate> Delegated<T, L> {
    /// Data under a lock that was made with values of its own, such as the thresholds that `cohort tune
    /// sanl` finds for a machine.
    ///
    /// ```
    /// use cohort::{Delegated, Thresholds, Tunable, WHOLE, delegation::Sanl};
    ///
    /// let thresholds = Thresholds {
    ///     brings: WHOLE / 8,
    ///     ..Thresholds::USUAL
    /// };
    /// let total: Delegated<u64, Sanl> = Delegated::with_lock(1, Sanl::with(&thresholds));
    /// assert_eq!(total.run(|total| *total + 1), 2);
    /// ```
    pub fn with_lock(data: T, lock: L) -> Self {
        Self {
            lock,
            runs: AtomicU32::new(0),
            changed: RawCondvar::new(),
            data: Cell::new(data),
        }
    }

    /// Blocks until `section` has been run on the data, by whichever thread, and returns what it
    /// returned.
    ///
    /// A section must not bring another to the same data: that never returns.
    ///
    /// # Panics
    /// If `section` does; and in debug builds if it is brought by a section of the same data.
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

    /// The same, but the calling thread runs it: for sections that need their own thread, or wait
    /// for others.
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

    /// Blocks until `condition` is met, and `section` has been run on the same data, by whichever
    /// thread, and returns what it returned.  No other section comes between the two.
    ///
    /// The calling thread waits where it is, and keeps no thread that runs sections.  The condition
    /// is asked for at first, and again once another section has been run: each of those wakes all
    /// threads that wait here.
    ///
    /// Not in a section of other data, since the thread that runs that one would wait.
    ///
    /// # Panics
    /// If `condition` or `section` does; and in debug builds if it is brought by a section of the
    /// same data.
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
    /// The condition may go to another thread as well:
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

    /// The same, until patience runs out: then `section` is never run. One that has begun is waited
    /// for.
    ///
    /// Where patience has run out before the call, the condition is asked for once all the same if the
    /// lock is free, and `section` run if it is met.
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

    /// The same, for so long from now.
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

    /// Has `to` bring looks whether the condition is met, until one has run the section or patience
    /// runs out; `to` says whether a look has been run.
    fn when<R>(
        &self,
        patience: &Patience,
        mut condition: impl FnMut(&T) -> bool,
        section: impl FnOnce(&mut T) -> R,
        to: impl Fn(&mut L::Context, Section<'_>) -> bool,
    ) -> Option<R> {
        let mut section = Some(section);
        // SAFETY: without a name, and of one pool.
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
            // Another look would be brought all the same where the lock is free, for ever.
            if left.waited == Waited::GaveUp {
                return None;
            }
        }
    }

    /// The lock, for those that [need a server](crate::Attended).
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

    /// Runs `section` if no other is being run; never blocks for that.
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

    /// Blocks until `section` has been run or patience runs out: then it never is. One that has
    /// begun is waited for.
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

    /// Blocks until `section` has been run, but begins it no later than so long from now.
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

    /// Gives the section to `to`, which says whether it has been run; what it returned, if so.
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

    /// Wakes the threads that wait for a condition, if a section of the calling thread saw some.
    #[inline]
    pub(crate) fn tell(&self, awaited: bool) {
        if awaited && !mutant(flaw::FORGET_AWAITED) {
            self.changed.notify_all();
        }
    }

    /// Gives the section to `to`, which says whether it has been run; how it ended, if so, and
    /// whether threads wait for a condition then.
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
        let mut whole = || {
            if let Some(section) = section.take() {
                // SAFETY: the lock runs one section at a time.
                let ended = unsafe { self.inside(section) };
                (result, awaited) = (Some(ended.0), ended.1);
            }
        };
        // SAFETY: a panic is caught; what the section captures and returns is `Send`, or it
        // is run by this thread.
        let section = unsafe { Section::new(&mut whole) };
        let has_run = to_its_end(true, || to(section));
        (result.filter(|_| has_run), awaited)
    }

    /// In debug builds, panics in a section of this data.
    #[inline(always)]
    pub(crate) fn expect_elsewhere(&self) {
        assert!(
            !WATCHES || self.runs.load(Order::RELAXED) != thread_id(),
            "a section brings another to its own data, and would wait for it for ever"
        );
    }

    /// Runs the section on the data; how it ended, and whether threads wait for a condition then.
    ///
    /// # Safety
    /// The calling thread runs a section of the lock, and lends the data to nobody else.
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
        // Here, where the line is at hand.
        let awaited = self.changed.is_awaited();
        if WATCHES {
            self.runs.store(0, Order::RELAXED);
        }
        (ended, awaited)
    }
}

/// What a section returned; goes on with its panic, if it did.
fn returned<R>(ended: Result<R, Panic>) -> R {
    match ended {
        Ok(result) => result,
        Err(panic) => panic_on(panic),
    }
}
