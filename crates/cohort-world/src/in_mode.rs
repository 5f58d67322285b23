//! `glk` for its sensitivity analysis (Antić et al. 2016 §3.1): fixed in a mode, or brought to
//! `mcs` at once, so that no run waits for the transition.

/// Stays in the mode `ticket`, without sampling its queue.
pub const IN_TICKET: &str = "glk/ticket";

/// Stays in the mode `mcs`.
pub const IN_MCS: &str = "glk/mcs";

/// Is in the mode `mcs` from its second critical section on, and adapts from there.
pub const FROM_MCS: &str = "glk/from-mcs";

/// Declares, for a build of the locks, the function that creates such a lock.
macro_rules! in_mode_maker {
    ($($build:ident)::+) => {
        use $($build)::+::adaptive::Glk;
        use $($build)::+::adaptive::glk::{Judge, Mode, OfMachine, Queue};

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

        pub(super) fn make(
            room: &mut dyn $crate::Room,
            name: &str,
            threads: usize,
        ) -> Option<std::sync::Arc<dyn $crate::Tested>> {
            use $crate::in_mode::{FROM_MCS, IN_MCS, IN_TICKET};
            use $crate::raw::tested;
            match name {
                IN_TICKET => Some(tested(room, Glk::<InTicket>::default(), threads)),
                IN_MCS => Some(tested(room, Glk::<InMcs>::default(), threads)),
                FROM_MCS => Some(tested(room, Glk::<FromMcs>::default(), threads)),
                _ => None,
            }
        }
    };
}

pub(crate) use in_mode_maker;
