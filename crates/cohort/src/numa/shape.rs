//! What a tree of queues is like: at which levels cohorts have queues, how often in a row a cohort
//! has the lock, and how its waiters give up.  A [`Shape`] says it when the lock is compiled,
//! as those of the catalogue are, or when it is made.

use crate::compose::StaticLevel;
use crate::door::{self, Level};
use cohort_raw::recipe::Levels;
use cohort_raw::tree::{Abandonment, Tree};

/// What a tree is like.  Whatever is not said is as usual.
///
/// # Safety
/// Trees are walked by it: [`count`](Self::count) is always the same, and at most [`MOST`](Self::MOST).
pub unsafe trait Shape: Default + Send + Sync + 'static {
    /// How many levels have cohorts, at most: the whole system stands above them.
    const MOST: usize;

    /// How its waiters give up and its holders look for waiters, where they can.
    type Gives: Gives;

    /// How many levels have cohorts.
    fn count(&self) -> usize;

    /// The calling thread's cohort at the level of that number, 0 the smallest.  Never blocks.
    fn cohort(&self, level: usize) -> usize;

    /// How often in a row a cohort has the lock at most, where that is usual.
    fn in_a_row(&self, usual: u32) -> u32;

    /// As the type says.
    fn gives(&self) -> Self::Gives;
}

/// How waiters give up and holders look for waiters (Chabbi et al. 2017 §3 to §5).
pub trait Gives: Copy {
    /// Whether a waiter that gives up leaves the queues that it holds from the top down.
    fn is_naive(self) -> bool;

    /// Whether a thread that gets its node back late gives up though it might have the lock at once.
    fn is_pessimistic(self) -> bool;

    /// How many waiters that have gone a holder passes over before it looks a level higher, if
    /// that is bounded.
    fn peers(self) -> Option<u32>;
}

/// As the paper recommends.
#[derive(Clone, Copy, Debug)]
pub struct Usual;

impl Gives for Usual {
    #[inline(always)]
    fn is_naive(self) -> bool {
        false
    }

    #[inline(always)]
    fn is_pessimistic(self) -> bool {
        false
    }

    #[inline(always)]
    fn peers(self) -> Option<u32> {
        None
    }
}

impl Gives for Abandonment {
    fn is_naive(self) -> bool {
        self.naive
    }

    fn is_pessimistic(self) -> bool {
        self.pessimistic
    }

    fn peers(self) -> Option<u32> {
        self.peers
    }
}

macro_rules! levels {
    ($(($($name:ident $number:literal),*) $count:literal $inline:meta;)+) => {
        // SAFETY: the count is the most.
        $(unsafe impl<$($name: StaticLevel + Default),*> Shape for ($($name,)*) {
            const MOST: usize = $count;

            type Gives = Usual;

            #[inline(always)]
            fn count(&self) -> usize {
                $count
            }

            #[$inline]
            fn cohort(&self, level: usize) -> usize {
                match level {
                    $($number => $name::cohort(),)*
                    _ => 0,
                }
            }

            #[inline(always)]
            fn in_a_row(&self, usual: u32) -> u32 {
                usual
            }

            #[inline(always)]
            fn gives(&self) -> Usual {
                Usual
            }
        })+
    };
}

// That of three levels and more would be in every lock that programs have so.
levels! {
    () 0 inline;
    (A 0) 1 inline;
    (A 0, B 1) 2 inline;
    (A 0, B 1, C 2) 3 inline(never);
    (A 0, B 1, C 2, D 3) 4 inline(never);
}

/// A longer row has no end that anybody sees, and a node's status no room for it.
const LONGEST: u32 = 1 << 30;

/// A shape that is said when the lock is made.
#[derive(Debug)]
pub struct ChosenShape {
    levels: Levels,
    in_a_row: Option<u32>,
    abandonment: Abandonment,
}

impl ChosenShape {
    /// That of a tree, at these levels or, without, at the [usual](Tree::usual_levels) ones; a
    /// cohort has the lock so often in a row, or as often as usual.
    #[must_use]
    pub fn of(tree: &Tree, levels: Option<Levels>, in_a_row: Option<u32>) -> Self {
        Self {
            levels: levels.unwrap_or_else(|| tree.usual_levels()),
            in_a_row: in_a_row.map(|times| times.clamp(1, LONGEST)),
            abandonment: tree.abandonment,
        }
    }
}

impl Default for ChosenShape {
    fn default() -> Self {
        Self::of(&Tree::default(), None, None)
    }
}

// SAFETY: the levels of a shape do not change, and are no more than a recipe has.
unsafe impl Shape for ChosenShape {
    const MOST: usize = cohort_raw::recipe::LEVELS - 1;

    type Gives = Abandonment;

    fn count(&self) -> usize {
        self.levels.len()
    }

    fn cohort(&self, level: usize) -> usize {
        let level: Option<&Level> = self.levels.get(level);
        level.map_or(0, |level| door::cohort(*level))
    }

    fn in_a_row(&self, usual: u32) -> u32 {
        self.in_a_row.unwrap_or(usual)
    }

    fn gives(&self) -> Abandonment {
        self.abandonment
    }
}
