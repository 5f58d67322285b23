//! The shipped machines, one per row.

use cohort_cli::page::{self, Origin};
use cohort_cli::problem::Problem;
use cohort_machine::description::{Machine, Source, shipped};
use comfy_table::Cell;
use serde::Serialize;
use std::process::ExitCode;

/// Machine in JSON.
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

/// Numbers of figures by source.
#[derive(Default, Serialize)]
pub struct Figures {
    paper: usize,
    vendor: usize,
    measured: usize,
    estimate: usize,
}

impl Figures {
    /// Counts a machine's figures.
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

    /// `14 paper, 10 vendor, 38 estimate`, without zeroes.
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

/// Executes `cohort machines` alone.
pub fn run(json: bool) -> Result<ExitCode, Problem> {
    let rows = shipped::all()
        .map(|file| {
            let machine = Machine::open(file.name).map_err(Problem::refused)?;
            Ok(row(&machine))
        })
        .collect::<Result<Vec<Row>, Problem>>()?;
    if json {
        page::print_list(Origin::here(), "machines", &rows)?;
        return Ok(ExitCode::SUCCESS);
    }
    let notes = page::prose(
        "figures: their number by source: a paper, a vendor's or another public document, an \
         estimate. `cohort machines show NAME` shows each source.",
    );
    page::print(&format!("{}\n\n{notes}", table(&rows)))?;
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

fn table(rows: &[Row]) -> String {
    let mut table = page::titled(&[
        "machine",
        "CPUs",
        "GHz",
        "coherence",
        "description",
        "figures",
    ]);
    for row in rows {
        table.add_row([
            page::name(&row.name),
            Cell::new(row.cpus),
            Cell::new(format!("{:.1}", row.clock_mhz as f64 / 1000.0)),
            Cell::new(&row.protocol),
            Cell::new(format!("{} ({})", row.about, row.hierarchy)),
            Cell::new(row.figures.text()),
        ]);
    }
    page::lines(table, 1..3)
}
