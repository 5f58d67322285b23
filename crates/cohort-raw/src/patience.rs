//! How long somebody is willing to wait.

use core::fmt;

/// The clock a deadline is read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Goes forward at a steady rate; setting the time of day does not move it.
    Monotonic,
    /// The time of day; a deadline on it follows when the clock is set.
    Realtime,
}

/// A point in time.
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
pub trait Cancellation: Sync {
    /// Whether the word has been given; it is never taken back.
    fn is_cancelled(&self) -> bool;

    /// Has the calling thread carry out `sleep`, which is to sleep on the word at that address,
    /// unless waits are over: then not.  Blocks as long as that sleep; the thread that gives the
    /// word wakes it.
    fn sleep(&self, word: usize, sleep: &mut dyn FnMut());
}

/// How long an acquisition may take.
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

    /// Waits until `deadline`.
    #[must_use]
    pub const fn until(deadline: Deadline) -> Self {
        Self::ENDLESS.ending(deadline)
    }

    /// This patience, but no longer than until the word is given.
    #[must_use]
    pub const fn unless(&self, cancellation: &'a dyn Cancellation) -> Self {
        Self {
            deadline: self.deadline,
            cancellation: Some(cancellation),
        }
    }

    /// This patience with that deadline instead of its own.
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
    #[must_use]
    #[inline(always)]
    pub const fn deadline(&self) -> Option<&Deadline> {
        self.deadline.as_ref()
    }

    /// What may end it before.
    #[must_use]
    #[inline(always)]
    pub const fn cancellation(&self) -> Option<&'a dyn Cancellation> {
        self.cancellation
    }

    /// Whether nothing ends it.
    #[must_use]
    #[inline(always)]
    pub const fn is_endless(&self) -> bool {
        self.deadline.is_none() && self.cancellation.is_none()
    }
}
