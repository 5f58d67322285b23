//! `qd`: queue delegation, in which the holder of a lock opens a queue of fixed length, runs what is
//! put there, and closes it before it releases the lock (Klaftenegger et al. 2014; Dice et al. 2015
//! §1.1).
//!
//! **Not for** sections that wait for other threads, which may be those that they wait for; nor
//! for more runnable threads than CPUs: a holder waits for a thread that has a place in the queue
//! and has not yet put its section there.
//!
//! | field | meaning | written by |
//! |---|---|---|
//! | `lock` | its holder opens the queue, runs sections and closes it | its queue |
//! | `posted` | how many places have been given away since the queue was opened; at least `PLACES`: it is closed, or full | threads that post, by an addition; the holder |
//! | `serving` | see `serving.rs` | the holder |
//! | `patient` | beside it: threads that may take back what they have posted | they |
//! | a place's `section` | what is to be run | the thread to which the place was given |
//! | a place's `poster` | where that thread waits, marked if it may give up; null: nothing is here yet; `GONE`: it has given up | that thread, last; the holder, as it takes the section |
//! | a context's `told` | whether its section has been run | the holder |
//!
//! | the paper | here |
//! |---|---|
//! | a thread that has put a section there goes on, and asks for the result later if at all | it waits until the section has been run, since that may borrow from it, and is told where it waits |
//! | the queue has bytes, in which a section and what it takes along lie | it has places, of the two words of a section and where its thread waits |
//! | beside the number stands a flag, which says that the queue is closed | a number that is too large says so |
//! | a thread that finds the lock held and the queue closed tries both again, for ever | it pauses in between as waiters of [`bo`](crate::basic::bo) do, since all of them would miss a queue that is open for a moment only; after [`LOOKS`] times, or when it is to sleep, it waits for the lock, which strict locks hand to it in its turn |
//! | a holder always opens the queue | not one that is in a section of another lock, which serves nobody |
//! | readers of the same data share the lock | there are none |
//! | nobody gives up | a thread with a deadline takes back what it has posted, by an exchange on both sides |
//!
//! A thread that gets a number after the queue was closed gets one that is too large, and goes back to
//! the lock: so the holder, which closes by an exchange, has seen every number that counts.
//!
//! The last user may drop the lock once its section has run: the drop waits until the holder has released it,
//! and until threads that may give up do not look at their places any more.
//!
//! A child of a fork cannot go on with one that others had come to.

use super::serving::Serving;
use super::{may_serve, run};
use crate::basic::Mcs;
use crate::basic::bo::pauses;
use crate::door::{
    Advice, AtomicPtr, AtomicU32, Cell, Order, Spinner, Tallied, flaws, mutant, orders,
    others_go_on, runs_out, tally, tally_moment,
};
use crate::padded::LinePadded;
use crate::wait::{Backoff, MayPark, Parking, SpinOnly, WaitCell};
use cohort_raw::{
    AbortableDelegate, Delegate, Outcome, Patience, RawTry, Section, TryDelegate, TwoForms,
};
use core::marker::PhantomData;
use core::ptr;

orders! {
    /// Places are seen empty, with all that was done there before the queue was opened.
    QD_OPEN = Release;
    /// Sees that.
    QD_NUMBER = Acquire;
    /// The section is seen with what its thread did before.
    QD_POST = Release;
    /// Sees it.
    QD_POSTED = Acquire;
    /// What the section did is seen by its thread.
    QD_ANSWER = Release;
    /// Sees it.
    QD_ANSWERED = Acquire;
    /// The end of a call comes after its look at its place.
    QD_GO = Release;
    /// Sees that.
    QD_GONE = Acquire;
}

flaws! {
    /// The queue is closed without a look at what was posted since the last one.
    FORGET_LATE = "qd.forget-late";
    /// A thread that got its number after the close takes a place all the same.
    POST_LATE = "qd.post-late";
    /// A place still says that something is there, once that has been run.
    KEEP_POSTED = "qd.keep-posted";
    /// A holder runs what its thread has taken back.
    RUN_WITHDRAWN = "qd.run-withdrawn";
    /// A holder that is in a section of another lock runs those of others here.
    SERVE_INSIDE = "qd.serve-inside";
    /// The lock is dropped while its holder is about to release it.
    DROP_AT_ONCE = "qd.drop-at-once";
    /// The same while a thread is about to take back what has been run.
    DROP_BESIDE = "qd.drop-beside";
}

/// So often a thread tries to take the lock or to post, before it waits for the lock.
pub const LOOKS: u32 = 1 << 6;

const WAIT: u32 = 0;
const DONE: u32 = 1;

/// A poster waits for its own section only.
const CLASS: u32 = 1;

/// Mark of a `poster`: it may give up.
const PATIENT: usize = 1;

/// No address of a poster.
const GONE: usize = 2;

/// What a call carries: where its thread waits, and what the lock wants.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Call<C> {
    told: WaitCell<MayPark>,
    of_lock: C,
}

