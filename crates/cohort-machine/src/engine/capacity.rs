//! How much a private cache holds: what came first falls out first.
//!
//! That needs no work at a hit, and differs from the least recently used by little
//! where a footprint is far below or far above the capacity, which is what matters
//! here.

use super::lines::LineId;
use std::collections::VecDeque;

/// What one private cache holds.
#[derive(Debug, Default)]
pub(crate) struct Capacity {
    /// How many lines it holds.
    held: usize,
    /// Lines in the order in which they came.  One that was taken away stays here
    /// until its turn, so a line may stand here twice.
    order: VecDeque<LineId>,
}

impl Capacity {
    /// A line came.
    pub(crate) fn insert(&mut self, line: LineId) {
        self.held += 1;
        self.order.push_back(line);
    }

    /// A line was taken away.
    pub(crate) const fn remove(&mut self) {
        self.held -= 1;
    }

    /// While the cache holds more than `limit`: what came first; it may be gone
    /// already.
    pub(crate) fn overflow(&mut self, limit: usize) -> Option<LineId> {
        if self.held <= limit {
            return None;
        }
        self.order.pop_front()
    }

    /// Forgets what is gone, once that is most of what is remembered: `is_new` says
    /// whether the cache holds a line that was not asked about in this call.
    pub(crate) fn tidy(&mut self, mut is_new: impl FnMut(LineId) -> bool) {
        if self.order.len() <= 2 * self.held + 256 {
            return;
        }
        let last: Vec<bool> = self.order.iter().rev().map(|line| is_new(*line)).collect();
        let mut last = last.into_iter().rev();
        self.order.retain(|_| last.next().unwrap_or(false));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_to_come_is_the_first_to_fall_out() {
        let mut cache = Capacity::default();
        for line in 0..3 {
            cache.insert(line);
        }
        assert_eq!(cache.overflow(2), Some(0));
        cache.remove();
        assert_eq!(cache.overflow(2), None);
    }

    #[test]
    fn what_comes_and_goes_is_forgotten() {
        let mut cache = Capacity::default();
        cache.insert(7);
        for _ in 0..1000 {
            cache.insert(1);
            cache.remove();
            let mut seen = false;
            cache.tidy(|line| line == 7 && !std::mem::replace(&mut seen, true));
        }
        assert!(cache.order.len() <= 2 * cache.held + 257);
        assert_eq!(cache.overflow(0), Some(7));
    }
}
