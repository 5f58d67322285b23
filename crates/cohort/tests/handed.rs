//! A lock that is handed to a sleeper is left to it, though the thread that has handed it
//! over comes back long before the sleeper is awake.

mod support;

use cohort::RawLock;
use cohort::basic::Futex;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use support::within_limit;

/// How long each section lasts: long enough for a sleeper to be handed the lock at its end,
/// and for the thread that comes back to be one that seldom waits.
const SECTION: Duration = Duration::from_millis(2);

/// How often the sleeper takes the lock.
const VISITS: usize = 40;

/// How many of the other thread's sections may pass meanwhile: three a visit.  One and a bit do
/// on a machine at rest, and five did while the thread that came back could take what it had
/// handed over.
const SECTIONS: usize = 3 * VISITS;

#[test]
fn the_next_section_is_the_sleepers() {
    within_limit("the sleeper is never handed the lock", || {
        let lock = &Futex::new();
        let (stop, mut sections) = (&AtomicBool::new(false), 0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..VISITS {
                    std::thread::sleep(SECTION);
                    // SAFETY: the lock has no contexts, and stays for the release; so below.
                    unsafe {
                        lock.acquire(&());
                        lock.release(&());
                    }
                }
                stop.store(true, Relaxed);
            });
            while !stop.load(Relaxed) {
                // SAFETY: as above.
                unsafe {
                    lock.acquire(&());
                    std::thread::sleep(SECTION);
                    sections += 1;
                    lock.release(&());
                }
            }
        });
        assert!(
            sections <= SECTIONS,
            "{sections} sections passed while a sleeper waited for {VISITS}"
        );
    });
}
