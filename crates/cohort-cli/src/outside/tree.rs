//! A process with the processes below it, as they are seen from outside.

use super::Process;
use super::looker::{Looker, look_at_due};
use crate::problem::Problem;
use crate::top::frame::{Looks, Row, Seen};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// How often processes are listed.
const LIST: Duration = Duration::from_millis(50);

/// Processes that are looked at: of a program that starts ever more, the first.
const MOST: usize = 64;

/// Looks at the processes of a tree that have several threads.
pub struct Tree {
    root: u32,
    program: String,
    lookers: Vec<(Looker, Instant)>,
    known: BTreeSet<u32>,
    listed: Option<Instant>,
    began: Instant,
}

impl Tree {
    /// Of a program that starts now.
    pub fn below(root: u32) -> Self {
        Self {
            root,
            program: String::new(),
            lookers: Vec::new(),
            known: BTreeSet::new(),
            listed: None,
            began: Instant::now(),
        }
    }

    /// Of a running process, also if that has one thread.
    ///
    /// # Errors
    /// The process cannot be observed.
    pub fn open(root: u32) -> Result<Self, Problem> {
        let mut tree = Self::below(root);
        let process = Process::open(root)?;
        tree.program.clone_from(&process.program);
        tree.add(process);
        Ok(tree)
    }

    fn add(&mut self, process: Process) {
        self.known.insert(process.id);
        self.lookers.push((Looker::new(process), Instant::now()));
    }

    /// Looks at each process that is due; returns the time until the next look.
    ///
    /// # Errors
    /// As for [`Looks::look`].
    pub fn look_around(&mut self) -> Result<Duration, Problem> {
        let is_due = self.listed.is_none_or(|at| at.elapsed() >= LIST);
        if is_due && self.lookers.len() < MOST {
            self.listed = Some(Instant::now());
            for id in several_threads(self.root) {
                if !self.known.contains(&id)
                    && let Ok(process) = Process::open(id)
                {
                    self.add(process);
                }
            }
        }
        look_at_due(&mut self.lookers)
    }

    /// The observer of each process.
    pub fn into_lookers(self) -> Vec<Looker> {
        self.lookers.into_iter().map(|(looker, _)| looker).collect()
    }
}

/// The processes below one, and itself, that have several threads.
fn several_threads(leader: u32) -> Vec<u32> {
    let mut all = vec![leader];
    let mut next = 0;
    let mut found = Vec::new();
    while let Some(id) = all.get(next).copied() {
        next += 1;
        let threads = std::fs::read_dir(format!("/proc/{id}/task"));
        let threads: Vec<_> = threads.into_iter().flatten().flatten().collect();
        if threads.len() > 1 {
            found.push(id);
        }
        for thread in threads {
            let children = std::fs::read_to_string(thread.path().join("children"));
            let children = children.unwrap_or_default();
            let numbers = children.split_whitespace().map(str::parse::<u32>);
            all.extend(numbers.flatten());
        }
    }
    found
}

impl Looks for Tree {
    fn program(&self) -> (String, Option<String>) {
        (self.program.clone(), None)
    }

    fn process(&self) -> u32 {
        self.root
    }

    fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    fn is_over(&self) -> bool {
        self.lookers.iter().all(|(looker, _)| looker.is_over())
    }

    fn want_stacks(&self, _wanted: bool) {}

    fn look(&mut self) -> Result<Duration, Problem> {
        self.look_around()
    }

    fn finish(&mut self) -> Seen {
        let seconds = self.began.elapsed().as_secs_f64();
        self.began = Instant::now();
        let mut whole = Seen {
            seconds,
            threads: 0,
            lost_per_second: 0.0,
            waiting: 0,
            has_ended: self.is_over(),
            share_lost: None,
            cost: Some(0.0),
            naming: Some(0.0),
            locks: Vec::new(),
        };
        let mut all_used = 0.0;
        let mut rows: BTreeMap<(String, &'static str, String), Row> = BTreeMap::new();
        for (looker, _) in &mut self.lookers {
            all_used += looker.used();
            let seen = looker.finish();
            // A process may have begun, or ended, within the interval.
            let part = seen.seconds / seconds.max(f64::MIN_POSITIVE);
            whole.threads += seen.threads;
            whole.lost_per_second += seen.lost_per_second * part;
            whole.waiting += seen.waiting;
            whole.cost = Some(whole.cost.unwrap_or(0.0) + seen.cost.unwrap_or(0.0) * part);
            whole.naming = Some(whole.naming.unwrap_or(0.0) + seen.naming.unwrap_or(0.0));
            for mut row in seen.locks {
                row.scale(part);
                let key = (looker.process.program.clone(), row.kind, row.name.clone());
                match rows.get_mut(&key) {
                    Some(known) => known.add(row),
                    None => drop(rows.insert(key, row)),
                }
            }
        }
        self.lookers.retain(|(looker, _)| !looker.is_over());
        let programs: BTreeSet<&String> = rows.keys().map(|(program, ..)| program).collect();
        let several = programs.len() > 1;
        for ((program, ..), mut row) in rows {
            if several {
                row.name = format!("{program}: {}", row.name);
            }
            whole.locks.push(row);
        }
        let lost = whole.lost_per_second * seconds;
        let all = lost + all_used;
        whole.share_lost = Some(if all > 0.0 { lost / all } else { 0.0 });
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::NamedBy;

    #[test]
    fn locks_of_one_name_are_added() {
        let row = |lost| Row {
            objects: 1,
            lost_per_second: lost,
            waiting: 2,
            longest_wait: Some(lost),
            ..Row::unseen("mutex", "lock".to_owned(), NamedBy::Symbol)
        };
        let mut one = row(1.0);
        one.scale(0.5);
        one.add(row(3.0));
        assert_eq!((one.objects, one.lost_per_second), (2, 3.5));
        assert_eq!((one.waiting, one.longest_wait), (4, Some(3.0)));
    }

    #[test]
    fn a_missing_process_is_refused() {
        assert!(Tree::open(4_194_304).is_err());
        assert!(Tree::below(4_194_304).is_over());
    }
}
