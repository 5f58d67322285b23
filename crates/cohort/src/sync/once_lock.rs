//! `OnceLock<T>`: a value that is written once.
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `once` | the initialising thread | whether the value is there |
//! | `value` | the initialising thread, inside `once` | the value; never written again while shared |

use crate::door::{Cell, constructor};
use crate::sync::once::Once;
use core::fmt;
use core::panic::{RefUnwindSafe, UnwindSafe};

/// A value that is written once, by the first thread to initialise it; as
/// [`std::sync::OnceLock`](https://doc.rust-lang.org/std/sync/struct.OnceLock.html). Reading it
/// takes one load.
///
/// A panic while the value is computed goes to that caller alone; the next caller computes the value
/// again. Without the feature `std`, it ends the process. A thread that initialises the same value
/// inside its own initialisation never returns. A child forked while another thread initialises the
/// value waits for ever.
///
/// ```
/// use cohort::OnceLock;
///
/// static NAME: OnceLock<String> = OnceLock::new();
///
/// assert_eq!(NAME.get(), None);
/// std::thread::scope(|scope| {
///     for n in 0..4 {
///         scope.spawn(move || NAME.get_or_init(|| format!("thread {n}")));
///     }
/// });
/// let name = NAME.get().unwrap();
/// assert_eq!(NAME.get_or_init(|| unreachable!()), name);
/// ```
///
/// It is shared between threads only if its value may go to another thread,
///
/// ```compile_fail,E0277
/// # use cohort::OnceLock;
/// # use std::cell::Cell;
/// static TOTAL: OnceLock<Cell<u32>> = OnceLock::new();
/// ```
///
/// and lends nothing beyond its own life:
///
/// ```compile_fail,E0505
/// # use cohort::OnceLock;
/// let lock = OnceLock::from(1);
/// let value = lock.get();
/// drop(lock);
/// println!("{value:?}");
/// ```
pub struct OnceLock<T> {
    once: Once,
    value: Cell<Option<T>>,
}

// SAFETY: threads share the value, and one of them may have moved it in.
unsafe impl<T: Send + Sync> Sync for OnceLock<T> {}
// SAFETY: it owns the value.
unsafe impl<T: Send> Send for OnceLock<T> {}
// A panic leaves the value as it was: absent.
impl<T: RefUnwindSafe + UnwindSafe> RefUnwindSafe for OnceLock<T> {}
impl<T: UnwindSafe> UnwindSafe for OnceLock<T> {}

impl<T> OnceLock<T> {
    constructor! {
        /// Creates it without a value.
        ///
        /// ```
        /// static NAME: cohort::OnceLock<&str> = cohort::OnceLock::new();
        /// assert!(NAME.get().is_none());
        /// ```
        #[must_use]
        pub fn new() -> Self {
            Self {
                once: Once::new(),
                value: Cell::new(None),
            }
        }
    }

    /// The value, if it has been initialised; never blocks.
    ///
    /// ```
    /// let lock = cohort::OnceLock::new();
    /// assert_eq!(lock.get(), None);
    /// lock.set(1).unwrap();
    /// assert_eq!(lock.get(), Some(&1));
    /// ```
    #[inline]
    pub fn get(&self) -> Option<&T> {
        if !self.once.state().done() {
            return None;
        }
        // SAFETY: `DONE` publishes the value, which is not written again while it is shared.
        self.value.with(|value| unsafe { (*value).as_ref() })
    }

    /// The value, if it has been initialised, without a check for other threads: the lock is
    /// borrowed mutably.
    ///
    /// ```
    /// let mut lock = cohort::OnceLock::from(1);
    /// *lock.get_mut().unwrap() += 1;
    /// assert_eq!(lock.get(), Some(&2));
    /// ```
    pub fn get_mut(&mut self) -> Option<&mut T> {
        // SAFETY: borrowed mutably.
        self.value.with_mut(|value| unsafe { (*value).as_mut() })
    }

    /// Initialises the value. Blocks while another thread does.
    ///
    /// # Errors
    /// Returns `value` if there is one already.
    ///
    /// ```
    /// let lock = cohort::OnceLock::new();
    /// assert_eq!(lock.set(1), Ok(()));
    /// assert_eq!(lock.set(2), Err(2));
    /// ```
    pub fn set(&self, value: T) -> Result<(), T> {
        let mut given = Some(value);
        self.once.call_once_force(|_| {
            // SAFETY: as in `get_or_init`.
            self.value
                .with_mut(|place| unsafe { *place = given.take() });
        });
        given.map_or(Ok(()), Err)
    }

    /// The value; the first caller computes it by `init`. Blocks while another thread does.
    ///
    /// # Panics
    /// If `init` does.
    ///
    /// ```
    /// let lock = cohort::OnceLock::new();
    /// assert_eq!(lock.get_or_init(|| 1), &1);
    /// assert_eq!(lock.get_or_init(|| 2), &1);
    /// ```
    #[inline]
    pub fn get_or_init(&self, init: impl FnOnce() -> T) -> &T {
        if let Some(value) = self.get() {
            return value;
        }
        self.once.call_once_force(|_| {
            let new = init();
            // SAFETY: one thread at a time is here, and no other accesses the value before `DONE`.
            self.value.with_mut(|place| unsafe { *place = Some(new) });
        });
        self.get()
            .unwrap_or_else(|| unreachable!("the value was initialised"))
    }

    /// Blocks until another thread has initialised the value. An initialisation that panics does not
    /// end the wait; a later one does.
    ///
    /// ```
    /// static NAME: cohort::OnceLock<&str> = cohort::OnceLock::new();
    ///
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| NAME.set("one"));
    ///     assert_eq!(*NAME.wait(), "one");
    /// });
    /// ```
    pub fn wait(&self) -> &T {
        self.once.wait_force();
        self.get()
            .unwrap_or_else(|| unreachable!("the wait was for the value"))
    }

    /// The value, if it has been initialised, without the lock.
    ///
    /// ```
    /// assert_eq!(cohort::OnceLock::from(1).into_inner(), Some(1));
    /// ```
    pub fn into_inner(self) -> Option<T> {
        self.value.into_inner()
    }

    /// Takes the value out: the lock is as new.
    ///
    /// ```
    /// let mut lock = cohort::OnceLock::from(1);
    /// assert_eq!(lock.take(), Some(1));
    /// assert_eq!(lock.get_or_init(|| 2), &2);
    /// ```
    pub fn take(&mut self) -> Option<T> {
        core::mem::take(self).into_inner()
    }
}

impl<T> Default for OnceLock<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> From<T> for OnceLock<T> {
    fn from(value: T) -> Self {
        let new = Self::new();
        let _ = new.set(value);
        new
    }
}

impl<T: Clone> Clone for OnceLock<T> {
    fn clone(&self) -> Self {
        self.get().cloned().map_or_else(Self::new, Self::from)
    }
}

impl<T: PartialEq> PartialEq for OnceLock<T> {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for OnceLock<T> {}

impl<T: fmt::Debug> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut tuple = f.debug_tuple("OnceLock");
        match self.get() {
            Some(value) => tuple.field(value),
            None => tuple.field(&format_args!("<uninit>")),
        };
        tuple.finish()
    }
}
