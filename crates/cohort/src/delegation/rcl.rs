//! `rcl`: a dedicated thread, the server, runs the critical sections. It may serve several such
//! locks (Lozi et al. 2012; Zhang et al. 2017 §2.2).
//!
//! **Not for** programs without a spare CPU, since the server polls. Nor for sections that wait for
//! other threads: the server may have such a thread's section pending. Two locks of one server
//! never run sections at the same time, even for unrelated data.
//!
//! | field | meaning | written by |
//! |---|---|---|
//! | `lock` | a [`sanl`](super::sanl) whose holders serve no other thread: the server holds it while it attends, other threads to run their own section | its threads |
//! | `server` | the attending thread, or 0 | that thread |
//! | `held` | the context by which it holds the lock; null without the lock | the same |
//! | `inside` | 1 while it runs sections of this lock, else 0 | the same |
//! | `here` | threads that need the lock to run their own section | these threads |
//!
//! Without a server, each thread acquires the lock and runs its own sections. If a section that the
//! server runs delegates another one to a second lock of this server, the server runs it at once. A
//! thread that must run its section itself registers in `here`, and the server releases the lock
//! between two rounds. The server never waits for one of its locks, since that lock's holder may
//! wait for another of them. The exception is a section that delegates to a lock which the server
//! has released.
//!
//! The rules of `sanl` for a forked child hold here while no thread attends.

use super::run;
use super::sanl::{Policy, Sanl, Tuning};
use crate::basic::Mcs;
use crate::door::{AtomicPtr, AtomicU32, AtomicU64, Order, Spinner, runs_out, thread_number};
use crate::host::Served;
use crate::support::context::Kept;
use crate::wait::{MayPark, Parking, SpinOnly};
use cohort_raw::{
    AbortableDelegate, Attended, Delegate, Outcome, Patience, Section, Thresholds, TwoForms,
};
use core::ptr;

/// Parameters of a `sanl` in which threads wait without a time limit, and holders serve no other
/// thread.
#[derive(Debug)]
pub enum ForServer {}

impl Tuning for ForServer {
    const POLICY: Policy = Policy::Flat;
    const THRESHOLDS: Thresholds = Thresholds {
        serves: 0,
        waits: u64::MAX,
        ..Thresholds::USUAL
    };
    const IS_ATTENDED: bool = true;
}

/// The lock.
///
/// ```
/// use cohort::{Delegated, delegation::Rcl};
///
/// let total: Delegated<u64, Rcl> = Delegated::from(1);
/// total.run(|total| *total += 1);
/// assert_eq!(total.run(|total| *total), 2);
/// ```
#[derive(Debug)]
#[repr(C)]
pub struct Rcl<L: Served = Mcs, P: Parking = MayPark> {
    server: AtomicU64,
    inside: AtomicU32,
    held: AtomicPtr<L::Context>,
    here: AtomicU32,
    lock: Sanl<L, ForServer, P>,
}

impl<L: Served, P: Parking> Default for Rcl<L, P> {
    fn default() -> Self {
        Self {
            server: AtomicU64::new(0),
            inside: AtomicU32::new(0),
            held: AtomicPtr::null(),
            here: AtomicU32::new(0),
            lock: Sanl::default(),
        }
    }
}

/// Serves these locks until `is_over` returns true. A lock with another server, or with the caller
/// inside one of its sections, is served as soon as that ends.
///
/// ```
/// use cohort::Delegated;
/// use cohort::delegation::{Rcl, rcl};
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// let (words, total) = (Delegated::<Vec<u32>, Rcl>::default(), Delegated::<u32, Rcl>::default());
/// let over = AtomicBool::new(false);
/// std::thread::scope(|scope| {
///     scope.spawn(|| rcl::serve(&[words.raw(), total.raw()], || over.load(Ordering::Relaxed)));
///     words.run(|words| words.push(total.run(|total| { *total += 1; *total })));
///     over.store(true, Ordering::Relaxed);
/// });
/// assert_eq!(words.run(|words| words.clone()), [1]);
/// ```
pub fn serve<D: Attended>(locks: &[&D], mut is_over: impl FnMut() -> bool) {
    let server = Server(locks);
    let mut spinner = Spinner::new();
    while !is_over() {
        let mut found = false;
        for lock in server.0 {
            found |= lock.attend();
        }
        if found {
            spinner = Spinner::new();
        } else {
            spinner.turn();
        }
    }
}

/// The calling thread's service, ended by the drop. This also covers a panic of the caller's
/// function, after which clients would otherwise wait for ever.
struct Server<'a, D: Attended>(&'a [&'a D]);

impl<D: Attended> Drop for Server<'_, D> {
    fn drop(&mut self) {
        for lock in self.0 {
            lock.leave();
        }
    }
}

