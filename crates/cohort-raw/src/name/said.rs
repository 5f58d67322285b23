//! A name as data, and its printed form.

use super::mistake::Mistake;
use super::words::{
    ABORTABLE, Assignment, BEST, Build, BypassPolicy, ENDLESS, NAIVE, PEERS, PESSIMISTIC, PREFIX,
    SYSTEM, SYSTEM_LOCKS,
};
use crate::recipe::{Basic, Bound, Level, Levels, Locks, Recipe};
use crate::tree::Tree;
use core::fmt::{self, Write};

/// A parsed lock name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name<'a> {
    /// The named lock.
    pub lock: Lock<'a>,
    /// For a composition, the levels of all locks but the top one, smallest cohort first; `None`
    /// for levels that suit the machine. For a tree, the levels below the whole system; `None` for
    /// its [usual](Tree::usual_levels) ones.
    pub levels: Option<Levels>,
    /// How long a cohort keeps the lock above it, if specified. For a tree, its number bounds a
    /// cohort's consecutive acquisitions.
    pub bound: Option<Bound>,
    /// For a cohort lock, whether threads first try the top lock itself.
    pub bypass: Option<BypassPolicy>,
    /// For a composition, how it is built, if specified.
    pub build: Option<Build>,
    /// For a composition, whether it is abortable.
    pub abortable: bool,
    /// The assignment of threads to cohorts, if not the machine's.
    pub assignment: Option<Assignment>,
}

/// The lock in a name, without its refinements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock<'a> {
    /// The C library's own.
    System,
    /// A lock of the catalogue.
    Listed {
        /// Its index in the catalogue.
        place: usize,
        /// Its printed name.
        name: &'static str,
    },
    /// A composition of these locks.
    Composed(Locks),
    /// A tree of queues that differs from the catalogue's.
    Tree(Tree),
    /// The best composition by tuning.
    Best {
        /// The tuned machine; `None` for the present one.
        machine: Option<&'a str>,
    },
}

/// The forms of a name available to an unchanged program, or to one in C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Servable {
    /// The C library's own locks.
    System,
    /// The catalogue's lock at that index, without refinements.
    Listed(usize),
    /// The catalogue's cohort lock at that index, built by the compiler.
    Refined {
        /// Its index in the catalogue.
        place: usize,
        /// How long a node keeps the lock.
        bound: Bound,
        /// Whether threads first try the top lock itself.
        bypass: Option<BypassPolicy>,
    },
    /// A tree of queues outside the catalogue, built by the compiler.
    Tree {
        /// Its kind and depth.
        tree: Tree,
        /// Its levels below the whole system.
        levels: Levels,
        /// The bound on a cohort's consecutive acquisitions, if not the kind's.
        in_a_row: Option<u32>,
    },
    /// A composition built at run time, with the lock.
    Stacked(Recipe),
    /// A composition built by the compiler.
    Compiled(Recipe),
    /// An abortable composition, also built by the compiler.
    Abortable(Recipe),
}

impl<'a> Name<'a> {
    /// That lock, without refinements.
    #[must_use]
    pub const fn of(lock: Lock<'a>) -> Self {
        Self {
            lock,
            levels: None,
            bound: None,
            bypass: None,
            build: None,
            abortable: false,
            assignment: None,
        }
    }

    /// The composition of these locks at these levels, smallest cohort first; `None` if there are
    /// too many.
    #[must_use]
    pub fn composed(locks: &[Basic], levels: &[Level]) -> Option<Self> {
        Some(Self {
            levels: Some(Levels::of(levels)?),
            ..Self::of(Lock::Composed(Locks::of(locks)?))
        })
    }

    /// For a composition, its locks, smallest cohort first.
    #[must_use]
    pub fn locks(&self) -> Option<&[Basic]> {
        match &self.lock {
            Lock::Composed(locks) => Some(locks),
            _ => None,
        }
    }

