//! `glk` with more threads than CPUs, on every shipped machine: it keeps up with the C library's
//! mutex with its immediate sleep. Threads are not pinned, as in the paper: of several awake
//! threads pinned to one CPU, one runs while other CPUs are idle.

use super::trial::full;
use crate::clients::host::{self, Host};
use crate::locks::RawLock;
use crate::locks::adaptive::Glk;
use crate::locks::baseline::Posix;
use crate::locks::door::nap;
use crate::locks::numa::FutexHmcs;
use crate::slowest;
use cohort_machine::description::shipped::{self, MACHINES};
use cohort_machine::{Hardware, Length, Memory, Options, Run};
use libtest_mimic::{Failed, Trial};
use std::fmt;

/// A loop around critical sections.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Work {
    /// All threads use one lock.
    Loop,
    /// Each critical section uses one of several locks, the k-th with a weight of 1/k (Antić et al.
    /// 2016 §3.2).
    Zipf,
    /// One lock; the number of threads and the length of critical sections change by phases.
    Phases,
}

/// Locks of [`Work::Zipf`].
const LOCKS: usize = 8;

/// Cycles of a critical section, and between two of them.
const SECTION: u64 = 1_024;
const PAUSE: u64 = 200;

/// Nanoseconds of a phase, and the number of phases.
const PHASE: u64 = 2_000_000;
const PHASES: u64 = 8;

/// Nanoseconds of warm-up and of counting: several periods of `glk`, and several time slices.
const WARM_UP: u64 = 20_000_000;
const COUNTED: u64 = 24_000_000;

/// The minimum of `glk`'s throughput relative to the mutex's: for the bare lock, and hosted, where
/// each acquisition also registers and deregisters.
const KEEPS_UP: [f64; 2] = [0.9, 0.85];

/// Machines on which the default lock, which `glk` uses when oversubscribed, has less throughput
/// than the C library's mutex: 0.8 on the first; 0.7 on the second with one thread more than CPUs.
/// There, `glk` is compared with the default lock.
const BEHIND: [&str; 2] = ["epyc-9454p", "i5-12500"];

/// A lock in use by threads.
pub trait Used {
    /// Per-thread state for acquisitions.
    type Mine: Default;

    fn acquire(&self, mine: &Self::Mine);
    fn release(&self, mine: &Self::Mine);
}

/// The bare lock.
#[derive(Default)]
pub struct Raw<L>(pub L);

impl<L: RawLock> Used for Raw<L> {
    type Mine = L::Context;

    fn acquire(&self, mine: &L::Context) {
        // SAFETY: the thread's own context. Like the lock, it lies in the machine's memory until
        // the run is over.
        unsafe { self.0.acquire(mine) };
    }

    fn release(&self, mine: &L::Context) {
        // SAFETY: acquired with this context.
        unsafe { self.0.release(mine) };
    }
}

/// The hosted lock.
pub struct Served<H>(pub H);

impl<H: Host> Used for Served<H> {
    type Mine = ();

    fn acquire(&self, (): &()) {
        self.0.lock();
    }

    fn release(&self, (): &()) {
        assert!(self.0.unlock(), "the holder does not hold it");
    }
}

/// A point of the grid.
#[derive(Clone, Copy)]
pub struct Point {
    pub work: Work,
    pub threads: usize,
    pub seed: u64,
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            work,
            threads,
            seed,
        } = self;
        write!(f, "{work:?}, {threads} threads, seed {seed}")
    }
}

