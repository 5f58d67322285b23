//! Many points on a simulated machine, on all of this machine's CPUs.

use super::report::Point;
use super::{Info, Knobs, Setting, Span, run};
use crate::interrupt::{self, Interrupted};
use crate::rounds::Observer;
use crate::tune::Effort;
use crate::world::simulated::{Settings, Simulator};
use crate::world::wait::Wait;
use crate::world::{Placement, Tunings};
use cohort::catalogue;
use cohort_machine::Length;
use rayon::prelude::*;
use std::sync::{Arc, Mutex};

/// Default of the least counted time, in virtual nanoseconds.
const LEAST: u64 = 1_000_000;

/// The same for each thread, since all share one lock.
const LEAST_EACH: u64 = 60_000;

/// The same where threads share CPUs: several time slices.
const LEAST_CROWDED: u64 = 40_000_000;

/// The longest run until it is steady, relative to the least time.
const PATIENCE: u64 = 16;

/// Timeouts within the least time beyond which threads can hardly do anything but time out. If they
/// do, a run would take hours to become steady, if ever; it then lasts for the least time.
const TIMEOUTS: u64 = 100;

/// The part of the least time for the warm-up.
const WARM_UP: u64 = 8;

/// The time that an adaptive lock needs to learn its use: a few thousand critical sections (Antić
/// et al. 2016 §3.1).
const ADAPTING: u64 = 10_000_000;

/// The least number of time slices of each thread in a run, as long as a thread has had no critical
/// section: the first is cut off.
const ROUNDS_OF_SLICES: u64 = 3;

/// A time slice: as long as a kernel runs a thread while others need its CPU.
const SLICE_NANOSECONDS: u64 = 3_000_000;

/// The number of rounds of each thread in the least time.
const ROUNDS: u64 = 32;

/// The first and the second look at locks in tuning. Few threads are cheap, so looks at them may be
/// longer relative to their steady runs.
const LOOKS: [Until; 2] = [
    Until::Part {
        part: 16,
        least: 250_000,
    },
    Until::Part {
        part: 3,
        least: 1_000_000,
    },
];

/// Duration of simulated points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Until {
    /// Until the throughput is steady.
    Steady,
    /// Part of the least time that a steady run would take.
    Part {
        /// The number of such parts.
        part: u64,
        /// The minimum, in virtual nanoseconds.
        least: u64,
    },
    /// Virtual seconds, at most.
    Seconds(f64),
}

/// Common settings of simulated points.
#[derive(Clone, Debug)]
pub struct Course {
    /// Their duration.
    pub until: Until,
    /// The placement of threads.
    pub placement: Placement,
    /// The waiters' policy; none for each lock's default.
    pub wait: Option<Wait>,
    /// Additional threads that only compute.
    pub background: usize,
    /// Whether locks are measured as [programs use them](crate::world::served), not raw.
    pub served: bool,
    /// Parameters of tunable locks.
    pub tunings: Tunings,
    /// Cohorts of a level that locks see instead of the machine's.
    pub cohorts: Vec<(String, Vec<usize>)>,
}

impl Course {
    /// Settings for tuning served locks with that effort.
    #[must_use]
    pub fn tuning(
        effort: Effort,
        placement: Placement,
        cohorts: Vec<(String, Vec<usize>)>,
    ) -> Self {
        Self {
            until: match effort {
                Effort::Brief => LOOKS[0],
                Effort::Longer => LOOKS[1],
                Effort::Steady => Until::Steady,
            },
            placement,
            wait: None,
            background: 0,
            served: true,
            tunings: Tunings::USUAL,
            cohorts,
        }
    }

    /// The world's side of one point.
    #[must_use]
    pub fn settings(&self, info: &Info, simulator: &Simulator, setting: &Setting) -> Settings {
        Settings {
            length: self.length(info, simulator, setting),
            placement: self.placement,
            cpus: None,
            wait: self
                .wait
                .unwrap_or_else(|| Wait::natural(&setting.lock, self.served)),
            background: self.background,
            served: self.served,
            tunings: self.tunings,
            seed: setting.seed,
            cohorts: self.cohorts.clone(),
        }
    }

