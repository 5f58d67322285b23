//! What the processes of a program did with their locks, under the locks' names.

use super::figures::{Durations, Range};
use super::gather::{Gathered, Looks, Sampled};
use super::{Condition, Lock, NamedBy, Queue, Site};
use crate::observe::process::Process;
use crate::observe::stacks::Frame;
use cohort::records::{Hold, How, OBJECT};
use std::collections::HashMap;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

/// Of a variable that holds several locks, so many are shown each by itself; more are an array.
const FIELDS: usize = 8;

/// Frames of a place that are kept.
const FRAMES: usize = 6;

/// A kind of lock, and a name.
pub type Name = (&'static str, String);

/// Stacks that waited: the lock's place among the locks, frames, thread-seconds.
pub type Stacks = Vec<(usize, Vec<Frame>, f64)>;

/// One process's counts of a lock: site, acquisitions, contended ones.
pub type Counts = Vec<(u64, u64, u64)>;

/// All processes' locks and conditions.
#[derive(Default)]
pub struct Merged {
    locks: HashMap<Name, One>,
}

/// The locks of one name.
struct One {
    named_by: NamedBy,
    /// Each lock's lost seconds, by process and identity.
    objects: HashMap<(u32, u64), f64>,
    lost: f64,
    variance: f64,
    awaited: f64,
    greatest: u32,
    waits: Durations,
    holds: Durations,
    nested: f64,
    weight: f64,
    sites: HashMap<(How, Frame), Place>,
    stacks: HashMap<Vec<Frame>, f64>,
}

/// One of their sites.
#[derive(Default)]
struct Place {
    frames: Option<Vec<Frame>>,
    acquired: u64,
    contended: u64,
    lost: f64,
    blamed: f64,
    waits: Durations,
    holds: Durations,
}

impl One {
    fn new(named_by: NamedBy) -> Self {
        Self {
            named_by,
            objects: HashMap::new(),
            lost: 0.0,
            variance: 0.0,
            awaited: 0.0,
            greatest: 0,
            waits: Durations::default(),
            holds: Durations::default(),
            nested: 0.0,
            weight: 0.0,
            sites: HashMap::new(),
            stacks: HashMap::new(),
        }
    }

    fn look(&mut self, looks: &Looks, scale: f64) {
        self.lost += looks.lost * scale;
        self.variance += looks.lost_squared * scale * scale;
        self.awaited += looks.awaited * scale;
        self.greatest = self.greatest.max(looks.greatest);
    }

    fn sample(&mut self, sampled: &Sampled) {
        self.waits.add_all(&sampled.waits);
        self.holds.add_all(&sampled.holds);
        self.nested += sampled.nested;
        self.weight += sampled.weight;
    }

    /// Takes over what is known of another name's locks.
    fn absorb(&mut self, other: Self) {
        self.objects.extend(other.objects);
        self.lost += other.lost;
        self.variance += other.variance;
        self.awaited += other.awaited;
        self.greatest = self.greatest.max(other.greatest);
        self.waits.add_all(&other.waits);
        self.holds.add_all(&other.holds);
        self.nested += other.nested;
        self.weight += other.weight;
        for (key, place) in other.sites {
            self.sites.entry(key).or_default().absorb(place);
        }
        for (frames, seconds) in other.stacks {
            *self.stacks.entry(frames).or_default() += seconds;
        }
    }
}

impl Place {
    fn absorb(&mut self, other: Self) {
        if let Some(frames) = other.frames {
            self.meet(&frames);
        }
        self.acquired += other.acquired;
        self.contended += other.contended;
        self.lost += other.lost;
        self.blamed += other.blamed;
        self.waits.add_all(&other.waits);
        self.holds.add_all(&other.holds);
    }

    /// Keeps what these frames and those before have in common.
    fn meet(&mut self, frames: &[Frame]) {
        let known = self
            .frames
            .get_or_insert_with(|| frames[..frames.len().min(FRAMES)].to_vec());
        let same = known.iter().zip(frames).take_while(|(one, other)| {
            (&one.function, &one.module, one.line) == (&other.function, &other.module, other.line)
        });
        let same = same.count();
        known.truncate(same);
    }
}

/// Where threads and programs begin: every stack ends there.
const BEGINNINGS: [&str; 6] = [
    "start_thread",
    "clone3",
    "__clone3",
    "_start",
    "__libc_start_main",
    "__libc_start_call_main",
];

/// Frames without addresses, and without those that every stack has.
fn telling(frames: &[Frame]) -> Vec<Frame> {
    let is_beginning = |frame: &&Frame| {
        let function = frame.function.as_deref().unwrap_or_default();
        let bare = function.split(['@', '+']).next().unwrap_or(function);
        BEGINNINGS.contains(&bare)
    };
    let beginnings = frames.iter().rev().take_while(is_beginning).count();
    let told = (frames.len() - beginnings).max(1).min(frames.len());
    frames[..told].iter().map(settled).collect()
}

/// A frame without its address, which is another in each process.
fn settled(frame: &Frame) -> Frame {
    Frame {
        address: 0,
        ..frame.clone()
    }
}

/// A place in few words: a function without a line is known well enough without its module.
pub fn label(frame: &Frame) -> String {
    match (&frame.function, frame.line) {
        (Some(function), None) => function.clone(),
        _ => frame.to_string().replace("  ", " "),
    }
}

impl Merged {
    /// Adds what is known of a process.
    pub fn add(&mut self, process: &mut Process, gathered: &Gathered) {
        let scale = if gathered.looked > 0.0 {
            gathered.lived.as_secs_f64() / gathered.looked
        } else {
            0.0
        };
        let mut named = HashMap::new();
        for (lock, counts) in by_locks(&sums(process), &gathered.before.counted) {
            let (name, named_by) = name(process, lock, &counts);
            let one = self
                .locks
                .entry(name.clone())
                .or_insert_with(|| One::new(named_by));
            let looks = gathered.looks.get(&lock);
            let lost = looks.map_or(0.0, |looks| looks.lost * scale);
            one.objects.insert((process.id, lock), lost);
            if let Some(looks) = looks {
                one.look(looks, scale);
            }
            for (site, acquired, contended) in &counts {
                let place = one.sites.entry(key(process, *site)).or_default();
                place.acquired += acquired;
                place.contended += contended;
            }
            named.insert(lock, name);
        }
        for (lock, looks) in &gathered.looks {
            let Some(one) = named.get(lock).and_then(|name| self.locks.get_mut(name)) else {
                continue;
            };
            for (site, held) in &looks.holders {
                one.sites.entry(key(process, *site)).or_default().blamed += held * scale;
            }
            for (site, waited) in &looks.waiters {
                let seconds = waited * scale;
                let place = one.sites.entry(key(process, *site)).or_default();
                place.lost += seconds;
                let Some(stacks) = gathered.stacks.get(&(*lock, *site)) else {
                    let frames = process.stacks.frames(Hold::unpack(*site).0 - 1);
                    let frames = telling(&frames);
                    *one.stacks.entry(frames).or_default() += seconds;
                    continue;
                };
                let all: f64 = stacks.values().sum();
                for (addresses, weight) in stacks {
                    let frames = process.stacks.named(addresses);
                    let frames = telling(&frames);
                    place.meet(&frames);
                    let share = if all > 0.0 {
                        weight / all
                    } else {
                        1.0 / stacks.len() as f64
                    };
                    *one.stacks.entry(frames).or_default() += seconds * share;
                }
            }
        }
        for ((lock, site), sampled) in &gathered.sampled {
            let Some(one) = named.get(lock).and_then(|name| self.locks.get_mut(name)) else {
                continue;
            };
            one.sample(sampled);
            let place = one.sites.entry(key(process, *site)).or_default();
            place.waits.add_all(&sampled.waits);
            place.holds.add_all(&sampled.holds);
        }
    }

    /// All of it, sorted.
    pub fn finish(mut self) -> (Vec<Lock>, Vec<Condition>, Stacks) {
        self.put_arrays_together();
        let mut locks: Vec<(Lock, HashMap<Vec<Frame>, f64>)> = Vec::new();
        let mut conditions = Vec::new();
        for ((kind, name), one) in self.locks {
            if kind == CONDITION {
                conditions.push(Condition {
                    name,
                    named_by: one.named_by,
                    objects: one.objects.len(),
                    waits: one.sites.values().map(|place| place.acquired).sum(),
                    wait: one.waits.spread(),
                });
            } else {
                locks.push(lock(kind, name, one));
            }
        }
        locks.sort_by(|(one, _), (other, _)| {
            (other.lost.value, other.contended, other.acquired)
                .partial_cmp(&(one.lost.value, one.contended, one.acquired))
                .expect("seconds are numbers")
                .then_with(|| one.name.cmp(&other.name))
        });
        conditions.sort_by(|one, other| (other.waits, &one.name).cmp(&(one.waits, &other.name)));
        let mut all = Stacks::new();
        for (place, (_, stacks)) in locks.iter().enumerate() {
            let of_this = stacks.iter().filter(|(_, seconds)| **seconds > 0.0);
            all.extend(of_this.map(|(frames, seconds)| (place, frames.clone(), *seconds)));
        }
        all.sort_by(|one, other| {
            (one.0, other.2)
                .partial_cmp(&(other.0, one.2))
                .expect("seconds are numbers")
                .then_with(|| format!("{:?}", one.1).cmp(&format!("{:?}", other.1)))
        });
        let locks = locks.into_iter().map(|(lock, _)| lock).collect();
        (locks, conditions, all)
    }

    /// Gives the locks of an array one name.
    fn put_arrays_together(&mut self) {
        let mut parts: HashMap<Name, Vec<Name>> = HashMap::new();
        for name in self.locks.keys() {
            if let Some((base, _)) = part(&name.1) {
                let base = (name.0, base.to_owned());
                parts.entry(base).or_default().push(name.clone());
            }
        }
        for ((kind, base), names) in parts.into_iter().filter(|(_, names)| names.len() >= FIELDS) {
            let mut whole = One::new(NamedBy::Symbol);
            // The first is at the array's beginning, and has its bare name.
            let first = (kind, base.clone());
            for name in names.iter().chain([&first]) {
                if let Some(one) = self.locks.remove(name) {
                    whole.absorb(one);
                }
            }
            self.locks.insert((kind, format!("{base}[…]")), whole);
        }
    }
}

/// The variable and the place in it, of a lock that is inside one.
fn part(name: &str) -> Option<(&str, u64)> {
    let (base, inside) = name.rsplit_once('+')?;
    Some((base, inside.parse().ok()?))
}

/// The kind of a condition.
pub const CONDITION: &str = "condition";

fn lock(kind: &str, name: String, one: One) -> (Lock, HashMap<Vec<Frame>, f64>) {
    let all: f64 = one.objects.values().sum();
    let most = one.objects.values().copied().fold(0.0, f64::max);
    let mut sites: Vec<Site> = one
        .sites
        .into_iter()
        .map(|((how, frame), place)| Site {
            frames: match place.frames {
                Some(frames) if !frames.is_empty() => frames,
                _ => vec![frame],
            },
            how: match how {
                How::Read => "read",
                How::Write => "write",
                _ => "lock",
            }
            .to_owned(),
            acquired: place.acquired,
            contended: place.contended,
            lost: place.lost,
            blamed: place.blamed,
            wait: place.waits.spread(),
            hold: place.holds.spread(),
        })
        .collect();
    sites.sort_by(|one, other| {
        (other.lost, other.blamed, other.acquired)
            .partial_cmp(&(one.lost, one.blamed, one.acquired))
            .expect("seconds are numbers")
            .then_with(|| label(&one.frames[0]).cmp(&label(&other.frames[0])))
    });
    let lock = Lock {
        kind: kind.to_owned(),
        name,
        named_by: one.named_by,
        objects: one.objects.len(),
        busiest: if all > 0.0 { most / all } else { 0.0 },
        acquired: sites.iter().map(|site| site.acquired).sum(),
        contended: sites.iter().map(|site| site.contended).sum(),
        lost: Range::around(one.lost, one.variance),
        queue: Queue {
            mean: if one.awaited > 0.0 {
                one.lost / one.awaited
            } else {
                0.0
            },
            greatest: one.greatest,
        },
        wait: one.waits.spread(),
        hold: one.holds.spread(),
        nested: if one.weight > 0.0 {
            one.nested / one.weight
        } else {
            0.0
        },
        sites,
    };
    (lock, one.stacks)
}

/// How often each lock was taken from each site, and found held.
pub type Sums = HashMap<(u64, u64), (u64, u64)>;

/// What a process counted, by locks and sites.
pub fn sums(process: &Process) -> Sums {
    let raw = process.records();
    let used = (raw.used.load(Acquire) as usize).min(raw.threads.len());
    let mut all = Sums::new();
    let tallies = raw.threads[..used]
        .iter()
        .flat_map(|thread| &thread.tallies);
    let tallies = tallies.map(|tally| {
        let known = (tally.lock.load(Acquire), tally.site.load(Acquire));
        let acquired = tally.acquired.load(Relaxed);
        let contended = tally.contended.load(Relaxed);
        (known, (acquired.into(), contended.into()))
    });
    let counts = process.counts().into_iter();
    let counts = counts.map(|count| {
        let known = (count.lock.load(Acquire), count.site.load(Acquire));
        let acquired = count.acquired.load(Relaxed);
        (known, (acquired, count.contended.load(Relaxed)))
    });
    for (known @ (lock, site), (acquired, contended)) in tallies.chain(counts) {
        if lock != 0 && site != 0 {
            let sum = all.entry(known).or_default();
            sum.0 += acquired;
            sum.1 += contended;
        }
    }
    all
}

/// The same by locks, without what was counted before.
pub fn by_locks(sums: &Sums, before: &Sums) -> HashMap<u64, Counts> {
    let mut locks: HashMap<u64, Counts> = HashMap::new();
    for ((lock, site), (acquired, contended)) in sums {
        let (already, held) = before.get(&(*lock, *site)).copied().unwrap_or_default();
        // A thread that puts its counts together meanwhile may be counted once too little.
        let acquired = acquired.saturating_sub(already);
        let contended = contended.saturating_sub(held);
        if acquired > 0 {
            locks
                .entry(*lock)
                .or_default()
                .push((*site, acquired, contended));
        }
    }
    locks
}

/// What a site is told apart by, in all processes.
fn key(process: &mut Process, site: u64) -> (How, Frame) {
    let (address, how) = Hold::unpack(site);
    let frames = process.stacks.frames(address.saturating_sub(1));
    (how, frames.first().map(settled).unwrap_or_default())
}

/// A lock's kind and name.
pub fn name(process: &mut Process, lock: u64, counts: &Counts) -> (Name, NamedBy) {
    let most = counts
        .iter()
        .max_by_key(|(site, acquired, _)| (*acquired, *site));
    let site = most.map_or(0, |(site, _, _)| *site);
    let (taken, how) = Hold::unpack(site);
    let kind = match how {
        How::Mutex => "mutex",
        How::Read | How::Write => "rwlock",
        How::Condition => CONDITION,
    };
    if let Some(name) = process.stacks.variable(lock & OBJECT) {
        return ((kind, name), NamedBy::Symbol);
    }
    let (at, named_by) = match process.initialised(lock) {
        Some(at) => (at, NamedBy::Initialised),
        None => (taken, NamedBy::Taken),
    };
    let frames = process.stacks.frames(at.saturating_sub(1));
    let name = frames.first().map_or_else(String::new, label);
    ((kind, name), named_by)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_variable_is_told_from_a_name() {
        assert_eq!(part("locks+80"), Some(("locks", 80)));
        assert_eq!(part("operator+"), None);
        assert_eq!(part("plain"), None);
    }

    #[test]
    fn an_array_has_one_name_and_fields_keep_theirs() {
        let mut merged = Merged::default();
        let mut put = |name: &str, lost: f64| {
            let mut one = One::new(NamedBy::Symbol);
            one.lost = lost;
            one.objects.insert((1, merged_number(name)), lost);
            merged.locks.insert(("mutex", name.to_owned()), one);
        };
        put("table", 1.0);
        for place in 1..10 {
            put(&format!("table+{}", place * 40), 1.0);
        }
        put("server+8", 0.5);
        put("server+48", 0.25);
        let (locks, _, _) = merged.finish();
        let names: Vec<&str> = locks.iter().map(|lock| lock.name.as_str()).collect();
        assert_eq!(names, ["table[…]", "server+8", "server+48"]);
        assert_eq!(locks[0].objects, 10);
        assert!((locks[0].lost.value - 10.0).abs() < 1e-9);
        assert!((locks[0].busiest - 0.1).abs() < 1e-9);
    }

    fn merged_number(name: &str) -> u64 {
        name.bytes().fold(7, |sum, byte| sum * 31 + u64::from(byte))
    }

    #[test]
    fn of_several_stacks_what_they_share_stays() {
        let frame = |function: &str| Frame {
            function: Some(function.to_owned()),
            ..Frame::default()
        };
        let mut place = Place::default();
        place.meet(&[frame("enter"), frame("step"), frame("run")]);
        place.meet(&[frame("enter"), frame("step"), frame("close")]);
        let kept = place.frames.expect("there were two");
        assert_eq!(kept, [frame("enter"), frame("step")]);
    }
}
