//! What is run for the bars.

use crate::disturb::allowed_cpus;
use crate::rounds::Contestant;
use crate::runner::{self, Failure, Launch, Run};
use crate::workloads::{Outcome, berkeleydb};
use cohort::catalogue::{Capability, LOCKS, LockInfo, find};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Changes to a program's environment: a variable with its value, or none to
/// remove it.
pub type Changes = Vec<(String, Option<OsString>)>;

/// What the bars are measured with.
pub struct Setup<'a> {
    /// The command whose `workload` subcommand is run.
    pub command: PathBuf,
    /// The preload library.
    pub interposer: PathBuf,
    /// The environment under our default lock.
    pub ours: Changes,
    /// The environment under the system's locks.
    pub system: Changes,
    /// Says whether the library will be in a program.
    pub prove: &'a dyn Fn(&Path) -> Result<(), String>,
    /// How many rounds count.
    pub rounds: usize,
    /// Whether runs are short, for an impression.
    pub quick: bool,
}

/// Something to run; bars that name the same one share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Experiment {
    /// One thread and a mutex.
    Uncontended {
        /// Whether it is the only thread.
        single: bool,
    },
    /// One thread and a composition of four levels.
    Composition {
        /// Whether it has a way past its levels.
        fast: bool,
    },
    /// `kccachetest wicked`.
    Wicked,
    /// A load with several numbers of threads, the system's locks on one CPU.
    Scaling(Load),
    /// One mutex and more threads than CPUs.
    Oversubscribed,
    /// The same on two CPUs, under each lock that serves in strict order.
    Queues,
    /// Mutexes that were used and are free.
    Idle,
    /// The library's file; nothing is run.
    Library,
}

/// A load that suffers under the system's locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// One arena's lock.
    Jemalloc,
    /// One lock round everything.
    Dmalloc,
    /// The buffer pool's and the lock table's mutexes.
    BerkeleyDb,
    /// One connection's recursive mutex.
    Sqlite,
}

/// One comparison: its contestants; the last one is ours, or what ours are compared
/// with where there are several.
pub struct Point {
    /// Which of the experiment's points.
    pub label: String,
    /// Who runs.
    pub contestants: Vec<Contestant<'static>>,
    /// Reads a run.
    pub read: fn(&Run) -> Result<Outcome, String>,
}

const SECTIONS: [(u32, &str); 2] = [(200, "200 ns"), (2_000, "2 µs")];
/// How long a thread stays away between sections.  The tables that the bars are taken
/// from do not say; what they show does: with 2 threads and sections of 200 ns every
/// lock got 1.4 million acquisitions a second, which is two threads busy for 1.4 µs
/// each, and with 2 µs the strictest got 400,000, which is a lock never free.
const GAP: u32 = 1000;
const CROWDS: [u16; 6] = [2, 4, 8, 16, 32, 64];
const SCALING_CROWDS: [u16; 3] = [2, 4, 8];
/// Threads at one strict lock: sixteen for each of two CPUs.
const QUEUE: u16 = 32;

/// Operations of `kccachetest wicked`: seconds where it goes badly.
const WICKED: u32 = 200_000;
const WICKED_QUICK: u32 = 50_000;

impl Experiment {
    /// The points to be compared, in order.
    ///
    /// # Errors
    /// What the experiment needs and does not find.
    pub fn points(self, setup: &Setup) -> Result<Vec<Point>, String> {
        if !matches!(self, Self::Library | Self::Wicked) {
            (setup.prove)(&setup.command)?;
        }
        match self {
            Self::Uncontended { single } => Ok(vec![setup.uncontended(single)]),
            Self::Composition { fast } => Ok(setup.composition(fast)),
            Self::Wicked => setup.wicked().map(|point| vec![point]),
            Self::Scaling(load) => setup.scaling(load),
            Self::Oversubscribed => Ok(setup.oversubscribed()),
            Self::Queues => setup.queues(),
            Self::Idle => Ok(vec![setup.idle()]),
            Self::Library => Ok(Vec::new()),
        }
    }
}

