//! Detection of a lock that was moved while held: [`Home`].
//!
//! A lock with queue nodes in its own memory must not be moved while it is held: its pointers would
//! dangle. Borrowed locks cannot move, but a forgotten guard leaves a lock held and not borrowed.

use super::AtomicU32;
use super::atoms::{AtomicUsize, Ordering, fence};
use crate::door::{runs_out, sleep_within};
use cohort_raw::Patience;
use core::ptr;

/// The lock is unused.
const NOWHERE: usize = 0;
/// The lock was moved while held. Not a word's address.
const LOST: usize = 1;

/// A lock's address at its last first use, inside the lock; all zero when new.
///
/// Written at the first use, and at the first use after a move; read at each use. So it belongs on
/// a line that is seldom written.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Home(AtomicUsize);

impl Home {
    /// The state of an unused lock.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicUsize::new(NOWHERE))
    }

    /// Whether the lock may be used: it was not moved while it `is_held`.
    #[inline(always)]
    pub fn is_here(&self, is_held: impl Fn() -> bool) -> bool {
        self.0.load(Ordering::Acquire) == self.here() || self.settle(&is_held)
    }

    /// The same; where it may not be used, blocks until patience runs out, since no thread can
    /// release it.
    #[inline(always)]
    pub fn is_here_within(&self, patience: &Patience, is_held: impl Fn() -> bool) -> bool {
        let here = self.is_here(is_held);
        if !here {
            Self::wait(patience);
        }
        here
    }

    fn here(&self) -> usize {
        ptr::from_ref(self).addr()
    }

    /// One exchange decides between simultaneous threads. If another of them holds the lock, the
    /// fences order its exchange before this one, and this thread looks again.
    #[cold]
    #[inline(never)]
    fn settle(&self, is_held: &dyn Fn() -> bool) -> bool {
        let here = self.here();
        loop {
            let last = self.0.load(Ordering::Acquire);
            if last == here || last == LOST {
                return last == here;
            }
            let is_lost = last != NOWHERE && is_held();
            fence(Ordering::SeqCst);
            let now = if is_lost { LOST } else { here };
            let settled = self
                .0
                .compare_exchange(last, now, Ordering::AcqRel, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            if settled.is_ok() {
                return !is_lost;
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn wait(patience: &Patience) {
        let never = AtomicU32::new(0);
        while !runs_out(patience) {
            let _ = sleep_within(&never, 0, 1, patience);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::mem;

    #[test]
    fn what_was_moved_while_it_was_held_is_lost_for_good() {
        let mut places = [Home::new(), Home::new()];
        assert!(places[0].is_here(|| unreachable!("it is unused")));
        assert!(places[0].is_here(|| unreachable!("it is where it was")));
        let [one, other] = &mut places;
        mem::swap(one, other);
        // Free, it may be moved.
        assert!(places[1].is_here(|| false));
        assert!(places[1].is_here(|| unreachable!("it is where it was")));
        places.swap(0, 1);
        assert!(!places[0].is_here(|| true));
        places.swap(0, 1);
        assert!(!places[1].is_here(|| false));
    }
}
