//! Location of a condition's flags in the C library. Only the C library knows it, through a
//! function declared in terms of [`layout`](crate::layout): hence a separate module.

use crate::layout::{COND_MONOTONIC, COND_SHARED, Cond, REST, USUAL};
use crate::libc::{Attributes, CLOCK_MONOTONIC, PTHREAD_PROCESS_SHARED};
use crate::next::{
    self, pthread_condattr_init, pthread_condattr_setclock, pthread_condattr_setpshared,
};
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU32, AtomicUsize};

/// Index of the C library's flags among a condition's last words, plus one; zero before the first
/// use.
static FLAGS: AtomicUsize = AtomicUsize::new(0);

impl Cond {
    /// `__wrefs`: where the C library keeps whether the condition is shared
    /// ([`COND_SHARED`]) and by which clock it waits ([`COND_MONOTONIC`]).
    #[inline(always)]
    pub fn flags(&self) -> &AtomicU32 {
        let place = match FLAGS.load(Relaxed) {
            0 => Self::find_flags(),
            known => known - 1,
        };
        &self.rest[place.min(REST - 1)]
    }

    /// Lets the C library initialise a condition with both flags, and locates them: version 2.41
    /// moved them.
    #[cold]
    #[inline(never)]
    fn find_flags() -> usize {
        // SAFETY: zeroed memory may be attributes and a condition; both are initialised before use,
        // and both are local.
        let sample = unsafe {
            // Larger than any C library's attributes.
            let mut room = [0_u64; 8];
            let attributes: *mut Attributes = (&raw mut room).cast();
            let mut sample: Self = core::mem::zeroed();
            pthread_condattr_init(attributes);
            pthread_condattr_setpshared(attributes, PTHREAD_PROCESS_SHARED);
            pthread_condattr_setclock(attributes, CLOCK_MONOTONIC);
            next::pthread_cond_init(&raw mut sample, attributes);
            sample
        };
        let both = COND_SHARED | COND_MONOTONIC;
        let mut words = sample.rest.iter();
        let place = words
            .position(|word| word.load(Relaxed) == both)
            .unwrap_or(USUAL);
        FLAGS.store(place + 1, Relaxed);
        place
    }
}
