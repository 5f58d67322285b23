//! Workloads, measurements and speed targets.
//!
//! [`runner`] runs a program once and measures its resource usage; [`rounds`] runs contestants in
//! turn; [`stats`] computes intervals. [`compare`] and [`bars`] turn figures into verdicts,
//! [`plot`] into pictures. [`workloads`] are the bundled loads. [`mod@bench`] holds the papers'
//! workloads, written once for every [`world`], and [`claims`] the papers' claims about them.
//! [`survey`] runs real programs, each with a check of its result.

pub mod bars;
pub mod bench;
pub mod claims;
pub mod compare;
pub mod discover;
pub mod envelope;
pub mod interrupt;
pub mod metric;
pub mod options;
pub mod plot;
pub mod progress;
pub mod rounds;
pub mod runner;
pub mod stats;
pub mod survey;
pub mod tune;
pub mod workloads;

/// The worlds of workloads: a separate package, since every lock is compiled there once for each
/// world.
pub use cohort_world as world;
