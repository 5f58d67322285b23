//! Delegation locks: the section goes to the lock, not the lock to the section (Zhang et al. 2017
//! §2.2).

use crate::{Abortable, Outcome, Patience, RawLock, RawTry};
use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;

/// A critical section that another thread may run: an `FnMut()` of erased type.
///
/// It runs at most once, on the thread that has it.
///
/// ```
/// use cohort_raw::Section;
///
/// let mut total = 1;
/// let mut add = || total += 1;
/// // SAFETY: it does not panic, and captures what any thread may write.
/// let section = unsafe { Section::new(&mut add) };
///  // SAFETY: no other section runs on `total`.
/// unsafe { section.run() };
/// assert_eq!(total, 2);
/// ```
pub struct Section<'a> {
    of: NonNull<()>,
    /// # Safety
    /// `of` is this section's closure, which is otherwise unused.
    code: unsafe fn(NonNull<()>),
    borrows: PhantomData<&'a mut ()>,
}

// SAFETY: a section's creator promises that any thread may run it.
unsafe impl Send for Section<'_> {}

impl<'a> Section<'a> {
    /// Erases a section's type.
    ///
    /// # Safety
    /// It never unwinds, and any thread may run it: its captures and writes are valid there too, or
    /// the section goes only to [`Delegate::run_here`].
    ///
    /// ```
    /// let mut count = 0;
    /// let mut add = || count += 1;
    /// // SAFETY: it does not panic, and captures what any thread may write.
    /// let section = unsafe { cohort_raw::Section::new(&mut add) };
    /// drop(section);
    /// ```
    pub unsafe fn new<F: FnMut()>(section: &'a mut F) -> Self {
        /// # Safety
        /// As [`Section::code`].
        unsafe fn call<F: FnMut()>(of: NonNull<()>) {
            // SAFETY: the caller's.
            unsafe { (of.cast::<F>().as_mut())() };
        }
        Self {
            of: NonNull::from(section).cast(),
            code: call::<F>,
            borrows: PhantomData,
        }
    }

    /// Runs it.
    ///
    /// # Safety
    /// The caller excludes every other section of the same delegate.
    ///
    /// ```
    /// let mut count = 0;
    /// let mut add = || count += 1;
    ///  // SAFETY: it does not panic; no other section runs on `count`.
    /// unsafe { cohort_raw::Section::new(&mut add).run() };
    /// assert_eq!(count, 1);
    /// ```
    #[inline]
    pub unsafe fn run(self) {
        // SAFETY: this is its closure, borrowed for as long as the section lives.
        unsafe { (self.code)(self.of) };
    }

    /// Its two words: the closure, and its code, which is not null.
    ///
    /// ```
    /// use cohort_raw::Section;
    ///
    /// let mut count = 0;
    /// let mut add = || count += 1;
    /// // SAFETY: it does not panic; the words are made a section of once, which is run at once.
    /// unsafe { Section::from_words(Section::new(&mut add).into_words()).run() };
    /// assert_eq!(count, 1);
    /// ```
    #[must_use]
    #[inline]
    pub fn into_words(self) -> [*mut (); 2] {
        [self.of.as_ptr(), self.code as *mut ()]
    }

    /// Recreates a section from its words.
    ///
    /// # Safety
    /// They come from one [`into_words`](Self::into_words), and are converted back once; the
    /// section is run or forgotten before its lifetime ends.
    ///
    /// ```
    /// use cohort_raw::Section;
    ///
    /// let mut count = 0;
    /// let mut add = || count += 1;
    /// // SAFETY: it does not panic; the words are made a section of once, which is run at once.
    /// unsafe { Section::from_words(Section::new(&mut add).into_words()).run() };
    /// assert_eq!(count, 1);
    /// ```
    #[must_use]
    #[inline]
    pub unsafe fn from_words([of, code]: [*mut (); 2]) -> Self {
        // SAFETY: the caller's: neither is null, and the second was such a function.
        unsafe {
            Self {
                of: NonNull::new_unchecked(of),
                code: core::mem::transmute::<*mut (), unsafe fn(NonNull<()>)>(code),
                borrows: PhantomData,
            }
        }
    }

    /// The same section where its lifetime cannot be expressed.
    ///
    /// # Safety
    /// It is run or forgotten before `'a` ends.
    ///
    /// ```
    /// use cohort_raw::Section;
    ///
    /// let mut count = 0;
    /// let mut add = || count += 1;
    /// // SAFETY: it does not panic, and is run before `add` ends.
    /// unsafe {
    ///     let section: Section<'static> = Section::new(&mut add).outliving();
    ///     section.run();
    /// }
    /// assert_eq!(count, 1);
    /// ```
    #[must_use]
    pub const unsafe fn outliving(self) -> Section<'static> {
        Section {
            of: self.of,
            code: self.code,
            borrows: PhantomData,
        }
    }
}

impl fmt::Debug for Section<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Section").finish_non_exhaustive()
    }
}

