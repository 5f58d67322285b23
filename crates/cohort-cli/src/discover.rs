//! `cohort discover`: a machine's real hierarchy, by measurement.

use crate::destination;
use crate::machines::MachineName;
use crate::page::{self, Origin};
use crate::problem::Problem;
use clap::ValueHint;
use cohort_lab::discover::{self, Discovery, Stop, cluster, file, heat, list};
use cohort_lab::interrupt;
use cohort_lab::progress::Progress;
use cohort_lab::world::native;
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
    /// Look at this simulated machine instead: a name of `cohort machines`, or a file
    #[arg(long, value_name = "MACHINE|FILE", value_hint = ValueHint::FilePath,
        value_parser = MachineName, hide_possible_values = true)]
    on: Option<String>,
    /// Write the cohorts into a file that every `--cohorts` takes
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
    /// Write a machine file with this shape and these hand-overs, and all else as --like
    /// has it
    #[arg(long, value_name = "FILE.toml", value_hint = ValueHint::FilePath, requires = "like")]
    machine: Option<PathBuf>,
    /// The machine whose figures stand for what is not measured
    #[arg(long, value_name = "MACHINE|FILE", value_hint = ValueHint::FilePath,
        value_parser = MachineName, hide_possible_values = true, requires = "machine")]
    like: Option<String>,
    /// Draw the heat map
    #[arg(long, value_name = "FILE.svg", value_hint = ValueHint::FilePath)]
    plot: Option<PathBuf>,
    /// Measure every pair of CPUs, also on a large machine
    #[arg(long)]
    full: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const NOTES: &str = "\
Two threads take turns at counting up, on every pair of CPUs that may be used; on a large machine \
on some of them. Levels are found where CPUs are much nearer to each other than to all others; \
how CPUs are numbered says nothing. A level is called as the machine calls the same cohorts, or \
else by a name that is left. Levels that differ by less than a fifth are none.

On this machine each pair takes about 5 ms, on lines in every node's memory. All is looked at \
twice: what only one look finds is no level, since virtual CPUs move. Nothing else should run \
meanwhile.

Examples:
  cohort discover                                   this machine
  cohort discover --on epyc-7352x2 --plot h.svg -o h.cohorts
  cohort discover --on ivy-bridge-2s --machine mine.toml --like haswell-ep-2s
  cohort discover --on xeon-e7-4850x4 --json

Exit status: 0 if the machine was looked at, also if it has no levels; 2 for a mistake in the \
options; 125 if it could not be measured; 130 after Ctrl-C.";

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
        .map_err(|error| Problem::refused(format!("cannot watch for signals: {error}")))?;
    let looked = match on {
        Some(machine) => {
            let simulator = Arc::new(Simulator::new(machine));
            let hash = simulator.machine().fingerprint.clone();
            let mut progress = Progress::new(0, false);
            let looked = discover::there(&simulator, arguments.full, &mut progress);
            looked.map(|discovery| (discovery, Some(hash)))
        }
        None => {
            let topology = native::topology().map_err(Problem::refused)?;
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
        .map_err(|error| Problem::refused(format!("{} cannot be written: {error}", file.display())))
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
    let mut table = page::titled(&["level", "cohorts", "CPUs each", "hand-over", "nearer", "is"]);
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
            (true, ..) => "told by the kernel; times scatter too much to deny it",
            (_, true, true) => "as the file has it",
            (_, true, false) => "as the kernel tells",
            (_, false, true) => "not in the file",
            (_, false, false) => "unknown to the kernel",
        };
        table.add_row([
            level
                .name
                .map_or("(no name left)", |name| name.name())
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
        notes.push(
            "One CPU hands nothing over: there is no level to find, and locks that know of \
             levels bring nothing here."
                .to_owned(),
        );
    } else if cpus == 2 {
        notes.push(
            "Two CPUs are one pair, and there is no other to compare it with: whatever they \
             share, there is no level below the whole system."
                .to_owned(),
        );
    } else if discovery.levels.is_empty() && discovery.system.is_some() {
        notes.push(
            "All CPUs are equally far from each other: there is no level below the whole system, \
             and locks that know of levels bring nothing here."
                .to_owned(),
        );
    }
    for denied in &discovery.denied {
        notes.push(format!(
            "{} tells of {} cohorts at the level `{}`; between them a hand-over takes {:.2} times \
             as long as within them, so locks are not told.",
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
            "{} found in one of two looks only: virtual CPUs that move, or others that were busy. \
             Look again when the machine is quiet.",
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
            "{} measured without disturbance and left out, of the CPUs {}: others use them. \
             Look again when the machine is quiet.",
            match discovery.left_out.len() {
                1 => "One pair could not be".to_owned(),
                more => format!("{more} pairs could not be"),
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
