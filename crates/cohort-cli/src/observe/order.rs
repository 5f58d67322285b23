//! Lock-order inversions: potential deadlocks.

use super::site::Site;
use cohort::records::{Hold, How, MAKERS, Records, Segment, is_settled, made_of};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

/// Lock: its address, and its number among the locks at that address.
pub type Lock = (u64, u32);

/// Length of the longest cycle searched for: no edge records more threads.
const LONGEST: usize = MAKERS;

/// Thread that acquires one lock while it holds another, in one of its segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Maker {
    /// The thread ID.
    pub thread: u32,
    /// The segment; 0: unknown.
    pub segment: u32,
}

/// Happens-before relation of the threads' segments, by creations and joins.
pub struct Segments {
    after: Vec<[u32; 2]>,
    /// The direct successors of each segment.
    before: Vec<Vec<u32>>,
    /// For the latest queried segments, all segments before or after them.
    known: RefCell<HashMap<u32, Vec<bool>>>,
    /// The remaining steps of the search.
    steps: Cell<usize>,
}

impl Segments {
    /// A hundred thousand segments, each queried among a few thousand, or vice versa.
    const STEPS: usize = 400_000_000;
    /// Longer than any cycle.
    const KNOWN: usize = 2 * LONGEST;

    /// The segments of a process.
    pub fn of(records: &Records) -> Self {
        let begun = records.segmented.load(Relaxed) as usize + 1;
        let begun = &records.segments[..begun.min(records.segments.len())];
        let after = |segment: &Segment| segment.after.each_ref().map(|place| place.load(Relaxed));
        Self::new(begun.iter().map(after).collect())
    }

    fn new(after: Vec<[u32; 2]>) -> Self {
        let mut before = vec![Vec::new(); after.len()];
        for (segment, predecessors) in after.iter().enumerate() {
            for predecessor in predecessors {
                if let (1.., Some(list)) = (*predecessor, before.get_mut(*predecessor as usize)) {
                    list.push(segment as u32);
                }
            }
        }
        Self {
            after,
            before,
            known: RefCell::default(),
            steps: Cell::new(Self::STEPS),
        }
    }

    /// Whether the two are unordered; also if that is unknown, or takes too long to find out.
    fn can_be_at_once(&self, one: u32, other: u32) -> bool {
        if one == 0 || other == 0 {
            return true;
        }
        let mut known = self.known.borrow_mut();
        if known.len() == Self::KNOWN && !known.contains_key(&one) {
            known.clear();
        }
        let ordered = known.entry(one).or_insert_with(|| self.ordered(one));
        !ordered.get(other as usize).is_some_and(|is| *is)
    }

    /// All segments before or after a segment.
    fn ordered(&self, segment: u32) -> Vec<bool> {
        let Some(left) = self.steps.get().checked_sub(self.after.len()) else {
            return Vec::new();
        };
        self.steps.set(left);
        let mut found = vec![false; self.after.len()];
        let mut go = |next: &dyn Fn(usize) -> Vec<u32>| {
            let mut open = vec![segment];
            while let Some(segment) = open.pop() {
                for next in next(segment as usize) {
                    let Some(known) = found.get_mut(next as usize).filter(|_| next != 0) else {
                        continue;
                    };
                    if !std::mem::replace(known, true) {
                        open.push(next);
                    }
                }
            }
        };
        go(&|segment| {
            self.after
                .get(segment)
                .map_or(Vec::new(), |after| after.to_vec())
        });
        go(&|segment| self.before.get(segment).cloned().unwrap_or_default());
        found
    }
}

/// Acquisition of one lock while another was held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The held lock.
    pub held: Lock,
    /// The acquired lock.
    pub taken: Lock,
    /// The site of the first acquisition.
    pub held_site: u64,
    /// How the first was held, and the second acquired.
    pub hows: [How; 2],
    /// The threads that did so; the first one recorded the stack.
    pub makers: Vec<Maker>,
    /// All held locks, in the format of [`Hold::pack`].
    pub guards: Vec<u64>,
    /// The site of the second acquisition.
    pub site: Site,
    /// The number of the recorded stack.
    pub stack: u32,
}

