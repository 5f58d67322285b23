//! Lock-order edges are struck out while threads add themselves, and no thread's order is lost.

use crate::locks::door::{AtomicU32, Order};
use crate::locks::records::{NEW, Noted, STRUCK, Standing};
use crate::world::together;
use std::sync::Arc;

/// Keys of equivalent edges.
const KEYS: [u64; 2] = [1, 3];
/// The key of another edge.
const OTHER: u64 = 5;

type Edge = Standing<2>;

/// Whether all threads of the edge are among `makers`.
fn are_among(edge: &Edge, makers: &[u32; 2]) -> bool {
    let mut own = edge.makers().into_iter();
    own.all(|maker| maker == 0 || makers.contains(&maker))
}

/// Two equivalent edges, each with those threads.
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

/// Strikes out one edge in favour of the other.
fn strikes(edges: &[Edge; 2], one: usize) -> bool {
    let by = (&edges[1 - one], KEYS[1 - one]);
    edges[one].strike(
        KEYS[one],
        by,
        |makers| are_among(&edges[one], makers),
        || (),
    )
}

/// Whether a remaining edge names the thread.
fn is_known(edges: &[Edge; 2], maker: u32) -> bool {
    let mut stand = edges.iter().zip(KEYS);
    stand.any(|(edge, key)| edge.key() == key && edge.makers().contains(&maker))
}

/// Two threads each strike out one of two equivalent edges in favour of the other: one remains.
pub fn one_of_two_stays() {
    let edges = Arc::new(alike(&[1, 2]));
    let theirs = Arc::clone(&edges);
    if together(2, move |thread| strikes(&theirs, thread)).is_some() {
        for maker in [1, 2] {
            assert!(is_known(&edges, maker), "both were struck out");
        }
    }
}

/// A thread strikes out an edge in favour of another. A second thread with the same order adds
/// itself to the first, or to the other if the first is gone.
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

/// The place of a struck-out edge is reused for another edge, to which a second thread adds itself
/// as soon as it finds it. It was in the first edge, too.
pub fn a_place_is_used_again() {
    let edge = Arc::new(Edge::default());
    assert!(edge.take(NEW, KEYS[0], 2, |_| true, || ()));
    let theirs = Arc::clone(&edge);
    let both = together(2, move |thread| {
        if thread == 0 {
            let taken = theirs.take(KEYS[0], OTHER, 1, |_| true, || ());
            assert!(taken, "no other thread takes it");
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

/// Whether thread 1 is the only one.
fn is_alone(makers: &[u32; 2]) -> bool {
    makers.iter().all(|maker| [0, 1].contains(maker))
}

/// An edge's place is taken for a stronger edge by its only thread, while a second thread adds
/// itself to the weaker edge.
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

/// Like [`a_place_is_taken_over`]. An edge of the second thread is then struck out if the new edge
/// names that thread, which it never does.
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
        assert!(is_known(&edges, 2), "struck out without a cause");
    }
}

/// A thread checks whether an edge shows it without a gate; its order always has one. Meanwhile the
/// place is taken for an edge of another thread without a gate.
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
        assert!(*taken, "no other thread takes it");
        assert!(!*said, "what the second never did was read of two edges");
    }
}
