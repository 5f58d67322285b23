//! Observation, for `cohort debug`, `profile`, `record` and `top`. Records what each thread holds and waits
//! for in [`cohort::records`]. The observing functions take the names that the program calls, and
//! precede the other modules' functions.
//!
//! Observation preserves the order of lock operations: it tries no lock first, and a thread is
//! recorded before it begins to wait. An acquisition makes no system call, and reads no clock
//! unless a profile samples it. It writes a few words that only its thread writes, and a wait's
//! words only if it waits.
//!
//! Nothing is allocated. A forked child writes a file of its own. What its thread held is copied to
//! private memory, since the parent goes on changing the file.
//!
//! A process started for observation at run time has its records from its first lock operation on.
//! Until a command observes it, it writes nothing into them: each entry reads one word and
//! continues in the lock's function.
//!
//! At the level `stuck`, the holder of a plain mutex is written into the mutex itself, where the
//! command reads it if a thread waits for that mutex. This costs one store per acquisition and one
//! per release; the thread's record is written only if the thread waits.

mod bits;
mod chunks;
mod cpu;
mod drawing;
mod edges;
mod entries;
mod file;
mod given;
mod handed;
mod marks;
mod modules;
mod own;
mod price;
mod profile;
mod quick;
mod reported;
mod samples;
mod segments;
mod slow;
mod taken;
mod tallies;
mod trace;
mod turn_over;
mod ways;
mod wrong;

pub use marks::mark;
pub use own::{adopted, is_cancelled, relocks, waiting_as};

/// Registers the observer's functions before the program begins.
pub fn prepare() {
    own::mind_forks();
    marks::prepare();
    ways::mind_forks();
    trace::prepare();
    price::measure_by([entries::pthread_mutex_lock, entries::pthread_mutex_unlock]);
}

/// Folder for the records of processes under `cohort debug`; each process creates a file in it.
pub const DEBUGGED: &core::ffi::CStr = c"COHORT_OBSERVE";

/// Level of detail under `cohort debug`: `stuck`, `owner` or `order`.
pub const LEVEL: &core::ffi::CStr = c"COHORT_LEVEL";

/// [`DEBUGGED`], for processes under `cohort profile`.
pub const PROFILED: &core::ffi::CStr = c"COHORT_PROFILE";

/// [`DEBUGGED`], for processes under `cohort record`; their events are in a file there.
pub const RECORDED: &core::ffi::CStr = c"COHORT_RECORD";

/// Set if processes may be observed while they run.
pub const WATCHED: &core::ffi::CStr = c"COHORT_WATCH";
