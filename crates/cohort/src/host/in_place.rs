//! A lock stored in the object; its contexts are in a pool.
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `lock` | the lock | its shared state, at most eight bytes |
//! | `holder` | the holder | its record, 0 if no critical section has begun; or its turn |
//! | `generation` | the first user in each process | see [`Generation`] |
//!
//! A lock without contexts that grants has no record; its `holder` is the turn of the current
//! holder. A lock granted to a waiter has another turn until the waiter has noticed.
//!
//! A strict lock has a [`Gate`] beside the object. Waiters pass it before they queue; a thread that
//! finds the lock free does not stop there. Waiters with deadlines use the gate's
//! [`Claim`](super::Claim).
//!
//! The holder's record is named in the object. So an unlock out of order, or by another thread, has
//! the same cost. A lock without a context takes no record.

use super::{Gate, Generation, Holding, Pool};
use crate::door::{AtomicU32, Order, flaws, keep_off, mutant};
use cohort_raw::{
    Abortable, Hosted, Inherit, Outcome, Patience, Quick, QuickRelease, RawTry, ThreadOblivious,
};
use core::mem::offset_of;

flaws! {
    BELIEVE_GRANTS = "in_place.believe-grants";
    BELIEVE_CLAIMS = "in_place.believe-claims";
}

/// The lock, generation and holder of an object; all zero when new.
#[derive(Debug, Default)]
#[repr(C)]
pub struct InPlace<L> {
    lock: L,
    generation: Generation,
    holder: AtomicU32,
}

/// The number of no record.
const NOBODY: u32 = 0;

