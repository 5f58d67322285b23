//! `parking_lot`'s types by Cohort's locks, for a program that stays as it is: its `Cargo.toml` says
//!
//! ```toml
//! parking_lot = { package = "cohort-parking-lot", version = "0.1" }
//! ```
//!
//! in place of `parking_lot = "0.12"`.  What differs is in `docs/from-parking-lot.md`.
//!
//! ```
//! static TOTAL: parking_lot::Mutex<u32> = parking_lot::const_mutex(0);
//! *TOTAL.lock() += 1;
//! assert_eq!(*TOTAL.lock(), 1);
//! ```
#![no_std]

pub use cohort::compat::parking_lot::*;
