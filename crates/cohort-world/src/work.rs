//! Work that takes a given time and touches no memory.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// The number of timed batches. The fastest counts, because no batch is faster than the machine.
const BATCHES: u32 = 40;
const TURNS: u32 = 20_000;

/// Work of some duration.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    turns: u32,
}

/// Speed of this machine's work loop.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    nanoseconds_per_turn: f64,
}

impl Pace {
    /// Measures the pace; takes some milliseconds.
    #[must_use]
    pub fn measure() -> Self {
        let fastest = (0..BATCHES)
            .map(|_| {
                let begun = Instant::now();
                Work { turns: TURNS }.perform();
                begun.elapsed()
            })
            .min()
            .unwrap_or(Duration::from_nanos(1));
        Self {
            nanoseconds_per_turn: (fastest.as_secs_f64() * 1e9 / f64::from(TURNS)).max(1e-3),
        }
    }

    /// Work that takes about `nanoseconds`.
    #[must_use]
    pub fn work(&self, nanoseconds: u32) -> Work {
        let turns = (f64::from(nanoseconds) / self.nanoseconds_per_turn).round();
        Work {
            turns: turns as u32,
        }
    }
}

impl Work {
    /// Does the work. Not inlined: the pace is that of this code as it is compiled here.
    #[inline(never)]
    pub fn perform(self) {
        let mut state = self.turns;
        for turn in 0..self.turns {
            state = black_box(state.wrapping_mul(0x9E37_79B1) ^ turn);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_at_least_about_its_time() {
        let work = Pace::measure().work(100_000);
        let begun = Instant::now();
        for _ in 0..100 {
            work.perform();
        }
        // Slower is the machine's doing; much faster would be a wrong pace.
        assert!(begun.elapsed() > Duration::from_millis(5));
    }

    #[test]
    fn no_time_is_no_work() {
        assert_eq!(Pace::measure().work(0).turns, 0);
    }
}
