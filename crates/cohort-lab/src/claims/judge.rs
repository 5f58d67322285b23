//! Verdicts, and why.

use super::experiment::{Points, Simulators, Varied};
use super::measure::{Measure, Metric, Reading};
use super::stands::Found;
use super::{Claim, Part};
use crate::bench::Outcome;
use crate::plot::figure;
use serde::Serialize;
use std::time::Duration;

/// What our runs say to a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// All of it agrees.
    Agrees,
    /// What can be run agrees; the rest cannot be run yet.
    AgreesSoFar,
    /// Some of it does not agree.
    Disagrees,
    /// A run came to no end, which says nothing about the claim.
    Failed,
    /// Nothing of it can be run yet.
    NotYetRunnable,
}

impl Verdict {
    /// In words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::AgreesSoFar => "agrees so far",
            Self::Disagrees => "disagrees",
            Self::Failed => "failed",
            Self::NotYetRunnable => "not yet runnable",
        }
    }
}

/// What is said of a disagreement for which nobody has found the reason.
pub const UNEXPLAINED: &str = "not explained";

/// A claim, judged.
#[derive(Clone, Debug, Serialize)]
pub struct Judged {
    /// Its name.
    pub id: &'static str,
    /// The paper and section.
    pub source: &'static str,
    /// What is claimed.
    pub claim: &'static str,
    /// What our runs say to it.
    pub verdict: Verdict,
    /// What is missing to run all of it; none if nothing is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// Its parts.
    pub parts: Vec<JudgedPart>,
    /// Why it disagrees, as far as that was measured; none if it does not, or if that is
    /// not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<&'static str>,
    /// How long its runs took on one CPU, which says nothing about the claim.
    #[serde(skip)]
    pub took: Duration,
}

/// A part of a claim, judged.
#[derive(Clone, Debug, Serialize)]
pub struct JudgedPart {
    /// What it says.
    pub says: &'static str,
    /// The simulated machine.
    pub machine: &'static str,
    /// The fingerprint of its file.
    pub hash: String,
    /// What was run there.
    pub experiment: String,
    /// How ours is computed.
    pub computed: String,
    /// When ours agrees with the paper's.
    pub paper: String,
    /// Ours; none if it could not be computed.
    pub ours: Option<f64>,
    /// Where along the sweep it was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Beside a mean of waits, the longest of them in cycles, which papers seldom give.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest: Option<u64>,
    /// Sections that were counted in the runs it was computed from: the scale.
    pub sections: u64,
    /// Whether it agrees; none if it could not be computed.
    pub agrees: Option<bool>,
    /// The locks it waits for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<&'static str>,
    /// What the runs themselves show, or what stopped them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Throughput against threads, as SVG, where threads were varied.
    #[serde(skip)]
    pub curves: Option<String>,
}

/// Judges a claim by the points that were run.
#[must_use]
pub fn judge(
    claim: &'static Claim,
    points: &Points,
    found: &Found,
    simulators: &Simulators,
) -> Judged {
    let parts = claim.parts.iter();
    let parts: Vec<JudgedPart> = parts
        .map(|part| judge_part(part, points, found, simulators))
        .collect();
    let runnable: Vec<&JudgedPart> = parts.iter().filter(|p| p.missing.is_empty()).collect();
    let disagree = runnable.iter().any(|part| part.agrees == Some(false));
    let failed = runnable.iter().any(|part| part.agrees.is_none());
    let complete = runnable.len() == parts.len() && claim.needs.is_none();
    let verdict = if runnable.is_empty() {
        Verdict::NotYetRunnable
    } else if disagree {
        Verdict::Disagrees
    } else if failed {
        Verdict::Failed
    } else if complete {
        Verdict::Agrees
    } else {
        Verdict::AgreesSoFar
    };
    Judged {
        id: claim.id,
        source: claim.source,
        claim: claim.says,
        verdict,
        missing: missing(claim, &parts),
        parts,
        because: claim.because.filter(|_| verdict == Verdict::Disagrees),
        took: Duration::ZERO,
    }
}

/// What a claim waits for, in words.
fn missing(claim: &Claim, parts: &[JudgedPart]) -> Option<String> {
    let mut locks: Vec<&str> = Vec::new();
    for lock in parts.iter().flat_map(|part| &part.missing) {
        if !locks.contains(lock) {
            locks.push(lock);
        }
    }
    let locks = match locks.as_slice() {
        [] => None,
        [one] => Some(format!("the lock {one} is missing")),
        several => Some(format!("the locks {} are missing", several.join(", "))),
    };
    match (locks, claim.needs) {
        (None, None) => None,
        (Some(locks), None) => Some(locks),
        (None, Some(needs)) => Some(needs.to_owned()),
        (Some(locks), Some(needs)) => Some(format!("{locks}; {needs}")),
    }
}

