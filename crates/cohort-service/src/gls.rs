//! Locks by reference, with guards; and [by address](address), for C and other languages.

use crate::lock::Lock;
use crate::reported::{acquiring, ending, releasing};
use crate::table::TABLE;
use cohort::door::{Doing, now};
use cohort::service::Held;
pub use cohort::service::Refusal;
use cohort::{Deadline, Patience};
use core::fmt;
use core::marker::PhantomData;
use core::time::Duration;

/// The key's lock, held until the drop; any thread may drop it.
///
/// ```
/// use cohort_service::gls;
///
/// let shared = 7;
/// let guard: gls::Guard<'_> = gls::lock(&shared);
/// // Any thread may release it.
/// std::thread::scope(|scope| {
///     scope.spawn(move || drop(guard));
/// });
/// assert!(gls::try_lock(&shared).is_some());
/// ```
#[must_use = "the lock is released immediately if this is dropped"]
pub struct Guard<'a> {
    held: Option<Held<Lock>>,
    key: PhantomData<&'a ()>,
}

impl Guard<'_> {
    const fn new(held: Held<Lock>) -> Self {
        Self {
            held: Some(held),
            key: PhantomData,
        }
    }
}

impl Drop for Guard<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(held) = self.held.take() {
            releasing(held);
        }
    }
}

impl fmt::Debug for Guard<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Guard { .. }")
    }
}

/// The key of a reference's lock.
fn key<T: ?Sized>(of: &T) -> usize {
    core::ptr::from_ref(of).cast::<()>().addr()
}

/// Blocks until the lock of that address is held. References to one address have one lock, whatever
/// their types. A thread that already holds the lock deadlocks.
///
/// ```
/// use cohort_service::gls;
///
/// let shared = [7; 4];
/// let first = gls::lock(&shared[0]);
/// let second = gls::lock(&shared[1]);
/// assert!(gls::try_lock(&shared[1]).is_none());
/// drop(second);
/// assert!(gls::try_lock(&shared[1]).is_some());
/// # drop(first);
/// ```
#[cfg_attr(feature = "observe", inline(always))]
#[cfg_attr(not(feature = "observe"), inline)]
pub fn lock<T: ?Sized>(of: &T) -> Guard<'_> {
    let held = acquiring(Doing::Lock, key(of), |key| TABLE.lock(None, key));
    Guard::new(held.expect("a reference is not null"))
}

/// Takes the lock of that address if it is free. For a moment after [`free`], another key's lock
/// may appear held.
///
/// ```
/// use cohort_service::gls;
///
/// let shared = 7;
/// let held = gls::try_lock(&shared);
/// assert!(held.is_some() && gls::try_lock(&shared).is_none());
/// ```
#[cfg_attr(feature = "observe", inline(always))]
#[cfg_attr(not(feature = "observe"), inline)]
pub fn try_lock<T: ?Sized>(of: &T) -> Option<Guard<'_>> {
    let held = acquiring(Doing::Nothing, key(of), |key| TABLE.try_lock(None, key));
    held.ok().map(Guard::new)
}

/// Blocks until the lock of that address is held, for at most `timeout`.
///
/// ```
/// use cohort_service::gls;
/// use std::time::Duration;
///
/// let shared = 7;
/// let held = gls::lock(&shared);
/// assert!(gls::lock_for(&shared, Duration::from_millis(2)).is_none());
/// # drop(held);
/// ```
#[cfg_attr(feature = "observe", inline(always))]
pub fn lock_for<T: ?Sized>(of: &T, time: Duration) -> Option<Guard<'_>> {
    let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let patience = Patience::until(Deadline::monotonic(now().saturating_add(nanoseconds)));
    let lock = |key| TABLE.lock_within(None, key, &patience);
    acquiring(Doing::Timed, key(of), lock).ok().map(Guard::new)
}

/// Forgets the lock of that address; its memory goes to other keys. To be called before the
/// memory at the address is freed. Does nothing for an address without a lock. In a child forked
/// meanwhile by another thread, the lock may stay held, like a held one.
///
/// # Errors
/// The lock is held or waited for.
///
/// ```
/// use cohort_service::gls;
///
/// let shared = Box::new(7);
/// let held = gls::lock(&*shared);
/// assert_eq!(gls::free(&*shared), Err(gls::Refusal::Busy));
/// drop(held);
/// assert_eq!(gls::free(&*shared), Ok(()));
/// ```
pub fn free<T: ?Sized>(of: &T) -> Result<(), Refusal> {
    ending(key(of), |key| TABLE.free(key))
}

/// Makes room for the locks of that many addresses at once, so that the table does not grow step by
/// step.
///
/// # Errors
/// There is no memory for that.
///
/// ```
/// use cohort_service::gls;
///
/// assert_eq!(gls::reserve(10_000), Ok(()));
/// ```
pub fn reserve(addresses: usize) -> Result<(), Refusal> {
    TABLE.reserve(addresses)
}

/// Forgets the locks of all addresses, like [`free`]; locks used meanwhile may stay.
///
/// # Errors
/// Some are held or waited for, and stay.
///
/// ```
/// use cohort_service::gls;
///
/// let shared = 7;
/// let held = gls::lock(&shared);
/// assert_eq!(gls::free_all(), Err(gls::Refusal::Busy));
/// # drop(held);
/// ```
pub fn free_all() -> Result<(), Refusal> {
    TABLE.clear()
}

