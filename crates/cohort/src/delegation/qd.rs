//! `qd`: queue delegation. The holder of a lock opens a queue of fixed length and runs the critical
//! sections posted there. It closes the queue before it releases the lock (Klaftenegger et al.
//! 2014; Dice et al. 2015 §1.1).
//!
//! **Not for** sections that wait for other threads: the holder may have such a thread's section
//! pending. Nor for more runnable threads than CPUs: a holder waits for threads that have drawn a
//! place in the queue and not yet filled it.
//!
//! | field | meaning | written by |
//! |---|---|---|
//! | `lock` | its holder opens the queue, runs sections and closes it | its queue |
//! | `posted` | places drawn since the queue was opened; at least `PLACES`: closed or full | threads that post, by an addition; the holder |
//! | `serving` | see `serving.rs` | the holder |
//! | `patient` | beside it: posters that may still withdraw their sections | these posters |
//! | a place's `section` | the section to run | the thread that drew the place |
//! | a place's `poster` | the address where that thread waits, marked if it may give up; null: empty; `GONE`: withdrawn | that thread, last; the holder, as it takes the section |
//! | a context's `told` | whether its section has been run | the holder |
//!
//! | the paper | here |
//! |---|---|
//! | a poster continues at once, and waits for the result later if at all | it waits until the section has been run, since the section may borrow from it, and is notified at its own address |
//! | the queue consists of bytes, for a section and its captured data | it consists of places, each for a section's two words and its thread's address |
//! | a flag beside the number closes the queue | a number beyond the last place does |
//! | a thread that finds the lock held and the queue closed retries both for ever | it pauses between tries as waiters of [`bo`](crate::basic::bo) do, since otherwise all would miss a briefly open queue; after [`LOOKS`] tries, or when it is to sleep, it waits for the lock, which strict locks grant in FIFO order |
//! | a holder always opens the queue | a holder inside another lock's section does not |
//! | readers of the same data share the lock | there are no readers |
//! | posters never give up | a thread with a deadline withdraws its section, by an exchange on both sides |
//!
//! A number drawn after the closing is beyond the last place, and its thread returns to the lock.
//! So the holder, which closes by an exchange, has seen every valid number.
//!
//! The last user may drop the lock once its section has run. The drop waits until the holder has
//! released the lock, and until threads that may give up have left their places.
//!
//! A child of a fork cannot use a lock with arrivals of its parent.

use super::serving::Serving;
use super::{may_serve, run};
use crate::basic::Mcs;
use crate::basic::bo::pauses;
use crate::door::{
    Advice, AtomicPtr, AtomicU32, Cell, Order, Spinner, Tallied, flaws, mutant, orders,
    others_go_on, runs_out, tally, tally_moment,
};
use crate::support::padded::LinePadded;
use crate::wait::{Backoff, MayPark, Parking, SpinOnly, WaitCell};
use cohort_raw::{
    AbortableDelegate, Delegate, Outcome, Patience, RawTry, Section, TryDelegate, TwoForms,
};
use core::marker::PhantomData;
use core::ptr;

orders! {
    /// Publishes the places as empty.
    QD_OPEN = Release;
    /// Draws an empty place.
    QD_NUMBER = Acquire;
    /// Publishes the section, and what its thread wrote before.
    QD_POST = Release;
    /// Reads it.
    QD_POSTED = Acquire;
    /// Publishes the section's writes to its thread.
    QD_ANSWER = Release;
    /// Reads them.
    QD_ANSWERED = Acquire;
    /// Orders a call's end after its last access to its place.
    QD_GO = Release;
    /// Reads that end.
    QD_GONE = Acquire;
}

flaws! {
    /// The queue is closed without reading the latest numbers.
    FORGET_LATE = "qd.forget-late";
    /// A thread that drew its number after the closing uses a place all the same.
    POST_LATE = "qd.post-late";
    /// A place stays marked as full after its section has run.
    KEEP_POSTED = "qd.keep-posted";
    /// A holder runs a withdrawn section.
    RUN_WITHDRAWN = "qd.run-withdrawn";
    /// A holder inside another lock's section runs sections of other threads here.
    SERVE_INSIDE = "qd.serve-inside";
    /// The lock is dropped while its holder is about to release it.
    DROP_AT_ONCE = "qd.drop-at-once";
    /// The lock is dropped while a thread is about to withdraw a section that has run.
    DROP_BESIDE = "qd.drop-beside";
}

