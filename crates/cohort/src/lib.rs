//! Scalable, NUMA-aware, abortable, adaptive locks.
//!
//! [`Mutex`] and [`RwLock`] are what most programs want, and take any other lock as their
//! second parameter:
//!
//! ```
//! static TOTAL: cohort::Mutex<u64> = cohort::Mutex::new(0);
//! std::thread::scope(|scope| {
//!     for _ in 0..4 {
//!         scope.spawn(|| *TOTAL.lock() += 1);
//!     }
//! });
//! assert_eq!(*TOTAL.lock(), 4);
//! ```
//!
//! The rooms: [`basic`] holds one file per basic lock, [`baseline`] what they are compared
//! with, [`abortable`] those made to give up, [`compose`] what is made of them, [`numa`] the
//! locks that know where their waiters run and are not made so, [`delegation`] those that take
//! the code to the data, [`rwlock`] and [`condvar`] what stands beside them,
//! [`host`] puts any lock into a small object of an unchanged program, [`wait`] is how
//! waiters wait, [`door`] is the only way to the world outside, [`catalogue`] lists what
//! there is.
#![no_std]

pub mod abortable;
mod at_last;
pub mod baseline;
pub mod basic;
pub mod catalogue;
pub mod compose;
pub mod condvar;
pub mod context;
mod delegated;
pub mod delegation;
pub mod door;
pub mod host;
mod mutex;
pub mod numa;
pub mod records;
pub mod report;
pub mod rwlock;
pub mod wait;

pub use cohort_raw::*;
pub use delegated::Delegated;
pub use mutex::{Mutex, MutexGuard};
pub use rwlock::{ReadGuard, RwLock, WriteGuard};
