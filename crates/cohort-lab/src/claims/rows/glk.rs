//! Antić et al. 2016, *GLS and GLK*.  Threads are not pinned there.

use crate::bench::{Knobs, Span, phases};
use crate::claims::{Band, Claim, Experiment, Fold, Measure, Metric, Part, Seeds, Side, Sweep};
use crate::world::Placement;

const HASWELL: &str = "haswell-ep-2s";
const IVY: &str = "ivy-bridge-2s";

const FREE_HASWELL: &str = "haswell-ep-2s, invalidations at no cost";

/// The pause after each round is not given there ("a short duration"): an estimate.
const PAUSE: Option<Span> = Some(Span::Cycles(200));

const fn contended(machine: &'static str, threads: &'static [usize], critical: u64) -> Experiment {
    Experiment::new(machine, "loop", Placement::Free, Sweep::Threads(threads)).with(Knobs {
        critical: Some(Span::Cycles(critical)),
        outside: PAUSE,
        ..Knobs::NONE
    })
}

/// Where threads exceed CPUs the first time slices, of 12 ms, are but a small part of what is
/// counted: so long every thread that has a CPU gets on under any lock.
const CROWDED_MILLISECONDS: u64 = 500;

/// From 1.1 to 4 threads a CPU: the paper's programs have from a few more threads than CPUs to many times
/// as many (§5.2).
const CROWDS: &[usize] = &[54, 96, 192];

const fn crowded(threads: &'static [usize]) -> Experiment {
    contended(HASWELL, threads, 1_024).lasting(CROWDED_MILLISECONDS)
}

/// Ten threads that want the lock, and 48 that only compute.
const BESIDE_OTHERS: Experiment = Experiment {
    background: 48,
    ..contended(HASWELL, &[10], 0).lasting(CROWDED_MILLISECONDS)
};

const fn faster(of: &'static [&'static str], over: &'static [&'static str], fold: Fold) -> Measure {
    Measure::Ratio {
        of: Side::most(of),
        over: Side::most(over),
        metric: Metric::Throughput,
        fold,
    }
}

/// The locks that do not adapt.
const FIXED: &[&str] = &["ticket", "mcs", "posix"];

/// Every phase once: the paper's last half a second to a second.
const PHASES: Experiment = Experiment {
    background: 30,
    ..Experiment::new(HASWELL, "phases", Placement::Free, Sweep::Threads(&[24]))
        .with(Knobs {
            phase: Some(Span::Nanoseconds(PHASE * 1_000_000)),
            ..Knobs::NONE
        })
        .lasting(PHASE * phases::NAMES.len() as u64)
};

/// Milliseconds of a phase, a tenth of the paper's shortest, and more than two of the scheduler's
/// periods: threads beside the background threads run in turns.
const PHASE: u64 = 50;

/// How many of eight locks leave mode ticket: the two contended ones.
const fn leaves_ticket(says: &'static str, experiment: Experiment) -> Part {
    Part {
        says,
        experiment,
        measure: Measure::Value {
            of: Side::most(&["glk"]),
            metric: Metric::Changed,
            fold: EVERYWHERE,
        },
        band: Band::Between(1.0, 2.0),
    }
}

/// Eight locks, and as many threads as there are CPUs at most.
const fn zipf(threads: &'static [usize]) -> Experiment {
    Experiment::new(HASWELL, "zipf", Placement::Free, Sweep::Threads(threads))
}

const UP_TO: Fold = Fold::Greatest;
const EVERYWHERE: Fold = Fold::Everywhere;

