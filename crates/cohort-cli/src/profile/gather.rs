//! Gathers data from a running program: collects its samples, and repeatedly looks which threads
//! wait, and which hold the awaited locks.

use super::figures::{Durations, Seen};
use super::handed::{Cpus, Handed};
use super::merge::{Merged, Sums, sums};
use super::pace::{Pace, Spent};
use super::{Cost, LeftOut, Profile, VERSION};
use crate::observe::Records;
use crate::observe::process::Process;
use crate::observe::watching::Watching;
use cohort::records::{
    Doing, Drawn, Hold, NO_SAMPLES, Records as Raw, Sample, Thread, WATCH_BITS, Waiting, What,
};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::{Duration, Instant};

/// Interval between checks for living processes and for the cost; and the first interval after a
/// process has been found. The interval doubles from that to this.
const SETTLE: Duration = Duration::from_millis(100);
const FIRST_SETTLE: Duration = Duration::from_millis(10);

/// The approximate cost of reading a file, in nanoseconds per byte, and the longest delay of a read.
const READING: f64 = 2.0;
const UNREAD: Duration = Duration::from_secs(1);

/// Sightings of a lock's waiting threads.
#[derive(Default)]
pub struct Looks {
    /// Looks, weighted by their time, times the waiting threads; and the square of that.
    pub lost: f64,
    pub lost_squared: f64,
    /// Looks, weighted by their time, with any waiting thread.
    pub awaited: f64,
    /// The most waiting threads.
    pub greatest: u32,
    /// `lost` by the waiting sites, and by the sites holding the lock meanwhile.
    pub waiters: HashMap<u64, f64>,
    pub holders: HashMap<u64, f64>,
}

/// Timings of a lock at a site, uncontended and contended.
#[derive(Default)]
pub struct Sampled {
    pub waits: [Durations; 2],
    pub holds: [Durations; 2],
    /// Other held locks, times weight; and the weight.
    pub nested: f64,
    pub weight: f64,
}

/// Action of a sighted thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Act {
    Wait,
    Hold,
}

/// Action by the index of the thread's record, with the lock's identity and the site.
type Deed = (usize, Act, (u64, u64));

/// Locks, each with a site, that threads wait for at a look, and locks that they hold.
#[derive(Default)]
struct Snapshot {
    waiters: Vec<(u64, u64)>,
    holders: Vec<(u64, u64)>,
}

/// Continuing action of a thread over consecutive looks.
#[derive(Clone, Copy)]
struct Going {
    /// The number of its wait, or of its acquisitions.
    number: u64,
    /// The seconds represented by the looks.
    seconds: f64,
}

/// Sightings of a lock and a site.
#[derive(Clone, Copy, Default)]
pub struct SeenAt {
    pub waits: Seen,
    pub holds: Seen,
}

/// Data on a process.
pub struct Gathered {
    /// The time of the first look, and the lifetime since.
    since: Instant,
    pub lived: Duration,
    /// The total time represented by looks.
    pub looked: f64,
    /// By the locks' identities.
    pub looks: HashMap<u64, Looks>,
    /// By identities and sites.
    pub sampled: HashMap<(u64, u64), Sampled>,
    pub seen: HashMap<(u64, u64), SeenAt>,
    going: HashMap<Deed, Going>,
    last: Snapshot,
    /// The time of the last look, and the longest time represented by one.
    looked_at: Option<Instant>,
    pub longest: f64,
    /// Sampled hand-overs, by the locks' identities.
    pub handed: HashMap<u64, Handed>,
    cpus: Cpus,
    /// Addresses of waiting stacks, innermost first, by identities and sites, with their waits.
    pub stacks: HashMap<(u64, u64), HashMap<Vec<u64>, f64>>,
    /// Stacks to unwind and return.
    lent: VecDeque<Lent>,
    /// Threads that have ended.
    gone: HashSet<u32>,
    /// CPU seconds so far.
    cpu: f64,
    /// Its state before the observation.
    pub before: Before,
}

