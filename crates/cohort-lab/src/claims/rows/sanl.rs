//! Zhang et al. 2017, *SANL*.  Threads are pinned, compactly; hand-off bounds are infinite there.
//! Its execution time is ours from asking for the lock to having released it.

use crate::bench::berkeleydb::ORDER_STATUS;
use crate::bench::memcached_set::{GETS, SETS};
use crate::bench::raytrace::CAR;
use crate::bench::{Knobs, Span};
use crate::claims::{
    Band, Claim, Experiment, Fold, Measure, Metric, Part, Seeds, Side, Sweep, Threshold,
};
use crate::world::Placement;

const XEON: &str = "xeon-e7-4850x4";
const OPTERON: &str = "opteron-6274x8";

/// With the locks' counted instructions and the paper's cost of the clock.
const COUNTED_XEON: &str = "xeon-e7-4850x4, counted instructions";
const COUNTED_OPTERON: &str = "opteron-6274x8, counted instructions";
/// An upper bound.
const SLOW_XEON: &str = "xeon-e7-4850x4, counted instructions, two cycles each";
const SLOW_OPTERON: &str = "opteron-6274x8, counted instructions, two cycles each";

const SHORT: &[Span] = &[
    Span::Cycles(100),
    Span::Cycles(1_000),
    Span::Cycles(3_000),
    Span::Cycles(10_000),
    Span::Cycles(25_000),
];

/// High contention: those up to which S6 has two policies alike.
const ALIKE: &[Span] = &[Span::Cycles(100), Span::Cycles(1_000), Span::Cycles(3_000)];

const fn interval(machine: &'static str, threads: usize, spans: &'static [Span]) -> Experiment {
    Experiment::new(
        machine,
        "interval",
        Placement::Compact,
        Sweep::Outside(threads, spans),
    )
}

const fn clients(machine: &'static str, threads: &'static [usize]) -> Experiment {
    Experiment::new(
        machine,
        "interval",
        Placement::Compact,
        Sweep::Threads(threads),
    )
}

const fn application(
    machine: &'static str,
    workload: &'static str,
    threads: &'static [usize],
) -> Experiment {
    Experiment::new(
        machine,
        workload,
        Placement::Compact,
        Sweep::Threads(threads),
    )
}

/// How many times as long the other one takes.
const fn slower(
    lock: &'static [&'static str],
    than: &'static [&'static str],
    fold: Fold,
) -> Measure {
    Measure::Ratio {
        of: Side::least(lock),
        over: Side::least(than),
        metric: Metric::RoundTrip,
        fold,
    }
}

const fn faster(of: &'static [&'static str], over: &'static [&'static str], fold: Fold) -> Measure {
    Measure::Ratio {
        of: Side::most(of),
        over: Side::most(over),
        metric: Metric::Throughput,
        fold,
    }
}

/// The same of the slowest on the other side.
const fn faster_than_all(
    of: &'static [&'static str],
    over: &'static [&'static str],
    fold: Fold,
) -> Measure {
    Measure::Ratio {
        of: Side::most(of),
        over: Side::least(over),
        metric: Metric::Throughput,
        fold,
    }
}

/// What figures 24 to 27 show: each lock with the number of threads that suits it best.
const fn best(of: &'static [&'static str], over: &'static [&'static str]) -> Measure {
    Measure::Best { of, over }
}

const fn cycles(lock: &'static [&'static str]) -> Measure {
    Measure::Value {
        of: Side::least(lock),
        metric: Metric::RoundTrip,
        fold: Fold::Greatest,
    }
}

/// A threshold that the profiler finds on that machine.
const fn profiled(
    machine: &'static str,
    says: &'static str,
    threshold: Threshold,
    paper: f64,
) -> Part {
    Part {
        says,
        experiment: interval(machine, 39, SHORT),
        measure: Measure::Profiled(threshold),
        band: Band::About(paper),
    }
}

const UP_TO: Fold = Fold::Greatest;
const EVERYWHERE: Fold = Fold::Everywhere;

/// What the paper compares SANL with.
const OTHERS: &[&str] = &[
    "posix",
    "tas",
    "mcs",
    "c-tkt-mcs/endless",
    "fc",
    "h-synch",
    "rcl",
];

/// Those of them under which threads can wait for conditions, as memcached's do (§4.3.2).
const THAT_WAIT: &[&str] = &["posix", "tas", "mcs", "c-tkt-mcs/endless", "rcl"];

