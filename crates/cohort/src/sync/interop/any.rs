//! `AnyLock`: a lock chosen by its name at run time (features `named` and `std`).

extern crate std;

use crate::support::made::Made;
use crate::sync::interop::named::Named;
use crate::sync::mutex::Mutex;
use cohort_raw::{Abortable, Outcome, Patience, RawLock, RawTry, ThreadOblivious};
use core::alloc::Layout;
use core::error::Error;
use core::fmt;
use core::ptr::NonNull;
use core::str::FromStr;
use std::alloc::{alloc, dealloc, handle_alloc_error};
use std::boxed::Box;
use std::string::{String, ToString};

/// A lock of `cohort list`, or a composition, chosen by its name at run time: by a configuration
/// file, or from what `cohort tune` finds. [`AnyMutex`] has one.
///
/// FIFO locks get admission control, as with [`Gated`](crate::compose::Gated): more threads than
/// CPUs do not stall them. Where waiters of the named lock cannot give up, a waiter with a deadline
/// retries instead of queueing. A lock takes a block of the heap, and one call through a pointer
/// for each operation.
///
/// ```
/// use cohort::{AnyLock, Mutex};
///
/// let lock: AnyLock = "clof:ticket-clh-mcs@cache,numa,system".parse().unwrap();
/// let total: Mutex<u64, AnyLock> = Mutex::from_raw(lock, 1);
/// *total.lock() += 1;
/// assert_eq!(total.into_inner(), 2);
/// ```
pub struct AnyLock {
    made: NonNull<Made>,
    room: Layout,
    name: Box<str>,
}

// SAFETY: it owns a lock, which is for all threads.
unsafe impl Send for AnyLock {}
// SAFETY: as above.
unsafe impl Sync for AnyLock {}

/// A [`Mutex`] under a lock chosen at run time.
///
/// ```
/// use cohort::{AnyMutex, Condvar};
///
/// # fn configured() -> String { "hmcs-3".to_owned() }
/// let words = AnyMutex::named(&configured(), vec!["one"]).unwrap();
/// let added = Condvar::new();
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         words.lock().push("two");
///         added.notify_one();
///     });
///     let mut words = words.lock();
///     added.wait_while(&mut words, |words| words.len() < 2);
///     assert_eq!(*words, ["one", "two"]);
/// });
/// ```
pub type AnyMutex<T> = Mutex<T, AnyLock>;

/// Why a name is no lock's.
///
/// ```
/// use cohort::{AnyLock, UnknownLock};
///
/// let error: UnknownLock = AnyLock::named("mcss").unwrap_err();
/// assert!(error.to_string().contains("mcs"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownLock(String);

impl fmt::Display for UnknownLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for UnknownLock {}

impl AnyLock {
    /// Makes the lock of that name.
    ///
    /// # Errors
    /// If there is no such lock, or none that is made at run time; the message states the mistake.
    ///
    /// ```
    /// use cohort::AnyLock;
    ///
    /// assert_eq!(AnyLock::named("mcs").unwrap().name(), "mcs");
    /// let error = AnyLock::named("clof:mcs-mcs@cache,numa").unwrap_err();
    /// assert!(error.to_string().contains("its last level is `system`"));
    /// ```
    pub fn named(name: &str) -> Result<Self, UnknownLock> {
        let found = Named::find(name).map_err(|wrong| UnknownLock(wrong.to_string()))?;
        let room = found.room();
        // SAFETY: a lock has a size, with its header.
        let place = unsafe { alloc(room) };
        let Some(place) = NonNull::new(place) else {
            handle_alloc_error(room);
        };
        Ok(Self {
            // SAFETY: new memory of that layout.
            made: unsafe { found.make_at(place) },
            room,
            name: name.into(),
        })
    }

    /// The name it was made by.
    ///
    /// ```
    /// assert_eq!(cohort::AnyLock::default().name(), "default");
    /// ```
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    fn made(&self) -> &Made {
        // SAFETY: made by `named`, and dropped with this object.
        unsafe { self.made.as_ref() }
    }
}

impl Drop for AnyLock {
    fn drop(&mut self) {
        // SAFETY: no thread uses the lock; it was made in memory of that layout.
        unsafe {
            Made::drop_at(self.made);
            dealloc(self.made.as_ptr().cast(), self.room);
        }
    }
}

/// The default lock.
impl Default for AnyLock {
    fn default() -> Self {
        Self::named("default").unwrap_or_else(|error| unreachable!("{error}"))
    }
}

impl FromStr for AnyLock {
    type Err = UnknownLock;

    fn from_str(name: &str) -> Result<Self, UnknownLock> {
        Self::named(name)
    }
}

impl fmt::Debug for AnyLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AnyLock").field(&self.name).finish()
    }
}

impl<T> Mutex<T, AnyLock> {
    /// Creates a mutex around `data` under the lock of that name.
    ///
    /// # Errors
    /// As [`AnyLock::named`].
    ///
    /// ```
    /// use cohort::AnyMutex;
    ///
    /// let total = AnyMutex::named("mcs", 1).unwrap();
    /// *total.lock() += 1;
    /// assert!(AnyMutex::named("no-lock", 1).is_err());
    /// ```
    pub fn named(name: &str, data: T) -> Result<Self, UnknownLock> {
        Ok(Self::from_raw(AnyLock::named(name)?, data))
    }
}

// SAFETY: an acquisition is one of the named lock, by a context in a block.
unsafe impl RawLock for AnyLock {
    type Context = ();

    #[inline]
    unsafe fn acquire(&self, (): &()) {
        self.made().acquire();
    }

    #[inline]
    unsafe fn release(&self, (): &()) {
        // SAFETY: the caller's.
        let was_held = unsafe { self.made().release() };
        debug_assert!(was_held, "a lock is released by its holder");
    }

    fn is_locked(&self) -> bool {
        self.made().is_locked()
    }
}

// SAFETY: as above.
unsafe impl RawTry for AnyLock {
    #[inline]
    unsafe fn try_acquire(&self, (): &()) -> bool {
        self.made().try_acquire()
    }
}

// SAFETY: as above.
unsafe impl Abortable for AnyLock {
    unsafe fn acquire_within(&self, (): &(), patience: &Patience) -> Outcome {
        if self.made().acquire_within(patience) {
            Outcome::Acquired
        } else {
            Outcome::GaveUp
        }
    }
}

// SAFETY: every lock of `named` is; its holder's context is in the lock, not in the thread.
unsafe impl ThreadOblivious for AnyLock {}