impl Setup<'_> {
    fn uncontended(&self, single: bool) -> Point {
        let mut words = vec!["uncontended"];
        if single {
            words.push("--single");
        }
        let seconds = self.seconds(0.25, 0.1);
        // Moving between CPUs would be measured as well.
        let cpus = allowed_cpus().first().map(|first| vec![*first]);
        let run = |environment: &Changes| self.load(&words, seconds, environment, cpus.clone());
        let system = ("system", run(&self.system));
        if single {
            return self.point("", [system, ("futex", run(&self.ours))]);
        }
        let locks = ["futex", "ticket", "tas"].into_iter().filter_map(find);
        let ours = locks.map(|lock| (lock.name, run(&self.under(lock))));
        self.point("", ours.chain([system]).collect::<Vec<_>>())
    }

    fn composition(&self, fast: bool) -> Vec<Point> {
        let seconds = self.seconds(0.25, 0.1);
        let cpus = allowed_cpus().first().map(|first| vec![*first]);
        let run = |lock: &'static str| {
            let words = ["uncontended", "--raw", lock];
            (lock, self.load(&words, seconds, &self.system, cpus.clone()))
        };
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

    fn wicked(&self) -> Result<Point, String> {
        let cpus = two_cpus()?;
        let program = in_path("kccachetest")
            .ok_or("kccachetest is in no folder of PATH; on Debian it is in kyotocabinet-utils")?;
        (self.prove)(&program)?;
        let operations = if self.quick { WICKED_QUICK } else { WICKED };
        let words = ["wicked", "-th", "2", "-capcnt", "500000"].map(OsString::from);
        let run = |environment: &Changes| Launch {
            words: std::iter::once(program.clone().into_os_string())
                .chain(words.clone())
                .chain([operations.to_string().into()])
                .collect(),
            environment: environment.clone(),
            cpus: Some(cpus.clone()),
            limit: Some(Duration::from_secs(120)),
        };
        let contestants =
            [("system", run(&self.system)), ("futex", run(&self.ours))].map(|(name, launch)| {
                Contestant {
                    name: name.to_owned(),
                    warm_up: None,
                    launch,
                    proof: None,
                }
            });
        Ok(Point {
            label: String::new(),
            contestants: contestants.into(),
            read: |run| {
                Ok(Outcome {
                    seconds: run.wall,
                    ..Outcome::default()
                })
            },
        })
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
            self.point(&label, [("system on one CPU", pinned), ("futex", free)])
        });
        Ok(points.into())
    }

    fn oversubscribed(&self) -> Vec<Point> {
        let mut points = Vec::new();
        for (nanoseconds, section) in SECTIONS {
            for threads in CROWDS {
                // Every thread must get its turn on a CPU several times.
                let full = if threads > 16 { 0.8 } else { 0.3 };
                let seconds = self.seconds(full, 0.1);
                let words = crowd(nanoseconds, threads);
                let run = |more: &[&str], environment| {
                    let words: Vec<&str> = words
                        .iter()
                        .map(String::as_str)
                        .chain(more.iter().copied())
                        .collect();
                    self.load(&words, seconds, environment, None)
                };
                points.push(self.point(
                    &format!("{section}, {threads} threads"),
                    [
                        ("system", run(&[], &self.system)),
                        ("adaptive", run(&["--kind", "adaptive"], &self.system)),
                        ("parking_lot", run(&["--raw", "parking_lot"], &self.system)),
                        ("futex", run(&[], &self.ours)),
                    ],
                ));
            }
        }
        points
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
                "futex",
                self.load(&words, seconds, &self.ours, Some(cpus.clone())),
            ));
            self.point(section, runs)
        });
        Ok(points.into())
    }

    /// The environment under another of our locks.
    fn under(&self, lock: &LockInfo) -> Changes {
        let mut environment = self.ours.clone();
        environment.push(("COHORT_LOCK".to_owned(), Some(lock.name.into())));
        environment
    }

    fn idle(&self) -> Point {
        let run = |environment: &Changes| {
            let launch = self.launch(&["idle"], environment, None);
            (launch.clone(), launch)
        };
        self.point(
            "",
            [("system", run(&self.system)), ("futex", run(&self.ours))],
        )
    }

    fn seconds(&self, full: f64, quick: f64) -> f64 {
        if self.quick { quick } else { full }
    }

    /// A load for so many seconds, and a short run of it to warm up with.
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
            // A lock that hangs must not hang the bars.
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
        // The loader only complains about what it cannot preload.
        match runner::run(&self.launch(&words, system, None)) {
            Ok(run) if run.output.contains("cannot be preloaded") => Err(format!(
                "{allocator} is not installed; on Debian it is in {package}"
            )),
            Ok(_) => Ok(()),
            Err(Failure::Program { why, .. }) => Err(format!("with {allocator} alone, {why}")),
            Err(Failure::Interrupted(_)) => Err("interrupted".to_owned()),
        }
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

/// The words for one mutex that so many threads want.
fn crowd(section: u32, threads: u16) -> Vec<String> {
    let words = format!("mutex --latency --threads {threads} --section {section} --gap {GAP}");
    words.split(' ').map(str::to_owned).collect()
}

/// Appends `library` to what is preloaded already.
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
        Err("it needs two CPUs, and this process may use only one".to_owned())
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
        interposer: PathBuf::new(),
        ours: Vec::new(),
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
    fn strict_locks_are_compared_with_the_default_one() {
        let Ok(points) = Experiment::Queues.points(&SETUP) else {
            assert!(two_cpus().is_err());
            return;
        };
        assert_eq!(points.len(), SECTIONS.len());
        for point in points {
            let names: Vec<&str> = point.contestants.iter().map(|one| &*one.name).collect();
            let (last, strict) = names.split_last().unwrap();
            assert_eq!(*last, "futex");
            assert!(strict.contains(&"mcs") && !strict.contains(last) && !strict.contains(&"tas"));
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