    /// Long enough for many rounds of each thread, and for sharing CPUs that are too few. A run of
    /// a workload with phases always lasts for all of them, however steady: locks are compared by
    /// the same phases.
    fn length(&self, info: &Info, simulator: &Simulator, setting: &Setting) -> Length {
        let cpus = simulator.topology().cpus().len();
        let crowded = setting.threads + self.background > cpus;
        let least = if crowded { LEAST_CROWDED } else { LEAST };
        let least = least
            .max(LEAST_EACH * setting.threads as u64)
            .max(ROUNDS * round(&setting.knobs, simulator));
        let phase = setting.knobs.phase.filter(|_| info.phases > 0);
        let phases = phase.map(|phase| info.phases as u64 * nanoseconds(phase, simulator));
        let least = least.max(phases.unwrap_or(0));
        let patience = if phases.is_some() { 1 } else { PATIENCE };
        let adapts = catalogue::find(&setting.lock).is_some_and(|info| info.adapts);
        let adapting = if adapts { ADAPTING } else { 0 };
        // Until the initial crowd has gone to sleep, there may be no critical section.
        let settled = if self.served {
            setting.threads as u64
        } else {
            0
        };
        let settled_by = least * PATIENCE;
        // A raw lock that starves a thread starves it permanently.
        let slices = if self.served && self.until == Until::Steady && phases.is_none() {
            ROUNDS_OF_SLICES * setting.threads as u64 * SLICE_NANOSECONDS
        } else {
            0
        };
        let (warm_up, least, most) = match self.until {
            Until::Steady => ((least / WARM_UP).max(adapting), least, least * patience),
            Until::Part { part, least: some } => {
                let most = (least / part).max(some);
                ((most / WARM_UP).max(adapting), most, most)
            }
            Until::Seconds(seconds) => {
                let most = (seconds * 1e9) as u64;
                (most / WARM_UP, most.min(least), most)
            }
        };
        let timeout = setting.knobs.timeout;
        let timeout = timeout.map_or(u64::MAX, |timeout| nanoseconds(timeout, simulator));
        let hurried = self.until == Until::Steady && timeout < least / TIMEOUTS;
        Length {
            warm_up,
            settled,
            settled_by,
            least,
            most,
            given_up: if hurried { least } else { most },
            unserved: slices,
        }
    }
}

/// Estimated time of a thread from one critical section to the next, in nanoseconds.
fn round(knobs: &Knobs, simulator: &Simulator) -> u64 {
    let spans = [knobs.critical, knobs.outside];
    let spans = spans.into_iter().flatten();
    spans.map(|span| nanoseconds(span, simulator)).sum()
}

/// That span on the simulated machine.
fn nanoseconds(span: Span, simulator: &Simulator) -> u64 {
    let megahertz = simulator.machine().clock.value;
    span.cycles(megahertz as f64 * 1e6) * 1000 / megahertz
}

/// Failure of a measurement.
#[derive(Debug)]
pub enum Failure {
    /// A signal asked this process to end.
    Interrupted(Interrupted),
    /// The failed run, and the reason.
    Run(String),
}

impl From<String> for Failure {
    fn from(why: String) -> Self {
        Self::Run(why)
    }
}

/// Runs every setting once, each on one host thread, several at a time. The result is in the order
/// of the settings and depends only on them. Blocks.
///
/// # Errors
/// A run failed, or a signal arrived.
pub fn measure(
    info: &Info,
    simulator: &Arc<Simulator>,
    course: &Course,
    settings: &[Setting],
    observer: &mut (dyn Observer + Send),
) -> Result<Vec<Point>, Failure> {
    match measure_until(info, simulator, course, settings, observer)? {
        (points, None) => Ok(points),
        (_, Some(signal)) => Err(Failure::Interrupted(signal)),
    }
}

