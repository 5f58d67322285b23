//! What a wrapper takes over from the lock inside it.
//!
//! Much of the traits has a default, so that a lock need not say what it lacks; a wrapper that
//! leaves such an item out says that the lock inside lacks it, and the compiler agrees.  So
//! every wrapper has these items from here.

/// Items of a wrapper's implementations, which those of the lock in one of its fields decide;
/// the fields beside it begin with their defaults.
macro_rules! forwards {
    // Of `RawLock`: what it takes and where it is made.
    (memory of $lock:ident in $field:tt $(, beside $other:ident)*) => {
        const COHORT_BYTES: usize = $lock::COHORT_BYTES;

        unsafe fn make_at(place: *mut Self) {
            // SAFETY: the caller's; each field is written once.
            unsafe {
                $((&raw mut (*place).$other).write(Default::default());)*
                $lock::make_at(&raw mut (*place).$field);
            }
        }
    };
    // Of `RawLock`, if a release is the release of the lock inside.
    (release of $lock:ident in $field:tt) => {
        #[inline]
        unsafe fn release(&self, cx: &Self::Context) {
            // SAFETY: the caller's.
            unsafe { self.$field.release(cx) };
        }

        #[inline(always)]
        unsafe fn release_quickly(&self, cx: &Self::Context) -> cohort_raw::Quick {
            // SAFETY: the caller's.
            unsafe { self.$field.release_quickly(cx) }
        }

        fn wake_everybody(place: *const Self) {
            // The lock need not be there any more: its address alone counts.
            $lock::wake_everybody(place.wrapping_byte_add(core::mem::offset_of!(Self, $field)).cast());
        }
    };
    // Of `Inherit`, beside `inherit`.
    (grants of $lock:ident in $field:tt) => {
        const GRANTS: bool = $lock::GRANTS;

        fn turn(&self) -> u32 {
            self.$field.turn()
        }
    };
    // All of `Composed`.
    (composition of $lock:ident in $field:tt $(, beside $other:ident)*) => {
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
pub(super) use forwards;

#[cfg(all(test, world = "native"))]
mod tests {
    extern crate std;

    use crate::compose::{Bypass, Composed, Counted, Gated, OnPages, Plan};
    use cohort_raw::{Fair, Inherit, Quick, RawLock, RawTry};
    use core::mem::MaybeUninit;
    use core::ptr;
    use std::cell::Cell;

    std::thread_local! {
        /// The last thing that a [`Probe`] was asked for, other than by its default.
        static ASKED: Cell<&'static str> = const { Cell::new("") };
        /// The place that came with it.
        static PLACE: Cell<*const Probe> = const { Cell::new(ptr::null()) };
    }

    /// A lock of one thread that has everything which a trait does not ask for.
    #[derive(Default)]
    #[repr(align(8))]
    struct Probe;

    // SAFETY: one thread has it.
    unsafe impl RawLock for Probe {
        type Context = ();

        const COHORT_BYTES: usize = 1234;

        unsafe fn make_at(place: *mut Self) {
            ASKED.set("make_at");
            PLACE.set(place);
        }

        fn acquire(&self, (): &()) {
            ASKED.set("acquire");
        }

        fn acquire_at_cached_place(&self, (): &()) {
            ASKED.set("acquire_at_cached_place");
        }

        fn forget_cached_place((): &()) {
            ASKED.set("forget_cached_place");
        }

        unsafe fn release(&self, (): &()) {}

        unsafe fn release_quickly(&self, (): &()) -> Quick {
            Quick::MarkLost
        }

        fn wake_everybody(place: *const Self) {
            ASKED.set("wake_everybody");
            PLACE.set(place);
        }

        fn is_locked(&self) -> bool {
            // A bypass then goes by way of the whole.
            true
        }
    }

    // SAFETY: as above.
    unsafe impl RawTry for Probe {
        fn try_acquire(&self, (): &()) -> bool {
            false
        }
    }

    impl Fair for Probe {}

    // SAFETY: nothing is left of an acquisition.
    unsafe impl Inherit for Probe {
        const GRANTS: bool = false;

        fn turn(&self) -> u32 {
            77
        }

        unsafe fn inherit(&self, _holder: Option<&()>) {}
    }

    impl Composed for Probe {
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

    /// That the lock inside was asked for that, within the wrapper.
    fn was_asked<W>(what: &str, wrapper: *const W) {
        assert_eq!(ASKED.take(), what);
        let place = PLACE.replace(ptr::null());
        let within = wrapper.cast::<u8>()..=wrapper.wrapping_add(1).cast();
        assert!(within.contains(&place.cast()), "{place:?} in {within:?}");
    }

    /// What every wrapper takes over.
    fn forwards_what_all_have<W: RawLock>() {
        assert_eq!(W::COHORT_BYTES, 1234);
        let mut place = MaybeUninit::<W>::uninit();
        // SAFETY: the place is this function's.
        unsafe { W::make_at(place.as_mut_ptr()) };
        was_asked("make_at", place.as_ptr());

        let (lock, cx) = (W::default(), W::Context::default());
        lock.acquire(&cx);
        assert_eq!(ASKED.take(), "acquire");
        // SAFETY: acquired just now, with this context.
        unsafe { lock.release(&cx) };
        lock.acquire_at_cached_place(&cx);
        assert_eq!(ASKED.take(), "acquire_at_cached_place");
        W::forget_cached_place(&cx);
        assert_eq!(ASKED.take(), "forget_cached_place");
    }

    /// What a wrapper takes over whose release is that of the lock inside.
    fn forwards_its_release<W: RawLock<Context = ()> + Inherit>() {
        let lock = W::default();
        lock.acquire(&());
        // SAFETY: acquired just now, with this context.
        assert_eq!(unsafe { lock.release_quickly(&()) }, Quick::MarkLost);
        W::wake_everybody(&raw const lock);
        was_asked("wake_everybody", &raw const lock);
        assert!(!W::GRANTS);
        assert_eq!(lock.turn(), 77);
    }

    /// What a wrapper takes over that is made by a plan.
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
        forwards_its_plan::<Counted<Probe>>();
        forwards_its_plan::<OnPages<Probe>>();
        forwards_its_plan::<Bypass<Probe>>();
    }
}
