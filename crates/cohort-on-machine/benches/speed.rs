//! The simulation's speed: accesses per second of CPU time with the full model. The aim is ten
//! million with 128 simulated CPUs, the minimum five.
//!
//! CPU time, since other processes may use the host. They also slow its caches and hardware threads,
//! so each line is the best of several runs.

use cohort_machine::description::shipped;
use cohort_machine::{Hardware, Length, Memory, Options, Outcome, Placement, Run, Waiting};
use cohort_on_machine::RawLock;
use cohort_on_machine::basic::{Clh, Futex, Mcs, Ticket};
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

fn line(name: &str, machine: &str, threads: usize, run: fn(&Hardware, usize) -> Outcome) {
    let machine = shipped::find(machine).unwrap_or_else(|| panic!("{machine} is not shipped"));
    let hardware = Hardware::new(&machine);
    let sample = || {
        let begin = Clock::now();
        let mut steps = 0;
        while begin.day.elapsed() < SAMPLE {
            steps += run(&hardware, threads).steps;
        }
        steps as f64 / begin.seconds() / 1e6
    };
    let rate = (0..SAMPLES).map(|_| sample()).fold(0.0, f64::max);
    println!(
        "{name:8} {:16} {threads:4} threads  {rate:6.1} M accesses/s",
        hardware.name()
    );
}

/// The peak memory of this process, in MiB.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024)
}

fn main() {
    for threads in [1, 16, 128] {
        line("ticket", "kunpeng-920x2", threads, lbench::<Ticket>);
        line("mcs", "kunpeng-920x2", threads, lbench::<Mcs>);
        line("clh", "kunpeng-920x2", threads, lbench::<Clh>);
        line("futex", "kunpeng-920x2", threads, lbench::<Futex>);
    }
    for threads in [128, 576] {
        line("ticket", "superdome-x", threads, lbench::<Ticket>);
        line("mcs", "superdome-x", threads, lbench::<Mcs>);
    }
    if let Some(peak) = peak() {
        println!("peak memory {peak} MiB");
    }
}
