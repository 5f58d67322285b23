//! Samples a program's records repeatedly, and reports errors.

use super::finding::{Finding, FindingKind, Part};
use super::suppress::Suppressions;
use crate::destination::Report;
use crate::observe::Records;
use crate::observe::cycles::Waits;
use crate::observe::order;
use crate::observe::process::{Held, Moment, Process, Waiting};
use crate::observe::site::Site;
use crate::observe::stacks::{Frame, Stack};
use crate::page;
use crate::purpose::Scope;
use cohort::records::{Doing, How, STACK_BYTES, Wrong};
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::{Duration, Instant};

/// Time between two samples: threads that wait for each other at both are deadlocked.
const APART: Duration = Duration::from_millis(100);

/// Duration of a wait with an awaited lock held, after which it is reported.
const NESTED: Duration = Duration::from_secs(2);

/// Bytes read of a living thread's stack.
const READ_BYTES: usize = 4 * STACK_BYTES;

/// State of a process between two samples.
#[derive(Default)]
struct Seen {
    /// Cycles of waits at the last sample: threads with the numbers of their waits.
    stuck: HashSet<Vec<(u32, u32)>>,
    /// Reported cycles.
    told: HashSet<Vec<(u32, u32)>>,
    /// The waits of all threads at the last sample, if all were asleep.
    asleep: Vec<(u32, u32)>,
    /// Whether a reported finding explains why the process cannot end.
    is_explained: bool,
    /// The number of its reported misuses.
    findings: usize,
    /// Sets of locks with reported inversions.
    orders: HashSet<Vec<order::Lock>>,
    /// The start of each hold, by the thread and the number of its acquisition.
    held: HashMap<(u32, u64), Instant>,
    /// Waits at one condition with different mutexes at the last sample.
    apart: HashSet<[(u32, u32); 2]>,
    /// Conditions reported for that.
    apart_told: HashSet<u64>,
    /// The start and the event of each wait for an event by a thread with an awaited lock, by the
    /// two waits.
    nested: HashMap<[(u32, u32); 2], (Instant, u64)>,
    /// Events of reported ones, each with the lock.
    nested_told: HashSet<(u64, u64)>,
    /// Events that came during such a wait.
    nested_ended: HashSet<u64>,
    /// Reported threads that ended while they held a lock.
    ended: HashSet<(u32, u64)>,
}

/// Finds errors in a program's processes.
pub struct Finder {
    records: Records,
    level: Scope,
    held: Option<Duration>,
    silent: bool,
    /// Whether threads do not list their holds; the mutexes then identify their holders.
    pub reads_holders: bool,
    /// Whether the mutexes could not be read, so that holders are unknown.
    pub is_blind: bool,
    /// The signal that ends a permanently stuck program.
    pub ends_stuck: Option<i32>,
    /// Destination of findings.
    pub to: Report,
    /// Findings to suppress.
    pub suppressions: Suppressions,
    seen: HashMap<u32, Seen>,
    found: Vec<Finding>,
    /// Records of ended processes that did not fit.
    lost: u64,
    /// The extent of the observation in ended processes.
    extent: Extent,
    /// The number of suppressed findings.
    suppressed: usize,
}

/// Extent of an observation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Extent {
    /// Processes that locked a lock.
    pub processes: usize,
    /// Their threads that locked a lock.
    pub threads: usize,
}

impl Extent {
    fn add(&mut self, process: &Process) {
        self.processes += 1;
        self.threads += process.observed_threads();
    }
}

impl Finder {
    /// A finder that reports immediately, unless `silent`.
    pub fn new(records: Records, level: Scope, held: Option<Duration>, silent: bool) -> Self {
        Self {
            records,
            level,
            held,
            silent,
            reads_holders: false,
            is_blind: false,
            ends_stuck: None,
            to: Report::Stderr,
            suppressions: Suppressions::default(),
            seen: HashMap::new(),
            found: Vec::new(),
            lost: 0,
            extent: Extent::default(),
            suppressed: 0,
        }
    }

    /// The findings.
    pub fn found(&self) -> &[Finding] {
        &self.found
    }

