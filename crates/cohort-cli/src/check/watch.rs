//! Runs a program under the system's locks and looks at its processes from outside.

use super::judge::Evidence;
use crate::choice::Choice;
use crate::compare::{contestants, server_instead};
use crate::outside::looker::Looker;
use crate::outside::tree::Tree;
use crate::problem::Problem;
use crate::program::Program;
use crate::settings::Settings;
use crate::start::cannot_start;
use crate::supervise::Usage;
use cohort_measure::interrupt;
use cohort_measure::runner::{look_for_server, nothing};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process_group, set_parent_process_death_signal, waitid,
};
use std::ffi::OsString;
use std::io::{Read, Seek};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc;
use std::time::Instant;

/// A program that runs, until this value goes.
struct Running {
    child: Child,
    pid: Pid,
}

impl Running {
    fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        !matches!(waitid(WaitId::Pid(self.pid), options), Ok(None))
    }

    fn end(&mut self) -> std::io::Result<ExitStatus> {
        let _ = kill_process_group(self.pid, Signal::KILL);
        let status = self.child.wait();
        interrupt::forget(self.pid);
        status
    }
}

/// Runs a program to its end, and says what its locks did; nothing after a signal that asks this command to
/// end.
///
/// # Errors
/// It cannot be started, or fails.
pub fn watch(program: &Program, words: &[OsString]) -> Result<Option<Evidence>, Problem> {
    let mut output = tempfile::tempfile().map_err(|error| {
        Problem::refused(format!("cannot create a file for the program's output: {error}; set TMPDIR to a writable folder"))
    })?;
    let mut command = Command::new(&program.path);
    let refused = |error: &std::io::Error| cannot_start(&words[0], error);
    let copy = || output.try_clone().map_err(|error| refused(&error));
    command
        .arg0(&words[0])
        .args(&words[1..])
        .process_group(0)
        .stdin(nothing().map_err(|error| refused(&error))?)
        .stdout(copy()?)
        .stderr(copy()?);
    let system = Settings::of(Choice::System);
    for (name, value) in contestants::environment(&system, Path::new(""), None) {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let tie = || Ok(set_parent_process_death_signal(Some(Signal::KILL))?);
    // SAFETY: the closure makes one system call and allocates nothing.
    unsafe { command.pre_exec(tie) };
    let before = Usage::of_children();
    let began = Instant::now();
    let child = command.spawn().map_err(|error| refused(&error))?;
    let pid = Pid::from_child(&child);
    interrupt::watch(pid);
    let mut running = Running { child, pid };
    let (over, is_over) = mpsc::channel::<()>();
    let (lookers, listens) = std::thread::scope(|scope| {
        let server = scope.spawn(move || look_for_server(pid, &is_over));
        let lookers = look(&running);
        drop(over);
        (lookers, server.join().unwrap_or_default())
    });
    let seconds = began.elapsed().as_secs_f64();
    let status = running
        .end()
        .map_err(|error| Problem::refused(format!("cannot wait for the program: {error}")))?;
    let lookers = lookers?;
    if interrupt::check().is_err() {
        return Ok(None);
    }
    if !listens.is_empty() {
        return Err(Problem::refused(format!(
            "{}\n`cohort check PID` samples a running server",
            server_instead("compare", words, &listens)
        )));
    }
    if !status.success() {
        let mut said = String::new();
        let _ = output.rewind();
        let _ = output.read_to_string(&mut said);
        let lines: Vec<&str> = said.lines().collect();
        let last = lines[lines.len().saturating_sub(5)..].join("\n  ");
        return Err(Problem::refused(format!(
            "the program fails under the C library's locks ({status}); check a program that \
             succeeds\n  {last}"
        )));
    }
    let used = Usage::of_children().since(&before).cpu;
    Ok(Some(Evidence::of_program(lookers, seconds, used)))
}

/// Looks at the program's processes until it ends.
fn look(running: &Running) -> Result<Vec<Looker>, Problem> {
    let mut tree = Tree::below(running.child.id());
    while interrupt::check().is_ok() && !running.has_ended() {
        std::thread::sleep(tree.look_around()?);
    }
    Ok(tree.into_lookers())
}
