//! What a machine is: its shape, what each access costs, and where each figure
//! comes from.
//!
//! A [`Machine`] is read from a TOML file ([`Machine::parse`]); twelve are shipped
//! ([`shipped`]).  Every [`Figure`] says whether a paper, a vendor or nobody but
//! an estimate stands behind it.  `docs/machine-files.md` is the reference.

mod check;
mod complaint;
mod costs;
mod drawn;
mod entries;
mod figure;
mod hierarchy;
mod interconnect;
mod machine;
pub mod nearest;
mod open;
mod read;
pub mod shipped;
mod synthetic;
mod write;
mod written;

pub use complaint::Complaint;
pub use costs::{
    Cache, CoreClass, Costs, Hit, Invalidation, Line, Memory, Scheduler, Smt, Transfer,
};
pub use entries::Entry;
pub use figure::{Count, Cycles, Figure, Is, Megahertz, Nanoseconds, Ratio, Ratios, Source, Unit};
pub use hierarchy::{Hierarchy, Level, Numbering};
pub use interconnect::{Hops, Link, Shape};
pub use machine::{Atomics, Machine, Protocol};
pub use synthetic::synthetic;
