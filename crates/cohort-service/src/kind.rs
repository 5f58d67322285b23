//! Locks of other algorithms for addresses: any lock with [`Operations`].
//!
//! A key's first user chooses the kind of its lock, until the key is [freed](super::gls::free); use
//! under another kind fails. Entries of a kind keep it, and have a store of their own. Their locks,
//! of various sizes, lie in separate rooms, which are never returned.

use crate::gls::{Lock, TABLE};
use cohort::host::Arena;
use cohort::made::Made;
use cohort::service::{Entry, Refusal};
use cohort::{Operations, Patience};
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::ptr::NonNull;

/// An algorithm; one static value for each.
///
/// ```
/// use cohort::basic::Mcs;
/// use cohort_service::gls::{Refusal, address};
/// use cohort_service::kind::Kind;
///
/// static OPERATIONS: cohort::Operations = cohort::operations!(Mcs);
/// static MCS: Kind = Kind::new(&OPERATIONS);
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
pub struct Kind {
    /// `None`: the usual kind, [`glk`](cohort::adaptive::Glk).
    operations: Option<&'static Operations>,
    entries: Arena<Entry<Lock>>,
}

impl Kind {
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
    fn of_table(&'static self) -> Option<&'static Self> {
        self.operations.map(|_| self)
    }

    /// A free entry.
    pub(crate) fn take(&'static self) -> &'static Entry<Lock> {
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
    pub(crate) unsafe fn give(&self, entry: &'static Entry<Lock>) {
        // SAFETY: the caller's.
        unsafe { self.entries.give_uncached(entry) };
    }

    /// Blocks until the key's lock is held.
    ///
    /// # Errors
    /// 0 is no key, and a key's lock may be of another kind (`EINVAL`, both).
    pub fn lock(&'static self, key: usize) -> Result<(), Refusal> {
        TABLE.lock(self.of_table(), key).map(drop)
    }

    /// Takes the key's lock if it is free.
    ///
    /// # Errors
    /// As [`lock`](Self::lock); the lock is held (`EBUSY`).
    pub fn try_lock(&'static self, key: usize) -> Result<(), Refusal> {
        TABLE.try_lock(self.of_table(), key).map(drop)
    }

    /// Blocks until the key's lock is held or patience runs out.
    ///
    /// # Errors
    /// As [`lock`](Self::lock); the deadline passed (`ETIMEDOUT`).
    pub fn lock_within(&'static self, key: usize, patience: &Patience) -> Result<(), Refusal> {
        TABLE.lock_within(self.of_table(), key, patience).map(drop)
    }

    /// Releases the key's lock, from any thread.
    ///
    /// # Errors
    /// As [`lock`](Self::lock); the lock is free, or the key has none (`EPERM`).
    ///
    /// # Safety
    /// No [`Guard`](crate::gls::Guard) has the lock, and the caller may release it. If it is free,
    /// no thread [frees](crate::gls::address::free) the key meanwhile.
    pub unsafe fn unlock(&'static self, key: usize) -> Result<(), Refusal> {
        // SAFETY: the caller's.
        unsafe { TABLE.unlock(self.of_table(), key) }
    }
}

/// Rooms for locks, of a few sizes.
mod rooms {
    use super::{Arena, MaybeUninit, NonNull, UnsafeCell};
    use core::alloc::Layout;

    /// The alignment of rooms: two cache lines, which are fetched together.
    const LINES: usize = 128;

    /// A size in units of two lines.
    #[repr(C, align(128))]
    struct Room<const COUNT: usize>(UnsafeCell<MaybeUninit<[[u8; LINES]; COUNT]>>);

    impl<const COUNT: usize> Default for Room<COUNT> {
        fn default() -> Self {
            Self(UnsafeCell::new(MaybeUninit::uninit()))
        }
    }

    // SAFETY: a room is accessed only as the lock in it.
    unsafe impl<const COUNT: usize> Send for Room<COUNT> {}
    // SAFETY: as above.
    unsafe impl<const COUNT: usize> Sync for Room<COUNT> {}

    macro_rules! sizes {
        ($($count:literal)+) => {
            /// A free room of that size or more.
            pub fn take(room: Layout) -> NonNull<u8> {
                $({
                    static ROOMS: Arena<Room<$count>> = Arena::bare();
                    if room.size() <= $count * LINES {
                        assert!(room.align() <= LINES, "a lock on larger lines");
                        return NonNull::from(ROOMS.take_uncached()).cast();
                    }
                })+
                panic!("a lock of {} bytes", room.size())
            }
        };
    }
    sizes!(1 2 4 8 16 32 64 128 256 512);
}
