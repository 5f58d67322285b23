//! `Made`: a lock made from its [`Operations`]. Any thread acquires and releases it without passing
//! a context. Programs have such locks by name or by address.
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `lock` | its maker | the lock, behind this header |
//! | `holder` | the holder | the context by which it holds the lock; null: none recorded |
//! | `is_kept` | the holder | whether that context is a [block](context) of the pool, or the caller's |
//! | `generation` | the first caller in a process | the process of its last use |
//!
//! Only the holder reads and writes these records, or a thread to which it has handed them.

use crate::door::{Advice, AtomicPtr, AtomicU32, Order, Spinner, nap, runs_out};
use crate::host::Generation;
use crate::support::context;
use cohort_raw::{Operations, Outcome, Patience};
use core::alloc::Layout;
use core::ptr::{self, NonNull};

/// A context of any lock.
type Context = NonNull<u8>;

/// A lock without its type.
#[derive(Debug)]
pub struct Made {
    lock: NonNull<u8>,
    operations: &'static Operations,
    holder: AtomicPtr<u8>,
    is_kept: AtomicU32,
    generation: Generation,
}

// SAFETY: locks are for all threads, and the other fields are atomics.
unsafe impl Send for Made {}
// SAFETY: as above.
unsafe impl Sync for Made {}

impl Made {
    /// The layout of this header with the lock, and the lock's offset.
    const fn shape(operations: &Operations) -> (Layout, usize) {
        match Layout::new::<Self>().extend(operations.lock) {
            Ok((whole, behind)) => (whole.pad_to_align(), behind),
            Err(_) => panic!("a lock is smaller than memory"),
        }
    }

    /// The layout of this header with the lock.
    #[must_use]
    pub const fn room(operations: &Operations) -> Layout {
        Self::shape(operations).0
    }

    /// Makes a free lock at `place`.
    ///
    /// # Safety
    /// The place has [room](Self::room), exclusive to the caller; the lock supports inheritance and
    /// tries.
    pub unsafe fn make_at(place: NonNull<u8>, operations: &'static Operations) -> NonNull<Self> {
        let made = place.cast::<Self>();
        // SAFETY: the caller's; each part is written once.
        unsafe {
            let lock = place.add(Self::shape(operations).1);
            (operations.make)(lock.as_ptr());
            made.write(Self {
                lock,
                operations,
                holder: AtomicPtr::null(),
                is_kept: AtomicU32::new(0),
                generation: Generation::new(),
            });
            made.as_ref().generation.begin();
        }
        made
    }

    /// Drops the lock.
    ///
    /// # Safety
    /// It was made by [`make_at`](Self::make_at), and is no longer in use.
    pub unsafe fn drop_at(made: NonNull<Self>) {
        // SAFETY: the caller's.
        unsafe { (made.as_ref().operations.drop)(made.as_ref().lock.as_ptr()) };
    }

    /// # Safety
    /// As [`cohort_raw::RawLock::acquire`]; so for all below.
    unsafe fn acquire_with(&self, context: Context) {
        // SAFETY: the caller's; the lock lives as long as this header.
        unsafe { (self.operations.acquire)(self.lock.as_ptr(), context.as_ptr()) };
    }

    /// # Safety
    /// As above.
    unsafe fn try_acquire_with(&self, context: Context) -> bool {
        let Some(try_acquire) = self.operations.try_acquire else {
            unreachable!("such a lock can be tried")
        };
        // SAFETY: as above.
        unsafe { try_acquire(self.lock.as_ptr(), context.as_ptr()) }
    }

    /// Acquires with that context; false if patience runs out.
    ///
    /// # Safety
    /// As above.
    unsafe fn acquire_within_with(&self, context: Context, patience: &Patience) -> bool {
        const NAP_NANOSECONDS: u64 = 50_000;
        if let Some(within) = self.operations.acquire_within {
            // SAFETY: as above.
            let outcome = unsafe { within(self.lock.as_ptr(), context.as_ptr(), patience) };
            return outcome == Outcome::Acquired;
        }
        let mut spinner = Spinner::new();
        // SAFETY: as above.
        while !unsafe { self.try_acquire_with(context) } {
            if runs_out(patience) {
                return false;
            }
            if spinner.step() == Advice::Sleep {
                nap(NAP_NANOSECONDS);
            }
        }
        true
    }

