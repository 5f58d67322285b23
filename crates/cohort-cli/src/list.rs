//! `cohort list`: every lock of the catalogue.

use crate::choice::{DEFAULT, SYSTEM};
use crate::problem::Problem;
use cohort::catalogue::{Capability, LOCKS, LockInfo, SHARED};
use cohort::compose::generated;
use comfy_table::{Attribute, Cell, CellAlignment, ContentArrangement, Table, presets};
use serde::Serialize;
use std::process::ExitCode;

/// Options of `cohort list`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Print JSON: one object for each lock
    #[arg(long)]
    json: bool,
    /// Show every composition that `cohort bench` has by its parts, with its bytes
    #[arg(long, conflicts_with = "rwlocks")]
    compositions: bool,
    /// Show the locks that readers share, with their bytes
    #[arg(long)]
    rwlocks: bool,
}

/// The widest table that this command prints, in characters.
const WIDTH: u16 = 100;

/// A lock as JSON shows it; sizes are in bytes.
#[derive(Serialize)]
struct Entry {
    name: &'static str,
    aliases: &'static [&'static str],
    about: &'static str,
    source: &'static str,
    capabilities: Vec<&'static str>,
    placement: &'static str,
    bytes_raw: usize,
    bytes_idle: usize,
    bytes_contended: usize,
    bytes_per_waiter: usize,
}

impl From<&'static LockInfo> for Entry {
    fn from(lock: &'static LockInfo) -> Self {
        Self {
            name: lock.name,
            aliases: lock.aliases,
            about: lock.about,
            source: lock.source,
            capabilities: capabilities(lock),
            placement: lock.placement.name(),
            bytes_raw: lock.bytes_raw,
            bytes_idle: lock.bytes_idle,
            bytes_contended: lock.bytes_contended,
            bytes_per_waiter: lock.bytes_per_waiter,
        }
    }
}

/// Carries out `cohort list`.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    if arguments.compositions {
        return compositions(arguments.json);
    }
    if arguments.rwlocks {
        return rwlocks(arguments.json);
    }
    if arguments.json {
        print_json(&LOCKS.iter().map(Entry::from).collect::<Vec<_>>())?;
    } else {
        println!("{}", table());
        println!("{}", notes());
    }
    Ok(ExitCode::SUCCESS)
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
        .filter_map(|(locks, levels)| {
            let locks = &locks[..levels];
            let names: Vec<&str> = locks.iter().map(|lock| lock.name()).collect();
            Some(Composition {
                name: format!("clof:{}", names.join("-")),
                levels,
                capabilities: names_of(generated::CAPABILITIES),
                bytes_raw: generated::bytes(locks)?,
            })
        })
        .collect();
    if json {
        print_json(&all)?;
        return Ok(ExitCode::SUCCESS);
    }
    for composition in &all {
        println!("{:<38}{:>8} bytes", composition.name, composition.bytes_raw);
    }
    println!(
        "\n{} compositions, smallest cohort first; each can {}.  Bytes are those of one lock with \
         room for\n64 cohorts of each level, which `cohort bench` takes; a program's mutex has \
         one while it is fought\nover, and only under `clof:…/compiled`.",
        all.len(),
        names_of(generated::CAPABILITIES).join(", ")
    );
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
        print_json(&all)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = titled(["lock", "what it is, and where it is described", "bytes"]);
    for lock in &all {
        table.add_row([
            Cell::new(lock.name).add_attribute(Attribute::Bold),
            Cell::new(format!("{}\n{}", lock.about, lock.source)),
            Cell::new(lock.bytes_raw).set_alignment(CellAlignment::Right),
        ]);
    }
    println!("{table}");
    println!(
        "`cohort run --rwlock` has the first three, and by `system` the C library's own; \
         RwLock<T, L> all\nbut the C library's; `cohort bench --workload rw` has all."
    );
    Ok(ExitCode::SUCCESS)
}

fn print_json(list: &impl Serialize) -> Result<(), Problem> {
    let text = serde_json::to_string_pretty(list)
        .map_err(|error| Problem::refused(format!("cannot write JSON: {error}")))?;
    println!("{text}");
    Ok(())
}

fn names_of(capabilities: &[Capability]) -> Vec<&'static str> {
    capabilities.iter().copied().map(Capability::name).collect()
}

fn capabilities(lock: &LockInfo) -> Vec<&'static str> {
    names_of(lock.capabilities)
}

fn table() -> Table {
    let mut table = titled([
        "lock",
        "what it is, and where it is described",
        "it can",
        "idle",
        "busy",
        "waiter",
    ]);
    for lock in LOCKS {
        let mut names = vec![lock.name];
        names.extend(lock.aliases);
        table.add_row([
            Cell::new(names.join("\n")).add_attribute(Attribute::Bold),
            Cell::new(format!("{}\n{}", lock.about, lock.source)),
            Cell::new(capabilities(lock).join(", ")),
            Cell::new(lock.bytes_idle),
            Cell::new(lock.bytes_contended),
            Cell::new(lock.bytes_per_waiter),
        ]);
    }
    for column in table.column_iter_mut().skip(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// An empty table under these titles.
fn titled<const COLUMNS: usize>(titles: [&str; COLUMNS]) -> Table {
    let mut table = Table::new();
    table
        .load_preset(presets::UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(WIDTH)
        .set_header(titles.map(|title| Cell::new(title).add_attribute(Attribute::Bold)));
    table
}

fn notes() -> String {
    format!(
        "idle, busy, waiter: bytes beyond the program's own mutex while nobody holds it, while \
         it is\nfought over, and for each thread that waits. Further names of a lock stand below \
         its name.\nThere are {} more: `clof:` and up to {} of {},\nas in \
         clof:mcs-ticket; `cohort list --compositions` shows them, and\n`--rwlocks` \
         those that readers share.\nThe default is {DEFAULT}; {} \
         (or {}) means the C library's own locks.",
        generated::all().count(),
        generated::LEVELS,
        generated::Basic::ALL.map(generated::Basic::name).join(", "),
        SYSTEM[0],
        SYSTEM[1]
    )
}
