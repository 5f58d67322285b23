//! The capabilities of a type, as constants.

use crate::{
    Abortable, Adapts, BoundedAbort, DetectsWaiters, Fair, Hosted, Inherit, Outcome, Patience,
    RawLock, RawTry, ThreadOblivious,
};
use core::marker::PhantomData;

/// The capabilities of the lock `L`, for macros over a catalogue: each constant says whether `L`
/// implements a trait, independently of the catalogue's entries.
///
/// The constants are evaluated where `L` is a named type, with [`Unable`] in scope. **In code
/// generic over `L`** they reflect its bounds only: a capability without a bound counts as missing.
///
/// ```
/// use cohort_raw::{Able, Unable as _};
/// # use cohort_raw::{Fair, RawLock};
/// # #[derive(Default)]
/// # struct Queue;
///  # // SAFETY: never used.
/// # unsafe impl RawLock for Queue {
/// #     type Context = ();
/// #     unsafe fn acquire(&self, (): &()) {}
/// #     unsafe fn release(&self, (): &()) {}
/// #     fn is_locked(&self) -> bool { false }
/// # }
/// impl Fair for Queue {}
///
/// assert!(Able::<Queue>::FAIR);
/// assert!(Able::<Queue>::ACQUIRE_WITHIN.is_none());
/// ```
#[derive(Debug)]
pub struct Able<L>(PhantomData<L>);

/// The type of [`Abortable::acquire_within`].
pub type AcquireWithin<L> = unsafe fn(&L, &<L as RawLock>::Context, &Patience) -> Outcome;

/// A host's interface to an [adaptive](Adapts) lock.
#[derive(Debug)]
pub struct Adapting<L: RawLock> {
    /// [`Adapts::is_strict`].
    pub is_strict: fn(&L) -> bool,
    /// [`Adapts::begins_strict`].
    pub begins_strict: fn() -> bool,
    /// [`Adapts::begin_anew`].
    pub begin_anew: unsafe fn(&L, &<L as RawLock>::Context, usize),
}

/// [`RawTry::try_acquire`], with erased types.
pub type TryAcquire = unsafe fn(*const u8, *const u8) -> bool;

/// [`Abortable::acquire_within`], with erased types.
pub type Within = unsafe fn(*const u8, *const u8, &Patience) -> Outcome;

/// [`Inherit::inherit`], with erased types; the context may be null.
pub type InheritBy = unsafe fn(*const u8, *const u8);

/// Creates a value in writable, unused memory.
pub type Make = unsafe fn(*mut u8);

/// [`Able`]'s constants for a lock without a trait: an inherent constant of `Able<L>` takes
/// precedence over this trait's, where its bound is met.
pub trait Unable<L: RawLock> {
    /// Whether it is [`RawTry`].
    const RAW_TRY: bool = false;
    /// Whether it is [`Abortable`].
    const ABORTABLE: bool = false;
    /// Its bounded acquisition, if it has one.
    const ACQUIRE_WITHIN: Option<AcquireWithin<L>> = None;
    /// The same with erased types.
    const WITHIN_OPERATION: Option<Within> = None;
    /// Its try operation with erased types, if it has one.
    const TRY_OPERATION: Option<TryAcquire> = None;
    /// Its fork operation with erased types, if it has one.
    const INHERIT_OPERATION: Option<InheritBy> = None;
    /// Creates it in place: by a copy, if it is not [`Hosted`](crate::Hosted).
    const MAKE_OPERATION: Make = make_default::<L>;
    /// Whether it is [`BoundedAbort`].
    const BOUNDED_ABORT: bool = false;
    /// Whether it is [`ThreadOblivious`].
    const THREAD_OBLIVIOUS: bool = false;
    /// Whether it is [`DetectsWaiters`].
    const DETECTS_WAITERS: bool = false;
    /// Whether it is [`Fair`].
    const FAIR: bool = false;
    /// Whether it is [`Inherit`].
    const INHERIT: bool = false;
    /// Whether it is [`Adapts`].
    const ADAPTS: bool = false;
    /// A host's interface to it, if it adapts.
    const ADAPTING: Option<Adapting<L>> = None;
}

