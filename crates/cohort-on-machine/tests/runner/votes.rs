//! `sanl` under stable loads on the machines of Zhang et al. 2017: the votes choose the better mode
//! and stay there.

use super::trial::full;
use crate::locks::basic::Mcs;
use crate::locks::basic::mcs::McsNode;
use crate::locks::delegation::Sanl;
use crate::locks::delegation::sanl::ServingFirst;
use crate::locks::{Delegate, Section, Thresholds, Tunable};
use crate::slowest;
use cohort_machine::description::shipped;
use cohort_machine::{Hardware, Length, Memory, Options, Run, Waiting};
use libtest_mimic::{Failed, Trial};

const MILLISECOND: u64 = 1_000_000;

/// The machines, and threads on each: a CPU is left to the master (Zhang et al. 2017 §4).
const MACHINES: [(&str, usize); 2] = [("opteron-6274x8", 63), ("xeon-e7-4850x4", 39)];

/// Cycles between two sections; the quick tier has high, mild and low contention.
fn intervals() -> &'static [u64] {
    if full() {
        &[
            100, 1_000, 3_000, 10_000, 30_000, 60_000, 100_000, 300_000, 1_000_000,
        ]
    } else {
        &[3_000, 60_000, 100_000]
    }
}

/// The part of the better fixed mode's throughput that the votes have to reach.
const SHARE: f64 = 0.9;

/// The most changes of the mode in a second of a stable load: to delegation, back, and to delegation
/// for two seconds.
const CHANGES: u64 = 3;

/// Sections a second, and changes of the mode, warm-up included.
fn measured(hardware: &Hardware, threads: usize, interval: u64, with: &Thresholds) -> (f64, u64) {
    let memory = Memory::new();
    let lock = memory.lock(Sanl::<Mcs, ServingFirst>::with(with));
    let line = memory.bytes(1);
    let counted = MILLISECOND * if full() { 40 } else { 4 };
    let options = Options {
        waiting: Waiting::Spin,
        spin: u64::MAX,
        length: Length {
            warm_up: 2 * MILLISECOND,
            least: counted,
            most: counted,
            ..Length::default()
        },
        ..Options::default()
    };
    let mut run = Run::new(hardware, &memory, options);
    for _ in 0..threads {
        run.spawn(move |thread| {
            let mut context = McsNode::default();
            while !thread.is_over() {
                let mut work = || {
                    thread.acquired(0);
                    thread.read(line);
                    thread.write(line);
                };
                // SAFETY: it does not unwind, and any thread may run it.
                lock.run(&mut context, unsafe { Section::new(&mut work) });
                thread.round();
                thread.work(interval - interval / 10 + thread.random_below(interval / 5));
            }
        });
    }
    let outcome = run.go().unwrap_or_else(|failure| panic!("{failure}"));
    let changes = outcome.tallies.get("mode-switches").copied();
    (outcome.throughput(), changes.unwrap_or(0))
}

/// The votes reach most of the better fixed mode's throughput, with few changes.
fn votes_keep_to_the_better_mode() -> Result<(), Failed> {
    for (name, threads) in MACHINES {
        let machine = shipped::find(name).unwrap_or_else(|| panic!("{name} is not shipped"));
        let hardware = Hardware::new(&machine);
        for interval in intervals() {
            let votes = Thresholds::USUAL;
            let delegated = Thresholds { brings: 0, ..votes };
            let in_place = Thresholds {
                boundary: Thresholds::MOST,
                ..votes
            };
            let measure = |with| measured(&hardware, threads, *interval, &with);
            let (throughput, changes) = measure(votes);
            let best = measure(delegated).0.max(measure(in_place).0);
            if throughput < SHARE * best || changes > CHANGES {
                return Err(Failed::from(format!(
                    "{name}, {interval} cycles apart: {throughput:.0} sections a second of \
                     {best:.0}, {changes} changes"
                )));
            }
        }
    }
    Ok(())
}

/// All tests of this module.
pub fn tests() -> Vec<Trial> {
    vec![slowest::trial(
        "votes::keep_to_the_better_mode",
        votes_keep_to_the_better_mode,
    )]
}
