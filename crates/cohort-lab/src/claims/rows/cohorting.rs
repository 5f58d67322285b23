//! Dice et al. 2015, *Lock Cohorting*.  Threads are scattered and unpinned there (Dice et al.
//! 2015 §5); migration was minimal, so here they are scattered.

use crate::bench::{Knobs, Span};
use crate::claims::{Band, Claim, Experiment, Fold, Measure, Metric, Part, Seeds, Side, Sweep};
use crate::world::Placement;

const T5440: &str = "sparc-t5440";
const T4: &str = "sparc-t4-1";
const X4800: &str = "sunfire-x4800";

const COHORTS: &[&str] = &["c-bo-mcs", "c-tkt-tkt", "c-ptl-tkt"];
/// TKT is padded there, each of its words on a line of its own.
const OTHERS: &[&str] = &["mcs", "ticket-apart", "ptl", "hbo", "fc-mcs-published"];
/// The same with our FC-MCS: arrivals push themselves onto a list, and no combiner scans a publication list.
const WITH_OURS: &[&str] = &["mcs", "ticket-apart", "ptl", "hbo", "fc-mcs"];
const WITHOUT_FC: &[&str] = &["mcs", "ticket-apart", "ptl", "hbo"];
const WITHOUT_HBO: &[&str] = &["mcs", "ticket-apart", "ptl", "fc-mcs-published"];
/// The locks of Table I beside POSIX.
const TABLE: &[&str] = &[
    "c-bo-mcs",
    "c-tkt-tkt",
    "c-ptl-tkt",
    "mcs",
    "ticket-apart",
    "ptl",
    "hbo",
    "fc-mcs-published",
];

const fn lbench(machine: &'static str, threads: &'static [usize]) -> Experiment {
    Experiment::new(
        machine,
        "lbench-published",
        Placement::Scattered,
        Sweep::Threads(threads),
    )
}

const fn mmicro(machine: &'static str, threads: &'static [usize]) -> Experiment {
    Experiment::new(
        machine,
        "mmicro",
        Placement::Scattered,
        Sweep::Threads(threads),
    )
}

const fn cache(sets: u64, threads: &'static [usize]) -> Experiment {
    Experiment::new(
        T5440,
        "cachelock",
        Placement::Scattered,
        Sweep::Threads(threads),
    )
    .with(Knobs {
        sets: Some(sets),
        ..Knobs::NONE
    })
}

/// The same with half the work in critical sections.
const fn half_sections(sets: u64, threads: &'static [usize]) -> Experiment {
    cache(sets, threads).with(Knobs {
        sets: Some(sets),
        critical: Some(Span::Nanoseconds(1_000)),
        ..Knobs::NONE
    })
}

const fn faster(of: &'static [&'static str], over: &'static [&'static str], fold: Fold) -> Measure {
    Measure::Ratio {
        of: Side::most(of),
        over: Side::most(over),
        metric: Metric::Throughput,
        fold,
    }
}

/// The last throughput over the first.
const fn change(lock: &'static str) -> Measure {
    Measure::Change {
        lock,
        metric: Metric::Throughput,
    }
}

/// 8 threads of the allocator over 4, where no dip is claimed.
const fn no_dip(machine: &'static str, lock: &'static str, says: &'static str) -> Part {
    Part {
        says,
        experiment: mmicro(machine, &[4, 8]),
        measure: change(lock),
        band: Band::AtLeast(1.0),
    }
}

const UP_TO: Fold = Fold::Greatest;
const EVERYWHERE: Fold = Fold::Everywhere;

