//! Where a thread runs.

use super::super::Level;
use super::system::{call, number};
use super::thread;

/// Acquisitions for which a thread believes the last answer: the question is a system
/// call, threads seldom move, and a composition is correct whatever the answer.
const BELIEVED: u32 = 256;

/// The cohort of the calling thread: its NUMA node, whichever the level, since smaller
/// and larger cohorts are not told apart here yet.
#[inline]
#[must_use]
pub fn cohort(_level: Level) -> usize {
    let thread = thread();
    let left = thread.believed.get();
    if left == 0 {
        thread.node.set(node());
        thread.believed.set(BELIEVED);
    } else {
        thread.believed.set(left - 1);
    }
    thread.node.get() as usize
}

/// The NUMA node of this CPU; 0 if the kernel does not tell.
#[cold]
fn node() -> u32 {
    let mut node = 0u32;
    // SAFETY: the kernel writes the node alone, which is writable.
    let result = unsafe { call(number::GETCPU, [0, &raw mut node as usize, 0, 0, 0, 0]) };
    if result == 0 { node } else { 0 }
}