/// Tries to acquire the lock or a place, before a thread waits for the lock.
pub const LOOKS: u32 = 1 << 6;

const WAIT: u32 = 0;
const DONE: u32 = 1;

/// A poster waits only for its own section.
const CLASS: u32 = 1;

/// Mark of a `poster` that may give up.
const PATIENT: usize = 1;

/// A `poster` that withdrew; no valid address.
const GONE: usize = 2;

/// The context of a call: where its thread waits, and the lock's context.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Call<C> {
    told: WaitCell<MayPark>,
    of_lock: C,
}

/// A place in the queue; the alignment keeps it on one line.
#[derive(Debug, Default)]
#[repr(C, align(32))]
struct QueueSlot {
    poster: AtomicPtr<WaitCell<MayPark>>,
    section: Cell<Option<Section<'static>>>,
}

/// The lock. A holder runs its own section and at most `PLACES` of other threads.
///
/// ```
/// use cohort::{Delegated, delegation::Qd};
///
/// let total: Delegated<u64, Qd> = Delegated::from(1);
/// total.run(|total| *total += 1);
/// assert_eq!(total.run(|total| *total), 2);
/// ```
#[derive(Debug)]
#[repr(C)]
pub struct Qd<L: RawTry = Mcs, P: Parking = MayPark, const PLACES: usize = 256> {
    lock: LinePadded<L>,
    posted: LinePadded<AtomicU32>,
    calls: LinePadded<Calls>,
    places: [QueueSlot; PLACES],
    parking: PhantomData<P>,
}

/// The fields that a drop waits for.
#[derive(Debug, Default)]
struct Calls {
    serving: Serving,
    patient: AtomicU32,
}

impl<L: RawTry, P: Parking, const PLACES: usize> Default for Qd<L, P, PLACES> {
    fn default() -> Self {
        Self {
            lock: LinePadded::default(),
            posted: LinePadded(AtomicU32::new(PLACES as u32)),
            calls: LinePadded::default(),
            places: core::array::from_fn(|_| QueueSlot::default()),
            parking: PhantomData,
        }
    }
}

impl QueueSlot {
    /// Waits for the section of this place, and returns it with the address where its thread waits;
    /// nothing if the thread has withdrawn it.
    fn take(&self) -> Option<(Section<'static>, *mut WaitCell<MayPark>)> {
        let poster = self.await_poster();
        let is_patient = poster.addr() & PATIENT != 0 && !mutant(flaw::RUN_WITHDRAWN);
        let has_gone = poster.addr() == GONE
            || is_patient
                && self
                    .poster
                    .compare_exchange(poster, ptr::null_mut(), Order::RELAXED, Order::RELAXED)
                    .is_err();
        if !mutant(flaw::KEEP_POSTED) {
            self.poster.store(ptr::null_mut(), Order::RELAXED);
        }
        if has_gone {
            return None;
        }
        // SAFETY: the section is the holder's, since its thread has not withdrawn it.
        let section = self.section.with_mut(|place| unsafe { (*place).take() })?;
        Some((section, poster.map_addr(|at| at & !PATIENT)))
    }

    /// Waits for the poster's address or `GONE`.
    fn await_poster(&self) -> *mut WaitCell<MayPark> {
        let mut spinner = Spinner::new();
        loop {
            let poster = self.poster.load(QD_POSTED);
            if !poster.is_null() {
                return poster;
            }
            spinner.moment();
        }
    }
}

impl<L: RawTry, P: Parking, const PLACES: usize> Qd<L, P, PLACES> {
    /// The first number beyond the places.
    const CLOSED: u32 = PLACES as u32;

    /// Acquires the lock, if it is free.
    #[inline]
    fn try_hold(&self, cx: &Call<L::Context>) -> bool {
        // SAFETY: a call has its context for itself, and releases the lock before it returns.
        !self.lock.0.is_locked() && unsafe { self.lock.0.try_acquire(&cx.of_lock) }
    }

