//! The experiments behind the targets.

use super::envelope::Drawn;
use crate::progress::tell;
use crate::rounds::{Contestant, Series};
use crate::runner::{self, Failure, Launch, Run};
use crate::workloads::{Outcome, berkeleydb};
use crate::world::disturb::allowed_cpus;
use cohort::Capability;
use cohort::catalogue::{LOCKS, LockInfo, Storage, find};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Changes to a program's environment: a variable with its value, or none to remove it.
pub type Changes = Vec<(String, Option<OsString>)>;

/// Setup of the measurements.
pub struct Setup<'a> {
    /// The command with the `workload` subcommand.
    pub command: PathBuf,
    /// The command that runs and observes programs.
    pub product: PathBuf,
    /// The preload library.
    pub interposer: PathBuf,
    /// Drawn machines of the envelope, beside the shipped ones.
    pub drawn: Option<Drawn>,
    /// The environment for the default lock.
    pub ours: Changes,
    /// The same for the library with locks that are placed apart.
    pub apart: Changes,
    /// The environment for the system's locks.
    pub system: Changes,
    /// Checks that the library can be loaded into a program.
    pub prove: &'a dyn Fn(&Path) -> Result<(), String>,
    /// The number of counted rounds.
    pub rounds: usize,
    /// Whether runs are short, for a first impression.
    pub quick: bool,
}

