//! How a waiter passes the time between two looks.

use super::super::{Advice, WaitPolicy};
use super::system::{call, now, number, yield_now};
use super::{AtomicU32, monitor};
use core::sync::atomic::{self, AtomicU8, Ordering};

/// How long a waiter spins before it gives its turn away.  It is the price of
/// fairness where threads exceed CPUs: a waiter that spins longer catches the lock
/// a little more often (a few percent of throughput) and passes those who wait for
/// its CPU for the rest of its time slice (ten times the 99.9th percentile).
const SPIN_NANOSECONDS: u64 = 150;

/// Turns given away before sleeping: where threads exceed CPUs the holder is
/// probably one of those waiting for this CPU, and where they do not a turn comes
/// back at once and costs less than a sleep and a wake-up.
const YIELDS: u32 = 16;

static POLICY: AtomicU8 = AtomicU8::new(WaitPolicy::Park as u8);
static CPUS: atomic::AtomicU32 = atomic::AtomicU32::new(0);

/// Sets how every waiter of this process waits from now on.
pub fn set_policy(policy: WaitPolicy) {
    POLICY.store(policy as u8, Ordering::Relaxed);
}

/// How waiters wait.
#[must_use]
#[inline]
pub fn policy() -> WaitPolicy {
    match POLICY.load(Ordering::Relaxed) {
        1 => WaitPolicy::Spin,
        2 => WaitPolicy::Yield,
        _ => WaitPolicy::Park,
    }
}

/// How many CPUs this process may run on, as it was at the first question.
#[must_use]
pub fn cpus() -> u32 {
    match CPUS.load(Ordering::Relaxed) {
        0 => {
            let mut mask = [0u64; 128];
            // SAFETY: the kernel writes at most the given size into the mask.
            let bytes = unsafe {
                call(
                    number::SCHED_GETAFFINITY,
                    [0, size_of_val(&mask), mask.as_mut_ptr() as usize, 0, 0, 0],
                )
            };
            let words = bytes.max(0) as usize / size_of::<u64>();
            let count = mask[..words]
                .iter()
                .map(|word| word.count_ones())
                .sum::<u32>();
            let count = count.max(1);
            CPUS.store(count, Ordering::Relaxed);
            count
        }
        known => known,
    }
}

/// Whether the calling thread should try, this time, what pays now and then only:
/// once in `one_in`, a power of two.
#[inline]
pub fn is_worth_a_try(one_in: u32) -> bool {
    let tries = &super::thread().tries;
    let count = tries.get().wrapping_add(1);
    tries.set(count);
    count & (one_in - 1) == 0
}

/// Whether threads ever try what is only worth a try: here they do.
#[inline(always)]
#[must_use]
pub const fn tries_anything() -> bool {
    true
}

/// One wait: made at its beginning, asked between looks.
#[derive(Debug, Default)]
pub struct Spinner {
    began: u64,
    yields: u32,
}

impl Spinner {
    /// At the beginning of a wait.
    #[must_use]
    #[inline]
    pub const fn new() -> Self {
        Self {
            began: 0,
            yields: 0,
        }
    }

    /// Passes a little time and says what pays next.  Under
    /// [`WaitPolicy::Spin`] and [`WaitPolicy::Yield`] that is never to sleep.
    #[inline]
    pub fn step(&mut self) -> Advice {
        self.step_by(|_| core::hint::spin_loop())
    }

    /// [`step`](Self::step) of a wait for `word` to be no longer `seen`, which hardly
    /// anybody else waits for: where the CPU can, it [watches](monitor) the word meanwhile.
    #[inline(never)]
    pub fn step_at(&mut self, word: &AtomicU32, seen: u32) -> Advice {
        self.step_by(|left| monitor::wait(word, seen, left))
    }

    #[inline]
    fn step_by(&mut self, spin: impl FnOnce(u64)) -> Advice {
        let left = self.left();
        if left > 0 {
            spin(left);
            return Advice::Again;
        }
        if self.yields >= YIELDS && policy() == WaitPolicy::Park {
            return Advice::Sleep;
        }
        yield_now();
        self.yields = self.yields.saturating_add(1);
        Advice::Again
    }

    /// Passes a little time, for a wait that cannot sleep: spins for its bounded
    /// time, then yields the CPU at every turn.
    #[inline]
    pub fn turn(&mut self) {
        if self.step() == Advice::Sleep {
            yield_now();
        }
    }

    /// [`step`](Self::step) until that many nanoseconds have passed or sleeping pays:
    /// for waiters that look more rarely than they could.
    #[inline]
    pub fn pause(&mut self, nanoseconds: u64) -> Advice {
        let until = if nanoseconds == 0 {
            0
        } else {
            now() + nanoseconds
        };
        loop {
            let advice = self.step();
            if advice == Advice::Sleep || until == 0 || now() >= until {
                return advice;
            }
        }
    }

    /// Looks again and again for that many nanoseconds; false as soon as a look finds
    /// what was `so` no longer so.
    #[inline]
    pub fn watch(&mut self, nanoseconds: u64, mut so: impl FnMut() -> bool) -> bool {
        let until = now() + nanoseconds;
        while now() < until {
            self.spin();
            if !so() {
                return false;
            }
        }
        true
    }

    /// One failed look, by a caller that counts its looks itself: passes as little
    /// time as can be, and never gives the CPU away.
    #[inline]
    pub fn spin(&mut self) {
        core::hint::spin_loop();
    }

    /// How many nanoseconds are left to spin; 0 once that is over.
    fn left(&mut self) -> u64 {
        if self.yields > 0 || policy() == WaitPolicy::Yield || cpus() == 1 {
            return 0;
        }
        if self.began == 0 {
            self.began = now();
            return SPIN_NANOSECONDS;
        }
        SPIN_NANOSECONDS.saturating_sub(now() - self.began)
    }
}
