//! A lock as a value: what can be done with one whose type is forgotten, for programs that make
//! locks by their names.

use crate::able::{Able, InheritBy, Make, TryAcquire, Within, make_default};
use crate::{Hosted, Inherit, RawLock, RawShared, RawTry, Recursion};
use core::alloc::Layout;

/// What can be done with a lock of some type.  The first pointer of each operation is to a lock of
/// that type, the second to a context of such a lock.
///
/// [`operations!`](crate::operations) has those of a type with a name.
///
/// The caller of an operation gives it what it asks for, and keeps to the rules of the trait that it
/// stands for.
#[derive(Clone, Copy, Debug)]
pub struct Operations {
    /// Room for a lock.
    pub lock: Layout,
    /// Room for a context.
    pub context: Layout,
    /// [`RawLock::acquire`].
    pub acquire: unsafe fn(*const u8, *const u8),
    /// [`RawLock::release`].
    pub release: unsafe fn(*const u8, *const u8),
    /// [`RawLock::is_locked`].
    pub is_locked: unsafe fn(*const u8) -> bool,
    /// [`RawTry::try_acquire`] of a lock that can be tried.
    pub try_acquire: Option<TryAcquire>,
    /// [`acquire_within`](crate::Abortable::acquire_within) of a lock whose waiters can give up.
    pub acquire_within: Option<Within>,
    /// [`Inherit::inherit`] of a lock with which a forked child can go on; the context may be null.
    pub inherit: Option<InheritBy>,
    /// Makes a free lock at a place that is writable and nobody's.
    pub make: Make,
    /// Makes a context at such a place.
    pub make_context: Make,
    /// Drops a lock that nobody uses any more.
    pub drop: unsafe fn(*mut u8),
    /// Drops a context that nobody uses any more.
    pub drop_context: unsafe fn(*mut u8),
}

/// How a lock is read that readers share, by a thread that may read it more than once.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// [`RawShared::read`].
    pub read: unsafe fn(*const u8, *const u8),
    /// [`RawShared::release_read`].
    pub release_read: unsafe fn(*const u8, *const u8),
}

/// # Safety
/// It is a `T` that nobody uses any more.
unsafe fn drop<T>(at: *mut u8) {
    // SAFETY: the caller's.
    unsafe { at.cast::<T>().drop_in_place() }
}

impl Operations {
    /// Those that every lock has.
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

    /// Those of a lock that can be tried and inherited, and [makes itself](Hosted::make_at) where
    /// it is to lie.
    #[must_use]
    pub const fn of_hosted<L: RawTry + Inherit + Hosted>() -> Self {
        Self {
            try_acquire: Able::<L>::TRY_OPERATION,
            inherit: Able::<L>::INHERIT_OPERATION,
            make: Able::<L>::MAKE_OPERATION,
            ..Self::of::<L>()
        }
    }

    /// Those of a lock that readers share, which writers acquire, and how it is read.
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

/// The [`Operations`] of a lock type, all that it is [able](crate::Able) to do.
///
/// The type has a name where the macro stands; in code that is generic over it, what no bound says
/// counts as a lack.
///
/// ```
/// # use cohort_raw::{RawLock, operations};
/// # #[derive(Default)]
/// # struct Queue;
/// # // SAFETY: nobody uses it.
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
