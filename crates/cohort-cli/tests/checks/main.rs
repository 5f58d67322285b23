//! Whole programs under the `cohort` command: one table of checks, two tiers.
//!
//! `COHORT_TIER=full` adds the long checks to the quick ones.
//! `COHORT_CHECK_LOCK=A,B` runs everything, and only, under these locks;
//! `system` shows that the checks hold for the C library itself.
//! docs/checks.md says what each check shows.

mod allocators;
mod berkeleydb;
mod bfs;
mod check;
mod compiled;
mod compositions;
mod conformance;
mod crowd;
#[path = "../../../cohort-lab/src/survey/here.rs"]
mod here;
mod idle;
mod kyoto;
mod mariadb;
mod memcached;
mod mpich;
mod program;
mod python;
mod redis;
mod rocksdb;
mod selection;
#[expect(
    dead_code,
    reason = "thousands are left to the full tier, and not shown one by one"
)]
#[path = "../../../cohort/tests/support/slowest.rs"]
mod slowest;
mod soak;

use check::Check;
use libtest_mimic::{Arguments, Trial};
use selection::Selection;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trials = match table() {
        Ok(trials) => trials,
        Err(why) => {
            eprintln!("checks: {why}");
            return ExitCode::from(2);
        }
    };
    let conclusion = libtest_mimic::run(&arguments, trials);
    slowest::tell(&arguments);
    conclusion.exit_code()
}

/// The checks of one file, or why they cannot be put together.
type Room = fn(&Selection) -> Result<Vec<Check>, String>;

/// Every check that was selected.
///
/// # Errors
/// Why the checks cannot be put together.
fn table() -> Result<Vec<Trial>, String> {
    let selection = Selection::from_environment()?;
    let rooms: [Room; 15] = [
        conformance::checks,
        crowd::checks,
        idle::checks,
        compositions::checks,
        memcached::checks,
        kyoto::checks,
        allocators::checks,
        berkeleydb::checks,
        redis::checks,
        python::checks,
        mariadb::checks,
        rocksdb::checks,
        mpich::checks,
        bfs::checks,
        soak::checks,
    ];
    let mut trials = Vec::new();
    for room in rooms {
        let (selected, left): (Vec<_>, Vec<_>) = room(&selection)?
            .into_iter()
            .partition(|check| selection.has(check.tier));
        slowest::leave(left.len());
        trials.extend(selected.into_iter().map(Check::into_trial));
    }
    Ok(trials)
}
