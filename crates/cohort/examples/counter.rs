//! Four threads share a counter under three locks, and a thread waits for its value.
//!
//! `cargo run --example counter`

use cohort::basic::Ticket;
use cohort::compose::{CTktMcs, Gated};
use cohort::{Condvar, Mutex, RawLock, ThreadOblivious};
use std::thread::scope;

static DEFAULT: Mutex<u64> = Mutex::new(0);
static IN_TURNS: Mutex<u64, Ticket> = Mutex::from_raw(Ticket::new(), 0);

const THREADS: u64 = 4;
const ROUNDS: u64 = 10_000;

fn count<L: RawLock + ThreadOblivious + 'static>(name: &str, total: &Mutex<u64, L>) {
    let changed = Condvar::new();
    scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..ROUNDS {
                    *total.lock() += 1;
                }
                changed.notify_one();
            });
        }
        let mut total = total.lock();
        changed.wait_while(&mut total, |total| *total < THREADS * ROUNDS);
        println!("{name}: {total}");
    });
}

fn main() {
    count("default", &DEFAULT);
    count("ticket", &IN_TURNS);
    // NUMA-aware, with admission control for more threads than CPUs.
    let by_node: Mutex<u64, Gated<CTktMcs>> = Mutex::from(0);
    count("c-tkt-mcs", &by_node);
}
