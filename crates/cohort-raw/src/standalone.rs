//! The usual implementations for a lock without an inner lock.

/// Implements the named traits among [`Hosted`](crate::Hosted),
/// [`QuickRelease`](crate::QuickRelease), [`LowLock`](crate::LowLock),
/// [`HighLock`](crate::HighLock) and [`Resumable`](crate::Resumable) for a lock without an inner
/// lock. The usual answers: strict FIFO, no extra nodes, no plain-store release, no number carried,
/// no look-up of the caller's place, and nothing held after a timeout. Differences of
/// [`Hosting`](crate::Hosting) follow `Hosted`.
///
/// Generic parameters stand in brackets before the type.
///
/// ```
/// # use cohort_raw::{Hosted, HighLock, RawLock, standalone};
/// # use std::sync::atomic::{AtomicBool, Ordering::{Acquire, Relaxed, Release}};
/// #[derive(Default)]
/// struct Flag(AtomicBool);
///
/// // SAFETY: the flag is set by one thread at a time.
/// unsafe impl RawLock for Flag {
///     type Context = ();
///     unsafe fn acquire(&self, (): &()) {
///         while self.0.swap(true, Acquire) {}
///     }
///     unsafe fn release(&self, (): &()) {
///         self.0.store(false, Release);
///     }
///     fn is_locked(&self) -> bool {
///         self.0.load(Relaxed)
///     }
/// }
///
/// standalone!([] Flag: Hosted { strict: false, grants: false }, QuickRelease, HighLock);
///
/// let flag = Flag::default();
/// assert!(!Flag::HOSTING.strict);
/// // SAFETY: the context is used for this acquisition alone, which the flag outlives.
/// unsafe { flag.acquire_at_cached_place(&()) };
/// assert!(flag.is_locked());
/// ```
#[macro_export]
macro_rules! standalone {
    ($generics:tt $lock:ty: $($kind:ident $({ $($what:ident: $is:expr),+ $(,)? })?),+ $(,)?) => {
        $($crate::standalone!(@$kind $generics $lock, $($($what: $is),+)?);)+
    };
    (@Hosted [$($generic:tt)*] $lock:ty, $($what:ident: $is:expr),*) => {
        // SAFETY: every lock may count as granting, and this one does not number its turns.
        unsafe impl<$($generic)*> $crate::Hosted for $lock {
            #[allow(clippy::needless_update, reason = "a lock may say all")]
            const HOSTING: $crate::Hosting = $crate::Hosting {
                $($what: $is,)*
                ..$crate::Hosting::USUAL
            };

            unsafe fn make_at(place: *mut Self) {
                // SAFETY: the caller's.
                unsafe { place.write(<Self as ::core::default::Default>::default()) };
            }

            fn turn(&self) -> u32 {
                1
            }
        }
    };
    (@QuickRelease [$($generic:tt)*] $lock:ty,) => {
        // SAFETY: it refuses.
        unsafe impl<$($generic)*> $crate::QuickRelease for $lock {
            #[inline(always)]
            unsafe fn release_quickly(
                &self,
                _cx: &<Self as $crate::RawLock>::Context,
            ) -> $crate::Quick {
                $crate::Quick::Refused
            }

            fn wake_everybody(_place: *const Self) {}
        }
    };
    (@LowLock [$($generic:tt)*] $lock:ty,) => {
        // SAFETY: no number is carried.
        unsafe impl<$($generic)*> $crate::LowLock for $lock {
            #[inline(always)]
            fn hand_off_limit(&self) -> u32 {
                0
            }

            #[inline(always)]
            unsafe fn hand_offs(&self, _cx: &<Self as $crate::RawLock>::Context) -> u32 {
                0
            }

            #[inline(always)]
            unsafe fn acquire_counted(&self, cx: &<Self as $crate::RawLock>::Context) -> u32 {
                // SAFETY: the caller's.
                unsafe { $crate::RawLock::acquire(self, cx) };
                0
            }

            #[inline(always)]
            unsafe fn release_counted(
                &self,
                cx: &<Self as $crate::RawLock>::Context,
                _number: u32,
            ) {
                // SAFETY: the caller's.
                unsafe { $crate::RawLock::release(self, cx) };
            }
        }
    };
    (@HighLock [$($generic:tt)*] $lock:ty,) => {
        // SAFETY: it is acquired.
        unsafe impl<$($generic)*> $crate::HighLock for $lock {
            #[inline(always)]
            unsafe fn acquire_at_cached_place(&self, cx: &<Self as $crate::RawLock>::Context) {
                // SAFETY: the caller's.
                unsafe { $crate::RawLock::acquire(self, cx) };
            }

            #[inline(always)]
            unsafe fn forget_cached_place(_cx: &<Self as $crate::RawLock>::Context) {}
        }
    };
    (@Resumable [$($generic:tt)*] $lock:ty,) => {
        // SAFETY: a timed-out wait holds nothing, and the next wait is a new one.
        unsafe impl<$($generic)*> $crate::Resumable for $lock {
            const STAYS: bool = false;

            #[inline(always)]
            unsafe fn begin_within(
                &self,
                cx: &<Self as $crate::RawLock>::Context,
                patience: &$crate::Patience,
            ) -> $crate::Outcome {
                // SAFETY: the caller's.
                unsafe { $crate::Abortable::acquire_within(self, cx, patience) }
            }

            #[inline(always)]
            unsafe fn resume_within(
                &self,
                cx: &<Self as $crate::RawLock>::Context,
                patience: &$crate::Patience,
            ) -> $crate::Outcome {
                // SAFETY: the caller's; the wait begins anew.
                unsafe { $crate::Resumable::begin_within(self, cx, patience) }
            }

            #[inline(always)]
            unsafe fn retract(&self, _cx: &<Self as $crate::RawLock>::Context) {}
        }
    };
}
