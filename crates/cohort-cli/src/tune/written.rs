//! The configuration that a tuned lock is written into.

use crate::problem::Problem;
use cohort_lab::tune::{Plan, Policy, Tuned};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// `[tuned]`: where a configuration's lock is from.  `cohort run` warns if this machine has
/// another shape.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct From {
    /// The machine.
    pub machine: String,
    /// The fingerprint of its file, if it was simulated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// How many cohorts each level has, and how many CPUs there are.
    pub shape: String,
    /// The workload.
    pub workload: String,
    /// What numbers of threads weigh, and so what the marks are by.
    pub policies: Vec<String>,
    /// The numbers of threads.
    pub threads: Vec<usize>,
    /// What all random choices depended on.
    pub seed: u64,
    /// All compositions that nothing sure parts from the lock.
    pub ties: Vec<String>,
    /// The marks of every lock, by policy.
    pub scores: BTreeMap<String, Vec<f64>>,
}

#[derive(Serialize)]
struct File {
    lock: String,
    tuned: From,
}

/// The text of a configuration, without cohorts.
pub fn text(
    plan: &Plan,
    tuned: &Tuned,
    on: &str,
    fingerprint: Option<&str>,
    shape: &str,
) -> Result<String, Problem> {
    let (lock, ties) = tuned
        .best
        .first()
        .filter(|(lock, _)| !lock.is_empty())
        .ok_or_else(|| Problem::refused("no composition was measured"))?;
    let rounded = |mark: &f64| (mark * 1e4).round() / 1e4;
    let scores = tuned.scores.iter().map(|score| {
        (
            score.lock.clone(),
            score.marks.iter().map(rounded).collect(),
        )
    });
    let file = File {
        lock: lock.clone(),
        tuned: From {
            machine: on.to_owned(),
            fingerprint: fingerprint.map(str::to_owned),
            shape: shape.to_owned(),
            workload: plan.info.name.to_owned(),
            policies: plan.policies.iter().map(Policy::name).collect(),
            threads: plan.threads.clone(),
            seed: plan.seed,
            ties: ties.clone(),
            scores: scores.collect(),
        },
    };
    let text = toml::to_string(&file).map_err(|error| {
        Problem::refused(format!("the configuration cannot be written: {error}"))
    })?;
    Ok(format!(
        "# Written by cohort tune, for cohort run --config.\n{text}"
    ))
}

/// The text with the key `cohorts`: a name beside the file, or else a whole path.
pub fn with_cohorts(text: &str, cohorts: Option<&Path>, file: &Path) -> Result<String, Problem> {
    let Some(cohorts) = cohorts else {
        return Ok(text.to_owned());
    };
    let whole = |path: &Path| {
        std::path::absolute(path)
            .map_err(|error| Problem::refused(format!("{}: {error}", path.display())))
    };
    let (cohorts, file) = (whole(cohorts)?, whole(file)?);
    let beside = cohorts.parent() == file.parent();
    let named = if beside {
        cohorts.file_name().map(Path::new)
    } else {
        None
    };
    let named = named.unwrap_or(&cohorts).display().to_string();
    let key = format!("cohorts = {}\n", toml::Value::String(named));
    Ok(text.replacen("\n[tuned]", &format!("{key}\n[tuned]"), 1))
}
