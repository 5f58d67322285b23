//! A watched process, and the activity of its locks since the watch began.

use crate::observe::watching::Watching;
use crate::problem::Problem;
use crate::top::frame::{Looker, Looks, Row};
use cohort::records::NO_SAMPLES;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The shared name of the locks that have no entry of their own.
const OTHERS: &str = "(others)";

/// The activity of the locks of one name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    /// Thread-seconds of waiting.
    pub waited: f64,
    /// Acquisitions, where they are counted.
    pub acquired: Option<u64>,
    /// Acquisitions that found the lock held.
    pub contended: Option<u64>,
    /// Threads that waited at the last look.
    pub waiters: usize,
}

/// The locks of a process by kind and name.
#[derive(Debug, Default)]
pub struct Locks {
    /// Their activity.
    pub totals: BTreeMap<(&'static str, String), Totals>,
    most: usize,
}

impl Locks {
    /// Adds an observation that covers the given number of seconds.
    ///
    /// A lock keeps its own entry once it has one: counters never fall.
    fn add(&mut self, seconds: f64, rows: &[Row]) {
        for totals in self.totals.values_mut() {
            totals.waiters = 0;
        }
        // The locks that cost most get entries first.
        let mut rows: Vec<&Row> = rows.iter().collect();
        rows.sort_by(|one, other| other.lost_per_second.total_cmp(&one.lost_per_second));
        for row in rows {
            let mut key = (row.kind, row.name.clone());
            if !self.totals.contains_key(&key) && self.totals.len() >= self.most {
                key.1 = OTHERS.to_owned();
            }
            let totals = self.totals.entry(key).or_default();
            totals.waited += row.lost_per_second.max(0.0) * seconds;
            totals.waiters += row.waiting;
            if let Some(rate) = row.taken_per_second {
                let taken = rate * seconds;
                let contended = row.contended.unwrap_or(0.0) * taken;
                *totals.acquired.get_or_insert(0) += taken.round() as u64;
                *totals.contended.get_or_insert(0) += contended.round() as u64;
            }
        }
    }
}

/// The process.
pub struct Subject {
    looker: Box<dyn Looks>,
    /// Its program's name.
    pub program: String,
    /// Its locks.
    pub locks: Locks,
    /// When the next look is due.
    due: Instant,
}

/// Begins to watch a process that runs under Cohort and has its records.
pub fn begin(process: u32) -> Result<Box<dyn Looks>, Problem> {
    let watching = Watching::begin_started(process, NO_SAMPLES)?;
    Ok(Box::new(Looker::new(watching)))
}

impl Subject {
    /// For a watched process; at most the given number of its locks have their own entries.
    pub fn new(looker: Box<dyn Looks>, most: usize) -> Self {
        Self {
            program: looker.program().0,
            looker,
            locks: Locks {
                most,
                ..Locks::default()
            },
            due: Instant::now(),
        }
    }

    /// Its number.
    pub fn process(&self) -> u32 {
        self.looker.process()
    }

    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        self.looker.is_over()
    }

    /// Takes a sample if one is due; returns the time until the next.
    ///
    /// # Errors
    /// Another command watches the process now.
    pub fn look(&mut self) -> Result<Duration, Problem> {
        let now = Instant::now();
        if now >= self.due && !self.has_ended() {
            self.due = now + self.looker.look()?;
        }
        Ok(self.due.saturating_duration_since(Instant::now()))
    }

    /// Adds the observations since the last call.
    pub fn collect(&mut self) {
        let seen = self.looker.finish();
        self.locks.add(seen.seconds, &seen.locks);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::NamedBy;

    fn row(name: &str, lost: f64, taken: Option<f64>) -> Row {
        let mut row = Row::unseen("mutex", name.to_owned(), NamedBy::Symbol);
        row.lost_per_second = lost;
        row.taken_per_second = taken;
        row.contended = taken.map(|_| 0.25);
        row.waiting = 1;
        row
    }

    #[test]
    fn rates_become_counters_that_never_fall() {
        let mut locks = Locks {
            most: 1,
            ..Locks::default()
        };
        locks.add(2.0, &[row("a", 0.5, Some(100.0))]);
        locks.add(
            1.0,
            &[
                row("b", 2.0, Some(8.0)),
                row("a", 0.5, Some(100.0)),
                row("c", 1.0, None),
            ],
        );
        let totals = |name: &str| &locks.totals[&("mutex", name.to_owned())];
        let (a, others) = (totals("a"), totals(OTHERS));
        assert_eq!(
            (a.waited, a.acquired, a.contended, a.waiters),
            (1.5, Some(300), Some(75), 1)
        );
        assert_eq!(
            (others.waited, others.acquired, others.waiters),
            (3.0, Some(8), 2)
        );
        locks.add(1.0, &[]);
        assert_eq!(locks.totals.len(), 2);
        assert!(locks.totals.values().all(|totals| totals.waiters == 0));
    }
}
