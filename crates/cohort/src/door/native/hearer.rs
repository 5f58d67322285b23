//! The observer of locks' mode changes.

use crate::door::Observer;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

/// Relaxed, since an observer is never written: no data must be seen with its address.
static OBSERVER: AtomicPtr<Observer> = AtomicPtr::new(ptr::null_mut());

/// Sets the process's only observer.
pub fn set_observer(observer: &'static Observer) {
    OBSERVER.store(ptr::from_ref(observer).cast_mut(), Ordering::Relaxed);
}

/// The observer; mostly there is none.
#[inline(always)]
#[must_use]
pub fn observer() -> Option<&'static Observer> {
    // SAFETY: null, or the address of an object that lives for ever and is never written.
    unsafe { OBSERVER.load(Ordering::Relaxed).as_ref() }
}
