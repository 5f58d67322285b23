//! A composition as data: its basic locks, their levels, and how long a cohort keeps the lock above
//! (Chehab et al. 2021 §4.1).

use crate::list;
use core::fmt;
use core::ops::Deref;

/// Greatest number of locks in a composition.
pub const LEVELS: usize = 4;

/// Greatest number of levels of a tree of queues, the system's included.
pub const TREE_LEVELS: usize = 5;

/// A level of a machine's hierarchy, at which threads are in cohorts (Chehab et al. 2021 §3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Hardware threads of one core.
    Core,
    /// CPUs that share their last cache.
    CacheGroup,
    /// CPUs that share their nearest memory.
    Numa,
    /// CPUs of one package.
    Package,
    /// CPUs of one blade, in machines with several.
    Blade,
}

impl Level {
    /// All of them, smallest cohort first.
    pub const ALL: [Self; 5] = [
        Self::Core,
        Self::CacheGroup,
        Self::Numa,
        Self::Package,
        Self::Blade,
    ];

    /// The levels reported by a kernel or a file of cohorts. Blades exist on simulated machines
    /// only: elsewhere, one blade is the whole machine.
    pub const REPORTED: [Self; 4] = [Self::Core, Self::CacheGroup, Self::Numa, Self::Package];

    /// Whether it is one of [`REPORTED`](Self::REPORTED).
    #[must_use]
    pub const fn is_reported(self) -> bool {
        !matches!(self, Self::Blade)
    }

    /// The level's name (Chehab et al. 2021 §3.1).
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::CacheGroup => "cache",
            Self::Numa => "numa",
            Self::Package => "package",
            Self::Blade => "blade",
        }
    }

    /// The level of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let place = list::place("core\ncache\nnuma\npackage\nblade", name)?;
        Self::ALL.get(place).copied()
    }
}

/// A basic lock for compositions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Basic {
    /// `ticket`
    #[default]
    Ticket,
    /// `mcs`
    Mcs,
    /// `clh`
    Clh,
    /// `hemlock`
    Hemlock,
    /// `near`; as the top lock only
    Near,
    /// `bo`; in abortable compositions only
    Bo,
    /// `k42`; in compositions built at run time only
    K42,
    /// `hemlock-ctr`; in compositions built at run time only
    HemlockCtr,
}

impl Basic {
    /// The locks allowed at any level, in each build.
    pub const ALL: [Self; 4] = [Self::Ticket, Self::Mcs, Self::Clh, Self::Hemlock];

    /// The locks allowed at the top.
    pub const TOPS: [Self; 5] = [
        Self::Ticket,
        Self::Mcs,
        Self::Clh,
        Self::Hemlock,
        Self::Near,
    ];

    /// The locks allowed in compositions built at run time.
    pub const STACKED: [Self; 6] = [
        Self::Ticket,
        Self::Mcs,
        Self::Clh,
        Self::Hemlock,
        Self::K42,
        Self::HemlockCtr,
    ];

    /// The locks with an abortable form that detects committed waiters.
    pub const ABORTABLE: [Self; 3] = [Self::Bo, Self::Clh, Self::Mcs];

    const KNOWN: [Self; 8] = [
        Self::Ticket,
        Self::Mcs,
        Self::Clh,
        Self::Hemlock,
        Self::Near,
        Self::Bo,
        Self::K42,
        Self::HemlockCtr,
    ];

    /// The printed name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ticket => "ticket",
            Self::Mcs => "mcs",
            Self::Clh => "clh",
            Self::Hemlock => "hemlock",
            Self::Near => "near",
            Self::Bo => "bo",
            Self::K42 => "k42",
            Self::HemlockCtr => "hemlock_ctr",
        }
    }

    /// The lock of that name, or of its abbreviation in papers.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let place = list::place(
            "ticket tkt\nmcs\nclh\nhemlock hem\nnear\nbo\nk42\nhemlock_ctr",
            name,
        )?;
        Self::KNOWN.get(place).copied()
    }

    /// Whether a composition without timeouts may have these locks, smallest cohort first.
    #[must_use]
    pub fn are_ordered(locks: &[Self]) -> bool {
        Self::are_stackable(locks) || Self::are_compiled(locks)
    }

    /// Whether a composition of these locks can be built at run time.
    #[must_use]
    pub fn are_stackable(locks: &[Self]) -> bool {
        locks.iter().all(|lock| Self::STACKED.contains(lock))
    }

    /// Whether the compiler builds a composition of these locks, if not abortable.
    #[must_use]
    pub fn are_compiled(locks: &[Self]) -> bool {
        locks.split_last().is_some_and(|(top, below)| {
            Self::TOPS.contains(top) && below.iter().all(|lock| Self::ALL.contains(lock))
        })
    }
}

