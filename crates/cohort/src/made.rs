//! `Made`: a lock that was made by its [`Operations`], which any thread acquires and releases without
//! a context of its own: what a program has by a name, or by an address.
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `lock` | its maker | the lock, behind this |
//! | `holder` | the holder | the context by which it holds the lock; null: nobody has noted one |
//! | `is_kept` | the holder | whether that context is a [block](context) of ours, or the caller's |
//! | `generation` | the first caller in a process | the process in which it was last used |
//!
//! The holder alone writes and reads its notes, or a thread that it has handed them to.

use crate::context;
use crate::door::{Advice, AtomicPtr, AtomicU32, Order, Spinner, nap, runs_out};
use crate::host::Generation;
use cohort_raw::{Operations, Outcome, Patience};
use core::alloc::Layout;
use core::ptr::{self, NonNull};

/// A context of whichever lock.
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

// SAFETY: locks are for all threads, and the other fields are atoms.
unsafe impl Send for Made {}
// SAFETY: as above.
unsafe impl Sync for Made {}

impl Made {
    /// Room for this and the lock behind it, and how far behind that is.
    const fn shape(operations: &Operations) -> (Layout, usize) {
        match Layout::new::<Self>().extend(operations.lock) {
            Ok((whole, behind)) => (whole.pad_to_align(), behind),
            Err(_) => panic!("a lock is smaller than memory"),
        }
    }

    /// Room for this and the lock behind it.
    #[must_use]
    pub const fn room(operations: &Operations) -> Layout {
        Self::shape(operations).0
    }

    /// Makes a free lock there.
    ///
    /// # Safety
    /// There is [room](Self::room), which is nobody's; the lock may be inherited and tried.
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
    /// It was made by [`make_at`](Self::make_at), and nobody uses it any more.
    pub unsafe fn drop_at(made: NonNull<Self>) {
        // SAFETY: the caller's.
        unsafe { (made.as_ref().operations.drop)(made.as_ref().lock.as_ptr()) };
    }

    /// # Safety
    /// As [`cohort_raw::RawLock::acquire`]; so for all below.
    unsafe fn acquire_with(&self, context: Context) {
        // SAFETY: the caller's; the lock is there as long as this.
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

    /// False when patience ran out.
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

    /// Whether somebody held it a moment ago.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        // SAFETY: the lock is there as long as this.
        unsafe { (self.operations.is_locked)(self.lock.as_ptr()) }
    }

    /// Before anything else: in a forked child, forgets all waiters, and a holder that had
    /// not noted itself.
    pub fn settle(&self) {
        self.generation.settle(|| {
            let Some(inherit) = self.operations.inherit else {
                unreachable!("a forked child can go on with such a lock")
            };
            // SAFETY: no thread of this process is inside; a holder has noted its context.
            unsafe { inherit(self.lock.as_ptr(), self.holder.load(Order::RELAXED)) };
        });
    }

    fn note(&self, context: Context, is_kept: bool) {
        self.is_kept.store(u32::from(is_kept), Order::RELAXED);
        self.holder.store(context.as_ptr(), Order::RELAXED);
    }

    /// The holder's context, if it is a block or the caller's, as is asked.
    fn noted(&self, is_kept: bool) -> Option<Context> {
        let context = NonNull::new(self.holder.load(Order::RELAXED))?;
        (self.is_kept.load(Order::RELAXED) == u32::from(is_kept)).then_some(context)
    }

    /// Whether somebody holds it, by a block.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.noted(true).is_some()
    }

    /// Blocks until it is held, by a block.
    pub fn acquire(&self) {
        self.settle();
        let context = context::keep(self.operations);
        // SAFETY: a new context.
        unsafe { self.acquire_with(context) };
        self.note(context, true);
    }

    /// Holds it, by a block, if nobody does.
    #[must_use]
    pub fn try_acquire(&self) -> bool {
        // SAFETY: a new context.
        self.acquire_if(|context| unsafe { self.try_acquire_with(context) })
    }

    /// Blocks until it is held, by a block, or patience runs out; false then.  Where a lock's
    /// waiters cannot give up, the caller never queues, but tries again and again.
    #[must_use]
    pub fn acquire_within(&self, patience: &Patience) -> bool {
        // SAFETY: a new context.
        self.acquire_if(|context| unsafe { self.acquire_within_with(context, patience) })
    }

    /// Takes it by a block, as `take` says; gives that back if it fails.
    fn acquire_if(&self, take: impl FnOnce(Context) -> bool) -> bool {
        self.settle();
        let context = context::keep(self.operations);
        let taken = take(context);
        if taken {
            self.note(context, true);
        } else {
            // SAFETY: kept above; nobody will grant the lock to it.
            unsafe { context::give(self.operations, context) };
        }
        taken
    }

    /// Releases what is held by a block; false if that is nothing.
    ///
    /// # Safety
    /// The caller may release it, if somebody holds it.
    #[must_use]
    pub unsafe fn release(&self) -> bool {
        self.settle();
        let Some(context) = self.noted(true) else {
            return false;
        };
        self.holder.store(ptr::null_mut(), Order::RELAXED);
        // The lock may be gone afterwards; what can be done with its type is not.
        let operations = self.operations;
        // SAFETY: the holder's, and the caller's.
        unsafe {
            (operations.release)(self.lock.as_ptr(), context.as_ptr());
            context::give(operations, context);
        }
        true
    }

    /// Blocks until it is held, by a context at a place of the caller's.
    ///
    /// # Safety
    /// The place is valid for writes, nobody's, and stays until the release.
    pub unsafe fn acquire_at(&self, place: Context) {
        let take = |context| {
            // SAFETY: a new context.
            unsafe { self.acquire_with(context) };
            true
        };
        // SAFETY: the caller's.
        unsafe { self.acquire_at_if(place, take) };
    }

    /// Holds it, by such a context, if nobody does.
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
            // SAFETY: begun above; nobody will grant the lock to it.
            unsafe { (self.operations.drop_context)(place.as_ptr()) };
        }
        taken
    }

    /// Releases what is held by the context at that place; false if it is not.
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
