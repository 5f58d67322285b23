//! Claims that are about this machine: each is a few programs, and what has to come of them.

mod bugs;
mod costs;

use bugs::BUGS;
use cohort_cli::companion;
use cohort_cli::page::{self, Origin};
use cohort_cli::problem::Problem;
use cohort_cli::program::own_path;
use cohort_lab::claims::{Claim, Verdict};
use cohort_lab::interrupt;
use cohort_lab::progress::Progress;
use cohort_lab::rounds::Observer;
use cohort_lab::world::native::Host;
use costs::{ADAPTING, Cost, FINDING};
use serde::Serialize;
use std::path::Path;
use std::process::ExitCode;

/// The claims that can be run here, as far as they are about one thread.
pub const NAMES: [&str; 3] = ["G2", "G5", "G7"];

/// Whether a claim can be run here.
pub fn is_here(claim: &Claim) -> bool {
    NAMES.contains(&claim.id)
}

/// A claim, run here.
#[derive(Serialize)]
struct Row {
    id: &'static str,
    verdict: Verdict,
    claim: &'static str,
    source: &'static str,
    parts: Vec<Part>,
}

/// One of its parts.
#[derive(Serialize)]
struct Part {
    says: &'static str,
    /// The program.
    program: String,
    /// Whether what was found is what has to be; none if it could not be run.
    agrees: Option<bool>,
    /// What was found, in words, or why it could not be run.
    found: String,
    /// Where, innermost first, a stack for each thread that takes part.
    stacks: Vec<Vec<String>>,
}

/// Runs these claims and prints what came of them.  Blocks for some seconds.
///
/// # Errors
/// The command's own file is not there; nothing can be printed.
pub fn run(claims: &[&'static Claim], json: bool) -> Result<ExitCode, Problem> {
    interrupt::arm()
        .map_err(|error| Problem::refused(format!("cannot handle signals: {error}")))?;
    let (command, product) = (own_path()?, companion::cohort()?);
    let folder = tempfile::tempdir().map_err(|error| {
        Problem::refused(format!(
            "cannot create a folder: {error}; set TMPDIR to a writable folder"
        ))
    })?;
    let trials: Vec<(&Claim, Vec<Trial>)> = claims
        .iter()
        .map(|claim| (*claim, Trial::of(claim)))
        .collect();
    let planned = trials.iter().map(|(_, trials)| trials.len()).sum();
    let host = Host::look().map_err(Problem::refused)?;
    let place = TrialSetup {
        command: &command,
        product: &product,
        folder: folder.path(),
        cycles: host.hertz() / 1e9,
    };
    let mut progress = Progress::new(planned, false);
    let mut rows = Vec::new();
    for (claim, trials) in trials {
        let mut parts = Vec::new();
        for trial in trials {
            if let Err(signal) = interrupt::check() {
                return Ok(ExitCode::from(signal.status()));
            }
            progress.starts(trial.name(), false);
            parts.push(trial.part(&place));
        }
        let all = |wanted| parts.iter().all(|part| part.agrees == wanted);
        let verdict = if all(Some(true)) && claim.parts.is_empty() {
            Verdict::Agrees
        } else if all(Some(true)) {
            // Other parts are simulated.
            Verdict::AgreesSoFar
        } else if parts.iter().any(|part| part.agrees.is_none()) {
            Verdict::Failed
        } else {
            Verdict::Disagrees
        };
        rows.push(Row {
            id: claim.id,
            verdict,
            claim: claim.says,
            source: claim.source,
            parts,
        });
    }
    drop(progress);
    // What came of the last trial is not known either if a signal ended it.
    if let Err(signal) = interrupt::check() {
        return Ok(ExitCode::from(signal.status()));
    }
    if json {
        page::print_list(Origin::here(), "claims", &rows)?;
    } else {
        page::print(&text(&rows))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What a trial is run with.
struct TrialSetup<'a> {
    /// This command, with the loads.
    command: &'a Path,
    /// The command with `debug`.
    product: &'a Path,
    folder: &'a Path,
    /// Of this machine's clock, in a nanosecond.
    cycles: f64,
}

/// One part of a claim that can be run here.
enum Trial {
    Bug(&'static bugs::Bug),
    Cost(&'static Cost),
}

impl Trial {
    fn of(claim: &Claim) -> Vec<Self> {
        match claim.id {
            "G2" => ADAPTING.iter().map(Self::Cost).collect(),
            "G5" => FINDING.iter().map(Self::Cost).collect(),
            _ => BUGS.iter().map(Self::Bug).collect(),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Bug(bug) => bug.program,
            Self::Cost(cost) => cost.load[0],
        }
    }

    fn part(&self, place: &TrialSetup<'_>) -> Part {
        match self {
            Self::Bug(bug) => bug.part(place.product, place.folder),
            Self::Cost(cost) => cost.part(place.command, place.cycles),
        }
    }
}

fn text(rows: &[Row]) -> String {
    let mut parts = Vec::new();
    for row in rows {
        let mut table = page::bare();
        table.add_row([page::name(row.id), page::name(row.verdict.name())]);
        table.add_row([String::new(), format!("{} ({})", row.claim, row.source)]);
        for part in &row.parts {
            let mark = match part.agrees {
                Some(true) => "+",
                Some(false) => "-",
                None => "!",
            };
            let mut words = format!("{}: {}", part.says, part.found);
            for stack in &part.stacks {
                words.push_str("\n  ");
                words.push_str(&stack.join(" < "));
            }
            table.add_row([format!("{mark:>3}"), words]);
        }
        parts.push(page::lines(table, 0..0));
    }
    let agrees = [Verdict::Agrees, Verdict::AgreesSoFar];
    let agree = rows.iter().filter(|row| agrees.contains(&row.verdict));
    let agree = agree.count();
    parts.push(page::prose(&format!(
        "{agree} of {} run on this machine. Sources: examples/bugs and `cohort workload`.",
        page::counted(rows.len(), "claim agrees", "claims agree")
    )));
    parts.join("\n\n")
}
