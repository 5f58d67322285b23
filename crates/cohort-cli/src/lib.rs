//! The `cohort` command: runs unchanged programs under chosen locks, and measures the effect.
//!
//! Public modules serve the commands beside it, `cohort-lab` and `cohort-delegate`; they are no
//! interface for other programs.

mod advise;
mod beside;
pub mod best;
mod check;
pub mod choice;
pub mod cohorts;
pub mod command;
pub mod companion;
pub mod compare;
pub mod config;
mod debug;
mod demo;
pub mod destination;
mod doctor;
pub mod environment;
mod export;
mod folder;
mod install;
pub mod library;
mod list;
mod locks;
mod mutexes;
mod observe;
mod outside;
pub mod page;
pub mod parsing;
pub mod problem;
mod profile;
pub mod program;
pub mod proof;
mod ps;
mod purpose;
mod realtime;
mod record;
pub mod report;
pub mod results;
mod run;
pub mod rwlocks;
pub mod settings;
pub mod signals;
pub mod start;
mod supervise;
pub mod sysfs;
pub mod toml_file;
pub mod top;
pub mod tune;
mod unit;
pub mod wait;
mod workload;