/// How long a cohort may keep the lock above it while it has waiters (Dice et al. 2015 §2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Greatest number of consecutive hand-offs.
    pub hand_offs: u32,
    /// Nanoseconds after which no further hand-off begins; 0: no such bound. Reading the time
    /// lengthens each hand-off by some ten nanoseconds.
    pub nanoseconds: u64,
}

impl Bound {
    /// The usual bound of a composition: 128 hand-offs (Chehab et al. 2021 §4.1).
    pub const USUAL: Self = Self::hand_offs(128);

    /// The usual bound of the catalogue's cohort locks: 100 hand-offs (Dice et al. 2015 §2.2).
    pub const OF_COHORT_LOCKS: Self = Self::hand_offs(100);

    /// No bound: a cohort keeps the lock above it while it has waiters, for up to some four
    /// thousand million hand-offs.
    pub const ENDLESS: Self = Self::hand_offs(u32::MAX);

    /// That many hand-offs, without a bound in time.
    #[must_use]
    pub const fn hand_offs(hand_offs: u32) -> Self {
        Self {
            hand_offs,
            nanoseconds: 0,
        }
    }
}

/// Up to `N` values, in their order.
#[derive(Clone, Copy)]
pub struct Few<T, const N: usize> {
    /// Values beyond `length` are meaningless.
    values: [T; N],
    length: u8,
}

/// The locks of a composition, smallest cohort first.
pub type Locks = Few<Basic, LEVELS>;

/// The levels of a composition's locks but the top one, or of a tree's queues but the system's,
/// smallest cohort first.
pub type Levels = Few<Level, { TREE_LEVELS - 1 }>;

impl<T: Copy, const N: usize> Few<T, N> {
    /// An empty list; `filler` is never visible.
    pub(crate) const fn new(filler: T) -> Self {
        Self {
            values: [filler; N],
            length: 0,
        }
    }

    /// Appends a value; `None` if there is no room.
    pub(crate) fn push(&mut self, value: T) -> Option<()> {
        *self.values.get_mut(usize::from(self.length))? = value;
        self.length += 1;
        Some(())
    }

    fn collect(values: &[T], filler: T) -> Option<Self> {
        let mut few = Self::new(filler);
        few.values.get_mut(..values.len())?.copy_from_slice(values);
        few.length = values.len() as u8;
        Some(few)
    }
}

impl Locks {
    /// These locks; `None` if there are too many.
    #[must_use]
    pub fn of(locks: &[Basic]) -> Option<Self> {
        Self::collect(locks, Basic::Ticket)
    }
}

impl Levels {
    /// These levels; `None` if there are too many.
    #[must_use]
    pub fn of(levels: &[Level]) -> Option<Self> {
        Self::collect(levels, Level::Package)
    }

    /// Levels that suit most machines, for that many locks below the top one (Chehab et al. 2021
    /// §5.2.1).
    #[must_use]
    pub fn usual(below: usize) -> Option<Self> {
        const ALL: [Level; LEVELS - 1] = [Level::Core, Level::CacheGroup, Level::Numa];
        Self::of(ALL.get(ALL.len().checked_sub(below)?..)?)
    }

    /// Whether each level has larger cohorts than the one before it.
    #[must_use]
    pub fn are_ordered(&self) -> bool {
        self.is_sorted_by(|one, next| (*one as u8) < *next as u8)
    }
}

