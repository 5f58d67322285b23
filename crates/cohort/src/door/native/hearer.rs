//! Who is told of locks that change their form.

use crate::door::Hearer;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

static HEARER: AtomicPtr<Hearer> = AtomicPtr::new(ptr::null_mut());

/// Tells that one from here on, and nobody else.
pub fn hear(hearer: &'static Hearer) {
    HEARER.store(ptr::from_ref(hearer).cast_mut(), Ordering::Release);
}

/// Who is to be told; mostly nobody.
#[inline(always)]
#[must_use]
pub fn hearer() -> Option<&'static Hearer> {
    // SAFETY: null, or static.
    unsafe { HEARER.load(Ordering::Acquire).as_ref() }
}