/// The complete edges of a process, without those of ended locks.
pub fn edges(records: &Records) -> Vec<Taken> {
    let mut made: HashMap<u64, Vec<Maker>> = HashMap::new();
    // If some are lost, each thread may have done everything at any time.
    if records.lost_made.load(Relaxed) == 0 {
        for (pair, segment) in records.made() {
            let known = &records.segments[segment as usize];
            let thread = known.thread.load(Relaxed);
            let maker = Maker { thread, segment };
            made.entry(pair).or_default().push(maker);
        }
    }
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
            let hows = edge.hows();
            let guards = gates
                .filter(|gate| *gate != 0)
                .chain([Hold::pack(held, hows[0])])
                .collect();
            let threads: Vec<u32> = threads
                .into_iter()
                .filter(|thread| is_settled(*thread))
                .collect();
            let made = made
                .get(&made_of(edge.pair()))
                .map_or(&[][..], Vec::as_slice);
            Some(Taken {
                held: (held, edge.held_identity.load(Relaxed)),
                taken: (taken, edge.taken_identity.load(Relaxed)),
                held_site: Hold::unpack(edge.held_site.load(Relaxed)).0,
                hows,
                makers: makers(&threads, made),
                guards,
                site: Site::of(&edge.place),
                stack: edge.stack.load(Relaxed),
            })
        })
        .collect()
}

/// The threads of an edge with their segments, from those of all edges of its pair of locks.
fn makers(threads: &[u32], made: &[Maker]) -> Vec<Maker> {
    let is_unknown = made.iter().any(|maker| maker.segment == 0);
    let known = |thread: u32| made.iter().filter(move |maker| maker.thread == thread);
    let mut makers = Vec::new();
    for thread in threads {
        makers.extend(known(*thread).copied());
        if is_unknown || known(*thread).next().is_none() {
            makers.push(Maker {
                thread: *thread,
                segment: 0,
            });
        }
    }
    // An edge records a limited number of threads; others may have done the same.
    if threads.len() == MAKERS {
        let others = made
            .iter()
            .filter(|maker| maker.segment != 0 && !threads.contains(&maker.thread));
        makers.extend(others);
    }
    makers
}

/// Cycles of locks, each acquired with the previous one held, that different threads can walk
/// concurrently: each edge by a separate thread, no two guarded by a common lock, and none over
/// before another begins. One for each set of locks, with a thread for each edge.
pub fn inversions<'a>(edges: &'a [Taken], segments: &Segments) -> Vec<Vec<(&'a Taken, u32)>> {
    let mut from: HashMap<Lock, Vec<&Taken>> = HashMap::new();
    for edge in edges {
        from.entry(edge.held).or_default().push(edge);
    }
    let mut told = BTreeSet::new();
    let mut found = Vec::new();
    for edge in edges {
        let mut way = vec![edge];
        search(&from, segments, &mut way, &mut told, &mut found);
    }
    found
}

fn search<'a>(
    from: &HashMap<Lock, Vec<&'a Taken>>,
    segments: &Segments,
    way: &mut Vec<&'a Taken>,
    told: &mut BTreeSet<Vec<Lock>>,
    found: &mut Vec<Vec<(&'a Taken, u32)>>,
) {
    let Some(&last) = way.last() else { return };
    if last.taken == way[0].held {
        let mut locks: Vec<Lock> = way.iter().map(|edge| edge.held).collect();
        locks.sort_unstable();
        if !told.contains(&locks)
            && last.waits_behind(way[0])
            && let Some(threads) = threads_apart(way, segments)
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
        if next.held > way[0].held
            && last.waits_behind(next)
            && way.iter().all(|edge| can_be_at_once(edge, next))
        {
            way.push(next);
            if threads_apart(way, segments).is_some() {
                search(from, segments, way, told, found);
            }
            way.pop();
        }
    }
}

impl Taken {
    /// Whether an acquisition of the second lock waits for a holder as in the other edge: not if
    /// both read.
    fn waits_behind(&self, other: &Self) -> bool {
        !self.hows[1].is_read() || !other.hows[0].is_read()
    }
}

/// A distinct thread for each edge, in concurrent segments; none if there are too few.
fn threads_apart(way: &[&Taken], segments: &Segments) -> Option<Vec<u32>> {
    fn choose(way: &[&Taken], segments: &Segments, chosen: &mut Vec<Maker>) -> bool {
        let Some(edge) = way.get(chosen.len()) else {
            return true;
        };
        edge.makers.iter().any(|maker| {
            let can_be = |other: &Maker| {
                other.thread != maker.thread
                    && segments.can_be_at_once(other.segment, maker.segment)
            };
            if !chosen.iter().all(can_be) {
                return false;
            }
            chosen.push(*maker);
            let is_whole = choose(way, segments, chosen);
            if !is_whole {
                chosen.pop();
            }
            is_whole
        })
    }
    let mut chosen = Vec::new();
    choose(way, segments, &mut chosen).then(|| chosen.iter().map(|maker| maker.thread).collect())
}

