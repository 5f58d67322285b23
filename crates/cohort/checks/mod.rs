//! The checks of each lock beyond those of all locks: one file each, with the path of its source
//! below `src`.
//!
//! Each lock of the catalogue must be [`Checked`] to compile here. `models!` lists a file's own
//! models. `looked_for_in!` names the models in which to search for the file's faults, if they do
//! not begin with its name. `on_machine!` names the clients on the simulated machine, by default
//! threads that acquire the lock of that name. The runners find all of them; their `prelude` has
//! what the files use.

mod abortable;
mod adaptive;
mod barrier;
mod baseline;
mod basic;
mod compose;
mod condvar;
mod delegated;
mod delegation;
mod door;
mod host;
mod mutex;
mod numa;
mod once;
mod once_lock;
mod pausing;
mod posting;
mod records;
mod rwlock;
mod semaphore;
mod service;
mod token;
mod wait;
mod waking;

pub use compose::aclof::SmallAClof;
pub use compose::clof::Small;
pub use compose::level::Whole;
pub use numa::hmcs_t::{Endable, FromLeaf, Naive, OnePeer, Pessimistic, WithNodes};
pub use wait::cell::CELL;

/// A lock of the catalogue, as the model checkers use it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no checks",
    label = "in the catalogue, and in no file of crates/cohort/checks",
    note = "mirror its source: crates/cohort/checks/ROOM/NAME.rs with `impl Checked for {Self}`, \
            and a line in the room's mod.rs"
)]
pub trait Checked {
    /// Its form with the fewest steps, slots and cohorts, so that few threads share them.
    type Smallest;

    /// Its standard models.
    const STANDARD: Standard = ALL;
}

/// A lock's standard models, and their depth.
#[derive(Clone, Copy)]
pub struct Standard {
    /// A lock that has the same code with other parameters, and therefore the models; otherwise
    /// none.
    pub as_in: Option<&'static str>,
    /// The maximal number of preemptions in an execution; few for a lock with many steps.
    pub preemptions: usize,
    /// How many preemptions less the quick tier has, if models take seconds with all.
    pub fewer: usize,
    /// As `fewer`, for the model of the lock hosted in place.
    pub fewer_hosted: usize,
    /// Whether it may be destroyed right after its release. Not if a release accesses the lock or
    /// its nodes after another thread may hold it; such a lock is never hosted in place.
    pub destroyed: bool,
}

/// The standard models of most locks.
pub const ALL: Standard = Standard {
    as_in: None,
    preemptions: 2,
    fewer: 0,
    fewer_hosted: 0,
    destroyed: true,
};

/// Marks locks that share another lock's code with other parameters, and its models.
macro_rules! as_in {
    ($name:literal: $($lock:ty),+) => {
        $(impl Checked for $lock {
            type Smallest = Self;
            const STANDARD: Standard = Standard {
                as_in: Some($name),
                ..ALL
            };
        })+
    };
}
pub(crate) use as_in;
