//! What does it cost that no thread waits for another?
//!
//! ```sh
//! cargo run --release -p cohort-on-machine --example copying opteron-6274x8
//! ```
//!
//! Threads add to one number, some thousand cycles apart: under `p-sim`, each on a copy of its own, and under
//! locks that sections are brought to.  Every access of `p-sim` to its copies costs what it would on the
//! simulated machine; under the locks the number itself costs nothing, and their own accesses do.

use cohort_machine::description::shipped;
use cohort_machine::{Hardware, Length, Memory, Options, Run, Waiting};
use cohort_on_machine as locks;
use locks::delegation::{CcSynch, PSim, SanlPlus};
use locks::{Delegate, Delegated};

/// As many threads as there may be.
const SEATS: usize = 64;

/// Additions in a second of the machine's time, in thousands; `add` makes what one thread does in its rounds.
fn thousands<'a>(
    hardware: &'a Hardware,
    memory: &'a Memory,
    threads: usize,
    apart: u64,
    add: impl Fn() -> Box<dyn FnMut() + 'a>,
) -> f64 {
    let length = Length {
        warm_up: 100_000,
        least: 400_000,
        most: 4_000_000,
        ..Length::default()
    };
    let options = Options {
        length,
        waiting: Waiting::Spin,
        spin: u64::MAX,
        ..Options::default()
    };
    let mut run = Run::new(hardware, memory, options);
    for _ in 0..threads {
        let mut add = add();
        run.spawn(move |thread| {
            while !thread.is_over() {
                add();
                thread.work(apart);
                thread.round();
            }
        });
    }
    let outcome = run.go().expect("no deadlock");
    outcome.throughput() / 1000.0
}

fn delegated<D: Delegate + 'static>(hardware: &Hardware, threads: usize, apart: u64) -> f64 {
    let memory = Memory::new();
    let total = memory.lock(Delegated::<u64, D>::from(0));
    thousands(hardware, &memory, threads, apart, || {
        Box::new(move || total.run(|total| *total += 1))
    })
}

fn copying(hardware: &Hardware, threads: usize, apart: u64) -> f64 {
    let memory = Memory::new();
    let total = memory.lock(PSim::<u64, u64, u64, SEATS>::new(0));
    thousands(hardware, &memory, threads, apart, || {
        let mut seat = total.seat().expect("there is one for each thread");
        Box::new(move || {
            seat.apply(1, |total, by| {
                *total += by;
                *total
            });
        })
    })
}

fn main() {
    let name = std::env::args().nth(1);
    let name = name.as_deref().unwrap_or("opteron-6274x8");
    let Some(machine) = shipped::find(name) else {
        eprintln!("copying: there is no machine {name}: see cohort machines");
        std::process::exit(2);
    };
    let hardware = Hardware::new(&machine);
    let most = hardware.cpus().min(SEATS) - 1;
    println!("thousand additions a second by {name}, simulated:");
    println!("threads  apart    p-sim  cc-synch     sanl+");
    for threads in [1, 2, 8, most] {
        for apart in [100, 10_000] {
            let copying = copying(&hardware, threads, apart);
            let queue = delegated::<CcSynch>(&hardware, threads, apart);
            let buses = delegated::<SanlPlus>(&hardware, threads, apart);
            println!("{threads:7} {apart:6} {copying:8.0} {queue:9.0} {buses:9.0}");
        }
    }
}
