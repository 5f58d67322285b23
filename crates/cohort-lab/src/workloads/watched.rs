//! Threads that use locks and the allocator, and a command that watches them half of the time.
//!
//! Two processes of one program differ by more than a watching command costs. So one process runs
//! beside a command that is stopped and continued in turn, and each window is compared with its
//! neighbour.

use super::crowd::{Crowd, Member};
use super::pthread::{Mutex, MutexKind, RwLock};
use super::{CachePadded, Outcome};
use crate::world::work::{Pace, Work};
use cohort_measure::stats::median;
use rustix::process::{Pid, Signal, kill_process, set_parent_process_death_signal};
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Options of the load.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    crowd: Crowd,
    /// Time that the command runs before the first window, in seconds
    #[arg(long, default_value_t = 3.0)]
    lead: f64,
    /// Length of a window, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 100,
        value_parser = clap::value_parser!(u64).range(10..))]
    window: u64,
    /// The watching command; `{pid}` stands for this process
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

const SECTION_NANOSECONDS: u32 = 1_000;
const GAP_NANOSECONDS: u32 = 2_000;

/// One write for that many accesses of the rwlock.
const READS_A_WRITE: u64 = 10;

/// Runs the load: `of_unwatched` is the median ratio of a window with the running command to its
/// neighbour without.
///
/// # Errors
/// A mutex or a thread cannot be created, the command cannot be started, ends before the load, or
/// the load is too short for two pairs of windows.
pub fn run(options: &Options) -> Result<Outcome, String> {
    let threads = usize::from(options.crowd.threads);
    let counts: &Vec<CachePadded<AtomicU64>> = &(0..threads)
        .map(|_| CachePadded(AtomicU64::new(0)))
        .collect();
    let locks = &Locks::new()?;
    let seconds = options.crowd.seconds + options.lead;
    let crowd = Crowd {
        seconds,
        ..options.crowd
    };
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| watch(options, counts));
        let outcome = crowd.run(false, |index| {
            let count = &counts[index].0;
            Ok(move |member: &mut Member| locks.use_them(count, member))
        })?;
        let ratio = watch.join().map_err(|_| "a thread panicked".to_owned())??;
        Ok(Outcome {
            of_unwatched: Some(ratio),
            ..outcome
        })
    })
}

/// The locks of the load: a mutex, two nested ones, and an rwlock.
struct Locks {
    mutex: Mutex,
    outer: Mutex,
    inner: Mutex,
    shared: RwLock,
    section: Work,
    gap: Work,
}

impl Locks {
    fn new() -> Result<Self, String> {
        let mutex = || {
            Mutex::new(MutexKind::Normal).map_err(|error| format!("cannot create a mutex: {error}"))
        };
        let pace = Pace::measure();
        Ok(Self {
            mutex: mutex()?,
            outer: mutex()?,
            inner: mutex()?,
            shared: RwLock::default(),
            section: pace.work(SECTION_NANOSECONDS),
            gap: pace.work(GAP_NANOSECONDS),
        })
    }

    /// Repeats one round of all locks, and an allocation, until the load is over.
    fn use_them(&self, count: &AtomicU64, member: &mut Member) {
        let mut round: u64 = 0;
        loop {
            self.mutex.with(|| self.section.perform());
            self.gap.perform();
            self.outer
                .with(|| self.inner.with(|| self.section.perform()));
            self.gap.perform();
            if round.is_multiple_of(READS_A_WRITE) {
                self.shared.writing(|| self.section.perform());
            } else {
                self.shared.reading(|| self.section.perform());
            }
            drop(std::hint::black_box(vec![0_u8; 4096]));
            self.gap.perform();
            round += 1;
            count.store(round, Relaxed);
            if !member.goes_on() {
                break;
            }
        }
    }
}

/// The median ratio of neighbouring windows.
fn watch(options: &Options, counts: &[CachePadded<AtomicU64>]) -> Result<f64, String> {
    let mut command = Watching::start(&options.command)?;
    std::thread::sleep(Duration::from_secs_f64(options.lead));
    let window = Duration::from_millis(options.window);
    let pairs = (options.crowd.seconds / (2.0 * window.as_secs_f64())) as usize;
    paired(pairs, |is_watched| {
        command.set_running(is_watched)?;
        Ok(rate(counts, window))
    })
}

