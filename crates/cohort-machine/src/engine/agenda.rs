//! Each thread's next event, the earliest at the root of a tournament tree.
//!
//! A thread has at most one event. Waiters' events move often, since watched lines change long before
//! deadlines. In a tournament tree a move is one climb; a heap would fill with stale events.

use super::clock::{NEVER, Ticks};

/// The next event of each thread.
#[derive(Debug)]
pub(crate) struct Agenda {
    /// A full binary tree: `keys[1]` is the earliest event, leaf `i` is `keys[width + i]`. A key is
    /// a time with a thread in its low bits.
    keys: Vec<u64>,
    width: usize,
    /// The bits of a key for the thread.
    bits: u32,
}

impl Agenda {
    pub(crate) fn new(threads: usize) -> Self {
        let width = threads.max(2).next_power_of_two();
        Self {
            keys: vec![NEVER; 2 * width],
            width,
            bits: width.trailing_zeros(),
        }
    }

    /// Sets a thread's event; [`NEVER`] removes it. Of simultaneous events the lower thread number
    /// precedes.
    pub(crate) fn set(&mut self, thread: usize, at: Ticks) {
        let key = if at == NEVER {
            NEVER
        } else {
            (at << self.bits) | thread as u64
        };
        let mut node = self.width + thread;
        if self.keys[node] == key {
            return;
        }
        self.keys[node] = key;
        while node > 1 {
            let winner = self.keys[node].min(self.keys[node ^ 1]);
            node /= 2;
            if self.keys[node] == winner {
                break;
            }
            self.keys[node] = winner;
        }
    }

    /// The time of the earliest event, or [`NEVER`].
    pub(crate) fn earliest(&self) -> Ticks {
        match self.keys[1] {
            NEVER => NEVER,
            key => key >> self.bits,
        }
    }

    /// The earliest event.
    pub(crate) fn first(&self) -> Option<(Ticks, usize)> {
        let key = self.keys[1];
        let thread = key as usize & (self.width - 1);
        (key != NEVER).then_some((key >> self.bits, thread))
    }

    /// Removes the earliest event.
    pub(crate) fn pop(&mut self) -> Option<(Ticks, usize)> {
        let (at, thread) = self.first()?;
        self.set(thread, NEVER);
        Some((at, thread))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_in_order_of_time_and_then_of_number() {
        let mut agenda = Agenda::new(5);
        for (thread, at) in [(0, 7), (1, 3), (2, 9), (3, 3), (4, 8)] {
            agenda.set(thread, at);
        }
        agenda.set(2, 1);
        agenda.set(4, NEVER);
        let order: Vec<_> = std::iter::from_fn(|| agenda.pop()).collect();
        assert_eq!(order, [(1, 2), (3, 1), (3, 3), (7, 0)]);
        assert_eq!(agenda.earliest(), NEVER);
    }
}
