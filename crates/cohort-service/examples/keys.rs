//! Two threads lock two addresses: in different orders, and meet, a deadlock, which `cohort debug`
//! finds in a build with the feature `observe`; or in one order.
//!
//! ```sh
//! cargo build -p cohort-service --example keys --features observe
//! cohort debug -- target/debug/examples/keys abba
//! ```

use cohort_service::gls;
use std::sync::Barrier;
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

static ACCOUNTS: AtomicI64 = AtomicI64::new(7);
static JOURNAL: AtomicI64 = AtomicI64::new(0);

fn transfer(both_hold_one: impl Fn()) {
    let _accounts = gls::lock(&ACCOUNTS);
    both_hold_one();
    let _journal = gls::lock(&JOURNAL);
    ACCOUNTS.fetch_sub(1, Relaxed);
    JOURNAL.fetch_add(1, Relaxed);
}

fn audit(both_hold_one: impl Fn()) {
    let _journal = gls::lock(&JOURNAL);
    both_hold_one();
    let _accounts = gls::lock(&ACCOUNTS);
    assert_eq!(ACCOUNTS.load(Relaxed) + JOURNAL.load(Relaxed), 7);
}

/// Keys of memory that is reused, freed before.
fn reuse() {
    for _ in 0..100 {
        let key = Box::new(1_u64);
        assert!(gls::lock_for(&*key, std::time::Duration::from_secs(60)).is_some());
        assert_eq!(gls::free(&*key), Ok(()));
    }
}

fn main() {
    static BOTH_HOLD_ONE: Barrier = Barrier::new(2);
    let meet = || _ = BOTH_HOLD_ONE.wait();
    let is_right = std::env::args().nth(1).is_some_and(|case| case == "right");
    let threads = if is_right {
        let transfers = || (0..1_000).for_each(|_| transfer(|| ()));
        vec![
            thread::spawn(transfers),
            thread::spawn(transfers),
            thread::spawn(reuse),
        ]
    } else {
        vec![
            thread::spawn(move || transfer(meet)),
            thread::spawn(move || audit(meet)),
        ]
    };
    for thread in threads {
        thread.join().expect("no panic");
    }
}
