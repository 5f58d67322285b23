//! Deadlines that pass at one failed look or at a later one, as the checker chooses.
//!
//! Loom chooses which of several writes a load sees, and after a yield shows a thread no write that
//! it saw before, except the last. So each thread's time is an atom written by a thread of its own,
//! which is ordered with no other. A look may see any hour not seen before; after enough failed
//! looks, it sees the last.

use super::execution::{Hours, step, with};
use super::std;
use core::sync::atomic::Ordering;
use loom::sync::atomic::AtomicU32;
use std::rc::Rc;

/// Threads of a client, at most.
const THREADS: usize = 4;

/// Writes so many hours for each thread; no order among them is explored.
pub(super) fn begin(hours: u32) {
    if hours == 0 {
        return;
    }
    let all: Hours = Rc::new((0..THREADS).map(|_| AtomicU32::new(0)).collect());
    with(|execution| execution.hours = Some(Rc::clone(&all)));
    loom::stop_exploring();
    let first = loom::thread::current();
    loom::thread::spawn(move || {
        // Before the writes: the woken thread must not be ordered after any.
        first.unpark();
        for hour in 1..=hours {
            for of_thread in all.iter() {
                of_thread.store(hour, Ordering::Relaxed);
            }
        }
        with(|execution| execution.struck = true);
    });
    loom::thread::park();
    loom::explore();
    assert!(
        with(|execution| execution.struck),
        "the hours strike before the client begins"
    );
}

/// Whether the running thread's deadline has passed; always after a sleep until it.
pub(super) fn are_over() -> bool {
    if std::thread::panicking() {
        return true;
    }
    let (all, me, last, slept) = with(|execution| {
        let (me, last) = (execution.current, execution.settings.looks_in_time);
        (execution.hours.clone(), me, last, execution.me().overslept)
    });
    match all {
        Some(all) if !slept => step("hour", || all[me].load(Ordering::Relaxed)) >= last,
        _ => true,
    }
}
