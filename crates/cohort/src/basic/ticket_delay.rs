//! `ticket-delay`: `ticket` with proportional delay; a waiter looks again after a time
//! in proportion to how many are served before it (Mellor-Crummey and Scott 1991; Dice et al. 2015
//! §6).
//!
//! **Not for** machines whose caches hand dirty lines on to several readers (MOESI),
//! where Dice et al. 2015 §6 found no gain or a loss, nor for sections of very different lengths:
//! the delay suits one pace, and too long a one leaves the lock standing.
//!
//! Where each look of a waiter takes the word away from the others (MESI, MESIF), the
//! delay leaves it alone until the waiter's number is near.

use super::ticket::Ticket;
use crate::wait::MayPark;

/// For each thread ahead: about one hand-over between two CPUs, the least that each of
/// them takes.
pub const UNIT_NANOSECONDS: u64 = 100;

/// The lock; all zero when new.
///
/// ```
/// use cohort::{Mutex, basic::TicketDelay};
///
/// let total: Mutex<u64, TicketDelay> = Mutex::from(1);
/// *total.lock() += 1;
/// assert_eq!(total.into_inner(), 2);
/// ```
pub type TicketDelay<P = MayPark> = Ticket<P, UNIT_NANOSECONDS>;
