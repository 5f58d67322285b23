//! The core library's atoms, annotated with their orders for Valgrind's race detectors: the feature
//! `annotate`.
//!
//! Every atom of a lock is the platform layer's, so the tools see all locks here, without code in
//! the locks. What precedes a releasing store happens before what follows a later acquiring load of
//! the atom. The accesses themselves are not reported.

use super::valgrind::{receive, report, send};
use core::sync::atomic;

pub use core::sync::atomic::{Ordering, compiler_fence, fence};

/// Runs `run` without reports.
pub fn unreported<R>(run: impl FnOnce() -> R) -> R {
    report(false);
    let result = run();
    report(true);
    result
}

const fn releases(order: Ordering) -> bool {
    matches!(
        order,
        Ordering::Release | Ordering::AcqRel | Ordering::SeqCst
    )
}

const fn acquires(order: Ordering) -> bool {
    matches!(
        order,
        Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst
    )
}

/// Runs an access to the atom at that address.
fn accessing<R>(atom: *const (), order: Ordering, access: impl FnOnce() -> R) -> R {
    unreported(|| {
        if releases(order) {
            send(atom.addr());
        }
        let result = access();
        if acquires(order) {
            receive(atom.addr());
        }
        result
    })
}

/// Runs an exchange; a failed one releases nothing.
fn exchanging<T>(
    atom: *const (),
    [success, failure]: [Ordering; 2],
    will_succeed: impl FnOnce() -> bool,
    exchange: impl FnOnce() -> Result<T, T>,
) -> Result<T, T> {
    unreported(|| {
        if releases(success) && will_succeed() {
            send(atom.addr());
        }
        let result = exchange();
        if acquires(if result.is_ok() { success } else { failure }) {
            receive(atom.addr());
        }
        result
    })
}

macro_rules! annotated {
    ($($name:ident $(<$of:ident>)?, $value:ty;)+) => {$(
        #[doc = concat!("See `core::sync::atomic::", stringify!($name), "`.")]
        #[derive(Debug, Default)]
        #[repr(transparent)]
        pub struct $name $(<$of>)? (atomic::$name $(<$of>)?);

        #[allow(dead_code, reason = "all have the same functions")]
        impl $(<$of>)? $name $(<$of>)? {
            pub const fn new(value: $value) -> Self {
                Self(atomic::$name::new(value))
            }
            const fn at(&self) -> *const () {
                core::ptr::from_ref(self).cast()
            }
            #[inline]
            pub fn load(&self, order: Ordering) -> $value {
                accessing(self.at(), order, || self.0.load(order))
            }
            #[inline]
            pub fn store(&self, value: $value, order: Ordering) {
                accessing(self.at(), order, || self.0.store(value, order));
            }
            #[inline]
            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                accessing(self.at(), order, || self.0.swap(value, order))
            }
            #[inline]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                exchanging(
                    self.at(),
                    [success, failure],
                    || self.0.load(Ordering::Relaxed) == current,
                    || self.0.compare_exchange(current, new, success, failure),
                )
            }
            #[inline]
            pub fn fetch_update(
                &self,
                success: Ordering,
                failure: Ordering,
                mut change: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                let mut known = self.load(failure);
                while let Some(new) = change(known) {
                    match self.compare_exchange(known, new, success, failure) {
                        Err(other) => known = other,
                        done => return done,
                    }
                }
                Err(known)
            }
        }
    )+};
}

macro_rules! arithmetic {
    ($($name:ident, $value:ty: $($function:ident)+;)+) => {$(
        #[allow(dead_code, reason = "all have the same functions")]
        impl $name {$(
            #[inline]
            pub fn $function(&self, value: $value, order: Ordering) -> $value {
                accessing(self.at(), order, || self.0.$function(value, order))
            }
        )+}
    )+};
}

annotated! {
    AtomicBool, bool;
    AtomicU8, u8;
    AtomicU16, u16;
    AtomicU32, u32;
    AtomicU64, u64;
    AtomicUsize, usize;
    AtomicPtr<T>, *mut T;
}
arithmetic! {
    AtomicU8, u8: fetch_add fetch_sub fetch_and fetch_or fetch_max;
    AtomicU16, u16: fetch_add fetch_sub fetch_and fetch_or fetch_max;
    AtomicU32, u32: fetch_add fetch_sub fetch_and fetch_or fetch_max;
    AtomicU64, u64: fetch_add fetch_sub fetch_and fetch_or fetch_max;
    AtomicUsize, usize: fetch_add fetch_sub fetch_and fetch_or fetch_max;
}
