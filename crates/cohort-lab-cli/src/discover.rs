//! `cohort discover`: a machine's real hierarchy, by measurement.

use crate::machines::MACHINES;
use clap::ValueHint;
use cohort_cli::destination;
use cohort_cli::page::{self, Origin};
use cohort_cli::problem::Problem;
use cohort_lab::discover::{self, Discovery, Stop, cluster, file, heat, list};
use cohort_lab::interrupt;
use cohort_lab::progress::Progress;
use cohort_lab::world::simulated::Simulator;
use cohort_machine::description::Machine;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Options of `cohort discover`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = NOTES)]
pub struct Arguments {
    /// Measure this simulated machine: a name from `cohort machines`, or a file
    #[arg(long, value_name = "MACHINE|FILE", value_hint = ValueHint::FilePath,
        value_parser = MACHINES, hide_possible_values = true)]
    on: Option<String>,
    /// Write a cohort file for `--cohorts`
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
    /// Write a machine file with the measured topology and hand-overs, and all other
    /// figures of --like
    #[arg(long, value_name = "FILE.toml", value_hint = ValueHint::FilePath, requires = "like")]
    machine: Option<PathBuf>,
    /// Take unmeasured figures from this machine
    #[arg(long, value_name = "MACHINE|FILE", value_hint = ValueHint::FilePath,
        value_parser = MACHINES, hide_possible_values = true, requires = "machine")]
    like: Option<String>,
    /// Plot a heat map
    #[arg(long, value_name = "FILE.svg", value_hint = ValueHint::FilePath)]
    plot: Option<PathBuf>,
    /// Measure every pair of CPUs on a large machine too
    #[arg(long)]
    full: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const NOTES: &str = "\
Two threads alternately increment a counter on every pair of usable CPUs (a sample of pairs on large \
machines). CPUs that are much nearer to each other than to all others form a cohort, whatever their \
numbers. A level gets the kernel's name for the same cohorts, else an unused name. A latency \
difference below 20 % defines no level.

On this machine each pair takes about 5 ms, on lines in every node's memory. The measurement runs \
twice; a level needs both results, since virtual CPUs migrate. Run it on an idle machine.

Examples:
  cohort discover                                   this machine
  cohort discover --on epyc-7352x2 --plot h.svg -o h.cohorts
  cohort discover --on ivy-bridge-2s --machine mine.toml --like haswell-ep-2s
  cohort discover --on xeon-e7-4850x4 --json

Exit status: 0 if the machine was measured, with or without levels; 2 for invalid options; 125 if \
it could not be measured; 130 after Ctrl-C.";

