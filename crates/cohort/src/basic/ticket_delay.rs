//! `ticket-delay`: `ticket` with proportional delay; a waiter looks again after a time proportional
//! to the number of waiters ahead (Mellor-Crummey and Scott 1991; Dice et al. 2015 §6).
//!
//! **Not for** machines with caches that pass dirty lines to several readers (MOESI), where Dice et
//! al. 2015 §6 found no gain or a loss.  Nor for sections of very different lengths: the delay
//! suits one pace, and too long a delay leaves the lock idle.
//!
//! Where each look takes the word from the other waiters (MESI, MESIF), the delay avoids looks
//! until the waiter's number is near.

use super::ticket::Ticket;
use crate::wait::MayPark;

/// The delay for each thread ahead: about one hand-over between two CPUs, the minimum that each
/// thread takes.
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
