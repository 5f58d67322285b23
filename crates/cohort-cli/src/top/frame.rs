//! A process's lock operations in an interval, observed from outside.

use crate::observe::process::{Moment, Process};
use crate::observe::stacks::Frame;
use crate::observe::watching::Watching;
use crate::problem::Problem;
use crate::profile::NamedBy;
use crate::profile::counts::{self, Counted, Sums};
use crate::profile::gathered::{self, Gathered};
use crate::profile::merge::{self, CONDITION, Name};
use cohort::records::{Doing, Hold, NO_SAMPLES, STACKS_ONLY};
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// Minimum time between two looks, absolute and relative to a look's duration.
const TICK: Duration = Duration::from_millis(4);
const TIMES: u32 = 50;

/// Interval between checks that the process lives.
const SETTLE: Duration = Duration::from_millis(100);

/// Observed lock operations.
#[derive(Debug, Serialize)]
pub struct Seen {
    /// The observed time in seconds.
    pub seconds: f64,
    /// Living threads.
    pub threads: usize,
    /// Thread-seconds of waiting per second, for all locks together.
    pub lost_per_second: f64,
    /// Threads that wait for locks at the end.
    pub waiting: usize,
    /// Whether the process has ended.
    pub has_ended: bool,
    /// The share of waiting in its threads' time of waiting or running; for a process outside
    /// Cohort.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share_lost: Option<f64>,
    /// The cost of looks, in CPUs; for such a process too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// CPU seconds that reading symbols took, beside the looks; for such a process too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub naming: Option<f64>,
    /// The locks with acquisitions or waits, in no order.
    #[serde(skip)]
    pub locks: Vec<Row>,
}

/// Locks of one name.
#[derive(Debug, Serialize)]
pub struct Row {
    /// `mutex` or `rwlock`.
    pub kind: &'static str,
    /// The name.
    pub name: String,
    /// The name's origin.
    pub named_by: NamedBy,
    /// The number of locks with that name.
    pub objects: usize,
    /// Thread-seconds of waiting per second.
    pub lost_per_second: f64,
    /// Seconds per second with any waiting thread, if seen; for several locks together.
    #[serde(skip)]
    pub awaited: f64,
    /// Threads that wait at the end.
    pub waiting: usize,
    /// The longest of their waits so far, in seconds, if seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest_wait: Option<f64>,
    /// Acquisitions per second; none if not counted.
    pub taken_per_second: Option<f64>,
    /// The share of contended ones.
    pub contended: Option<f64>,
    /// The lock's mode at the last wait; none if not reported.
    pub mode: Option<&'static str>,
    /// Its observed mode changes since the program began.
    pub changes: u32,
    /// Its holders at the end, except for those that acquired it before the watch.
    pub holders: Vec<Holder>,
    /// Waiting sites.
    pub waited_at: Vec<WaitSite>,
    /// Sites holding it meanwhile.
    pub held_at: Vec<WaitSite>,
}

/// Holder of a lock.
#[derive(Debug, Serialize)]
pub struct Holder {
    /// Its thread ID here.
    pub thread: u32,
    /// Its name.
    pub name: Option<String>,
    /// The acquisition site; for a process outside Cohort, the place where it sleeps, if it does.
    pub at: Option<Frame>,
    /// The share of waits during which it held the lock, if seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
}

/// Site that waits for a lock, or holds it meanwhile.
#[derive(Debug, Serialize)]
pub struct WaitSite {
    /// `lock`, `read` or `write`.
    pub how: &'static str,
    /// Thread-seconds per second.
    pub lost_per_second: f64,
    /// The site, with its callers if stacks are requested.
    pub frames: Vec<Frame>,
}

/// Observer of a process.
pub trait Looks {
    /// The program's name, and its lock as passed to the library.
    fn program(&self) -> (String, Option<String>);
    /// The process ID here.
    fn process(&self) -> u32;
    /// The time since the start of the interval.
    fn elapsed(&self) -> Duration;
    /// Whether the process has ended.
    fn is_over(&self) -> bool;
    /// Requests stacks of waiting threads, which cost the program more.
    fn want_stacks(&self, wanted: bool);
    /// Looks once; returns the time until the next look.
    ///
    /// # Errors
    /// Another command observes the process now.
    fn look(&mut self) -> Result<Duration, Problem>;
    /// Ends the interval with its result, and starts the next one.
    fn finish(&mut self) -> Seen;
}

/// Observes a process under Cohort.
pub struct Looker {
    watching: Watching,
    gathered: Gathered,
    began: Instant,
    settled: Option<Instant>,
    numbers: HashMap<u32, u32>,
    is_over: bool,
    /// The counts before this interval.
    before: Sums,
    names: HashMap<u64, (Name, NamedBy)>,
    random: u64,
}