impl<L: RawTry + ThreadOblivious + Inherit + Hosted + QuickRelease> InPlace<L>
where
    L::Context: 'static,
{
    const NEEDS_RECORD: bool = size_of::<L::Context>() > 0;

    /// The offset of the generation in the object.
    pub const GENERATION: usize = offset_of!(Self, generation);

    /// Fast path: locks a free object that was used in this process before. False if that fails, or
    /// needs the slow path.
    #[inline(always)]
    pub fn lock_untouched(&self) -> bool {
        if Self::NEEDS_RECORD || !self.generation.is_settled() {
            return false;
        }
        keep_off();
        // SAFETY: a zero-sized context has no place, and a lock in use does not move.
        let locked = unsafe { self.lock.try_acquire(&L::Context::default()) };
        if locked {
            self.note_turn();
        }
        locked
    }

    /// Blocks until the object is locked. The gate belongs to this object only.
    #[inline]
    pub fn lock(&self, gate: &Gate, pool: &impl Pool<Holding<L::Context>>) {
        self.settle(gate, pool);
        if Self::NEEDS_RECORD {
            let record = pool.take();
            record.note(Some(self));
            // SAFETY: the record returns to its pool with the release, and does not move; nor does
            // a lock in use.
            unsafe { self.acquire(gate, &record.context) };
            self.holder.store(pool.number(record), Order::RELAXED);
        } else {
            // SAFETY: as in `lock_untouched`.
            unsafe { self.acquire(gate, &L::Context::default()) };
            self.note_turn();
        }
    }

    /// # Safety
    /// As [`RawLock::acquire`](cohort_raw::RawLock::acquire).
    #[inline]
    unsafe fn acquire(&self, gate: &Gate, context: &L::Context) {
        // SAFETY: the caller's.
        unsafe {
            if L::HOSTING.strict {
                gate.acquire(&self.lock, context);
            } else {
                self.lock.acquire(context);
            }
        }
    }

    /// Locks the object if it is free; never blocks.
    #[inline]
    pub fn try_lock(&self, gate: &Gate, pool: &impl Pool<Holding<L::Context>>) -> bool {
        self.settle(gate, pool);
        if !Self::NEEDS_RECORD {
            // SAFETY: as in `lock_untouched`.
            let locked = unsafe { self.lock.try_acquire(&L::Context::default()) };
            if locked {
                self.note_turn();
            }
            return locked;
        }
        if self.lock.is_locked() {
            return false;
        }
        let record = pool.take_seldom();
        record.note(Some(self));
        // SAFETY: as in `lock`.
        if unsafe { self.lock.try_acquire(&record.context) } {
            self.holder.store(pool.number(record), Order::RELAXED);
            return true;
        }
        // SAFETY: the attempt left no trace of the record.
        unsafe { pool.give_seldom(record) };
        false
    }

    /// Blocks until the object is locked, or until patience runs out: then false.
    ///
    /// Only for a lock that is not strict and has no contexts. A gate has no deadlines, and the
    /// context of a waiter that gave up may have to stay. Other locks use
    /// [`claim_within`](Self::claim_within).
    #[inline]
    pub fn lock_within(
        &self,
        gate: &Gate,
        pool: &impl Pool<Holding<L::Context>>,
        patience: &Patience,
    ) -> bool
    where
        L: Abortable,
    {
        const { assert!(!L::HOSTING.strict && !Self::NEEDS_RECORD) };
        self.settle(gate, pool);
        // SAFETY: as in `lock_untouched`.
        let outcome = unsafe { self.lock.acquire_within(&L::Context::default(), patience) };
        let locked = outcome == Outcome::Acquired;
        if locked {
            self.note_turn();
        }
        locked
    }

    /// Blocks until the object is locked, or until patience runs out: then false.
    ///
    /// Only for a strict lock: holders of others do not look for claims.
    #[inline]
    pub fn claim_within(
        &self,
        gate: &Gate,
        pool: &impl Pool<Holding<L::Context>>,
        patience: &Patience,
    ) -> bool {
        const { assert!(L::HOSTING.strict) };
        // The first attempt settles the object.
        gate.claim.wait(patience, &|| self.try_lock(gate, pool))
    }

    /// Unlocks the object by a plain store, if that suffices.
    ///
    /// # Safety
    /// As for [`unlock`](Self::unlock).
    #[inline(always)]
    pub unsafe fn unlock_quick(&self, gate: &Gate) -> Quick {
        if Self::NEEDS_RECORD || !self.generation.is_settled() {
            return Quick::Refused;
        }
        // Releasing a free lock is harmless unless it grants.
        if L::HOSTING.grants && !self.is_taken() {
            return Quick::Refused;
        }
        if L::HOSTING.strict && gate.hand_over() {
            return Quick::Released;
        }
        // SAFETY: the caller's.
        unsafe { self.lock.release_quickly(&L::Context::default()) }
    }

    /// Unlocks the object; false if it was not locked.
    ///
    /// # Safety
    /// The caller is entitled to unlock it, if it is locked.
    #[inline]
    pub unsafe fn unlock(&self, gate: &Gate, pool: &impl Pool<Holding<L::Context>>) -> bool {
        self.settle(gate, pool);
        if !self.is_taken() {
            return false;
        }
        if L::HOSTING.strict && gate.hand_over() {
            return true;
        }
        let holder = self.holder.load(Order::RELAXED);
        self.holder.store(NOBODY, Order::RELAXED);
        if Self::NEEDS_RECORD {
            // SAFETY: the number has been here since the acquisition that holds the lock, with this
            // record's context.
            unsafe {
                let record = pool.at(holder);
                self.lock.release(&record.context);
                pool.give(record);
            }
        } else {
            // SAFETY: the lock is held, and its contexts are zero-sized.
            unsafe { self.lock.release(&L::Context::default()) };
        }
        true
    }

    /// Records the turn of the caller, which holds a lock without contexts.
    #[inline(always)]
    fn note_turn(&self) {
        if L::HOSTING.grants {
            self.holder.store(self.lock.turn(), Order::RELAXED);
        }
    }

    /// Whether a critical section has begun and not ended.
    #[inline(always)]
    fn is_taken(&self) -> bool {
        let holder = self.holder.load(Order::RELAXED);
        if Self::NEEDS_RECORD {
            holder != NOBODY
        } else if L::HOSTING.grants && !mutant(flaw::BELIEVE_GRANTS) {
            holder == self.lock.turn()
        } else {
            self.lock.is_locked()
        }
    }

    /// Wakes all sleepers of the lock of the object at `place`, which may be gone.
    pub fn wake_everybody(place: *const Self) {
        let lock = place.wrapping_byte_add(offset_of!(Self, lock));
        L::wake_everybody(lock.cast::<L>());
    }

    /// Whether the object was locked at the time of the read.
    pub fn is_locked(&self) -> bool {
        self.lock.is_locked()
    }

    /// Removes threads of the parent process from an inherited object, before any other access.
    #[inline(always)]
    fn settle(&self, gate: &Gate, pool: &impl Pool<Holding<L::Context>>) {
        if !self.generation.is_settled() {
            self.settle_late(gate, pool);
        }
    }

    /// Out of line, so that the fast path contains no code for the repair.
    #[cold]
    #[inline(never)]
    fn settle_late(&self, gate: &Gate, pool: &impl Pool<Holding<L::Context>>) {
        self.generation.settle(|| self.inherit(gate, pool));
    }

    /// Keeps an acquisition with a running critical section. All others are forgotten, even if the
    /// lock was granted or handed over just before the fork.
    #[cold]
    fn inherit(&self, gate: &Gate, pool: &impl Pool<Holding<L::Context>>) {
        if gate.claim.forget() && !mutant(flaw::BELIEVE_CLAIMS) {
            self.holder.store(NOBODY, Order::RELAXED);
        }
        let nothing = L::Context::default();
        let context = if !self.is_taken() {
            None
        } else if Self::NEEDS_RECORD {
            // SAFETY: the number stands there since the holder's acquisition.
            Some(unsafe { &pool.at(self.holder.load(Order::RELAXED)).context })
        } else {
            Some(&nothing)
        };
        // SAFETY: the caller has exclusive access, and the holder's context is the one of its
        // acquisition.
        unsafe { self.lock.inherit(context) };
    }
}