/// The number of addresses with locks.
///
/// ```
/// use cohort_service::gls;
///
/// let shared = 7;
/// drop(gls::lock(&shared));
/// assert!(gls::keys() >= 1);
/// ```
#[must_use]
pub fn keys() -> u32 {
    TABLE.keys()
}

/// Bytes of all usual locks and of the table, beyond its first buckets.
///
/// ```
/// use cohort_service::gls;
///
/// let (shared, before) = (7, gls::bytes());
/// drop(gls::lock(&shared));
/// assert!(gls::bytes() >= before);
/// ```
#[must_use]
pub fn bytes() -> usize {
    TABLE.bytes()
}

/// Locks by address, or by any value but 0, without guards.
pub mod address {
    use super::TABLE;
    use cohort::Patience;
    use cohort::service::Refusal;

    /// Blocks until the key's lock is held.
    ///
    /// # Errors
    /// 0 is no key (`EINVAL`).
    ///
    /// ```
    /// use cohort_service::gls::{Refusal, address};
    ///
    /// assert_eq!(address::lock(18), Ok(()));
    /// assert_eq!(address::lock(0), Err(Refusal::NoKey));
    /// // SAFETY: locked above.
    /// assert_eq!(unsafe { address::unlock(18) }, Ok(()));
    /// ```
    #[inline]
    pub fn lock(key: usize) -> Result<(), Refusal> {
        TABLE.lock(None, key).map(drop)
    }

    /// Takes the key's lock if it is free.
    ///
    /// # Errors
    /// 0 is no key (`EINVAL`); the lock is held (`EBUSY`).
    ///
    /// ```
    /// use cohort_service::gls::{Refusal, address};
    ///
    /// assert_eq!(address::try_lock(19), Ok(()));
    /// assert_eq!(address::try_lock(19), Err(Refusal::Busy));
    /// # // SAFETY: locked above.
    /// # assert_eq!(unsafe { address::unlock(19) }, Ok(()));
    /// ```
    #[inline]
    pub fn try_lock(key: usize) -> Result<(), Refusal> {
        TABLE.try_lock(None, key).map(drop)
    }

    /// Blocks until the key's lock is held or patience runs out.
    ///
    /// # Errors
    /// 0 is no key (`EINVAL`); the deadline passed (`ETIMEDOUT`).
    ///
    /// ```
    /// use cohort::{Deadline, Patience};
    /// use cohort_service::gls::{Refusal, address};
    ///
    /// let past = Patience::until(Deadline::monotonic(1));
    /// assert_eq!(address::lock(20), Ok(()));
    /// assert_eq!(address::lock_within(20, &past), Err(Refusal::TimedOut));
    /// # // SAFETY: locked above.
    /// # assert_eq!(unsafe { address::unlock(20) }, Ok(()));
    /// ```
    pub fn lock_within(key: usize, patience: &Patience) -> Result<(), Refusal> {
        TABLE.lock_within(None, key, patience).map(drop)
    }

    /// Releases the key's lock, from any thread.
    ///
    /// # Errors
    /// 0 is no key (`EINVAL`); the lock is free, or the key has none (`EPERM`).
    ///
    /// # Safety
    /// No [`Guard`](super::Guard) has the lock, and the caller may release it. If it is free, no
    /// thread [frees](free) the key meanwhile.
    ///
    /// ```
    /// use cohort_service::gls::{Refusal, address};
    ///
    /// assert_eq!(address::lock(17), Ok(()));
    /// assert_eq!(address::try_lock(17), Err(Refusal::Busy));
    /// // SAFETY: locked above.
    /// assert_eq!(unsafe { address::unlock(17) }, Ok(()));
    /// // SAFETY: it is refused.
    /// assert_eq!(unsafe { address::unlock(17) }, Err(Refusal::NotHeld));
    /// assert_eq!(address::free(17), Ok(()));
    /// ```
    #[inline]
    pub unsafe fn unlock(key: usize) -> Result<(), Refusal> {
        // SAFETY: the caller's.
        unsafe { TABLE.unlock(None, key) }
    }

    /// Whether the key's lock was held a moment ago.
    ///
    /// ```
    /// use cohort_service::gls::address;
    ///
    /// assert!(!address::is_held(22));
    /// assert_eq!(address::lock(22), Ok(()));
    /// assert!(address::is_held(22));
    /// # // SAFETY: locked above.
    /// # assert_eq!(unsafe { address::unlock(22) }, Ok(()));
    /// ```
    #[must_use]
    pub fn is_held(key: usize) -> bool {
        key != 0 && TABLE.is_held(key)
    }

    /// As [`free`](super::free).
    ///
    /// # Errors
    /// 0 is no key (`EINVAL`); the lock is held or waited for (`EBUSY`).
    ///
    /// ```
    /// use cohort_service::gls::{Refusal, address};
    ///
    /// assert_eq!(address::lock(21), Ok(()));
    /// assert_eq!(address::free(21), Err(Refusal::Busy));
    /// // SAFETY: locked above.
    /// assert_eq!(unsafe { address::unlock(21) }, Ok(()));
    /// assert_eq!(address::free(21), Ok(()));
    /// ```
    pub fn free(key: usize) -> Result<(), Refusal> {
        TABLE.free(key)
    }
}
