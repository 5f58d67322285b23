//! The output of `cohort tune`.

use crate::testbed::Testbed;
use cohort::name::PREFIX;
use cohort_cli::page;
use cohort_lab::tune::field::{self, short};
use cohort_lab::tune::file::File;
use cohort_lab::tune::{Best, Policy, Score, TunePlan, Tuned, explain};
use serde::Serialize;

/// The number of compositions shown.
const SHOWN: usize = 8;

/// The number of tied locks named.
const NAMED: usize = 8;

/// Labels of a policy's marks and its best lock.
pub fn called(policy: &Policy) -> String {
    match policy {
        Policy::Low => "LC".to_owned(),
        Policy::High => "HC".to_owned(),
        Policy::Said(_) => "mark".to_owned(),
    }
}

pub fn text(plan: &TunePlan, tuned: &Tuned, place: &Testbed) -> String {
    let is_rival = |score: &&Score| score.rival;
    let rivals = tuned.scores.iter().filter(is_rival).count();
    let steady = tuned.scores.iter().filter(|score| score.steady).count();
    let hash = place
        .fingerprint()
        .map_or_else(String::new, |hash| format!(", simulated ({hash})"));
    let head = format!(
        "{}{hash}: {} with {} compositions and {rivals} other locks; {} points, {steady} locks in \
         steady state",
        place.name(),
        plan.info.name,
        tuned.scores.len() - rivals,
        tuned.points
    );
    let counts = explain::some(&plan.threads);
    let mut titles = vec!["lock".to_owned(), "levels".to_owned()];
    titles.extend(plan.policies.iter().map(called));
    titles.extend(counts.iter().map(|count| format!("×{count}")));
    let mut table = page::titled(&titles);
    let compositions = tuned.scores.iter().filter(|score| !score.rival);
    let mut shown: Vec<&Score> = compositions
        .filter(|score| score.steady && score.is_open(0))
        .take(SHOWN)
        .collect();
    shown.extend(tuned.scores.iter().filter(is_rival));
    shown.sort_by(|one, other| other.marks[0].total_cmp(&one.marks[0]));
    let worst = tuned.scores.iter().find(|score| score.lock == tuned.worst);
    shown.extend(worst.filter(|worst| shown.iter().all(|score| score.lock != worst.lock)));
    for score in shown {
        let mut row = short(&score.lock).to_vec();
        row.extend(score.marks.iter().map(|mark| format!("{mark:.3}")));
        row.extend(counts.iter().map(|count| score.with(*count)));
        table.add_row(row);
    }
    let mut text = format!(
        "{}\n\n{}\n",
        page::prose(&head),
        page::lines(table, 2..titles.len())
    );
    for (at, (policy, best)) in plan.policies.iter().zip(&tuned.best).enumerate() {
        let mark = |lock: &str| {
            let score = tuned.scores.iter().find(|score| score.lock == lock);
            score.map_or(0.0, |score| score.marks[at])
        };
        let what = match policy {
            Policy::Said(_) => "Best".to_owned(),
            policy => format!("{}-best", called(policy)),
        };
        let verdict = verdict(best, &mark);
        text += &format!("\n{}\n", page::prose(&format!("{what}: {verdict}")));
    }
    if plan.levels.is_empty() {
        let note = "No level below the whole system: compositions are plain locks here.";
        text += &format!("\n{}\n", page::prose(note));
    }
    text.trim_end().to_owned()
}

/// The best lock under a policy, and the best composition if different.
fn verdict(best: &Best, mark: &dyn Fn(&str) -> f64) -> String {
    let others: Vec<String> = best.ties[1.min(best.ties.len())..]
        .iter()
        .map(|lock| lock.trim_start_matches(PREFIX).to_owned())
        .collect();
    let more = match others.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more (--json and -o list all)"),
    };
    let ties = match &others[..others.len().min(NAMED)] {
        [] => String::new(),
        others => format!("; statistically tied with {}{more}", others.join(", ")),
    };
    let mut text = format!("{} ({:.3}){ties}.", best.lock, mark(&best.lock));
    if best.composition != best.lock {
        let behind = if best.behind > 0.0 {
            format!(", {:.1} % behind", 100.0 * best.behind)
        } else {
            String::new()
        };
        text += &format!(
            " No composition is faster: the best is {} ({:.3}){behind}.",
            best.composition,
            mark(&best.composition)
        );
    }
    text
}

/// The text for the mean over several machines.
pub fn mean(file: &File) -> String {
    let tuned = &file.tuned;
    let mut titles = vec!["lock".to_owned(), "levels".to_owned()];
    titles.extend(tuned.policies.iter().cloned());
    let mut table = page::titled(&titles);
    let mut scores: Vec<(&String, &Vec<f64>)> = tuned.scores.iter().collect();
    scores.sort_by(|one, other| other.1[0].total_cmp(&one.1[0]));
    for (at, (lock, marks)) in scores.into_iter().enumerate() {
        if at >= SHOWN && field::parts(lock).is_some() {
            continue;
        }
        let mut row = short(lock).to_vec();
        row.extend(marks.iter().map(|mark| format!("{mark:.3}")));
        table.add_row(row);
    }
    let head = format!("{}, the mean over {}", tuned.workload, tuned.machine);
    let best = Best {
        lock: file.lock.clone(),
        ties: tuned.ties.clone(),
        composition: tuned.composition.clone(),
        behind: tuned.behind,
    };
    let mark = |lock: &str| tuned.scores.get(lock).map_or(0.0, |marks| marks[0]);
    format!(
        "{}\n\n{}\n\n{}",
        page::prose(&head),
        page::lines(table, 2..titles.len()),
        page::prose(&format!("Best: {}", verdict(&best, &mark)))
    )
}

/// JSON output.
#[derive(Serialize)]
pub struct Sheet<'a> {
    on: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<&'a str>,
    workload: &'a str,
    threads: &'a [usize],
    policies: Vec<String>,
    best: &'a [Best],
    worst: &'a str,
    points: usize,
    scores: &'a [Score],
}

impl<'a> Sheet<'a> {
    pub fn of(plan: &'a TunePlan, tuned: &'a Tuned, place: &'a Testbed) -> Self {
        Self {
            on: place.name(),
            hash: place.fingerprint(),
            workload: plan.info.name,
            threads: &plan.threads,
            policies: plan.policies.iter().map(Policy::name).collect(),
            best: &tuned.best,
            worst: &tuned.worst,
            points: tuned.points,
            scores: &tuned.scores,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_become_short_ones() {
        let long = "clof:hemlock-ticket-mcs-clh@cache,numa,package,system";
        assert_eq!(short(long), ["hem-tkt-mcs-clh", "cache,numa,package"]);
        assert_eq!(short("clof:mcs@system"), ["mcs", "system"]);
        assert_eq!(short("hmcs-4"), ["hmcs-4", ""]);
    }

    #[test]
    fn a_rival_that_is_better_is_said_to_be_so() {
        let best = Best {
            lock: "hmcs-4".to_owned(),
            ties: vec!["hmcs-4".to_owned()],
            composition: "clof:mcs-mcs@numa,system".to_owned(),
            behind: 0.057,
        };
        let text = verdict(&best, &|lock| if lock == "hmcs-4" { 0.983 } else { 0.927 });
        assert!(text.starts_with("hmcs-4 (0.983). No composition"), "{text}");
        assert!(text.ends_with("(0.927), 5.7 % behind."), "{text}");
    }
}
