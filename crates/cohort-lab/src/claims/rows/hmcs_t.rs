//! Chabbi et al. 2017, *HMCS-T*.  Threads are pinned, compactly; a cohort has the lock 64 times in a
//! row at most, and the levels are a blade of two packages, a package, a core (§6).

use crate::bench::player::{TO_GIVE_UP, WHEN_LATE};
use crate::bench::{Knobs, Poll, Span};
use crate::claims::{
    Band, Claim, Experiment, Fold, Measure, Metric, Part, Place, Seeds, Side, Sweep,
};
use crate::world::Placement;

const SUPERDOME: &str = "superdome-x";

const ALL: &[usize] = &[1, 2, 4, 8, 18, 36, 72, 144, 288, 576];
const CROWDS: &[usize] = &[18, 72, 288, 576];

/// The locks by their number of levels (§6), first those from which waiters cannot part.
const PLAIN_1: &str = "hmcs-1/64";
const PLAIN_3: &str = "hmcs-3@numa,blade,system/64";
/// HMCS with the fast path that the paper's baseline has: with one thread no depth is slower than
/// another there (§6.1).
const FAST_2: &str = "hmcs-fast-2@blade,system/64";
const FAST_3: &str = "hmcs-fast-3@numa,blade,system/64";
const FAST_4: &str = "hmcs-fast-4@core,numa,blade,system/64";
/// The paper's lock, as printed; the rows that run longest have ours.
const GIVES_UP_1: &str = "hmcs-t-published-1/64";
const GIVES_UP_2: &str = "hmcs-t-published-2@blade,system/64";
const GIVES_UP_3: &str = "hmcs-t-published-3@numa,blade,system/64";
const GIVES_UP_4: &str = "hmcs-t-published-4@core,numa,blade,system/64";
/// Ours.
const OURS_1: &str = "hmcs-t-1/64";
const OURS_2: &str = "hmcs-t-2@blade,system/64";
const OURS_3: &str = "hmcs-t-3@numa,blade,system/64";
const OURS_4: &str = "hmcs-t-4@core,numa,blade,system/64";
const ASCENDS: &str = "hmcs-t-4@core,numa,blade,system/64/peers-1";
const NAIVE: &str = "hmcs-t-3@numa,blade,system/64/naive";

/// Its A-C-BO-CLH, with a bound.
const COHORTS: &str = "a-c-bo-clh/64";

/// Its TATAS-T.
const WORD: &str = "tatas-t";

/// With a timeout for 2 virtual milliseconds, 500 times 10,000 cycles.  Nearly all
/// that several hundred threads do then is to give up, which took 2 to 5 s of a CPU for each
/// virtual millisecond with 576 threads and 1,000 cycles, and a run until the throughput is steady may
/// go on for 553 of these.
const fn tight(threads: &'static [usize], timeout: Option<Span>) -> Experiment {
    let experiment = Experiment::new(
        SUPERDOME,
        "loop",
        Placement::Compact,
        Sweep::Threads(threads),
    )
    .with(Knobs {
        timeout,
        ..Knobs::NONE
    });
    match timeout {
        Some(_) => experiment.lasting(2),
        None => experiment,
    }
}

/// All threads, for 20 virtual milliseconds, whatever is looked at: one run of a lock serves all
/// rows.  The paper names no duration, and no run of the two queues with swept lists is ever
/// steady, since the lists grow as long as it lasts.
const fn splay_within(timeouts: &'static [Span]) -> Experiment {
    Experiment::new(
        SUPERDOME,
        "splay",
        Placement::Compact,
        Sweep::Timeout(576, timeouts),
    )
    .with(Knobs {
        // Longer than the run: the hot node stays.
        phase: Some(Span::Nanoseconds(1_000_000_000)),
        ..Knobs::NONE
    })
    .lasting(20)
}

/// The shortest timeout and a long one, for a tenth of that time: 583 s of a CPU were not enough for
/// 20 ms, since nearly all that is done with the shortest is to give up.
const SHORT_AND_LONG: Experiment =
    splay_within(&[Span::Cycles(10), Span::Cycles(1_000_000)]).lasting(2);

/// The paper's timeout, where it varies none.
const SPLAY: Experiment = splay_within(&[Span::Cycles(10_000)]);

/// Trees of a 64th of the nodes, beside which a lock's nodes weigh 64 times as much.
const SMALL_TREES: Experiment = Experiment {
    knobs: Knobs {
        nodes: Some(127),
        ..SPLAY.knobs
    },
    ..SPLAY
};

