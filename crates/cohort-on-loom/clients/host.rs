//! Objects that host a lock behave like the lock, and are all zero at rest.

use super::{add_one, read};
use crate::locks::door::{AtomicU32, Cell, Order, now, yield_now};
use crate::locks::host::{
    Claim, Fat, FatPool, Gate, Holding, InPlace, Inflated, Pool, Pooled, Served, assigned,
};
use crate::locks::{Able, Abortable, Adapts, Deadline, Patience, Quick, QuickRelease};
use crate::world::{nodes, together};
use std::sync::Arc;

/// The operations of a host.
pub trait Host: Send + Sync + 'static {
    /// Blocks until locked.
    fn lock(&self);
    /// Tries to lock.
    fn try_lock(&self) -> bool;
    /// Locks, or times out; returns whether it is locked.
    fn lock_within(&self, _patience: &Patience) -> bool {
        unreachable!("its clients have patience");
    }
    /// Locks from the lock's own queue, which waiters can leave at a timeout.
    fn wait_within(&self, _patience: &Patience) -> bool {
        unreachable!("its clients never leave");
    }
    /// Locks by a claim with a deadline that never passes, and calls `locked` in the same step.
    fn lock_noting(&self, _locked: &dyn Fn()) {
        unreachable!("its clients note nothing");
    }
    /// Unlocks the caller's lock; returns whether it was locked.
    fn unlock(&self) -> bool;
    /// Whether it is locked, or not in its initial state.
    fn is_busy(&self) -> bool;
    /// In a forked child, forgets all threads of the parent.
    fn forget(&self) {
        let _ = self.unlock();
    }
    /// Whether a waiter exists, as far as the holder can see.
    fn has_waiters(&self) -> bool {
        false
    }
}

/// A lock in the object, with the pool of its records; `SHORT`: tries the fast paths first.
struct Here<L, R, const SHORT: bool> {
    object: InPlace<L>,
    gate: Gate,
    records: Arc<R>,
}

/// Hosts the lock in the object, its records in a pool.
pub fn in_place<L: Served + QuickRelease>() -> impl Host {
    here::<L, false>()
}

/// Like [`in_place`], by the fast paths where possible.
pub fn in_place_fast<L: Served + QuickRelease>() -> impl Host {
    here::<L, true>()
}

fn here<L: Served + QuickRelease, const SHORT: bool>() -> impl Host {
    Here::<L, _, SHORT> {
        object: InPlace::default(),
        gate: Gate::new(),
        records: nodes::<Holding<L::Context>>(2),
    }
}