fn judge_part(part: &Part, points: &Points, found: &Found, simulators: &Simulators) -> JudgedPart {
    let machine = simulators.get(part.experiment.machine);
    let missing = part.missing();
    let computed = if missing.is_empty() {
        let read = part
            .measure
            .compute(&part.experiment, points, found, part.band);
        Some(read)
    } else {
        None
    };
    let mut judged = JudgedPart {
        says: part.says,
        machine: part.experiment.machine,
        hash: machine.machine().fingerprint.clone(),
        experiment: part.experiment.about(),
        computed: part.measure.text(part.experiment.machine, found),
        paper: part.band.text(),
        ours: None,
        at: None,
        longest: None,
        sections: 0,
        agrees: None,
        missing,
        why: None,
        curves: None,
    };
    if judged.missing.is_empty() {
        let names = part.measure.locks().into_iter();
        let stands = |name| found.locks(name, part.experiment.machine);
        let locks: Vec<&str> = names.flat_map(stands).collect();
        judged.curves = part.experiment.curves(&locks, &judged.hash, points);
    }
    match computed {
        None => {}
        // The rest of a long report is each thread's wait.
        Some(Err(why)) => judged.why = why.lines().next().map(str::to_owned),
        Some(Ok(reading)) => {
            let agrees = part.band.holds(reading.value);
            judged.ours = Some(reading.value);
            judged.at = reading.at.map(|at| at.to_string());
            if let Measure::Value {
                metric: Metric::Acquire,
                ..
            } = part.measure
            {
                let waits = reading.from.iter().filter_map(|(_, run)| run.acquire);
                judged.longest = waits.map(|wait| wait.most).max();
            }
            judged.sections = reading.from.iter().map(|(_, run)| run.sections).sum();
            judged.agrees = Some(agrees);
            judged.why = (!agrees).then(|| evidence(&reading));
        }
    }
    judged
}

/// So many of the figures that a mean is of are shown, the least of them.
const LEAST: usize = 3;

/// What the runs behind a figure show, each in a clause: nothing is said here that was
/// not counted in them.
fn evidence(reading: &Reading) -> String {
    let threads = |run: &(&str, Outcome)| run.1.per_thread.len();
    // Each lock's best may be elsewhere along the sweep.
    let apart = reading
        .from
        .windows(2)
        .any(|pair| threads(&pair[0]) != threads(&pair[1]));
    let at = reading
        .at
        .filter(|_| !apart)
        .map_or_else(String::new, |at| format!("at {at}, "));
    let mut runs: Vec<String> = Vec::new();
    for (lock, outcome) in &reading.from {
        let threads = apart.then_some(Varied::Threads(outcome.per_thread.len()));
        let run = run(lock, threads, outcome);
        if !runs.contains(&run) {
            runs.push(run);
        }
    }
    if runs.is_empty() {
        let least = reading.mean_of.iter().take(LEAST);
        let least: Vec<String> = least
            .map(|(at, value)| format!("{} at {at}", figure(*value)))
            .collect();
        if least.is_empty() {
            return "it is of no one run".to_owned();
        }
        return format!("it is a mean, of {} at the least", least.join(", "));
    }
    format!("{at}{}", runs.join("; "))
}

fn run(lock: &str, with: Option<Varied>, outcome: &Outcome) -> String {
    let mut facts = vec![format!(
        "{} operations/ms",
        figure(outcome.per_second / 1000.0)
    )];
    if let Some(each) = outcome.transfers_each() {
        facts.push(format!("{} transfers a section", figure(each)));
    }
    if let Some(each) = outcome.migrations_each() {
        let share = each * 100.0;
        facts.push(format!(
            "{share:.0} % of hand-overs between the largest cohorts"
        ));
    }
    if let Some(acquire) = outcome.acquire {
        facts.push(format!("{} cycles to acquire", figure(acquire.mean)));
    }
    if outcome.unfinished > 0 {
        facts.push(format!(
            "{} threads left without the lock",
            outcome.unfinished
        ));
    }
    if outcome.abandoned > 0 {
        facts.push(format!("{} given up", outcome.abandoned));
    }
    if let Some(simulated) = outcome.simulated.as_ref().filter(|_| outcome.sections > 0) {
        let each = |count: u64| count as f64 / outcome.sections as f64;
        let lost = each(simulated.events.failed_conditionals);
        if lost > 1.0 {
            facts.push(format!("{} lost reservations a section", figure(lost)));
        }
        if simulated.events.sleeps > 0 {
            facts.push(format!(
                "{:.2} sleeps a section",
                each(simulated.events.sleeps)
            ));
        }
    }
    let with = with.map_or_else(String::new, |with| format!(" with {with}"));
    format!("{lock}{with} has {}", facts.join(", "))
}
