//! Delegates with threads that end abnormally.

use cohort::Delegated;
use cohort::delegation::{Rcl, rcl};
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