    /// The extent of the observation.
    pub fn extent(&self) -> Extent {
        let mut extent = self.extent;
        for process in self.records.known() {
            extent.add(process);
        }
        extent
    }

    /// The final line of a run without findings.
    pub fn nothing(&self) -> String {
        let level = self.level.name();
        let Extent { processes, threads } = self.extent();
        let mut text = match processes {
            0 => format!("no findings at level `{level}`: no process used a pthread lock"),
            _ => format!(
                "no findings at level `{level}` in {} and {}",
                page::counted(processes, "process", "processes"),
                page::counted(threads, "thread", "threads"),
            ),
        };
        if self.suppressed > 0 {
            let _ = write!(text, "; {} suppressed", self.suppressed);
        }
        text
    }

    /// The number of records that did not fit.
    pub fn lost(&self) -> u64 {
        self.lost + self.records.known().map(lost).sum::<u64>()
    }

    /// Samples until the program ends, and once more.
    pub fn watch(&mut self, is_over: &AtomicBool) {
        loop {
            let last = is_over.load(Acquire);
            self.look(last);
            if last {
                return;
            }
            let until = Instant::now() + APART;
            // Each run of this thread may preempt a lock's holder.
            while !is_over.load(Acquire)
                && let Some(left) = until.checked_duration_since(Instant::now())
                && !left.is_zero()
            {
                std::thread::park_timeout(left);
            }
        }
    }

    fn look(&mut self, last: bool) {
        let mut fresh = Vec::new();
        let mut over = Vec::new();
        for process in self.records.processes() {
            let seen = self.seen.entry(process.id).or_default();
            // Read first: the records of an ended process are then complete.
            let numbers = process.numbers();
            let living: HashSet<u32> = numbers.keys().copied().collect();
            let is_alive = !living.is_empty();
            if !is_alive {
                if process.is_unseen() {
                    self.is_blind = true;
                    if !self.silent {
                        let says = page::hanging("cohort: ", &unseen(process.own_number()));
                        self.to.say(&says);
                    }
                }
                over.push(process.id);
                self.lost += lost(process);
                self.extent.add(process);
            }
            process.refresh(&numbers);
            if is_alive {
                let mut threads = process.threads(&living);
                if self.reads_holders
                    && let Err(error) = process.add_holders(&mut threads, &numbers)
                    && !std::mem::replace(&mut self.is_blind, true)
                    && !self.silent
                {
                    let says = page::hanging("cohort: ", &blind(process.id, &error));
                    self.to.say(&says);
                }
                let waits = Waits::of(&threads);
                let stuck = stuck(process, seen, &threads, &waits, &mut fresh);
                let never_ends = if stuck.is_empty() {
                    asleep(process, seen, &living, &threads, &waits, &mut fresh)
                } else {
                    never_ends(process.own_number(), &living, &threads, &waits, &stuck)
                };
                if let (Some(signal), true) = (self.ends_stuck, never_ends) {
                    fresh.extend(ended(process, signal));
                }
                nested(process, seen, &threads, &waits, &mut fresh);
                if self.level >= Scope::Owner {
                    gone(process, seen, &threads, &mut fresh);
                    two_mutexes(process, seen, &threads, &mut fresh);
                }
                if let Some(limit) = self.held {
                    long(process, seen, &threads, limit, &mut fresh);
                }
            }
            if self.level >= Scope::Owner {
                wrong(process, seen, &mut fresh);
            }
            if self.level >= Scope::Order && (last || !is_alive) {
                orders(process, seen, &mut fresh);
            }
        }
        for finding in fresh {
            let seen = self.seen.entry(finding.process).or_default();
            // The end of a process by a suppressed deadlock is no news.
            let is_known = finding.kind == FindingKind::Ended && !seen.is_explained;
            if is_known || self.suppressions.cover(&finding) {
                self.suppressed += usize::from(!is_known);
                continue;
            }
            seen.is_explained |=
                matches!(finding.kind, FindingKind::Deadlock | FindingKind::Asleep);
            if !self.silent {
                self.to.say(&text(&finding));
            }
            self.found.push(finding);
        }
        for process in over {
            self.records.forget(process);
            self.seen.remove(&process);
        }
    }
}

