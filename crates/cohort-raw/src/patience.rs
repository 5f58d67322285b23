//! How long somebody is willing to wait.

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

/// How long an acquisition may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    deadline: Option<Deadline>,
}

impl Patience {
    /// Waits as long as it takes.
    pub const ENDLESS: Self = Self { deadline: None };

    /// Waits until `deadline`.
    #[must_use]
    pub const fn until(deadline: Deadline) -> Self {
        Self {
            deadline: Some(deadline),
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
            _ => Self::until(limit),
        }
    }

    /// The point at which patience runs out, if it ever does.
    #[must_use]
    #[inline(always)]
    pub const fn deadline(&self) -> Option<&Deadline> {
        self.deadline.as_ref()
    }
}