impl<L: RawLock> Unable<L> for Able<L> {}

macro_rules! able {
    ($($name:ident: $kind:ident;)+) => {
        $(impl<L: $kind> Able<L> {
            #[doc = concat!("It is [`", stringify!($kind), "`].")]
            pub const $name: bool = true;
        })+
    };
}
able! {
    RAW_TRY: RawTry;
    ABORTABLE: Abortable;
    BOUNDED_ABORT: BoundedAbort;
    THREAD_OBLIVIOUS: ThreadOblivious;
    DETECTS_WAITERS: DetectsWaiters;
    FAIR: Fair;
    INHERIT: Inherit;
    ADAPTS: Adapts;
}

impl<L: Abortable> Able<L> {
    /// Its bounded acquisition.
    pub const ACQUIRE_WITHIN: Option<AcquireWithin<L>> = Some(L::acquire_within);
}

impl<L: Adapts> Able<L> {
    /// A host's interface to it.
    pub const ADAPTING: Option<Adapting<L>> = Some(Adapting {
        is_strict: L::is_strict,
        begins_strict: L::begins_strict,
        begin_anew: L::begin_anew,
    });
}

/// # Safety
/// The place is writable and unused.
pub(crate) unsafe fn make_default<T: Default>(place: *mut u8) {
    // SAFETY: the caller's.
    unsafe { place.cast::<T>().write(T::default()) };
}

impl<L: RawTry> Able<L> {
    /// Its try operation with erased types.
    pub const TRY_OPERATION: Option<TryAcquire> = {
        /// # Safety
        /// As [`Operations`](crate::Operations).
        unsafe fn try_acquire<L: RawTry>(lock: *const u8, context: *const u8) -> bool {
            // SAFETY: the caller's.
            unsafe { (*lock.cast::<L>()).try_acquire(&*context.cast()) }
        }
        Some(try_acquire::<L>)
    };
}

impl<L: Abortable> Able<L> {
    /// Its bounded acquisition with erased types.
    pub const WITHIN_OPERATION: Option<Within> = {
        /// # Safety
        /// As [`Operations`](crate::Operations).
        unsafe fn within<L: Abortable>(
            lock: *const u8,
            context: *const u8,
            patience: &Patience,
        ) -> Outcome {
            // SAFETY: the caller's.
            unsafe { (*lock.cast::<L>()).acquire_within(&*context.cast(), patience) }
        }
        Some(within::<L>)
    };
}

impl<L: Inherit> Able<L> {
    /// Its fork operation with erased types.
    pub const INHERIT_OPERATION: Option<InheritBy> = {
        /// # Safety
        /// As [`Operations`](crate::Operations), and as [`Inherit::inherit`].
        unsafe fn inherit<L: Inherit>(lock: *const u8, holder: *const u8) {
            // SAFETY: the caller's.
            unsafe { (*lock.cast::<L>()).inherit(holder.cast::<L::Context>().as_ref()) };
        }
        Some(inherit::<L>)
    };
}

impl<L: Hosted> Able<L> {
    /// Creates it in place, with erased types.
    pub const MAKE_OPERATION: Make = {
        /// # Safety
        /// As [`Hosted::make_at`].
        unsafe fn make<L: Hosted>(place: *mut u8) {
            // SAFETY: the caller's.
            unsafe { L::make_at(place.cast()) };
        }
        make::<L>
    };
}

/// The [capabilities](Able) of a type: a `bool` for each [`Capability`](crate::Capability), in
/// declaration order.
#[macro_export]
macro_rules! all_abilities {
    ($lock:ty) => {{
        use $crate::{Able, Unable as _};
        [
            Able::<$lock>::RAW_TRY,
            Able::<$lock>::ABORTABLE,
            Able::<$lock>::BOUNDED_ABORT,
            Able::<$lock>::THREAD_OBLIVIOUS,
            Able::<$lock>::DETECTS_WAITERS,
            Able::<$lock>::FAIR,
            Able::<$lock>::INHERIT,
        ]
    }};
}
