//! The table of targets.

use super::Target;
use super::envelope::Reach;
use super::experiment::Experiment::{
    AdaptiveCrowd, Address, AddressCrowd, Call, Calls, Composition, Convoy, DelegatedCall,
    DelegatedCrowd, Envelope, GivingUp, Idle, Inlined, Keys, Library, Life, Observing, Occasional,
    OccasionalShared, Outside, Oversubscribed, Patient, Peers, Python, Queues, Scaling, Simulation,
    Sysbench, Timed, TimedAlone, Uncontended, Wicked,
};
use super::experiment::{Experiment, Load};
use super::figure::{Figure, Which};
use std::collections::BTreeSet;

/// Target.
#[derive(Debug)]
pub struct Bar {
    /// Its name on the command line.
    pub name: &'static str,
    /// The run and its comparison.
    pub asks: &'static str,
    pub(super) experiment: Experiment,
    pub(super) figure: Figure,
    pub(super) target: Target,
}

impl Bar {
    /// The figure's threshold, in words.
    #[must_use]
    pub fn target(&self) -> String {
        self.target.in_words(self.figure.unit())
    }

    /// Whether it measures simulated machines. That takes up to an hour, so it runs only by its
    /// name.
    #[must_use]
    pub fn is_long(&self) -> bool {
        self.experiment == Envelope
    }

    /// The first part of its name.
    fn family(&self) -> &'static str {
        self.name.split('-').next().unwrap_or_default()
    }
}

/// The target called `name`, or else the targets with that prefix and a hyphen.
#[must_use]
pub fn find(name: &str) -> Vec<&'static Bar> {
    if let Some(bar) = BARS.iter().find(|bar| bar.name == name) {
        return vec![bar];
    }
    BARS.iter().filter(|bar| bar.family() == name).collect()
}

/// Common prefixes of several targets' names, without complete names.
#[must_use]
pub fn families() -> BTreeSet<&'static str> {
    let families = BARS.iter().map(Bar::family);
    families.filter(|family| find(family).len() > 1).collect()
}

