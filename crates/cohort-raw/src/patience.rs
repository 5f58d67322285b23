//! The bounds of a wait: deadlines and cancellations.

use core::fmt;

/// The clock of a deadline.
///
/// ```
/// use cohort_raw::{Clock, Deadline};
///
/// assert_eq!(Deadline::monotonic(0).clock, Clock::Monotonic);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Advances at a steady rate; setting the time of day does not affect it.
    Monotonic,
    /// The time of day; a deadline on it follows changes of the time.
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
    /// The deadline's clock.
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

    /// The point that many nanoseconds earlier on the same clock; at the earliest, the clock's
    /// origin.
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

/// A cancellation token that ends waits beside a deadline; another thread may cancel at any time.
///
/// A waiter calls these functions while it is in its lock's queue. If one panics, `cohort`'s
/// mutexes, rwlocks, conditions and delegated data end the wait as if cancelled, and resume the
/// panic once the lock is consistent. Raw locks, and builds without the feature `std`, end the
/// process.
///
/// ```
/// use cohort_raw::Cancellation;
/// use std::sync::atomic::{AtomicBool, Ordering};
///
///  /// For waiters that never sleep.
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
    /// Whether it is cancelled, which is final.
    fn is_cancelled(&self) -> bool;

    /// Has the calling thread carry out `sleep`, which sleeps on the word at that address; not if
    /// already cancelled. Blocks as long as that sleep; the cancelling thread wakes it.
    fn sleep(&self, word: usize, sleep: &mut dyn FnMut());
}

/// A cancellation by any of several tokens: for more tokens than a [`Patience`] holds.
///
/// ```
/// use cohort_raw::{AnyOf, Cancellation, Patience};
///
/// struct Given(bool);
/// impl Cancellation for Given {
///     fn is_cancelled(&self) -> bool {
///         self.0
///     }
///     fn sleep(&self, _word: usize, sleep: &mut dyn FnMut()) {
///         sleep();
///     }
/// }
/// let words: [&dyn Cancellation; 2] = [&Given(false), &Given(true)];
/// assert!(Patience::ENDLESS.unless(&AnyOf(&words)).is_cancelled());
/// assert!(!AnyOf(&words[..1]).is_cancelled());
/// ```
#[derive(Clone, Copy)]
pub struct AnyOf<'a>(pub &'a [&'a dyn Cancellation]);

impl fmt::Debug for AnyOf<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyOf")
            .field("cancelled", &self.is_cancelled())
            .finish()
    }
}

impl Cancellation for AnyOf<'_> {
    fn is_cancelled(&self) -> bool {
        self.0.iter().any(|word| word.is_cancelled())
    }

    fn sleep(&self, word: usize, sleep: &mut dyn FnMut()) {
        match self.0 {
            [] => sleep(),
            [first, rest @ ..] => first.sleep(word, &mut || AnyOf(rest).sleep(word, sleep)),
        }
    }
}

/// How long an acquisition may take.
///
/// ```
/// use cohort_raw::{Deadline, Patience};
///
/// let deadline = Deadline::monotonic(2_000_000_000);
/// let patience = Patience::until(deadline);
/// assert_eq!(patience.deadline(), Some(&deadline));
/// assert!(!patience.is_cancellable() && !patience.is_endless());
/// ```
#[derive(Clone, Copy)]
pub struct Patience<'a> {
    deadline: Option<Deadline>,
    /// The first ones are set.
    words: [Option<&'a dyn Cancellation>; WORDS],
}

/// How many tokens a [`Patience`] holds.
const WORDS: usize = 4;

impl fmt::Debug for Patience<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cancelled = self.is_cancellable().then(|| self.is_cancelled());
        f.debug_struct("Patience")
            .field("deadline", &self.deadline)
            .field("cancelled", &cancelled)
            .finish()
    }
}

impl<'a> Patience<'a> {
    /// Waits without bound.
    pub const ENDLESS: Self = Self {
        deadline: None,
        words: [None; WORDS],
    };