/// Clients under RCL are as many as under other locks, and its server has one CPU more (§4.3); so
/// one is left to it, and with several locks two.
const ON_XEON: &[usize] = &[4, 10, 20, 30, 39];
const ON_OPTERON: &[usize] = &[4, 8, 16, 32, 63];

/// Up to as many as memcached has CPUs beside its clients' (Table 6), and half of the Opteron's
/// (§4.3.2).
const CACHE_ON_XEON: &[usize] = &[8, 12, 18];
const CACHE_ON_OPTERON: &[usize] = &[8, 16, 32];

/// Virtual milliseconds of a run in which modes are counted: changes are counted by the run, and the
/// paper's are longer.
const RUN: u64 = 10;

/// Changes of mode in a whole run, its warm-up included.
const SWITCHES: Measure = Measure::Value {
    of: Side::most(&["sanl"]),
    metric: Metric::Total("mode-switches"),
    fold: EVERYWHERE,
};

/// What the paper's section takes beyond ours with one thread and MCS: instructions and the clock.
const COMPUTES: Knobs = Knobs {
    critical: Some(Span::Cycles(235)),
    ..Knobs::NONE
};

/// Gets with ten times as long sections, as much farther apart: "its critical sections are long".
const LONG_GETS: Knobs = Knobs {
    critical: Some(Span::Cycles(29_000)),
    outside: Some(Span::Cycles(136_000)),
    ..Knobs::NONE
};

/// Five times what raytrace's sections are apart.
const FAR_APART: Knobs = Knobs {
    outside: Some(Span::Cycles(44_000)),
    ..Knobs::NONE
};

const FIVE_LINES: Knobs = Knobs {
    lines: Some(5),
    ..Knobs::NONE
};

