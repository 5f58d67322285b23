//! An arena hands out no node twice, and what was in it is seen by the next.

use super::{add_one, read, write};
use crate::locks::door::Cell;
use crate::locks::host::{Arena, Pool};
use crate::world::together;
use std::sync::Arc;

/// A node that shows a second owner as a race.
#[derive(Debug, Default)]
pub struct Probe {
    owner: Cell<u64>,
    uses: Cell<u64>,
}

/// The first thread takes more nodes than there are, while others give theirs back
/// and end: what those kept is found.
pub fn adopts_orphans(threads: usize) {
    let arena = Arc::new(Arena::<Probe>::new(2));
    let theirs = Arc::clone(&arena);
    let done = together(threads, move |thread| {
        let more = if thread == 0 { 3 } else { 0 };
        let taken: Vec<_> = (0..=more).map(|_| theirs.take()).collect();
        for node in &taken {
            write(&node.owner, thread as u64);
            add_one(&node.uses);
        }
        for node in taken {
            assert_eq!(read(&node.owner), thread as u64, "a node has two owners");
            // SAFETY: taken above, and not used any more.
            unsafe { theirs.give(node) };
        }
    });
    if done.is_some() {
        assert!(
            arena.used() as usize <= threads + 3,
            "more nodes than were ever taken at once"
        );
    }
}

/// Each thread takes `at_once` nodes, marks them, and gives them back, `rounds`
/// times.
pub fn hands_out_once(threads: usize, rounds: u64, at_once: usize) {
    let arena = Arc::new(Arena::<Probe>::new(2));
    let theirs = Arc::clone(&arena);
    let done = together(threads, move |thread| {
        for _ in 0..rounds {
            let taken: Vec<_> = (0..at_once).map(|_| theirs.take()).collect();
            for node in &taken {
                write(&node.owner, thread as u64);
                add_one(&node.uses);
            }
            for node in taken {
                assert_eq!(read(&node.owner), thread as u64, "a node has two owners");
                // SAFETY: the arena's number of its own node.
                let same = unsafe { theirs.at(theirs.number(node)) };
                assert!(core::ptr::eq(same, node), "a number names another node");
                // SAFETY: taken above, and not used any more.
                unsafe { theirs.give(node) };
            }
        }
    });
    if done.is_some() {
        let most = threads * (at_once + crate::locks::door::ARENA_CACHED as usize);
        assert!(
            arena.used() as usize <= most,
            "{} nodes for {threads} threads that took {at_once} at once",
            arena.used()
        );
    }
}
