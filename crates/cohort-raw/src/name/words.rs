//! The words of which names are made, beside those of locks and levels.

use crate::list;
use core::fmt;

/// What a name begins with that describes a composition.
pub const PREFIX: &str = "clof:";

/// The level of all CPUs.
pub const SYSTEM: &str = "system";

/// The C library's own locks, under the names that are accepted for them, the printed one first.
pub const SYSTEM_LOCKS: [&str; 2] = ["system", "posix"];

/// What stands for the locks of the best composition.
pub(super) const BEST: &str = "best";

/// The refinement that bounds no hand-offs.
pub(super) const ENDLESS: &str = "endless";

/// The refinement that asks for waiters that can give up.
pub(super) const ABORTABLE: &str = "abortable";

/// The refinements of a tree of queues that say how its waiters give up; a number follows the last.
pub(super) const NAIVE: &str = "naive";
pub(super) const PESSIMISTIC: &str = "pessimistic";
pub(super) const PEERS: &str = "peers-";

/// When threads try the top lock of a composition before they go through their cohort (Dice
/// et al. 2015 §5.1.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BypassPolicy {
    /// At each acquisition.
    Always,
    /// More rarely while it is in vain.
    Adaptive,
}

/// How a composition comes to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    /// By its recipe, when it is made: what programs get unless they ask for the other.
    Stacked,
    /// By the compiler: what is measured unless it is said.
    Compiled,
}

/// Ways to put CPUs into cohorts that have nothing to do with memory (Dice et al. 2015 §6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assignment {
    /// By chance.
    Random,
    /// By chance, as many in each.
    Balanced,
    /// Neighbours in different cohorts.
    Pathological,
}

/// Declares what each value of a type is called in names.
macro_rules! words {
    ($($type:ident { $($value:ident = $word:literal),+ })+) => {
        $(impl $type {
            /// The refinement that asks for it.
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

/// What can follow a name, but for a bound.
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