pub const ROWS: &[Claim] = &[
    Claim {
        id: "S1",
        source: "Zhang et al. 2017 §4.2, figure 11",
        says: "On the Xeon with intervals under 30,000 cycles NUMA-SANL is up to 7.2 times as \
               fast as C-TKT-MCS and 4.6 times as MCS; without the NUMA policy 3.2 and 2.0 times",
        parts: &[
            Part {
                says: "C-TKT-MCS's time over SANL's",
                experiment: interval(XEON, 39, SHORT),
                measure: slower(&["c-tkt-mcs/endless"], &["sanl"], UP_TO),
                band: Band::About(7.2),
            },
            Part {
                says: "MCS's time over SANL's",
                experiment: interval(XEON, 39, SHORT),
                measure: slower(&["mcs"], &["sanl"], UP_TO),
                band: Band::About(4.6),
            },
            Part {
                says: "C-TKT-MCS's time over that of SANL without the NUMA policy",
                experiment: interval(XEON, 39, SHORT),
                measure: slower(&["c-tkt-mcs/endless"], &["sanl-flat"], UP_TO),
                band: Band::About(3.2),
            },
            Part {
                says: "MCS's time over that of SANL without the NUMA policy",
                experiment: interval(XEON, 39, SHORT),
                measure: slower(&["mcs"], &["sanl-flat"], UP_TO),
                band: Band::About(2.0),
            },
        ],
        needs: None,
        counterfactuals: &[Part {
            says: "with sections that compute for 235 cycles, so that MCS takes 350 alone on the \
                   Opteron: MCS's time over SANL's",
            experiment: interval(XEON, 39, SHORT).with(COMPUTES),
            measure: slower(&["mcs"], &["sanl"], UP_TO),
            band: Band::About(4.6),
        }],
        seeds: Seeds::All,
    },
    Claim {
        id: "S2",
        source: "Zhang et al. 2017 §4.2, figure 13",
        says: "On the Opteron under high contention SANL is 14 times as fast as POSIX, 2.4 times \
               as C-TKT-MCS, 3.8 times as MCS, 5.9 times as FC, 2.3 times as RCL",
        parts: &[
            Part {
                says: "POSIX's time over MCS's, as 14 : 3.8",
                experiment: interval(OPTERON, 63, ALIKE),
                measure: slower(&["posix"], &["mcs"], UP_TO),
                band: Band::About(14.0 / 3.8),
            },
            Part {
                says: "POSIX's time over SANL's",
                experiment: interval(OPTERON, 63, ALIKE),
                measure: slower(&["posix"], &["sanl"], UP_TO),
                band: Band::About(14.0),
            },
            Part {
                says: "C-TKT-MCS's time over SANL's",
                experiment: interval(OPTERON, 63, ALIKE),
                measure: slower(&["c-tkt-mcs/endless"], &["sanl"], UP_TO),
                band: Band::About(2.4),
            },
            Part {
                says: "MCS's time over SANL's",
                experiment: interval(OPTERON, 63, ALIKE),
                measure: slower(&["mcs"], &["sanl"], UP_TO),
                band: Band::About(3.8),
            },
            Part {
                says: "FC's time over SANL's",
                experiment: interval(OPTERON, 63, ALIKE),
                measure: slower(&["fc"], &["sanl"], UP_TO),
                band: Band::About(5.9),
            },
            Part {
                says: "RCL's time over SANL's",
                experiment: interval(OPTERON, 63, ALIKE),
                measure: slower(&["rcl"], &["sanl"], UP_TO),
                band: Band::About(2.3),
            },
        ],
        needs: None,
        counterfactuals: &[
            Part {
                says: "with sections that compute for 235 cycles: MCS's time over SANL's",
                experiment: interval(OPTERON, 63, ALIKE).with(COMPUTES),
                measure: slower(&["mcs"], &["sanl"], UP_TO),
                band: Band::About(3.8),
            },
            Part {
                says: "with sections that compute for 235 cycles: C-TKT-MCS's time over SANL's",
                experiment: interval(OPTERON, 63, ALIKE).with(COMPUTES),
                measure: slower(&["c-tkt-mcs/endless"], &["sanl"], UP_TO),
                band: Band::About(2.4),
            },
            Part {
                says: "with H-Synch in the place of FC: its time over SANL's",
                experiment: interval(OPTERON, 63, ALIKE),
                measure: slower(&["h-synch"], &["sanl"], UP_TO),
                band: Band::About(5.9),
            },
            Part {
                says: "with intervals up to 25,000 cycles: MCS's time over SANL's",
                experiment: interval(OPTERON, 63, SHORT),
                measure: slower(&["mcs"], &["sanl"], UP_TO),
                band: Band::About(3.8),
            },
            Part {
                says: "with intervals up to 25,000 cycles: RCL's time over SANL's",
                experiment: interval(OPTERON, 63, SHORT),
                measure: slower(&["rcl"], &["sanl"], UP_TO),
                band: Band::About(2.3),
            },
            Part {
                says: "with intervals up to 25,000 cycles: FC's time over SANL's",
                experiment: interval(OPTERON, 63, SHORT),
                measure: slower(&["fc"], &["sanl"], UP_TO),
                band: Band::About(5.9),
            },
        ],
        seeds: Seeds::All,
    },
    Claim {
        id: "S3",
        source: "Zhang et al. 2017 §4.2, figures 11 and 13",
        says: "With intervals over 100,000 cycles a section takes 1573 cycles under SANL and 803 \
               under MCS on the Xeon, 2520 and 2368 on the Opteron, 3642 under RCL on the Xeon",
        parts: &[
            Part {
                says: "MCS on the Xeon",
                experiment: interval(XEON, 39, &[Span::Cycles(1_000_000)]),
                measure: cycles(&["mcs"]),
                band: Band::About(803.0),
            },
            Part {
                says: "MCS on the Opteron",
                experiment: interval(OPTERON, 63, &[Span::Cycles(1_000_000)]),
                measure: cycles(&["mcs"]),
                band: Band::About(2368.0),
            },
            Part {
                says: "SANL on the Xeon",
                experiment: interval(XEON, 39, &[Span::Cycles(1_000_000)]),
                measure: cycles(&["sanl"]),
                band: Band::About(1573.0),
            },
            Part {
                says: "SANL on the Opteron",
                experiment: interval(OPTERON, 63, &[Span::Cycles(1_000_000)]),
                measure: cycles(&["sanl"]),
                band: Band::About(2520.0),
            },
            Part {
                says: "RCL on the Xeon",
                experiment: interval(XEON, 39, &[Span::Cycles(1_000_000)]),
                measure: cycles(&["rcl"]),
                band: Band::About(3642.0),
            },
        ],
        needs: None,
        counterfactuals: &[
            Part {
                says: "with sections that compute for 235 cycles, so that MCS takes 350 alone on the \
                       Opteron: SANL on the Xeon",
                experiment: interval(XEON, 39, &[Span::Cycles(1_000_000)]).with(COMPUTES),
                measure: cycles(&["sanl"]),
                band: Band::About(1573.0),
            },
            Part {
                says: "with counted instructions, an estimate: SANL on the Xeon",
                experiment: interval(COUNTED_XEON, 39, &[Span::Cycles(1_000_000)]),
                measure: cycles(&["sanl"]),
                band: Band::About(1573.0),
            },
            Part {
                says: "with counted instructions of two cycles each: SANL on the Xeon",
                experiment: interval(SLOW_XEON, 39, &[Span::Cycles(1_000_000)]),
                measure: cycles(&["sanl"]),
                band: Band::About(1573.0),
            },
            Part {
                says: "with counted instructions of two cycles each: MCS on the Opteron",
                experiment: interval(SLOW_OPTERON, 63, &[Span::Cycles(1_000_000)]),
                measure: cycles(&["mcs"]),
                band: Band::About(2368.0),
            },
        ],
        seeds: Seeds::All,
    },
    Claim {
        id: "S4",
        source: "Zhang et al. 2017 §3.4, §4.1",
        says: "The profiler finds thresholds of 17 % and 56 % on the Xeon, 6 % and 40 % on the \
               Opteron",
        parts: &[
            Part {
                says: "θ_l on the Xeon",
                experiment: interval(XEON, 39, SHORT),
                measure: Measure::Profiled(Threshold::Brings),
                band: Band::About(0.17),
            },
            Part {
                says: "θ_l on the Opteron",
                experiment: interval(OPTERON, 63, SHORT),
                measure: Measure::Profiled(Threshold::Brings),
                band: Band::About(0.06),
            },
            Part {
                says: "θ_f on the Xeon",
                experiment: interval(XEON, 39, SHORT),
                measure: Measure::Profiled(Threshold::Strict),
                band: Band::About(0.56),
            },
            Part {
                says: "θ_f on the Opteron",
                experiment: interval(OPTERON, 63, SHORT),
                measure: Measure::Profiled(Threshold::Strict),
                band: Band::About(0.40),
            },
        ],
        needs: None,
        counterfactuals: &[
            profiled(
                COUNTED_XEON,
                "with counted instructions, an estimate: θ_l on the Xeon",
                Threshold::Brings,
                0.17,
            ),
            profiled(
                COUNTED_OPTERON,
                "with counted instructions, an estimate: θ_l on the Opteron",
                Threshold::Brings,
                0.06,
            ),
            profiled(
                "xeon-e7-4850x4, least occupancy",
                "with the shortest occupancies of the file's range: θ_f on the Xeon",
                Threshold::Strict,
                0.56,
            ),
            profiled(
                "opteron-6274x8, least occupancy",
                "with the shortest occupancies of the file's range: θ_f on the Opteron",
                Threshold::Strict,
                0.40,
            ),
        ],
        seeds: Seeds::One,
    },
    Claim {
        id: "S5",
        source: "Zhang et al. 2017 §4.2",
        says: "Under a stable load SANL switches its mode fewer than twice a run",
        parts: &[
            Part {
                says: "switches of mode on the Opteron",
                experiment: interval(OPTERON, 63, SHORT).lasting(RUN),
                measure: SWITCHES,
                band: Band::AtMost(1.0),
            },
            Part {
                says: "switches of mode on the Xeon",
                experiment: interval(XEON, 39, SHORT).lasting(RUN),
                measure: SWITCHES,
                band: Band::AtMost(1.0),
            },
        ],
        needs: None,
        counterfactuals: &[
            Part {
                says: "with intervals up to 3,000 cycles, high contention: on the Opteron",
                experiment: interval(OPTERON, 63, ALIKE).lasting(RUN),
                measure: SWITCHES,
                band: Band::AtMost(1.0),
            },
            Part {
                says: "with intervals up to 3,000 cycles, high contention: on the Xeon",
                experiment: interval(XEON, 39, ALIKE).lasting(RUN),
                measure: SWITCHES,
                band: Band::AtMost(1.0),
            },
        ],
        seeds: Seeds::All,
    },
    Claim {
        id: "S6",
        source: "Zhang et al. 2017 §4.1, figure 8",
        says: "On the Opteron distance-first and serving-first are alike up to intervals of about \
               3,000 cycles; then distance-first falls below having no policy, serving-first does \
               not",
        parts: &[
            Part {
                says: "serving-first over distance-first, short intervals",
                experiment: interval(OPTERON, 63, ALIKE),
                measure: faster(&["sanl"], &["sanl-distance-first"], EVERYWHERE),
                band: Band::About(1.0),
            },
            Part {
                says: "no policy over distance-first, long intervals",
                experiment: interval(OPTERON, 63, &[Span::Cycles(10_000), Span::Cycles(25_000)]),
                measure: faster(&["sanl-flat"], &["sanl-distance-first"], EVERYWHERE),
                band: Band::AtLeast(1.0),
            },
            Part {
                says: "serving-first over no policy, long intervals",
                experiment: interval(OPTERON, 63, &[Span::Cycles(10_000), Span::Cycles(25_000)]),
                measure: faster(&["sanl"], &["sanl-flat"], EVERYWHERE),
                band: Band::AtLeast(0.95),
            },
        ],
        needs: None,
        counterfactuals: &[Part {
            says: "with sections that compute for 235 cycles: serving-first over distance-first, \
                       short intervals",
            experiment: interval(OPTERON, 63, ALIKE).with(COMPUTES),
            measure: faster(&["sanl"], &["sanl-distance-first"], EVERYWHERE),
            band: Band::About(1.0),
        }],
        seeds: Seeds::All,
    },
    Claim {
        id: "S7",
        source: "Zhang et al. 2017 §4.2, figures 15 to 17",
        says: "On the Xeon SANL's misses are close to RCL's under high contention and to MCS's \
               under low; FC's rise as contention falls",
        parts: &[
            Part {
                says: "SANL's misses over RCL's, high contention",
                experiment: interval(XEON, 39, &[Span::Cycles(100), Span::Cycles(1_000)]),
                measure: misses(&["sanl"], &["rcl"]),
                band: Band::AtMost(1.25),
            },
            Part {
                says: "the same with 5 lines",
                experiment: interval(XEON, 39, &[Span::Cycles(100), Span::Cycles(1_000)])
                    .with(FIVE_LINES),
                measure: misses(&["sanl"], &["rcl"]),
                band: Band::AtMost(1.25),
            },
            Part {
                says: "SANL's misses over MCS's, low contention, 5 lines",
                experiment: interval(XEON, 39, &[Span::Cycles(1_000_000)]).with(FIVE_LINES),
                measure: misses(&["sanl"], &["mcs"]),
                band: Band::About(1.0),
            },
            Part {
                says: "SANL's misses over MCS's, low contention",
                experiment: interval(XEON, 39, &[Span::Cycles(1_000_000)]),
                measure: misses(&["sanl"], &["mcs"]),
                band: Band::About(1.0),
            },
            Part {
                says: "FC's misses rise as contention falls",
                experiment: interval(XEON, 39, &[Span::Cycles(1_000), Span::Cycles(100_000)]),
                measure: Measure::Change {
                    lock: "fc",
                    metric: Metric::Misses,
                },
                band: Band::AtLeast(1.0),
            },
        ],
        needs: None,
        counterfactuals: &[],
        seeds: Seeds::All,
    },
    Claim {
        id: "S8",
        source: "Zhang et al. 2017 §4.1, figures 9 and 10",
        says: "A limit of more than 100 rounds for a server gains little more, one of 1 or 10 \
               loses; a short patience of clients loses, a long one does not matter",
        parts: &[
            Part {
                says: "100 rounds over 10",
                experiment: clients(OPTERON, &[16, 32, 63]),
                measure: faster(&["sanl/100"], &["sanl/10"], EVERYWHERE),
                band: Band::AtLeast(1.0),
            },
            Part {
                says: "100 rounds over 1",
                experiment: clients(OPTERON, &[16, 32, 63]),
                measure: faster(&["sanl/100"], &["sanl/1"], EVERYWHERE),
                band: Band::AtLeast(1.0),
            },
            Part {
                says: "1,000 rounds over 100",
                experiment: clients(OPTERON, &[16, 32, 63]),
                measure: faster(&["sanl/1000"], &["sanl/100"], EVERYWHERE),
                band: Band::Near(1.0, 0.1),
            },
            Part {
                says: "a patience of 100 µs over 100 ns",
                experiment: clients(OPTERON, &[16, 32, 63]),
                measure: faster(&["sanl/100us"], &["sanl/100ns"], EVERYWHERE),
                band: Band::AtLeast(1.0),
            },
            Part {
                says: "a patience of 1 ms over 100 µs",
                experiment: clients(OPTERON, &[16, 32, 63]),
                measure: faster(&["sanl/1ms"], &["sanl/100us"], EVERYWHERE),
                band: Band::Near(1.0, 0.1),
            },
        ],
        needs: None,
        counterfactuals: &[],
        seeds: Seeds::All,
    },
    Claim {
        id: "S9",
        source: "Zhang et al. 2017 §4.2, figure 18",
        says: "On the Opteron SANL is over 3.5 times as fast as in-place locks with many threads \
               and 1.3 times as delegation locks; with 4 threads RCL is 1.37 times as fast; with \
               few threads a section takes 593 cycles under SANL and 350 under MCS",
        parts: &[
            Part {
                says: "SANL over the best in-place lock, many threads",
                experiment: clients(OPTERON, &[48, 63]),
                measure: Measure::Ratio {
                    of: Side::most(&["sanl"]),
                    // Among locks that serve every thread: starvation makes a lock no rival.
                    over: Side::most_serving_all(&["mcs", "ticket", "posix", "c-tkt-mcs/endless"]),
                    metric: Metric::Throughput,
                    fold: EVERYWHERE,
                },
                band: Band::AtLeast(3.5),
            },
            Part {
                says: "SANL over the best delegation lock, many threads",
                experiment: clients(OPTERON, &[48, 63]),
                measure: faster(&["sanl"], &["rcl", "fc", "h-synch"], EVERYWHERE),
                band: Band::About(1.3),
            },
            Part {
                says: "RCL over SANL with 4 threads",
                experiment: clients(OPTERON, &[4]),
                measure: faster(&["rcl"], &["sanl"], UP_TO),
                band: Band::About(1.37),
            },
            Part {
                says: "MCS with one thread, in cycles",
                experiment: clients(OPTERON, &[1]),
                measure: cycles(&["mcs"]),
                band: Band::About(350.0),
            },
            Part {
                says: "SANL with one thread, in cycles",
                experiment: clients(OPTERON, &[1]),
                measure: cycles(&["sanl"]),
                band: Band::About(593.0),
            },
        ],
        needs: None,
        counterfactuals: &[
            Part {
                says: "with sections that compute for 235 cycles, so that MCS takes 350: MCS with one \
                       thread",
                experiment: clients(OPTERON, &[1]).with(COMPUTES),
                measure: cycles(&["mcs"]),
                band: Band::About(350.0),
            },
            Part {
                says: "with sections that compute for 235 cycles: SANL with one thread",
                experiment: clients(OPTERON, &[1]).with(COMPUTES),
                measure: cycles(&["sanl"]),
                band: Band::About(593.0),
            },
            Part {
                says: "with counted instructions, an estimate: MCS with one thread",
                experiment: clients(COUNTED_OPTERON, &[1]),
                measure: cycles(&["mcs"]),
                band: Band::About(350.0),
            },
            Part {
                says: "with counted instructions, an estimate: SANL with one thread",
                experiment: clients(COUNTED_OPTERON, &[1]),
                measure: cycles(&["sanl"]),
                band: Band::About(593.0),
            },
            Part {
                says: "with counted instructions of two cycles each: MCS with one thread",
                experiment: clients(SLOW_OPTERON, &[1]),
                measure: cycles(&["mcs"]),
                band: Band::About(350.0),
            },
            Part {
                says: "with counted instructions of two cycles each: SANL with one thread",
                experiment: clients(SLOW_OPTERON, &[1]),
                measure: cycles(&["sanl"]),
                band: Band::About(593.0),
            },
        ],
        seeds: Seeds::All,
    },
    Claim {
        id: "S10",
        source: "Zhang et al. 2017 §4.2, figure 19",
        says: "Server nominations rise sharply between intervals of 30,000 and 100,000 cycles, when \
               SANL's performance decreases; sanl+, ours, must not be slower",
        parts: &[
            Part {
                says: "nominations a second under sanl at 50,000 cycles over those at 10,000",
                experiment: interval(OPTERON, 63, &[Span::Cycles(10_000), Span::Cycles(50_000)]),
                measure: Measure::Change {
                    lock: "sanl",
                    metric: Metric::Count("nominations"),
                },
                band: Band::AtLeast(2.0),
            },
            // Not the paper's. Each combiner of sanl+ counts as nominated, so that counts do not
            // compare; its time does.
            Part {
                says: "cycles a section of sanl+ over those of sanl at 50,000 cycles",
                experiment: interval(OPTERON, 63, &[Span::Cycles(50_000)]),
                measure: slower(&["sanl+"], &["sanl"], UP_TO),
                band: Band::AtMost(1.0),
            },
        ],
        needs: None,
        counterfactuals: &[],
        seeds: Seeds::All,
    },
    Claim {
        id: "S11",
        source: "Zhang et al. 2017 §4.3.1, §4.3.2, figures 20 to 23",
        says: "Berkeley DB: SANL 24 to 49 % over RCL with many clients, at least 1.64 times RCL \
               with fewer than 5; with Order Status at least 16 % over all others on the Xeon, up to \
               66 % over RCL on the Opteron; memcached's sets: 6 to 33 % over MCS and RCL, its \
               gets: all alike",
        parts: &[
            Part {
                says: "Berkeley DB, many clients: SANL over RCL",
                experiment: application(XEON, "berkeleydb", &[30, 38]),
                measure: faster(&["sanl"], &["rcl"], EVERYWHERE),
                band: Band::Between(1.24, 1.49),
            },
            Part {
                says: "Berkeley DB, few clients: SANL over RCL",
                experiment: application(XEON, "berkeleydb", &[2, 4]),
                measure: faster(&["sanl"], &["rcl"], EVERYWHERE),
                band: Band::AtLeast(1.64),
            },
            Part {
                says: "Berkeley DB on the Opteron, many clients: SANL over RCL",
                experiment: application(OPTERON, "berkeleydb", &[48, 62]),
                measure: faster(&["sanl"], &["rcl"], EVERYWHERE),
                band: Band::AtLeast(1.0),
            },
            Part {
                says: "Order Status: SANL over the best other",
                experiment: application(XEON, "berkeleydb", &[10, 20, 30, 38]).with(ORDER_STATUS),
                measure: faster(&["sanl"], OTHERS, EVERYWHERE),
                band: Band::AtLeast(1.16),
            },
            Part {
                says: "Order Status on the Opteron: SANL over RCL",
                experiment: application(OPTERON, "berkeleydb", &[16, 32, 48, 62])
                    .with(ORDER_STATUS),
                measure: faster(&["sanl"], &["rcl"], UP_TO),
                band: Band::About(1.66),
            },
            Part {
                says: "memcached's sets: SANL over MCS and RCL",
                experiment: application(XEON, "memcached-set", CACHE_ON_XEON).with(SETS),
                measure: faster(&["sanl"], &["mcs", "rcl"], EVERYWHERE),
                band: Band::Between(1.06, 1.33),
            },
            Part {
                says: "memcached's sets on the Opteron: SANL over MCS and RCL",
                experiment: application(OPTERON, "memcached-set", CACHE_ON_OPTERON).with(SETS),
                measure: faster(&["sanl"], &["mcs", "rcl"], EVERYWHERE),
                band: Band::AtLeast(1.0),
            },
            Part {
                says: "memcached's gets: SANL over the best other",
                experiment: application(XEON, "memcached-set", CACHE_ON_XEON).with(GETS),
                measure: faster(&["sanl"], THAT_WAIT, EVERYWHERE),
                band: Band::About(1.0),
            },
            Part {
                says: "memcached's gets: SANL over the worst other",
                experiment: application(XEON, "memcached-set", CACHE_ON_XEON).with(GETS),
                measure: faster_than_all(&["sanl"], THAT_WAIT, EVERYWHERE),
                band: Band::About(1.0),
            },
            Part {
                says: "memcached's gets on the Opteron: SANL over the best other",
                experiment: application(OPTERON, "memcached-set", CACHE_ON_OPTERON).with(GETS),
                measure: faster(&["sanl"], THAT_WAIT, EVERYWHERE),
                band: Band::About(1.0),
            },
            Part {
                says: "memcached's gets on the Opteron: SANL over the worst other",
                experiment: application(OPTERON, "memcached-set", CACHE_ON_OPTERON).with(GETS),
                measure: faster_than_all(&["sanl"], THAT_WAIT, EVERYWHERE),
                band: Band::About(1.0),
            },
        ],
        needs: None,
        counterfactuals: &[
            Part {
                says: "with 10 times as long sections and gaps: memcached's gets, SANL over the worst \
                       other",
                experiment: application(XEON, "memcached-set", CACHE_ON_XEON).with(LONG_GETS),
                measure: faster_than_all(&["sanl"], THAT_WAIT, EVERYWHERE),
                band: Band::About(1.0),
            },
            Part {
                says: "with 10 times as long sections and gaps: memcached's gets on the Opteron",
                experiment: application(OPTERON, "memcached-set", CACHE_ON_OPTERON).with(LONG_GETS),
                measure: faster_than_all(&["sanl"], THAT_WAIT, EVERYWHERE),
                band: Band::About(1.0),
            },
        ],
        seeds: Seeds::All,
    },
    Claim {
        id: "S12",
        source: "Zhang et al. 2017 §4.3.3, §4.3.4, figures 24 to 27",
        says: "Best of each lock: SANL up to 58 % over POSIX (linear regression); like MCS with few \
               threads and like RCL and FC with many (string match); hardly ahead on the Xeon and \
               over 50 % on the Opteron (matrix multiply); 7 to 25 % over MCS (radiosity); all \
               alike (raytrace)",
        parts: &[
            Part {
                says: "linear regression: SANL over POSIX",
                experiment: application(XEON, "linear-regression", ON_XEON),
                measure: best(&["sanl"], &["posix"]),
                band: Band::About(1.58),
            },
            Part {
                says: "linear regression on the Opteron: SANL over POSIX",
                experiment: application(OPTERON, "linear-regression", ON_OPTERON),
                measure: best(&["sanl"], &["posix"]),
                band: Band::About(1.58),
            },
            Part {
                says: "string match, few threads: SANL over MCS",
                experiment: application(XEON, "string-match", &[2, 4]),
                measure: faster(&["sanl"], &["mcs"], EVERYWHERE),
                band: Band::About(1.0),
            },
            Part {
                says: "string match, many threads: SANL over RCL and FC",
                experiment: application(XEON, "string-match", &[30, 39]),
                measure: faster(&["sanl"], &["rcl", "fc"], EVERYWHERE),
                band: Band::About(1.0),
            },
            Part {
                says: "matrix multiply: SANL over the best other",
                experiment: application(XEON, "matrix-multiply", ON_XEON),
                measure: best(&["sanl"], OTHERS),
                band: Band::About(1.0),
            },
            Part {
                says: "matrix multiply on the Opteron: SANL over the best other",
                experiment: application(OPTERON, "matrix-multiply", ON_OPTERON),
                measure: best(&["sanl"], OTHERS),
                band: Band::AtLeast(1.5),
            },
            Part {
                says: "radiosity: SANL over MCS",
                experiment: application(XEON, "radiosity", ON_XEON),
                measure: best(&["sanl"], &["mcs"]),
                band: Band::Between(1.07, 1.25),
            },
            Part {
                says: "radiosity on the Opteron: SANL over MCS",
                experiment: application(OPTERON, "radiosity", ON_OPTERON),
                measure: best(&["sanl"], &["mcs"]),
                band: Band::Between(1.07, 1.25),
            },
            Part {
                says: "raytrace, balls4: SANL over POSIX",
                experiment: application(XEON, "raytrace", ON_XEON),
                measure: best(&["sanl"], &["posix"]),
                band: Band::About(1.0),
            },
            Part {
                says: "raytrace, balls4, on the Opteron: SANL over POSIX",
                experiment: application(OPTERON, "raytrace", ON_OPTERON),
                measure: best(&["sanl"], &["posix"]),
                band: Band::About(1.0),
            },
            Part {
                says: "raytrace, car: SANL over POSIX",
                experiment: application(XEON, "raytrace", ON_XEON).with(CAR),
                measure: best(&["sanl"], &["posix"]),
                band: Band::About(1.0),
            },
            Part {
                says: "raytrace, car, on the Opteron: SANL over POSIX",
                experiment: application(OPTERON, "raytrace", ON_OPTERON).with(CAR),
                measure: best(&["sanl"], &["posix"]),
                band: Band::About(1.0),
            },
        ],
        needs: None,
        counterfactuals: &[
            Part {
                says: "with 5 times the work between sections: raytrace, balls4, SANL over POSIX",
                experiment: application(XEON, "raytrace", ON_XEON).with(FAR_APART),
                measure: best(&["sanl"], &["posix"]),
                band: Band::About(1.0),
            },
            Part {
                says: "with 5 times the work between sections: raytrace, balls4, on the Opteron",
                experiment: application(OPTERON, "raytrace", ON_OPTERON).with(FAR_APART),
                measure: best(&["sanl"], &["posix"]),
                band: Band::About(1.0),
            },
        ],
        seeds: Seeds::All,
    },
];

const fn misses(of: &'static [&'static str], over: &'static [&'static str]) -> Measure {
    Measure::Ratio {
        of: Side::most(of),
        over: Side::most(over),
        metric: Metric::Misses,
        fold: EVERYWHERE,
    }
}
