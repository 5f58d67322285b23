//! Programs under the command: to their end, or as servers that are ended.

use crate::selection::SYSTEM;
use assert_cmd::Command;
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsStr;
use std::fs::File;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::NamedTempFile;

/// What the command would take from the environment of the person that runs the tests.
const LEFT_OUT: [&str; 9] = [
    "COHORT_LOCK",
    "COHORT_RWLOCK",
    "COHORT_WAIT",
    "COHORT_MONITOR",
    "COHORT_SLICE",
    "COHORT_ONLY",
    "COHORT_EXCLUDE",
    "COHORT_REPORT",
    "LD_PRELOAD",
];

const POLL: Duration = Duration::from_millis(20);

/// What a program runs under.
#[derive(Clone, Copy)]
pub enum Under {
    /// `cohort run` with that lock and a report, which has to show that it served.
    Lock(&'static str),
    /// `cohort debug` at its last level, which has to find nothing.
    Debug,
}

impl Under {
    fn command(self) -> std::process::Command {
        match self {
            Self::Lock(lock) => cohort(&["run", "--lock", lock, "--report"]),
            Self::Debug => cohort(&["debug", "--level", "order"]),
        }
    }

    /// Whether what was printed shows what has to be shown.
    fn shown(self, said: &str) -> Result<(), String> {
        match self {
            Self::Lock(lock) => served(lock, said),
            Self::Debug => silent(said),
        }
    }
}

/// `cohort run` under a lock, with its own options so far.
pub fn cohort_run(lock: &str, options: &[&str]) -> Command {
    let words = ["run", "--lock", lock];
    Command::from_std(cohort(&[&words, options].concat()))
}

/// The command with its own words so far.
fn cohort(words: &[&str]) -> std::process::Command {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_cohort"));
    for name in LEFT_OUT {
        command.env_remove(name);
    }
    command.args(words).arg("--");
    command
}

/// Runs a program to its end under `cohort debug`, which has to find nothing; returns what the
/// program printed on stdout.
///
/// # Errors
/// How it ended, with what was printed.
pub fn debugged<I>(program: I, limit: Duration) -> Result<String, String>
where
    I: IntoIterator<Item: AsRef<OsStr>>,
{
    let output = Command::from_std(Under::Debug.command())
        .args(program)
        .timeout(limit)
        .output()
        .map_err(|error| format!("cannot be run: {error}"))?;
    if !output.status.success() {
        return Err(ended(&output, limit));
    }
    silent(&String::from_utf8_lossy(&output.stderr))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Checks that the command had nothing to say, but perhaps of what its records have no room for.
fn silent(said: &str) -> Result<(), String> {
    let is_fine = |line: &str| line.contains("did not fit") || line.contains("no findings");
    let finds = |line: &str| line.starts_with("cohort: ") && !is_fine(line);
    if said.lines().any(finds) {
        Err(format!("`cohort debug` is not silent:\n{said}"))
    } else {
        Ok(())
    }
}

/// Runs a program to its end under a lock, with a report, and checks that it
/// succeeded and was served.  Returns what it printed on stdout.
///
/// # Errors
/// How it ended, with what it printed.
pub fn complete<I>(lock: &str, program: I, limit: Duration) -> Result<String, String>
where
    I: IntoIterator<Item: AsRef<OsStr>>,
{
    complete_with_report(lock, program, limit).map(|(said, _)| said)
}

/// As [`complete`]; returns the report as well, with whatever else was on stderr.
///
/// # Errors
/// How it ended, with what it printed.
pub fn complete_with_report<I>(
    lock: &str,
    program: I,
    limit: Duration,
) -> Result<(String, String), String>
where
    I: IntoIterator<Item: AsRef<OsStr>>,
{
    let output = cohort_run(lock, &["--report"])
        .args(program)
        .timeout(limit)
        .output()
        .map_err(|error| format!("cannot be run: {error}"))?;
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        return Err(ended(&output, limit));
    }
    served(lock, &errors)?;
    Ok((String::from_utf8_lossy(&output.stdout).into_owned(), errors))
}

/// How a program ended that should have succeeded, and what it printed.
pub fn ended(output: &Output, limit: Duration) -> String {
    let how = match output.status.code() {
        Some(code) => format!("ended with {code}"),
        None => format!(
            "was killed: {} (limit {} s)",
            output.status,
            limit.as_secs()
        ),
    };
    format!(
        "{how}\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// Checks by a report that the program took locks of ours.
///
/// # Errors
/// The report, if it says otherwise.
pub fn served(lock: &str, report: &str) -> Result<(), String> {
    if lock == SYSTEM {
        return Ok(());
    }
    // Its lines are broken where they are full.
    let words = report.split_whitespace().collect::<Vec<_>>().join(" ");
    let under = format!(" under {lock}, ");
    let ours = |kind: &str| {
        (kind.starts_with("mutex-") && kind != "mutex-libc") || kind.starts_with("rwlock-")
    };
    if words.contains(&under) && acquired(report, ours) > 0 {
        Ok(())
    } else {
        Err(format!(
            "the report shows no lock taken under {lock}:\n{report}"
        ))
    }
}

/// Acquisitions of these kinds of locks, by a report.
pub fn acquired(report: &str, kinds: impl Fn(&str) -> bool) -> u64 {
    let of_line = |line: &str| {
        let mut words = line.split_whitespace();
        kinds(words.next()?).then_some(())?;
        words.next()?.replace(',', "").parse::<u64>().ok()
    };
    report.lines().filter_map(of_line).sum()
}

/// A port on 127.0.0.1 that was free a moment ago.
///
/// # Errors
/// The system's, when it gives none.
pub fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map_err(|error| format!("no free port: {error}"))?;
    Ok(listener.port())
}

/// A server under the command.  It is killed when this value goes.
pub struct Server {
    child: Child,
    under: Under,
    errors: NamedTempFile,
}

impl Server {
    /// Starts a server.
    ///
    /// # Errors
    /// Why it cannot be started.
    pub fn start<I>(under: Under, program: I) -> Result<Self, String>
    where
        I: IntoIterator<Item: AsRef<OsStr>>,
    {
        let failed = |error: std::io::Error| format!("the server cannot be started: {error}");
        let errors = NamedTempFile::new().map_err(failed)?;
        let same = |file: &NamedTempFile| file.as_file().try_clone().map(Stdio::from);
        let child = under
            .command()
            .args(program)
            .stdin(Stdio::null())
            .stdout(same(&errors).map_err(failed)?)
            .stderr(same(&errors).map_err(failed)?)
            .spawn()
            .map_err(failed)?;
        Ok(Self {
            child,
            under,
            errors,
        })
    }

    /// Waits until the server answers on this port.
    ///
    /// # Errors
    /// What it printed, if it ends or stays silent for so long.
    pub fn await_port(&mut self, port: u16, limit: Duration) -> Result<(), String> {
        let answers = || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok();
        self.await_that(answers, limit)
    }

    /// Waits until something is true of the server.
    ///
    /// # Errors
    /// What it printed, if it ends or needs longer than the limit.
    pub fn await_that(
        &mut self,
        mut ready: impl FnMut() -> bool,
        limit: Duration,
    ) -> Result<(), String> {
        let started = Instant::now();
        while !ready() {
            if self.poll()?.is_some() {
                return Err(format!("the server ended early:\n{}", self.printed()));
            }
            if started.elapsed() > limit {
                return Err(format!(
                    "the server was not ready in {} s:\n{}",
                    limit.as_secs(),
                    self.printed()
                ));
            }
            std::thread::sleep(POLL);
        }
        Ok(())
    }

    /// Asks the server to end, and checks that it does, that it succeeds, and
    /// that what is asked of what it runs under was so.
    ///
    /// # Errors
    /// What it did instead.
    pub fn stop(mut self, limit: Duration) -> Result<(), String> {
        let started = Instant::now();
        kill_process(Pid::from_child(&self.child), Signal::TERM)
            .map_err(|error| format!("the server cannot be signalled: {error}"))?;
        let status = loop {
            match self.poll()? {
                Some(status) => break status,
                None if started.elapsed() > limit => {
                    return Err(format!(
                        "the server did not end within {} s of SIGTERM:\n{}",
                        limit.as_secs(),
                        self.printed()
                    ));
                }
                None => std::thread::sleep(POLL),
            }
        };
        if !status.success() {
            return Err(format!(
                "the server ended with {status}:\n{}",
                self.printed()
            ));
        }
        self.under.shown(&self.printed())
    }

    fn poll(&mut self) -> Result<Option<ExitStatus>, String> {
        self.child
            .try_wait()
            .map_err(|error| format!("the server cannot be waited for: {error}"))
    }

    fn printed(&self) -> String {
        let path: &Path = self.errors.path();
        File::open(path)
            .and_then(std::io::read_to_string)
            .unwrap_or_else(|error| format!("(what it printed cannot be read: {error})"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only if it has ended, which is what is wanted.  The command
        // takes TERM to the server with it; KILL would leave that running.
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let started = Instant::now();
        while started.elapsed() < Duration::from_secs(10) {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(POLL);
        }
        kill_children(self.child.id());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Kills what the command itself started: a server that hangs ignores TERM.
fn kill_children(parent: u32) {
    let list = format!("/proc/{parent}/task/{parent}/children");
    let children = std::fs::read_to_string(list).unwrap_or_default();
    for child in children.split_whitespace() {
        if let Some(pid) = child.parse().ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}
