//! `cohort list`: every lock of the catalogue.

use crate::choice::{DEFAULT, SYSTEM};
use crate::problem::Problem;
use cohort::catalogue::{Capability, LOCKS, LockInfo};
use comfy_table::{Attribute, Cell, CellAlignment, ContentArrangement, Table, presets};
use serde::Serialize;
use std::process::ExitCode;

/// Options of `cohort list`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Print JSON: one object for each lock
    #[arg(long)]
    json: bool,
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
    if arguments.json {
        let entries: Vec<Entry> = LOCKS.iter().map(Entry::from).collect();
        let text = serde_json::to_string_pretty(&entries)
            .map_err(|error| Problem::refused(format!("cannot write JSON: {error}")))?;
        println!("{text}");
    } else {
        println!("{}", table());
        println!("{}", notes());
    }
    Ok(ExitCode::SUCCESS)
}

fn capabilities(lock: &LockInfo) -> Vec<&'static str> {
    lock.capabilities
        .iter()
        .copied()
        .map(Capability::name)
        .collect()
}

fn table() -> Table {
    let mut table = Table::new();
    table
        .load_preset(presets::UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(WIDTH)
        .set_header(
            [
                "lock",
                "what it is, and where it is described",
                "it can",
                "idle",
                "busy",
                "waiter",
            ]
            .map(|title| Cell::new(title).add_attribute(Attribute::Bold)),
        );
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

fn notes() -> String {
    format!(
        "idle, busy, waiter: bytes beyond the program's own mutex while nobody holds it, while \
         it is\nfought over, and for each thread that waits. Further names of a lock stand below \
         its name.\nThe default is {DEFAULT}; {} (or {}) means the C library's own locks.",
        SYSTEM[0], SYSTEM[1]
    )
}