fn can_be_at_once(one: &Taken, other: &Taken) -> bool {
    let excludes = |one: u64, other: u64| {
        let ((lock, how), (of, too)) = (Hold::unpack(one), Hold::unpack(other));
        lock == of && !(how.is_read() && too.is_read())
    };
    let is_apart = |guard: &u64| other.guards.iter().any(|too| excludes(*guard, *too));
    one.held != other.held && !one.guards.iter().any(is_apart)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(thread: u32, held: u64, taken: u64, gates: &[u64]) -> Taken {
        Taken {
            held: (held, 1),
            taken: (taken, 1),
            held_site: 0,
            hows: [How::Mutex; 2],
            makers: vec![Maker { thread, segment: 0 }],
            guards: gates
                .iter()
                .copied()
                .chain([held])
                .map(|lock| Hold::pack(lock, How::Mutex))
                .collect(),
            site: Site::default(),
            stack: 0,
        }
    }

    fn found(edges: &[Taken]) -> usize {
        inversions(edges, &Segments::new(Vec::new())).len()
    }

    fn found_in(edges: &[Taken], after: &[[u32; 2]]) -> usize {
        inversions(edges, &Segments::new(after.to_vec())).len()
    }

    fn in_segments(edge: Taken, segments: &[(u32, u32)]) -> Taken {
        let makers = segments.iter();
        let makers = makers.map(|(thread, segment)| Maker {
            thread: *thread,
            segment: *segment,
        });
        Taken {
            makers: makers.collect(),
            ..edge
        }
    }

    #[test]
    fn what_follows_by_creations_and_joins_is_never_at_once() {
        // Thread 1 creates thread 2 after its segment 1, and joins it before its segment 4.
        let after = [[0, 0], [0, 0], [1, 0], [1, 0], [3, 2]];
        let one = |segment| in_segments(edge(0, 10, 20, &[]), &[(1, segment)]);
        let other = in_segments(edge(0, 20, 10, &[]), &[(2, 2)]);
        for (segment, wanted) in [(1, 0), (3, 1), (4, 0), (0, 1)] {
            let edges = [one(segment), other.clone()];
            assert_eq!(found_in(&edges, &after), wanted, "segment {segment}");
        }
        // Before and after it, but not concurrent with it.
        let around = in_segments(edge(0, 10, 20, &[]), &[(1, 1), (1, 4)]);
        assert_eq!(found_in(&[around, other.clone()], &after), 0);
        let beside = in_segments(edge(0, 10, 20, &[]), &[(1, 1), (1, 3)]);
        assert_eq!(found_in(&[beside, other], &after), 1);
    }

    #[test]
    fn an_edge_of_many_threads_has_the_segments_of_all_that_took_its_locks() {
        let maker = |thread, segment| Maker { thread, segment };
        let made: Vec<Maker> = (1..=7).map(|number| maker(number, number)).collect();
        let few = makers(&[1, 9], &made);
        assert_eq!(few, [maker(1, 1), maker(9, 0)]);
        assert_eq!(makers(&[1, 2, 3, 4, 5], &made).len(), 7);
        let unknown = [maker(1, 1), maker(0, 0)];
        assert_eq!(makers(&[1], &unknown), [maker(1, 1), maker(1, 0)]);
    }

    #[test]
    fn readers_do_not_wait_for_each_other() {
        let with = |thread, held, taken, hows: [How; 2]| Taken {
            hows,
            ..edge(thread, held, taken, &[])
        };
        use How::{Read, Write};
        for (first, second, wanted) in [
            ([Read, Read], [Read, Read], 0),
            ([Read, Read], [Read, Write], 0),
            ([Read, Write], [Read, Write], 1),
            ([Write, Read], [Read, Write], 0),
            ([Write, Read], [Write, Read], 1),
        ] {
            let edges = [with(1, 10, 20, first), with(2, 20, 10, second)];
            assert_eq!(found(&edges), wanted, "{first:?} {second:?}");
        }
        // A lock that both read does not exclude them.
        let gated = |gate| {
            let mut edges = [edge(1, 10, 20, &[]), edge(2, 20, 10, &[])];
            for edge in &mut edges {
                edge.guards.push(Hold::pack(5, gate));
            }
            found(&edges)
        };
        assert_eq!((gated(Read), gated(Write)), (1, 0));
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
        let by = |threads: &[u32], held, taken| {
            let makers: Vec<_> = threads.iter().map(|thread| (*thread, 0)).collect();
            in_segments(edge(0, held, taken, &[]), &makers)
        };
        let both = [by(&[1, 2], 10, 20), by(&[1, 2], 20, 10)];
        let cycles = inversions(&both, &Segments::new(Vec::new()));
        let threads: Vec<u32> = cycles[0].iter().map(|(_, thread)| *thread).collect();
        assert_eq!(threads, [1, 2]);
        // Two threads cannot be three.
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
        // The same locks with two threads: no three concurrent waits.
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