/// Stack of a sample.
struct Lent {
    /// The lock's identity, and the site.
    key: (u64, u64),
    waited: u64,
    /// The stack's number, plus one.
    number: u16,
}

/// A process's state before the observation; zero if it was started for observation.
#[derive(Default)]
pub struct Before {
    /// Its counts.
    pub counted: Sums,
    acquired: Acquired,
    cpu: f64,
    /// Data that did not fit.
    left_out: LeftOut,
}

impl Before {
    fn of(process: &Process) -> Self {
        Self {
            counted: sums(process),
            acquired: acquisitions(process.records()),
            cpu: cpu_seconds(process.id).unwrap_or(0.0),
            left_out: left_out(process.records()),
        }
    }
}

impl Default for Gathered {
    fn default() -> Self {
        Self {
            since: Instant::now(),
            lived: Duration::ZERO,
            looked: 0.0,
            looks: HashMap::new(),
            sampled: HashMap::new(),
            seen: HashMap::new(),
            going: HashMap::new(),
            last: Snapshot::default(),
            looked_at: None,
            longest: 0.0,
            handed: HashMap::new(),
            cpus: Cpus::default(),
            stacks: HashMap::new(),
            lent: VecDeque::new(),
            gone: HashSet::new(),
            cpu: 0.0,
            before: Before::default(),
        }
    }
}

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
            let gathered = Gathered {
                before: Before::of(process),
                ..Gathered::default()
            };
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
                gathered.gone = gone(process.records(), &living);
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

impl Gathered {
    /// Looks which threads wait for locks, and which hold some, `since` seconds after the last
    /// look. Sightings of the last look represent the first half of that time, those of this one
    /// the second.
    pub fn look(&mut self, raw: &Raw, since: f64) {
        self.looked += since;
        self.longest = self.longest.max(since);
        let mut snapshot = Snapshot::default();
        let mut going = HashMap::with_capacity(self.going.len());
        for (slot, thread) in followers(raw) {
            let mut given_away = 0;
            if let Some((turn, waiting)) = thread.waiting() {
                given_away = waiting.mutex;
                if let Some(pair) = awaits(&waiting)
                    && !self.gone.contains(&thread.id.load(Relaxed))
                {
                    snapshot.waiters.push(pair);
                    going.insert((slot, Act::Wait, pair), u64::from(turn));
                }
            }
            let acquired = thread.acquired.load(Relaxed);
            let held = thread.held.load(Acquire) as usize;
            for hold in raw.holds(thread, held) {
                let pair = (hold.object.load(Acquire), hold.site.load(Relaxed));
                if pair.0 != given_away && pair.0 != 0 {
                    snapshot.holders.push(pair);
                    going.insert((slot, Act::Hold, pair), acquired);
                }
            }
        }
        let last = std::mem::take(&mut self.last);
        self.charge(&last, since / 2.0);
        self.charge(&snapshot, since / 2.0);
        self.last = snapshot;
        self.go_on(going, since);
    }

    /// Charges the sightings with that many seconds.
    fn charge(&mut self, snapshot: &Snapshot, stands_for: f64) {
        let mut awaited: HashMap<u64, u32> = HashMap::new();
        for (lock, site) in &snapshot.waiters {
            *awaited.entry(*lock).or_default() += 1;
            let looks = self.looks.entry(*lock).or_default();
            *looks.waiters.entry(*site).or_default() += stands_for;
        }
        let mut holders: HashMap<u64, Vec<u64>> = HashMap::new();
        for (lock, site) in &snapshot.holders {
            if awaited.contains_key(lock) {
                holders.entry(*lock).or_default().push(*site);
            }
        }
        for (lock, waiters) in awaited {
            let looks = self.looks.entry(lock).or_default();
            let lost = f64::from(waiters) * stands_for;
            looks.lost += lost;
            // The two halves of a look's time are one sighting.
            looks.lost_squared += 2.0 * lost * lost;
            looks.awaited += stands_for;
            looks.greatest = looks.greatest.max(waiters);
            // Readers that share a lock share the blame.
            let of_this = holders.get(&lock).map_or(&[][..], Vec::as_slice);
            let share = lost / of_this.len().max(1) as f64;
            for site in of_this {
                *looks.holders.entry(*site).or_default() += share;
            }
        }
    }

