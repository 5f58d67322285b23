//! The machine's execution: fibers on a virtual clock.

mod access;
mod agenda;
mod capacity;
mod clock;
mod coherence;
mod course;
mod cpus;
mod current;
pub mod door;
mod explore;
mod explorer;
mod failure;
mod fiber;
mod foreseen;
mod groups;
mod hardware;
mod inside;
mod lines;
mod linked;
mod memory;
mod options;
mod outcome;
mod placement;
mod polling;
mod record;
mod rings;
mod run;
mod scheduler;
mod sleep;
mod sleepers;
mod state;
mod steady;
mod suspended;
mod tally;
mod thread;
mod turns;

pub use course::Pause;
pub use current::is_running;
pub use failure::{Doing, Failure, Waiting as ThreadWait};
pub use fiber::Thread;
pub use hardware::Hardware;
pub use memory::{Memory, Owner};
pub use options::{Length, Options, Placement, Schedule, Waiting};
pub use outcome::{
    ByOwner, IDLE, Latency, Level, Load, Named, Outcome, SPINNING, TRANSFER, ThreadWork, Transfers,
};
pub use record::Events;
pub use run::Run;
pub use steady::Rule;
