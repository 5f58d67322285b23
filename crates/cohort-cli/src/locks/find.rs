//! Finds the objects that sleeping threads wait for, by the words at which they sleep.

use super::process::{Process, Sleep};
use crate::observe::process::{Process as Observed, Waiting};
use crate::observe::stacks::Stacks;
use cohort::basic::Futex;
use cohort::condvar::{RawCondvar, Waiter};
use cohort::records::{Doing, How};
use cohort::rwlock::RawRwLock;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Kind of object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ObjectKind {
    /// A mutex.
    Mutex,
    /// A rwlock.
    RwLock,
    /// A condition.
    Condition,
    /// A word of unknown meaning.
    Word,
    /// Another object, in a process outside Cohort.
    #[serde(untagged)]
    Other(&'static str),
}

impl ObjectKind {
    /// The kind's name in the table.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mutex => "mutex",
            Self::RwLock => "rwlock",
            Self::Condition => "condition",
            Self::Word => "word",
            Self::Other(name) => name,
        }
    }
}

/// Holder or waiter of a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Member {
    /// Its thread ID.
    pub thread: u32,
    /// Its name, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Object with waiters or holders.
#[derive(Clone, Debug, Serialize)]
pub struct Lock {
    /// Its kind.
    pub kind: ObjectKind,
    /// Its address.
    pub address: u64,
    /// The variable there, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
    /// Its offset in a file's image, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// Its state in words; empty if free.
    pub held: String,
    /// Its known holders.
    pub holders: Vec<Member>,
    /// Its waiters.
    pub waiters: Vec<Member>,
}

/// Objects by kind and address, with their holders and waiters.
type Found = BTreeMap<(ObjectKind, u64), (Vec<u32>, Vec<u32>)>;

/// Offsets of a mutex's owner and kind.
const OWNER: u64 = 8;
const KIND: u64 = 16;
/// Bits of the kind that decide whether the owner is recorded; it is not for a plain mutex.
const KINDS: u32 = 3;
/// Offset of a rwlock's writer.
const WRITER: u64 = 16;

/// All locks of the process with a waiter, or held according to the observing library.
pub fn locks(process: &Process, observed: Option<&Observed>) -> Vec<Lock> {
    let found = match observed {
        Some(observed) => {
            let mut found = Found::new();
            let numbers = observed.numbers();
            let mut threads = observed.threads(&numbers.keys().copied().collect());
            // Opening `process` needed the same permission to read.
            let _ = observed.add_holders(&mut threads, &numbers);
            for moment in threads {
                for held in &moment.holds {
                    let holders = &mut found.entry((of(held.how), held.object)).or_default().0;
                    holders.push(moment.id);
                }
                if let Some(waiting) = moment.waiting
                    && let Some(kind) = for_which(&waiting)
                {
                    let waiters = &mut found.entry((kind, waiting.object)).or_default().1;
                    waiters.push(moment.id);
                }
            }
            found
        }
        None => {
            let mut found = Found::new();
            let sleeps = process.sleeps();
            let heads: BTreeSet<u64> = sleeps
                .iter()
                .filter_map(|sleep| headed(process, sleep))
                .collect();
            for sleep in &sleeps {
                let waiters = &mut found.entry(object(process, &heads, sleep)).or_default().1;
                waiters.push(sleep.thread);
            }
            found
        }
    };
    let mut stacks = process.stacks();
    let threads = process.threads();
    let member = |thread| Member {
        thread,
        name: process.name(thread),
    };
    let lock = |((kind, address), (mut holders, waiters)): (_, (Vec<u32>, Vec<u32>))| {
        let (noted, held) = state(process, kind, address);
        if holders.is_empty() {
            holders.extend(noted.and_then(|own| threads.get(&own)));
        }
        Lock {
            kind,
            address,
            variable: stacks.variable(address),
            place: place(&mut stacks, address),
            held,
            holders: holders.into_iter().map(member).collect(),
            waiters: waiters.into_iter().map(member).collect(),
        }
    };
    found.into_iter().map(lock).collect()
}

/// The file's name and the offset in its image.
fn place(stacks: &mut Stacks, address: u64) -> Option<String> {
    let frame = stacks.frames(address).into_iter().next()?;
    let file = frame.module?;
    let name = file.rsplit('/').next().unwrap_or(&file);
    Some(format!("{name}+{:#x}", frame.offset))
}

/// The kind of a recorded hold.
const fn of(how: How) -> ObjectKind {
    match how {
        How::Mutex => ObjectKind::Mutex,
        How::Read | How::Write => ObjectKind::RwLock,
        How::Condition => ObjectKind::Condition,
        _ => ObjectKind::Other(how.noun()),
    }
}

/// The kind of a recorded wait, if for a known lock.
const fn for_which(waiting: &Waiting) -> Option<ObjectKind> {
    match waiting.doing {
        doing if doing.is_for_lock() => Some(of(waiting.how)),
        Doing::Condition => Some(ObjectKind::Condition),
        Doing::Timed => Some(ObjectKind::Word),
        Doing::Semaphore => Some(ObjectKind::Other("semaphore")),
        Doing::Barrier => Some(ObjectKind::Other("barrier")),
        _ => None,
    }
}