/// Experiment; targets with the same one share its runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Experiment {
    /// One thread and a mutex.
    Uncontended {
        /// Whether it is the only thread.
        single: bool,
    },
    /// One thread, and calls that do not wait.
    Calls(&'static [&'static str]),
    /// One thread and a composition of four levels.
    Composition {
        /// Whether it has a fast path.
        fast: bool,
    },
    /// One thread, and two variants compiled into the command, in turn.
    Inlined([&'static str; 2]),
    /// The adaptive lock and one of its parts, with more threads than CPUs.
    AdaptiveCrowd(&'static str),
    /// Delegated data and its alternative, with more threads than CPUs.
    DelegatedCrowd(&'static str),
    /// One thread, and that many locks found by address.
    Address(u32),
    /// Ten threads, and 1, 512 and 4096 of such locks.
    AddressCrowd,
    /// Ten million addresses with locks.
    Keys,
    /// `kccachetest wicked`.
    Wicked,
    /// A load with several numbers of threads, the system's locks on one CPU.
    Scaling(Load),
    /// One mutex and more threads than CPUs.
    Oversubscribed,
    /// The same on two CPUs, under each strict lock.
    Queues,
    /// That load with Rust types: Cohort's, `parking_lot`'s and the standard library's.
    Peers(&'static str),
    /// One thread and a mutex of the library for C.
    Call,
    /// One thread, and a mutex and a delegated lock of that library.
    DelegatedCall,
    /// A lock in constant use, and a thread that acquires it occasionally.
    Occasional,
    /// Threads that acquire an rwlock occasionally.
    OccasionalShared,
    /// A mutex in constant use, and a thread with a timeout.
    Timed,
    /// One thread and a mutex, with and without a deadline.
    TimedAlone,
    /// One thread with an expired timeout, at that lock.
    GivingUp(&'static str),
    /// Threads on two CPUs, all with a timeout.
    Patient,
    /// The init–destroy cycle of a mutex and a condition.
    Life,
    /// Threads of a Python interpreter.
    Python,
    /// An application's lock below an interpreter's.
    Convoy,
    /// `sysbench threads`, where the holder of a mutex yields its CPU.
    Sysbench,
    /// Memory of used, free mutexes.
    Idle,
    /// Observed programs, at every level.
    Observing,
    /// A load without Cohort, with and without an observer.
    Outside,
    /// The library's file; nothing is run.
    Library,
    /// A grid of simulated machines, workloads and numbers of threads.
    Envelope,
    /// This command with these words, which simulates; run once.
    Simulation(&'static [&'static str]),
}

/// Load that performs badly under the system's locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// One arena's lock.
    Jemalloc,
    /// One lock around everything.
    Dmalloc,
    /// The buffer pool's and the lock table's mutexes.
    BerkeleyDb,
    /// One connection's recursive mutex.
    Sqlite,
}

/// One comparison with its contestants. The last one is Cohort's or, with several of Cohort's, the
/// reference.
pub struct Point {
    /// The point's name.
    pub label: String,
    /// The contestants.
    pub contestants: Vec<Contestant<'static>>,
    /// Parses a run.
    pub read: fn(&Run) -> Result<Outcome, String>,
}

/// The runs of an experiment: its points, with a series for each contestant.
pub type Played = Vec<(Point, Vec<Series<Outcome>>)>;

const SECTIONS: [(u32, &str); 2] = [(200, "200 ns"), (2_000, "2 µs")];
/// The pause between critical sections. The tables behind the targets do not give it; their figures
/// determine it. With 2 threads and critical sections of 200 ns, every lock reached 1.4 million
/// acquisitions per second: two threads busy for 1.4 µs each. With 2 µs, the strictest lock reached
/// 400,000: a lock that is never free.
const GAP: u32 = 1000;
const CROWDS: [u16; 6] = [2, 4, 8, 16, 32, 64];
const SCALING_CROWDS: [u16; 3] = [2, 4, 8];
/// Threads at one strict lock: sixteen for each of two CPUs.
const QUEUE: u16 = 32;

/// Numbers of threads with a timeout, and the timeouts.
const PATIENT_CROWDS: [u16; 3] = [2, 8, 64];
const PATIENCES: [(u32, &str); 3] = [(20_000, "20 µs"), (300_000, "300 µs"), (5_000_000, "5 ms")];

/// 1024 cycles at 2.5 GHz: the critical section in figure 12 of Antić et al. 2016.
const LONG: &str = "410";

/// Numbers of threads that reacquire the lock immediately, beside the occasional one.
const HOGS: [u16; 2] = [1, 3];
/// Their critical sections.
const HOLDS: [(u32, &str); 3] = [(200, "200 ns"), (2_000, "2 µs"), (50_000, "50 µs")];
/// Busy processes beside them.
const BURNERS: [u16; 2] = [0, 2];
/// The nice value of the occasional thread at one point more.  It is the waiter that is
/// niced, not the holders of the lock: a waiter that gets less of a CPU pays most for
/// each turn that it gives away, while a niced holder delays it under every lock.
const NICE: &str = "5";

/// The patterns of Python's threads, and their numbers: a tenth of a second or two with the
/// system's locks.
const PATTERNS: [(&str, u32); 3] = [("queue", 100_000), ("pool", 20_000), ("condition", 20_000)];
const PYTHON: &str = include_str!("python.py");

/// Numbers of threads and locks of `sysbench threads`.
const YIELDING: [(u16, u16); 3] = [(8, 2), (8, 8), (64, 8)];

/// The default lock's name in the catalogue.
const OURS: &str = "futex-hmcs";

/// A level of observation, and the words after `cohort`.
type ObservedRun = (&'static str, &'static [&'static str]);

/// All levels; the last one is the reference.
const WAYS: [ObservedRun; 7] = [
    ("stuck", &["debug", "--level", "stuck"]),
    ("owner", &["debug", "--level", "owner"]),
    ("order", &["debug", "--level", "order"]),
    ("profile", &["profile"]),
    ("unwatched", &["run", "--observe"]),
    (WATCHED, &["run", "--observe"]),
    ("usual", &["run"]),
];

/// The level with a separate observing command.
const WATCHED: &str = "watched";

/// Runs the words as a program; with $WATCH set, observes it to its end by $0. Fails if the observer
/// failed.
const ALONE: &str = r#"
"$@" & program=$!
if [ -n "$WATCH" ]; then "$0" top --once --interval 3600 $program >/dev/null & watch=$!; fi
wait $program || exit
[ -z "$WATCH" ] || wait $watch
"#;

/// The same for memcached, after the words, at $PORT, serving for $LONG seconds.
const SERVED: &str = r#"
"$@" memcached -u nobody -l 127.0.0.1 -p $PORT -U 0 -t 4 -m 64 & server=$!
if [ -n "$WATCH" ]; then "$0" top --once --interval 3600 $server >/dev/null & watch=$!; fi
for turn in 1 2 3 4 5 6 7 8 9; do
    memcstat --servers=127.0.0.1:$PORT >/dev/null 2>&1 && break
    sleep 0.1
done
memcaslap -s 127.0.0.1:$PORT -T 2 -c 16 -t ${LONG}s
kill $server
wait $server
[ -z "$WATCH" ] || wait $watch
"#;

/// Operations of each phase of `kccachetest order`: its runs are all alike; runs of `wicked`
/// differ by a factor of ten.
const ORDER: u32 = 1_000_000;
const ORDER_QUICK: u32 = 200_000;

/// Operations of `kccachetest wicked`: seconds in a bad run.
const WICKED: u32 = 200_000;
const WICKED_QUICK: u32 = 50_000;

impl Experiment {
    /// The points to compare, in order.
    ///
    /// # Errors
    /// A missing prerequisite.
    pub fn points(self, setup: &Setup) -> Result<Vec<Point>, String> {
        if !matches!(
            self,
            Self::Library
                | Self::Envelope
                | Self::Wicked
                | Self::Python
                | Self::Sysbench
                | Self::Simulation(_)
                | Self::Observing
                | Self::Outside
        ) {
            (setup.prove)(&setup.command)?;
        }
        match self {
            Self::Uncontended { single } => Ok(vec![setup.uncontended(single)]),
            Self::Composition { fast } => Ok(setup.composition(fast)),
            Self::Inlined(ways) => Ok(vec![setup.point("", ways.map(|way| setup.inlined(way)))]),
            Self::AdaptiveCrowd(lock) => Ok(setup.adaptive_crowd(lock)),
            Self::DelegatedCrowd(other) => setup.delegated_crowd(other),
            Self::Address(keys) => Ok(vec![setup.address(keys)]),
            Self::AddressCrowd => Ok(setup.address_crowd()),
            Self::Keys => Ok(setup.keys()),
            Self::Wicked => setup.wicked().map(|point| vec![point]),
            Self::Scaling(load) => setup.scaling(load),
            Self::Oversubscribed => Ok(setup.oversubscribed()),
            Self::Queues => setup.queues(),
            Self::Peers(load) => Ok(setup.peers(load)),
            Self::Call => setup.call().map(|point| vec![point]),
            Self::DelegatedCall => setup.delegated_call().map(|point| vec![point]),
            Self::Occasional => Ok(setup.occasional()),
            Self::OccasionalShared => Ok(setup.occasional_shared()),
            Self::Timed => Ok(vec![setup.timed()]),
            Self::TimedAlone => Ok(setup.timed_uncontended()),
            Self::GivingUp(way) => Ok(vec![setup.point("", [setup.inlined(way)])]),
            Self::Patient => setup.patient(),
            Self::Life => Ok(setup.life()),
            Self::Calls(calls) => Ok(setup.calls(calls)),
            Self::Python => setup.python(),
            Self::Convoy => Ok(vec![setup.convoy()]),
            Self::Sysbench => setup.sysbench(),
            Self::Idle => Ok(vec![setup.idle()]),
            Self::Observing => setup.observing(),
            Self::Outside => Ok(vec![setup.outside()]),
            Self::Simulation(words) => Ok(vec![setup.simulation(words)]),
            Self::Library | Self::Envelope => Ok(Vec::new()),
        }
    }
}

impl Experiment {
    /// The number of rounds, for `rounds` requested ones.
    pub fn rounds(self, rounds: usize) -> usize {
        match self {
            // The counts are the same each time.
            Self::Simulation(_) | Self::Keys => 1,
            _ => rounds,
        }
    }
}

impl Setup<'_> {
    /// A complete run of this command.
    fn simulation(&self, words: &[&str]) -> Point {
        let command = self.command.clone().into_os_string();
        let rest = words.iter().map(OsString::from);
        let launch = Launch {
            words: [command].into_iter().chain(rest).collect(),
            environment: self.system.clone(),
            cpus: None,
            limit: Some(Duration::from_secs(1800)),
        };
        Point {
            label: String::new(),
            contestants: vec![Contestant {
                prepare: None,
                name: words.join(" "),
                launch,
                warm_up: None,
                proof: None,
            }],
            read: wall,
        }
    }

    fn uncontended(&self, single: bool) -> Point {
        let mut words = vec!["uncontended"];
        if single {
            words.push("--single");
        }
        let seconds = self.seconds(0.25, 0.1);
        // Excludes the cost of migrations between CPUs.
        let cpus = allowed_cpus().first().map(|first| vec![*first]);
        let run = |environment: &Changes| self.load(&words, seconds, environment, cpus.clone());
        let system = ("system", run(&self.system));
        if single {
            return self.point("", [system, (OURS, run(&self.ours))]);
        }
        let locks = [OURS, "ticket", "tas"].into_iter().filter_map(find);
        let ours = locks.map(|lock| (lock.name, run(&self.under(lock))));
        self.point("", ours.chain([system]).collect::<Vec<_>>())
    }

    /// One thread, and a lock compiled into the command.
    fn inlined(&self, lock: &'static str) -> (&'static str, (Launch, Launch)) {
        let cpus = allowed_cpus().first().map(|first| vec![*first]);
        let seconds = self.seconds(0.25, 0.1);
        let words = ["uncontended", "--raw", lock];
        (lock, self.load(&words, seconds, &self.system, cpus))
    }

    fn composition(&self, fast: bool) -> Vec<Point> {
        let run = |lock| self.inlined(lock);
        if fast {
            vec![
                self.point("bypass", [run("ticket"), run("bypass")]),
                self.point("fast path", [run("ttas"), run("fast")]),
            ]
        } else {
            let levels = ["hemlock", "mcs", "clh", "ticket"];
            let all = levels.into_iter().chain(["composition"]);
            vec![self.point("", all.map(run).collect::<Vec<_>>())]
        }
    }

    fn adaptive_crowd(&self, lock: &'static str) -> Vec<Point> {
        self.crowded(|run| {
            let locks = ["futex", lock].into_iter().filter_map(find);
            let runs = locks.map(|lock| (lock.name, run(&[], &self.under(lock))));
            runs.collect()
        })
    }

    fn delegated_crowd(&self, other: &str) -> Result<Vec<Point>, String> {
        let cpus = two_cpus()?;
        Ok(self.crowded(|run| {
            let runs = [other, "sanl+"].map(|raw| {
                let on_two = |mut launch: Launch| {
                    launch.cpus = Some(cpus.clone());
                    launch
                };
                let (launch, warm_up) = run(&["--raw", raw], &self.system);
                (raw, (on_two(launch), on_two(warm_up)))
            });
            runs.into()
        }))
    }

    fn address(&self, keys: u32) -> Point {
        let cpus = allowed_cpus().first().map(|first| vec![*first]);
        let keys = keys.to_string();
        let seconds = self.seconds(0.25, 0.1);
        self.by_address("", &["--keys", &keys], seconds, cpus)
    }

    fn address_crowd(&self) -> Vec<Point> {
        let seconds = self.seconds(0.5, 0.1);
        let points = [1, 512, 4096].map(|keys: u32| {
            let keys = keys.to_string();
            let words = ["--keys", &keys, "--threads", "10", "--section", LONG];
            self.by_address(&format!("{keys} locks"), &words, seconds, None)
        });
        points.into()
    }

    /// Locks found by address, against the same locks in place.
    fn by_address(
        &self,
        label: &str,
        words: &[&str],
        seconds: f64,
        cpus: Option<Vec<usize>>,
    ) -> Point {
        let run = |more: &[&str]| {
            let words = [&["address"][..], words, more].concat();
            self.load(&words, seconds, &self.system, cpus.clone())
        };
        let direct = run(&["--direct"]);
        self.point(label, [("embedded", direct), ("gls", run(&[]))])
    }

    /// A short run has as many keys: the table doubles, so fewer keys may need more memory each.
    fn keys(&self) -> Vec<Point> {
        let ways: [(&str, &[&str]); 2] = [
            ("at random", &["keys"]),
            ("64 bytes apart", &["keys", "--apart", "64"]),
        ];
        let points = ways.map(|(label, words)| Point {
            label: label.to_owned(),
            contestants: vec![whole_run(
                "gls",
                self.launch(words, &self.system, None).words,
                self.system.clone(),
                None,
            )],
            read: Outcome::read,
        });
        points.into()
    }

    fn wicked(&self) -> Result<Point, String> {
        let cpus = two_cpus()?;
        let program = self.installed("kccachetest", "kyotocabinet-utils")?;
        let operations = if self.quick { WICKED_QUICK } else { WICKED };
        let operations = operations.to_string();
        let words = ["wicked", "-th", "2", "-capcnt", "500000", &operations];
        Ok(self.whole("", &program, &words, Some(&cpus), wall))
    }

    fn scaling(&self, load: Load) -> Result<Vec<Point>, String> {
        let first = two_cpus()?[0];
        let (words, extra): (&[&str], Changes) = match load {
            Load::Jemalloc => (
                &["malloc"],
                vec![(
                    "MALLOC_CONF".to_owned(),
                    Some("narenas:1,tcache:false".into()),
                )],
            ),
            Load::Dmalloc => (
                &["malloc"],
                vec![("DMALLOC_OPTIONS".to_owned(), Some("debug=0x0".into()))],
            ),
            Load::BerkeleyDb => (&["berkeleydb"], Vec::new()),
            Load::Sqlite => (&["sqlite", "--mode", "shared-connection"], Vec::new()),
        };
        let under = |locks: &Changes| {
            let mut environment = locks.clone();
            environment.extend(extra.clone());
            if let Some((allocator, _)) = load.allocator() {
                preload_as_well(&mut environment, allocator);
            }
            environment
        };
        let (system, ours) = (under(&self.system), under(&self.ours));
        self.available(load, &system)?;
        let seconds = self.seconds(0.5, 0.1);
        let points = SCALING_CROWDS.map(|threads| {
            let count = threads.to_string();
            let words = [words, &["--threads", &count]].concat();
            let pinned = self.load(&words, seconds, &system, Some(vec![first]));
            let free = self.load(&words, seconds, &ours, None);
            let label = format!("{threads} threads");
            self.point(&label, [("system on one CPU", pinned), (OURS, free)])
        });
        Ok(points.into())
    }

    /// Points with more threads than CPUs, each with the contestants of `runs`: words beside the
    /// load's, and an environment.
    fn crowded<'n>(
        &self,
        runs: impl Fn(
            &dyn Fn(&[&str], &Changes) -> (Launch, Launch),
        ) -> Vec<(&'n str, (Launch, Launch))>,
    ) -> Vec<Point> {
        let mut points = Vec::new();
        for (nanoseconds, section) in SECTIONS {
            for threads in CROWDS {
                // Every thread must run on a CPU several times.
                let full = if threads > 16 { 0.8 } else { 0.3 };
                let seconds = self.seconds(full, 0.1);
                let words = crowd(nanoseconds, threads);
                let run = |more: &[&str], environment: &Changes| {
                    let words = words.iter().map(String::as_str);
                    let words: Vec<&str> = words.chain(more.iter().copied()).collect();
                    self.load(&words, seconds, environment, None)
                };
                let label = format!("{section}, {threads} threads");
                points.push(self.point(&label, runs(&run)));
            }
        }
        points
    }

    fn oversubscribed(&self) -> Vec<Point> {
        self.crowded(|run| {
            vec![
                ("system", run(&[], &self.system)),
                ("adaptive", run(&["--kind", "adaptive"], &self.system)),
                ("parking_lot", run(&["--raw", "parking_lot"], &self.system)),
                (OURS, run(&[], &self.ours)),
            ]
        })
    }

    fn queues(&self) -> Result<Vec<Point>, String> {
        let cpus = two_cpus()?;
        let seconds = self.seconds(0.8, 0.1);
        let points = SECTIONS.map(|(nanoseconds, section)| {
            let words = crowd(nanoseconds, QUEUE);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let run = |lock: &'static LockInfo| {
                let environment = self.under(lock);
                let load = self.load(&words, seconds, &environment, Some(cpus.clone()));
                (lock.name, load)
            };
            let strict = |lock: &&LockInfo| {
                lock.serves_programs() && lock.capabilities.contains(&Capability::Fair)
            };
            let mut runs: Vec<_> = LOCKS.iter().filter(strict).map(run).collect();
            runs.push((
                OURS,
                self.load(&words, seconds, &self.ours, Some(cpus.clone())),
            ));
            self.point(section, runs)
        });
        Ok(points.into())
    }

    fn peers(&self, load: &'static str) -> Vec<Point> {
        let seconds = self.seconds(0.3, 0.1);
        let crowds = [1].into_iter().chain(CROWDS);
        let points = crowds.map(|threads| {
            let count = threads.to_string();
            let run = |types| {
                let words = [load, "--threads", &count, "--types", types];
                (types, self.load(&words, seconds, &self.system, None))
            };
            let plural = if threads > 1 { "s" } else { "" };
            let label = format!("{threads} thread{plural}");
            self.point(&label, ["std", "parking-lot", "cohort"].map(run))
        });
        points.collect()
    }

    fn call(&self) -> Result<Point, String> {
        let library = self.c_library()?;
        let library = library.to_str().ok_or("the library's path is not UTF-8")?;
        let seconds = self.seconds(0.25, 0.1);
        let cpus = allowed_cpus().first().map(|first| vec![*first]);
        let run = |words: &[&str], environment: &Changes| {
            self.load(words, seconds, environment, cpus.clone())
        };
        let preloaded = run(&["uncontended"], &self.ours);
        let called = run(&["uncontended", "--library", library], &self.system);
        let all = [("preloaded", preloaded), ("cohort.h", called)];
        Ok(self.point("", all))
    }

    fn delegated_call(&self) -> Result<Point, String> {
        let library = self.c_library()?;
        let library = library.to_str().ok_or("the library's path is not UTF-8")?;
        let seconds = self.seconds(0.25, 0.1);
        let cpus = allowed_cpus().first().map(|first| vec![*first]);
        let run = |more: &[&str]| {
            let words = [&["uncontended", "--library", library], more].concat();
            self.load(&words, seconds, &self.system, cpus.clone())
        };
        let all = [("mutex", run(&[])), ("delegated", run(&["--delegated"]))];
        Ok(self.point("", all))
    }

    /// The library for C, installed or built beside the command.
    fn c_library(&self) -> Result<PathBuf, String> {
        let folder = self.command.parent().unwrap_or(Path::new("/"));
        let places = ["../lib/libcohort.so.0", "../c/release/libcohort.so.0.1.0"];
        let mut found = places.iter().map(|place| folder.join(place));
        found.find(|place| place.exists()).ok_or_else(|| {
            "the C library of Cohort is missing beside the command; run `make install-c`".to_owned()
        })
    }

    fn occasional(&self) -> Vec<Point> {
        let plain = HOLDS.into_iter().flat_map(|hold| {
            let hogs = HOGS.into_iter();
            hogs.flat_map(move |hogs| BURNERS.map(|burners| (hold, hogs, burners, None)))
        });
        let niced = (HOLDS[1], HOGS[0], BURNERS[1], Some(NICE));
        plain
            .chain([niced])
            .map(|point| self.occasional_at(point))
            .collect()
    }

    fn occasional_at(
        &self,
        ((nanoseconds, hold), hogs, burners, nice): ((u32, &str), u16, u16, Option<&str>),
    ) -> Point {
        let plural = if hogs > 1 { "s" } else { "" };
        let mut label = format!("{hold}, {hogs} hog{plural}, {burners} burners");
        let numbers = [nanoseconds, hogs.into(), burners.into()].map(|number| number.to_string());
        let [section, hogs, burners] = &numbers;
        let mut words = vec!["occasional", "--section", section];
        words.extend(["--hogs", hogs, "--burners", burners]);
        if let Some(nice) = nice {
            words.extend(["--nice", nice]);
            label.push_str(&format!(", nice {nice}"));
        }
        let seconds = self.seconds(1.0, 0.1);
        let run = |more: &[&str], environment| {
            let words = [&words, more].concat();
            self.load(&words, seconds, environment, None)
        };
        self.point(
            &label,
            [
                ("system", run(&[], &self.system)),
                ("parking_lot", run(&["--raw", "parking_lot"], &self.system)),
                (OURS, run(&[], &self.ours)),
            ],
        )
    }

    fn occasional_shared(&self) -> Vec<Point> {
        let seconds = self.seconds(2.0, 0.3);
        let loads = [("3", "0"), ("5", "80")].into_iter();
        let loads = loads.flat_map(|load| BURNERS.map(|burners| (load, burners)));
        let points = loads.map(|((threads, readers), burners)| {
            let burners = burners.to_string();
            let mut words = vec!["rwlock", "--latency", "--sleeps", "--gap", "1000000"];
            words.extend(["--section", "50000", "--threads", threads]);
            words.extend(["--readers", readers, "--burners", &burners]);
            let label = format!("{threads} threads, {readers} % reads, {burners} burners");
            let run = |environment| self.load(&words, seconds, environment, None);
            self.point(
                &label,
                [("system", run(&self.system)), (OURS, run(&self.ours))],
            )
        });
        points.collect()
    }

    fn timed(&self) -> Point {
        let seconds = self.seconds(2.0, 0.5);
        let run = |environment| self.load(&["timed"], seconds, environment, None);
        self.point("", [("system", run(&self.system)), (OURS, run(&self.ours))])
    }

    fn timed_uncontended(&self) -> Vec<Point> {
        let seconds = self.seconds(0.25, 0.1);
        let cpus = allowed_cpus().first().map(|first| vec![*first]);
        let locks = [OURS, "hmcs-t-1"].into_iter().filter_map(find);
        let points = locks.map(|lock| {
            let environment = self.under(lock);
            let run = |words: &[&str]| self.load(words, seconds, &environment, cpus.clone());
            let all = [
                ("lock", run(&["uncontended"])),
                ("timedlock", run(&["uncontended", "--timed"])),
            ];
            self.point(lock.name, all)
        });
        points.collect()
    }

    fn patient(&self) -> Result<Vec<Point>, String> {
        let cpus = two_cpus()?;
        let mut points = Vec::new();
        for threads in PATIENT_CROWDS {
            for (nanoseconds, patience) in PATIENCES {
                // Every thread must run on a CPU several times.
                let full = if threads > 16 { 0.8 } else { 0.3 };
                let seconds = self.seconds(full, 0.1);
                let words = format!("patience --threads {threads} --patience {nanoseconds} --by");
                let run = |by: &str, environment: &Changes| {
                    let words: Vec<&str> = words.split(' ').chain([by]).collect();
                    self.load(&words, seconds, environment, Some(cpus.clone()))
                };
                let all = [
                    ("system", run("timedlock", &self.system)),
                    ("std::timed_mutex", run("clocklock", &self.system)),
                    ("parking_lot", run("parking-lot", &self.system)),
                    (OURS, run("timedlock", &self.ours)),
                ];
                points.push(self.point(&format!("{patience}, {threads} threads"), all));
            }
        }
        Ok(points)
    }

    /// Each call in a process with one thread, and with three.
    fn calls(&self, calls: &[&str]) -> Vec<Point> {
        let seconds = self.seconds(0.1, 0.05);
        let cpus = allowed_cpus().first().map(|first| vec![*first]);
        let point = |call: &&str, single: bool| {
            let words: &[&str] = match single {
                true => &["calls", call, "--single"],
                false => &["calls", call],
            };
            let run = |environment: &Changes| self.load(words, seconds, environment, cpus.clone());
            let label = if single {
                "one thread"
            } else {
                "three threads"
            };
            let runs = [("system", run(&self.system)), (OURS, run(&self.ours))];
            self.point(&format!("{call}, {label}"), runs)
        };
        let both = |call| [true, false].map(|single| point(call, single));
        calls.iter().flat_map(both).collect()
    }

    fn life(&self) -> Vec<Point> {
        let seconds = self.seconds(0.25, 0.1);
        let cpus = allowed_cpus().first().map(|first| vec![*first]);
        let point = |label: &str, words: &[&str]| {
            let run = |environment: &Changes| self.load(words, seconds, environment, cpus.clone());
            let locks = [OURS, "mcs"].into_iter().filter_map(find);
            let ours = locks.map(|lock| (lock.name, run(&self.under(lock))));
            let all = ours.chain([("system", run(&self.system))]);
            self.point(label, all.collect::<Vec<_>>())
        };
        vec![
            point("one thread", &["life", "--single"]),
            point("three threads", &["life"]),
        ]
    }

    fn python(&self) -> Result<Vec<Point>, String> {
        let program = self.installed("python3", "python3")?;
        let first = allowed_cpus().first().map(|first| vec![*first]);
        let points = PATTERNS.into_iter().flat_map(|(pattern, count)| {
            let count = if self.quick { count / 4 } else { count }.to_string();
            let words = ["-c", PYTHON, pattern, &count];
            [("one CPU", first.as_deref()), ("all CPUs", None)].map(|(place, cpus)| {
                let label = format!("{pattern}, {place}");
                self.whole(&label, &program, &words, cpus, Outcome::read)
            })
        });
        Ok(points.collect())
    }

    fn convoy(&self) -> Point {
        let cpus = allowed_cpus().first().map(|first| vec![*first]);
        let run = |environment| {
            let after = |operations: u32| {
                let operations = operations.to_string();
                let words = ["convoy", "--operations", &operations];
                self.launch(&words, environment, cpus.clone())
            };
            let operations = if self.quick { 30_000 } else { 100_000 };
            (after(operations), after(operations / 10))
        };
        self.point("", [("system", run(&self.system)), (OURS, run(&self.ours))])
    }

    fn sysbench(&self) -> Result<Vec<Point>, String> {
        let program = self.installed("sysbench", "sysbench")?;
        let first = allowed_cpus().first().map(|first| vec![*first]);
        let events = if self.quick { 20 } else { 100 };
        let points = YIELDING.map(|(threads, locks)| {
            let options = format!(
                "threads --threads={threads} --thread-locks={locks} --events={events} --time=0 run"
            );
            let words: Vec<&str> = options.split(' ').collect();
            let label = format!("{threads} threads, {locks} locks");
            self.whole(&label, &program, &words, first.as_deref(), wall)
        });
        Ok(points.into())
    }

    /// The environment for another of Cohort's locks, from the library that has it.
    fn under(&self, lock: &LockInfo) -> Changes {
        let mut environment = if lock.storage == Storage::Apart {
            self.apart.clone()
        } else {
            self.ours.clone()
        };
        environment.push(("COHORT_LOCK".to_owned(), Some(lock.name.into())));
        environment
    }

    fn idle(&self) -> Point {
        let run = |environment: &Changes| {
            let launch = self.launch(&["idle"], environment, None);
            (launch.clone(), launch)
        };
        self.point("", [("system", run(&self.system)), (OURS, run(&self.ours))])
    }

    /// Three programs, each observed at all of these levels; missing ones are reported and skipped.
    fn observing(&self) -> Result<Vec<Point>, String> {
        let (points, missing): (Vec<_>, Vec<_>) = [
            self.observed_memcached(),
            self.observed_sqlite(),
            self.observed_kyoto(),
        ]
        .into_iter()
        .partition(Result::is_ok);
        let missing: Vec<String> = missing.into_iter().filter_map(Result::err).collect();
        if points.is_empty() {
            return Err(missing.join("; "));
        }
        for why in missing {
            tell(format_args!("cohort: skipped: {why}"));
        }
        Ok(points.into_iter().flatten().collect())
    }

    /// A load without Cohort, and an observer that is stopped half of the time.
    fn outside(&self) -> Point {
        let product = self.product.as_os_str();
        let seconds = self.seconds(12.0, 2.0).to_string();
        let load = [
            "workload",
            "watched",
            "--threads",
            "4",
            "--seconds",
            &seconds,
            "--",
        ];
        let watch = ["top", "--once", "--interval", "3600", "{pid}"];
        let mut words = vec![self.command.clone().into_os_string()];
        words.extend(load.map(OsString::from));
        words.push(product.into());
        words.extend(watch.map(OsString::from));
        Point {
            label: String::new(),
            contestants: vec![whole_run(WATCHED, words, self.system.clone(), None)],
            read: Outcome::read,
        }
    }

    fn observed_memcached(&self) -> Result<Point, String> {
        self.installed("memcached", "memcached")?;
        for client in ["memcaslap", "memcstat"] {
            in_path(client).ok_or_else(|| {
                format!("{client} is not in PATH; on Debian, install libmemcached-tools")
            })?;
        }
        let port = std::net::TcpListener::bind(("127.0.0.1", 0))
            .and_then(|listener| listener.local_addr())
            .map_err(|error| format!("no free port: {error}"))?
            .port();
        let seconds = if self.quick { 1 } else { 2 };
        let more = [("PORT", port.to_string()), ("LONG", seconds.to_string())];
        let point = self.observed("memcached", SERVED, &[], &more);
        Ok(Point {
            read: per_second_of_memcaslap,
            ..point
        })
    }

    fn observed_sqlite(&self) -> Result<Point, String> {
        (self.prove)(&self.command)?;
        let seconds = self.seconds(1.0, 0.3).to_string();
        let command = self.command.clone().into_os_string();
        let words = ["workload", "sqlite", "--mode", "shared-connection"];
        let words = words
            .into_iter()
            .chain(["--threads", "4", "--seconds", &seconds]);
        let program: Vec<OsString> = [command]
            .into_iter()
            .chain(words.map(OsString::from))
            .collect();
        Ok(self.observed("sqlite", ALONE, &program, &[]))
    }

    fn observed_kyoto(&self) -> Result<Point, String> {
        let program = self.installed("kccachetest", "kyotocabinet-utils")?;
        let operations = if self.quick { ORDER_QUICK } else { ORDER }.to_string();
        let words = [
            "order",
            "-th",
            "2",
            "-rnd",
            "-capcnt",
            "500000",
            &operations,
        ];
        let program: Vec<OsString> = [program.into_os_string()]
            .into_iter()
            .chain(words.map(OsString::from))
            .collect();
        let point = self.observed("kccachetest", ALONE, &program, &[]);
        Ok(Point {
            read: per_second_of_kyoto,
            ..point
        })
    }

    /// A program, observed at all of these levels by a script.
    fn observed(
        &self,
        label: &str,
        script: &str,
        program: &[OsString],
        more: &[(&str, String)],
    ) -> Point {
        let product = self.product.as_os_str();
        let contestant = |(name, way): &ObservedRun| {
            let mut words: Vec<OsString> = vec!["sh".into(), "-c".into(), script.into()];
            words.extend([product.into(), product.into()]);
            words.extend(way.iter().map(OsString::from));
            words.push("--".into());
            words.extend(program.iter().cloned());
            let mut environment = self.system.clone();
            let watch = (*name == WATCHED).then(|| "1".into());
            environment.push(("WATCH".to_owned(), watch));
            for (name, value) in more {
                environment.push(((*name).to_owned(), Some(value.into())));
            }
            whole_run(name, words, environment, None)
        };
        Point {
            label: label.to_owned(),
            contestants: WAYS.iter().map(contestant).collect(),
            read: Outcome::read,
        }
    }

    fn seconds(&self, full: f64, quick: f64) -> f64 {
        if self.quick { quick } else { full }
    }

    /// A load for that many seconds, and a short run of it as a warm-up.
    fn load(
        &self,
        words: &[&str],
        seconds: f64,
        environment: &Changes,
        cpus: Option<Vec<usize>>,
    ) -> (Launch, Launch) {
        let lasting = |seconds: f64| {
            let seconds = seconds.to_string();
            self.launch(
                &[words, &["--seconds", &seconds]].concat(),
                environment,
                cpus.clone(),
            )
        };
        (lasting(seconds), lasting(seconds / 10.0))
    }

    /// A program in PATH that accepts preloading; otherwise an error with its package.
    fn installed(&self, program: &str, package: &str) -> Result<PathBuf, String> {
        let found = in_path(program)
            .ok_or_else(|| format!("{program} is not in PATH; on Debian, install {package}"))?;
        (self.prove)(&found)?;
        Ok(found)
    }

    /// An installed program, run completely under the system's locks and Cohort's.
    fn whole(
        &self,
        label: &str,
        program: &Path,
        words: &[&str],
        cpus: Option<&[usize]>,
        read: fn(&Run) -> Result<Outcome, String>,
    ) -> Point {
        let words = words.iter().map(OsString::from);
        let words = || [program.into()].into_iter().chain(words.clone()).collect();
        let contestants = [("system", &self.system), (OURS, &self.ours)];
        let contestants = contestants
            .map(|(name, environment)| whole_run(name, words(), environment.clone(), cpus));
        Point {
            label: label.to_owned(),
            contestants: contestants.into(),
            read,
        }
    }

    fn launch(&self, words: &[&str], environment: &Changes, cpus: Option<Vec<usize>>) -> Launch {
        let command = self.command.clone().into_os_string();
        let words = words.iter().map(OsString::from);
        Launch {
            words: [command, "workload".into()]
                .into_iter()
                .chain(words)
                .collect(),
            environment: environment.clone(),
            cpus,
            // A lock that hangs must not hang the measurement.
            limit: Some(Duration::from_secs(60)),
        }
    }

    fn point<'n>(
        &self,
        label: &str,
        runs: impl IntoIterator<Item = (&'n str, (Launch, Launch))>,
    ) -> Point {
        let contestants = runs
            .into_iter()
            .map(|(name, (launch, warm_up))| Contestant {
                prepare: None,
                name: name.to_owned(),
                launch,
                warm_up: Some(warm_up),
                proof: None,
            });
        Point {
            label: label.to_owned(),
            contestants: contestants.collect(),
            read: Outcome::read,
        }
    }

    /// Whether a load's library is installed.
    fn available(&self, load: Load, system: &Changes) -> Result<(), String> {
        if load == Load::BerkeleyDb {
            return berkeleydb::available();
        }
        let Some((allocator, package)) = load.allocator() else {
            return Ok(());
        };
        let words = ["malloc", "--threads", "1", "--seconds", "0.001"];
        // The loader only warns about libraries that it cannot preload.
        match runner::run(&self.launch(&words, system, None)) {
            Ok(run) if run.output.contains("cannot be preloaded") => Err(format!(
                "{allocator} is missing; on Debian, install {package}"
            )),
            Ok(_) => Ok(()),
            Err(Failure::Program { why, .. }) => Err(format!("with {allocator} alone, {why}")),
            Err(Failure::Interrupted(_)) => Err("interrupted".to_owned()),
        }
    }
}

/// A program run completely, without a run before it.
fn whole_run(
    name: &str,
    words: Vec<OsString>,
    environment: Changes,
    cpus: Option<&[usize]>,
) -> Contestant<'static> {
    Contestant {
        prepare: None,
        name: name.to_owned(),
        launch: Launch {
            words,
            environment,
            cpus: cpus.map(<[usize]>::to_vec),
            limit: Some(Duration::from_secs(120)),
        },
        warm_up: None,
        proof: None,
    }
}

impl Load {
    /// The library that must be preloaded, and Debian's package for it.
    fn allocator(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Jemalloc => Some(("libjemalloc.so.2", "libjemalloc2")),
            Self::Dmalloc => Some(("libdmallocth.so.5", "libdmalloc5")),
            Self::BerkeleyDb | Self::Sqlite => None,
        }
    }
}

/// The words for one mutex with that many threads.
fn crowd(section: u32, threads: u16) -> Vec<String> {
    let words = format!("mutex --latency --threads {threads} --section {section} --gap {GAP}");
    words.split(' ').map(str::to_owned).collect()
}

/// Parses memcaslap's last line, as in `Run time: 2.0s Ops: 98304 TPS: 49152 Net_rate: 4.1M/s`.
fn per_second_of_memcaslap(run: &Run) -> Result<Outcome, String> {
    let words: Vec<&str> = run.output.split_whitespace().collect();
    let value = |name: &str| {
        let place = words.iter().rposition(|word| *word == name)?;
        words.get(place + 1)?.parse().ok()
    };
    match (value("TPS:"), value("Ops:")) {
        (Some(per_second), Some(operations)) => Ok(Outcome {
            per_second,
            operations: operations as u64,
            ..Outcome::default()
        }),
        _ => Err("memcaslap printed no throughput".to_owned()),
    }
}

/// Parses kccachetest's line for each phase, as in `time: 0.281`: the speed without the start.
fn per_second_of_kyoto(run: &Run) -> Result<Outcome, String> {
    let time = |line: &str| line.strip_prefix("time: ")?.trim().parse::<f64>().ok();
    let seconds: f64 = run.output.lines().filter_map(time).sum();
    if seconds == 0.0 {
        return Err("kccachetest printed no time".to_owned());
    }
    Ok(Outcome {
        seconds,
        per_second: 1.0 / seconds,
        ..Outcome::default()
    })
}

/// The duration of a complete run.
fn wall(run: &Run) -> Result<Outcome, String> {
    Ok(Outcome {
        seconds: run.wall,
        ..Outcome::default()
    })
}

/// Appends `library` to the preloaded ones.
fn preload_as_well(environment: &mut Changes, library: &str) {
    const PRELOAD: &str = "LD_PRELOAD";
    let before = environment
        .iter()
        .position(|(name, _)| name == PRELOAD)
        .and_then(|place| environment.remove(place).1);
    let all = match before {
        Some(mut before) if !before.is_empty() => {
            before.push(":");
            before.push(library);
            before
        }
        _ => library.into(),
    };
    environment.push((PRELOAD.to_owned(), Some(all)));
}

fn two_cpus() -> Result<Vec<usize>, String> {
    let mut cpus = allowed_cpus();
    cpus.truncate(2);
    if cpus.len() == 2 {
        Ok(cpus)
    } else {
        Err("two CPUs are needed, and this process may use only one".to_owned())
    }
}

fn in_path(program: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders as &OsStr)
        .map(|folder| folder.join(program))
        .find(|candidate| candidate.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::Workload;
    use clap::Parser;
    use std::collections::HashSet;

    #[test]
    fn ours_stays_in_front_of_an_allocator() {
        let mut environment = vec![("LD_PRELOAD".to_owned(), Some("/ours.so".into()))];
        preload_as_well(&mut environment, "a.so");
        assert_eq!(environment[0].1, Some("/ours.so:a.so".into()));
        let mut environment = vec![("LD_PRELOAD".to_owned(), None)];
        preload_as_well(&mut environment, "a.so");
        assert_eq!(
            environment,
            [("LD_PRELOAD".to_owned(), Some("a.so".into()))]
        );
    }

    const SETUP: Setup = Setup {
        command: PathBuf::new(),
        product: PathBuf::new(),
        interposer: PathBuf::new(),
        drawn: None,
        ours: Vec::new(),
        apart: Vec::new(),
        system: Vec::new(),
        prove: &|_| Ok(()),
        rounds: 7,
        quick: false,
    };

    #[test]
    fn the_oversubscribed_points_are_the_asked_ones() {
        let points = Experiment::Oversubscribed.points(&SETUP).unwrap();
        assert_eq!(points.len(), SECTIONS.len() * CROWDS.len());
        assert!(points.iter().all(|point| point.contestants.len() == 4));
    }

    #[test]
    fn each_lock_comes_from_a_library_that_has_it() {
        let from = |library: &str| vec![("LD_PRELOAD".to_owned(), Some(library.into()))];
        let setup = Setup {
            ours: from("usual"),
            apart: from("all"),
            ..SETUP
        };
        for lock in LOCKS.iter().filter(|lock| lock.serves_programs()) {
            let environment = setup.under(lock);
            let is_apart = lock.storage == Storage::Apart;
            let library = if is_apart { "all" } else { "usual" };
            assert_eq!(environment[0], from(library)[0], "{}", lock.name);
            let named = ("COHORT_LOCK".to_owned(), Some(lock.name.into()));
            assert_eq!(environment[1], named);
        }
        let adaptive = Experiment::AdaptiveCrowd("glk").points(&setup).unwrap();
        for point in adaptive {
            let libraries = point.contestants.iter();
            let libraries = libraries.map(|one| one.launch.environment[0].1.clone().unwrap());
            assert_eq!(libraries.collect::<Vec<_>>(), ["usual", "all"]);
        }
    }

    #[test]
    fn the_patient_points_are_the_asked_ones() {
        let Ok(points) = Experiment::Patient.points(&SETUP) else {
            assert!(two_cpus().is_err());
            return;
        };
        assert_eq!(points.len(), PATIENT_CROWDS.len() * PATIENCES.len());
        for point in &points {
            assert_eq!(point.contestants.last().unwrap().name, OURS);
            for contestant in &point.contestants {
                let parsed = Command::try_parse_from(&contestant.launch.words[1..]);
                let parsed = parsed.map(|command| drop(command.workload));
                assert!(parsed.is_ok(), "{:?}", contestant.launch.words);
            }
        }
    }

    #[test]
    fn strict_locks_are_compared_with_the_default_one() {
        let Ok(points) = Experiment::Queues.points(&SETUP) else {
            assert!(two_cpus().is_err());
            return;
        };
        assert_eq!(points.len(), SECTIONS.len());
        for point in points {
            let names: Vec<&str> = point.contestants.iter().map(|one| &*one.name).collect();
            let (last, strict) = names.split_last().unwrap();
            assert_eq!(*last, OURS);
            assert!(strict.contains(&"mcs") && !strict.contains(last) && !strict.contains(&"tas"));
        }
    }

    #[test]
    fn the_occasional_points_are_the_asked_ones() {
        let points = Experiment::Occasional.points(&SETUP).unwrap();
        assert_eq!(points.len(), HOLDS.len() * HOGS.len() * BURNERS.len() + 1);
        let labels: HashSet<&str> = points.iter().map(|point| &*point.label).collect();
        assert_eq!(labels.len(), points.len());
        for point in &points {
            let names: Vec<&str> = point.contestants.iter().map(|one| &*one.name).collect();
            assert_eq!(names, ["system", "parking_lot", OURS]);
        }
    }

    /// The command's `workload`, as far as it is of interest here.
    #[derive(clap::Parser)]
    struct Command {
        #[command(subcommand)]
        workload: Workload,
    }

    #[test]
    fn the_loads_take_the_words_they_are_given() {
        for experiment in [
            Experiment::Uncontended { single: true },
            Experiment::Uncontended { single: false },
            Experiment::Composition { fast: false },
            Experiment::Composition { fast: true },
            Experiment::Inlined(["ticket", "glk"]),
            Experiment::Inlined(["mcs", "delegated"]),
            Experiment::AdaptiveCrowd("glk"),
            Experiment::DelegatedCrowd("actor"),
            Experiment::Address(512),
            Experiment::AddressCrowd,
            Experiment::Keys,
            Experiment::Oversubscribed,
            Experiment::Peers("turns"),
            Experiment::Peers("reads"),
            Experiment::Occasional,
            Experiment::Timed,
            Experiment::TimedAlone,
            Experiment::GivingUp("giving-up-hmcs-t-1"),
            Experiment::GivingUp("giving-up-hmcs-t-4"),
            Experiment::Life,
            Experiment::Calls(&["signal", "try-held", "error-check", "many"]),
            Experiment::Convoy,
            Experiment::Idle,
        ] {
            for point in experiment.points(&SETUP).unwrap() {
                for contestant in &point.contestants {
                    let warm_up = contestant.warm_up.iter();
                    for launch in warm_up.chain([&contestant.launch]) {
                        // The subcommand takes the place of the program's name.
                        let parsed = Command::try_parse_from(&launch.words[1..]);
                        let parsed = parsed.map(|command| drop(command.workload));
                        assert!(parsed.is_ok(), "{:?}", launch.words);
                    }
                }
            }
        }
    }

    #[test]
    fn python_does_all_its_steps() {
        let Ok(points) = Experiment::Python.points(&SETUP) else {
            assert!(in_path("python3").is_none());
            return;
        };
        assert_eq!(points.len(), 2 * PATTERNS.len());
        for point in points.iter().step_by(2) {
            let mut launch = point.contestants[0].launch.clone();
            *launch.words.last_mut().unwrap() = "50".into();
            let outcome = (point.read)(&runner::run(&launch).unwrap()).unwrap();
            assert_eq!(outcome.operations, 50, "{}", point.label);
            assert!(outcome.cpu_seconds.is_some() && outcome.switches.is_some());
        }
    }

    #[test]
    fn what_clients_say_is_read() {
        let said = |output: &str| Run {
            output: output.to_owned(),
            ..Run::default()
        };
        let run = said("servers : x\nRun time: 2.0s Ops: 98304 TPS: 49152 Net_rate: 4.1M/s\n");
        assert_eq!(per_second_of_memcaslap(&run).unwrap().per_second, 49152.0);
        assert!(per_second_of_memcaslap(&said("connection refused")).is_err());
        let result = serde_json::to_string(&Outcome::default()).unwrap();
        assert!(Outcome::read(&said(&result)).is_ok());
        let complaint = format!("cohort: COHORT_LOCK=mine names no lock\n{result}\n");
        assert!(Outcome::read(&said(&complaint)).is_err());
        let run = said("count: 9\ntime: 0.250\nok\n");
        assert_eq!(per_second_of_kyoto(&run).unwrap().per_second, 4.0);
    }

    #[test]
    fn observed_programs_are_compared_with_the_same_unobserved() {
        let Ok(points) = Experiment::Observing.points(&SETUP) else {
            return;
        };
        for point in points {
            let names: Vec<&str> = point.contestants.iter().map(|one| &*one.name).collect();
            assert_eq!(names.len(), WAYS.len());
            assert_eq!(names.last(), Some(&"usual"));
        }
    }

    #[test]
    fn a_load_without_cohort_has_an_observer_of_its_own() {
        let points = Experiment::Outside.points(&SETUP).unwrap();
        let words = &points[0].contestants[0].launch.words;
        assert!(
            words.contains(&"top".into()) && words.contains(&"{pid}".into()),
            "{words:?}"
        );
        assert!(!words.contains(&"run".into()), "{words:?}");
    }

    /// A refused observer would leave the program unobserved, and the target would be met by
    /// mistake.
    #[test]
    fn a_program_that_nobody_watches_fails() {
        let folder = tempfile::tempdir().unwrap();
        let command = folder.path().join("command");
        std::fs::write(&command, "test \"$1\" != top").unwrap();
        for (watch, is_right) in [(None, true), (Some("1"), false)] {
            let script = ALONE.replace("\"$0\"", "sh \"$0\"");
            let words = ["sh", "-c", &script].map(OsString::from);
            let command = || command.clone().into();
            let more = [command(), "sh".into(), command(), "run".into()];
            let environment = vec![("WATCH".to_owned(), watch.map(OsString::from))];
            let words = words.into_iter().chain(more).collect();
            let one = whole_run("", words, environment, None);
            assert_eq!(runner::run(&one.launch).is_ok(), is_right, "{watch:?}");
        }
    }

    #[test]
    fn nothing_is_run_without_the_library() {
        let refused = Setup {
            prove: &|_| Err("static".to_owned()),
            ..SETUP
        };
        assert!(Experiment::Idle.points(&refused).is_err());
    }
}
