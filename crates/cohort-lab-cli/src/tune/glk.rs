//! `cohort tune glk`: finds when the adaptive lock should change its mode on a machine, for `cohort
//! run --config`.

use super::analysis::Common;
use super::{Stop, arm};
use crate::testbed::Testbed;
use cohort_cli::page;
use cohort_cli::problem::Problem;
use cohort_lab::bench::native;
use cohort_lab::options;
use cohort_lab::progress::Progress;
use cohort_lab::tune::glk::{self, Analysis, Cost, GlkPlan, file, picture};
use cohort_lab::world::native::Settings;
use cohort_lab::world::{Placement, Wait};
use serde::Serialize;
use std::process::ExitCode;

/// Options of `cohort tune glk`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = NOTES)]
pub struct Arguments {
    #[command(flatten)]
    common: Common,
    /// Measure each point for this time in each of five rounds [default: 0.02]
    #[arg(long, value_name = "SECONDS", value_parser = options::seconds, conflicts_with = "on")]
    seconds: Option<f64>,
}

const NOTES: &str = "\
Up to sixteen threads run critical sections of 0 to 4096 cycles under ticket and mcs. `up` is the \
crossover: the number of threads up to which ticket loses least against mcs; `down` is one less, at \
least 2. Then empty critical sections run under glk with each period, and with a fixed mode: two \
threads in mode ticket, eight in mode mcs. A period is the shortest one within 1 % of every longer \
one; a decision needs at least 32 samples (Antić et al. 2016 §3.1). Mode mcs needs five CPUs.

Examples:
  cohort tune glk --on haswell-ep-2s
  cohort tune glk --on haswell-ep-2s -o glk.toml --plot tune.svg
  cohort tune glk --on ivy-bridge-2s --json

Then: cohort run --lock glk --config glk.toml -- PROGRAM

Exit status: 0 on success; 2 for invalid options; 125 if a run failed; 130 after Ctrl-C.";

/// JSON output of an analysis.
#[derive(Serialize)]
struct Found<'a> {
    glk: Numbers,
    #[serde(flatten)]
    analysis: &'a Analysis,
}

/// The table `[glk]`.
#[derive(Serialize)]
struct Numbers {
    up: u32,
    down: u32,
    sample: u32,
    consider: u32,
}

/// Measuring rounds on this machine.
const ROUNDS: usize = 5;

/// Executes `cohort tune glk`.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let common = &arguments.common;
    let place = common.place()?;
    let plan = GlkPlan {
        cpus: place.topology().cpus().len(),
        seed: common.seed,
    };
    if plan.cpus < 2 {
        return Err(Problem::refused(format!(
            "{} has one CPU, without simultaneous waiters; choose another machine with --on",
            place.name()
        )));
    }
    arm()?;
    let analysis = match measured(arguments, &plan, &place) {
        Ok(analysis) => analysis,
        Err(Stop::Signal(status)) => return Ok(ExitCode::from(status)),
        Err(Stop::Failed(why)) => return Err(Problem::refused(why)),
    };
    let machine = place.name();
    let tuning = analysis.tuning();
    let found = Found {
        glk: Numbers {
            up: tuning.up,
            down: tuning.down,
            sample: tuning.sample,
            consider: tuning.consider,
        },
        analysis: &analysis,
    };
    common.show(
        &place,
        |plot| picture::save(&analysis, machine, plot),
        |command, origin| file::text(command, &analysis.tuning(), &origin),
        found,
        || text(&analysis, &plan, &place),
    )?;
    Ok(ExitCode::SUCCESS)
}