/// A lock that runs sections: on the caller's own thread, or on a thread that is running sections
/// already.
///
/// Every [`RawLock`] is a delegate, which runs each section on its caller's thread.
///
/// A delegate must stay in place until every call has returned, and serve the threads of one
/// process: unless stated otherwise, a forked child must create its own.
///
/// # Safety
/// The sections of one delegate do not overlap, and everything in one happens before everything in
/// the next. When [`run`](Self::run) or [`run_here`](Self::run_here) returns, its section has run
/// once, and happens before the return; whatever precedes the call happens before the section.
///
/// ```
/// use cohort_raw::{Delegate, Section};
///
///  /// Adds on a thread of the delegate's choice.
/// fn add<D: Delegate>(delegate: &D, total: &mut u64) {
///     let mut context = D::Context::default();
///     let mut section = || *total += 1;
///     // SAFETY: it does not panic, and captures what any thread may write.
///     let section = unsafe { Section::new(&mut section) };
///     delegate.run(&mut context, section);
/// }
/// ```
pub unsafe trait Delegate: Default + Send + Sync {
    /// The state of one call.
    type Context: Default;

    /// Blocks until the section has run, on any thread.
    ///
    /// `cx` is borrowed mutably, so that no other call uses it, and stays in place until this call
    /// returns. A section must not call its own delegate: that deadlocks.
    fn run(&self, cx: &mut Self::Context, section: Section<'_>);

    /// The same, but the calling thread runs it.
    fn run_here(&self, cx: &mut Self::Context, section: Section<'_>);
}

/// A delegate that can be tried without waiting.
///
/// # Safety
/// As [`Delegate`]: after a `true` the section has been run, after a `false` it never is.
///
/// ```
/// use cohort_raw::{Section, TryDelegate};
///
/// fn run_if_free<D: TryDelegate>(delegate: &D, section: Section<'_>) -> bool {
///     delegate.try_run(&mut D::Context::default(), section)
/// }
/// ```
pub unsafe trait TryDelegate: Delegate {
    /// Runs the section if no other runs or waits ahead of it; never blocks for the lock.
    fn try_run(&self, cx: &mut Self::Context, section: Section<'_>) -> bool;
}

/// A delegate with timed callers.
///
/// # Safety
/// As [`Delegate`]: after [`Outcome::Acquired`] the section has been run, after
/// [`Outcome::GaveUp`] it never is.
///
/// ```
/// use cohort_raw::{AbortableDelegate, Outcome, Patience, Section};
///
/// fn run_soon<D: AbortableDelegate>(delegate: &D, section: Section<'_>, soon: &Patience) -> bool {
///     delegate.run_within(&mut D::Context::default(), section, soon) == Outcome::Acquired
/// }
/// ```
pub unsafe trait AbortableDelegate: Delegate {
    /// Blocks until the section has run or `patience` runs out. Waits for a section that has begun.
    fn run_within(
        &self,
        cx: &mut Self::Context,
        section: Section<'_>,
        patience: &Patience,
    ) -> Outcome;
}

/// A delegate with an optional server, a thread that only runs sections.
///
/// # Safety
/// As [`Delegate`], whether there is a server or not.
///
/// ```
/// use cohort_raw::Attended;
///
///  /// Serves until no section is posted.
/// fn serve<D: Attended>(delegate: &D) {
///     while delegate.attend() {}
///     delegate.leave();
/// }
/// ```
pub unsafe trait Attended: Delegate {
    /// Makes the calling thread the server, if there is none and no section runs. If it is the
    /// server, runs the posted sections, in one round; returns whether there were any. Never blocks
    /// for the lock. Does nothing in a section of this delegate.
    fn attend(&self) -> bool;

    /// Ends the calling thread's service, if it is the server; the waiting threads run their own
    /// sections. Does nothing in a section of this delegate.
    fn leave(&self);
}

// SAFETY: sections run while the lock is held, which excludes and orders them.
unsafe impl<L: RawLock> Delegate for L {
    type Context = L::Context;

    #[inline]
    fn run(&self, cx: &mut L::Context, section: Section<'_>) {
        // SAFETY: no other acquisition uses a mutably borrowed context; it and the lock stay for
        // the release, since a section does not unwind. The lock excludes.
        unsafe {
            self.acquire(cx);
            section.run();
            self.release(cx);
        }
    }

    #[inline]
    fn run_here(&self, cx: &mut L::Context, section: Section<'_>) {
        self.run(cx, section);
    }
}

// SAFETY: as above.
unsafe impl<L: RawTry> TryDelegate for L {
    #[inline]
    fn try_run(&self, cx: &mut L::Context, section: Section<'_>) -> bool {
        // SAFETY: as above.
        unsafe {
            let acquired = self.try_acquire(cx);
            if acquired {
                section.run();
                self.release(cx);
            }
            acquired
        }
    }
}

// SAFETY: as above.
unsafe impl<L: Abortable> AbortableDelegate for L {
    #[inline]
    fn run_within(
        &self,
        cx: &mut L::Context,
        section: Section<'_>,
        patience: &Patience,
    ) -> Outcome {
        // SAFETY: as above.
        unsafe {
            let outcome = self.acquire_within(cx, patience);
            if outcome == Outcome::Acquired {
                section.run();
                self.release(cx);
            }
            outcome
        }
    }
}
