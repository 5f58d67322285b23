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

/// A word that ends waits beside a deadline; another thread gives it at any time.
///
/// A waiter calls these functions in the midst of its lock's queue.  If one panics, `cohort`'s mutexes,
/// rwlocks, conditions and delegated data end the wait as if the word had been given, and go on with the
/// panic once the lock is whole.  Raw locks, and builds without the feature `std`, end the process.
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

    /// Has the calling thread carry out `sleep`, which sleeps on the word at that address,
    /// unless waits are over: then not.  Blocks as long as that sleep; the thread that gives the
    /// word wakes it.
    fn sleep(&self, word: usize, sleep: &mut dyn FnMut());
}

/// Any of these words ends a wait: for more words than a [`Patience`] holds.
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
    /// The first ones are given.
    words: [Option<&'a dyn Cancellation>; WORDS],
}

/// How many words a [`Patience`] holds.
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
    /// Waits as long as it takes.
    pub const ENDLESS: Self = Self {
        deadline: None,
        words: [None; WORDS],
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

    /// This patience, but no longer than until the word is given.  A patience ends with the first of up to
    /// four words; [`AnyOf`] is a word of any number of others.
    ///
    /// # Panics
    /// If the patience holds four words already.
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
            "a patience holds four cancellations: combine more by `AnyOf`"
        );
        patience.words[at] = Some(cancellation);
        patience
    }

    /// This patience's deadline, with that word instead of its own.
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

    /// Whether a word can end it.
    ///
    /// ```
    /// assert!(!cohort_raw::Patience::ENDLESS.is_cancellable());
    /// ```
    #[must_use]
    #[inline(always)]
    pub const fn is_cancellable(&self) -> bool {
        self.words[0].is_some()
    }

    /// Whether one of its words has been given.
    ///
    /// ```
    /// assert!(!cohort_raw::Patience::ENDLESS.is_cancelled());
    /// ```
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.words.iter().flatten().any(|word| word.is_cancelled())
    }

    /// Carries out `sleep`, which sleeps on the word at that address, so that whichever of its words is
    /// given wakes it: see [`Cancellation::sleep`].
    ///
    /// ```
    /// let mut slept = false;
    /// cohort_raw::Patience::ENDLESS.sleep(0, &mut || slept = true);
    /// assert!(slept);
    /// ```
    pub fn sleep(&self, word: usize, sleep: &mut dyn FnMut()) {
        sleep_within(&self.words, word, sleep);
    }

    /// Whether nothing ends it.
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

/// Each word in turn has the thread carry out the sleep of the next.
fn sleep_within(words: &[Option<&dyn Cancellation>], word: usize, sleep: &mut dyn FnMut()) {
    match words {
        [Some(first), rest @ ..] => first.sleep(word, &mut || sleep_within(rest, word, sleep)),
        _ => sleep(),
    }
}
