//! What a run's threads achieved, and when its figures are steady.

use super::clock::{CYCLE, NEVER, Ticks};
use super::hardware::Hardware;
use super::options::{Length, Options};
use super::steady::{Batches, Rule};
use super::tally::Traffic;
use super::thread::Thread;
use hdrhistogram::Histogram;
use std::collections::{BTreeMap, BTreeSet};

/// Rounds of service before a run may end. A round ends when each waiting thread has acquired, or
/// timed out, since the round before. So under a lock with time slices, each thread has had one.
const SERVICES: u64 = 2;

/// Changes of the holder's top-level cohort before a run may end: in a lock of several levels, they
/// even out last.
const HANDS: u64 = 30;

/// Counts beside the caches' traffic.
#[derive(Debug)]
pub(crate) struct Record {
    length: Bounds,
    /// The time of the next check of the run's length.
    due: Ticks,
    pub(crate) phase: Phase,
    /// The begin and end of counting.
    pub(crate) began: Ticks,
    pub(crate) ended: Ticks,
    pub(crate) rule: Option<Rule>,
    /// The traffic at the begin of counting; afterwards, the traffic counted.
    pub(crate) traffic: Option<Traffic>,
    /// Time of CPUs with a thread, and of CPUs that only polled.
    pub(crate) busy: Ticks,
    pub(crate) polling: Ticks,
    batches: Batches,
    pub(crate) threads: Vec<Work>,
    locks: Vec<Lock>,
    /// Hand-overs of locks, by the smallest level that contains both CPUs; the first entry is for
    /// the same CPU.
    pub(crate) handovers: Vec<u64>,
    pub(crate) acquire: Histogram<u64>,
    pub(crate) release: Histogram<u64>,
    pub(crate) events: Events,
    /// Locks' own counts, and changes of their states in the whole run.
    tallies: BTreeMap<&'static str, u64>,
    changes: BTreeMap<&'static str, u64>,
    /// The states that hold at present, each with its object.
    states: BTreeSet<(&'static str, usize)>,
    /// The largest level that has several cohorts.
    top: usize,
    hands: u64,
    /// Waits that timed out.
    given_up: u64,
    /// Rounds of service, and the begin of the present one.
    services: u64,
    service: Ticks,
}

/// What happened in the kernel and in waits.
#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
pub struct Events {
    /// Looks without a new value that were simulated one by one.
    pub polls: u64,
    /// Threads that went to sleep.
    pub sleeps: u64,
    /// Sleepers woken by another thread.
    pub wakes: u64,
    /// Preemptions.
    pub preemptions: u64,
    /// Migrations to another CPU.
    pub moves: u64,
    /// Store-conditionals that failed by a lost reservation.
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

/// One thread's achievement.
#[derive(Clone, Debug, Default)]
pub(crate) struct Work {
    /// Acquisitions.
    pub(crate) acquired: u64,
    /// Rounds of its workload.
    pub(crate) rounds: u64,
    /// The begin of its latest wait for a lock or of its latest release.
    since: Ticks,
    /// Whether it waits, and the end of its last wait.
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

    /// When [`reach`](Self::reach) has to decide next.
    pub(crate) const fn due(&self) -> Ticks {
        self.due
    }

    /// Advances to time `at`; returns whether the threads, asked to stop, have exceeded their time
    /// to do so.
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

    /// The latest end of counting, as far as known.
    const fn last(&self) -> Ticks {
        let most = if self.services < SERVICES && self.length.unserved > self.length.most {
            self.length.unserved
        } else {
            self.length.most
        };
        self.began.saturating_add(most)
    }

    /// Begins another round of service if every waiting thread was served in this one.
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
            // Nothing has happened since that time.
            self.end(at.min(self.last()), traffic, rule);
            // Threads asked to stop have four times the counted time.
            self.due = at + counted.saturating_mul(4);
        } else {
            self.due = self.batches.due().min(self.last());
        }
    }

    /// Ends counting.
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

    /// Whether the run counts at present.
    pub(crate) fn counts(&self) -> bool {
        self.phase == Phase::Counting
    }

    /// Whether the warm-up is over.
    pub(crate) fn has_begun(&self) -> bool {
        self.phase != Phase::WarmUp
    }

    /// How long a thread had waited at the end of counting, if it still waits.
    pub(crate) fn unended(&self, thread: usize) -> Option<Ticks> {
        let work = &self.threads[thread];
        work.waits.then(|| self.ended.saturating_sub(work.since))
    }

    /// Whether the threads should return.
    pub(crate) fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// Half the width of the throughput's 95 % confidence interval, relative to the throughput;
    /// none with too few batches.
    pub(crate) fn interval(&self) -> Option<f64> {
        self.batches.interval()
    }

    /// Transfers of a lock to another cohort of the largest level.
    pub(crate) const fn hands(&self) -> u64 {
        self.hands
    }

    /// Records that a thread begins to acquire or to release.
    pub(crate) fn begin_call(&mut self, thread: usize, at: Ticks) {
        self.threads[thread].since = at;
    }

    /// Records that a thread begins to wait for a lock.
    pub(crate) fn begin_wait(&mut self, thread: usize, at: Ticks) {
        let work = &mut self.threads[thread];
        work.since = at;
        work.waits = true;
    }

    /// Records the end of a thread's wait: an acquisition, the end of its delegated section, or a
    /// timeout.
    pub(crate) fn end_wait(&mut self, thread: usize, at: Ticks) {
        let work = &mut self.threads[thread];
        work.served = at;
        work.waits = false;
    }

    /// Records a shared acquisition, such as a reader's.
    pub(crate) fn shared(&mut self, thread: usize) {
        if !self.is_over() {
            self.threads[thread].acquired += 1;
        }
    }

    /// Records that a thread, on that CPU, acquired the lock of that number.
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

    /// Records a timeout.
    pub(crate) fn gave_up(&mut self) {
        if !self.is_over() {
            self.given_up += 1;
        }
    }

    /// Adds to a lock's own count.
    pub(crate) fn tally(&mut self, what: &'static str, times: u64) {
        if !self.is_over() {
            *self.tallies.entry(what).or_default() += times;
        }
    }

    /// Records a state of the object at an address.
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

    /// Locks' own counts by name.
    pub(crate) fn tallied(&self) -> BTreeMap<&'static str, u64> {
        let all = self.tallies.iter().chain(&self.changes);
        all.map(|(what, times)| (*what, *times)).collect()
    }

    /// Records a release.
    pub(crate) fn released(&mut self, thread: usize, at: Ticks) {
        if !self.is_over() {
            let since = self.threads[thread].since;
            self.release.saturating_record((at - since) / CYCLE);
        }
    }

    /// Records a round of a thread's workload.
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
    /// Counts a look without a new value.
    polled: polls;
    /// Counts a sleep.
    slept: sleeps;
    /// Counts a wake-up.
    woken: wakes;
    /// Counts a preemption.
    preempted: preemptions;
    /// Counts a migration.
    moved: moves;
    /// Counts a lost reservation.
    failed_conditional: failed_conditionals;
}
