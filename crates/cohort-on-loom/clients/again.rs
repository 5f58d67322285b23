//! A signal handler takes and gives nodes while its thread does so.

use crate::locks::host::{Arena, Pool};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

/// A node that records the latest thread to take it.
#[derive(Debug, Default)]
struct Probe {
    owner: AtomicUsize,
}

/// A thread gives a node back and takes another. At each moment of that in turn, a signal handler
/// does so too. `interrupted(moment, handler, work)` runs the work with the handler at that moment,
/// and returns whether there are so many moments.
pub fn is_entered_again(
    interrupted: impl Fn(u32, Box<dyn FnOnce()>, Box<dyn FnOnce() + '_>) -> bool,
) {
    type Held = Rc<Cell<&'static Probe>>;
    const NODES: usize = 3;
    let arena: &'static Arena<Probe> = Box::leak(Box::new(Arena::new(2)));
    let exchange = move |held: &Held| {
        let held = Rc::clone(held);
        move || {
            // SAFETY: taken before, and unused from here on.
            unsafe { arena.give(held.get()) };
            held.set(arena.take());
        }
    };
    let mut moment = 0;
    loop {
        let mut all: Vec<_> = (0..NODES).map(|_| arena.take()).collect();
        for (index, node) in all.iter().enumerate() {
            node.owner.store(index, Relaxed);
        }
        for (index, node) in all.iter().enumerate() {
            assert_eq!(node.owner.load(Relaxed), index, "a node has two owners");
        }
        assert!(arena.used() as usize <= NODES, "a node is lost");
        let held: [Held; 2] = std::array::from_fn(|_| Rc::new(Cell::new(all.remove(0))));
        for node in all {
            // SAFETY: as above.
            unsafe { arena.give(node) };
        }
        let came = interrupted(
            moment,
            Box::new(exchange(&held[1])),
            Box::new(exchange(&held[0])),
        );
        assert!(
            !std::ptr::eq(held[0].get(), held[1].get()),
            "a node has two owners"
        );
        for held in held {
            // SAFETY: as above.
            unsafe { arena.give(held.get()) };
        }
        if !came {
            break;
        }
        moment += 1;
    }
    assert!(moment > 5, "hardly anything was interrupted");
}
