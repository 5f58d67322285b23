//! Looks at a process from outside again and again: which locks its threads wait for, and which hold them.

use super::Process;
use super::glibc::{self, FutexUse, Mutex, is_libc};
use super::syscall::{Call, Sleep};
use crate::observe::site::Site;
use crate::observe::stacks::{Frame, Stacks};
use crate::problem::Problem;
use crate::profile::NamedBy;
use crate::profile::merge::label;
use crate::top::frame::{Holder, Looks, Row, Seen, WaitSite};
use rustix::time::{ClockId, clock_gettime};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::{Duration, Instant};

/// The least time from one look to the next, and the greatest.
const TICKS: [Duration; 2] = [Duration::from_millis(8), Duration::from_secs(1)];

/// Looks take one part in so many of a CPU's time.  A hundredth slowed a program on two CPUs by one per
/// cent: beside that time, each look displaces a running thread (`cohort bar outside`).
const PARTS: u32 = 200;

/// Processes that are looked at as often as one alone; more of them more rarely.
const ALIKE: usize = 4;

/// How often threads are listed.
const SETTLE: Duration = Duration::from_millis(100);

/// How often mappings are listed: a library may be loaded meanwhile.
const REMAP: Duration = Duration::from_secs(5);

/// Stacks that one look reads, of words that are known and of others.
const STACKS: usize = 2;
const NEW_STACKS: usize = 8;

/// Bytes of a stack that are read: a caller is found within a page or two.
const STACK: usize = 16 << 10;

/// A word at which threads slept.
#[derive(Default)]
struct Word {
    kind: Option<FutexUse>,
    /// Where the object begins, if that is not the word.
    start: Option<u64>,
    /// The words of the object.
    at: Vec<u64>,
    /// Thread-seconds of sleep.
    lost: f64,
    /// These by the addresses of the sleepers' calls.
    stacks: HashMap<Vec<u64>, f64>,
    /// Seconds for which any thread slept here.
    awaited: f64,
    /// Those of these for which a thread was seen to hold it.
    holders: HashMap<u32, f64>,
    /// Those of these for which the holder slept too, by the addresses of its calls.
    held_at: HashMap<Vec<u64>, f64>,
    /// The threads that slept here at the last look.
    sleepers: Vec<u32>,
}

/// What threads sleep for at one moment.
pub struct Moment {
    /// What it is.
    pub kind: FutexUse,
    /// Where it begins.
    pub address: u64,
    /// The variable there.
    pub variable: Option<String>,
    /// The place that waits for it.
    pub place: Option<String>,
    /// The thread that holds it.
    pub holder: Option<u32>,
    /// The threads that sleep there.
    pub waiters: Vec<u32>,
}

/// What was seen beside locks.
#[derive(Clone, Debug, Default)]
pub struct Others {
    /// Thread-seconds in a second by what threads slept for.
    pub by_kind: BTreeMap<&'static str, f64>,
}

/// Looks at a process from outside.
pub struct Looker {
    /// The process.
    pub process: Process,
    stacks: Stacks,
    words: HashMap<u64, Word>,
    /// Since when each thread has slept at a word.
    since: HashMap<(u32, u64), Instant>,
    began: Instant,
    looked: Instant,
    settled: Option<Instant>,
    /// When the list of mappings was read, for which the process's own mappings stand still.
    mapped: Instant,
    /// The process's CPU seconds at the interval's begin.
    used: f64,
    /// This command's CPU time in the interval: of looks, and of reading symbols.  The latter comes once
    /// for each file, so it does not space the looks.
    looking: Duration,
    naming: Duration,
    is_over: bool,
    looks: u64,
    random: u64,
    others: Others,
}

impl Looker {
    /// Of a process; its files are read first.
    pub fn new(process: Process) -> Self {
        let before = spent();
        let mut stacks = Stacks::new(process.id);
        stacks.refresh(process.threads(), &process.maps, Vec::new());
        Self {
            stacks,
            words: HashMap::new(),
            since: HashMap::new(),
            began: Instant::now(),
            looked: Instant::now(),
            settled: None,
            mapped: Instant::now(),
            used: process.cpu(),
            looking: Duration::ZERO,
            naming: spent() - before,
            is_over: false,
            looks: 0,
            random: 0x9e37_79b9_7f4a_7c15,
            others: Others::default(),
            process,
        }
    }

