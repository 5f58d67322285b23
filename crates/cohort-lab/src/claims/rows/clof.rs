//! Chehab et al. 2021, *CLoF*.  Threads are pinned, one hardware thread of each core first, and
//! the last CPU is unused.

use crate::bench::{Knobs, Span};
use crate::claims::{
    Band, Claim, Experiment, Fold, Measure, Metric, Part, Place, Seeds, Side, Sweep,
};
use crate::world::Placement;

const EPYC: &str = "epyc-7352x2";
const KUNPENG: &str = "kunpeng-920x2";

const BUSY_KUNPENG: &str = "kunpeng-920x2, reads keep a line busy 3 times as long";

/// Sections that compute for ten times as long.
const LONG: Knobs = Knobs {
    critical: Some(Span::Cycles(400)),
    ..Knobs::NONE
};

const fn leveldb(machine: &'static str, threads: &'static [usize]) -> Experiment {
    Experiment::new(
        machine,
        "leveldb",
        Placement::Cores,
        Sweep::Threads(threads),
    )
}

const fn kyoto(machine: &'static str, threads: &'static [usize]) -> Experiment {
    Experiment::new(machine, "kyoto", Placement::Cores, Sweep::Threads(threads))
}

/// One thread in each cohort of one level, all in one of another.
const fn one_each(
    machine: &'static str,
    threads: &'static [usize],
    each: &'static str,
    within: &'static str,
) -> Experiment {
    leveldb(machine, threads).at(Place::One { each, within })
}