    /// Whether the lock was held at the time of the read.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        // SAFETY: the lock lives as long as this header.
        unsafe { (self.operations.is_locked)(self.lock.as_ptr()) }
    }

    /// In a forked child, forgets all waiters, and a holder without a recorded context; to be
    /// called before any other access.
    pub fn settle(&self) {
        self.generation.settle(|| {
            let Some(inherit) = self.operations.inherit else {
                unreachable!("a forked child can go on with such a lock")
            };
            // SAFETY: no thread of this process is inside; a holder has recorded its context.
            unsafe { inherit(self.lock.as_ptr(), self.holder.load(Order::RELAXED)) };
        });
    }

    fn note(&self, context: Context, is_kept: bool) {
        self.is_kept.store(u32::from(is_kept), Order::RELAXED);
        self.holder.store(context.as_ptr(), Order::RELAXED);
    }

    /// The holder's context, if it is a block (`is_kept`) or the caller's (otherwise).
    fn noted(&self, is_kept: bool) -> Option<Context> {
        let context = NonNull::new(self.holder.load(Order::RELAXED))?;
        (self.is_kept.load(Order::RELAXED) == u32::from(is_kept)).then_some(context)
    }

    /// Whether the lock is held by a block.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.noted(true).is_some()
    }

    /// Blocks until the lock is held by a block.
    pub fn acquire(&self) {
        self.settle();
        let context = context::keep(self.operations);
        // SAFETY: a new context.
        unsafe { self.acquire_with(context) };
        self.note(context, true);
    }

    /// Acquires the lock by a block, if it is free.
    #[must_use]
    pub fn try_acquire(&self) -> bool {
        // SAFETY: a new context.
        self.acquire_if(|context| unsafe { self.try_acquire_with(context) })
    }

    /// Blocks until the lock is held by a block, or until patience runs out: then false. If a
    /// lock's waiters cannot give up, the caller retries instead of queueing.
    #[must_use]
    pub fn acquire_within(&self, patience: &Patience) -> bool {
        // SAFETY: a new context.
        self.acquire_if(|context| unsafe { self.acquire_within_with(context, patience) })
    }

    /// Acquires by a block with `take`; gives the block back on failure.
    fn acquire_if(&self, take: impl FnOnce(Context) -> bool) -> bool {
        self.settle();
        let context = context::keep(self.operations);
        let taken = take(context);
        if taken {
            self.note(context, true);
        } else {
            // SAFETY: kept above; the lock will not be granted to it.
            unsafe { context::give(self.operations, context) };
        }
        taken
    }

    /// Releases a lock held by a block; false if it is not.
    ///
    /// # Safety
    /// The caller is entitled to release it, if it is held.
    #[must_use]
    pub unsafe fn release(&self) -> bool {
        self.settle();
        let Some(context) = self.noted(true) else {
            return false;
        };
        self.holder.store(ptr::null_mut(), Order::RELAXED);
        // The lock may be gone after the release; its operations are static.
        let operations = self.operations;
        // SAFETY: the holder's, and the caller's.
        unsafe {
            (operations.release)(self.lock.as_ptr(), context.as_ptr());
            context::give(operations, context);
        }
        true
    }

    /// Blocks until the lock is held by a context at the caller's `place`.
    ///
    /// # Safety
    /// The place is valid for writes, exclusive to this lock, and stays until the release.
    pub unsafe fn acquire_at(&self, place: Context) {
        let take = |context| {
            // SAFETY: a new context.
            unsafe { self.acquire_with(context) };
            true
        };
        // SAFETY: the caller's.
        unsafe { self.acquire_at_if(place, take) };
    }

    /// Acquires the lock by such a context, if it is free.
    ///
    /// # Safety
    /// As [`acquire_at`](Self::acquire_at).
    #[must_use]
    pub unsafe fn try_acquire_at(&self, place: Context) -> bool {
        // SAFETY: the caller's; a new context.
        unsafe { self.acquire_at_if(place, |context| self.try_acquire_with(context)) }
    }

    /// # Safety
    /// As [`acquire_at`](Self::acquire_at).
    unsafe fn acquire_at_if(&self, place: Context, take: impl FnOnce(Context) -> bool) -> bool {
        self.settle();
        // SAFETY: the caller's.
        unsafe { (self.operations.make_context)(place.as_ptr()) };
        let taken = take(place);
        if taken {
            self.note(place, false);
        } else {
            // SAFETY: begun above; the lock will not be granted to it.
            unsafe { (self.operations.drop_context)(place.as_ptr()) };
        }
        taken
    }

    /// Releases a lock held by the context at that place; false if it is not.
    ///
    /// # Safety
    /// As [`release`](Self::release).
    #[must_use]
    pub unsafe fn release_at(&self, place: *const u8) -> bool {
        self.settle();
        let Some(noted) = self.noted(false) else {
            return false;
        };
        if noted.as_ptr().cast_const() != place {
            return false;
        }
        self.holder.store(ptr::null_mut(), Order::RELAXED);
        // As above.
        let operations = self.operations;
        // SAFETY: as above.
        unsafe {
            (operations.release)(self.lock.as_ptr(), noted.as_ptr());
            (operations.drop_context)(noted.as_ptr());
        }
        true
    }
}
