//! The table of targets.

use super::Target;
use super::envelope::Reach;
use super::experiment::Experiment::{
    AdaptiveCrowd, Address, AddressCrowd, Call, Calls, Composition, Convoy, DelegatedCrowd,
    Envelope, GivingUp, Idle, Inlined, Keys, Library, Life, Observing, Occasional, Oversubscribed,
    Patient, Peers, Python, Queues, Scaling, Simulation, Sysbench, Timed, TimedAlone, Uncontended,
    Wicked,
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
        asks: "one thread locks and unlocks a mutex while others are asleep, under futex, ticket \
               and tas: time over the system's",
        experiment: Uncontended { single: false },
        figure: Figure::EachPairTime,
        target: Target::AtMost(0.55),
    },
    Bar {
        name: "uncontended-calls",
        asks: "one thread signals and broadcasts to a condition without waiters, tries a mutex that \
               is held and an rwlock to read, locks a recursive and an error-checking mutex, \
               initialises and destroys one, alone and beside two threads: time over the system's",
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
        asks: "one thread locks and unlocks each of 4096 mutexes in turn, alone and beside two \
               threads: time over the system's",
        experiment: Calls(&["many"]),
        figure: Figure::PairTime,
        target: Target::AtMost(0.8),
    },
    Bar {
        name: "single-thread",
        asks: "the only thread of a process locks and unlocks a mutex: time over the system's",
        experiment: Uncontended { single: true },
        figure: Figure::PairTime,
        target: Target::AtMost(1.0),
    },
    Bar {
        name: "composition",
        asks: "one thread locks and unlocks a composition of four levels, another lock at each: \
               time over the sum of the four locks'",
        experiment: Composition { fast: false },
        figure: Figure::PairTimeOfSum,
        target: Target::AtMost(1.0),
    },
    Bar {
        name: "composition-fast",
        asks: "the same with a bypass, and with a fast path: time over that of its top lock",
        experiment: Composition { fast: true },
        figure: Figure::PairTime,
        target: Target::AtMost(1.3),
    },
    Bar {
        name: "guard",
        asks: "one thread locks data under mcs by a guard, which keeps the queue's node in a \
               block: time over that of a closure, which has it in its frame",
        experiment: Inlined(["closure", "guard"]),
        figure: Figure::PairTime,
        target: Target::AtMost(1.15),
    },
    Bar {
        name: "call",
        asks: "one thread locks and unlocks a mutex of cohort.h by calls of the shared library: \
               nanoseconds beyond those of a pthread mutex under the preload library",
        experiment: Call,
        figure: Figure::PairBeyond,
        target: Target::AtMost(1.0),
    },
    Bar {
        name: "rust-turns",
        asks: "threads in pairs hand a turn to each other by a Mutex and a Condvar, 2 to 64, and \
               one alone signals nobody: throughput over the better of parking_lot's and std's",
        experiment: Peers("turns"),
        figure: Figure::OfBest,
        target: Target::AtLeast(1.0),
    },
    Bar {
        name: "rust-reads",
        asks: "1 to 64 threads read what an RwLock guards: the same",
        experiment: Peers("reads"),
        figure: Figure::OfBest,
        target: Target::AtLeast(1.0),
    },
    Bar {
        name: "kccachetest",
        asks: "kccachetest wicked with 2 threads on 2 CPUs: speed over the system's",
        experiment: Wicked,
        figure: Figure::Speed,
        target: Target::AtLeast(5.0),
    },
    Bar {
        name: "jemalloc",
        asks: "malloc and free by jemalloc with one arena, 2, 4 and 8 threads: throughput over \
               the system's on one CPU",
        experiment: Scaling(Load::Jemalloc),
        figure: Figure::Throughput,
        target: Target::AtLeast(1.0),
    },
    Bar {
        name: "dmalloc",
        asks: "malloc and free by dmalloc, 2, 4 and 8 threads: throughput over the system's on \
               one CPU",
        experiment: Scaling(Load::Dmalloc),
        figure: Figure::Throughput,
        target: Target::AtLeast(1.0),
    },
    Bar {
        name: "berkeleydb",
        asks: "reads of a stock database in Berkeley DB, 2, 4 and 8 threads: throughput over the \
               system's on one CPU",
        experiment: Scaling(Load::BerkeleyDb),
        figure: Figure::Throughput,
        target: Target::AtLeast(1.0),
    },
    Bar {
        name: "sqlite",
        asks: "reads through one shared SQLite connection, 2, 4 and 8 threads: throughput over \
               the system's on one CPU",
        experiment: Scaling(Load::Sqlite),
        figure: Figure::Throughput,
        target: Target::AtLeast(1.0),
    },
    Bar {
        name: "oversubscribed-mean",
        asks: "sections of 200 ns and 2 µs with 1 µs between them, 2 to 64 threads: throughput \
               over the best of the system's, its adaptive kind and parking_lot, geometric mean",
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
        asks: "the same: the 99.9th percentile of the time to acquire over parking_lot's",
        experiment: Oversubscribed,
        figure: Figure::Tail,
        target: Target::AtMost(1.5),
    },
    Bar {
        name: "oversubscribed-fairness",
        asks: "the same: operations of the least-served thread over parking_lot's",
        experiment: Oversubscribed,
        figure: Figure::LeastServed,
        target: Target::AtLeast(0.8),
    },
    Bar {
        name: "oversubscribed-queues",
        asks: "sections of 200 ns and 2 µs with 1 µs between them, 32 threads on 2 CPUs, under \
               each lock that serves in strict order: throughput over futex's",
        experiment: Queues,
        figure: Figure::EachThroughput,
        target: Target::AtLeast(0.8),
    },
    Bar {
        name: "glk-alone",
        asks: "one thread takes and releases glk, inlined: time over ticket's",
        experiment: Inlined(["ticket", "glk"]),
        figure: Figure::PairTime,
        target: Target::AtMost(1.1),
    },
    Bar {
        name: "glk-crowd",
        asks: "sections of 200 ns and 2 µs with 1 µs between them, 2 to 64 threads under glk: \
               throughput over futex's at each point",
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
        asks: "one thread brings a section to data under sanl+, inlined: time over a pair of the \
               lock mcs",
        experiment: Inlined(["mcs", "delegated"]),
        figure: Figure::PairTime,
        target: Target::AtMost(1.5),
    },
    Bar {
        name: "delegated-crowd",
        asks: "sections of 200 ns and 2 µs with 1 µs between them, 2 to 64 threads on 2 CPUs, \
               brought to data under sanl+: throughput over that of Mutex's lock, inlined, at each \
               point",
        experiment: DelegatedCrowd("futex-hmcs"),
        figure: Figure::Throughput,
        target: Target::AtLeast(0.95),
    },
    Bar {
        name: "delegated-actor",
        asks: "the same over that of an actor, a thread that is sent the sections by \
               std::sync::mpsc and answers each",
        experiment: DelegatedCrowd("actor"),
        figure: Figure::Throughput,
        target: Target::AtLeast(3.0),
    },
    Bar {
        name: "gls-one",
        asks: "one thread takes and releases the lock of one address: nanoseconds beyond those \
               of the same lock where it lies",
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
        asks: "ten threads take the locks of 1, 512 and 4096 addresses at random, for 410 ns each: \
               throughput over that of the same locks where they lie",
        experiment: AddressCrowd,
        figure: Figure::Throughput,
        target: Target::AtLeast(0.9),
    },
    Bar {
        name: "gls-memory",
        asks: "ten million addresses have locks, all of them free: bytes of memory each, locks and \
               table",
        experiment: Keys,
        figure: Figure::BytesInAll,
        target: Target::AtMost(100.0),
    },
    Bar {
        name: "wait-p50",
        asks: "one or three hogs hold a lock for 200 ns, 2 µs or 50 µs and want it again at once, \
               with no busy process beside them and with two; an occasional thread, at one point \
               niced by 5, takes it, sleeps for a millisecond, and so on: the median of what it \
               waits over the better of the system's and parking_lot's (below 5 µs counts as \
               5 µs)",
        experiment: Occasional,
        figure: Figure::Wait(Which::P50),
        target: Target::AtMost(1.2),
    },
    Bar {
        name: "wait-p90",
        asks: "the same: the 90th percentile",
        experiment: Occasional,
        figure: Figure::Wait(Which::P90),
        target: Target::AtMost(1.2),
    },
    Bar {
        name: "wait-p99",
        asks: "the same: the 99th percentile",
        experiment: Occasional,
        figure: Figure::Wait(Which::P99),
        target: Target::AtMost(1.2),
    },
    Bar {
        name: "wait-mean",
        asks: "the same: the mean, which no lock makes short by serving the thread at once or \
               not for long",
        experiment: Occasional,
        figure: Figure::Wait(Which::Mean),
        target: Target::AtMost(1.2),
    },
    Bar {
        name: "timed",
        asks: "a thread waits for 1 ms at most, while another holds the mutex for 3 ms and wants \
               it again at once: how often it is served over the system's",
        experiment: Timed,
        figure: Figure::Throughput,
        target: Target::AtLeast(0.8),
    },
    Bar {
        name: "timedlock",
        asks: "one thread takes a mutex by pthread_mutex_timedlock, with an hour to go, and \
               releases it, under futex-hmcs and hmcs-t-1: time over that by pthread_mutex_lock",
        experiment: TimedAlone,
        figure: Figure::PairTime,
        target: Target::AtMost(1.1),
    },
    Bar {
        name: "giving-up",
        asks: "one thread gives up at once at hmcs-t-1, inlined, which is held: nanoseconds (140 \
               cycles at 2.5 GHz)",
        experiment: GivingUp("giving-up-hmcs-t-1"),
        figure: Figure::OwnPair,
        target: Target::AtMost(56.0),
    },
    Bar {
        name: "giving-up-deep",
        asks: "the same at hmcs-t-4, of which it holds the three levels below by then (1000 cycles)",
        experiment: GivingUp("giving-up-hmcs-t-4"),
        figure: Figure::OwnPair,
        target: Target::AtMost(400.0),
    },
    Bar {
        name: "patient-served",
        asks: "2, 8 and 64 threads on 2 CPUs wait for a mutex for 20 µs, 300 µs or 5 ms at most, \
               hold it for 2 µs and stay away for 1 µs: acquisitions over the best of the system's, \
               the function that std::timed_mutex calls, and parking_lot's",
        experiment: Patient,
        figure: Figure::OfBest,
        target: Target::AtLeast(0.97),
    },
    Bar {
        name: "patient-late",
        asks: "the same: by how much those are late that give up, the 99.9th percentile, over the \
               least of the others' (below 5 µs counts as 5 µs; a wait that ends before its time \
               fails, and a point where fewer than 1000 give up is level)",
        experiment: Patient,
        figure: Figure::Late,
        target: Target::AtMost(1.0),
    },
    Bar {
        name: "life",
        asks: "a mutex is initialised, taken, released and destroyed, a condition initialised, \
               signalled and destroyed, by the only thread and beside two that sleep, under \
               futex and mcs: time over the system's",
        experiment: Life,
        figure: Figure::EachPairTime,
        target: Target::AtMost(1.1),
    },
    Bar {
        name: "python-time",
        asks: "threads of a Python interpreter: a queue with four consumers, a pool of four, two \
               that take turns by a condition, each on one CPU and on all: time over the system's",
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
        asks: "the same: how often threads gave up a CPU to wait (below 300 counts as 300)",
        experiment: Python,
        figure: Figure::Switches,
        target: Target::AtMost(3.0),
    },
    Bar {
        name: "convoy",
        asks: "four threads of an interpreter on one CPU share a lock below the interpreter's \
               own: how often they found it taken in 100,000 times over the system's (below 300 \
               counts as 300)",
        experiment: Convoy,
        figure: Figure::FoundTaken,
        target: Target::AtMost(3.0),
    },
    Bar {
        name: "sysbench",
        asks: "sysbench threads on one CPU, where the holder of a mutex yields: 8 threads with 2 \
               and 8 mutexes, 64 with 8: time over the system's",
        experiment: Sysbench,
        figure: Figure::Time,
        target: Target::AtMost(1.05),
    },
    Bar {
        name: "idle-memory",
        asks: "100,000 mutexes that were used and are free: bytes each beyond what they take \
               under the system's locks (half a byte is what the kernel's pages hide)",
        experiment: Idle,
        figure: Figure::BytesEach,
        target: Target::AtMost(0.5),
    },
    Bar {
        name: "library-size",
        asks: "the preload library's file",
        experiment: Library,
        figure: Figure::LibraryBytes,
        target: Target::AtMost(400_000.0),
    },
    Bar {
        name: "library-needs",
        asks: "libraries that the preload library needs, besides the C library",
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
        asks: "memcached, SQLite and kccachetest under `cohort debug --level stuck`: throughput \
               over the same under `cohort run`",
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
        name: "envelope-posix",
        asks: "the default as programs have it, at each point of the simulated grid of `cohort bench --envelope`: throughput over posix's, but for the lowest three points",
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
        asks: "the same where there are more threads than CPUs, the geometric mean",
        experiment: Envelope,
        figure: Figure::Envelope(Reach::OfSystemCrowded),
        target: Target::AtLeast(1.2),
    },
    Bar {
        name: "envelope-best",
        asks: "the same up to as many threads as CPUs, over the best raw lock's, at nine points of ten",
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
        asks: "the same, the geometric mean over all points",
        experiment: Envelope,
        figure: Figure::Envelope(Reach::OfBestMean),
        target: Target::AtLeast(0.95),
    },
    Bar {
        name: "envelope-machine",
        asks: "the same up to as many threads as CPUs, the geometric mean of each machine's \
               throughput over posix's",
        experiment: Envelope,
        figure: Figure::Envelope(Reach::MachineOfSystem),
        target: Target::AtLeast(0.97),
    },
    Bar {
        name: "envelope-machine-crowded",
        asks: "the same where there are more threads than CPUs",
        experiment: Envelope,
        figure: Figure::Envelope(Reach::MachineOfSystemCrowded),
        target: Target::AtLeast(0.97),
    },
    Bar {
        name: "envelope-machine-best",
        asks: "the same up to as many threads as CPUs, over the best raw lock's",
        experiment: Envelope,
        figure: Figure::Envelope(Reach::MachineOfBest),
        target: Target::AtLeast(0.9),
    },
    Bar {
        name: "envelope-least",
        asks: "the same: what the least-served thread has of an even share, over that under posix",
        experiment: Envelope,
        figure: Figure::Envelope(Reach::LeastServed),
        target: Target::AtLeast(0.5),
    },
    Bar {
        name: "envelope-wait",
        asks: "the same: 99.9th percentile of waiting over posix's",
        experiment: Envelope,
        figure: Figure::Envelope(Reach::Waiting),
        target: Target::AtMost(2.0),
    },
    Bar {
        name: "envelope-energy",
        asks: "the same: energy proxy over posix's, where throughput is level within 5 %",
        experiment: Envelope,
        figure: Figure::Envelope(Reach::Energy),
        target: Target::AtMost(1.0),
    },
    Bar {
        name: "envelope-named",
        asks: "hmcs-4, c-tkt-mcs and cna as programs have them, up to as many threads as CPUs: throughput over their own raw",
        experiment: Envelope,
        figure: Figure::Envelope(Reach::NamedOfRaw),
        target: Target::AtLeast(0.85),
    },
    Bar {
        name: "envelope-named-crowded",
        asks: "the same where there are more threads than CPUs: throughput over posix's",
        experiment: Envelope,
        figure: Figure::Envelope(Reach::NamedOfSystem),
        target: Target::AtLeast(0.9),
    },
];
