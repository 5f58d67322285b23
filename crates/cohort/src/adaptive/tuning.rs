//! The [`Tuning`] that all locks of this process follow.

use crate::door::{AtomicU32, Order, constructor, process_wide};
use cohort_raw::glk::Tuning;

/// Those of this process.
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

    /// A longer queue is none for `ticket`.
    pub(super) fn up(&self) -> u32 {
        self.up.load(Order::RELAXED)
    }

    /// A shorter one is one for `ticket`.
    pub(super) fn down(&self) -> u32 {
        self.down.load(Order::RELAXED)
    }

    /// Whether the queue is looked at in a lock's section of that number.
    #[inline(always)]
    pub(super) fn samples(&self, section: u32) -> bool {
        section & self.sample.load(Order::RELAXED) == 0
    }

    /// Whether the mode is considered then.
    pub(super) fn considers(&self, section: u32) -> bool {
        section & self.consider.load(Order::RELAXED) == 0
    }
}

/// Those of this process.
#[inline(always)]
pub(super) fn tuned() -> &'static Tuned {
    TUNED.get()
}

/// From here on all locks of this process follow them; nothing that a lock does depends on when.
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
