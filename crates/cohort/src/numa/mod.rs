//! NUMA-aware locks that are not compositions, one file each, under their papers' names.

/// Declares the trait `Form` for the two forms of a tree of queues, with parking and without, and for
/// each a pool of the file's nodes and one of its `Cohort`.
macro_rules! tree_forms {
    ($node:ident) => {
        /// A form of the lock, and the pools of its nodes and cohorts.
        pub trait Form: $crate::wait::Parking {
            /// The pool of nodes.
            fn nodes() -> &'static (impl $crate::host::Pool<$node<Self>> + 'static);

            /// The pool of cohorts.
            fn cohorts() -> &'static (impl $crate::host::Pool<Cohort<Self>> + 'static);
        }

        $crate::numa::tree_forms! {
            MayPark $node PARKING_NODES PARKING_COHORTS;
            SpinOnly $node SPINNING_NODES SPINNING_COHORTS;
        }
    };
    ($($form:ident $node:ident $nodes:ident $cohorts:ident;)+) => {
        $(
            $crate::door::pool! {
                static $nodes: $node<$crate::wait::$form>, placed
            }

            $crate::door::pool! {
                static $cohorts: Cohort<$crate::wait::$form>, placed
            }

            impl Form for $crate::wait::$form {
                fn nodes() -> &'static (impl $crate::host::Pool<$node<Self>> + 'static) {
                    &$nodes
                }

                fn cohorts() -> &'static (impl $crate::host::Pool<Cohort<Self>> + 'static) {
                    &$cohorts
                }
            }
        )+

        /// Bytes of all nodes and cohorts made so far.
        pub(crate) fn pool_bytes() -> usize {
            0 $(+ $nodes.bytes() + $cohorts.bytes())+
        }
    };
}
pub(crate) use tree_forms;

pub mod ahmcs;
pub mod cna;
pub mod fc_mcs;
pub mod fc_mcs_published;
pub mod fissile;
pub mod futex_hmcs;
pub mod hbo;
pub mod hclh;
pub mod hmcs;
pub mod hmcs_t;
pub mod hmcs_t_published;
pub mod near;
pub mod shape;
pub mod shfl;

pub use ahmcs::{Ahmcs3, Ahmcs4, AnyAhmcs, WhereMet};
pub use cna::Cna;
pub use fc_mcs::FcMcs;
pub use fc_mcs_published::FcMcsPublished;
pub use fissile::Fissile;
pub use futex_hmcs::FutexHmcs;

/// The lock of a mutex without another. A program's own platform has no threads' numbers, which [`FutexHmcs`]
/// needs.
#[cfg(world = "platform")]
pub(crate) use crate::basic::Ttas as DefaultLock;
#[cfg(not(world = "platform"))]
pub(crate) use futex_hmcs::FutexHmcs as DefaultLock;
pub use hbo::Hbo;
pub use hclh::Hclh;
pub use hmcs::{AnyHmcs, AnyHmcsFast, ByFastPath, Hmcs, Hmcs2, Hmcs3, Hmcs4, Hmcs4Package, Hmcs5};
pub use hmcs_t::{AnyAhmcsT, AnyHmcsT, HmcsT, HmcsT1, HmcsT2, HmcsT3, HmcsT4};
pub use hmcs_t_published::{AnyHmcsTPublished, HmcsTPublished};
pub use near::Near;
pub use shape::{ChosenShape, Shape, ShapeText, TextShape};
pub use shfl::Shfl;

use crate::door::{self, AtomicPtr, Level, Order, Spinner, constructor, repeated};
use crate::support::padded::CachePadded;

/// NUMA nodes with an entry of their own; further nodes share entries.
const NODES: usize = door::node_places(16);

/// A queue's tail for each NUMA node.
#[derive(Debug)]
struct EachNode<N>([CachePadded<AtomicPtr<N>>; NODES]);

impl<N> EachNode<N> {
    constructor! {
        /// All empty.
        fn new() -> Self {
            Self(repeated!(CachePadded(AtomicPtr::null()), NODES))
        }
    }

    /// The tail of the calling thread's node.
    #[inline]
    fn here(&self) -> &AtomicPtr<N> {
        &self.0[door::cohort(Level::Numa) % NODES].0
    }

    fn all(&self) -> impl Iterator<Item = &AtomicPtr<N>> {
        self.0.iter().map(|CachePadded(one)| one)
    }
}

/// Blocks until the waiter that has entered a queue behind a node is linked to it.
pub(crate) fn linked<N>(next: &AtomicPtr<N>, order: Order) -> *mut N {
    let mut spinner = Spinner::new();
    loop {
        let successor = next.load(order);
        if !successor.is_null() {
            return successor;
        }
        spinner.moment();
    }
}
