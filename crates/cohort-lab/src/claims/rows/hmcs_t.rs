//! Chabbi et al. 2017, *HMCS-T*.  Threads are pinned, compactly; a cohort has the lock 64 times in a
//! row at most, and the levels are a blade of two packages, a package, a core (§6).

use crate::bench::{Knobs, Poll, Span};
use crate::claims::{Band, Claim, Experiment, Fold, Measure, Metric, Part, Side, Sweep};
use crate::world::Placement;

const SUPERDOME: &str = "superdome-x";

const ALL: &[usize] = &[1, 2, 4, 8, 18, 36, 72, 144, 288, 576];
const CROWDS: &[usize] = &[18, 72, 288, 576];

/// The locks by their number of levels (§6), first those from which waiters cannot part.
const PLAIN_1: &str = "hmcs-1/64";
const PLAIN_2: &str = "hmcs-2@blade,system/64";
const PLAIN_3: &str = "hmcs-3@numa,blade,system/64";
const PLAIN_4: &str = "hmcs-4@core,numa,blade,system/64";
const GIVES_UP_1: &str = "hmcs-t-1/64";
const GIVES_UP_2: &str = "hmcs-t-2@blade,system/64";
const GIVES_UP_3: &str = "hmcs-t-3@numa,blade,system/64";
const GIVES_UP_4: &str = "hmcs-t-4@core,numa,blade,system/64";
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
        over: Side::most(&[GIVES_UP_1]),
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

/// How many waits of a lock went on where they had been given up.
const fn resumed(lock: &'static [&'static str], says: &'static str, percent: f64) -> Part {
    Part {
        says,
        experiment: SPLAY,
        measure: value(lock, Metric::Resumed, UP_TO),
        band: Band::Between((percent - 10.0) / 100.0, (percent + 10.0) / 100.0),
    }
}

const UP_TO: Fold = Fold::Greatest;
const EVERYWHERE: Fold = Fold::Everywhere;

/// The locks of Table 2.
const STUDIED: &[&str] = &[
    GIVES_UP_1, GIVES_UP_2, GIVES_UP_3, GIVES_UP_4, WORD, "mcs-nb", "clh-nb", COHORTS,
];

