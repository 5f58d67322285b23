//! Every lock on the simulated machine.

// Each runner uses its part of a file.
#[allow(dead_code, unused_imports)]
#[path = "../../cohort/checks/mod.rs"]
mod checks;
#[path = "../../cohort-on-loom/clients/mod.rs"]
mod clients;
#[path = "../../cohort-on-loom/clients/delegate.rs"]
#[expect(
    dead_code,
    reason = "loom alone explores the ends of lifetimes and of counters"
)]
mod delegate_clients;
#[path = "../../cohort/tests/support/kept.rs"]
mod kept;
#[path = "../../cohort-on-loom/clients/records.rs"]
mod record_clients;
mod runner;
#[path = "../../cohort/tests/support/slowest.rs"]
mod slowest;
#[path = "../../cohort-on-loom/clients/standing.rs"]
mod standing_clients;

/// The build of the locks that the clients use.
use cohort_on_machine as locks;
use runner::world;

fn main() {
    runner::properties::print_if_asked();
    // Faults make clients panic on purpose, and each test reports its own failure.
    std::panic::set_hook(Box::new(|_| ()));
    let arguments = libtest_mimic::Arguments::from_args();
    let conclusion = libtest_mimic::run(&arguments, runner::tests());
    slowest::tell(&arguments);
    conclusion.exit();
}
