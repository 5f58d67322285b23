//! Locks by reference, with guards; and [by address](address), as C and other languages want them.

use crate::kind::Kind;
use cohort::catalogue::LOCKS;
use cohort::door::now;
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

/// A lock as a program's mutex has it, a word while nobody fights for it; or one of another
/// [kind](Kind), which lies elsewhere.
#[derive(Debug, Default)]
pub(crate) struct Lock(Object);

/// What stands in the bytes of an object that no service touches; zero bytes are none.
#[derive(Clone, Copy)]
struct Other {
    kind: &'static Kind,
    made: &'static Made,
}

impl Lock {
    /// Where it is, if it is of another kind.
    #[inline]
    const fn place(&self) -> *mut Option<Other> {
        const { assert!(size_of::<Option<Other>>() <= Object::FACE) };
        self.0.face().cast()
    }

    /// What it is, if not the usual.
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

    /// Is of that kind from here on.
    ///
    /// # Safety
    /// No other thread has seen it, nor ever used it as one of another kind.
    pub(crate) unsafe fn become_other(&self, kind: &'static Kind, made: &'static Made) {
        // SAFETY: the caller's; the bytes are in a cell.
        unsafe { self.place().write(Some(Other { kind, made })) };
    }
}

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

/// What is called at each acquisition, by its name and not through the table.
static PAIR: Pair = SERVICE.pair;

/// How it unlocks what somebody may have locked.
static UNLOCK_HELD: unsafe fn(&Object) -> bool = match SERVICES[PLACE] {
    Some(Service {
        unlock_held: Some(unlock_held),
        ..
    }) => unlock_held,
    _ => panic!("the lock says whether it was held"),
};

impl Lockable for Lock {
    /// None: the usual.
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

/// Remembers each thread's last entry in the cache that no pool has.
pub(crate) static TABLE: Table<Lock, &Arena<Entry<Lock>>, &Arena<Bucket<Lock>>> =
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
    let held = TABLE.lock(None, key(of));
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
    TABLE.try_lock(None, key(of)).ok().map(Guard::new)
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
    TABLE
        .lock_within(None, key(of), &patience)
        .ok()
        .map(Guard::new)
}

/// Forgets the lock of that address, whose memory goes to others; to be called before what is there
/// is given back.  An address that has no lock is forgotten already.  In a child that another thread
/// forks meanwhile the lock may stay held, as one does that is held.
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

/// Makes room for the locks of so many addresses at once, which spares the table to grow step by step.
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

/// Forgets the locks of all addresses, as [`free`] does; locks that others want meanwhile may stay.
///
/// # Errors
/// Some are held or waited for: they stay.
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
        TABLE.try_lock(None, key).map(drop)
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
        TABLE.lock_within(None, key, patience).map(drop)
    }

    /// Releases the key's lock, whichever thread took it.
    ///
    /// # Errors
    /// 0 is no key (`EINVAL`); nobody holds the lock, if the key has one (`EPERM`).
    ///
    /// # Safety
    /// No [`Guard`](super::Guard) has the lock, and the caller may release it; if nobody holds it, no
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
