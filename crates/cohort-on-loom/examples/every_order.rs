//! Checks a program under every interleaving.
//!
//! ```sh
//! cargo run -p cohort-on-loom --example every_order
//! ```
//!
//! Compiles `examples/testing/accounts.rs` with the locks of this package, on loom's atomics and
//! waits. Two threads transfer in opposite directions. Every interleaving with at most two
//! preemptions is explored. A deadlock, a data race behind a lock, or a failed `assert!` ends the
//! run with the steps that led there.

#[path = "../../../examples/testing/accounts.rs"]
mod accounts;

use accounts::Accounts;
use cohort_on_loom as locks;
use locks::basic::Mcs;
use locks::door::{Model, WaitPolicy, together};
use std::sync::Arc;

const MODEL: Model = Model {
    policy: WaitPolicy::Park,
    ..Model::SPINNING
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
