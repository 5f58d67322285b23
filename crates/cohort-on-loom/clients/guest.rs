//! A thread that comes to a lock: the one place where clients keep to the conditions of an acquisition.

use crate::locks::{
    Abortable, AbortableShared, Outcome, Patience, RawLock, RawShared, RawTry, Recursion,
};
use crate::world::Kept;
use std::cell::Cell;
use std::mem::ManuallyDrop;

/// A context that is used for one acquisition at a time, and stays where it is while there is one.
struct Lent<C> {
    context: ManuallyDrop<Kept<C>>,
    /// Whether a lock may lead to it.
    used: Cell<bool>,
}

impl<C: Default> Lent<C> {
    fn new() -> Self {
        Self {
            context: ManuallyDrop::new(Kept::new(C::default())),
            used: Cell::new(false),
        }
    }
}

impl<C> Lent<C> {
    /// Has a lock acquired by it, or not, as is told.
    fn comes(&self, acquire: impl FnOnce(&C) -> bool) -> bool {
        assert!(!self.used.replace(true), "it comes while it is there");
        let came = acquire(&self.context);
        self.used.set(came);
        came
    }

    /// Has the lock released that was acquired by it.
    fn leaves(&self, release: impl FnOnce(&C)) {
        assert!(self.used.get(), "it leaves, and is not there");
        release(&self.context);
        self.used.set(false);
    }
}

impl<C> Drop for Lent<C> {
    fn drop(&mut self) {
        if !self.used.get() {
            // SAFETY: nothing leads to it, and it is dropped once.
            unsafe { ManuallyDrop::drop(&mut self.context) };
        }
    }
}

/// The outcome of a wait that may be given up.
const fn outcome(came: bool) -> Outcome {
    if came {
        Outcome::Acquired
    } else {
        Outcome::GaveUp
    }
}

/// A thread that comes to a lock, by a context of its own: it has the lock or it does not.
pub struct Guest<'a, L: RawLock> {
    lock: &'a L,
    lent: Lent<L::Context>,
}

impl<'a, L: RawLock> Guest<'a, L> {
    /// One that has not come yet.
    pub fn of(lock: &'a L) -> Self {
        Self {
            lock,
            lent: Lent::new(),
        }
    }

    /// Its context, for questions that a holder asks.
    pub fn context(&self) -> &L::Context {
        &self.lent.context
    }

    /// Blocks until it has the lock.
    pub fn acquire(&self) {
        // SAFETY: the lock acquires, by that context.
        unsafe { self.acquire_by(L::acquire) };
    }

    /// The same in another way.
    ///
    /// # Safety
    /// The function acquires the lock by the context, as [`RawLock::acquire`] does.
    pub unsafe fn acquire_by(&self, acquire: unsafe fn(&L, &L::Context)) {
        // SAFETY: the context is lent for this, and the lock is borrowed; so for all below.
        self.lent.comes(|context| unsafe {
            acquire(self.lock, context);
            true
        });
    }

    /// Takes the lock without waiting, or does not.
    pub fn try_acquire(&self) -> bool
    where
        L: RawTry,
    {
        // SAFETY: as above.
        let attempt = |context: &L::Context| unsafe { self.lock.try_acquire(context) };
        self.lent.comes(attempt)
    }

    /// Blocks until it has the lock, or patience runs out.
    pub fn acquire_within(&self, patience: &Patience) -> Outcome
    where
        L: Abortable,
    {
        // SAFETY: as above.
        outcome(self.lent.comes(|context| unsafe {
            self.lock.acquire_within(context, patience) == Outcome::Acquired
        }))
    }

    /// Releases the lock, which it has.
    pub fn release(&self) {
        // SAFETY: acquired by that context.
        let release = |context: &L::Context| unsafe { self.lock.release(context) };
        self.lent.leaves(release);
    }
}

/// A thread that comes to a lock which readers share, by a context of its own: it reads, writes, or does
/// neither.
pub struct SharedGuest<'a, L: RawShared> {
    lock: &'a L,
    lent: Lent<L::Context>,
    /// Whether it writes, or did last.
    writes: Cell<bool>,
}

impl<'a, L: RawShared> SharedGuest<'a, L> {
    /// One that has not come yet.
    pub fn of(lock: &'a L) -> Self {
        Self {
            lock,
            lent: Lent::new(),
            writes: Cell::new(false),
        }
    }

    fn comes(&self, writes: bool, acquire: impl FnOnce(&L::Context) -> bool) -> bool {
        let came = self.lent.comes(acquire);
        if came {
            self.writes.set(writes);
        }
        came
    }

    /// Blocks until it reads.
    pub fn read(&self, recursion: Recursion) {
        // SAFETY: the context is lent for this, and the lock is borrowed; so for all below.
        self.comes(false, |context| unsafe {
            self.lock.read(context, recursion);
            true
        });
    }

    /// Reads without waiting, or does not.
    pub fn try_read(&self, recursion: Recursion) -> bool {
        // SAFETY: as above.
        self.comes(false, |context| unsafe {
            self.lock.try_read(context, recursion)
        })
    }

    /// Blocks until it reads, or patience runs out.
    pub fn read_within(&self, recursion: Recursion, patience: &Patience) -> Outcome
    where
        L: AbortableShared,
    {
        // SAFETY: as above.
        outcome(self.comes(false, |context| unsafe {
            self.lock.read_within(context, recursion, patience) == Outcome::Acquired
        }))
    }

    /// Blocks until it writes.
    pub fn write(&self) {
        // SAFETY: as above.
        self.comes(true, |context| unsafe {
            self.lock.write(context);
            true
        });
    }

    /// Writes without waiting, or does not.
    pub fn try_write(&self) -> bool {
        // SAFETY: as above.
        self.comes(true, |context| unsafe { self.lock.try_write(context) })
    }

    /// Blocks until it writes, or patience runs out.
    pub fn write_within(&self, patience: &Patience) -> Outcome
    where
        L: AbortableShared,
    {
        // SAFETY: as above.
        outcome(self.comes(true, |context| unsafe {
            self.lock.write_within(context, patience) == Outcome::Acquired
        }))
    }

    /// Releases the lock, which it reads or writes.
    pub fn release(&self) {
        // SAFETY: this thread acquired it so, by that context.
        self.lent.leaves(|context| unsafe {
            if self.writes.get() {
                self.lock.release_write(context);
            } else {
                self.lock.release_read(context);
            }
        });
    }
}
