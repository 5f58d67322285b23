//! Wakers for tasks.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::task::Wake;

/// Counts its wake-ups.
#[derive(Default)]
pub struct Woken(pub AtomicU32);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// A waker that panics.
pub struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        panic!("a waker's, on purpose");
    }
}