/// A place in the queue: on one line, and not on two.
#[derive(Debug, Default)]
#[repr(C, align(32))]
struct Place {
    poster: AtomicPtr<WaitCell<MayPark>>,
    section: Cell<Option<Section<'static>>>,
}

/// The lock.  A holder runs its own section and those of `PLACES` others at most.
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
    places: [Place; PLACES],
    parking: PhantomData<P>,
}

/// What a drop waits for.
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
            places: core::array::from_fn(|_| Place::default()),
            parking: PhantomData,
        }
    }
}

impl Place {
    /// The section that is put here, as soon as it is, and where its thread waits; nothing if that
    /// has given up.
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
        // SAFETY: what stands here is the holder's, since its thread has not given up.
        let section = self.section.with_mut(|place| unsafe { (*place).take() })?;
        Some((section, poster.map_addr(|at| at & !PATIENT)))
    }

    /// What the thread writes to which this place was given.
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
    /// From this number on there are no places.
    const CLOSED: u32 = PLACES as u32;

    /// Takes the lock, if it is free.
    #[inline]
    fn try_hold(&self, cx: &Call<L::Context>) -> bool {
        // SAFETY: a call has its context for itself, and releases the lock before it returns.
        !self.lock.0.is_locked() && unsafe { self.lock.0.try_acquire(&cx.of_lock) }
    }

    /// Runs the section, and what others post meanwhile.  The caller has the lock by that context.
    fn hold(&self, cx: &Call<L::Context>, section: Section<'_>) {
        let serves = may_serve(flaw::SERVE_INSIDE);
        if serves {
            // By an exchange, which comes behind all numbers that were taken too late.
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
        // SAFETY: the caller has it, by that context.
        unsafe { self.lock.0.release(&cx.of_lock) };
    }

    /// Runs what is posted until nothing is, or there are no more places; the queue is closed then.
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

    /// Closes the queue; how many places had been given away.
    fn close(&self, done: u32) -> u32 {
        if mutant(flaw::FORGET_LATE) {
            self.posted.0.store(Self::CLOSED, Order::RELAXED);
            return done;
        }
        self.posted.0.swap(Self::CLOSED, Order::RELAXED)
    }

    /// Runs what is put in that place, and tells its thread.  The caller has the lock.
    #[inline]
    fn run_posted(&self, place: &Place) {
        let Some((section, told)) = place.take() else {
            return;
        };
        // SAFETY: the lock excludes.
        unsafe { run(section) };
        tally(Tallied::Served, 1);
        // SAFETY: the thread of a section that was taken waits there until it is told.
        unsafe { &*told }.in_form::<P>().set(DONE, QD_ANSWER);
    }

    /// Has the lock taken, if it is free, or a place given to the caller, if the queue is open.
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

    /// The same again and again, as long as the caller goes on; that is told what each pause advises.
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

/// How a call has begun.
enum Begun<'a> {
    /// Its thread has the lock.
    Holds,
    /// It has that place in the queue, where its section is waited for.
    At(&'a Place),
}

impl<C> Call<C> {
    /// Where the thread waits, with those marks.
    fn marked(&self, marks: usize) -> *mut WaitCell<MayPark> {
        let told = ptr::from_ref(&self.told).cast_mut();
        told.map_addr(|at| at | marks)
    }

    /// Puts a section in that place, with those marks.
    ///
    /// # Safety
    /// The place was given to the caller, which waits until the section has been run, or takes it back.
    unsafe fn post(&self, place: &Place, section: Section<'_>, marks: usize) {
        self.told.reset(WAIT);
        // SAFETY: the caller's.
        let section = unsafe { section.outliving() };
        // SAFETY: nobody looks there until the place says so.
        place.section.with_mut(|at| unsafe { *at = Some(section) });
        place.poster.store(self.marked(marks), QD_POST);
    }

    /// Blocks until the section that was posted has been run.
    fn wait<P: Parking>(&self) {
        let told = self.told.in_form::<P>();
        told.wait_for(QD_ANSWERED, CLASS, |told| told != WAIT);
    }

    /// The same of one that was posted there, no longer than `patience` lasts; then it is taken back,
    /// unless it has begun.
    fn wait_within<P: Parking>(&self, place: &Place, patience: &Patience) -> Outcome {
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

// SAFETY: sections are run by the holder of a lock that excludes; each has a place of its own, from
// which the holder takes it once, and its thread waits for that.
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
                // SAFETY: it was given to this call, which waits.
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

// SAFETY: as above; a section that was taken back is in nobody's hands, since one exchange decides
// whether its thread or the holder has it.
unsafe impl<L: RawTry, P: Parking, const PLACES: usize> AbortableDelegate for Qd<L, P, PLACES> {
    /// The lock's own queue may let nobody go, so a thread that finds the queue closed tries again and
    /// again, without sleep: it may come late behind threads that wait for the lock.
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
                // SAFETY: it was given to this call, which waits, or takes the section back.
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
