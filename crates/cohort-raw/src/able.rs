//! What a type can do, asked of the type itself.

use crate::{
    Abortable, Adapts, BoundedAbort, DetectsWaiters, Fair, Hosted, Inherit, Outcome, Patience,
    RawLock, RawTry, ThreadOblivious,
};
use core::marker::PhantomData;

/// What the lock `L` can do, for macros over a catalogue: each constant is as `L` implements the
/// trait or not, so that nothing goes by what the catalogue lists, or in which order.
///
/// The constants are read where `L` is a type with a name, with [`Unable`] in scope.  **In code that
/// is generic over `L`** they know its bounds alone: what no bound says counts as a lack.
///
/// ```
/// use cohort_raw::{Able, Unable as _};
/// # use cohort_raw::{Fair, RawLock};
/// # #[derive(Default)]
/// # struct Queue;
/// # // SAFETY: nobody uses it.
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

/// [`Abortable::acquire_within`] of a lock that has it.
pub type AcquireWithin<L> = unsafe fn(&L, &<L as RawLock>::Context, &Patience) -> Outcome;

/// What a host asks of a lock that [adapts](Adapts).
#[derive(Debug)]
pub struct Adapting<L: RawLock> {
    /// [`Adapts::is_strict`].
    pub is_strict: fn(&L) -> bool,
    /// [`Adapts::begins_strict`].
    pub begins_strict: fn() -> bool,
    /// [`Adapts::begin_anew`].
    pub begin_anew: unsafe fn(&L, &<L as RawLock>::Context, usize),
}

/// [`RawTry::try_acquire`], of a lock and a context whose types are forgotten.
pub type TryAcquire = unsafe fn(*const u8, *const u8) -> bool;

/// [`Abortable::acquire_within`], of the same.
pub type Within = unsafe fn(*const u8, *const u8, &Patience) -> Outcome;

/// [`Inherit::inherit`], of the same; the context may be null.
pub type InheritBy = unsafe fn(*const u8, *const u8);

/// What makes something at a place that is writable and nobody's.
pub type Make = unsafe fn(*mut u8);

/// What [`Able`] says of a lock that does not implement a trait: an inherent constant of `Able<L>`
/// stands before one of this trait, where the bound of the former is met.
pub trait Unable<L: RawLock> {
    /// Whether it is [`RawTry`].
    const RAW_TRY: bool = false;
    /// Whether it is [`Abortable`].
    const ABORTABLE: bool = false;
    /// How its waiters give up, if they can.
    const ACQUIRE_WITHIN: Option<AcquireWithin<L>> = None;
    /// How they do, of a lock whose type is forgotten, if they can.
    const WITHIN_OPERATION: Option<Within> = None;
    /// How it is tried, of a lock whose type is forgotten, if it can be.
    const TRY_OPERATION: Option<TryAcquire> = None;
    /// How a forked child goes on with it, of a lock whose type is forgotten, if it can.
    const INHERIT_OPERATION: Option<InheritBy> = None;
    /// How it is made where it is to lie: by a copy, if it is not [`Hosted`](crate::Hosted).
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
    /// What a host asks of it, if it does.
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
    /// How its waiters give up.
    pub const ACQUIRE_WITHIN: Option<AcquireWithin<L>> = Some(L::acquire_within);
}

impl<L: Adapts> Able<L> {
    /// What a host asks of it.
    pub const ADAPTING: Option<Adapting<L>> = Some(Adapting {
        is_strict: L::is_strict,
        begins_strict: L::begins_strict,
        begin_anew: L::begin_anew,
    });
}

/// # Safety
/// The place is writable, and nobody's.
pub(crate) unsafe fn make_default<T: Default>(place: *mut u8) {
    // SAFETY: the caller's.
    unsafe { place.cast::<T>().write(T::default()) };
}

impl<L: RawTry> Able<L> {
    /// How it is tried, of a lock whose type is forgotten.
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
    /// How its waiters give up, of a lock whose type is forgotten.
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
    /// How a forked child goes on with it, of a lock whose type is forgotten.
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
    /// How it is made where it is to lie, of a lock whose type is forgotten.
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

/// What a type [can](Able) do: a `bool` for each [`Capability`](crate::Capability), in the order in
/// which those are declared.
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