fn measured(arguments: &Arguments, plan: &GlkPlan, place: &Testbed) -> Result<Analysis, Stop> {
    let host = match place {
        Testbed::There(simulator) => {
            let mut progress = Progress::new(plan.points(), false);
            return glk::there(plan, simulator, &mut progress).map_err(Stop::from);
        }
        Testbed::Here(host) => host,
    };
    let mut progress = Progress::new(plan.points() * ROUNDS, false);
    glk::analyse(plan, &mut |settings, wait, tunings| {
        let wanted = settings.iter().map(|setting| native::Wanted {
            setting: setting.clone(),
            settings: Settings {
                seconds: arguments.seconds.unwrap_or(0.02),
                placement: Placement::Cores,
                wait: wait.unwrap_or_else(|| Wait::natural(&setting.lock, false)),
                background: 0,
                served: false,
                tunings: *tunings,
            },
        });
        let wanted: Vec<native::Wanted> = wanted.collect();
        native::measure(GlkPlan::info(), host, &wanted, ROUNDS, &mut progress).map_err(Stop::from)
    })
}

/// The tables, with conclusions.
fn text(analysis: &Analysis, plan: &GlkPlan, place: &Testbed) -> String {
    let tuning = analysis.tuning();
    let mut parts = vec![
        page::prose("Throughput of mcs over ticket, by threads:"),
        gains(analysis, plan),
        page::prose(
            "Remaining throughput with two threads in mode ticket and eight in mode mcs, by the \
             period of mode decisions and of queue samples, in critical sections:",
        ),
        costs(analysis),
    ];
    let from = match place.fingerprint() {
        Some(hash) => format!("simulated (file {hash}): virtual time"),
        None => "measured".to_owned(),
    };
    let up = match analysis.up {
        Some(up) if up < 2 => "mcs is faster from two threads on, the lowest threshold",
        Some(_) => "ticket up to this number of threads, mcs beyond",
        None if plan.long().is_none() => "mcs was not faster up to the number of CPUs",
        None => "mcs was never faster",
    };
    let periods = if plan.long().is_some() {
        ""
    } else {
        " Too few CPUs for mode mcs: its periods were not measured."
    };
    parts.push(page::prose(&format!(
        "{}, {from}. Threads on neighbouring cores, 100 cycles between critical sections.\n\
         up = {}: {up}.\n\
         down = {}: one less, as hysteresis.\n\
         sample = {}, consider = {}: shorter periods cost more than 1 %, or average fewer than \
         32 samples.{periods}",
        place.name(),
        tuning.up,
        tuning.down,
        tuning.sample,
        tuning.consider,
    )));
    parts.join("\n\n")
}

/// A row for each length of a critical section.
fn gains(analysis: &Analysis, plan: &GlkPlan) -> String {
    let threads = plan.threads();
    let mut titles = vec!["cycles per\nsection".to_owned()];
    titles.extend(threads.iter().map(|threads| format!("×{threads}")));
    titles.push("mcs\nfrom".to_owned());
    let mut table = page::titled(&titles);
    for length in &analysis.lengths {
        let mut row = vec![length.critical.to_string()];
        let gains = length.pairs.iter().map(|pair| pair.mcs / pair.ticket - 1.0);
        row.extend(gains.map(|gain| format!("{:+.0} %", gain * 100.0)));
        let crossing = length.crossing;
        row.push(crossing.map_or_else(|| "-".to_owned(), |threads| threads.to_string()));
        table.add_row(row);
    }
    page::lines(table, 0..titles.len())
}

/// A row for each period.
fn costs(analysis: &Analysis) -> String {
    let titles = [
        "sections",
        "considered\nticket",
        "considered\nmcs",
        "sampled\nticket",
        "sampled\nmcs",
    ];
    let mut table = page::titled(&titles);
    let (consider, sample) = (&analysis.costs.consider, &analysis.costs.sample);
    let percent = |left: Option<f64>| {
        left.map_or_else(|| "-".to_owned(), |left| format!("{:.1} %", left * 100.0))
    };
    for considered in consider {
        let looked = sample.iter().find(|cost| cost.period == considered.period);
        let pair = |cost: Option<&Cost>| {
            [
                percent(cost.map(|cost| cost.ticket)),
                percent(cost.and_then(|cost| cost.mcs)),
            ]
        };
        let mut row = vec![considered.period.to_string()];
        row.extend(pair(Some(considered)));
        row.extend(pair(looked));
        table.add_row(row);
    }
    page::lines(table, 0..titles.len())
}
