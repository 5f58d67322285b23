//! The `cohort-lab` command: benchmarks, simulated machines, discovery, performance targets.
//!
//! `cohort bench …` runs it; its help and its errors name that command line.

mod bar;
mod bench;
mod command;
mod discover;
mod machines;
mod replay;
mod report;
mod reproduce;
mod study;
mod suggested;
mod survey;
mod testbed;
mod tune;
mod workload;

pub use command::{definition, main};
