//! The capacity of a private cache, with first-in, first-out replacement.
//!
//! A hit costs no work. FIFO differs little from LRU where a footprint is far below or far above the
//! capacity, which is the case that matters here.

use super::lines::LineId;
use std::collections::VecDeque;

/// The contents of a private cache.
#[derive(Debug, Default)]
pub(crate) struct Capacity {
    /// The number of lines held.
    held: usize,
    /// Lines in order of insertion. A removed line stays until its turn, so a line may occur twice.
    order: VecDeque<LineId>,
}

impl Capacity {
    /// Records the insertion of a line.
    pub(crate) fn insert(&mut self, line: LineId) {
        self.held += 1;
        self.order.push_back(line);
    }

    /// Records the removal of a line.
    pub(crate) const fn remove(&mut self) {
        self.held -= 1;
    }

    /// While the cache holds more than `limit` lines, the oldest insertion; its line may be gone
    /// already.
    pub(crate) fn overflow(&mut self, limit: usize) -> Option<LineId> {
        if self.held <= limit {
            return None;
        }
        self.order.pop_front()
    }

    /// Drops removed lines once they are the majority. `is_new` returns whether the cache holds a
    /// line that this call has not queried yet.
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
