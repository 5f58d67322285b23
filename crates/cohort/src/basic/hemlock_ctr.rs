//! `hemlock-ctr`: `hemlock` with coherence-traffic reduction (Dice and Kogan 2021; Chehab et al.
//! 2021 §2.1): a waiter looks at its predecessor's word by trying to answer the grant, and a
//! releaser looks for the answer by adding nothing.
//!
//! **Not for** machines that build such instructions from a load and a conditional
//! store (Arm without LSE, POWER, RISC-V): there the looks keep the word away from
//! the thread that wants to write it, and the lock stands almost still (Chehab et al. 2021 §3).
//!
//! On x86 each look then brings the word's line in as its only owner, so that the
//! write which follows needs no second transaction to get it: an upgrade saved on each
//! side of each hand-over.

use super::hemlock::Hemlock;
use crate::wait::MayPark;

/// The lock; all zero when new.
///
/// ```
/// use cohort::{Mutex, basic::HemlockCtr};
///
/// let total: Mutex<u64, HemlockCtr> = Mutex::from(1);
/// *total.lock() += 1;
/// assert_eq!(total.into_inner(), 2);
/// ```
pub type HemlockCtr<P = MayPark> = Hemlock<true, P>;
