//! The data gathered on a process: its samples, its waiting and holding threads, and its counts.

use super::LeftOut;
use super::counts::{Sums, sums};
use super::figures::{Durations, Seen};
use super::handed::{Cpus, Handed};
use crate::observe::process::Process;
use cohort::records::{
    Doing, Drawn, Hold, Records as Raw, Sample, Thread, WATCH_BITS, Waiting, What,
};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::{Duration, Instant};

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
    pub since: Instant,
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
    pub looked_at: Option<Instant>,
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
    pub cpu: f64,
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
    pub cpu: f64,
    /// Data that did not fit.
    pub left_out: LeftOut,
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

impl Gathered {
    /// The data on a running process, without its earlier activity.
    pub fn of_running(process: &Process) -> Self {
        Self {
            before: Before::of(process),
            ..Self::default()
        }
    }

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
    pub fn acquired(&self, raw: &Raw) -> Acquired {
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
pub fn followers(raw: &Raw) -> impl Iterator<Item = (usize, &Thread)> {
    let used = (raw.used.load(Acquire) as usize).min(raw.threads.len());
    let watch = raw.watch.number();
    let threads = raw.threads[..used].iter().enumerate();
    threads.filter(move |(_, thread)| thread.follows.follows(watch))
}

/// A process's data that did not fit.
pub fn left_out(raw: &Raw) -> LeftOut {
    LeftOut {
        threads: raw.lost_threads.load(Relaxed).into(),
        acquisitions: raw.lost_counts.load(Relaxed).into(),
        samples: raw.lost_samples.load(Relaxed).into(),
    }
}

/// All acquisitions, and how many of them displaced another lock's counter.
#[derive(Clone, Copy, Default)]
pub struct Acquired {
    pub all: u64,
    pub turned_over: u64,
}

impl Acquired {
    pub fn add(&mut self, more: Self) {
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
pub fn cpu_seconds(process: u32) -> Option<f64> {
    let line = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The fields follow the name, which may contain anything, in brackets.
    let (_, rest) = line.rsplit_once(") ")?;
    let mut fields = rest.split(' ').skip(11);
    let ticks: f64 = fields.next()?.parse::<f64>().ok()? + fields.next()?.parse::<f64>().ok()?;
    Some(ticks / rustix::param::clock_ticks_per_second() as f64)
}