    /// Continues the actions seen at the last look too, and ends the others.
    fn go_on(&mut self, now: HashMap<Deed, u64>, since: f64) {
        let mut before = std::mem::take(&mut self.going);
        for known in before.values_mut() {
            known.seconds += since / 2.0;
        }
        for (deed, number) in now {
            let known = before.get_mut(&deed).filter(|known| known.number == number);
            let so_far = known.map_or(0.0, |known| std::mem::take(&mut known.seconds));
            let seconds = so_far + since / 2.0;
            self.going.insert(deed, Going { number, seconds });
        }
        for (deed, known) in before {
            self.end(deed, known);
        }
    }

    fn end(&mut self, (_, act, pair): Deed, going: Going) {
        if going.seconds > 0.0 {
            let seen = self.seen.entry(pair).or_default();
            match act {
                Act::Wait => seen.waits.add(going.seconds),
                Act::Hold => seen.holds.add(going.seconds),
            }
        }
    }

    /// Ends all continuing actions.
    pub fn end_all(&mut self) {
        for (deed, known) in std::mem::take(&mut self.going) {
            self.end(deed, known);
        }
    }

    /// Collects a process's samples, as the only command that does, and passes each to `show`.
    /// Their stacks stay in the records.
    pub fn take_samples(&mut self, process: &Process, mut show: impl FnMut(&Drawn)) {
        let raw: &Raw = process.records();
        let used = (raw.used.load(Acquire) as usize).min(raw.threads.len());
        let watch = (raw.watch.number() & WATCH_BITS) as u8;
        let mut taken = Vec::new();
        for thread in &raw.threads[..used] {
            // SAFETY: the only reading thread of the only reading command.
            while let Some(words) = unsafe { thread.samples.take() } {
                taken.push(Drawn::of_words(words));
            }
        }
        // Samples begun under an earlier watch are obsolete, and their stacks have been reused.
        for drawn in taken.iter().filter(|drawn| drawn.watch() == watch) {
            show(drawn);
            match drawn {
                Drawn::Sample(sample) => self.take(sample),
                Drawn::HandOver(hand_over) => {
                    let handed = self.handed.entry(hand_over.lock).or_default();
                    handed.add(hand_over, &mut self.cpus);
                }
                Drawn::AtHand(_) | Drawn::TurnOver(_) => {}
            }
        }
    }

    /// Unwinds and returns the stack of one sample; one per look, since copying and unwinding more
    /// would take too long.
    pub fn unwind_next(&mut self, process: &mut Process) {
        let Some(Lent {
            key,
            waited,
            number,
        }) = self.lent.pop_front()
        else {
            return;
        };
        if let Some((site, memory)) = process.lent(number) {
            let (addresses, _) = process.stacks.unwound(&site, &memory);
            let stacks = self.stacks.entry(key).or_default();
            // Sampled or not, it is a random contended acquisition.
            *stacks.entry(addresses).or_default() += waited.max(1) as f64;
        }
        process.give_back(number);
    }

    /// Unwinds all remaining stacks, with all files that the process has mapped.
    pub fn unwind_all(&mut self, process: &mut Process) {
        process.stacks.read_all();
        while !self.lent.is_empty() {
            self.unwind_next(process);
        }
    }

    /// Acquisitions since the first look.
    fn acquired(&self, raw: &Raw) -> Acquired {
        acquisitions(raw).since(self.before.acquired)
    }

