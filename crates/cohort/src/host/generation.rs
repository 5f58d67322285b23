//! Detection of objects inherited from a parent process.

use crate::door::{AtomicU32, Order, Spinner, constructor, generation, generation_so_far, orders};

orders! {
    /// The other threads of the child see the repair.
    GENERATION_KNOWN = Acquire;
    /// A single thread repairs; it sees the repair of an earlier process.
    GENERATION_CLAIM = Acquire;
    /// The repaired object is visible with its new generation.
    GENERATION_REPAIRED = Release;
}

/// The process that last used the object; 0 if none.
///
/// | value | meaning |
/// |---|---|
/// | 0 | unused since its bytes were zeroed |
/// | g | used in process g |
/// | g + BUSY | a thread of process g is clearing an ancestor's state |
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Generation(AtomicU32);

/// A repair is in progress.
const BUSY: u32 = 1 << 31;

impl Generation {
    constructor! {
        /// The generation of an unused object.
        #[must_use]
        pub fn new() -> Self {
            Self(AtomicU32::new(0))
        }
    }

    /// Assigns a new object, exclusive to the caller, to this process; its first user skips the
    /// check.
    #[inline]
    pub fn begin(&self) {
        self.0.store(generation_so_far(), Order::RELAXED);
    }

    /// Ensures that the object belongs to this process. In a forked child the first thread runs
    /// `repair`; the others wait for it.
    #[inline(always)]
    pub fn settle(&self, repair: impl Fn()) {
        if !self.is_settled() {
            self.take_over(&repair);
        }
    }

    /// Whether the object is unused since its bytes were zeroed.
    #[inline(always)]
    pub fn is_new(&self) -> bool {
        self.0.load(Order::RELAXED) == 0
    }

    /// Whether the object has been settled in this process.
    #[inline(always)]
    pub fn is_settled(&self) -> bool {
        let here = generation_so_far();
        here != 0 && self.0.load(GENERATION_KNOWN) == here
    }

    #[cold]
    #[inline(never)]
    fn take_over(&self, repair: &dyn Fn()) {
        let here = generation();
        let mut spinner = Spinner::new();
        loop {
            let seen = self.0.load(GENERATION_KNOWN);
            if seen == here {
                return;
            }
            if seen == here | BUSY {
                spinner.moment();
                continue;
            }
            // A new object has nothing to clear.
            let claimed = if seen == 0 { here } else { here | BUSY };
            if self
                .0
                .compare_exchange(seen, claimed, GENERATION_CLAIM, Order::RELAXED)
                .is_ok()
            {
                if seen != 0 {
                    repair();
                    self.0.store(here, GENERATION_REPAIRED);
                }
                return;
            }
        }
    }
}