const fn search(timeout: Option<Span>) -> Experiment {
    Experiment::new(
        SUPERDOME,
        "bfs",
        Placement::Cores,
        // Of four processes: 1, 4, 9, 17, 34 and 68 threads each.
        Sweep::Threads(&[4, 16, 36, 68, 136, 272]),
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

/// The mean of the lock's shares of the best lock's lookups, global and local (§6.3).
const fn efficiency(lock: &'static [&'static str], says: &'static str, percent: f64) -> Part {
    let low = if percent > 10.0 { percent - 10.0 } else { 0.0 };
    Part {
        says,
        experiment: SPLAY,
        measure: Measure::Efficiency {
            lock,
            beside: STUDIED,
            of: ["global", "local"],
        },
        band: Band::Between(low / 100.0, (percent + 10.0) / 100.0),
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
        experiment: SPLAY,
        measure: share(lock, of),
        band: Band::Between(low / 100.0, (percent + 10.0) / 100.0),
    }
}

/// What the queues that leave their waiters' nodes behind get, as a share of what HMCS-T of one level
/// gets, a single queue as they are: of four levels that one itself has 29 % (Table 2).
const fn late(fold: Fold) -> Measure {
    Measure::Ratio {
        of: Side::most(&["mcs-nb", "clh-nb"]),
        over: Side::most(&[OURS_1]),
        metric: Metric::Count("global"),
        fold,
    }
}

/// The trees, the lock's nodes included, over those with TATAS-T.
const fn memory(lock: &'static [&'static str], says: &'static str, band: Band) -> Part {
    Part {
        says,
        experiment: SPLAY,
        measure: Measure::Ratio {
            of: Side::most(lock),
            over: Side::most(&[WORD]),
            metric: Metric::Memory,
            fold: UP_TO,
        },
        band,
    }
}

/// The share of entries of queues, at any level, that resumed an abandoned node: the paper's threads
/// are readmitted into nodes of all levels.
const fn resumed(lock: &'static [&'static str], says: &'static str, percent: f64) -> Part {
    Part {
        says,
        experiment: SPLAY,
        measure: value(lock, Metric::Resumed, UP_TO),
        band: Band::Between((percent - 10.0) / 100.0, (percent + 10.0) / 100.0),
    }
}

/// With the paper's timeouts (§6.1), a thread on each core.
const ABANDONING: Experiment = Experiment::new(
    SUPERDOME,
    "loop",
    Placement::Cores,
    Sweep::Timeout(288, &[Span::Cycles(1_000), Span::Cycles(10_000)]),
)
.lasting(2);

/// 288 threads, on four blades: 72 on a blade, 36 in a package, 2 on a core.
const STEPPING: Experiment = Experiment::new(
    SUPERDOME,
    "loop",
    Placement::Compact,
    Sweep::Timeout(
        288,
        &[Span::Cycles(0), Span::Cycles(1_000), Span::Cycles(10_000)],
    ),
)
.lasting(1);

/// The most steps of a wait that was given up, of any: n−1+Σ(i=1..n−1) 2k_i at most, where k_i come to a queue
/// of level i.
const fn to_give_up(lock: &'static [&'static str], says: &'static str, bound: f64) -> Part {
    Part {
        says,
        experiment: STEPPING,
        measure: value(lock, Metric::Most(TO_GIVE_UP), EVERYWHERE),
        band: Band::AtMost(bound),
    }
}

/// The most steps to acquire after the deadline and to release: n+Σ(i=1..n) 2k_i at most.
const fn when_late(lock: &'static [&'static str], says: &'static str, bound: f64) -> Part {
    Part {
        says,
        experiment: STEPPING,
        measure: value(lock, Metric::Most(WHEN_LATE), EVERYWHERE),
        band: Band::AtMost(bound),
    }
}

const UP_TO: Fold = Fold::Greatest;
const EVERYWHERE: Fold = Fold::Everywhere;

/// The locks of Table 2.
const STUDIED: &[&str] = &[
    OURS_1, OURS_2, OURS_3, OURS_4, WORD, "mcs-nb", "clh-nb", COHORTS,
];

