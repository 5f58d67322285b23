//! The lock of an address, and its kind.

use crate::rooms;
use cohort::catalogue::LOCKS;
use cohort::host::served::{Object, Pair, SERVICES, Service};
use cohort::host::{Arena, Pool};
use cohort::made::Made;
use cohort::service::{KeyedLock, Lockable};
use cohort::{Operations, Patience};
use core::ptr;

/// An algorithm; one static value for each.
///
/// ```
/// use cohort::basic::Mcs;
/// use cohort_service::gls::{Refusal, address};
/// use cohort_service::kind::Algorithm;
///
/// static OPERATIONS: cohort::Operations = cohort::operations!(Mcs);
/// static MCS: Algorithm = Algorithm::new(&OPERATIONS);
///
/// let key = 71;
/// assert_eq!(MCS.lock(key), Ok(()));
/// assert_eq!(MCS.try_lock(key), Err(Refusal::Busy));
/// assert_eq!(address::lock(key), Err(Refusal::OtherKind));
/// // SAFETY: locked above.
/// assert_eq!(unsafe { MCS.unlock(key) }, Ok(()));
/// assert_eq!(address::free(key), Ok(()));
/// ```
#[derive(Debug)]
pub struct Algorithm {
    /// `None`: the usual kind, [`glk`](cohort::adaptive::Glk).
    operations: Option<&'static Operations>,
    entries: Arena<KeyedLock<Lock>>,
}

impl Algorithm {
    /// The kind of locks with those operations; they can be tried, and a forked child can go on
    /// with them.
    #[must_use]
    pub const fn new(operations: &'static Operations) -> Self {
        assert!(
            operations.try_acquire.is_some() && operations.inherit.is_some(),
            "an address's lock can be tried and inherited"
        );
        Self {
            operations: Some(operations),
            entries: Arena::bare(),
        }
    }

    /// The usual kind.
    #[must_use]
    pub const fn usual() -> Self {
        Self {
            operations: None,
            entries: Arena::bare(),
        }
    }

    /// The kind as the table has it: `None` for the usual one.
    #[inline]
    pub(crate) fn of_table(&'static self) -> Option<&'static Self> {
        self.operations.map(|_| self)
    }

    /// A free entry.
    pub(crate) fn take(&'static self) -> &'static KeyedLock<Lock> {
        let entry = self.entries.take_uncached();
        if let Some(operations) = self.operations
            && entry.lock().other().is_none()
        {
            let room = rooms::take(Made::room(operations));
            // SAFETY: such a room, unused and permanent; the locks can be tried and inherited.
            let made = unsafe { Made::make_at(room, operations).as_ref() };
            // SAFETY: the entry is not shared yet; it is from this store, and so always of this
            // kind.
            unsafe { entry.lock().become_other(self, made) };
        }
        entry
    }

    /// Returns the entry.
    ///
    /// # Safety
    /// It was taken here, and no key has it.
    pub(crate) unsafe fn give(&self, entry: &'static KeyedLock<Lock>) {
        // SAFETY: the caller's.
        unsafe { self.entries.give_uncached(entry) };
    }
}

/// A lock as in a program's mutex, a word while uncontended; or a lock of another [algorithm](Algorithm),
/// stored elsewhere.
#[derive(Debug, Default)]
pub struct Lock(Object);

/// The contents of an object's bytes, which no service touches; zero bytes are `None`.
#[derive(Clone, Copy)]
struct Other {
    kind: &'static Algorithm,
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
    fn other(&self) -> Option<&'static Made> {
        self.both().map(|other| other.made)
    }

    /// Makes it a lock of that kind.
    ///
    /// # Safety
    /// No other thread has seen it, and it was never used as a lock of another kind.
    unsafe fn become_other(&self, kind: &'static Algorithm, made: &'static Made) {
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
    type Kind = Option<&'static Algorithm>;

    #[inline]
    fn is(&self, kind: Self::Kind) -> bool {
        match (self.both(), kind) {
            (None, None) => true,
            (Some(other), Some(kind)) => ptr::eq(other.kind, kind),
            _ => false,
        }
    }

    fn take(
        kind: Self::Kind,
        pool: &(impl Pool<KeyedLock<Self>> + ?Sized),
    ) -> &'static KeyedLock<Self> {
        kind.map_or_else(|| pool.take(), Algorithm::take)
    }

    unsafe fn give(entry: &'static KeyedLock<Self>, pool: &(impl Pool<KeyedLock<Self>> + ?Sized)) {
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
