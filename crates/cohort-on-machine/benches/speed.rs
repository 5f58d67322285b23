//! The simulation's speed: accesses per second of CPU time with the full model. The aim for every
//! basic lock is ten million with 128 threads, five with 576, three with 4,096.
//!
//! CPU time, since other processes may use the host. They also slow its caches and hardware threads,
//! so each line is the best of several runs.

use cohort_machine::description::{Machine, shipped, synthetic};
use cohort_machine::{Hardware, Length, Memory, Options, Outcome, Placement, Run, Waiting};
use cohort_on_machine::RawLock;
use cohort_on_machine::basic::{
    Anderson, Bo, Clh, ClhPublished, Futex, Hemlock, HemlockCtr, K42, Malthusian, Mcs, Ptl,
    Reciprocating, Tas, Ticket, TicketApart, TicketDelay, Ttas,
};
use std::cell::LazyCell;
use std::time::{Duration, Instant};

/// Samples per line, and the length of each; the kernel counts CPU time in ticks of some
/// milliseconds.
const SAMPLES: usize = 3;
const SAMPLE: Duration = Duration::from_millis(300);

/// Virtual nanoseconds of a run.
const LENGTH: u64 = 5_000_000;

/// LBench (Dice et al. 2015 §5.1.1): two lines under the lock, then about 4 µs of work.
fn lbench<L: RawLock<Context: 'static>>(hardware: &Hardware, threads: usize) -> Outcome {
    let memory = Memory::new();
    let lock = memory.lock(L::default());
    let lines = [memory.bytes(1), memory.bytes(1)];
    let options = Options {
        placement: Placement::Scattered,
        waiting: Waiting::Spin,
        spin: u64::MAX,
        length: Length {
            warm_up: 0,
            least: LENGTH,
            most: LENGTH,
            ..Length::default()
        },
        ..Options::default()
    };
    let mut run = Run::new(hardware, &memory, options);
    for _ in 0..threads {
        let memory = &memory;
        run.spawn(move |thread| {
            let context = memory.lock(L::Context::default());
            while !thread.is_over() {
                // SAFETY: only this thread uses the context. Like the lock, it lies in the
                // machine's memory until the run is over.
                unsafe { lock.acquire(context) };
                thread.acquired(0);
                lines.iter().for_each(|line| thread.read(*line));
                lines.iter().for_each(|line| thread.write(*line));
                // SAFETY: acquired above, with this context.
                unsafe { lock.release(context) };
                thread.work(8000 + thread.random_below(4000));
            }
        });
    }
    run.go().unwrap_or_else(|failure| panic!("{failure}"))
}

/// This thread's CPU time if the kernel reports it, otherwise the wall time.
struct Clock {
    cpu: Option<u64>,
    day: Instant,
}

impl Clock {
    fn now() -> Self {
        Self {
            cpu: cpu_nanoseconds(),
            day: Instant::now(),
        }
    }

    fn seconds(&self) -> f64 {
        match (self.cpu, cpu_nanoseconds()) {
            (Some(before), Some(now)) => (now - before).max(1) as f64 / 1e9,
            _ => self.day.elapsed().as_secs_f64(),
        }
    }
}

fn cpu_nanoseconds() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// One line: a lock with that many threads.
struct Line {
    name: &'static str,
    run: fn(&Hardware, usize) -> Outcome,
}

macro_rules! locks {
    ($($name:literal: $lock:ty),* $(,)?) => {
        [$(Line { name: $name, run: lbench::<$lock> }),*]
    };
}

/// Every basic lock.
const LOCKS: &[Line] = &locks![
    "tas": Tas,
    "ttas": Ttas,
    "bo": Bo,
    "ticket": Ticket,
    "ticket-apart": TicketApart,
    "ticket-delay": TicketDelay,
    "ptl": Ptl,
    "anderson": Anderson,
    "mcs": Mcs,
    "clh": Clh,
    "clh-published": ClhPublished,
    "k42": K42,
    "hemlock": Hemlock,
    "hemlock-ctr": HemlockCtr,
    "malthusian": Malthusian,
    "reciprocating": Reciprocating,
    "futex": Futex,
];

impl Line {
    /// Million accesses per second of CPU time, the best sample.
    fn rate(&self, hardware: &Hardware, threads: usize) -> f64 {
        let sample = || {
            let begin = Clock::now();
            let mut steps = 0;
            while begin.day.elapsed() < SAMPLE {
                steps += (self.run)(hardware, threads).steps;
            }
            steps as f64 / begin.seconds() / 1e6
        };
        (0..SAMPLES).map(|_| sample()).fold(0.0, f64::max)
    }
}

/// A machine with its numbers of threads, and the least rate for each.
struct Host {
    machine: Machine,
    aims: &'static [(usize, f64)],
}

/// The machines: two of the papers, and one of the greatest permitted number of CPUs.
fn hosts() -> [Host; 3] {
    let shipped = |name| shipped::find(name).unwrap_or_else(|| panic!("{name} is not shipped"));
    let shape = "package:8 numa:2 cache:16 core:8 pu:2";
    let text = synthetic(shape, &shipped("epyc-7352x2"), "4096-cpus");
    let text = text.unwrap_or_else(|why| panic!("{why}"));
    let large = Machine::parse(&text).unwrap_or_else(|why| panic!("{why}"));
    [
        Host {
            machine: shipped("kunpeng-920x2"),
            aims: &[(1, 10.0), (16, 10.0), (128, 10.0)],
        },
        Host {
            machine: shipped("superdome-x"),
            aims: &[(128, 10.0), (576, 5.0)],
        },
        Host {
            machine: large,
            aims: &[(4096, 3.0)],
        },
    ]
}

/// The peak memory of this process, in MiB.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024)
}

/// Arguments select the lines that contain all of them: `mcs superdome 576`.
fn main() {
    let chosen: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .collect();
    let is_chosen = |what: &str| {
        let mut words = chosen.iter();
        words.all(|word| what.split_whitespace().any(|part| part == word))
    };
    for host in hosts() {
        // The largest machine takes a second to prepare.
        let hardware = LazyCell::new(|| Hardware::new(&host.machine));
        for (threads, aim) in host.aims {
            for line in LOCKS {
                let (name, machine) = (line.name, &host.machine.name);
                let what = format!("{name:14} {machine:16} {threads:4} threads");
                if !is_chosen(&what) {
                    continue;
                }
                let rate = line.rate(&hardware, *threads);
                let below = if rate < *aim {
                    format!("  below {aim}")
                } else {
                    String::new()
                };
                println!("{what}  {rate:6.1} M accesses/s{below}");
            }
        }
    }
    if let Some(peak) = peak() {
        println!("peak memory {peak} MiB");
    }
}
