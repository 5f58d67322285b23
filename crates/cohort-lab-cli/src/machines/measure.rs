//! `cohort machines measure`: a machine file of this machine.

use super::{MACHINES, facts};
use clap::ValueHint;
use cohort_cli::destination;
use cohort_cli::page::{self, Origin};
use cohort_cli::problem::Problem;
use cohort_lab::interrupt;
use cohort_lab::measured::{self, Measured, Missing, file, nearest};
use cohort_lab::probe::Sample;
use cohort_lab::progress::{Progress, tell};
use cohort_machine::description::Machine;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `cohort machines measure`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = NOTES)]
pub struct Arguments {
    /// Write the file here instead of to standard output
    #[arg(short, long, value_name = "FILE.toml", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
    /// Take unmeasured figures from this machine [default: the most similar one]
    #[arg(long, value_name = "MACHINE|FILE", value_hint = ValueHint::FilePath,
        value_parser = MACHINES, hide_possible_values = true)]
    like: Option<String>,
    /// Name the machine [default: the name of FILE, or this-machine]
    #[arg(long)]
    name: Option<String>,
    /// Take the kernel's levels and few samples: a second or two
    #[arg(long)]
    quick: bool,
    /// Print JSON: figures with their samples, and the file
    #[arg(long)]
    json: bool,
}

const NOTES: &str = "\
Measures the CPUs that the process may use (taskset, cpuset): own hits, lines of other CPUs at each \
distance, invalidations, hardware threads, system calls, switches, wake-ups, time slices. A note in the \
file gives the median, the 10th and the 90th percentile and the number of samples; everything else is \
an estimate of a named machine. Keep the machine idle.

Without --quick, `cohort discover` measures the levels, about 10 ms a pair of CPUs. Uneven levels are \
left out.

Examples:
  cohort machines measure --quick >here.toml
  cohort machines measure --quick -o mine.toml --like epyc-9454p
  cohort bench --on ./mine.toml --workload lbench --locks mcs

Exit status: 0 if the file is written; 2 for invalid options; 125 if it cannot be measured or written; \
130 after Ctrl-C, with the figures so far.";

/// Executes `cohort machines measure`.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    if let Some(file) = &arguments.output {
        destination::writable(file)?;
    }
    let like = arguments.like.as_deref();
    let like = like
        .map(|name| Machine::open(name).map_err(Problem::usage))
        .transpose()?;
    let name = name(arguments)?;
    let measured = measure(arguments.quick)?;
    let like = like.unwrap_or_else(|| nearest(&measured.facts, &measured.shape));
    let text = file::text(&measured, &name, &like).map_err(Problem::refused)?;
    if let Some(file) = &arguments.output {
        destination::write(file, text.as_bytes())?;
    }
    if arguments.json {
        let sheet = Sheet::of(&measured, &name, &like, &text)?;
        page::print_json(Origin::here(), &sheet)?;
    } else if arguments.output.is_none() {
        page::print_as_it_is(&text)?;
    }
    remark(&measured, &like);
    Ok(ended(&measured))
}

/// The machine's name, checked before anything is measured.
fn name(arguments: &Arguments) -> Result<String, Problem> {
    let stem = arguments.output.as_ref().and_then(|file| file.file_stem());
    let name = match (&arguments.name, stem) {
        (Some(name), _) => name.clone(),
        (None, Some(stem)) => stem.to_string_lossy().into_owned(),
        (None, None) => "this-machine".to_owned(),
    };
    Machine::check_name(&name)
        .map_err(|why| Problem::usage(format!("{why}; choose one with --name")))?;
    Ok(name)
}

/// Measures this machine, with progress.
///
/// # Errors
/// It cannot be measured, or a signal arrived before the first figure.
pub fn measure(quick: bool) -> Result<Measured, Problem> {
    interrupt::arm()
        .map_err(|error| Problem::refused(format!("cannot handle signals: {error}")))?;
    let topology = cohort_topology::here().map_err(Problem::refused)?;
    let facts = facts::here(topology.cpus()[0]);
    let mut progress = Progress::new(measured::steps(&topology, quick), false);
    let found = measured::here(&topology, facts, quick, &mut progress);
    drop(progress);
    let measured = found.map_err(Problem::refused)?;
    match measured.interrupted {
        Some(signal) if measured.figures.is_empty() => Err(Problem::new(
            signal.status(),
            "interrupted before the first figure was measured",
        )),
        _ => Ok(measured),
    }
}

/// Says on stderr what is missing and how far the figures can be trusted.
pub fn remark(measured: &Measured, like: &Machine) {
    let say = |text: String| tell(page::remarks(&format!("cohort: {text}")).trim_end());
    if measured.interrupted.is_some() {
        say(format!(
            "interrupted: {} figures were measured, the others are {}'s",
            measured.figures.len(),
            like.name
        ));
    } else {
        say(format!(
            "{} figures measured, the others are {}'s",
            measured.figures.len(),
            like.name
        ));
    }
    for level in &measured.left_out {
        say(format!(
            "the cohorts of the level `{level}` differ in size: it is left out"
        ));
    }
    for missing in &measured.missing {
        say(format!(
            "not measured: {} ({})",
            missing.figure, missing.why
        ));
    }
    if let Some(foreign) = measured.foreign.filter(|share| *share > 0.1) {
        say(format!(
            "other processes used {:.0} % of the CPUs; repeat on an idle machine",
            foreign * 100.0
        ));
    }
}

/// The exit status of a measurement, perhaps an interrupted one.
pub fn ended(measured: &Measured) -> ExitCode {
    let signal = measured.interrupted;
    signal.map_or(ExitCode::SUCCESS, |signal| ExitCode::from(signal.status()))
}

/// The output as JSON.
#[derive(Serialize)]
struct Sheet {
    name: String,
    hierarchy: String,
    cpus: Vec<usize>,
    like: String,
    interrupted: bool,
    foreign: Option<f64>,
    figures: Vec<Figure>,
    missing: Vec<Lack>,
    file: String,
}

#[derive(Serialize)]
struct Figure {
    figure: String,
    unit: &'static str,
    #[serde(flatten)]
    sample: Sample,
    how: &'static str,
}

#[derive(Serialize)]
struct Lack {
    figure: String,
    why: String,
}

impl Sheet {
    fn of(measured: &Measured, name: &str, like: &Machine, text: &str) -> Result<Self, Problem> {
        let machine = Machine::parse(text).map_err(|error| Problem::refused(error.to_string()))?;
        let figures = measured.figures.iter().map(|(what, sample)| Figure {
            figure: what.name(),
            unit: what.unit(),
            sample: *sample,
            how: what.how(),
        });
        let lack = |missing: &Missing| Lack {
            figure: missing.figure.clone(),
            why: missing.why.clone(),
        };
        Ok(Self {
            name: name.to_owned(),
            hierarchy: machine.hierarchy.notation(),
            cpus: measured.shape.cpus.clone(),
            like: like.name.clone(),
            interrupted: measured.interrupted.is_some(),
            foreign: measured.foreign,
            figures: figures.collect(),
            missing: measured.missing.iter().map(lack).collect(),
            file: text.to_owned(),
        })
    }
}
