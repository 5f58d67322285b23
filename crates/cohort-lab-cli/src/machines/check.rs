//! `cohort machines check`: this machine beside its file.

use super::MACHINES;
use super::measure::{ended, measure};
use clap::ValueHint;
use cohort_cli::page::{self, Origin};
use cohort_cli::problem::{Problem, status};
use cohort_lab::measured::compare::{Row, TOLERANCE, compare};
use cohort_lab::measured::nearest;
use cohort_lab::measured::{Measured, amount};
use cohort_machine::description::{Machine, Source};
use serde::Serialize;
use std::process::ExitCode;

/// Options of `cohort machines check`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = NOTES)]
pub struct Arguments {
    /// Compare with this machine of `cohort machines` or file [default: the most similar machine]
    #[arg(value_name = "MACHINE|FILE", value_hint = ValueHint::FilePath,
        value_parser = MACHINES, hide_possible_values = true)]
    machine: Option<String>,
    /// Take the kernel's levels and few samples: a second or two
    #[arg(long)]
    quick: bool,
    /// Exit with 1 if a figure deviates by more than 15 %
    #[arg(long)]
    strict: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const NOTES: &str = "\
Measures this machine as `cohort machines measure` does, and prints each figure beside the file's. \
Hand-overs are in no file: the file's are simulated. CPUs under one last-level cache are compared with a \
cache group of the file.

Examples:
  cohort machines check --quick              beside the most similar machine
  cohort machines check --quick epyc-9454p
  cohort machines check --quick ./mine.toml

Exit status: 0 if the machine was measured; 1 with --strict if a figure deviates; 2 for invalid options \
or files; 125 if it cannot be measured; 130 after Ctrl-C, with the figures so far.";

/// Executes `cohort machines check`.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let given = arguments.machine.as_deref();
    let given = given
        .map(|name| Machine::open(name).map_err(Problem::usage))
        .transpose()?;
    let measured = measure(arguments.quick)?;
    let machine = given.unwrap_or_else(|| nearest(&measured.facts, &measured.shape));
    let rows = compare(&measured, &machine).map_err(Problem::refused)?;
    let beyond = rows
        .iter()
        .filter(|row| row.agrees() == Some(false))
        .count();
    if arguments.json {
        let sheet = Sheet::of(&measured, &machine, &rows, beyond);
        page::print_json(Origin::here(), &sheet)?;
    } else {
        page::print(&text(&measured, &machine, &rows, beyond))?;
    }
    if measured.interrupted.is_none() && arguments.strict && beyond > 0 {
        return Ok(ExitCode::from(status::NEGATIVE));
    }
    Ok(ended(&measured))
}

fn text(measured: &Measured, machine: &Machine, rows: &[Row], beyond: usize) -> String {
    let cpus = measured.shape.cpus.len();
    let head = format!(
        "{}, {}, beside {} ({})",
        measured.facts.model,
        page::counted(cpus, "CPU", "CPUs"),
        machine.name,
        machine.fingerprint
    );
    let mut table = page::titled(&["figure", "measured", "file", "ratio", "within 15 %"]);
    for row in rows {
        let unit = row.what.unit();
        let value = |value: f64| amount(value, unit);
        let agrees = match row.agrees() {
            None => "not in the file",
            Some(true) => "yes",
            Some(false) => "no",
        };
        let letter = match (row.source, row.file) {
            (Some(source), _) => source.name(),
            (None, Some(_)) => "simulated",
            (None, None) => "",
        };
        let letter = letter.chars().next().unwrap_or(' ');
        table.add_row([
            row.name.clone(),
            value(row.measured.median),
            row.file
                .map_or_else(String::new, |file| format!("{} {letter}", value(file))),
            row.ratio()
                .map_or_else(String::new, |ratio| format!("{ratio:.2}")),
            agrees.to_owned(),
        ]);
    }
    let compared = rows.iter().filter(|row| row.agrees().is_some()).count();
    let mut notes = vec![format!(
        "{} of {compared} figures are within {:.0} % of the file's.",
        compared - beyond,
        TOLERANCE * 100.0
    )];
    notes.push(
        "Sources of the file: p, paper; v, vendor's or another public document; m, measured; e, \
         estimate; s, simulated from its figures."
            .to_owned(),
    );
    if measured.interrupted.is_some() {
        notes.push("Interrupted: further figures were not measured.".to_owned());
    }
    for missing in &measured.missing {
        notes.push(format!(
            "Not measured: {} ({}).",
            missing.figure, missing.why
        ));
    }
    if let Some(foreign) = measured.foreign.filter(|share| *share > 0.1) {
        notes.push(format!(
            "Other processes used {:.0} % of the CPUs; repeat on an idle machine.",
            foreign * 100.0
        ));
    }
    format!(
        "{}\n\n{}\n\n{}",
        page::prose(&head),
        page::lines(table, 1..4),
        page::prose(&notes.join("\n"))
    )
}

/// The output as JSON.
#[derive(Serialize)]
struct Sheet {
    machine: String,
    fingerprint: String,
    tolerance: f64,
    interrupted: bool,
    foreign: Option<f64>,
    beyond: usize,
    rows: Vec<CheckedFigure>,
    missing: Vec<String>,
}

#[derive(Serialize)]
struct CheckedFigure {
    figure: String,
    unit: &'static str,
    measured: f64,
    low: f64,
    high: f64,
    count: usize,
    file: Option<f64>,
    source: Option<Source>,
    ratio: Option<f64>,
    agrees: Option<bool>,
}

impl Sheet {
    fn of(measured: &Measured, machine: &Machine, rows: &[Row], beyond: usize) -> Self {
        let line = |row: &Row| CheckedFigure {
            figure: row.name.clone(),
            unit: row.what.unit(),
            measured: row.measured.median,
            low: row.measured.low,
            high: row.measured.high,
            count: row.measured.count,
            file: row.file,
            source: row.source,
            ratio: row.ratio(),
            agrees: row.agrees(),
        };
        Self {
            machine: machine.name.clone(),
            fingerprint: machine.fingerprint.clone(),
            tolerance: TOLERANCE,
            interrupted: measured.interrupted.is_some(),
            foreign: measured.foreign,
            beyond,
            rows: rows.iter().map(line).collect(),
            missing: measured
                .missing
                .iter()
                .map(|missing| missing.figure.clone())
                .collect(),
        }
    }
}