pub const ROWS: &[Claim] = &[
    Claim {
        id: "T1",
        source: "Chabbi et al. 2017 §6.1, Table 1",
        says: "Without timeouts HMCS-T is slower than HMCS by a geometric mean of 1.06, 1.17, \
               1.11 and 1.89 for one to four levels, and by about 1.25 with one thread",
        parts: &[
            overhead(&[PLAIN_1], &[GIVES_UP_1], "one level", 1.06),
            overhead(&[PLAIN_2], &[GIVES_UP_2], "two levels", 1.17),
            overhead(&[PLAIN_3], &[GIVES_UP_3], "three levels", 1.11),
            overhead(&[PLAIN_4], &[GIVES_UP_4], "four levels", 1.89),
            Part {
                says: "three levels, one thread",
                experiment: tight(&[1], None),
                measure: faster(&[PLAIN_3], &[GIVES_UP_3], UP_TO),
                band: Band::About(1.26),
            },
        ],
        needs: None,
        because: Some(
            "ours costs nothing: among others a thread without a timeout takes the steps of HMCS. Its \
             place in its first queue cannot be given up, so that the place is its context's, is linked \
             to and granted by plain stores where the paper exchanges, and is claimed by nobody else. \
             With 4 to 36 threads one to three levels take 0.96 to 1.02 times as long as HMCS, in the \
             mean of seeds 1 to 8. With one seed it is 0.83 to 1.17, by the order in which threads happen \
             to queue: with 8 threads HMCS of three levels has 9.8 to 10.1 million sections a second \
             where no hand-over stays in a core, and 11.8 to 12.4 where three of eight do, HMCS-T 10.1 \
             and 11.7 to 12.5. Alone, three levels take 0.26 times as long as HMCS, which enters every \
             level where HMCS-T enters the system's queue alone, by the fast path of §5 and a place in \
             the lock",
        ),
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
                measure: value(
                    &[GIVES_UP_1, GIVES_UP_2, GIVES_UP_3, GIVES_UP_4],
                    Metric::Acquire,
                    UP_TO,
                ),
                band: Band::AtMost(10_000.0),
            },
            Part {
                says: "cycles to acquire under a timeout of 1,000",
                experiment: tight(CROWDS, Some(Span::Cycles(1_000))),
                measure: value(
                    &[GIVES_UP_1, GIVES_UP_2, GIVES_UP_3, GIVES_UP_4],
                    Metric::Acquire,
                    UP_TO,
                ),
                band: Band::AtMost(1_000.0),
            },
            deeper(&[GIVES_UP_2], &[GIVES_UP_1], "two levels over one"),
            deeper(&[GIVES_UP_3], &[GIVES_UP_2], "three levels over two"),
            deeper(&[GIVES_UP_4], &[GIVES_UP_3], "four levels over three"),
            Part {
                says: "cycles to release HMCS-T of one level over HMCS's",
                experiment: tight(CROWDS, None),
                measure: Measure::Ratio {
                    of: Side::most(&[GIVES_UP_1]),
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
                measure: value(&[GIVES_UP_3], Metric::Release, EVERYWHERE),
                band: Band::About(200.0),
            },
            Part {
                says: "cycles to release HMCS-T of four levels",
                experiment: tight(CROWDS, Some(Span::Cycles(10_000))),
                measure: value(&[GIVES_UP_4], Metric::Release, EVERYWHERE),
                band: Band::About(200.0),
            },
            Part {
                says: "cycles to release HMCS-T of three levels, 576 threads over 18",
                experiment: tight(&[18, 576], Some(Span::Cycles(10_000))),
                measure: Measure::Change {
                    lock: GIVES_UP_3,
                    metric: Metric::Release,
                },
                band: Band::AtMost(1.25),
            },
            Part {
                says: "cycles to give up at once, one to three levels",
                experiment: tight(&[18], Some(Span::Cycles(0))),
                measure: value(&[GIVES_UP_1, GIVES_UP_2, GIVES_UP_3], Metric::GiveUp, UP_TO),
                band: Band::AtMost(140.0),
            },
        ],
        needs: None,
        because: Some(
            "deeper is faster by 2.94, 1.58 and 1.26 times with 576 threads, three levels release in 158 \
             cycles with 576 threads, 0.981 times as long as with 18, and four in 152. What disagrees: \
             under 1,000 cycles one level acquires in 1,727 in the mean with 576 threads, beside \
             2,647,083 waits that were given up for 3,943 sections: a grant that comes after the deadline \
             and before the abandonment is taken, and half of them come after 2,015 cycles or more (4 \
             virtual ms). Giving up at once takes two levels 207 cycles in the mean (140) and 167 in the \
             median, where two threads share each core; with a core for each the median is 126, 132 and \
             132 for one to three levels. Without a timeout one level releases as HMCS does (1.00, paper \
             28): a thread that does not give up is granted by a plain store, for which the releaser's \
             CPU does not wait",
        ),
    },
    Claim {
        id: "T3",
        source: "Chabbi et al. 2017 §6.3, Table 2",
        says: "Splay tree, 576 threads, 10,000 cycles: global and local share of the best, and their \
               mean: HMCS-T of one to four levels 29/100/64, 31/96/64, 62/88/75, 100/84/92 %; \
               TATAS-T 25/60/43, A-C-BO-CLH 11/90/51; MCS-NB and CLH-NB about 0/1/0.5",
        parts: &[
            standing(&[GIVES_UP_1], "global", "one level, global", 29.0),
            standing(&[GIVES_UP_2], "global", "two levels, global", 31.0),
            standing(&[GIVES_UP_3], "global", "three levels, global", 62.0),
            standing(&[GIVES_UP_4], "global", "four levels, global", 100.0),
            standing(&[WORD], "global", "TATAS-T, global", 25.0),
            standing(&[COHORTS], "global", "A-C-BO-CLH, global", 11.0),
            standing(
                &["mcs-nb", "clh-nb"],
                "global",
                "MCS-NB and CLH-NB, global",
                0.0,
            ),
            standing(&[GIVES_UP_1], "local", "one level, local", 100.0),
            standing(&[GIVES_UP_2], "local", "two levels, local", 96.0),
            standing(&[GIVES_UP_3], "local", "three levels, local", 88.0),
            standing(&[GIVES_UP_4], "local", "four levels, local", 84.0),
            standing(&[WORD], "local", "TATAS-T, local", 60.0),
            standing(&[COHORTS], "local", "A-C-BO-CLH, local", 90.0),
            standing(
                &["mcs-nb", "clh-nb"],
                "local",
                "MCS-NB and CLH-NB, local",
                1.0,
            ),
            efficiency(&[GIVES_UP_1], "one level, mean of both", 64.0),
            efficiency(&[GIVES_UP_2], "two levels, mean of both", 64.0),
            efficiency(&[GIVES_UP_3], "three levels, mean of both", 75.0),
            efficiency(&[GIVES_UP_4], "four levels, mean of both", 92.0),
            efficiency(&[WORD], "TATAS-T, mean of both", 43.0),
            efficiency(&[COHORTS], "A-C-BO-CLH, mean of both", 51.0),
            efficiency(&["mcs-nb"], "MCS-NB, mean of both", 0.41),
            efficiency(&["clh-nb"], "CLH-NB, mean of both", 0.5),
        ],
        needs: None,
        because: Some(
            "the trees come in the paper's order, with a mean of 54, 60, 65 and 100 % (64, 64, 75, 92). \
             How many sections there are goes by how far a hand-over takes the lock's lines and the \
             tree's: 49 % of one level's go to another blade, 35 % of two levels' to the blade's other \
             package, 95 % of three levels' to another core, and 98 % of four levels' stay in a core, so \
             that a section comes every 3,200, 1,354, 845 and 266 cycles. The shares are the same to two \
             points where the hot node changes ten times in a virtual ms. Local lookups are not lost by \
             depth: a wait that is given up takes 10,082 cycles with one level and 10,144 with four. \
             Those that wait for a word fall behind: TATAS-T has 1 % and A-C-BO-CLH 5 % (43, 51), since \
             all ask for its line at once and are served one after another: giving up takes TATAS-T \
             966,655 cycles in the median",
        ),
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
                &[GIVES_UP_1, GIVES_UP_2, GIVES_UP_3, GIVES_UP_4, COHORTS],
                "all others, after 20 ms",
                Band::AtMost(1.05),
            ),
        ],
        needs: None,
        because: Some(
            "the nodes of MCS-NB come to 4.1 MB after 20 ms and to 16.7 MB after 80, beside trees of 302 MB: \
             nobody is in the section meanwhile, so that no node is given back. At that rate all is 14 \
             times TATAS-T's after some 19 s, and nothing that long is run here. Those of CLH-NB do not \
             grow: 0.22 MB after 63,829 waits that were given up, 0.23 MB after 121,034. Each waiter \
             looks once however late it is, and finds the node before its own left: all want the tail's \
             line, so that a wait takes 440,000 cycles in the mean, and one waiter comes right after another. \
             The paper's were too late to look (§6.2)",
        ),
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
        because: Some(
            "one to three levels agree (99, 94, 86). At four levels none is: a wait counts as resumed at \
             the thread's own node, in the queue of its core; a thread that gives up above that queue \
             leaves it, and the place that is found again there is the core's, which is not counted",
        ),
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
        because: Some(
            "no test is in vain here, so that none is saved by giving up: with 136 threads 53,135 tests \
             are made for 52,715 messages, since a test waits 23,900 cycles for the lock and a message is \
             under way for 5,000. With a timeout of 20,000 cycles 26,707 waits are given up there, and \
             the throughput is 1.0 % less: the lock serves two sections a message all the same, and a \
             release that has to exchange takes 104 cycles, not 32. The paper's tests mostly found \
             nothing. Over the plain mutex the ratio depends on how long the runtime holds its lock, 300 \
             cycles by our estimate: it is 5.64 then, 4.66 with 500 and 3.26 with 1,000. Where HMCS is \
             asked for only if it is not held, it is held nearly always: with 68 threads 383 tests are \
             made for 49,848 messages, and with 272 none, so that the lock serves messages alone. These \
             queue for it, and 98 % of the hand-overs stay in a package; the paper's lost that locality",
        ),
    },
    Claim {
        id: "T7",
        source: "Chabbi et al. 2017 §5",
        says: "The steps to abandon and to acquire late and release never exceed their bounds",
        parts: &[],
        needs: Some(
            "it is no figure of a run: bound::steps counts them in every run by chance, where \
             they never exceed the bounds (crates/cohort-on-machine/tests/runner/bounds.rs)",
        ),
        because: None,
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
                    lock: GIVES_UP_4,
                    metric: Metric::Count("global"),
                },
                band: Band::About(0.5),
            },
            Part {
                says: "local lookups at 1,000,000 cycles over those at 10, four levels",
                experiment: SHORT_AND_LONG,
                measure: Measure::Change {
                    lock: GIVES_UP_4,
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
        because: Some(
            "the two queues agree: they have up to 0.44 times one level's global lookups with 1,000,000 \
             cycles and 0.87 times with 10,000,000. What disagrees is four levels with a timeout of 10 \
             cycles: in the first 2 virtual ms 838 waits are given up there for each section and 139 \
             nodes passed over, by the releaser or by a waiter that has to leave the queues which it \
             holds, and a section comes every 875 cycles. With 1,000,000 cycles 0.14 waits are given up \
             for each and 0.002 nodes passed over, and one comes every 282",
        ),
    },
    Claim {
        id: "T9",
        source: "Chabbi et al. 2017 §3.2",
        says: "Releasing ancestors before peers, the naive abandonment, costs up to 3.2 times",
        parts: &[Part {
            says: "the lock over its naive form",
            experiment: tight(CROWDS, Some(Span::Cycles(10_000))),
            measure: faster(&[GIVES_UP_3], &[NAIVE], UP_TO),
            band: Band::About(3.2),
        }],
        needs: None,
        because: Some(
            "the naive manner costs nothing here: of 3,155,551 waits of 576 threads in a run of 20 virtual ms \
             2,743,973 (87 %) were resumed in the smallest queue: where they had been given up they held \
             none, and both manners are the same",
        ),
    },
];
