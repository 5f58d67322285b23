//! What a run's threads achieved, and when its figures are steady.

use super::clock::{CYCLE, NEVER, Ticks};
use super::hardware::Hardware;
use super::options::{Length, Options};
use super::steady::{Batches, Rule};
use super::tally::Traffic;
use super::thread::Thread;
use hdrhistogram::Histogram;
use std::collections::{BTreeMap, BTreeSet};

/// Rounds of service that a run has to have room for: as many times has each thread that waits been
/// served, or has given up, since the round before ended.  Where a lock gives turns to its threads, each
/// of them has had one.
const SERVICES: u64 = 2;

/// Times that the top level has to change hands before a run is long enough:
/// under a lock of several levels, that is what takes longest to even out.
const HANDS: u64 = 30;

/// What is counted beside the caches' traffic.
#[derive(Debug)]
pub(crate) struct Record {
    length: Bounds,
    /// When the next look at the run's length is due.
    due: Ticks,
    pub(crate) phase: Phase,
    /// When counting began and ended.
    pub(crate) began: Ticks,
    pub(crate) ended: Ticks,
    pub(crate) rule: Option<Rule>,
    /// The traffic when counting began; afterwards, that of the time counted.
    pub(crate) traffic: Option<Traffic>,
    /// Time of CPUs that had a thread, and of those that only polled.
    pub(crate) busy: Ticks,
    pub(crate) polling: Ticks,
    batches: Batches,
    pub(crate) threads: Vec<Work>,
    locks: Vec<Lock>,
    /// Hand-overs of locks, by the smallest level that holds both CPUs; the first
    /// entry is for the same CPU.
    pub(crate) handovers: Vec<u64>,
    pub(crate) acquire: Histogram<u64>,
    pub(crate) release: Histogram<u64>,
    pub(crate) events: Events,
    /// What locks count of themselves, and how often their states changed in the whole run.
    tallies: BTreeMap<&'static str, u64>,
    changes: BTreeMap<&'static str, u64>,
    /// The states that are true now, and of what.
    states: BTreeSet<(&'static str, usize)>,
    /// The largest level that has several cohorts.
    top: usize,
    hands: u64,
    /// Waits that threads have given up.
    given_up: u64,
    /// Rounds of service, and when the present one began.
    services: u64,
    service: Ticks,
}

/// What happened in the kernel and in waits.
#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
pub struct Events {
    /// Looks that found nothing new and were simulated one by one.
    pub polls: u64,
    /// Threads that went to sleep.
    pub sleeps: u64,
    /// Sleepers that somebody woke.
    pub wakes: u64,
    /// Threads that lost their CPU.
    pub preemptions: u64,
    /// Threads that went on on another CPU.
    pub moves: u64,
    /// Conditional stores whose reservation was lost.
    pub failed_conditionals: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    WarmUp,
    Counting,
    Over,
}

#[derive(Debug)]
struct Bounds {
    warm_up: Ticks,
    settled: u64,
    settled_by: Ticks,
    least: Ticks,
    most: Ticks,
    given_up: Ticks,
    unserved: Ticks,
}

/// What one thread achieved.
#[derive(Clone, Debug, Default)]
pub(crate) struct Work {
    /// Locks acquired.
    pub(crate) acquired: u64,
    /// Rounds of its workload.
    pub(crate) rounds: u64,
    /// When it began to wait for a lock, or to release one.
    since: Ticks,
    /// Whether it waits, and when its last wait ended.
    waits: bool,
    served: Ticks,
}

#[derive(Clone, Debug, Default)]
struct Lock {
    last: Option<usize>,
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 1 << 50, 2).expect("sound bounds")
}

impl Record {
    pub(crate) fn new(hardware: &Hardware, options: &Options, threads: &[Thread]) -> Self {
        let Length {
            warm_up,
            settled,
            settled_by,
            least,
            most,
            given_up,
            unserved,
        } = options.length;
        let ticks = |nanoseconds| hardware.rate.ticks(nanoseconds);
        let length = Bounds {
            warm_up: ticks(warm_up),
            settled,
            settled_by: ticks(settled_by),
            least: ticks(least),
            most: ticks(most),
            given_up: ticks(given_up),
            unserved: ticks(unserved),
        };
        let top = (0..hardware.levels.len())
            .rev()
            .find(|level| hardware.cohorts[*level].iter().any(|cohort| *cohort > 0));
        Self {
            due: length.warm_up,
            phase: Phase::WarmUp,
            began: 0,
            ended: 0,
            rule: None,
            traffic: None,
            busy: 0,
            polling: 0,
            batches: Batches::new(length.least),
            threads: vec![Work::default(); threads.len()],
            locks: Vec::new(),
            handovers: vec![0; hardware.levels.len() + 1],
            acquire: histogram(),
            release: histogram(),
            events: Events::default(),
            tallies: BTreeMap::new(),
            changes: BTreeMap::new(),
            states: BTreeSet::new(),
            top: top.unwrap_or(0),
            hands: 0,
            given_up: 0,
            services: 0,
            service: 0,
            length,
        }
    }

