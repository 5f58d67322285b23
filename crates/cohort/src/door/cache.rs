//! A thread's free nodes of one arena, which a signal handler may find in use by what it has
//! interrupted.
//!
//! Handlers of a thread come and go as calls do: whatever one of them opens it has closed
//! before the thread goes on.  So the cache is the caller's from the look that finds it closed
//! on, though looking and opening are two steps: a handler between them leaves it closed.  One
//! that comes later finds it open, and does without.
//!
//! The node at hand is taken without opening, which would be two more writes before a lock's first
//! exchange, which waits for them: a handler between the look at it and the step that takes it away
//! may have kept it, and the node itself tells afterwards.  It is put there while the cache is open.
//!
//! Of the thread that runs alone, so plain accesses do; they are atomic in name, and fenced
//! against the compiler alone, since a handler is the same thread.  A thread that leaves a
//! handler by a jump may leave its cache open: it does without from then on.

use core::ptr::{self, NonNull};
use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU16, AtomicU32, compiler_fence};

super::flaws! {
    OPEN_TWICE = "cache.open-twice";
    BELIEVE_HAND = "cache.believe-hand";
}

/// A node at hand, null if there is none; and below it a list: its first node's number, 0 if there
/// is none, and how many there are.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Cache {
    at_hand: AtomicPtr<u8>,
    first: AtomicU32,
    count: AtomicU16,
    open: AtomicBool,
}

/// A cache, while the caller alone uses it.
#[derive(Debug)]
pub struct Opened<'a>(&'a Cache);

impl Cache {
    /// The cache, unless it is in use by what the caller has interrupted.
    #[inline(always)]
    pub fn open(&self) -> Option<Opened<'_>> {
        if self.open.load(Relaxed) && !super::mutant(flaw::OPEN_TWICE) {
            return None;
        }
        super::interruption();
        self.open.store(true, Relaxed);
        compiler_fence(SeqCst);
        Some(Opened(self))
    }

    /// Takes the node at hand, if there is one and it is still free behind that: a handler may have
    /// come between and kept it.
    #[inline(always)]
    pub fn take_at_hand(&self, is_free: impl Fn(NonNull<u8>) -> bool) -> Option<NonNull<u8>> {
        let node = self.at_hand()?;
        compiler_fence(SeqCst);
        self.at_hand.store(ptr::null_mut(), Relaxed);
        compiler_fence(SeqCst);
        super::interruption();
        (is_free(node) || super::mutant(flaw::BELIEVE_HAND)).then_some(node)
    }

    /// The node at hand.
    #[inline(always)]
    pub fn at_hand(&self) -> Option<NonNull<u8>> {
        super::interruption();
        let seen = NonNull::new(self.at_hand.load(Relaxed));
        super::interruption();
        seen
    }

    /// Forgets all nodes, and the thread that was using it.
    pub fn forget(&self) {
        self.at_hand.store(ptr::null_mut(), Relaxed);
        self.first.store(0, Relaxed);
        self.count.store(0, Relaxed);
        self.open.store(false, Relaxed);
    }
}

impl Opened<'_> {
    /// The node at hand.
    #[inline(always)]
    pub fn at_hand(&self) -> Option<NonNull<u8>> {
        self.0.at_hand()
    }

    /// As [`at_hand`](Self::at_hand) will find it.
    #[inline(always)]
    pub fn put_at_hand(&self, node: NonNull<u8>) {
        super::interruption();
        self.0.at_hand.store(node.as_ptr(), Relaxed);
        super::interruption();
    }

    /// The first node's number in the list, and how many are there.
    pub fn list(&self) -> (u32, u16) {
        super::interruption();
        let seen = (self.0.first.load(Relaxed), self.0.count.load(Relaxed));
        super::interruption();
        seen
    }

    /// As [`list`](Self::list) will find it.
    pub fn set_list(&self, (first, count): (u32, u16)) {
        super::interruption();
        self.0.first.store(first, Relaxed);
        super::interruption();
        self.0.count.store(count, Relaxed);
        super::interruption();
    }
}

impl Drop for Opened<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        compiler_fence(SeqCst);
        self.0.open.store(false, Relaxed);
    }
}
