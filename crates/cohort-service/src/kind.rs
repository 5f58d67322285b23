//! Locks of other algorithms for addresses: whatever lock has [`Operations`].
//!
//! A key's lock is of the kind by which it was used first, until it is [freed](super::gls::free);
//! under another kind it is refused.  Entries of a kind stay that kind's, and come from a store of its
//! own; their locks, which are of many sizes, lie in rooms beside them, which are never given
//! back.

use crate::gls::{Lock, TABLE};
use cohort::host::Arena;
use cohort::made::Made;
use cohort::service::{Entry, Refusal};
use cohort::{Operations, Patience};
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::ptr::NonNull;

/// An algorithm; one for each, for as long as the process lives.
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
    /// None: the usual one's, [`glk`](cohort::adaptive::Glk).
    operations: Option<&'static Operations>,
    entries: Arena<Entry<Lock>>,
}

impl Kind {
    /// The kind of locks of which that can be done; they can be tried, and a forked child can go on with
    /// them.
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

    /// The kind of locks that addresses have without more ado.
    #[must_use]
    pub const fn usual() -> Self {
        Self {
            operations: None,
            entries: Arena::bare(),
        }
    }

    /// As the table has it.
    #[inline]
    fn of_table(&'static self) -> Option<&'static Self> {
        self.operations.map(|_| self)
    }

    /// An entry that no key has.
    pub(crate) fn take(&'static self) -> &'static Entry<Lock> {
        let entry = self.entries.take_uncached();
        if let Some(operations) = self.operations
            && entry.lock().other().is_none()
        {
            let room = rooms::take(Made::room(operations));
            // SAFETY: such a room, nobody's, which stays; the locks can be tried and inherited.
            let made = unsafe { Made::make_at(room, operations).as_ref() };
            // SAFETY: nobody has seen the entry, which is of this store, and so never another's.
            unsafe { entry.lock().become_other(self, made) };
        }
        entry
    }

    /// Gives it back.
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

    /// Takes the key's lock if nobody has it.
    ///
    /// # Errors
    /// As [`lock`](Self::lock); somebody has it (`EBUSY`).
    pub fn try_lock(&'static self, key: usize) -> Result<(), Refusal> {
        TABLE.try_lock(self.of_table(), key).map(drop)
    }

    /// Blocks until the key's lock is held or patience runs out.
    ///
    /// # Errors
    /// As [`lock`](Self::lock); the time was over (`ETIMEDOUT`).
    pub fn lock_within(&'static self, key: usize, patience: &Patience) -> Result<(), Refusal> {
        TABLE.lock_within(self.of_table(), key, patience).map(drop)
    }

    /// Releases the key's lock, whichever thread took it.
    ///
    /// # Errors
    /// As [`lock`](Self::lock); nobody holds the lock, if the key has one (`EPERM`).
    ///
    /// # Safety
    /// No [`Guard`](crate::gls::Guard) has the lock, and the caller may release it; if nobody holds it,
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

    /// What rooms are aligned to: two cache lines, which are fetched together.
    const LINES: usize = 128;

    /// So many times two lines.
    #[repr(C, align(128))]
    struct Room<const COUNT: usize>(UnsafeCell<MaybeUninit<[[u8; LINES]; COUNT]>>);

    impl<const COUNT: usize> Default for Room<COUNT> {
        fn default() -> Self {
            Self(UnsafeCell::new(MaybeUninit::uninit()))
        }
    }

    // SAFETY: nobody touches a room but by what was made in it.
    unsafe impl<const COUNT: usize> Send for Room<COUNT> {}
    // SAFETY: as above.
    unsafe impl<const COUNT: usize> Sync for Room<COUNT> {}

    macro_rules! sizes {
        ($($count:literal)+) => {
            /// A room of that size or more, which is nobody's.
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