/// [`measure`]; after a signal, returns the points known so far, and the signal. Blocks.
///
/// # Errors
/// The failed run, and the reason.
pub fn measure_until(
    info: &Info,
    simulator: &Arc<Simulator>,
    course: &Course,
    settings: &[Setting],
    observer: &mut (dyn Observer + Send),
) -> Result<(Vec<Point>, Option<Interrupted>), String> {
    let observer = Mutex::new(observer);
    let points: Vec<Option<Point>> = settings
        .par_iter()
        .map(|setting| {
            if interrupt::check().is_err() {
                return Ok(None);
            }
            let name = format!("{} × {}", setting.lock, setting.threads);
            if let Ok(mut observer) = observer.lock() {
                observer.starts(&name, false);
            }
            let place = course.settings(info, simulator, setting);
            let wait = place.wait;
            let outcome = run(info, simulator.world(place), setting)
                .map_err(|why| format!("{name} on {}: {why}", simulator.machine().name))?;
            Point::of(setting.lock.clone(), wait, setting.threads, vec![outcome])
                .map(|point| Some(point.apart(setting.knobs.outside)))
                .ok_or_else(|| format!("{name}: no throughput"))
        })
        .collect::<Result<_, String>>()?;
    let is_whole = points.iter().all(Option::is_some);
    let interrupted = interrupt::check().err().filter(|_| !is_whole);
    Ok((points.into_iter().flatten().collect(), interrupted))
}

#[cfg(test)]
mod tests {
    use super::super::berkeleydb::ORDER_STATUS;
    use super::super::memcached_set::{GETS, SETS};
    use super::super::raytrace::CAR;
    use super::super::{WORKLOADS, find};
    use super::*;
    use crate::rounds::Silent;
    use crate::world::NO_LOCK;
    use cohort_machine::Rule;
    use cohort_machine::description::shipped;

    const COURSE: Course = Course {
        until: Until::Seconds(0.000_3),
        placement: Placement::Compact,
        wait: None,
        background: 0,
        served: false,
        tunings: Tunings::USUAL,
        cohorts: Vec::new(),
    };

    fn points(info: &Info, locks: &[&str], threads: usize, course: &Course) -> Vec<Point> {
        turned(info, Knobs::NONE, locks, threads, course)
    }

    /// The same with options of the workload.
    fn turned(
        info: &Info,
        knobs: Knobs,
        locks: &[&str],
        threads: usize,
        course: &Course,
    ) -> Vec<Point> {
        let machine = shipped::find("xeon-e7-4850x4").unwrap();
        let simulator = Arc::new(Simulator::new(machine));
        let settings: Vec<Setting> = locks
            .iter()
            .map(|lock| Setting {
                lock: (*lock).to_owned(),
                threads,
                knobs: knobs.over(info).unwrap(),
                seed: 7,
            })
            .collect();
        measure(info, &simulator, course, &settings, &mut Silent).unwrap()
    }

    #[test]
    fn every_workload_runs_there_twice_alike() {
        for info in WORKLOADS {
            let run = || points(info, &["mcs", "ticket"], 6, &COURSE);
            let text = |points: &[Point]| serde_json::to_string(points).unwrap();
            let once = run();
            assert_eq!(text(&once), text(&run()), "{}", info.name);
            for point in &once {
                assert!(point.middle.sections > 0, "{}", info.name);
                assert!(point.middle.simulated.is_some(), "{}", info.name);
            }
        }
    }

    #[test]
    fn every_lock_and_baseline_runs_there() {
        let mut locks: Vec<&str> = cohort::catalogue::LOCKS.iter().map(|l| l.name).collect();
        locks.extend(["posix", "posix-adaptive"]);
        for point in points(find("lbench").unwrap(), &locks, 12, &COURSE) {
            assert!(point.middle.fairness.most > 0, "{}", point.lock);
            assert!(point.middle.migrations.is_some(), "{}", point.lock);
        }
    }

    #[test]
    fn waiters_give_up_where_they_can() {
        let course = Course {
            wait: Some(Wait::Spin),
            ..COURSE
        };
        let splay = find("splay").unwrap();
        let locks = ["bo", "mcs", "cc-synch", "oyama"];
        let [bo, mcs, taken_back, waited_for] = &points(splay, &locks, 20, &course)[..] else {
            panic!("four points");
        };
        // `mcs` is tried repeatedly; a section delegated to `cc-synch` can be withdrawn, and one
        // delegated to `oyama` is waited for.
        assert!(bo.middle.abandoned > 0 && mcs.middle.abandoned > 0);
        assert!(taken_back.middle.abandoned > 0);
        assert_eq!(waited_for.middle.abandoned, 0);
    }

