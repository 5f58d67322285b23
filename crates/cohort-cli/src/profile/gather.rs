//! Gathers data from a running program: collects its samples, and repeatedly looks which threads
//! wait, and which hold the awaited locks.

use super::gathered::{Acquired, Gathered, cpu_seconds, followers, left_out};
use super::merge::Merged;
use super::pace::{Pace, Spent};
use super::{Cost, LeftOut, Profile, VERSION};
use crate::observe::Records;
use crate::observe::watching::Watching;
use cohort::records::NO_SAMPLES;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// Interval between checks for living processes and for the cost; and the first interval after a
/// process has been found. The interval doubles from that to this.
const SETTLE: Duration = Duration::from_millis(100);
const FIRST_SETTLE: Duration = Duration::from_millis(10);

/// The approximate cost of reading a file, in nanoseconds per byte, and the longest delay of a read.
const READING: f64 = 2.0;
const UNREAD: Duration = Duration::from_secs(1);

/// Gathers the lock operations of a program's processes.
pub struct Gatherer {
    records: Records,
    limit: f64,
    pace: Pace,
    began: Instant,
    ran: Duration,
    processes: HashMap<u32, Gathered>,
    merged: Merged,
    spent: Spent,
    /// The number of looks at a process.
    looks: u64,
    /// The time of the last read of the program's files.
    read_at: Instant,
    /// Samples at the last change of their spacing, and the spacing.
    drawn: u64,
    spacing: u32,
    /// CPU seconds of all processes at the last check.
    cpu_settled: f64,
    /// CPU seconds and acquisitions of ended processes.
    cpu_before: f64,
    acquired_before: Acquired,
    left_out: LeftOut,
    counted_processes: usize,
    threads: usize,
}

impl Gatherer {
    /// A gatherer with a cost below `limit` per cent, if possible.
    pub fn new(records: Records, limit: f64) -> Self {
        Self {
            records,
            limit,
            pace: Pace::new(limit),
            began: Instant::now(),
            ran: Duration::ZERO,
            processes: HashMap::new(),
            merged: Merged::default(),
            spent: Spent::default(),
            looks: 0,
            read_at: Instant::now(),
            drawn: 0,
            spacing: CLOSEST,
            cpu_settled: 0.0,
            cpu_before: 0.0,
            acquired_before: Acquired::default(),
            left_out: LeftOut::default(),
            counted_processes: 0,
            threads: 0,
        }
    }

    /// A gatherer for a running process; its earlier activity does not count.
    pub fn of_running(watching: Watching, limit: f64) -> Self {
        let mut gatherer = Self::new(Records::of(watching), limit);
        for process in gatherer.records.known() {
            let gathered = Gathered::of_running(process);
            gatherer.processes.insert(process.id, gathered);
        }
        gatherer
    }

    /// Gathers until the program ends, or cannot be observed.
    pub fn watch(&mut self, is_over: impl Fn() -> bool) {
        // Immediately, for processes that already run.
        let mut settled = None::<Instant>;
        let mut pause = SETTLE;
        // Looks must not synchronise with the program.
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        loop {
            let over = is_over() || !self.records.go_on();
            if over {
                // The steps below take time.
                self.ran = self.began.elapsed();
            }
            let begins = self.records.find_more() || settled.is_none();
            let since = settled.map_or(self.began.elapsed(), |at| at.elapsed());
            if over || begins || since >= pause {
                settled = Some(Instant::now());
                self.settle(since, begins, over);
                pause = if begins {
                    FIRST_SETTLE
                } else {
                    (pause * 2).min(SETTLE)
                };
            }
            if over {
                return;
            }
            self.look();
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let part = (random % 1024) as u32 + 512;
            std::thread::sleep(self.pace.tick * part / 1024);
        }
    }

