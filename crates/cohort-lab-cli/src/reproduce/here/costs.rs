//! What G2 and G5 say of one thread: what `glk` costs it beside `ticket`, and what it costs to find a
//! lock by an address.

use super::Part;
use cohort_lab::claims::Band;
use cohort_lab::stats::Estimate;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Rounds in which both loads are run.
const ROUNDS: usize = 7;

/// A load of this command, beside another.
pub(super) struct Cost {
    says: &'static str,
    /// The load, as words of `cohort workload`.
    pub(super) load: &'static [&'static str],
    /// What it is compared with.
    beside: &'static [&'static str],
    /// The figure, from the nanoseconds of a turn of either, and cycles in a nanosecond.
    figure: fn(f64, f64, f64) -> f64,
    /// What the figure counts.
    unit: &'static str,
    band: Band,
}

/// Those of G2.
pub(super) const ADAPTING: [Cost; 1] = [Cost {
    says: "one thread: GLK over ticket",
    load: &["uncontended", "--raw", "glk"],
    beside: &["uncontended", "--raw", "ticket"],
    figure: |ours, theirs, _| theirs / ours,
    unit: "",
    band: Band::AtLeast(0.78),
}];

const ADDED: fn(f64, f64, f64) -> f64 = |ours, theirs, cycles| (ours - theirs) * cycles;

/// Those of G5; a quarter more than about 30 is about 30.
pub(super) const FINDING: [Cost; 2] = [
    Cost {
        says: "GLS with one lock over the embedded lock: a few cycles",
        load: &["address", "--keys", "1"],
        beside: &["address", "--keys", "1", "--direct"],
        figure: ADDED,
        unit: " cycles",
        band: Band::AtMost(10.0),
    },
    Cost {
        says: "GLS with 512 locks: about 30 cycles",
        load: &["address", "--keys", "512"],
        beside: &["address", "--keys", "512", "--direct"],
        figure: ADDED,
        unit: " cycles",
        band: Band::AtMost(37.5),
    },
];

impl Cost {
    /// Runs it; so many cycles take a nanosecond.
    pub(super) fn part(&self, command: &Path, cycles: f64) -> Part {
        let (agrees, found) = match self.measured(command, cycles) {
            Err(why) => (None, why),
            Ok(ours) => {
                let text = format!(
                    "paper {}{unit}, ours {:.2} ({:.2} to {:.2}){unit}",
                    self.band.text(),
                    ours.median,
                    ours.low,
                    ours.high,
                    unit = self.unit,
                );
                (Some(self.band.holds(ours.median)), text)
            }
        };
        Part {
            says: self.says,
            program: format!("cohort workload {}", self.load.join(" ")),
            agrees,
            found,
            stacks: Vec::new(),
        }
    }

    fn measured(&self, command: &Path, cycles: f64) -> Result<Estimate, String> {
        let mut figures = Vec::new();
        for _ in 0..ROUNDS {
            let theirs = turn(command, self.beside)?;
            let ours = turn(command, self.load)?;
            figures.push((self.figure)(ours, theirs, cycles));
        }
        Estimate::of(&figures).ok_or_else(|| "no result".to_owned())
    }
}

/// Nanoseconds of a turn of that load.
fn turn(command: &Path, load: &[&str]) -> Result<f64, String> {
    let output = Command::new(command)
        .arg("workload")
        .args(load)
        .args(["--seconds", "0.15"])
        .output()
        .map_err(|error| format!("`cohort workload` cannot be run: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let told: Option<Value> = serde_json::from_str(said.trim()).ok();
    told.and_then(|told| told["pair"]["median"].as_f64())
        .ok_or_else(|| {
            let why = String::from_utf8_lossy(&output.stderr);
            format!(
                "`cohort workload {}` failed: {}",
                load.join(" "),
                why.trim()
            )
        })
}
