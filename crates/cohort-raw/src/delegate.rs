//! Locks to which a section is brought, rather than the lock to the section (Zhang et al. 2017
//! §2.2).

use crate::{Abortable, Outcome, Patience, RawLock, RawTry};
use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;

/// A critical section that another thread may run: an `FnMut()` whose type is forgotten.
///
/// It is run once at most, by the thread that has it.
///
/// ```
/// use cohort_raw::Section;
///
/// let mut total = 1;
/// let mut add = || total += 1;
/// // SAFETY: it does not panic, and captures what any thread may write.
/// let section = unsafe { Section::new(&mut add) };
/// // SAFETY: nobody else runs anything on `total`.
/// unsafe { section.run() };
/// assert_eq!(total, 2);
/// ```
pub struct Section<'a> {
    of: NonNull<()>,
    /// # Safety
    /// `of` is what this section was made of, and nobody else uses that.
    code: unsafe fn(NonNull<()>),
    borrows: PhantomData<&'a mut ()>,
}

// SAFETY: the maker of one promises that any thread may run it.
unsafe impl Send for Section<'_> {}

impl<'a> Section<'a> {
    /// That section.
    ///
    /// # Safety
    /// It never unwinds, and the thread that runs it may be any: what it captures and writes
    /// is good there too, or it is given only to [`Delegate::run_here`].
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
    /// // SAFETY: it does not panic; nobody else runs anything on `count`.
    /// unsafe { cohort_raw::Section::new(&mut add).run() };
    /// assert_eq!(count, 1);
    /// ```
    #[inline]
    pub unsafe fn run(self) {
        // SAFETY: this is what it was made of, borrowed for as long as the section lives.
        unsafe { (self.code)(self.of) };
    }

    /// The two words that it consists of: what it was made of, and its code, which is not null.
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

    /// The section that consisted of these words.
    ///
    /// # Safety
    /// They are of one [`into_words`](Self::into_words), and are made a section of once; that is run
    /// or forgotten before the lifetime of that ends.
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

    /// The same section where its lifetime cannot be said.
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

/// A lock that runs sections: the caller's own thread runs them, or one that is at it already.
///
/// Every [`RawLock`] is one, whose sections are run by the threads that bring them.
///
/// A delegate must stay where it is until every call has returned, and be used by
/// the threads of one process: where it says nothing else, a child of a fork has to make its own.
///
/// # Safety
/// No two sections of one delegate run at once, and everything in one happens before
/// whatever is in the next.  A section that was brought to [`run`](Self::run) or
/// [`run_here`](Self::run_here) has been run once when that returns, and happens before
/// the return; what went before the call happens before it.
///
/// ```
/// use cohort_raw::{Delegate, Section};
///
/// /// Adds on whichever thread the delegate chooses.
/// fn add<D: Delegate>(delegate: &D, total: &mut u64) {
///     let mut context = D::Context::default();
///     let mut section = || *total += 1;
///     // SAFETY: it does not panic, and captures what any thread may write.
///     let section = unsafe { Section::new(&mut section) };
///     delegate.run(&mut context, section);
/// }
/// ```
pub unsafe trait Delegate: Default + Send + Sync {
    /// What one call carries.
    type Context: Default;

    /// Blocks until the section has been run, by whichever thread.
    ///
    /// `cx` is borrowed mutably, so that no other call uses it, and stays where it is until this one
    /// returns.  A section must not bring another to its own delegate: that never returns.
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
    /// Runs the section if no other is being run, nor waits ahead of it; never blocks for the
    /// lock.
    fn try_run(&self, cx: &mut Self::Context, section: Section<'_>) -> bool;
}

/// A delegate whose callers can give up.
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
    /// Blocks until the section has been run or `patience` runs out.  A section that has begun
    /// is waited for.
    fn run_within(
        &self,
        cx: &mut Self::Context,
        section: Section<'_>,
        patience: &Patience,
    ) -> Outcome;
}

/// A delegate that has its sections run by a server, a thread that does nothing else, while there is
/// one.
///
/// # Safety
/// As [`Delegate`], whether there is a server or not.
///
/// ```
/// use cohort_raw::Attended;
///
/// /// Serves until nothing has been brought.
/// fn serve<D: Attended>(delegate: &D) {
///     while delegate.attend() {}
///     delegate.leave();
/// }
/// ```
pub unsafe trait Attended: Delegate {
    /// Makes the calling thread the server, if nobody else is and no section runs, and if it is,
    /// runs what has been brought, once round; whether there was anything.  Never blocks for the
    /// lock.  Does nothing in a section of this delegate.
    fn attend(&self) -> bool;

    /// If the calling thread is the server, it is no longer; those that have brought sections run
    /// them.  Does nothing in a section of this delegate.
    fn leave(&self);
}

// SAFETY: sections run while the lock is held, which excludes and orders them.
unsafe impl<L: RawLock> Delegate for L {
    type Context = L::Context;

    #[inline]
    fn run(&self, cx: &mut L::Context, section: Section<'_>) {
        // SAFETY: no other acquisition uses a context that is borrowed mutably; it and the lock stay for
        // the release, since a section does not unwind.  The lock excludes.
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
