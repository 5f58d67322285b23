//! A trace as steps of threads.

use cohort_trace::{By, Ended, Event, How, Kind, Pause, Trace, What};
use serde::Serialize;
use std::collections::HashMap;

/// The most lines that a section is estimated to touch.
const MOST_LINES: u64 = 8;

/// Nanoseconds of a section in which it is estimated to touch another line.
const EACH_LINE: u64 = 500;

/// Limits of a replay.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most acquisitions of the trace, from its beginning.
    pub acquisitions: usize,
    /// The most locks; the others' acquisitions are replayed as time alone.
    pub locks: usize,
    /// Lines that a section touches; estimated from its length if not given.
    pub lines: Option<usize>,
}

/// What a thread does in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Nothing further.
    None,
    /// Acquires a lock.
    Acquire { lock: u32, how: How },
    /// Tries to acquire a lock, at most for that time in nanoseconds. The program `keeps` it if it had
    /// success, else went on without it.
    Attempt {
        lock: u32,
        patience: u64,
        keeps: bool,
    },
    /// Releases a lock, if it is held.
    Release { lock: u32 },
    /// Releases all locks: what is held from here on is unknown.
    Forget,
    /// Counts an event that other threads wait for.
    Tell,
    /// Waits for that many counted events of a thread.
    Await { thread: u32, told: u32 },
    /// Sleeps, in nanoseconds.
    Sleep(u64),
}

/// A step of a thread: computation, sleep and an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// Nanoseconds of computation.
    pub computes: u64,
    /// Nanoseconds of sleep after it.
    pub sleeps: u64,
    pub act: Act,
}

/// A lock of the plan.
#[derive(Clone, Debug)]
pub(super) struct PlannedLock {
    pub kind: Kind,
    /// The lines that a section touches.
    pub lines: usize,
}

/// What a replay cannot do as the program did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Left {
    /// The share of the run that no window recorded.
    pub unrecorded: f64,
    /// Acquisitions beyond the limit.
    pub beyond: u64,
    /// Acquisitions of locks beyond the limit, replayed as time.
    pub rare: u64,
    /// Waits at conditions without a known signal, replayed by their recorded time.
    pub unsignalled: u64,
    /// Waits at semaphores, barriers and unknown threads, replayed likewise.
    pub pauses: u64,
    /// Threads with an unknown creator, which begin at once.
    pub orphans: u64,
    /// Seconds that threads slept otherwise, replayed by their recorded time.
    pub slept: f64,
    /// Seconds in which threads had no CPU, left out.
    pub preempted: f64,
    /// Seconds in which they computed.
    pub computed: f64,
}

/// The recorded run's own figures, for the replayed part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Recorded {
    /// Acquisitions.
    pub acquisitions: u64,
    /// Acquisitions per second of recording.
    pub per_second: f64,
    /// The share of threads' time in waits for locks.
    pub lost: f64,
    /// The share of acquisitions that found their lock held.
    pub contended: f64,
}

/// A trace as it is replayed.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(super) locks: Vec<PlannedLock>,
    pub(super) threads: Vec<Vec<Step>>,
    /// Nanoseconds from one acquisition of a thread to its next, on average.
    pub(super) round: u64,
    /// What it leaves out.
    pub left: Left,
    /// The recorded run.
    pub recorded: Recorded,
}

/// A place in the trace: the thread, and the event's number in it.
type Place = (usize, usize);

