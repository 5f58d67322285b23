//! The observer of locks' mode changes.

use crate::door::Hearer;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

/// Relaxed, since an observer is never written: no data must be seen with its address.
static HEARER: AtomicPtr<Hearer> = AtomicPtr::new(ptr::null_mut());

/// Sets the process's only observer.
pub fn hear(hearer: &'static Hearer) {
    HEARER.store(ptr::from_ref(hearer).cast_mut(), Ordering::Relaxed);
}

/// The observer; mostly there is none.
#[inline(always)]
#[must_use]
pub fn hearer() -> Option<&'static Hearer> {
    // SAFETY: null, or the address of an object that lives for ever and is never written.
    unsafe { HEARER.load(Ordering::Relaxed).as_ref() }
}
