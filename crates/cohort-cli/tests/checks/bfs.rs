//! Graph searches over MPICH by polling threads with timeouts. All MPI calls use one mutex, which
//! polls acquire by `pthread_mutex_clocklock`.

use crate::check::{Check, Tier};
use crate::compiled;
use crate::program::{acquired, complete_with_report};
use crate::selection::{SYSTEM, Selection};
use std::ffi::OsStr;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(120);

/// 2¹² vertices, four threads in each process, four searches, zero timeout: so threads do time out.
const WORDS: [&str; 4] = ["12", "4", "4", "0"];

/// The expected output: each search agrees with a single-threaded one.
const EXPECTED: &str = "4 searches of 65536 edges, 0 wrong";

/// The most polls in succession that a thread replaces by computation.
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
    // The C library's lock is too rarely held by a preempted thread to require this.
    if longest > MOST_ABORTS || (lock != SYSTEM && given_up == 0) {
        return Err(format!(
            "{given_up} polls were given up, {longest} in a row:\n{said}"
        ));
    }
    // Each poll without a timeout acquired the mutex.
    let taken = acquired(&report, |kind| kind.starts_with("mutex-"));
    if lock == SYSTEM || taken > polls - given_up {
        Ok(())
    } else {
        Err(format!("the processes were not served:\n{said}{report}"))
    }
}

/// The number of timed-out polls, of all polls, and of timeouts in succession.
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