    /// How often it has looked.
    pub const fn looks(&self) -> u64 {
        self.looks
    }

    /// What was seen beside locks in the last interval.
    pub fn others(&self) -> &Others {
        &self.others
    }

    /// CPU seconds that the process has used in the interval; none after its end.
    pub fn used(&self) -> f64 {
        (self.process.cpu() - self.used).max(0.0)
    }

    /// What its threads sleep for now.
    pub fn moment(&mut self) -> Vec<Moment> {
        // A look reads the stacks of some new words; a few read all that there are.
        self.look_once();
        let words = self.words.len();
        for _ in 0..words.div_ceil(NEW_STACKS) {
            self.words.retain(|_, word| !word.sleepers.is_empty());
            self.words
                .values_mut()
                .for_each(|word| word.holders.clear());
            self.look_once();
        }
        let words = whole(std::mem::take(&mut self.words));
        let asleep = words
            .into_iter()
            .filter(|(_, word)| !word.sleepers.is_empty());
        let moment = |(at, word): (u64, Word)| {
            let frames = word.stacks.keys().next();
            let frames = frames.map_or_else(Vec::new, |stack| self.stacks.named(stack));
            Moment {
                kind: word.kind.unwrap_or(FutexUse::Unknown),
                address: at,
                variable: self.stacks.variable(at),
                place: first_outside(&frames).map(label),
                holder: word.holders.keys().next().copied(),
                waiters: word.sleepers,
            }
        };
        asleep.map(moment).collect()
    }

