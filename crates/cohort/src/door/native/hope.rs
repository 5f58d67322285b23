//! Adaptive spinning before a sleep, with a budget for each thread.
//!
//! A sleep and its wake-up cost two system calls of the sleeper, one of the waker, and the way to a
//! CPU, which is long if that sleeps too. Spinning saves all that if both threads run, and is
//! wasted otherwise. So each thread learns which is the case.

use super::{cpus, now, thread};

/// Looks between two readings of the clock.
const LOOKS: u32 = 8;

/// Whether the calling thread, about to wait, should [spin](spin_before_sleep) before it sleeps:
/// hardly ever after recent failures. Called once a wait.
#[inline]
#[must_use]
pub fn should_spin() -> bool {
    cpus() > 1 && thread().spin_budget.looks()
}

/// Spins for some microseconds, while `awaited`, before the calling thread sleeps. Never yields.
pub fn spin_before_sleep(awaited: impl Fn() -> bool) {
    let budget = &thread().spin_budget;
    let until = now() + budget.nanoseconds();
    loop {
        for _ in 0..LOOKS {
            if !awaited() {
                return budget.rise();
            }
            core::hint::spin_loop();
        }
        if now() >= until {
            return budget.fall();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;

    #[test]
    fn what_comes_ends_the_look() {
        let looks = Cell::new(0);
        spin_before_sleep(|| {
            looks.set(looks.get() + 1);
            looks.get() < 3
        });
        assert_eq!(looks.get(), 3);
    }
}
