//! Scalable, NUMA-aware, abortable, adaptive locks.
//!
//! The rooms: [`basic`] holds one file per basic lock, [`rwlock`] and [`condvar`]
//! what stands beside them, [`host`] puts any lock into a small object of an
//! unchanged program, [`wait`] is how waiters wait, [`door`] is the only way to the
//! world outside, [`catalogue`] lists what there is.
#![no_std]

pub mod basic;
pub mod catalogue;
pub mod condvar;
pub mod door;
pub mod host;
pub mod report;
pub mod rwlock;
pub mod wait;

pub use cohort_raw::*;
