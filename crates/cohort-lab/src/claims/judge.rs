//! Verdicts and their reasons.

use super::experiment::{FIRST_SEED, Points, Simulators, Varied};
use super::measure::{Measure, Metric, Reading};
use super::stands::Found;
use super::{Claim, Part};
use crate::bench::Outcome;
use crate::plot::figure;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Verdict on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// All parts agree, with at least four of five seeds.
    Agrees,
    /// An estimate of a machine's file decides: it agrees at some values of its range only.
    AgreesWithinEstimate,
    /// All runnable parts agree; others cannot be run yet.
    AgreesSoFar,
    /// It agrees with some seeds only.
    Undecided,
    /// Some part disagrees.
    Disagrees,
    /// A run did not end, which implies nothing about the claim.
    Failed,
    /// No part can be run yet.
    NotYetRunnable,
}

impl Verdict {
    /// The verdict in words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::AgreesWithinEstimate => "agrees within the estimate",
            Self::AgreesSoFar => "agrees so far",
            Self::Undecided => "undecided",
            Self::Disagrees => "disagrees",
            Self::Failed => "failed",
            Self::NotYetRunnable => "not yet runnable",
        }
    }
}

impl Verdict {
    /// Whether it needs no counterfactual.
    pub(super) const fn is_settled(self) -> bool {
        matches!(
            self,
            Self::Agrees | Self::AgreesWithinEstimate | Self::NotYetRunnable
        )
    }
}

/// Printed for a disagreement that no counterfactual resolves.
pub const UNEXPLAINED: &str = "not explained";

/// Whether that many seeds suffice for agreement: four of five.
const fn is_enough(agreeing: usize, seeds: usize) -> bool {
    agreeing * 5 >= seeds * 4
}

/// Whether that few seeds are a disagreement: one of five.
const fn is_few(agreeing: usize, seeds: usize) -> bool {
    agreeing * 5 <= seeds
}

/// Judged claim.
#[derive(Clone, Debug, Serialize)]
pub struct Judged {
    /// Its ID.
    pub id: &'static str,
    /// The paper and section.
    pub source: &'static str,
    /// The claim.
    pub claim: &'static str,
    /// The verdict.
    pub verdict: Verdict,
    /// Seeds with agreement of all runnable parts.
    pub agreeing: usize,
    /// The number of seeds.
    pub seeds: usize,
    /// Missing prerequisites, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// Its parts.
    pub parts: Vec<JudgedPart>,
    /// Results at the ends of the ranges of estimates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ends: Vec<JudgedEnd>,
    /// Results with one change, run if it does not agree.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub counterfactuals: Vec<JudgedPart>,
    /// The CPU time of its runs, which is irrelevant to the claim.
    #[serde(skip)]
    pub took: Duration,
}

impl Judged {
    /// The reasons for disagreement: the agreeing counterfactuals.
    #[must_use]
    pub fn because(&self) -> String {
        let agree = self.counterfactuals.iter();
        let agree = agree.filter(|part| part.agrees == Some(true));
        let says: Vec<&str> = agree.map(|part| part.says.as_str()).collect();
        match says.as_slice() {
            [] => UNEXPLAINED.to_owned(),
            _ if self.parts.len() == 1 => format!("it would agree {}", says.join("; or ")),
            _ => format!("parts of it would agree {}", says.join("; ")),
        }
    }

    /// The verdict in words, with its share of the seeds.
    #[must_use]
    pub fn verdict_text(&self) -> String {
        let name = self.verdict.name();
        match self.verdict {
            Verdict::NotYetRunnable | Verdict::Failed => name.to_owned(),
            _ if self.seeds < 2 => format!("{name}, with seed {FIRST_SEED}"),
            _ => format!("{name}, in {} of {} seeds", self.agreeing, self.seeds),
        }
    }
}

/// A row at one end of an estimate.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct JudgedEnd {
    /// The last word of the moved estimates.
    pub estimate: String,
    /// `least` or `most`.
    pub end: String,
    /// The row's parts.
    pub parts: Vec<JudgedPart>,
}

