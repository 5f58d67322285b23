//! `parking_lot`'s types with Cohort's locks, for an unchanged program: its `Cargo.toml` says
//!
//! ```toml
//! parking_lot = { package = "cohort-parking-lot", version = "0.1" }
//! ```
//!
//! in place of `parking_lot = "0.12"`. `docs/from-parking-lot.md` lists the differences.
//!
//! ```
//! static TOTAL: parking_lot::Mutex<u32> = parking_lot::const_mutex(0);
//! *TOTAL.lock() += 1;
//! assert_eq!(*TOTAL.lock(), 1);
//! ```
#![no_std]

pub use cohort::compat::parking_lot::*;
