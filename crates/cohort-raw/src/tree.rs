//! What a tree of queues is, as data: its kind, how many levels it has, and how its waiters give up
//! (Chabbi, Fagan and Mellor-Crummey 2015; Chabbi and Mellor-Crummey 2016; Chabbi et al. 2017).

use crate::recipe::{LEVELS, Level, Levels};

/// What sort of a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// `hmcs-…`: every thread begins at its smallest cohort.
    #[default]
    Hmcs,
    /// `hmcs-fast-…`: as `hmcs`; a thread that finds the system's queue empty enters that one alone.
    HmcsFast,
    /// `ahmcs-…`: a thread begins where it has met others of late.
    Ahmcs,
    /// `hmcs-t-…`: as `hmcs`, and waiters can give up.
    HmcsT,
    /// `ahmcs-t-…`: as `ahmcs`, and waiters can give up.
    AhmcsT,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Hmcs,
        Self::HmcsFast,
        Self::Ahmcs,
        Self::HmcsT,
        Self::AhmcsT,
    ];

    /// What its names begin with.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hmcs => "hmcs",
            Self::HmcsFast => "hmcs-fast",
            Self::Ahmcs => "ahmcs",
            Self::HmcsT => "hmcs-t",
            Self::AhmcsT => "ahmcs-t",
        }
    }

    /// Whether its waiters can give up.
    #[must_use]
    pub const fn gives_up(self) -> bool {
        matches!(self, Self::HmcsT | Self::AhmcsT)
    }
}

/// How waiters give up, and what holders do for those that have, if not as usual (Chabbi et al. 2017
/// §3 to §5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abandonment {
    /// A waiter that gives up leaves the queues that it holds from the top down, each to the first
    /// waiter there: what the paper compares with (§4, §5).
    pub naive: bool,
    /// A thread that has waited for its cohort's node, and gets it after its deadline, gives up
    /// rather than try to have the lock at once (§3).
    pub pessimistic: bool,
    /// After so many waiters that have gone, at least one, a holder looks for one a level higher
    /// first (§5).
    pub peers: Option<u32>,
}

/// A tree, without the names of its levels and how often in a row a cohort has the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tree {
    /// Its kind.
    pub kind: Kind,
    /// How many levels have queues, the whole system's among them: 1 to [`LEVELS`].
    pub depth: u8,
    /// How its waiters give up, if they can.
    pub abandonment: Abandonment,
}

impl Default for Tree {
    /// One queue.
    fn default() -> Self {
        Self {
            kind: Kind::Hmcs,
            depth: 1,
            abandonment: Abandonment::default(),
        }
    }
}

impl Tree {
    /// The levels below the whole system that a tree of so many has unless others are named: those
    /// of the catalogue's.
    #[must_use]
    pub fn usual_levels(&self) -> Levels {
        const BELOW: [&[Level]; LEVELS] = [
            &[],
            &[Level::Numa],
            &[Level::Core, Level::Numa],
            &[Level::Core, Level::CacheGroup, Level::Numa],
        ];
        let below = usize::from(self.depth).saturating_sub(1);
        let levels = BELOW.get(below).copied().unwrap_or_default();
        Levels::of(levels).unwrap_or_else(|| unreachable!("a tree is no deeper than a composition"))
    }
}
