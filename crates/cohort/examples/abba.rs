//! Two threads lock a mutex and run a section on delegated data in different orders, and meet: a
//! deadlock, which `cohort debug` finds in a build with the feature `observe`.
//!
//! ```sh
//! cargo build -p cohort --example abba --features observe
//! cohort debug -- target/debug/examples/abba
//! ```

use cohort::delegation::SanlPlus;
use cohort::{Delegated, Mutex};
use std::sync::{Arc, Barrier};
use std::thread;

static ACCOUNTS: Mutex<[i64; 2]> = Mutex::new([7, 7]);

fn transfer(journal: &Delegated<Vec<i64>, SanlPlus>, both_hold_one: &Barrier) {
    let mut accounts = ACCOUNTS.lock();
    both_hold_one.wait();
    accounts[0] -= 1;
    journal.run(|journal| journal.push(-1));
}

fn audit(journal: &Delegated<Vec<i64>, SanlPlus>, both_hold_one: &Barrier) {
    journal.run(|journal| {
        both_hold_one.wait();
        journal.push(ACCOUNTS.lock()[0]);
    });
}

fn main() {
    let shared = Arc::new((Delegated::from(Vec::new()), Barrier::new(2)));
    let threads = [transfer, audit].map(|work| {
        let shared = Arc::clone(&shared);
        thread::spawn(move || work(&shared.0, &shared.1))
    });
    for thread in threads {
        thread.join().expect("it never ends");
    }
}
