//! How long somebody is willing to wait.

use core::fmt;

/// The clock a deadline is read on.
///
/// ```
/// use cohort_raw::{Clock, Deadline};
///
/// assert_eq!(Deadline::monotonic(0).clock, Clock::Monotonic);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Goes forward at a steady rate; setting the time of day does not move it.
    Monotonic,
    /// The time of day; a deadline on it follows when the clock is set.
    Realtime,
}

/// A point in time.
///
/// ```
/// use cohort_raw::{Clock, Deadline};
///
/// let noon = Deadline { clock: Clock::Realtime, seconds: 1_700_000_000, nanoseconds: 0 };
/// assert_ne!(noon, Deadline::monotonic(1_700_000_000_000_000_000));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline {
    /// The clock it is read on.
    pub clock: Clock,
    /// Whole seconds since the clock's origin.
    pub seconds: i64,
    /// Nanoseconds past them, below 1 000 000 000.
    pub nanoseconds: u32,
}

impl Deadline {
    /// That many nanoseconds after the monotonic clock's origin.
    ///
    /// ```
    /// use cohort_raw::Deadline;
    ///
    /// let deadline = Deadline::monotonic(1_500_000_000);
    /// assert_eq!((deadline.seconds, deadline.nanoseconds), (1, 500_000_000));
    /// ```
    #[must_use]
    pub const fn monotonic(nanoseconds: u64) -> Self {
        Self {
            clock: Clock::Monotonic,
            seconds: (nanoseconds / 1_000_000_000) as i64,
            nanoseconds: (nanoseconds % 1_000_000_000) as u32,
        }
    }

    /// That many nanoseconds before this one, on the same clock; the clock's origin, if there
    /// are not as many.
    ///
    /// ```
    /// # use cohort_raw::Deadline;
    /// let deadline = Deadline::monotonic(2_000_000_001);
    /// assert_eq!(deadline.earlier(1), Deadline::monotonic(2_000_000_000));
    /// assert_eq!(deadline.earlier(2), Deadline::monotonic(1_999_999_999));
    /// assert_eq!(deadline.earlier(1_500_000_000), Deadline::monotonic(500_000_001));
    /// assert_eq!(deadline.earlier(2_000_000_002), Deadline::monotonic(0));
    /// ```
    #[must_use]
    pub const fn earlier(&self, nanoseconds: u64) -> Self {
        let less = (nanoseconds % 1_000_000_000) as u32;
        let borrowed = (self.nanoseconds < less) as u32;
        let seconds = nanoseconds / 1_000_000_000 + borrowed as u64;
        let seconds = self.seconds.saturating_sub_unsigned(seconds);
        if seconds < 0 {
            return Self {
                clock: self.clock,
                ..Self::monotonic(0)
            };
        }
        Self {
            clock: self.clock,
            seconds,
            nanoseconds: self.nanoseconds + borrowed * 1_000_000_000 - less,
        }
    }
}

/// What can end waits beside a deadline: a word from another thread, which may come at any time.
/// A waiter asks in the midst of its lock's queue: where it waits by a context in its frame, as in
/// `cohort::Mutex::locking_within`, a panic of these functions ends the process.
///
/// ```
/// use cohort_raw::Cancellation;
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// /// For waiters that never sleep.
/// struct Stop(AtomicBool);
///
/// impl Cancellation for Stop {
///     fn is_cancelled(&self) -> bool {
///         self.0.load(Ordering::Acquire)
///     }
///     fn sleep(&self, _word: usize, sleep: &mut dyn FnMut()) {
///         sleep();
///     }
/// }
/// assert!(Stop(AtomicBool::new(true)).is_cancelled());
/// ```
pub trait Cancellation: Sync {
    /// Whether the word has been given; it is never taken back.
    fn is_cancelled(&self) -> bool;

    /// Has the calling thread carry out `sleep`, which is to sleep on the word at that address,
    /// unless waits are over: then not.  Blocks as long as that sleep; the thread that gives the
    /// word wakes it.
    fn sleep(&self, word: usize, sleep: &mut dyn FnMut());
}

/// How long an acquisition may take.
///
/// ```
/// use cohort_raw::{Deadline, Patience};
///
/// let deadline = Deadline::monotonic(2_000_000_000);
/// let patience = Patience::until(deadline);
/// assert_eq!(patience.deadline(), Some(&deadline));
/// assert!(patience.cancellation().is_none() && !patience.is_endless());
/// ```
#[derive(Clone, Copy)]
pub struct Patience<'a> {
    deadline: Option<Deadline>,
    cancellation: Option<&'a dyn Cancellation>,
}

