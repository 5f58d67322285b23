//! A tree of queues as data: its kind, its number of levels, and how its waiters time out (Chabbi,
//! Fagan and Mellor-Crummey 2015; Chabbi and Mellor-Crummey 2016; Chabbi et al. 2017).

use crate::recipe::{Level, Levels, TREE_LEVELS};

/// A kind of tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TreeKind {
    /// `hmcs-…`: every thread begins at its smallest cohort.
    #[default]
    Hmcs,
    /// `hmcs-fast-…`: as `hmcs`; a thread that finds the system's queue empty enters only that.
    HmcsFast,
    /// `ahmcs-…`: a thread begins at the level of recent contention.
    Ahmcs,
    /// `hmcs-t-…`: as `hmcs`, and abortable.
    HmcsT,
    /// `hmcs-t-published-…`: as `hmcs-t`, as printed; for comparison.
    HmcsTPublished,
    /// `ahmcs-t-…`: as `ahmcs`, and abortable.
    AhmcsT,
}

/// The former name of [`TreeKind`].
#[deprecated(since = "0.1.0", note = "renamed to `TreeKind`")]
pub type Kind = TreeKind;

impl TreeKind {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Hmcs,
        Self::HmcsFast,
        Self::Ahmcs,
        Self::HmcsT,
        Self::HmcsTPublished,
        Self::AhmcsT,
    ];

    /// The prefix of its names.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hmcs => "hmcs",
            Self::HmcsFast => "hmcs-fast",
            Self::Ahmcs => "ahmcs",
            Self::HmcsT => "hmcs-t",
            Self::HmcsTPublished => "hmcs-t-published",
            Self::AhmcsT => "ahmcs-t",
        }
    }

    /// Whether its waiters can give up in several ways.
    #[must_use]
    pub const fn gives_up(self) -> bool {
        matches!(self, Self::HmcsT | Self::AhmcsT)
    }

    /// Whether it is for comparisons only.
    #[must_use]
    pub const fn is_published(self) -> bool {
        matches!(self, Self::HmcsTPublished)
    }
}

/// How waiters time out, and how holders handle abandoned nodes, where not as usual (Chabbi et al.
/// 2017 §3 to §5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abandonment {
    /// A waiter that times out leaves its queues from the top down, each to the first waiter there:
    /// the paper's baseline (§4, §5).
    pub naive: bool,
    /// A thread that waited for its cohort's node, and gets it after its deadline, times out
    /// without a last try for the lock (§3).
    pub pessimistic: bool,
    /// After that many abandoned nodes, at least one, a holder looks for a waiter one level higher
    /// first (§5).
    pub peers: Option<u32>,
}

/// A tree, without its levels' names and its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tree {
    /// Its kind.
    pub kind: TreeKind,
    /// How many levels have queues, including the whole system's: 1 to
    /// [`TREE_LEVELS`].
    pub depth: u8,
    /// How its waiters time out, if they can.
    pub abandonment: Abandonment,
}

impl Default for Tree {
    /// One queue.
    fn default() -> Self {
        Self {
            kind: TreeKind::Hmcs,
            depth: 1,
            abandonment: Abandonment::default(),
        }
    }
}

impl Tree {
    /// The default levels below the whole system of a tree with that many levels: the catalogue's.
    #[must_use]
    pub fn usual_levels(&self) -> Levels {
        const BELOW: [&[Level]; TREE_LEVELS] = [
            &[],
            &[Level::Numa],
            &[Level::Core, Level::Numa],
            &[Level::Core, Level::CacheGroup, Level::Numa],
            &[Level::Core, Level::CacheGroup, Level::Numa, Level::Package],
        ];
        let below = usize::from(self.depth).saturating_sub(1);
        let levels = BELOW.get(below).copied().unwrap_or_default();
        Levels::of(levels)
            .unwrap_or_else(|| unreachable!("a tree has no more levels than a list of them"))
    }
}
