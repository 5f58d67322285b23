//! Hysteresis windows: oversubscription, or long critical sections, observed a short while ago.

use crate::door::{AtomicU64, Order, constructor, now};

/// The length of a window after an observation. It spans many time slices, since waiters in a queue
/// longer than the CPUs may wait for several.
const WINDOW_NANOSECONDS: u64 = 100_000_000;

/// CPUs are oversubscribed if a second preemption follows a first within these bounds. Threads that
/// start together are preempted at once, without oversubscription.
const AGAIN_AFTER_NANOSECONDS: u64 = 1_000_000;
const AGAIN_WITHIN_NANOSECONDS: u64 = 20_000_000;

/// The end of the window; 0: no observation.
#[derive(Debug, Default)]
pub(crate) struct HysteresisWindow(AtomicU64);

impl HysteresisWindow {
    constructor! {
        /// A window without an observation.
        pub(crate) fn new() -> Self {
            Self(AtomicU64::new(0))
        }
    }

    /// Whether the window is still open. At its end, one thread calls `ended`.
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

    /// Whether the window has opened and its end has not been noticed.
    #[inline]
    fn lasted(&self) -> bool {
        self.0.load(Order::RELAXED) != 0
    }

    /// Records an observation, and returns whether it opens the window.
    pub(crate) fn is_noticed(&self) -> bool {
        let until = now() + WINDOW_NANOSECONDS;
        let known = self.0.load(Order::RELAXED);
        if known + WINDOW_NANOSECONDS / 2 < until {
            self.0.store(until, Order::RELAXED);
        }
        known == 0
    }

    /// Closes the window.
    pub(crate) fn forget(&self) {
        self.0.store(0, Order::RELAXED);
    }
}

/// Oversubscription, detected by preemptions of waiters that [keep
/// spinning](crate::door::keep_cpu).
#[derive(Debug, Default)]
pub(crate) struct Scarcity {
    window: HysteresisWindow,
    /// The time of the first recent preemption.
    lost: AtomicU64,
}

impl Scarcity {
    constructor! {
        /// No preemption so far.
        pub(crate) fn new() -> Self {
            Self {
                window: HysteresisWindow::new(),
                lost: AtomicU64::new(0),
            }
        }
    }

    /// Whether CPUs are oversubscribed. At the end of the window, one thread calls `ended`.
    #[inline]
    pub(crate) fn lasts(&self, ended: impl FnOnce()) -> bool {
        self.window.lasts(ended)
    }

    /// Whether CPUs were oversubscribed a short while ago; needs no clock.
    #[inline]
    pub(crate) fn lasted(&self) -> bool {
        self.window.lasted()
    }

    /// Records a waiter's preemption, and returns whether it opens the window.
    #[cold]
    pub(crate) fn is_noticed(&self) -> bool {
        let now = now();
        let ago = now.saturating_sub(self.lost.load(Order::RELAXED));
        if ago > AGAIN_WITHIN_NANOSECONDS {
            self.lost.store(now, Order::RELAXED);
        }
        (AGAIN_AFTER_NANOSECONDS..=AGAIN_WITHIN_NANOSECONDS).contains(&ago)
            && self.window.is_noticed()
    }

    /// Whether a preemption has been recorded.
    #[cfg(test)]
    pub(crate) fn has_begun(&self) -> bool {
        self.lost.load(Order::RELAXED) != 0
    }

    /// Opens the window without a preemption.
    #[cold]
    pub(crate) fn expect(&self) {
        self.window.is_noticed();
    }

    /// Closes the window, and forgets the recorded preemption.
    pub(crate) fn forget(&self) {
        self.window.forget();
        self.lost.store(0, Order::RELAXED);
    }
}
