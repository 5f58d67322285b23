//! A machine's description: its shape, the cost of each access, and the source of each figure.
//!
//! A [`Machine`] is read from a TOML file ([`Machine::parse`]); seventeen are shipped ([`shipped`]).
//! Every [`Figure`] states its source: a paper, a vendor, a measurement or an estimate.
//! The types document the keys; `docs/machine-files.md` says how to write and calibrate a file.

mod check;
mod complaint;
mod costs;
mod drawn;
mod entries;
mod figure;
mod hierarchy;
mod interconnect;
mod machine;
mod open;
mod read;
pub mod shipped;
mod synthetic;
mod write;
mod written;

pub use cohort_nearest as nearest;
pub use complaint::Complaint;
pub use costs::{
    Cache, CoreClass, Costs, Hit, Invalidation, Line, Memory, Scheduler, Smt, Transfer,
};
pub use entries::{End, Entry};
pub use figure::{Count, Cycles, Figure, Is, Megahertz, Nanoseconds, Ratio, Ratios, Source, Unit};
pub use hierarchy::{Hierarchy, Level, Numbering};
pub use interconnect::{Hops, Link, Shape};
pub use machine::{Atomics, Machine, Protocol};
pub use synthetic::synthetic;
