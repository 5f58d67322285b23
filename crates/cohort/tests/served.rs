//! One server of two locks, with sections that bring others to each other's, and threads that run their
//! own: nobody waits for ever, and what is counted is counted once.

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

/// Threads that bring sections, and as many that run their own.
const THREADS: u32 = 3;

#[test]
fn one_server_runs_what_is_brought_to_two_locks_and_from_one_to_the_other() {
    within_limit("somebody waits for ever", || {
        let (first, second) = (
            Delegated::<u32, Rcl>::default(),
            Delegated::<u32, Rcl>::default(),
        );
        let (first, second) = (&first, &second);
        let over = &AtomicBool::new(false);
        scope(|all| {
            // The second before the first, which is the other way round than sections nest.
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

/// While there is a server it runs what is brought, and what is to run in place runs in place.
#[test]
fn the_server_runs_sections_and_no_other() {
    within_limit("somebody waits for ever", || {
        let by = Delegated::<Option<ThreadId>, Rcl>::default();
        let over = AtomicBool::new(false);
        let server = Mutex::new(None);
        scope(|threads| {
            threads.spawn(|| {
                *server.lock().expect("nobody panics") = Some(current().id());
                rcl::serve(&[by.raw()], || over.load(Relaxed));
            });
            let ran = || {
                by.run(|by| *by = Some(current().id()));
                by.run(|by| *by)
            };
            // Until it has come, this thread runs them.
            while ran() != *server.lock().expect("nobody panics") || ran().is_none() {
                std::thread::yield_now();
            }
            let here = current().id();
            assert_eq!(by.locking(|_| current().id()), here);
            over.store(true, Relaxed);
        });
        assert_eq!(by.run(|_| current().id()), current().id());
    });
}
