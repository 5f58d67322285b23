//! Virtual time in integers, so that every host computes the same values.

/// Sixteenths of a cycle of the machine's clock.
pub(crate) type Ticks = u64;

/// Sixteenths in a cycle.
pub(crate) const CYCLE: Ticks = 16;

/// A time that is never reached.
pub(crate) const NEVER: Ticks = Ticks::MAX;

/// A machine's clock rate, for turning ticks into nanoseconds and back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate {
    megahertz: u64,
}

impl Rate {
    pub(crate) const fn new(megahertz: u64) -> Self {
        Self { megahertz }
    }

    /// Nanoseconds, rounded down.
    pub(crate) const fn nanoseconds(self, ticks: Ticks) -> u64 {
        let per_microsecond = self.megahertz * CYCLE;
        let (whole, rest) = (ticks / per_microsecond, ticks % per_microsecond);
        whole * 1000 + rest * 1000 / per_microsecond
    }

    /// Ticks, rounded up; [`NEVER`] if too far away.
    pub(crate) const fn ticks(self, nanoseconds: u64) -> Ticks {
        let per_microsecond = self.megahertz * CYCLE;
        let (whole, rest) = (nanoseconds / 1000, nanoseconds % 1000);
        match whole.checked_mul(per_microsecond) {
            Some(ticks) => ticks.saturating_add((rest * per_microsecond).div_ceil(1000)),
            None => NEVER,
        }
    }
}
