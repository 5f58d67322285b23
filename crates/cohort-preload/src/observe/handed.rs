//! The destination of a lock at its release: the same thread, a thread on the same CPU, or one
//! elsewhere.
//!
//! After some timed acquisitions, the holder records its CPU here before the release, and marks the
//! word with the lock's class. The next holder, sampled or not, finds the mark there. It removes
//! the mark and adds both CPUs to its samples. An acquisition without a mark costs nothing.
//!
//! Only a holder changes that word. Readers share a lock: they leave no mark, and of several that
//! find one, one removes it.

use super::own::{Own, epoch, slot};
use super::samples::{put, spacing, watch_of};
use cohort::door::cpu;
use cohort::records::{CLASSES, Drawn, HandOver, THREADS, mixed};
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU32, AtomicU64};

/// Beside a lock's class: the latest acquisition was sampled.
const MARK: u32 = 1 << 31;
const _: () = assert!(CLASSES < MARK as usize);

/// Entries for marked acquisitions, by a hash of their locks.
const PLACES: usize = 1 << 12;

/// The entries, from the lowest bits: the watch and the process; the index of the thread's record;
/// the CPU; the sampling rate's power of two; and a part of the hash that distinguishes the locks
/// of one entry.
static LEFT: [AtomicU64; PLACES] = [const { AtomicU64::new(0) }; PLACES];

const EPOCH_BITS: u32 = 10;
const SLOT_BITS: u32 = 14;
const CPU_BITS: u32 = 16;
const DOUBLED_BITS: u32 = 5;
const CPU_AT: u32 = EPOCH_BITS + SLOT_BITS;
const DOUBLED_AT: u32 = CPU_AT + CPU_BITS;
const EPOCH: u64 = (1 << EPOCH_BITS) - 1;
const SLOT: u64 = ((1 << SLOT_BITS) - 1) << EPOCH_BITS;
const LOCK: u64 = u64::MAX << (DOUBLED_AT + DOUBLED_BITS);
const _: () = assert!(THREADS < 1 << SLOT_BITS);

/// The class in such a word; 0 for an invalid one, as in uninitialised memory.
#[inline(always)]
pub fn class_of(word: u32) -> u32 {
    match word & !MARK {
        class if class as usize <= CLASSES => class,
        _ => 0,
    }
}

/// Marks a lock before the calling thread releases it; its acquisition is one in 2^`doubled`.
pub fn leaves(lock: u64, class: &AtomicU32, doubled: u8) {
    let cpu = u64::from(cpu());
    if cpu >> CPU_BITS != 0 {
        return;
    }
    let (place, hash) = place_of(lock);
    let doubled = u64::from(doubled) << DOUBLED_AT;
    let left = hash & LOCK | doubled | cpu << CPU_AT | this_thread();
    place.store(left, Relaxed);
    class.store(class.load(Relaxed) | MARK, Relaxed);
}

/// Records the hand-over if the calling thread has acquired a marked lock.
#[inline(always)]
pub fn takes(own: &Own, lock: u64, class: &AtomicU32) {
    if class.load(Relaxed) & MARK != 0 {
        takes_marked(own, lock, class);
    }
}

#[cold]
#[inline(never)]
fn takes_marked(own: &Own, lock: u64, class: &AtomicU32) {
    let marked = class.load(Relaxed);
    let exchange = || class.compare_exchange(marked, marked & !MARK, Relaxed, Relaxed);
    if marked & MARK == 0 || exchange().is_err() {
        return;
    }
    let (place, hash) = place_of(lock);
    let left = place.load(Relaxed);
    let differs = |bits: u64, from: u64| (left ^ from) & bits != 0;
    // Ignore another lock's entry, and one of an earlier watch or of the parent process.
    if differs(LOCK, hash) || differs(EPOCH, this_thread()) {
        return;
    }
    if spacing(own).is_none() {
        return;
    }
    let bits = |at: u32, bits: u32| left >> at & ((1 << bits) - 1);
    let hand_over = HandOver {
        lock,
        from: bits(CPU_AT, CPU_BITS) as u32,
        to: cpu(),
        is_own: !differs(SLOT, this_thread()),
        of: 1 << bits(DOUBLED_AT, DOUBLED_BITS),
        watch: watch_of(own),
    };
    let _ = put(own, Drawn::HandOver(hand_over));
}

fn place_of(lock: u64) -> (&'static AtomicU64, u64) {
    let hash = mixed(lock);
    (&LEFT[hash as usize % PLACES], hash)
}

fn this_thread() -> u64 {
    u64::from(slot()) << EPOCH_BITS | u64::from(epoch()) & EPOCH
}
