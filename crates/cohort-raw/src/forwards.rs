//! Forwarding of traits from a wrapper to its inner lock.

/// Implements the inner lock's capabilities for a wrapper, which has a lock in one of its fields
/// and lends it its own contexts.
///
/// It has a line for every trait, in this order, so that a wrapper states each omission. After each
/// trait stands
///
/// - `inner`: forwarded, if the inner lock has it; after `Hosted`, differences of its
///   [`Hosting`](crate::Hosting) may follow;
/// - `usual`: as in [`standalone!`](crate::standalone);
/// - `own`: the wrapper's own implementation;
/// - `none`: not implemented, whatever the inner lock has.
///
/// Fields beside the lock have their defaults initially where `Hosted` is `inner`.
///
/// ```
/// # use cohort_raw::{RawLock, forwards};
///  /// A lock that counts its acquisitions.
/// #[derive(Default)]
/// struct Noted<L> {
///     lock: L,
///     notes: std::sync::atomic::AtomicU32,
/// }
/// # // SAFETY: passed on to a lock that excludes.
/// # unsafe impl<L: RawLock> RawLock for Noted<L> {
/// #     type Context = L::Context;
/// #     unsafe fn acquire(&self, cx: &L::Context) {
/// #         // SAFETY: the caller's.
/// #         unsafe { self.lock.acquire(cx) };
/// #         self.notes.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
/// #     }
/// #     unsafe fn release(&self, cx: &L::Context) {
/// #         // SAFETY: the caller's.
/// #         unsafe { self.lock.release(cx) };
/// #     }
/// #     fn is_locked(&self) -> bool {
/// #         self.lock.is_locked()
/// #     }
/// # }
///
/// forwards! {
///     [L: RawLock] Noted<L>: L in lock, beside notes;
///     RawTry: none,
///     Abortable: none,
///     BoundedAbort: none,
///     ThreadOblivious: inner,
///     DetectsWaiters: inner,
///     HandsOver: inner,
///     Fair: inner,
///     Inherit: inner,
///     Adapts: inner,
///     Hosted: inner,
///     QuickRelease: inner,
///     LowLock: none,
///     HighLock: none,
///     Resumable: none,
/// }
/// ```
#[macro_export]
macro_rules! forwards {
    (
        $generics:tt $wrapper:ty: $lock:ident in $field:tt $(, beside $($other:ident),+)?;
        RawTry: $try:ident,
        Abortable: $abortable:ident,
        BoundedAbort: $bounded:ident,
        ThreadOblivious: $oblivious:ident,
        DetectsWaiters: $detects:ident,
        HandsOver: $hands_over:ident,
        Fair: $fair:ident,
        Inherit: $inherit:ident,
        Adapts: $adapts:ident,
        Hosted: $hosted:ident $({ $($what:ident: $is:expr),+ $(,)? })?,
        QuickRelease: $quick:ident,
        LowLock: $low:ident,
        HighLock: $high:ident,
        Resumable: $resumable:ident $(,)?
    ) => {
        $crate::forwards!(@$try RawTry $generics $wrapper, $lock in $field);
        $crate::forwards!(@$abortable Abortable $generics $wrapper, $lock in $field);
        $crate::forwards!(@$bounded BoundedAbort $generics $wrapper, $lock in $field);
        $crate::forwards!(@$oblivious ThreadOblivious $generics $wrapper, $lock in $field);
        $crate::forwards!(@$detects DetectsWaiters $generics $wrapper, $lock in $field);
        $crate::forwards!(@$hands_over HandsOver $generics $wrapper, $lock in $field);
        $crate::forwards!(@$fair Fair $generics $wrapper, $lock in $field);
        $crate::forwards!(@$inherit Inherit $generics $wrapper, $lock in $field);
        $crate::forwards!(@$adapts Adapts $generics $wrapper, $lock in $field);
        $crate::forwards!(
            @$hosted Hosted $generics $wrapper, $lock in $field, [$($($other)+)?] $($($what: $is),+)?
        );
        $crate::forwards!(@$quick QuickRelease $generics $wrapper, $lock in $field);
        $crate::forwards!(@$low LowLock $generics $wrapper, $lock in $field);
        $crate::forwards!(@$high HighLock $generics $wrapper, $lock in $field);
        $crate::forwards!(@$resumable Resumable $generics $wrapper, $lock in $field);
    };

    (@own $($rest:tt)*) => {};
    (@none $($rest:tt)*) => {};
    (@usual $kind:ident $generics:tt $wrapper:ty, $($rest:tt)*) => {
        $crate::standalone!($generics $wrapper: $kind);
    };

    (@inner RawTry [$($generic:tt)*] $wrapper:ty, $lock:ident in $field:tt) => {
        // SAFETY: an acquisition is one of the lock inside.
        unsafe impl<$($generic)*> $crate::RawTry for $wrapper
        where
            $lock: $crate::RawTry,
        {
            #[inline]
            unsafe fn try_acquire(&self, cx: &<Self as $crate::RawLock>::Context) -> bool {
                // SAFETY: the caller's.
                unsafe { self.$field.try_acquire(cx) }
            }
        }
    };
    (@inner Abortable [$($generic:tt)*] $wrapper:ty, $lock:ident in $field:tt) => {
        // SAFETY: an acquisition is one of the lock inside.
        unsafe impl<$($generic)*> $crate::Abortable for $wrapper
        where
            $lock: $crate::Abortable,
        {
            #[inline]
            unsafe fn acquire_within(
                &self,
                cx: &<Self as $crate::RawLock>::Context,
                patience: &$crate::Patience,
            ) -> $crate::Outcome {
                // SAFETY: the caller's.
                unsafe { self.$field.acquire_within(cx, patience) }
            }
        }
    };
    (@inner BoundedAbort [$($generic:tt)*] $wrapper:ty, $lock:ident in $field:tt) => {
        // SAFETY: waiters time out in the inner lock.
        unsafe impl<$($generic)*> $crate::BoundedAbort for $wrapper where
            $lock: $crate::BoundedAbort
        {
        }
    };
    (@inner ThreadOblivious [$($generic:tt)*] $wrapper:ty, $lock:ident in $field:tt) => {
        // SAFETY: the release is that of the lock inside.
        unsafe impl<$($generic)*> $crate::ThreadOblivious for $wrapper where
            $lock: $crate::ThreadOblivious
        {
        }
    };
    (@inner DetectsWaiters [$($generic:tt)*] $wrapper:ty, $lock:ident in $field:tt) => {
        // SAFETY: threads wait at the lock inside.
        unsafe impl<$($generic)*> $crate::DetectsWaiters for $wrapper
        where
            $lock: $crate::DetectsWaiters,
        {
            #[inline]
            unsafe fn has_waiters(&self, cx: &<Self as $crate::RawLock>::Context) -> bool {
                // SAFETY: the caller's.
                unsafe { self.$field.has_waiters(cx) }
            }
        }
    };
    (@inner HandsOver [$($generic:tt)*] $wrapper:ty, $lock:ident in $field:tt) => {
        // SAFETY: the lock inside is handed over.
        unsafe impl<$($generic)*> $crate::HandsOver for $wrapper
        where
            $lock: $crate::HandsOver,
        {
            const MOST: u32 = <$lock as $crate::HandsOver>::MOST;

            #[inline]
            unsafe fn hand_over(
                &self,
                cx: &<Self as $crate::RawLock>::Context,
                number: u32,
            ) -> $crate::HandOver {
                // SAFETY: the caller's.
                unsafe { self.$field.hand_over(cx, number) }
            }

            #[inline]
            unsafe fn handed(&self, cx: &<Self as $crate::RawLock>::Context) -> u32 {
                // SAFETY: the caller's.
                unsafe { self.$field.handed(cx) }
            }
        }
    };
    (@inner Fair [$($generic:tt)*] $wrapper:ty, $lock:ident in $field:tt) => {
        impl<$($generic)*> $crate::Fair for $wrapper where $lock: $crate::Fair {}
    };
    (@inner Adapts [$($generic:tt)*] $wrapper:ty, $lock:ident in $field:tt) => {
        impl<$($generic)*> $crate::Adapts for $wrapper
        where
            $lock: $crate::Adapts,
        {
            #[inline]
            fn is_strict(&self) -> bool {
                self.$field.is_strict()
            }

            #[inline]
            fn begins_strict() -> bool {
                <$lock as $crate::Adapts>::begins_strict()
            }

            unsafe fn begin_anew(&self, cx: &<Self as $crate::RawLock>::Context, object: usize) {
                // SAFETY: the caller's.
                unsafe { self.$field.begin_anew(cx, object) };
            }
        }
    };
    (@inner Inherit [$($generic:tt)*] $wrapper:ty, $lock:ident in $field:tt) => {
        // SAFETY: an acquisition is one of the lock inside.
        unsafe impl<$($generic)*> $crate::Inherit for $wrapper
        where
            $lock: $crate::Inherit,
        {
            unsafe fn inherit(&self, holder: Option<&<Self as $crate::RawLock>::Context>) {
                // SAFETY: the caller's.
                unsafe { self.$field.inherit(holder) };
            }
        }
    };
    (
        @inner Hosted [$($generic:tt)*] $wrapper:ty, $lock:ident in $field:tt,
        [$($other:ident)*] $($what:ident: $is:expr),*
    ) => {
        // SAFETY: the inner lock's properties hold for its acquisitions.
        unsafe impl<$($generic)*> $crate::Hosted for $wrapper
        where
            $lock: $crate::Hosted,
        {
            #[allow(clippy::needless_update, reason = "nothing may differ")]
            const HOSTING: $crate::Hosting = $crate::Hosting {
                $($what: $is,)*
                ..<$lock as $crate::Hosted>::HOSTING
            };

            unsafe fn make_at(place: *mut Self) {
                // SAFETY: the caller's; each field is written once.
                unsafe {
                    $((&raw mut (*place).$other).write(::core::default::Default::default());)*
                    <$lock as $crate::Hosted>::make_at(&raw mut (*place).$field);
                }
            }

            #[inline(always)]
            fn turn(&self) -> u32 {
                self.$field.turn()
            }
        }
    };
    (@inner QuickRelease [$($generic:tt)*] $wrapper:ty, $lock:ident in $field:tt) => {
        // SAFETY: the release is that of the lock inside.
        unsafe impl<$($generic)*> $crate::QuickRelease for $wrapper
        where
            $lock: $crate::QuickRelease,
        {
            #[inline(always)]
            unsafe fn release_quickly(
                &self,
                cx: &<Self as $crate::RawLock>::Context,
            ) -> $crate::Quick {
                // SAFETY: the caller's.
                unsafe { self.$field.release_quickly(cx) }
            }

            fn wake_everybody(place: *const Self) {
                // The lock may be gone: only its address counts.
                let inner = place.wrapping_byte_add(::core::mem::offset_of!(Self, $field));
                <$lock as $crate::QuickRelease>::wake_everybody(inner.cast());
            }
        }
    };
    (@inner LowLock [$($generic:tt)*] $wrapper:ty, $lock:ident in $field:tt) => {
        // SAFETY: the inner lock's numbers.
        unsafe impl<$($generic)*> $crate::LowLock for $wrapper
        where
            $lock: $crate::LowLock,
        {
            #[inline(always)]
            fn hand_off_limit(&self) -> u32 {
                self.$field.hand_off_limit()
            }

            #[inline(always)]
            unsafe fn hand_offs(&self, cx: &<Self as $crate::RawLock>::Context) -> u32 {
                // SAFETY: the caller's.
                unsafe { self.$field.hand_offs(cx) }
            }

            #[inline(always)]
            unsafe fn acquire_counted(&self, cx: &<Self as $crate::RawLock>::Context) -> u32 {
                // SAFETY: the caller's.
                unsafe { self.$field.acquire_counted(cx) }
            }

            #[inline]
            unsafe fn release_counted(
                &self,
                cx: &<Self as $crate::RawLock>::Context,
                number: u32,
            ) {
                // SAFETY: the caller's.
                unsafe { self.$field.release_counted(cx, number) };
            }
        }
    };
    (@inner HighLock [$($generic:tt)*] $wrapper:ty, $lock:ident in $field:tt) => {
        // SAFETY: an acquisition is one of the lock inside.
        unsafe impl<$($generic)*> $crate::HighLock for $wrapper
        where
            $lock: $crate::HighLock,
        {
            #[inline(always)]
            unsafe fn acquire_at_cached_place(&self, cx: &<Self as $crate::RawLock>::Context) {
                // SAFETY: the caller's.
                unsafe { self.$field.acquire_at_cached_place(cx) };
            }

            #[inline(always)]
            unsafe fn forget_cached_place(cx: &<Self as $crate::RawLock>::Context) {
                // SAFETY: the caller's.
                unsafe { <$lock as $crate::HighLock>::forget_cached_place(cx) };
            }
        }
    };
    (@inner Resumable [$($generic:tt)*] $wrapper:ty, $lock:ident in $field:tt) => {
        // SAFETY: a wait is one of the lock inside.
        unsafe impl<$($generic)*> $crate::Resumable for $wrapper
        where
            $lock: $crate::Resumable,
        {
            const STAYS: bool = <$lock as $crate::Resumable>::STAYS;

            #[inline]
            unsafe fn begin_within(
                &self,
                cx: &<Self as $crate::RawLock>::Context,
                patience: &$crate::Patience,
            ) -> $crate::Outcome {
                // SAFETY: the caller's.
                unsafe { self.$field.begin_within(cx, patience) }
            }

            #[inline]
            unsafe fn resume_within(
                &self,
                cx: &<Self as $crate::RawLock>::Context,
                patience: &$crate::Patience,
            ) -> $crate::Outcome {
                // SAFETY: the caller's.
                unsafe { self.$field.resume_within(cx, patience) }
            }

            #[inline]
            unsafe fn retract(&self, cx: &<Self as $crate::RawLock>::Context) {
                // SAFETY: the caller's.
                unsafe { self.$field.retract(cx) };
            }
        }
    };
}
