//! Permanent cycles of waiting threads.

use super::process::{Held, Moment};
use cohort::records::{Doing, How};
use std::collections::{BTreeSet, HashMap};

/// Wait-for graph at one moment, by the threads' indices.
pub struct Waits {
    /// For each thread, the threads that it waits for, and the lock that each holds. A join has no
    /// lock, nor has a waiting writer with precedence.
    edges: Vec<Vec<(usize, Option<Held>)>>,
}

impl Waits {
    /// Builds the graph. A timed wait ends by itself, and a condition has no holder.
    pub fn of(threads: &[Moment]) -> Self {
        let mut holders: HashMap<u64, Vec<(usize, Held)>> = HashMap::new();
        for (place, thread) in threads.iter().enumerate() {
            for held in &thread.holds {
                holders.entry(held.object).or_default().push((place, *held));
            }
        }
        let edges = threads
            .iter()
            .enumerate()
            .map(|(place, thread)| {
                let Some(waiting) = thread.waiting.filter(|_| !thread.is_gone) else {
                    return Vec::new();
                };
                let keeping_out =
                    |keeps_out: &dyn Fn(usize, How) -> bool| -> Vec<(usize, Option<Held>)> {
                        holders
                            .get(&waiting.object)
                            .into_iter()
                            .flatten()
                            .filter(|(holder, held)| keeps_out(*holder, held.how))
                            .map(|(holder, held)| (*holder, Some(*held)))
                            .collect()
                    };
                let of_lock = |keeps_out: fn(How) -> bool| keeping_out(&|_, how| keeps_out(how));
                match waiting.doing {
                    Doing::Lock => of_lock(How::is_exclusive),
                    Doing::Read => of_lock(How::is_write),
                    Doing::ReadBehind => {
                        let writers = threads.iter().enumerate().filter(|(_, writer)| {
                            !writer.is_gone
                                && writer.waiting.is_some_and(|wait| {
                                    wait.doing == Doing::Write && wait.object == waiting.object
                                })
                        });
                        let mut behind = of_lock(How::is_write);
                        behind.extend(writers.map(|(writer, _)| (writer, None)));
                        behind
                    }
                    Doing::Write => of_lock(|how| how.is_read() || how.is_write()),
                    Doing::ReadUpgradably => {
                        of_lock(|how| how.is_write() || how == How::OwnUpgradable)
                    }
                    // A second read lock of this thread keeps it out, too.
                    Doing::Upgrade => keeping_out(&|holder, how| {
                        holder != place && how.is_write()
                            || how.is_read() && !(holder == place && how == How::OwnUpgradable)
                    }),
                    Doing::Join => threads
                        .iter()
                        .enumerate()
                        .filter(|(other, joined)| {
                            *other != place && joined.pthread == waiting.object && !joined.is_gone
                        })
                        .map(|(other, _)| (other, None))
                        .collect(),
                    Doing::Nothing
                    | Doing::Condition
                    | Doing::Timed
                    | Doing::Semaphore
                    | Doing::Barrier => Vec::new(),
                }
            })
            .collect();
        Self { edges }
    }

    /// The threads that a thread waits for.
    pub fn from(&self, thread: usize) -> &[(usize, Option<Held>)] {
        &self.edges[thread]
    }

    /// The cycles, each once, starting with its first thread.
    pub fn cycles(&self) -> Vec<Vec<usize>> {
        let mut found = BTreeSet::new();
        let mut done = vec![false; self.edges.len()];
        for start in 0..self.edges.len() {
            // The current path, with the next edge of each thread.
            let mut way: Vec<(usize, usize)> = vec![(start, 0)];
            while let Some((thread, next)) = way.last_mut() {
                let Some((other, _)) = self.edges[*thread].get(*next) else {
                    done[*thread] = true;
                    way.pop();
                    continue;
                };
                *next += 1;
                if let Some(begin) = way.iter().position(|(known, _)| known == other) {
                    let mut cycle: Vec<usize> =
                        way[begin..].iter().map(|(thread, _)| *thread).collect();
                    let first = (0..cycle.len()).min_by_key(|place| cycle[*place]);
                    cycle.rotate_left(first.unwrap_or(0));
                    found.insert(cycle);
                } else if !done[*other] {
                    way.push((*other, 0));
                }
            }
        }
        found.into_iter().collect()
    }

