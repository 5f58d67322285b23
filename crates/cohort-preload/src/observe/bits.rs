//! A bit set indexed by hashes of locks.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Relaxed, SeqCst};

/// Bit set indexed by hashes of locks.
pub struct Bits([AtomicU64; 4096]);

impl Bits {
    pub const fn new() -> Self {
        Self([const { AtomicU64::new(0) }; 4096])
    }

    fn of(&self, lock: u64) -> (&AtomicU64, u64) {
        let hash = mixed(lock);
        let word = (hash >> 6) as usize % self.0.len();
        (&self.0[word], 1 << (hash & 63))
    }

    /// Sets a lock's bit; true if it was clear.
    pub fn set(&self, lock: u64) -> bool {
        let (word, bit) = self.of(lock);
        // If two threads each set a bit and then read the other's, at least one sees both set.
        word.load(Relaxed) & bit == 0 && word.fetch_or(bit, SeqCst) & bit == 0
    }

    #[inline(always)]
    pub fn has(&self, lock: u64) -> bool {
        let (word, bit) = self.of(lock);
        word.load(SeqCst) & bit != 0
    }
}

/// A hash of a lock, or of its number.
pub fn mixed(value: u64) -> u64 {
    let value = (value ^ value >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    value ^ value >> 29
}