    /// Runs the section and the sections posted meanwhile. The caller holds the lock by that
    /// context, and the call releases it.
    fn hold(&self, cx: &Call<L::Context>, section: Section<'_>) {
        let serves = may_serve(flaw::SERVE_INSIDE);
        if serves {
            // An exchange, which is ordered after all numbers drawn too late.
            self.posted.0.swap(0, QD_OPEN);
        }
        // SAFETY: the lock excludes.
        unsafe { run(section) };
        if serves {
            tally(Tallied::Nominations, 1);
            let moment = tally_moment();
            self.serve();
            tally(Tallied::Serving, tally_moment() - moment);
        }
        // SAFETY: the caller holds it, by that context.
        unsafe { self.lock.0.release(&cx.of_lock) };
    }

    /// Runs posted sections until none is left or all places are used; then the queue is closed.
    fn serve(&self) {
        let mut done = 0;
        self.calls.0.serving.begin();
        loop {
            let seen = self.posted.0.load(Order::RELAXED);
            let closes = seen == done;
            let posted = if closes { self.close(done) } else { seen };
            let posted = posted.min(Self::CLOSED);
            for place in &self.places[done as usize..posted as usize] {
                self.run_posted(place);
            }
            done = posted;
            if closes || done == Self::CLOSED {
                return;
            }
        }
    }

    /// Closes the queue, and returns the number of drawn places.
    fn close(&self, done: u32) -> u32 {
        if mutant(flaw::FORGET_LATE) {
            self.posted.0.store(Self::CLOSED, Order::RELAXED);
            return done;
        }
        self.posted.0.swap(Self::CLOSED, Order::RELAXED)
    }

    /// Runs the section of that place, and notifies its thread. The caller holds the lock.
    #[inline]
    fn run_posted(&self, place: &QueueSlot) {
        let Some((section, told)) = place.take() else {
            return;
        };
        // SAFETY: the lock excludes.
        unsafe { run(section) };
        tally(Tallied::Served, 1);
        // SAFETY: the thread of a section that was taken waits there until it is notified.
        unsafe { &*told }.in_form::<P>().set(DONE, QD_ANSWER);
    }

    /// Acquires the lock, if it is free, or draws a place, if the queue is open.
    fn try_begin(&self, cx: &Call<L::Context>) -> Option<Begun<'_>> {
        if self.try_hold(cx) {
            return Some(Begun::Holds);
        }
        if self.posted.0.load(Order::RELAXED) >= Self::CLOSED {
            return None;
        }
        let number = self.posted.0.fetch_add(1, QD_NUMBER);
        if number >= Self::CLOSED && !mutant(flaw::POST_LATE) {
            return None;
        }
        Some(Begun::At(&self.places[number as usize % PLACES]))
    }

    /// Repeats [`try_begin`](Self::try_begin) while `goes_on`, which receives the advice of each
    /// pause.
    fn begin(
        &self,
        cx: &Call<L::Context>,
        mut goes_on: impl FnMut(&mut Spinner, Advice) -> bool,
    ) -> Option<Begun<'_>> {
        let (mut spinner, mut pauses) = (Spinner::new(), pauses());
        loop {
            let begun = self.try_begin(cx);
            if begun.is_some() {
                return begun;
            }
            let advice = spinner.pause(pauses.pause());
            if !goes_on(&mut spinner, advice) {
                return None;
            }
        }
    }
}

/// The start of a call.
enum Begun<'a> {
    /// Its thread holds the lock.
    Holds,
    /// It has drawn that place, where the holder waits for its section.
    At(&'a QueueSlot),
}

impl<C> Call<C> {
    /// Returns the address where the thread waits, with those marks.
    fn marked(&self, marks: usize) -> *mut WaitCell<MayPark> {
        let told = ptr::from_ref(&self.told).cast_mut();
        told.map_addr(|at| at | marks)
    }

    /// Posts a section in that place, with those marks.
    ///
    /// # Safety
    /// The caller has drawn the place, and waits until the section has been run, or withdraws it.
    unsafe fn post(&self, place: &QueueSlot, section: Section<'_>, marks: usize) {
        self.told.reset(WAIT);
        // SAFETY: the caller's.
        let section = unsafe { section.outliving() };
        // SAFETY: unpublished until the poster is stored.
        place.section.with_mut(|at| unsafe { *at = Some(section) });
        place.poster.store(self.marked(marks), QD_POST);
    }

    /// Blocks until the posted section has been run.
    fn wait<P: Parking>(&self) {
        let told = self.told.in_form::<P>();
        told.wait_for(QD_ANSWERED, CLASS, |told| told != WAIT);
    }

