//! The methods that a wrapper forwards to a composition inside it, in addition to those of
//! [`cohort_raw::forwards!`].

/// All of [`Composed`](super::Composed) except its bounds, for a wrapper with a composition in one
/// of its fields; the other fields start with their defaults.
macro_rules! composed {
    ($lock:ident in $field:tt $(, beside $other:ident)*) => {
        type Top = $lock::Top;

        fn top(&self) -> &$lock::Top {
            self.$field.top()
        }

        fn planned(plan: &$crate::compose::Plan<'_>) -> Self {
            Self {
                $field: $lock::planned(plan),
                $($other: Default::default(),)*
            }
        }

        unsafe fn plan_at(place: *mut Self, plan: &$crate::compose::Plan<'_>) {
            // SAFETY: the caller's; each field is written once.
            unsafe {
                $((&raw mut (*place).$other).write(Default::default());)*
                $lock::plan_at(&raw mut (*place).$field, plan);
            }
        }
    };
}
pub(super) use composed;

#[cfg(all(test, not(checker)))]
mod tests {
    extern crate std;

    use crate::compose::{Bypass, Composed, Counted, Gated, OnPages, Plan};
    use cohort_raw::{
        DetectsWaiters, Fair, HighLock, Hosted, Hosting, Inherit, LowLock, Quick, QuickRelease,
        RawLock, RawTry,
    };
    use core::mem::MaybeUninit;
    use core::ptr;
    use std::cell::Cell;

    std::thread_local! {
        /// The last call of a [`Probe`], other than by its default.
        static ASKED: Cell<&'static str> = const { Cell::new("") };
        /// The address in that call.
        static PLACE: Cell<*const Probe> = const { Cell::new(ptr::null()) };
    }

    /// A single-threaded lock with all that a wrapper could forward, each different from the usual.
    #[derive(Default)]
    #[repr(align(8))]
    struct Probe;

    // SAFETY: only one thread has it.
    unsafe impl RawLock for Probe {
        type Context = ();

        unsafe fn acquire(&self, (): &()) {
            ASKED.set("acquire");
        }

        unsafe fn release(&self, (): &()) {}

        fn is_locked(&self) -> bool {
            // A bypass then takes the way through the whole.
            true
        }
    }

    // SAFETY: as above.
    unsafe impl Hosted for Probe {
        const HOSTING: Hosting = Hosting {
            strict: false,
            grants: false,
            node_bytes: 0,
            cohort_bytes: 1234,
        };

        unsafe fn make_at(place: *mut Self) {
            ASKED.set("make_at");
            PLACE.set(place);
        }

        fn turn(&self) -> u32 {
            77
        }
    }

    // SAFETY: as above.
    unsafe impl QuickRelease for Probe {
        unsafe fn release_quickly(&self, (): &()) -> Quick {
            Quick::MarkLost
        }

        fn wake_everybody(place: *const Self) {
            ASKED.set("wake_everybody");
            PLACE.set(place);
        }
    }

    // SAFETY: as above.
    unsafe impl DetectsWaiters for Probe {
        unsafe fn has_waiters(&self, (): &()) -> bool {
            false
        }
    }

    // SAFETY: as above.
    unsafe impl LowLock for Probe {
        fn hand_off_limit(&self) -> u32 {
            9
        }

        unsafe fn hand_offs(&self, (): &()) -> u32 {
            8
        }

        unsafe fn acquire_counted(&self, (): &()) -> u32 {
            7
        }

        unsafe fn release_counted(&self, (): &(), number: u32) {
            assert_eq!(number, 6);
            ASKED.set("release_counted");
        }
    }

    // SAFETY: as above.
    unsafe impl HighLock for Probe {
        unsafe fn acquire_at_cached_place(&self, (): &()) {
            ASKED.set("acquire_at_cached_place");
        }

        unsafe fn forget_cached_place((): &()) {
            ASKED.set("forget_cached_place");
        }
    }

    // SAFETY: as above.
    unsafe impl RawTry for Probe {
        unsafe fn try_acquire(&self, (): &()) -> bool {
            false
        }
    }