/// Hand-overs within a level, against those across the system.
const fn nearer(
    machine: &'static str,
    level: &'static str,
    says: &'static str,
    paper: f64,
) -> Part {
    Part {
        says,
        experiment: Experiment::new(
            machine,
            "pingpong",
            Placement::Compact,
            Sweep::Threads(&[2]),
        ),
        measure: Measure::Nearer { level },
        band: Band::Near(paper, 0.1),
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

/// Jain's index, a share, of one side over HMCS's: where all are fair, deviations are all
/// but nothing, and so is what their ratio says.  The runs are as long as several turns of
/// the largest cohorts, which hold a lock for 20 ms on Kunpeng.
const fn fairness(
    says: &'static str,
    experiment: Experiment,
    of: Side,
    over: &'static [&'static str],
) -> Part {
    Part {
        says,
        experiment,
        measure: Measure::Ratio {
            of,
            over: Side::most(over),
            metric: Metric::Fairness,
            fold: EVERYWHERE,
        },
        band: Band::Near(1.0, 0.1),
    }
}

/// A lead: that figure, so much more or less, and a quarter of the lead at least, so that no lead is
/// none.
const fn lead(figure: f64, share: f64) -> Band {
    let (low, least) = (figure * (1.0 - share), 1.0 + (figure - 1.0) / 4.0);
    let low = if low > least { low } else { least };
    Band::Between(low, figure * (1.0 + share))
}

const UP_TO: Fold = Fold::Greatest;
const EVERYWHERE: Fold = Fold::Everywhere;

const HMCS_4_X86: &str = "hmcs-4@core,cache,numa,system";
const HMCS_3_X86: &str = "hmcs-3@core,numa,system";
const HMCS_2_X86: &str = "hmcs-2@numa,system";
const HMCS_4_ARM: &str = "hmcs-4@cache,numa,package,system";
const EVERY_4: &str = "clof:*-*-*-*";
/// HMCS as a composition.
const ALL_MCS: &str = "clof:mcs-mcs-mcs-mcs";
/// LC-best: of all 256 that are searched (see `claims/stands.rs`).
const BEST_4: &str = "clof:best-4";
/// HC-best: the best under high contention.
const HIGH_4: &str = "clof:best-4-high";
const BEST_3: &str = "clof:best-3";

pub const ROWS: &[Claim] = &[
    Claim {
        id: "F1",
        source: "Chehab et al. 2021 §3.1, Table 2",
        says: "Two threads that count up in turn are faster the nearer they are: on EPYC 1.54 \
               within a package, 9.07 within a cache group, 12.18 within a core; on Kunpeng 1.76, \
               2.98 within a NUMA node, 7.04 within a cache group.  Both machines' files were \
               calibrated on these figures: the row checks the calibration",
        parts: &[
            nearer(EPYC, "numa", "EPYC, one package and NUMA node", 1.54),
            nearer(EPYC, "cache", "EPYC, one cache group", 9.07),
            nearer(EPYC, "core", "EPYC, one core", 12.18),
            nearer(KUNPENG, "package", "Kunpeng, one package", 1.76),
            nearer(KUNPENG, "numa", "Kunpeng, one NUMA node", 2.98),
            nearer(KUNPENG, "cache", "Kunpeng, one cache group", 7.04),
        ],
        needs: None,
        counterfactuals: &[],
        seeds: Seeds::One,
    },
    Claim {
        id: "F2",
        source: "Chehab et al. 2021 §3.1, figure 2",
        says: "On EPYC HMCS of four levels reaches up to 60 % over three; three are below two \
               under 48 threads; two are above MCS past 24",
        parts: &[
            Part {
                says: "four levels over three",
                experiment: leveldb(EPYC, &[8, 16, 24, 32, 48, 64, 95]),
                measure: faster(&[HMCS_4_X86], &[HMCS_3_X86], UP_TO),
                band: Band::About(1.6),
            },
            Part {
                says: "three levels over two, under 48 threads",
                experiment: leveldb(EPYC, &[8, 16, 24, 32]),
                measure: faster(&[HMCS_3_X86], &[HMCS_2_X86], UP_TO),
                band: Band::AtMost(1.0),
            },
            Part {
                says: "two levels over MCS, past 24 threads",
                experiment: leveldb(EPYC, &[32, 48, 64, 95]),
                measure: faster(&[HMCS_2_X86], &["mcs"], EVERYWHERE),
                band: Band::AtLeast(1.0),
            },
        ],
        needs: None,
        counterfactuals: &[
            Part {
                says: "with sections that compute for 400 cycles, an estimate: three levels over two, \
                       under 48 threads",
                experiment: leveldb(EPYC, &[8, 16, 24, 32]).with(LONG),
                measure: faster(&[HMCS_3_X86], &[HMCS_2_X86], UP_TO),
                band: Band::AtMost(1.0),
            },
            Part {
                says: "if a section's lines are fetched together, 8 misses in flight, an estimate: three \
                       levels over two, under 48 threads",
                experiment: leveldb("epyc-7352x2, 8 misses in flight", &[8, 16, 24, 32]),
                measure: faster(&[HMCS_3_X86], &[HMCS_2_X86], UP_TO),
                band: Band::AtMost(1.0),
            },
        ],
        seeds: Seeds::All,
    },
    Claim {
        id: "F3",
        source: "Chehab et al. 2021 §5.2, §5.3.2, figures 9 and 10",
        says: "The best composition of four levels is over HMCS of the same levels by 5 % at 8, \
               15 % at 32 and 33 % at 95 threads on EPYC, by 3 to 15 % on Kunpeng; the best under \
               high contention by -5 % at 8 and 47 % at 95 threads on EPYC",
        parts: &[
            Part {
                says: "EPYC, 8 threads",
                experiment: leveldb(EPYC, &[8]),
                measure: faster(&[BEST_4], &[HMCS_4_X86], UP_TO),
                band: lead(1.05, 0.1),
            },
            Part {
                says: "EPYC, 32 threads",
                experiment: leveldb(EPYC, &[32]),
                measure: faster(&[BEST_4], &[HMCS_4_X86], UP_TO),
                band: lead(1.15, 0.1),
            },
            Part {
                says: "EPYC, 95 threads",
                experiment: leveldb(EPYC, &[95]),
                measure: faster(&[BEST_4], &[HMCS_4_X86], UP_TO),
                band: lead(1.33, 0.25),
            },
            Part {
                says: "EPYC, 8 threads, the best under high contention",
                experiment: leveldb(EPYC, &[8]),
                measure: faster(&[HIGH_4], &[HMCS_4_X86], UP_TO),
                band: Band::Between(0.855, 0.99),
            },
            Part {
                says: "EPYC, 95 threads, the best under high contention",
                experiment: leveldb(EPYC, &[95]),
                measure: faster(&[HIGH_4], &[HMCS_4_X86], UP_TO),
                band: lead(1.47, 0.25),
            },
            Part {
                says: "Kunpeng, 3 to 15 %",
                experiment: leveldb(KUNPENG, &[1, 4, 8, 32, 64, 127]),
                measure: faster(&[BEST_4], &[HMCS_4_ARM], EVERYWHERE),
                band: Band::Between(1.01, 1.25),
            },
        ],
        needs: None,
        counterfactuals: &[Part {
            says: "if HMCS costs what a composition of MCS does: EPYC, 32 threads",
            experiment: leveldb(EPYC, &[32]),
            measure: faster(&[BEST_4], &[ALL_MCS], UP_TO),
            band: lead(1.15, 0.1),
        }],
        seeds: Seeds::All,
    },
    Claim {
        id: "F4",
        source: "Chehab et al. 2021 §3.3, §5.3.2, figures 4 and 10",
        says: "On Kunpeng CNA and ShflLock are below MCS under 32 threads, level past 32, above \
               past 64; the best composition of four levels is ahead of them by up to 109 %, on \
               EPYC by up to 139 %",
        parts: &[
            Part {
                says: "the better of the two over MCS, under 32 threads",
                experiment: leveldb(KUNPENG, &[4, 8, 16]),
                measure: faster(&["cna", "shfllock"], &["mcs"], UP_TO),
                band: Band::AtMost(1.0),
            },
            Part {
                says: "the better of the two over MCS, past 32 threads",
                experiment: leveldb(KUNPENG, &[48, 64]),
                measure: faster(&["cna", "shfllock"], &["mcs"], EVERYWHERE),
                band: Band::About(1.0),
            },
            Part {
                says: "the worse of the two over MCS, past 32 threads",
                experiment: leveldb(KUNPENG, &[48, 64]),
                measure: Measure::Ratio {
                    of: Side::least(&["cna", "shfllock"]),
                    over: Side::most(&["mcs"]),
                    metric: Metric::Throughput,
                    fold: EVERYWHERE,
                },
                band: Band::About(1.0),
            },
            Part {
                says: "the worse of the two over MCS, past 64 threads",
                experiment: leveldb(KUNPENG, &[96, 127]),
                measure: Measure::Ratio {
                    of: Side::least(&["cna", "shfllock"]),
                    over: Side::most(&["mcs"]),
                    metric: Metric::Throughput,
                    fold: EVERYWHERE,
                },
                band: Band::AtLeast(1.0),
            },
            Part {
                says: "the composition over the better of the two, Kunpeng",
                experiment: leveldb(KUNPENG, &[8, 32, 64, 127]),
                measure: faster(&[BEST_4], &["cna", "shfllock"], UP_TO),
                band: Band::About(2.09),
            },
            Part {
                says: "the composition over the better of the two, EPYC",
                experiment: leveldb(EPYC, &[8, 32, 48, 64, 95]),
                measure: faster(&[BEST_4], &["cna", "shfllock"], UP_TO),
                band: Band::About(2.39),
            },
        ],
        needs: None,
        counterfactuals: &[
            Part {
                says: "with CNA in the place of both, which are alike there: over MCS, past 32 threads",
                experiment: leveldb(KUNPENG, &[48, 64]),
                measure: faster(&["cna"], &["mcs"], EVERYWHERE),
                band: Band::About(1.0),
            },
            Part {
                says: "with CNA in the place of both: over MCS, past 64 threads",
                experiment: leveldb(KUNPENG, &[96, 127]),
                measure: faster(&["cna"], &["mcs"], EVERYWHERE),
                band: Band::AtLeast(1.0),
            },
            Part {
                says: "with sections that compute for 400 cycles, an estimate: the composition over \
                       the better of the two, EPYC",
                experiment: leveldb(EPYC, &[8, 32, 48, 64, 95]).with(LONG),
                measure: faster(&[BEST_4], &["cna", "shfllock"], UP_TO),
                band: Band::About(2.39),
            },
        ],
        seeds: Seeds::All,
    },
    Claim {
        id: "F5",
        source: "Chehab et al. 2021 §3.2, figure 3",
        says: "Hemlock with coherence-traffic reduction is faster on EPYC and collapses on Kunpeng",
        parts: &[
            Part {
                says: "EPYC, one thread in each cache group of a NUMA node",
                experiment: one_each(EPYC, &[8], "cache", "numa"),
                measure: faster(&["hemlock-ctr"], &["hemlock"], EVERYWHERE),
                band: Band::AtLeast(1.0),
            },
            Part {
                says: "Kunpeng, one thread in each cache group of a NUMA node",
                experiment: one_each(KUNPENG, &[8], "cache", "numa"),
                measure: Measure::Collapse {
                    lock: "hemlock-ctr",
                    over: "hemlock",
                },
                band: Band::AtMost(0.25),
            },
        ],
        needs: None,
        counterfactuals: &[
            Part {
                says: "with invalidations 2 times as dear, an estimate: EPYC, one thread in each cache \
                       group of a NUMA node",
                experiment: one_each(
                    "epyc-7352x2, invalidations 2 times as dear",
                    &[8],
                    "cache",
                    "numa",
                ),
                measure: faster(&["hemlock-ctr"], &["hemlock"], EVERYWHERE),
                band: Band::AtLeast(1.0),
            },
            Part {
                says: "if a store-conditional may fail without end: Kunpeng, one thread in each cache \
                       group of a NUMA node",
                experiment: one_each(
                    "kunpeng-920x2, store-conditionals fail without end",
                    &[8],
                    "cache",
                    "numa",
                ),
                measure: Measure::Collapse {
                    lock: "hemlock-ctr",
                    over: "hemlock",
                },
                band: Band::AtMost(0.25),
            },
        ],
        seeds: Seeds::All,
    },
    Claim {
        id: "F6",
        source: "Chehab et al. 2021 §3.2, figure 3",
        says: "The best basic lock differs by level and by machine: ticket with two threads at \
               system level; at NUMA level Hemlock on EPYC and CLH on Kunpeng, where ticket has \
               about half of the others",
        parts: &[
            Part {
                says: "EPYC, system level: ticket over the best other",
                experiment: one_each(EPYC, &[2], "numa", "system"),
                measure: faster(
                    &["ticket"],
                    &["mcs", "clh-published", "hemlock-ctr"],
                    EVERYWHERE,
                ),
                band: Band::AtLeast(1.0),
            },
            Part {
                says: "Kunpeng, system level: ticket over the best other",
                experiment: one_each(KUNPENG, &[2], "package", "system"),
                measure: faster(
                    &["ticket"],
                    &["mcs", "clh-published", "hemlock"],
                    EVERYWHERE,
                ),
                band: Band::AtLeast(1.0),
            },
            Part {
                says: "EPYC, NUMA level: Hemlock over the best other",
                experiment: one_each(EPYC, &[8], "cache", "numa"),
                measure: faster(
                    &["hemlock-ctr"],
                    &["mcs", "clh-published", "ticket"],
                    EVERYWHERE,
                ),
                band: Band::AtLeast(1.0),
            },
            Part {
                says: "Kunpeng, NUMA level: CLH over the best other",
                experiment: one_each(KUNPENG, &[8], "cache", "numa"),
                measure: faster(
                    &["clh-published"],
                    &["mcs", "hemlock", "ticket"],
                    EVERYWHERE,
                ),
                band: Band::AtLeast(1.0),
            },
            Part {
                says: "Kunpeng, NUMA level: ticket over the best other",
                experiment: one_each(KUNPENG, &[8], "cache", "numa"),
                measure: faster(&["ticket"], &["mcs", "hemlock", "clh-published"], UP_TO),
                band: Band::About(0.5),
            },
        ],
        needs: None,
        counterfactuals: &[Part {
            says: "with reads that keep a line busy 3 times as long, an estimate: Kunpeng, NUMA \
                   level, ticket over the best other",
            experiment: one_each(BUSY_KUNPENG, &[8], "cache", "numa"),
            measure: faster(&["ticket"], &["mcs", "hemlock", "clh-published"], UP_TO),
            band: Band::About(0.5),
        }],
        seeds: Seeds::All,
    },
    Claim {
        id: "F7",
        source: "Chehab et al. 2021 §5.2.2, figure 9",
        says: "On Kunpeng the worst composition has ticket at the NUMA level, and drops at 32 \
               threads",
        parts: &[
            Part {
                says: "of all 256, the worst with ticket at the NUMA level over the worst without",
                experiment: leveldb(KUNPENG, &[32, 64, 127]),
                measure: Measure::Ratio {
                    of: Side::least(&["clof:*-tkt-*-*"]),
                    over: Side::least(&["clof:*-mcs-*-*", "clof:*-clh-*-*", "clof:*-hem-*-*"]),
                    metric: Metric::Throughput,
                    fold: EVERYWHERE,
                },
                band: Band::AtMost(1.0),
            },
            Part {
                says: "of all 256, the best with ticket at the NUMA level over the best without",
                experiment: leveldb(KUNPENG, &[32, 64, 127]),
                measure: faster(
                    &["clof:*-tkt-*-*"],
                    &["clof:*-mcs-*-*", "clof:*-clh-*-*", "clof:*-hem-*-*"],
                    UP_TO,
                ),
                band: Band::AtMost(0.75),
            },
            Part {
                says: "the drop: 32 threads over 16, of the worst",
                experiment: leveldb(KUNPENG, &[16, 32]),
                measure: Measure::Change {
                    lock: "clof:worst-4",
                    metric: Metric::Throughput,
                },
                band: Band::AtMost(0.9),
            },
        ],
        needs: None,
        counterfactuals: &[
            Part {
                says: "with reads that keep a line busy 3 times as long, an estimate, ticket in the \
                       place of CLH at the NUMA level",
                experiment: leveldb(BUSY_KUNPENG, &[32, 64, 127]),
                measure: faster(
                    &["clof:clh-ticket-clh-clh"],
                    &["clof:clh-clh-clh-clh"],
                    UP_TO,
                ),
                band: Band::AtMost(0.75),
            },
            Part {
                says: "with reads that keep a line busy 3 times as long, the drop of that",
                experiment: leveldb(BUSY_KUNPENG, &[16, 32]),
                measure: Measure::Change {
                    lock: "clof:clh-ticket-clh-clh",
                    metric: Metric::Throughput,
                },
                band: Band::AtMost(0.9),
            },
        ],
        seeds: Seeds::All,
    },
    Claim {
        id: "F8",
        source: "Chehab et al. 2021 §5.3.1, figure 10",
        says: "On EPYC four levels equal three up to 48 threads and lead by about 23 % beyond",
        parts: &[
            Part {
                says: "four over three, up to 48 threads",
                experiment: leveldb(EPYC, &[8, 16, 32, 48]),
                measure: faster(&[BEST_4], &[BEST_3], EVERYWHERE),
                band: Band::Near(1.0, 0.1),
            },
            Part {
                says: "four over three, beyond",
                experiment: leveldb(EPYC, &[64, 80, 95]),
                measure: faster(&[BEST_4], &[BEST_3], EVERYWHERE),
                band: Band::Near(1.23, 0.1),
            },
        ],
        needs: None,
        counterfactuals: &[Part {
            says: "with sections that compute for 400 cycles, an estimate: four over three, beyond",
            experiment: leveldb(EPYC, &[64, 80, 95]).with(LONG),
            measure: faster(&[BEST_4], &[BEST_3], EVERYWHERE),
            band: Band::Near(1.23, 0.1),
        }],
        seeds: Seeds::All,
    },
    Claim {
        id: "F9",
        source: "Chehab et al. 2021 §5.3.1, figure 10",
        says: "A lock tuned for one machine loses most of its lead on the other",
        parts: &[
            // Without a lead there is none to lose.
            Part {
                says: "EPYC: its own best leads HMCS",
                experiment: leveldb(EPYC, &[32, 95]),
                measure: faster(&[BEST_4], &[HMCS_4_X86], UP_TO),
                band: Band::AtLeast(1.05),
            },
            Part {
                says: "Kunpeng: its own best leads HMCS",
                experiment: leveldb(KUNPENG, &[32, 127]),
                measure: faster(&[BEST_4], &[HMCS_4_ARM], UP_TO),
                band: Band::AtLeast(1.03),
            },
            Part {
                says: "EPYC: Kunpeng's best over HMCS",
                experiment: leveldb(EPYC, &[32, 95]),
                measure: faster(&["clof:best-4@kunpeng-920x2"], &[HMCS_4_X86], UP_TO),
                band: Band::Near(1.0, 0.15),
            },
            Part {
                says: "EPYC: Kunpeng's best over its own",
                experiment: leveldb(EPYC, &[32, 95]),
                measure: faster(&["clof:best-4@kunpeng-920x2"], &[BEST_4], UP_TO),
                band: Band::AtMost(1.0),
            },
            Part {
                says: "Kunpeng: EPYC's best over its own",
                experiment: leveldb(KUNPENG, &[32, 127]),
                measure: faster(&["clof:best-4@epyc-7352x2"], &[BEST_4], UP_TO),
                band: Band::AtMost(1.0),
            },
            Part {
                says: "Kunpeng: EPYC's best over HMCS",
                experiment: leveldb(KUNPENG, &[32, 127]),
                measure: faster(&["clof:best-4@epyc-7352x2"], &[HMCS_4_ARM], UP_TO),
                band: Band::Near(1.0, 0.15),
            },
        ],
        needs: None,
        counterfactuals: &[Part {
            says: "if HMCS costs what a composition of MCS does: EPYC, its own best leads HMCS",
            experiment: leveldb(EPYC, &[32, 95]),
            measure: faster(&[BEST_4], &[ALL_MCS], UP_TO),
            band: Band::AtLeast(1.05),
        }],
        seeds: Seeds::All,
    },
    Claim {
        id: "F10",
        source: "Chehab et al. 2021 §5.3, figure 10",
        says: "Kyoto Cabinet on Kunpeng: four levels over HMCS by 11 % at 8, 10 % at 32, 8 % at \
               127 threads; three levels about 8 % over four at low to mid contention, level at \
               high",
        parts: &[
            Part {
                says: "8 threads",
                experiment: kyoto(KUNPENG, &[8]),
                measure: faster(&[BEST_4], &[HMCS_4_ARM], UP_TO),
                band: Band::Near(1.11, 0.1),
            },
            Part {
                says: "32 threads",
                experiment: kyoto(KUNPENG, &[32]),
                measure: faster(&[BEST_4], &[HMCS_4_ARM], UP_TO),
                band: Band::Near(1.10, 0.1),
            },
            Part {
                says: "127 threads",
                experiment: kyoto(KUNPENG, &[127]),
                measure: faster(&[BEST_4], &[HMCS_4_ARM], UP_TO),
                band: Band::Near(1.08, 0.1),
            },
            Part {
                says: "three levels over four, 4 to 32 threads",
                experiment: kyoto(KUNPENG, &[4, 8, 16, 32]),
                measure: faster(&[BEST_3], &[BEST_4], EVERYWHERE),
                band: Band::Near(1.08, 0.1),
            },
            Part {
                says: "three levels over four, 127 threads",
                experiment: kyoto(KUNPENG, &[127]),
                measure: faster(&[BEST_3], &[BEST_4], UP_TO),
                band: Band::Near(1.0, 0.1),
            },
        ],
        needs: None,
        counterfactuals: &[
            Part {
                says: "if HMCS costs what a composition of MCS does: 8 threads",
                experiment: kyoto(KUNPENG, &[8]),
                measure: faster(&[BEST_4], &[ALL_MCS], UP_TO),
                band: Band::Near(1.11, 0.1),
            },
            Part {
                says: "if HMCS costs what a composition of MCS does: 32 threads",
                experiment: kyoto(KUNPENG, &[32]),
                measure: faster(&[BEST_4], &[ALL_MCS], UP_TO),
                band: Band::Near(1.10, 0.1),
            },
            Part {
                says: "if HMCS costs what a composition of MCS does: 127 threads",
                experiment: kyoto(KUNPENG, &[127]),
                measure: faster(&[BEST_4], &[ALL_MCS], UP_TO),
                band: Band::Near(1.08, 0.1),
            },
            Part {
                says: "with 2 µs between two operations: three levels over four, 4 to 32 threads",
                experiment: kyoto(KUNPENG, &[4, 8, 16, 32]).with(Knobs {
                    outside: Some(Span::Nanoseconds(2_000)),
                    ..Knobs::NONE
                }),
                measure: faster(&[BEST_3], &[BEST_4], EVERYWHERE),
                band: Band::Near(1.08, 0.1),
            },
        ],
        seeds: Seeds::All,
    },
    Claim {
        id: "F11",
        source: "Chehab et al. 2021 §5.2.2, figure 9",
        says: "On EPYC at 64 threads the 256 compositions split in two groups by their core-level \
               lock: Hemlock and ticket above, MCS and CLH below",
        parts: &[Part {
            says: "of all 256, the worst with Hemlock or ticket at the core over the best with \
                   MCS or CLH",
            experiment: leveldb(EPYC, &[64]),
            measure: Measure::Ratio {
                of: Side::least(&["clof:hem-*-*-*", "clof:tkt-*-*-*"]),
                over: Side::most(&["clof:mcs-*-*-*", "clof:clh-*-*-*"]),
                metric: Metric::Throughput,
                fold: EVERYWHERE,
            },
            band: Band::AtLeast(1.0),
        }],
        needs: None,
        counterfactuals: &[Part {
            says: "with the same locks above the core: the worse of Hemlock and ticket over the \
                       better of MCS and CLH",
            experiment: leveldb(EPYC, &[64]),
            measure: Measure::Ratio {
                of: Side::least(&["clof:hemlock-clh-clh-clh", "clof:ticket-clh-clh-clh"]),
                over: Side::most(&["clof:mcs-clh-clh-clh", "clof:clh-clh-clh-clh"]),
                metric: Metric::Throughput,
                fold: EVERYWHERE,
            },
            band: Band::AtLeast(1.0),
        }],
        seeds: Seeds::All,
    },
    Claim {
        id: "F12",
        source: "Chehab et al. 2021 §5.2.3",
        says: "The fairness of every composition of fair locks is that of HMCS with the same \
               levels and thresholds",
        parts: &[
            fairness(
                "EPYC: the least fair of all 256 over HMCS",
                leveldb(EPYC, &[95]).lasting(50),
                Side::least(&[EVERY_4]),
                &[HMCS_4_X86],
            ),
            fairness(
                "EPYC: the fairest of all 256 over HMCS",
                leveldb(EPYC, &[95]).lasting(50),
                Side::most(&[EVERY_4]),
                &[HMCS_4_X86],
            ),
            fairness(
                "Kunpeng: the least fair of all 256 over HMCS",
                leveldb(KUNPENG, &[127]).lasting(120),
                Side::least(&[EVERY_4]),
                &[HMCS_4_ARM],
            ),
            fairness(
                "Kunpeng: the fairest of all 256 over HMCS",
                leveldb(KUNPENG, &[127]).lasting(120),
                Side::most(&[EVERY_4]),
                &[HMCS_4_ARM],
            ),
        ],
        needs: None,
        counterfactuals: &[],
        seeds: Seeds::One,
    },
];