    /// Collects the samples of all processes, looks at each once, then does a part of the slower
    /// work.
    fn look(&mut self) {
        self.take_samples();
        for process in self.records.known() {
            let gathered = self.processes.entry(process.id).or_default();
            let last = gathered.looked_at.replace(Instant::now());
            let since = last.unwrap_or(gathered.since).elapsed();
            gathered.look(process.records(), since.as_secs_f64());
            self.looks += 1;
        }
        let ran = self.began.elapsed();
        let has_waited = self.read_at.elapsed() > UNREAD;
        for process in self.records.known_mut() {
            let gathered = self.processes.entry(process.id).or_default();
            if process.stacks.is_read() {
                gathered.unwind_next(process);
                continue;
            }
            let once = self.spent.work.once + process.stacks.next_length() as f64 * READING;
            if has_waited || may_take_once(once, self.limit, ran) {
                let began = own_cpu_nanoseconds();
                process.stacks.read_next();
                self.spent.work.once += own_cpu_nanoseconds() - began;
                self.read_at = Instant::now();
            }
        }
    }

    fn take_samples(&mut self) {
        for process in self.records.known() {
            if process.is_ours {
                let gathered = self.processes.entry(process.id).or_default();
                gathered.take_samples(process, |drawn| self.spent.add(drawn));
            }
        }
    }

    /// Looks for processes, drops ended ones, and sets the number of acquisitions to sample;
    /// `since` the last call. When a process `begins` to be observed, its acquisitions in that time
    /// are unknown.
    fn settle(&mut self, since: Duration, begins: bool, last: bool) {
        let began = own_cpu_nanoseconds();
        let mut over = Vec::new();
        let (mut cpu, mut acquired, mut alive) = (self.cpu_before, self.acquired_before, 0.0);
        for process in self.records.processes() {
            let numbers = process.numbers();
            process.see(&numbers);
            let living: HashSet<u32> = numbers.into_keys().collect();
            let gathered = self.processes.entry(process.id).or_default();
            if let Some(used) = cpu_seconds(process.id) {
                gathered.cpu = used - gathered.before.cpu;
            }
            cpu += gathered.cpu;
            acquired.add(gathered.acquired(process.records()));
            alive += 1.0;
            if living.is_empty() || last {
                over.push(process.id);
            } else {
                gathered.lived = gathered.since.elapsed();
                gathered.leave_out_gone(process.records(), &living);
            }
        }
        let work = &mut self.spent.work;
        work.looking = own_cpu_nanoseconds();
        if begins {
            work.once += work.looking - began;
        }
        work.acquired = acquired.all;
        work.turned_over = acquired.turned_over;
        let lately = (cpu - self.cpu_settled).max(since.as_secs_f64());
        self.cpu_settled = cpu;
        let used = self.of_one_cpu(cpu);
        let costs = self.spent.reckon(used, lately);
        if !begins && !last {
            self.pace.adapt(costs);
            self.tell(since, alive);
        }
        if !over.is_empty() {
            self.take_samples();
            self.finish_processes(&over);
        }
    }

    /// Sets the spacing of samples for that many processes.
    fn tell(&mut self, since: Duration, processes: f64) {
        let wanted = self.pace.wanted * f64::max(processes, 1.0) * since.as_secs_f64();
        let drawn =
            self.spent.work.drawn - std::mem::replace(&mut self.drawn, self.spent.work.drawn);
        self.spacing = spaced(self.spacing, drawn, wanted);
        for process in self.records.known().filter(|process| process.is_ours) {
            process.records().spacing.store(self.spacing, Relaxed);
        }
    }

    /// CPU seconds as the base of the cost: for a program that mostly sleeps, one CPU's.
    fn of_one_cpu(&self, cpu: f64) -> f64 {
        let ran = if self.ran.is_zero() {
            self.began.elapsed()
        } else {
            self.ran
        };
        cpu.max(ran.as_secs_f64())
    }

    /// The cost of profiling, relative to these CPU seconds.
    fn cost(&self, cpu: f64) -> Cost {
        let costs = self.spent.costs(self.of_one_cpu(cpu));
        let work = &self.spent.work;
        Cost {
            percent: costs.all(),
            limit: self.limit,
            looking: costs.looking,
            counting: costs.counting,
            each: self.spent.each(),
            measured: self.spent.measured(),
            acquired: work.acquired,
            sampled: work.drawn,
            looks: self.looks,
        }
    }

