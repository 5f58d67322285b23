//! Which thread holds a mutex, in a word of the mutex itself.
//!
//! The thread that has taken the mutex writes its tag there, and takes it away before another thread
//! can have the mutex.  A reader that finds a tag may so be told of a thread that is about to let go,
//! never of one that has let go.
//!
//! No order is asked of these accesses: threads that hold the mutex one after the other are ordered
//! by the lock, and of one word all see one history.

use crate::door::{AtomicUsize, Order, flaws, mutant};

flaws! {
    LATE = "holder.late";
    KEEP = "holder.keep";
}

/// The tag of the thread that holds a mutex; 0: nobody's.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Holder(AtomicUsize);

impl Holder {
    /// The calling thread has taken the mutex.
    #[inline(always)]
    pub fn take(&self, tag: usize) {
        self.0.store(tag, Order::RELAXED);
    }

    /// The calling thread lets go of the mutex by `unlock`.
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

    /// The tag that is there.
    #[inline(always)]
    pub fn tag(&self) -> usize {
        self.0.load(Order::RELAXED)
    }
}
