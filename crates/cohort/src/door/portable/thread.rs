//! The calling thread.

pub use super::identity::{is_gone, thread};

/// Whether the calling thread, as it finds other readers of a lock, should consider what that costs:
/// never, since a biased lock needs the kernel's barrier.
#[inline(always)]
#[must_use]
pub const fn finds_readers() -> bool {
    false
}

/// Whether a lock's change to bias is [paced](crate::rwlock).
#[inline(always)]
#[must_use]
pub const fn is_paced() -> bool {
    true
}

/// The calling thread's number among those running, at least 1.
#[inline(always)]
#[must_use]
pub fn thread_id() -> u32 {
    let me = thread();
    me.settle();
    me.id()
}

/// A number of the calling thread that is unique in the process.
#[inline(always)]
#[must_use]
pub fn thread_number() -> u64 {
    thread().number()
}
