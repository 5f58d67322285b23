//! A lock that excludes, with a release that orders nothing: if ThreadSanitizer reports no race here,
//! its other results mean nothing.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

/// A count behind a flag with relaxed orders only.
#[derive(Default)]
struct Weakened {
    held: AtomicBool,
    count: UnsafeCell<u64>,
}

// SAFETY: unsound on purpose; the sanitizer must report it.
unsafe impl Sync for Weakened {}

#[test]
#[ignore = "a data race, for ThreadSanitizer to find: .ci/sanitize"]
fn a_race_is_reported() {
    let weakened = Arc::new(Weakened::default());
    let count = |weakened: &Weakened| {
        for _ in 0..10_000 {
            while weakened.held.swap(true, Ordering::Relaxed) {
                std::thread::yield_now();
            }
            // SAFETY: as above.
            unsafe { *weakened.count.get() += 1 };
            weakened.held.store(false, Ordering::Relaxed);
        }
    };
    let other = Arc::clone(&weakened);
    let thread = std::thread::spawn(move || count(&other));
    count(&weakened);
    thread.join().expect("it only counts");
}
