//! Adaptive locks: each repeatedly chooses how its waiters wait.

pub mod crowd;
pub mod glk;
mod tuning;

pub use cohort_raw::glk::{Fault, Tuning};
pub use glk::{Glk, GlkPlus};
pub use tuning::tune;
