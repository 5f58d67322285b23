//! Operations on a lock of an erased type, for programs that create locks by name.

use crate::able::{Able, InheritBy, Make, TryAcquire, Within, make_default};
use crate::{Hosted, Inherit, RawLock, RawShared, RawTry, Recursion};
use core::alloc::Layout;

/// The operations of a lock type. The first pointer of each is to a lock of that type, the second
/// to a context of such a lock.
///
/// [`operations!`](crate::operations) has those of a named type.
///
/// The caller supplies what an operation needs, and follows the rules of the corresponding trait.
#[derive(Clone, Copy, Debug)]
pub struct Operations {
    /// Size and alignment of a lock.
    pub lock: Layout,
    /// Size and alignment of a context.
    pub context: Layout,
    /// [`RawLock::acquire`].
    pub acquire: unsafe fn(*const u8, *const u8),
    /// [`RawLock::release`].
    pub release: unsafe fn(*const u8, *const u8),
    /// [`RawLock::is_locked`].
    pub is_locked: unsafe fn(*const u8) -> bool,
    /// [`RawTry::try_acquire`], if the lock has it.
    pub try_acquire: Option<TryAcquire>,
    /// [`acquire_within`](crate::Abortable::acquire_within), if the lock has it.
    pub acquire_within: Option<Within>,
    /// [`Inherit::inherit`], if the lock has it; the context may be null.
    pub inherit: Option<InheritBy>,
    /// Creates a free lock in writable, unused memory.
    pub make: Make,
    /// Creates a context in such memory.
    pub make_context: Make,
    /// Drops an unused lock.
    pub drop: unsafe fn(*mut u8),
    /// Drops an unused context.
    pub drop_context: unsafe fn(*mut u8),
}

/// The read operations of a reader–writer lock, for a thread that may read recursively.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// [`RawShared::read`].
    pub read: unsafe fn(*const u8, *const u8),
    /// [`RawShared::release_read`].
    pub release_read: unsafe fn(*const u8, *const u8),
}

/// # Safety
/// It is an unused `T`.
unsafe fn drop<T>(at: *mut u8) {
    // SAFETY: the caller's.
    unsafe { at.cast::<T>().drop_in_place() }
}

impl Operations {
    /// The operations of every lock.
    #[must_use]
    pub const fn of<L: RawLock>() -> Self {
        /// # Safety
        /// As [`Operations`]; so for all below.
        unsafe fn acquire<L: RawLock>(lock: *const u8, context: *const u8) {
            // SAFETY: the caller's.
            unsafe { (*lock.cast::<L>()).acquire(&*context.cast()) }
        }
        /// # Safety
        /// As above, and as [`RawLock::release`].
        unsafe fn release<L: RawLock>(lock: *const u8, context: *const u8) {
            // SAFETY: the caller's.
            unsafe { (*lock.cast::<L>()).release(&*context.cast()) }
        }
        /// # Safety
        /// As above.
        unsafe fn is_locked<L: RawLock>(lock: *const u8) -> bool {
            // SAFETY: the caller's.
            unsafe { (*lock.cast::<L>()).is_locked() }
        }
        Self {
            lock: Layout::new::<L>(),
            context: Layout::new::<L::Context>(),
            acquire: acquire::<L>,
            release: release::<L>,
            is_locked: is_locked::<L>,
            try_acquire: None,
            acquire_within: None,
            inherit: None,
            make: make_default::<L>,
            make_context: make_default::<L::Context>,
            drop: drop::<L>,
            drop_context: drop::<L::Context>,
        }
    }

    /// The operations of a lock that can be tried and inherited, and is [created](Hosted::make_at)
    /// in place.
    #[must_use]
    pub const fn of_hosted<L: RawTry + Inherit + Hosted>() -> Self {
        Self {
            try_acquire: Able::<L>::TRY_OPERATION,
            inherit: Able::<L>::INHERIT_OPERATION,
            make: Able::<L>::MAKE_OPERATION,
            ..Self::of::<L>()
        }
    }

    /// The operations of a reader–writer lock: acquired by writers, and the read operations.
    #[must_use]
    pub const fn of_shared<L: RawShared>() -> (Self, Reading) {
        /// # Safety
        /// As [`Operations`]; so for all below.
        unsafe fn read<L: RawShared>(lock: *const u8, context: *const u8) {
            // SAFETY: the caller's.
            unsafe { (*lock.cast::<L>()).read(&*context.cast(), Recursion::Allowed) }
        }
        /// # Safety
        /// As above, and as [`RawShared::release_read`].
        unsafe fn release_read<L: RawShared>(lock: *const u8, context: *const u8) {
            // SAFETY: the caller's.
            unsafe { (*lock.cast::<L>()).release_read(&*context.cast()) }
        }
        /// # Safety
        /// As above.
        unsafe fn write<L: RawShared>(lock: *const u8, context: *const u8) {
            // SAFETY: the caller's.
            unsafe { (*lock.cast::<L>()).write(&*context.cast()) }
        }
        /// # Safety
        /// As above, and as [`RawShared::release_write`].
        unsafe fn release_write<L: RawShared>(lock: *const u8, context: *const u8) {
            // SAFETY: the caller's.
            unsafe { (*lock.cast::<L>()).release_write(&*context.cast()) }
        }
        /// # Safety
        /// As above.
        unsafe fn is_locked<L: RawShared>(lock: *const u8) -> bool {
            // SAFETY: the caller's.
            unsafe { (*lock.cast::<L>()).is_locked() }
        }
        let writing = Self {
            lock: Layout::new::<L>(),
            context: Layout::new::<L::Context>(),
            acquire: write::<L>,
            release: release_write::<L>,
            is_locked: is_locked::<L>,
            try_acquire: None,
            acquire_within: None,
            inherit: None,
            make: make_default::<L>,
            make_context: make_default::<L::Context>,
            drop: drop::<L>,
            drop_context: drop::<L::Context>,
        };
        let reading = Reading {
            read: read::<L>,
            release_read: release_read::<L>,
        };
        (writing, reading)
    }
}

/// The [`Operations`] of a lock type, with all that it is [able](crate::Able) to do.
///
/// The type must be named where the macro stands. In generic code, a capability without a bound
/// counts as missing.
///
/// ```
/// # use cohort_raw::{RawLock, operations};
/// # #[derive(Default)]
/// # struct Queue;
///  # // SAFETY: never used.
/// # unsafe impl RawLock for Queue {
/// #     type Context = ();
/// #     unsafe fn acquire(&self, (): &()) {}
/// #     unsafe fn release(&self, (): &()) {}
/// #     fn is_locked(&self) -> bool { false }
/// # }
/// let queue = operations!(Queue);
/// assert!(queue.acquire_within.is_none());
/// ```
#[macro_export]
macro_rules! operations {
    ($lock:ty) => {{
        use $crate::{Able, Unable as _};
        $crate::Operations {
            try_acquire: Able::<$lock>::TRY_OPERATION,
            acquire_within: Able::<$lock>::WITHIN_OPERATION,
            inherit: Able::<$lock>::INHERIT_OPERATION,
            make: Able::<$lock>::MAKE_OPERATION,
            ..$crate::Operations::of::<$lock>()
        }
    }};
}
