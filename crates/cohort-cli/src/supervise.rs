//! Runs a program as if this process were the program: signals are forwarded,
//! and this process stops and ends as the program does.

use crate::signals::{self, Mask};
use rustix::process::{
    DumpableBehavior, Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions, WaitIdStatus,
};
use serde::Serialize;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// The signals that are forwarded.  SIGCHLD is added: it reports that the program stopped,
/// continued or ended.
const FORWARDED: [i32; 11] = [
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGALRM,
    libc::SIGPIPE,
    libc::SIGCONT,
    libc::SIGTSTP,
    libc::SIGWINCH,
];

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With this exit status.
    Exited(i32),
    /// By this signal.
    Killed(i32),
}

/// The resources used by ended children and by the descendants that they waited for.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Usage {
    /// CPU seconds.
    pub cpu: f64,
    /// How often threads gave up their CPU to wait.
    pub waits: i64,
    /// How often a CPU was taken from them.
    pub preempted: i64,
}

impl Usage {
    /// Of all children of this process so far.
    pub fn of_children() -> Self {
        // SAFETY: all zeroes is a valid rusage to overwrite.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
            usage
        };
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        Self {
            cpu: seconds(usage.ru_utime) + seconds(usage.ru_stime),
            waits: usage.ru_nvcsw,
            preempted: usage.ru_nivcsw,
        }
    }

    /// What came after `before`.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            cpu: self.cpu - before.cpu,
            waits: self.waits - before.waits,
            preempted: self.preempted - before.preempted,
        }
    }
}

/// Whether this process kills its program when its own parent was killed.
static KILLS_WHEN_ORPHANED: AtomicBool = AtomicBool::new(false);

/// From now on, this process kills its program when its own parent, which [`run_until`] SIGTERM started it,
/// was killed: the program may ignore SIGTERM.
pub fn kill_when_orphaned() {
    KILLS_WHEN_ORPHANED.store(true, Relaxed);
}

/// Starts `command`, passes signals on to it and waits for its end.  Blocks.
///
/// # Errors
/// The program could not be started, or could not be waited for.
pub fn run(command: Command) -> io::Result<Ending> {
    run_until(command, Signal::KILL)
}

/// The same; if this process is killed, the program receives `last`.
///
/// # Errors
/// As [`run`].
pub fn run_until(mut command: Command, last: Signal) -> io::Result<Ending> {
    let parent = rustix::process::getppid();
    let before = Mask::current();
    let watched: Vec<i32> = FORWARDED.into_iter().chain([libc::SIGCHLD]).collect();
    let watched = Mask::of(&watched);
    watched.block();
    die_with_parent(&mut command, last);
    signals::pass_on(&mut command, before);
    let child = match command.spawn() {
        Ok(child) => Pid::from_child(&child),
        Err(error) => {
            before.set();
            return Err(error);
        }
    };
    loop {
        match watched.wait() {
            (libc::SIGCHLD, _) => {
                if let Some(ending) = catch_up(child)? {
                    return Ok(ending);
                }
            }
            (libc::SIGTERM, _)
                if KILLS_WHEN_ORPHANED.load(Relaxed) && rustix::process::getppid() != parent =>
            {
                // The program may have ended; its end is about to be seen.
                let _ = rustix::process::kill_process(child, Signal::KILL);
            }
            (signal, by_kernel) => forward(child, signal, by_kernel),
        }
    }
}

/// A signal that kills the command and cannot be passed on is meant for
/// the program.
fn die_with_parent(command: &mut Command, last: Signal) {
    let parent = rustix::process::getpid();
    let tie = move || {
        rustix::process::set_parent_process_death_signal(Some(last))?;
        // The parent may have died before the tie was made.
        if rustix::process::getppid() == Some(parent) {
            Ok(())
        } else {
            Err(io::ErrorKind::Interrupted.into())
        }
    };
    // SAFETY: the closure makes two system calls and allocates nothing.
    unsafe { command.pre_exec(tie) };
}

fn forward(child: Pid, signal: i32, by_kernel: bool) {
    // A terminal signals the whole group: the program has it already, unless it
    // has left the group.
    let same_group = rustix::process::getpgid(Some(child)).ok() == Some(rustix::process::getpgrp());
    if by_kernel && same_group {
        return;
    }
    // A shell's `fg` continues the whole group.
    if signal == libc::SIGCONT && same_group && !is_stopped(child) {
        return;
    }
    if let Some(signal) = Signal::from_named_raw(signal) {
        // The program may have ended; its end is about to be seen.
        let _ = rustix::process::kill_process(child, signal);
    }
}

fn is_stopped(child: Pid) -> bool {
    let file = format!("/proc/{}/stat", child.as_raw_nonzero());
    std::fs::read_to_string(file).is_ok_and(|line| {
        // The state follows the name, which may hold anything, in brackets.
        line.rsplit_once(") ")
            .is_some_and(|(_, rest)| rest.starts_with('T'))
    })
}

/// Handles all state changes of the program; returns its ending, if it ended.
fn catch_up(child: Pid) -> io::Result<Option<Ending>> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
    while let Some(news) = rustix::process::waitid(WaitId::Pid(child), options)? {
        if let Some(ending) = ending(&news) {
            return Ok(Some(ending));
        }
        if let Some(signal) = news.stopping_signal() {
            stop_too(signal);
        }
    }
    Ok(None)
}

fn ending(news: &WaitIdStatus) -> Option<Ending> {
    news.exit_status()
        .map(Ending::Exited)
        .or_else(|| news.terminating_signal().map(Ending::Killed))
}

/// Stops this process by the same signal of job control, so that the shell sees
/// the job stop; the kernel lets it pass where there is no shell to see it.
fn stop_too(signal: i32) {
    if [libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU].contains(&signal) {
        let this = Mask::of(&[signal]);
        raise(signal);
        this.unblock();
        this.block();
    }
}

/// Ends this process as the program ended, without a core of its own.
pub fn end_alike(ending: Ending) -> ! {
    match ending {
        Ending::Exited(status) => std::process::exit(status),
        Ending::Killed(signal) => {
            let none = Rlimit {
                current: Some(0),
                maximum: Some(0),
            };
            // Both only keep a second core away; without them one appears.
            let _ = rustix::process::setrlimit(Resource::Core, none);
            let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
            signals::set_default(signal);
            raise(signal);
            Mask::of(&[signal]).unblock();
            // Only reached where this process may not die of the signal.
            std::process::exit(128 + signal)
        }
    }
}

fn raise(signal: i32) {
    // SAFETY: the signal's action is the default one or to ignore it.
    unsafe { libc::raise(signal) };
}
