//! Reader–writer locks.

mod announced;
pub mod cohorts;
mod count;
mod deference;
#[cfg(internals)]
pub mod in_object;
#[cfg(not(internals))]
mod in_object;
#[cfg(internals)]
pub mod object;
#[cfg(not(internals))]
mod object;
mod pace;
#[cfg(internals)]
pub mod phase;
#[cfg(not(internals))]
mod phase;
mod raw;
#[cfg(internals)]
pub mod table;
#[cfg(not(internals))]
mod table;
pub mod writers;

pub use crate::sync::rwlock::{
    MappedReadGuard, MappedWriteGuard, ReadGuard, RwLock, UpgradableGuard, WriteGuard,
};
pub use cohort_raw::Recursion;
pub use cohorts::{CRwNp, CRwWp, CohortRw};
#[cfg(internals)]
pub use count::Count;
pub use in_object::InObject;
#[cfg(internals)]
pub use object::Object;
pub use raw::RawRwLock;
pub(crate) use raw::{TOO_MANY, read_at_last};
#[cfg(internals)]
pub use table::Table;
pub use writers::{Abandoning, ForWriters};
