//! Berkeley DB: two processes share an environment in mapped files, and with it
//! process-shared mutexes and conditions, beside ordinary ones of their own.

use crate::check::{Check, Tier};
use crate::compiled;
use crate::program::{acquired, complete_with_report};
use crate::selection::{SYSTEM, Selection};
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

const LIMIT: Duration = Duration::from_secs(120);

/// What `bank.c` has to find in the end: 40 accounts began with 1,000 each, and eight
/// threads transferred 5,000 times each.
const EXPECTED: &str = "40000 money, 40000 transfers";

/// Under the default lock; under each lock in the full tier.
pub fn checks(selection: &Selection) -> Result<Vec<Check>, String> {
    let quick = selection.some_of(&["futex-hmcs"]);
    let check = |lock: &'static str| Check {
        name: format!("berkeleydb/{lock}"),
        tier: if quick.contains(&lock) {
            Tier::Quick
        } else {
            Tier::Full
        },
        needs: &[("cc", "gcc"), ("/usr/include/db.h", "libdb5.3-dev")],
        run: Box::new(move || run(lock)),
    };
    Ok(selection.locks().into_iter().map(check).collect())
}

fn run(lock: &str) -> Result<(), String> {
    let program = compiled::program("bank", "cc", &["-ldb"])?;
    let folder = TempDir::with_prefix("cohort-berkeleydb-")
        .map_err(|error| format!("no temporary folder: {error}"))?;
    let words = [program.as_path(), folder.path()].map(Path::as_os_str);
    let (said, report) = complete_with_report(lock, words, LIMIT)?;
    if said.trim() != EXPECTED {
        return Err(format!("expected {EXPECTED}, got {said}"));
    }
    // The point of it: both processes, and mutexes that they share.
    let shared = acquired(&report, |kind| kind == "mutex-libc");
    if lock == SYSTEM || report.contains("in 3 processes") && shared > 0 {
        Ok(())
    } else {
        Err(format!("the processes shared no mutex:\n{report}"))
    }
}
