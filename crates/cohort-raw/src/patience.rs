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

    /// The point at which patience runs out, if it ever does.
    #[must_use]
    #[inline(always)]
    pub const fn deadline(&self) -> Option<&Deadline> {
        self.deadline.as_ref()
    }
}
