//! Workloads, measurements and speed targets.
//!
//! [`cohort_measure`] runs programs and compares them; [`bars`] are the speed targets, [`workloads`]
//! the bundled loads. [`mod@bench`] holds the papers'
//! workloads, written once for every [`world`], and [`claims`] the papers' claims about them.
//! [`measured`] describes this machine as a simulated one. [`survey`] runs real programs, each with a
//! check of its result; [`study`] runs the papers' programs under several locks.

pub mod bars;
pub mod bench;
pub mod claims;
pub mod discover;
pub mod envelope;
pub mod measured;
pub mod replay;
pub mod report;
pub mod sheet;
pub mod study;
pub mod survey;
pub mod tune;
pub mod workloads;

pub use cohort_measure::{
    compare, interrupt, metric, options, plot, probe, progress, rounds, runner, stats,
};
/// The worlds of workloads: a separate package, since every lock is compiled there once for each
/// world.
pub use cohort_world as world;