impl Looker {
    /// An observer of a watched process.
    pub fn new(watching: Watching) -> Self {
        Self {
            before: counts::sums(&watching.process),
            watching,
            gathered: Gathered::default(),
            began: Instant::now(),
            settled: None,
            numbers: HashMap::new(),
            is_over: false,
            names: HashMap::new(),
            random: 0x9e37_79b9_7f4a_7c15,
        }
    }

    fn living(&self) -> HashSet<u32> {
        self.numbers.keys().copied().collect()
    }
}

impl Looks for Looker {
    fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    fn is_over(&self) -> bool {
        self.is_over
    }

    fn want_stacks(&self, wanted: bool) {
        let spacing = if wanted { STACKS_ONLY } else { NO_SAMPLES };
        let records = self.watching.process.records();
        records.spacing.store(spacing, Relaxed);
    }

    fn look(&mut self) -> Result<Duration, Problem> {
        let began = Instant::now();
        self.watching.beat()?;
        if self.settled.is_none_or(|at| at.elapsed() >= SETTLE) {
            self.settled = Some(began);
            let process = &self.watching.process;
            self.numbers = process.numbers();
            let living = self.living();
            self.gathered
                .leave_out_gone(self.watching.process.records(), &living);
            self.is_over = self.watching.is_over();
        }
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let tick = TICK.max(began.elapsed() * TIMES);
        let process = &mut self.watching.process;
        self.gathered.look(process.records(), tick.as_secs_f64());
        self.gathered.take_samples(process, |_| {});
        if process.stacks.is_read() {
            self.gathered.unwind_next(process);
        } else {
            process.stacks.read_next();
        }
        // Looks must not synchronise with the program.
        let part = (self.random % 1024) as u32 + 512;
        Ok(TICK.max(began.elapsed() * TIMES) * part / 1024)
    }

    fn finish(&mut self) -> Seen {
        let seconds = self.began.elapsed().as_secs_f64();
        self.began = Instant::now();
        let mut gathered = std::mem::take(&mut self.gathered);
        let living = self.living();
        let process = &mut self.watching.process;
        self.gathered.leave_out_gone(process.records(), &living);
        process.refresh(&self.numbers);
        gathered.unwind_all(process);
        let sums = counts::sums(process);
        let counted = counts::since(&sums, &self.before);
        let counts = counts::by_locks(&counted).map(|counts| (counts[0].lock, counts));
        let counts: HashMap<u64, &[Counted]> = counts.collect();
        self.before = sums;
        let moments = process.threads(&living);
        let modes = process.modes();
        let mut seen = Seen {
            seconds,
            threads: living.len(),
            lost_per_second: 0.0,
            waiting: 0,
            has_ended: self.is_over,
            share_lost: None,
            cost: None,
            naming: None,
            locks: Vec::new(),
        };
        let mut rows: HashMap<Name, Row> = HashMap::new();
        let none = gathered::Looks::default();
        let awaited = moments.iter().filter_map(lock_awaited);
        let locks: HashSet<u64> = counts
            .keys()
            .chain(gathered.looks.keys())
            .copied()
            .chain(awaited)
            .collect();
        for lock in locks {
            let counts = counts.get(&lock).copied().unwrap_or_default();
            let looks = gathered.looks.get(&lock).unwrap_or(&none);
            let (name, named_by) = self
                .names
                .entry(lock)
                .or_insert_with(|| name(process, lock, counts, looks));
            if name.0 == CONDITION {
                continue;
            }
            let row = rows
                .entry(name.clone())
                .or_insert_with(|| Row::new(name, *named_by));
            row.objects += 1;
            let rate = |lost: f64| lost / gathered.looked.max(f64::MIN_POSITIVE);
            row.lost_per_second += rate(looks.lost);
            row.waiting += moments
                .iter()
                .filter(|moment| lock_awaited(moment) == Some(lock))
                .count();
            let taken: u64 = counts.iter().map(|count| count.acquired).sum();
            let contended: u64 = counts.iter().map(|count| count.contended).sum();
            *row.taken_per_second.get_or_insert(0.0) += taken as f64 / seconds;
            // A count at first, until divided below.
            *row.contended.get_or_insert(0.0) += contended as f64 / seconds;
            if let Some((mode, changes)) = modes.get(&lock) {
                row.mode = Some(mode.name());
                row.changes += changes;
            }
            for moment in moments.iter().filter(|moment| !moment.is_gone) {
                for held in moment.holds.iter().filter(|held| held.object == lock) {
                    let thread = *self.numbers.get(&moment.id).unwrap_or(&moment.id);
                    row.holders.push(Holder {
                        thread,
                        name: process.name_of(moment.id),
                        at: Some(first_frame(process, held.site)),
                        share: None,
                    });
                }
            }
            for (site, lost) in &looks.waiters {
                let stacks = gathered.stacks.get(&(lock, *site));
                let heaviest = stacks.and_then(|stacks| {
                    let weight = |one: &(&Vec<u64>, &f64), other: &(&Vec<u64>, &f64)| {
                        one.1.total_cmp(other.1)
                    };
                    stacks.iter().max_by(weight)
                });
                let frames = match heaviest {
                    Some((addresses, _)) => process.stacks.named(addresses),
                    None => Vec::new(),
                };
                add(&mut row.waited_at, process, *site, rate(*lost), frames);
            }
            for (site, lost) in &looks.holders {
                add(&mut row.held_at, process, *site, rate(*lost), Vec::new());
            }
        }
        for mut row in rows.into_values() {
            let taken = row.taken_per_second.unwrap_or(0.0);
            let share = |contended: f64| if taken > 0.0 { contended / taken } else { 0.0 };
            row.contended = row.contended.map(share);
            for places in [&mut row.waited_at, &mut row.held_at] {
                places.sort_by(|one, other| other.lost_per_second.total_cmp(&one.lost_per_second));
            }
            seen.lost_per_second += row.lost_per_second;
            seen.waiting += row.waiting;
            seen.locks.push(row);
        }
        seen
    }