/// The message that holders of mutexes are unknown, with the remedy.
fn blind(process: u32, error: &std::io::Error) -> String {
    const SCOPE: &str = "/proc/sys/kernel/yama/ptrace_scope";
    let scope = std::fs::read_to_string(SCOPE).unwrap_or_default();
    let allows = match scope.trim() {
        "2" | "3" => "run as root, or write 1 into /proc/sys/kernel/yama/ptrace_scope",
        _ => {
            "run as root or as the program's user, in a container with the right to trace (docker \
             run --cap-add SYS_PTRACE)"
        }
    };
    format!(
        "warning: cannot read the memory of process {process} ({error}): the level `stuck` \
         detects no deadlock over plain mutexes; use `--level owner`, or {allows}"
    )
}

/// The message that the program's process cannot be identified here, with the remedy.
fn unseen(own: u32) -> String {
    format!(
        "warning: cannot identify a process in another PID namespace ({own} there): its deadlocks \
         are not detected; run the command inside (`unshare -pf --mount-proc cohort debug -- \
         PROGRAM`), or as root"
    )
}

/// The number of a process's records that did not fit.
fn lost(process: &Process) -> u64 {
    let records = process.records();
    let beyond = |all: u32, room: usize| u64::from(all).saturating_sub(room as u64);
    u64::from(records.lost_threads.load(Relaxed))
        + u64::from(records.lost_edges.load(Relaxed))
        + beyond(records.found.load(Relaxed), records.findings.len())
}

/// Threads that wait for each other, or for a lock with an ended holder, at this sample and the
/// last. Returns the indices of these threads.
fn stuck(
    process: &mut Process,
    seen: &mut Seen,
    threads: &[Moment],
    waits: &Waits,
    fresh: &mut Vec<Finding>,
) -> Vec<usize> {
    let mut groups = waits.cycles();
    // A thread that waits for an ended one waits permanently too.
    groups.extend((0..threads.len()).filter_map(|place| {
        let waits_for_gone =
            |(holder, held): &(usize, Option<Held>)| held.is_some() && threads[*holder].is_gone;
        waits
            .from(place)
            .iter()
            .any(waits_for_gone)
            .then(|| vec![place])
    }));
    let mut now = HashSet::new();
    let mut stuck = Vec::new();
    for group in groups {
        let key: Vec<(u32, u32)> = group
            .iter()
            .filter_map(|place| Some((threads[*place].id, threads[*place].waiting?.turn)))
            .collect();
        if seen.stuck.contains(&key) {
            stuck.extend(&group);
            if seen.told.insert(key.clone()) {
                fresh.push(deadlock(process, threads, waits, &group));
            }
        }
        now.insert(key);
    }
    seen.stuck = now;
    stuck
}

