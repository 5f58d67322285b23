//! A counter that simulated threads wait for: a word on a line of its own, with sleepers.

use super::lines::Arena;
use crate::gate::Gate;
use cohort_machine::door;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// All sleepers, of any sort.
const ALL: u32 = u32::MAX;

/// A counter in the machine's memory.
pub struct Counter {
    at: usize,
    _arena: Arc<Arena>,
}

impl Counter {
    /// A counter at zero, on a line of that many bytes.
    pub(super) fn new(arena: &Arc<Arena>, bytes: usize) -> Self {
        Self {
            at: arena.memory().bytes(bytes),
            _arena: Arc::clone(arena),
        }
    }

    fn word(&self) -> &AtomicU32 {
        // SAFETY: zeroed bytes, aligned as a line is, that only atomics are made of; the arena stays.
        unsafe { AtomicU32::from_ptr(self.at as *mut u32) }
    }
}

impl Gate for Counter {
    fn open(&self, number: u32) {
        door::store(self.at);
        self.word().store(number, Ordering::Relaxed);
        door::wake(self.at, ALL, ALL);
    }

    fn wait(&self, number: u32) {
        loop {
            door::load(self.at);
            let seen = self.word().load(Ordering::Relaxed);
            if seen >= number {
                return;
            }
            let read = || self.word().load(Ordering::Relaxed);
            door::sleep(self.at, read, seen, ALL, None);
        }
    }
}
