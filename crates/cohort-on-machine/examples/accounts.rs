//! Would my program scale on 128 CPUs?
//!
//! ```sh
//! cargo run --release -p cohort-on-machine --example accounts kunpeng-920x2
//! ```
//!
//! `examples/testing/accounts.rs` is compiled with the locks of this package, and each of their accesses
//! to memory costs what it would on the simulated machine; `cohort machines` lists those that are
//! shipped.  The program's own data costs nothing by itself, so a thread says where it touches a
//! line of its own, and for how many cycles it works.

#[allow(dead_code, reason = "the total is unused here")]
#[path = "../../../examples/testing/accounts.rs"]
mod accounts;

use accounts::Accounts;
use cohort_machine::description::shipped;
use cohort_machine::{Hardware, Length, Memory, Options, Run};
use cohort_on_machine as locks;
use locks::basic::{Mcs, Ticket};
use locks::compose::CTktMcs;
use locks::{RawLock, ThreadOblivious};

/// Few, so that threads meet.
const ACCOUNTS: usize = 16;

/// Transfers in a second of the machine's time.
fn transfers<L>(hardware: &Hardware, threads: usize) -> f64
where
    L: RawLock + ThreadOblivious + 'static,
{
    let memory = Memory::new();
    let accounts = memory.lock(Accounts::<L, ACCOUNTS>::new(1_000_000));
    let length = Length {
        warm_up: 20_000,
        least: 100_000,
        most: 5_000_000,
        ..Length::default()
    };
    let options = Options {
        length,
        ..Options::default()
    };
    let mut run = Run::new(hardware, &memory, options);
    for _ in 0..threads {
        run.spawn(move |thread| {
            while !thread.is_over() {
                let [from, to] = [(); 2].map(|()| thread.random_below(ACCOUNTS as u64) as usize);
                accounts.transfer(from, to, 1);
                // What the program does besides.
                thread.work(2_000);
                thread.round();
            }
        });
    }
    let outcome = run.go().expect("no deadlock");
    outcome.throughput()
}

fn main() {
    let name = std::env::args().nth(1);
    let name = name.as_deref().unwrap_or("kunpeng-920x2");
    let Some(machine) = shipped::find(name) else {
        eprintln!("accounts: there is no machine {name}: see cohort machines");
        std::process::exit(2);
    };
    let hardware = Hardware::new(&machine);
    println!("transfers by {name}, simulated, each figure over that of one thread:");
    println!("threads    ticket       mcs  c-tkt-mcs");
    let measure = |threads| {
        [
            transfers::<Ticket>(&hardware, threads),
            transfers::<Mcs>(&hardware, threads),
            transfers::<CTktMcs>(&hardware, threads),
        ]
    };
    let alone = measure(1);
    for threads in [1, 8, 32, 128]
        .into_iter()
        .filter(|threads| *threads <= hardware.cpus())
    {
        let all = measure(threads);
        let [ticket, mcs, cohort] = [0, 1, 2].map(|lock| all[lock] / alone[lock]);
        println!("{threads:7} {ticket:9.1} {mcs:9.1} {cohort:10.1}");
    }
}