    /// A short timeout that no wait reaches must not end a run before it is steady.
    #[test]
    fn only_a_run_in_which_threads_give_up_lasts_for_the_least_time() {
        let course = Course {
            until: Until::Steady,
            ..COURSE
        };
        let info = find("lbench").unwrap();
        let machine = shipped::find("xeon-e7-4850x4").unwrap();
        let simulator = Arc::new(Simulator::new(machine));
        let run = |timeout, threads| {
            let knobs = Knobs {
                timeout: Some(Span::Nanoseconds(timeout)),
                ..Knobs::NONE
            };
            let setting = Setting {
                lock: "bo".to_owned(),
                threads,
                knobs: knobs.over(info).unwrap(),
                seed: 7,
            };
            let length = course.length(info, &simulator, &setting);
            let points = measure(info, &simulator, &course, &[setting], &mut Silent).unwrap();
            let outcome = &points[0].middle;
            let ended = outcome.simulated.as_ref().unwrap().ended;
            assert_eq!(length.given_up, length.least);
            let longer = outcome.seconds * 1e9 / length.least as f64;
            (outcome.abandoned > outcome.sections, ended, longer)
        };
        let (gives_up, ended, _) = run(5_000, 4);
        assert!(!gives_up && ended != Rule::Longest, "{ended:?}");
        let (gives_up, ended, longer) = run(50, 40);
        assert!(gives_up && ended == Rule::Longest, "{ended:?}");
        assert!((1.0..1.1).contains(&longer), "{longer}");
    }

    /// With long critical sections, spinning waiters only slow the holder; the default's waiters
    /// sleep.
    #[test]
    fn the_default_is_short_of_spinners_where_sections_are_long() {
        let course = Course {
            until: Until::Seconds(0.01),
            served: true,
            ..COURSE
        };
        let info = find("lbench").unwrap();
        let machine = shipped::find("haswell-ep-2s").unwrap();
        let simulator = Arc::new(Simulator::new(machine));
        let modes = |critical| {
            let long = Knobs {
                critical: Some(Span::Nanoseconds(critical)),
                ..Knobs::NONE
            };
            let setting = Setting {
                lock: "futex-hmcs".to_owned(),
                threads: 24,
                knobs: long.over(info).unwrap(),
                seed: 7,
            };
            let points = measure(info, &simulator, &course, &[setting], &mut Silent).unwrap();
            points[0].middle.heard.waits.clone()
        };
        assert!(modes(20_000).contains_key("short queue"));
        let short = modes(200);
        assert!(
            short.contains_key("queue") && !short.contains_key("short queue"),
            "{short:?}"
        );
    }

    /// With one thread per CPU, the lock must not assume oversubscription, however long a look at a
    /// contended line takes: waiters of a lock that keeps few of them awake under oversubscription
    /// stay awake.
    #[test]
    fn a_slow_line_takes_nobodys_cpu() {
        let course = Course {
            until: Until::Seconds(0.01),
            served: true,
            ..COURSE
        };
        let info = find("leveldb").unwrap();
        let machine = shipped::find("superdome-x").unwrap();
        let simulator = Arc::new(Simulator::new(machine));
        let settings = [288, 576].map(|threads| Setting {
            lock: "hmcs-4".to_owned(),
            threads,
            knobs: Knobs::NONE.over(info).unwrap(),
            seed: 1,
        });
        let points = measure(info, &simulator, &course, &settings, &mut Silent).unwrap();
        let [half, all] = [0, 1].map(|point: usize| points[point].middle.per_second);
        assert!(all > 0.9 * half, "{all} beside {half}");
    }

    /// Dice et al. 2015 §1.1: after too long a wait, remote waiters of `hbo` poll as often as near
    /// ones; otherwise one chip would keep the lock for the whole run.
    #[test]
    fn remote_waiters_lose_their_patience() {
        let course = Course {
            until: Until::Seconds(0.02),
            placement: Placement::Scattered,
            ..COURSE
        };
        let info = find("lbench").unwrap();
        let machine = shipped::find("sparc-t5440").unwrap();
        let simulator = Arc::new(Simulator::new(machine));
        let setting = Setting {
            lock: "hbo".to_owned(),
            threads: 128,
            knobs: Knobs::NONE.over(info).unwrap(),
            seed: 1,
        };
        let points = measure(info, &simulator, &course, &[setting], &mut Silent).unwrap();
        let cohorts = &points[0].middle.cohorts;
        let chips = cohorts.iter().find(|level| level.level == "numa").unwrap();
        let all: u64 = chips.sections.iter().sum();
        let least = *chips.sections.iter().min().unwrap();
        assert!(40 * least > all, "{:?}", chips.sections);
    }