pub const ROWS: &[Claim] = &[
    Claim {
        id: "K1",
        source: "Dice et al. 2015 §5.1.1, figure 7",
        says: "On the T5440 the best cohort lock beats the best of MCS, TKT, PTL, HBO and FC-MCS \
               by up to 60 %",
        parts: &[Part {
            says: "the best cohort lock over the best other",
            experiment: lbench(T5440, &[1, 8, 16, 32, 64, 128, 256]),
            measure: faster(COHORTS, OTHERS, UP_TO),
            band: Band::About(1.6),
        }],
        needs: None,
        counterfactuals: &[
            Part {
                says: "with our FC-MCS in the place of the published one",
                experiment: lbench(T5440, &[1, 8, 16, 32, 64, 128, 256]),
                measure: faster(COHORTS, WITH_OURS, UP_TO),
                band: Band::About(1.6),
            },
            Part {
                says: "without FC-MCS",
                experiment: lbench(T5440, &[1, 8, 16, 32, 64, 128, 256]),
                measure: faster(COHORTS, WITHOUT_FC, UP_TO),
                band: Band::About(1.6),
            },
            Part {
                says: "without HBO",
                experiment: lbench(T5440, &[1, 8, 16, 32, 64, 128, 256]),
                measure: faster(COHORTS, WITHOUT_HBO, UP_TO),
                band: Band::About(1.6),
            },
        ],
        seeds: Seeds::All,
    },
    Claim {
        id: "K2",
        source: "Dice et al. 2015 §5.1.1, figure 9",
        says: "On the X4800 the best cohort lock beats the best other by up to 3 times",
        parts: &[Part {
            says: "the best cohort lock over the best other",
            experiment: lbench(X4800, &[1, 8, 16, 32, 64, 128]),
            measure: faster(COHORTS, OTHERS, UP_TO),
            band: Band::About(3.0),
        }],
        needs: None,
        counterfactuals: &[
            Part {
                says: "with our FC-MCS in the place of the published one",
                experiment: lbench(X4800, &[1, 8, 16, 32, 64, 128]),
                measure: faster(COHORTS, WITH_OURS, UP_TO),
                band: Band::About(3.0),
            },
            Part {
                says: "without FC-MCS",
                experiment: lbench(X4800, &[1, 8, 16, 32, 64, 128]),
                measure: faster(COHORTS, WITHOUT_FC, UP_TO),
                band: Band::About(3.0),
            },
            Part {
                says: "with sockets 2 times as far, all estimates",
                experiment: lbench(
                    "sunfire-x4800, sockets 2 times as far",
                    &[1, 8, 16, 32, 64, 128],
                ),
                measure: faster(COHORTS, OTHERS, UP_TO),
                band: Band::About(3.0),
            },
        ],
        seeds: Seeds::All,
    },
    Claim {
        id: "K3",
        source: "Dice et al. 2015 §5.1.1, figure 8",
        says: "On the T4-1 the best cohort lock beats the best other by up to 60 %; C-PTL-TKT is \
               ahead of C-TKT-TKT and this of C-BO-MCS; MCS scales to about 16 threads and then \
               tapers",
        parts: &[
            Part {
                says: "the best cohort lock over the best other",
                experiment: lbench(T4, &[1, 8, 16, 32, 64]),
                measure: faster(COHORTS, OTHERS, UP_TO),
                band: Band::About(1.6),
            },
            Part {
                says: "C-PTL-TKT is ahead of C-TKT-TKT",
                experiment: lbench(T4, &[64]),
                measure: faster(&["c-ptl-tkt"], &["c-tkt-tkt"], EVERYWHERE),
                band: Band::AtLeast(1.0),
            },
            Part {
                says: "C-TKT-TKT is ahead of C-BO-MCS",
                experiment: lbench(T4, &[64]),
                measure: faster(&["c-tkt-tkt"], &["c-bo-mcs"], EVERYWHERE),
                band: Band::AtLeast(1.0),
            },
            Part {
                says: "MCS scales to about 16 threads",
                experiment: lbench(T4, &[1, 2, 4, 8, 12, 16, 20, 24, 32, 48, 64]),
                measure: Measure::Peak { lock: "mcs" },
                band: Band::About(16.0),
            },
            Part {
                says: "and then tapers",
                experiment: lbench(T4, &[16, 64]),
                measure: change("mcs"),
                band: Band::AtMost(1.0),
            },
        ],
        needs: None,
        counterfactuals: &[
            Part {
                says: "with idle loops of up to 2 µs instead of 4: MCS scales to about 16 threads",
                experiment: lbench(T4, &[1, 2, 4, 8, 12, 16, 20, 24, 32, 48, 64]).with(NEARER),
                measure: Measure::Peak { lock: "mcs" },
                band: Band::About(16.0),
            },
            Part {
                says: "with idle loops of up to 2 µs instead of 4: and then tapers",
                experiment: lbench(T4, &[16, 64]).with(NEARER),
                measure: change("mcs"),
                band: Band::AtMost(1.0),
            },
            Part {
                says: "with idle loops of about 4 µs: and then tapers",
                experiment: Experiment {
                    workload: "lbench",
                    ..lbench(T4, &[16, 64])
                },
                measure: change("mcs"),
                band: Band::AtMost(1.0),
            },
        ],
        seeds: Seeds::All,
    },
    Claim {
        id: "K4",
        source: "Dice et al. 2015 §5.1.1, figure 7",
        says: "On the T5440 with many threads C-BO-MCS leads; C-TKT-TKT and C-PTL-TKT are level",
        parts: &[
            Part {
                says: "C-BO-MCS over the better of the two others",
                experiment: lbench(T5440, &[128, 256]),
                measure: faster(&["c-bo-mcs"], &["c-tkt-tkt", "c-ptl-tkt"], EVERYWHERE),
                band: Band::AtLeast(1.0),
            },
            Part {
                says: "C-TKT-TKT over C-PTL-TKT",
                experiment: lbench(T5440, &[128, 256]),
                measure: faster(&["c-tkt-tkt"], &["c-ptl-tkt"], EVERYWHERE),
                band: Band::About(1.0),
            },
        ],
        needs: None,
        counterfactuals: &[],
        seeds: Seeds::All,
    },
    Claim {
        id: "K5",
        source: "Dice et al. 2015 §5.1.2, figure 10",
        says: "On the T5440 each cohort lock has at most half the remote misses of each other \
               lock; TKT has most",
        parts: &[
            Part {
                says: "the least of the others over the most of the cohort locks",
                experiment: lbench(T5440, &[64, 128, 256]),
                measure: Measure::Ratio {
                    of: Side::least(OTHERS),
                    over: Side::most(COHORTS),
                    metric: Metric::RemoteMisses,
                    fold: EVERYWHERE,
                },
                band: Band::AtLeast(2.0),
            },
            Part {
                says: "TKT has no fewer than MCS",
                experiment: lbench(T5440, &[64, 128, 256]),
                measure: Measure::Ratio {
                    of: Side::most(&["ticket-apart"]),
                    over: Side::most(&["mcs"]),
                    metric: Metric::RemoteMisses,
                    fold: EVERYWHERE,
                },
                band: Band::AtLeast(1.0),
            },
            // "Equally high misses at high thread counts".
            Part {
                says: "PTL has as many as TKT",
                experiment: lbench(T5440, &[64, 128, 256]),
                measure: Measure::Ratio {
                    of: Side::most(&["ptl"]),
                    over: Side::most(&["ticket-apart"]),
                    metric: Metric::RemoteMisses,
                    fold: EVERYWHERE,
                },
                band: Band::About(1.0),
            },
            Part {
                says: "TKT has no fewer than HBO and FC-MCS",
                experiment: lbench(T5440, &[64, 128, 256]),
                measure: Measure::Ratio {
                    of: Side::most(&["ticket-apart"]),
                    over: Side::most(&["hbo", "fc-mcs-published"]),
                    metric: Metric::RemoteMisses,
                    fold: EVERYWHERE,
                },
                band: Band::AtLeast(1.0),
            },
        ],
        needs: None,
        counterfactuals: &[
            Part {
                says: "without HBO: TKT has no fewer than FC-MCS",
                experiment: lbench(T5440, &[64, 128, 256]),
                measure: Measure::Ratio {
                    of: Side::most(&["ticket-apart"]),
                    over: Side::most(&["fc-mcs-published"]),
                    metric: Metric::RemoteMisses,
                    fold: EVERYWHERE,
                },
                band: Band::AtLeast(1.0),
            },
            Part {
                says: "without FC-MCS: the least of the others over the most of the cohort locks",
                experiment: lbench(T5440, &[64, 128, 256]),
                measure: Measure::Ratio {
                    of: Side::least(WITHOUT_FC),
                    over: Side::most(COHORTS),
                    metric: Metric::RemoteMisses,
                    fold: EVERYWHERE,
                },
                band: Band::AtLeast(2.0),
            },
        ],
        seeds: Seeds::All,
    },
    Claim {
        id: "K6",
        source: "Dice et al. 2015 §5.1.3, figure 11",
        says: "On the T5440 C-BO-MCS is the least fair, HBO next, all others are fair",
        parts: &[
            Part {
                says: "C-BO-MCS is less fair than HBO",
                experiment: lbench(T5440, &[128]),
                measure: Measure::Ratio {
                    of: Side::most(&["c-bo-mcs"]),
                    over: Side::most(&["hbo"]),
                    metric: Metric::Unfairness,
                    fold: EVERYWHERE,
                },
                band: Band::AtLeast(1.0),
            },
            Part {
                says: "HBO is less fair than the rest",
                experiment: lbench(T5440, &[128]),
                measure: Measure::Ratio {
                    of: Side::most(&["hbo"]),
                    over: Side::most(&[
                        "mcs",
                        "ticket-apart",
                        "ptl",
                        "fc-mcs-published",
                        "c-tkt-tkt",
                        "c-ptl-tkt",
                    ]),
                    metric: Metric::Unfairness,
                    fold: EVERYWHERE,
                },
                band: Band::AtLeast(1.0),
            },
            Part {
                says: "MCS, TKT and PTL are fair",
                experiment: lbench(T5440, &[64, 128, 256]),
                measure: Measure::Value {
                    of: Side::most(&["mcs", "ticket-apart", "ptl"]),
                    metric: Metric::Unfairness,
                    fold: UP_TO,
                },
                band: Band::AtMost(0.1),
            },
            Part {
                says: "FC-MCS, C-TKT-TKT and C-PTL-TKT are fair",
                experiment: lbench(T5440, &[64, 128, 256]),
                measure: Measure::Value {
                    of: Side::most(&["fc-mcs-published", "c-tkt-tkt", "c-ptl-tkt"]),
                    metric: Metric::Unfairness,
                    fold: EVERYWHERE,
                },
                band: Band::AtMost(0.1),
            },
        ],
        needs: None,
        counterfactuals: &[],
        seeds: Seeds::All,
    },
    Claim {
        id: "K7",
        source: "Dice et al. 2015 §5.1.4, figure 12",
        says: "On the T5440 with 64 threads throughput rises with the hand-off bound and is flat \
               beyond about 100; with batches of 1, which hand nothing off, a cohort lock is no \
               better than its top lock",
        parts: &[
            Part {
                says: "bound 100 over batches of 1",
                experiment: lbench(T5440, &[64]),
                measure: faster(&["c-tkt-tkt/100"], &["c-tkt-tkt/0"], EVERYWHERE),
                band: Band::AtLeast(1.1),
            },
            Part {
                says: "bound 1,000 over bound 100",
                experiment: lbench(T5440, &[64]),
                measure: faster(&["c-tkt-tkt/1000"], &["c-tkt-tkt/100"], EVERYWHERE),
                band: Band::Near(1.0, 0.1),
            },
            Part {
                says: "batches of 1 over the ticket lock",
                experiment: lbench(T5440, &[64]),
                measure: faster(&["c-tkt-tkt/0"], &["ticket-apart"], EVERYWHERE),
                band: Band::About(1.0),
            },
        ],
        needs: None,
        counterfactuals: &[Part {
            says: "if the nearest sharer of a line serves its readers, as under MESI: batches of 1 \
                   over the ticket lock",
            experiment: lbench("sparc-t5440, MESI", &[64]),
            measure: faster(&["c-tkt-tkt/0"], &["ticket-apart"], EVERYWHERE),
            band: Band::About(1.0),
        }],
        seeds: Seeds::All,
    },
    Claim {
        id: "K8",
        source: "Dice et al. 2015 §5.1.5, figure 13",
        says: "On the T5440 with 1 to 16 threads cohort locks are as good as MCS, HBO and FC-MCS \
               or better",
        parts: &[Part {
            says: "the worst cohort lock over the best of the three, with a twentieth allowed",
            experiment: lbench(T5440, &[1, 2, 4, 8, 16]),
            measure: Measure::Ratio {
                of: Side::least(COHORTS),
                over: Side::most(&["mcs", "hbo", "fc-mcs-published"]),
                metric: Metric::Throughput,
                fold: EVERYWHERE,
            },
            band: Band::AtLeast(0.95),
        }],
        needs: None,
        counterfactuals: &[Part {
            says: "with idle loops of about 4 µs",
            experiment: Experiment {
                workload: "lbench",
                ..lbench(T5440, &[1, 2, 4, 8, 16])
            },
            measure: Measure::Ratio {
                of: Side::least(COHORTS),
                over: Side::most(&["mcs", "hbo", "fc-mcs-published"]),
                metric: Metric::Throughput,
                fold: EVERYWHERE,
            },
            band: Band::AtLeast(0.95),
        }],
        seeds: Seeds::All,
    },
    Claim {
        id: "K9",
        source: "Dice et al. 2015 §5.1.6, figure 14",
        says: "On the T5440 with patience A-C-BO-CLH reaches up to 6 times A-CLH and A-HBO and is \
               ahead of A-C-BO-BO; under 1 % give up",
        parts: &[
            Part {
                says: "A-C-BO-CLH over the better of A-CLH and A-HBO",
                experiment: lbench(T5440, &[16, 64, 128, 256]).with(PATIENT),
                measure: faster(&["a-c-bo-clh"], &["clh-nb", "a-hbo"], UP_TO),
                band: Band::About(6.0),
            },
            Part {
                says: "A-C-BO-CLH over A-C-BO-BO",
                experiment: lbench(T5440, &[128, 256]).with(PATIENT),
                measure: faster(&["a-c-bo-clh"], &["a-c-bo-bo"], EVERYWHERE),
                band: Band::AtLeast(1.0),
            },
            Part {
                says: "the share that A-C-BO-CLH's waiters give up",
                experiment: lbench(T5440, &[16, 64, 128, 256]).with(PATIENT),
                measure: Measure::Value {
                    of: Side::most(&["a-c-bo-clh"]),
                    metric: Metric::Abandoned,
                    fold: UP_TO,
                },
                band: Band::AtMost(0.01),
            },
        ],
        needs: None,
        counterfactuals: &[Part {
            says: "without A-HBO: A-C-BO-CLH over A-CLH",
            experiment: lbench(T5440, &[16, 64, 128, 256]).with(PATIENT),
            measure: faster(&["a-c-bo-clh"], &["clh-nb"], UP_TO),
            band: Band::About(6.0),
        }],
        seeds: Seeds::All,
    },
    Claim {
        id: "K10",
        source: "Dice et al. 2015 §5.1.1, §5.2, figures 9 and 17",
        says: "On the X4800 locks with TKT or BO on top dip at 8 threads, one a socket, and \
               recover as cohorts form; C-PTL-TKT does not dip, nor does anything on the SPARCs",
        parts: &[
            Part {
                says: "TKT with 8 threads over TKT with 4, mmicro on the X4800",
                experiment: mmicro(X4800, &[4, 8]),
                measure: change("ticket-apart"),
                band: Band::AtMost(1.0),
            },
            Part {
                says: "C-TKT-TKT, 8 threads over 4",
                experiment: mmicro(X4800, &[4, 8]),
                measure: change("c-tkt-tkt"),
                band: Band::AtMost(1.0),
            },
            Part {
                says: "C-TKT-TKT recovers: 32 threads over 8",
                experiment: mmicro(X4800, &[8, 32]),
                measure: change("c-tkt-tkt"),
                band: Band::AtLeast(1.0),
            },
            Part {
                says: "C-BO-MCS, 8 threads over 4",
                experiment: mmicro(X4800, &[4, 8]),
                measure: change("c-bo-mcs"),
                band: Band::AtMost(1.0),
            },
            Part {
                says: "C-BO-MCS recovers: 32 threads over 8",
                experiment: mmicro(X4800, &[8, 32]),
                measure: change("c-bo-mcs"),
                band: Band::AtLeast(1.0),
            },
            Part {
                says: "C-PTL-TKT does not dip: 8 threads over 4",
                experiment: mmicro(X4800, &[4, 8]),
                measure: change("c-ptl-tkt"),
                band: Band::AtLeast(1.0),
            },
            Part {
                says: "LBench: TKT, 8 threads over 4",
                experiment: lbench(X4800, &[4, 8]),
                measure: change("ticket-apart"),
                band: Band::AtMost(1.0),
            },
            Part {
                says: "LBench: C-TKT-TKT, 8 threads over 4",
                experiment: lbench(X4800, &[4, 8]),
                measure: change("c-tkt-tkt"),
                band: Band::AtMost(1.0),
            },
            Part {
                says: "LBench: C-BO-MCS, 8 threads over 4",
                experiment: lbench(X4800, &[4, 8]),
                measure: change("c-bo-mcs"),
                band: Band::AtMost(1.0),
            },
            Part {
                says: "LBench: C-PTL-TKT does not dip: 8 threads over 4",
                experiment: lbench(X4800, &[4, 8]),
                measure: change("c-ptl-tkt"),
                band: Band::AtLeast(1.0),
            },
            no_dip(T5440, "c-tkt-tkt", "C-TKT-TKT does not dip on the T5440"),
            no_dip(T5440, "c-bo-mcs", "C-BO-MCS does not dip on the T5440"),
            no_dip(T5440, "c-ptl-tkt", "C-PTL-TKT does not dip on the T5440"),
            no_dip(T4, "c-tkt-tkt", "C-TKT-TKT does not dip on the T4-1"),
            no_dip(T4, "c-bo-mcs", "C-BO-MCS does not dip on the T4-1"),
            no_dip(T4, "c-ptl-tkt", "C-PTL-TKT does not dip on the T4-1"),
            Part {
                says: "TKT does not dip on the T5440: 8 threads over 4",
                experiment: mmicro(T5440, &[4, 8]),
                measure: change("ticket-apart"),
                band: Band::AtLeast(1.0),
            },
            Part {
                says: "TKT does not dip on the T4-1: 8 threads over 4",
                experiment: mmicro(T4, &[4, 8]),
                measure: change("ticket-apart"),
                band: Band::AtLeast(1.0),
            },
        ],
        needs: None,
        counterfactuals: &[
            Part {
                says: "with sockets 1.5 times as far, an estimate: C-BO-MCS, 8 threads over 4",
                experiment: mmicro("sunfire-x4800, sockets 1.5 times as far", &[4, 8]),
                measure: change("c-bo-mcs"),
                band: Band::AtMost(1.0),
            },
            Part {
                says: "with sockets 1.5 times as far, an estimate: C-BO-MCS in LBench",
                experiment: lbench("sunfire-x4800, sockets 1.5 times as far", &[4, 8]),
                measure: change("c-bo-mcs"),
                band: Band::AtMost(1.0),
            },
        ],
        seeds: Seeds::All,
    },
    Claim {
        id: "K11",
        source: "Dice et al. 2015 §5.2, figures 15 to 17",
        says: "With cohort locks the single-lock allocator scales to nearly 20 times one thread \
               on the T5440, 10 times on the T4-1 and up to 4 times on the X4800",
        parts: &[
            Part {
                says: "on the T5440",
                experiment: mmicro(T5440, &[1, 16, 64, 128, 256]),
                measure: Measure::Scaling {
                    of: Side::most(COHORTS),
                },
                band: Band::About(20.0),
            },
            Part {
                says: "on the T4-1",
                experiment: mmicro(T4, &[1, 8, 16, 32, 64]),
                measure: Measure::Scaling {
                    of: Side::most(COHORTS),
                },
                band: Band::About(10.0),
            },
            Part {
                says: "on the X4800",
                experiment: mmicro(X4800, &[1, 8, 16, 32, 64, 128]),
                measure: Measure::Scaling {
                    of: Side::most(COHORTS),
                },
                band: Band::About(4.0),
            },
        ],
        needs: None,
        counterfactuals: &[
            Part {
                says: "with 1.5 µs after each call instead of about 4: on the X4800",
                experiment: mmicro(X4800, &[1, 8, 16, 32, 64, 128]).with(Knobs {
                    outside: Some(Span::Nanoseconds(1_500)),
                    ..Knobs::NONE
                }),
                measure: Measure::Scaling {
                    of: Side::most(COHORTS),
                },
                band: Band::About(4.0),
            },
            Part {
                says: "with 10 times the instructions between accesses, an estimate: on the T4-1",
                experiment: mmicro("sparc-t4-1, 10 times the instructions", &[1, 8, 16, 32, 64]),
                measure: Measure::Scaling {
                    of: Side::most(COHORTS),
                },
                band: Band::About(10.0),
            },
        ],
        seeds: Seeds::All,
    },
    Claim {
        id: "K12",
        source: "Dice et al. 2015 §5.3, Table I",
        says: "memcached on the T5440: reads are alike under all locks; with half sets cohort \
               locks are about 5 % over TKT and PTL; with 90 % sets 24 % over HBO at 16 threads, \
               17 % over the best other at 32, 10 to 11 % at 64 and 128",
        parts: &[
            Part {
                says: "10 % sets, 64 threads: the best of MCS, TKT and PTL over the worst",
                experiment: cache(10, &[64]),
                measure: Measure::Ratio {
                    of: Side::most(&["mcs", "ticket-apart", "ptl"]),
                    over: Side::least(&["mcs", "ticket-apart", "ptl"]),
                    metric: Metric::Throughput,
                    fold: UP_TO,
                },
                band: Band::AtMost(1.1),
            },
            Part {
                says: "10 % sets, 64 threads: the best of all locks over the worst",
                experiment: cache(10, &[64]),
                measure: Measure::Ratio {
                    of: Side::most(TABLE),
                    over: Side::least(TABLE),
                    metric: Metric::Throughput,
                    fold: EVERYWHERE,
                },
                band: Band::AtMost(1.1),
            },
            Part {
                says: "50 % sets, 64 threads: MCS over POSIX, 4.80 : 3.33",
                experiment: cache(50, &[64]),
                measure: faster(&["mcs"], &["posix"], UP_TO),
                band: Band::About(1.44),
            },
            Part {
                says: "90 % sets, 64 threads: TKT over POSIX, 3.71 : 2.41",
                experiment: cache(90, &[64]),
                measure: faster(&["ticket-apart"], &["posix"], UP_TO),
                band: Band::About(1.54),
            },
            Part {
                says: "50 % sets: the best cohort lock over the better of TKT and PTL",
                experiment: cache(50, &[64]),
                measure: faster(COHORTS, &["ticket-apart", "ptl"], UP_TO),
                band: Band::Near(1.05, 0.1),
            },
            Part {
                says: "90 % sets, 16 threads: over HBO",
                experiment: cache(90, &[16]),
                measure: faster(COHORTS, &["hbo"], UP_TO),
                band: Band::Near(1.24, 0.1),
            },
            Part {
                says: "90 % sets, 32 threads: over the best other",
                experiment: cache(90, &[32]),
                measure: faster(COHORTS, OTHERS, UP_TO),
                band: Band::Near(1.17, 0.1),
            },
            Part {
                says: "90 % sets, 64 and 128 threads: over the best other",
                experiment: cache(90, &[64, 128]),
                measure: faster(COHORTS, OTHERS, EVERYWHERE),
                band: Band::Near(1.11, 0.1),
            },
        ],
        needs: None,
        counterfactuals: &[Part {
            says: "with half the work in sections, an estimate: 90 % sets, 16 threads, over HBO",
            experiment: half_sections(90, &[16]),
            measure: faster(COHORTS, &["hbo"], UP_TO),
            band: Band::Near(1.24, 0.1),
        }],
        seeds: Seeds::All,
    },
    Claim {
        id: "K13",
        source: "Dice et al. 2015 §7",
        says: "On the T4-1, whose pipelines fuse when one thread runs on a core, a workload \
               exists in which MCS beats cohort locks because cohorts pack one core",
        parts: &[Part {
            says: "MCS over the best cohort lock, long sections",
            experiment: lbench(T4, &[16]).with(Knobs {
                critical: Some(Span::Nanoseconds(2_000)),
                ..Knobs::NONE
            }),
            measure: faster(&["mcs"], COHORTS, UP_TO),
            band: Band::AtLeast(1.0),
        }],
        needs: None,
        counterfactuals: &[],
        seeds: Seeds::All,
    },
    Claim {
        id: "K14",
        source: "Dice et al. 2015 §5.1.1, figures 8 and 9",
        says: "With many threads TKT and PTL fall below MCS on the X4800 and the T4-1; PTL keeps \
               ahead of TKT up to its 8 slots on the X4800 and fades after; on the SPARCs the two \
               are alike",
        parts: &[
            Part {
                says: "X4800: the better of TKT and PTL over MCS",
                experiment: lbench(X4800, &[64, 128]),
                measure: faster(&["ticket-apart", "ptl"], &["mcs"], UP_TO),
                band: Band::AtMost(1.0),
            },
            Part {
                says: "T4-1: the better of TKT and PTL over MCS",
                experiment: lbench(T4, &[32, 64]),
                measure: faster(&["ticket-apart", "ptl"], &["mcs"], UP_TO),
                band: Band::AtMost(1.0),
            },
            Part {
                says: "X4800: PTL is ahead of TKT with 8 threads",
                experiment: lbench(X4800, &[8]),
                measure: faster(&["ptl"], &["ticket-apart"], EVERYWHERE),
                band: Band::AtLeast(1.0),
            },
            Part {
                says: "X4800: with 128 threads PTL has faded towards TKT",
                experiment: lbench(X4800, &[128]),
                measure: faster(&["ptl"], &["ticket-apart"], UP_TO),
                band: Band::About(1.0),
            },
            Part {
                says: "T5440: PTL over TKT",
                experiment: lbench(T5440, &[64, 128, 256]),
                measure: faster(&["ptl"], &["ticket-apart"], EVERYWHERE),
                band: Band::About(1.0),
            },
            Part {
                says: "T4-1: PTL over TKT",
                experiment: lbench(T4, &[16, 32, 64]),
                measure: faster(&["ptl"], &["ticket-apart"], EVERYWHERE),
                band: Band::About(1.0),
            },
        ],
        needs: None,
        counterfactuals: &[
            Part {
                says: "with the dearest invalidations of the file's range: T4-1, the better of TKT \
                       and PTL over MCS",
                experiment: lbench("sparc-t4-1, most invalidate", &[32, 64]),
                measure: faster(&["ticket-apart", "ptl"], &["mcs"], UP_TO),
                band: Band::AtMost(1.0),
            },
            Part {
                says: "with idle loops of about 4 µs: T4-1, the better of TKT and PTL over MCS",
                experiment: Experiment {
                    workload: "lbench",
                    ..lbench(T4, &[32, 64])
                },
                measure: faster(&["ticket-apart", "ptl"], &["mcs"], UP_TO),
                band: Band::AtMost(1.0),
            },
            Part {
                says: "with the dearest further copies of the file's range: T4-1, the better of TKT and \
                       PTL over MCS",
                experiment: lbench("sparc-t4-1, most each", &[32, 64]),
                measure: faster(&["ticket-apart", "ptl"], &["mcs"], UP_TO),
                band: Band::AtMost(1.0),
            },
            Part {
                says: "with idle loops of about 4 µs: X4800, with 128 threads PTL has faded towards TKT",
                experiment: Experiment {
                    workload: "lbench",
                    ..lbench(X4800, &[128])
                },
                measure: faster(&["ptl"], &["ticket-apart"], UP_TO),
                band: Band::About(1.0),
            },
            Part {
                says: "with the dearest further copies of the file's range: X4800, with 128 threads \
                       PTL has faded towards TKT",
                experiment: lbench("sunfire-x4800, most each", &[128]),
                measure: faster(&["ptl"], &["ticket-apart"], UP_TO),
                band: Band::About(1.0),
            },
            Part {
                says: "with the shortest occupancies of the file's range: X4800, with 128 threads PTL \
                       has faded towards TKT",
                experiment: lbench("sunfire-x4800, least occupancy", &[128]),
                measure: faster(&["ptl"], &["ticket-apart"], UP_TO),
                band: Band::About(1.0),
            },
        ],
        seeds: Seeds::All,
    },
    Claim {
        id: "K15",
        source: "Dice et al. 2015 §6",
        says: "On the X4800 assigning threads to local locks by node beats random, balanced \
               random and pathological assignment by a large margin",
        parts: &[Part {
            says: "by node over the best other assignment",
            experiment: lbench(X4800, &[64, 128]),
            measure: faster(
                &["c-ptl-tkt"],
                &[
                    "c-ptl-tkt/random",
                    "c-ptl-tkt/balanced",
                    "c-ptl-tkt/pathological",
                ],
                EVERYWHERE,
            ),
            band: Band::AtLeast(1.25),
        }],
        needs: None,
        counterfactuals: &[],
        seeds: Seeds::All,
    },
];

/// The patience of K9, which the paper does not give: of 1, 2, 5 and 10 ms the least under which, as in
/// the paper, fewer than 1 % of A-C-BO-CLH's waiters give up (3.9, 1.9, 0.4 and 0 % with 256
/// threads).
const PATIENT: Knobs = Knobs {
    timeout: Some(Span::Nanoseconds(5_000_000)),
    ..Knobs::NONE
};

/// Half of LBench's gap.
const NEARER: Knobs = Knobs {
    outside: Some(Span::Nanoseconds(2_000)),
    ..Knobs::NONE
};