pub const ROWS: &[Claim] = &[
    Claim {
        id: "G1",
        source: "Antić et al. 2016 §2, figure 8",
        says: "Ticket beats MCS up to 3 threads",
        parts: &[
            Part {
                says: "Haswell, up to 3 threads: ticket over MCS",
                experiment: contended(HASWELL, &[1, 2, 3], 1_024),
                measure: faster(&["ticket"], &["mcs"], EVERYWHERE),
                band: Band::AtLeast(1.0),
            },
            Part {
                says: "Haswell, with more: ticket over MCS",
                experiment: contended(HASWELL, &[8, 16, 32], 1_024),
                measure: faster(&["ticket"], &["mcs"], EVERYWHERE),
                band: Band::AtMost(1.0),
            },
            Part {
                says: "Ivy Bridge, up to 3 threads: ticket over MCS",
                experiment: contended(IVY, &[1, 2, 3], 1_024),
                measure: faster(&["ticket"], &["mcs"], EVERYWHERE),
                band: Band::AtLeast(1.0),
            },
            Part {
                says: "Ivy Bridge, with more: ticket over MCS",
                experiment: contended(IVY, &[8, 16, 32], 1_024),
                measure: faster(&["ticket"], &["mcs"], EVERYWHERE),
                band: Band::AtMost(1.0),
            },
        ],
        needs: None,
        counterfactuals: &[
            Part {
                says: "with invalidations at no cost: Haswell, up to 3 threads, ticket over MCS",
                experiment: contended(FREE_HASWELL, &[1, 2, 3], 1_024),
                measure: faster(&["ticket"], &["mcs"], EVERYWHERE),
                band: Band::AtLeast(1.0),
            },
            Part {
                says: "with invalidations at no cost: Ivy Bridge, up to 3 threads, ticket over MCS",
                experiment: contended("ivy-bridge-2s, invalidations at no cost", &[1, 2, 3], 1_024),
                measure: faster(&["ticket"], &["mcs"], EVERYWHERE),
                band: Band::AtLeast(1.0),
            },
        ],
        seeds: Seeds::All,
    },
    Claim {
        id: "G2",
        source: "Antić et al. 2016 §3.2, figure 7",
        says: "GLK is at most 22 % behind ticket with one thread, 7 % behind MCS with 10 threads \
               and empty sections, 1 % behind the mutex with 10 threads and 48 spinning ones",
        parts: &[
            Part {
                says: "one thread: GLK over ticket",
                experiment: contended(HASWELL, &[1], 0),
                measure: faster(&["glk"], &["ticket"], EVERYWHERE),
                band: Band::AtLeast(0.78),
            },
            Part {
                says: "10 threads: GLK over MCS",
                experiment: contended(HASWELL, &[10], 0),
                measure: faster(&["glk"], &["mcs"], EVERYWHERE),
                band: Band::AtLeast(0.93),
            },
            Part {
                says: "10 threads and 48 more: GLK over the mutex",
                experiment: BESIDE_OTHERS,
                measure: faster(&["glk"], &["posix"], EVERYWHERE),
                band: Band::AtLeast(0.99),
            },
            Part {
                says: "10 threads, empty sections: the mutex is behind MCS",
                experiment: contended(HASWELL, &[10], 0),
                measure: faster(&["posix"], &["mcs"], UP_TO),
                band: Band::AtMost(1.0),
            },
            Part {
                says: "10 threads and 48 more: MCS is behind the mutex",
                experiment: BESIDE_OTHERS,
                measure: faster(&["mcs"], &["posix"], UP_TO),
                band: Band::AtMost(1.0),
            },
        ],
        needs: None,
        counterfactuals: &[Part {
            says: "with 53 threads beside, so that the CPUs' time slices are not in step: MCS is behind \
                   the mutex",
            experiment: Experiment {
                background: 53,
                ..BESIDE_OTHERS
            },
            measure: faster(&["mcs"], &["posix"], UP_TO),
            band: Band::AtMost(1.0),
        }],
        seeds: Seeds::All,
    },
    Claim {
        id: "G3",
        source: "Antić et al. 2016 §3.2, figure 10",
        says: "With phases of 1 to 24 threads and 30 background threads GLK follows the best lock \
               phase by phase, 15 % over the second best on average",
        parts: &[
            Part {
                says: "GLK over the best fixed lock",
                experiment: PHASES,
                measure: faster(&["glk"], FIXED, EVERYWHERE),
                band: Band::Near(1.15, 0.1),
            },
            Part {
                says: "GLK over the lock that is best in each phase",
                experiment: PHASES,
                measure: Measure::Phases {
                    of: Side::most(&["glk"]),
                    over: Side::most(FIXED),
                    counts: &phases::NAMES,
                    fold: Fold::GeometricMean,
                },
                band: Band::AtLeast(0.9),
            },
        ],
        needs: None,
        counterfactuals: &[
            Part {
                says: "with phases of 10 ms instead of 50: GLK over the best fixed lock",
                experiment: Experiment {
                    knobs: Knobs {
                        phase: Some(Span::Nanoseconds(10_000_000)),
                        ..Knobs::NONE
                    },
                    ..PHASES.lasting(10 * phases::NAMES.len() as u64)
                },
                measure: faster(&["glk"], FIXED, EVERYWHERE),
                band: Band::Near(1.15, 0.1),
            },
            Part {
                says: "with 31 background threads, so that the CPUs' time slices are not in step: GLK \
                       over the best fixed lock",
                experiment: Experiment {
                    background: 31,
                    ..PHASES
                },
                measure: faster(&["glk"], FIXED, EVERYWHERE),
                band: Band::Near(1.15, 0.1),
            },
        ],
        seeds: Seeds::All,
    },
    Claim {
        id: "G4",
        source: "Antić et al. 2016 §3.2, figure 9",
        says: "With eight locks chosen by a Zipf distribution, not oversubscribed, GLK is about \
               20 % over MCS; only the locks that are wanted most leave ticket, with more threads than \
               CPUs too",
        parts: &[
            Part {
                says: "GLK over MCS",
                experiment: zipf(&[4, 8, 16, 32, 48]),
                measure: faster(&["glk"], &["mcs"], UP_TO),
                band: Band::Near(1.2, 0.1),
            },
            leaves_ticket(
                "8 threads and more: locks that leave ticket, of eight",
                zipf(&[8, 16, 32, 48]),
            ),
            leaves_ticket(
                "more threads than CPUs: locks that leave ticket, of eight",
                zipf(CROWDS).lasting(CROWDED_MILLISECONDS),
            ),
            Part {
                says: "more threads than CPUs: GLK over MCS",
                experiment: zipf(CROWDS).lasting(CROWDED_MILLISECONDS),
                measure: faster(&["glk"], &["mcs"], EVERYWHERE),
                band: Band::AtLeast(1.0),
            },
        ],
        needs: None,
        counterfactuals: &[
            Part {
                says: "with invalidations at no cost: GLK over MCS",
                experiment: Experiment {
                    machine: FREE_HASWELL,
                    ..zipf(&[4, 8, 16, 32, 48])
                },
                measure: faster(&["glk"], &["mcs"], UP_TO),
                band: Band::Near(1.2, 0.1),
            },
            Part {
                says: "with empty sections, as in figure 7: GLK over MCS",
                experiment: zipf(&[4, 8, 16, 32, 48]).with(Knobs {
                    critical: Some(Span::Cycles(0)),
                    ..Knobs::NONE
                }),
                measure: faster(&["glk"], &["mcs"], UP_TO),
                band: Band::Near(1.2, 0.1),
            },
            Part {
                says: "with 2,000 cycles between sections instead of 200: GLK over MCS",
                experiment: zipf(&[4, 8, 16, 32, 48]).with(Knobs {
                    outside: Some(Span::Cycles(2_000)),
                    ..Knobs::NONE
                }),
                measure: faster(&["glk"], &["mcs"], UP_TO),
                band: Band::Near(1.2, 0.1),
            },
        ],
        seeds: Seeds::All,
    },
    Claim {
        id: "G5",
        source: "Antić et al. 2016 §4.1, figure 11",
        says: "GLS adds a few cycles with one lock, about 30 cycles with 512",
        parts: &[],
        needs: Some("run it on a real machine with `cohort reproduce --here g5`"),
        counterfactuals: &[],
        seeds: Seeds::All,
    },
    Claim {
        id: "G6",
        source: "Antić et al. 2016 §5",
        says: "Real programs: over the POSIX mutex 1 to 80 % in 14 of 15 configurations on Ivy \
               Bridge, 3 to 53 % in 12 of 15 on Haswell; never more than 8 % behind the best \
               fixed lock",
        parts: &[],
        needs: Some(
            "run real programs with `cohort survey --lock glk`: memcached, MariaDB, SQLite, Kyoto \
             Cabinet and Berkeley DB, if installed",
        ),
        counterfactuals: &[],
        seeds: Seeds::All,
    },
    Claim {
        id: "G7",
        source: "Antić et al. 2016 §4.2",
        says: "Uninitialised lock, double lock, unlock of a free lock, wrong owner and deadlock \
               are each found and named",
        parts: &[],
        needs: Some("run it on a real machine with `cohort reproduce --here g7`"),
        counterfactuals: &[],
        seeds: Seeds::All,
    },
    Claim {
        id: "G8",
        source: "Antić et al. 2016 §5.2",
        says: "With more threads than the hardware has, fair spin locks livelock, TTAS loses 50 \
               to 90 %, GLK stays with the mutex",
        parts: &[
            Part {
                says: "the better of ticket and MCS over the mutex",
                experiment: crowded(CROWDS),
                measure: faster(&["ticket", "mcs"], &["posix"], UP_TO),
                band: Band::AtMost(0.1),
            },
            Part {
                says: "TTAS over the mutex",
                experiment: crowded(CROWDS),
                measure: faster(&["ttas"], &["posix"], EVERYWHERE),
                band: Band::Between(0.1, 0.5),
            },
            Part {
                says: "GLK over the mutex",
                experiment: crowded(CROWDS),
                measure: faster(&["glk"], &["posix"], EVERYWHERE),
                band: Band::AtLeast(0.9),
            },
        ],
        needs: None,
        counterfactuals: &[],
        seeds: Seeds::All,
    },
];
