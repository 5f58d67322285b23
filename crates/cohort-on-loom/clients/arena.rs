//! An arena never hands out a node twice at one time, and a node's next user sees its contents.

use super::{add_one, read, write};
use crate::locks::door::{AtomicU32, Cell, Order, Strength};
use crate::locks::host::{Arena, Pool};
use crate::world::together;
use std::sync::Arc;

/// The orders by which a thread publishes a node that it has left, and another acquires it.
const SAYS: Order = Order {
    name: None,
    strength: Strength::Release,
};
const SEES: Order = Order {
    name: None,
    strength: Strength::Acquire,
};

/// A node where a second owner shows as a data race.
#[derive(Debug, Default)]
pub struct Probe {
    owner: Cell<u64>,
    uses: Cell<u64>,
}

/// The first thread takes more nodes than exist, while the others give theirs back and end; their
/// cached nodes are found.
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
            // SAFETY: taken above, and unused from here on.
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

/// Each thread takes `at_once` nodes, marks them and gives them back, `rounds` times.
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
                // SAFETY: the arena's own number of this node.
                let same = unsafe { theirs.at(theirs.number(node)) };
                assert!(core::ptr::eq(same, node), "a number names another node");
                // SAFETY: taken above, and unused from here on.
                unsafe { theirs.give(node) };
            }
        }
    });
    if done.is_some() {
        let cached = crate::locks::door::ARENA_CACHED as usize;
        let most = threads * (at_once + cached);
        // A thread with too many failed exchanges on the common list keeps a node, or creates one.
        // So contention decides on the number of nodes; several times as many are acceptable.
        let most = if at_once > cached + 1 { 4 * most } else { most };
        assert!(
            arena.used() as usize <= most,
            "{} nodes for {threads} threads that took {at_once} at once",
            arena.used()
        );
    }
}

/// One thread leaves a node in each round and takes another; a node's last user returns it. No node
/// has two users at one time, and the number of nodes stays bounded by what the threads use.
pub fn returns_what_was_left(rounds: u32) {
    let shared = Arc::new((Arena::<Probe>::new(2), AtomicU32::new(0)));
    let theirs = Arc::clone(&shared);
    let done = together(2, move |thread| {
        let (arena, left) = &*theirs;
        if thread == 1 {
            let number = left.swap(0, SEES);
            if number > 0 {
                // SAFETY: the other thread has left it, and only this thread has its number.
                let node = unsafe { arena.at(number) };
                add_one(&node.uses);
                // SAFETY: as above.
                unsafe { arena.return_left(node) };
            }
            return;
        }
        for _ in 0..rounds {
            let node = arena.take();
            add_one(&node.uses);
            // SAFETY: taken above; the other thread sees it only afterwards.
            unsafe { arena.leave(node) };
            let before = left.swap(arena.number(node), SAYS);
            if before > 0 {
                // SAFETY: this thread has left it, and the other thread can no longer obtain the
                // number.
                unsafe { arena.return_left(arena.at(before)) };
            }
        }
        let node = arena.take();
        add_one(&node.uses);
        // SAFETY: taken above, and unused from here on.
        unsafe { arena.give(node) };
    });
    if done.is_some() {
        let used = shared.0.used();
        assert!(used <= 3, "{used} nodes, two of them in use");
    }
}
