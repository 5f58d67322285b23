//! Locks by reference, with guards; and [by address](address), for C and other languages.

use crate::kind::Kind;
use crate::reported::{acquiring, ending, releasing};
use cohort::catalogue::LOCKS;
use cohort::door::{Doing, now};
use cohort::host::served::{Object, Pair, SERVICES, Service};
use cohort::host::{Arena, Pool};
use cohort::made::Made;
pub use cohort::service::Refusal;
use cohort::service::{Bucket, Entry, Held, Lockable, Table};
use cohort::{Deadline, Patience};
use core::fmt;
use core::marker::PhantomData;
use core::ptr;
use core::time::Duration;

/// A lock as in a program's mutex, a word while uncontended; or a lock of another [kind](Kind),
/// stored elsewhere.
#[derive(Debug, Default)]
pub(crate) struct Lock(Object);

/// The contents of an object's bytes, which no service touches; zero bytes are `None`.
#[derive(Clone, Copy)]
struct Other {
    kind: &'static Kind,
    made: &'static Made,
}

impl Lock {
    /// The address of these contents.
    #[inline]
    const fn place(&self) -> *mut Option<Other> {
        const { assert!(size_of::<Option<Other>>() <= Object::FACE) };
        self.0.face().cast()
    }

    /// Its kind and the lock, if not of the usual kind.
    #[inline]
    fn both(&self) -> Option<Other> {
        // SAFETY: zero bytes, or what is written below before any other thread sees this.
        unsafe { *self.place() }
    }

    /// The lock itself, if it is of another kind.
    #[inline]
    pub(crate) fn other(&self) -> Option<&'static Made> {
        self.both().map(|other| other.made)
    }

    /// Makes it a lock of that kind.
    ///
    /// # Safety
    /// No other thread has seen it, and it was never used as a lock of another kind.
    pub(crate) unsafe fn become_other(&self, kind: &'static Kind, made: &'static Made) {
        // SAFETY: the caller's; the bytes are in a cell.
        unsafe { self.place().write(Some(Other { kind, made })) };
    }
}

/// The catalogue index of the lock.
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

/// The functions of each acquisition, called directly and not through the table.
static PAIR: Pair = SERVICE.pair;

/// Its unlocking function for a lock that may be free.
static UNLOCK_HELD: unsafe fn(&Object) -> bool = match SERVICES[PLACE] {
    Some(Service {
        unlock_held: Some(unlock_held),
        ..
    }) => unlock_held,
    _ => panic!("the lock says whether it was held"),
};

impl Lockable for Lock {
    /// `None`: the usual kind.
    type Kind = Option<&'static Kind>;

    #[inline]
    fn is(&self, kind: Self::Kind) -> bool {
        match (self.both(), kind) {
            (None, None) => true,
            (Some(other), Some(kind)) => ptr::eq(other.kind, kind),
            _ => false,
        }
    }

    fn take(kind: Self::Kind, pool: &(impl Pool<Entry<Self>> + ?Sized)) -> &'static Entry<Self> {
        kind.map_or_else(|| pool.take(), Kind::take)
    }

    unsafe fn give(entry: &'static Entry<Self>, pool: &(impl Pool<Entry<Self>> + ?Sized)) {
        // SAFETY: passed on.
        unsafe {
            match entry.lock().both() {
                Some(other) => other.kind.give(entry),
                None => pool.give(entry),
            }
        }
    }

    #[inline]
    fn lock(&self) {
        if let Some(made) = self.other() {
            return made.acquire();
        }
        // SAFETY: these objects are served by that lock alone; so below.
        unsafe { (PAIR.lock)(&self.0) };
    }

    #[inline]
    fn try_lock(&self) -> bool {
        if let Some(made) = self.other() {
            return made.try_acquire();
        }
        // SAFETY: as above.
        unsafe { (SERVICE.try_lock)(&self.0) }
    }

    fn lock_within(&self, patience: &Patience) -> bool {
        if let Some(made) = self.other() {
            return made.acquire_within(patience);
        }
        // SAFETY: as above.
        unsafe { (SERVICE.lock_within)(&self.0, patience) }
    }

    #[inline]
    unsafe fn unlock(&self) {
        // SAFETY: as above, and the caller's.
        unsafe {
            if let Some(made) = self.other() {
                let _ = made.release();
            } else {
                (PAIR.unlock)(&self.0);
            }
        }
    }

    #[inline]
    unsafe fn unlock_held(&self) -> bool {
        // SAFETY: as above, and the caller's.
        unsafe {
            self.other()
                .map_or_else(|| UNLOCK_HELD(&self.0), |made| made.release())
        }
    }

    fn is_locked(&self) -> bool {
        if let Some(made) = self.other() {
            made.settle();
            return made.is_locked();
        }
        // SAFETY: as above.
        unsafe { (SERVICE.is_locked)(&self.0) }
    }
}

static ENTRIES: Arena<Entry<Lock>> = Arena::new(11);
static BUCKETS: Arena<Bucket<Lock>> = Arena::new(12);

/// Each thread's last entry goes to the one cache without a pool.
pub(crate) static TABLE: Table<Lock, &Arena<Entry<Lock>>, &Arena<Bucket<Lock>>> =
    Table::new(13, &ENTRIES, &BUCKETS);

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
