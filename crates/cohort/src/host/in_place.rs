//! A lock that lives in the object; its contexts come from a pool.
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `lock` | the lock | its shared state, at most eight bytes |
//! | `holder` | the holder | the number of its record; 0: nobody's critical section has begun.  Of a lock without contexts, whose turn it is: a lock that was granted to a waiter has another turn until that one has noticed |
//! | `generation` | the first user in each process | see [`Generation`] |
//!
//! A lock that serves in strict order has a [`Gate`] beside the object, which waiters
//! pass before they queue; a thread that finds the lock free takes it past them.  Waiters
//! with deadlines have a [`Claim`](super::Claim) in it instead.
//!
//! The holder's record stands in the object, so that unlocking in any order, or
//! from another thread, costs the same.  A lock without a context takes no record.

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

/// The object; all zero when new.
#[derive(Debug, Default)]
#[repr(C)]
pub struct InPlace<L> {
    lock: L,
    generation: Generation,
    holder: AtomicU32,
}

/// No record.
const NOBODY: u32 = 0;

impl<L: RawTry + ThreadOblivious + Inherit + Hosted + QuickRelease> InPlace<L>
where
    L::Context: 'static,
{
    const NEEDS_RECORD: bool = size_of::<L::Context>() > 0;

    /// Where in the object its generation is.
    pub const GENERATION: usize = offset_of!(Self, generation);

    /// Locks an object that is free and was used in this process before, in the
    /// shortest way; false if it takes longer.
    #[inline(always)]
    pub fn lock_untouched(&self) -> bool {
        if Self::NEEDS_RECORD || !self.generation.is_settled() {
            return false;
        }
        keep_off();
        // SAFETY: a context without bytes is nowhere, and a lock that is in use stays where it is.
        let locked = unsafe { self.lock.try_acquire(&L::Context::default()) };
        if locked {
            self.note_turn();
        }
        locked
    }

    /// Blocks until the object is locked.  The gate is this object's and nobody else's.
    #[inline]
    pub fn lock(&self, gate: &Gate, pool: &impl Pool<Holding<L::Context>>) {
        self.settle(gate, pool);
        if Self::NEEDS_RECORD {
            let record = pool.take();
            record.note(Some(self));
            // SAFETY: the record goes back to its pool with the release, and stays where it is; a lock that
            // is in use does so too.
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

    /// Locks the object if nobody has; never blocks.
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

    /// Blocks until the object is locked or patience runs out; false then.
    ///
    /// Only for a lock that has neither a strict order nor contexts: a gate knows no
    /// patience, and a context that gave up may have to stay.  Others are
    /// [claimed](Self::claim_within).
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

    /// Blocks until the object is locked or patience runs out; false then.
    ///
    /// Only for a lock with a strict order: the holders of others do not look for claims.
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

    /// Unlocks the object by a plain store, if that will do.
    ///
    /// # Safety
    /// As for [`unlock`](Self::unlock).
    #[inline(always)]
    pub unsafe fn unlock_quickly(&self, gate: &Gate) -> Quick {
        if Self::NEEDS_RECORD || !self.generation.is_settled() {
            return Quick::Refused;
        }
        // Releasing a free lock that does not grant does no harm.
        if L::HOSTING.grants && !self.is_taken() {
            return Quick::Refused;
        }
        if L::HOSTING.strict && gate.hand_over() {
            return Quick::Released;
        }
        // SAFETY: the caller's.
        unsafe { self.lock.release_quickly(&L::Context::default()) }
    }

    /// Unlocks the object; false if nobody had locked it.
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
            // SAFETY: the number stands here since the acquisition that holds
            // the lock, with this record's context.
            unsafe {
                let record = pool.at(holder);
                self.lock.release(&record.context);
                pool.give(record);
            }
        } else {
            // SAFETY: somebody holds the lock, and its contexts are nothing.
            unsafe { self.lock.release(&L::Context::default()) };
        }
        true
    }

    /// The caller has taken a lock whose contexts are nothing.
    #[inline(always)]
    fn note_turn(&self) {
        if L::HOSTING.grants {
            self.holder.store(self.lock.turn(), Order::RELAXED);
        }
    }

    /// Whether somebody's critical section has begun, and not ended.
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

    /// Wakes every sleeper of the lock of the object at `place`, where it need not be any
    /// more.
    pub fn wake_everybody(place: *const Self) {
        let lock = place.wrapping_byte_add(offset_of!(Self, lock));
        L::wake_everybody(lock.cast::<L>());
    }

    /// Whether the object was locked a moment ago.
    pub fn is_locked(&self) -> bool {
        self.lock.is_locked()
    }

    /// Before anything else: an object that a parent process left is freed of
    /// threads that do not exist here.
    #[inline(always)]
    fn settle(&self, gate: &Gate, pool: &impl Pool<Holding<L::Context>>) {
        if !self.generation.is_settled() {
            self.settle_late(gate, pool);
        }
    }

    /// A function of its own, lest the fast path builds what only the repair needs.
    #[cold]
    #[inline(never)]
    fn settle_late(&self, gate: &Gate, pool: &impl Pool<Holding<L::Context>>) {
        self.generation.settle(|| self.inherit(gate, pool));
    }

    /// An acquisition whose critical section had begun keeps the lock; any other
    /// is forgotten, even one that had been granted the lock, or handed it over, just then.
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
        // SAFETY: the caller is alone, and the holder's context is the one that
        // its acquisition used.
        unsafe { self.lock.inherit(context) };
    }
}