    fn program(&self) -> (String, Option<String>) {
        self.watching.program()
    }

    fn process(&self) -> u32 {
        self.watching.process.id
    }
}

impl Row {
    fn new(name: &Name, named_by: NamedBy) -> Self {
        let (kind, name) = name.clone();
        Self::unseen(kind, name, named_by)
    }

    /// The row of a lock without observations.
    pub fn unseen(kind: &'static str, name: String, named_by: NamedBy) -> Self {
        Self {
            kind,
            name,
            named_by,
            objects: 0,
            lost_per_second: 0.0,
            awaited: 0.0,
            waiting: 0,
            longest_wait: None,
            taken_per_second: None,
            contended: None,
            mode: None,
            changes: 0,
            holders: Vec::new(),
            waited_at: Vec::new(),
            held_at: Vec::new(),
        }
    }

    /// Multiplies all rates by the observed `part` of a longer interval.
    pub fn scale(&mut self, part: f64) {
        self.lost_per_second *= part;
        self.awaited *= part;
        for place in self.waited_at.iter_mut().chain(&mut self.held_at) {
            place.lost_per_second *= part;
        }
    }

    /// Adds another process's locks of this name.
    pub fn add(&mut self, other: Self) {
        self.objects += other.objects;
        self.lost_per_second += other.lost_per_second;
        self.awaited += other.awaited;
        self.waiting += other.waiting;
        self.longest_wait = match (self.longest_wait, other.longest_wait) {
            (Some(one), Some(other)) => Some(one.max(other)),
            (one, other) => one.or(other),
        };
        self.holders.extend(other.holders);
        for (to, from) in [
            (&mut self.waited_at, other.waited_at),
            (&mut self.held_at, other.held_at),
        ] {
            for place in from {
                match to.iter_mut().find(|known| known.frames == place.frames) {
                    Some(known) => known.lost_per_second += place.lost_per_second,
                    None => to.push(place),
                }
            }
            to.sort_by(|one, other| other.lost_per_second.total_cmp(&one.lost_per_second));
        }
    }
}

/// The lock that a thread waits for, if any.
fn lock_awaited(moment: &Moment) -> Option<u64> {
    let waiting = moment.waiting.filter(|_| !moment.is_gone)?;
    let is_for_lock = match waiting.doing {
        Doing::Timed => waiting.mutex == 0,
        doing => doing.is_for_lock(),
    };
    is_for_lock.then_some(waiting.object)
}

/// A lock's name; without acquisitions, by its waiting site.
fn name(
    process: &mut Process,
    lock: u64,
    counts: &[Counted],
    looks: &gathered::Looks,
) -> (Name, NamedBy) {
    if counts.is_empty() {
        let awaited = looks.waiters.keys().map(|site| Counted {
            lock,
            site: *site,
            acquired: 1,
            contended: 0,
        });
        return merge::name(process, lock, &awaited.collect::<Vec<_>>());
    }
    merge::name(process, lock, counts)
}

fn first_frame(process: &mut Process, site: u64) -> Frame {
    let frames = process.stacks.frames(site.saturating_sub(1));
    frames.into_iter().next().unwrap_or_default()
}

/// Adds to a site's entry, or a new entry.
fn add(
    places: &mut Vec<WaitSite>,
    process: &mut Process,
    site: u64,
    lost: f64,
    frames: Vec<Frame>,
) {
    let (address, how) = Hold::unpack(site);
    let how = merge::taken_for(how);
    let frames = if frames.is_empty() {
        vec![first_frame(process, address)]
    } else {
        frames
    };
    let same = |place: &&mut WaitSite| {
        let (one, other) = (&place.frames[0], &frames[0]);
        place.how == how && (&one.module, one.offset) == (&other.module, other.offset)
    };
    match places.iter_mut().find(same) {
        Some(place) => place.lost_per_second += lost,
        None => places.push(WaitSite {
            how,
            lost_per_second: lost,
            frames,
        }),
    }
}
