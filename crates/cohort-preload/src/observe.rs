//! Observing, for `cohort debug`, `profile` and `top`: what each thread holds and waits for is
//! written into [`cohort::records`], by functions that stand before those of the other modules
//! under the names that the program calls.
//!
//! Watching changes no order: nothing is tried first, and a thread that waits was recorded
//! before it began.  An acquisition reads no clock, unless a profile samples it, and makes no
//! system call; it writes a few words that its thread alone writes, and what it waits for only
//! if it waits.
//!
//! Nothing is allocated.  A forked child writes a file of its own; what its thread held is known
//! from a copy in private memory, since the parent goes on changing the file.
//!
//! A process that was started to be watched while it runs has its records from its first lock
//! operation on, and writes nothing into them until a command watches: until then, each entry looks
//! at one word and goes straight to what serves the lock.
//!
//! At the level `stuck` the holder of a plain mutex is written into the mutex itself, where the
//! command reads it if a thread waits for that mutex: one store when it is taken, one when it is
//! released, and nothing in the thread's record unless the thread waits.

mod edges;
mod entries;
mod file;
mod handed;
mod modules;
mod own;
mod price;
mod profile;
mod quick;
mod segments;
mod ways;
mod wrong;

pub use own::{adopted, is_cancelled, relocks, waiting_as};

/// What is to be done before the program begins.
pub fn prepare() {
    own::mind_forks();
}

/// Where the records of processes that are debugged go: a folder of the command's, in which each
/// process makes a file.
pub const DEBUGGED: &core::ffi::CStr = c"COHORT_OBSERVE";

/// How much is written down of processes that are debugged: `stuck`, `owner` or `order`.
pub const LEVEL: &core::ffi::CStr = c"COHORT_LEVEL";

/// The same as [`DEBUGGED`], of processes that are profiled.
pub const PROFILED: &core::ffi::CStr = c"COHORT_PROFILE";

/// That processes are to be watched while they run, if it is set.
pub const WATCHED: &core::ffi::CStr = c"COHORT_WATCH";