    /// Whether the thread waits, directly or indirectly, for one of `stuck`.
    pub fn leads_to(&self, thread: usize, stuck: &[usize]) -> bool {
        let mut seen = BTreeSet::new();
        let mut open = vec![thread];
        while let Some(thread) = open.pop() {
            if stuck.contains(&thread) {
                return true;
            }
            if seen.insert(thread) {
                open.extend(self.edges[thread].iter().map(|(other, _)| *other));
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::super::process::Waiting;
    use super::super::site::Site;
    use super::*;

    fn thread(id: u32, doing: Doing, object: u64, holds: &[(u64, How)]) -> Moment {
        Moment {
            id,
            pthread: u64::from(id) + 1000,
            slot: id as usize,
            owner: 0,
            waiting: (doing != Doing::Nothing).then_some(Waiting {
                turn: 1,
                doing,
                how: How::Mutex,
                object,
                mutex: 0,
                site: Site::default(),
            }),
            holds: holds
                .iter()
                .map(|(object, how)| Held {
                    object: *object,
                    site: 0,
                    how: *how,
                    number: 1,
                })
                .collect(),
            is_gone: false,
        }
    }

    #[test]
    fn two_that_wait_for_each_other_are_found_once_and_a_third_behind_them_ends_the_search() {
        let threads = [
            thread(1, Doing::Lock, 20, &[(10, How::Mutex)]),
            thread(2, Doing::Lock, 10, &[(20, How::Mutex)]),
            thread(3, Doing::Lock, 10, &[]),
        ];
        let waits = Waits::of(&threads);
        assert_eq!(waits.cycles(), [[0, 1]]);
        assert!(waits.leads_to(2, &[0, 1]));
        assert!(!waits.leads_to(2, &[3]));
    }

    #[test]
    fn a_thread_that_locks_again_waits_for_itself() {
        let threads = [thread(1, Doing::Lock, 10, &[(10, How::Mutex)])];
        assert_eq!(Waits::of(&threads).cycles(), [[0]]);
    }

    #[test]
    fn deadlines_and_conditions_end_and_readers_share() {
        for doing in [Doing::Timed, Doing::Condition, Doing::Nothing] {
            let threads = [
                thread(1, doing, 20, &[(10, How::Mutex)]),
                thread(2, Doing::Lock, 10, &[(20, How::Mutex)]),
            ];
            assert!(Waits::of(&threads).cycles().is_empty());
        }
        let threads = [
            thread(1, Doing::Read, 20, &[(10, How::Mutex)]),
            thread(2, Doing::Lock, 10, &[(20, How::Read)]),
        ];
        assert!(Waits::of(&threads).cycles().is_empty());
    }

    #[test]
    fn a_reader_waits_behind_a_writer_that_goes_first() {
        for (doing, wanted) in [(Doing::ReadBehind, 1), (Doing::Read, 0)] {
            let threads = [
                thread(1, doing, 20, &[(20, How::Read)]),
                thread(2, Doing::Write, 20, &[]),
                thread(3, Doing::Write, 30, &[]),
            ];
            assert_eq!(Waits::of(&threads).cycles().len(), wanted, "{doing:?}");
        }
    }

    #[test]
    fn an_upgrade_waits_for_other_readers_and_they_for_it() {
        let readers = |second: Doing| {
            [
                thread(1, Doing::Upgrade, 20, &[(20, How::OwnUpgradable)]),
                thread(2, second, 20, &[(20, How::OwnRead)]),
            ]
        };
        for (second, wanted) in [
            (Doing::Nothing, 0),
            (Doing::Read, 0),
            (Doing::ReadUpgradably, 1),
            (Doing::Write, 2),
        ] {
            let cycles = Waits::of(&readers(second)).cycles();
            assert_eq!(cycles.len(), wanted, "{second:?}: {cycles:?}");
        }
        let held = [(20, How::OwnRead), (20, How::OwnUpgradable)];
        let alone = [thread(1, Doing::Upgrade, 20, &held)];
        assert_eq!(Waits::of(&alone).cycles(), [[0]]);
        let alone = [thread(1, Doing::Upgrade, 20, &held[1..])];
        assert!(Waits::of(&alone).cycles().is_empty());
    }

    #[test]
    fn a_writer_waits_for_every_reader_and_a_join_for_its_thread() {
        let threads = [
            thread(1, Doing::Write, 20, &[(10, How::Mutex)]),
            thread(2, Doing::Nothing, 0, &[(20, How::Read)]),
            thread(3, Doing::Lock, 10, &[(20, How::Read)]),
        ];
        assert_eq!(Waits::of(&threads).cycles(), [[0, 2]]);
        let threads = [
            thread(1, Doing::Join, 1002, &[(10, How::Mutex)]),
            thread(2, Doing::Lock, 10, &[]),
        ];
        assert_eq!(Waits::of(&threads).cycles(), [[0, 1]]);
    }
}
