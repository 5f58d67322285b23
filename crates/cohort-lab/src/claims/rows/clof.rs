//! Chehab et al. 2021, *CLoF*.  Threads are pinned, one hardware thread of each core first, and
//! the last CPU is unused.

use crate::claims::{Band, Claim, Experiment, Fold, Measure, Metric, Part, Place, Side, Sweep};
use crate::world::Placement;

const EPYC: &str = "epyc-7352x2";
const KUNPENG: &str = "kunpeng-920x2";

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

const UP_TO: Fold = Fold::Greatest;
const EVERYWHERE: Fold = Fold::Everywhere;

const HMCS_4_X86: &str = "hmcs-4@core,cache,numa,system";
const HMCS_3_X86: &str = "hmcs-3@core,numa,system";
const HMCS_2_X86: &str = "hmcs-2@numa,system";
const HMCS_4_ARM: &str = "hmcs-4@cache,numa,package,system";
const EVERY_4: &str = "clof:*-*-*-*";
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
               2.98 within a NUMA node, 7.04 within a cache group",
        parts: &[
            nearer(EPYC, "numa", "EPYC, one package and NUMA node", 1.54),
            nearer(EPYC, "cache", "EPYC, one cache group", 9.07),
            nearer(EPYC, "core", "EPYC, one core", 12.18),
            nearer(KUNPENG, "package", "Kunpeng, one package", 1.76),
            nearer(KUNPENG, "numa", "Kunpeng, one NUMA node", 2.98),
            nearer(KUNPENG, "cache", "Kunpeng, one cache group", 7.04),
        ],
        needs: None,
        because: None,
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
        because: Some(
            "How long LevelDB's sections compute is our estimate, 40 cycles; with 400 four levels \
             have 1.91 times three with 24 threads, with 800 1.60. With 8 threads three levels \
             are ahead of two by the order in which threads happened to queue: 21 % of hand-overs \
             stay in a cache group, 12 % with two levels",
        ),
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
                band: Band::Near(1.05, 0.1),
            },
            Part {
                says: "EPYC, 32 threads",
                experiment: leveldb(EPYC, &[32]),
                measure: faster(&[BEST_4], &[HMCS_4_X86], UP_TO),
                band: Band::Near(1.15, 0.1),
            },
            Part {
                says: "EPYC, 95 threads",
                experiment: leveldb(EPYC, &[95]),
                measure: faster(&[BEST_4], &[HMCS_4_X86], UP_TO),
                band: Band::About(1.33),
            },
            Part {
                says: "EPYC, 8 threads, the best under high contention",
                experiment: leveldb(EPYC, &[8]),
                measure: faster(&[HIGH_4], &[HMCS_4_X86], UP_TO),
                band: Band::Near(0.95, 0.1),
            },
            Part {
                says: "EPYC, 95 threads, the best under high contention",
                experiment: leveldb(EPYC, &[95]),
                measure: faster(&[HIGH_4], &[HMCS_4_X86], UP_TO),
                band: Band::About(1.47),
            },
            Part {
                says: "Kunpeng, 3 to 15 %",
                experiment: leveldb(KUNPENG, &[1, 4, 8, 32, 64, 127]),
                measure: faster(&[BEST_4], &[HMCS_4_ARM], EVERYWHERE),
                band: Band::Between(1.0, 1.25),
            },
        ],
        needs: None,
        because: Some(
            "Where both are made of MCS at every level, a composition is level with HMCS: 1,808 \
             reads a ms to 1,830 on EPYC (8 threads), 3,312 to 3,362 on Kunpeng (64), with as \
             many lines moved for each section, 7.25 and 7.23 on EPYC. Until low locks carried \
             the hand-offs in the word that the next holder waits for, as HMCS does, it had 1,446 \
             and 2,836. What other locks add here is little: HC-best is 4 % ahead of HMCS with 32 \
             threads on EPYC and 1 % with 95. On Kunpeng LC-best has TKT at three levels, which \
             few threads like, 0.92 with 127; HC-best, mcs-mcs-ticket-ticket, has 0.99 with 32. \
             Hemlock is without coherence-traffic reduction on EPYC too, where the paper's has it \
             (F5)",
        ),
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
        because: Some(
            "ShflLock moves 8 lines of its own for each section, MCS 5 (EPYC, 8 threads), since a \
             waiter is granted the queue's head first and then takes the word. Sorting brings it \
             little: with 64 threads on EPYC 41 % of hand-overs go to the other node, MCS 51 %, \
             CNA 1 %; without sorting it is faster, by 20 % with 8 threads and 10 % with 95, and \
             still below MCS. Ours sorts only while the head waits for the word, which is about a \
             section; whether others sort longer was not tried. Compositions are further ahead on \
             EPYC than the paper's because sections are short, as in F2",
        ),
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
                measure: faster(&["hemlock-ctr"], &["hemlock"], UP_TO),
                band: Band::AtMost(0.25),
            },
        ],
        needs: None,
        because: Some(
            "EPYC: polling by an atomic moves 5.6 lines of the lock a section, polling by loads \
             4.6; it saves no upgrade here that would be dearer. MESIF in a copy of the file \
             gives the same figures, so it is not the protocol. Kunpeng: nobody gets on at all, \
             which the machine's page names as known to be wrong",
        ),
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
                measure: faster(&["ticket"], &["mcs", "clh", "hemlock-ctr"], EVERYWHERE),
                band: Band::AtLeast(1.0),
            },
            Part {
                says: "Kunpeng, system level: ticket over the best other",
                experiment: one_each(KUNPENG, &[2], "package", "system"),
                measure: faster(&["ticket"], &["mcs", "clh", "hemlock"], EVERYWHERE),
                band: Band::AtLeast(1.0),
            },
            Part {
                says: "EPYC, NUMA level: Hemlock over the best other",
                experiment: one_each(EPYC, &[8], "cache", "numa"),
                measure: faster(&["hemlock-ctr"], &["mcs", "clh", "ticket"], EVERYWHERE),
                band: Band::AtLeast(1.0),
            },
            Part {
                says: "Kunpeng, NUMA level: CLH over the best other",
                experiment: one_each(KUNPENG, &[8], "cache", "numa"),
                measure: faster(&["clh"], &["mcs", "hemlock", "ticket"], EVERYWHERE),
                band: Band::AtLeast(1.0),
            },
            Part {
                says: "Kunpeng, NUMA level: ticket over the best other",
                experiment: one_each(KUNPENG, &[8], "cache", "numa"),
                measure: faster(&["ticket"], &["mcs", "hemlock", "clh"], UP_TO),
                band: Band::About(0.5),
            },
        ],
        needs: None,
        because: Some(
            "EPYC, system: a tie, 627 to 632. NUMA level: MCS is ahead on both, although it moves \
             most lines but TKT, because its release only stores: 9 cycles. Our CLH looks whether \
             it is the last at a word that each arrival takes, 622 cycles on EPYC and 288 on \
             Kunpeng, and Hemlock waits for its successor's answer, 1,694 and 666. How far TKT \
             falls behind on Kunpeng is how long a read keeps a line busy, by our estimate 37 \
             cycles, a quarter of what it takes: in copies of the file with twice and 3 times as \
             much TKT has 1,202 and 940 reads a ms for 1,540, 0.62 and 0.49 of MCS, and no other \
             lock changes by more than 2 %",
        ),
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
        because: Some(
            "The NUMA level's lock takes part in 12 % of hand-overs, since 4 threads of a cache \
             group keep it busy. With 32 threads the 64 compositions with TKT there have 2,799 \
             reads a ms in the mean, with Hemlock 2,704, CLH 2,795, MCS 2,992. What they differ \
             in more is the cache group's lock: Hemlock 2,642, CLH 2,704, TKT 2,813, MCS 3,130; \
             the slow release of our CLH is in F6. Where a read keeps a line of the node busy 3 \
             times as long, which F6 asks for, mcs-ticket-mcs-mcs drops by 9 % from 16 to 32 \
             threads, not by 3 %",
        ),
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
        because: Some(
            "How long LevelDB's sections compute is our estimate, 40 cycles. With 400 four levels \
             are ahead as in the paper, if by less: 0.98 to 0.99 of three up to 48 threads, 1.07, \
             1.11 and 1.14 times with 64, 80 and 95 (TKT everywhere: 1.14 to 1.20), because a \
             cache group whose cores have two threads each then never runs out of waiters: under \
             1 % of hand-overs leave it, where its bound is used up, with three levels 8 to 13 %. \
             With 800 cycles it does not with three levels either, and the lead is 1 %; with 40 \
             it does with both. The longer a search, the longer the sections that it takes: four \
             levels do from 120 cycles on with 1 µs and from 400 with 2 µs, three from 320 and \
             800. Without that a line moves in a core only 1.34 times as fast as in a cache group \
             (F1), and each level more makes a release longer, 68 cycles against 33",
        ),
    },
    Claim {
        id: "F9",
        source: "Chehab et al. 2021 §5.3.1, figure 10",
        says: "A lock tuned for one machine loses most of its lead on the other",
        parts: &[
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
        because: Some(
            "HMCS is ahead of every composition here (F3), so that there is no lead to lose; \
             among compositions each machine's own is ahead",
        ),
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
        because: Some(
            "What other locks than MCS add to a composition is little, as in F3: it is level with \
             HMCS, and so are three levels with four",
        ),
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
        because: Some(
            "With 64 threads only 37 % of hand-overs stay in a core, and other levels decide: the \
             means by core lock are 1,845 reads a ms for TKT, 1,828 MCS, 1,775 CLH, 1,743 \
             Hemlock; by NUMA lock 1,985 MCS, 1,847 CLH, 1,800 TKT, 1,561 Hemlock. Hemlock is \
             without coherence-traffic reduction, which does not help it here (F5); the slow \
             release of our CLH is in F6",
        ),
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
        because: None,
    },
];
