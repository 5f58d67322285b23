//! Atoms and cells: the core library's, with named orders.

use super::super::Order;
use super::{atoms as atomic, passage};

macro_rules! atom {
    ($name:ident, $core:ty, $value:ty) => {
        #[doc = concat!("An atomic `", stringify!($value), "`; see `core::sync::atomic`.")]
        #[derive(Debug, Default)]
        #[repr(transparent)]
        pub struct $name($core);

        impl $name {
            /// An atom holding `value`.
            #[must_use]
            pub const fn new(value: $value) -> Self {
                Self(<$core>::new(value))
            }
            /// Reads.
            #[inline(always)]
            #[cfg_attr(feature = "chaos", track_caller)]
            pub fn load(&self, order: Order) -> $value {
                passage();
                self.0.load(order.strength.ordering())
            }
            /// Writes.
            #[inline(always)]
            #[cfg_attr(feature = "chaos", track_caller)]
            pub fn store(&self, value: $value, order: Order) {
                passage();
                self.0.store(value, order.strength.ordering());
            }
            /// Writes and returns what was there.
            #[inline(always)]
            #[cfg_attr(feature = "chaos", track_caller)]
            pub fn swap(&self, value: $value, order: Order) -> $value {
                passage();
                self.0.swap(value, order.strength.ordering())
            }
            /// Writes `new` if `current` is there; returns what was there either way.
            ///
            /// # Errors
            /// The value that was there instead of `current`.
            #[inline(always)]
            #[cfg_attr(feature = "chaos", track_caller)]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Order,
                failure: Order,
            ) -> Result<$value, $value> {
                passage();
                self.0.compare_exchange(
                    current,
                    new,
                    success.strength.ordering(),
                    failure.strength.ordering(),
                )
            }
        }
    };
}

macro_rules! arithmetic {
    ($name:ident, $value:ty) => {
        impl $name {
            /// Adds, wrapping; returns what was there.
            #[inline(always)]
            #[cfg_attr(feature = "chaos", track_caller)]
            pub fn fetch_add(&self, value: $value, order: Order) -> $value {
                passage();
                self.0.fetch_add(value, order.strength.ordering())
            }
            /// Subtracts, wrapping; returns what was there.
            #[inline(always)]
            #[cfg_attr(feature = "chaos", track_caller)]
            pub fn fetch_sub(&self, value: $value, order: Order) -> $value {
                passage();
                self.0.fetch_sub(value, order.strength.ordering())
            }
            /// Bitwise and; returns what was there.
            #[inline(always)]
            #[cfg_attr(feature = "chaos", track_caller)]
            pub fn fetch_and(&self, value: $value, order: Order) -> $value {
                passage();
                self.0.fetch_and(value, order.strength.ordering())
            }
            /// Bitwise or; returns what was there.
            #[inline(always)]
            #[cfg_attr(feature = "chaos", track_caller)]
            pub fn fetch_or(&self, value: $value, order: Order) -> $value {
                passage();
                self.0.fetch_or(value, order.strength.ordering())
            }
        }
    };
}

atom!(AtomicU32, atomic::AtomicU32, u32);
atom!(AtomicU64, atomic::AtomicU64, u64);
atom!(AtomicUsize, atomic::AtomicUsize, usize);
arithmetic!(AtomicU32, u32);
arithmetic!(AtomicU64, u64);
arithmetic!(AtomicUsize, usize);

/// An atomic pointer; see `core::sync::atomic`.
#[derive(Debug)]
#[repr(transparent)]
pub struct AtomicPtr<T>(atomic::AtomicPtr<T>);

impl<T> Default for AtomicPtr<T> {
    fn default() -> Self {
        Self::null()
    }
}

impl<T> AtomicPtr<T> {
    /// An atom holding the null pointer.
    #[must_use]
    pub const fn null() -> Self {
        Self(atomic::AtomicPtr::new(core::ptr::null_mut()))
    }
    /// Reads.
    #[inline(always)]
    #[cfg_attr(feature = "chaos", track_caller)]
    pub fn load(&self, order: Order) -> *mut T {
        passage();
        self.0.load(order.strength.ordering())
    }
    /// Writes.
    #[inline(always)]
    #[cfg_attr(feature = "chaos", track_caller)]
    pub fn store(&self, value: *mut T, order: Order) {
        passage();
        self.0.store(value, order.strength.ordering());
    }
    /// Writes and returns what was there.
    #[inline(always)]
    #[cfg_attr(feature = "chaos", track_caller)]
    pub fn swap(&self, value: *mut T, order: Order) -> *mut T {
        passage();
        self.0.swap(value, order.strength.ordering())
    }
    /// Writes `new` if `current` is there; returns what was there either way.
    ///
    /// # Errors
    /// The value that was there instead of `current`.
    #[inline(always)]
    #[cfg_attr(feature = "chaos", track_caller)]
    pub fn compare_exchange(
        &self,
        current: *mut T,
        new: *mut T,
        success: Order,
        failure: Order,
    ) -> Result<*mut T, *mut T> {
        passage();
        self.0.compare_exchange(
            current,
            new,
            success.strength.ordering(),
            failure.strength.ordering(),
        )
    }
}

/// A fence.
#[inline(always)]
pub fn fence(order: Order) {
    atomic::fence(order.strength.ordering());
}

/// A full fence right after a read-modify-write, which on x86-64 is one already: there
/// it only keeps the compiler from reordering.
#[inline(always)]
pub fn fence_after_update(order: Order) {
    if cfg!(target_arch = "x86_64") {
        atomic::compiler_fence(order.strength.ordering());
    } else {
        fence(order);
    }
}

/// Plain memory that a protocol guards; a checker's backend reports every race on it.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Cell<T: ?Sized>(core::cell::UnsafeCell<T>);

// SAFETY: a `Cell` is only touched inside `with` and `with_mut`, whose callers
// promise that the protocol around it excludes conflicting accesses.
unsafe impl<T: ?Sized + Send> Sync for Cell<T> {}

impl<T> Cell<T> {
    /// A cell holding `value`.
    #[must_use]
    pub const fn new(value: T) -> Self {
        Self(core::cell::UnsafeCell::new(value))
    }
    /// The value in it.
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T: ?Sized> Cell<T> {
    /// Lends a pointer for reading, valid for reads only while no thread writes.
    #[inline(always)]
    pub fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        read(self.0.get())
    }
    /// Lends a pointer for writing, valid for writes only while no other thread reads or writes.
    #[inline(always)]
    pub fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        write(self.0.get())
    }
}

/// Separates a locked instruction by some instructions from whatever precedes it. Right after a
/// release's plain store, the locked instruction waits for the store in full. On a Xeon of 2021, an
/// acquire/release pair in a tight loop takes 8.0 ns, and 6.8 ns with three to ten more
/// instructions before the exchange, of any kind and at any place.
#[inline(always)]
pub fn keep_off() {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: does nothing.
    unsafe {
        core::arch::asm!(
            "nop",
            "nop",
            "nop",
            "nop",
            options(nomem, nostack, preserves_flags)
        );
    }
}