/// All targets, in the order of their runs.
pub static BARS: &[Bar] = &[
    Bar {
        name: "uncontended-pair",
        asks: "uncontended lock/unlock beside sleeping threads, under futex, ticket and tas: time \
               over the C library",
        experiment: Uncontended { single: false },
        figure: Figure::EachPairTime,
        target: Target::AtMost(0.55),
    },
    Bar {
        name: "uncontended-calls",
        asks: "one thread, alone and beside two: signal and broadcast without waiters, trylock of a \
               held mutex, tryrdlock, recursive and error-checking lock, init–destroy: time over \
               the C library",
        experiment: Calls(&[
            "signal",
            "broadcast",
            "try-held",
            "try-read",
            "recursive",
            "error-check",
            "init",
        ]),
        figure: Figure::PairTime,
        target: Target::AtMost(1.05),
    },
    Bar {
        name: "uncontended-many",
        asks: "uncontended lock/unlock of 4096 mutexes in turn, alone and beside two threads: time \
               over the C library",
        experiment: Calls(&["many"]),
        figure: Figure::PairTime,
        target: Target::AtMost(0.8),
    },
    Bar {
        name: "single-thread",
        asks: "lock/unlock in a single-threaded process: time over the C library",
        experiment: Uncontended { single: true },
        figure: Figure::PairTime,
        target: Target::AtMost(1.0),
    },
    Bar {
        name: "composition",
        asks: "uncontended composition of four levels with four locks: time over the sum of the four \
               locks",
        experiment: Composition { fast: false },
        figure: Figure::PairTimeOfSum,
        target: Target::AtMost(1.0),
    },
    Bar {
        name: "composition-fast",
        asks: "the same with a bypass, and with a fast path: time over the top lock",
        experiment: Composition { fast: true },
        figure: Figure::PairTime,
        target: Target::AtMost(1.3),
    },
    Bar {
        name: "guard",
        asks: "mcs by a guard, with the queue node in a block: time over a closure, with the node in \
               its frame",
        experiment: Inlined(["closure", "guard"]),
        figure: Figure::PairTime,
        target: Target::AtMost(1.15),
    },
    Bar {
        name: "call",
        asks: "uncontended mutex of cohort.h in the shared library: nanoseconds beyond a pthread mutex \
               under the preload library",
        experiment: Call,
        figure: Figure::PairBeyond,
        target: Target::AtMost(1.0),
    },
    Bar {
        name: "rust-turns",
        asks: "pairs of 2 to 64 threads alternate by Mutex and Condvar, and one thread notifies \
               without waiters: throughput over the better of parking_lot and std",
        experiment: Peers("turns"),
        figure: Figure::OfBest,
        target: Target::AtLeast(1.0),
    },
    Bar {
        name: "rust-reads",
        asks: "1 to 64 threads read under an RwLock: the same",
        experiment: Peers("reads"),
        figure: Figure::OfBest,
        target: Target::AtLeast(1.0),
    },
    Bar {
        name: "kccachetest",
        asks: "kccachetest wicked, 2 threads on 2 CPUs: speed over the C library",
        experiment: Wicked,
        figure: Figure::Speed,
        target: Target::AtLeast(5.0),
    },
    Bar {
        name: "jemalloc",
        asks: "malloc and free by jemalloc with one arena, 2, 4 and 8 threads: throughput over the C \
               library on one CPU",
        experiment: Scaling(Load::Jemalloc),
        figure: Figure::Throughput,
        target: Target::AtLeast(1.0),
    },
    Bar {
        name: "dmalloc",
        asks: "malloc and free by dmalloc, 2, 4 and 8 threads: throughput over the C library on one \
               CPU",
        experiment: Scaling(Load::Dmalloc),
        figure: Figure::Throughput,
        target: Target::AtLeast(1.0),
    },
    Bar {
        name: "berkeleydb",
        asks: "reads of a stock database in Berkeley DB, 2, 4 and 8 threads: throughput over the C \
               library on one CPU",
        experiment: Scaling(Load::BerkeleyDb),
        figure: Figure::Throughput,
        target: Target::AtLeast(1.0),
    },
    Bar {
        name: "sqlite",
        asks: "reads through one shared SQLite connection, 2, 4 and 8 threads: throughput over the C \
               library on one CPU",
        experiment: Scaling(Load::Sqlite),
        figure: Figure::Throughput,
        target: Target::AtLeast(1.0),
    },
    Bar {
        name: "oversubscribed-mean",
        asks: "critical sections of 200 ns and 2 µs, 1 µs apart, 2 to 64 threads: throughput over the \
               best of the C library, its adaptive kind and parking_lot, geometric mean",
        experiment: Oversubscribed,
        figure: Figure::MeanOfBest,
        target: Target::AtLeast(0.97),
    },
    Bar {
        name: "oversubscribed-least",
        asks: "the same, at each point",
        experiment: Oversubscribed,
        figure: Figure::OfBest,
        target: Target::AtLeast(0.90),
    },
    Bar {
        name: "oversubscribed-tail",
        asks: "the same: 99.9th percentile of the acquire latency over parking_lot",
        experiment: Oversubscribed,
        figure: Figure::Tail,
        target: Target::AtMost(1.5),
    },
    Bar {
        name: "oversubscribed-fairness",
        asks: "the same: operations of the least-served thread over parking_lot",
        experiment: Oversubscribed,
        figure: Figure::LeastServed,
        target: Target::AtLeast(0.8),
    },
    Bar {
        name: "oversubscribed-queues",
        asks: "critical sections of 200 ns and 2 µs, 1 µs apart, 32 threads on 2 CPUs, under each FIFO \
               lock: throughput over futex",
        experiment: Queues,
        figure: Figure::EachThroughput,
        target: Target::AtLeast(0.8),
    },
    Bar {
        name: "glk-alone",
        asks: "uncontended glk, inlined: time over ticket",
        experiment: Inlined(["ticket", "glk"]),
        figure: Figure::PairTime,
        target: Target::AtMost(1.1),
    },
    Bar {
        name: "glk-crowd",
        asks: "critical sections of 200 ns and 2 µs, 1 µs apart, 2 to 64 threads under glk: throughput \
               over futex at each point",
        experiment: AdaptiveCrowd("glk"),
        figure: Figure::Throughput,
        target: Target::AtLeast(0.9),
    },
    Bar {
        name: "glk-plus",
        asks: "the same under glk-plus: the geometric mean",
        experiment: AdaptiveCrowd("glk-plus"),
        figure: Figure::MeanOfBest,
        target: Target::AtLeast(0.97),
    },
    Bar {
        name: "delegated-alone",
        asks: "uncontended delegation under sanl+, inlined: time over a lock/unlock pair of mcs",
        experiment: Inlined(["mcs", "delegated"]),
        figure: Figure::PairTime,
        target: Target::AtMost(1.5),
    },
    Bar {
        name: "delegated-call",
        asks: "uncontended cohort_delegate in the shared library: time over a lock/unlock pair of \
               cohort_mutex_t",
        experiment: DelegatedCall,
        figure: Figure::PairTime,
        target: Target::AtMost(1.2),
    },
    Bar {
        name: "delegated-crowd",
        asks: "critical sections of 200 ns and 2 µs, 1 µs apart, 2 to 64 threads on 2 CPUs, delegated \
               under sanl+: throughput over Mutex, inlined, at each point",
        experiment: DelegatedCrowd("futex-hmcs"),
        figure: Figure::Throughput,
        target: Target::AtLeast(0.95),
    },
    Bar {
        name: "delegated-actor",
        asks: "the same over an actor, a thread that receives critical sections by std::sync::mpsc and \
               replies to each",
        experiment: DelegatedCrowd("actor"),
        figure: Figure::Throughput,
        target: Target::AtLeast(3.0),
    },
    Bar {
        name: "gls-one",
        asks: "uncontended lock of one address: nanoseconds beyond the embedded lock",
        experiment: Address(1),
        figure: Figure::PairBeyond,
        target: Target::AtMost(3.0),
    },
    Bar {
        name: "gls-many",
        asks: "the same with 512 addresses in turn",
        experiment: Address(512),
        figure: Figure::PairBeyond,
        target: Target::AtMost(12.0),
    },
    Bar {
        name: "gls-crowd",
        asks: "ten threads lock 1, 512 and 4096 addresses at random, 410 ns each: throughput over the \
               embedded locks",
        experiment: AddressCrowd,
        figure: Figure::Throughput,
        target: Target::AtLeast(0.9),
    },
    Bar {
        name: "gls-memory",
        asks: "ten million addresses with free locks: bytes each, locks and table",
        experiment: Keys,
        figure: Figure::BytesInAll,
        target: Target::AtMost(100.0),
    },
    Bar {
        name: "wait-p50",
        asks: "one or three threads hold a lock for 200 ns, 2 µs or 50 µs and reacquire it immediately, \
               beside zero or two busy processes; another thread (nice 5 at one point) acquires it \
               once a millisecond: its median wait over the better of the C library and \
               parking_lot (below 5 µs counts as 5 µs)",
        experiment: Occasional,
        figure: Figure::Wait(Which::P50),
        target: Target::AtMost(1.2),
    },
    Bar {
        name: "wait-p90",
        asks: "the same: 90th percentile",
        experiment: Occasional,
        figure: Figure::Wait(Which::P90),
        target: Target::AtMost(1.2),
    },
    Bar {
        name: "wait-p99",
        asks: "the same: 99th percentile",
        experiment: Occasional,
        figure: Figure::Wait(Which::P99),
        target: Target::AtMost(1.2),
    },
    Bar {
        name: "wait-mean",
        asks: "the same: mean, which unfair service cannot improve",
        experiment: Occasional,
        figure: Figure::Wait(Which::Mean),
        target: Target::AtMost(1.2),
    },
    Bar {
        name: "wait-rwlock",
        asks: "three or five threads acquire an rwlock once a millisecond for 50 µs, to write or to read \
               at four times of five, beside zero or two busy processes: the 99th percentile of waits over \
               the C library's (below 5 µs counts as 5 µs)",
        experiment: OccasionalShared,
        figure: Figure::Wait(Which::P99),
        target: Target::AtMost(1.2),
    },
    Bar {
        name: "timed",
        asks: "a thread waits for at most 1 ms while another holds the mutex for 3 ms and reacquires it \
               immediately: its acquisitions over the C library",
        experiment: Timed,
        figure: Figure::Throughput,
        target: Target::AtLeast(0.8),
    },
    Bar {
        name: "timedlock",
        asks: "uncontended pthread_mutex_timedlock with a deadline in an hour, under futex-hmcs and \
               hmcs-t-1: time over pthread_mutex_lock",
        experiment: TimedAlone,
        figure: Figure::PairTime,
        target: Target::AtMost(1.1),
    },
    Bar {
        name: "giving-up",
        asks: "immediate timeout at a held hmcs-t-1, inlined: nanoseconds (140 cycles at 2.5 GHz)",
        experiment: GivingUp("giving-up-hmcs-t-1"),
        figure: Figure::OwnPair,
        target: Target::AtMost(56.0),
    },
    Bar {
        name: "giving-up-deep",
        asks: "the same at hmcs-t-4, with the three lower levels held (1000 cycles)",
        experiment: GivingUp("giving-up-hmcs-t-4"),
        figure: Figure::OwnPair,
        target: Target::AtMost(400.0),
    },
    Bar {
        name: "patient-served",
        asks: "2, 8 and 64 threads on 2 CPUs wait for a mutex for at most 20 µs, 300 µs or 5 ms, hold it \
               for 2 µs, 1 µs apart: acquisitions over the best of the C library, the function \
               behind std::timed_mutex, and parking_lot",
        experiment: Patient,
        figure: Figure::OfBest,
        target: Target::AtLeast(0.97),
    },
    Bar {
        name: "patient-late",
        asks: "the same: lateness of timeouts, 99.9th percentile, over the least of the others (below \
               5 µs counts as 5 µs; an early timeout fails; fewer than 1000 timeouts are a tie)",
        experiment: Patient,
        figure: Figure::Late,
        target: Target::AtMost(1.0),
    },
    Bar {
        name: "life",
        asks: "init–lock–unlock–destroy of a mutex, init–signal–destroy of a condition, single-threaded \
               and beside two sleeping threads, under futex and mcs: time over the C library",
        experiment: Life,
        figure: Figure::EachPairTime,
        target: Target::AtMost(1.1),
    },
    Bar {
        name: "python-time",
        asks: "Python threads: a queue with four consumers, a pool of four, two threads alternating by a \
               condition; on one CPU and on all: time over the C library",
        experiment: Python,
        figure: Figure::Time,
        target: Target::AtMost(1.05),
    },
    Bar {
        name: "python-cpu",
        asks: "the same: CPU time",
        experiment: Python,
        figure: Figure::CpuTime,
        target: Target::AtMost(1.05),
    },
    Bar {
        name: "python-switches",
        asks: "the same: voluntary context switches (below 300 counts as 300)",
        experiment: Python,
        figure: Figure::Switches,
        target: Target::AtMost(3.0),
    },
    Bar {
        name: "convoy",
        asks: "four interpreter threads on one CPU share a second lock: contended acquisitions of \
               100,000 over the C library (below 300 counts as 300)",
        experiment: Convoy,
        figure: Figure::FoundTaken,
        target: Target::AtMost(3.0),
    },
    Bar {
        name: "sysbench",
        asks: "sysbench threads on one CPU, with yielding holders: 8 threads with 2 and 8 mutexes, 64 \
               with 8: time over the C library",
        experiment: Sysbench,
        figure: Figure::Time,
        target: Target::AtMost(1.05),
    },
    Bar {
        name: "idle-memory",
        asks: "100,000 used and free mutexes: bytes each beyond the C library's (half a byte is the \
               resolution of pages)",
        experiment: Idle,
        figure: Figure::BytesEach,
        target: Target::AtMost(0.5),
    },
    Bar {
        name: "library-size",
        asks: "size of the preload library's file",
        experiment: Library,
        figure: Figure::LibraryBytes,
        target: Target::AtMost(400_000.0),
    },
    Bar {
        name: "library-needs",
        asks: "libraries needed by the preload library besides the C library",
        experiment: Library,
        figure: Figure::Needed,
        target: Target::AtMost(0.0),
    },
    Bar {
        name: "discover-kunpeng",
        asks: "cohort discover --on kunpeng-920x2, 128 CPUs: seconds",
        experiment: Simulation(&["discover", "--on", "kunpeng-920x2"]),
        figure: Figure::Seconds,
        target: Target::AtMost(10.0),
    },
    Bar {
        name: "discover-superdome",
        asks: "cohort discover --on superdome-x, 576 CPUs: seconds",
        experiment: Simulation(&["discover", "--on", "superdome-x"]),
        figure: Figure::Seconds,
        target: Target::AtMost(60.0),
    },
    Bar {
        name: "tune-kunpeng",
        asks: "cohort tune --on kunpeng-920x2, 500 compositions and eight numbers of threads: \
               seconds",
        experiment: Simulation(&["tune", "--on", "kunpeng-920x2"]),
        figure: Figure::Seconds,
        target: Target::AtMost(45.0),
    },
    Bar {
        name: "tune-superdome",
        asks: "cohort tune --on superdome-x: seconds",
        experiment: Simulation(&["tune", "--on", "superdome-x"]),
        figure: Figure::Seconds,
        target: Target::AtMost(300.0),
    },
    Bar {
        name: "observing-stuck",
        asks: "memcached, SQLite and kccachetest under `cohort debug --level stuck`: throughput over \
               `cohort run`",
        experiment: Observing,
        figure: Figure::ThroughputOf("stuck"),
        target: Target::AtLeast(0.98),
    },
    Bar {
        name: "observing-owner",
        asks: "the same at level owner",
        experiment: Observing,
        figure: Figure::ThroughputOf("owner"),
        target: Target::AtLeast(0.90),
    },
    Bar {
        name: "observing-order",
        asks: "the same at level order",
        experiment: Observing,
        figure: Figure::ThroughputOf("order"),
        target: Target::AtLeast(0.5),
    },
    Bar {
        name: "observing-profile",
        asks: "the same under `cohort profile`",
        experiment: Observing,
        figure: Figure::ThroughputOf("profile"),
        target: Target::AtLeast(0.95),
    },
    Bar {
        name: "observing-unwatched",
        asks: "the same under `cohort run --observe`",
        experiment: Observing,
        figure: Figure::ThroughputOf("unwatched"),
        target: Target::AtLeast(0.99),
    },
    Bar {
        name: "observing-watched",
        asks: "the same while `cohort top` watches",
        experiment: Observing,
        figure: Figure::ThroughputOf("watched"),
        target: Target::AtLeast(0.97),
    },
    Bar {
        name: "outside",
        asks: "mutexes, an rwlock and the allocator without Cohort: throughput while `cohort top` \
               watches, window by window, over a stopped `top`",
        experiment: Outside,
        figure: Figure::OfUnwatched,
        target: Target::AtLeast(0.99),
    },
    Bar {
        name: "envelope-posix",
        asks: "the default as pthread_mutex_t, at each point of the grid of `cohort bench --envelope`: throughput over posix, without the lowest three points",
        experiment: Envelope,
        figure: Figure::Envelope(Reach::OfSystem),
        target: Target::AtLeast(0.97),
    },
    Bar {
        name: "envelope-exceptions",
        asks: "the same, without exceptions",
        experiment: Envelope,
        figure: Figure::Envelope(Reach::OfSystemEverywhere),
        target: Target::AtLeast(0.9),
    },
    Bar {
        name: "envelope-crowded",
        asks: "the same with more threads than CPUs: geometric mean",
        experiment: Envelope,
        figure: Figure::Envelope(Reach::OfSystemCrowded),
        target: Target::AtLeast(1.2),
    },
    Bar {
        name: "envelope-best",
        asks: "the same with at most one thread per CPU: throughput over the best raw lock, at 90 % of the points",
        experiment: Envelope,
        figure: Figure::Envelope(Reach::OfBest),
        target: Target::AtLeast(0.9),
    },
    Bar {
        name: "envelope-everywhere",
        asks: "the same at every point",
        experiment: Envelope,
        figure: Figure::Envelope(Reach::OfBestEverywhere),
        target: Target::AtLeast(0.75),
    },
    Bar {
        name: "envelope-mean",
        asks: "the same: geometric mean over all points",
        experiment: Envelope,
        figure: Figure::Envelope(Reach::OfBestMean),
        target: Target::AtLeast(0.95),
    },
    Bar {
        name: "envelope-machine",
        asks: "the same with at most one thread per CPU: geometric mean of each machine's throughput \
               over posix",
        experiment: Envelope,
        figure: Figure::Envelope(Reach::MachineOfSystem),
        target: Target::AtLeast(0.97),
    },
    Bar {
        name: "envelope-machine-crowded",
        asks: "the same with more threads than CPUs",
        experiment: Envelope,
        figure: Figure::Envelope(Reach::MachineOfSystemCrowded),
        target: Target::AtLeast(0.97),
    },
    Bar {
        name: "envelope-machine-best",
        asks: "the same with at most one thread per CPU: throughput over the best raw lock",
        experiment: Envelope,
        figure: Figure::Envelope(Reach::MachineOfBest),
        target: Target::AtLeast(0.9),
    },
    Bar {
        name: "envelope-least",
        asks: "the same: share of the least-served thread, over posix",
        experiment: Envelope,
        figure: Figure::Envelope(Reach::LeastServed),
        target: Target::AtLeast(0.5),
    },
    Bar {
        name: "envelope-wait",
        asks: "the same: 99.9th percentile of waits over posix",
        experiment: Envelope,
        figure: Figure::Envelope(Reach::Waiting),
        target: Target::AtMost(2.0),
    },
    Bar {
        name: "envelope-energy",
        asks: "the same: energy proxy over posix, where throughput differs by at most 5 %",
        experiment: Envelope,
        figure: Figure::Envelope(Reach::Energy),
        target: Target::AtMost(1.0),
    },
    Bar {
        name: "envelope-named",
        asks: "hmcs-4, c-tkt-mcs and cna as pthread_mutex_t, at most one thread per CPU: throughput over the raw lock",
        experiment: Envelope,
        figure: Figure::Envelope(Reach::NamedOfRaw),
        target: Target::AtLeast(0.85),
    },
    Bar {
        name: "envelope-named-crowded",
        asks: "the same with more threads than CPUs: throughput over posix",
        experiment: Envelope,
        figure: Figure::Envelope(Reach::NamedOfSystem),
        target: Target::AtLeast(0.9),
    },
];
