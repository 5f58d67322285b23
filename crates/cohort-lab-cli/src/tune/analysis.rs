//! Common parts of `cohort tune sanl` and `cohort tune glk`: a lock is analysed on a machine, and
//! the result is drawn, written and printed.

use crate::machines::MACHINES;
use crate::testbed::Testbed;
use clap::ValueHint;
use cohort_cli::destination;
use cohort_cli::page;
use cohort_cli::problem::Problem;
use cohort_cli::program::command_line;
use cohort_lab::tune::origin::Origin;
use cohort_lab::tune::shape::Shape;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Options of every analysis.
#[derive(Debug, clap::Args)]
pub struct Common {
    /// Tune for this simulated machine: a name from `cohort machines`, or a file
    #[arg(long, value_name = "MACHINE|FILE", value_hint = ValueHint::FilePath,
        value_parser = MACHINES, hide_possible_values = true)]
    on: Option<String>,
    /// Write a configuration for `--config`
    #[arg(short, long, value_name = "FILE.toml", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
    /// Plot the measurements and the result
    #[arg(long, value_name = "FILE.svg", value_hint = ValueHint::FilePath)]
    plot: Option<PathBuf>,
    /// Seed all random choices
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// JSON output.
#[derive(Serialize)]
struct Sheet<'a, T> {
    machine: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<&'a str>,
    seed: u64,
    #[serde(flatten)]
    found: T,
}

impl Common {
    /// The machine, after checking that the output can be written.
    pub fn place(&self) -> Result<Testbed, Problem> {
        if let Some(file) = &self.plot {
            destination::plot(file)?;
        }
        if let Some(file) = &self.output {
            destination::writable(file)?;
        }
        Testbed::of(self.on.as_deref())
    }

    /// Draws, writes and prints the result: `write` gets the command and the origin,
    /// `text` is the printed text.
    pub fn show(
        &self,
        place: &Testbed,
        draw: impl FnOnce(&Path) -> Result<(), String>,
        write: impl FnOnce(&str, Origin) -> String,
        found: impl Serialize,
        text: impl FnOnce() -> String,
    ) -> Result<(), Problem> {
        if let Some(file) = &self.plot {
            draw(file).map_err(Problem::refused)?;
        }
        if let Some(file) = &self.output {
            let origin = Origin {
                machine: place.name().to_owned(),
                fingerprint: place.fingerprint().map(str::to_owned),
                shape: Shape::of(place.topology()).to_string(),
                threads: None,
                seed: self.seed,
            };
            let text = write(&command_line(), origin);
            destination::write(file, text.as_bytes())?;
        }
        if !self.json {
            return page::print(&text());
        }
        let sheet = Sheet {
            machine: place.name(),
            fingerprint: place.fingerprint(),
            seed: self.seed,
            found,
        };
        page::print_json(place.origin(), &sheet)
    }
}
