//! `cohort demo`: what there is to gain, on loads that the command carries.

use crate::choice::{Choice, DEFAULT};
use crate::compare::{contestants, show};
use crate::destination;
use crate::page::{self, Origin};
use crate::problem::{self, Problem, status};
use crate::program::own_path;
use crate::settings::Settings;
use crate::{library, start};
use clap::ValueHint;
use cohort_measure::compare::{Answer, Comparison};
use cohort_measure::metric::Metric;
use cohort_measure::plot::{Panel, Picture};
use cohort_measure::progress::Progress;
use cohort_measure::rounds::{self, Contestant, Played, Rules};
use cohort_measure::runner::Launch;
use cohort_measure::{interrupt, options};
use cohort_topology::disturb::allowed_cpus;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Options of `cohort demo`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Write the plot to this file
    #[arg(long, value_name = "FILE.svg", default_value = "cohort-demo.svg",
        value_hint = ValueHint::FilePath)]
    plot: PathBuf,
    /// Run for this time in all
    #[arg(long, default_value = "30", value_parser = options::seconds)]
    seconds: f64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A load and its results, as JSON shows them.
#[derive(Serialize)]
struct Load<'a> {
    load: &'a str,
    #[serde(flatten)]
    comparison: &'a Comparison,
}

/// The loads: what people read, and the workload's words.
const LOADS: [(&str, &[&str]); 2] = [
    (
        "SQLite, one connection shared by all threads",
        &["sqlite", "--mode", "shared-connection"],
    ),
    ("Reader–writer cache", &["cache"]),
];

const ROUNDS: usize = 7;

/// Executes `cohort demo`.
pub fn run(arguments: Arguments) -> Result<ExitCode, Problem> {
    destination::plot(&arguments.plot)?;
    let cpus = allowed_cpus().len();
    let threads = threads(cpus);
    interrupt::arm()
        .map_err(|error| Problem::refused(format!("cannot handle signals: {error}")))?;
    if !arguments.json {
        page::print(&page::prose(&format!(
            "Two programs with {threads} threads on {}, {ROUNDS} rounds, about {:.0} s: the C \
             library's locks against `{DEFAULT}`.",
            page::counted(cpus, "CPU", "CPUs"),
            arguments.seconds * 1.15
        )))?;
    }
    let metric = Metric::Throughput;
    let contestants = contestants(&arguments, threads)?;
    let mut progress = Progress::new(rounds::planned(&contestants, ROUNDS), false);
    let rules = Rules::of(ROUNDS);
    let played = rounds::play_by(&rules, &contestants, |run| metric.read(run), &mut progress);
    drop(progress);
    // A closed pipe would end this process before it can tidy up.
    drop(contestants);
    let Played {
        series,
        interrupted,
        ..
    } = played;
    if let Some(signal) = interrupted {
        let ended = series.iter().map(|one| one.samples.len()).min();
        let ended = ended.unwrap_or(0);
        problem::tell(format!("interrupted: {ended} of {ROUNDS} rounds complete"));
        if ended == 0 {
            return Ok(ExitCode::from(signal.status()));
        }
    }
    let comparisons: Vec<Comparison> = series
        .chunks(2)
        .map(|pair| Comparison::new(&metric, pair))
        .collect();
    picture(&comparisons, threads, cpus)
        .save(&arguments.plot)
        .map_err(Problem::refused)?;
    if arguments.json {
        let loads: Vec<Load> = LOADS
            .iter()
            .zip(&comparisons)
            .map(|((load, _), comparison)| Load { load, comparison })
            .collect();
        page::print_list(Origin::here(), "loads", &loads)?;
    } else {
        for ((title, _), comparison) in LOADS.iter().zip(&comparisons) {
            let verdicts = page::prose(&show::verdicts(comparison));
            page::print(&format!(
                "\n{title}\n\n{}\n\n{verdicts}",
                show::table(comparison, &metric)
            ))?;
        }
        page::print(&page::prose(&format!(
            "\n{}\nPlot of all rounds: {}.",
            closing(&comparisons),
            arguments.plot.display()
        )))?;
    }
    if let Some(signal) = interrupted {
        return Ok(ExitCode::from(signal.status()));
    }
    let failed = comparisons.iter().any(Comparison::has_failures);
    Ok(if failed {
        ExitCode::from(status::NEGATIVE)
    } else {
        ExitCode::SUCCESS
    })
}