impl Plan {
    /// Makes the plan of a trace.
    ///
    /// # Errors
    /// The trace has no acquisition.
    pub fn new(trace: &Trace, limits: &Limits) -> Result<Self, String> {
        let mut times: Vec<u64> = Vec::new();
        for thread in 0..trace.threads.len() {
            let taken = trace.events(thread).filter(|(_, event)| is_taken(event));
            times.extend(taken.map(|(at, event)| at + event.lasts()));
        }
        if times.is_empty() {
            return Err("the trace has no acquisition; record a program that locks".to_owned());
        }
        let all = times.len();
        let cut = if all > limits.acquisitions.max(1) {
            let (_, cut, _) = times.select_nth_unstable(limits.acquisitions.max(1) - 1);
            *cut
        } else {
            u64::MAX
        };
        let events: Vec<Vec<(u64, &Event)>> = (0..trace.threads.len())
            .map(|thread| {
                let within = |(at, event): &(u64, &Event)| at + event.lasts() <= cut;
                trace.events(thread).take_while(within).collect()
            })
            .collect();
        let recorded = recorded(&events);
        let mut left = Left {
            beyond: all as u64 - recorded.acquisitions,
            ..Left::default()
        };
        if let Some(end) = &trace.end {
            left.unrecorded = 1.0 - (end.recorded as f64 / end.ran.max(1) as f64).min(1.0);
        }
        let (locks, numbers) = locks(trace, &events, limits);
        let links = Links::new(&events);
        left.orphans = links.orphans;
        let threads = events
            .iter()
            .enumerate()
            .map(|(thread, events)| {
                links.steps(thread, events, &numbers, trace.info.spent, &mut left)
            })
            .collect();
        let lived: u64 = events.iter().map(|events| span(events)).sum();
        Ok(Self {
            locks,
            threads,
            round: lived / recorded.acquisitions.max(1),
            left,
            recorded,
        })
    }

    /// The number of threads.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads.len()
    }

    /// The number of locks.
    #[must_use]
    pub fn locks(&self) -> usize {
        self.locks.len()
    }

    /// The lines that sections touch, at least and at most.
    #[must_use]
    pub fn lines(&self) -> (usize, usize) {
        let lines = self.locks.iter().map(|lock| lock.lines);
        (lines.clone().min().unwrap_or(0), lines.max().unwrap_or(0))
    }
}

/// Whether an event is a successful acquisition.
fn is_taken(event: &Event) -> bool {
    matches!(event.what, What::Acquire { got: true, .. })
}

/// Nanoseconds from a thread's first event to its last, without the time between windows.
fn span(events: &[(u64, &Event)]) -> u64 {
    let of = |(_, event): &(u64, &Event)| match event.what {
        What::Window { .. } => 0,
        _ => event.gap + event.lasts(),
    };
    events.iter().map(of).sum()
}

/// The recorded run's figures.
fn recorded(events: &[Vec<(u64, &Event)>]) -> Recorded {
    let mut taken = 0;
    let mut contended = 0;
    let mut waited = 0;
    for (_, event) in events.iter().flatten() {
        if let What::Acquire {
            got,
            contended: waits,
            waited: time,
            ..
        } = event.what
        {
            taken += u64::from(got);
            contended += u64::from(got && waits);
            waited += time;
        }
    }
    let lived: u64 = events.iter().map(|events| span(events)).sum();
    // Windows of one number are of the same time in all threads. A wait may end after its window.
    let mut windows: HashMap<u64, (u64, u64)> = HashMap::new();
    for thread in events {
        let mut number = 0;
        for (at, event) in thread {
            if let What::Window { number: next } = event.what {
                number = next;
            }
            let window = windows.entry(number).or_insert((*at, *at));
            *window = (window.0.min(*at), window.1.max(*at));
        }
    }
    let ran: u64 = windows.values().map(|(from, to)| to - from).sum();
    Recorded {
        acquisitions: taken,
        per_second: taken as f64 * 1e9 / ran.max(1) as f64,
        lost: waited as f64 / lived.max(1) as f64,
        contended: contended as f64 / taken.max(1) as f64,
    }
}

