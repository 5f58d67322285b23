//! Memory orders with names.

use core::sync::atomic::Ordering;

/// A memory order with a name, so that the mutation suite can weaken it in a
/// checker's build and see the checker fail.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    /// Its name, unique among all locks; `None` if nothing weaker exists.
    pub name: Option<&'static str>,
    /// The order the shipped code uses.
    pub strength: Strength,
}

/// The five memory orders.  A type of our own because the standard one cannot be
/// matched in a `const` and prints less plainly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strength {
    /// No order beyond the atom's own.
    Relaxed,
    /// What the writer did before is seen after.
    Acquire,
    /// What was done before is seen by the thread that acquires.
    Release,
    /// Both, for a read-modify-write.
    AcqRel,
    /// One total order; for fences only, since loom treats other accesses as
    /// weaker.
    SeqCst,
}

impl Strength {
    /// The standard library's name for it.
    #[inline(always)]
    #[must_use]
    pub const fn ordering(self) -> Ordering {
        match self {
            Self::Relaxed => Ordering::Relaxed,
            Self::Acquire => Ordering::Acquire,
            Self::Release => Ordering::Release,
            Self::AcqRel => Ordering::AcqRel,
            Self::SeqCst => Ordering::SeqCst,
        }
    }

    /// The orders one step weaker: each is a mutant that a checker must find.
    #[must_use]
    pub const fn weaker(self) -> &'static [Strength] {
        match self {
            Self::Relaxed => &[],
            Self::Acquire | Self::Release => &[Self::Relaxed],
            Self::AcqRel => &[Self::Acquire, Self::Release],
            Self::SeqCst => &[Self::AcqRel],
        }
    }

    /// Parses an argument of the mutation runner: `relaxed`, `acquire`, `release`,
    /// `acqrel` or `seqcst`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "relaxed" => Self::Relaxed,
            "acquire" => Self::Acquire,
            "release" => Self::Release,
            "acqrel" => Self::AcqRel,
            "seqcst" => Self::SeqCst,
            _ => return None,
        })
    }
}

impl Order {
    /// For accesses that carry no order at all; there is nothing to weaken.
    pub const RELAXED: Self = Self {
        name: None,
        strength: Strength::Relaxed,
    };

    /// A named order; use the `orders!` macro.
    #[must_use]
    pub const fn named(name: &'static str, strength: Strength) -> Self {
        Self {
            name: Some(name),
            strength,
        }
    }
}

/// A file's named orders: its module, and the orders.
#[cfg(checker)]
#[linkme::distributed_slice]
pub static ORDERS: [(&str, &[Order])];

/// Declares the named orders of one file, each with its reason, and lists them for the
/// mutation suite.
macro_rules! orders {
    ($($(#[doc = $why:literal])+ $name:ident = $strength:ident;)+) => {
        $($(#[doc = $why])+ const $name: $crate::door::Order =
            $crate::door::Order::named(stringify!($name), $crate::door::Strength::$strength);)+

        const _: () = {
            #[cfg(checker)]
            #[linkme::distributed_slice($crate::door::ORDERS)]
            static HERE: (&str, &[$crate::door::Order]) = (module_path!(), &[$($name),+]);
        };
    };
}
pub(crate) use orders;