    /// Blocks until the section posted there has been run, or withdraws it when patience runs out,
    /// unless it has begun.
    fn wait_within<P: Parking>(&self, place: &QueueSlot, patience: &Patience) -> Outcome {
        let told = self.told.in_form::<P>();
        if told.wait_within(QD_ANSWERED, CLASS, |told| told != WAIT, patience) {
            return Outcome::Acquired;
        }
        let gone = ptr::without_provenance_mut(GONE);
        let mine = self.marked(PATIENT);
        let has_left = place
            .poster
            .compare_exchange(mine, gone, Order::RELAXED, Order::RELAXED)
            .is_ok();
        if has_left {
            tally(Tallied::Withdrawals, 1);
            return Outcome::GaveUp;
        }
        self.wait::<P>();
        Outcome::Acquired
    }
}

// SAFETY: the holder of a lock that excludes runs all sections. Each has its own place; the holder
// takes it once, and its thread waits for that.
unsafe impl<L: RawTry, P: Parking, const PLACES: usize> Delegate for Qd<L, P, PLACES> {
    type Context = Call<L::Context>;

    fn run(&self, cx: &mut Call<L::Context>, section: Section<'_>) {
        let mut looks = 0;
        let begun = self.begin(cx, |_, advice| {
            looks += 1;
            looks < LOOKS && advice == Advice::Again
        });
        match begun {
            Some(Begun::Holds) => self.hold(cx, section),
            Some(Begun::At(place)) => {
                // SAFETY: this call has drawn it, and waits.
                unsafe { cx.post(place, section, 0) };
                cx.wait::<P>();
            }
            None => self.run_here(cx, section),
        }
    }

    fn run_here(&self, cx: &mut Call<L::Context>, section: Section<'_>) {
        // SAFETY: as in `try_hold`.
        unsafe { self.lock.0.acquire(&cx.of_lock) };
        self.hold(cx, section);
    }
}

// SAFETY: as above.
unsafe impl<L: RawTry, P: Parking, const PLACES: usize> TryDelegate for Qd<L, P, PLACES> {
    fn try_run(&self, cx: &mut Call<L::Context>, section: Section<'_>) -> bool {
        let free = self.try_hold(cx);
        if free {
            self.hold(cx, section);
        }
        free
    }
}

// SAFETY: as above; one exchange decides whether a withdrawn section is its thread's or the
// holder's.
unsafe impl<L: RawTry, P: Parking, const PLACES: usize> AbortableDelegate for Qd<L, P, PLACES> {
    /// The lock's own waiters may be unable to give up. So a thread that finds the queue closed
    /// retries without sleeping, and may wait long behind the lock's waiters.
    fn run_within(
        &self,
        cx: &mut Call<L::Context>,
        section: Section<'_>,
        patience: &Patience,
    ) -> Outcome {
        let begun = self.begin(cx, |spinner, advice| {
            if advice == Advice::Sleep {
                spinner.insist();
            }
            !runs_out(patience)
        });
        match begun {
            Some(Begun::Holds) => {
                self.hold(cx, section);
                Outcome::Acquired
            }
            Some(Begun::At(place)) => {
                let patient = &self.calls.0.patient;
                patient.fetch_add(1, Order::RELAXED);
                // SAFETY: this call has drawn it, and waits, or withdraws the section.
                unsafe { cx.post(place, section, PATIENT) };
                let outcome = cx.wait_within::<P>(place, patience);
                patient.fetch_sub(1, QD_GO);
                outcome
            }
            None => Outcome::GaveUp,
        }
    }
}

impl<L: RawTry, P: Parking, const PLACES: usize> Drop for Qd<L, P, PLACES> {
    fn drop(&mut self) {
        let Calls { serving, patient } = &self.calls.0;
        serving.settle(|| patient.load(QD_GONE) == 0 || mutant(flaw::DROP_BESIDE));
        if others_go_on() && serving.is_here() && !mutant(flaw::DROP_AT_ONCE) {
            let cx = L::Context::default();
            // SAFETY: a new context, by which the lock is released before the frame ends.
            unsafe {
                self.lock.0.acquire(&cx);
                self.lock.0.release(&cx);
            }
        }
    }
}

impl<L, const PLACES: usize> super::InTwoForms for Qd<L, MayPark, PLACES>
where
    L: RawTry + TwoForms<Spinning: RawTry>,
{
    type Spinning = Qd<L::Spinning, SpinOnly, PLACES>;
}