    /// Is exhausted from the beginning.
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

    /// This patience, but no longer than until `cancellation`. A patience ends with the first of up
    /// to four tokens; [`AnyOf`] combines any number into one.
    ///
    /// # Panics
    /// If the patience already holds four tokens.
    ///
    /// ```
    /// use cohort_raw::{Cancellation, Patience};
    ///
    /// struct Given(bool);
    /// impl Cancellation for Given {
    ///     fn is_cancelled(&self) -> bool {
    ///         self.0
    ///     }
    ///     fn sleep(&self, _word: usize, sleep: &mut dyn FnMut()) {
    ///         sleep();
    ///     }
    /// }
    /// let patience = Patience::ENDLESS.unless(&Given(true));
    /// assert!(patience.unless(&Given(false)).is_cancelled());
    /// ```
    #[must_use]
    pub const fn unless(&self, cancellation: &'a dyn Cancellation) -> Self {
        let mut patience = *self;
        let mut at = 0;
        while at < WORDS && patience.words[at].is_some() {
            at += 1;
        }
        assert!(
            at < WORDS,
            "a patience holds four cancellations; combine more with `AnyOf`"
        );
        patience.words[at] = Some(cancellation);
        patience
    }

    /// This patience's deadline, with that token instead of its own.
    ///
    /// ```
    /// use cohort_raw::{AnyOf, Patience};
    ///
    /// let none = AnyOf(&[]);
    /// let patience = Patience::NONE.unless(&none).unless_only(&none);
    /// assert_eq!(patience.deadline(), Patience::NONE.deadline());
    /// ```
    #[must_use]
    pub const fn unless_only(&self, cancellation: &'a dyn Cancellation) -> Self {
        let patience = Self {
            deadline: self.deadline,
            words: [None; WORDS],
        };
        patience.unless(cancellation)
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
            words: self.words,
        }
    }

    /// The point at which patience runs out by itself, if ever.
    ///
    /// ```
    /// assert!(cohort_raw::Patience::ENDLESS.deadline().is_none());
    /// ```
    #[must_use]
    #[inline(always)]
    pub const fn deadline(&self) -> Option<&Deadline> {
        self.deadline.as_ref()
    }

    /// Whether it has a cancellation token.
    ///
    /// ```
    /// assert!(!cohort_raw::Patience::ENDLESS.is_cancellable());
    /// ```
    #[must_use]
    #[inline(always)]
    pub const fn is_cancellable(&self) -> bool {
        self.words[0].is_some()
    }

    /// Whether one of its tokens is cancelled.
    ///
    /// ```
    /// assert!(!cohort_raw::Patience::ENDLESS.is_cancelled());
    /// ```
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.words.iter().flatten().any(|word| word.is_cancelled())
    }

    /// Carries out `sleep`, which sleeps on the word at that address, so that a cancellation of any
    /// of its tokens wakes it: see [`Cancellation::sleep`].
    ///
    /// ```
    /// let mut slept = false;
    /// cohort_raw::Patience::ENDLESS.sleep(0, &mut || slept = true);
    /// assert!(slept);
    /// ```
    pub fn sleep(&self, word: usize, sleep: &mut dyn FnMut()) {
        sleep_within(&self.words, word, sleep);
    }

    /// Whether it has no bound.
    ///
    /// ```
    /// assert!(cohort_raw::Patience::ENDLESS.is_endless());
    /// ```
    #[must_use]
    #[inline(always)]
    pub const fn is_endless(&self) -> bool {
        self.deadline.is_none() && !self.is_cancellable()
    }
}

/// Nests the sleep in each token in turn.
fn sleep_within(words: &[Option<&dyn Cancellation>], word: usize, sleep: &mut dyn FnMut()) {
    match words {
        [Some(first), rest @ ..] => first.sleep(word, &mut || sleep_within(rest, word, sleep)),
        _ => sleep(),
    }
}