    fn chance(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    /// Looks once, and returns the CPU time of that without the reading of symbols.
    fn look_once(&mut self) -> Duration {
        let (before, named) = (spent(), self.naming);
        self.see();
        let cost = spent().saturating_sub(before + (self.naming - named));
        self.looking += cost;
        cost
    }

    fn see(&mut self) {
        self.looks += 1;
        if self.settled.is_none_or(|at| at.elapsed() >= SETTLE) {
            self.settled = Some(Instant::now());
            self.process.refresh();
            self.is_over = self.process.is_over();
            if self.mapped.elapsed() >= REMAP {
                self.mapped = Instant::now();
                self.stacks.refresh(self.process.threads(), "", Vec::new());
            }
        }
        let calls = self.process.calls();
        let now = Instant::now();
        let passed = (now - self.looked).as_secs_f64();
        self.looked = now;
        for word in self.words.values_mut() {
            word.sleepers.clear();
        }
        let sleeps: Vec<(u32, Call, Sleep)> = calls
            .iter()
            .filter_map(|(thread, call)| Some((*thread, *call, call.sleep()?)))
            .collect();
        for (thread, _, sleep) in &sleeps {
            let word = self.words.entry(sleep.word).or_default();
            word.sleepers.push(*thread);
            word.lost += passed;
        }
        let asleep: HashSet<(u32, u64)> = sleeps
            .iter()
            .map(|(thread, _, sleep)| (*thread, sleep.word))
            .collect();
        self.since.retain(|at, _| asleep.contains(at));
        for at in asleep {
            self.since.entry(at).or_insert(now);
        }
        self.read_stacks(&sleeps, passed);
        self.find_holders(&sleeps, &calls, passed);
    }

    /// Reads the stacks of some sleepers: of all words that are new, and of others by chance.
    fn read_stacks(&mut self, sleeps: &[(u32, Call, Sleep)], passed: f64) {
        if sleeps.is_empty() {
            return;
        }
        let mut chosen: Vec<usize> = Vec::new();
        let is_new = |place: &usize| {
            let word = self.words.get(&sleeps[*place].2.word);
            word.is_none_or(|word| word.kind.as_ref().is_none_or(|kind| !kind.is_certain()))
        };
        chosen.extend((0..sleeps.len()).filter(is_new).take(NEW_STACKS));
        for _ in 0..STACKS {
            chosen.push((self.chance() % sleeps.len() as u64) as usize);
        }
        chosen.sort_unstable();
        chosen.dedup();
        for place in &chosen {
            let (thread, call, sleep) = &sleeps[*place];
            let addresses = addresses(&mut self.stacks, &self.process, call);
            let mutex = Mutex::at(&self.process, sleep);
            let is_asleep = self.process.call(*thread) == Some(*call);
            let is_known = self
                .words
                .get(&sleep.word)
                .is_some_and(|word| word.kind.as_ref().is_some_and(FutexUse::is_certain));
            let found = (!is_known).then(|| {
                let before = spent();
                let frames = self.stacks.named(&addresses);
                self.naming += spent().saturating_sub(before);
                let kind = glibc::kind(&frames, mutex, sleep);
                let start =
                    (kind == FutexUse::RwLock).then(|| glibc::rwlock(&self.process, sleep.word).0);
                (kind, start)
            });
            // The stack of a thread that woke up meanwhile may have frames of other calls.
            let is_whole = |(kind, _): &(FutexUse, Option<u64>)| kind.is_certain();
            if !is_asleep && !found.as_ref().is_some_and(is_whole) {
                continue;
            }
            if let Some(word) = self.words.get_mut(&sleep.word) {
                if let Some((kind, start)) = found {
                    let before = word.kind.take().unwrap_or(FutexUse::Unknown);
                    word.kind = Some(before.or(kind));
                    word.start = word.start.or(start);
                }
                // Each stack that was read stands for all sleepers of this look.
                let share = passed * sleeps.len() as f64 / chosen.len() as f64;
                *word.stacks.entry(addresses).or_default() += share;
            }
        }
    }

    fn find_holders(&mut self, sleeps: &[(u32, Call, Sleep)], calls: &[(u32, Call)], passed: f64) {
        let mut seen = HashSet::new();
        for (_, _, sleep) in sleeps {
            if !seen.insert(sleep.word) {
                continue;
            }
            let Some(word) = self.words.get_mut(&sleep.word) else {
                continue;
            };
            word.awaited += passed;
            let owner = match word.kind {
                Some(FutexUse::Mutex | FutexUse::LibcMutex) => {
                    Mutex::at(&self.process, sleep).map(|mutex| mutex.owner)
                }
                Some(FutexUse::RwLock) => glibc::rwlock(&self.process, sleep.word).1,
                _ => None,
            };
            let Some(holder) = owner.and_then(|owner| self.process.here(owner)) else {
                continue;
            };
            *word.holders.entry(holder).or_default() += passed;
            let asleep = calls.binary_search_by_key(&holder, |(thread, _)| *thread);
            let Ok(place) = asleep else {
                continue;
            };
            // A thread that woke up meanwhile holds it no more.
            if self.process.call(holder) == Some(calls[place].1) {
                let addresses = addresses(&mut self.stacks, &self.process, &calls[place].1);
                *word.held_at.entry(addresses).or_default() += passed;
            }
        }
    }

    /// A lock's name: its variable, else the place outside the C library that waits for it most.
    fn name(&mut self, at: u64, frames: &[Frame]) -> (String, NamedBy) {
        if let Some(variable) = self.stacks.variable(at) {
            return (variable, NamedBy::Symbol);
        }
        match first_outside(frames) {
            Some(frame) => (label(frame), NamedBy::Taken),
            None => (format!("{at:#x}"), NamedBy::Taken),
        }
    }
}

/// Samples each due process, and returns the pause until the next one.
pub fn look_at_due(lookers: &mut [(Looker, Instant)]) -> Result<Duration, Problem> {
    // Together they take a few hundredths of a CPU.
    let factor = u32::try_from(lookers.len().div_ceil(ALIKE)).unwrap_or(1);
    let mut pause = Duration::from_millis(20);
    for (looker, due) in lookers {
        if looker.is_over() {
            continue;
        }
        if *due <= Instant::now() {
            *due = Instant::now() + looker.look()? * factor;
        }
        pause = pause.min(due.saturating_duration_since(Instant::now()));
    }
    Ok(pause.max(Duration::from_millis(1)))
}

/// What was seen at words, by the objects that they belong to: an rwlock's readers and writers sleep at two.
fn whole(words: HashMap<u64, Word>) -> HashMap<u64, Word> {
    let mut objects: HashMap<u64, Word> = HashMap::new();
    for (at, mut word) in words {
        word.at.push(at);
        match objects.entry(word.start.unwrap_or(at)) {
            Entry::Vacant(object) => {
                object.insert(word);
            }
            Entry::Occupied(mut object) => object.get_mut().add(word),
        }
    }
    objects
}

impl Word {
    /// Adds another word of the same object.
    fn add(&mut self, other: Self) {
        let add = |to: &mut HashMap<_, f64>, from: HashMap<_, f64>| {
            for (key, lost) in from {
                *to.entry(key).or_default() += lost;
            }
        };
        self.at.extend(other.at);
        self.lost += other.lost;
        add(&mut self.stacks, other.stacks);
        add(&mut self.held_at, other.held_at);
        // An upper bound: threads may have slept at both at once.
        self.awaited += other.awaited;
        for (holder, held) in other.holders {
            *self.holders.entry(holder).or_default() += held;
        }
        self.sleepers.extend(other.sleepers);
    }
}

/// The addresses of a sleeping thread's calls, the innermost first.
fn addresses(stacks: &mut Stacks, process: &Process, call: &Call) -> Vec<u64> {
    let memory = process.bytes(call.stack, STACK);
    let site = Site {
        returns_to: call.at,
        stack: call.stack,
        frame: 0,
    };
    stacks.unwound(&site, &memory).0
}

/// The frames from the first that called the C library.
fn outside(frames: &[Frame]) -> Vec<Frame> {
    let is_outside = |frame: &Frame| {
        let module = frame.module.as_deref();
        module.is_some_and(|module| !is_libc(module))
    };
    let from = frames.iter().position(is_outside);
    frames[from.unwrap_or(0)..].to_vec()
}

/// The frame that called the C library.
fn first_outside(frames: &[Frame]) -> Option<&Frame> {
    let is_outside = |frame: &&Frame| {
        let module = frame.module.as_deref();
        module.is_some_and(|module| !is_libc(module))
    };
    frames.iter().find(is_outside)
}

/// Adds to a place of the same calls, or to the list.
fn add(places: &mut Vec<WaitSite>, frames: Vec<Frame>, lost: f64) {
    match places.iter_mut().find(|place| place.frames == frames) {
        Some(place) => place.lost_per_second += lost,
        None => places.push(WaitSite {
            how: "lock",
            lost_per_second: lost,
            frames,
        }),
    }
}

/// CPU time of this thread.
fn spent() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

impl Looks for Looker {
    fn program(&self) -> (String, Option<String>) {
        (self.process.program.clone(), None)
    }

