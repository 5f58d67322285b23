//! Chabbi et al. 2017, *HMCS-T*.  Threads are pinned, compactly; the hand-off bound is 64 there.

use crate::bench::{Knobs, Span};
use crate::claims::{Band, Claim, Experiment, Fold, Measure, Metric, Part, Side, Sweep};
use crate::world::Placement;

const SUPERDOME: &str = "superdome-x";

const ALL: &[usize] = &[1, 2, 4, 8, 18, 36, 72, 144, 288, 576];
const CROWDS: &[usize] = &[18, 72, 288, 576];

const fn tight(threads: &'static [usize], timeout: Option<Span>) -> Experiment {
    Experiment::new(
        SUPERDOME,
        "loop",
        Placement::Compact,
        Sweep::Threads(threads),
    )
    .with(Knobs {
        timeout,
        ..Knobs::NONE
    })
}

const fn splay(threads: &'static [usize]) -> Experiment {
    Experiment::new(
        SUPERDOME,
        "splay",
        Placement::Compact,
        Sweep::Threads(threads),
    )
}

const fn splay_within(timeouts: &'static [Span]) -> Experiment {
    Experiment::new(
        SUPERDOME,
        "splay",
        Placement::Compact,
        Sweep::Timeout(576, timeouts),
    )
}

const fn search(timeout: Option<Span>) -> Experiment {
    Experiment::new(
        SUPERDOME,
        "bfs",
        Placement::Cores,
        Sweep::Threads(&[4, 16, 64, 136, 272]),
    )
    .with(Knobs {
        timeout,
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

/// The lock's share of the best lock's lookups.
const fn share(lock: &'static [&'static str], of: &'static str) -> Measure {
    Measure::Ratio {
        of: Side::most(lock),
        over: Side::most(STUDIED),
        metric: Metric::Count(of),
        fold: UP_TO,
    }
}

const fn value(lock: &'static [&'static str], metric: Metric, fold: Fold) -> Measure {
    Measure::Value {
        of: Side::most(lock),
        metric,
        fold,
    }
}

/// How much slower the abortable lock is, as Table 1 has it.
const fn overhead(
    plain: &'static [&'static str],
    abortable: &'static [&'static str],
    says: &'static str,
    paper: f64,
) -> Part {
    Part {
        says,
        experiment: tight(ALL, None),
        measure: faster(plain, abortable, Fold::GeometricMean),
        band: Band::About(paper),
    }
}

/// A deeper lock over a shallower one, with all threads and a timeout.
const fn deeper(
    of: &'static [&'static str],
    over: &'static [&'static str],
    says: &'static str,
) -> Part {
    Part {
        says,
        experiment: tight(&[576], Some(Span::Cycles(10_000))),
        measure: faster(of, over, EVERYWHERE),
        band: Band::AtLeast(1.0),
    }
}

const fn standing(
    lock: &'static [&'static str],
    of: &'static str,
    says: &'static str,
    percent: f64,
) -> Part {
    let low = if percent > 10.0 { percent - 10.0 } else { 0.0 };
    Part {
        says,
        experiment: splay(&[576]),
        measure: share(lock, of),
        band: Band::Between(low / 100.0, (percent + 10.0) / 100.0),
    }
}

const UP_TO: Fold = Fold::Greatest;
const EVERYWHERE: Fold = Fold::Everywhere;

/// The locks of Table 2; `ttas` with patience is its TATAS-T.
const STUDIED: &[&str] = &[
    "hmcs-t-1",
    "hmcs-t-2",
    "hmcs-t-3",
    "hmcs-t-4",
    "ttas",
    "mcs-nb",
    "clh-nb",
    "a-c-bo-clh",
];

