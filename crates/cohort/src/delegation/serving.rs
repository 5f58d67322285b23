//! Whether the last user of a lock, which drops it once its section has run, has to wait for the thread that
//! ran it: in [`oyama`](super::oyama) and [`qd`](super::qd).
//!
//! A holder says in which process it runs sections of other threads, before it answers the first of them.
//! In a child of a fork a drop waits for no thread of the parent.

use crate::door::{AtomicU32, Order, generation, outlast};

/// The process in which a holder last ran a section of another thread; 0: none has.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Serving(AtomicU32);

impl Serving {
    /// The calling thread, which has the lock, is about to answer another one.
    #[inline]
    pub(super) fn begin(&self) {
        let here = generation();
        if self.0.load(Order::RELAXED) != here {
            self.0.store(here, Order::RELAXED);
        }
    }

    /// Whether a thread of this process has.
    pub(super) fn is_here(&self) -> bool {
        self.0.load(Order::RELAXED) == generation()
    }

    /// Blocks until the lock is left, if a thread of this process may have it.
    pub(super) fn settle(&self, is_left: impl Fn() -> bool) {
        outlast(|| !self.is_here() || is_left());
    }
}
