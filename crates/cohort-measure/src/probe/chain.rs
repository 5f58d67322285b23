//! Lines that each hold the place of the next, so that an access cannot begin before the one before
//! it has ended.

use super::{Stop, on};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Whether lines can be put out of all caches.
pub const CAN_FLUSH: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

/// Bytes between two lines: processors fetch lines in pairs.
const STRIDE: usize = 128;

const WORDS: usize = STRIDE / size_of::<AtomicU64>();

/// The bits of a word that hold the next place. The others count read-modify-writes: adding zero
/// would be compiled to a load.
const PLACE: u64 = u32::MAX as u64;

const COUNT: u64 = PLACE + 1;

/// Such lines, in an order that no prefetcher predicts.
#[derive(Debug)]
pub struct Chain {
    words: Box<[AtomicU64]>,
    /// The first word that begins a line.
    first: usize,
    lines: usize,
}

impl Chain {
    /// As many lines, a power of two from 4.
    pub fn new(lines: usize) -> Self {
        assert!(lines.is_power_of_two() && lines >= 4, "{lines} lines");
        let words: Box<[AtomicU64]> = (0..(lines + 1) * WORDS)
            .map(|_| AtomicU64::new(0))
            .collect();
        let first = words.as_ptr().align_offset(STRIDE);
        let chain = Self {
            words,
            first,
            lines,
        };
        chain.write();
        chain
    }

    /// The same in memory near a CPU: the first access determines a page's node.
    pub fn near(cpu: usize, lines: usize) -> Result<Self, Stop> {
        on(cpu, || Ok(Self::new(lines)))
    }

    /// The number of lines.
    pub const fn lines(&self) -> usize {
        self.lines
    }

    const fn word(&self, line: usize) -> usize {
        self.first + line * WORDS
    }

    /// The line after this one: a generator of full period for every power of two.
    const fn after(&self, line: usize) -> usize {
        line.wrapping_mul(1_664_525).wrapping_add(1_013_904_223) & (self.lines - 1)
    }

    /// Writes each line.
    pub fn write(&self) {
        for line in 0..self.lines {
            let next = self.word(self.after(line)) as u64;
            self.words[self.word(line)].store(next, Ordering::Relaxed);
        }
        fence(Ordering::SeqCst);
    }

    /// Loads so many lines, each after the one before.
    #[inline(never)]
    pub fn load(&self, steps: usize) {
        let mut place = self.first;
        for _ in 0..steps {
            place = (self.words[place].load(Ordering::Relaxed) & PLACE) as usize;
        }
        black_box(place);
    }

    /// Adds to so many lines, each after the one before.
    #[inline(never)]
    pub fn add(&self, steps: usize) {
        let mut place = self.first;
        for _ in 0..steps {
            place = (self.words[place].fetch_add(COUNT, Ordering::Relaxed) & PLACE) as usize;
        }
        black_box(place);
    }

    /// Puts each line out of all caches; nothing where [`CAN_FLUSH`] is false.
    pub fn flush(&self) {
        for line in 0..self.lines {
            flush(&self.words[self.word(line)]);
        }
        fence(Ordering::SeqCst);
        finish();
    }
}

#[cfg(target_arch = "x86_64")]
fn flush(word: &AtomicU64) {
    // SAFETY: every processor of this kind has the instruction, and it changes no memory.
    unsafe { std::arch::x86_64::_mm_clflush(word.as_ptr().cast_const().cast()) };
}

#[cfg(target_arch = "aarch64")]
fn flush(word: &AtomicU64) {
    // SAFETY: the kernel permits the instruction, and it changes no memory.
    unsafe { std::arch::asm!("dc civac, {}", in(reg) word.as_ptr(), options(nostack)) };
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn flush(_word: &AtomicU64) {}

/// Waits until lines are out.
fn finish() {
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a barrier.
    unsafe {
        std::arch::asm!("dsb ish", options(nostack));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_chain_leads_through_all_lines() {
        for lines in [4, 64, 1024] {
            let chain = Chain::new(lines);
            // Counts of read-modify-writes do not lead astray.
            chain.add(lines);
            let mut met = BTreeSet::new();
            let mut place = chain.first;
            while met.insert(place) {
                place = (chain.words[place].load(Ordering::Relaxed) & PLACE) as usize;
            }
            assert_eq!((met.len(), place), (lines, chain.first));
            let address = chain.words[chain.first].as_ptr() as usize;
            assert_eq!(address % STRIDE, 0);
        }
    }

    #[test]
    fn what_is_flushed_is_still_there() {
        let chain = Chain::new(16);
        chain.flush();
        chain.load(16);
        assert_eq!(
            chain.words[chain.first].load(Ordering::Relaxed),
            chain.word(chain.after(0)) as u64
        );
    }
}