fn deadlock(process: &mut Process, threads: &[Moment], waits: &Waits, group: &[usize]) -> Finding {
    let says = match group {
        [_] if waits
            .from(group[0])
            .iter()
            .any(|(other, _)| *other == group[0]) =>
        {
            "deadlock: a thread waits for a lock that it already holds".to_owned()
        }
        [place]
            if waits
                .from(*place)
                .iter()
                .any(|(other, _)| threads[*other].id == 0) =>
        {
            "stuck: a thread waits for a lock that was held at the fork of its process".to_owned()
        }
        [_] => "stuck: a thread waits for a lock of an ended thread".to_owned(),
        _ => format!("deadlock: {} threads wait for each other", group.len()),
    };
    let parts = group
        .iter()
        .enumerate()
        .filter_map(|(turn, place)| {
            let thread = &threads[*place];
            let waiting = thread.waiting?;
            // The next thread of the cycle, or the awaited thread.
            let next = group[(turn + 1) % group.len()];
            let (other, held) = *waits
                .from(*place)
                .iter()
                .find(|(other, _)| *other == next)
                .or(waits.from(*place).first())?;
            let what = match waiting.doing {
                Doing::Join => "the end of".to_owned(),
                _ if held.is_none() => {
                    let lock = lock(process, waiting.object, waiting.how.noun());
                    format!("{lock}, which prefers writers, behind")
                }
                _ => {
                    let lock = lock(process, waiting.object, waiting.how.noun());
                    format!("{lock}, held by")
                }
            };
            let mut does = match threads[other].id {
                0 => format!("waits for {what} a thread of the parent process"),
                id => format!("waits for {what} thread {id}"),
            };
            if let Some(held) = held
                && held.site != 0
            {
                let _ = write!(does, "\n      since {}", at(process, held.site));
            }
            let memory = process.memory(thread.id, waiting.site.stack, READ_BYTES);
            let stack = process.stacks.stack(&waiting.site, &memory);
            Some(Part {
                thread: thread.id,
                name: process.name_of(thread.id),
                does,
                stack,
            })
        })
        .collect();
    let waited_for = group.iter().filter_map(|place| threads[*place].waiting);
    // A join waits for a thread, which has no permanent name.
    let locks = waited_for.filter(|waiting| waiting.doing != Doing::Join);
    let locks = locks
        .map(|waiting| called(process, waiting.object))
        .collect();
    Finding {
        kind: FindingKind::Deadlock,
        process: process.id,
        says,
        locks,
        parts,
    }
}

/// Whether a deadlock prevents the process's end: its first thread waits for it, or all threads do
/// after the first has ended.
fn never_ends(
    process: u32,
    living: &HashSet<u32>,
    threads: &[Moment],
    waits: &Waits,
    stuck: &[usize],
) -> bool {
    let is_stuck = |id: u32| {
        threads
            .iter()
            .position(|one| one.id == id && !one.is_gone)
            .is_some_and(|place| waits.leads_to(place, stuck))
    };
    if living.contains(&process) {
        is_stuck(process)
    } else {
        living.iter().all(|id| is_stuck(*id))
    }
}

/// Whether all threads of a process wait without a deadline at this sample and the last: none can
/// wake another. Without an awaited lock, a wait for a semaphore or at a barrier is not counted,
/// since a signal handler may end it.
fn asleep(
    process: &mut Process,
    seen: &mut Seen,
    living: &HashSet<u32>,
    threads: &[Moment],
    waits: &Waits,
    fresh: &mut Vec<Finding>,
) -> bool {
    let before = std::mem::take(&mut seen.asleep);
    let of = |id: &u32| {
        let place = threads.iter().position(|thread| thread.id == *id)?;
        let waiting = threads[place].waiting?;
        let is_lasting = match waiting.doing {
            Doing::Join => true,
            Doing::Condition | Doing::Semaphore | Doing::Barrier => {
                is_private(process, *id, &waiting)
            }
            // Another process may hold a shared lock.
            doing => doing.is_for_lock() && !waits.from(place).is_empty(),
        };
        (is_lasting && process.is_asleep(*id)).then_some((place, waiting))
    };
    let all: Option<Vec<(usize, Waiting)>> = living.iter().map(of).collect();
    let Some(mut all) = all.filter(|_| process.is_certain()) else {
        return false;
    };
    let is_event = |place: usize| {
        let waiting = threads[place].waiting;
        waiting.is_some_and(|waiting| matches!(waiting.doing, Doing::Semaphore | Doing::Barrier))
    };
    let blocks = |place: usize| {
        let is_it = |(other, held): &(usize, Option<Held>)| held.is_some() && is_event(*other);
        waits.from(place).iter().any(is_it)
    };
    if all.iter().any(|(place, _)| is_event(*place)) && !all.iter().any(|(place, _)| blocks(*place))
    {
        return false;
    }
    all.sort_unstable_by_key(|(place, _)| *place);
    seen.asleep = all
        .iter()
        .map(|(place, waiting)| (threads[*place].id, waiting.turn))
        .collect();
    if seen.asleep != before {
        return false;
    }
    if !seen.told.insert(before) {
        return true;
    }
    let parts = all
        .iter()
        .map(|(place, waiting)| sleeper(process, threads, waits, *place, waiting))
        .collect();
    fresh.push(Finding {
        kind: FindingKind::Asleep,
        process: process.id,
        says: "every thread waits without a deadline: none can wake another".to_owned(),
        locks: all
            .iter()
            .filter(|(_, waiting)| waiting.doing != Doing::Join)
            .map(|(_, waiting)| called(process, waiting.object))
            .collect(),
        parts,
    });
    true
}

