//! Whether a lock is where it was when it was last used: [`Home`].
//!
//! A lock with queues of nodes in its own memory cannot be moved while it is held: the queues
//! would lead to where the nodes were.  Nobody can move what is borrowed, but a guard that is
//! forgotten leaves a lock that is held and not borrowed.

use super::AtomicU32;
use super::atoms::{AtomicUsize, Ordering, fence};
use crate::door::{runs_out, sleep_within};
use cohort_raw::Patience;
use core::ptr;

/// Nobody has used the lock.
const NOWHERE: usize = 0;
/// The lock was moved while it was held.  No address of a word.
const LOST: usize = 1;

/// Where a lock is at home, in which this is; all zero when new.
///
/// Written when the lock is first used, and when it is first used after it was moved; read at each
/// use, so it is to be on a line that is seldom written.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Home(AtomicUsize);

impl Home {
    /// Of a lock that nobody has used.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicUsize::new(NOWHERE))
    }

    /// Whether the lock may be used: it was not moved while it `is_held`.
    #[inline(always)]
    pub fn is_here(&self, is_held: impl Fn() -> bool) -> bool {
        self.0.load(Ordering::Acquire) == self.here() || self.settle(&is_held)
    }

    /// The same; blocks until patience runs out where it may not, as nobody is left that could
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

    /// One exchange decides between threads that come together.  One that finds the lock held by
    /// another of them has that one's exchange before its own, as fences see to, and looks again.
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
        assert!(places[0].is_here(|| unreachable!("nobody has used it")));
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
