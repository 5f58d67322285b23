//! Noticing that an object was inherited from a parent process.

use crate::door::{AtomicU32, Order, Spinner, constructor, generation, generation_so_far, orders};

orders! {
    /// What the repairing thread did is seen by the others of the child.
    GENERATION_KNOWN = Acquire;
    /// Only one thread repairs; the next one sees what it did.
    GENERATION_CLAIM = Acquire;
    /// The repaired object is seen with its new generation.
    GENERATION_REPAIRED = Release;
}

/// The process in which the object was last used; 0 if none.
///
/// | value | meaning |
/// |---|---|
/// | 0 | never used since its bytes were zeroed |
/// | g | used in process g |
/// | g + BUSY | a thread of process g is forgetting what an ancestor left |
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Generation(AtomicU32);

/// Being repaired.
const BUSY: u32 = 1 << 31;

impl Generation {
    constructor! {
        /// Of an object that was never used.
        #[must_use]
        pub fn new() -> Self {
            Self(AtomicU32::new(0))
        }
    }

    /// A new object that is the caller's alone belongs to this process from here on, which its
    /// first user need not find out.
    #[inline]
    pub fn begin(&self) {
        self.0.store(generation_so_far(), Order::RELAXED);
    }

    /// Makes sure that the object belongs to this process: in a forked child the
    /// first thread to come runs `repair`, alone; the others wait for it.
    #[inline(always)]
    pub fn settle(&self, repair: impl Fn()) {
        if !self.is_settled() {
            self.take_over(&repair);
        }
    }

    /// Whether nobody has used the object since its bytes were zeroed.
    #[inline(always)]
    pub fn is_new(&self) -> bool {
        self.0.load(Order::RELAXED) == 0
    }

    /// Whether the object was settled in this process.
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
            let busy = here | BUSY;
            if self
                .0
                .compare_exchange(seen, busy, GENERATION_CLAIM, Order::RELAXED)
                .is_ok()
            {
                if seen != 0 {
                    repair();
                }
                self.0.store(here, GENERATION_REPAIRED);
                return;
            }
        }
    }
}
