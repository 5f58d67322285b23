//! One replay, in a world.

use super::plan::{Act, Plan, Step};
use crate::bench::player::update;
use crate::world::{Actor, Gate, Memory, Tested, World};
use cohort::{Outcome, Patience};
use cohort_trace::{How, Kind};
use hdrhistogram::Histogram;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use serde::Serialize;
use std::sync::Arc;

/// Significant digits of a time.
const DIGITS: u8 = 2;

/// The lock under test and how often each thread is there.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The lock of mutexes.
    pub lock: String,
    /// The lock of rwlocks.
    pub rwlock: String,
    /// Copies of each thread.
    pub copies: usize,
    /// The seed of the threads' offsets.
    pub seed: u64,
}

/// Result of a replay.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Measured {
    /// Acquisitions.
    pub acquisitions: u64,
    /// Seconds from the first thread's beginning to the last one's end.
    pub seconds: f64,
    /// Acquisitions per second.
    pub per_second: f64,
    /// The share of the threads' time between the request of a lock and its acquisition.
    pub lost: f64,
    /// The 99th percentile of that time, in seconds.
    pub p99: f64,
    /// The longest such time, in seconds.
    pub longest: f64,
    /// Attempts and timed acquisitions without success.
    pub failed: u64,
}

/// One thread's part.
struct Part {
    acquisitions: u64,
    failed: u64,
    waited: u64,
    lived: u64,
    waits: Histogram<u64>,
}

impl Default for Part {
    fn default() -> Self {
        Self {
            acquisitions: 0,
            failed: 0,
            waited: 0,
            lived: 0,
            waits: Histogram::new(DIGITS).expect("the digits are few"),
        }
    }
}

/// A lock with its lines.
struct Guarded<W: World> {
    lock: Arc<dyn Tested>,
    data: Arc<W::Memory>,
    lines: usize,
}

/// What all threads share.
struct Shared<W: World> {
    plan: Arc<Plan>,
    locks: Vec<Guarded<W>>,
    /// Each thread's counter of events that others wait for.
    gates: Vec<Arc<dyn Gate>>,
    copies: usize,
    seed: u64,
    cycles_each: f64,
}

/// Replays a plan once. Blocks.
///
/// # Errors
/// There is no lock of that name, or the world's error, such as a deadlock.
pub fn run<W: World>(
    mut world: W,
    plan: &Arc<Plan>,
    setting: &Setting,
) -> Result<Measured, String> {
    world.has_room(&setting.lock)?;
    let threads = plan.threads() * setting.copies;
    let mut locks = Vec::new();
    for (number, planned) in plan.locks.iter().enumerate() {
        let name = match planned.kind {
            Kind::Rwlock => &setting.rwlock,
            _ => &setting.lock,
        };
        let lock = world.lock(name, threads);
        let lock = lock.ok_or_else(|| format!("there is no lock `{name}` for lock {number}"))?;
        locks.push(Guarded {
            lock,
            data: world.memory(planned.lines),
            lines: planned.lines,
        });
    }
    let gates = (0..threads).map(|_| world.gate()).collect();
    let hertz = world.hertz();
    let shared: Shared<W> = Shared {
        plan: Arc::clone(plan),
        locks,
        gates,
        copies: setting.copies,
        seed: setting.seed,
        cycles_each: hertz / 1e9,
    };
    let body = move |index: usize, mut actor: W::Actor, part: &mut Part| {
        shared.take_part(index, &mut actor, part);
    };
    let played = world.play(threads, body)?;
    if played.unfinished > 0 {
        return Err(format!(
            "{} of {threads} threads did not end",
            played.unfinished
        ));
    }
    let sum = |of: fn(&Part) -> u64| played.parts.iter().map(of).sum::<u64>();
    let mut waits = Part::default().waits;
    for part in &played.parts {
        waits.add(&part.waits).expect("it grows");
    }
    let (acquisitions, seconds) = (sum(|part| part.acquisitions), played.cycles as f64 / hertz);
    Ok(Measured {
        acquisitions,
        seconds,
        per_second: acquisitions as f64 / seconds,
        lost: sum(|part| part.waited) as f64 / sum(|part| part.lived).max(1) as f64,
        p99: waits.value_at_quantile(0.99) as f64 / hertz,
        longest: waits.max() as f64 / hertz,
        failed: sum(|part| part.failed),
    })
}

impl<W: World> Shared<W> {
    /// One thread's part: a copy of a recorded thread.
    fn take_part(&self, index: usize, actor: &mut W::Actor, part: &mut Part) {
        let threads = self.plan.threads();
        let (copy, thread) = (index / threads, index % threads);
        let seed = self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ index as u64;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        // Copies do not run in step, nor do the threads of two seeds.
        let round = self.plan.round / self.copies as u64;
        let shift = copy as u64 * round + random.random_range(0..=round);
        let begun = actor.now();
        actor.work(self.cycles(shift));
        let mut replayed = Replayed {
            shared: self,
            actor,
            part,
            index,
            copy,
            told: 0,
            held: vec![0; self.locks.len()],
            reads: vec![false; self.locks.len()],
        };
        for step in &self.plan.threads[thread] {
            replayed.step(step);
        }
        replayed.forget();
        let ended = replayed.actor.now();
        part.lived = ended.saturating_sub(begun);
    }

