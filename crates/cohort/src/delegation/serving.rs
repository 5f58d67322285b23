//! The process whose threads ran sections of others, for the drop in [`oyama`](super::oyama) and
//! [`qd`](super::qd). The last user may drop the lock once its section has run, and must wait for
//! the thread that ran it.
//!
//! A holder records its process before it answers another thread for the first time. In a forked
//! child, a drop waits for no thread of the parent.

use crate::door::{AtomicU32, Order, generation, outlast};

/// The process in which a holder last ran a section of another thread; 0: none.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Serving(AtomicU32);

impl Serving {
    /// Records the process. The caller holds the lock, and is about to answer another thread.
    #[inline]
    pub(super) fn begin(&self) {
        let here = generation();
        if self.0.load(Order::RELAXED) != here {
            self.0.store(here, Order::RELAXED);
        }
    }

    /// Returns whether the recorded process is this one.
    pub(super) fn is_here(&self) -> bool {
        self.0.load(Order::RELAXED) == generation()
    }

    /// Blocks until the lock has been released, if a thread of this process may hold it.
    pub(super) fn settle(&self, is_left: impl Fn() -> bool) {
        outlast(|| !self.is_here() || is_left());
    }
}