    /// When [`reach`](Self::reach) has something to decide.
    pub(crate) const fn due(&self) -> Ticks {
        self.due
    }

    /// Time has come that far; whether the run's threads, told to stop, have had
    /// long enough to do so.
    pub(crate) fn reach(&mut self, at: Ticks, traffic: &Traffic) -> bool {
        if at < self.due {
            return false;
        }
        match self.phase {
            Phase::WarmUp if self.is_warm(at) => self.begin(at, traffic),
            Phase::WarmUp => {
                self.batches.begin(at);
                self.due = self.batches.due().min(self.length.settled_by);
            }
            Phase::Counting => self.decide(at, traffic),
            Phase::Over => return true,
        }
        false
    }

    fn is_warm(&self, at: Ticks) -> bool {
        at >= self.length.settled_by || self.acquired_by_all() >= self.length.settled
    }

    fn acquired_by_all(&self) -> u64 {
        self.threads.iter().map(|work| work.acquired).sum()
    }

    fn begin(&mut self, at: Ticks, traffic: &Traffic) {
        self.phase = Phase::Counting;
        self.began = at;
        self.traffic = Some(traffic.clone());
        for work in &mut self.threads {
            work.acquired = 0;
            work.rounds = 0;
        }
        self.handovers.fill(0);
        self.acquire.reset();
        self.release.reset();
        self.events = Events::default();
        self.tallies.clear();
        self.hands = 0;
        self.given_up = 0;
        self.services = 0;
        self.service = at;
        self.batches.begin(at);
        self.due = self.batches.due().min(self.last());
    }

    /// When counting ends at the latest, as far as is known.
    const fn last(&self) -> Ticks {
        let most = if self.services < SERVICES && self.length.unserved > self.length.most {
            self.length.unserved
        } else {
            self.length.most
        };
        self.began.saturating_add(most)
    }

    /// Begins another round of service if no thread waits that has not been served in this one.
    fn look_for_unserved(&mut self, at: Ticks) {
        let is_unserved = |work: &Work| work.waits && work.served < self.service;
        if !self.threads.iter().any(is_unserved) {
            self.services += 1;
            self.service = at;
        }
    }

    fn decide(&mut self, at: Ticks, traffic: &Traffic) {
        self.batches.reach(
            at,
            self.threads
                .iter()
                .map(|work| work.acquired + work.rounds)
                .sum(),
        );
        self.look_for_unserved(at);
        let counted = at - self.began;
        let gives_up = || self.given_up > self.acquired_by_all();
        let rule = if at >= self.last() || counted >= self.length.given_up && gives_up() {
            Some(Rule::Longest)
        } else if counted < self.length.least || self.services < SERVICES {
            None
        } else if self.hands >= HANDS {
            Some(Rule::Hands)
        } else if self.batches.is_steady() {
            Some(Rule::Steady)
        } else {
            None
        };
        if let Some(rule) = rule {
            // Nothing has happened since the time was up.
            self.end(at.min(self.last()), traffic, rule);
            // Those told to stop have as long again as they were counted.
            self.due = at + counted.saturating_mul(4);
        } else {
            self.due = self.batches.due().min(self.last());
        }
    }

    /// Counting is over.
    pub(crate) fn end(&mut self, at: Ticks, traffic: &Traffic, rule: Rule) {
        if self.phase == Phase::Over {
            return;
        }
        self.phase = Phase::Over;
        self.due = NEVER;
        self.ended = at;
        self.rule = Some(rule);
        let (busy, polling) = self
            .traffic
            .as_ref()
            .map_or_else(Default::default, |before| (before.busy, before.polling));
        self.busy = traffic.busy.between(at, &busy, self.began);
        self.polling = traffic.polling.between(at, &polling, self.began);
        self.traffic = Some(match &self.traffic {
            Some(before) => traffic.since(before),
            None => traffic.clone(),
        });
    }

    /// Whether what is done now counts.
    pub(crate) fn counts(&self) -> bool {
        self.phase == Phase::Counting
    }

    /// Whether the warm-up is over.
    pub(crate) fn has_begun(&self) -> bool {
        self.phase != Phase::WarmUp
    }