impl<T, const N: usize> Deref for Few<T, N> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.values[..usize::from(self.length).min(N)]
    }
}

impl<T: PartialEq, const N: usize> PartialEq for Few<T, N> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Eq, const N: usize> Eq for Few<T, N> {}

impl<T: fmt::Debug, const N: usize> fmt::Debug for Few<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// A complete description of a composition, except whether it is abortable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recipe {
    locks: Locks,
    levels: Levels,
    bound: Bound,
}

impl Recipe {
    /// These locks at these levels, smallest cohort first, the top lock last; `None` if they do not
    /// fit together. Without levels: the [usual](Levels::usual) ones.
    #[must_use]
    pub fn of(locks: &[Basic], levels: &[Level], bound: Option<Bound>) -> Option<Self> {
        Basic::are_ordered(locks).then(|| Self::made(locks, levels, bound))?
    }

    /// The same, for an abortable composition.
    #[must_use]
    pub fn abortable(locks: &[Basic], levels: &[Level], bound: Option<Bound>) -> Option<Self> {
        let gives_up = |lock: &Basic| Basic::ABORTABLE.contains(lock);
        locks
            .iter()
            .all(gives_up)
            .then(|| Self::made(locks, levels, bound))?
    }

    fn made(locks: &[Basic], levels: &[Level], bound: Option<Bound>) -> Option<Self> {
        let below = locks.len().checked_sub(1)?;
        let levels = if levels.is_empty() {
            Levels::usual(below)?
        } else {
            Levels::of(levels)?
        };
        if levels.len() != below {
            return None;
        }
        Some(Self {
            locks: Locks::of(locks)?,
            levels,
            bound: bound.unwrap_or(Bound::USUAL),
        })
    }

    /// Its locks, smallest cohort first.
    #[must_use]
    pub fn locks(&self) -> &[Basic] {
        &self.locks
    }

    /// The levels of its locks but the top one, smallest cohort first.
    #[must_use]
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// How long a cohort keeps the lock above it.
    #[must_use]
    pub fn bound(&self) -> &Bound {
        &self.bound
    }

    /// Whether it can be built at run time, if not abortable.
    #[must_use]
    pub fn is_stackable(&self) -> bool {
        Basic::are_stackable(&self.locks)
    }

    /// The recipe in two words, for storage in atoms.
    #[must_use]
    pub fn to_words(&self) -> [u64; 2] {
        let mut word = self.locks.len() as u64;
        for lock in self.locks.values {
            word = word << 3 | lock as u64;
        }
        for level in self.levels.values {
            word = word << 3 | level as u64;
        }
        [
            word << 32 | u64::from(self.bound.hand_offs),
            self.bound.nanoseconds,
        ]
    }

    /// The recipe of [`to_words`](Self::to_words).
    #[must_use]
    pub fn of_words([mut word, nanoseconds]: [u64; 2]) -> Self {
        let bound = Bound {
            hand_offs: word as u32,
            nanoseconds,
        };
        word >>= 32;
        let mut next = || {
            let three = word & 7;
            word >>= 3;
            three as usize
        };
        let mut levels = [Level::Package; TREE_LEVELS - 1];
        for level in levels.iter_mut().rev() {
            *level = Level::ALL[next()];
        }
        let mut locks = [Basic::Ticket; LEVELS];
        for lock in locks.iter_mut().rev() {
            *lock = Basic::KNOWN[next()];
        }
        let depth = (word as u8).clamp(1, LEVELS as u8);
        Self {
            locks: Few {
                values: locks,
                length: depth,
            },
            levels: Few {
                values: levels,
                length: depth - 1,
            },
            bound,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_called_by_its_name() {
        for level in Level::ALL {
            assert_eq!(Level::named(level.name()), Some(level));
        }
        for lock in Basic::KNOWN {
            assert_eq!(Basic::named(lock.name()), Some(lock));
        }
        assert_eq!(Basic::named("tkt"), Some(Basic::Ticket));
        assert_eq!(Basic::named("hem"), Some(Basic::Hemlock));
        assert_eq!((Basic::named(""), Level::named("system")), (None, None));
    }
}
