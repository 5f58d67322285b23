//! Searches of a graph over MPICH by threads that poll, and give up a poll at the end of its patience:
//! all calls of MPI go through one mutex, which those that poll take by `pthread_mutex_clocklock`.

use crate::check::{Check, Tier};
use crate::compiled;
use crate::program::{acquired, complete_with_report};
use crate::selection::{SYSTEM, Selection};
use std::ffi::OsStr;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(120);

/// 2¹² vertices, four threads in each process, four searches, no patience: so threads do give up.
const WORDS: [&str; 4] = ["12", "4", "4", "0"];

/// What comes of it, if all is well: each search found what one by a single thread finds.
const EXPECTED: &str = "4 searches of 65536 edges, 0 wrong";

/// So often in a row at most does a thread compute on instead of polling.
const MOST_ABORTS: u64 = 16;

/// Under each lock.
pub fn checks(selection: &Selection) -> Result<Vec<Check>, String> {
    let check = |lock: &'static str| Check {
        name: format!("bfs/{lock}"),
        tier: Tier::Full,
        needs: &[("mpicc.mpich", "libmpich-dev"), ("mpiexec.mpich", "mpich")],
        run: Box::new(move || run(lock)),
    };
    Ok(selection.locks().into_iter().map(check).collect())
}

fn run(lock: &str) -> Result<(), String> {
    let program = compiled::program("bfs", "mpicc.mpich", &[])?;
    let mut words = ["mpiexec.mpich", "-n", "4"].map(OsStr::new).to_vec();
    words.push(program.as_os_str());
    words.extend(WORDS.map(OsStr::new));
    let (said, report) = complete_with_report(lock, words, LIMIT)?;
    let [given_up, polls, longest] = polled(&said)
        .filter(|_| said.lines().next() == Some(EXPECTED))
        .ok_or_else(|| format!("expected {EXPECTED}, got {said}"))?;
    // The C library's lock is too seldom held by a preempted thread for that to be asked of it.
    if longest > MOST_ABORTS || (lock != SYSTEM && given_up == 0) {
        return Err(format!(
            "{given_up} polls were given up, {longest} in a row:\n{said}"
        ));
    }
    // Each poll that was not given up took the mutex.
    let taken = acquired(&report, |kind| kind.starts_with("mutex-"));
    if lock == SYSTEM || taken > polls - given_up {
        Ok(())
    } else {
        Err(format!("the processes were not served:\n{said}{report}"))
    }
}

/// How many polls were given up, of how many, and how many in a row.
fn polled(said: &str) -> Option<[u64; 3]> {
    let (given_up, rest) = said.lines().nth(1)?.split_once(" of ")?;
    let (polls, rest) = rest.split_once(" polls given up, at most ")?;
    let longest = rest.strip_suffix(" in a row")?;
    Some([
        given_up.parse().ok()?,
        polls.parse().ok()?,
        longest.parse().ok()?,
    ])
}
