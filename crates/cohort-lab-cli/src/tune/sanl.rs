//! `cohort tune sanl`: finds the thresholds of `sanl` for a machine, for `cohort bench --config`.

use super::analysis::Common;
use super::{Stop, arm};
use crate::testbed::Testbed;
use cohort_cli::page;
use cohort_cli::problem::Problem;
use cohort_lab::bench::native;
use cohort_lab::bench::simulated::Until;
use cohort_lab::options;
use cohort_lab::plot::figure;
use cohort_lab::progress::Progress;
use cohort_lab::tune::origin::Origin;
use cohort_lab::tune::sanl::{self, LOCKS, Profile, SanlPlan, file, picture};
use cohort_lab::world::native::Settings;
use cohort_lab::world::{Placement, Tunings, Wait};
use serde::Serialize;
use std::process::ExitCode;

/// Options of `cohort tune sanl`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = NOTES)]
pub struct Arguments {
    #[command(flatten)]
    common: Common,
    /// Run N threads [default: one fewer than CPUs, at least two]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(2..))]
    threads: Option<u16>,
    /// Measure each point for this time [default: 0.05]; with --on, at most this virtual time
    /// [default: until the curves are distinct]
    #[arg(long, value_name = "SECONDS", value_parser = options::seconds)]
    seconds: Option<f64>,
}

const NOTES: &str = "\
Threads run critical sections at intervals from 100 to a million cycles: in place under mcs, and \
delegated under sanl, to any server and to a server of the same NUMA node. L_s, the number of \
fruitless polls before a server leaves, is fitted as a quadratic of the inverse contention. θ_l is \
the contention at which delegation equals mcs: beyond it, threads vote for delegation. θ_f is the \
contention at which a server of the same node equals any server: beyond it, threads wait for one \
(Zhang et al. 2017 §3.4.3).

Configurations for opteron-6274x8 and xeon-e7-4850x4 are shipped under these names.

Examples:
  cohort tune sanl --on i5-12500 --threads 4 --seconds 0.001
  cohort tune sanl --on i5-12500 --threads 4 --seconds 0.001 --plot l_s.svg
  cohort tune sanl --on i5-12500 --threads 4 --seconds 0.001 -o sanl.toml --json

Then: cohort bench --config sanl.toml --on i5-12500 --workload interval --locks sanl

Exit status: 0 on success; 2 for invalid options; 125 if a run failed; 130 after Ctrl-C.";

/// JSON output of a profile.
#[derive(Serialize)]
struct Found<'a> {
    locks: [&'static str; LOCKS.len()],
    #[serde(flatten)]
    profile: &'a Profile,
}

/// Executes `cohort tune sanl`.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let common = &arguments.common;
    let place = common.place()?;
    let plan = plan(arguments, &place)?;
    arm()?;
    let profile = match measured(arguments, &plan, &place) {
        Ok(profile) => profile,
        Err(Stop::Signal(status)) => return Ok(ExitCode::from(status)),
        Err(Stop::Failed(why)) => return Err(Problem::refused(why)),
    };
    let machine = place.name();
    let found = Found {
        locks: LOCKS,
        profile: &profile,
    };
    common.show(
        &place,
        |plot| picture::save(&profile, machine, plot),
        |command, origin| {
            let threads = Some(profile.threads);
            let origin = Origin { threads, ..origin };
            file::text(command, &profile.thresholds(), &origin)
        },
        found,
        || text(&profile, &place),
    )?;
    Ok(ExitCode::SUCCESS)
}

fn plan(arguments: &Arguments, place: &Testbed) -> Result<SanlPlan, Problem> {
    let cpus = place.topology().cpus().len();
    let usual = SanlPlan::of(cpus, arguments.common.seed);
    match arguments.threads.map(usize::from) {
        None if cpus < 2 => Err(Problem::refused(format!(
            "{} has one CPU, without simultaneous waiters; choose another machine with --on",
            place.name()
        ))),
        None => Ok(usual),
        Some(threads) if threads <= cpus => Ok(SanlPlan { threads, ..usual }),
        Some(threads) => Err(Problem::usage(format!(
            "--threads: found {threads}, expected 2 to {cpus}, the CPUs of {}",
            place.name()
        ))),
    }
}

