//! A trace's figures by lock.

use crate::{By, Kind, Trace, What};
use hdrhistogram::Histogram;
use serde::Serialize;
use std::collections::HashMap;

/// Significant digits of a duration.
const DIGITS: u8 = 2;

/// Quantiles of durations, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Quantiles {
    /// The median.
    pub p50: u64,
    /// The 90th percentile.
    pub p90: u64,
    /// The 99th percentile.
    pub p99: u64,
    /// The mean.
    pub mean: f64,
}

/// A lock's figures.
#[derive(Clone, Debug, Serialize)]
pub struct LockSummary {
    /// Its sort.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// The number of locks with that name.
    pub objects: u64,
    /// Acquisitions; of a condition, waits.
    pub acquired: u64,
    /// The share that found the lock held.
    pub contended: f64,
    /// Attempts and timed acquisitions without success.
    pub failed: u64,
    /// Waits of contended acquisitions; of a condition, its waits.
    pub wait: Option<Quantiles>,
    /// From an acquisition to its release.
    pub hold: Option<Quantiles>,
    /// From a thread's release of the lock to its next request of it.
    pub gap: Option<Quantiles>,
}

/// A trace's figures.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Summary {
    /// Threads with events.
    pub threads: u64,
    /// Events.
    pub events: u64,
    /// Acquisitions of all locks.
    pub acquired: u64,
    /// The share of them that found the lock held.
    pub contended: f64,
    /// Waits at joins, semaphores and barriers.
    pub pauses: u64,
    /// The locks, by descending number of acquisitions.
    pub locks: Vec<LockSummary>,
}

/// The locks of one name.
struct One {
    objects: u64,
    acquired: u64,
    contended: u64,
    failed: u64,
    times: [Histogram<u64>; 3],
}

impl One {
    fn new() -> Self {
        Self {
            objects: 0,
            acquired: 0,
            contended: 0,
            failed: 0,
            times: [(); 3].map(|()| Histogram::new(DIGITS).expect("the digits are few")),
        }
    }

    fn add(&mut self, which: usize, nanoseconds: u64) {
        // A histogram grows, up to half the range of a word.
        let most = u64::MAX >> 2;
        self.times[which]
            .record(nanoseconds.min(most))
            .expect("it grows");
    }
}

/// The histograms' places.
const WAIT: usize = 0;
const HOLD: usize = 1;
const GAP: usize = 2;

fn quantiles(times: &Histogram<u64>) -> Option<Quantiles> {
    (!times.is_empty()).then(|| Quantiles {
        p50: times.value_at_quantile(0.5),
        p90: times.value_at_quantile(0.9),
        p99: times.value_at_quantile(0.99),
        mean: times.mean(),
    })
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

impl Summary {
    /// Of a trace.
    #[must_use]
    pub fn of(trace: &Trace) -> Self {
        let mut numbers: HashMap<(Kind, &str), usize> = HashMap::new();
        let mut all: Vec<One> = Vec::new();
        let mut of_lock = Vec::with_capacity(trace.locks.len());
        for lock in &trace.locks {
            let number = *numbers.entry((lock.kind, &*lock.name)).or_insert(all.len());
            if number == all.len() {
                all.push(One::new());
            }
            all[number].objects += 1;
            of_lock.push(number);
        }
        let mut summary = Self::default();
        let mut contended = 0;
        for thread in 0..trace.threads.len() {
            // The thread's holds, each with its beginning; and its last release of each lock.
            let mut held: Vec<(u32, u64)> = Vec::new();
            let mut left: HashMap<u32, u64> = HashMap::new();
            let mut has_events = false;
            for (begins, event) in trace.events(thread) {
                has_events = true;
                summary.events += 1;
                match event.what {
                    What::Window { .. } => {
                        held.clear();
                        left.clear();
                    }
                    What::Acquire {
                        lock,
                        by,
                        got,
                        contended: waits,
                        waited,
                        ..
                    } => {
                        let one = &mut all[of_lock[lock as usize]];
                        if !got {
                            one.failed += 1;
                            continue;
                        }
                        summary.acquired += 1;
                        one.acquired += 1;
                        if waits {
                            contended += 1;
                            one.contended += 1;
                            one.add(WAIT, waited);
                        }
                        if let Some(since) = left.remove(&lock)
                            && by != By::Relock
                        {
                            one.add(GAP, begins - since);
                        }
                        held.push((lock, begins + waited));
                    }
                    What::Release { lock } => {
                        let known = held.iter().rposition(|(held, _)| *held == lock);
                        if let Some(place) = known {
                            let (_, since) = held.remove(place);
                            all[of_lock[lock as usize]].add(HOLD, begins - since);
                            left.insert(lock, begins);
                        }
                    }
                    What::Wait {
                        condition, waited, ..
                    } => {
                        let one = &mut all[of_lock[condition as usize]];
                        one.acquired += 1;
                        one.add(WAIT, waited);
                    }
                    What::Pause { .. } => summary.pauses += 1,
                    What::Signal { .. } | What::Create { .. } | What::End => {}
                }
            }
            summary.threads += u64::from(has_events);
        }
        summary.contended = share(contended, summary.acquired);
        let mut locks: Vec<LockSummary> = numbers
            .into_iter()
            .map(|((kind, name), number)| {
                let one = &all[number];
                LockSummary {
                    kind,
                    name: name.to_owned(),
                    objects: one.objects,
                    acquired: one.acquired,
                    contended: share(one.contended, one.acquired),
                    failed: one.failed,
                    wait: quantiles(&one.times[WAIT]),
                    hold: quantiles(&one.times[HOLD]),
                    gap: quantiles(&one.times[GAP]),
                }
            })
            .collect();
        locks.sort_by(|one, other| (other.acquired, &one.name).cmp(&(one.acquired, &other.name)));
        summary.locks = locks;
        summary
    }
}
