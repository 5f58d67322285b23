//! A barrier: a thread passes when all have arrived, and sees what they wrote before.

use super::{add_one, read};
use crate::locks::Barrier;
use crate::locks::door::Cell;
use crate::world::together;
use std::sync::Arc;

/// Every thread writes a cell of its own and waits, `rounds` times; then it sees the others'
/// writes of the round. One thread of each round leads.
pub fn holds_back(threads: usize, rounds: u64) {
    let cells: Vec<Cell<u64>> = (0..threads).map(|_| Cell::new(0)).collect();
    let shared = Arc::new((Barrier::new(threads), cells));
    let led = together(threads, move |thread| {
        let (barrier, cells) = &*shared;
        let mut led = 0;
        for round in 1..=rounds {
            add_one(&cells[thread]);
            led += u64::from(barrier.wait().is_leader());
            for cell in cells {
                assert_eq!(read(cell), round, "all threads have arrived");
            }
            // All threads have read before the next write.
            if round < rounds {
                led += u64::from(barrier.wait().is_leader());
            }
        }
        led
    });
    if let Some(led) = led {
        assert_eq!(led.iter().sum::<u64>(), 2 * rounds - 1, "one leads a round");
    }
}
