//! Pseudo-random choices from a seed.

use std::time::Duration;

/// A thread's generator.
pub struct Dice(u64);

impl Dice {
    /// The generator of that thread.
    pub fn new(seed: u64, thread: usize) -> Self {
        let mut dice =
            Self((seed.wrapping_add(1)).wrapping_mul(0x9e37_79b9_7f4a_7c15) + thread as u64 + 1);
        for _ in 0..8 {
            dice.roll(2);
        }
        dice
    }

    /// A number below a bound above 0.
    pub fn roll(&mut self, below: u32) -> u32 {
        // Xorshift, then the upper bits of a product.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let bits = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d);
        (((bits >> 32) * u64::from(below)) >> 32) as u32
    }

    /// True once in so many times on average.
    pub fn one_in(&mut self, times: u32) -> bool {
        self.roll(times) == 0
    }

    /// A duration below so many microseconds.
    pub fn micros(&mut self, below: u32) -> Duration {
        Duration::from_micros(self.roll(below).into())
    }

    /// Pauses: mostly a few instructions, sometimes asleep.
    pub fn linger(&mut self) {
        if self.one_in(64) {
            std::thread::sleep(self.micros(200));
        } else {
            for _ in 0..self.roll(2000) {
                std::hint::black_box(());
            }
        }
    }
}
