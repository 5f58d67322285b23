//! Recorded outcomes: a change of the engine that is not one of the model changes no byte of them.
//!
//! `COHORT_WRITE=1 cargo test -p cohort-on-machine -- recorded` records the outcomes of a changed
//! model, or of a changed lock.

use super::properties::{sections, text};
use super::trial::{AMPERE, EPYC, HASWELL, KUNPENG, SUNFIRE};
use crate::locks::door::now;
use crate::locks::{Abortable, Deadline, Outcome as Acquisition, Patience, RawLock};
use crate::slowest;
use cohort_machine::{Hardware, Length, Memory, Options, Outcome, Placement, Run, Waiting};
use libtest_mimic::{Failed, Trial};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::Path;
use std::sync::{LazyLock, Mutex};

/// One run of a lock.
type Case = (String, fn() -> Outcome);

/// The environment variable that records outcomes.
const WRITE: &str = "COHORT_WRITE";

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recorded.txt");

const HEAD: &str = "\
# Runs of locks on simulated machines: steps, and the first digits of the SHA-256 of the outcome.
# `COHORT_WRITE=1 cargo test -p cohort-on-machine -- recorded` writes this file.
";

/// The file's lines by the name of their run.
static RECORDED: LazyLock<Mutex<BTreeMap<String, String>>> = LazyLock::new(|| {
    let text = fs::read_to_string(FILE).unwrap_or_default();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let lines = lines.filter_map(|line| line.split_once(": "));
    Mutex::new(
        lines
            .map(|(run, seen)| (run.to_owned(), seen.to_owned()))
            .collect(),
    )
});

fn options(seed: u64, waiting: Waiting, spin: u64) -> Options {
    Options {
        placement: Placement::Scattered,
        waiting,
        spin,
        seed,
        length: Length {
            warm_up: 10_000,
            least: 60_000,
            most: 120_000,
            ..Length::default()
        },
        ..Options::default()
    }
}

/// Spinning waiters, with load-linked and store-conditional.
fn spins<L: RawLock<Context: 'static>>() -> Outcome {
    sections::<L>(&KUNPENG, 48, options(1, Waiting::Spin, u64::MAX))
}

/// Spinning waiters that yield late, on all hardware threads of some cores, under MOESI.
fn yields_late<L: RawLock<Context: 'static>>() -> Outcome {
    let compact = Options {
        placement: Placement::Compact,
        ..options(2, Waiting::Spin, 2_000)
    };
    sections::<L>(&EPYC, 40, compact)
}

/// Sleeping waiters, under MESIF.
fn parks<L: RawLock<Context: 'static>>() -> Outcome {
    sections::<L>(&HASWELL, 20, options(3, Waiting::Park, 150))
}

/// More threads than CPUs, beside other load; threads move.
fn is_crowded<L: RawLock<Context: 'static>>() -> Outcome {
    let crowded = Options {
        placement: Placement::Cpus(vec![0, 17, 34, 51, 68]),
        pinned: false,
        background: 3,
        ..options(4, Waiting::Park, 150)
    };
    sections::<L>(&KUNPENG, 11, crowded)
}

/// Waiters that yield at every look, two on some CPUs, over two hops.
fn yields<L: RawLock<Context: 'static>>() -> Outcome {
    let placement = Placement::Cpus((0..128).step_by(9).chain([0, 9, 18]).collect());
    let few = Options {
        placement,
        ..options(5, Waiting::Yield, 150)
    };
    sections::<L>(&SUNFIRE, 18, few)
}

/// One large cache group.
fn shares_a_cache<L: RawLock<Context: 'static>>() -> Outcome {
    sections::<L>(&AMPERE, 192, options(6, Waiting::Spin, u64::MAX))
}

/// Waiters with deadlines, the lock's and the clock's.
fn gives_up<L: Abortable<Context: 'static>>() -> Outcome {
    timed::<L>(&EPYC, 24, options(7, Waiting::Spin, u64::MAX))
}

/// The same, asleep.
fn gives_up_asleep<L: Abortable<Context: 'static>>() -> Outcome {
    timed::<L>(&KUNPENG, 24, options(8, Waiting::Park, 150))
}

