//! One server of two locks, nested delegated sections in both orders, and threads that run their
//! own sections: every wait ends, and every section runs once.

mod support;

use cohort::Delegated;
use cohort::delegation::{Rcl, rcl};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{ThreadId, current, scope};
use support::within_limit;

/// Sections of each thread.
const SECTIONS: u32 = 2_000;

/// Delegating threads, and as many that run their own sections.
const THREADS: u32 = 3;

#[test]
fn one_server_runs_what_is_brought_to_two_locks_and_from_one_to_the_other() {
    within_limit("a thread waits for ever", || {
        let (first, second) = (
            Delegated::<u32, Rcl>::default(),
            Delegated::<u32, Rcl>::default(),
        );
        let (first, second) = (&first, &second);
        let over = &AtomicBool::new(false);
        scope(|all| {
            // The second lock first, against the sections' nesting order.
            let server = move || {
                rcl::serve(&[second.raw(), first.raw()], || over.load(Relaxed));
            };
            all.spawn(server);
            scope(|threads| {
                for _ in 0..THREADS {
                    threads.spawn(|| {
                        for _ in 0..SECTIONS {
                            first.run(|count| {
                                *count += 1;
                                second.run(|count| *count += 1);
                            });
                        }
                    });
                    threads.spawn(|| {
                        for _ in 0..SECTIONS {
                            second.locking(|count| *count += 1);
                            first.locking(|_| second.run(|count| *count += 1));
                        }
                    });
                }
            });
            over.store(true, Relaxed);
        });
        assert_eq!(first.run(|count| *count), THREADS * SECTIONS);
        assert_eq!(second.run(|count| *count), 3 * THREADS * SECTIONS);
    });
}

/// While a server exists, it runs the delegated sections; in-place sections run on their own
/// threads.
#[test]
fn the_server_runs_sections_and_no_other() {
    within_limit("a thread waits for ever", || {
        let by = Delegated::<Option<ThreadId>, Rcl>::default();
        let over = AtomicBool::new(false);
        let server = Mutex::new(None);
        scope(|threads| {
            threads.spawn(|| {
                *server.lock().expect("no thread panics") = Some(current().id());
                rcl::serve(&[by.raw()], || over.load(Relaxed));
            });
            let ran = || {
                by.run(|by| *by = Some(current().id()));
                by.run(|by| *by)
            };
            // Until the server has arrived, this thread runs them.
            while ran() != *server.lock().expect("no thread panics") || ran().is_none() {
                std::thread::yield_now();
            }
            let here = current().id();
            assert_eq!(by.locking(|_| current().id()), here);
            over.store(true, Relaxed);
        });
        assert_eq!(by.run(|_| current().id()), current().id());
    });
}