/// More threads than CPUs, as servers have.
fn threads(cpus: usize) -> usize {
    (2 * cpus).clamp(4, 64)
}

/// For each load the system's locks, then ours.
fn contestants(arguments: &Arguments, threads: usize) -> Result<Vec<Contestant<'static>>, Problem> {
    let (command, library) = (own_path()?, library::USUAL.locate()?);
    start::prove(&command)?;
    let runs = (LOADS.len() * 2 * ROUNDS) as f64;
    let seconds = (arguments.seconds / runs).max(0.02).to_string();
    let mut contestants = Vec::new();
    for (_, words) in LOADS {
        let mut all = vec![command.clone().into_os_string(), "workload".into()];
        all.extend(words.iter().map(Into::into));
        all.extend(["--threads", &threads.to_string(), "--seconds", &seconds].map(Into::into));
        let launch = Launch {
            words: all,
            environment: Vec::new(),
            cpus: None,
            limit: Some(Duration::from_secs(60)),
        };
        for lock in [Choice::System, Choice::named(DEFAULT)?] {
            contestants.push(contestants::under(&Settings::of(lock), &library, &launch)?);
        }
    }
    Ok(contestants)
}

/// One sentence about the result.
fn closing(comparisons: &[Comparison]) -> String {
    let answers: Vec<Answer> = comparisons
        .iter()
        .filter_map(|comparison| comparison.rows[1].answer)
        .collect();
    let count = |wanted| answers.iter().filter(|answer| **answer == wanted).count();
    let disturbed: usize = comparisons
        .iter()
        .flat_map(|comparison| &comparison.rows)
        .map(|row| row.disturbed)
        .sum();
    let (better, worse) = (count(Answer::Better), count(Answer::Worse));
    let failed = count(Answer::Failed);
    let sentence = match (better, worse) {
        _ if failed > 0 => "A program failed, see above. Please report it.",
        (2, _) => "Both programs run faster on this machine with only the locks replaced.",
        (0, 0) => "Replacing the locks shows no difference on this machine.",
        (1, 0) => {
            "One program runs faster on this machine with only its locks replaced; the other \
             shows no difference."
        }
        (1, _) => {
            "One program runs faster on this machine, the other slower: measure your own with \
             `cohort compare`."
        }
        (_, 2) => "The C library's locks are faster for both programs on this machine.",
        _ => {
            "The C library's locks are faster for one program on this machine; the other shows \
             no difference."
        }
    };
    let runs = comparisons.len() * 2 * ROUNDS;
    if disturbed > 0 {
        return format!(
            "{sentence}\nOther processes used the CPUs during {disturbed} of {runs} runs: repeat \
             on an idle machine."
        );
    }
    sentence.to_owned()
}

fn picture(comparisons: &[Comparison], threads: usize, cpus: usize) -> Picture {
    let panels = LOADS
        .iter()
        .zip(comparisons)
        .map(|((title, _), comparison)| Panel {
            title: (*title).to_owned(),
            axis: "operations per second (higher is better)".to_owned(),
            rows: show::plot_rows(comparison),
        });
    Picture {
        title: "The same program, other locks".to_owned(),
        subtitle: format!(
            "{threads} threads on {cpus} CPUs; each dot one of {ROUNDS} interleaved rounds; \
             median: line; its interval: dark band"
        ),
        panels: panels.collect(),
    }
}