/// Threads that have waited for long at a condition, a semaphore or a barrier, without a deadline,
/// while they hold a lock that others await: a nested monitor, if the others are to wake them. They
/// are not where the event has come during such a wait.
fn nested(
    process: &mut Process,
    seen: &mut Seen,
    threads: &[Moment],
    waits: &Waits,
    fresh: &mut Vec<Finding>,
) {
    let before = std::mem::take(&mut seen.nested);
    if seen.is_explained {
        return;
    }
    for ([first, second], (_, event)) in &before {
        let waits_still = |(id, turn): (u32, u32), thread: &Moment| {
            thread.id == id && thread.waiting.is_some_and(|waiting| waiting.turn == turn)
        };
        // A cancelled thread does not go on, and leaves its lock held.
        let goes_on = |thread: &Moment| {
            thread.id == first.0 && !thread.is_gone && !waits_still(*first, thread)
        };
        let is_awaited = threads.iter().any(|thread| waits_still(*second, thread));
        if threads.iter().any(goes_on) || !is_awaited {
            seen.nested_ended.insert(*event);
        }
    }
    let now = Instant::now();
    let mut long: Vec<usize> = Vec::new();
    for (place, thread) in threads.iter().enumerate() {
        let Some(awaits) = thread.waiting.filter(|wait| wait.doing.is_for_lock()) else {
            continue;
        };
        for (holder, held) in waits.from(place) {
            let event = threads[*holder].waiting.filter(|wait| {
                matches!(
                    wait.doing,
                    Doing::Condition | Doing::Semaphore | Doing::Barrier
                )
            });
            let (Some(event), Some(_)) = (event, held) else {
                continue;
            };
            let id = threads[*holder].id;
            let key = [(id, event.turn), (thread.id, awaits.turn)];
            let since = before.get(&key).map_or(now, |(since, _)| *since);
            seen.nested.insert(key, (since, event.object));
            let told = (event.object, awaits.object);
            let is_new =
                !seen.nested_told.contains(&told) && !seen.nested_ended.contains(&event.object);
            if now - since >= NESTED && is_new && is_private(process, id, &event) {
                seen.nested_told.insert(told);
                if !long.contains(holder) {
                    long.push(*holder);
                }
            }
        }
    }
    if !process.is_certain() {
        return;
    }
    for holder in long {
        let waits_for = |place: usize| {
            let mut from = waits.from(place).iter();
            from.any(|(other, held)| *other == holder && held.is_some())
        };
        let others = (0..threads.len()).filter(|place| waits_for(*place));
        let group: Vec<usize> = std::iter::once(holder).chain(others).collect();
        let with_waits = || {
            let of = |place: &usize| Some((*place, threads[*place].waiting?));
            group.iter().filter_map(of)
        };
        let parts = with_waits()
            .map(|(place, waiting)| sleeper(process, threads, waits, place, &waiting))
            .collect();
        let locks = with_waits()
            .map(|(_, waiting)| called(process, waiting.object))
            .collect();
        fresh.push(Finding {
            kind: FindingKind::Nested,
            process: process.id,
            says: format!(
                "a thread has waited for {} s while it holds a lock that others await: stuck, if \
                 they are to wake it",
                NESTED.as_secs()
            ),
            locks,
            parts,
        });
    }
}

/// Whether the mutex of a wait at a condition is known: not in the wait with functions that release
/// and acquire it.
const fn knows_mutex(waiting: &Waiting) -> bool {
    waiting.mutex != 0 && waiting.mutex != waiting.object
}

