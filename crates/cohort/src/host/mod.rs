//! Adapters that store any lock in a small object. The object may be uninitialised, never
//! destroyed, reused as another type, freed while locked, or inherited by a forked child with
//! waiters.
//!
//! A lock with small enough shared state is stored in the object ([`InPlace`]). A larger one is inflated
//! into an arena under contention ([`Inflated`]). In both cases an idle object is all zero bytes,
//! except for the [`Generation`] of its last use, and owns nothing. Queue nodes are in an
//! [`Arena`], with memory that never changes its type. No code has to run at a thread's exit, an
//! object's destruction or a fork.

mod arena;
pub mod assigned;
mod claim;
mod comers;
mod gate;
mod generation;
mod in_place;
mod inflated;
mod placed;
mod returning;
#[cfg(not(world = "loom"))]
pub mod served;
mod spell;
mod wide_gate;

pub use arena::{Arena, MadeInPlace, Often, Seldom};
pub use claim::Claim;
pub use gate::{Gate, Try};
pub use generation::Generation;
pub use in_place::InPlace;
pub use inflated::{AdaptingPool, Fat, FatPool, Inflated, Pooled};
pub use placed::Placed;
pub use returning::Returning;
pub(crate) use spell::{HysteresisWindow, Scarcity};
pub use wide_gate::{Outside, WideGate};

use crate::door::{AtomicU32, AtomicUsize, Order};
use cohort_raw::{Hosted, Inherit, RawTry, ThreadOblivious};

/// Declares the trait `Form` for a lock's two forms, with parking and without, and a node pool for
/// each. The pools are for nodes outside stack frames, which change hands or stay behind.
macro_rules! pooled_forms {
    ($nodes:ident: $node:ident, [$($parking:tt)+], [$($spinning:tt)+]) => {
        /// A form of the lock, and the pool of its nodes outside frames.
        pub trait Form: $crate::wait::Parking {
            /// The pool.
            fn $nodes() -> &'static (impl $crate::host::Pool<$node<Self>> + 'static);
        }

        $crate::door::pool! {
            /// Nodes for the form that may park.
            static PARKING: $node<$crate::wait::MayPark>, $($parking)+
        }

        $crate::door::pool! {
            /// Nodes for the form that never parks.
            static SPINNING: $node<$crate::wait::SpinOnly>, $($spinning)+
        }

        impl Form for $crate::wait::MayPark {
            fn $nodes() -> &'static (impl $crate::host::Pool<$node<Self>> + 'static) {
                &PARKING
            }
        }

        impl Form for $crate::wait::SpinOnly {
            fn $nodes() -> &'static (impl $crate::host::Pool<$node<Self>> + 'static) {
                &SPINNING
            }
        }
    };
}
pub(crate) use pooled_forms;

/// Requirements of every adapter on a lock: contexts that threads can share, tries, release by any
/// thread, repair after a fork, and a known storage.
pub trait Served:
    RawTry<Context: Send + Sync + 'static> + ThreadOblivious + Inherit + Hosted + 'static
{
}

impl<L> Served for L where
    L: RawTry<Context: Send + Sync + 'static> + ThreadOblivious + Inherit + Hosted + 'static
{
}

/// A store of nodes with stable addresses and numbers.
///
/// # Safety
/// [`take`](Self::take) must never hand out a taken node. Nodes must stay nodes for ever, since a
/// late reader may access one after its return.
pub unsafe trait Pool<T: 'static>: Sync {
    /// A node exclusive to the caller, in the state in which it was given back; the caller sees
    /// that state. Blocks only if the system is out of memory, until another node is given back.
    fn take(&self) -> &'static T;

    /// Gives a node back.
    ///
    /// # Safety
    /// It was taken from this pool, and no thread will use it as its own.
    unsafe fn give(&self, node: &'static T);

    /// Leaves a node to other threads; one of them [returns](Self::return_left) it. The pool may
    /// reserve it for the calling thread then.
    ///
    /// # Safety
    /// It was taken from this pool. Other threads see it as left only after this call; the caller
    /// will not use it as its own.
    unsafe fn leave(&self, _node: &'static T) {}

    /// Gives back a node that another thread may have [left](Self::leave).
    ///
    /// # Safety
    /// As [`give`](Self::give).
    unsafe fn return_left(&self, node: &'static T) {
        // SAFETY: passed on.
        unsafe { self.give(node) };
    }

    /// [`take`](Self::take) in code shared by all node types: smaller, and slightly slower.
    fn take_seldom(&self) -> &'static T {
        self.take()
    }

    /// [`give`](Self::give) in such code.
    ///
    /// # Safety
    /// As for [`give`](Self::give).
    unsafe fn give_seldom(&self, node: &'static T) {
        // SAFETY: passed on.
        unsafe { self.give(node) };
    }

    /// The node's number, at least 1.
    fn number(&self, node: &'static T) -> u32;

    /// The node of that number.
    ///
    /// # Safety
    /// The number is from [`number`](Self::number) of this pool.
    unsafe fn at(&self, number: u32) -> &'static T;

    /// Bytes of all nodes made so far; 0 if the pool does not count them.
    fn bytes(&self) -> usize {
        0
    }
}

/// A pool with iteration over its nodes, taken or free.
pub trait Census<T: 'static>: Pool<T> {
    /// Shows each node that was ever taken, except one being taken for the first time; never
    /// blocks.
    fn each(&self, look: &mut dyn FnMut(&'static T));
}

/// An acquisition's record: its context, and, for the deadlock detector, its object and the
/// acquiring thread. Another thread may have been handed the lock since.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Holding<C> {
    /// The lock's context.
    pub context: C,
    object: AtomicUsize,
    thread: AtomicU32,
}

impl<C: Default + 'static> MadeInPlace for Holding<C> {
    const CACHE: usize = 0;

    unsafe fn make_at(place: *mut Self) {
        // SAFETY: the caller's.
        unsafe { place.write(Self::default()) };
    }
}

impl<C> Holding<C> {
    /// Records the thread, and the object if one is given.
    #[inline(always)]
    fn note<T>(&self, object: Option<&T>) {
        let object = object.map_or(core::ptr::null(), core::ptr::from_ref);
        self.object.store(object.addr(), Order::RELAXED);
        self.thread.store(crate::door::thread_id(), Order::RELAXED);
    }
}
