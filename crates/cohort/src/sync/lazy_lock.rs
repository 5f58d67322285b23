//! `LazyLock<T>`: a value computed at its first use.
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `value` | the first user | the value, once it is computed |
//! | `init` | the first user, inside `value`'s initialisation | computes it; `None` from then on |

use crate::door::{Cell, constructor};
use crate::sync::once_lock::OnceLock;
use core::fmt;
use core::ops::Deref;
use core::panic::{RefUnwindSafe, UnwindSafe};

/// A value computed at its first use, by one thread; as
/// [`std::sync::LazyLock`](https://doc.rust-lang.org/std/sync/struct.LazyLock.html). All others
/// block until then.
///
/// If the function panics, every later use panics, too. A function that uses its own value never
/// returns.
///
/// ```
/// use cohort::LazyLock;
///
/// static WORDS: LazyLock<Vec<&str>> = LazyLock::new(|| vec!["one", "two"]);
///
/// std::thread::scope(|scope| {
///     for _ in 0..4 {
///         scope.spawn(|| assert_eq!(WORDS.len(), 2));
///     }
/// });
/// ```
///
/// Threads share it only if the value may go to another thread, and so may the function:
///
/// ```compile_fail,E0277
/// # use cohort::LazyLock;
/// # use std::rc::Rc;
/// let mine = Rc::new(1);
/// let lazy = LazyLock::new(move || *mine);
/// std::thread::scope(|scope| {
///     scope.spawn(|| *lazy);
/// });
/// ```
pub struct LazyLock<T, F = fn() -> T> {
    value: OnceLock<T>,
    init: Cell<Option<F>>,
}

// SAFETY: threads share the value; the function moves to one of them, which calls it.
unsafe impl<T: Send + Sync, F: Send> Sync for LazyLock<T, F> {}
// SAFETY: it owns both.
unsafe impl<T: Send, F: Send> Send for LazyLock<T, F> {}
// After a panic there is no value to see.
impl<T: RefUnwindSafe + UnwindSafe, F: UnwindSafe> RefUnwindSafe for LazyLock<T, F> {}
impl<T: UnwindSafe, F: UnwindSafe> UnwindSafe for LazyLock<T, F> {}

impl<T, F> LazyLock<T, F> {
    constructor! {
        /// Creates a value that `init` computes at the first use.
        ///
        /// ```
        /// static SUM: cohort::LazyLock<u64> = cohort::LazyLock::new(|| (1..=10).sum());
        /// assert_eq!(*SUM, 55);
        /// ```
        #[must_use]
        pub fn new(init: F) -> Self {
            Self {
                value: OnceLock::new(),
                init: Cell::new(Some(init)),
            }
        }
    }

    /// The value, if it has been computed; never blocks.
    ///
    /// ```
    /// let lazy = cohort::LazyLock::new(|| 1);
    /// assert_eq!(lazy.get(), None);
    /// assert_eq!(*lazy, 1);
    /// assert_eq!(lazy.get(), Some(&1));
    /// ```
    pub fn get(&self) -> Option<&T> {
        self.value.get()
    }
}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    /// The value; the first caller computes it. Blocks while another thread does.
    ///
    /// # Panics
    /// If the function does, and if it has panicked before.
    ///
    /// ```
    /// use cohort::LazyLock;
    ///
    /// let lazy = LazyLock::new(|| 1);
    /// assert_eq!(LazyLock::force(&lazy), &1);
    /// ```
    #[inline]
    pub fn force(this: &Self) -> &T {
        this.value.get_or_init(|| {
            // SAFETY: one thread at a time initialises the value, and only it takes the function.
            let init = this.init.with_mut(|init| unsafe { (*init).take() });
            match init {
                Some(init) => init(),
                None => panic!("this `LazyLock` is poisoned: its function panicked"),
            }
        })
    }
}

impl<T, F: FnOnce() -> T> Deref for LazyLock<T, F> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        Self::force(self)
    }
}

impl<T: Default> Default for LazyLock<T> {
    fn default() -> Self {
        Self::new(T::default)
    }
}

impl<T: fmt::Debug, F> fmt::Debug for LazyLock<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut tuple = f.debug_tuple("LazyLock");
        match self.get() {
            Some(value) => tuple.field(value),
            None => tuple.field(&format_args!("<uninit>")),
        };
        tuple.finish()
    }
}
