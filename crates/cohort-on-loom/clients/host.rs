//! Objects that host a lock behave like the lock, and are all zero at rest.

use super::{add_one, read};
use crate::locks::Quick;
use crate::locks::door::Cell;
use crate::locks::host::{Fat, Gate, Holding, InPlace, Inflated, Pool, Pooled, Served, Stock};
use crate::world::{nodes, together};
use std::sync::Arc;

/// What a host lets a program do.
pub trait Host: Send + Sync + 'static {
    /// Blocks until locked.
    fn lock(&self);
    /// Locks without waiting, or does not.
    fn try_lock(&self) -> bool;
    /// Unlocks what the caller locked; whether it was locked.
    fn unlock(&self) -> bool;
    /// Whether it is locked, or not at rest.
    fn is_busy(&self) -> bool;
    /// In a forked child, forgets whoever was there.
    fn forget(&self) {
        let _ = self.unlock();
    }
    /// Whether somebody waits who will lock it, if the holder can tell.
    fn has_waiters(&self) -> bool {
        false
    }
}

/// A lock in the object, and the pool of its records; `SHORT` if the shortest ways are
/// tried first.
struct Here<L, R, const SHORT: bool> {
    object: InPlace<L>,
    gate: Gate,
    records: Arc<R>,
}

/// The lock in the object, its records in a pool.
pub fn in_place<L: Served>() -> impl Host {
    here::<L, false>()
}

/// The same, by the shortest ways where they will do.
pub fn shortly_in_place<L: Served>() -> impl Host {
    here::<L, true>()
}

fn here<L: Served, const SHORT: bool>() -> impl Host {
    Here::<L, _, SHORT> {
        object: InPlace::default(),
        gate: Gate::new(),
        records: nodes::<Holding<L::Context>>(2),
    }
}

impl<L, R, const SHORT: bool> Host for Here<L, R, SHORT>
where
    L: Served,
    R: Pool<Holding<L::Context>> + Send + Sync + 'static,
{
    fn lock(&self) {
        if !SHORT || !self.object.lock_untouched() {
            self.object.lock(&self.gate, &*self.records);
        }
    }
    fn try_lock(&self) -> bool {
        self.object.try_lock(&self.gate, &*self.records)
    }
    fn unlock(&self) -> bool {
        if SHORT {
            // SAFETY: clients unlock only what they locked.
            match unsafe { self.object.unlock_quickly(&self.gate) } {
                Quick::Released => return true,
                Quick::MarkLost => {
                    InPlace::wake_everybody(&raw const self.object);
                    return true;
                }
                Quick::Refused => {}
            }
        }
        // SAFETY: as above.
        unsafe { self.object.unlock(&self.gate, &*self.records) }
    }
    fn is_busy(&self) -> bool {
        self.object.is_locked()
    }
}

/// A lock elsewhere while contended, and the stock that it comes from.
struct There<S> {
    object: Inflated,
    stock: S,
}

/// The lock in a pool while contended, its records in another.
pub fn inflated<L: Served>() -> impl Host {
    There {
        object: Inflated::default(),
        stock: Pooled::<L, _, _>::new(nodes::<Holding<L::Context>>(2), nodes::<Fat<L>>(3)),
    }
}

impl<S: Stock + Send + Sync + 'static> Host for There<S> {
    fn lock(&self) {
        self.object.lock(&self.stock);
    }
    fn try_lock(&self) -> bool {
        self.object.try_lock(&self.stock)
    }
    fn unlock(&self) -> bool {
        // SAFETY: clients unlock only what they locked.
        unsafe { self.object.unlock(&self.stock) }
    }
    fn is_busy(&self) -> bool {
        self.object.is_locked()
    }
    fn has_waiters(&self) -> bool {
        self.object.has_waiters(&self.stock)
    }
}

/// Each thread locks `rounds` times, the first `triers` of them without waiting.
pub fn excludes<H: Host>(host: H, threads: usize, rounds: u64, triers: usize) {
    let shared = Arc::new((host, Cell::new(0)));
    let theirs = Arc::clone(&shared);
    let entered = together(threads, move |thread| {
        let (host, count) = &*theirs;
        let mut entered = 0;
        for _ in 0..rounds {
            if thread >= triers {
                host.lock();
            } else if !host.try_lock() {
                continue;
            }
            add_one(count);
            entered += 1;
            assert!(host.unlock(), "the holder does not hold it");
        }
        entered
    });
    if let Some(entered) = entered {
        assert_eq!(read(&shared.1), entered.iter().sum::<u64>());
        assert!(!shared.0.is_busy(), "the object is not at rest");
    }
}
