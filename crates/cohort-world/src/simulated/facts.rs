//! Facts that only a simulated machine provides about a run.

use cohort_machine::description::Machine;
use cohort_machine::{ByOwner, Events, Load, Outcome, Rule, Transfers};
use serde::Serialize;

/// The number of links shown: the busiest.
const LINKS: usize = 8;

/// Facts that only a simulated machine provides about a run.
#[derive(Clone, Debug, Serialize)]
pub struct Facts {
    /// The machine's name.
    pub machine: String,
    /// The fingerprint of its file.
    pub hash: String,
    /// The rule that ended the run.
    pub ended: Rule,
    /// That rule in words.
    pub because: &'static str,
    /// Half width of the throughput's 95 % confidence interval, as a share of it; none for too
    /// short a run.
    pub interval: Option<f64>,
    /// How often the lock moved to another of the largest cohorts.
    pub hands: u64,
    /// Steps that were simulated, warm-up and end included.
    pub steps: u64,
    /// Accesses, by the owner of the line.
    pub accesses: ByOwner,
    /// Cycles that CPUs spent on the accesses.
    pub stalled: ByOwner,
    /// Lines moved from cache to cache, nearest first.
    pub transfers: Vec<Transfers>,
    /// Lines fetched from memory.
    pub memory: ByOwner,
    /// Lines fetched from the last-level cache.
    pub refills: ByOwner,
    /// Copies of lines invalidated by writes.
    pub invalidations: u64,
    /// The busiest links.
    pub links: Vec<Load>,
    /// Cycles, summed over all CPUs, in which a CPU ran a thread that progressed or waited for an
    /// access.
    pub running: u64,
    /// Cycles in which a CPU only polled.
    pub spinning: u64,
    /// Cycles in which a CPU had no thread.
    pub idle: u64,
    /// Estimate of the energy used, in cycles of a running CPU: a weighted sum of the three above
    /// and the transfers.
    pub energy: f64,
    /// Events in the kernel and in waits.
    pub events: Events,
}

impl Facts {
    pub(super) fn new(machine: &Machine, outcome: Outcome) -> Self {
        let mut links = outcome.links;
        links.sort_by(|one, other| other.busy.total_cmp(&one.busy));
        links.truncate(LINKS);
        Self {
            machine: machine.name.clone(),
            hash: machine.fingerprint.clone(),
            ended: outcome.rule,
            because: words(outcome.rule),
            interval: outcome.interval,
            hands: outcome.hands,
            steps: outcome.steps,
            accesses: outcome.accesses,
            stalled: outcome.stalled,
            transfers: outcome.transfers,
            memory: outcome.memory,
            refills: outcome.refills,
            invalidations: outcome.invalidations,
            links,
            running: outcome.running,
            spinning: outcome.spinning,
            idle: outcome.idle,
            energy: outcome.energy,
            events: outcome.events,
        }
    }
}

/// Why a run ended.
#[must_use]
pub const fn words(rule: Rule) -> &'static str {
    match rule {
        Rule::Returned => "all threads finished",
        Rule::Hands => "the lock had moved 30 times between the largest cohorts",
        Rule::Steady => "the throughput's confidence interval fell below 2 %",
        Rule::Longest => "the time limit expired; the figures may be unsteady",
    }
}
