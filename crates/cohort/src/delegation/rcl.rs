//! `rcl`: sections are brought to a thread that does nothing else, the server, which may serve
//! several such locks (Lozi et al. 2012; Zhang et al. 2017 §2.2).
//!
//! **Not for** programs that have no CPU to spare, since the server polls; nor for sections that
//! wait for other threads, which may be those that they wait for.  Two locks of one server never
//! have sections at once, also where their data has nothing to do with each other.
//!
//! | field | meaning | written by |
//! |---|---|---|
//! | `lock` | a [`sanl`](super::sanl) in which a holder serves nobody: the server holds it as long as it attends, others to run their own section | its threads |
//! | `server` | the thread that attends, or 0 | that thread |
//! | `held` | the context by which it has the lock; null while it has not | the same |
//! | `inside` | whether it is running sections of this lock: 1, or 0 if not | the same |
//! | `here` | threads that want the lock to run their section themselves | they |
//!
//! Without a server each thread runs its own sections, with the lock.  A section that brings
//! another to a second lock of its server has that run at once, by the server.  A thread that has
//! to run its section itself says so in `here`, and the server lets go of the lock between two rounds.
//! It never waits for one of its locks, since the holder of that may wait for another of them; but in
//! a section that brings another to a lock which it has let go.
//!
//! What is said there of a child of a fork holds here while no thread attends.

use super::run;
use super::sanl::{Policy, Sanl, Tuning};
use crate::basic::Mcs;
use crate::context::Kept;
use crate::door::{AtomicPtr, AtomicU32, AtomicU64, Order, Spinner, runs_out, thread_number};
use crate::host::Served;
use crate::wait::{MayPark, Parking, SpinOnly};
use cohort_raw::{
    AbortableDelegate, Attended, Delegate, Outcome, Patience, Section, Thresholds, TwoForms,
};
use core::ptr;

/// A `sanl` in which threads wait for as long as it takes, and serve nobody when they have the lock.
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

/// Serves these locks until `is_over` says so; a lock that another thread serves, or that has
/// the caller in a section, is served as soon as that is over.
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

/// The calling thread attends to these locks until this is dropped, by a panic of the caller's
/// function too: its clients would wait for ever.
struct Server<'a, D: Attended>(&'a [&'a D]);

impl<D: Attended> Drop for Server<'_, D> {
    fn drop(&mut self) {
        for lock in self.0 {
            lock.leave();
        }
    }
}

impl<L: Served, P: Parking> Rcl<L, P> {
    /// Whether the calling thread is the server, and runs no section of this lock.
    #[inline]
    fn is_mine(&self) -> bool {
        self.server.load(Order::RELAXED) == thread_number() && self.inside.load(Order::RELAXED) == 0
    }

    /// The same, and that it has the lock.
    #[inline]
    fn is_at_hand(&self) -> bool {
        self.is_mine() && !self.held.load(Order::RELAXED).is_null()
    }

    /// Makes the calling thread the server, if there is none; whether it is.
    #[cold]
    fn begin(&self) -> bool {
        let begins = self.lock.announce();
        if begins {
            self.server.store(thread_number(), Order::RELAXED);
        }
        begins
    }

    /// Takes the lock, if it is free; whether it was.
    #[cold]
    fn take(&self) -> bool {
        let Some(held) = self.lock.try_attend() else {
            return false;
        };
        self.held.store(held.into_raw().as_ptr(), Order::RELAXED);
        true
    }

    /// Lets go of the lock, if the calling thread, the server, has it.
    fn let_go(&self) {
        let held = self.held.swap(ptr::null_mut(), Order::RELAXED);
        if let Some(held) = ptr::NonNull::new(held) {
            // SAFETY: this thread has stored it, and has the lock by it.
            self.lock.let_go(unsafe { Kept::from_raw(held) });
        }
    }

    /// Runs the section.  The calling thread has the lock, and is in no section of it.
    fn run_at_once(&self, section: Section<'_>) {
        self.inside.store(1, Order::RELAXED);
        // SAFETY: the lock excludes all other threads, and this one is in no section of it.
        unsafe { run(section) };
        self.inside.store(0, Order::RELAXED);
    }
}

// SAFETY: as `Sanl`, where the holder of the lock runs sections; the server's own run at once
// while it has that, and never inside one another.
unsafe impl<L: Served, P: Parking> Delegate for Rcl<L, P> {
    type Context = L::Context;

    fn run(&self, cx: &mut L::Context, section: Section<'_>) {
        if self.is_at_hand() {
            return self.run_at_once(section);
        }
        if self.is_mine() {
            // It has let go of the lock, and nobody else would serve it.
            return self.lock.run_here(cx, section);
        }
        self.lock.run_by_server(section);
    }

    fn run_here(&self, cx: &mut L::Context, section: Section<'_>) {
        if self.is_at_hand() {
            return self.run_at_once(section);
        }
        self.here.fetch_add(1, Order::RELAXED);
        // Not behind the section: the last user may drop the lock then.
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
            // It has let go of the lock, and nobody else would serve it.
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

// SAFETY: the server has the lock, and is in no section of it.
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
        // SAFETY: this thread has stored there what it has the lock by.
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
