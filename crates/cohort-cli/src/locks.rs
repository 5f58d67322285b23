//! `cohort locks`: shows what the threads of a process wait for, and the holders.

mod alive;
mod dump;
mod find;
mod outside;
mod process;

use crate::page::{self, Origin};
use crate::problem::Problem;
use find::{Lock, Member};
use process::Process;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `cohort locks`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = NOTES)]
pub struct Arguments {
    /// The process, by its number, or the core dump of one
    #[arg(value_name = "PID|CORE")]
    process: PathBuf,
    /// Print JSON: the process, and an object for each lock
    #[arg(long)]
    json: bool,
}

const NOTES: &str = "\
The process goes on; what is shown of each thread is true of one moment. Stop it first (`kill -STOP`), \
or it may hang anyway: then all of it is. So is all of a core dump, which `gcore PID`, the kernel \
(`ulimit -c unlimited`) or `cohort debug --abort` leaves. It has no names of threads, and nothing \
of what `cohort debug` or `cohort profile` writes down; variables have names if the program and its \
libraries are still here as they were. A file that is called by a number alone is meant by `./4711`.

A process that does not run under Cohort is shown by what the C library notes in its locks: the holder of \
a mutex, the writer of a rwlock. Locks of languages and libraries are told by the functions on the \
sleeper's stack.

Shown are the mutexes, rwlocks and conditions that a thread sleeps for. A mutex that is recursive or \
checks errors notes its owner, and a rwlock its writer; a plain mutex notes nobody. Of a process that \
`cohort debug` or `cohort profile` has started, all holders are known, and locks that nobody waits for \
are shown too, but for plain mutexes at debug's level `stuck`. Threads that wait in the queue of \
another lock than the default are not found. The locks of the library for C (cohort.h) note nobody.

Examples:
  cohort locks $(pidof memcached)
  cohort locks --json 4711
  cohort locks core.4711

Exit status: 0; 2 if there is no such process or file, or the file is no core dump; 125 if it may not \
be looked at, or a core dump is cut off, of another processor, or of a process without Cohort.";

/// JSON output.
#[derive(Serialize)]
struct Sheet<'a> {
    process: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    core: Option<String>,
    program: &'a str,
    library: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    lock: Option<&'a str>,
    threads: usize,
    locks: &'a [Lock],
    /// Files without symbols, since they have changed after the core dump.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    unnamed: &'a [String],
}

/// Executes `cohort locks`.
///
/// # Errors
/// The process is inaccessible.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let process = match Process::open(&arguments.process) {
        Ok(process) => process,
        Err(problem) => {
            return match outside::open(&arguments.process) {
                Some(process) => show_outside(process, arguments.json),
                None => Err(problem),
            };
        }
    };
    let observed = process.observed();
    let locks = find::locks(&process, observed.as_ref());
    let lock = process.lock();
    let threads = process.threads().len();
    let core = process.core.as_ref();
    if arguments.json {
        let sheet = Sheet {
            process: process.id,
            core: core.map(|core| core.path.display().to_string()),
            program: &process.program,
            library: &process.served_by,
            lock: lock.as_deref(),
            threads,
            locks: &locks,
            unnamed: core.map_or(&[], |core| &core.unnamed),
        };
        page::print_json(Origin::here(), &sheet)?;
        return Ok(ExitCode::SUCCESS);
    }
    let waiting: usize = locks.iter().map(|lock| lock.waiters.len()).sum();
    let about = format!(
        "{} ({}){}, {}{}: {waiting} {} for a lock or a condition.",
        process.program,
        process.id,
        core.map_or_else(String::new, |core| format!(", by {}", core.path.display())),
        page::counted(threads, "thread", "threads"),
        lock.map_or_else(String::new, |lock| format!(", mutexes served by {lock}")),
        if waiting == 1 { "sleeps" } else { "sleep" },
    );
    let mut text = page::prose(&about);
    if !locks.is_empty() {
        text = format!("{text}\n\n{}", page::lines(table(&locks), 1..2));
    }
    let notes = notes(&process, observed.is_some());
    if !notes.is_empty() {
        text = format!("{text}\n\n{}", page::prose(&notes.join(" ")));
    }
    page::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Shows a process outside Cohort.
fn show_outside(process: crate::outside::Process, json: bool) -> Result<ExitCode, Problem> {
    let (id, program, threads) = (process.id, process.program.clone(), process.thread_count());
    let locks = outside::locks(process);
    if json {
        let sheet = Sheet {
            process: id,
            core: None,
            program: &program,
            library: "",
            lock: None,
            threads,
            locks: &locks,
            unnamed: &[],
        };
        page::print_json(Origin::here(), &sheet)?;
        return Ok(ExitCode::SUCCESS);
    }
    let waiting: usize = locks.iter().map(|lock| lock.waiters.len()).sum();
    let mut text = page::prose(&format!(
        "{program} ({id}), not under Cohort, {threads} {}: {waiting} {} at futexes.",
        if threads == 1 { "thread" } else { "threads" },
        if waiting == 1 { "sleeps" } else { "sleep" },
    ));
    if !locks.is_empty() {
        text = format!("{text}\n\n{}", page::lines(table(&locks), 1..2));
    }
    page::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// The unknown facts about a process.
fn notes(process: &Process, is_observed: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if !is_observed {
        // An ended process, or one under the library for C, cannot be started otherwise.
        let remedy = if process.core.is_none() && process.serves_pthread {
            ": under `cohort debug` both are"
        } else {
            ""
        };
        notes.push(format!(
            "A plain mutex does not note its holder, and locks that nobody waits for are not \
             found{remedy}."
        ));
    }
    if let Some(core) = &process.core {
        notes.push("A core dump has no names of threads.".to_owned());
        if process.has_records() {
            notes.push(
                "Nor has it what `cohort debug` or `cohort profile` has written down.".to_owned(),
            );
        }
        if !core.unnamed.is_empty() {
            let files = core.unnamed.join(", ");
            notes.push(format!(
                "Nothing is named that is in {files}: that has changed since then, or is gone."
            ));
        }
    }
    notes
}

fn table(locks: &[Lock]) -> comfy_table::Table {
    let mut table = page::titled(&["kind", "address", "variable", "held by", "waiting"]);
    for lock in locks {
        let (kind, address) = (lock.kind.name(), format!("{:#x}", lock.address));
        let named = lock.variable.as_deref().or(lock.place.as_deref());
        let variable = named.unwrap_or_default();
        let held = match (&lock.holders[..], &lock.held[..]) {
            ([], held) => held.to_owned(),
            (holders, _) => members(holders),
        };
        table.add_row([kind, &address, variable, &held, &members(&lock.waiters)]);
    }
    table
}

fn members(members: &[Member]) -> String {
    let shown = members.iter().map(|member| match &member.name {
        Some(name) => format!("{} {name}", member.thread),
        None => member.thread.to_string(),
    });
    shown.collect::<Vec<_>>().join(", ")
}