/// The median, over that many pairs of windows, of the watched window's rate over its neighbour's.
fn paired(pairs: usize, mut rate: impl FnMut(bool) -> Result<f64, String>) -> Result<f64, String> {
    if pairs < 2 {
        return Err("too short: use more --seconds or a shorter --window".to_owned());
    }
    let mut ratios = Vec::new();
    for pair in 0..pairs {
        // A pair begins with either kind in turn, so that a trend favours neither.
        let ratio = if pair % 2 == 0 {
            let watched = rate(true)?;
            watched / rate(false)?
        } else {
            let alone = rate(false)?;
            rate(true)? / alone
        };
        ratios.push(ratio);
    }
    median(&ratios).ok_or_else(|| "nothing ran in a window".to_owned())
}

/// Rounds per second of all threads over this window.
fn rate(counts: &[CachePadded<AtomicU64>], window: Duration) -> f64 {
    let all = || -> u64 { counts.iter().map(|count| count.0.load(Relaxed)).sum() };
    let (before, begun) = (all(), Instant::now());
    std::thread::sleep(window);
    (all() - before) as f64 / begun.elapsed().as_secs_f64()
}

/// The watching process, killed on drop.
struct Watching(Child);

impl Watching {
    fn start(words: &[OsString]) -> Result<Self, String> {
        let (program, rest) = words.split_first().ok_or("no command")?;
        let pid = std::process::id().to_string();
        let rest = rest.iter().map(|word| {
            if word == "{pid}" {
                OsString::from(&pid)
            } else {
                word.clone()
            }
        });
        let mut command = Command::new(program);
        command
            .args(rest)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        // It must not outlive a load that is killed.
        let die_along = || Ok(set_parent_process_death_signal(Some(Signal::KILL))?);
        // SAFETY: the closure makes one system call and allocates nothing, which is allowed
        // between fork and exec.
        unsafe { command.pre_exec(die_along) };
        command
            .spawn()
            .map(Self)
            .map_err(|error| format!("cannot start {}: {error}", program.to_string_lossy()))
    }

    /// Continues or stops it.
    fn set_running(&mut self, is_running: bool) -> Result<(), String> {
        let ended = self.0.try_wait().map_err(|error| error.to_string())?;
        if let Some(status) = ended {
            return Err(format!("the watching command ended early: {status}"));
        }
        let signal = if is_running {
            Signal::CONT
        } else {
            Signal::STOP
        };
        kill_process(Pid::from_child(&self.0), signal)
            .map_err(|error| format!("cannot signal the watching command: {error}"))
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(command: &str) -> Options {
        Options {
            crowd: Crowd {
                threads: 2,
                seconds: 0.5,
            },
            lead: 0.0,
            window: 20,
            command: ["sh", "-c", command].map(OsString::from).into(),
        }
    }

    #[test]
    fn a_trend_counts_for_neither_kind() {
        let mut speed = 100.0;
        let ratio = paired(100, |is_watched| {
            speed *= 1.01;
            Ok(if is_watched { 0.9 * speed } else { speed })
        });
        assert!((ratio.unwrap() - 0.9).abs() < 0.01);
    }

    #[test]
    fn windows_without_the_command_find_it_stopped() {
        let mut command = Watching::start(&["sleep", "60"].map(OsString::from)).unwrap();
        let stat = format!("/proc/{}/stat", command.0.id());
        for (is_running, stopped) in [(false, true), (true, false), (false, true)] {
            command.set_running(is_running).unwrap();
            let is_stopped = || std::fs::read_to_string(&stat).unwrap().contains(") T ");
            let begun = Instant::now();
            while is_stopped() != stopped {
                assert!(begun.elapsed() < Duration::from_secs(30));
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }

    #[test]
    fn the_ratio_is_one_of_the_outcome() {
        let outcome = run(&options("sleep 60")).unwrap();
        assert!(outcome.of_unwatched.is_some_and(|ratio| ratio > 0.0));
        assert!(outcome.operations > 0);
    }

    #[test]
    fn a_command_that_ends_fails_the_load() {
        let failure = run(&options("exit 3")).unwrap_err();
        assert!(failure.contains("ended early"), "{failure}");
    }
}
