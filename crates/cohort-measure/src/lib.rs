//! Measurement of programs, without a simulator.
//!
//! [`runner`] runs a program once and measures its resource usage; [`rounds`] runs contestants in
//! turn; [`stats`] computes intervals. [`compare`] turns figures into verdicts, [`plot`] into
//! pictures. [`loads`] are the loads of `cohort demo`, [`tuned`] the files that tuning writes.
//! [`probe`] measures the costs of this machine.

pub mod compare;
pub mod interrupt;
pub mod loads;
pub mod metric;
pub mod options;
pub mod plot;
pub mod probe;
pub mod progress;
pub mod rounds;
pub mod runner;
mod span;
pub mod stats;
pub mod tuned;

pub use span::Span;
