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
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of `cohort locks`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = NOTES)]
pub struct Arguments {
    /// Show this process, or a process's core dump
    #[arg(value_name = "PID|CORE")]
    process: PathBuf,
    /// Print JSON: the process and an object for each lock
    #[arg(long)]
    json: bool,
}

const NOTES: &str = "\
The process keeps running, so threads are shown at slightly different times; stop it (`kill -STOP`) \
for a consistent view. A core dump is consistent: create it by `gcore PID`, the kernel (`ulimit -c \
unlimited`) or `cohort debug --abort`. It has no thread names and no records of `cohort debug` or \
`cohort profile`; variable names need the unchanged program and libraries. Write `./4711` for a file \
with a number as its name.

Without Cohort, holders come from the C library's records: the owner of a mutex, the writer of an \
rwlock. Locks of language runtimes and libraries are identified by the functions on the waiter's stack.

The output lists mutexes, rwlocks and conditions with sleeping waiters. Recursive and error-checking \
mutexes record their owner, rwlocks their writer; plain mutexes and the locks of cohort.h record none. \
Under `cohort debug` and `cohort profile` all holders are known, and locks without waiters appear too \
(except plain mutexes at debug's level `stuck`). Queued waiters are found under the default lock only.

Examples:
  cohort locks $(pidof memcached)
  cohort locks --json 4711
  cohort locks core.4711

Exit status: 0; 2 for a missing process or file, or a file that is not a core dump; 125 without \
permission, or if the core dump is truncated, of another processor or of a process without Cohort.";

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
    let process = match open(&arguments.process) {
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

/// The process of that ID, or of that core dump.
///
/// # Errors
/// There is none, it is inaccessible, or it does not run under Cohort.
fn open(named: &Path) -> Result<Process, Problem> {
    let is_digits = |text: &&str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match named.to_str().filter(is_digits) {
        Some(number) => alive::open(number),
        None => dump::open(named),
    }
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
            "; `cohort debug` records both"
        } else {
            ""
        };
        notes.push(format!(
            "Plain mutexes do not record their holder, and locks without waiters are not \
             listed{remedy}."
        ));
    }
    if let Some(core) = &process.core {
        notes.push("A core dump has no thread names.".to_owned());
        if process.has_records() {
            notes.push(
                "Nor does it have the records of `cohort debug` or `cohort profile`.".to_owned(),
            );
        }
        if !core.unnamed.is_empty() {
            let files = core.unnamed.join(", ");
            notes.push(format!(
                "Symbols of {files} are unavailable: changed or missing."
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

/// Threads that a table names for one lock; JSON has all.
const NAMED: usize = 8;

fn members(members: &[Member]) -> String {
    let shown = members.iter().take(NAMED).map(|member| match &member.name {
        Some(name) => format!("{} {name}", member.thread),
        None => member.thread.to_string(),
    });
    let shown = shown.collect::<Vec<_>>().join(", ");
    match members.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
