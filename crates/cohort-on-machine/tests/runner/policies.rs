//! Properties of locks beyond exclusion: each policy has a check in virtual time that passes, and
//! fails with the policy disabled, whatever the seed.

mod adaptive;
mod delegates;
mod mutexes;

use super::crowds::Used;
use super::trial::full;
use crate::locks::door::POLICIES;
use crate::slowest;
use cohort_machine::{Hardware, Length, Memory, Options, Outcome, Placement, Run, Waiting};
use libtest_mimic::{Failed, Trial};
use std::collections::BTreeSet;

const MILLISECOND: u64 = 1_000_000;

/// Threads at a lock, half of them on each node.
const THREADS: usize = 12;

/// Cycles of a critical section, and between two of them under contention.
const SECTION: u64 = 500;
const PAUSE: u64 = 500;

/// A run's seed, and the policy that is disabled, if any.
#[derive(Clone, Copy)]
struct Case {
    flaw: Option<&'static str>,
    seed: u64,
}

/// Whether the policy is followed.
type Check = fn(Case) -> bool;

/// Every policy and its check.
fn checks() -> impl Iterator<Item = (&'static str, Check)> {
    let all = [adaptive::CHECKS, delegates::CHECKS, mutexes::CHECKS];
    all.into_iter().flatten().copied()
}

impl Case {
    /// Threads that spin, on CPUs of both nodes.
    fn options(self) -> Options {
        Options {
            placement: Placement::Scattered,
            waiting: Waiting::Spin,
            spin: u64::MAX,
            length: lasting(2 * MILLISECOND),
            ..self.parking()
        }
    }

    /// Threads that spin briefly and sleep, on neighbouring CPUs.
    fn parking(self) -> Options {
        Options {
            seed: self.seed,
            length: lasting(10 * MILLISECOND),
            flaw: self.flaw.map(str::to_owned),
            ..Options::default()
        }
    }
}

/// A run of so many nanoseconds, after a warm-up.
fn lasting(nanoseconds: u64) -> Length {
    Length {
        warm_up: MILLISECOND / 2,
        least: nanoseconds,
        most: nanoseconds,
        ..Length::default()
    }
}

/// The locks' count of that name in the run.
fn counted(outcome: &Outcome, what: &str) -> f64 {
    outcome.tallies.get(what).copied().unwrap_or(0) as f64
}

/// Critical sections of the run.
fn sections(outcome: &Outcome) -> f64 {
    let rounds = outcome.threads.iter().map(|thread| thread.rounds);
    rounds.sum::<u64>() as f64
}

/// The fewest critical sections of a thread, relative to an even share.
fn least_share(outcome: &Outcome) -> f64 {
    let rounds = outcome.threads.iter().map(|thread| thread.rounds);
    let least = rounds.min().unwrap_or(0) as f64;
    least * outcome.threads.len() as f64 / sections(outcome).max(1.0)
}

/// The fraction of hand-overs that are farther than the nearest kind `from`.
fn handed_beyond(outcome: &Outcome, from: usize) -> f64 {
    let counts = || outcome.handovers.iter().map(|distance| distance.count);
    let all: u64 = counts().sum();
    counts().skip(from).sum::<u64>() as f64 / all.max(1) as f64
}

/// The fraction of hand-overs between the two nodes.
fn crossing(outcome: &Outcome) -> f64 {
    handed_beyond(outcome, outcome.handovers.len().saturating_sub(1))
}

/// The outcome of threads that acquire a lock in a loop, with critical sections of `section`
/// cycles and about `pause` between.
fn used<U: Used>(
    lock: U,
    hardware: &Hardware,
    options: Options,
    threads: usize,
    [section, pause]: [u64; 2],
) -> Outcome {
    let memory = Memory::new();
    let lock = memory.lock(lock);
    let mut run = Run::new(hardware, &memory, options);
    for _ in 0..threads {
        let memory = &memory;
        run.spawn(move |thread| {
            let mine = memory.lock(U::Mine::default());
            while !thread.is_over() {
                thread.begin();
                lock.acquire(mine);
                thread.acquired(0);
                thread.work(section);
                lock.release(mine);
                thread.round();
                thread.work(pause / 2 + thread.random_below(pause.max(1)));
            }
        });
    }
    run.go().unwrap_or_else(|failure| panic!("{failure}"))
}

/// The number of seeds.
fn seeds() -> u64 {
    if full() { 20 } else { 2 }
}

fn is_noticed(name: &'static str, check: Check) -> Result<(), Failed> {
    for seed in 1..=seeds() {
        if !check(Case { flaw: None, seed }) {
            let why = format!("the policy is not followed (seed {seed})");
            return Err(Failed::from(why));
        }
        let flaw = Some(name);
        if check(Case { flaw, seed }) {
            let why = format!("the check passes while the policy is disabled (seed {seed})");
            return Err(Failed::from(why));
        }
    }
    Ok(())
}

fn each_has_a_check() -> Result<(), Failed> {
    let named: BTreeSet<&str> = POLICIES
        .iter()
        .copied()
        .flatten()
        .map(|flaw| flaw.0)
        .collect();
    let checked: BTreeSet<&str> = checks().map(|(name, _)| name).collect();
    if named == checked {
        return Ok(());
    }
    let differ: Vec<_> = named.symmetric_difference(&checked).collect();
    Err(Failed::from(format!(
        "with a check or a policy alone: {differ:?}"
    )))
}

/// One test for each policy, and one for the table itself.
pub fn tests() -> Vec<Trial> {
    let checks = checks().map(|(name, check)| {
        slowest::trial(format!("policy::{name}"), move || is_noticed(name, check))
    });
    std::iter::once(Trial::test("policy::each_has_a_check", each_has_a_check))
        .chain(checks)
        .collect()
}
