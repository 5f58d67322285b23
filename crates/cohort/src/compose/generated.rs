//! All compositions of a few basic locks, up to four levels deep (Chehab et al. 2021 §4.1,
//! §4.3): 340 types, of which a program has those that it names, and one that compares them has
//! all; and 85 with `near` at the top, where alone it has anything to prefer.
//!
//! [`find`] goes from names to a type: each level is one step of a recursion that the
//! compiler unfolds.

use super::{Chosen, Clof, Shareable, Visitor};
use crate::basic::{Clh, Hemlock, Mcs, Ticket};
use crate::catalogue::Capability;
use crate::numa::Near;
use crate::wait::{MayPark, Parking};
use cohort_raw::{DetectsWaiters, Fair};

/// The most levels of a composition.
pub const LEVELS: usize = 4;

/// Cohorts of each level that have a low lock of their own; others share.
const COHORTS: usize = 64;

/// A basic lock of which compositions are generated.
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
}

impl Basic {
    /// Those that may stand at any level.
    pub const ALL: [Self; 4] = [Self::Ticket, Self::Mcs, Self::Clh, Self::Hemlock];

    /// Those that may stand at the top.
    pub const TOPS: [Self; 5] = [
        Self::Ticket,
        Self::Mcs,
        Self::Clh,
        Self::Hemlock,
        Self::Near,
    ];

    /// The name that is printed.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ticket => "ticket",
            Self::Mcs => "mcs",
            Self::Clh => "clh",
            Self::Hemlock => "hemlock",
            Self::Near => "near",
        }
    }

    /// The lock of that name, or of the one that papers abbreviate it to.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "tkt" => Some(Self::Ticket),
            "hem" => Some(Self::Hemlock),
            name => Self::TOPS.into_iter().find(|lock| lock.name() == name),
        }
    }
}

/// Whether locks, smallest cohort first, may stand so.
#[must_use]
pub fn is_ordered(locks: &[Basic]) -> bool {
    let below = locks.split_last().map_or(&[][..], |(_, below)| below);
    below.iter().all(|lock| Basic::ALL.contains(lock))
}

/// What may stand at any level of a generated composition.
pub trait Part: Shareable + DetectsWaiters + Fair {}

impl<L: Shareable + DetectsWaiters + Fair> Part for L {}

/// What all of them can do, as the compiler has checked for [`Part`].
pub const CAPABILITIES: &[Capability] = &[
    Capability::RawTry,
    Capability::ThreadOblivious,
    Capability::DetectsWaiters,
    Capability::Fair,
    Capability::Inherit,
];

/// All of the locks that may stand at any level, smallest cohort first; those of fewer levels
/// first.
pub fn all() -> impl Iterator<Item = ([Basic; LEVELS], usize)> {
    (1..=LEVELS).flat_map(|levels| {
        let count = Basic::ALL.len();
        (0..count.pow(levels as u32)).map(move |number| {
            let mut locks = [Basic::Ticket; LEVELS];
            let mut rest = number;
            for lock in locks[..levels].iter_mut().rev() {
                *lock = Basic::ALL[rest % count];
                rest /= count;
            }
            (locks, levels)
        })
    })
}

/// Bytes of the composition of these locks, used raw; none if there is no such one.
#[must_use]
pub fn bytes(locks: &[Basic]) -> Option<usize> {
    struct Size;
    impl Visitor for Size {
        type Found = usize;
        fn found<L: Shareable>(self) -> usize {
            size_of::<L>()
        }
    }
    find::<MayPark, _>(locks, Size)
}

/// Tells `visitor` the composition of these locks, smallest cohort first, in the form
/// whose waiters may sleep or not; none if they are too many or none, or may not stand so.
pub fn find<P: Parking, V: Visitor>(locks: &[Basic], visitor: V) -> Option<V::Found> {
    let (top, below) = locks.split_last()?;
    match top {
        Basic::Ticket => Three::on::<P, Ticket<P>, V>(below, visitor),
        Basic::Mcs => Three::on::<P, Mcs<P>, V>(below, visitor),
        Basic::Clh => Three::on::<P, Clh, V>(below, visitor),
        Basic::Hemlock => Three::on::<P, Hemlock<false, P>, V>(below, visitor),
        Basic::Near => Three::on::<P, Near<P>, V>(below, visitor),
    }
}

/// Levels that may still come below one, counted in types.
trait Below {
    /// Goes on below `High`.
    fn on<P: Parking, High: Part, V: Visitor>(locks: &[Basic], visitor: V) -> Option<V::Found>;
}

struct Nothing;
struct More<B>(B);
type Three = More<More<More<Nothing>>>;

impl Below for Nothing {
    fn on<P: Parking, High: Part, V: Visitor>(locks: &[Basic], visitor: V) -> Option<V::Found> {
        locks.is_empty().then(|| visitor.found::<High>())
    }
}

/// `Low` in each cohort, below `High`.
type Step<Low, High> = Clof<Low, High, Chosen, 128, COHORTS>;

impl<B: Below> Below for More<B> {
    fn on<P: Parking, High: Part, V: Visitor>(locks: &[Basic], visitor: V) -> Option<V::Found> {
        let Some((low, below)) = locks.split_last() else {
            return Some(visitor.found::<High>());
        };
        match low {
            Basic::Ticket => B::on::<P, Step<Ticket<P>, High>, V>(below, visitor),
            Basic::Mcs => B::on::<P, Step<Mcs<P>, High>, V>(below, visitor),
            Basic::Clh => B::on::<P, Step<Clh, High>, V>(below, visitor),
            Basic::Hemlock => B::on::<P, Step<Hemlock<false, P>, High>, V>(below, visitor),
            Basic::Near => None,
        }
    }
}