    /// Records the ended threads.
    pub fn leave_out_gone(&mut self, raw: &Raw, living: &HashSet<u32>) {
        self.gone = gone(raw, living);
    }

    /// Records a sample, and its stack if any.
    fn take(&mut self, sample: &Sample) {
        let key = (sample.lock, sample.site);
        // Others only show where a thread waited.
        if sample.doubled.is_some() {
            let sampled = self.sampled.entry(key).or_default();
            let stratum = usize::from(sample.contended);
            match sample.what {
                What::Wait => sampled.waits[stratum].add(sample.lasted, sample.of()),
                What::Hold => {
                    sampled.holds[stratum].add(sample.lasted, sample.of());
                    sampled.nested += f64::from(sample.nested) * f64::from(sample.of());
                    sampled.weight += f64::from(sample.of());
                }
            }
        }
        if sample.stack != 0 {
            self.lent.push_back(Lent {
                key,
                waited: sample.lasted,
                number: sample.stack,
            });
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

/// The lock that a thread waits for, and the site in its recorded form.
fn awaits(waiting: &Waiting) -> Option<(u64, u64)> {
    let is_for_lock = match waiting.doing {
        Doing::Timed => waiting.mutex == 0,
        doing => doing.is_for_lock(),
    };
    let [site, ..] = waiting.place;
    is_for_lock.then(|| (waiting.object, Hold::pack(site, waiting.how)))
}

/// The threads with a record of the present watch, by the record's index.
fn followers(raw: &Raw) -> impl Iterator<Item = (usize, &Thread)> {
    let used = (raw.used.load(Acquire) as usize).min(raw.threads.len());
    let watch = raw.watch.number();
    let threads = raw.threads[..used].iter().enumerate();
    threads.filter(move |(_, thread)| thread.follows.follows(watch))
}

/// A process's data that did not fit.
fn left_out(raw: &Raw) -> LeftOut {
    LeftOut {
        threads: raw.lost_threads.load(Relaxed).into(),
        acquisitions: raw.lost_counts.load(Relaxed).into(),
        samples: raw.lost_samples.load(Relaxed).into(),
    }
}

/// Acquisitions, and those that displaced another lock's counter.
#[derive(Clone, Copy, Default)]
struct Acquired {
    all: u64,
    turned_over: u64,
}

impl Acquired {
    fn add(&mut self, more: Self) {
        self.all += more.all;
        self.turned_over += more.turned_over;
    }

    fn since(self, before: Self) -> Self {
        Self {
            all: self.all.saturating_sub(before.all),
            turned_over: self.turned_over.saturating_sub(before.turned_over),
        }
    }
}

/// Acquisitions of a process.
fn acquisitions(raw: &Raw) -> Acquired {
    let used = (raw.used.load(Acquire) as usize).min(raw.threads.len());
    let mut acquired = Acquired::default();
    for thread in &raw.threads[..used] {
        acquired.add(Acquired {
            all: thread.acquired.load(Relaxed),
            turned_over: thread.turned_over.load(Relaxed),
        });
    }
    acquired
}

/// Ended threads with records.
fn gone(raw: &Raw, living: &HashSet<u32>) -> HashSet<u32> {
    let used = (raw.used.load(Acquire) as usize).min(raw.threads.len());
    let ids = raw.threads[..used].iter();
    ids.map(|thread| thread.id.load(Relaxed))
        .filter(|id| !living.contains(id))
        .collect()
}

/// CPU seconds of a process so far.
fn cpu_seconds(process: u32) -> Option<f64> {
    let line = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The fields follow the name, which may contain anything, in brackets.
    let (_, rest) = line.rsplit_once(") ")?;
    let mut fields = rest.split(' ').skip(11);
    let ticks: f64 = fields.next()?.parse::<f64>().ok()? + fields.next()?.parse::<f64>().ok()?;
    Some(ticks / rustix::param::clock_ticks_per_second() as f64)
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
