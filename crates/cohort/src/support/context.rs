//! `Kept`: the context of an acquisition that outlives its frame.
//!
//! A context must not move until its release returns. So a movable guard cannot contain it, nor can
//! a C function that returns in between. A critical section that runs inside a call has its context
//! in that call's frame; all others use this type. The context is in a block of a pool; a lock
//! without contexts takes none.
//!
//! Forgetting a `Kept` leaks the block and leaves its lock locked; nothing dangles.

use crate::door::{CONTEXT_BYTES, pool};
use crate::host::Pool;
use cohort_raw::{Operations, RawLock};
use core::cell::UnsafeCell;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ptr::{self, NonNull};

/// The most bytes of a context: the size of a block.
pub const BYTES: usize = CONTEXT_BYTES;

/// The largest alignment of a context: a cache line.
pub const ALIGN: usize = 64;

/// Room for any context; a block begins with a cache line. It is plain memory: model checkers
/// observe the context that is made in it.
#[derive(Debug)]
#[repr(C, align(16))]
pub struct Block {
    bytes: UnsafeCell<MaybeUninit<[u8; BYTES]>>,
}

impl Default for Block {
    fn default() -> Self {
        Self {
            bytes: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }
}

// SAFETY: only the thread that took a block reads its bytes, as the value that it wrote there.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

pool! {
    /// Blocks for the contexts of all locks.
    static BLOCKS: Block, cache 8
}

/// Bytes of all blocks made so far.
pub(crate) fn pool_bytes() -> usize {
    BLOCKS.bytes()
}

/// A new context in a block, for a lock without its type. Blocks only if the system is out of
/// memory.
///
/// # Panics
/// If its contexts are larger than [`BYTES`].
#[must_use]
pub fn keep(lock: &Operations) -> NonNull<u8> {
    let room = lock.context;
    assert!(
        room.size() <= BYTES && room.align() <= ALIGN,
        "a context has no room in a block"
    );
    let place = if room.size() > 0 {
        NonNull::from(BLOCKS.take()).cast()
    } else {
        NonNull::<Block>::dangling().cast()
    };
    // SAFETY: an exclusive block, large enough and aligned to a line; or a context without bytes.
    unsafe { (lock.make_context)(place.as_ptr()) };
    place
}

/// Drops such a context, and returns its block.
///
/// # Safety
/// It came from [`keep`] for the same type of lock, and is no longer in use.
pub unsafe fn give(lock: &Operations, context: NonNull<u8>) {
    // SAFETY: the caller's. A block is plain bytes, and returns to its pool.
    unsafe {
        (lock.drop_context)(context.as_ptr());
        if lock.context.size() > 0 {
            BLOCKS.give(context.cast::<Block>().as_ref());
        }
    }
}

/// A context of `L` in its own block; without a block if it has no bytes.
#[derive(Debug)]
pub struct Kept<L: RawLock> {
    context: NonNull<L::Context>,
    owned: PhantomData<L::Context>,
}

// SAFETY: it owns its context, which other threads may read anyway.
unsafe impl<L: RawLock<Context: Send>> Send for Kept<L> {}
// SAFETY: it only lends its context.
unsafe impl<L: RawLock<Context: Sync>> Sync for Kept<L> {}

impl<L: RawLock> Kept<L> {
    const HAS_BLOCK: bool = size_of::<L::Context>() > 0;

    /// A new context. Blocks only if the system is out of memory.
    #[inline(always)]
    #[must_use]
    pub fn new() -> Self {
        const {
            assert!(
                size_of::<L::Context>() <= BYTES && align_of::<L::Context>() <= ALIGN,
                "this lock's contexts are too large for guards: use closures (`locking`)"
            );
        }
        let context = if Self::HAS_BLOCK {
            let place = ptr::from_ref(BLOCKS.take()).cast_mut().cast();
            // SAFETY: an exclusive block, large enough and aligned to a line.
            unsafe { Self::begin(place) }
        } else {
            NonNull::dangling()
        };
        Self {
            context,
            owned: PhantomData,
        }
    }

    /// A new context at the caller's `place`.
    ///
    /// # Safety
    /// The place is valid for writes, and exclusive to the caller.
    unsafe fn begin(place: *mut L::Context) -> NonNull<L::Context> {
        // SAFETY: the caller's.
        unsafe {
            place.write(L::Context::default());
            NonNull::new_unchecked(place)
        }
    }

    /// The context's address, for a caller that stores it.
    #[inline(always)]
    #[must_use]
    pub const fn into_raw(self) -> NonNull<L::Context> {
        let context = self.context;
        core::mem::forget(self);
        context
    }

    /// The context at that address.
    ///
    /// # Safety
    /// It came from [`into_raw`](Self::into_raw), and is given back once.
    #[inline(always)]
    #[must_use]
    pub const unsafe fn from_raw(context: NonNull<L::Context>) -> Self {
        Self {
            context,
            owned: PhantomData,
        }
    }

    /// The context.
    #[inline(always)]
    #[must_use]
    pub const fn get(&self) -> &L::Context {
        // SAFETY: this value owns it, and it does not move.
        unsafe { self.context.as_ref() }
    }
}

impl<L: RawLock> Default for Kept<L> {
    fn default() -> Self {
        Self::new()
    }
}

impl<L: RawLock> Drop for Kept<L> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: made in `new`, and no longer in use. A block is plain bytes, and returns to its
        // pool.
        unsafe {
            self.context.drop_in_place();
            if Self::HAS_BLOCK {
                BLOCKS.give(self.context.cast::<Block>().as_ref());
            }
        }
    }
}
