//! Atoms and cells.
//!
//! All threads of a run are fibers of one system thread. So the core library's atoms provide
//! interior mutability only; the machine orders the steps.

use super::super::Order;
use cohort_machine::door::{self, Change};
use core::sync::atomic;
use core::sync::atomic::Ordering::Relaxed;

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
        }

        access!($name, $value, []);
    };
}

/// The accesses of every atom.
macro_rules! access {
    ($name:ty, $value:ty, [$($generic:tt)*]) => {
        impl $($generic)* $name {
            fn address(&self) -> usize {
                core::ptr::from_ref(self) as usize
            }
            /// Reads.
            #[inline]
            pub fn load(&self, _order: Order) -> $value {
                door::load(self.address());
                self.0.load(Relaxed)
            }
            /// Writes.
            #[inline]
            pub fn store(&self, value: $value, _order: Order) {
                door::store(self.address());
                self.0.store(value, Relaxed);
            }
            /// Writes and returns what was there.
            #[inline]
            pub fn swap(&self, value: $value, _order: Order) -> $value {
                self.change(|_| value)
            }
            /// Writes `new` if `current` is there; returns what was there either way.
            ///
            /// # Errors
            /// The value that was there instead of `current`.
            #[inline]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                _success: Order,
                _failure: Order,
            ) -> Result<$value, $value> {
                door::exchange(self.address(), || match self.0.load(Relaxed) == current {
                    false => Change::None,
                    true if new == current => Change::Same,
                    true => Change::Other,
                });
                self.0.compare_exchange(current, new, Relaxed, Relaxed)
            }
            fn change(&self, change: impl Fn($value) -> $value) -> $value {
                door::exchange(self.address(), || {
                    let old = self.0.load(Relaxed);
                    if change(old) == old {
                        Change::Same
                    } else {
                        Change::Other
                    }
                });
                let old = self.0.load(Relaxed);
                self.0.store(change(old), Relaxed);
                old
            }
        }
    };
}

macro_rules! arithmetic {
    ($($name:ident, $value:ty;)+) => {
        $(impl $name {
            /// Adds, wrapping; returns what was there.
            #[inline]
            pub fn fetch_add(&self, value: $value, _order: Order) -> $value {
                self.change(|old| old.wrapping_add(value))
            }
            /// Subtracts, wrapping; returns what was there.
            #[inline]
            pub fn fetch_sub(&self, value: $value, _order: Order) -> $value {
                self.change(|old| old.wrapping_sub(value))
            }
            /// Bitwise and; returns what was there.
            #[inline]
            pub fn fetch_and(&self, value: $value, _order: Order) -> $value {
                self.change(|old| old & value)
            }
            /// Bitwise or; returns what was there.
            #[inline]
            pub fn fetch_or(&self, value: $value, _order: Order) -> $value {
                self.change(|old| old | value)
            }
        })+
    };
}

atom!(AtomicU32, atomic::AtomicU32, u32);
atom!(AtomicU64, atomic::AtomicU64, u64);
atom!(AtomicUsize, atomic::AtomicUsize, usize);
arithmetic! {
    AtomicU32, u32;
    AtomicU64, u64;
    AtomicUsize, usize;
}

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
}

access!(AtomicPtr<T>, *mut T, [<T>]);

/// A fence.
#[inline]
pub fn fence(_order: Order) {
    door::fence();
}

/// A full fence right after a read-modify-write: free where that is one instruction.
#[inline]
pub fn fence_after_update(_order: Order) {
    door::fence_after_update();
}

/// Plain memory that a protocol guards. Under random schedules, two simultaneous accesses by
/// different threads, one of them a write, are reported.
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
    #[inline]
    pub fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        door::plain(self.0.get().addr(), false, || read(self.0.get()))
    }
    /// Lends a pointer for writing, valid for writes only while no other thread reads or writes.
    #[inline]
    pub fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        door::plain(self.0.get().addr(), true, || write(self.0.get()))
    }
}
