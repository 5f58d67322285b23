//! Operations of atoms, and cells: loom's, with named orders.

use super::super::Order;
use super::atom::Atom;
use super::execution::{Nothing, end_unreal, is_going_on, step, with};
use super::flaw::ordering;
use core::sync::atomic::Ordering;
use loom::sync::atomic;

/// Stands for no write.
const NONE: usize = usize::MAX;

impl<V: Nothing> Default for Atom<V> {
    fn default() -> Self {
        Self::new(V::nothing())
    }
}

impl<V> Drop for Atom<V> {
    fn drop(&mut self) {
        if is_going_on() {
            step("drop", || self.write.with_mut(|_| ()));
        }
    }
}

impl<T> Atom<*mut T> {
    /// An atom holding the null pointer.
    #[must_use]
    pub fn null() -> Self {
        Self::default()
    }
}

impl<V: Nothing> Atom<V> {
    fn value(&self, write: usize) -> V {
        self.values.borrow()[write]
    }

    /// Numbers a write of `value` about to be made.
    fn number(&self, value: V) -> usize {
        let mut values = self.values.borrow_mut();
        values.push(value);
        values.len() - 1
    }

    /// Reads.
    #[track_caller]
    pub fn load(&self, order: Order) -> V {
        step("load", || self.value(self.write.load(ordering(order))))
    }

    /// Writes.
    #[track_caller]
    pub fn store(&self, value: V, order: Order) {
        step("store", || {
            if with(|execution| execution.settings.quiet) {
                self.change(order, |_| value);
                return value;
            }
            let write = self.number(value);
            self.write.store(write, ordering(order));
            self.latest.set(write);
            value
        });
    }

    /// Writes and returns what was there.
    #[track_caller]
    pub fn swap(&self, value: V, order: Order) -> V {
        step("swap", || self.change(order, |_| value))
    }

    /// Writes `new` if `current` is there; returns what was there either way.
    ///
    /// # Errors
    /// The value that was there instead of `current`.
    #[track_caller]
    pub fn compare_exchange(
        &self,
        current: V,
        new: V,
        success: Order,
        failure: Order,
    ) -> Result<V, V> {
        step("compare_exchange", || {
            let fits = |old| (old == current).then_some(new);
            self.change_if(ordering(success), ordering(failure), fits)
        })
    }

    fn change(&self, order: Order, change: impl Fn(V) -> V) -> V {
        let changed = self.change_if(ordering(order), Ordering::Relaxed, |old| Some(change(old)));
        match changed {
            Ok(old) | Err(old) => old,
        }
    }

    /// A read-modify-write; `change` returns the new value, if any.
    fn change_if(
        &self,
        success: Ordering,
        failure: Ordering,
        change: impl Fn(V) -> Option<V>,
    ) -> Result<V, V> {
        loop {
            // Other threads may write before loom's exchange: then try again.
            let latest = self.latest.get();
            let (old, new) = match change(self.value(latest)) {
                Some(new) => (latest, self.number(new)),
                None => (NONE, NONE),
            };
            let exchanged = self.write.compare_exchange(old, new, success, failure);
            match exchanged {
                Ok(old) => {
                    if old != self.latest.get() {
                        end_unreal();
                    }
                    self.latest.set(new);
                    return Ok(self.value(old));
                }
                Err(found) if found != self.latest.get() => {
                    end_unreal();
                    return Err(self.value(found));
                }
                Err(found) if change(self.value(found)).is_none() => {
                    return Err(self.value(found));
                }
                Err(_) => {}
            }
        }
    }

    /// The last written value, for the kernel to compare.
    #[track_caller]
    pub(super) fn latest(&self) -> V {
        step("compare", || {
            let found = self.change_if(Ordering::Relaxed, Ordering::Relaxed, |_| None);
            match found {
                Ok(value) | Err(value) => value,
            }
        })
    }
}

macro_rules! arithmetic {
    ($($value:ty)+) => {
        $(impl Atom<$value> {
            /// Adds, wrapping; returns what was there.
            #[track_caller]
            pub fn fetch_add(&self, value: $value, order: Order) -> $value {
                step("fetch_add", || self.change(order, |old| old.wrapping_add(value)))
            }
            /// Subtracts, wrapping; returns what was there.
            #[track_caller]
            pub fn fetch_sub(&self, value: $value, order: Order) -> $value {
                step("fetch_sub", || self.change(order, |old| old.wrapping_sub(value)))
            }
            /// Bitwise and; returns what was there.
            #[track_caller]
            pub fn fetch_and(&self, value: $value, order: Order) -> $value {
                step("fetch_and", || self.change(order, |old| old & value))
            }
            /// Bitwise or; returns what was there.
            #[track_caller]
            pub fn fetch_or(&self, value: $value, order: Order) -> $value {
                step("fetch_or", || self.change(order, |old| old | value))
            }
        })+
    };
}
arithmetic!(u32 u64 usize);

/// A fence, unless weakened to no order.
#[track_caller]
pub fn fence(order: Order) {
    step("fence", || match ordering(order) {
        Ordering::Relaxed => (),
        order => atomic::fence(order),
    });
}

/// A fence right after a read-modify-write: a full one here.
#[track_caller]
pub fn fence_after_update(order: Order) {
    fence(order);
}

/// Plain memory that a protocol guards; loom reports every race on it.
#[derive(Debug, Default)]
pub struct Cell<T: ?Sized>(loom::cell::UnsafeCell<T>);

// SAFETY: a `Cell` is only touched inside `with` and `with_mut`, where loom
// reports conflicting accesses that nothing orders.
unsafe impl<T: ?Sized + Send> Sync for Cell<T> {}

impl<T> Cell<T> {
    /// A cell holding `value`.
    #[must_use]
    pub fn new(value: T) -> Self {
        Self(loom::cell::UnsafeCell::new(value))
    }
    /// The value in it.
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T: ?Sized> Cell<T> {
    /// Lends a pointer for reading, valid for reads only while no thread writes.
    #[track_caller]
    pub fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        step("read", || ());
        self.0.with(read)
    }
    /// Lends a pointer for writing, valid for writes only while no other thread reads or writes.
    #[track_caller]
    pub fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        step("write", || ());
        self.0.with_mut(write)
    }
}
