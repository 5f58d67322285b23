//! How models are explored.

use crate::checks::Standard;
use crate::locks::basic::futex::TURN_NANOSECONDS;
use crate::locks::door::{Model as Bounds, WaitPolicy};

impl Standard {
    /// The bounds, with fewer preemptions if the lock has many steps.
    pub fn within(self, bounds: Bounds) -> Bounds {
        Bounds {
            preemptions: bounds.preemptions.min(self.preemptions),
            ..bounds
        }
    }
}

/// Waiters spin.
pub const SPIN: Bounds = Bounds {
    preemptions: 2,
    polls: 2,
    policy: WaitPolicy::Spin,
    nanoseconds_per_look: 0,
    looks_in_time: 0,
    quiet: false,
    tries: false,
    visits: false,
    starves: false,
    absent: false,
    one_group: false,
    two_cpus: false,
    counts_reads: false,
    forks: false,
    ends: false,
    reuses_ids: false,
};
/// Waiters sleep.
pub const PARK: Bounds = Bounds {
    policy: WaitPolicy::Park,
    ..SPIN
};
/// And threads count their read locks.
pub const PARK_COUNTED: Bounds = Bounds {
    counts_reads: true,
    ..PARK
};
/// For clients with many steps.
pub const PARK_1: Bounds = Bounds {
    preemptions: 1,
    ..PARK
};
/// For clients with the fewest, where waiters spin.
pub const SPIN_5: Bounds = Bounds {
    preemptions: 5,
    ..SPIN
};
/// For clients with many steps, where waiters spin.
pub const SPIN_1: Bounds = Bounds {
    preemptions: 1,
    ..SPIN
};
/// For clients that switch threads by themselves.
pub const SPIN_0: Bounds = Bounds {
    preemptions: 0,
    ..SPIN
};
/// A deadline passes at a spinner's first failed look, at the second or at the third.
pub const SPIN_LATER: Bounds = Bounds {
    looks_in_time: 2,
    ..SPIN
};
/// The same, for clients with many steps.
pub const SPIN_LATER_1: Bounds = Bounds {
    preemptions: 1,
    ..SPIN_LATER
};
/// The same, for clients with the most.
pub const SPIN_LATER_0: Bounds = Bounds {
    preemptions: 0,
    ..SPIN_LATER
};
/// For clients with few.
pub const PARK_3: Bounds = Bounds {
    preemptions: 3,
    ..PARK
};
/// For clients with the fewest.
pub const PARK_4: Bounds = Bounds {
    preemptions: 4,
    ..PARK
};
/// A sleeper that looks at its clock finds that it has waited too long.
pub const IMPATIENT: Bounds = Bounds {
    nanoseconds_per_look: 2_000_000,
    ..PARK_3
};
/// The same, for clients with many steps.
pub const IMPATIENT_2: Bounds = Bounds {
    preemptions: 2,
    ..IMPATIENT
};
/// The same, for clients with the most.
pub const IMPATIENT_1: Bounds = Bounds {
    preemptions: 1,
    ..IMPATIENT
};
/// From one look at the clock to the next, a reader has deferred to writers for long enough.
pub const DEFERRED: Bounds = Bounds {
    nanoseconds_per_look: 5_000_000,
    ..PARK
};
/// A turn comes at the first look at the clock.
pub const DUE: Bounds = Bounds {
    nanoseconds_per_look: 500_000,
    ..PARK
};
/// The same, for clients with many steps.
pub const DUE_1: Bounds = Bounds {
    preemptions: 1,
    ..DUE
};
/// A deadline passes while its thread sleeps, or soon after.
pub const TICKING: Bounds = Bounds {
    nanoseconds_per_look: 1,
    ..PARK
};
/// The same, for clients with few steps.
pub const TICKING_3: Bounds = Bounds {
    preemptions: 3,
    ..TICKING
};
/// Every release makes the lock quick.
pub const QUIET: Bounds = Bounds {
    quiet: true,
    ..PARK
};
/// The same, for clients with many steps.
pub const QUIET_1: Bounds = Bounds {
    preemptions: 1,
    ..QUIET
};
/// Waiters take turns.
pub const TURNS: Bounds = Bounds {
    tries: true,
    ..PARK
};
/// Waiters lose their CPUs, at times that are far enough apart to count, in clients with many steps.
pub const SPIN_ABSENT: Bounds = Bounds {
    absent: true,
    nanoseconds_per_look: 2_000_000,
    ..SPIN_1
};
/// Threads are in one cache group of a large machine, in clients with many steps.
pub const ONE_GROUP: Bounds = Bounds {
    one_group: true,
    ..PARK_1
};
/// The same, and lose their CPUs at times that are far enough apart to count.
pub const ONE_GROUP_ABSENT: Bounds = Bounds {
    one_group: true,
    ..SPIN_ABSENT
};
/// Threads are on the two CPUs of a small machine.
pub const TWO_CPUS: Bounds = Bounds {
    two_cpus: true,
    ..PARK
};
/// The same, in clients with many steps.
pub const TWO_CPUS_1: Bounds = Bounds {
    two_cpus: true,
    ..PARK_1
};
/// Waiters that sleep lose their CPUs, all at one time, in clients with many steps.
pub const ABSENT_1: Bounds = Bounds {
    absent: true,
    ..PARK_1
};
/// Waiters that sleep lose their CPUs, at times that are far enough apart to count.
pub const PARK_ABSENT: Bounds = Bounds {
    policy: WaitPolicy::Park,
    ..SPIN_ABSENT
};
/// Threads seldom wait.
pub const VISITS: Bounds = Bounds {
    visits: true,
    ..PARK
};
/// The same, and spin.
pub const SPIN_VISITS: Bounds = Bounds {
    visits: true,
    ..SPIN
};
/// And a deadline passes while one sleeps, or soon after.
pub const VISITS_TICK: Bounds = Bounds {
    visits: true,
    ..TICKING
};
/// And a sleeper finds that it has waited too long.
pub const VISITS_IMPATIENT: Bounds = Bounds {
    visits: true,
    ..IMPATIENT_2
};
/// Deadlines pass at a waiter's first failed look or at the second.
pub const PAIR: Bounds = Bounds {
    looks_in_time: 1,
    ..PARK
};
/// The same, for clients with many steps.
pub const PAIR_1: Bounds = Bounds {
    preemptions: 1,
    ..PAIR
};
/// And every release makes the lock quick.
pub const PAIR_QUIET: Bounds = Bounds {
    quiet: true,
    ..PAIR
};
/// The same, for clients with many steps.
pub const PAIR_QUIET_1: Bounds = Bounds {
    preemptions: 1,
    ..PAIR_QUIET
};
/// The same, for clients with the most.
pub const PAIR_QUIET_0: Bounds = Bounds {
    preemptions: 0,
    ..PAIR_QUIET
};
/// Waiters take turns, and a turn is over as soon as it began.
pub const PAIR_TURNS: Bounds = Bounds {
    looks_in_time: 1,
    ..TURNS_END
};
/// The same, for clients with many steps.
pub const PAIR_TURNS_1: Bounds = Bounds {
    preemptions: 1,
    ..PAIR_TURNS
};
/// And the head may have no CPU.
pub const TURNS_STARVED: Bounds = Bounds {
    starves: true,
    ..TURNS_END_1
};
/// And every release makes the lock quick.
pub const VISITS_QUIET: Bounds = Bounds {
    visits: true,
    ..QUIET
};
/// Threads try what is worth a try, and spin.
pub const SPIN_TRIES: Bounds = Bounds {
    tries: true,
    ..SPIN
};
/// The same, for clients that switch threads by themselves.
pub const SPIN_0_TRIES: Bounds = Bounds {
    tries: true,
    ..SPIN_0
};
/// Threads try what is worth a try, in clients with many steps.
pub const TRIES_1: Bounds = Bounds {
    tries: true,
    ..PARK_1
};
/// And a turn is over as soon as it began.
pub const TURNS_END: Bounds = Bounds {
    nanoseconds_per_look: TURN_NANOSECONDS,
    ..TURNS
};
/// The same, for clients with many steps.
pub const TURNS_END_1: Bounds = Bounds {
    preemptions: 1,
    ..TURNS_END
};
/// A deadline passes soon.
pub const TURNS_TICK: Bounds = Bounds {
    nanoseconds_per_look: 1,
    ..TURNS
};
/// Somebody gives up waiting for a turn.
pub const TURNS_LEFT: Bounds = Bounds {
    polls: 0,
    ..TURNS_TICK
};
/// And every release makes the lock quick.
pub const QUIET_TURNS: Bounds = Bounds {
    quiet: true,
    ..TURNS_END
};
/// A claim's turn comes at the first look at the clock.
pub const FORK_DUE: Bounds = Bounds {
    forks: true,
    ends: true,
    ..DUE_1
};
/// The same, for clients with few steps.
pub const FORK_DUE_2: Bounds = Bounds {
    preemptions: 2,
    ..FORK_DUE
};
/// Every thread but one disappears, at any moment.
pub const FORK: Bounds = Bounds {
    forks: true,
    ends: true,
    ..PARK_1
};
/// For clients with so many steps that one preemption takes more than half an hour.
pub const FORK_0: Bounds = Bounds {
    preemptions: 0,
    ..FORK
};
/// And a sleeper that looks at its clock finds that it has waited too long.
pub const FORK_IMPATIENT: Bounds = Bounds {
    nanoseconds_per_look: 2_000_000,
    ..FORK
};
/// For clients with few steps.
pub const FORK_2: Bounds = Bounds {
    preemptions: 2,
    ..FORK
};
/// For clients with the fewest.
pub const FORK_3: Bounds = Bounds {
    preemptions: 3,
    ..FORK
};
/// Every release makes the lock quick.
pub const FORK_QUIET: Bounds = Bounds {
    quiet: true,
    ..FORK
};
/// Waiters take turns, which are over as soon as they began.
pub const FORK_TURNS: Bounds = Bounds {
    forks: true,
    ends: true,
    ..TURNS_END_1
};
/// Threads that end leave something behind.
pub const ENDING: Bounds = Bounds {
    ends: true,
    ..PARK_1
};
/// Threads that end leave something behind.
pub const ENDING_2: Bounds = Bounds {
    preemptions: 2,
    ..ENDING
};
/// The same, and threads get the identifiers of ended ones, for clients that switch threads by
/// themselves.
pub const ENDING_REUSED: Bounds = Bounds {
    reuses_ids: true,
    ..ENDING_0
};
/// The same, for clients that switch threads by themselves.
pub const ENDING_0: Bounds = Bounds {
    preemptions: 0,
    ..ENDING
};
/// A deadline passes, for clients with many steps.
pub const TICKING_1: Bounds = Bounds {
    preemptions: 1,
    ..TICKING
};