    /// Dice et al. 2015 §5.1.1, figure 14: between critical sections, a thread of LBench loops idly
    /// for about 4 µs, whatever the load of its core.
    #[test]
    fn siblings_lengthen_no_idle_loop() {
        let info = find("lbench").unwrap();
        let machine = shipped::find("sparc-t4-1").unwrap();
        let simulator = Arc::new(Simulator::new(machine));
        let rate = |threads| {
            let setting = Setting {
                lock: "mcs".to_owned(),
                threads,
                knobs: Knobs::NONE.over(info).unwrap(),
                seed: 1,
            };
            let points = measure(info, &simulator, &COURSE, &[setting], &mut Silent).unwrap();
            points[0].middle.per_second
        };
        // All on one core.
        let (one, four) = (rate(1), rate(4));
        assert!(four > 2.0 * one, "{one} and {four}");
    }

    /// A thread of `bfs` with all messages in flight tests until one has arrived; and a process
    /// expands only edges that it has received or has begun with.
    #[test]
    fn edges_depend_on_few_messages() {
        const THREADS: usize = 8;
        let course = Course {
            until: Until::Seconds(0.001),
            ..COURSE
        };
        let info = find("bfs").unwrap();
        let run = |outside| {
            let knobs = Knobs {
                outside: Some(Span::Nanoseconds(outside)),
                ..Knobs::NONE
            };
            let point = turned(info, knobs, &["mcs"], THREADS, &course).remove(0);
            let point = point.middle;
            let count = |what: &str| point.counts.get(what).copied().unwrap_or(0);
            (count("sent"), count("received"), point.per_second / 1e3)
        };
        let (sent, received, edges) = run(2_000);
        assert!(received > 100, "{sent} sent, {received} received");
        // Messages in flight at the beginning of counting are received too.
        assert!(
            sent.abs_diff(received) <= 8 * THREADS as u64,
            "{sent} sent, {received} received"
        );
        // A message has 64 edges, three of four of all; 1,024 are a vertex's most.
        let most = (received as f64 * 64.0 + THREADS as f64 * (512.0 + 1_024.0)) * 4.0 / 3.0;
        assert!(edges <= most, "{edges} edges, {received} received");
        // Nothing arrives in time.
        let (_, received, none) = run(10_000_000);
        assert_eq!(received, 0);
        assert!(20.0 * none < edges, "{none} edges of {edges}");
    }

    #[test]
    fn turns_without_a_lock_are_shared_out_evenly() {
        let point = points(find("pingpong").unwrap(), &[NO_LOCK], 2, &COURSE).remove(0);
        assert!(point.middle.fairness.most - point.middle.fairness.least <= 1);
    }

    /// Zhang et al. 2017, Table 6: the share of the time that 40 threads, 18 of memcached, spend at
    /// POSIX mutexes, on which these models were calibrated.
    #[test]
    fn models_spend_the_papers_share_of_their_time_at_the_locks() {
        let course = Course {
            until: Until::Steady,
            ..COURSE
        };
        let usual = Knobs::NONE;
        let models = [
            ("berkeleydb", usual, 40, 0.762),
            ("berkeleydb", ORDER_STATUS, 40, 0.591),
            ("memcached-set", usual, 40, 0.616),
            ("memcached-set", SETS, 18, 0.616),
            ("memcached-set", GETS, 18, 0.847),
            ("linear-regression", usual, 40, 0.887),
            ("string-match", usual, 40, 0.696),
            ("matrix-multiply", usual, 40, 0.659),
            ("radiosity", usual, 40, 0.565),
            ("raytrace", usual, 40, 0.851),
            ("raytrace", CAR, 40, 0.913),
        ];
        models
            .into_par_iter()
            .for_each(|(name, knobs, threads, share)| {
                let info = find(name).unwrap();
                let point = turned(info, knobs, &["posix"], threads, &course).remove(0);
                let ours = point.middle.share_at_locks().unwrap();
                assert!((ours - share).abs() < 0.05, "{name}, {knobs:?}: {ours}");
            });
    }

