//! Modes of adaptive locks in a run: the mode at the end of each wait, and the number and reasons
//! of mode changes.

use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// All modes and changes from the run's beginning on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Heard {
    /// The number of adaptive locks.
    pub locks: usize,
    /// Waits, by the mode that the lock was in.
    pub waits: BTreeMap<&'static str, u64>,
    /// Locks that changed their mode, by their last mode.
    pub last: BTreeMap<&'static str, u64>,
    /// The changes.
    pub changes: Vec<Changes>,
}

/// Changes from one mode to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Changes {
    /// The old mode.
    pub from: &'static str,
    /// The new mode.
    pub to: &'static str,
    /// The number of changes.
    pub times: u64,
    /// The reason for the first one.
    pub why: String,
}

impl Heard {
    /// Whether there were no events.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.waits.is_empty() && self.changes.is_empty()
    }

    /// The number of locks that changed their mode.
    #[must_use]
    pub fn changed(&self) -> u64 {
        self.last.values().sum()
    }
}

/// Events recorded during a run.
#[derive(Debug)]
pub(super) struct Notes {
    waits: BTreeMap<&'static str, u64>,
    last: BTreeMap<usize, &'static str>,
    changes: BTreeMap<(&'static str, &'static str), (u64, String)>,
}

impl Notes {
    pub(super) const fn new() -> Self {
        Self {
            waits: BTreeMap::new(),
            last: BTreeMap::new(),
            changes: BTreeMap::new(),
        }
    }

    pub(super) fn waited(&mut self, mode: &'static str, times: u64) {
        if times > 0 {
            *self.waits.entry(mode).or_default() += times;
        }
    }

    pub(super) fn changed(
        &mut self,
        lock: usize,
        from: &'static str,
        to: &'static str,
        why: fmt::Arguments<'_>,
    ) {
        self.last.insert(lock, to);
        let change = self.changes.entry((from, to));
        change.or_insert_with(|| (0, why.to_string())).0 += 1;
    }

    /// The result for that many adaptive locks.
    pub(super) fn told(self, locks: usize) -> Heard {
        let mut last = BTreeMap::new();
        for mode in self.last.into_values() {
            *last.entry(mode).or_default() += 1;
        }
        let changes = self.changes.into_iter();
        let changes = changes.map(|((from, to), (times, why))| Changes {
            from,
            to,
            times,
            why,
        });
        Heard {
            locks,
            waits: self.waits,
            last,
            changes: changes.collect(),
        }
    }
}

/// Whether the lock of that name adapts.
pub(super) fn adapts(name: &str) -> bool {
    cohort::catalogue::find(name).is_some_and(|info| info.adapts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_are_counted_by_their_last_mode_and_reasons_are_the_first() {
        let mut notes = Notes::new();
        notes.changed(1, "ticket", "mcs", format_args!("queue 4.5 > 3"));
        notes.changed(2, "ticket", "mcs", format_args!("queue 7.0 > 3"));
        notes.changed(1, "mcs", "ticket", format_args!("queue 1.0 < 2"));
        notes.waited("mcs", 3);
        notes.waited("word", 0);
        let heard = notes.told(8);
        assert_eq!(heard.changed(), 2);
        assert_eq!(heard.last, BTreeMap::from([("mcs", 1), ("ticket", 1)]));
        assert_eq!(heard.waits, BTreeMap::from([("mcs", 3)]));
        let said = |at: usize| (heard.changes[at].times, heard.changes[at].why.as_str());
        assert_eq!(said(0), (1, "queue 1.0 < 2"));
        assert_eq!(said(1), (2, "queue 4.5 > 3"));
        assert!(Heard::default().is_nothing());
    }
}