impl fmt::Debug for Patience<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cancelled = self.cancellation.map(Cancellation::is_cancelled);
        f.debug_struct("Patience")
            .field("deadline", &self.deadline)
            .field("cancelled", &cancelled)
            .finish()
    }
}

impl<'a> Patience<'a> {
    /// Waits as long as it takes.
    pub const ENDLESS: Self = Self {
        deadline: None,
        cancellation: None,
    };

    /// Has run out before it is asked.
    ///
    /// ```
    /// use cohort_raw::{Deadline, Patience};
    ///
    /// assert_eq!(Patience::NONE.deadline(), Some(&Deadline::monotonic(0)));
    /// ```
    pub const NONE: Self = Self::until(Deadline::monotonic(0));

    /// Waits until `deadline`.
    ///
    /// ```
    /// use cohort_raw::{Deadline, Patience};
    ///
    /// assert!(!Patience::until(Deadline::monotonic(1)).is_endless());
    /// ```
    #[must_use]
    pub const fn until(deadline: Deadline) -> Self {
        Self::ENDLESS.ending(deadline)
    }

    /// This patience, but no longer than until the word is given.
    ///
    /// ```
    /// use cohort_raw::{Cancellation, Patience};
    ///
    /// struct Never;
    /// impl Cancellation for Never {
    ///     fn is_cancelled(&self) -> bool {
    ///         false
    ///     }
    ///     fn sleep(&self, _word: usize, sleep: &mut dyn FnMut()) {
    ///         sleep();
    ///     }
    /// }
    /// let patience = Patience::ENDLESS.unless(&Never);
    /// assert_eq!(patience.cancellation().map(Cancellation::is_cancelled), Some(false));
    /// ```
    #[must_use]
    pub const fn unless(&self, cancellation: &'a dyn Cancellation) -> Self {
        Self {
            deadline: self.deadline,
            cancellation: Some(cancellation),
        }
    }

    /// This patience with that deadline instead of its own.
    ///
    /// ```
    /// use cohort_raw::{Deadline, Patience};
    ///
    /// let (one, two) = (Deadline::monotonic(1), Deadline::monotonic(2));
    /// assert_eq!(Patience::until(one).ending(two).deadline(), Some(&two));
    /// ```
    #[must_use]
    pub const fn ending(&self, deadline: Deadline) -> Self {
        Self {
            deadline: Some(deadline),
            cancellation: self.cancellation,
        }
    }

    /// This patience, but no longer than until that time on the monotonic clock,
    /// in nanoseconds.  Deadlines on different clocks cannot be compared, so one on
    /// another clock gives way; the caller looks at it again.
    ///
    /// ```
    /// use cohort_raw::{Deadline, Patience};
    ///
    /// let patience = Patience::until(Deadline::monotonic(5));
    /// assert_eq!(patience.at_most(9).deadline(), Some(&Deadline::monotonic(5)));
    /// assert_eq!(patience.at_most(2).deadline(), Some(&Deadline::monotonic(2)));
    /// ```
    #[must_use]
    pub const fn at_most(&self, nanoseconds: u64) -> Self {
        let limit = Deadline::monotonic(nanoseconds);
        match self.deadline {
            Some(own)
                if matches!(own.clock, Clock::Monotonic)
                    && (own.seconds < limit.seconds
                        || (own.seconds == limit.seconds
                            && own.nanoseconds < limit.nanoseconds)) =>
            {
                *self
            }
            _ => self.ending(limit),
        }
    }

    /// The point at which patience runs out, if it ever does by itself.
    ///
    /// ```
    /// assert!(cohort_raw::Patience::ENDLESS.deadline().is_none());
    /// ```
    #[must_use]
    #[inline(always)]
    pub const fn deadline(&self) -> Option<&Deadline> {
        self.deadline.as_ref()
    }

    /// What may end it before.
    ///
    /// ```
    /// assert!(cohort_raw::Patience::ENDLESS.cancellation().is_none());
    /// ```
    #[must_use]
    #[inline(always)]
    pub const fn cancellation(&self) -> Option<&'a dyn Cancellation> {
        self.cancellation
    }

    /// Whether nothing ends it.
    ///
    /// ```
    /// assert!(cohort_raw::Patience::ENDLESS.is_endless());
    /// ```
    #[must_use]
    #[inline(always)]
    pub const fn is_endless(&self) -> bool {
        self.deadline.is_none() && self.cancellation.is_none()
    }
}
