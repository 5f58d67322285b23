//! `glk` in a fixed mode, or brought to `mcs` at once.

use super::locks::adaptive::Glk;
use super::locks::adaptive::glk::{Judge, Mode, OfMachine, Queue};
use crate::in_mode::{FROM_MCS, IN_MCS, IN_TICKET};
use crate::raw::tested;
use crate::{Room, Tested};
use std::sync::Arc;

#[derive(Debug, Default)]
struct InTicket;

impl Judge for InTicket {
    const LATE_NANOSECONDS: u64 = u64::MAX;
    const SLOW_NANOSECONDS: u64 = u64::MAX;

    fn is_crowded(_queue: &Queue<'_>) -> bool {
        false
    }

    #[inline(always)]
    fn samples(_section: u32) -> bool {
        false
    }
}

#[derive(Debug, Default)]
struct InMcs;

impl Judge for InMcs {
    const LATE_NANOSECONDS: u64 = u64::MAX;
    const SLOW_NANOSECONDS: u64 = u64::MAX;

    fn is_crowded(_queue: &Queue<'_>) -> bool {
        false
    }

    #[inline(always)]
    fn samples(section: u32) -> bool {
        section == 0
    }

    fn considers(section: u32) -> bool {
        section == 0
    }

    fn choose(_mode: Mode, _queue: &Queue<'_>) -> Mode {
        Mode::Mcs
    }
}

#[derive(Debug, Default)]
struct FromMcs;

impl Judge for FromMcs {
    fn is_crowded(queue: &Queue<'_>) -> bool {
        OfMachine::is_crowded(queue)
    }

    #[inline(always)]
    fn samples(section: u32) -> bool {
        section == 0 || OfMachine::samples(section)
    }

    fn considers(section: u32) -> bool {
        section == 0 || OfMachine::considers(section)
    }

    fn choose(mode: Mode, queue: &Queue<'_>) -> Mode {
        match mode {
            Mode::Ticket => Mode::Mcs,
            _ => OfMachine::choose(mode, queue),
        }
    }
}

pub fn make(room: &mut dyn Room, name: &str, threads: usize) -> Option<Arc<dyn Tested>> {
    match name {
        IN_TICKET => Some(tested(room, Glk::<InTicket>::default(), threads)),
        IN_MCS => Some(tested(room, Glk::<InMcs>::default(), threads)),
        FROM_MCS => Some(tested(room, Glk::<FromMcs>::default(), threads)),
        _ => None,
    }
}