pub const ROWS: &[Claim] = &[
    Claim {
        id: "T1",
        source: "Chabbi et al. 2017 §6.1, Table 1",
        says: "Without timeouts HMCS-T is slower than HMCS by a geometric mean of 1.06, 1.17, \
               1.11 and 1.89 for one to four levels, and by about 1.25 with one thread",
        parts: &[
            overhead(&[PLAIN_1], &[GIVES_UP_1], "one level", 1.06),
            overhead(&[FAST_2], &[GIVES_UP_2], "two levels", 1.17),
            overhead(&[FAST_3], &[GIVES_UP_3], "three levels", 1.11),
            overhead(&[FAST_4], &[GIVES_UP_4], "four levels", 1.89),
            Part {
                says: "three levels, one thread",
                experiment: tight(&[1], None),
                measure: faster(&[FAST_3], &[GIVES_UP_3], UP_TO),
                band: Band::About(1.26),
            },
        ],
        needs: None,
        counterfactuals: &[
            overhead(&[PLAIN_1], &[OURS_1], "ours, one level", 1.06),
            overhead(&[FAST_2], &[OURS_2], "ours, two levels", 1.17),
            overhead(&[FAST_3], &[OURS_3], "ours, three levels", 1.11),
            overhead(&[FAST_4], &[OURS_4], "ours, four levels", 1.89),
            // The paper's reason for its worst figures: HMCS-T misses the sibling that comes back.
            overhead(
                &[OURS_4],
                &[GIVES_UP_4],
                "four levels, over a lock that waits for its SMT sibling to come back",
                1.89,
            ),
        ],
        seeds: Seeds::All,
    },
    Claim {
        id: "T2",
        source: "Chabbi et al. 2017 §6.1, figures 6 to 9",
        says: "The latency of a successful acquisition stays under the timeout; deeper locks give \
               more throughput; release takes about 25 cycles in HMCS and 200 in HMCS-T of three \
               and four levels, with however many threads, and up to 28 times HMCS's with one \
               level; giving up at once takes under 140 cycles with one to three levels",
        parts: &[
            // The paper's curves are means; the longest stands beside ours.
            Part {
                says: "cycles to acquire under a timeout of 10,000",
                experiment: tight(CROWDS, Some(Span::Cycles(10_000))),
                measure: value(&[OURS_1, OURS_2, OURS_3, OURS_4], Metric::Acquire, UP_TO),
                band: Band::AtMost(10_000.0),
            },
            Part {
                says: "cycles to acquire under a timeout of 1,000",
                experiment: tight(CROWDS, Some(Span::Cycles(1_000))),
                measure: value(&[OURS_1, OURS_2, OURS_3, OURS_4], Metric::Acquire, UP_TO),
                band: Band::AtMost(1_000.0),
            },
            deeper(&[OURS_2], &[OURS_1], "two levels over one"),
            deeper(&[OURS_3], &[OURS_2], "three levels over two"),
            deeper(&[OURS_4], &[OURS_3], "four levels over three"),
            Part {
                says: "cycles to release HMCS-T of one level over HMCS's",
                experiment: tight(CROWDS, None),
                measure: Measure::Ratio {
                    of: Side::most(&[OURS_1]),
                    over: Side::most(&[PLAIN_1]),
                    metric: Metric::Release,
                    fold: UP_TO,
                },
                band: Band::About(28.0),
            },
            Part {
                says: "cycles to release HMCS of three levels",
                experiment: tight(CROWDS, None),
                measure: value(&[PLAIN_3], Metric::Release, EVERYWHERE),
                band: Band::About(25.0),
            },
            Part {
                says: "cycles to release HMCS-T of three levels",
                experiment: tight(CROWDS, Some(Span::Cycles(10_000))),
                measure: value(&[OURS_3], Metric::Release, EVERYWHERE),
                band: Band::About(200.0),
            },
            Part {
                says: "cycles to release HMCS-T of four levels",
                experiment: tight(CROWDS, Some(Span::Cycles(10_000))),
                measure: value(&[OURS_4], Metric::Release, EVERYWHERE),
                band: Band::About(200.0),
            },
            Part {
                says: "cycles to release HMCS-T of three levels, 576 threads over 18",
                experiment: tight(&[18, 576], Some(Span::Cycles(10_000))),
                measure: Measure::Change {
                    lock: OURS_3,
                    metric: Metric::Release,
                },
                band: Band::AtMost(1.25),
            },
            Part {
                says: "cycles to give up at once, one to three levels",
                experiment: tight(&[18], Some(Span::Cycles(0))),
                measure: value(&[OURS_1, OURS_2, OURS_3], Metric::GiveUp, UP_TO),
                band: Band::AtMost(140.0),
            },
        ],
        needs: None,
        counterfactuals: &[Part {
            says: "with a core for each thread: cycles to give up at once, one to three levels",
            experiment: tight(&[18], Some(Span::Cycles(0))).at(Place::Placed(Placement::Cores)),
            measure: value(&[OURS_1, OURS_2, OURS_3], Metric::GiveUp, UP_TO),
            band: Band::AtMost(140.0),
        }],
        seeds: Seeds::All,
    },
    Claim {
        id: "T3",
        source: "Chabbi et al. 2017 §6.3, Table 2",
        says: "Splay tree, 576 threads, 10,000 cycles: global and local share of the best, and their \
               mean: HMCS-T of one to four levels 29/100/64, 31/96/64, 62/88/75, 100/84/92 %; \
               TATAS-T 25/60/43, A-C-BO-CLH 11/90/51; MCS-NB and CLH-NB about 0/1/0.5",
        parts: &[
            standing(&[OURS_1], "global", "one level, global", 29.0),
            standing(&[OURS_2], "global", "two levels, global", 31.0),
            standing(&[OURS_3], "global", "three levels, global", 62.0),
            standing(&[OURS_4], "global", "four levels, global", 100.0),
            standing(&[WORD], "global", "TATAS-T, global", 25.0),
            standing(&[COHORTS], "global", "A-C-BO-CLH, global", 11.0),
            standing(
                &["mcs-nb", "clh-nb"],
                "global",
                "MCS-NB and CLH-NB, global",
                0.0,
            ),
            standing(&[OURS_1], "local", "one level, local", 100.0),
            standing(&[OURS_2], "local", "two levels, local", 96.0),
            standing(&[OURS_3], "local", "three levels, local", 88.0),
            standing(&[OURS_4], "local", "four levels, local", 84.0),
            standing(&[WORD], "local", "TATAS-T, local", 60.0),
            standing(&[COHORTS], "local", "A-C-BO-CLH, local", 90.0),
            standing(
                &["mcs-nb", "clh-nb"],
                "local",
                "MCS-NB and CLH-NB, local",
                1.0,
            ),
            efficiency(&[OURS_1], "one level, mean of both", 64.0),
            efficiency(&[OURS_2], "two levels, mean of both", 64.0),
            efficiency(&[OURS_3], "three levels, mean of both", 75.0),
            efficiency(&[OURS_4], "four levels, mean of both", 92.0),
            efficiency(&[WORD], "TATAS-T, mean of both", 43.0),
            efficiency(&[COHORTS], "A-C-BO-CLH, mean of both", 51.0),
            efficiency(&["mcs-nb"], "MCS-NB, mean of both", 0.41),
            efficiency(&["clh-nb"], "CLH-NB, mean of both", 0.5),
        ],
        needs: None,
        counterfactuals: &[
            Part {
                says: "with the lock as printed: four levels, mean of both",
                experiment: SPLAY,
                measure: Measure::Efficiency {
                    lock: &[GIVES_UP_4],
                    beside: &[GIVES_UP_4, WORD],
                    of: ["global", "local"],
                },
                band: Band::Between(0.82, 1.02),
            },
            Part {
                says: "with the shortest occupancies of the file's range: TATAS-T's global lookups \
                       over those of four levels",
                experiment: Experiment {
                    machine: "superdome-x, least occupancy",
                    ..SPLAY
                },
                measure: Measure::Ratio {
                    of: Side::most(&[WORD]),
                    over: Side::most(&[OURS_4]),
                    metric: Metric::Count("global"),
                    fold: UP_TO,
                },
                band: Band::Between(0.15, 0.35),
            },
        ],
        seeds: Seeds::All,
    },
    Claim {
        id: "T4",
        source: "Chabbi et al. 2017 §6.3, Table 2",
        says: "Memory against TATAS-T: CLH-NB 6.6 times, MCS-NB 14 times, all others the same",
        // The paper names no duration, and lists that are swept grow as long as a run lasts.
        parts: &[
            memory(&["clh-nb"], "CLH-NB, after 20 ms", Band::About(6.6)),
            memory(&["mcs-nb"], "MCS-NB, after 20 ms", Band::About(14.0)),
            memory(
                &[OURS_1, OURS_2, OURS_3, OURS_4, COHORTS],
                "all others, after 20 ms",
                Band::AtMost(1.05),
            ),
        ],
        needs: None,
        counterfactuals: &[
            Part {
                says: "with trees of 127 nodes instead of 8,191, so that a lock's nodes weigh 64 times \
                       as much: CLH-NB",
                experiment: SMALL_TREES,
                measure: Measure::Ratio {
                    of: Side::most(&["clh-nb"]),
                    over: Side::most(&[WORD]),
                    metric: Metric::Memory,
                    fold: UP_TO,
                },
                band: Band::About(6.6),
            },
            Part {
                says: "with trees of 127 nodes instead of 8,191: MCS-NB",
                experiment: SMALL_TREES,
                measure: Measure::Ratio {
                    of: Side::most(&["mcs-nb"]),
                    over: Side::most(&[WORD]),
                    metric: Metric::Memory,
                    fold: UP_TO,
                },
                band: Band::About(14.0),
            },
        ],
        seeds: Seeds::All,
    },
    Claim {
        id: "T5",
        source: "Chabbi et al. 2017 §6.2",
        says: "The share of waits resumed from an abandoned node: 99, 97, 92, 47 % for one to \
               four levels",
        parts: &[
            resumed(&[GIVES_UP_1], "one level", 99.0),
            resumed(&[GIVES_UP_2], "two levels", 97.0),
            resumed(&[GIVES_UP_3], "three levels", 92.0),
            resumed(&[GIVES_UP_4], "four levels", 47.0),
        ],
        needs: None,
        counterfactuals: &[],
        seeds: Seeds::All,
    },
    Claim {
        id: "T6",
        source: "Chabbi et al. 2017 §6.4, figure 12",
        says: "Graph search: a timeout of 100,000 cycles lifts the peak of HMCS-T of three levels \
               by 30 % over none; it reaches 4.3 times the plain mutex with all threads; where HMCS is \
               asked for only if it is not held, threads beyond a socket take the throughput from 140 \
               million edges a second to less than 90",
        parts: &[
            // The plain mutex has none.
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
                measure: Measure::Lift {
                    lock: GIVES_UP_3,
                    over: "posix",
                },
                band: Band::About(4.3),
            },
            Part {
                says: "the peak with a timeout over the peak without",
                experiment: search(Some(Span::Cycles(100_000))),
                measure: Measure::Lift {
                    lock: GIVES_UP_3,
                    over: GIVES_UP_3,
                },
                band: Band::About(1.3),
            },
            Part {
                says: "asked for only if it is not held: four sockets a process over one",
                experiment: Experiment::new(
                    SUPERDOME,
                    "bfs",
                    Placement::Cores,
                    Sweep::Threads(&[68, 272]),
                )
                .with(Knobs {
                    poll: Some(Poll::IsLocked),
                    ..Knobs::NONE
                }),
                measure: Measure::Change {
                    lock: PLAIN_3,
                    metric: Metric::Throughput,
                },
                band: Band::About(0.64),
            },
        ],
        needs: None,
        counterfactuals: &[
            Part {
                says: "with ours in the place of the lock as printed: over the plain mutex, all threads",
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
                measure: Measure::Lift {
                    lock: OURS_3,
                    over: "posix",
                },
                band: Band::About(4.3),
            },
            Part {
                says: "with a timeout of 10,000 cycles: the peak over the peak without",
                experiment: search(Some(Span::Cycles(10_000))),
                measure: Measure::Lift {
                    lock: GIVES_UP_3,
                    over: GIVES_UP_3,
                },
                band: Band::About(1.3),
            },
            Part {
                says: "with messages of 20 µs instead of 2: asked for only if it is not held, four \
                       sockets a process over one",
                experiment: Experiment::new(
                    SUPERDOME,
                    "bfs",
                    Placement::Cores,
                    Sweep::Threads(&[68, 272]),
                )
                .with(Knobs {
                    poll: Some(Poll::IsLocked),
                    outside: Some(Span::Nanoseconds(20_000)),
                    ..Knobs::NONE
                }),
                measure: Measure::Change {
                    lock: PLAIN_3,
                    metric: Metric::Throughput,
                },
                band: Band::About(0.64),
            },
        ],
        seeds: Seeds::All,
    },
    Claim {
        id: "T7",
        source: "Chabbi et al. 2017 §5",
        says: "The steps to abandon and to acquire late and release never exceed their bounds",
        parts: &[
            to_give_up(&[GIVES_UP_1], "one level", 0.0),
            to_give_up(&[GIVES_UP_2], "two levels", 145.0),
            to_give_up(&[GIVES_UP_3], "three levels", 78.0),
            to_give_up(&[GIVES_UP_4], "four levels", 47.0),
            when_late(&[GIVES_UP_1], "one level", 577.0),
            when_late(&[GIVES_UP_2], "two levels", 154.0),
            when_late(&[GIVES_UP_3], "three levels", 87.0),
            when_late(&[GIVES_UP_4], "four levels", 56.0),
            to_give_up(&[OURS_1], "ours, one level", 0.0),
            to_give_up(&[OURS_2], "ours, two levels", 145.0),
            to_give_up(&[OURS_3], "ours, three levels", 78.0),
            to_give_up(&[OURS_4], "ours, four levels", 47.0),
            when_late(&[OURS_1], "ours, one level", 577.0),
            when_late(&[OURS_2], "ours, two levels", 154.0),
            when_late(&[OURS_3], "ours, three levels", 87.0),
            when_late(&[OURS_4], "ours, four levels", 56.0),
        ],
        needs: None,
        counterfactuals: &[],
        seeds: Seeds::All,
    },
    Claim {
        id: "T8",
        source: "Chabbi et al. 2017 §6.2, figure 11",
        says: "Splay tree, 576 threads: global throughput falls by about 2 times between timeouts \
               of 10 and 1,000,000 cycles; local throughput falls as the timeout grows; MCS-NB and \
               CLH-NB become competitive only past 1,000,000",
        parts: &[
            Part {
                says: "global lookups at 1,000,000 cycles over those at 10, four levels",
                experiment: SHORT_AND_LONG,
                measure: Measure::Change {
                    lock: OURS_4,
                    metric: Metric::Count("global"),
                },
                band: Band::About(0.5),
            },
            Part {
                says: "local lookups at 1,000,000 cycles over those at 10, four levels",
                experiment: SHORT_AND_LONG,
                measure: Measure::Change {
                    lock: OURS_4,
                    metric: Metric::Count("local"),
                },
                band: Band::AtMost(1.0),
            },
            Part {
                says: "local lookups at 1,000,000 cycles over those at 10, TATAS-T",
                experiment: SHORT_AND_LONG,
                measure: Measure::Change {
                    lock: WORD,
                    metric: Metric::Count("local"),
                },
                band: Band::AtMost(1.0),
            },
            Part {
                says: "global lookups of the better of MCS-NB and CLH-NB over one level, up to \
                       1,000,000 cycles",
                experiment: splay_within(&[
                    Span::Cycles(10_000),
                    Span::Cycles(100_000),
                    Span::Cycles(1_000_000),
                ]),
                measure: late(EVERYWHERE),
                band: Band::AtMost(0.5),
            },
            Part {
                says: "the same at 10,000,000 cycles",
                experiment: splay_within(&[Span::Cycles(10_000_000)]),
                measure: late(UP_TO),
                band: Band::AtLeast(0.5),
            },
        ],
        needs: None,
        counterfactuals: &[
            Part {
                says: "with the lock as printed: global lookups at 1,000,000 cycles over those at 10, \
                       four levels",
                experiment: SHORT_AND_LONG,
                measure: Measure::Change {
                    lock: GIVES_UP_4,
                    metric: Metric::Count("global"),
                },
                band: Band::About(0.5),
            },
            Part {
                says: "from 10,000 cycles on: global lookups at 1,000,000 cycles over those at 10,000, \
                       four levels",
                experiment: splay_within(&[Span::Cycles(10_000), Span::Cycles(1_000_000)])
                    .lasting(2),
                measure: Measure::Change {
                    lock: OURS_4,
                    metric: Metric::Count("global"),
                },
                band: Band::About(0.5),
            },
        ],
        seeds: Seeds::All,
    },
    Claim {
        id: "T9",
        source: "Chabbi et al. 2017 §5",
        says: "On an abandoned successor, ascending to ancestors instead of going on along the peers \
               costs up to 3.2 times",
        parts: &[Part {
            says: "the lock over the one that ascends after one peer that has gone",
            experiment: ABANDONING,
            measure: faster(&[OURS_4], &[ASCENDS], UP_TO),
            band: Band::About(3.2),
        }],
        needs: None,
        counterfactuals: &[
            Part {
                says: "where two threads share each core",
                experiment: ABANDONING.at(Place::Placed(Placement::Compact)),
                measure: faster(&[OURS_4], &[ASCENDS], UP_TO),
                band: Band::About(3.2),
            },
            Part {
                says: "if the alternative is to leave the ancestors' queues before the peers'",
                experiment: tight(CROWDS, Some(Span::Cycles(10_000))),
                measure: faster(&[OURS_3], &[NAIVE], UP_TO),
                band: Band::About(3.2),
            },
        ],
        seeds: Seeds::All,
    },
];
