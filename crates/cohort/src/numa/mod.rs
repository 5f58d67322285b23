//! Locks that know where their waiters run and are not made by composing, one file
//! each, under their papers' names.

pub mod cna;
pub mod fc_mcs;
pub mod hbo;
pub mod hmcs;
pub mod shfl;

pub use cna::Cna;
pub use fc_mcs::FcMcs;
pub use hbo::Hbo;
pub use hmcs::{Hmcs, Hmcs2, Hmcs3, Hmcs4, Hmcs4Package};
pub use shfl::Shfl;

use crate::door::{AtomicPtr, Order, Spinner};

/// Blocks until the waiter that has entered a queue behind a node is linked to it.
fn linked<N>(next: &AtomicPtr<N>, order: Order) -> *mut N {
    let mut spinner = Spinner::new();
    loop {
        let successor = next.load(order);
        if !successor.is_null() {
            return successor;
        }
        spinner.turn();
    }
}
