//! The hearer of locks that change their mode.

use crate::door::Hearer;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

/// Relaxed, as a hearer is never written: nothing has to be seen with its address.
static HEARER: AtomicPtr<Hearer> = AtomicPtr::new(ptr::null_mut());

/// Tells that one from here on, and nobody else.
pub fn hear(hearer: &'static Hearer) {
    HEARER.store(ptr::from_ref(hearer).cast_mut(), Ordering::Relaxed);
}

/// The one that is to be told; mostly there is none.
#[inline(always)]
#[must_use]
pub fn hearer() -> Option<&'static Hearer> {
    // SAFETY: null, or the address of what lives for ever and is never written.
    unsafe { HEARER.load(Ordering::Relaxed).as_ref() }
}
