//! Properties of locks beyond exclusion: each policy has a check in virtual time that passes, and
//! fails with the policy disabled.

use super::loads::{Does, is_soon_right, seen};
use super::trial::HASWELL;
use crate::locks::adaptive::Glk;
use crate::locks::adaptive::glk::{Mode, OfMachine};
use crate::locks::basic::Mcs;
use crate::locks::basic::mcs::McsNode;
use crate::locks::delegation::Sanl;
use crate::locks::delegation::sanl::{DistanceFirst, Flat, ServingFirst, Tuning};
use crate::locks::door::POLICIES;
use crate::locks::numa::{Cna, Hbo, Shfl};
use crate::locks::wait::SpinOnly;
use crate::locks::{Adapts, Delegate, Idle, RawLock, Section, Thresholds, Tunable, WHOLE};
use crate::slowest;
use cohort_machine::{Length, Memory, Options, Outcome, Placement, Run, Waiting};
use libtest_mimic::{Failed, Trial};
use std::collections::BTreeSet;

const MILLISECOND: u64 = 1_000_000;

/// Threads at a lock, half of them on each node.
const THREADS: usize = 12;

/// Cycles of a critical section, and between two of them under contention.
const SECTION: u64 = 500;
const PAUSE: u64 = 500;

/// Whether the policy is followed, under an injected fault or none.
type Check = fn(Option<&str>) -> bool;

/// Every policy and its check.
const CHECKS: [(&str, Check); 15] = [
    ("sanl.carry-nothing", sections_are_brought),
    ("sanl.vote-at-once", votes_wait_for_the_boundary),
    ("sanl.ignore-share", little_wanted_locks_serve_every_node),
    ("sanl.serve-every-node", servers_stay_with_their_node),
    ("sanl.serve-on", idle_servers_leave),
    ("sanl.stay-idle", idle_servers_serve_all),
    ("sanl.return-at-once", modes_last),
    ("shfl.leave-unsorted", |flaw| {
        stays_near::<Shfl<SpinOnly>>(flaw)
    }),
    ("cna.set-nobody-aside", |flaw| {
        stays_near::<Cna<SpinOnly>>(flaw)
    }),
    ("hbo.stay-patient", remote_waiters_get_in),
    ("glk.ignore-up", modes_follow_the_load),
    ("glk.ignore-down", modes_follow_the_load),
    ("crowd.ignore-load", modes_follow_the_load),
    ("crowd.ignore-queue", sleepers_are_a_crowd),
    ("glk.keep-mode", begins_anew),
];

fn options(flaw: Option<&str>) -> Options {
    Options {
        placement: Placement::Scattered,
        waiting: Waiting::Spin,
        spin: u64::MAX,
        length: Length {
            warm_up: MILLISECOND / 2,
            least: 2 * MILLISECOND,
            most: 2 * MILLISECOND,
            ..Length::default()
        },
        flaw: flaw.map(str::to_owned),
        ..Options::default()
    }
}

/// The outcome of threads that delegate under a lock with those thresholds: to servers at any
/// contention if `brings` is 0, otherwise as they vote.
fn brought<T: Tuning>(flaw: Option<&str>, thresholds: Thresholds, pause: u64) -> Outcome {
    let memory = Memory::new();
    let lock = memory.lock(Sanl::<Mcs, T>::with(&thresholds));
    let mut run = Run::new(&HASWELL, &memory, options(flaw));
    for _ in 0..THREADS {
        run.spawn(move |thread| {
            let mut context = McsNode::default();
            while !thread.is_over() {
                let mut work = || {
                    thread.acquired(0);
                    thread.work(SECTION);
                };
                // SAFETY: it does not unwind, and any thread may run it.
                let section = unsafe { Section::new(&mut work) };
                if thresholds.brings == 0 {
                    lock.run_by_server(section);
                } else {
                    lock.run(&mut context, section);
                }
                thread.round();
                thread.work(pause / 2 + thread.random_below(pause));
            }
        });
    }
    run.go().unwrap_or_else(|failure| panic!("{failure}"))
}

/// The locks' count of that name in the run.
fn counted(outcome: &Outcome, what: &str) -> f64 {
    outcome.tallies.get(what).copied().unwrap_or(0) as f64
}

