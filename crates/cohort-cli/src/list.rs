//! `cohort list`: every lock of the catalogue.

use crate::choice::{self, DEFAULT, LockName, SYSTEM};
use crate::page::{self, Origin};
use crate::problem::Problem;
use cohort::Capability;
use cohort::catalogue::{self, COPYING, DELEGATES, LOCKS, LockInfo, SHARED};
use cohort::compose::generated;
use cohort::name::{Lock, Name};
use cohort::recipe::{Basic, LEVELS, TREE_LEVELS};
use cohort::tree::TreeKind;
use comfy_table::Cell;
use serde::Serialize;
use std::fmt::Write as _;
use std::process::ExitCode;

/// Options of `cohort list`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Show these locks in detail [default: one line for every lock]
    #[arg(value_name = "LOCK", value_parser = LockName, hide_possible_values = true,
        conflicts_with_all = ["compositions", "rwlocks", "delegates"])]
    locks: Vec<String>,
    /// Show source, capabilities and memory costs of each lock
    #[arg(long, conflicts_with_all = ["compositions", "rwlocks", "delegates"])]
    long: bool,
    /// Print JSON, one object for each lock
    #[arg(long)]
    json: bool,
    /// List the dynamic compositions of `cohort bench` with their bytes
    #[arg(long, conflicts_with_all = ["rwlocks", "delegates"])]
    compositions: bool,
    /// List the rwlocks with their bytes
    #[arg(long, conflicts_with = "delegates")]
    rwlocks: bool,
    /// List the delegation locks with their bytes
    #[arg(long)]
    delegates: bool,
}

/// A lock as JSON shows it; sizes are in bytes.
#[derive(Serialize)]
struct ListedLock {
    name: &'static str,
    aliases: &'static [&'static str],
    about: &'static str,
    source: &'static str,
    capabilities: Vec<&'static str>,
    timed: &'static str,
    placement: &'static str,
    bytes_raw: usize,
    bytes_idle: usize,
    bytes_contended: usize,
    bytes_per_waiter: usize,
}

impl From<&'static LockInfo> for ListedLock {
    fn from(lock: &'static LockInfo) -> Self {
        Self {
            name: lock.name,
            aliases: lock.aliases,
            about: lock.about,
            source: lock.source,
            capabilities: capabilities(lock),
            timed: timed(lock),
            placement: lock.storage.name(),
            bytes_raw: lock.bytes_raw,
            bytes_idle: lock.bytes_idle,
            bytes_contended: lock.bytes_contended,
            bytes_per_waiter: lock.bytes_per_waiter,
        }
    }
}

