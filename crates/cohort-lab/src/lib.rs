//! Workloads, measurement and speed bars.
//!
//! [`runner`] runs a program once and measures what it used; [`rounds`] lets
//! contestants run in turn; [`stats`] says how sure a figure is; [`compare`] and
//! [`bars`] turn figures into verdicts, and [`plot`] into pictures.
//! [`workloads`] is what is run when nobody names a program.  [`mod@bench`] holds the
//! papers' workloads, written once for every [`world`], and [`claims`] what the papers
//! say of them.  [`survey`] runs real programs, each with a check of what it did.

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

/// Where workloads run: a package of its own, since every lock is compiled there once for each world.
pub use cohort_world as world;