/// Critical sections of the run.
fn sections(outcome: &Outcome) -> f64 {
    outcome
        .threads
        .iter()
        .map(|thread| thread.rounds)
        .sum::<u64>() as f64
}

/// The fraction of hand-overs between the two nodes.
fn crossing(outcome: &Outcome) -> f64 {
    let all: u64 = outcome
        .handovers
        .iter()
        .map(|distance| distance.count)
        .sum();
    let farthest = outcome
        .handovers
        .last()
        .map_or(0, |distance| distance.count);
    farthest as f64 / all.max(1) as f64
}

/// Under contention, servers run most sections (Zhang et al. 2017 §3.1).
fn sections_are_brought(flaw: Option<&str>) -> bool {
    let outcome = brought::<Flat>(flaw, Thresholds::USUAL, PAUSE);
    counted(&outcome, "served") > sections(&outcome) / 2.0
}

/// A vote changes only after it was wrong `boundary` times.
fn votes_wait_for_the_boundary(flaw: Option<&str>) -> bool {
    let thresholds = Thresholds {
        boundary: Thresholds::MOST,
        ..Thresholds::USUAL
    };
    counted(&brought::<Flat>(flaw, thresholds, PAUSE), "served") == 0.0
}

/// Below `θ_f` servers serve every node, above it only their own (Zhang et al. 2017 §3.3.1).
fn little_wanted_locks_serve_every_node(flaw: Option<&str>) -> bool {
    let with = |strict| {
        let thresholds = Thresholds {
            strict,
            waits: u64::MAX,
            ..Thresholds::USUAL
        };
        counted(
            &brought::<ServingFirst>(flaw, thresholds, PAUSE),
            "hand-overs",
        )
    };
    // No thread waits all the time, so with the largest threshold no server is limited to its node.
    with(0) > 1.2 * with(WHOLE)
}

/// Servers of each node take turns (Zhang et al. 2017 §3.3).
fn servers_stay_with_their_node(flaw: Option<&str>) -> bool {
    let thresholds = Thresholds {
        waits: u64::MAX,
        ..Thresholds::USUAL
    };
    let far = brought::<DistanceFirst>(flaw, thresholds, PAUSE);
    let flat = brought::<Flat>(flaw, thresholds, PAUSE);
    counted(&far, "hand-overs") > 1.2 * counted(&flat, "hand-overs")
}

/// A server leaves after finding no request `L_s` times (Zhang et al. 2017 §3.4.3).
fn idle_servers_leave(flaw: Option<&str>) -> bool {
    let thresholds = Thresholds {
        serves: 1_000,
        brings: 0,
        idle: Idle::constant(1),
        ..Thresholds::USUAL
    };
    // Sections are so rare that a server soon finds no request.
    let outcome = brought::<Flat>(flaw, thresholds, 100_000);
    counted(&outcome, "passes") < 20.0 * counted(&outcome, "nominations")
}

/// A server of a node without requests serves the other nodes. Servers of single nodes would soon be
/// idle, and hand the lock over (Zhang et al. 2017 §3.3, on the distance-first policy).
fn idle_servers_serve_all(flaw: Option<&str>) -> bool {
    let thresholds = Thresholds {
        strict: 1,
        brings: 1,
        ..Thresholds::USUAL
    };
    let outcome = brought::<ServingFirst>(flaw, thresholds, 10 * SECTION);
    50.0 * counted(&outcome, "hand-overs") < sections(&outcome)
}

/// When in-place waits are long and served waits short, each mode change that is undone doubles the
/// time to the next.
fn modes_last(flaw: Option<&str>) -> bool {
    // The wait's share of time is above that threshold in place, and below it when served.
    let thresholds = Thresholds {
        brings: WHOLE / 4,
        ..Thresholds::USUAL
    };
    let outcome = brought::<Flat>(flaw, thresholds, 16 * SECTION);
    let changes = counted(&outcome, "mode-switches");
    changes > 1.0 && changes < 20.0
}