    impl Fair for Probe {}

    // SAFETY: acquisitions leave nothing behind.
    unsafe impl Inherit for Probe {
        unsafe fn inherit(&self, _holder: Option<&()>) {}
    }

    // SAFETY: as above.
    unsafe impl Composed for Probe {
        type Top = Self;

        fn planned(_plan: &Plan<'_>) -> Self {
            Self
        }

        unsafe fn plan_at(place: *mut Self, _plan: &Plan<'_>) {
            ASKED.set("plan_at");
            PLACE.set(place);
        }

        fn top(&self) -> &Self {
            self
        }
    }

    /// Asserts that the lock inside got that call, within the wrapper.
    fn was_asked<W>(what: &str, wrapper: *const W) {
        assert_eq!(ASKED.take(), what);
        let place = PLACE.replace(ptr::null());
        let within = wrapper.cast::<u8>()..=wrapper.wrapping_add(1).cast();
        assert!(within.contains(&place.cast()), "{place:?} in {within:?}");
    }

    /// Tests the forwarding of every wrapper.
    fn forwards_what_all_have<W: Hosted + HighLock>() {
        assert_eq!(W::HOSTING, Probe::HOSTING);
        let mut place = MaybeUninit::<W>::uninit();
        // SAFETY: the place is this function's.
        unsafe { W::make_at(place.as_mut_ptr()) };
        was_asked("make_at", place.as_ptr());

        let (lock, cx) = (W::default(), W::Context::default());
        assert_eq!(lock.turn(), 77);
        // SAFETY: the context is this function's, and unused by a single-threaded lock.
        unsafe {
            lock.acquire(&cx);
            assert_eq!(ASKED.take(), "acquire");
            lock.release(&cx);
            lock.acquire_at_cached_place(&cx);
        }
        assert_eq!(ASKED.take(), "acquire_at_cached_place");
        // SAFETY: as above: it is not in use.
        unsafe { W::forget_cached_place(&cx) };
        assert_eq!(ASKED.take(), "forget_cached_place");
    }

    /// Tests a wrapper with the release of the lock inside.
    fn forwards_its_release<W: QuickRelease<Context = ()>>() {
        let lock = W::default();
        // SAFETY: as above.
        let quick = unsafe {
            lock.acquire(&());
            lock.release_quickly(&())
        };
        assert_eq!(quick, Quick::MarkLost);
        W::wake_everybody(&raw const lock);
        was_asked("wake_everybody", &raw const lock);
    }

    /// Tests a wrapper that is a cohort's lock as the lock inside is.
    fn forwards_what_it_carries<W: LowLock<Context = ()>>() {
        let lock = W::default();
        // SAFETY: as above.
        unsafe {
            assert_eq!((lock.hand_off_limit(), lock.hand_offs(&())), (9, 8));
            assert_eq!(lock.acquire_counted(&()), 7);
            lock.release_counted(&(), 6);
        }
        assert_eq!(ASKED.take(), "release_counted");
    }

    /// Tests a wrapper that is made by a plan.
    fn forwards_its_plan<W: Composed>() {
        let mut place = MaybeUninit::<W>::uninit();
        // SAFETY: the place is this function's.
        unsafe { W::plan_at(place.as_mut_ptr(), &Plan::default()) };
        was_asked("plan_at", place.as_ptr());
    }

    #[test]
    fn no_wrapper_drops_what_the_lock_inside_has() {
        forwards_what_all_have::<Counted<Probe>>();
        forwards_what_all_have::<OnPages<Probe>>();
        forwards_what_all_have::<Bypass<Probe>>();
        forwards_what_all_have::<Bypass<Probe, true>>();
        forwards_what_all_have::<Gated<Probe>>();
        forwards_its_release::<Counted<Probe>>();
        forwards_its_release::<OnPages<Probe>>();
        forwards_what_it_carries::<OnPages<Probe>>();
        forwards_its_plan::<Counted<Probe>>();
        forwards_its_plan::<OnPages<Probe>>();
        forwards_its_plan::<Bypass<Probe>>();
    }
}
