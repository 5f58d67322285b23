//! Is my program right under every interleaving?
//!
//! ```sh
//! cargo run -p cohort-on-loom --example every_order
//! ```
//!
//! `examples/testing/accounts.rs` is compiled with the locks of this package, and their atomics
//! and waits are loom's: two threads transfer in opposite directions, and each way in which their steps
//! may follow each other is tried, with at most two switches that no thread asked for.  A deadlock,
//! a race for data behind a lock, and an `assert!` that fails end it with the steps that led there.

#[path = "../../../examples/testing/accounts.rs"]
mod accounts;

use accounts::Accounts;
use cohort_on_loom as locks;
use locks::basic::Mcs;
use locks::door::{Model, WaitPolicy, together};
use std::sync::Arc;

const MODEL: Model = Model {
    preemptions: 2,
    polls: 2,
    policy: WaitPolicy::Park,
    nanoseconds_per_look: 0,
    looks_in_time: 0,
    quiet: false,
    tries: false,
    visits: false,
    starves: false,
    absent: false,
    one_group: false,
    two_cpus: false,
    counts_reads: false,
    forks: false,
    ends: false,
    reuses_ids: false,
};

fn main() {
    let tally = MODEL.check(
        || {
            let accounts = Arc::new(Accounts::<Mcs, 2>::new(5));
            let theirs = Arc::clone(&accounts);
            let ended = together(2, move |thread| theirs.transfer(thread, 1 - thread, 3));
            if let Some(moved) = ended {
                assert_eq!(moved, [true, true], "five are enough for three");
                assert_eq!(accounts.total(), 10, "nothing is lost");
            }
        },
        None,
    );
    println!("{} executions, and nothing was found", tally.executions);
}
