//! `Kept`: the context of an acquisition that outlives its frame.
//!
//! A context has to stay where it is until its release returns, so a guard that can be moved
//! cannot hold it, and a C function that returns between the two cannot either.  Where a
//! section runs inside a call, the frame of that call holds it; this is for all others.  It
//! lies in a block of a pool; a lock without contexts takes none.
//!
//! A caller that forgets a `Kept` loses a block, and nothing dangles: the block stays taken, and the
//! lock that was acquired by it locked.

use crate::door::{CONTEXT_BYTES, pool};
use crate::host::Pool;
use cohort_raw::{Operations, RawLock};
use core::cell::UnsafeCell;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ptr::{self, NonNull};

/// The most bytes of a context: a block's.
pub const BYTES: usize = CONTEXT_BYTES;

/// What contexts are aligned to at most.
const ALIGN: usize = 64;

/// The place of any context; a block begins with a line.  It is memory and nothing else: what a
/// checker watches is the context that is made in it.
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

// SAFETY: nobody reads a block's bytes but the thread that took it, as what it has written there.
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

/// A new context, in a block, of a lock whose type is forgotten.  Blocks only where the system has
/// no memory left.
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
    // SAFETY: a block nobody else has, which is large enough and begins with a line, or nothing.
    unsafe { (lock.make_context)(place.as_ptr()) };
    place
}

/// Ends such a context.
///
/// # Safety
/// It came from [`keep`] for the same type of lock, and is used no more.
pub unsafe fn give(lock: &Operations, context: NonNull<u8>) {
    // SAFETY: the caller's.  A block is nothing but its bytes, and goes back to where it came from.
    unsafe {
        (lock.drop_context)(context.as_ptr());
        if lock.context.size() > 0 {
            BLOCKS.give(context.cast::<Block>().as_ref());
        }
    }
}

/// A context of `L` in a block of its own, or in none if it has no bytes.
#[derive(Debug)]
pub struct Kept<L: RawLock> {
    context: NonNull<L::Context>,
    owned: PhantomData<L::Context>,
}

// SAFETY: it owns its context, which other threads may look at anyway.
unsafe impl<L: RawLock<Context: Send>> Send for Kept<L> {}
// SAFETY: it lends its context, and no more.
unsafe impl<L: RawLock<Context: Sync>> Sync for Kept<L> {}

impl<L: RawLock> Kept<L> {
    const HAS_BLOCK: bool = size_of::<L::Context>() > 0;

    /// A new context.  Blocks only where the system has no memory left.
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
            // SAFETY: a block nobody else has, which is large enough and begins with a line.
            unsafe { Self::begin(place) }
        } else {
            NonNull::dangling()
        };
        Self {
            context,
            owned: PhantomData,
        }
    }

    /// A new context at a place of the caller's.
    ///
    /// # Safety
    /// The place is valid for writes, and nobody's.
    unsafe fn begin(place: *mut L::Context) -> NonNull<L::Context> {
        // SAFETY: the caller's.
        unsafe {
            place.write(L::Context::default());
            NonNull::new_unchecked(place)
        }
    }

    /// The context, by its address, for a caller that keeps that.
    #[inline(always)]
    #[must_use]
    pub const fn into_raw(self) -> NonNull<L::Context> {
        let context = self.context;
        core::mem::forget(self);
        context
    }

    /// The context of that address.
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
        // SAFETY: it is this one's, and stays where it is.
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
        // SAFETY: made in `new`, and used no more.  A block is nothing but its bytes, and goes
        // back to where it came from.
        unsafe {
            self.context.drop_in_place();
            if Self::HAS_BLOCK {
                BLOCKS.give(self.context.cast::<Block>().as_ref());
            }
        }
    }
}