    /// For how long a thread had waited, and still waits, when counting ended.
    pub(crate) fn unended(&self, thread: usize) -> Option<Ticks> {
        let work = &self.threads[thread];
        work.waits.then(|| self.ended.saturating_sub(work.since))
    }

    /// Whether the threads shall return.
    pub(crate) fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// The half width of the throughput's 95 % confidence interval, as a share of
    /// it, if there were batches enough.
    pub(crate) fn interval(&self) -> Option<f64> {
        self.batches.interval()
    }

    /// How often a lock went to another cohort of the largest level.
    pub(crate) const fn hands(&self) -> u64 {
        self.hands
    }

    /// A thread begins to acquire or to release.
    pub(crate) fn begin_call(&mut self, thread: usize, at: Ticks) {
        self.threads[thread].since = at;
    }

    /// A thread begins to wait for a lock.
    pub(crate) fn begin_wait(&mut self, thread: usize, at: Ticks) {
        let work = &mut self.threads[thread];
        work.since = at;
        work.waits = true;
    }

    /// A thread's wait has ended: it had the lock, or its section has been run, or it has given up.
    pub(crate) fn end_wait(&mut self, thread: usize, at: Ticks) {
        let work = &mut self.threads[thread];
        work.served = at;
        work.waits = false;
    }

    /// A thread shares a lock with others, as a reader does.
    pub(crate) fn shared(&mut self, thread: usize) {
        if !self.is_over() {
            self.threads[thread].acquired += 1;
        }
    }

    /// A thread, on that CPU, holds the lock of that number.
    pub(crate) fn acquired(
        &mut self,
        hardware: &Hardware,
        thread: usize,
        cpu: usize,
        lock: usize,
        at: Ticks,
    ) {
        if lock >= self.locks.len() {
            self.locks.resize(lock + 1, Lock::default());
        }
        let last = self.locks[lock].last.replace(cpu);
        if self.is_over() {
            return;
        }
        let work = &mut self.threads[thread];
        work.acquired += 1;
        self.acquire.saturating_record((at - work.since) / CYCLE);
        let Some(last) = last else { return };
        let common = |level: &usize| {
            let cohorts = &hardware.cohorts[*level];
            cohorts[last] == cohorts[cpu]
        };
        let place = if last == cpu {
            0
        } else {
            1 + (0..hardware.levels.len())
                .find(common)
                .unwrap_or(hardware.levels.len() - 1)
        };
        self.handovers[place] += 1;
        self.hands += u64::from(place > self.top + 1);
    }

    /// A thread has given up waiting for a lock.
    pub(crate) fn gave_up(&mut self) {
        if !self.is_over() {
            self.given_up += 1;
        }
    }

    /// A lock counts something.
    pub(crate) fn tally(&mut self, what: &'static str, times: u64) {
        if !self.is_over() {
            *self.tallies.entry(what).or_default() += times;
        }
    }

    /// A state of what is at an address is this.
    pub(crate) fn tally_state(&mut self, what: &'static str, of: usize, state: bool) {
        if self.is_over() {
            return;
        }
        let changes = self.changes.entry(what).or_default();
        let changed = if state {
            self.states.insert((what, of))
        } else {
            self.states.remove(&(what, of))
        };
        *changes += u64::from(changed);
    }

    /// What locks have counted, by its name.
    pub(crate) fn tallied(&self) -> BTreeMap<&'static str, u64> {
        let all = self.tallies.iter().chain(&self.changes);
        all.map(|(what, times)| (*what, *times)).collect()
    }

    /// A thread has released a lock.
    pub(crate) fn released(&mut self, thread: usize, at: Ticks) {
        if !self.is_over() {
            let since = self.threads[thread].since;
            self.release.saturating_record((at - since) / CYCLE);
        }
    }

    /// A thread has done a round of its workload.
    pub(crate) fn round(&mut self, thread: usize) {
        if !self.is_over() {
            self.threads[thread].rounds += 1;
        }
    }
}

/// Counts one event each.
macro_rules! events {
    ($($(#[$about:meta])* $name:ident: $field:ident;)*) => {
        impl Record {
            $($(#[$about])* pub(crate) fn $name(&mut self) {
                if !self.is_over() {
                    self.events.$field += 1;
                }
            })*
        }
    };
}

events! {
    /// A look in vain.
    polled: polls;
    /// A thread fell asleep.
    slept: sleeps;
    /// A sleeper was woken.
    woken: wakes;
    /// A thread lost its CPU.
    preempted: preemptions;
    /// A thread got another CPU.
    moved: moves;
    /// A reservation was lost.
    failed_conditional: failed_conditionals;
}
