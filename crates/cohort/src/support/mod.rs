//! What locks, guards and the other packages share: contexts that outlive a frame, locks by name or
//! address, the queue of a condition variable, and the files of `cohort debug` and `--report`.

pub mod condvar;
pub mod context;
pub(crate) mod defer;
pub(crate) mod heed;
pub mod made;
pub(crate) mod padded;
pub mod records;
pub mod report;
pub mod service;
