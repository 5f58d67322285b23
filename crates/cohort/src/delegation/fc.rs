//! `fc`: flat combining. Each thread publishes its critical section in its own record; the thread
//! that acquires the lock scans all records and runs their sections (Hendler et al. 2010; Zhang et
//! al. 2017 §2.2, §3.2).
//!
//! **Not for** sections that wait for other threads: the combiner may have such a thread's section
//! pending. Nor for low contention: a combiner scans the records a fixed number of times, even in
//! vain.
//!
//! | field | meaning | written by |
//! |---|---|---|
//! | `lock` | its holder combines | its queue |
//! | `passes` | scans by all combiners; wraps | the holder |
//! | `asleep` | threads asleep, or about to sleep, until their section has been run | these threads |
//! | what a seat `says` | 1 if combiners scan its record, else 0 | its thread; a combiner, once the record is old |
//! | a record's `request` | see [`request`](super::request) | its thread, and the holder |
//! | a record's `age` | the last pass that found a section there | the holder |
//! | a record's `busy` | see [`roster`](super::roster) | its thread |
//!
//! The papers' combiner unlinks a record from a list after a long time without a section; its
//! thread links it again, by a compare-and-swap on a shared word. Here a record stays in the
//! thread's seat of a [`Roster`], and a flag excludes it from scans. A waiting thread sets the flag
//! again and again.
//!
//! If threads sleep, a releasing thread scans all records once more, old ones too. Both sides
//! fence, so one of the two sees the other. The releasing thread runs the sections that it finds.
//! Inside another lock's section, it notifies one of the sleepers instead, which acquires the lock,
//! runs its own section and scans in turn.
//!
//! A thread that may give up never sleeps and needs no such scan: it is not counted or notified,
//! and acquires the lock when it finds it free.
//!
//! A child of a fork cannot use a lock with arrivals of its parent.

use super::request::{Request, Told};
use super::roster::{CHAINS, Roster, Seat, Seated};
use super::{may_serve, run};
use crate::basic::Mcs;
use crate::door::{
    Advice, AtomicU32, Order, Spinner, Tallied, fence, fence_after_update, flaws, mutant, orders,
    policies, pool, tally, tally_moment,
};
use crate::host::Pool;
use crate::support::padded::LinePadded;
use crate::wait::{MayPark, Parking, SpinOnly};
use cohort_raw::{AbortableDelegate, Delegate, Outcome, Patience, RawTry, Section, TwoForms};
use core::marker::PhantomData;

orders! {
    /// A section, or a release, is ordered before the load of the other.
    FC_LOOK = SeqCst;
}

flaws! {
    FORGET_ASLEEP = "fc.forget-asleep";
    /// A combiner inside another lock's section runs sections of other threads here.
    COMBINE_INSIDE = "fc.combine-inside";
    /// A releasing thread inside another lock's section does so.
    SERVE_INSIDE = "fc.serve-inside";
    /// A thread notified to run its section runs it without the lock.
    RUN_UNLOCKED = "fc.run-unlocked";
}

policies! {
    /// Combiners scan every record, however old.
    SCAN_OLD = "fc.scan-old";
}

/// End of a wait.
enum Ended {
    /// The section has been run.
    Served,
    /// The thread holds the lock.
    Holding,
    /// The thread has taken its section back.
    GaveUp,
}

/// The lock's data for one thread.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Record {
    request: Request,
    age: AtomicU32,
    busy: LinePadded<AtomicU32>,
}

pool! {
    /// Records of all such locks.
    static RECORDS: Seat<Record>, placed
}

/// Bytes of all records made so far.
pub(super) fn pool_bytes() -> usize {
    RECORDS.bytes()
}

impl Seated for Record {
    #[inline]
    fn pool() -> &'static (impl Pool<Seat<Self>> + 'static) {
        &RECORDS
    }

    fn begin(&self) {
        self.request.renew();
        self.age.store(0, Order::RELAXED);
    }

    fn inherit(&self) {
        self.request.inherit();
    }

    #[inline]
    fn busy(&self) -> &AtomicU32 {
        &self.busy.0
    }
}

