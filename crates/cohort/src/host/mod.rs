//! Any lock inside a small object that may never be initialised, never be
//! destroyed, be reused as another type, freed while locked, or inherited by a
//! forked child while waiters queue.
//!
//! A lock whose shared state fits lives in the object ([`InPlace`]); one that is
//! too big is inflated into an arena while it is contended ([`Inflated`]).  Either
//! way the idle object is all zero bytes (but for the [`Generation`] of its last
//! use) and owns nothing, queue nodes come from an [`Arena`] whose memory keeps
//! its type for ever, and nothing has to run when a thread exits, an object is
//! destroyed or a process forks.

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

pub use arena::{Arena, MadeInPlace, Often, Seldom};
pub use claim::Claim;
pub use gate::{Gate, Try, WideGate};
pub use generation::Generation;
pub use in_place::InPlace;
pub use inflated::{AdaptingPool, Fat, FatPool, Inflated, Pooled};
pub use placed::Placed;
pub use returning::Returning;
pub(crate) use spell::{Scarcity, Spell};

use crate::door::{AtomicU32, AtomicUsize, Order};
use cohort_raw::{Hosted, Inherit, RawTry, ThreadOblivious};

/// Declares the trait `Form`, of a lock's form in which waiters may sleep and of that in which they never
/// do, with a pool for each: for nodes that no frame owns, since they change hands or stay behind.
macro_rules! pooled_forms {
    ($nodes:ident: $node:ident, [$($parking:tt)+], [$($spinning:tt)+]) => {
        /// A form of the lock, and the pool of what its frames do not own.
        pub trait Form: $crate::wait::Parking {
            /// The pool.
            fn $nodes() -> &'static (impl $crate::host::Pool<$node<Self>> + 'static);
        }

        $crate::door::pool! {
            /// Those at which waiters may sleep.
            static PARKING: $node<$crate::wait::MayPark>, $($parking)+
        }

        $crate::door::pool! {
            /// Those at which they never do.
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

/// What every host asks of a lock: threads can share its contexts, it can be tried, any thread
/// may release it, a forked child goes on with it, and it is known where it may lie.
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
/// [`take`](Self::take) must never hand out a node that is taken already, and
/// nodes must stay nodes for ever: a late reader may look at one that was given
/// back.
pub unsafe trait Pool<T: 'static>: Sync {
    /// A node nobody else has, in whatever state it was given back, which the caller
    /// sees.  Blocks only where the system has no memory left, until another is given back.
    fn take(&self) -> &'static T;

    /// Gives a node back.
    ///
    /// # Safety
    /// It was taken from this pool, and nobody will touch it as their own.
    unsafe fn give(&self, node: &'static T);

    /// Leaves a node to other threads, one of which [returns](Self::return_left) it.  The pool may keep it for
    /// the calling thread then.
    ///
    /// # Safety
    /// It was taken from this pool, and others will see it as left after this call alone; the caller will not
    /// touch it as its own.
    unsafe fn leave(&self, _node: &'static T) {}

    /// Gives a node back that another thread may have [left](Self::leave).
    ///
    /// # Safety
    /// As [`give`](Self::give).
    unsafe fn return_left(&self, node: &'static T) {
        // SAFETY: passed on.
        unsafe { self.give(node) };
    }

    /// [`take`](Self::take) by code that all nodes may share, smaller and a little slower.
    fn take_seldom(&self) -> &'static T {
        self.take()
    }

    /// [`give`](Self::give) by such code.
    ///
    /// # Safety
    /// As there.
    unsafe fn give_seldom(&self, node: &'static T) {
        // SAFETY: passed on.
        unsafe { self.give(node) };
    }

    /// The node's number, at least 1.
    fn number(&self, node: &'static T) -> u32;

    /// The node of that number.
    ///
    /// # Safety
    /// The number came from [`number`](Self::number) of this pool.
    unsafe fn at(&self, number: u32) -> &'static T;

    /// Bytes of all nodes made so far; 0 where nobody counts them.
    fn bytes(&self) -> usize {
        0
    }
}

/// A pool whose nodes, taken or free, can be looked through.
pub trait Census<T: 'static>: Pool<T> {
    /// Shows every node that was ever taken, and was not taken for the first time just
    /// now; never blocks.
    fn each(&self, look: &mut dyn FnMut(&'static T));
}

/// An acquisition's record: its context, and for a search for deadlocks which
/// object it is for and which thread made it, which need not be the one that was
/// handed the lock since.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Holding<C> {
    /// The lock's own context.
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
    /// Notes the thread and the object, if it is for an object.
    #[inline(always)]
    fn note<T>(&self, object: Option<&T>) {
        let object = object.map_or(core::ptr::null(), core::ptr::from_ref);
        self.object.store(object.addr(), Order::RELAXED);
        self.thread.store(crate::door::thread_id(), Order::RELAXED);
    }
}
