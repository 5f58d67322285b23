//! Observing, for `cohort debug` and `cohort profile`: what each thread holds and waits for is
//! written into [`cohort::records`], by functions that stand before those of the other modules
//! under the names that the program calls.
//!
//! Watching changes no order: nothing is tried first, and a thread that waits was recorded
//! before it began.  An acquisition reads no clock, unless a profile samples it, and makes no
//! system call; it writes some ten words that its thread alone writes.
//!
//! Nothing is allocated.  A forked child writes a file of its own; what its thread held is known
//! from a copy in private memory, since the parent goes on changing the file.

mod edges;
mod entries;
mod own;
mod profile;
mod wrong;

/// Where the records of processes that are debugged go: a folder of the command's, in which each
/// process makes a file.
pub const DEBUGGED: &core::ffi::CStr = c"COHORT_OBSERVE";

/// The same, of processes that are profiled.
pub const PROFILED: &core::ffi::CStr = c"COHORT_PROFILE";