fn timed<L: Abortable<Context: 'static>>(
    hardware: &Hardware,
    threads: usize,
    options: Options,
) -> Outcome {
    let memory = Memory::new();
    let lock = memory.lock(L::default());
    let line = memory.bytes(1);
    let mut run = Run::new(hardware, &memory, options);
    for _ in 0..threads {
        let memory = &memory;
        run.spawn(move |thread| {
            let context = memory.lock(L::Context::default());
            while !thread.is_over() {
                let until = now() + 1_000 + thread.random_below(20_000);
                let patience = Patience::until(Deadline::monotonic(until));
                thread.begin();
                // SAFETY: only this thread uses the context. Like the lock, it lies in the
                // machine's memory until the run is over.
                if unsafe { lock.acquire_within(context, &patience) } == Acquisition::Acquired {
                    thread.acquired(0);
                    thread.write(line);
                    thread.work(500);
                    // SAFETY: acquired above, with this context.
                    unsafe { lock.release(context) };
                } else {
                    thread.gave_up();
                }
                thread.work(thread.random_below(1_000));
                thread.round();
            }
        });
    }
    run.go().unwrap_or_else(|failure| panic!("{failure}"))
}

macro_rules! timed {
    (@Abortable $all:ident, $name:ident, $lock:ty) => {
        $all.extend([
            (stringify!($name timed).to_owned(), gives_up::<$lock> as fn() -> Outcome),
            (stringify!($name timed, asleep).to_owned(), gives_up_asleep::<$lock>),
        ]);
    };
    (@$other:ident $all:ident, $name:ident, $lock:ty) => {};
}

macro_rules! cases {
    ($($name:ident, $lock:ty, $storage:ident, [$($alias:literal),*], $about:literal,
       $source:literal, [$($capability:ident),*];)+) => {
        {
            let mut all: Vec<(&'static str, Vec<Case>)> = Vec::new();
            $(
                #[allow(unused_mut, reason = "only locks with deadlines have further cases")]
                let mut cases: Vec<Case> = vec![
                    (stringify!($name spins).to_owned(), spins::<$lock>),
                    (stringify!($name yields late).to_owned(), yields_late::<$lock>),
                    (stringify!($name parks).to_owned(), parks::<$lock>),
                    (stringify!($name is crowded).to_owned(), is_crowded::<$lock>),
                    (stringify!($name yields).to_owned(), yields::<$lock>),
                    (stringify!($name shares a cache).to_owned(), shares_a_cache::<$lock>),
                ];
                $(timed!(@$capability cases, $name, $lock);)*
                all.push((stringify!($name), cases));
            )+
            all
        }
    };
}

/// The runs' outcomes are those recorded.
fn repeats(cases: &[Case]) -> Result<(), Failed> {
    let mut others = Vec::new();
    for (name, run) in cases {
        let outcome = run();
        let digest = Sha256::digest(text(&outcome).as_bytes());
        let digest: String = digest[..8]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let seen = format!("{} {digest}", outcome.steps);
        let mut recorded = RECORDED.lock().unwrap_or_else(|broken| broken.into_inner());
        if env::var_os(WRITE).is_some() {
            recorded.insert(name.clone(), seen);
            write(&recorded)?;
        } else if recorded.get(name) != Some(&seen) {
            let was = recorded.get(name).map_or("not recorded", String::as_str);
            others.push(format!("{name}: {seen}, was {was}"));
        }
    }
    if others.is_empty() {
        return Ok(());
    }
    let how = "COHORT_WRITE=1 records them, if the model or the lock was to change";
    Err(Failed::from(format!("{}\n{how}", others.join("\n"))))
}

fn write(recorded: &BTreeMap<String, String>) -> std::io::Result<()> {
    let mut text = HEAD.to_owned();
    for (run, seen) in recorded {
        text += &format!("{run}: {seen}\n");
    }
    fs::write(Path::new(FILE), text)
}

pub fn tests() -> Vec<Trial> {
    let all = cohort_on_machine::for_each_lock!(cases);
    let baselines = cohort_on_machine::for_each_baseline!(cases);
    let all = all.into_iter().chain(baselines);
    all.map(|(name, cases)| slowest::trial(format!("recorded::{name}"), move || repeats(&cases)))
        .collect()
}
