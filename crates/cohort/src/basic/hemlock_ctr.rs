//! `hemlock-ctr`: `hemlock` with coherence-traffic reduction (Dice and Kogan 2021; Chehab et al.
//! 2021 §2.1).  A waiter looks at its predecessor's word by trying to answer the grant.  A releaser
//! looks for the answer by adding 0.
//!
//! **Not for** machines that build such instructions from a load and a conditional store (Arm
//! without LSE, POWER, RISC-V): there the looks keep the word from its writer, and throughput
//! collapses (Chehab et al. 2021 §3).
//!
//! On x86 each look fetches the line in exclusive state, so that the following write needs no
//! second transaction: one upgrade saved on each side of each hand-over.

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