impl<L: Served, P: Parking> Rcl<L, P> {
    /// Returns whether the calling thread is the server, outside sections of this lock.
    #[inline]
    fn is_mine(&self) -> bool {
        self.server.load(Order::RELAXED) == thread_number() && self.inside.load(Order::RELAXED) == 0
    }

    /// Returns whether, in addition, it holds the lock.
    #[inline]
    fn is_at_hand(&self) -> bool {
        self.is_mine() && !self.held.load(Order::RELAXED).is_null()
    }

    /// Makes the calling thread the server, if there is none; returns whether it did.
    #[cold]
    fn begin(&self) -> bool {
        let begins = self.lock.announce();
        if begins {
            self.server.store(thread_number(), Order::RELAXED);
        }
        begins
    }

    /// Acquires the lock, if it is free; returns whether it did.
    #[cold]
    fn take(&self) -> bool {
        let Some(held) = self.lock.try_attend() else {
            return false;
        };
        self.held.store(held.into_raw().as_ptr(), Order::RELAXED);
        true
    }

    /// Releases the lock, if the calling thread, the server, holds it.
    fn let_go(&self) {
        let held = self.held.swap(ptr::null_mut(), Order::RELAXED);
        if let Some(held) = ptr::NonNull::new(held) {
            // SAFETY: this thread stored it, and holds the lock by it.
            self.lock.let_go(unsafe { Kept::from_raw(held) });
        }
    }

    /// Runs the section. The calling thread holds the lock, outside sections of it.
    fn run_at_once(&self, section: Section<'_>) {
        self.inside.store(1, Order::RELAXED);
        // SAFETY: the lock excludes all other threads, and this one is outside its sections.
        unsafe { run(section) };
        self.inside.store(0, Order::RELAXED);
    }
}

// SAFETY: as `Sanl`: its holder runs sections. The server runs its own sections at once while it
// holds the lock, and never one inside another.
unsafe impl<L: Served, P: Parking> Delegate for Rcl<L, P> {
    type Context = L::Context;

    fn run(&self, cx: &mut L::Context, section: Section<'_>) {
        if self.is_at_hand() {
            return self.run_at_once(section);
        }
        if self.is_mine() {
            // It has released the lock, and the lock has no other server.
            return self.lock.run_here(cx, section);
        }
        self.lock.run_by_server(section);
    }

    fn run_here(&self, cx: &mut L::Context, section: Section<'_>) {
        if self.is_at_hand() {
            return self.run_at_once(section);
        }
        self.here.fetch_add(1, Order::RELAXED);
        // Not after the section: the last user may drop the lock then.
        let acquired = || {
            self.here.fetch_sub(1, Order::RELAXED);
        };
        self.lock.run_here_once(cx, section, acquired);
    }
}

// SAFETY: as above, and as `Sanl`.
unsafe impl<L: Served, P: Parking> AbortableDelegate for Rcl<L, P> {
    fn run_within(
        &self,
        cx: &mut L::Context,
        section: Section<'_>,
        patience: &Patience,
    ) -> Outcome {
        if self.is_at_hand() {
            self.run_at_once(section);
            return Outcome::Acquired;
        }
        if self.is_mine() {
            // It has released the lock, and the lock has no other server.
            let mut spinner = Spinner::new();
            while !self.take() {
                if runs_out(patience) {
                    return Outcome::GaveUp;
                }
                spinner.turn();
            }
            self.run_at_once(section);
            self.let_go();
            return Outcome::Acquired;
        }
        self.lock.run_within(cx, section, patience)
    }
}

// SAFETY: the server holds the lock, outside its sections.
unsafe impl<L: Served, P: Parking> Attended for Rcl<L, P> {
    fn attend(&self) -> bool {
        if !self.is_mine() && !self.begin() {
            return false;
        }
        if self.here.load(Order::RELAXED) != 0 {
            self.let_go();
            return false;
        }
        if self.held.load(Order::RELAXED).is_null() && !self.take() {
            return false;
        }
        // SAFETY: this thread stored there the context by which it holds the lock.
        let cx = unsafe { &*self.held.load(Order::RELAXED) };
        self.inside.store(1, Order::RELAXED);
        let found = self.lock.attend_once(cx);
        self.inside.store(0, Order::RELAXED);
        found
    }

    fn leave(&self) {
        if self.is_mine() {
            self.let_go();
            self.server.store(0, Order::RELAXED);
            self.lock.renounce();
        }
    }
}

impl<L> super::InTwoForms for Rcl<L, MayPark>
where
    L: Served + TwoForms<Spinning: Served>,
{
    type Spinning = Rcl<L::Spinning, SpinOnly>;
}
