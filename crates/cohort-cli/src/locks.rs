//! `cohort locks`: what the threads of a process wait for, and which threads hold it.

mod find;
mod process;

use crate::page::{self, Origin};
use crate::problem::Problem;
use find::{Lock, Member};
use process::Process;
use serde::Serialize;
use std::process::ExitCode;

/// Options of `cohort locks`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = NOTES)]
pub struct Arguments {
    /// The process, by its number
    #[arg(value_name = "PID")]
    process: u32,
    /// Print JSON: the process, and an object for each lock
    #[arg(long)]
    json: bool,
}

const NOTES: &str = "\
The process goes on; what is shown of each thread is true of one moment. Stop it first (`kill -STOP`), \
or it may hang anyway: then all of it is.

Shown are the mutexes, rwlocks and conditions that a thread sleeps for. A mutex that is recursive or \
checks errors notes its owner, and a rwlock its writer; a plain mutex notes nobody. Of a process that \
`cohort debug` or `cohort profile` has started, all holders are known, and locks that nobody waits for \
are shown too, but for plain mutexes at debug's level `stuck`. Threads that wait in the queue of another lock than the default are not found.

Examples:
  cohort locks $(pidof memcached)
  cohort locks --json 4711

Exit status: 0; 2 if there is no such process, 125 if it may not be looked at or does not run under \
Cohort.";

/// What is printed as JSON.
#[derive(Serialize)]
struct Sheet<'a> {
    process: u32,
    program: &'a str,
    library: &'a str,
    lock: &'a str,
    threads: usize,
    locks: &'a [Lock],
}

/// Carries out `cohort locks`.
///
/// # Errors
/// The process cannot be looked at.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let process = Process::open(arguments.process)?;
    let observed = process.observed();
    let locks = find::locks(&process, observed.as_ref());
    let (program, lock) = (process.name(process.id), process.lock());
    let threads = process.threads().len();
    if arguments.json {
        let sheet = Sheet {
            process: process.id,
            program: &program,
            library: &process.preloaded,
            lock: &lock,
            threads,
            locks: &locks,
        };
        page::print_json(Origin::here(), &sheet)?;
        return Ok(ExitCode::SUCCESS);
    }
    let waiting: usize = locks.iter().map(|lock| lock.waiters.len()).sum();
    let about = format!(
        "{program} ({}), {threads} threads, mutexes served by {lock}: {waiting} {} for a lock or a \
         condition.",
        process.id,
        if waiting == 1 { "sleeps" } else { "sleep" },
    );
    let mut text = page::prose(&about);
    if !locks.is_empty() {
        text = format!("{text}\n\n{}", page::lines(table(&locks), 1..2));
    }
    if observed.is_none() {
        let note = "A plain mutex does not note its holder, and locks that nobody waits for are \
                    not found: under `cohort debug` both are.";
        text = format!("{text}\n\n{}", page::prose(note));
    }
    page::print(&text)?;
    Ok(ExitCode::SUCCESS)
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
    let shown = members
        .iter()
        .map(|member| format!("{} {}", member.thread, member.name));
    shown.collect::<Vec<_>>().join(", ")
}
