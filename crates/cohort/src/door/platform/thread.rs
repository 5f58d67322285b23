//! The calling thread, which nothing tells from others here. So the locks and types that know their holder
//! are not for this backend; asking for the thread ends the program.

use super::{ThreadRecord, to_its_end};

/// Ends the program, by a panic during a panic: other threads may know of a context in a caller's frame.
#[cold]
#[inline(never)]
fn refuse() -> ! {
    to_its_end(true, || {
        panic!("this lock needs threads' numbers, which a `Platform` does not have")
    })
}

/// The calling thread's words: there are none.
pub fn thread() -> &'static ThreadRecord {
    refuse()
}

/// The calling thread's number among those running: unknown.
#[must_use]
pub fn thread_id() -> u32 {
    refuse()
}

/// A number of the calling thread: unknown.
#[must_use]
pub fn thread_number() -> u64 {
    refuse()
}

pub(super) fn find_id(_known: u32) -> u32 {
    refuse()
}

/// The name of a thread that has drawn a number: at least 1.
pub(super) const fn name_of(drawn: u32, _id: u32) -> usize {
    drawn as usize + 1
}

/// The number drawn for that name.
pub(super) const fn drawn_of(name: usize) -> u32 {
    (name - 1) as u32
}

/// Whether no thread has that number.
#[must_use]
pub const fn is_gone(_number: u32) -> bool {
    false
}

/// The calling thread's real-time priority: unknown.
#[must_use]
pub const fn priority() -> u32 {
    0
}

/// Whether the calling thread should consider what it costs to find other readers.
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