/// A hash of the two numbers.
const fn mixed(seed: u64, number: u64) -> u64 {
    let mut mixed = (seed << 32 | number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ mixed >> 31
}

/// Critical sections per second.
fn throughput<U: Used>(make: impl Fn() -> U, hardware: &Hardware, point: Point) -> f64 {
    let Point {
        work,
        threads,
        seed,
    } = point;
    let memory = Memory::new();
    let locks: Vec<&U> = (0..if work == Work::Zipf { LOCKS } else { 1 })
        .map(|_| memory.lock(make()))
        .collect();
    // The sum of the weights is a partial sum of the harmonic series.
    let weights: Vec<u64> = (1..=LOCKS as u64).map(|number| 840 / number).collect();
    let options = Options {
        seed,
        pinned: false,
        length: Length {
            warm_up: WARM_UP,
            least: COUNTED,
            most: COUNTED,
            ..Length::default()
        },
        ..Options::default()
    };
    let mut run = Run::new(hardware, &memory, options);
    for index in 0..threads as u64 {
        let (memory, locks, weights) = (&memory, &locks, &weights);
        run.spawn(move |thread| {
            let mine = memory.lock(U::Mine::default());
            while !thread.is_over() {
                let (mut lock, mut section) = (0, SECTION);
                match work {
                    Work::Loop => {}
                    Work::Zipf => {
                        let mut at = thread.random_below(weights.iter().sum());
                        while at >= weights[lock] {
                            at -= weights[lock];
                            lock += 1;
                        }
                    }
                    Work::Phases => {
                        let now = thread.now();
                        let phase = now / PHASE;
                        let drawn = mixed(seed, phase % PHASES);
                        if index > drawn % threads as u64 {
                            nap((phase + 1) * PHASE - now);
                            continue;
                        }
                        section = (drawn >> 32) % (2 * SECTION);
                    }
                }
                locks[lock].acquire(mine);
                thread.acquired(lock);
                thread.work(section);
                locks[lock].release(mine);
                thread.round();
                thread.work(PAUSE - PAUSE / 10 + thread.random_below(PAUSE / 5));
            }
        });
    }
    let outcome = run.go().unwrap_or_else(|failure| panic!("{failure}"));
    outcome.throughput()
}

/// The throughput of `glk` relative to the mutex's: of the bare lock, and hosted if there is one
/// lock. Each host here has its own pool, and threads have a cache for one pool only.
fn shares(hardware: &Hardware, point: Point, mutex: f64) -> Vec<f64> {
    let served = || {
        let make = || Served(host::inflated_adapting::<Glk>());
        throughput(make, hardware, point)
    };
    let mut all = vec![throughput(Raw::<Glk>::default, hardware, point)];
    all.extend((point.work != Work::Zipf).then(served));
    all.iter().map(|glk| glk / mutex).collect()
}

/// Threads per ten CPUs.
const TENTHS: [usize; 4] = [11, 15, 20, 40];
const SEEDS: [u64; 4] = [1, 2, 3, 4];
const WORKS: [Work; 3] = [Work::Loop, Work::Zipf, Work::Phases];

/// Points of the quick tier, including one at which a capped count of the queue kept the lock in
/// `mcs`.
const QUICK: [(&str, Work, usize, u64); 3] = [
    ("haswell-ep-2s", Work::Loop, 20, 1),
    ("haswell-ep-2s", Work::Zipf, 20, 1),
    ("i5-12500", Work::Phases, 40, 2),
];

fn keeps_up(machine: &str, work: Work, tenths: usize, seed: u64) -> Result<(), Failed> {
    let description = shipped::find(machine).ok_or("it is shipped")?;
    let hardware = Hardware::new(&description);
    let point = Point {
        work,
        threads: description.hierarchy.cpus() * tenths / 10,
        seed,
    };
    let mut mutex = throughput(Raw::<Posix>::default, &hardware, point);
    if BEHIND.contains(&machine) {
        mutex = mutex.min(throughput(Raw::<FutexHmcs>::default, &hardware, point));
    }
    let shares = shares(&hardware, point, mutex);
    if shares
        .iter()
        .zip(KEEPS_UP)
        .any(|(share, least)| *share < least)
    {
        let why = format!("{machine}, {point}: {shares:.2?} of the mutex");
        return Err(Failed::from(why));
    }
    Ok(())
}

/// All tests of this module.
pub fn tests() -> Vec<Trial> {
    let mut all = Vec::new();
    for machine in MACHINES {
        for work in WORKS {
            for tenths in TENTHS {
                for seed in SEEDS {
                    let name = format!("crowd::{}::{work:?}::{tenths}::{seed}", machine.name);
                    let quick = QUICK.contains(&(machine.name, work, tenths, seed));
                    all.push(slowest::tiered(!full() && !quick, name, move || {
                        keeps_up(machine.name, work, tenths, seed)
                    }));
                }
            }
        }
    }
    all
}
