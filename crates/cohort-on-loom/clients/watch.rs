//! Observers start and stop while a thread records.

use crate::locks::door::{AtomicU32, Order};
use crate::locks::records::{ALWAYS, Follows, Watch};
use crate::world::together;
use std::sync::Arc;

#[derive(Default)]
struct Shared {
    watch: Watch,
    follows: Follows,
    /// The observer's preparation for the thread.
    wanted: AtomicU32,
    /// The thread's record, the observer's number; 0: none.
    record: AtomicU32,
}

/// So many observers follow each other, while a thread checks for one as often. It finds the
/// observer's preparation, and no observer reads a record made for another.
pub fn come_and_go(watches: u32) {
    let shared = Arc::new(Shared::default());
    together(2, move |thread| {
        if thread == 0 {
            (0..watches).for_each(|_| acts(&shared));
        } else {
            (1..=watches).for_each(|nth| watches_once(&shared, ALWAYS + nth));
        }
    });
}

fn acts(shared: &Shared) {
    let number = shared.watch.number();
    if number == 0 {
        return;
    }
    assert!(
        shared.wanted.load(Order::RELAXED) >= number,
        "a watch was seen before what was made ready for it"
    );
    if !shared.follows.is_mine(number) {
        shared.record.store(0, Order::RELAXED);
        shared.follows.follow(number);
    }
    shared.record.store(number, Order::RELAXED);
}

fn watches_once(shared: &Shared, expected: u32) {
    shared.wanted.store(expected, Order::RELAXED);
    let number = shared.watch.begin(0).expect("no observer");
    assert_eq!(number, expected, "no other observer begins");
    if shared.follows.follows(number) {
        let record = shared.record.load(Order::RELAXED);
        assert!(
            record == 0 || record == number,
            "what is of another watch is read in this one"
        );
    }
    shared.watch.end(number);
}
