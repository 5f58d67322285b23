//! A mutex's holder, in a word of the mutex itself.
//!
//! The acquiring thread writes its tag there, and clears it before another thread can acquire the
//! mutex. So a reader may see a thread that is about to release, never a former holder.
//!
//! These accesses need no order: the lock orders successive holders, and all threads see one
//! history of one word.

use crate::door::{AtomicUsize, Order, flaws, mutant};

flaws! {
    LATE = "holder.late";
    KEEP = "holder.keep";
}

/// The tag of a mutex's holder; 0: free.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Holder(AtomicUsize);

impl Holder {
    /// Records the calling thread as the holder.
    #[inline(always)]
    pub fn take(&self, tag: usize) {
        self.0.store(tag, Order::RELAXED);
    }

    /// Releases the mutex by `unlock`, and clears the tag before.
    #[inline(always)]
    pub fn let_go<R>(&self, unlock: impl FnOnce() -> R) -> R {
        if mutant(flaw::LATE) {
            let result = unlock();
            self.take(0);
            return result;
        }
        if !mutant(flaw::KEEP) {
            self.take(0);
        }
        unlock()
    }

    /// The recorded tag.
    #[inline(always)]
    pub fn tag(&self) -> usize {
        self.0.load(Order::RELAXED)
    }
}
