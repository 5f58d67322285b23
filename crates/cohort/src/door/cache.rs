//! A thread's free nodes of one arena, which a signal handler may find in use by what it has
//! interrupted.
//!
//! Handlers of a thread come and go as calls do: whatever one of them opens it has closed
//! before the thread goes on.  So the cache is the caller's from the look that finds it closed
//! on, though looking and opening are two steps: a handler between them leaves it closed.  One
//! that comes later finds it open, and does without.
//!
//! Of the thread that runs alone, so plain accesses do; they are atomic in name, and fenced
//! against the compiler alone, since a handler is the same thread.  A thread that leaves a
//! handler by a jump may leave its cache open: it does without from then on.

use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use core::sync::atomic::{AtomicBool, AtomicU32, compiler_fence};

super::flaws! {
    OPEN_TWICE = "cache.open-twice";
}

/// The first node's number, 0 if there is none; and how many there are.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Cache {
    first: AtomicU32,
    count: AtomicU32,
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

    /// Forgets all nodes, and the thread that was using it.
    pub fn forget(&self) {
        self.first.store(0, Relaxed);
        self.count.store(0, Relaxed);
        self.open.store(false, Relaxed);
    }
}

impl Opened<'_> {
    /// The first node's number, and how many there are.
    #[inline(always)]
    pub fn get(&self) -> (u32, u32) {
        super::interruption();
        let seen = (self.0.first.load(Relaxed), self.0.count.load(Relaxed));
        super::interruption();
        seen
    }

    /// As [`get`](Self::get) will find it.
    #[inline(always)]
    pub fn set(&self, (first, count): (u32, u32)) {
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
