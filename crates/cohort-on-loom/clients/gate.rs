//! An admission gate admits every thread.

use crate::locks::host::{Gate, WideGate};
use crate::world::together;
use std::sync::Arc;

/// Two admitted threads leave at once while two others, who found no slot, arrive: all are
/// admitted.
pub fn lets_all_in_when_two_leave() {
    let gate = Arc::new(Gate::new());
    let theirs = Arc::clone(&gate);
    // The admitted threads must assume parked ones.
    gate.expect_sleepers();
    for _ in 0..2 {
        assert!(gate.admit(2, false, None), "there was a place");
    }
    let ended = together(4, move |thread| {
        if thread >= 2 {
            assert!(theirs.admit(1, false, None), "nothing else is tried");
        }
        theirs.depart(2);
    });
    if ended.is_some() {
        assert!(gate.is_empty(), "a thread is left inside");
    }
}

/// As above, at a wide gate.
pub fn wide_lets_all_in_when_two_leave() {
    let gate = Arc::new(WideGate::new());
    let theirs = Arc::clone(&gate);
    gate.expect_sleepers();
    for _ in 0..2 {
        gate.admit(2, false);
    }
    let ended = together(4, move |thread| {
        if thread >= 2 {
            theirs.admit(1, false);
        }
        theirs.depart(2, false);
    });
    if ended.is_some() {
        assert!(gate.is_empty(), "a thread is left inside");
    }
}

/// So many threads arrive at once at a wide gate with one slot, and leave at once: all are admitted.
pub fn lets_in_all_arrivals(threads: usize) {
    let gate = Arc::new(WideGate::new());
    let theirs = Arc::clone(&gate);
    let ended = together(threads, move |_| {
        theirs.admit(1, false);
        theirs.depart(1, true);
    });
    if ended.is_some() {
        assert!(gate.is_empty(), "a thread is left inside");
    }
}
