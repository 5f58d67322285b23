//! Ensures that a process has one copy of this library. Objects of one copy mean nothing to
//! another, which would look for a condition's waiters in its own memory, and give an address a
//! second lock.
//!
//! The loader unifies a symbol of this kind over all libraries of the process, however loaded.

use crate::libc::{abort, say};
use core::sync::atomic::{AtomicPtr, Ordering};

core::arch::global_asm!(
    ".pushsection .data.COHORT_PROCESS,\"aw\"",
    ".balign 8",
    ".globl COHORT_PROCESS",
    ".type COHORT_PROCESS,%gnu_unique_object",
    ".size COHORT_PROCESS,8",
    "COHORT_PROCESS:",
    ".zero 8",
    ".popsection",
);

unsafe extern "C" {
    /// The copy loaded first; null at first.
    static COHORT_PROCESS: AtomicPtr<u8>;
}

/// Its address identifies this copy.
static COPY: u8 = 0;

// SAFETY: the section is an array of pointers to functions without arguments, which the loader
// calls before anything of this library.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = {
    extern "C" fn at_start() {
        let copy = (&raw const COPY).cast_mut();
        // SAFETY: defined above, as a pointer.
        let process = unsafe { &COHORT_PROCESS };
        let none = core::ptr::null_mut();
        let claimed = process.compare_exchange(none, copy, Ordering::Relaxed, Ordering::Relaxed);
        if claimed.is_err_and(|first| first != copy) {
            say(format_args!(
                "cohort: a second copy of libcohort in one process: the copies do not share locks and \
                 conditions; load one file only\n"
            ));
            // SAFETY: ends the process.
            unsafe { abort() }
        }
    }
    at_start
};
