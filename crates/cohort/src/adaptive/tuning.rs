//! The [`Tuning`] that all locks of this process follow.

use crate::door::{AtomicU32, Order, constructor, process_wide};
use cohort_raw::glk::Tuning;

/// The tuning of this process.
#[derive(Debug)]
pub(super) struct Tuned {
    up: AtomicU32,
    down: AtomicU32,
    /// The period less one.
    sample: AtomicU32,
    /// The same.
    consider: AtomicU32,
}

process_wide!(static TUNED: Tuned = Tuned::new);

impl Tuned {
    constructor! {
        fn new() -> Self {
            Self {
                up: AtomicU32::new(Tuning::USUAL.up),
                down: AtomicU32::new(Tuning::USUAL.down),
                sample: AtomicU32::new(Tuning::USUAL.sample - 1),
                consider: AtomicU32::new(Tuning::USUAL.consider - 1),
            }
        }
    }

    /// The queue length above which `ticket` gives way.
    pub(super) fn up(&self) -> u32 {
        self.up.load(Order::RELAXED)
    }

    /// The queue length below which `ticket` returns.
    pub(super) fn down(&self) -> u32 {
        self.down.load(Order::RELAXED)
    }

    /// Whether the section with that number includes a look at the queue.
    #[inline(always)]
    pub(super) fn samples(&self, section: u32) -> bool {
        section & self.sample.load(Order::RELAXED) == 0
    }

    /// Whether it also considers the mode.
    pub(super) fn considers(&self, section: u32) -> bool {
        section & self.consider.load(Order::RELAXED) == 0
    }
}

/// The tuning of this process.
#[inline(always)]
pub(super) fn tuned() -> &'static Tuned {
    TUNED.get()
}

/// Sets the tuning of all locks of this process, at any time: no lock depends on when.
///
/// # Panics
/// They have a [fault](Tuning::fault).
///
/// ```
/// use cohort::adaptive::{Tuning, tune};
///
/// // Looks at its queue half as often as usual.
/// let sample = 2 * Tuning::USUAL.sample;
/// tune(&Tuning { sample, ..Tuning::USUAL });
/// ```
pub fn tune(tuning: &Tuning) {
    assert!(tuning.fault().is_none(), "no lock can follow such numbers");
    let tuned = tuned();
    tuned.up.store(tuning.up, Order::RELAXED);
    tuned.down.store(tuning.down, Order::RELAXED);
    tuned.sample.store(tuning.sample - 1, Order::RELAXED);
    tuned.consider.store(tuning.consider - 1, Order::RELAXED);
}
