//! Counters of delegation locks, where counting takes no time: on simulated machines.
//!
//! Natively nothing is counted or compiled.

/// A counted event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tallied {
    /// A thread began to serve others.
    Nominations,
    /// A server handed the lock over to a thread with a posted section.
    HandOvers,
    /// Threads switched to delegating their sections, or back.
    ModeSwitches,
    /// A server went through all places once.
    Passes,
    /// A server looked at a place.
    Looks,
    /// It ran another thread's section.
    Served,
    /// A server served for a nanosecond.
    Serving,
    /// A thread found its place at a lock.
    Places,
    /// That took a nanosecond.
    Finding,
    /// A thread voted, for or against delegation and servers by node.
    Votes,
    /// That took a nanosecond.
    Voting,
    /// A lock read the clock for the duration of its last section.
    Clocks,
    /// That took a nanosecond.
    Asking,
    /// A thread took back its posted section after its patience ran out.
    Withdrawals,
}

#[cfg_attr(
    not(world = "machine"),
    expect(dead_code, reason = "only simulated machines count")
)]
impl Tallied {
    /// The name by which it is shown.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Nominations => "nominations",
            Self::HandOvers => "hand-overs",
            Self::ModeSwitches => "mode-switches",
            Self::Passes => "passes",
            Self::Looks => "looks",
            Self::Served => "served",
            Self::Serving => "serving-ns",
            Self::Places => "places",
            Self::Finding => "places-ns",
            Self::Votes => "votes",
            Self::Voting => "votes-ns",
            Self::Clocks => "clocks",
            Self::Asking => "clocks-ns",
            Self::Withdrawals => "withdrawals",
        }
    }
}