    fn cycles(&self, nanoseconds: u64) -> u64 {
        (nanoseconds as f64 * self.cycles_each) as u64
    }
}

/// A running thread.
struct Replayed<'a, W: World> {
    shared: &'a Shared<W>,
    actor: &'a mut W::Actor,
    part: &'a mut Part,
    index: usize,
    copy: usize,
    told: u32,
    /// How often it holds each lock.
    held: Vec<u32>,
    /// Whether it holds each for reading.
    reads: Vec<bool>,
}

impl<W: World> Replayed<'_, W> {
    fn step(&mut self, step: &Step) {
        if step.computes > 0 {
            self.actor.work(self.shared.cycles(step.computes));
        }
        self.sleep(step.sleeps);
        match step.act {
            Act::None => {}
            Act::Acquire { lock, how } => self.acquire(lock as usize, how),
            Act::Attempt {
                lock,
                patience,
                keeps,
            } => self.attempt(lock as usize, patience, keeps),
            Act::Release { lock } => self.release(lock as usize),
            Act::Forget => self.forget(),
            Act::Tell => {
                self.told += 1;
                self.shared.gates[self.index].open(self.told);
            }
            Act::Await { thread, told } => {
                let other = self.copy * self.shared.plan.threads() + thread as usize;
                self.shared.gates[other].wait(told);
            }
            Act::Sleep(nanoseconds) => self.sleep(nanoseconds),
        }
    }

    fn sleep(&mut self, nanoseconds: u64) {
        if nanoseconds > 0 {
            let until = self.actor.now() + self.shared.cycles(nanoseconds);
            self.actor.sleep_until(until);
        }
    }

    fn acquire(&mut self, lock: usize, how: How) {
        if self.held[lock] > 0 {
            self.held[lock] += 1;
            self.part.acquisitions += 1;
            return;
        }
        let guarded = &self.shared.locks[lock];
        let begun = self.begins();
        let is_read = how == How::Read;
        if is_read {
            guarded.lock.read(self.index);
        } else {
            guarded.lock.acquire(self.index);
        }
        self.took(lock, begun, is_read);
    }

    /// Acquires a lock within that time, if possible; a lock without timeouts is waited for.
    fn attempt(&mut self, lock: usize, patience: u64, keeps: bool) {
        if self.held[lock] > 0 {
            self.part.failed += u64::from(!keeps);
            self.held[lock] += u32::from(keeps);
            return;
        }
        let guarded = &self.shared.locks[lock];
        let begun = self.begins();
        let deadline = self.actor.deadline(self.shared.cycles(patience));
        let patience = Patience::until(deadline);
        let outcome = guarded.lock.acquire_within(self.index, &patience);
        if outcome == Some(Outcome::GaveUp) {
            self.actor.has_waited();
            self.actor.gave_up();
            self.part.waited += self.actor.now() - begun;
            self.part.failed += 1;
            return;
        }
        if outcome.is_none() {
            guarded.lock.acquire(self.index);
        }
        self.took(lock, begun, false);
        if !keeps {
            self.release(lock);
        }
    }

    /// Notes the beginning of an acquisition; returns the time.
    fn begins(&mut self) -> u64 {
        self.actor.waits();
        self.actor.now()
    }

    /// Counts an acquisition that began at that time, and touches the lock's lines.
    fn took(&mut self, lock: usize, begun: u64, is_read: bool) {
        self.actor.has_waited();
        let waited = self.actor.now() - begun;
        self.part.waited += waited;
        self.part.waits.record(waited).expect("it grows");
        self.part.acquisitions += 1;
        self.held[lock] = 1;
        self.reads[lock] = is_read;
        let guarded = &self.shared.locks[lock];
        if is_read {
            self.actor.shares();
            for line in 0..guarded.lines {
                guarded.data.read(line, 0);
            }
        } else {
            self.actor.entered(lock);
            for line in 0..guarded.lines {
                update(&*guarded.data, line, 1);
            }
        }
    }

    fn release(&mut self, lock: usize) {
        match self.held[lock] {
            // An attempt that succeeded in the trace and failed here.
            0 => return,
            1 => {}
            more => {
                self.held[lock] = more - 1;
                return;
            }
        }
        self.held[lock] = 0;
        let guarded = &self.shared.locks[lock];
        if self.reads[lock] {
            // SAFETY: this thread acquired it for reading, and released it no more.
            unsafe { guarded.lock.release_read(self.index) };
        } else {
            // SAFETY: this thread acquired it, and released it no more.
            unsafe { guarded.lock.release(self.index) };
        }
    }

    /// Releases all locks.
    fn forget(&mut self) {
        for lock in 0..self.held.len() {
            if self.held[lock] > 0 {
                self.held[lock] = 1;
                self.release(lock);
            }
        }
    }
}
