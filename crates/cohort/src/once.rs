//! `Once`: a section that one thread runs, and for which all others wait.
//!
//! | state | meaning | set by |
//! |---|---|---|
//! | `NEW` | no thread has come | |
//! | `RUNNING` | a thread is inside; others wait for the state to change | that thread |
//! | `POISONED` | it panicked inside | it |
//! | `DONE` | for ever | it |

use crate::door::{Order, caught, constructor, flaws, mutant, orders, panic_on};
use crate::wait::WaitCell;
use core::fmt;

orders! {
    /// A thread that finds the section run sees what it did.
    ONCE_FOUND = Acquire;
    /// A thread that runs the section again sees what it did until it panicked.
    ONCE_CLAIM = Acquire;
    /// What the section did is seen by those that find it run, or run it again.
    ONCE_END = Release;
}

flaws! {
    LEAVE_RUNNING = "once.leave-running";
    RUN_AGAIN = "once.run-again";
}

const NEW: u32 = 0;
const RUNNING: u32 = 1;
const POISONED: u32 = 2;
const DONE: u32 = 3;

/// All that wait are woken at once.
const CLASS: u32 = 1;

/// A section that is run once, by the thread that comes first: for what is made when it is first
/// needed.  Four bytes.
///
/// A section that panics poisons the object, as in `std` and `parking_lot`; no other lock here
/// is poisoned.  Without the feature `std` such a panic ends the process.  A child that is forked while another thread runs the section waits for ever.
///
/// ```
/// use cohort::{Mutex, Once};
///
/// static READY: Once = Once::new();
/// static WORDS: Mutex<Vec<&str>> = Mutex::new(Vec::new());
///
/// std::thread::scope(|scope| {
///     for _ in 0..4 {
///         scope.spawn(|| READY.call_once(|| WORDS.lock().push("once")));
///     }
/// });
/// assert_eq!(*WORDS.lock(), ["once"]);
/// ```
#[derive(Default)]
pub struct Once {
    state: WaitCell,
}

/// How far a [`Once`] is.
///
/// ```
/// use cohort::{Once, OnceState};
///
/// let once = Once::new();
/// assert_eq!(once.state(), OnceState::New);
/// once.call_once(|| ());
/// assert_eq!(once.state(), OnceState::Done);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnceState {
    /// No thread has come.
    New,
    /// A thread panicked in the section, and none has run it to its end.
    Poisoned,
    /// A thread runs the section.
    InProgress,
    /// The section has been run to its end.
    Done,
}

impl OnceState {
    /// Whether a thread panicked in the section and none has run it to its end.
    ///
    /// ```
    /// assert!(cohort::OnceState::Poisoned.poisoned());
    /// assert!(!cohort::Once::new().state().poisoned());
    /// ```
    #[must_use]
    pub const fn poisoned(self) -> bool {
        matches!(self, Self::Poisoned)
    }

    /// Whether the section has been run to its end.
    ///
    /// ```
    /// assert!(cohort::OnceState::Done.done());
    /// assert!(!cohort::Once::new().state().done());
    /// ```
    #[must_use]
    pub const fn done(self) -> bool {
        matches!(self, Self::Done)
    }

    const fn of(state: u32) -> Self {
        match state {
            NEW => Self::New,
            POISONED => Self::Poisoned,
            RUNNING => Self::InProgress,
            _ => Self::Done,
        }
    }
}

impl Once {
    constructor! {
        /// A section that no thread has run.
        ///
        /// ```
        /// static READY: cohort::Once = cohort::Once::new();
        /// READY.call_once(|| println!("the first time"));
        /// ```
        #[must_use]
        pub fn new() -> Self {
            Self {
                state: WaitCell::new(),
            }
        }
    }

    /// How far it was a moment ago.  Never blocks; after [`OnceState::Done`] the caller sees
    /// what the section did.
    ///
    /// ```
    /// use cohort::{Once, OnceState};
    ///
    /// let once = Once::new();
    /// once.call_once(|| assert_eq!(once.state(), OnceState::InProgress));
    /// assert_eq!(format!("{once:?}"), "Once { state: Done }");
    /// ```
    pub fn state(&self) -> OnceState {
        OnceState::of(self.state.value(ONCE_FOUND))
    }

    /// Runs `section` if no thread has; blocks while another thread runs its own.  Afterwards the
    /// caller sees what was done.  A section that calls this for its own object never returns.
    ///
    /// # Panics
    /// If the section panics; and if it panicked in another thread before.
    ///
    /// ```
    /// let once = cohort::Once::new();
    /// let panicked = std::panic::catch_unwind(|| once.call_once(|| panic!("on purpose")));
    /// assert!(panicked.is_err() && once.state().poisoned());
    /// assert!(std::panic::catch_unwind(|| once.call_once(|| ())).is_err());
    /// ```
    #[inline]
    pub fn call_once(&self, section: impl FnOnce()) {
        if !self.is_done() {
            self.run_if_first(false, |_| section());
        }
    }

    /// The same, but a section that panicked before is run again; `section` gets to know whether
    /// one did.
    ///
    /// # Panics
    /// If the section panics.
    ///
    /// ```
    /// let once = cohort::Once::new();
    /// let _ = std::panic::catch_unwind(|| once.call_once(|| panic!("on purpose")));
    /// once.call_once_force(|state| assert!(state.poisoned()));
    /// assert!(once.state().done());
    /// ```
    #[inline]
    pub fn call_once_force(&self, section: impl FnOnce(OnceState)) {
        if !self.is_done() {
            self.run_if_first(true, section);
        }
    }

    #[inline(always)]
    fn is_done(&self) -> bool {
        self.state.value(ONCE_FOUND) == DONE
    }

    fn run_if_first(&self, forced: bool, section: impl FnOnce(OnceState)) {
        let Some(found) = self.claim(forced) else {
            return;
        };
        let run = caught(|| section(OnceState::of(found)));
        if run.is_ok() {
            self.state.set(DONE, ONCE_END);
        } else if !mutant(flaw::LEAVE_RUNNING) {
            self.state.set(POISONED, ONCE_END);
        }
        if let Err(panic) = run {
            panic_on(panic);
        }
    }

    /// Blocks until the section has been run, or is the caller's to run: then what was found.
    #[cold]
    fn claim(&self, forced: bool) -> Option<u32> {
        while !self.is_done() {
            let found = self.state.value(Order::RELAXED);
            match found {
                DONE if !mutant(flaw::RUN_AGAIN) => {}
                RUNNING => {
                    let is_over = |state| state != RUNNING;
                    let class = CLASS;
                    // Many may look at once, so no CPU watches the word for them.
                    self.state
                        .wait_spaced(Order::RELAXED, class, is_over, |_| 0, || true);
                }
                POISONED if !forced => panic!("this `Once` is poisoned: its section panicked"),
                _ => {
                    if self.state.try_set(found, RUNNING, ONCE_CLAIM) {
                        return Some(found);
                    }
                }
            }
        }
        None
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once")
            .field("state", &self.state())
            .finish()
    }
}