/// The plan's locks, and their numbers by those of the trace.
fn locks(
    trace: &Trace,
    events: &[Vec<(u64, &Event)>],
    limits: &Limits,
) -> (Vec<PlannedLock>, HashMap<u32, u32>) {
    // Acquisitions and time held, by lock.
    let mut used: HashMap<u32, (u64, u64, u64)> = HashMap::new();
    for thread in events {
        let mut held: HashMap<u32, u64> = HashMap::new();
        for (at, event) in thread {
            match event.what {
                What::Window { .. } => held.clear(),
                What::Acquire {
                    lock, got: true, ..
                } => {
                    used.entry(lock).or_default().0 += 1;
                    held.insert(lock, at + event.lasts());
                }
                What::Release { lock } => {
                    if let Some(since) = held.remove(&lock) {
                        let used = used.entry(lock).or_default();
                        used.1 += 1;
                        used.2 += at - since;
                    }
                }
                _ => {}
            }
        }
    }
    let mut order: Vec<(u32, (u64, u64, u64))> = used.into_iter().collect();
    order.sort_by_key(|(lock, (taken, _, _))| (std::cmp::Reverse(*taken), *lock));
    order.truncate(limits.locks);
    let mut locks = Vec::new();
    let mut numbers = HashMap::new();
    for (lock, (_, releases, held)) in order {
        let mean = held / releases.max(1);
        let estimated = (1 + mean / EACH_LINE).min(MOST_LINES) as usize;
        numbers.insert(lock, locks.len() as u32);
        locks.push(PlannedLock {
            kind: trace.locks[lock as usize].kind,
            lines: limits.lines.unwrap_or(estimated),
        });
    }
    (locks, numbers)
}

/// Which event ends which wait.
struct Links {
    /// By event: the number of counted events of its thread, this one included.
    told: HashMap<Place, u32>,
    /// By waiting event: the awaited one.
    ends: HashMap<Place, Place>,
    /// By thread: the event that creates it.
    creators: HashMap<usize, Place>,
    /// By acquisition of a section with a wait inside: the releases that precede it.
    before: HashMap<Place, Vec<Place>>,
    orphans: u64,
}

impl Links {
    fn new(events: &[Vec<(u64, &Event)>]) -> Self {
        let mut links = Self {
            told: HashMap::new(),
            ends: HashMap::new(),
            creators: HashMap::new(),
            before: HashMap::new(),
            orphans: 0,
        };
        links.signals(events);
        links.threads(events);
        links.sections(events);
        let before = links.before.values().flatten();
        let awaited = links
            .ends
            .values()
            .chain(links.creators.values())
            .chain(before);
        let mut awaited: Vec<Place> = awaited.copied().collect();
        awaited.sort_unstable();
        awaited.dedup();
        let mut before = None;
        let mut number = 0;
        for place in awaited {
            number = if before == Some(place.0) {
                number + 1
            } else {
                1
            };
            before = Some(place.0);
            links.told.insert(place, number);
        }
        links
    }

    /// Finds the signal of each wait: the latest of another thread before the wait's end that has
    /// not ended another wait.
    fn signals(&mut self, events: &[Vec<(u64, &Event)>]) {
        let mut signals: HashMap<u32, Vec<(u64, Place, bool, bool)>> = HashMap::new();
        let mut waits: Vec<(u64, u64, u32, Place)> = Vec::new();
        for (thread, events) in events.iter().enumerate() {
            for (number, (at, event)) in events.iter().enumerate() {
                let place = (thread, number);
                match event.what {
                    What::Signal { condition, all } => {
                        let of_this = signals.entry(condition).or_default();
                        of_this.push((*at, place, all, false));
                    }
                    What::Wait {
                        condition,
                        ended: Ended::Signal,
                        waited,
                        ..
                    } => waits.push((at + waited, *at, condition, place)),
                    _ => {}
                }
            }
        }
        signals.values_mut().for_each(|all| all.sort_unstable());
        waits.sort_unstable();
        for (end, begin, condition, place) in waits {
            let Some(of_this) = signals.get_mut(&condition) else {
                continue;
            };
            let first = of_this.partition_point(|(at, _, _, _)| *at < begin);
            let last = of_this.partition_point(|(at, _, _, _)| *at <= end);
            let found = of_this[first..last]
                .iter_mut()
                .rev()
                .find(|(_, by, all, is_used)| by.0 != place.0 && (*all || !*is_used));
            if let Some((_, by, _, is_used)) = found {
                *is_used = true;
                self.ends.insert(place, *by);
            }
        }
    }

