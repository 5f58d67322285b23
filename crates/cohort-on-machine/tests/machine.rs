//! Every lock on the simulated machine.

#[path = "../../cohort-on-loom/clients/mod.rs"]
mod clients;
mod runner;

/// The build of the locks that the clients use.
use cohort_on_machine as locks;
use runner::world;

fn main() {
    let arguments = libtest_mimic::Arguments::from_args();
    libtest_mimic::run(&arguments, runner::tests()).exit();
}
