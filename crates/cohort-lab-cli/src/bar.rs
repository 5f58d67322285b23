//! `cohort bar`: measures the performance bars and says whether each is met.

mod show;

use crate::suggested::Suggested;
use clap::builder::PossibleValue;
use cohort_cli::choice::{Choice, DEFAULT};
use cohort_cli::compare::contestants;
use cohort_cli::page::{self, Origin};
use cohort_cli::problem::{Problem, status};
use cohort_cli::program::own_path;
use cohort_cli::settings::Settings;
use cohort_cli::{companion, library, start};
use cohort_lab::bars::{self, BARS, Bar, Drawn, Judgement, Session, Setup, Verdict};
use cohort_lab::interrupt;
use cohort_lab::progress::{Progress, tell};
use cohort_machine::description::nearest;
use serde::Serialize;
use std::path::Path;
use std::process::ExitCode;

/// Options of `cohort bar`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = NOTES)]
pub struct Arguments {
    /// Measure these targets of --list; a prefix selects several: `wait` is wait-p50,
    /// -p90, -p99 and -mean [default: all but envelope]
    #[arg(value_name = "NAME", value_parser = NAMES)]
    names: Vec<String>,
    /// List the targets without a measurement
    #[arg(long)]
    list: bool,
    /// Measure N rounds [default: 7, or 3 with --quick]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    rounds: Option<u16>,
    /// Use short runs and few rounds for a rough estimate in one or two minutes
    #[arg(long)]
    quick: bool,
    /// Add N machines, drawn by --seed, to the shipped machines of the envelope
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    synthetic: Option<u16>,
    /// Seed the machines of --synthetic
    #[arg(long, value_name = "SEED", requires = "synthetic", default_value_t = 1)]
    seed: u64,
    /// Show every point of a target, not only the worst
    #[arg(long)]
    points: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const NOTES: &str = "\
Contestants run in interleaved rounds in rotating order. A figure is the median of the rounds; the \
worst point of a target counts. A run is repeated, at most twice, if other processes used more than \
a tenth of its CPU time; rounds that remain disturbed are counted. All targets take about 25 \
minutes; `cohort bar wait` takes five.

`cohort bar envelope` runs on simulated machines, and only if named: up to an hour of one CPU, or a \
minute with --quick. --synthetic adds random machines; their sockets, cache groups, cores, hardware \
threads and latencies lie within the ranges of the shipped files. envelope-machine is the score of \
the worst machine. After Ctrl-C, complete points are judged.

Examples:
  cohort bar envelope --synthetic 12 --seed 7
  cohort bar envelope-machine --synthetic 3 --seed 7 --quick
  cohort machines show drawn-7-3 --file  print machine 3 of seed 7

Exit status: 0 if every measured target is met; 1 if one is missed; 2 for invalid options; 130 \
after Ctrl-C.";

/// Executes `cohort bar`.
pub fn run(arguments: Arguments) -> Result<ExitCode, Problem> {
    let bars = if arguments.list && arguments.names.is_empty() {
        BARS.iter().collect()
    } else {
        chosen(&arguments.names)?
    };
    if arguments.list {
        if arguments.json {
            let listed: Vec<Listed> = bars.iter().map(|bar| Listed::from(*bar)).collect();
            page::print_list(Origin::here(), "bars", &listed)?;
        } else {
            page::print(&show::list(&bars))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let drawn = arguments.synthetic.map(|machines| Drawn {
        machines,
        seed: arguments.seed,
    });
    if drawn.is_some() && !bars.iter().any(|bar| bar.is_long()) {
        return Err(Problem::usage(
            "--synthetic adds simulated machines, and these targets are native; name `envelope` \
             or a target that begins with it",
        ));
    }
    let setup = Setup {
        command: own_path()?,
        product: companion::cohort()?,
        interposer: library::USUAL.locate()?,
        drawn,
        ours: Vec::new(),
        apart: Vec::new(),
        system: contestants::environment(&Settings::of(Choice::System), Path::new(""), None),
        prove: &|program| start::prove(program).map_err(|problem| problem.to_string()),
        rounds: rounds(&arguments),
        quick: arguments.quick,
    };
    let ours = Settings::of(Choice::named(DEFAULT)?);
    let setup = Setup {
        ours: contestants::environment(&ours, &setup.interposer, None),
        apart: contestants::environment(&ours, &library::COMPOSITIONS.locate()?, None),
        ..setup
    };
    interrupt::arm()
        .map_err(|error| Problem::refused(format!("cannot handle signals: {error}")))?;
    let session = Session::new(bars, &setup);
    let mut progress = Progress::new(session.planned(), false);
    let judged = session.run(&setup, &mut progress);
    drop(progress);
    let judgements = &judged.judgements;
    if judged.signal.is_some() && judgements.is_empty() {
        tell("Interrupted before the first target was measured.");
    } else if arguments.json {
        let sheet = Sheet {
            bars: judgements,
            synthetic: drawn,
            points: judged.points,
        };
        page::print_json(Origin::here(), &sheet)?;
    } else {
        let table = show::table(judgements, arguments.points);
        let closing = show::closing(&judged, arguments.quick);
        page::print(&format!("{table}\n\n{closing}"))?;
    }
    if let Some(signal) = judged.signal {
        return Ok(ExitCode::from(signal.status()));
    }
    Ok(if judgements.iter().any(is_not_met) {
        ExitCode::from(status::NEGATIVE)
    } else {
        ExitCode::SUCCESS
    })
}

/// All bars in JSON.
#[derive(Serialize)]
struct Sheet<'a> {
    bars: &'a [Judgement],
    /// The drawn machines among those of the envelope.
    #[serde(skip_serializing_if = "Option::is_none")]
    synthetic: Option<Drawn>,
    /// Points of the envelope: measured and planned.
    #[serde(skip_serializing_if = "Option::is_none")]
    points: Option<[usize; 2]>,
}

/// A bar as the list in JSON shows it.
#[derive(Serialize)]
struct Listed {
    name: &'static str,
    asks: &'static str,
    target: String,
}

impl From<&'static Bar> for Listed {
    fn from(bar: &'static Bar) -> Self {
        Self {
            name: bar.name,
            asks: bar.asks,
            target: bar.target(),
        }
    }
}

fn chosen(names: &[String]) -> Result<Vec<&'static Bar>, Problem> {
    if names.is_empty() {
        return Ok(BARS.iter().filter(|bar| !bar.is_long()).collect());
    }
    let mut chosen: Vec<&Bar> = Vec::new();
    for name in names {
        let found = bars::find(name);
        if found.is_empty() {
            let names = BARS.iter().map(|bar| bar.name).chain(bars::families());
            return Err(Problem::usage(format!(
                "unknown target `{name}`{}\n`cohort bar --list` lists the targets",
                nearest::hint(name, names)
            )));
        }
        for bar in found {
            if chosen.iter().all(|other| other.name != bar.name) {
                chosen.push(bar);
            }
        }
    }
    Ok(chosen)
}