/// The object at which a thread sleeps; `heads` are the rwlocks with a thread asleep at their word.
fn object(process: &Process, heads: &BTreeSet<u64>, sleep: &Sleep) -> (ObjectKind, u64) {
    // Cohort's locks use classes of sleepers. The C library uses none in a join, whose thread ID
    // may look like a held mutex.
    if sleep.classes == u32::MAX {
        return (ObjectKind::Word, sleep.word);
    }
    let at = |offset: usize| {
        process
            .long(sleep.word.wrapping_add(offset as u64))
            .unwrap_or(0)
    };
    if sleep.seen == Waiter::WAITING && sleep.classes == Waiter::CLASS {
        let condition = at(Waiter::AT);
        let queue = |offset: usize| {
            process
                .word(condition.wrapping_add(offset as u64))
                .unwrap_or(0)
        };
        let now = process.word(sleep.word).unwrap_or(0);
        if Waiter::is_adopted(now) {
            return (ObjectKind::Mutex, at(Waiter::MUTEX));
        }
        if condition != 0 && condition.is_multiple_of(4) && queue(RawCondvar::FIRST) != 0 {
            return (ObjectKind::Condition, condition);
        }
    }
    // A rwlock's first waiter sleeps at its word, the others at the gate before it.
    if let Some(rwlock) = headed(process, sleep) {
        return (ObjectKind::RwLock, rwlock);
    }
    if !is_mutexs(sleep.seen) {
        return (ObjectKind::Word, sleep.word);
    }
    // In a program of the library for C, a mutex is eight bytes, followed by arbitrary data.
    let is_headed = || heads.contains(&sleep.word);
    if (process.serves_pthread && is_rwlock(process, sleep.word)) || is_headed() {
        return (ObjectKind::RwLock, sleep.word);
    }
    (ObjectKind::Mutex, sleep.word)
}

/// Whether a thread that read that value at a mutex's word would sleep there.
fn is_mutexs(seen: u32) -> bool {
    Futex::is_held(seen) && Futex::has_sleepers(seen)
}

/// The rwlock with a thread asleep at its word, as its first waiter.
fn headed(process: &Process, sleep: &Sleep) -> Option<u64> {
    let rwlock = sleep.word.checked_sub(RawRwLock::WORD as u64)?;
    if !RawRwLock::seen(sleep.seen).has_sleeper || !is_rwlock(process, rwlock) {
        return None;
    }
    // The word of a mutex after another mutex may look the same. But the second word of a mutex is
    // even while threads sleep, and a process's generation is 1 unless it was forked.
    let generation = process.word(rwlock.wrapping_add(RawRwLock::GENERATION as u64))?;
    let is_certain = process.serves_pthread || !is_mutexs(sleep.seen) || generation % 2 == 1;
    is_certain.then_some(rwlock)
}

/// Whether a rwlock with waiters is there: its gate is held, and it records a process where a mutex
/// has the upper half of an address.
fn is_rwlock(process: &Process, address: u64) -> bool {
    /// More than any chain of forks.
    const GENERATIONS: u32 = 4096;
    let generation = process.word(address.wrapping_add(RawRwLock::GENERATION as u64));
    process.word(address).is_some_and(Futex::is_held)
        && generation.is_some_and(|number| (1..GENERATIONS).contains(&number))
}

/// The holder recorded in an object, by its own thread ID, and the object's state in words.
fn state(process: &Process, kind: ObjectKind, address: u64) -> (Option<u32>, String) {
    let noted = |at: u64| {
        // Objects of the library for C end before that.
        process.serves_pthread.then_some(())?;
        // The lower half of the thread's name.
        process
            .word(address.wrapping_add(at))
            .filter(|thread| *thread != 0)
    };
    match kind {
        ObjectKind::Mutex => {
            let held = process.word(address).is_some_and(Futex::is_held);
            let notes = process.word(address.wrapping_add(KIND)).unwrap_or(0) & KINDS;
            let owner = if matches!(notes, 1 | 2) {
                noted(OWNER)
            } else {
                None
            };
            let words = if held { "a thread" } else { "" };
            (owner, words.to_owned())
        }
        ObjectKind::RwLock => {
            let word = process
                .word(address.wrapping_add(RawRwLock::WORD as u64))
                .unwrap_or(0);
            let seen = RawRwLock::seen(word);
            match (seen.is_written, seen.readers) {
                (true, _) => (noted(WRITER), "a writer".to_owned()),
                (false, 0) if seen.is_biased => (None, "readers in slots, if any".to_owned()),
                (false, 0) => (None, String::new()),
                (false, 1) => (None, "1 reader".to_owned()),
                (false, readers) => (None, format!("{readers} readers")),
            }
        }
        ObjectKind::Condition | ObjectKind::Word | ObjectKind::Other(_) => (None, String::new()),
    }
}