/// Judged part of a claim.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct JudgedPart {
    /// Its statement.
    pub says: String,
    /// The simulated machine.
    pub machine: String,
    /// The fingerprint of its file.
    pub hash: String,
    /// The experiment.
    pub experiment: String,
    /// The computation of our figure.
    pub computed: String,
    /// The band of agreement.
    pub paper: String,
    /// Our figure, the median of the seeds'; none if not computable.
    pub ours: Option<f64>,
    /// The least and the greatest figure of the seeds.
    pub spread: Option<(f64, f64)>,
    /// Its point along the sweep.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Beside a mean of waits, the longest of them in cycles, which papers rarely give.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest: Option<u64>,
    /// The scale: critical sections counted in the runs.
    pub sections: u64,
    /// Whether enough seeds agree; none if not computable.
    pub agrees: Option<bool>,
    /// The number of agreeing seeds.
    pub agreeing: usize,
    /// The number of seeds.
    pub seeds: usize,
    /// Missing locks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Evidence from the runs, or the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Throughput against threads, as SVG, if threads were varied.
    #[serde(skip)]
    pub curves: Option<String>,
}

impl JudgedPart {
    /// Whether it agrees with some seeds only.
    #[must_use]
    pub const fn is_undecided(&self) -> bool {
        let few = is_few(self.agreeing, self.seeds);
        matches!(self.agrees, Some(false)) && !few
    }
}

/// Judges a claim by the points run with each of these seeds.
#[must_use]
pub fn judge(
    claim: &'static Claim,
    points: &Points,
    found: &Found,
    simulators: &Simulators,
    seeds: &[u64],
) -> Judged {
    let judged: Vec<(JudgedPart, Vec<bool>)> = claim
        .parts
        .iter()
        .map(|part| judge_part(part, points, found, simulators, seeds))
        .collect();
    let in_all = |seed: &usize| {
        judged
            .iter()
            .all(|(_, by_seed)| by_seed.get(*seed) != Some(&false))
    };
    let agreeing = (0..seeds.len()).filter(in_all).count();
    let parts: Vec<JudgedPart> = judged.into_iter().map(|(part, _)| part).collect();
    let runnable: Vec<&JudgedPart> = parts.iter().filter(|p| p.missing.is_empty()).collect();
    let disagrees = runnable.iter().any(|part| part.agrees == Some(false));
    let failed = runnable.iter().any(|part| part.agrees.is_none());
    let complete = runnable.len() == parts.len() && claim.needs.is_none();
    let verdict = if runnable.is_empty() {
        Verdict::NotYetRunnable
    } else if failed && !disagrees {
        Verdict::Failed
    } else if failed || is_few(agreeing, seeds.len()) {
        Verdict::Disagrees
    } else if !is_enough(agreeing, seeds.len()) {
        Verdict::Undecided
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
        agreeing,
        seeds: seeds.len(),
        missing: missing(claim, &parts),
        parts,
        ends: Vec::new(),
        counterfactuals: Vec::new(),
        took: Duration::ZERO,
    }
}