    /// Whether all parts fit together.
    pub(super) fn check(&self) -> Result<(), Mistake<'a>> {
        let Some(locks) = self.locks() else {
            return Ok(());
        };
        if self.abortable {
            let stays = |lock: &&Basic| !Basic::ABORTABLE.contains(lock);
            if let Some(lock) = locks.iter().find(stays) {
                return Err(Mistake::Stays(*lock));
            }
            if let Some(build) = self.build {
                return Err(Mistake::NoRefinement(build.name()));
            }
        } else {
            if locks.contains(&Basic::Bo) {
                return Err(Mistake::NoBasic(Basic::Bo.name()));
            }
            if !Basic::are_ordered(locks) {
                return Err(Mistake::BelowTop);
            }
        }
        if let Some(levels) = &self.levels {
            if levels.len() + 1 != locks.len() {
                return Err(Mistake::Depth(locks.len()));
            }
            if !levels.are_ordered() {
                return Err(Mistake::LevelOrder);
            }
        }
        if self.build == Some(Build::Stacked) && !Basic::are_stackable(locks) {
            return Err(Mistake::NotStacked);
        }
        if self.build == Some(Build::Compiled) && !Basic::are_compiled(locks) {
            return Err(Mistake::NotCompiled);
        }
        Ok(())
    }

    /// Checks that its levels exist on every machine.
    ///
    /// # Errors
    /// The first level that exists on simulated machines only.
    pub fn told(&self) -> Result<(), Mistake<'a>> {
        let mut levels = self.levels.iter().flat_map(|levels| levels.iter());
        let untold = levels.find(|level| !level.is_reported());
        untold.map_or(Ok(()), |level| Err(Mistake::Untold(*level)))
    }

    /// The form for an unchanged program: a lock of the catalogue, a tree at its levels or its
    /// [usual](Tree::usual_levels) ones, or a composition at its levels or the
    /// [usual](Levels::usual) ones.
    ///
    /// # Errors
    /// Only measurements can use that name.
    pub fn servable(&self) -> Result<Servable, Mistake<'a>> {
        if let Some(assignment) = self.assignment {
            return Err(Mistake::Assigned(assignment));
        }
        let locks = match &self.lock {
            Lock::System => return Ok(Servable::System),
            Lock::Listed { place, .. } => {
                return Ok(match (self.bound, self.bypass) {
                    (None, None) => Servable::Listed(*place),
                    (bound, bypass) => Servable::Refined {
                        place: *place,
                        bound: bound.unwrap_or(Bound::OF_COHORT_LOCKS),
                        bypass,
                    },
                });
            }
            Lock::Best { .. } => return Err(Mistake::Tuned),
            Lock::Tree(tree) if tree.kind.is_published() => {
                return Err(Mistake::Published(tree.kind));
            }
            Lock::Tree(tree) => {
                return Ok(Servable::Tree {
                    tree: *tree,
                    levels: self.levels.unwrap_or_else(|| tree.usual_levels()),
                    in_a_row: self.bound.map(|bound| bound.hand_offs),
                });
            }
            Lock::Composed(locks) => locks,
        };
        let levels = self.levels.as_deref().unwrap_or_default();
        let made = if self.abortable {
            Recipe::abortable
        } else {
            Recipe::of
        };
        let recipe = made(locks, levels, self.bound).ok_or(Mistake::Depth(locks.len()))?;
        match self.build {
            _ if self.abortable => Ok(Servable::Abortable(recipe)),
            Some(Build::Compiled) => Ok(Servable::Compiled(recipe)),
            _ if recipe.is_stackable() => Ok(Servable::Stacked(recipe)),
            _ => Err(Mistake::NotStacked),
        }
    }
}

impl From<&Recipe> for Name<'_> {
    fn from(recipe: &Recipe) -> Self {
        let composed = Self::composed(recipe.locks(), recipe.levels());
        Self {
            bound: Some(*recipe.bound()),
            ..composed.unwrap_or_else(|| unreachable!("a recipe is no deeper than a name"))
        }
    }
}

/// The printed name.
impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.lock {
            Lock::System => f.write_str(SYSTEM_LOCKS[0])?,
            Lock::Listed { name, .. } => f.write_str(name)?,
            Lock::Tree(Tree { kind, depth, .. }) => write!(f, "{}-{depth}", kind.name())?,
            Lock::Best { machine: None } => write!(f, "{PREFIX}{BEST}")?,
            Lock::Best {
                machine: Some(machine),
            } => write!(f, "{PREFIX}{BEST}@{machine}")?,
            Lock::Composed(locks) => {
                f.write_str(PREFIX)?;
                for (place, lock) in locks.iter().enumerate() {
                    if place > 0 {
                        f.write_char('-')?;
                    }
                    f.write_str(lock.name())?;
                }
            }
        }
        if let Some(levels) = &self.levels {
            f.write_char('@')?;
            for level in levels.iter() {
                write!(f, "{},", level.name())?;
            }
            f.write_str(SYSTEM)?;
        }
        if let Some(bound) = &self.bound {
            write!(f, "{bound}")?;
        }
        if let Lock::Tree(Tree { abandonment, .. }) = &self.lock {
            let words = [
                (abandonment.naive, NAIVE),
                (abandonment.pessimistic, PESSIMISTIC),
            ];
            for (_, word) in words.iter().filter(|(is_so, _)| *is_so) {
                write!(f, "/{word}")?;
            }
            if let Some(peers) = abandonment.peers {
                write!(f, "/{PEERS}{peers}")?;
            }
        }
        if let Some(policy) = self.bypass {
            write!(f, "/{policy}")?;
        }
        if let Some(build) = self.build {
            write!(f, "/{build}")?;
        }
        if self.abortable {
            write!(f, "/{ABORTABLE}")?;
        }
        match self.assignment {
            None => Ok(()),
            Some(assignment) => write!(f, "/{assignment}"),
        }
    }
}

/// Nanoseconds in each printed unit of time, the longest first.
const UNITS: [(&str, u64); 4] = [
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// A bound in a name's notation: `/100/20us`, `/endless`.
impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.hand_offs < u32::MAX {
            write!(f, "/{}", self.hand_offs)?;
        } else if self.nanoseconds == 0 {
            write!(f, "/{ENDLESS}")?;
        }
        if self.nanoseconds == 0 {
            return Ok(());
        }
        let divides = |(_, each): &&(&str, u64)| self.nanoseconds.is_multiple_of(*each);
        let (unit, each) = UNITS.iter().find(divides).unwrap_or(&UNITS[3]);
        write!(f, "/{}{unit}", self.nanoseconds / each)
    }
}
