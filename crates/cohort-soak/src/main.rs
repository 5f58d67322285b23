//! Soak tests of Rust-only features: upgrades of read locks, delegates of every kind, tokens, and
//! tasks with dropped futures.
//!
//! `cohort-soak FAMILY SECONDS THREADS SEED`, with the crate's feature `chaos`. The exit status is 0
//! on success. On a wrong result, or if a thread completes no round for 30 seconds, it prints the seed
//! and each thread's last operation, and exits with status 1.

mod dice;
mod sections;
mod shared_tasks;
mod soak;
mod tasks;
mod upgrades;

use cohort::basic::{Futex, Mcs};
use cohort::delegation::{CcSynch, Fc, Sanl, SanlPlus};
use sections::Queueing;
use soak::Soak;
use std::process::ExitCode;

/// A family's name and function.
type Family = (&'static str, fn(&Soak));

const FAMILIES: [Family; 13] = [
    ("upgrade", upgrades::soak),
    ("futex", sections::soak::<Futex>),
    ("cc-synch", sections::soak::<CcSynch>),
    ("fc", sections::soak::<Fc>),
    ("sanl", sections::soak::<Sanl>),
    ("rcl", sections::soak_served),
    ("sanl-plus", sections::soak_unbounded::<SanlPlus>),
    ("sanl-plus-rides", sections::soak_unbounded::<Queueing>),
    ("posts-sanl", sections::soak_posts::<Sanl>),
    ("posts-fc", sections::soak_posts::<Fc>),
    ("tasks", tasks::soak::<Futex>),
    ("tasks-mcs", tasks::soak::<Mcs>),
    ("tasks-rwlock", shared_tasks::soak),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let started = match arguments.as_slice() {
        [family, seconds, threads, seed] => {
            let family = FAMILIES.iter().find(|(name, _)| name == family);
            let soak = Soak::new(seconds, threads, seed);
            family.zip(soak)
        }
        _ => None,
    };
    let Some(((_, run), soak)) = started else {
        let names: Vec<&str> = FAMILIES.iter().map(|(name, _)| *name).collect();
        eprintln!(
            "usage: cohort-soak FAMILY SECONDS THREADS SEED, where FAMILY is one of {}",
            names.join(", ")
        );
        return ExitCode::from(2);
    };
    run(&soak);
    println!("{} rounds", soak.rounds());
    ExitCode::SUCCESS
}
