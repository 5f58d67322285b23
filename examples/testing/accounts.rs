//! A program's code, with a mutex in each account.  It imports its locks from `crate::locks`: `cohort`
//! in the program, and in its tests the same locks compiled for a model checker
//! (crates/cohort-on-loom/examples/every_order.rs) or for a simulated machine
//! (crates/cohort-on-machine/examples/accounts.rs).

use crate::locks::{Mutex, RawLock, ThreadOblivious};

/// `N` accounts, each behind a lock `L`.
pub struct Accounts<L, const N: usize> {
    all: [Mutex<u64, L>; N],
}

impl<L: RawLock + ThreadOblivious, const N: usize> Accounts<L, N> {
    /// Accounts with this balance each.
    pub fn new(each: u64) -> Self {
        Self {
            all: std::array::from_fn(|_| Mutex::from(each)),
        }
    }

    /// Moves an amount if the balance suffices; true if so.  Locks the lower account first.
    pub fn transfer(&self, from: usize, to: usize, amount: u64) -> bool {
        let (low, high) = (from.min(to), from.max(to));
        if low == high {
            return true;
        }
        let (mut low_held, mut high_held) = (self.all[low].lock(), self.all[high].lock());
        let (source, target) = if from == low {
            (&mut *low_held, &mut *high_held)
        } else {
            (&mut *high_held, &mut *low_held)
        };
        let is_there = *source >= amount;
        if is_there {
            *source -= amount;
            *target += amount;
        }
        is_there
    }

    /// The sum of all balances, without concurrent transfers.
    pub fn total(&self) -> u64 {
        self.all.iter().map(|account| *account.lock()).sum()
    }
}