fn measured(arguments: &Arguments, plan: &SanlPlan, place: &Testbed) -> Result<Profile, Stop> {
    let mut progress = Progress::new(SanlPlan::points(), false);
    let host = match place {
        Testbed::There(simulator) => {
            let until = arguments.seconds.map_or(sanl::LOOK, Until::Seconds);
            return sanl::there(plan, simulator, until, &mut progress).map_err(Stop::from);
        }
        Testbed::Here(host) => host,
    };
    sanl::profile(plan, &mut |settings, thresholds| {
        let wanted = settings.iter().map(|setting| native::Wanted {
            setting: setting.clone(),
            settings: Settings {
                seconds: arguments.seconds.unwrap_or(0.05),
                placement: Placement::Compact,
                wait: Wait::natural(&setting.lock, false),
                background: 0,
                served: false,
                tunings: Tunings {
                    sanl: *thresholds,
                    ..Tunings::USUAL
                },
            },
        });
        let wanted: Vec<native::Wanted> = wanted.collect();
        native::measure(SanlPlan::info(), host, &wanted, 1, &mut progress).map_err(Stop::from)
    })
}

/// The samples in a table, with conclusions.
fn text(profile: &Profile, place: &Testbed) -> String {
    let [in_place, any, near] = LOCKS;
    let titles = [
        "cycles\napart",
        "contention\n%",
        in_place,
        any,
        near,
        "best\nL_s",
        "fitted",
        "worst",
    ];
    let mut table = page::titled(&titles);
    let [in_place, any, near] = &profile.samples;
    let idle = profile.thresholds().idle;
    for ((in_place, any), near) in in_place.iter().zip(any).zip(near) {
        let mut looks = profile.looks.iter();
        let looks = looks.find(|looks| looks.sample.interval == any.interval);
        let at = |contention: f64| idle.at((contention * f64::from(cohort::WHOLE)) as u32);
        let cell = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        table.add_row([
            any.interval.to_string(),
            figure(any.contention * 100.0),
            figure(in_place.cycles),
            figure(any.cycles),
            figure(near.cycles),
            cell(looks.map(|looks| looks.best.to_string())),
            cell(looks.map(|looks| at(looks.sample.contention).to_string())),
            cell(looks.map(|looks| figure(looks.worst))),
        ]);
    }
    let [constant, linear, square] = profile.idle;
    let threshold = |share: Option<f64>, never: &str| {
        share.map_or_else(
            || never.to_owned(),
            |share| format!("{:.1} %", share * 100.0),
        )
    };
    let from = match place.fingerprint() {
        Some(hash) => format!("simulated (file {hash}): virtual time"),
        None => "measured".to_owned(),
    };
    let closing = format!(
        "{} threads on {}, {from}. Cycles: from the start of the acquisition to the end of the \
         release; contention: their share of a thread's time, under {}.\nθ_l = {}: delegation \
         from this contention on.\nθ_f = {}: waiting for a server of the same node from this \
         contention on.\nL_s = {} + {}/C + {}/C², at most {}, at contention C; worst: cycles per \
         critical section with the worst measured number.",
        profile.threads,
        place.name(),
        LOCKS[1],
        threshold(profile.brings, "100 %, since delegation never pays"),
        threshold(profile.strict, "100 %, since waiting never pays"),
        coefficient(constant),
        coefficient(linear),
        coefficient(square),
        idle.most,
    );
    let lines = page::lines(table, 0..titles.len());
    [lines, page::prose(&closing)].join("\n\n")
}

/// A possibly negative number.
fn coefficient(value: f64) -> String {
    if value < 0.0 {
        format!("({})", figure(value))
    } else {
        figure(value)
    }
}
