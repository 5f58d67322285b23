//! Natively, a number that differs between a process and each child it forks. Here forks are not
//! detected, and a thread that a child lacks may have held a bucket of sleepers: the child of a
//! process with several threads must not use locks.

/// The process's generation.
#[inline(always)]
#[must_use]
pub const fn generation() -> u32 {
    1
}

/// The same.
#[inline(always)]
#[must_use]
pub const fn generation_so_far() -> u32 {
    1
}

/// Whether a fork would be detected.
#[inline(always)]
#[must_use]
pub const fn may_fork() -> bool {
    false
}
