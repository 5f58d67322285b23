//! Locks that know where their holders run, made of locks that do not (002 §4, 000).

pub mod clof;
pub mod cohorting;
pub mod counted;
mod level;

pub use clof::Clof;
pub use cohorting::{CBoBo, CBoMcs, CMcsMcs, CPtlTkt, CTktMcs, CTktTkt};
pub use counted::Counted;
pub use level::{CacheGroup, Core, Level, Numa, Package};
