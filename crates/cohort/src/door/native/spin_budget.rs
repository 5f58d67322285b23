//! A thread's budget for spinning before it sleeps.

use core::cell::Cell;

/// Spin time of a thread with a budget. A sleep and its wake-up on an awake CPU should take less;
/// chosen so, not measured.
const BUDGET_NANOSECONDS: u64 = 8_000;

/// Spin time of an occasional probe without a budget. The other thread's CPU may have to be
/// woken, and of two threads that sleep in turns, neither finds the other awake before that; chosen
/// so too.
const PROBE_NANOSECONDS: u64 = 50_000;

/// Maximum budget: threads that cooperate well waste a spin or two when their CPUs become
/// contended.
const MOST: i8 = 6;

/// Exhausted budget: a new thread has enough for two failed spins.
const NONE: i8 = -2;

/// A thread without a budget spins in one of so many waits at first; half as often after each
/// failure.
const ONE_IN: u16 = 64;

/// Greatest number of halvings: failed probes then cost 50 microseconds over 4096 waits, 12
/// nanoseconds each.
const HALVINGS: u8 = 6;

/// A thread's experience; all zero at first.
#[derive(Debug)]
#[repr(C)]
pub struct SpinBudget {
    level: Cell<i8>,
    /// How often [`ONE_IN`] has been halved.
    halvings: Cell<u8>,
    /// Waits until the next probe.
    left: Cell<u16>,
}

impl SpinBudget {
    /// Whether the wait that begins should spin.
    pub(super) fn looks(&self) -> bool {
        if self.level.get() > NONE {
            return true;
        }
        match self.left.get().checked_sub(1) {
            None => true,
            Some(left) => {
                self.left.set(left);
                false
            }
        }
    }

    /// Its spin time.
    pub(super) fn nanoseconds(&self) -> u64 {
        if self.level.get() > NONE {
            BUDGET_NANOSECONDS
        } else {
            PROBE_NANOSECONDS
        }
    }

    /// Notes a success.
    pub(super) fn rise(&self) {
        self.level.set(MOST.min(self.level.get() + 1));
        self.halvings.set(0);
    }

    /// Notes a failure.
    pub(super) fn fall(&self) {
        if self.level.get() > NONE {
            self.level.set(self.level.get() - 1);
        } else {
            self.halvings.set(HALVINGS.min(self.halvings.get() + 1));
        }
        self.left.set(ONE_IN << self.halvings.get());
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;

    /// Which of `waits` waits watch; the second argument says which watches succeed.
    fn looking(waits: usize, comes: impl Fn(usize) -> bool) -> std::vec::Vec<usize> {
        let budget = SpinBudget {
            level: Cell::new(0),
            halvings: Cell::new(0),
            left: Cell::new(0),
        };
        let looks = |wait: &usize| {
            let looks = budget.looks();
            match looks {
                true if comes(*wait) => budget.rise(),
                true => budget.fall(),
                false => {}
            }
            looks
        };
        (0..waits).filter(looks).collect()
    }

    #[test]
    fn looks_in_vain_become_rare() {
        let one_in = usize::from(ONE_IN);
        let rarely = [0, 1, one_in + 2, 3 * one_in + 3, 7 * one_in + 4];
        assert_eq!(looking(7 * one_in + 5, |_| false), rarely);
        // Half as often each time, down to a limit.
        let last = looking(100_000, |_| false);
        let least = (usize::from(ONE_IN) << HALVINGS) + 1;
        assert_eq!(last[last.len() - 1] - last[last.len() - 2], least);
    }

    #[test]
    fn hope_lasts_where_it_is_seldom_in_vain() {
        let waits = 1_000;
        assert_eq!(looking(waits, |wait| wait % 3 > 0).len(), waits);
        // The first success restores it.
        let again = looking(waits, |wait| wait > 2);
        assert_eq!(again[..3], [0, 1, usize::from(ONE_IN) + 2]);
        assert_eq!(again.len(), waits - usize::from(ONE_IN));
    }
}