/// Names of bars and of their families; [`chosen`] rejects unknown ones.
const NAMES: Suggested = Suggested(|| {
    let names = BARS.iter().map(|bar| bar.name).chain(bars::families());
    names.map(PossibleValue::new).collect()
});

fn rounds(arguments: &Arguments) -> usize {
    let usual = if arguments.quick { 3 } else { 7 };
    usize::from(arguments.rounds.unwrap_or(usual))
}

fn is_not_met(judgement: &Judgement) -> bool {
    matches!(
        judgement.verdict,
        Verdict::Missed { .. } | Verdict::Failed { .. }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_chosen_by_name() {
        let usual = BARS.iter().filter(|bar| !bar.is_long()).count();
        assert_eq!(chosen(&[]).unwrap().len(), usual);
        let envelope = chosen(&["envelope".to_owned()]).unwrap();
        assert!(envelope.iter().all(|bar| bar.is_long()) && !envelope.is_empty());
        let name = BARS[0].name.to_owned();
        assert_eq!(chosen(&[name]).unwrap().len(), 1);
        let family = ["wait", "wait-p90"].map(str::to_owned);
        assert_eq!(chosen(&family).unwrap().len(), 5);
        let slip = chosen(&["glkk".to_owned()]).unwrap_err().to_string();
        assert!(slip.contains("did you mean `glk`?"), "{slip}");
        let problem = chosen(&["nope".to_owned()]).unwrap_err().to_string();
        assert!(problem.contains("--list"), "{problem}");
    }
}