/// Whether no other process can wake a thread there, by the C library's mark in the object. Cohort's
/// own conditions are private.
fn is_private(process: &Process, thread: u32, waiting: &Waiting) -> bool {
    let (offset, mark) = match waiting.doing {
        Doing::Condition if waiting.how == How::Mutex => (36, 1),
        Doing::Semaphore => (8, u32::MAX),
        Doing::Barrier => (12, u32::MAX),
        _ => return true,
    };
    let bytes = process.memory(thread, waiting.object + offset, size_of::<u32>());
    let word = bytes.try_into().map(u32::from_ne_bytes);
    word.is_ok_and(|word| word & mark == 0)
}

/// A waiting thread's part, with the locks that it holds.
fn sleeper(
    process: &mut Process,
    threads: &[Moment],
    waits: &Waits,
    place: usize,
    waiting: &Waiting,
) -> Part {
    let thread = &threads[place];
    let kind = match waiting.doing {
        Doing::Condition => "condition",
        Doing::Semaphore => "semaphore",
        Doing::Barrier => "barrier",
        _ => waiting.how.noun(),
    };
    let mut does = match waiting.doing {
        Doing::Join => "waits for another thread's end".to_owned(),
        Doing::Condition | Doing::Barrier => {
            format!("waits at {}", lock(process, waiting.object, kind))
        }
        _ => format!("waits for {}", lock(process, waiting.object, kind)),
    };
    if let Some((holder, Some(_))) = waits.from(place).first() {
        let _ = write!(does, ", held by thread {}", threads[*holder].id);
    }
    for held in &thread.holds {
        let what = lock(process, held.object, held.how.noun());
        let since = at(process, held.site);
        let _ = write!(does, "\n      holds {what}\n        since {since}");
    }
    let memory = process.memory(thread.id, waiting.site.stack, READ_BYTES);
    Part {
        thread: thread.id,
        name: process.name_of(thread.id),
        does,
        stack: process.stacks.stack(&waiting.site, &memory),
    }
}

/// Ends a permanently stuck process; reports it if successful.
fn ended(process: &Process, signal: i32) -> Option<Finding> {
    if !process.is_certain() {
        return None;
    }
    let id = libc::pid_t::try_from(process.id).ok()?;
    let signal = if process.never_gets(signal) {
        libc::SIGKILL
    } else {
        signal
    };
    // SAFETY: signals a process that was just seen to have its file in our folder.
    let sent = unsafe { libc::kill(id, signal) } == 0;
    sent.then(|| Finding {
        kind: FindingKind::Ended,
        process: process.id,
        says:
            "the main thread is blocked on this deadlock, so the program was killed (--keep leaves \
               it running)"
                .to_owned(),
        locks: Vec::new(),
        parts: Vec::new(),
    })
}

/// Locks of ended threads. Locks of the parent's threads may legitimately stay held in a child.
fn gone(process: &mut Process, seen: &mut Seen, threads: &[Moment], fresh: &mut Vec<Finding>) {
    for thread in threads
        .iter()
        .filter(|thread| thread.is_gone && thread.id != 0)
    {
        for held in &thread.holds {
            if seen.ended.insert((thread.id, held.number)) {
                let what = lock(process, held.object, held.how.noun());
                fresh.push(Finding {
                    kind: FindingKind::HeldAtExit,
                    process: process.id,
                    says: format!("a thread ended while it held {what}"),
                    locks: vec![called(process, held.object)],
                    parts: vec![taken(process, thread.id, held.site)],
                });
            }
        }
    }
}

