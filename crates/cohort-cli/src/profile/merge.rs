//! Combines the lock operations of a program's processes under the locks' names.

use super::counts::{Counted, by_locks, counted};
use super::figures::{Look, Mixture, Pair, Range, Seen, Spread};
use super::gathered::{Gathered, Looks, Sampled, SeenAt};
use super::handed::Handed;
use super::pace::Records;
use super::{Condition, Lock, NamedBy, Queue, Site};
use crate::observe::process::Process;
use crate::observe::stacks::Frame;
use cohort::records::{Hold, How, OBJECT};
use std::collections::HashMap;

/// Locks in one variable shown individually; more are an array.
const FIELDS: usize = 8;

/// Frames kept of a site.
const FRAMES: usize = 6;

/// A kind of lock, and a name.
pub type Name = (&'static str, String);

/// Waiting stacks: the lock's index, frames, thread-seconds.
pub type Stacks = Vec<(usize, Vec<Frame>, f64)>;

/// Locks and conditions of all processes.
///
/// The locks of an array are merged immediately: a million separate locks would take kilobytes
/// each.
#[derive(Default)]
pub struct Merged {
    locks: HashMap<Name, One>,
    /// By variables, the names of the locks inside each, up to the size of an array.
    parts: HashMap<Name, Vec<Name>>,
}

/// The locks of one name.
struct One {
    named_by: NamedBy,
    objects: usize,
    lost: f64,
    /// The largest share of these seconds at a single lock.
    most_lost: f64,
    variance: f64,
    awaited: f64,
    greatest: u32,
    waits: Mixture,
    holds: Mixture,
    handed: Handed,
    nested: f64,
    weight: f64,
    sites: HashMap<Key, SiteCounts>,
    stacks: HashMap<Vec<Frame>, f64>,
}

/// Site of such locks.
#[derive(Default)]
struct SiteCounts {
    frames: Option<Vec<Frame>>,
    acquired: u64,
    contended: u64,
    lost: f64,
    blamed: f64,
    waits: Mixture,
    holds: Mixture,
}

/// The waits and the holds of a lock at a site.
fn durations(count: &Counted, gathered: &Gathered, scale: f64, records: Records) -> [Mixture; 2] {
    let none = Sampled::default();
    let key = (count.lock, count.site);
    let sampled = gathered.sampled.get(&key).unwrap_or(&none);
    let seen = gathered.seen.get(&key).copied().unwrap_or_default();
    let look = |seen: Seen| {
        (gathered.looked > 0.0).then_some(Look {
            seen,
            scale,
            tick: gathered.longest,
        })
    };
    let SeenAt { waits, holds } = seen;
    let numbers = [
        count.acquired - count.contended.min(count.acquired),
        count.contended,
    ];
    let mut both = [Mixture::default(), Mixture::default()];
    let is_known = sampled.waits[0].samples() > 0;
    let is_condition = Hold::unpack(count.site).1 == How::Condition;
    // A lock seen free is not waited for.
    if !is_known && !is_condition {
        both[0].add_none(numbers[0]);
    }
    let free = if is_known || is_condition {
        numbers[0]
    } else {
        0
    };
    both[0].add(&Pair {
        strata: [
            (free, Some(&sampled.waits[0])),
            (numbers[1], Some(&sampled.waits[1])),
        ],
        look: look(waits).filter(|_| !is_condition),
        records: records.waits,
    });
    if !is_condition {
        both[1].add(&Pair {
            strata: [
                (numbers[0], Some(&sampled.holds[0])),
                (numbers[1], Some(&sampled.holds[1])),
            ],
            look: look(holds),
            records: records.holds,
        });
    }
    both
}

impl One {
    fn new(named_by: NamedBy) -> Self {
        Self {
            named_by,
            objects: 0,
            lost: 0.0,
            most_lost: 0.0,
            variance: 0.0,
            awaited: 0.0,
            greatest: 0,
            waits: Mixture::default(),
            holds: Mixture::default(),
            handed: Handed::default(),
            nested: 0.0,
            weight: 0.0,
            sites: HashMap::new(),
            stacks: HashMap::new(),
        }
    }

    fn look(&mut self, looks: &Looks, scale: f64) {
        let lost = looks.lost * scale;
        self.lost += lost;
        self.most_lost = self.most_lost.max(lost);
        self.variance += looks.lost_squared * scale * scale;
        self.awaited += looks.awaited * scale;
        self.greatest = self.greatest.max(looks.greatest);
    }

    /// The site of that key.
    fn place(&mut self, key: &Key) -> &mut SiteCounts {
        // Most exist already, and need no copy of the key.
        if !self.sites.contains_key(key) {
            self.sites.insert(key.clone(), SiteCounts::default());
        }
        self.sites.get_mut(key).expect("put there just now")
    }

    fn sample(&mut self, sampled: &Sampled) {
        self.nested += sampled.nested;
        self.weight += sampled.weight;
    }

    /// Adds the data of another name's locks.
    fn absorb(&mut self, other: Self) {
        self.objects += other.objects;
        self.lost += other.lost;
        self.most_lost = self.most_lost.max(other.most_lost);
        self.variance += other.variance;
        self.awaited += other.awaited;
        self.greatest = self.greatest.max(other.greatest);
        self.waits.add_all(&other.waits);
        self.holds.add_all(&other.holds);
        self.handed.add_all(&other.handed);
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

impl SiteCounts {
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

    /// Keeps the common part of these frames and the earlier ones.
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

/// Start functions of threads and programs: every stack ends there.
const BEGINNINGS: [&str; 6] = [
    "start_thread",
    "clone3",
    "__clone3",
    "_start",
    "__libc_start_main",
    "__libc_start_call_main",
];

/// Frames without addresses, and without the common start functions.
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

/// A frame without its address, which differs between processes.
fn settled(frame: &Frame) -> Frame {
    Frame {
        address: 0,
        ..frame.clone()
    }
}

/// A short label: a function without a line needs no module.
pub fn label(frame: &Frame) -> String {
    match (&frame.function, frame.line) {
        (Some(function), None) => function.clone(),
        _ => frame.to_string().replace("  ", " "),
    }
}

impl Merged {
    /// Adds a process's data, with the cost of recording a sample.
    pub fn add(&mut self, process: &mut Process, gathered: &Gathered, records: Records) {
        let scale = if gathered.looked > 0.0 {
            gathered.lived.as_secs_f64() / gathered.looked
        } else {
            0.0
        };
        let mut keys = Keys::default();
        let sampled = gathered.sampled.keys().map(|(lock, _)| *lock);
        let told = gathered.looks.keys().copied().chain(sampled);
        let told = told.chain(gathered.handed.keys().copied());
        let mut named: HashMap<u64, Option<Name>> = told.map(|lock| (lock, None)).collect();
        for counts in by_locks(&counted(process, &gathered.before.counted)) {
            let lock = counts[0].lock;
            let (name, named_by) = name(process, lock, counts);
            if let Some(told) = named.get_mut(&lock) {
                *told = Some(name.clone());
            }
            let one = self.one(name, named_by);
            one.objects += 1;
            if let Some(looks) = gathered.looks.get(&lock) {
                one.look(looks, scale);
            }
            for count in counts {
                let [waits, holds] = durations(count, gathered, scale, records);
                one.waits.add_all(&waits);
                one.holds.add_all(&holds);
                let place = one.place(keys.of(process, count.site));
                place.acquired += count.acquired;
                place.contended += count.contended;
                place.waits.add_all(&waits);
                place.holds.add_all(&holds);
            }
        }
        for (lock, looks) in &gathered.looks {
            let Some(one) = named.get(lock).and_then(|name| self.known(name.as_ref()?)) else {
                continue;
            };
            for (site, held) in &looks.holders {
                one.place(keys.of(process, *site)).blamed += held * scale;
            }
            for (site, waited) in &looks.waiters {
                let seconds = waited * scale;
                one.place(keys.of(process, *site)).lost += seconds;
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
                    one.place(keys.of(process, *site)).meet(&frames);
                    let share = if all > 0.0 {
                        weight / all
                    } else {
                        1.0 / stacks.len() as f64
                    };
                    *one.stacks.entry(frames).or_default() += seconds * share;
                }
            }
        }
        for ((lock, _), sampled) in &gathered.sampled {
            let Some(one) = named.get(lock).and_then(|name| self.known(name.as_ref()?)) else {
                continue;
            };
            one.sample(sampled);
        }
        for (lock, handed) in &gathered.handed {
            if let Some(one) = named.get(lock).and_then(|name| self.known(name.as_ref()?)) {
                one.handed.add_all(handed);
            }
        }
    }

    /// The sorted result of programs that ran for that many seconds.
    pub fn finish(self, ran: f64) -> (Vec<Lock>, Vec<Condition>, Stacks) {
        let mut locks: Vec<(Lock, HashMap<Vec<Frame>, f64>)> = Vec::new();
        let mut conditions = Vec::new();
        for ((kind, name), one) in self.locks {
            if kind == CONDITION {
                conditions.push(Condition {
                    name,
                    named_by: one.named_by,
                    objects: one.objects,
                    waits: one.sites.values().map(|place| place.acquired).sum(),
                    wait: one.waits.spread(),
                });
            } else {
                locks.push(lock(kind, name, one, ran));
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

    /// The data of the locks with that name, or of their array.
    fn one(&mut self, name: Name, named_by: NamedBy) -> &mut One {
        let mut name = self.array_of(&name).unwrap_or(name);
        if !self.locks.contains_key(&name)
            && let Some(variable) = variable_of(&name)
        {
            let parts = self.parts.entry(variable.clone()).or_default();
            parts.push(name.clone());
            if parts.len() == FIELDS {
                let mut whole = One::new(NamedBy::Symbol);
                // The first lock is at the array's beginning, and has its bare name.
                for part in parts.iter().chain([&variable]) {
                    if let Some(one) = self.locks.remove(part) {
                        whole.absorb(one);
                    }
                }
                name = array(&variable);
                self.locks.insert(name.clone(), whole);
            }
        }
        let new = || One::new(named_by);
        self.locks.entry(name).or_insert_with(new)
    }

    /// The data of a known name.
    fn known(&mut self, name: &Name) -> Option<&mut One> {
        match self.array_of(name) {
            Some(array) => self.locks.get_mut(&array),
            None => self.locks.get_mut(name),
        }
    }

    /// The array that contains a lock of that name, if any.
    fn array_of(&self, name: &Name) -> Option<Name> {
        let inside = variable_of(name);
        let variable = inside.as_ref().unwrap_or(name);
        let parts = self.parts.get(variable)?;
        (parts.len() == FIELDS).then(|| array(variable))
    }
}

/// The common name of an array's locks.
fn array((kind, variable): &Name) -> Name {
    (*kind, format!("{variable}[…]"))
}

/// The variable that contains a lock of that name, unless the lock is at its beginning.
fn variable_of((kind, name): &Name) -> Option<Name> {
    part(name).map(|(variable, _)| (*kind, variable.to_owned()))
}

/// The variable and the offset of a lock inside it.
fn part(name: &str) -> Option<(&str, u64)> {
    let (base, inside) = name.rsplit_once('+')?;
    Some((base, inside.parse().ok()?))
}

/// The kind of a condition.
pub const CONDITION: &str = How::Condition.noun();

/// The operation that holds a lock so.
pub const fn taken_for(how: How) -> &'static str {
    if how.is_read() {
        "read"
    } else if how.is_write() {
        "write"
    } else {
        "lock"
    }
}

/// The holds at `objects` locks in that many seconds: one after the other, unless shared.
fn holds(of: &Mixture, is_shared: bool, objects: usize, count: u64, ran: f64) -> Option<Spread> {
    let spread = of.spread()?;
    Some(if is_shared {
        spread
    } else {
        spread.at_most(objects as f64 * ran * 1e9 / count as f64)
    })
}

fn lock(kind: &str, name: String, one: One, ran: f64) -> (Lock, HashMap<Vec<Frame>, f64>) {
    let is_shared = one.sites.keys().any(|(how, _)| how.is_read());
    let acquired = one.sites.values().map(|place| place.acquired).sum();
    let mut sites: Vec<Site> = one
        .sites
        .into_iter()
        .map(|((how, frame), place)| Site {
            frames: match place.frames {
                Some(frames) if !frames.is_empty() => frames,
                _ => vec![frame],
            },
            how: taken_for(how).to_owned(),
            acquired: place.acquired,
            contended: place.contended,
            lost: place.lost,
            blamed: place.blamed,
            wait: place.waits.spread(),
            hold: holds(
                &place.holds,
                how.is_read(),
                one.objects,
                place.acquired,
                ran,
            ),
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
        objects: one.objects,
        busiest: if one.lost > 0.0 {
            one.most_lost / one.lost
        } else {
            0.0
        },
        acquired,
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
        hold: holds(&one.holds, is_shared, one.objects, acquired, ran),
        handed: one.handed.shares(),
        nested: if one.weight > 0.0 {
            one.nested / one.weight
        } else {
            0.0
        },
        sites,
    };
    (lock, one.stacks)
}

/// A site's key across processes.
type Key = (How, Frame);

/// Keys of a process's sites, each computed once.
#[derive(Default)]
struct Keys(HashMap<u64, Key>);

impl Keys {
    fn of(&mut self, process: &mut Process, site: u64) -> &Key {
        self.0.entry(site).or_insert_with(|| {
            let (address, how) = Hold::unpack(site);
            let frames = process.stacks.frames(address.saturating_sub(1));
            (how, frames.first().map(settled).unwrap_or_default())
        })
    }
}

/// A lock's kind and name.
pub fn name(process: &mut Process, lock: u64, counts: &[Counted]) -> (Name, NamedBy) {
    let most = counts
        .iter()
        .max_by_key(|count| (count.acquired, count.site));
    let site = most.map_or(0, |count| count.site);
    let (taken, how) = Hold::unpack(site);
    let kind = how.noun();
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
            let one = merged.one(("mutex", name.to_owned()), NamedBy::Symbol);
            one.objects += 1;
            one.lost += lost;
            one.most_lost = one.most_lost.max(lost);
        };
        for place in 1..10 {
            if place == 5 {
                put("table", 1.0);
            }
            put(&format!("table+{}", place * 40), 1.0);
        }
        put("server+8", 0.5);
        put("server+48", 0.25);
        let part = ("mutex", "table+80".to_owned());
        assert!(merged.known(&part).is_some_and(|one| one.objects == 10));
        // A million would be too many to keep until the end.
        assert_eq!(merged.locks.len(), 3);
        let (locks, _, _) = merged.finish(1.0);
        let names: Vec<&str> = locks.iter().map(|lock| lock.name.as_str()).collect();
        assert_eq!(names, ["table[…]", "server+8", "server+48"]);
        assert_eq!(locks[0].objects, 10);
        assert!((locks[0].lost.value - 10.0).abs() < 1e-9);
        assert!((locks[0].busiest - 0.1).abs() < 1e-9);
    }

    #[test]
    fn of_several_stacks_what_they_share_stays() {
        let frame = |function: &str| Frame {
            function: Some(function.to_owned()),
            ..Frame::default()
        };
        let mut place = SiteCounts::default();
        place.meet(&[frame("enter"), frame("step"), frame("run")]);
        place.meet(&[frame("enter"), frame("step"), frame("close")]);
        let kept = place.frames.expect("there were two");
        assert_eq!(kept, [frame("enter"), frame("step")]);
    }
}