    fn process(&self) -> u32 {
        self.process.id
    }

    fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    fn is_over(&self) -> bool {
        self.is_over
    }

    fn want_stacks(&self, _wanted: bool) {}

    fn look(&mut self) -> Result<Duration, Problem> {
        let cost = self.look_once();
        let [least, most] = TICKS;
        let pause = (cost * (PARTS - 1)).clamp(least, most);
        // Looks must not keep step with what the program does.
        let part = u32::try_from(self.chance() % 1024).unwrap_or(0) + 512;
        Ok(pause * part / 1024)
    }

    fn finish(&mut self) -> Seen {
        // The time since the last look is this interval's.
        self.look_once();
        let seconds = self.began.elapsed().as_secs_f64();
        let cpu = self.process.cpu();
        let used = cpu - self.used;
        let looked = spent();
        let now = Instant::now();
        (self.began, self.looked, self.used) = (now, now, cpu);
        let words = whole(std::mem::take(&mut self.words));
        let rate = |lost: f64| lost / seconds.max(f64::MIN_POSITIVE);
        let mut others = Others::default();
        let mut rows: HashMap<(FutexUse, String), Row> = HashMap::new();
        for (at, word) in words {
            let kind = word.kind.clone().unwrap_or(FutexUse::Unknown);
            *others.by_kind.entry(kind.name()).or_default() += rate(word.lost);
            if !kind.is_lock() {
                continue;
            }
            let mut stacks: Vec<(Vec<Frame>, f64)> = word
                .stacks
                .iter()
                .map(|(addresses, lost)| (self.stacks.named(addresses), *lost))
                .collect();
            stacks.sort_by(|one, other| other.1.total_cmp(&one.1));
            let known: f64 = stacks.iter().map(|(_, lost)| lost).sum();
            let first = stacks.first().map_or(&[][..], |(frames, _)| frames);
            let (name, named_by) = self.name(at, first);
            let row = rows
                .entry((kind.clone(), name.clone()))
                .or_insert_with(|| Row::unseen(kind.name(), name, named_by));
            row.objects += 1;
            row.lost_per_second += rate(word.lost);
            row.awaited += rate(word.awaited);
            row.waiting += word.sleepers.len();
            for thread in &word.sleepers {
                let since = word
                    .at
                    .iter()
                    .find_map(|at| self.since.get(&(*thread, *at)));
                let waits = since.map_or(0.0, |since| since.elapsed().as_secs_f64());
                row.longest_wait = Some(row.longest_wait.unwrap_or(0.0).max(waits));
            }
            let mut holders: Vec<(u32, f64)> = word.holders.into_iter().collect();
            holders.sort_by(|one, other| other.1.total_cmp(&one.1));
            for (thread, held) in holders {
                row.holders.push(Holder {
                    thread,
                    name: self.process.name(thread),
                    at: self.place_of(thread),
                    share: Some((held / word.awaited.max(f64::MIN_POSITIVE)).min(1.0)),
                });
            }
            for (frames, lost) in stacks {
                // The stacks that were read stand for all.
                let lost = rate(word.lost) * lost / known.max(f64::MIN_POSITIVE);
                add(&mut row.waited_at, outside(&frames), lost);
            }
            for (addresses, held) in word.held_at {
                let frames = self.stacks.named(&addresses);
                add(&mut row.held_at, outside(&frames), rate(held));
            }
        }
        self.others = others;
        // Everything since the last look named the places that were found.
        let naming = std::mem::take(&mut self.naming) + (spent() - looked);
        let looking = std::mem::take(&mut self.looking);
        let mut seen = Seen {
            seconds,
            threads: self.process.thread_count(),
            lost_per_second: 0.0,
            waiting: 0,
            has_ended: self.is_over,
            share_lost: None,
            cost: Some(looking.as_secs_f64() / seconds),
            naming: Some(naming.as_secs_f64()),
            locks: rows.into_values().collect(),
        };
        for row in &mut seen.locks {
            for places in [&mut row.waited_at, &mut row.held_at] {
                places.sort_by(|one, other| other.lost_per_second.total_cmp(&one.lost_per_second));
            }
            seen.lost_per_second += row.lost_per_second;
            seen.waiting += row.waiting;
        }
        let all = seen.lost_per_second + rate(used);
        seen.share_lost = Some(if all > 0.0 {
            seen.lost_per_second / all
        } else {
            0.0
        });
        seen
    }
}

impl Looker {
    /// Where a thread is, if it sleeps.
    fn place_of(&mut self, thread: u32) -> Option<Frame> {
        let call = self.process.call(thread)?;
        let addresses = addresses(&mut self.stacks, &self.process, &call);
        let frames = self.stacks.named(&addresses);
        first_outside(&frames).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_and_writers_of_an_rwlock_wait_for_one_lock() {
        let word = |start, lost, sleepers: &[u32]| Word {
            kind: Some(FutexUse::RwLock),
            start,
            lost,
            stacks: HashMap::from([(vec![1], lost)]),
            sleepers: sleepers.to_vec(),
            ..Word::default()
        };
        let words = HashMap::from([
            (108, word(Some(100), 1.0, &[7])),
            (112, word(Some(100), 0.5, &[8])),
            (300, word(None, 2.0, &[9])),
        ]);
        let mut objects = whole(words);
        let one = objects.remove(&100).expect("an rwlock");
        assert_eq!((one.lost, one.stacks[&vec![1]]), (1.5, 1.5));
        assert_eq!((one.at.len(), one.sleepers.len()), (2, 2));
        assert_eq!(objects[&300].at, [300]);
        assert_eq!(objects.len(), 1);
    }
}
