//! Locks by reference, with guards; and [by address](address), as C and other languages want them.

use cohort::catalogue::LOCKS;
use cohort::door::now;
use cohort::host::Arena;
use cohort::host::served::{Object, SERVICES, Service};
pub use cohort::service::Refusal;
use cohort::service::{Bucket, Entry, Held, Lockable, Table};
use cohort::{Deadline, Patience};
use core::fmt;
use core::marker::PhantomData;
use core::time::Duration;

/// A lock as a program's mutex has it: a word while nobody fights for it.
#[derive(Debug, Default)]
struct Lock(Object);

/// Where in the catalogue the lock is that serves.
const PLACE: usize = {
    let mut place = 0;
    while !is_glk(LOCKS[place].name) {
        place += 1;
    }
    place
};

const fn is_glk(name: &str) -> bool {
    matches!(name.as_bytes(), b"glk")
}

static SERVICE: &Service = match &SERVICES[PLACE] {
    Some(service) => service,
    None => panic!("the catalogue's lock is there"),
};

impl Lockable for Lock {
    #[inline]
    fn lock(&self) {
        // SAFETY: these objects are served by that lock alone; so below.
        unsafe { (SERVICE.pair.lock)(&self.0) };
    }

    #[inline]
    fn try_lock(&self) -> bool {
        // SAFETY: as above.
        unsafe { (SERVICE.try_lock)(&self.0) }
    }

    fn lock_within(&self, patience: &Patience) -> bool {
        // SAFETY: as above.
        unsafe { (SERVICE.lock_within)(&self.0, patience) }
    }

    #[inline]
    unsafe fn unlock(&self) {
        // SAFETY: as above, and the caller's.
        unsafe { (SERVICE.pair.unlock)(&self.0) };
    }

    fn is_locked(&self) -> bool {
        // SAFETY: as above.
        unsafe { (SERVICE.is_locked)(&self.0) }
    }
}

static ENTRIES: Arena<Entry<Lock>> = Arena::new(11);
static BUCKETS: Arena<Bucket<Lock>> = Arena::new(12);

/// Remembers each thread's last entry in the cache that no pool has.
static TABLE: Table<Lock, &Arena<Entry<Lock>>, &Arena<Bucket<Lock>>> =
    Table::new(13, &ENTRIES, &BUCKETS);

/// The key's lock, held until this is dropped; any thread may drop it.
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
#[must_use = "the lock is released at once if nobody keeps this"]
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
            held.unlock();
        }
    }
}

impl fmt::Debug for Guard<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Guard { .. }")
    }
}

/// What a reference's lock is found by.
fn key<T: ?Sized>(of: &T) -> usize {
    core::ptr::from_ref(of).cast::<()>().addr()
}

/// Blocks until the lock of that address is held.  Two references have one lock if they
/// begin at one address, whatever their types.  A thread that has the lock already waits for ever.
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
#[inline]
pub fn lock<T: ?Sized>(of: &T) -> Guard<'_> {
    let held = TABLE.lock(key(of));
    Guard::new(held.expect("a reference is not null"))
}

/// The lock of that address if nobody has it.  For a moment after [`free`] another key's lock may
/// be found taken.
///
/// ```
/// use cohort_service::gls;
///
/// let shared = 7;
/// let held = gls::try_lock(&shared);
/// assert!(held.is_some() && gls::try_lock(&shared).is_none());
/// ```
#[inline]
pub fn try_lock<T: ?Sized>(of: &T) -> Option<Guard<'_>> {
    TABLE.try_lock(key(of)).ok().map(Guard::new)
}

/// Blocks until the lock of that address is held or so much time has passed.
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
pub fn lock_for<T: ?Sized>(of: &T, time: Duration) -> Option<Guard<'_>> {
    let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let patience = Patience::until(Deadline::monotonic(now().saturating_add(nanoseconds)));
    TABLE.lock_within(key(of), &patience).ok().map(Guard::new)
}

/// Forgets the lock of that address, whose memory goes to others; to be called before what is there
/// is given back.  An address that has no lock is forgotten already.
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
    TABLE.free(key(of))
}

/// How many addresses have locks now.
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

/// Bytes of all locks and of the table, beyond its first buckets.
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
        TABLE.lock(key).map(drop)
    }

    /// Takes the key's lock if nobody has it.
    ///
    /// # Errors
    /// 0 is no key (`EINVAL`); somebody has it (`EBUSY`).
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
        TABLE.try_lock(key).map(drop)
    }

    /// Blocks until the key's lock is held or patience runs out.
    ///
    /// # Errors
    /// 0 is no key (`EINVAL`); the time was over (`ETIMEDOUT`).
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
        TABLE.lock_within(key, patience).map(drop)
    }

    /// Releases the key's lock, whichever thread took it.
    ///
    /// # Errors
    /// 0 is no key (`EINVAL`); nobody holds the lock, if the key has one (`EPERM`).
    ///
    /// # Safety
    /// No [`Guard`](super::Guard) has the lock, and the caller may release it.
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
        unsafe { TABLE.unlock(key) }
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
