//! When a lock is biased towards readers.
//!
//! A bias pays where threads read the lock at the same time and writers are rare. It costs each
//! writer that finds it a revocation: a barrier in all threads and a look at their slots. The
//! revocation also replaces the writer's turn, during which one thread alone would use the lock.
//!
//! - A bias begins only after a thread has often found other readers, and another thread before it.
//!   A single-threaded program never pays.
//! - A revocation is timed. A bias that lasted [`RATIO`] times as long, and a millisecond, was worth
//!   it, and the next may begin at once.
//! - After a shorter bias the lock has none for a tenth of a second. The pause doubles with each
//!   short bias that follows, up to 1.6 seconds.
//!
//! The lock has no room for this. Locks share entries by a hash of their addresses: two locks in
//! one entry share their pauses.

use crate::door::{
    AtomicU32, AtomicU64, Order, constructor, is_paced, key_of, mutant, now, policies,
    process_wide, repeated, thread_id,
};

policies! {
    BIAS_NOBODY = "rwlock.bias-nobody";
}

/// How many times its revocation's duration a bias must last.
const RATIO: u64 = 64;

/// How long a bias must last in any case. Measured where writes were more frequent, each revocation
/// cost up to a millisecond, mostly for want of the turn.
const LEAST_NANOSECONDS: u64 = 1_000_000;

/// The first pause after a short bias.
const FIRST_NANOSECONDS: u64 = 100_000_000;

/// How often the pause doubles.
const DOUBLINGS: u32 = 4;

/// Entries, a power of two.
const ENTRIES: usize = 64;

#[derive(Debug)]
#[repr(C, align(64))]
struct PaceEntry {
    /// The thread that asked last.
    asker: AtomicU32,
    /// How many biases in a row were short.
    short: AtomicU32,
    /// When the last bias began.
    begun: AtomicU64,
    /// When the next may begin.
    after: AtomicU64,
}

impl PaceEntry {
    constructor! {
        fn new() -> Self {
            Self {
                asker: AtomicU32::new(0),
                short: AtomicU32::new(0),
                begun: AtomicU64::new(0),
                after: AtomicU64::new(0),
            }
        }
    }
}

/// All entries.
#[derive(Debug)]
struct Paces([PaceEntry; ENTRIES]);

impl Paces {
    constructor! {
        fn new() -> Self {
            Self(repeated!(PaceEntry::new(), ENTRIES))
        }
    }
}

process_wide!(static PACES: Paces = Paces::new);

/// The entry of the lock with that address.
fn entry(lock: usize) -> &'static PaceEntry {
    let hash = (key_of(lock) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    &PACES.get().0[hash as usize % ENTRIES]
}

/// Whether that lock may be biased, as the calling thread has found it read by others.
pub fn allows(lock: usize) -> bool {
    if !is_paced() {
        return true;
    }
    if mutant(policy::BIAS_NOBODY) {
        return false;
    }
    let entry = entry(lock);
    // First, so that a pause moves no line between the threads.
    let after = entry.after.load(Order::RELAXED);
    if after != 0 && now() < after {
        return false;
    }
    let me = thread_id();
    let before = entry.asker.load(Order::RELAXED);
    if before != me {
        entry.asker.store(me, Order::RELAXED);
    }
    before != me && before != 0
}

/// That lock has been biased.
pub fn has_begun(lock: usize) {
    if is_paced() {
        entry(lock).begun.store(now(), Order::RELAXED);
    }
}

/// That lock's bias has ended: the revocation began then.
pub fn has_ended(lock: usize, revoked: u64) {
    if !is_paced() {
        return;
    }
    let entry = entry(lock);
    let now = now();
    let cost = now.saturating_sub(revoked);
    let least = cost.saturating_mul(RATIO).max(LEAST_NANOSECONDS);
    let lasted = revoked.saturating_sub(entry.begun.load(Order::RELAXED));
    if lasted >= least {
        entry.short.store(0, Order::RELAXED);
        return;
    }
    let short = entry.short.load(Order::RELAXED);
    let pause = FIRST_NANOSECONDS.max(least) << short;
    entry
        .short
        .store((short + 1).min(DOUBLINGS), Order::RELAXED);
    entry.after.store(now + pause, Order::RELAXED);
}
