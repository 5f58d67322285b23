//! Locks without an operating system: the program brings time, waiting and places.
//!
//!     cargo test -p cohort --test targets
//!
//! builds it in a package with `cohort = { …, default-features = false, features = ["platform"] }`, and runs it.
//!
//! Threads stand for the CPUs of a board here. Its platform is a bad one: the clock jumps, and a CPU's place
//! changes between two questions. That costs time, never exclusion.

use cohort::abortable::{AClh, McsTry};
use cohort::basic::{Anderson, Clh, Hemlock, K42, Mcs, Ptl, Tas, Ticket, Ttas};
use cohort::compose::{ACBoClh, CTktMcs, CacheGroup, Clof, Gated, Numa};
use cohort::numa::{Cna, Hmcs3, HmcsT2};
use cohort::recipe::Level;
use cohort::{Deadline, Mutex, Patience, Platform, RawTry, ThreadOblivious, set_platform};
use std::sync::atomic::{AtomicU64, Ordering};

struct Board;

static QUESTIONS: AtomicU64 = AtomicU64::new(0);

impl Platform for Board {
    fn now() -> u64 {
        let count = QUESTIONS.fetch_add(1, Ordering::Relaxed);
        count * 1_000 + 500_000 * (count % 3)
    }

    fn yield_now() {
        std::thread::yield_now();
    }

    fn place(level: Level) -> usize {
        let count = QUESTIONS.fetch_add(1, Ordering::Relaxed) as usize;
        if count.is_multiple_of(5) {
            usize::MAX - count
        } else {
            count * level as usize
        }
    }

    fn distance(one: usize, other: usize) -> u8 {
        (one ^ other) as u8
    }
}

const CPUS: u64 = 4;
const ROUNDS: u64 = 2_000;

/// All CPUs add under the lock, by guards, tries and closures; two words are always equal under it.
fn excludes<L>(name: &str)
where
    L: RawTry + ThreadOblivious + Default + Send + Sync,
    L::Context: Send + Sync,
{
    let total = Mutex::from_raw(L::default(), [0; 2]);
    let add = |total: &mut [u64; 2]| {
        assert_eq!(total[0], total[1], "{name}");
        total[0] += 1;
        total[1] += 1;
    };
    std::thread::scope(|scope| {
        for _ in 0..CPUS {
            scope.spawn(|| {
                for round in 0..ROUNDS {
                    match total.try_lock() {
                        Some(mut total) if round % 3 == 0 => add(&mut total),
                        other => {
                            drop(other);
                            if round % 2 == 0 {
                                add(&mut total.lock());
                            } else {
                                total.locking(add);
                            }
                        }
                    }
                }
            });
        }
    });
    assert_eq!(total.into_inner(), [CPUS * ROUNDS; 2], "{name}");
    println!("{name}");
}

fn main() {
    // Before, the clock stands still.
    static EARLY: Mutex<u64> = Mutex::new(0);
    *EARLY.lock() += 1;
    assert_eq!(set_platform::<Board>(), Ok(()));
    assert!(set_platform::<Board>().is_err(), "once for all locks");
    *EARLY.lock() += 1;

    macro_rules! each {
        ($($lock:ty),+ $(,)?) => {
            $(excludes::<$lock>(stringify!($lock));)+
        };
    }
    each! {
        Tas, Ttas, Ticket, Ptl, Mcs, Clh, K42, Hemlock, Anderson, Gated<Mcs>,
        AClh, McsTry, ACBoClh, CTktMcs, Clof<Mcs, Clof<Clh, Ticket, Numa>, CacheGroup>,
        Cna, Hmcs3, HmcsT2,
    }

    // A deadline passes by the board's clock.
    let held: Mutex<u64, HmcsT2> = Mutex::from_raw(HmcsT2::default(), *EARLY.lock());
    let guard = held.lock();
    let soon = Patience::until(Deadline::monotonic(cohort::now() + 1_000_000));
    assert!(held.lock_within(&soon).is_none());
    println!("{} acquisitions before", *guard);
}
