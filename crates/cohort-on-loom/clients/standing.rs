//! Edges are struck out while threads write themselves in, and nothing that a thread did is lost.

use crate::locks::door::{AtomicU32, Order};
use crate::locks::records::{NEW, Noted, STRUCK, Standing};
use crate::world::together;
use std::sync::Arc;

/// Keys of edges that say the same.
const KEYS: [u64; 2] = [1, 3];
/// The key of another edge.
const OTHER: u64 = 5;

type Edge = Standing<2>;

/// Whether all threads of the one are among those of the other.
fn are_among(edge: &Edge, makers: &[u32; 2]) -> bool {
    let mut own = edge.makers().into_iter();
    own.all(|maker| maker == 0 || makers.contains(&maker))
}

/// Two edges that say the same, which the threads with those numbers do.
fn alike(makers: &[u32]) -> [Edge; 2] {
    KEYS.map(|key| {
        let edge = Edge::default();
        assert!(edge.take(NEW, key, makers[0], |_| true, || ()));
        for maker in &makers[1..] {
            assert_eq!(edge.add(key, *maker), Noted::Now);
        }
        edge
    })
}

/// Strikes the one out by the other.
fn strikes(edges: &[Edge; 2], one: usize) -> bool {
    let by = (&edges[1 - one], KEYS[1 - one]);
    edges[one].strike(
        KEYS[one],
        by,
        |makers| are_among(&edges[one], makers),
        || (),
    )
}

/// Whether an edge that stands says it of the thread.
fn is_known(edges: &[Edge; 2], maker: u32) -> bool {
    let mut stand = edges.iter().zip(KEYS);
    stand.any(|(edge, key)| edge.key() == key && edge.makers().contains(&maker))
}

/// Two threads each strike out one of two edges that say the same by the other: one stays.
pub fn one_of_two_stays() {
    let edges = Arc::new(alike(&[1, 2]));
    let theirs = Arc::clone(&edges);
    if together(2, move |thread| strikes(&theirs, thread)).is_some() {
        for maker in [1, 2] {
            assert!(is_known(&edges, maker), "both were struck out");
        }
    }
}

/// A thread strikes an edge out by another, while a second thread does what they say and writes itself
/// into the first, or, if that has gone, into the other.
pub fn nobody_is_lost() {
    let edges = Arc::new(alike(&[1]));
    let theirs = Arc::clone(&edges);
    let both = together(2, move |thread| {
        if thread == 0 {
            return strikes(&theirs, 0);
        }
        if theirs[0].add(KEYS[0], 2) == Noted::Nowhere {
            assert_eq!(theirs[1].add(KEYS[1], 2), Noted::Now);
        }
        false
    });
    if let Some([struck, _]) = both.as_deref() {
        assert_eq!(*struck, edges[0].key() == STRUCK);
        for maker in [1, 2] {
            assert!(is_known(&edges, maker), "what thread {maker} did is lost");
        }
    }
}

/// The place of an edge that is struck out is taken for another, into which a second thread writes
/// itself as soon as it finds it: it was in the first one, too.
pub fn a_place_is_used_again() {
    let edge = Arc::new(Edge::default());
    assert!(edge.take(NEW, KEYS[0], 2, |_| true, || ()));
    let theirs = Arc::clone(&edge);
    let both = together(2, move |thread| {
        if thread == 0 {
            let taken = theirs.take(KEYS[0], OTHER, 1, |_| true, || ());
            assert!(taken, "nobody else takes it");
            return true;
        }
        theirs.key() == OTHER && theirs.add(OTHER, 2) != Noted::Nowhere
    });
    if let Some([_, written]) = both.as_deref() {
        assert_eq!(edge.key(), OTHER);
        assert!(edge.makers().contains(&1), "the first is lost");
        let is_known = edge.makers().contains(&2);
        assert_eq!(is_known, *written, "what the second did is lost");
    }
}

/// Whether nobody but the thread 1 does it.
fn is_alone(makers: &[u32; 2]) -> bool {
    makers.iter().all(|maker| [0, 1].contains(maker))
}

/// The place of an edge that stands is taken for one that says more, by the thread that alone does what
/// the edge says, while a second thread does it too and writes itself in.
pub fn a_place_is_taken_over() {
    let edge = Arc::new(Edge::default());
    assert!(edge.take(NEW, KEYS[0], 1, |_| true, || ()));
    let theirs = Arc::clone(&edge);
    let both = together(2, move |thread| {
        if thread == 0 {
            theirs.take(KEYS[0], OTHER, 1, is_alone, || ())
        } else {
            theirs.add(KEYS[0], 2) == Noted::Now
        }
    });
    if let Some([taken, noted]) = both.as_deref() {
        assert_eq!(edge.key(), if *taken { OTHER } else { KEYS[0] });
        assert!(!(*taken && *noted), "what the second did is lost");
        assert!(edge.makers().contains(&1), "the first is lost");
        assert_eq!(edge.makers().contains(&2), *noted, "a place is left behind");
    }
}

/// The same, and then an edge of the second thread's is struck out if that does what the new one says,
/// which it never does.
pub fn nobody_late_stands() {
    let edges = [(KEYS[0], 1), (KEYS[1], 2)].map(|(key, maker)| {
        let edge = Edge::default();
        assert!(edge.take(NEW, key, maker, |_| true, || ()));
        edge
    });
    let edges = Arc::new(edges);
    let theirs = Arc::clone(&edges);
    let done = together(2, move |thread| {
        let [first, second] = &*theirs;
        if thread == 1 {
            first.add(KEYS[0], 2);
        } else if first.take(KEYS[0], OTHER, 1, is_alone, || ()) {
            let covers = |makers: &[u32; 2]| are_among(second, makers);
            second.strike(KEYS[1], (first, OTHER), covers, || ());
        }
    });
    if done.is_some() {
        assert!(is_known(&edges, 2), "struck out for what nobody did");
    }
}

/// A thread looks whether an edge says that it does something without a gate, which it does with one
/// only; meanwhile the place is taken for another thread's edge, which says so of that one.
pub fn nothing_is_read_of_two() {
    let edge = Edge::default();
    assert!(edge.take(NEW, KEYS[0], 2, |_| true, || ()));
    let gate = AtomicU32::new(1);
    let place = Arc::new((edge, gate));
    let theirs = Arc::clone(&place);
    let both = together(2, move |thread| {
        let (edge, gate) = &*theirs;
        if thread == 0 {
            let taken = edge.take(KEYS[0], OTHER, 1, |_| true, || ());
            gate.store(0, Order::RELAXED);
            return taken;
        }
        let is_without = |makers: &[u32; 2]| makers.contains(&2) && gate.load(Order::RELAXED) == 0;
        edge.says(KEYS[0], is_without)
    });
    if let Some([taken, said]) = both.as_deref() {
        assert!(*taken, "nobody else takes it");
        assert!(!*said, "what the second never did was read of two edges");
    }
}
