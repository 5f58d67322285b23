//! Handles that acquire and release a lock; the one place where clients meet the safety conditions
//! of an acquisition.

use crate::locks::{
    Abortable, AbortableShared, Outcome, Patience, RawLock, RawShared, RawTry, Recursion,
};
use crate::world::Kept;
use std::cell::Cell;
use std::mem::ManuallyDrop;

/// A context for one acquisition at a time; it does not move during an acquisition.
struct Lent<C> {
    context: ManuallyDrop<Kept<C>>,
    /// Whether a lock may point to it.
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
    /// Acquires by this context; `acquire` returns whether it succeeded.
    fn comes(&self, acquire: impl FnOnce(&C) -> bool) -> bool {
        assert!(!self.used.replace(true), "it comes while it is there");
        let came = acquire(&self.context);
        self.used.set(came);
        came
    }

    /// Releases the lock that was acquired by this context.
    fn leaves(&self, release: impl FnOnce(&C)) {
        assert!(self.used.get(), "it leaves, and is not there");
        release(&self.context);
        self.used.set(false);
    }
}

impl<C> Drop for Lent<C> {
    fn drop(&mut self) {
        if !self.used.get() {
            // SAFETY: no lock points to it, and it is dropped once.
            unsafe { ManuallyDrop::drop(&mut self.context) };
        }
    }
}

/// The outcome of a wait with a deadline.
const fn outcome(came: bool) -> Outcome {
    if came {
        Outcome::Acquired
    } else {
        Outcome::GaveUp
    }
}

/// A thread's handle to a lock, with a context of its own.
pub struct Guest<'a, L: RawLock> {
    lock: &'a L,
    lent: Lent<L::Context>,
}

impl<'a, L: RawLock> Guest<'a, L> {
    /// A handle without an acquisition.
    pub fn of(lock: &'a L) -> Self {
        Self {
            lock,
            lent: Lent::new(),
        }
    }

    /// The context, for a holder's queries.
    pub fn context(&self) -> &L::Context {
        &self.lent.context
    }

    /// Blocks until the lock is acquired.
    pub fn acquire(&self) {
        // SAFETY: `RawLock::acquire` acquires by that context.
        unsafe { self.acquire_by(L::acquire) };
    }

    /// Acquires by another function.
    ///
    /// # Safety
    /// The function acquires the lock by the context, as [`RawLock::acquire`] does.
    pub unsafe fn acquire_by(&self, acquire: unsafe fn(&L, &L::Context)) {
        // SAFETY: the context is lent for this, and the lock is borrowed; also for all calls below.
        self.lent.comes(|context| unsafe {
            acquire(self.lock, context);
            true
        });
    }

    /// Tries to acquire the lock.
    pub fn try_acquire(&self) -> bool
    where
        L: RawTry,
    {
        // SAFETY: as above.
        let attempt = |context: &L::Context| unsafe { self.lock.try_acquire(context) };
        self.lent.comes(attempt)
    }

    /// Blocks until the lock is acquired or patience runs out.
    pub fn acquire_within(&self, patience: &Patience) -> Outcome
    where
        L: Abortable,
    {
        // SAFETY: as above.
        outcome(self.lent.comes(|context| unsafe {
            self.lock.acquire_within(context, patience) == Outcome::Acquired
        }))
    }

    /// Releases the lock.
    pub fn release(&self) {
        // SAFETY: acquired by that context.
        let release = |context: &L::Context| unsafe { self.lock.release(context) };
        self.lent.leaves(release);
    }
}

/// A thread's handle to a readers–writer lock, with a context of its own.
pub struct SharedGuest<'a, L: RawShared> {
    lock: &'a L,
    lent: Lent<L::Context>,
    /// Whether the latest acquisition was to write.
    writes: Cell<bool>,
}

impl<'a, L: RawShared> SharedGuest<'a, L> {
    /// A handle without an acquisition.
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

    /// Blocks until the lock is acquired to read.
    pub fn read(&self, recursion: Recursion) {
        // SAFETY: the context is lent for this, and the lock is borrowed; also for all calls below.
        self.comes(false, |context| unsafe {
            self.lock.read(context, recursion);
            true
        });
    }

    /// Tries to acquire the lock to read.
    pub fn try_read(&self, recursion: Recursion) -> bool {
        // SAFETY: as above.
        self.comes(false, |context| unsafe {
            self.lock.try_read(context, recursion)
        })
    }

    /// Blocks until the lock is acquired to read, or patience runs out.
    pub fn read_within(&self, recursion: Recursion, patience: &Patience) -> Outcome
    where
        L: AbortableShared,
    {
        // SAFETY: as above.
        outcome(self.comes(false, |context| unsafe {
            self.lock.read_within(context, recursion, patience) == Outcome::Acquired
        }))
    }

    /// Blocks until the lock is acquired to write.
    pub fn write(&self) {
        // SAFETY: as above.
        self.comes(true, |context| unsafe {
            self.lock.write(context);
            true
        });
    }

    /// Tries to acquire the lock to write.
    pub fn try_write(&self) -> bool {
        // SAFETY: as above.
        self.comes(true, |context| unsafe { self.lock.try_write(context) })
    }

    /// Blocks until the lock is acquired to write, or patience runs out.
    pub fn write_within(&self, patience: &Patience) -> Outcome
    where
        L: AbortableShared,
    {
        // SAFETY: as above.
        outcome(self.comes(true, |context| unsafe {
            self.lock.write_within(context, patience) == Outcome::Acquired
        }))
    }

    /// Releases the lock.
    pub fn release(&self) {
        // SAFETY: this thread acquired it in this mode, by that context.
        self.lent.leaves(|context| unsafe {
            if self.writes.get() {
                self.lock.release_write(context);
            } else {
                self.lock.release_read(context);
            }
        });
    }
}