/// Executes `cohort discover`.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    if let Some(file) = &arguments.plot {
        destination::plot(file)?;
    }
    for file in [&arguments.output, &arguments.machine]
        .into_iter()
        .flatten()
    {
        destination::writable(file)?;
    }
    let open = |name: &String| Machine::open(name).map_err(Problem::usage);
    let like = arguments.like.as_ref().map(open).transpose()?;
    let on = arguments.on.as_ref().map(open).transpose()?;
    interrupt::arm()
        .map_err(|error| Problem::refused(format!("cannot handle signals: {error}")))?;
    let looked = match on {
        Some(machine) => {
            let simulator = Arc::new(Simulator::new(machine));
            let hash = simulator.machine().fingerprint.clone();
            let mut progress = Progress::new(0, false);
            let looked = discover::there(&simulator, arguments.full, &mut progress);
            looked.map(|discovery| (discovery, Some(hash)))
        }
        None => {
            let topology = cohort_topology::here().map_err(Problem::refused)?;
            let pairs = cluster::pairs(topology.cpus().len());
            let mut progress = Progress::new(2 * pairs, false);
            let looked = discover::here(&topology, arguments.full, &mut progress);
            looked.map(|discovery| (discovery, None))
        }
    };
    let (discovery, hash) = match looked {
        Ok(found) => found,
        Err(Stop::Interrupted(signal)) => return Ok(ExitCode::from(signal.status())),
        Err(Stop::Failed(why)) => return Err(Problem::refused(why)),
    };
    if let Some(file) = &arguments.output {
        write(file, &discovery.cohorts())?;
    }
    if let (Some(file), Some(like)) = (&arguments.machine, &like) {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let text = file::text(&discovery, &stem, like).map_err(Problem::refused)?;
        write(file, &text)?;
    }
    if let Some(file) = &arguments.plot {
        heat::save(&discovery, file).map_err(Problem::refused)?;
    }
    if arguments.json {
        let origin = match &hash {
            Some(_) => Origin::simulated(&discovery.on),
            None => Origin::here(),
        };
        page::print_json(origin, &Sheet::of(&discovery, hash))?;
    } else {
        page::print(&text(&discovery, hash.as_deref()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn write(file: &Path, text: &str) -> Result<(), Problem> {
    std::fs::write(file, text)
        .map_err(|error| Problem::refused(format!("cannot write {}: {error}", file.display())))
}

fn text(discovery: &Discovery, hash: Option<&str>) -> String {
    let cpus = discovery.cpus.len();
    let mut head = match hash {
        Some(hash) => format!("{}, simulated ({hash})", discovery.on),
        None => "This machine".to_owned(),
    };
    head += &format!(
        ": {}, {} of {} pairs measured",
        cohort_lab::discover::counted(cpus),
        discovery.map.pairs(),
        cluster::pairs(cpus)
    );
    let mut table = page::titled(&[
        "level",
        "cohorts",
        "CPUs each",
        "hand-over",
        "nearer",
        "source",
    ]);
    let nanoseconds = |time: f64| format!("{time:.1} ns");
    for level in &discovery.levels {
        let sizes = level.cohorts.iter().map(Vec::len);
        let (least, most) = (sizes.clone().min().unwrap_or(0), sizes.max().unwrap_or(0));
        let sizes = if least == most {
            most.to_string()
        } else {
            format!("{least}–{most}")
        };
        let nearer = discovery.system.map_or_else(String::new, |system| {
            level
                .nanoseconds
                .map_or_else(String::new, |time| format!("{:.2} ×", system / time))
        });
        let is = match (level.is_kept, level.is_told, discovery.simulated) {
            (true, ..) => "kernel only; the times neither confirm nor refute it",
            (_, true, true) => "measured and in the file",
            (_, true, false) => "measured and in the kernel",
            (_, false, true) => "measured only",
            (_, false, false) => "measured only",
        };
        table.add_row([
            level
                .name
                .map_or("(unnamed)", |name| name.name())
                .to_owned(),
            level.cohorts.len().to_string(),
            sizes,
            level
                .nanoseconds
                .map_or_else(|| "?".to_owned(), nanoseconds),
            nearer,
            is.to_owned(),
        ]);
    }
    let (time, nearer) = match discovery.system {
        Some(system) => (nanoseconds(system), "1.00 ×"),
        None => ("?".to_owned(), ""),
    };
    let row = ["system", "1", &cpus.to_string(), &time, nearer, ""];
    table.add_row(row.map(str::to_owned));
    let mut notes = Vec::new();
    if cpus < 2 {
        notes.push("One CPU has no hierarchy: NUMA-aware locks gain nothing here.".to_owned());
    } else if cpus == 2 {
        notes.push(
            "Two CPUs form a single pair: there is no level below the whole system.".to_owned(),
        );
    } else if discovery.levels.is_empty() && discovery.system.is_some() {
        notes.push(
            "All CPUs are equidistant: there is no level below the whole system, and NUMA-aware \
             locks gain nothing here."
                .to_owned(),
        );
    }
    for denied in &discovery.denied {
        notes.push(format!(
            "{} reports {} cohorts at the level `{}`, but a hand-over between them takes only {:.2} \
             times as long as within them; locks ignore this level.",
            if discovery.simulated {
                "The file"
            } else {
                "The kernel"
            },
            denied.cohorts,
            denied.name,
            denied.ratio
        ));
    }
    if discovery.unsteady > 0 {
        notes.push(format!(
            "{} found in only one of two measurements: virtual CPUs migrate, or other processes ran. \
             Repeat on an idle machine.",
            match discovery.unsteady {
                1 => "One level was".to_owned(),
                more => format!("{more} levels were"),
            }
        ));
    }
    if !discovery.left_out.is_empty() {
        let mut busy: Vec<usize> = discovery
            .left_out
            .iter()
            .flat_map(|(one, other)| [discovery.cpus[*one], discovery.cpus[*other]])
            .collect();
        busy.sort_unstable();
        busy.dedup();
        notes.push(format!(
            "{} left out, since other processes use the CPUs {}. Repeat on an idle machine.",
            match discovery.left_out.len() {
                1 => "One pair is".to_owned(),
                more => format!("{more} pairs are"),
            },
            list(&busy)
        ));
    }
    let mut text = format!("{}\n", page::prose(&head));
    if cpus > 1 {
        text += &format!("\n{}\n", page::lines(table, 1..5));
    }
    for note in notes {
        text += &format!("\n{}\n", page::prose(&note));
    }
    text.trim_end().to_owned()
}

/// The output as JSON.
#[derive(Serialize)]
struct Sheet {
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
    cpus: Vec<usize>,
    levels: Vec<Level>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_nanoseconds: Option<f64>,
    denied: Vec<Denied>,
    unsteady: usize,
    left_out: Vec<[usize; 2]>,
    /// Two CPUs, and the nanoseconds of a hand-over.
    pairs: Vec<(usize, usize, f64)>,
}

#[derive(Serialize)]
struct Level {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'static str>,
    cohorts: Vec<Vec<usize>>,
    nanoseconds: Option<f64>,
    told: bool,
    kept: bool,
}

#[derive(Serialize)]
struct Denied {
    name: String,
    cohorts: usize,
    ratio: f64,
}

impl Sheet {
    fn of(discovery: &Discovery, hash: Option<String>) -> Self {
        let cpus = &discovery.cpus;
        let named = |cohort: &Vec<usize>| cohort.iter().map(|place| cpus[*place]).collect();
        let levels = discovery.levels.iter().map(|level| Level {
            name: level.name.map(|name| name.name()),
            cohorts: level.cohorts.iter().map(named).collect(),
            nanoseconds: level.nanoseconds,
            told: level.is_told,
            kept: level.is_kept,
        });
        let denied = discovery.denied.iter().map(|denied| Denied {
            name: denied.name.clone(),
            cohorts: denied.cohorts,
            ratio: denied.ratio,
        });
        let pairs =
            (0..cpus.len()).flat_map(|one| (one + 1..cpus.len()).map(move |other| (one, other)));
        let pairs = pairs.filter_map(|(one, other)| {
            let time = discovery.map.get((one, other))?;
            Some((cpus[one], cpus[other], time))
        });
        Self {
            hash,
            levels: levels.collect(),
            system_nanoseconds: discovery.system,
            denied: denied.collect(),
            unsteady: discovery.unsteady,
            left_out: discovery
                .left_out
                .iter()
                .map(|(a, b)| [cpus[*a], cpus[*b]])
                .collect(),
            pairs: pairs.collect(),
            cpus: cpus.clone(),
        }
    }
}