impl<L, R, const SHORT: bool> Host for Here<L, R, SHORT>
where
    L: Served + QuickRelease,
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
    fn lock_within(&self, patience: &Patience) -> bool {
        self.object
            .claim_within(&self.gate, &*self.records, patience)
    }
    fn lock_noting(&self, locked: &dyn Fn()) {
        note(&self.gate.claim, || self.try_lock(), locked);
    }
    fn unlock(&self) -> bool {
        if SHORT {
            // SAFETY: clients unlock only what they locked.
            match unsafe { self.object.unlock_quick(&self.gate) } {
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

/// An object in a process with two locks; its first user chooses between them.
///
/// On a machine both locks share their bytes. Here each has its own, so that two users that chose
/// differently each find a free lock.
struct Chosen<A, B> {
    word: AtomicU32,
    locks: (A, B),
}

impl<A: Host, B: Host> Chosen<A, B> {
    fn is_second(&self, wanted: u32) -> bool {
        assigned::assign(&self.word, || wanted) == 1
    }
}

impl<A: Host, B: Host> Host for Chosen<A, B> {
    fn lock(&self) {
        unreachable!("its clients say what they want");
    }
    fn try_lock(&self) -> bool {
        unreachable!("its clients say what they want");
    }
    fn unlock(&self) -> bool {
        let word = self.word.load(Order::RELAXED);
        match assigned::place(word).expect("the holder has used it") {
            0 => self.locks.0.unlock(),
            _ => self.locks.1.unlock(),
        }
    }
    fn is_busy(&self) -> bool {
        self.locks.0.is_busy() || self.locks.1.is_busy()
    }
}

/// First users of one object: some choose one lock for it, some the other.
pub fn is_assigned<A, B>(threads: usize, rounds: u64)
where
    A: Served + QuickRelease,
    B: Served + QuickRelease,
{
    let object = Chosen {
        word: AtomicU32::new(0),
        locks: (in_place::<A>(), in_place::<B>()),
    };
    counts(object, threads, rounds, |thread, object| {
        if object.is_second(thread as u32 % 2) {
            object.locks.1.lock();
        } else {
            object.locks.0.lock();
        }
        true
    });
}

/// A lock in a pool while contended, with that pool.
struct There<S> {
    object: Inflated,
    claim: Claim,
    fat_pool: S,
}

/// Hosts the lock in a pool while contended, its records in another.
pub fn inflated<L: Served>() -> impl Host {
    There {
        object: Inflated::default(),
        claim: Claim::new(),
        fat_pool: Pooled::<L, _, _>::new(nodes::<Holding<L::Context>>(2), nodes::<Fat<L>>(3)),
    }
}

/// Like [`inflated`], for a lock that adapts.
pub fn inflated_adapting<L: Served + Adapts>() -> impl Host {
    There {
        object: Inflated::default(),
        claim: Claim::new(),
        fat_pool: Pooled::<L, _, _, false, true>::able(
            nodes::<Holding<L::Context>>(2),
            nodes::<Fat<L>>(3),
            None,
            Able::<L>::ADAPTING,
        ),
    }
}

/// Like [`inflated`], for a lock whose waiters leave its queue at their deadlines, without claims.
pub fn inflated_abandonable<L: Served + Abortable>() -> impl Host {
    There {
        object: Inflated::default(),
        claim: Claim::new(),
        fat_pool: Pooled::<L, _, _, true>::giving_up(
            nodes::<Holding<L::Context>>(2),
            nodes::<Fat<L>>(3),
            Some(L::acquire_within),
        ),
    }
}

impl<S: FatPool + Send + Sync + 'static> Host for There<S> {
    fn lock(&self) {
        if self.fat_pool.adapting().is_some() {
            self.object.lock_adapting(&self.claim, &self.fat_pool);
        } else {
            self.object.lock(&self.claim, &self.fat_pool);
        }
    }
    fn try_lock(&self) -> bool {
        self.object.try_lock(&self.claim, &self.fat_pool)
    }
    fn lock_within(&self, patience: &Patience) -> bool {
        self.object
            .lock_within(&self.claim, &self.fat_pool, patience)
    }
    fn wait_within(&self, patience: &Patience) -> bool {
        self.lock_within(patience)
    }
    fn lock_noting(&self, locked: &dyn Fn()) {
        note(&self.claim, || self.try_lock(), locked);
    }
    fn unlock(&self) -> bool {
        // SAFETY: clients unlock only what they locked.
        unsafe { self.object.unlock(&self.claim, &self.fat_pool) }
    }
    fn is_busy(&self) -> bool {
        self.object.is_locked()
    }
    fn has_waiters(&self) -> bool {
        self.object.has_waiters(&self.claim, &self.fat_pool)
    }
}

/// In nanoseconds: longer than any model takes.
pub const NEVER: u64 = 1 << 60;

/// Claims by tries. The claim's withdrawal after the acquisition is a separate step.
fn note(claim: &Claim, take: impl Fn() -> bool, locked: &dyn Fn()) {
    let taken = std::cell::Cell::new(false);
    let attempt = || {
        taken.set(take());
        if taken.get() {
            locked();
        }
        taken.get()
    };
    assert!(claim.wait(&patience(Some(NEVER)), &attempt), "gave up");
    if !taken.get() {
        locked();
    }
}

/// Patience for that many nanoseconds, or without a deadline.
pub fn patience(nanoseconds: Option<u64>) -> Patience<'static> {
    nanoseconds.map_or(Patience::ENDLESS, |nanoseconds| {
        Patience::until(Deadline::monotonic(now() + nanoseconds))
    })
}

/// Each thread locks `rounds` times; the first `triers` threads only try.
pub fn excludes<H: Host>(host: H, threads: usize, rounds: u64, triers: usize) {
    counts(host, threads, rounds, move |thread, host| {
        if thread < triers {
            return host.try_lock();
        }
        host.lock();
        true
    });
}

/// Like [`excludes`], while oversubscribed; for backends that learn this only inside a run.
pub fn excludes_in_scarcity<H: Host>(host: H, threads: usize, rounds: u64) {
    counts(host, threads, rounds, |_, host| {
        Gate::expect_scarcity();
        host.lock();
        true
    });
}

/// Like [`excludes`], but the last threads lock by a claim, each with its own patience.
pub fn is_claimed<H: Host, const CLAIMS: usize>(
    host: H,
    threads: usize,
    rounds: u64,
    nanoseconds: [Option<u64>; CLAIMS],
) {
    claimed_by(host, threads, rounds, nanoseconds, false);
}

/// Like [`is_claimed`], with one claim per thread. The first thread holds the lock initially, so
/// that all others can wait at once.
pub fn is_claimed_by_many<H: Host, const CLAIMS: usize>(
    host: H,
    nanoseconds: [Option<u64>; CLAIMS],
) {
    host.lock();
    claimed_by(host, CLAIMS, 1, nanoseconds, true);
}

fn claimed_by<H: Host, const CLAIMS: usize>(
    host: H,
    threads: usize,
    rounds: u64,
    nanoseconds: [Option<u64>; CLAIMS],
    held: bool,
) {
    counts(host, threads, rounds, move |thread, host| {
        if held && thread == 0 {
            // Let the others arrive and wait.
            yield_now();
            assert!(host.unlock(), "the first thread does not hold it");
        }
        match (thread + CLAIMS).checked_sub(threads) {
            None => {
                host.lock();
                true
            }
            Some(claim) => {
                let nanoseconds = nanoseconds[claim];
                let locked = host.lock_within(&patience(nanoseconds));
                assert!(
                    locked || nanoseconds.is_some(),
                    "gave up without a deadline"
                );
                locked
            }
        }
    });
}

fn counts<H: Host>(
    host: H,
    threads: usize,
    rounds: u64,
    enter: impl Fn(usize, &H) -> bool + Send + Sync + 'static,
) {
    let shared = Arc::new((host, Cell::new(0)));
    let theirs = Arc::clone(&shared);
    let entered = together(threads, move |thread| {
        let (host, count) = &*theirs;
        let mut entered = 0;
        for _ in 0..rounds {
            if !enter(thread, host) {
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
