//! `Delegated<T>`: data that sections are brought to, by whichever thread.

use crate::door::{AtomicU32, Cell, Order, Panic, caught, panic_on, thread_id};
use crate::mutex::patience;
use cohort_raw::{AbortableDelegate, Delegate, Outcome, Patience, Section, TryDelegate};
use core::time::Duration;

/// Data that one section at a time may touch, which need not run in the thread that brings it:
/// where many threads want the data, one of them runs the sections of all, and has the data in
/// its cache (Zhang et al. 2017 §2.2).
///
/// Sections may borrow from the thread that brings them, which waits until they have been run.
/// What they capture and return goes to another thread and back, so it has to be [`Send`];
/// thread-locals are another thread's. A section that needs its own thread is run by
/// [`locking`](Self::locking), and one that waits for other threads too: they may be those that
/// wait for it.
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
    data: Cell<T>,
}

impl<T, L: Delegate> From<T> for Delegated<T, L> {
    fn from(data: T) -> Self {
        Self {
            lock: L::default(),
            runs: AtomicU32::new(0),
            data: Cell::new(data),
        }
    }
}

impl<T, L: Delegate> Delegated<T, L> {
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
        let context = L::Context::default();
        let result = self.bring(section, |section| {
            self.lock.run(&context, section);
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
        let context = L::Context::default();
        let result = self.bring(section, |section| {
            self.lock.run_here(&context, section);
            true
        });
        result.unwrap_or_else(|| unreachable!("a delegate has run what was brought to it"))
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
        let context = L::Context::default();
        self.bring(section, |section| self.lock.try_run(&context, section))
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
        let context = L::Context::default();
        self.bring(section, |section| {
            self.lock.run_within(&context, section, patience) == Outcome::Acquired
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
        const WATCHES: bool = cfg!(debug_assertions);
        assert!(
            !WATCHES || self.runs.load(Order::RELAXED) != thread_id(),
            "a section brings another to its own data, and would wait for it for ever"
        );
        let mut section = Some(section);
        let mut result: Option<Result<R, Panic>> = None;
        let mut whole = || {
            let Some(section) = section.take() else {
                return;
            };
            if WATCHES {
                self.runs.store(thread_id(), Order::RELAXED);
            }
            // SAFETY: sections exclude each other.
            let inside = || self.data.with_mut(|data| section(unsafe { &mut *data }));
            result = Some(caught(inside));
            if WATCHES {
                self.runs.store(0, Order::RELAXED);
            }
        };
        // SAFETY: a panic is caught; what the section captures and returns is `Send`, or it
        // is run by this thread.
        let has_run = to(unsafe { Section::new(&mut whole) });
        match result {
            Some(Ok(result)) if has_run => Some(result),
            Some(Err(panic)) => panic_on(panic),
            _ => None,
        }
    }
}
