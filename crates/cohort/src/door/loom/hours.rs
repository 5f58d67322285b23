//! Deadlines that pass at one failed look or at a later one, as the checker chooses.
//!
//! Loom chooses which of several writes a load sees, and shows a thread that has given way no
//! write that it saw before, unless that is the last.  So the time of each thread is an atom that a thread
//! of its own has written, which is ordered with no other: a look at it may see any hour that it has
//! not seen yet, and a look after so many failed ones sees the last.

use super::execution::{step, with};
use super::std;
use core::sync::atomic::Ordering;
use loom::sync::atomic::AtomicU32;
use std::rc::Rc;
use std::vec::Vec;

/// Threads of a client, at most.
const THREADS: usize = 4;

/// The hour of each thread.
pub(super) type Hours = Rc<Vec<AtomicU32>>;

/// Lets so many hours strike for each thread; no order of these among themselves is explored.
pub(super) fn begin(hours: u32) {
    if hours == 0 {
        return;
    }
    let all: Hours = Rc::new((0..THREADS).map(|_| AtomicU32::new(0)).collect());
    with(|execution| execution.hours = Some(Rc::clone(&all)));
    loom::stop_exploring();
    let first = loom::thread::current();
    loom::thread::spawn(move || {
        // Before the writes: the thread that it wakes is to know of none.
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

/// Whether the running thread's time is up: for one that has slept until its deadline it is.
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
