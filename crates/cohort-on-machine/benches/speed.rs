//! How fast the machine is simulated: accesses a second of one host CPU, with the full
//! model.  The aim is ten million with 128 simulated CPUs, the floor five.
//!
//! Each line is the best of several runs, since others may use the host meanwhile.

use cohort_machine::description::shipped;
use cohort_machine::{Hardware, Length, Memory, Options, Outcome, Placement, Run, Waiting};
use cohort_on_machine::RawLock;
use cohort_on_machine::basic::{Clh, Futex, Mcs, Ticket};
use std::time::Instant;

/// Runs of each line.
const RUNS: usize = 5;

/// Virtual nanoseconds of a run.
const LENGTH: u64 = 5_000_000;

/// LBench (000 §5.1.1): two lines under the lock, then about 4 µs of work.
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
        },
        ..Options::default()
    };
    let mut run = Run::new(hardware, &memory, options);
    for _ in 0..threads {
        let memory = &memory;
        run.spawn(move |thread| {
            let context = memory.lock(L::Context::default());
            while !thread.is_over() {
                lock.acquire(context);
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

fn line(name: &str, machine: &str, threads: usize, run: fn(&Hardware, usize) -> Outcome) {
    let machine = shipped::find(machine).unwrap_or_else(|| panic!("{machine} is not shipped"));
    let hardware = Hardware::new(&machine);
    let rates = (0..RUNS).map(|_| {
        let begin = Instant::now();
        let steps = run(&hardware, threads).steps;
        (steps as f64 / begin.elapsed().as_secs_f64() / 1e6, steps)
    });
    let (rate, steps) = rates.fold(
        (0.0, 0),
        |best, rate| if rate.0 > best.0 { rate } else { best },
    );
    println!(
        "{name:8} {:16} {threads:4} threads  {rate:6.1} M accesses/s  ({steps} accesses)",
        hardware.name()
    );
}

/// The most memory this process has had, in MiB.
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