/// Executes `cohort list`.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    if arguments.compositions {
        return compositions(arguments.json);
    }
    if arguments.rwlocks {
        return rwlocks(arguments.json);
    }
    if arguments.delegates {
        return delegates(arguments.json);
    }
    let locks = chosen(&arguments.locks)?;
    if arguments.json {
        let entries: Vec<ListedLock> = locks.into_iter().map(ListedLock::from).collect();
        page::print_list(Origin::here(), "locks", &entries)?;
    } else if arguments.long || !arguments.locks.is_empty() {
        let entries: Vec<String> = locks.into_iter().map(entry).collect();
        page::print(&entries.join("\n\n"))?;
    } else {
        page::print(&format!("{}\n\n{}\n\n{}", choosing(), table(), notes()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The locks of these names, each once; all if none is named.
fn chosen(names: &[String]) -> Result<Vec<&'static LockInfo>, Problem> {
    if names.is_empty() {
        return Ok(LOCKS.iter().collect());
    }
    let mut chosen: Vec<&LockInfo> = Vec::new();
    for name in names {
        if SYSTEM.contains(&name.as_str()) {
            return Err(Problem::usage(format!(
                "`{name}` stands for the C library's locks, which Cohort does not describe"
            )));
        }
        let read = catalogue::read(name).map_err(|why| choice::wrong(name, &why))?;
        let lock = catalogue::find(name).ok_or_else(|| {
            Problem::usage(match read.lock {
                Lock::Tree(tree) => format!(
                    "`{read}` is a tree like {}, for `cohort bench` only",
                    of_its_kind(tree.kind)
                ),
                _ => format!(
                    "`{read}` is a composition; `cohort list --compositions` lists compositions"
                ),
            })
        })?;
        if chosen.iter().all(|other| other.name != lock.name) {
            chosen.push(lock);
        }
    }
    Ok(chosen)
}

/// A listed lock that is a tree of this kind, or the model for such trees.
fn of_its_kind(kind: TreeKind) -> &'static str {
    let like = |kind: &str| LOCKS.iter().find(|lock| lock.name.starts_with(kind));
    let kind = kind.name();
    let found = like(kind).or_else(|| like(kind.trim_start_matches('a')));
    found.map_or(kind, |lock| lock.name)
}

/// A composition as JSON shows it.
#[derive(Serialize)]
struct Composition {
    name: String,
    levels: usize,
    capabilities: Vec<&'static str>,
    bytes_raw: usize,
}

fn compositions(json: bool) -> Result<ExitCode, Problem> {
    let all: Vec<Composition> = generated::all()
        .filter_map(|locks| {
            Some(Composition {
                name: Name::of(Lock::Composed(locks)).to_string(),
                levels: locks.len(),
                capabilities: names_of(generated::CAPABILITIES),
                bytes_raw: generated::bytes(&locks)?,
            })
        })
        .collect();
    if json {
        page::print_list(Origin::here(), "compositions", &all)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = page::titled(&["composition", "bytes"]);
    for composition in &all {
        table.add_row([
            Cell::new(&composition.name),
            Cell::new(composition.bytes_raw),
        ]);
    }
    let notes = format!(
        "{} compositions, smallest cohort first; each can {}. Bytes: one lock for up to 64 cohorts \
         of each level, as `cohort bench` measures it. A program's mutex needs one while it is \
         contended, under `clof:…/compiled` only.",
        all.len(),
        names_of(generated::CAPABILITIES).join(", ")
    );
    page::print(&format!(
        "{}\n\n{}",
        page::lines(table, 1..2),
        page::prose(&notes)
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// A lock that readers share, as JSON shows it.
#[derive(Serialize)]
struct Shared {
    name: &'static str,
    about: &'static str,
    source: &'static str,
    bytes_raw: usize,
}

fn rwlocks(json: bool) -> Result<ExitCode, Problem> {
    let all: Vec<Shared> = SHARED
        .iter()
        .map(|lock| Shared {
            name: lock.name,
            about: lock.about,
            source: lock.source,
            bytes_raw: lock.bytes_raw,
        })
        .collect();
    if json {
        page::print_list(Origin::here(), "rwlocks", &all)?;
        return Ok(ExitCode::SUCCESS);
    }
    let rows = all
        .iter()
        .map(|lock| (lock.name, lock.about, lock.source, lock.bytes_raw));
    described(
        rows,
        "`cohort run --rwlock` accepts the first three and `system`, the C library's; \
         RwLock<T, L> all but the C library's; `cohort bench --workload rw` all. Timed waiters \
         of rwlock abandon at the deadline. Timed writers of c-rw-np and c-rw-wp behave as the \
         writers' lock does (column `timed` of `cohort list`): in programs, --lock; in Rust, \
         c-rw-…<Abandoning<L>> abandons.",
    )
}

/// A table of names, what they are, where that is described, and bytes; with notes below.
fn described<'a>(
    rows: impl Iterator<Item = (&'a str, &'a str, &'a str, usize)>,
    notes: &str,
) -> Result<ExitCode, Problem> {
    let mut table = page::titled(&["lock", "description and source", "bytes"]);
    for (name, about, source, bytes) in rows {
        table.add_row([
            page::name(name),
            Cell::new(format!("{about} ({source})")),
            Cell::new(bytes),
        ]);
    }
    page::print(&format!(
        "{}\n\n{}",
        page::lines(table, 2..3),
        page::prose(notes)
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// A delegation lock, or a type that applies operations to copies, as JSON shows it.
#[derive(Serialize)]
struct Brought {
    name: &'static str,
    about: &'static str,
    source: &'static str,
    runs_once: bool,
    gives_up: bool,
    tries: bool,
    bytes_raw: usize,
}

fn delegates(json: bool) -> Result<ExitCode, Problem> {
    let delegates = DELEGATES.iter().map(|lock| Brought {
        name: lock.name,
        about: lock.about,
        source: lock.source,
        runs_once: true,
        gives_up: lock.gives_up,
        tries: lock.tries,
        bytes_raw: lock.bytes_raw,
    });
    let copying = COPYING.iter().map(|copying| Brought {
        name: copying.name,
        about: copying.about,
        source: copying.source,
        runs_once: false,
        gives_up: false,
        tries: false,
        bytes_raw: copying.bytes_raw,
    });
    let all: Vec<Brought> = delegates.chain(copying).collect();
    if json {
        page::print_list(Origin::here(), "delegates", &all)?;
        return Ok(ExitCode::SUCCESS);
    }
    let list = |has: fn(&&Brought) -> bool| {
        let names: Vec<&str> = all.iter().filter(has).map(|lock| lock.name).collect();
        names.join(", ")
    };
    let rows = all
        .iter()
        .map(|lock| (lock.name, lock.about, lock.source, lock.bytes_raw));
    described(
        rows,
        &format!(
            "Another thread, with the data in its cache, may run a delegated critical section. \
             In Rust, Delegated<T, L> takes these and all other locks, which run critical \
             sections in place; `cohort bench` compares both. Threads can abandon a critical \
             section under {}, and try under {}. Delegation needs source changes. {} may run an \
             operation several times; it is the separate type delegation::PSim, and not in \
             `cohort bench`.",
            list(|lock| lock.gives_up),
            list(|lock| lock.tries),
            list(|lock| !lock.runs_once),
        ),
    )
}

fn names_of(capabilities: &[Capability]) -> Vec<&'static str> {
    capabilities.iter().copied().map(Capability::name).collect()
}

fn capabilities(lock: &LockInfo) -> Vec<&'static str> {
    names_of(lock.capabilities)
}

/// What a waiter with a deadline does: it abandons the wait that it is in, or polls beside it.
fn timed(lock: &LockInfo) -> &'static str {
    if lock.capabilities.contains(&Capability::Abortable) {
        "abandons"
    } else {
        "polls"
    }
}

/// A line for each lock.
fn table() -> String {
    let mut table = page::titled(&["lock", "also", "timed", "description"]);
    for lock in LOCKS {
        // An alias that spells the levels out is as long as the rest of the line.
        let short = lock.aliases.iter().filter(|alias| !alias.contains('@'));
        let short: Vec<&str> = short.copied().collect();
        table.add_row([
            page::name(lock.name),
            Cell::new(short.join(", ")),
            Cell::new(timed(lock)),
            Cell::new(lock.about),
        ]);
    }
    page::lines(table, 0..0)
}

/// How to choose, above the table.
fn choosing() -> String {
    page::prose(&format!(
        "{DEFAULT} is the default and suits most programs. `cohort check -- PROGRAM` detects lock \
         contention; `cohort compare -- PROGRAM` measures several locks. `cohort run --lock` accepts \
         every lock of this list except {}.",
        unserved()
    ))
}

/// The locks that cannot serve programs, as in "a, b and c".
fn unserved() -> String {
    let names: Vec<&str> = LOCKS
        .iter()
        .filter(|lock| !lock.serves_programs())
        .map(|lock| lock.name)
        .collect();
    match names.as_slice() {
        [] => "none".to_owned(),
        [one] => (*one).to_owned(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

/// All that is known of a lock.
fn entry(lock: &'static LockInfo) -> String {
    let mut table = page::bare();
    let mut add = |what: &str, text: String| {
        table.add_row([Cell::new(format!("  {what}")), Cell::new(text)]);
    };
    if !lock.aliases.is_empty() {
        add("aliases", lock.aliases.join(", "));
    }
    add("source", lock.source.to_owned());
    add("can", capabilities(lock).join(", "));
    add(
        "timed waiter",
        match timed(lock) {
            "abandons" => "abandons its wait at the deadline",
            _ => "polls outside the queue; releases honour its claim",
        }
        .to_owned(),
    );
    add(
        "storage",
        match lock.serves_programs() {
            true => format!("{} in a pthread_mutex_t", lock.storage.name()),
            false => "not for pthread_mutex_t".to_owned(),
        },
    );
    add(
        "extra bytes",
        format!(
            "{} free, {} contended, {} per waiter",
            lock.bytes_idle, lock.bytes_contended, lock.bytes_per_waiter
        ),
    );
    let mut text = page::prose(&format!("{}: {}", lock.name, lock.about));
    let _ = write!(text, "\n{}", page::lines(table, 0..0));
    text
}

fn notes() -> String {
    page::prose(&format!(
        "{} (or {}) stands for the C library's locks. `cohort list LOCK` and `--long` show source, \
         capabilities and the bytes of a mutex beyond its own 40: free, contended, and per \
         waiter. Timed: at its deadline a waiter abandons its place in the queue, or polls \
         outside it. {} compositions exist besides: `clof:` and up to {} of {}, such as \
         clof:mcs-ticket (`--compositions`); those of {} also as clof:…/abortable, with timed \
         waiters that abandon. `--rwlocks` and `--delegates` list the other locks. Further \
         names: the trees {}-1 to -{} with selectable levels, such as hmcs-t-3@numa,system/64; \
         cohort locks with a bound or a bypass, such as c-tkt-mcs/64/bypass; {} in clof:….",
        SYSTEM[0],
        SYSTEM[1],
        generated::all().count(),
        LEVELS,
        Basic::ALL.map(Basic::name).join(", "),
        Basic::ABORTABLE.map(Basic::name).join(", "),
        TreeKind::ALL.map(TreeKind::name).join("-, "),
        TREE_LEVELS,
        Basic::STACKED[Basic::ALL.len()..]
            .iter()
            .map(|lock| lock.name())
            .collect::<Vec<_>>()
            .join(" and "),
    ))
}