/// Threads that wait at one condition with different mutexes, at this sample and the last. Excludes
/// signalled threads that wait only for their mutex: its holder is another thread.
fn two_mutexes(
    process: &mut Process,
    seen: &mut Seen,
    threads: &[Moment],
    fresh: &mut Vec<Finding>,
) {
    let is_held = |mutex: u64| {
        let mut held = threads.iter().flat_map(|thread| &thread.holds);
        held.any(|held| held.object == mutex)
    };
    let at_conditions = threads.iter().filter_map(|thread| {
        let waiting = thread.waiting?;
        let waits = knows_mutex(&waiting) && !thread.is_gone && !is_held(waiting.mutex);
        waits.then_some((thread, waiting))
    });
    let at_conditions: Vec<_> = at_conditions.collect();
    let mut now = HashSet::new();
    for (place, (one, first)) in at_conditions.iter().enumerate() {
        for (other, second) in &at_conditions[place + 1..] {
            if first.object != second.object || first.mutex == second.mutex {
                continue;
            }
            let waits = [(one.id, first.turn), (other.id, second.turn)];
            now.insert(waits);
            if !seen.apart.contains(&waits) || !seen.apart_told.insert(first.object) {
                continue;
            }
            let condition = lock(process, first.object, "condition");
            let parts = [(one, first), (other, second)].map(|(thread, waiting)| {
                let mutex = lock(process, waiting.mutex, waiting.how.noun());
                let memory = process.memory(thread.id, waiting.site.stack, READ_BYTES);
                Part {
                    thread: thread.id,
                    name: process.name_of(thread.id),
                    does: format!("waits with {mutex}"),
                    stack: process.stacks.stack(&waiting.site, &memory),
                }
            });
            fresh.push(Finding {
                kind: FindingKind::TwoMutexes,
                process: process.id,
                says: format!("threads wait at {condition} with different mutexes"),
                locks: [first.object, first.mutex, second.mutex]
                    .map(|object| called(process, object))
                    .into(),
                parts: parts.into(),
            });
        }
    }
    seen.apart = now;
}

/// Locks held for longer than `limit`.
fn long(
    process: &mut Process,
    seen: &mut Seen,
    threads: &[Moment],
    limit: Duration,
    fresh: &mut Vec<Finding>,
) {
    let now = Instant::now();
    let mut held_now = HashMap::new();
    for thread in threads.iter().filter(|thread| !thread.is_gone) {
        for held in &thread.holds {
            let key = (thread.id, held.number);
            let since = seen.held.get(&key).copied().unwrap_or(now);
            held_now.insert(key, since);
            if now - since > limit && seen.ended.insert(key) {
                let what = lock(process, held.object, held.how.noun());
                fresh.push(Finding {
                    kind: FindingKind::HeldLong,
                    process: process.id,
                    says: format!("{what} is held for more than {:.3} s", limit.as_secs_f64()),
                    locks: vec![called(process, held.object)],
                    parts: vec![taken(process, thread.id, held.site)],
                });
            }
        }
    }
    seen.held = held_now;
}

/// Recorded misuses of locks.
fn wrong(process: &mut Process, seen: &mut Seen, fresh: &mut Vec<Finding>) {
    for finding in process.findings(seen.findings) {
        seen.findings += 1;
        let raw = finding.kind.load(Acquire);
        let Some(kind) = Wrong::ALL.into_iter().find(|kind| *kind as u32 == raw) else {
            continue;
        };
        let object = lock(process, finding.object.load(Relaxed), "lock");
        let (kind, says) = match kind {
            Wrong::UnlockFree => (
                FindingKind::UnlockFree,
                format!("{object} is unlocked while it is free"),
            ),
            Wrong::UnlockOthers => (
                FindingKind::UnlockOthers,
                format!("{object} is unlocked by a thread that does not hold it"),
            ),
            Wrong::DestroyUsed => (
                FindingKind::DestroyUsed,
                format!("{object} is destroyed while it is in use"),
            ),
            Wrong::UseDestroyed => (
                FindingKind::UseDestroyed,
                format!("{object} is used after its destruction"),
            ),
            Wrong::WaitUnlocked => (
                FindingKind::WaitUnlocked,
                format!("a thread waits for a condition with {object}, which it does not hold"),
            ),
            Wrong::LockTwice => (
                FindingKind::LockTwice,
                format!("{object}, not recursive, is locked again by its holder"),
            ),
            Wrong::Uninitialised => (
                FindingKind::Uninitialised,
                format!("{object} is locked without initialisation: its bytes are not a mutex"),
            ),
            Wrong::Unmarked => (
                FindingKind::Uninitialised,
                format!("{object} is locked without initialisation: its bytes are zero"),
            ),
        };
        let site = Site::of(&finding.place);
        let kept = process.kept(finding.stack.load(Relaxed));
        let thread = finding.thread.load(Relaxed);
        let mut parts = vec![Part {
            thread,
            name: process.name_of(thread),
            does: "does this here".to_owned(),
            stack: process.stacks.stack(&site, &kept),
        }];
        match finding.other.load(Relaxed) {
            0 => {}
            other => parts.push(taken(process, other, finding.other_site.load(Relaxed))),
        }
        fresh.push(Finding {
            kind,
            process: process.id,
            says,
            locks: vec![called(process, finding.object.load(Relaxed))],
            parts,
        });
    }
}