/// The lock. A combiner scans the records `ROUNDS` times. A record without a section for more than
/// `AGE` passes is old.
///
/// ```
/// use cohort::{Delegated, delegation::Fc};
///
/// let total: Delegated<u64, Fc> = Delegated::from(1);
/// total.run(|total| *total += 1);
/// assert_eq!(total.run(|total| *total), 2);
/// ```
#[derive(Debug)]
#[repr(C)]
pub struct Fc<L = Mcs, P: Parking = MayPark, const ROUNDS: u32 = 8, const AGE: u32 = 100> {
    lock: L,
    passes: AtomicU32,
    asleep: AtomicU32,
    roster: Roster<Record>,
    parking: PhantomData<P>,
}

impl<L: Default, P: Parking, const ROUNDS: u32, const AGE: u32> Default for Fc<L, P, ROUNDS, AGE> {
    fn default() -> Self {
        Self {
            lock: L::default(),
            passes: AtomicU32::new(0),
            asleep: AtomicU32::new(0),
            roster: Roster::default(),
            parking: PhantomData,
        }
    }
}

impl<L: RawTry, P: Parking, const ROUNDS: u32, const AGE: u32> Fc<L, P, ROUNDS, AGE> {
    /// Acquires the lock, if it is free.
    #[inline]
    fn try_hold(&self, cx: &L::Context) -> bool {
        // SAFETY: a call has its context for itself, and releases the lock before it returns.
        !self.lock.is_locked() && unsafe { self.lock.try_acquire(cx) }
    }

    /// Runs the section and those of other threads, and releases the lock. The caller holds it by
    /// that context.
    fn combine(&self, cx: &L::Context, section: Section<'_>) {
        // SAFETY: the lock excludes.
        unsafe { run(section) };
        if may_serve(flaw::COMBINE_INSIDE) {
            tally(Tallied::Nominations, 1);
            let moment = tally_moment();
            for _ in 0..ROUNDS {
                self.pass();
            }
            tally(Tallied::Serving, tally_moment() - moment);
        }
        self.leave(cx);
    }

    /// Scans the records once.
    fn pass(&self) {
        let pass = self.passes.load(Order::RELAXED).wrapping_add(1);
        self.passes.store(pass, Order::RELAXED);
        for seat in self.roster.seats().filter(|seat| seat.says() != 0) {
            tally(Tallied::Looks, 1);
            if Self::serve(seat) {
                seat.own.age.store(pass, Order::RELAXED);
            } else if pass.wrapping_sub(seat.own.age.load(Order::RELAXED)) > AGE
                && !mutant(policy::SCAN_OLD)
            {
                seat.say(0);
            }
        }
        tally(Tallied::Passes, 1);
    }

    /// Runs the section of that record, if one is published; returns whether it was. The caller
    /// holds the lock.
    #[inline]
    fn serve(seat: &Seat<Record>) -> bool {
        // SAFETY: the caller holds the lock.
        let Some(section) = (unsafe { seat.own.request.take::<P>() }) else {
            return false;
        };
        // SAFETY: the lock excludes.
        unsafe { run(section) };
        tally(Tallied::Served, 1);
        seat.own.request.answer::<P>();
        true
    }

    /// Releases the lock, and makes sure that sleepers' sections are run.
    fn leave(&self, cx: &L::Context) {
        loop {
            // SAFETY: the caller holds it, by that context.
            unsafe { self.lock.release(cx) };
            fence(FC_LOOK);
            let is_due = || {
                self.roster
                    .seats()
                    .any(|seat| seat.own.request.is_endless())
            };
            let hands =
                |seat: &Seat<Record>| seat.own.request.is_endless() && seat.own.request.hand::<P>();
            // SAFETY: as in `try_hold`; the context has just released the lock.
            let takes = || unsafe { self.lock.try_acquire(cx) };
            if self.asleep.load(Order::RELAXED) == 0
                || mutant(flaw::FORGET_ASLEEP)
                || !is_due()
                || !takes()
            {
                return;
            }
            if may_serve(flaw::SERVE_INSIDE) {
                for seat in self.roster.seats() {
                    Self::serve(seat);
                }
            } else if self.roster.seats().any(hands) {
                // SAFETY: as above. The notified thread acquires the lock and serves the others.
                return unsafe { self.lock.release(cx) };
            }
        }
    }

