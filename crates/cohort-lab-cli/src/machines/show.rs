//! One machine: its tree, its costs, and the source of each figure.

use super::list::Figures;
use super::{MACHINES, tree};
use clap::ArgGroup;
use cohort_cli::page::{self, Origin};
use cohort_cli::problem::Problem;
use cohort_machine::description::{Cycles, Entry, Figure, Machine, Source, synthetic};
use serde::Serialize;
use std::process::ExitCode;

/// Options of `cohort machines show`.
#[derive(Debug, clap::Args)]
#[command(group = ArgGroup::new("which").required(true).args(["machine", "synthetic"]))]
pub struct Arguments {
    /// Show this machine of `cohort machines`, random machine (`drawn-SEED-NUMBER`) or file
    #[arg(value_parser = MACHINES, hide_possible_values = true)]
    machine: Option<String>,
    /// Print a machine file for this topology in hwloc's synthetic notation
    #[arg(long, value_name = "SHAPE", requires = "like")]
    synthetic: Option<String>,
    /// Take the costs of each level from this machine
    #[arg(long, value_name = "MACHINE", requires = "synthetic", value_parser = MACHINES,
        hide_possible_values = true)]
    like: Option<String>,
    /// Name the new machine
    #[arg(long, requires = "synthetic", default_value = "synthetic")]
    name: String,
    /// Print the machine's file
    #[arg(long, conflicts_with_all = ["synthetic", "json"])]
    file: bool,
    /// Print JSON: the machine file and its fingerprint
    #[arg(long, conflicts_with = "synthetic")]
    json: bool,
}

/// Executes `cohort machines show`.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    if let (Some(shape), Some(like)) = (&arguments.synthetic, &arguments.like) {
        let template = open(like)?;
        let text = synthetic(shape, &template, &arguments.name).map_err(Problem::usage)?;
        let file = format!("# {shape} like {like} ({})\n{text}", template.fingerprint);
        page::print_as_it_is(&file)?;
        return Ok(ExitCode::SUCCESS);
    }
    let machine = open(arguments.machine.as_deref().unwrap_or_default())?;
    if arguments.file {
        let file = machine.to_toml();
        let file = file.map_err(|error| Problem::refused(error.to_string()))?;
        page::print_as_it_is(&file)?;
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.json {
        let shown = Shown {
            fingerprint: &machine.fingerprint,
            machine: &machine,
        };
        page::print_json(Origin::simulated(&machine.name), &shown)?;
        return Ok(ExitCode::SUCCESS);
    }
    let parts = [
        page::prose(&heading(&machine)),
        tree::draw(&machine.hierarchy),
        costs(&machine),
        page::prose(LEGEND),
        figures(&machine.entries()),
    ];
    page::print(&parts.join("\n\n"))?;
    Ok(ExitCode::SUCCESS)
}

#[derive(Serialize)]
struct Shown<'a> {
    fingerprint: &'a str,
    #[serde(flatten)]
    machine: &'a Machine,
}

fn open(named: &str) -> Result<Machine, Problem> {
    Machine::open(named).map_err(Problem::usage)
}

/// Citations for the papers' numbers in machine files.
const PAPERS: [(&str, &str); 5] = [
    ("000", "Dice et al. 2015"),
    ("001", "Zhang et al. 2017"),
    ("002", "Chehab et al. 2021"),
    ("003", "Chabbi et al. 2017"),
    ("004", "Antić et al. 2016"),
];

/// A file's note with citations.
fn cited(note: &str) -> String {
    let words = note.split(' ').map(|word| {
        let paper = PAPERS.iter().find(|(number, _)| *number == word);
        paper.map_or(word, |(_, name)| *name)
    });
    words.collect::<Vec<&str>>().join(" ")
}

fn heading(machine: &Machine) -> String {
    format!(
        "{} ({})\n{}\ndescribed in {}; {:.1} GHz, {}, lines of {} bytes\n{}",
        machine.name,
        machine.fingerprint,
        machine.about,
        cited(&machine.described),
        machine.clock.value as f64 / 1000.0,
        machine.protocol.value.name(),
        machine.line.bytes.value,
        Figures::of(machine).text(),
    )
}

const LEGEND: &str = "\
Cycles, for a line modified in another cache within that level. Sources: p, paper; v, vendor's or \
another public document; m, measured; e, estimate. queue: time a load occupies the line.";

/// The cost of each distance.
fn costs(machine: &Machine) -> String {
    let titles = [
        "within",
        "load",
        "store",
        "rmw",
        "invalidate",
        "queue",
        "memory",
    ];
    let mut table = page::titled(&titles);
    for transfer in &machine.transfers {
        let within = match transfer.hops {
            0 => transfer.within.clone(),
            1 => format!("{}, 1 hop", transfer.within),
            hops => format!("{}, {hops} hops", transfer.within),
        };
        let costs = [
            &transfer.load,
            &transfer.store,
            &transfer.rmw,
            &transfer.invalidate,
            &transfer.occupancy,
        ];
        let mut cells = vec![within];
        cells.extend(costs.map(cost));
        cells.push(transfer.memory.as_ref().map_or_else(String::new, cost));
        table.add_row(cells);
    }
    let hit = [&machine.hit.load, &machine.hit.store, &machine.hit.rmw];
    let mut cells = vec!["own cache".to_owned()];
    cells.extend(hit.map(cost));
    cells.extend([String::new(), String::new(), cost(&machine.memory.local)]);
    table.add_row(cells);
    page::lines(table, 1..titles.len())
}

fn cost(figure: &Figure<Cycles>) -> String {
    let letter = match figure.source {
        Source::Paper => 'p',
        Source::Vendor => 'v',
        Source::Measured => 'm',
        Source::Estimate => 'e',
    };
    format!("{} {letter}", figure.value)
}

/// Every figure with its source.
fn figures(entries: &[Entry]) -> String {
    let mut table = page::titled(&["figure", "value", "source", "source"]);
    for entry in entries {
        let unit = match entry.unit.as_str() {
            unit @ ("cycles" | "ns") => format!(" {unit}"),
            "mhz" => " MHz".to_owned(),
            _ => String::new(),
        };
        table.add_row([
            entry.figure.clone(),
            match &entry.range {
                Some([least, most]) => format!("{}{unit} ({least} to {most})", entry.value),
                None => format!("{}{unit}", entry.value),
            },
            entry.source.name().to_owned(),
            cited(&entry.note),
        ]);
    }
    page::lines(table, 0..0)
}
