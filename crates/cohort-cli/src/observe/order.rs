//! Locks that are taken in different orders: a deadlock that has not happened yet.

use super::process::Site;
use cohort::records::{Hold, MAKERS, Records, is_settled};
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

/// A lock: its address, and which of all that were there.
pub type Lock = (u64, u32);

/// How many locks the longest cycle that is looked for has: no edge has more threads.
const LONGEST: usize = MAKERS;

/// One lock taken while another was held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The lock that was held.
    pub held: Lock,
    /// The lock that was taken.
    pub taken: Lock,
    /// Where the first was taken.
    pub held_site: u64,
    /// The threads that did so, the one that left the stack first.
    pub threads: Vec<u32>,
    /// All that was held.
    pub guards: Vec<u64>,
    /// Where the second was taken.
    pub site: Site,
    /// The number of the kept stack.
    pub stack: u32,
}

/// The complete edges of a process, but for those whose locks have ended.
pub fn edges(records: &Records) -> Vec<Taken> {
    records
        .edges
        .iter()
        .filter_map(|edge| {
            let held = edge.held.load(Acquire);
            let taken = edge.taken.load(Relaxed);
            let has_ended = |number: &AtomicU32| records.has_ended(number.load(Relaxed));
            if held == 0
                || taken == 0
                || has_ended(&edge.held_identity)
                || has_ended(&edge.taken_identity)
            {
                return None;
            }
            let threads = edge.standing.makers();
            let gates = edge.gates.iter().map(|gate| gate.load(Relaxed));
            let guards = gates.filter(|gate| *gate != 0).chain([held]).collect();
            Some(Taken {
                held: (held, edge.held_identity.load(Relaxed)),
                taken: (taken, edge.taken_identity.load(Relaxed)),
                held_site: Hold::unpack(edge.held_site.load(Relaxed)).0,
                threads: threads
                    .into_iter()
                    .filter(|thread| is_settled(*thread))
                    .collect(),
                guards,
                site: Site::of(&edge.place),
                stack: edge.stack.load(Relaxed),
            })
        })
        .collect()
}

/// Cycles of locks, each taken while the one before was held, that different threads can walk at
/// once: each edge by a thread of its own, and no two guarded by a common lock.  One for each set
/// of locks, with a thread for each edge.
pub fn inversions(edges: &[Taken]) -> Vec<Vec<(&Taken, u32)>> {
    let mut from: HashMap<Lock, Vec<&Taken>> = HashMap::new();
    for edge in edges {
        from.entry(edge.held).or_default().push(edge);
    }
    let mut told = BTreeSet::new();
    let mut found = Vec::new();
    for edge in edges {
        let mut way = vec![edge];
        search(&from, &mut way, &mut told, &mut found);
    }
    found
}

fn search<'a>(
    from: &HashMap<Lock, Vec<&'a Taken>>,
    way: &mut Vec<&'a Taken>,
    told: &mut BTreeSet<Vec<Lock>>,
    found: &mut Vec<Vec<(&'a Taken, u32)>>,
) {
    let Some(last) = way.last() else { return };
    if last.taken == way[0].held {
        let mut locks: Vec<Lock> = way.iter().map(|edge| edge.held).collect();
        locks.sort_unstable();
        if !told.contains(&locks)
            && let Some(threads) = threads_apart(way)
        {
            told.insert(locks);
            found.push(way.iter().copied().zip(threads).collect());
        }
        return;
    }
    if way.len() == LONGEST {
        return;
    }
    for next in from.get(&last.taken).into_iter().flatten() {
        // A cycle is found from its lowest lock.
        if next.held > way[0].held && way.iter().all(|edge| can_be_at_once(edge, next)) {
            way.push(next);
            if threads_apart(way).is_some() {
                search(from, way, told, found);
            }
            way.pop();
        }
    }
}

/// A thread for each edge, no two the same; none if there are too few.
fn threads_apart(way: &[&Taken]) -> Option<Vec<u32>> {
    fn choose(way: &[&Taken], chosen: &mut Vec<u32>) -> bool {
        let Some(edge) = way.get(chosen.len()) else {
            return true;
        };
        edge.threads.iter().any(|thread| {
            if chosen.contains(thread) {
                return false;
            }
            chosen.push(*thread);
            let is_whole = choose(way, chosen);
            if !is_whole {
                chosen.pop();
            }
            is_whole
        })
    }
    let mut chosen = Vec::new();
    choose(way, &mut chosen).then_some(chosen)
}

fn can_be_at_once(one: &Taken, other: &Taken) -> bool {
    one.held != other.held && one.guards.iter().all(|guard| !other.guards.contains(guard))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(thread: u32, held: u64, taken: u64, gates: &[u64]) -> Taken {
        Taken {
            held: (held, 1),
            taken: (taken, 1),
            held_site: 0,
            threads: vec![thread],
            guards: gates.iter().copied().chain([held]).collect(),
            site: Site::default(),
            stack: 0,
        }
    }

    fn found(edges: &[Taken]) -> usize {
        inversions(edges).len()
    }

    #[test]
    fn two_orders_by_two_threads_are_told_once() {
        let edges = [
            edge(1, 10, 20, &[]),
            edge(2, 20, 10, &[]),
            edge(3, 20, 10, &[]),
        ];
        assert_eq!(found(&edges), 1);
    }

    #[test]
    fn one_thread_alone_or_a_gate_lock_is_no_danger() {
        assert_eq!(found(&[edge(1, 10, 20, &[]), edge(1, 20, 10, &[])]), 0);
        assert_eq!(found(&[edge(1, 10, 20, &[5]), edge(2, 20, 10, &[5])]), 0);
        assert_eq!(found(&[edge(1, 10, 20, &[5]), edge(2, 20, 10, &[6])]), 1);
    }

    #[test]
    fn each_edge_has_a_thread_of_its_own() {
        let by = |threads: &[u32], held, taken| Taken {
            threads: threads.to_vec(),
            ..edge(0, held, taken, &[])
        };
        let both = [by(&[1, 2], 10, 20), by(&[1, 2], 20, 10)];
        let cycles = inversions(&both);
        let threads: Vec<u32> = cycles[0].iter().map(|(_, thread)| *thread).collect();
        assert_eq!(threads, [1, 2]);
        // Two threads are never three.
        let ring = [
            by(&[1, 2], 10, 20),
            by(&[1, 2], 20, 30),
            by(&[1, 2], 30, 10),
        ];
        assert_eq!(found(&ring), 0);
    }

    #[test]
    fn memory_that_is_used_again_is_another_lock() {
        let mut second = edge(2, 20, 10, &[]);
        second.taken.1 = 2;
        assert_eq!(found(&[edge(1, 10, 20, &[]), second]), 0);
    }

    #[test]
    fn three_locks_and_hand_over_hand() {
        let ring = [
            edge(1, 10, 20, &[]),
            edge(2, 20, 30, &[]),
            edge(3, 30, 10, &[]),
        ];
        assert_eq!(found(&ring), 1);
        // The same locks by two threads: never three waits at once.
        let two = [
            edge(1, 10, 20, &[]),
            edge(2, 20, 30, &[]),
            edge(1, 30, 10, &[]),
        ];
        assert_eq!(found(&two), 0);
        let line = [
            edge(1, 10, 20, &[]),
            edge(2, 10, 20, &[]),
            edge(2, 20, 30, &[]),
        ];
        assert_eq!(found(&line), 0);
    }
}