    /// Publishes the section, and blocks until it has been run or patience runs out.
    fn bring(&self, cx: &L::Context, section: Section<'_>, patience: Option<&Patience>) -> Outcome {
        let call = self.roster.call(CHAINS);
        let seat = &*call;
        if self.try_hold(cx) {
            self.combine(cx, section);
            return Outcome::Acquired;
        }
        // SAFETY: the record is this thread's, which waits for the end below.
        unsafe { seat.own.request.post(section, patience.is_some()) };
        match self.wait(cx, seat, patience) {
            Ended::GaveUp => return Outcome::GaveUp,
            Ended::Served => {}
            // SAFETY: this thread published it, and holds the lock.
            Ended::Holding => match unsafe { seat.own.request.take_back() } {
                Some(section) => self.combine(cx, section),
                None => self.leave(cx),
            },
        }
        Outcome::Acquired
    }

    /// Waits until the section published there has been run, its thread holds the lock, or patience
    /// runs out.
    fn wait(&self, cx: &L::Context, seat: &Seat<Record>, patience: Option<&Patience>) -> Ended {
        let mut spinner = Spinner::new();
        loop {
            seat.say(1);
            match seat.own.request.told() {
                Some(Told::Served) => return Ended::Served,
                Some(Told::Handed) => {
                    if !mutant(flaw::RUN_UNLOCKED) {
                        // SAFETY: as in `try_hold`.
                        unsafe { self.lock.acquire(cx) };
                    }
                    return Ended::Holding;
                }
                None => {}
            }
            if self.try_hold(cx) {
                return Ended::Holding;
            }
            if patience.is_some_and(|patience| seat.own.request.gives_up::<P>(patience)) {
                return Ended::GaveUp;
            }
            if spinner.step() == Advice::Again {
                continue;
            }
            if P::MAY_SLEEP && patience.is_none() {
                self.sleep(&seat.own.request);
            } else {
                spinner.insist();
            }
        }
    }

    /// Sleeps until the section has been run, unless the lock is free.
    fn sleep(&self, request: &Request) {
        self.asleep.fetch_add(1, Order::RELAXED);
        fence_after_update(FC_LOOK);
        if self.lock.is_locked() {
            request.wait::<P>(&Patience::ENDLESS);
        }
        self.asleep.fetch_sub(1, Order::RELAXED);
    }
}

// SAFETY: the holder of a lock that excludes runs all sections. It takes each out of its record and
// answers there, and the section's thread waits for that.
unsafe impl<L: RawTry, P: Parking, const ROUNDS: u32, const AGE: u32> Delegate
    for Fc<L, P, ROUNDS, AGE>
{
    type Context = L::Context;

    fn run(&self, cx: &mut L::Context, section: Section<'_>) {
        let _ = self.bring(cx, section, None);
    }

    fn run_here(&self, cx: &mut L::Context, section: Section<'_>) {
        let _call = self.roster.call(CHAINS);
        // SAFETY: as in `try_hold`.
        unsafe { self.lock.acquire(cx) };
        self.combine(cx, section);
    }
}

// SAFETY: as above; a section that was taken back is out of the combiners' reach.
unsafe impl<L: RawTry, P: Parking, const ROUNDS: u32, const AGE: u32> AbortableDelegate
    for Fc<L, P, ROUNDS, AGE>
{
    /// A thread with a deadline retries without sleeping, and may wait long behind the lock's own
    /// waiters.
    fn run_within(
        &self,
        cx: &mut L::Context,
        section: Section<'_>,
        patience: &Patience,
    ) -> Outcome {
        self.bring(cx, section, Some(patience))
    }
}

impl<L, P: Parking, const ROUNDS: u32, const AGE: u32> Drop for Fc<L, P, ROUNDS, AGE> {
    fn drop(&mut self) {
        self.roster.settle();
    }
}

impl<L, const ROUNDS: u32, const AGE: u32> super::InTwoForms for Fc<L, MayPark, ROUNDS, AGE>
where
    L: RawTry + TwoForms<Spinning: RawTry>,
{
    type Spinning = Fc<L::Spinning, SpinOnly, ROUNDS, AGE>;
}
