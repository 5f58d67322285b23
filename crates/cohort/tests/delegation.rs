//! Delegates with threads that end abnormally, or lock them.

use cohort::basic::mcs::McsNode;
use cohort::delegation::{Rcl, Sanl, rcl};
use cohort::{Delegate, Delegated, Section, Thresholds, Tunable};
use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

/// The time limit of a section, far above its need.
const LIMIT: Duration = Duration::from_secs(60);

/// Clients of an ended server run their own sections, as before its start.
#[test]
fn a_server_that_ends_by_a_panic_leaves_its_locks() {
    let total: &'static Delegated<u64, Rcl> = Box::leak(Box::new(Delegated::from(0)));
    let server = thread::spawn(move || {
        let mut asked = 0;
        let served = catch_unwind(AssertUnwindSafe(|| {
            rcl::serve(&[total.raw()], || {
                asked += 1;
                if asked == 3 {
                    resume_unwind(Box::new("the question fails"));
                }
                false
            });
        }));
        assert!(served.is_err(), "the server's panic goes on");
    });
    server.join().expect("it is caught there");
    let (tell, told) = channel();
    thread::spawn(move || {
        total.run(|total| *total += 1);
        let _ = tell.send(());
    });
    told.recv_timeout(LIMIT).expect("no server keeps the lock");
    assert_eq!(total.locking(|total| *total), 1);
}

/// Sections in place that span several calls exclude those that threads delegate.
#[test]
fn a_locked_sanl_excludes_delegated_sections() {
    const ROUNDS: u64 = 2_000;
    let thresholds = Thresholds {
        brings: 0,
        ..Thresholds::USUAL
    };
    let (lock, total) = (Sanl::with(&thresholds), UnsafeCell::new(0));
    let guarded = Guarded(&lock, &total);
    thread::scope(|scope| {
        for thread in 0..4 {
            let guarded = &guarded;
            scope.spawn(move || (0..ROUNDS).for_each(|_| guarded.add(thread % 2 == 0)));
        }
    });
    assert_eq!(total.into_inner(), 4 * ROUNDS);
}

/// A lock, and data that it guards.
struct Guarded<'a>(&'a Sanl, &'a UnsafeCell<u64>);

// SAFETY: only `add` touches the data, while it holds the lock.
unsafe impl Sync for Guarded<'_> {}

impl Guarded<'_> {
    fn add(&self, locks: bool) {
        // SAFETY: a section and a holder exclude all others.
        let mut add = || unsafe { *self.1.get() += 1 };
        if locks {
            let turn = self.0.lock();
            add();
            // SAFETY: this thread's turn, of this lock.
            unsafe { self.0.unlock(turn) };
        } else {
            // SAFETY: it does not panic, and any thread may run it.
            let section = unsafe { Section::new(&mut add) };
            self.0.run(&mut McsNode::default(), section);
        }
    }
}
