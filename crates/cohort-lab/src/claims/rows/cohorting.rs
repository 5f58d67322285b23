//! Dice et al. 2015, *Lock Cohorting*.  Threads are scattered and unpinned there (Dice et al.
//! 2015 §5); migration was minimal, so here they are scattered.

use crate::bench::{Knobs, Span};
use crate::claims::{Band, Claim, Experiment, Fold, Measure, Metric, Part, Side, Sweep};
use crate::world::Placement;

const T5440: &str = "sparc-t5440";
const T4: &str = "sparc-t4-1";
const X4800: &str = "sunfire-x4800";

const COHORTS: &[&str] = &["c-bo-mcs", "c-tkt-tkt", "c-ptl-tkt"];
const OTHERS: &[&str] = &["mcs", "ticket", "ptl", "hbo", "fc-mcs"];
/// The locks of Table I beside POSIX.
const TABLE: &[&str] = &[
    "c-bo-mcs",
    "c-tkt-tkt",
    "c-ptl-tkt",
    "mcs",
    "ticket",
    "ptl",
    "hbo",
    "fc-mcs",
];

const fn lbench(machine: &'static str, threads: &'static [usize]) -> Experiment {
    Experiment::new(
        machine,
        "lbench",
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
        because: Some(
            "Tuned, FC-MCS is the best other here, and ahead of all cohort locks from 32 threads \
             on: with 64, some 6,000 sections a ms against 5,450 of C-PTL-TKT. Its batches come \
             together while their collector waits, and go on by one store: a release takes 12 \
             cycles, C-PTL-TKT's 40. The published lock's collectors look through a list several \
             times over, which ours do not. With 64 threads C-PTL-TKT has 1.75 times the best of \
             MCS, TKT and PTL",
        ),
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
        because: Some(
            "FC-MCS again (K1): with 128 threads 3,394 sections a ms against 3,235 of C-PTL-TKT. \
             Over MCS the lead is 2.25 there and could hardly be 3 in this machine's file: the 16 \
             threads of one socket have 2,346 under MCS, and those of all sockets 1,440. In a \
             copy of the file in which transfers between sockets take twice as long it is 3.7",
        ),
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
        because: Some(
            "The lock is not contended: by the paper's own word cycle-bound threads gain nothing \
             beyond one a core, so in the machine's file 64 threads need eight times as long for \
             their 4 µs, 8 cores do no more than 2,000 rounds a ms, and all locks but HBO have \
             1,914 to 1,954. With 1 µs instead the order is the paper's: C-PTL-TKT 6,499, \
             C-TKT-TKT 6,110, C-BO-MCS 3,628, 1.92 times the best of MCS, TKT and PTL, and MCS \
             tapers from 2,877 with 16 threads to 2,769 with 64",
        ),
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
        because: None,
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
                says: "TKT has no fewer than MCS and PTL",
                experiment: lbench(T5440, &[64, 128, 256]),
                measure: Measure::Ratio {
                    of: Side::most(&["ticket"]),
                    over: Side::most(&["mcs", "ptl"]),
                    metric: Metric::RemoteMisses,
                    fold: EVERYWHERE,
                },
                band: Band::AtLeast(1.0),
            },
            Part {
                says: "TKT has no fewer than HBO and FC-MCS",
                experiment: lbench(T5440, &[64, 128, 256]),
                measure: Measure::Ratio {
                    of: Side::most(&["ticket"]),
                    over: Side::most(&["hbo", "fc-mcs"]),
                    metric: Metric::RemoteMisses,
                    fold: EVERYWHERE,
                },
                band: Band::AtLeast(1.0),
            },
        ],
        needs: None,
        because: None,
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
                    over: Side::most(&["mcs", "ticket", "ptl", "fc-mcs", "c-tkt-tkt", "c-ptl-tkt"]),
                    metric: Metric::Unfairness,
                    fold: EVERYWHERE,
                },
                band: Band::AtLeast(1.0),
            },
            Part {
                says: "MCS, TKT and PTL are fair",
                experiment: lbench(T5440, &[64, 128, 256]),
                measure: Measure::Value {
                    of: Side::most(&["mcs", "ticket", "ptl"]),
                    metric: Metric::Unfairness,
                    fold: UP_TO,
                },
                band: Band::AtMost(0.1),
            },
            Part {
                says: "FC-MCS, C-TKT-TKT and C-PTL-TKT are fair",
                experiment: lbench(T5440, &[64, 128, 256]),
                measure: Measure::Value {
                    of: Side::most(&["fc-mcs", "c-tkt-tkt", "c-ptl-tkt"]),
                    metric: Metric::Unfairness,
                    fold: EVERYWHERE,
                },
                band: Band::AtMost(0.1),
            },
        ],
        needs: None,
        because: Some(
            "HBO, as tuned for throughput, leaves one chip the lock for as long as we have \
             looked, 160 ms, since its waiters far away pause for 6 to 205 µs; more than the \
             square root of 3, which it has, the deviation cannot be. With pauses up to 6.4 µs it \
             is 0.2 to 0.6, at a quarter of the speed. C-BO-MCS goes to another chip in every \
             tenth batch or so and has 0.2 to 0.4 (seeds 1 to 5). Which chip wins the race for \
             its top lock hangs on tens of nanoseconds: as long as its local lock took one line \
             more to pass it on, one chip had it nearly always, 1.2 to 1.7, and was less fair \
             than HBO with pauses up to 25 µs",
        ),
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
                measure: faster(&["c-tkt-tkt/0"], &["ticket"], EVERYWHERE),
                band: Band::About(1.0),
            },
        ],
        needs: None,
        because: Some(
            "Batches of 1 leave at most one waiter of each chip at the top lock; TKT alone has \
             64, and each fetches the line by itself: 41.5 lines of the lock come from other \
             chips for each section, since the file's unit of coherence is the core and its MOESI \
             owner serves every reader. And our TKT has both its words on one line, so that a \
             thread that draws waits for the threads that poll: on a line each, as the paper pads \
             them, the ratio is 1.26. In the real machine a chip's L2 serves its cores. In a copy \
             of the file with MESI, where the nearest sharer does, 5.4 lines come from other \
             chips, and the ratio is 1.02",
        ),
    },
    Claim {
        id: "K8",
        source: "Dice et al. 2015 §5.1.5, figure 13",
        says: "On the T5440 with 1 to 16 threads cohort locks are as good as MCS, HBO and FC-MCS \
               or better",
        parts: &[Part {
            says: "the worst cohort lock over the best of the three, with a tenth allowed",
            experiment: lbench(T5440, &[1, 2, 4, 8, 16]),
            measure: Measure::Ratio {
                of: Side::least(COHORTS),
                over: Side::most(&["mcs", "hbo", "fc-mcs"]),
                metric: Metric::Throughput,
                fold: EVERYWHERE,
            },
            band: Band::AtLeast(0.9),
        }],
        needs: None,
        because: None,
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
        because: Some(
            "A-C-BO-CLH has 1.37, 1.80, 2.02 and 1.74 times A-CLH with 16, 64, 128 and 256 threads (2.81, \
             3.77, 4.15 and 3.44 million sections a second). Six times A-CLH would be 12 million, which no \
             lock reaches in this machine's file: 64 threads of one chip, which its lines never leave, do \
             3.6 million under A-CLH and 4.1 under A-HBO. A-HBO is HBO, tuned for this workload: with 128 \
             threads it has 4.60 million, all of one chip (Jain's index 0.25), as in K6",
        ),
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
                measure: change("ticket"),
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
                says: "TKT does not dip on the T5440: 8 threads over 4",
                experiment: mmicro(T5440, &[4, 8]),
                measure: change("ticket"),
                band: Band::AtLeast(1.0),
            },
            Part {
                says: "TKT does not dip on the T4-1: 8 threads over 4",
                experiment: mmicro(T4, &[4, 8]),
                measure: change("ticket"),
                band: Band::AtLeast(1.0),
            },
        ],
        needs: None,
        because: Some(
            "With 4 threads the lock is not yet busy here, so that C-BO-MCS still gains: 399 \
             pairs a ms with 4, 509 with 8. Where 4 keep it busy it dips. In a copy of the file \
             in which transfers between sockets take 1.5 times as long (all are estimates) every \
             part is as in the paper: C-BO-MCS falls from 361 to 332 and has 786 with 32, TKT \
             falls from 375 to 218, C-TKT-TKT from 382 to 230, and C-PTL-TKT rises from 376 to \
             463. With 2 µs after each call instead of 4, in the file as it is, C-BO-MCS falls \
             from 530 to 488",
        ),
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
        because: Some(
            "What stays within a socket decides: each 50 ns that a transfer there takes longer \
             make a section of C-PTL-TKT with 16 threads 250 to 300 ns longer. In copies of the file, such \
             transfers twice, 3 and 4 times as long leave 8.3, 6.5 and 5.6 times one thread; \
             those between sockets 1.5 times as long, which K10 asks for, leave 11.2, and 3 times \
             as long 9.0. Longer sections would do it too, but not on the T5440, whose 20 times \
             leave no room for them: 700 ns more of computing leave 5.0 times here and 5.7 there, \
             10 lines more 4.7 and 6.9 (LBench). So would shorter pauses: 1.5 µs after each call \
             leave C-PTL-TKT 4.8 and C-BO-MCS 6.3 times. The paper does not say which it was, and \
             our cohort locks move a line less than when these figures came nearest to it",
        ),
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
                    of: Side::most(&["mcs", "ticket", "ptl"]),
                    over: Side::least(&["mcs", "ticket", "ptl"]),
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
                measure: faster(&["ticket"], &["posix"], UP_TO),
                band: Band::About(1.54),
            },
            Part {
                says: "50 % sets: the best cohort lock over the better of TKT and PTL",
                experiment: cache(50, &[64]),
                measure: faster(COHORTS, &["ticket", "ptl"], UP_TO),
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
        because: Some(
            "TKT is slow as in K7: with 10 % sets 22.9 lines of the lock a section come from \
             other chips, 3.4 with MESI in a copy of the file, by which TKT has 766 requests a \
             ms, C-PTL-TKT 821 and MCS 779, and with 90 % sets 1.25 times POSIX. With 90 % sets \
             the model's sections compute for 2 µs, 2,800 cycles, and wait for data for some 180 \
             to 240, so that all locks but TKT and PTL lie between 227 and 238 requests a ms at \
             32 threads; HBO has its 236 by serving one chip alone",
        ),
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
        because: None,
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
                measure: faster(&["ticket", "ptl"], &["mcs"], UP_TO),
                band: Band::AtMost(1.0),
            },
            Part {
                says: "T4-1: the better of TKT and PTL over MCS",
                experiment: lbench(T4, &[32, 64]),
                measure: faster(&["ticket", "ptl"], &["mcs"], UP_TO),
                band: Band::AtMost(1.0),
            },
            Part {
                says: "X4800: PTL is ahead of TKT with 8 threads",
                experiment: lbench(X4800, &[8]),
                measure: faster(&["ptl"], &["ticket"], EVERYWHERE),
                band: Band::AtLeast(1.0),
            },
            Part {
                says: "X4800: with 128 threads PTL has faded towards TKT",
                experiment: lbench(X4800, &[128]),
                measure: faster(&["ptl"], &["ticket"], UP_TO),
                band: Band::About(1.0),
            },
            Part {
                says: "T5440: PTL over TKT",
                experiment: lbench(T5440, &[64, 128, 256]),
                measure: faster(&["ptl"], &["ticket"], EVERYWHERE),
                band: Band::About(1.0),
            },
            Part {
                says: "T4-1: PTL over TKT",
                experiment: lbench(T4, &[16, 32, 64]),
                measure: faster(&["ptl"], &["ticket"], EVERYWHERE),
                band: Band::About(1.0),
            },
        ],
        needs: None,
        because: Some(
            "T4-1: not contended, as in K3. With 1 µs between sections MCS has 2,769 a ms \
             with 64 threads, PTL 3,018 and TKT 3,379: the 8 threads of a core share a cache, so \
             that 8 caches fetch the line that all of TKT's poll, not 64; a release finds it \
             there, 105 cycles instead of the 248 with 8 threads; and 41 % of hand-overs stay in \
             a core, whose threads draw one after another. With a core for each thread TKT has \
             2,407 with 8 threads and 1,324 with 64, PTL 2,713 and MCS 2,878; and 2,288 with 64 as \
             the machine is, if a read keeps a line busy for 64 cycles, not 8. X4800: PTL fades, from 1,351 \
             with 8 threads to 1,050 with 128, but TKT falls further, to 326, since it has both its \
             words on one line, and since a read keeps a line busy. On a line each it has 514; \
             where reads keep no line busy either, 1,108 and PTL 1,444. T5440: with TKT's words \
             on a line each the ratio is 1.44, 1.37 and 1.22 with 64, 128 and 256 threads, and \
             with MESI in a copy of the file too (K7) 1.07, 1.02 and 0.98",
        ),
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
        because: None,
    },
];

/// The patience of K9, which the paper does not give: of 1, 2, 5 and 10 ms the least under which, as in
/// the paper, fewer than 1 % of A-C-BO-CLH's waiters give up (3.9, 1.9, 0.4 and 0 % with 256
/// threads).
const PATIENT: Knobs = Knobs {
    timeout: Some(Span::Nanoseconds(5_000_000)),
    ..Knobs::NONE
};
