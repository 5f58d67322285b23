//! The types of `parking_lot` 0.13 with Cohort's locks, for an unchanged program: its `Cargo.toml` says
//!
//! ```toml
//! parking_lot = { package = "cohort-parking-lot", version = "0.13" }
//! ```
//!
//! in place of `parking_lot = "0.13"`. `docs/from-parking-lot.md` lists the differences.
//!
//! ```
//! static TOTAL: parking_lot::Mutex<u32> = parking_lot::Mutex::new(0);
//! *TOTAL.lock() += 1;
//! assert_eq!(*TOTAL.lock(), 1);
//! ```
#![no_std]

pub use cohort::compat::parking_lot_013::*;
