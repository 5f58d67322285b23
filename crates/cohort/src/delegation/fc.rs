//! `fc`: flat combining, in which each thread publishes its section in a record of its own, and the
//! one that takes the lock goes through all records (Hendler et al. 2010; Zhang et al. 2017 §2.2,
//! §3.2).
//!
//! **Not for** sections that wait for other threads, which may be those that they wait for; nor
//! where the lock is little wanted: a combiner goes through the records a fixed number of times,
//! also in vain.
//!
//! | field | meaning | written by |
//! |---|---|---|
//! | `lock` | its holder combines | its queue |
//! | `passes` | how often combiners have gone through the records; it wraps | the holder |
//! | `asleep` | threads that sleep until their section has been run, or are about to | they |
//! | what a seat `says` | whether combiners look at its record: 1, or 0 if not | its thread; a combiner, once the record is old |
//! | a record's `request` | see [`request`](super::request) | its thread, and the holder |
//! | a record's `age` | the last pass in which something was found there | the holder |
//! | a record's `busy` | see [`roster`](super::roster) | its thread |
//!
//! The papers' combiner unlinks a record from a list when nothing was in it for long, and its thread
//! links it again, by a compare-and-swap that all of them make.  Here a record stays where it is,
//! in the thread's seat of a [`Roster`], and what changes is whether combiners look at it; a thread
//! that waits says again and again that they should.
//!
//! A thread that leaves the lock looks once more at all records, old ones too, if somebody sleeps:
//! one of the two sees the other, by a fence on both sides.  It runs what it finds; in a section of
//! another lock it tells one of their threads to take this one and run its own section, and that thread
//! looks in its turn.
//!
//! A thread that may give up never sleeps, so nobody has to look after it: it is not counted, nor told to
//! take the lock, and takes that when it finds it free.
//!
//! A child of a fork cannot go on with one that others had come to.

use super::request::{Request, Told};
use super::roster::{CHAINS, Roster, Seat, Seated};
use super::{may_serve, run};
use crate::basic::Mcs;
use crate::door::{
    Advice, AtomicU32, Order, Spinner, Tallied, fence, fence_after_update, flaws, mutant, orders,
    pool, tally, tally_moment,
};
use crate::host::Pool;
use crate::padded::LinePadded;
use crate::wait::{MayPark, Parking, SpinOnly};
use cohort_raw::{AbortableDelegate, Delegate, Outcome, Patience, RawTry, Section, TwoForms};
use core::marker::PhantomData;

orders! {
    /// A section that is published, or a lock that is left, comes before the look at the other.
    FC_LOOK = SeqCst;
}

flaws! {
    FORGET_ASLEEP = "fc.forget-asleep";
    /// A combiner that is in a section of another lock runs those of others here.
    COMBINE_INSIDE = "fc.combine-inside";
    /// The same of a thread that leaves the lock.
    SERVE_INSIDE = "fc.serve-inside";
    /// A thread that is told to run its section does so without the lock.
    RUN_UNLOCKED = "fc.run-unlocked";
}

/// How a wait ended.
enum Ended {
    /// The section has been run.
    Served,
    /// The thread has the lock.
    Holding,
    /// The thread has taken its section back.
    GaveUp,
}

/// What the lock keeps for a thread.
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

/// Bytes of all of them made so far.
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

/// The lock.  A combiner goes through the records `ROUNDS` times; a record in which nothing was
/// found for more than `AGE` passes is old.
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
    /// Takes the lock, if it is free.
    #[inline]
    fn try_hold(&self, cx: &L::Context) -> bool {
        // SAFETY: a call has its context for itself, and releases the lock before it returns.
        !self.lock.is_locked() && unsafe { self.lock.try_acquire(cx) }
    }

    /// Runs the section, and those of others.  The caller has the lock by that context.
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

    /// Goes through the records once.
    fn pass(&self) {
        let pass = self.passes.load(Order::RELAXED).wrapping_add(1);
        self.passes.store(pass, Order::RELAXED);
        for seat in self.roster.seats().filter(|seat| seat.says() != 0) {
            tally(Tallied::Looks, 1);
            if Self::serve(seat) {
                seat.own.age.store(pass, Order::RELAXED);
            } else if pass.wrapping_sub(seat.own.age.load(Order::RELAXED)) > AGE {
                seat.say(0);
            }
        }
        tally(Tallied::Passes, 1);
    }

    /// Runs what is published there; whether anything was.  The caller has the lock.
    #[inline]
    fn serve(seat: &Seat<Record>) -> bool {
        // SAFETY: the caller has the lock.
        let Some(section) = (unsafe { seat.own.request.take::<P>() }) else {
            return false;
        };
        // SAFETY: the lock excludes.
        unsafe { run(section) };
        tally(Tallied::Served, 1);
        seat.own.request.answer::<P>();
        true
    }

    /// Releases the lock, and sees to it that what sleepers have published will be run.
    fn leave(&self, cx: &L::Context) {
        loop {
            // SAFETY: the caller has it, by that context.
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
                // The thread there takes the lock, and looks after the others.
                // SAFETY: as above.
                return unsafe { self.lock.release(cx) };
            }
        }
    }

    /// Publishes the section, and blocks until it has been run, or patience runs out.
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
            // SAFETY: this thread has published it, and has the lock.
            Ended::Holding => match unsafe { seat.own.request.take_back() } {
                Some(section) => self.combine(cx, section),
                None => self.leave(cx),
            },
        }
        Outcome::Acquired
    }

    /// Waits until the section that is published there has been run, its thread has the lock, or
    /// patience runs out.
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

// SAFETY: sections are run by the holder of a lock that excludes; each is taken out of its record
// by the one that runs it, which says so there, and its thread waits for that.
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

// SAFETY: as above; a section that was taken back is in nobody's hands.
unsafe impl<L: RawTry, P: Parking, const ROUNDS: u32, const AGE: u32> AbortableDelegate
    for Fc<L, P, ROUNDS, AGE>
{
    /// A thread with a deadline looks again and again, without sleep, and may come late behind threads that
    /// wait for the lock itself to run their own sections.
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
