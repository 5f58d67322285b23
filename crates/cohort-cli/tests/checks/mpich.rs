//! MPICH with `MPI_THREAD_MULTIPLE`: one static mutex of the library takes every call
//! of every thread, and a thread that waits polls under it.

use crate::check::{Check, Tier};
use crate::compiled;
use crate::program::{acquired, complete_with_report};
use crate::selection::{SYSTEM, Selection};
use std::ffi::OsStr;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(120);

/// What the two processes of `exchange.c` together find, if all is well.
const EXPECTED: &str = "6400 messages, 0 wrong";

/// Under each lock.
pub fn checks(selection: &Selection) -> Result<Vec<Check>, String> {
    let check = |lock: &'static str| Check {
        name: format!("mpich/{lock}"),
        tier: Tier::Full,
        needs: &[("mpicc.mpich", "libmpich-dev"), ("mpiexec.mpich", "mpich")],
        run: Box::new(move || run(lock)),
    };
    Ok(selection.locks().into_iter().map(check).collect())
}

fn run(lock: &str) -> Result<(), String> {
    let program = compiled::program("exchange", "mpicc.mpich", &[])?;
    let mut words = ["mpiexec.mpich", "-n", "2"].map(OsStr::new).to_vec();
    words.push(program.as_os_str());
    let (said, report) = complete_with_report(lock, words, LIMIT)?;
    if said.trim() != EXPECTED {
        return Err(format!("expected {EXPECTED}, got {said}"));
    }
    // Each message is a call at least, and each call takes the mutex.
    let taken = acquired(&report, |kind| kind.starts_with("mutex-"));
    if lock == SYSTEM || taken > 6400 {
        Ok(())
    } else {
        Err(format!("the processes were not served:\n{report}"))
    }
}
