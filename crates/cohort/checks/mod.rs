//! What each lock is checked by beyond what every lock is: a file for each, where its source is
//! below `src`.
//!
//! A lock of the catalogue is [`Checked`], or it does not compile here.  `models!` has what only
//! it does, `looked_for_in!` where the flaws of its file are looked for, if not in the models that
//! begin with the file's own name, and `on_machine!` by which clients they are on the simulated
//! machine, if not by some threads that want the lock of that name.  The runners find all of it
//! by themselves; what they offer for it is in their `prelude`.

mod abortable;
mod adaptive;
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
mod posting;
mod records;
mod rwlock;
mod service;
mod token;
mod wait;
mod waking;

pub use compose::aclof::SmallAClof;
pub use compose::clof::Small;
pub use compose::level::Whole;
pub use numa::hmcs_t::{Endable, FromLeaf, Naive, OnePeer, Pessimistic, WithNodes};
pub use wait::cell::CELL;

/// A lock of the catalogue, as the runners that try every interleaving take it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no checks",
    label = "in the catalogue, and in no file of crates/cohort/checks",
    note = "mirror its source: crates/cohort/checks/ROOM/NAME.rs with `impl Checked for {Self}`, \
            and a line in the room's mod.rs"
)]
pub trait Checked {
    /// The form of it that has the fewest steps, slots and cohorts, so that few threads share
    /// what many would.
    type Smallest;

    /// Which of the standard models it has.
    const STANDARD: Standard = ALL;
}

/// Which of the standard models a lock has, and how deep they go.
#[derive(Clone, Copy)]
pub struct Standard {
    /// None: it is the code of another with other parameters, whose models begin so.
    pub as_in: Option<&'static str>,
    /// How many preemptions an execution has at most: few, if the lock has many steps.
    pub preemptions: usize,
    /// How many of these the quick tier does without, where the models take seconds with them.
    pub fewer: usize,
    /// The same of the model in which a host has it in an object.
    pub fewer_hosted: usize,
    /// Whether it may be destroyed as soon as it has been released: not if a release touches the
    /// lock, or its nodes, after another thread may have it.  No host has such a lock in an
    /// object.
    pub destroyed: bool,
}

/// What most locks have.
pub const ALL: Standard = Standard {
    as_in: None,
    preemptions: 2,
    fewer: 0,
    fewer_hosted: 0,
    destroyed: true,
};

/// Locks that are another's code with other parameters: the models that begin so are theirs too.
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
