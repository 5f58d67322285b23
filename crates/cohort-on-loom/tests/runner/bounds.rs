//! Exploration bounds of the models.

use crate::checks::Standard;
use crate::locks::basic::futex::TURN_NANOSECONDS;
use crate::locks::door::{Model as Bounds, WaitPolicy};

impl Standard {
    /// The bounds, with fewer preemptions for a lock with many steps.
    pub fn within(self, bounds: Bounds) -> Bounds {
        Bounds {
            preemptions: bounds.preemptions.min(self.preemptions),
            ..bounds
        }
    }
}

/// Waiters spin.
pub const SPIN: Bounds = Bounds::SPINNING;
/// Waiters sleep.
pub const PARK: Bounds = Bounds {
    policy: WaitPolicy::Park,
    ..SPIN
};
/// [`PARK`], and threads count their read locks.
pub const PARK_COUNTED: Bounds = Bounds {
    counts_reads: true,
    ..PARK
};
/// [`PARK`], and each reader biases its lock.
pub const PARK_BIASED: Bounds = Bounds {
    biases: true,
    ..PARK
};
/// [`PARK_BIASED`], and waiters spin.
pub const SPIN_BIASED: Bounds = Bounds {
    biases: true,
    ..SPIN
};
/// [`PARK_BIASED`], and threads count their read locks.
pub const COUNTED_BIASED: Bounds = Bounds {
    counts_reads: true,
    ..PARK_BIASED
};
/// [`PARK_BIASED`], and a reader has deferred at the first look at the clock.
pub const DEFERRED_BIASED: Bounds = Bounds {
    biases: true,
    ..DEFERRED
};
/// [`PARK_BIASED`], for clients with many steps.
pub const PARK_BIASED_1: Bounds = Bounds {
    preemptions: 1,
    ..PARK_BIASED
};
/// [`PARK`], for clients with many steps.
pub const PARK_1: Bounds = Bounds {
    preemptions: 1,
    ..PARK
};
/// [`SPIN`], for the shortest clients.
pub const SPIN_5: Bounds = Bounds {
    preemptions: 5,
    ..SPIN
};
/// [`SPIN`], for clients with many steps.
pub const SPIN_1: Bounds = Bounds {
    preemptions: 1,
    ..SPIN
};
/// [`SPIN`], for clients that switch threads themselves.
pub const SPIN_0: Bounds = Bounds {
    preemptions: 0,
    ..SPIN
};
/// A deadline passes at a spinner's first failed look, at the second or at the third.
pub const SPIN_LATER: Bounds = Bounds {
    looks_in_time: 2,
    ..SPIN
};
/// [`SPIN_LATER`], for clients with many steps.
pub const SPIN_LATER_1: Bounds = Bounds {
    preemptions: 1,
    ..SPIN_LATER
};
/// [`SPIN_LATER`], for the longest clients.
pub const SPIN_LATER_0: Bounds = Bounds {
    preemptions: 0,
    ..SPIN_LATER
};
/// [`PARK`], for clients with few steps.
pub const PARK_3: Bounds = Bounds {
    preemptions: 3,
    ..PARK
};
/// [`PARK`], for the shortest clients.
pub const PARK_4: Bounds = Bounds {
    preemptions: 4,
    ..PARK
};
/// A sleeper that reads the clock has waited too long.
pub const IMPATIENT: Bounds = Bounds {
    nanoseconds_per_look: 2_000_000,
    ..PARK_3
};
/// [`IMPATIENT`], for clients with many steps.
pub const IMPATIENT_2: Bounds = Bounds {
    preemptions: 2,
    ..IMPATIENT
};
/// [`IMPATIENT`], for the longest clients.
pub const IMPATIENT_1: Bounds = Bounds {
    preemptions: 1,
    ..IMPATIENT
};
/// By a reader's second look at the clock, it has deferred to writers for long enough.
pub const DEFERRED: Bounds = Bounds {
    nanoseconds_per_look: 5_000_000,
    ..PARK
};
/// A hand-off slice is due at the first look at the clock.
pub const DUE: Bounds = Bounds {
    nanoseconds_per_look: 500_000,
    ..PARK
};
/// [`DUE`], for clients with many steps.
pub const DUE_1: Bounds = Bounds {
    preemptions: 1,
    ..DUE
};
/// A deadline passes during its thread's sleep or soon after.
pub const TICKING: Bounds = Bounds {
    nanoseconds_per_look: 1,
    ..PARK
};
/// [`TICKING`], for clients with few steps.
pub const TICKING_3: Bounds = Bounds {
    preemptions: 3,
    ..TICKING
};
/// Every release finds the lock long uncontended.
pub const QUIET: Bounds = Bounds {
    quiet: true,
    ..PARK
};
/// [`QUIET`], for clients with many steps.
pub const QUIET_1: Bounds = Bounds {
    preemptions: 1,
    ..QUIET
};
/// Waiters always take hand-off slices.
pub const TURNS: Bounds = Bounds {
    tries: true,
    ..PARK
};
/// Waiters are preempted, long enough apart to count as separate events; for clients with many
/// steps.
pub const SPIN_ABSENT: Bounds = Bounds {
    absent: true,
    nanoseconds_per_look: 2_000_000,
    ..SPIN_1
};
/// All threads in one cache group of a large machine, for clients with many steps.
pub const ONE_GROUP: Bounds = Bounds {
    one_group: true,
    ..PARK_1
};
/// [`ONE_GROUP`], with preempted waiters as in [`SPIN_ABSENT`].
pub const ONE_GROUP_ABSENT: Bounds = Bounds {
    one_group: true,
    ..SPIN_ABSENT
};
/// Threads on the two CPUs of a small machine.
pub const TWO_CPUS: Bounds = Bounds {
    two_cpus: true,
    ..PARK
};
/// [`TWO_CPUS`], for clients with many steps.
pub const TWO_CPUS_1: Bounds = Bounds {
    two_cpus: true,
    ..PARK_1
};
/// Parking waiters are preempted, all at one time; for clients with many steps.
pub const ABSENT_1: Bounds = Bounds {
    absent: true,
    ..PARK_1
};
/// Parking waiters are preempted, long enough apart to count as separate events.
pub const PARK_ABSENT: Bounds = Bounds {
    policy: WaitPolicy::Park,
    ..SPIN_ABSENT
};
/// Waiters count as threads that seldom wait for this lock.
pub const VISITS: Bounds = Bounds {
    visits: true,
    ..PARK
};
/// [`VISITS`], and waiters spin.
pub const SPIN_VISITS: Bounds = Bounds {
    visits: true,
    ..SPIN
};
/// [`VISITS`], and a deadline passes during a sleep or soon after.
pub const VISITS_TICK: Bounds = Bounds {
    visits: true,
    ..TICKING
};
/// [`VISITS`], and a sleeper finds that it has waited too long.
pub const VISITS_IMPATIENT: Bounds = Bounds {
    visits: true,
    ..IMPATIENT_2
};
/// Deadlines pass at a waiter's first failed look or at the second.
pub const PAIR: Bounds = Bounds {
    looks_in_time: 1,
    ..PARK
};
/// [`PAIR`], for clients with many steps.
pub const PAIR_1: Bounds = Bounds {
    preemptions: 1,
    ..PAIR
};
/// [`PAIR`], and every release finds the lock long uncontended.
pub const PAIR_QUIET: Bounds = Bounds {
    quiet: true,
    ..PAIR
};
/// [`PAIR_QUIET`], for clients with many steps.
pub const PAIR_QUIET_1: Bounds = Bounds {
    preemptions: 1,
    ..PAIR_QUIET
};
/// [`PAIR_QUIET`], for the longest clients.
pub const PAIR_QUIET_0: Bounds = Bounds {
    preemptions: 0,
    ..PAIR_QUIET
};
/// [`PAIR`], with hand-off slices that end at once.
pub const PAIR_TURNS: Bounds = Bounds {
    looks_in_time: 1,
    ..TURNS_END
};
/// [`PAIR_TURNS`], for clients with many steps.
pub const PAIR_TURNS_1: Bounds = Bounds {
    preemptions: 1,
    ..PAIR_TURNS
};
/// [`TURNS_END_1`], and the head waiter may have no CPU.
pub const TURNS_STARVED: Bounds = Bounds {
    starves: true,
    ..TURNS_END_1
};
/// [`VISITS`], and every release finds the lock long uncontended.
pub const VISITS_QUIET: Bounds = Bounds {
    visits: true,
    ..QUIET
};
/// Occasional attempts are made each time, and waiters spin.
pub const SPIN_TRIES: Bounds = Bounds {
    tries: true,
    ..SPIN
};
/// [`SPIN_TRIES`], for clients that switch threads themselves.
pub const SPIN_0_TRIES: Bounds = Bounds {
    tries: true,
    ..SPIN_0
};
/// Occasional attempts are made each time; for clients with many steps.
pub const TRIES_1: Bounds = Bounds {
    tries: true,
    ..PARK_1
};
/// [`TURNS`], with hand-off slices that end at once.
pub const TURNS_END: Bounds = Bounds {
    nanoseconds_per_look: TURN_NANOSECONDS,
    ..TURNS
};
/// [`TURNS_END`], for clients with many steps.
pub const TURNS_END_1: Bounds = Bounds {
    preemptions: 1,
    ..TURNS_END
};
/// [`TURNS`], and a deadline passes soon.
pub const TURNS_TICK: Bounds = Bounds {
    nanoseconds_per_look: 1,
    ..TURNS
};
/// A waiter for a hand-off slice times out.
pub const TURNS_LEFT: Bounds = Bounds {
    polls: 0,
    ..TURNS_TICK
};
/// [`TURNS_END`], and every release finds the lock long uncontended.
pub const QUIET_TURNS: Bounds = Bounds {
    quiet: true,
    ..TURNS_END
};
/// [`FORK`], and a claim is due at the first look at the clock.
pub const FORK_DUE: Bounds = Bounds {
    forks: true,
    ends: true,
    ..DUE_1
};
/// [`FORK_DUE`], for clients with few steps.
pub const FORK_DUE_2: Bounds = Bounds {
    preemptions: 2,
    ..FORK_DUE
};
/// All threads but one disappear, at any moment.
pub const FORK: Bounds = Bounds {
    forks: true,
    ends: true,
    ..PARK_1
};
/// [`FORK`], for clients where one preemption takes more than half an hour.
pub const FORK_0: Bounds = Bounds {
    preemptions: 0,
    ..FORK
};
/// [`FORK`], and each reader biases its lock.
pub const FORK_BIASED: Bounds = Bounds {
    biases: true,
    ..FORK
};
/// [`FORK_BIASED`], for clients where one preemption takes a minute.
pub const FORK_BIASED_0: Bounds = Bounds {
    preemptions: 0,
    ..FORK_BIASED
};
/// [`FORK_BIASED`], for clients with few steps.
pub const FORK_BIASED_2: Bounds = Bounds {
    preemptions: 2,
    ..FORK_BIASED
};
/// [`FORK`], and a sleeper that reads the clock has waited too long.
pub const FORK_IMPATIENT: Bounds = Bounds {
    nanoseconds_per_look: 2_000_000,
    ..FORK
};
/// [`FORK`], for clients with few steps.
pub const FORK_2: Bounds = Bounds {
    preemptions: 2,
    ..FORK
};
/// [`FORK`], for the shortest clients.
pub const FORK_3: Bounds = Bounds {
    preemptions: 3,
    ..FORK
};
/// [`FORK`], and every release finds the lock long uncontended.
pub const FORK_QUIET: Bounds = Bounds {
    quiet: true,
    ..FORK
};
/// [`FORK`], with hand-off slices that end at once.
pub const FORK_TURNS: Bounds = Bounds {
    forks: true,
    ends: true,
    ..TURNS_END_1
};
/// Ending threads leave state behind.
pub const ENDING: Bounds = Bounds {
    ends: true,
    ..PARK_1
};
/// [`ENDING`], for clients with few steps.
pub const ENDING_2: Bounds = Bounds {
    preemptions: 2,
    ..ENDING
};
/// [`ENDING_0`], and a thread may get the identifier of an ended one.
pub const ENDING_REUSED: Bounds = Bounds {
    reuses_ids: true,
    ..ENDING_0
};
/// [`ENDING`], for clients that switch threads themselves.
pub const ENDING_0: Bounds = Bounds {
    preemptions: 0,
    ..ENDING
};
/// [`TICKING`], for clients with many steps.
pub const TICKING_1: Bounds = Bounds {
    preemptions: 1,
    ..TICKING
};