    /// Names the locks of ended processes, and drops the processes.
    fn finish_processes(&mut self, over: &[u32]) {
        for id in over {
            let Some(mut gathered) = self.processes.remove(id) else {
                continue;
            };
            gathered.lived = gathered.lived.max(gathered.since.elapsed());
            self.cpu_before += gathered.cpu;
            if let Some(process) = self.records.known_mut().find(|process| process.id == *id) {
                gathered.end_all();
                gathered.unwind_all(process);
                let raw = process.records();
                self.acquired_before.add(gathered.acquired(raw));
                self.counted_processes += usize::from(raw.counted.load(Relaxed) > 0);
                self.threads = self.threads.max(followers(raw).count());
                let (now, before) = (left_out(raw), &gathered.before.left_out);
                self.left_out.threads += now.threads.saturating_sub(before.threads);
                self.left_out.acquisitions += now.acquisitions.saturating_sub(before.acquisitions);
                self.left_out.samples += now.samples.saturating_sub(before.samples);
                if process.is_ours {
                    // The samples of a process that continues are not collected any further.
                    raw.spacing.store(NO_SAMPLES, Relaxed);
                }
                self.merged.add(process, &gathered, self.spent.records());
            }
            self.records.forget(*id);
        }
    }

    /// The profile of a program that used these CPU seconds.
    pub fn finish(self, program: &str, lock: &str, cpu: f64) -> Profile {
        let cost = self.cost(cpu.max(self.cpu_before));
        let (locks, conditions, stacks) = self.merged.finish(self.ran.as_secs_f64());
        Profile {
            cohort_profile: VERSION,
            program: program.to_owned(),
            lock: lock.to_owned(),
            seconds: self.ran.as_secs_f64(),
            processes: self.counted_processes,
            threads: self.threads,
            preempted: None,
            cost,
            left_out: self.left_out,
            locks,
            conditions,
            stacks,
        }
    }
}

/// The least and the largest spacing of a pair's samples, in nanoseconds.
const CLOSEST: u32 = 100_000;
const FARTHEST: u32 = 1_000_000_000;

/// The new spacing of samples, after the present one led to `drawn` samples instead of `wanted`.
fn spaced(spacing: u32, drawn: u64, wanted: f64) -> u32 {
    // A pause implies nothing.
    if wanted <= 0.0 || drawn == 0 {
        return spacing;
    }
    let share = (drawn as f64 / wanted).max(0.5);
    // Ignores small deviations, since random samples vary.
    if (0.8..=1.0).contains(&share) {
        return spacing;
    }
    (f64::from(spacing) * share).clamp(f64::from(CLOSEST), f64::from(FARTHEST)) as u32
}

/// Whether one-time work may take that many nanoseconds so far: half of the limit.
fn may_take_once(nanoseconds: f64, limit: f64, ran: Duration) -> bool {
    nanoseconds <= limit / 2.0 / 100.0 * ran.as_nanos() as f64
}

/// This thread's CPU time in nanoseconds.
fn own_cpu_nanoseconds() -> f64 {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    used.tv_sec as f64 * 1e9 + used.tv_nsec as f64
}

#[cfg(test)]
mod tests {
    use super::{CLOSEST, FARTHEST, may_take_once, spaced};
    use std::time::Duration;

    /// A C library of two million bytes would exceed the limit of a program of a tenth of a second.
    #[test]
    fn files_are_read_as_the_limit_lets_them() {
        let after = |milliseconds| may_take_once(4e6, 5.0, Duration::from_millis(milliseconds));
        assert!(!after(150) && after(170));
    }

    #[test]
    fn samples_lie_farther_apart_where_they_are_too_many_and_closer_where_they_are_few() {
        assert_eq!(spaced(CLOSEST, 4_000, 1_000.0), 4 * CLOSEST);
        assert_eq!(spaced(8 * CLOSEST, 900, 1_000.0), 8 * CLOSEST);
        assert_eq!(spaced(8 * CLOSEST, 10, 1_000.0), 4 * CLOSEST);
        assert_eq!(spaced(CLOSEST, 10, 1_000.0), CLOSEST);
        assert_eq!(spaced(FARTHEST / 2, u64::MAX, 1.0), FARTHEST);
        // A pause, and an immediately following call.
        assert_eq!(spaced(8 * CLOSEST, 0, 1_000.0), 8 * CLOSEST);
        assert_eq!(spaced(8 * CLOSEST, 10, 0.0), 8 * CLOSEST);
    }
}
