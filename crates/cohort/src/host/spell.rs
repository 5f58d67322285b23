//! What has been noticed and holds for a while: that CPUs are scarce, or that sections are long.

use crate::door::{AtomicU64, Order, constructor, now};

/// How long it holds after it was noticed: many time slices, for while a line is long in vain a
/// thread may wait for some of them.
const SPELL_NANOSECONDS: u64 = 100_000_000;

/// Others want the waiters' CPUs if one has lost its own so long after another, and so soon: those
/// that begin at once lose some at once.
const AGAIN_AFTER_NANOSECONDS: u64 = 1_000_000;
const AGAIN_WITHIN_NANOSECONDS: u64 = 20_000_000;

/// Until when something counts as being so that somebody has noticed; 0: it does not.
#[derive(Debug, Default)]
pub(crate) struct Spell(AtomicU64);

impl Spell {
    constructor! {
        /// Nobody has noticed anything.
        pub(crate) fn new() -> Self {
            Self(AtomicU64::new(0))
        }
    }

    /// Whether it lasts; `ended` is called by one thread once it does not any more.
    #[inline]
    pub(crate) fn lasts(&self, ended: impl FnOnce()) -> bool {
        let until = self.0.load(Order::RELAXED);
        if until == 0 {
            return false;
        }
        let still = now() < until;
        if !still
            && self
                .0
                .compare_exchange(until, 0, Order::RELAXED, Order::RELAXED)
                .is_ok()
        {
            ended();
        }
        still
    }

    /// It is so again; whether it was not.
    pub(crate) fn is_noticed(&self) -> bool {
        let until = now() + SPELL_NANOSECONDS;
        let known = self.0.load(Order::RELAXED);
        if known + SPELL_NANOSECONDS / 2 < until {
            self.0.store(until, Order::RELAXED);
        }
        known == 0
    }

    /// It is not so any more.
    pub(crate) fn forget(&self) {
        self.0.store(0, Order::RELAXED);
    }
}

/// Whether others want the CPUs of waiters that [keep](crate::door::keep_cpu) theirs.
#[derive(Debug, Default)]
pub(crate) struct Scarcity {
    spell: Spell,
    /// When the first of them lost its CPU, of late.
    lost: AtomicU64,
}

impl Scarcity {
    constructor! {
        /// Nobody has lost any.
        pub(crate) fn new() -> Self {
            Self {
                spell: Spell::new(),
                lost: AtomicU64::new(0),
            }
        }
    }

    /// Whether it lasts; `ended` is called by one thread once it does not any more.
    #[inline]
    pub(crate) fn lasts(&self, ended: impl FnOnce()) -> bool {
        self.spell.lasts(ended)
    }

    /// Notes that a waiter has lost its CPU; whether that shows what was not known.
    #[cold]
    pub(crate) fn is_noticed(&self) -> bool {
        let now = now();
        let ago = now.saturating_sub(self.lost.load(Order::RELAXED));
        if ago > AGAIN_WITHIN_NANOSECONDS {
            self.lost.store(now, Order::RELAXED);
        }
        (AGAIN_AFTER_NANOSECONDS..=AGAIN_WITHIN_NANOSECONDS).contains(&ago)
            && self.spell.is_noticed()
    }

    /// Whether one of late has lost its CPU.
    #[cfg(test)]
    pub(crate) fn has_begun(&self) -> bool {
        self.lost.load(Order::RELAXED) != 0
    }

    /// It is so.
    #[cold]
    pub(crate) fn expect(&self) {
        self.spell.is_noticed();
    }

    /// Nobody has lost any.
    pub(crate) fn forget(&self) {
        self.spell.forget();
        self.lost.store(0, Order::RELAXED);
    }
}