    /// Finds the creator of each thread, and the last event of each joined one.
    fn threads(&mut self, events: &[Vec<(u64, &Event)>]) {
        for (thread, of_this) in events.iter().enumerate() {
            for (number, (_, event)) in of_this.iter().enumerate() {
                let place = (thread, number);
                match event.what {
                    What::Create {
                        thread: Some(created),
                    } if (created as usize) < events.len() && created as usize != thread => {
                        self.creators.entry(created as usize).or_insert(place);
                    }
                    What::Pause {
                        pause: Pause::Join,
                        thread: Some(joined),
                        ..
                    } if joined as usize != thread => {
                        let last = events.get(joined as usize).map_or(0, Vec::len);
                        if let Some(last) = last.checked_sub(1) {
                            self.ends.insert(place, (joined as usize, last));
                        }
                    }
                    _ => {}
                }
            }
        }
        self.orphans = (0..events.len())
            .filter(|thread| !events[*thread].is_empty() && !self.creators.contains_key(thread))
            .count()
            .saturating_sub(1) as u64;
    }

    /// Keeps the order of sections with a wait inside: the awaited thread may need the lock before,
    /// and it may have had it because of a condition that it did not wait for.
    fn sections(&mut self, events: &[Vec<(u64, &Event)>]) {
        // The releases of each lock, by thread.
        let mut releases: HashMap<u32, HashMap<usize, Vec<(u64, usize)>>> = HashMap::new();
        // The acquisitions of such sections, with their locks and times.
        let mut found: Vec<(Place, u32, u64)> = Vec::new();
        for (thread, events) in events.iter().enumerate() {
            let mut held: Vec<(u32, usize, u64)> = Vec::new();
            for (number, (at, event)) in events.iter().enumerate() {
                match event.what {
                    What::Window { .. } => held.clear(),
                    What::Acquire {
                        lock, got: true, ..
                    } => held.push((lock, number, at + event.lasts())),
                    What::Release { lock } => {
                        let of_lock = releases.entry(lock).or_default();
                        of_lock.entry(thread).or_default().push((*at, number));
                        if let Some(place) = held.iter().rposition(|(held, ..)| *held == lock) {
                            held.remove(place);
                        }
                    }
                    _ if self.ends.contains_key(&(thread, number)) => {
                        let sections = held.iter();
                        found
                            .extend(sections.map(|(lock, from, at)| ((thread, *from), *lock, *at)));
                    }
                    _ => {}
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        for (place, lock, at) in found {
            let of_lock = releases.get(&lock).into_iter().flatten();
            let others = of_lock.filter(|(thread, _)| **thread != place.0);
            let before = others.filter_map(|(thread, all)| {
                let count = all.partition_point(|(released, _)| *released <= at);
                Some((*thread, all[count.checked_sub(1)?].1))
            });
            let mut before: Vec<Place> = before.collect();
            before.sort_unstable();
            self.before.insert(place, before);
        }
    }

    fn awaits(&self, place: Place) -> Act {
        Act::Await {
            thread: place.0 as u32,
            told: self.told[&place],
        }
    }

    /// The steps of a thread.
    fn steps(
        &self,
        thread: usize,
        events: &[(u64, &Event)],
        numbers: &HashMap<u32, u32>,
        spent: u64,
        left: &mut Left,
    ) -> Vec<Step> {
        let mut steps = Vec::with_capacity(events.len() + 1);
        let mut add = |computes, sleeps, act| {
            steps.push(Step {
                computes,
                sleeps,
                act,
            });
        };
        if let Some(creator) = self.creators.get(&thread) {
            add(0, 0, self.awaits(*creator));
        }
        for (number, (_, event)) in events.iter().enumerate() {
            let place = (thread, number);
            left.slept += event.slept as f64 / 1e9;
            left.preempted += event.preempted as f64 / 1e9;
            left.computed += event.computed() as f64 / 1e9;
            let is_told = self.told.contains_key(&place);
            let act = match event.what {
                What::Window { .. } => Act::Forget,
                What::Acquire {
                    lock,
                    how,
                    by,
                    got,
                    waited,
                    ..
                } => match numbers.get(&lock) {
                    None => {
                        left.rare += u64::from(got);
                        Act::None
                    }
                    Some(lock) => match (by, got) {
                        (By::Try, _) if how != How::Read => Act::Attempt {
                            lock: *lock,
                            patience: 0,
                            keeps: got,
                        },
                        (By::Timed, false) if how != How::Read => Act::Attempt {
                            lock: *lock,
                            patience: waited,
                            keeps: false,
                        },
                        (_, true) => Act::Acquire { lock: *lock, how },
                        (_, false) => Act::None,
                    },
                },
                What::Release { lock } => match numbers.get(&lock) {
                    Some(lock) => Act::Release { lock: *lock },
                    None => Act::None,
                },
                What::Wait { ended, waited, .. } => match (self.ends.get(&place), ended) {
                    (Some(by), _) => self.awaits(*by),
                    (None, Ended::Signal) => {
                        left.unsignalled += 1;
                        Act::Sleep(waited)
                    }
                    (None, _) => Act::Sleep(waited),
                },
                What::Pause { waited, .. } => match self.ends.get(&place) {
                    Some(by) => self.awaits(*by),
                    None => {
                        left.pauses += 1;
                        Act::Sleep(waited)
                    }
                },
                What::Signal { .. } | What::Create { .. } | What::End => Act::None,
            };
            // The replay's own operations take their time anew.
            let mut open = (event.computed().saturating_sub(spent), event.slept);
            for release in self.before.get(&place).into_iter().flatten() {
                let (computes, sleeps) = std::mem::take(&mut open);
                add(computes, sleeps, self.awaits(*release));
            }
            add(open.0, open.1, act);
            // What is counted: signals, creations, last events and releases.
            if is_told {
                add(0, 0, Act::Tell);
            }
        }
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cohort_trace::{Lock, Sequence, Thread};

    const LIMITS: Limits = Limits {
        acquisitions: 1_000,
        locks: 8,
        lines: None,
    };

    fn trace(threads: &[&[(u64, What)]]) -> Trace {
        let kinds = [Kind::Mutex, Kind::Condition, Kind::Rwlock];
        let lock = |kind| Lock {
            kind,
            ..Lock::default()
        };
        let event = |(gap, what): &(u64, What)| Event {
            gap: *gap,
            what: *what,
            ..Event::default()
        };
        Trace {
            locks: kinds.map(lock).to_vec(),
            threads: vec![Thread::default(); threads.len()],
            sequences: threads
                .iter()
                .map(|events| {
                    vec![Sequence {
                        begin: 1_000,
                        events: events.iter().map(event).collect(),
                    }]
                })
                .collect(),
            ..Trace::default()
        }
    }

    fn take(by: By, got: bool) -> What {
        What::Acquire {
            lock: 0,
            site: 0,
            how: How::Exclusive,
            by,
            got,
            contended: false,
            waited: 0,
        }
    }

    const RELEASE: What = What::Release { lock: 0 };

    fn wait(waited: u64) -> What {
        What::Wait {
            condition: 1,
            site: 0,
            ended: Ended::Signal,
            waited,
        }
    }

    /// However the times of a replay are, a waiter waits for its signal.
    #[test]
    fn a_wait_ends_by_its_signal() {
        let signal = What::Signal {
            condition: 1,
            all: false,
        };
        let waiter = [
            (100, take(By::Lock, true)),
            (10, RELEASE),
            (0, wait(5_000)),
            (0, take(By::Relock, true)),
            (10, RELEASE),
        ];
        // The first signal comes before the wait, the last after it.
        let signaller = [(50, signal), (4_000, signal), (9_000, signal)];
        let plan = Plan::new(&trace(&[&waiter, &signaller]), &LIMITS).unwrap();
        assert_eq!(plan.left.unsignalled, 0);
        let acts: Vec<Act> = plan.threads[0].iter().map(|step| step.act).collect();
        assert_eq!(acts[2], Act::Await { thread: 1, told: 1 });
        let told: Vec<usize> = (0..plan.threads[1].len())
            .filter(|step| plan.threads[1][*step].act == Act::Tell)
            .collect();
        // Behind the second signal.
        assert_eq!(told, [2]);
        assert_eq!(plan.threads[1][1].computes, 4_000);
    }

    #[test]
    fn the_time_of_recording_is_not_replayed() {
        let round = [(100, take(By::Lock, true)), (10, RELEASE)];
        let mut trace = trace(&[&round]);
        trace.info.spent = 30;
        let plan = Plan::new(&trace, &LIMITS).unwrap();
        let computes: Vec<u64> = plan.threads[0].iter().map(|step| step.computes).collect();
        assert_eq!(computes, [70, 0]);
    }

    #[test]
    fn a_wait_without_a_signal_is_counted() {
        let waiter = [(100, take(By::Lock, true)), (10, RELEASE), (0, wait(700))];
        let plan = Plan::new(&trace(&[&waiter]), &LIMITS).unwrap();
        assert_eq!(plan.left.unsignalled, 1);
        assert_eq!(plan.threads[0][2].act, Act::Sleep(700));
    }

    /// The beginning and the end of a thread order it with its creator.
    #[test]
    fn threads_begin_after_their_creation_and_end_before_their_join() {
        let create = What::Create { thread: Some(1) };
        let join = What::Pause {
            pause: Pause::Join,
            thread: Some(1),
            waited: 9_000,
        };
        let main = [(100, create), (10, join)];
        let other = [(500, take(By::Lock, true)), (10, RELEASE)];
        let plan = Plan::new(&trace(&[&main, &other]), &LIMITS).unwrap();
        assert_eq!(plan.left.orphans, 0);
        assert_eq!(plan.threads[1][0].act, Act::Await { thread: 0, told: 1 });
        assert_eq!(plan.threads[1].last().unwrap().act, Act::Tell);
        assert_eq!(plan.threads[0][1].act, Act::Tell);
        assert_eq!(plan.threads[0][2].act, Act::Await { thread: 1, told: 1 });
    }

    /// A thread that joins another with a lock that the other needs acquires it afterwards.
    #[test]
    fn a_section_with_a_wait_inside_keeps_its_place() {
        let create = What::Create { thread: Some(1) };
        let join = What::Pause {
            pause: Pause::Join,
            thread: Some(1),
            waited: 10,
        };
        let main = [
            (10, create),
            (900, take(By::Lock, true)),
            (10, join),
            (10, RELEASE),
        ];
        let other = [(500, take(By::Lock, true)), (10, RELEASE)];
        let plan = Plan::new(&trace(&[&main, &other]), &LIMITS).unwrap();
        let acts: Vec<Act> = plan.threads[0].iter().map(|step| step.act).collect();
        let taken = Act::Acquire {
            lock: 0,
            how: How::Exclusive,
        };
        assert_eq!(acts[2..4], [Act::Await { thread: 1, told: 1 }, taken]);
        // The computation comes before the wait.
        assert_eq!(plan.threads[0][2].computes, 900);
        // A section without a wait inside is free.
        assert_eq!(plan.threads[1][1].act, taken);
    }

    #[test]
    fn a_cut_is_at_the_same_time_in_all_threads() {
        let round = [(100, take(By::Lock, true)), (10, RELEASE)];
        let many: Vec<(u64, What)> = round.iter().copied().cycle().take(200).collect();
        let limits = Limits {
            acquisitions: 50,
            ..LIMITS
        };
        let plan = Plan::new(&trace(&[&many, &many]), &limits).unwrap();
        let lengths: Vec<usize> = plan.threads.iter().map(Vec::len).collect();
        assert_eq!(lengths[0], lengths[1]);
        assert_eq!(plan.recorded.acquisitions, 50);
        assert_eq!(plan.left.beyond, 150);
    }

    #[test]
    fn what_has_no_acquisition_is_refused() {
        let why = Plan::new(&trace(&[&[(5, take(By::Try, false))]]), &LIMITS).unwrap_err();
        assert!(why.contains("no acquisition"), "{why}");
    }
}
