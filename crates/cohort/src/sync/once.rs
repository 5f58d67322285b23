//! `Once`: a section run by one thread, with a wait for all others.
//!
//! | state | meaning | set by |
//! |---|---|---|
//! | `NEW` | unused | |
//! | `RUNNING` | a thread runs the section; others wait for the state to change | that thread |
//! | `POISONED` | the section panicked | that thread |
//! | `DONE` | the section has been run, for good | that thread |

use crate::door::{Order, caught, constructor, flaws, mutant, orders, panic_on};
use crate::wait::WaitCell;
use core::fmt;

orders! {
    /// A thread that reads `DONE` sees the section's writes.
    ONCE_FOUND = Acquire;
    /// A thread that runs the section again sees the writes before the panic.
    ONCE_CLAIM = Acquire;
    /// Publishes the section's writes to later callers.
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

/// All waiters are woken at once.
const CLASS: u32 = 1;

/// A section run once, by the first caller: for lazy initialisation. Four bytes.
///
/// A section that panics poisons the object, as in `std` and `parking_lot`; no other lock of this
/// crate is poisoned. Without the feature `std`, such a panic ends the process. A child forked
/// while another thread runs the section waits for ever.
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

/// The progress of a [`Once`].
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
    /// No call has begun.
    New,
    /// The section panicked, and no later call has completed it.
    Poisoned,
    /// A thread runs the section.
    InProgress,
    /// The section has been completed.
    Done,
}

impl OnceState {
    /// Returns whether the section panicked and no later call has completed it.
    ///
    /// ```
    /// assert!(cohort::OnceState::Poisoned.poisoned());
    /// assert!(!cohort::Once::new().state().poisoned());
    /// ```
    #[must_use]
    pub const fn poisoned(self) -> bool {
        matches!(self, Self::Poisoned)
    }

    /// Returns whether the section has been completed.
    ///
    /// ```
    /// assert!(cohort::OnceState::Done.done());
    /// assert!(!cohort::Once::new().state().done());
    /// ```
    #[must_use]
    pub const fn done(self) -> bool {
        matches!(self, Self::Done)
    }

    /// [`poisoned`](Self::poisoned), as newer versions of `std` and `parking_lot` name it.
    ///
    /// ```
    /// assert!(!cohort::Once::new().state().is_poisoned());
    /// ```
    #[must_use]
    pub const fn is_poisoned(self) -> bool {
        self.poisoned()
    }

    /// [`done`](Self::done), by its newer name.
    ///
    /// ```
    /// assert!(!cohort::Once::new().state().is_completed());
    /// ```
    #[must_use]
    pub const fn is_completed(self) -> bool {
        self.done()
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
        /// Creates a `Once` that has not run.
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

    /// Returns the progress as of a moment ago. Never blocks. After [`OnceState::Done`] the caller
    /// sees the section's writes.
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

    /// Runs `section` if this is the first call; blocks while another thread runs its own.
    /// Afterwards the caller sees the section's writes. A section that calls this on its own object
    /// never returns.
    ///
    /// # Panics
    /// If the section panics, or panicked in an earlier call.
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

    /// [`call_once`](Self::call_once), but runs `section` again after a panic. `section` receives
    /// the state before the call.
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

    constructor! {
        /// Creates one in the state after a completed section.
        ///
        /// ```
        /// static READY: cohort::Once = cohort::Once::new_completed();
        /// READY.call_once(|| unreachable!());
        /// ```
        #[must_use]
        pub fn new_completed() -> Self {
            Self {
                state: WaitCell::with(DONE),
            }
        }
    }

    /// Whether the section has been completed; never blocks. Then its writes are visible.
    ///
    /// ```
    /// let once = cohort::Once::new();
    /// once.call_once(|| ());
    /// assert!(once.is_completed());
    /// ```
    #[inline]
    pub fn is_completed(&self) -> bool {
        self.is_done()
    }

    /// Blocks until another thread's section has been completed; runs none itself. Inside the
    /// object's own section, it never returns.
    ///
    /// # Panics
    /// If the object is poisoned.
    ///
    /// ```
    /// static READY: cohort::Once = cohort::Once::new();
    ///
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| READY.call_once(|| ()));
    ///     READY.wait();
    /// });
    /// assert!(READY.state().done());
    /// ```
    pub fn wait(&self) {
        self.wait_until(|state| state == DONE || state == POISONED);
        assert!(
            self.is_done(),
            "this `Once` is poisoned: its section panicked"
        );
    }

    /// [`wait`](Self::wait) that a panic does not end: blocks until a later section has been
    /// completed.
    ///
    /// ```
    /// static READY: cohort::Once = cohort::Once::new();
    ///
    /// std::thread::scope(|scope| {
    ///     let fails = scope.spawn(|| READY.call_once(|| panic!("the first time")));
    ///     assert!(fails.join().is_err());
    ///     scope.spawn(|| READY.call_once_force(|_| ()));
    ///     READY.wait_force();
    /// });
    /// ```
    pub fn wait_force(&self) {
        self.wait_until(|state| state == DONE);
    }

    fn wait_until(&self, is_over: impl Fn(u32) -> bool) {
        self.state
            .wait_spaced(ONCE_FOUND, CLASS, is_over, |_| 0, || true);
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

    /// Blocks until the section has been run or is the caller's to run; in the latter case, returns
    /// the state found.
    #[cold]
    fn claim(&self, forced: bool) -> Option<u32> {
        while !self.is_done() {
            let found = self.state.value(Order::RELAXED);
            match found {
                DONE if !mutant(flaw::RUN_AGAIN) => {}
                RUNNING => {
                    let is_over = |state| state != RUNNING;
                    let class = CLASS;
                    // Many threads may wait at once, so none uses UMWAIT or WFET.
                    self.state
                        .wait_spaced(Order::RELAXED, class, is_over, |_| 0, || true);
                }
                POISONED if !forced => panic!("this `Once` is poisoned: its section panicked"),
                _ => {
                    // Wakes the waiters of `wait`, which then sleep on the new value.
                    if self.state.change(found, RUNNING, ONCE_CLAIM) {
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
