//! Locks that choose, each for itself and again and again, how their waiters wait.

pub mod crowd;
pub mod glk;
mod tuning;

pub use glk::{Glk, GlkPlus};
pub use tuning::{Fault, Tuning, tune};
