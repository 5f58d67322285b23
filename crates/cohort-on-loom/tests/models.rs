//! Every lock under loom, and every fault that loom must find in them.
//!
//! Each model is a test, `loom::…`, and each injected fault is one, `mutant::…`. A model runs in a
//! process of its own, started from this program.

#[path = "../clients/again.rs"]
mod again_clients;
#[path = "../clients/arrivals.rs"]
mod arrival_clients;
// Each runner uses its part of a file.
#[allow(dead_code, unused_imports)]
#[path = "../../cohort/checks/mod.rs"]
mod checks;
#[path = "../clients/mod.rs"]
mod clients;
#[path = "../clients/delegate.rs"]
mod delegate_clients;
#[path = "../clients/fork.rs"]
mod fork_clients;
#[path = "../clients/guard.rs"]
mod guard_clients;
#[path = "../clients/migrating.rs"]
mod migrating_clients;
#[path = "../clients/order.rs"]
mod order_clients;
#[path = "../clients/pairs.rs"]
mod pair_clients;
#[path = "../clients/records.rs"]
mod record_clients;
mod runner;
#[path = "../clients/samples.rs"]
mod sample_clients;
#[path = "../../cohort/tests/support/slowest.rs"]
mod slowest;
#[path = "../clients/standing.rs"]
mod standing_clients;
#[path = "../clients/watch.rs"]
mod watch_clients;

/// The build of the locks that the clients use.
use cohort_on_loom as locks;

/// The clients' requirements on their backend.
mod world {
    use crate::locks::Deadline;
    pub use crate::locks::door::{Kept, together};
    use crate::locks::door::{Nodes, now};
    use crate::locks::host::Census;
    use std::sync::Arc;

    /// A pool of nodes.
    pub fn nodes<T: Default + Send + Sync + 'static>(
        _cache: usize,
    ) -> Arc<impl Census<T> + Send + 'static> {
        Arc::new(Nodes::<T>::new())
    }

    /// Does nothing: loom may switch threads anywhere.
    pub const fn linger() {}

    /// A deadline that passes at the first failed look.
    pub fn soon() -> Deadline {
        let at = now() + 1;
        Deadline {
            clock: crate::locks::Clock::Monotonic,
            seconds: (at / 1_000_000_000) as i64,
            nanoseconds: (at % 1_000_000_000) as u32,
        }
    }
}

fn main() {
    if let Ok(model) = std::env::var(runner::child::MODEL) {
        runner::child::run(&model);
    }
    let arguments = libtest_mimic::Arguments::from_args();
    let tests = runner::models::tests()
        .into_iter()
        .chain(runner::mutants::tests())
        .collect();
    let conclusion = libtest_mimic::run(&arguments, tests);
    slowest::tell(&arguments);
    let lighter = runner::models::lighter_than_full();
    if lighter > 0 && !arguments.list {
        println!("left to the full tier: one preemption more in {lighter} models");
    }
    if let Err(error) = runner::noticed::write() {
        eprintln!("what noticed which flaw was not written: {error}");
        std::process::exit(1);
    }
    conclusion.exit();
}