/// Locks acquired in different orders.
fn orders(process: &mut Process, seen: &mut Seen, fresh: &mut Vec<Finding>) {
    let edges = order::edges(process.records());
    let segments = order::Segments::of(process.records());
    for cycle in order::inversions(&edges, &segments) {
        let mut locks: Vec<order::Lock> = cycle.iter().map(|(edge, _)| edge.held).collect();
        locks.sort_unstable();
        if !seen.orders.insert(locks) {
            continue;
        }
        let parts = cycle
            .iter()
            .map(|(edge, thread)| {
                let held = lock(process, edge.held.0, "lock");
                let other = lock(process, edge.taken.0, "lock");
                let kept = process.kept(edge.stack);
                // The thread that recorded the stack.
                let first = edge.makers[0].thread;
                let too = match *thread {
                    same if same == first => String::new(),
                    other => format!(" (thread {other} does too)"),
                };
                Part {
                    thread: first,
                    name: process.name_of(first),
                    does: format!(
                        "acquires {other} while it holds {held}{too}\n      since {}",
                        at(process, edge.held_site)
                    ),
                    stack: process.stacks.stack(&edge.site, &kept),
                }
            })
            .collect();
        fresh.push(Finding {
            kind: FindingKind::Order,
            process: process.id,
            says: format!(
                "{} locks are acquired in different orders: a potential deadlock",
                cycle.len()
            ),
            locks: cycle
                .iter()
                .map(|(edge, _)| called(process, edge.held.0))
                .collect(),
            parts,
        });
    }
}

/// The part of a thread that has acquired a lock.
fn taken(process: &mut Process, thread: u32, site: u64) -> Part {
    let frames = process.stacks.frames(site.saturating_sub(1));
    Part {
        thread,
        name: process.name_of(thread),
        does: "acquired it here".to_owned(),
        stack: Stack {
            frames,
            is_cut: false,
        },
    }
}

/// A lock's variable, else its address.
fn called(process: &mut Process, object: u64) -> String {
    let variable = process.stacks.variable(object);
    variable.unwrap_or_else(|| format!("{object:#x}"))
}

/// A lock's address and, if it is a variable, its name.
fn lock(process: &mut Process, object: u64, kind: &str) -> String {
    match process.stacks.variable(object) {
        Some(name) => format!("the {kind} {name} ({object:#x})"),
        None => format!("the {kind} at {object:#x}"),
    }
}

fn at(process: &mut Process, site: u64) -> String {
    let frames = process.stacks.frames(site.saturating_sub(1));
    frames.first().map_or_else(String::new, Frame::to_string)
}

/// A finding as text.
fn text(finding: &Finding) -> String {
    let says = format!("process {}: {}", finding.process, finding.says);
    let mut text = page::hanging("cohort: ", &says);
    for part in &finding.parts {
        let name = match &part.name {
            Some(name) => format!(" ({name})"),
            None => String::new(),
        };
        let mut does = part.does.lines();
        let first = does.next().unwrap_or_default();
        let first = format!("thread {}{name} {first}", part.thread);
        text.push_str(&page::hanging("  ", &first));
        for line in does {
            let _ = writeln!(text, "{line}");
        }
        for frame in &part.stack.frames {
            let _ = writeln!(text, "      {frame}");
        }
        if part.stack.is_cut {
            text.push_str("      … the rest of the stack is unreadable\n");
        }
    }
    text
}