/// A claim's missing prerequisites, in words.
fn missing(claim: &Claim, parts: &[JudgedPart]) -> Option<String> {
    let mut locks: Vec<&str> = Vec::new();
    for lock in parts.iter().flat_map(|part| &part.missing) {
        if !locks.contains(&lock.as_str()) {
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

/// Judges a part, and returns whether it agrees with each seed.
pub(super) fn judge_part(
    part: &Part,
    points: &Points,
    found: &Found,
    simulators: &Simulators,
    seeds: &[u64],
) -> (JudgedPart, Vec<bool>) {
    let machine = simulators.get(part.experiment.machine);
    let missing = part.missing();
    let mut judged = JudgedPart {
        says: part.says.to_owned(),
        machine: part.experiment.machine.to_owned(),
        hash: machine.machine().fingerprint.clone(),
        experiment: part.experiment.about(),
        computed: part.measure.text(part.experiment.machine, found),
        paper: part.band.text(),
        ours: None,
        spread: None,
        at: None,
        longest: None,
        sections: 0,
        agrees: None,
        agreeing: 0,
        seeds: seeds.len(),
        missing: missing.iter().map(|lock| (*lock).to_owned()).collect(),
        why: None,
        curves: None,
    };
    if !missing.is_empty() {
        return (judged, Vec::new());
    }
    let names = part.measure.locks().into_iter();
    let stands = |name| found.locks(name, part.experiment.machine);
    let locks: Vec<&str> = names.flat_map(stands).collect();
    judged.curves = seeds.first().and_then(|seed| {
        let experiment = &part.experiment;
        experiment.curves(&locks, &judged.hash, points, *seed)
    });
    let compute = |seed: &u64| {
        let (experiment, band) = (&part.experiment, part.band);
        part.measure.compute(experiment, points, found, band, *seed)
    };
    let mut readings: Vec<Reading> = match seeds.iter().map(compute).collect() {
        Ok(readings) => readings,
        Err(why) => {
            // A long report continues with each thread's wait.
            judged.why = why.lines().next().map(str::to_owned);
            return (judged, Vec::new());
        }
    };
    let by_seed: Vec<bool> = readings
        .iter()
        .map(|reading| part.band.holds(reading.value))
        .collect();
    judged.agreeing = by_seed.iter().filter(|agrees| **agrees).count();
    let agrees = is_enough(judged.agreeing, seeds.len());
    judged.agrees = Some(agrees);
    readings.sort_by(|one, other| one.value.total_cmp(&other.value));
    if let [least, .., most] = &readings[..] {
        judged.spread = Some((least.value, most.value));
    }
    let middle = readings.len().saturating_sub(1) / 2;
    if let Some(reading) = readings.get(middle) {
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
        judged.why = (!agrees).then(|| evidence(reading));
    }
    (judged, by_seed)
}

/// The number of least figures of a mean to show.
const LEAST: usize = 3;

/// Evidence from the runs behind a figure, in clauses; only counted facts.
fn evidence(reading: &Reading) -> String {
    let threads = |run: &(&str, Outcome)| run.1.per_thread.len();
    // Each lock's best may be at another point of the sweep.
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
            return "not of a single run".to_owned();
        }
        return format!("a mean over at least {}", least.join(", "));
    }
    format!("{at}{}", runs.join("; "))
}

fn run(lock: &str, with: Option<Varied>, outcome: &Outcome) -> String {
    let mut facts = vec![format!(
        "{} operations/ms",
        figure(outcome.per_second / 1000.0)
    )];
    if let Some(each) = outcome.transfers_each() {
        facts.push(format!("{} transfers per critical section", figure(each)));
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
        facts.push(format!("{} threads without the lock", outcome.unfinished));
    }
    if outcome.abandoned > 0 {
        facts.push(format!("{} abandoned", outcome.abandoned));
    }
    if let Some(simulated) = outcome.simulated.as_ref().filter(|_| outcome.sections > 0) {
        let each = |count: u64| count as f64 / outcome.sections as f64;
        let lost = each(simulated.events.failed_conditionals);
        if lost > 1.0 {
            facts.push(format!(
                "{} lost reservations per critical section",
                figure(lost)
            ));
        }
        if simulated.events.sleeps > 0 {
            facts.push(format!(
                "{:.2} sleeps per critical section",
                each(simulated.events.sleeps)
            ));
        }
    }
    let with = with.map_or_else(String::new, |with| format!(" with {with}"));
    format!("{lock}{with} has {}", facts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_of_five_seeds_agree_and_one_of_five_does_not() {
        assert!(is_enough(4, 5) && !is_enough(3, 5) && !is_few(2, 5) && is_few(1, 5));
        assert!(is_enough(1, 1) && is_few(0, 1));
        assert!(is_enough(2, 2) && !is_enough(1, 2) && !is_few(1, 2));
    }
}
