//! Looking, awake, for what another thread may do, before sleeping until it is done.
//!
//! To sleep and be woken takes two system calls of the sleeper and one of the other thread, and the
//! way to a CPU, which is long if that has gone to sleep too.  All of it is spared where both
//! threads run, and spent in vain where they do not: so each thread learns which it is.

use super::{cpus, now, thread};
use core::cell::Cell;

/// For how long a thread looks that has hope.  To sleep and be woken should take less than that where
/// the CPU is awake: chosen for that, and not measured.
const HOPEFUL_NANOSECONDS: u64 = 8_000;

/// For how long a thread looks, now and then, that has no hope.  The other thread may have to be woken
/// on a CPU that sleeps, and of two that sleep by turns neither finds the other awake before that:
/// chosen for that too.
const HOPELESS_NANOSECONDS: u64 = 50_000;

/// Hope at most: threads that get on well lose a look or two each time that others want their CPUs.
const MOST: i8 = 6;

/// No hope is left: a new thread has it for two looks in vain.
const NONE: i8 = -2;

/// One wait in so many is one in which a thread looks at first that has no hope; it looks half as often
/// each time that this was in vain.
const ONE_IN: u16 = 64;

/// How many times that is halved at most: of each wait, looks in vain then take 50 microseconds over
/// 4096, which is 12 nanoseconds.
const HALVINGS: u8 = 6;

/// Looks from one look at the clock to the next.
const LOOKS: u32 = 8;

/// What a thread has learnt; all zero at first.
#[derive(Debug)]
#[repr(C)]
pub struct Hope {
    level: Cell<i8>,
    /// How often [`ONE_IN`] has been halved.
    halvings: Cell<u8>,
    /// Waits until the next look.
    left: Cell<u16>,
}

impl Hope {
    /// Whether the wait that begins should look.
    fn looks(&self) -> bool {
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

    /// For how long, if it looks.
    fn nanoseconds(&self) -> u64 {
        if self.level.get() > NONE {
            HOPEFUL_NANOSECONDS
        } else {
            HOPELESS_NANOSECONDS
        }
    }

    /// What was looked for came.
    fn rise(&self) {
        self.level.set(MOST.min(self.level.get() + 1));
        self.halvings.set(0);
    }

    /// It did not.
    fn fall(&self) {
        if self.level.get() > NONE {
            self.level.set(self.level.get() - 1);
        } else {
            self.halvings.set(HALVINGS.min(self.halvings.get() + 1));
        }
        self.left.set(ONE_IN << self.halvings.get());
    }
}

/// Whether the calling thread, which is about to wait, should [look](watch_in_hope) before it sleeps:
/// hardly ever if that has been in vain of late.  Called once a wait.
#[inline]
#[must_use]
pub fn hopes() -> bool {
    cpus() > 1 && thread().hope.looks()
}

/// Looks again and again, as long as what the calling thread waits for is still `awaited`, before it
/// sleeps until it is woken: for some microseconds.  Never gives the CPU away.
pub fn watch_in_hope(awaited: impl Fn() -> bool) {
    let hope = &thread().hope;
    let until = now() + hope.nanoseconds();
    loop {
        for _ in 0..LOOKS {
            if !awaited() {
                return hope.rise();
            }
            core::hint::spin_loop();
        }
        if now() >= until {
            return hope.fall();
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;

    /// Which of so many waits look, for something that comes to some of them.
    fn looking(waits: usize, comes: impl Fn(usize) -> bool) -> std::vec::Vec<usize> {
        let hope = Hope {
            level: Cell::new(0),
            halvings: Cell::new(0),
            left: Cell::new(0),
        };
        let looks = |wait: &usize| {
            let looks = hope.looks();
            match looks {
                true if comes(*wait) => hope.rise(),
                true => hope.fall(),
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
        // Half as often each time, but no rarer than that.
        let last = looking(100_000, |_| false);
        let least = (usize::from(ONE_IN) << HALVINGS) + 1;
        assert_eq!(last[last.len() - 1] - last[last.len() - 2], least);
    }

    #[test]
    fn hope_lasts_where_it_is_seldom_in_vain() {
        let waits = 1_000;
        assert_eq!(looking(waits, |wait| wait % 3 > 0).len(), waits);
        // It comes back with what was looked for.
        let again = looking(waits, |wait| wait > 2);
        assert_eq!(again[..3], [0, 1, usize::from(ONE_IN) + 2]);
        assert_eq!(again.len(), waits - usize::from(ONE_IN));
    }

    #[test]
    fn what_comes_ends_the_look() {
        let looks = Cell::new(0);
        watch_in_hope(|| {
            looks.set(looks.get() + 1);
            looks.get() < 3
        });
        assert_eq!(looks.get(), 3);
    }
}
