//! The words in names, beside those of locks and levels.

use crate::list;
use core::fmt;

/// The prefix of compositions.
pub const PREFIX: &str = "clof:";

/// The level of all CPUs.
pub const SYSTEM: &str = "system";

/// The accepted names of the C library's own locks, the printed one first.
pub const SYSTEM_LOCKS: [&str; 2] = ["system", "posix"];

/// The placeholder for the locks of the best composition.
pub(super) const BEST: &str = "best";

/// The refinement for unbounded hand-offs.
pub(super) const ENDLESS: &str = "endless";

/// The refinement for an abortable composition.
pub(super) const ABORTABLE: &str = "abortable";

/// The refinements for timeouts in a tree of queues; a number follows the last.
pub(super) const NAIVE: &str = "naive";
pub(super) const PESSIMISTIC: &str = "pessimistic";
pub(super) const PEERS: &str = "peers-";

/// When threads of a composition try the top lock before their cohort (Dice et al. 2015 §5.1.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BypassPolicy {
    /// At each acquisition.
    Always,
    /// More rarely after failures.
    Adaptive,
}

/// How a composition is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    /// From its recipe, at run time: the default for programs.
    Stacked,
    /// By the compiler: the default for measurements.
    Compiled,
}

/// Assignments of CPUs to cohorts regardless of memory (Dice et al. 2015 §6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assignment {
    /// Random.
    Random,
    /// Random, with cohorts of equal size.
    Balanced,
    /// Neighbours in different cohorts.
    Pathological,
}

/// Declares the word for each value of a type.
macro_rules! words {
    ($($type:ident { $($value:ident = $word:literal),+ })+) => {
        $(impl $type {
            /// The refinement for it.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $word),+
                }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        })+
    };
}
words! {
    BypassPolicy { Always = "bypass", Adaptive = "adaptive" }
    Build { Stacked = "stacked", Compiled = "compiled" }
    Assignment { Random = "random", Balanced = "balanced", Pathological = "pathological" }
}

/// The possible refinements of a name, except bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refinement {
    Assignment(Assignment),
    Bypass(BypassPolicy),
    Build(Build),
    Abortable,
    Endless,
}

impl Refinement {
    pub(super) const ALL: [Self; 9] = [
        Self::Assignment(Assignment::Random),
        Self::Assignment(Assignment::Balanced),
        Self::Assignment(Assignment::Pathological),
        Self::Bypass(BypassPolicy::Always),
        Self::Bypass(BypassPolicy::Adaptive),
        Self::Build(Build::Stacked),
        Self::Build(Build::Compiled),
        Self::Abortable,
        Self::Endless,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Assignment(assignment) => assignment.name(),
            Self::Bypass(policy) => policy.name(),
            Self::Build(build) => build.name(),
            Self::Abortable => ABORTABLE,
            Self::Endless => ENDLESS,
        }
    }

    pub(super) fn named(word: &str) -> Option<Self> {
        const LIST: &str = "random\nbalanced\npathological\nbypass\nadaptive\nstacked\ncompiled\n\
                            abortable\nendless";
        Self::ALL.get(list::place(LIST, word)?).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refinement_is_called_by_its_name() {
        for refinement in Refinement::ALL {
            assert_eq!(Refinement::named(refinement.name()), Some(refinement));
        }
        assert_eq!(Refinement::named(""), None);
    }
}