    #[test]
    fn phases_leave_some_threads_out() {
        let course = Course {
            until: Until::Seconds(0.004),
            background: 4,
            ..COURSE
        };
        let point = points(find("phases").unwrap(), &["ttas"], 8, &course).remove(0);
        assert!(point.middle.counts.len() > 1);
    }

    /// However steady a phase is, a run goes on to the last.
    #[test]
    fn locks_are_compared_by_all_phases() {
        let course = Course {
            until: Until::Steady,
            ..COURSE
        };
        let info = find("phases").unwrap();
        let short = Knobs {
            phase: Some(Span::Nanoseconds(100_000)),
            ..Knobs::NONE
        };
        for point in turned(info, short, &["futex", "posix"], 2, &course) {
            // Of two threads one is alone in some phases, and neither is left out of all.
            assert_eq!(point.middle.counts.len(), info.phases, "{}", point.lock);
        }
    }

    /// Readers that share a lock read no faster than their own work lasts, however short the run.
    #[test]
    fn readers_are_counted_while_time_is() {
        let info = find("rw").unwrap();
        let knobs = Knobs {
            reads: Some(100),
            ..Knobs::NONE
        };
        let threads = 8;
        for until in [Until::Steady, Until::Seconds(0.000_2)] {
            for served in [false, true] {
                let course = Course {
                    until,
                    served,
                    ..COURSE
                };
                let rwlock = if served { "c-rw-np" } else { "rwlock" };
                let point = turned(info, knobs, &[rwlock], threads, &course).remove(0);
                // A tenth less or more than a microsecond apart, and 100 ns inside.
                let most = threads as f64 / 1.09e-6;
                assert!(point.middle.per_second < most, "{until:?}, {served}");
                assert!(point.middle.per_second > most / 4.0, "{until:?}, {served}");
            }
        }
    }

    /// A machine without NUMA nodes is a single one: a lock for several is as good as a simple queue.
    #[test]
    fn a_machine_without_nodes_is_one() {
        let info = find("lbench").unwrap();
        let machine = shipped::find("i5-12500").unwrap();
        let simulator = Arc::new(Simulator::new(machine));
        let settings = ["cna", "mcs"].map(|lock| Setting {
            lock: lock.to_owned(),
            threads: 6,
            knobs: Knobs::NONE.over(info).unwrap(),
            seed: 7,
        });
        let points = measure(info, &simulator, &COURSE, &settings, &mut Silent).unwrap();
        let [cna, mcs] = &points[..] else {
            panic!("two points");
        };
        assert!(cna.middle.per_second > 0.8 * mcs.middle.per_second);
    }

    /// A run under a lock that gives its threads turns lasts until each has had one, and
    /// a longer one gives nearly the same.  Such a lock takes some turns to learn how it is used, so that
    /// short runs understate it: these have 0.74 to 0.88 of long ones, and would have a quarter if they
    /// ended within the first turn.
    #[test]
    fn a_run_has_room_for_everybodys_turn() {
        let info = find("kyoto").unwrap();
        let machine = shipped::find("epyc-9454p").unwrap();
        let simulator = Arc::new(Simulator::new(machine));
        let threads = 4;
        let run = |until, seed| {
            let course = Course {
                until,
                served: true,
                ..COURSE
            };
            let setting = Setting {
                lock: "futex-hmcs".to_owned(),
                threads,
                knobs: Knobs::NONE.over(info).unwrap(),
                seed,
            };
            measure(info, &simulator, &course, &[setting], &mut Silent)
                .unwrap()
                .remove(0)
                .middle
        };
        let seeds = [1, 2, 3, 7];
        let ratios = seeds.map(|seed| {
            let steady = run(Until::Steady, seed);
            assert!(steady.fairness.least > 0, "{:?}", steady.per_thread);
            steady.per_second / run(Until::Seconds(0.1), seed).per_second
        });
        let mean = ratios.iter().sum::<f64>() / seeds.len() as f64;
        assert!((0.75..1.33).contains(&mean), "{ratios:?}");
    }
}
