//! A lock granted to a sleeper stays granted, even if the releasing thread returns long before the
//! sleeper is awake.

mod support;

use cohort::RawLock;
use cohort::basic::Futex;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use support::within_limit;

/// The length of each critical section: enough for a grant to a sleeper at its end, and for the
/// returning thread to count as a rare waiter.
const SECTION: Duration = Duration::from_millis(2);

/// How often the sleeper acquires the lock.
const VISITS: usize = 40;

/// The maximal number of the other thread's sections meanwhile: three per acquisition. An idle
/// machine has 1 to 2; it was five when the releasing thread could reacquire a granted lock.
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
                    // SAFETY: the lock has no contexts, and stays until the release; also below.
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