/// The outcome of threads that acquire a lock in a loop.
fn wanted<L: RawLock + Default>(
    options: Options,
    section: u64,
    pause: u64,
    threads: usize,
) -> Outcome
where
    L::Context: Default,
{
    let memory = Memory::new();
    let lock = memory.lock(L::default());
    let mut run = Run::new(&HASWELL, &memory, options);
    for _ in 0..threads {
        let memory = &memory;
        run.spawn(move |thread| {
            let context = memory.lock(L::Context::default());
            while !thread.is_over() {
                // SAFETY: the thread's own context. Like the lock, it lies in the machine's memory
                // until the run is over.
                unsafe { lock.acquire(context) };
                thread.acquired(0);
                thread.work(section);
                // SAFETY: acquired above, by this context.
                unsafe { lock.release(context) };
                thread.round();
                thread.work(pause / 2 + thread.random_below(pause));
            }
        });
    }
    run.go().unwrap_or_else(|failure| panic!("{failure}"))
}

/// The lock stays on a node while one of the node's threads waits.
fn stays_near<L: RawLock + Default>(flaw: Option<&str>) -> bool
where
    L::Context: Default,
{
    crossing(&wanted::<L>(options(flaw), SECTION, PAUSE, THREADS)) < 0.2
}

/// Remote waiters that have waited for long poll often, so that every thread acquires its share
/// (Dice et al. 2015 §1.1).
fn remote_waiters_get_in(flaw: Option<&str>) -> bool {
    // Of two simultaneous polls at a contended lock, the nearer one wins.
    let outcome = wanted::<Hbo<SpinOnly>>(options(flaw), SECTION, 8 * PAUSE, THREADS);
    let rounds = outcome.threads.iter().map(|thread| thread.rounds);
    let least = rounds.min().unwrap_or(0) as f64;
    10.0 * THREADS as f64 * least > sections(&outcome)
}

/// `glk` follows its queue and the load.
fn modes_follow_the_load(flaw: Option<&str>) -> bool {
    is_soon_right::<OfMachine>(1_024, 1, flaw).is_ok()
}

/// With twice as many threads as CPUs, most sleep in `glk`'s mutex and do not appear in the load;
/// the lock stays in that mode.
fn sleepers_are_a_crowd(flaw: Option<&str>) -> bool {
    const ENDS: u64 = 30 * MILLISECOND;
    let options = Options {
        pinned: false,
        flaw: flaw.map(str::to_owned),
        ..Options::default()
    };
    let seen = seen::<OfMachine>(&HASWELL, options, 96, 1_024, &|_, now| {
        if now < ENDS { Does::Locks } else { Does::Ends }
    });
    let changes = seen.iter().filter(|(_, mode)| *mode != Mode::Ticket);
    changes.map(|(_, mode)| *mode).eq([Mode::Mutex])
}

/// A lock that is reused for another object starts in `ticket` (Antić et al. 2016 §3).
fn begins_anew(flaw: Option<&str>) -> bool {
    let memory = Memory::new();
    let lock = memory.lock(Glk::<OfMachine>::default());
    let ends = 30 * MILLISECOND;
    let options = Options {
        pinned: false,
        flaw: flaw.map(str::to_owned),
        ..Options::default()
    };
    let began = std::cell::Cell::new(None);
    let mut run = Run::new(&HASWELL, &memory, options);
    for _ in 0..96 {
        let (memory, began) = (&memory, &began);
        run.spawn(move |thread| {
            let node = memory.lock(McsNode::default());
            while began.get().is_none() && thread.now() < ends {
                // SAFETY: as above.
                unsafe {
                    lock.acquire(node);
                    if thread.now() > ends / 2
                        && lock.mode() == Mode::Mutex
                        && began.get().is_none()
                    {
                        lock.begin_anew(node, 0);
                        began.set(Some(lock.mode()));
                    }
                    thread.work(SECTION);
                    lock.release(node);
                }
                thread.work(PAUSE);
            }
        });
    }
    run.go().unwrap_or_else(|failure| panic!("{failure}"));
    began.get() == Some(Mode::Ticket)
}

fn is_noticed(name: &'static str, check: Check) -> Result<(), Failed> {
    if !check(None) {
        return Err(Failed::from("the policy is not followed"));
    }
    if check(Some(name)) {
        return Err(Failed::from(
            "the check passes while the policy is switched off",
        ));
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
    let checked: BTreeSet<&str> = CHECKS.iter().map(|(name, _)| *name).collect();
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
    let checks = CHECKS.into_iter().map(|(name, check)| {
        slowest::trial(format!("policy::{name}"), move || is_noticed(name, check))
    });
    std::iter::once(Trial::test("policy::each_has_a_check", each_has_a_check))
        .chain(checks)
        .collect()
}
