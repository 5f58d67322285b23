//! A thread's free nodes of one arena. A signal handler may find the cache in use by the code that
//! it has interrupted.
//!
//! Handlers of a thread nest like calls: whatever a handler opens it has closed before the thread
//! goes on. So a look that finds the cache closed makes it the caller's, though looking and opening
//! are two steps: a handler in between leaves it closed. A later handler finds it open, and does
//! without.
//!
//! The node at hand is taken without opening. Opening would be two more writes before a lock's
//! first exchange, which waits for them. A handler between the look at the node and its removal may
//! have kept it; the node's own state shows that afterwards. The node is put back while the cache
//! is open.
//!
//! A cache belongs to one running thread, so plain accesses suffice. They are atomic in name, and
//! fenced only against the compiler, since a handler is the same thread. A thread that leaves a
//! handler by a jump may leave its cache open, and does without from then on.

use core::ptr::{self, NonNull};
use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU16, AtomicU32, compiler_fence};

super::flaws! {
    OPEN_TWICE = "cache.open-twice";
    BELIEVE_HAND = "cache.believe-hand";
}

/// A node at hand, or null; and a list: its first node's number, or 0, and its length.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Cache {
    at_hand: AtomicPtr<u8>,
    first: AtomicU32,
    count: AtomicU16,
    open: AtomicBool,
}

/// A cache in the caller's exclusive use.
#[derive(Debug)]
pub struct Opened<'a>(&'a Cache);

impl Cache {
    /// Opens the cache, unless interrupted code has it open.
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

    /// Takes the node at hand, if there is one and it is still free afterwards: a handler may have
    /// kept it in between.
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

    /// Forgets all nodes, and the thread that used it.
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

    /// Sets the node for [`at_hand`](Self::at_hand).
    #[inline(always)]
    pub fn put_at_hand(&self, node: NonNull<u8>) {
        super::interruption();
        self.0.at_hand.store(node.as_ptr(), Relaxed);
        super::interruption();
    }

    /// The list's first node number, and its length.
    pub fn list(&self) -> (u32, u16) {
        super::interruption();
        let seen = (self.0.first.load(Relaxed), self.0.count.load(Relaxed));
        super::interruption();
        seen
    }

    /// Sets the values for [`list`](Self::list).
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
