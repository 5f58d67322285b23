//! The machines that are shipped, a row each.

use super::{WIDTH, print_json};
use crate::problem::Problem;
use cohort_machine::description::{Machine, Source, shipped};
use comfy_table::{Attribute, Cell, CellAlignment, ContentArrangement, Table, presets};
use serde::Serialize;
use std::process::ExitCode;

/// A machine as JSON shows it.
#[derive(Serialize)]
struct Row {
    name: String,
    about: String,
    described: String,
    cpus: usize,
    hierarchy: String,
    clock_mhz: u64,
    protocol: String,
    figures: Figures,
    fingerprint: String,
}

/// How many figures stand on what.
#[derive(Default, Serialize)]
pub struct Figures {
    paper: usize,
    vendor: usize,
    measured: usize,
    estimate: usize,
}

impl Figures {
    /// Counts those of a machine.
    pub fn of(machine: &Machine) -> Self {
        let mut figures = Self::default();
        for entry in machine.entries() {
            let count = match entry.source {
                Source::Paper => &mut figures.paper,
                Source::Vendor => &mut figures.vendor,
                Source::Measured => &mut figures.measured,
                Source::Estimate => &mut figures.estimate,
            };
            *count += 1;
        }
        figures
    }

    /// `14 paper, 10 vendor, 38 estimate`, without what there is none of.
    pub fn text(&self) -> String {
        let words = [
            (self.paper, Source::Paper),
            (self.vendor, Source::Vendor),
            (self.measured, Source::Measured),
            (self.estimate, Source::Estimate),
        ];
        let given = words.iter().filter(|(count, _)| *count > 0);
        let words: Vec<String> = given
            .map(|(count, source)| format!("{count} {}", source.name()))
            .collect();
        words.join(", ")
    }
}

/// Carries out `cohort machines` alone.
pub fn run(json: bool) -> Result<ExitCode, Problem> {
    let rows = shipped::MACHINES
        .iter()
        .map(|file| {
            let machine = Machine::open(file.name).map_err(Problem::refused)?;
            Ok(row(&machine))
        })
        .collect::<Result<Vec<Row>, Problem>>()?;
    if json {
        return print_json(&rows);
    }
    println!("{}", table(&rows));
    println!(
        "figures: how many stand on a paper, on a vendor's or another public document, and on an\n\
         estimate alone. `cohort machines show NAME` gives each with its source."
    );
    Ok(ExitCode::SUCCESS)
}

fn row(machine: &Machine) -> Row {
    Row {
        name: machine.name.clone(),
        about: machine.about.clone(),
        described: machine.described.clone(),
        cpus: machine.hierarchy.cpus(),
        hierarchy: machine.hierarchy.notation(),
        clock_mhz: machine.clock.value,
        protocol: machine.protocol.value.name().to_owned(),
        figures: Figures::of(machine),
        fingerprint: machine.fingerprint.clone(),
    }
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table
        .load_preset(presets::UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(WIDTH)
        .set_header(
            [
                "machine",
                "what it is",
                "CPUs",
                "GHz",
                "coherence",
                "figures",
            ]
            .map(|title| Cell::new(title).add_attribute(Attribute::Bold)),
        );
    for row in rows {
        table.add_row([
            Cell::new(format!("{}\n{}", row.name, row.fingerprint)),
            Cell::new(format!(
                "{}\n{}\n{}",
                row.about, row.hierarchy, row.described
            )),
            Cell::new(row.cpus),
            Cell::new(format!("{:.1}", row.clock_mhz as f64 / 1000.0)),
            Cell::new(&row.protocol),
            Cell::new(row.figures.text().replace(", ", "\n")),
        ]);
    }
    for column in table.column_iter_mut().skip(2).take(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
