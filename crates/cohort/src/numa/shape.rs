//! The shape of a tree of queues: its levels with cohorts, the acquisitions in a row of a cohort,
//! and how its waiters give up.  A [`Shape`] is fixed at compile time, as in the catalogue, or at
//! construction.

use crate::compose::StaticLevel;
use crate::door::{self, Level};
use cohort_raw::recipe::Levels;
use cohort_raw::tree::{Abandonment, Tree};
use core::marker::PhantomData;

/// The shape of a tree.  Unset parts have default values.
///
/// # Safety
/// A tree uses it unchecked: [`count`](Self::count) is constant, and at most [`MOST`](Self::MOST).
pub unsafe trait Shape: Default + Send + Sync + 'static {
    /// The largest number of levels with cohorts, below the whole system.
    const MOST: usize;

    /// How waiters give up and holders skip abandoned nodes, if the lock has timeouts.
    type Gives: Gives;

    /// The number of levels with cohorts.
    fn count(&self) -> usize;

    /// The calling thread's cohort at that level, 0 the smallest.  Never blocks.
    fn cohort(&self, level: usize) -> usize;

    /// The bound on a cohort's acquisitions in a row; `usual` is the default.
    fn in_a_row(&self, usual: u32) -> u32;

    /// The give-up variant.
    fn gives(&self) -> Self::Gives;
}

/// How waiters give up and holders skip abandoned nodes (Chabbi et al. 2017 §3 to §5).
pub trait Gives: Copy {
    /// Whether a waiter that gives up leaves its held queues from the top down.
    fn is_naive(self) -> bool;

    /// Whether a thread gives up without a last try if its cohort's node returns after the
    /// deadline.
    fn is_pessimistic(self) -> bool;

    /// How many abandoned nodes a holder skips before it goes a level up; `None`: all.
    fn peers(self) -> Option<u32>;
}

/// The variant that the paper recommends.
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

// Shared code: with three or more levels, inlining would repeat it in every lock.
levels! {
    () 0 inline;
    (A 0) 1 inline;
    (A 0, B 1) 2 inline;
    (A 0, B 1, C 2) 3 inline(never);
    (A 0, B 1, C 2, D 3) 4 inline(never);
}

/// Longer rows are in effect endless, and exceed a node's status.
const LONGEST: u32 = 1 << 30;

/// A shape chosen at construction.
#[derive(Clone, Copy, Debug)]
pub struct ChosenShape {
    levels: Levels,
    in_a_row: Option<u32>,
    abandonment: Abandonment,
}

impl ChosenShape {
    /// The shape of `tree`, at these levels or the [usual](Tree::usual_levels) ones, with this or
    /// the default bound on a cohort's acquisitions in a row.
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

// SAFETY: the levels of a shape are constant, and no more than a recipe has.
unsafe impl Shape for ChosenShape {
    const MOST: usize = cohort_raw::recipe::TREE_LEVELS - 1;

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

/// A source of a tree's shape.
pub trait ShapeText: Send + Sync + 'static {
    /// The shape of trees that are made without arguments.
    fn shape() -> ChosenShape;
}

/// The shape of `T`, for hosts, which make locks without arguments.
pub struct TextShape<T> {
    shape: ChosenShape,
    text: PhantomData<fn() -> T>,
}

impl<T: ShapeText> Default for TextShape<T> {
    fn default() -> Self {
        Self {
            shape: T::shape(),
            text: PhantomData,
        }
    }
}

// SAFETY: as the chosen shape.
unsafe impl<T: ShapeText> Shape for TextShape<T> {
    const MOST: usize = ChosenShape::MOST;

    type Gives = Abandonment;

    fn count(&self) -> usize {
        self.shape.count()
    }

    fn cohort(&self, level: usize) -> usize {
        self.shape.cohort(level)
    }

    fn in_a_row(&self, usual: u32) -> u32 {
        self.shape.in_a_row(usual)
    }

    fn gives(&self) -> Abandonment {
        self.shape.gives()
    }
}
