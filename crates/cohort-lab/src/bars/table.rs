//! The bars.

use super::Target;
use super::experiment::Experiment::{
    Composition, Idle, Library, Oversubscribed, Queues, Scaling, Uncontended, Wicked,
};
use super::experiment::{Experiment, Load};
use super::figure::Figure;

/// One bar.
#[derive(Debug)]
pub struct Bar {
    /// Its name on the command line.
    pub name: &'static str,
    /// What is run, and what of it is compared with what.
    pub asks: &'static str,
    pub(super) experiment: Experiment,
    pub(super) figure: Figure,
    pub(super) target: Target,
}

impl Bar {
    /// What its figure must reach, in words.
    #[must_use]
    pub fn target(&self) -> String {
        self.target.in_words(self.figure.unit())
    }
}

/// The bar called `name`.
#[must_use]
pub fn find(name: &str) -> Option<&'static Bar> {
    BARS.iter().find(|bar| bar.name == name)
}

/// Every bar, in the order in which they are run.
pub static BARS: &[Bar] = &[
    Bar {
        name: "uncontended",
        asks: "one thread locks and unlocks a mutex while others are asleep, under futex, ticket \
               and tas: time over the system's",
        experiment: Uncontended { single: false },
        figure: Figure::EachPairTime,
        target: Target::AtMost(0.55),
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
        target: Target::AtLeast(0.5),
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
        target: Target::AtMost(200_000.0),
    },
    Bar {
        name: "library-needs",
        asks: "libraries that the preload library needs, besides the C library",
        experiment: Library,
        figure: Figure::Needed,
        target: Target::AtMost(0.0),
    },
];
