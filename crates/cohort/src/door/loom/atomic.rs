//! Atoms and cells: loom's, with named orders.
//!
//! Dropping an atom counts as a plain write to it: whoever destroys a lock must
//! come after everybody who still looks at it, and loom reports who does not.
//!
//! Each atom also remembers what was last written to it.  Loom does not know that
//! nothing comes between the two halves of a read-modify-write: where a plain store
//! races with one, it also tries a later one that overlooks the store.  No machine
//! does that, so such executions end there, uncounted.

use super::super::Order;
use super::execution::{end_unreal, step};
use super::flaw::ordering;
use core::cell;
use loom::sync::atomic;

macro_rules! atom {
    ($name:ident, $loom:ty, $value:ty) => {
        #[doc = concat!("An atomic `", stringify!($value), "`; see `core::sync::atomic`.")]
        #[derive(Debug)]
        pub struct $name {
            atom: $loom,
            latest: cell::Cell<$value>,
        }

        // SAFETY: loom runs all threads of a model on one thread of the system.
        unsafe impl Sync for $name {}

        impl Default for $name {
            fn default() -> Self {
                Self::new(0)
            }
        }

        impl $name {
            /// An atom holding `value`.
            #[must_use]
            pub fn new(value: $value) -> Self {
                Self {
                    atom: <$loom>::new(value),
                    latest: cell::Cell::new(value),
                }
            }
            /// Adds, wrapping; returns what was there.
            #[track_caller]
            pub fn fetch_add(&self, value: $value, order: Order) -> $value {
                step("fetch_add", || {
                    let old = self.atom.fetch_add(value, ordering(order));
                    self.replace(old, old.wrapping_add(value))
                })
            }
            /// Subtracts, wrapping; returns what was there.
            #[track_caller]
            pub fn fetch_sub(&self, value: $value, order: Order) -> $value {
                step("fetch_sub", || {
                    let old = self.atom.fetch_sub(value, ordering(order));
                    self.replace(old, old.wrapping_sub(value))
                })
            }
            /// Bitwise and; returns what was there.
            #[track_caller]
            pub fn fetch_and(&self, value: $value, order: Order) -> $value {
                step("fetch_and", || {
                    let old = self.atom.fetch_and(value, ordering(order));
                    self.replace(old, old & value)
                })
            }
            /// Bitwise or; returns what was there.
            #[track_caller]
            pub fn fetch_or(&self, value: $value, order: Order) -> $value {
                step("fetch_or", || {
                    let old = self.atom.fetch_or(value, ordering(order));
                    self.replace(old, old | value)
                })
            }
        }

        accesses!(impl [] $name, $value);
    };
}

macro_rules! accesses {
    (impl [$($generic:tt)*] $name:ty, $value:ty) => {
        impl $($generic)* $name {
            /// Reads.
            #[track_caller]
            pub fn load(&self, order: Order) -> $value {
                step("load", || self.atom.load(ordering(order)))
            }
            /// Writes.
            #[track_caller]
            pub fn store(&self, value: $value, order: Order) {
                step("store", || {
                    self.atom.store(value, ordering(order));
                    self.latest.set(value);
                    value
                });
            }
            /// Writes and returns what was there.
            #[track_caller]
            pub fn swap(&self, value: $value, order: Order) -> $value {
                step("swap", || {
                    let old = self.atom.swap(value, ordering(order));
                    self.replace(old, value)
                })
            }
            /// Writes `new` if `current` is there; returns what was there either way.
            ///
            /// # Errors
            /// The value that was there instead of `current`.
            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Order,
                failure: Order,
            ) -> Result<$value, $value> {
                step("compare_exchange", || {
                    let (success, failure) = (ordering(success), ordering(failure));
                    match self.atom.compare_exchange(current, new, success, failure) {
                        Ok(old) => Ok(self.replace(old, new)),
                        Err(old) => Err(self.replace(old, old)),
                    }
                })
            }
            /// After a read-modify-write that found `old`.
            fn replace(&self, old: $value, new: $value) -> $value {
                if old != self.latest.replace(new) {
                    end_unreal();
                }
                old
            }
        }

        impl $($generic)* Drop for $name {
            fn drop(&mut self) {
                step("drop", || self.atom.with_mut(|_| ()));
            }
        }
    };
}

atom!(AtomicU32, atomic::AtomicU32, u32);
atom!(AtomicU64, atomic::AtomicU64, u64);
atom!(AtomicUsize, atomic::AtomicUsize, usize);

impl AtomicU32 {
    /// What was last written, for the kernel to compare.
    #[track_caller]
    pub(super) fn latest(&self) -> u32 {
        step("compare", || {
            let other = self.latest.get().wrapping_add(1);
            let relaxed = core::sync::atomic::Ordering::Relaxed;
            // Never succeeds, and so writes nothing; but reads the newest.
            if self.atom.compare_exchange(other, other, relaxed, relaxed) != Err(self.latest.get())
            {
                end_unreal();
            }
            self.latest.get()
        })
    }
}

/// An atomic pointer; see `core::sync::atomic`.
#[derive(Debug)]
pub struct AtomicPtr<T> {
    atom: atomic::AtomicPtr<T>,
    latest: cell::Cell<*mut T>,
}

// SAFETY: an atomic pointer may be sent whatever it points to, as the core
// library's may.
unsafe impl<T> Send for AtomicPtr<T> {}
// SAFETY: loom runs all threads of a model on one thread of the system.
unsafe impl<T> Sync for AtomicPtr<T> {}

accesses!(impl [<T>] AtomicPtr<T>, *mut T);

impl<T> AtomicPtr<T> {
    /// An atom holding the null pointer.
    #[must_use]
    pub fn null() -> Self {
        Self {
            atom: atomic::AtomicPtr::new(core::ptr::null_mut()),
            latest: cell::Cell::new(core::ptr::null_mut()),
        }
    }
}

impl<T> Default for AtomicPtr<T> {
    fn default() -> Self {
        Self::null()
    }
}

/// A fence.
#[track_caller]
pub fn fence(order: Order) {
    step("fence", || atomic::fence(ordering(order)));
}

/// Plain memory that a protocol guards; loom reports every race on it.
#[derive(Debug, Default)]
pub struct Cell<T>(loom::cell::UnsafeCell<T>);

// SAFETY: a `Cell` is only touched inside `with` and `with_mut`, where loom
// reports conflicting accesses that nothing orders.
unsafe impl<T: Send> Sync for Cell<T> {}

impl<T> Cell<T> {
    /// A cell holding `value`.
    #[must_use]
    pub fn new(value: T) -> Self {
        Self(loom::cell::UnsafeCell::new(value))
    }
    /// Lends a pointer for reading; the caller may read through it only while
    /// nobody writes.
    #[track_caller]
    pub fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        step("read", || ());
        self.0.with(read)
    }
    /// Lends a pointer for writing; the caller may write through it only while
    /// nobody else reads or writes.
    #[track_caller]
    pub fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        step("write", || ());
        self.0.with_mut(write)
    }
}