pub const ROWS: &[Claim] = &[
    Claim {
        id: "T1",
        source: "Chabbi et al. 2017 §6.1, Table 1",
        says: "Without timeouts HMCS-T is slower than HMCS by a geometric mean of 1.06, 1.17, \
               1.11 and 1.89 for one to four levels, and by about 1.25 with one thread",
        parts: &[
            overhead(&["hmcs-1"], &["hmcs-t-1"], "one level", 1.06),
            overhead(&["hmcs-2"], &["hmcs-t-2"], "two levels", 1.17),
            overhead(&["hmcs-3"], &["hmcs-t-3"], "three levels", 1.11),
            overhead(&["hmcs-4"], &["hmcs-t-4"], "four levels", 1.89),
            Part {
                says: "three levels, one thread",
                experiment: tight(&[1], None),
                measure: faster(&["hmcs-3"], &["hmcs-t-3"], UP_TO),
                band: Band::About(1.26),
            },
        ],
        needs: None,
        because: None,
    },
    Claim {
        id: "T2",
        source: "Chabbi et al. 2017 §6.1, figures 6 to 9",
        says: "The latency of a successful acquisition stays under the timeout; deeper locks give \
               more throughput; release takes about 25 cycles in HMCS and 200 in HMCS-T of three \
               and four levels, with however many threads, and up to 28 times HMCS's with one \
               level; giving up at once takes under 140 cycles with one to three levels",
        parts: &[
            Part {
                says: "most cycles to acquire under a timeout of 10,000",
                experiment: tight(CROWDS, Some(Span::Cycles(10_000))),
                measure: value(
                    &["hmcs-t-1", "hmcs-t-2", "hmcs-t-3", "hmcs-t-4"],
                    Metric::LongestAcquire,
                    UP_TO,
                ),
                band: Band::AtMost(10_000.0),
            },
            Part {
                says: "most cycles to acquire under a timeout of 1,000",
                experiment: tight(CROWDS, Some(Span::Cycles(1_000))),
                measure: value(
                    &["hmcs-t-1", "hmcs-t-2", "hmcs-t-3", "hmcs-t-4"],
                    Metric::LongestAcquire,
                    UP_TO,
                ),
                band: Band::AtMost(1_000.0),
            },
            deeper(&["hmcs-t-2"], &["hmcs-t-1"], "two levels over one"),
            deeper(&["hmcs-t-3"], &["hmcs-t-2"], "three levels over two"),
            deeper(&["hmcs-t-4"], &["hmcs-t-3"], "four levels over three"),
            Part {
                says: "cycles to release HMCS-T of one level over HMCS's",
                experiment: tight(CROWDS, None),
                measure: Measure::Ratio {
                    of: Side::most(&["hmcs-t-1"]),
                    over: Side::most(&["hmcs-1"]),
                    metric: Metric::Release,
                    fold: UP_TO,
                },
                band: Band::About(28.0),
            },
            Part {
                says: "cycles to release HMCS of three levels",
                experiment: tight(CROWDS, None),
                measure: value(&["hmcs-3"], Metric::Release, EVERYWHERE),
                band: Band::About(25.0),
            },
            Part {
                says: "cycles to release HMCS-T of three levels",
                experiment: tight(CROWDS, Some(Span::Cycles(10_000))),
                measure: value(&["hmcs-t-3"], Metric::Release, EVERYWHERE),
                band: Band::About(200.0),
            },
            Part {
                says: "cycles to release HMCS-T of four levels",
                experiment: tight(CROWDS, Some(Span::Cycles(10_000))),
                measure: value(&["hmcs-t-4"], Metric::Release, EVERYWHERE),
                band: Band::About(200.0),
            },
            Part {
                says: "cycles to release HMCS-T of three levels, 576 threads over 18",
                experiment: tight(&[18, 576], Some(Span::Cycles(10_000))),
                measure: Measure::Change {
                    lock: "hmcs-t-3",
                    metric: Metric::Release,
                },
                band: Band::AtMost(1.25),
            },
            Part {
                says: "cycles to give up at once, one to three levels",
                experiment: tight(&[18], Some(Span::Cycles(0))),
                measure: value(&["hmcs-t-1", "hmcs-t-2", "hmcs-t-3"], Metric::GiveUp, UP_TO),
                band: Band::AtMost(140.0),
            },
        ],
        needs: None,
        because: None,
    },
    Claim {
        id: "T3",
        source: "Chabbi et al. 2017 §6.3, Table 2",
        says: "Splay tree, 576 threads, 10,000 cycles: global and local share of the best: \
               HMCS-T of one to four levels 29/100, 31/96, 62/88, 100/84 %; TATAS-T 25/60, \
               A-C-BO-CLH 11/90; MCS-NB and CLH-NB about 0/1",
        parts: &[
            standing(&["hmcs-t-1"], "global", "one level, global", 29.0),
            standing(&["hmcs-t-2"], "global", "two levels, global", 31.0),
            standing(&["hmcs-t-3"], "global", "three levels, global", 62.0),
            standing(&["hmcs-t-4"], "global", "four levels, global", 100.0),
            standing(&["ttas"], "global", "TATAS-T, global", 25.0),
            standing(&["a-c-bo-clh"], "global", "A-C-BO-CLH, global", 11.0),
            standing(
                &["mcs-nb", "clh-nb"],
                "global",
                "MCS-NB and CLH-NB, global",
                0.0,
            ),
            standing(&["hmcs-t-1"], "local", "one level, local", 100.0),
            standing(&["hmcs-t-2"], "local", "two levels, local", 96.0),
            standing(&["hmcs-t-3"], "local", "three levels, local", 88.0),
            standing(&["hmcs-t-4"], "local", "four levels, local", 84.0),
            standing(&["ttas"], "local", "TATAS-T, local", 60.0),
            standing(&["a-c-bo-clh"], "local", "A-C-BO-CLH, local", 90.0),
            standing(
                &["mcs-nb", "clh-nb"],
                "local",
                "MCS-NB and CLH-NB, local",
                1.0,
            ),
        ],
        needs: None,
        because: None,
    },
    Claim {
        id: "T4",
        source: "Chabbi et al. 2017 §6.3, Table 2",
        says: "Memory against TATAS-T: CLH-NB 6.6 times, MCS-NB 14 times, all others the same",
        parts: &[],
        needs: Some("the memory of a run is not counted yet"),
        because: None,
    },
    Claim {
        id: "T5",
        source: "Chabbi et al. 2017 §6.2",
        says: "The share of waits resumed from an abandoned node: 99, 97, 92, 47 % for one to \
               four levels",
        parts: &[],
        needs: Some("waits that are resumed are not counted yet"),
        because: None,
    },
    Claim {
        id: "T6",
        source: "Chabbi et al. 2017 §6.4, figure 12",
        says: "Graph search: a timeout of 100,000 cycles lifts the peak of HMCS-T of three levels \
               by 30 % over none; it reaches 4.3 times the plain mutex with all threads",
        parts: &[
            Part {
                says: "with a timeout, over the plain mutex, all threads",
                experiment: Experiment::new(
                    SUPERDOME,
                    "bfs",
                    Placement::Cores,
                    Sweep::Threads(&[272]),
                )
                .with(Knobs {
                    timeout: Some(Span::Cycles(100_000)),
                    ..Knobs::NONE
                }),
                measure: faster(&["hmcs-t-3"], &["posix"], UP_TO),
                band: Band::About(4.3),
            },
            Part {
                says: "the peak with a timeout over the peak without",
                experiment: search(Some(Span::Cycles(100_000))),
                measure: Measure::Lift { lock: "hmcs-t-3" },
                band: Band::About(1.3),
            },
        ],
        needs: Some("polling instead of waiting is not modelled yet"),
        because: None,
    },
    Claim {
        id: "T7",
        source: "Chabbi et al. 2017 §5",
        says: "The steps to abandon and to acquire late and release never exceed their bounds",
        parts: &[],
        needs: Some("the steps of a level are not counted yet"),
        because: None,
    },
    Claim {
        id: "T8",
        source: "Chabbi et al. 2017 §6.2, figure 11",
        says: "Splay tree, 576 threads: global throughput falls by about 2 times between timeouts \
               of 10 and 1,000,000 cycles; local throughput falls as the timeout grows",
        parts: &[
            Part {
                says: "global lookups at 1,000,000 cycles over those at 10, four levels",
                experiment: splay_within(&[Span::Cycles(10), Span::Cycles(1_000_000)]),
                measure: Measure::Change {
                    lock: "hmcs-t-4",
                    metric: Metric::Count("global"),
                },
                band: Band::About(0.5),
            },
            Part {
                says: "local lookups at 1,000,000 cycles over those at 10, four levels",
                experiment: splay_within(&[Span::Cycles(10), Span::Cycles(1_000_000)]),
                measure: Measure::Change {
                    lock: "hmcs-t-4",
                    metric: Metric::Count("local"),
                },
                band: Band::AtMost(1.0),
            },
            Part {
                says: "local lookups at 1,000,000 cycles over those at 10, TATAS-T",
                experiment: splay_within(&[Span::Cycles(10), Span::Cycles(1_000_000)]),
                measure: Measure::Change {
                    lock: "ttas",
                    metric: Metric::Count("local"),
                },
                band: Band::AtMost(1.0),
            },
        ],
        needs: None,
        because: None,
    },
    Claim {
        id: "T9",
        source: "Chabbi et al. 2017 §3.2",
        says: "Releasing ancestors before peers, the naive abandonment, costs up to 3.2 times",
        parts: &[Part {
            says: "the lock over its naive form",
            experiment: tight(CROWDS, Some(Span::Cycles(10_000))),
            measure: faster(&["hmcs-t-3"], &["hmcs-t-3/naive"], UP_TO),
            band: Band::About(3.2),
        }],
        needs: None,
        because: None,
    },
];
