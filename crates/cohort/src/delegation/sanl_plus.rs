//! `sanl+`: a thread takes a word and runs its own section, in place, while threads seldom meet there;
//! where they meet often they bring their sections to a queue by one exchange, as to
//! [`cc-synch`](super::cc_synch), and the first in it runs those behind it.
//! Where the queue is much wanted, the threads
//! of a NUMA node share a place in it, a bus: its sections and answers lie
//! together (Zhang et al. 2017 §4.2 and §5 ask for a lock without a dip between both modes).
//!
//! **Not for** sections that wait for other threads, which may be those that they wait for.
//!
//! | field | meaning | written by |
//! |---|---|---|
//! | `word` | whether a section runs, or the lock goes on with the queue | a thread that runs its section in place; the first in the queue; the holder that leaves the queue |
//! | `meetings` | beside it: how much more often threads of late met in place than is good there | the thread that has the word |
//! | `mode` | `IN_PLACE`, `STAYS` where all wait for the word, `QUEUE`, or `RIDES` while threads share buses | holders, and the first in the queue; to `STAYS`, a thread that finds the word taken |
//! | `heeds` | beside it, where waiters never sleep: `ASKED` once a thread that may give up wants to come to the queue, and `HEEDED` from when holders heed that it may have | that thread; the holder that finds it |
//! | `tail` | the place in which the next arrival brings its section; null: nobody has come yet | arrivals, by an exchange |
//! | a place's `of`, `code` | a section; or `of` a bus with sections that are to be run | the arrival that found the place |
//! | a place's `next` | the place after it, with marks of what is brought here; null: nothing is yet | the same, last |
//! | a place's `told` | see [`told`](super::told); more than `YOURS` by how much turns to which nobody else came prevail of late | the holder; its thread, as it gives up |
//! | a place's `process` | the process of the arrival that left the place | that arrival, before others see it |
//! | `buses` | the bus of each NUMA node, of a pool; null: not used yet | the first thread that boards it |
//! | a bus's `aboard` | its ride, and how many seats are taken; at least `FULL` from when its sections are run on | threads that board; the holder |
//! | a bus's `code` | that of the section in its first seat; null: not known yet | the thread in that seat; the holder |
//! | a bus's `seats` | what a section with that code was made of; or, marked, where another stands, whole; null: not known yet | the thread in that seat; the holder |
//! | a bus's `over` | its present ride, while it takes threads aboard: the last that is over, plus one | the holder |
//! | `average` | while threads share buses: how many sections holders ran of late, in eighths | the holder |
//!
//! **In place and by the queue.**  The word excludes.  In place a thread that finds it taken goes to the
//! queue, and of that only the first waits for the word, once it is told that it is the first.  It runs what
//! stands behind it, frees the word, and tells the next that it is the first.  Alone, a thread moves the line
//! of the word and those of its data, and reads the mode, of which its CPU keeps a copy; at the
//! queue a place's line would move as well.
//!
//! Where threads meet often, which the holders count, or the first in the queue is passed by others for
//! long, the lock goes on with the queue: a holder leaves it to
//! the next with the word as it is, so that nobody touches the word's line.  When they meet seldom
//! there, a holder frees the word again.  The mode is a hint: nobody but the first in the queue waits for the
//! word, so a thread that believes an old one loses a try, or is alone in the queue.
//!
//! With no more CPUs than [`FEW`](InPlace::FEW) threads never go to the queue: from when two have met all
//! look at the word and wait for it, as at the default lock, which it is.  Hardly any other thread
//! could bring anything while a section runs; and where threads are more than CPUs, a queue's next is one
//! that has to be woken, where the default lock is taken by one that is running.
//!
//! The thread in the first seat of a bus drives it: it takes the bus's place in the queue, and what is
//! told of that is told to it.  The holder takes nobody aboard any more before it runs the sections,
//! and tells all by one word once they have run; a thread that comes meanwhile has a place of its own.
//! So nothing has to be agreed on when threads begin to share buses, or cease to.  They begin when a
//! holder has run `MOST` sections and has found no end of the queue, and cease when holders run less
//! than `CALM` on average.
//!
//! A thread that may give up takes a place of its own, since those aboard a bus are told by one word.  A
//! place that was given up stays in the queue, and the holder that comes to it gives it back.
//!
//! **Left by a store.**  Where waiters never sleep a holder leaves the lock by a store, behind which the stores
//! of its section may go on, as long as no thread that gives up comes to the queue.  The first that
//! may give up asks for an exchange, and until a holder has said that it heeds that, comes only to a place
//! of which it sees that it is the first there: by an exchange of the tail that it has seen.  Threads are
//! the first in the queue one after the other, each told by the one before, so all later ones heed it, too.
//! A place may be used again between that look and that exchange, and is not the first any more: then
//! the thread waits for as long as it takes.
//!
//! At a queue of threads with places of their own, one line moves to the holder for each section;
//! at one of buses, a place and one line or two for the sections of several threads.  What is
//! brought is read where it stands and not taken out, since its thread looks at the same line.
//!
//! The number of a ride is compared for equality, so it moves on where `over` does: where a thread went
//! aboard behind the first.  A thread that waits for its ride and does not look again before the bus has gone
//! a multiple of `2^31` further waits for one more.
//!
//! **Who drops the lock.**  To tell of a place is the last that a holder does to the lock.  So the last user,
//! whose section a holder has run, may drop it: the drop waits until that has come to the last place.  A
//! thread aboard may learn of its ride later still; buses are of a pool, and count on for the next lock.
//!
//! A child of a fork cannot go on with one that others had come to: their places are in its queue.

use super::told::{DONE, FIRST, Told, WAIT, YOURS};
use super::{enter, leave, may_serve, run};
use crate::door::Spinner;
use crate::door::{
    AtomicPtr, AtomicU32, AtomicU64, Level, Order, Tallied, at_most, cohort, cpus, flaws,
    generation, mutant, orders, outlast, pool, runs_out, tally, tally_moment, tally_state,
};
use crate::host::Pool;
use crate::numa::FutexHmcs;
use crate::padded::LinePadded;
use crate::wait::{MayPark, Parking, SpinOnly, WaitCell};
use cohort_raw::{
    Abortable, AbortableDelegate, Delegate, Outcome, Patience, RawLock, RawTry, Section,
    ThreadOblivious,
};
use core::marker::PhantomData;
use core::ptr;

orders! {
    /// Publishes the fresh place to the next arrival; sees the one that is found there fresh.
    PLUS_ARRIVE = AcqRel;
    /// What is brought is seen with what its thread did before.
    PLUS_BRING = Release;
    /// Sees it.
    PLUS_BROUGHT = Acquire;
    /// A section aboard is seen with what its thread did before.
    PLUS_SIT = Release;
    /// Sees it.
    PLUS_SEATED = Acquire;
    /// What sections did is seen by the threads aboard.
    PLUS_OVER = Release;
    /// Sees it.
    PLUS_RIDDEN = Acquire;
    /// A bus that takes threads again is seen with its seats free.
    PLUS_OPEN = Release;
    /// Sees that.
    PLUS_BOARD = Acquire;
    /// A bus is seen as its last lock has left it.
    PLUS_BUY = Release;
    /// Sees that.
    PLUS_FIND = Acquire;
}

flaws! {
    /// A bus still takes threads while its sections are run.
    KEEP_OPEN = "sanl-plus.keep-open";
    /// The sections of a bus are all run with the code of the first.
    BELIEVE_CODE = "sanl-plus.believe-code";
    /// A thread that is in a section of another lock drives a bus of this one.
    RIDE_INSIDE = "sanl-plus.ride-inside";
    /// A holder that is in a section of another lock runs those of others here.
    SERVE_INSIDE = "sanl-plus.serve-inside";
    /// What stands between `lock` and `unlock` does not count as a section.
    FORGET_LOCKED = "sanl-plus.forget-locked";
    /// The first in the queue does not take the word.
    FORGET_WORD = "sanl-plus.forget-word";
    /// A holder that leaves the queue does not free the word.
    KEEP_WORD = "sanl-plus.keep-word";
    /// It tells the next that it has the lock.
    HAND_FREE = "sanl-plus.hand-free";
    /// The first in the queue gives up, and tells nobody that it is the first now.
    LEAVE_FIRST = "sanl-plus.leave-first";
    /// A thread that may give up comes to a queue before holders heed that.
    COME_UNHEEDED = "sanl-plus.come-unheeded";
    /// A ride to which no other thread came has a number, and nothing says that it is over.
    COUNT_ALONE = "sanl-plus.count-alone";
    /// A holder learns from its turn when it has left the lock.
    LEARN_LATE = "sanl-plus.learn-late";
    /// The lock is dropped while a holder is about to leave it.
    DROP_AT_ONCE = "sanl-plus.drop-at-once";
}

/// A mode: threads run their own sections, in place, and those that meet another go to the queue.
pub const IN_PLACE: u32 = 0;
/// Threads bring their sections, each in a place of its own.
pub const QUEUE: u32 = 1;
/// Threads share buses.
pub const RIDES: u32 = 2;
/// Threads run their own sections, and all wait for the word.
const STAYS: u32 = 3;

/// Holders leave the lock by a store.
const UNASKED: u32 = 0;
/// A thread that may give up has asked for an exchange.
const ASKED: u32 = 1;
/// They leave it by an exchange.
const HEEDED: u32 = 2;

/// How sections are run in place.
///
/// # Safety
/// [`take_as_first`](Self::take_as_first) takes the word if and only if it says so.
///
/// ```
/// use cohort::basic::Tas;
/// use cohort::delegation::{SanlPlus, sanl_plus};
/// use cohort::wait::MayPark;
/// use cohort::Delegated;
///
/// /// With one CPU alone, by the least of words.
/// #[derive(Debug)]
/// enum Least {}
///
/// // SAFETY: it says nothing of its own.
/// unsafe impl sanl_plus::InPlace for Least {
///     type Word = Tas;
///     const FEW: u32 = 1;
///     const OFTEN: u32 = 100;
///     const QUIET: u32 = 100;
///     const PASSING_NANOSECONDS: u64 = 10_000;
/// }
///
/// type Lock = SanlPlus<MayPark, 256, 16, { sanl_plus::IN_PLACE }, 16, 14, Least>;
/// let total: Delegated<u64, Lock> = Delegated::from(1);
/// assert_eq!(total.run(|total| *total), 1);
/// ```
pub unsafe trait InPlace: Send + Sync + 'static {
    /// What excludes.
    type Word: RawTry<Context = ()> + Abortable + ThreadOblivious;
    /// With so many CPUs or fewer, all sections are.
    const FEW: u32;
    /// Sections are brought to the queue once threads have met so much more often than every fourth
    /// time: a thread that has met another counts three, and one that has not takes one off.  At least 1.
    const OFTEN: u32;
    /// And they are run in place again once they have been run at the queue so much more seldom by
    /// another thread than every ninth time: a turn to which nobody else comes counts one, and each section
    /// of another thread takes eight off.  At least 1, and at most `2^30`.
    const QUIET: u32;
    /// And for a while, too, once the first in the queue has waited for so long while others took the word
    /// in passing; `u64::MAX`: they always may.
    const PASSING_NANOSECONDS: u64;

    /// Blocks until the word is taken or patience runs out: in the one thread that waits for it, while
    /// others may take it in passing.
    fn take_as_first(word: &Self::Word, patience: &Patience) -> Outcome {
        // SAFETY: the word has no contexts, and stays where it is until it is freed, as the lock does.
        unsafe {
            if patience.is_endless() {
                word.acquire(&());
                Outcome::Acquired
            } else {
                word.acquire_within(&(), patience)
            }
        }
    }
}

/// By the default lock.  So many meetings and turns change the mode, which every thread reads again then,
/// that this costs each of them little.
#[derive(Debug)]
pub enum Usual {}

// SAFETY: the lock says whether it was taken.
unsafe impl InPlace for Usual {
    type Word = FutexHmcs;
    const FEW: u32 = 4;
    const OFTEN: u32 = 96;
    const QUIET: u32 = 64;
    const PASSING_NANOSECONDS: u64 = 10_000;

    /// As one of few: one that waits alone needs no order among waiters, nor turns.
    fn take_as_first(word: &FutexHmcs, patience: &Patience) -> Outcome {
        word.acquire_as_first(patience)
    }
}

/// What a thread that has met another counts for in place, where one that has not takes one off.
const MEETING: u32 = 3;

/// What a section of another thread takes off at the queue, where a turn to which nobody else comes
/// counts one.  It is more than in place since a turn there is longer, and meets more threads.
const SERVED: u32 = 8;

/// Those aboard wait for a bus.
const CLASS: u32 = 1;

/// Marks of a `next`: what is brought here is a bus.
const BUS: usize = 1;
/// Its thread runs it.
const HERE: usize = 2;
/// Its thread may give up: no bus does, nor a thread that runs what it brings.
const MAY_GO: usize = BUS | HERE;
/// All of them.
const MARKS: usize = BUS | HERE;

/// Mark of a seat: a whole section stands there.
const WHOLE: usize = 1;

/// So many aboard is more than there are seats.
const FULL: u64 = 1 << 31;

/// The parts in which the average is kept, of which the last holder's sections make one.
const PART: u64 = 8;

/// Two words of a section.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Words {
    of: AtomicPtr<()>,
    code: AtomicPtr<()>,
}

impl Words {
    fn put(&self, [of, code]: [*mut (); 2]) {
        self.of.store(of, Order::RELAXED);
        self.code.store(code, Order::RELAXED);
    }

    fn get(&self) -> [*mut (); 2] {
        [self.of.load(Order::RELAXED), self.code.load(Order::RELAXED)]
    }
}

/// Runs the section of these words.
///
/// # Safety
/// Its thread waits for that, and the caller has the lock.
unsafe fn run_words(words: [*mut (); 2]) {
    // SAFETY: the caller's.
    unsafe { run(Section::from_words(words)) };
}

/// A place in the queue; on one line with what the pool keeps of it.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Place {
    next: AtomicPtr<Place>,
    told: Told,
    process: AtomicU32,
    words: Words,
}

pool! {
    /// Places change hands with each section, so no frame owns one.
    static PLACES: Place, cache 10
}

pool! {
    /// Buses outlive their locks, since threads aboard may still look at them.
    static FLEET: Bus, placed
}

/// Bytes of all of both made so far.
pub(super) fn pool_bytes() -> usize {
    PLACES.bytes() + FLEET.bytes()
}

impl Place {
    /// A place where nothing is brought, which nobody else has.
    fn fresh() -> &'static Self {
        let place = PLACES.take();
        place.process.store(generation(), Order::RELAXED);
        place
    }

    /// Whether a thread of this process has left it: then a holder that is to come to it is of this
    /// process, too.
    fn is_of_here(&self) -> bool {
        self.process.load(Order::RELAXED) == generation()
    }

    /// Gives it back, as such a place again.  An arrival's exchange waits for stores before it; these
    /// are done by then.
    fn give(&'static self) {
        self.next.store(ptr::null_mut(), Order::RELAXED);
        self.told.reset(WAIT);
        // SAFETY: it came from this pool, and is the caller's: the thread that told this one has gone
        // past it, or its own has given up.
        unsafe { PLACES.give(self) };
    }

    /// The place behind it, with the marks of what is brought here; null and none if nothing is.
    #[inline(always)]
    fn next(&self) -> (*const Self, usize) {
        let next = self.next.load(PLUS_BROUGHT);
        let marks = next.addr() & MARKS;
        (next.map_addr(|at| at & !MARKS), marks)
    }

    fn pointer(&self, marks: usize) -> *mut Self {
        ptr::from_ref(self).cast_mut().map_addr(|at| at | marks)
    }
}

/// Seats of a bus, of which a lock may use fewer: two lines with what stands before them.
const MOST_SEATS: usize = 14;

/// A place in the queue that the threads of a NUMA node share.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Bus {
    aboard: AtomicU64,
    code: AtomicPtr<()>,
    seats: [AtomicPtr<()>; MOST_SEATS],
    over: LinePadded<WaitCell<MayPark>>,
}

/// Which ride a bus is on, and how many are aboard.
const fn split(aboard: u64) -> (u32, u64) {
    ((aboard >> 32) as u32, aboard & u32::MAX as u64)
}

/// What a bus says while it is on that ride.
const fn on(ride: u32) -> u32 {
    ride & WaitCell::<MayPark>::MAX
}

impl Bus {
    /// A bus on that ride: for a test.
    fn beginning_at(ride: u32) -> &'static Self {
        let bus = FLEET.take();
        bus.aboard.store(u64::from(ride) << 32, Order::RELAXED);
        bus.over.0.reset(on(ride));
        bus
    }

    /// Gives it back, if it is as it was taken: not where a fork came between.
    fn give(&'static self) {
        let (ride, taken) = split(self.aboard.load(Order::RELAXED));
        if taken == 0 && self.over.0.value(Order::RELAXED) == on(ride) {
            // SAFETY: it came from this pool, and its lock is dropped.
            unsafe { FLEET.give(self) };
        }
    }

    /// Takes the caller aboard, with a section of these words; where they stand in the caller's
    /// frame, too.  The ride and the seat, if one of so many was free.
    ///
    /// # Safety
    /// A caller that is aboard waits until the section has been run.
    unsafe fn board(
        &self,
        seats: usize,
        whole: &Words,
        [of, code]: [*mut (); 2],
    ) -> Option<(u32, u64)> {
        let (ride, taken) = split(self.aboard.fetch_add(1, PLUS_BOARD));
        let seat = self.seats[..seats].get(taken as usize)?;
        let mut sits = of;
        if taken == 0 {
            self.code.store(code, Order::RELAXED);
        } else if self.code.load(Order::RELAXED) != code && !mutant(flaw::BELIEVE_CODE) {
            whole.put([of, code]);
            sits = ptr::from_ref(whole)
                .cast_mut()
                .cast::<()>()
                .map_addr(|at| at | WHOLE);
        }
        seat.store(sits, PLUS_SIT);
        Some((ride, taken))
    }

    /// Takes nobody aboard any more, runs the sections that are, says so, and takes threads aboard
    /// again.  The caller has the lock, and the bus a place.
    fn carry<P: Parking>(&self, seats: usize) -> u64 {
        let aboard = if mutant(flaw::KEEP_OPEN) {
            self.aboard.load(Order::RELAXED)
        } else {
            self.aboard.fetch_add(FULL, Order::RELAXED)
        };
        let (ride, taken) = split(aboard);
        let taken = taken.min(seats as u64);
        for seat in &self.seats[..taken as usize] {
            let sits = Self::seated(seat);
            // SAFETY: the thread in that seat waits; the caller has the lock.
            unsafe { self.run_seated(sits) };
            seat.store(ptr::null_mut(), Order::RELAXED);
        }
        self.code.store(ptr::null_mut(), Order::RELAXED);
        let next = if taken > 1 || mutant(flaw::COUNT_ALONE) {
            ride.wrapping_add(1)
        } else {
            ride
        };
        if taken > 1 {
            let over = self.over.0.in_form::<P>();
            over.set(on(next), PLUS_OVER);
        }
        self.aboard.store(u64::from(next) << 32, PLUS_OPEN);
        taken
    }

    /// What the thread in that seat brings, as soon as it has sat down.
    fn seated(seat: &AtomicPtr<()>) -> *mut () {
        let mut spinner = Spinner::new();
        loop {
            let sits = seat.load(PLUS_SEATED);
            if !sits.is_null() {
                return sits;
            }
            spinner.moment();
        }
    }

    /// Runs the section that sits there.
    ///
    /// # Safety
    /// As [`run_words`].
    unsafe fn run_seated(&self, sits: *mut ()) {
        let words = if sits.addr() & WHOLE == 0 {
            // The first seat is taken by the thread that writes it, before it sits down.
            [sits, self.code.load(Order::RELAXED)]
        } else {
            let whole = sits.map_addr(|at| at & !WHOLE).cast::<Words>();
            // SAFETY: they stand in the frame of the thread in that seat.
            unsafe { &*whole }.get()
        };
        // SAFETY: the caller's.
        unsafe { run_words(words) };
    }

    /// Blocks until the sections of that ride have been run.
    fn wait<P: Parking>(&self, ride: u32) {
        let over = self.over.0.in_form::<P>();
        let past = |over| over != on(ride);
        over.wait_spaced(PLUS_RIDDEN, CLASS, past, |_| 0, || true);
    }
}

/// The lock.  It is in the mode `AT_FIRST`, which matters where CPUs are not few.  A holder runs about
/// `MOST` sections of others; threads share buses from when one did, and until holders run less than
/// `CALM` on average.
///
/// ```
/// use cohort::{Delegated, delegation::SanlPlus};
///
/// let total: Delegated<u64, SanlPlus> = Delegated::from(1);
/// total.run(|total| *total += 1);
/// assert_eq!(total.run(|total| *total), 2);
/// ```
#[derive(Debug)]
#[repr(C)]
pub struct SanlPlus<
    P: Parking = MayPark,
    const MOST: u64 = 256,
    const CALM: u64 = 16,
    const AT_FIRST: u32 = IN_PLACE,
    const BUSES: usize = 16,
    const SEATS: usize = 14,
    I: InPlace = Usual,
> {
    read: LinePadded<Read>,
    taken: LinePadded<Taken<I::Word>>,
    tail: LinePadded<AtomicPtr<Place>>,
    average: LinePadded<AtomicU64>,
    buses: [AtomicPtr<Bus>; BUSES],
    parking: PhantomData<P>,
}

impl<
    P: Parking,
    const MOST: u64,
    const CALM: u64,
    const AT_FIRST: u32,
    const BUSES: usize,
    const SEATS: usize,
    I: InPlace,
> Default for SanlPlus<P, MOST, CALM, AT_FIRST, BUSES, SEATS, I>
{
    fn default() -> Self {
        Self {
            read: LinePadded(Read {
                mode: AtomicU32::new(AT_FIRST),
                heeds: AtomicU32::new(UNASKED),
            }),
            taken: LinePadded::default(),
            tail: LinePadded(AtomicPtr::null()),
            average: LinePadded(AtomicU64::new(MOST * PART)),
            buses: core::array::from_fn(|_| AtomicPtr::null()),
            parking: PhantomData,
        }
    }
}

/// What all threads read, and hardly any writes.
#[derive(Debug)]
#[repr(C)]
struct Read {
    mode: AtomicU32,
    heeds: AtomicU32,
}

/// What a thread that runs its section in place takes; on one line, which it writes anyway.
#[derive(Debug, Default)]
#[repr(C)]
struct Taken<W> {
    word: W,
    meetings: AtomicU32,
}

/// By how much turns to which nobody else comes prevail after one in which so many sections of others ran.
fn less_quiet(quiet: u32, others: u64) -> u32 {
    let others = u32::try_from(others).unwrap_or(u32::MAX);
    quiet.saturating_sub(others.saturating_mul(SERVED))
}

/// By what a thread has locked the lock: its place in the queue, and what it was told there; or
/// nothing, if it did so in place.
#[derive(Debug)]
pub struct Turn(Option<(Queued, u32)>);

/// A thread's place in the queue, and the one behind it.
#[derive(Debug)]
struct Queued {
    mine: &'static Place,
    next: &'static Place,
}

/// What a thread brings to the queue.
enum Brings {
    Section([*mut (); 2], bool),
    Bus(&'static Bus),
}

impl<
    P: Parking,
    const MOST: u64,
    const CALM: u64,
    const AT_FIRST: u32,
    const BUSES: usize,
    const SEATS: usize,
    I: InPlace,
> SanlPlus<P, MOST, CALM, AT_FIRST, BUSES, SEATS, I>
{
    /// A lock whose buses are on that ride: for a test.
    #[must_use]
    pub fn beginning_at(ride: u32) -> Self {
        let lock = Self::default();
        for bus in &lock.buses {
            let new = ptr::from_ref(Bus::beginning_at(ride)).cast_mut();
            bus.store(new, Order::RELAXED);
        }
        lock
    }

    fn mode(&self) -> u32 {
        self.read.0.mode.load(Order::RELAXED)
    }

    fn set_mode(&self, mode: u32) {
        self.read.0.mode.store(mode, Order::RELAXED);
    }

    fn word(&self) -> &I::Word {
        &self.taken.0.word
    }

    /// Whether the calling thread has taken the word, by which it is to run its section in that mode.
    /// Blocks only in the one in which all do.
    #[inline(always)]
    fn takes(&self, mode: u32) -> bool {
        if mode == STAYS {
            // SAFETY: the word has no contexts, and stays where it is until it is freed, as this lock
            // does; so for all below.
            unsafe { self.word().acquire(&()) };
            return true;
        }
        // SAFETY: as above.
        mode == IN_PLACE && unsafe { self.word().try_acquire(&()) }
    }

    /// Whether all threads wait for the word: from here on, if the caller has not found it free and CPUs
    /// are few.
    fn stays(&self, mode: u32) -> bool {
        let begins = mode == IN_PLACE && AT_FIRST == IN_PLACE && cpus() <= I::FEW;
        if begins {
            self.set_mode(STAYS);
        }
        begins || mode == STAYS
    }

    /// [`takes`](Self::takes), or in the mode in which all wait blocks no longer than `patience` lasts;
    /// nothing if the section is to be brought to the queue.
    fn takes_within(&self, mode: u32, patience: &Patience) -> Option<Outcome> {
        if mode == IN_PLACE && self.takes(mode) {
            return Some(Outcome::Acquired);
        }
        let stays = self.stays(mode);
        // SAFETY: as above.
        stays.then(|| unsafe { self.word().acquire_within(&(), patience) })
    }

    /// Frees the word, which the caller has taken in place.
    ///
    /// # Safety
    /// So it is, and its section has ended.
    #[inline(always)]
    unsafe fn free_in_place(&self) {
        let meetings = self.taken.0.meetings.load(Order::RELAXED);
        if meetings != 0 {
            self.taken.0.meetings.store(meetings - 1, Order::RELAXED);
        }
        // SAFETY: the caller's.
        unsafe { self.word().release(&()) };
    }

    /// So many threads have met others in place, if that is where sections are run; if they do often,
    /// sections are brought to the queue from here on.  The caller has the lock by the queue.
    fn meet(&self, threads: u64) {
        if threads == 0 || self.mode() != IN_PLACE {
            return;
        }
        let counted = &self.taken.0.meetings;
        let met = u32::try_from(threads).unwrap_or(u32::MAX);
        let meetings = counted.load(Order::RELAXED);
        let meetings = meetings.saturating_add(met.saturating_mul(MEETING));
        counted.store(meetings, Order::RELAXED);
        if meetings >= I::OFTEN {
            self.set_mode(QUEUE);
        }
    }

    /// Runs the section, and frees the word.
    ///
    /// # Safety
    /// As [`Section::run`]; the caller has taken the word in place.
    #[inline(always)]
    unsafe fn run_in_place(&self, section: Section<'_>) {
        // SAFETY: the caller's, and the word excludes.
        unsafe {
            run(section);
            self.free_in_place();
        }
    }

    /// Blocks until the section has been run, by the calling thread if that has to be `here`.
    #[inline(always)]
    fn run_at(&self, words: &Words, section: Section<'_>, here: bool) {
        let mode = self.mode();
        if self.takes(mode) {
            // SAFETY: the word has just been taken; a section is run once, here.
            unsafe { self.run_in_place(section) };
        } else {
            self.run_long(mode, words, section, here);
        }
    }

    /// The same by a thread that has not found the word free in that mode.
    #[inline(never)]
    fn run_long(&self, mode: u32, words: &Words, section: Section<'_>, here: bool) {
        if self.stays(mode) && self.takes(STAYS) {
            // SAFETY: the word has just been taken; a section is run once, here.
            return unsafe { self.run_in_place(section) };
        }
        let section = section.into_words();
        let rides = mode == RIDES;
        if !here {
            tally_state(Tallied::ModeSwitches, ptr::from_ref(self).addr(), rides);
        }
        // What a section was made of is marked where it stands, which has to be even for that.
        // The thread that has the first seat serves the others.
        if rides && !here && may_serve(flaw::RIDE_INSIDE) && section[0].addr() & WHOLE == 0 {
            let bus = self.bus();
            // SAFETY: this call waits.
            match unsafe { bus.board(SEATS, words, section) } {
                // SAFETY: this thread has the first seat.
                Some((_, 0)) => return unsafe { self.bring(&Brings::Bus(bus)) },
                Some((ride, _)) => return bus.wait::<P>(ride),
                None => {}
            }
        }
        // SAFETY: this call outlives it.
        unsafe { self.bring(&Brings::Section(section, here)) };
    }

    /// The bus of the calling thread's node.
    fn bus(&self) -> &'static Bus {
        const { assert!(SEATS <= MOST_SEATS, "a bus has not so many seats") };
        let place = &self.buses[cohort(Level::Numa) % BUSES];
        // SAFETY: null, or of a pool whose nodes stay.
        let known = unsafe { place.load(PLUS_FIND).cast_const().as_ref::<'static>() };
        known.unwrap_or_else(|| Self::new_bus(place))
    }

    /// A bus for that place, or the one that another thread has put there.
    #[cold]
    fn new_bus(place: &AtomicPtr<Bus>) -> &'static Bus {
        let new = FLEET.take();
        let pointer = ptr::from_ref(new).cast_mut();
        match place.compare_exchange(ptr::null_mut(), pointer, PLUS_BUY, PLUS_FIND) {
            Ok(_) => new,
            Err(others) => {
                new.give();
                // SAFETY: as above, and not null.
                unsafe { &*others.cast_const() }
            }
        }
    }

    /// Blocks until what is brought has been run.
    ///
    /// # Safety
    /// The section is outlived by the call, or the caller drives that bus.
    unsafe fn bring(&self, what: &Brings) {
        let (words, marks) = match what {
            Brings::Section(words, false) => (*words, 0),
            Brings::Section(words, true) => (*words, HERE),
            Brings::Bus(bus) => ([ptr::from_ref(*bus).cast_mut().cast(); 2], BUS),
        };
        let (queued, told) = self.arrive(words, marks, Told::wait::<P>);
        if told == DONE {
            return queued.mine.give();
        }
        let _ = self.take_as_told(told, &Patience::ENDLESS);
        let others = match what {
            Brings::Section(words, _) => {
                // SAFETY: the caller's, which has the lock.
                unsafe { run_words(*words) };
                0
            }
            Brings::Bus(bus) => bus.carry::<P>(SEATS) - 1,
        };
        self.end(&queued, told, others);
    }

    /// Blocks until the calling thread has the lock, which was told that of its place, or patience runs
    /// out.
    #[inline(always)]
    fn take_as_told(&self, told: u32, patience: &Patience) -> Outcome {
        if told != FIRST || mutant(flaw::FORGET_WORD) {
            return Outcome::Acquired;
        }
        let outcome = self.take_as_first(patience);
        if outcome == Outcome::Acquired {
            self.meet(1);
        }
        outcome
    }

    /// Blocks until the word is taken or patience runs out.  After a while others no longer take it in
    /// passing: a thread that comes back at once would find it free each time before the caller does.
    fn take_as_first(&self, patience: &Patience) -> Outcome {
        if I::PASSING_NANOSECONDS == u64::MAX {
            return I::take_as_first(self.word(), patience);
        }
        let at_most = at_most(patience, I::PASSING_NANOSECONDS);
        let outcome = I::take_as_first(self.word(), &at_most);
        if outcome == Outcome::Acquired || runs_out(patience) {
            return outcome;
        }
        if self.mode() == IN_PLACE {
            self.set_mode(QUEUE);
        }
        I::take_as_first(self.word(), patience)
    }

    /// Brings these words, and blocks in that way until something is told of them.
    #[inline(always)]
    fn arrive<R>(
        &self,
        words: [*mut (); 2],
        marks: usize,
        wait: impl FnOnce(&Told) -> R,
    ) -> (Queued, R) {
        let next = Place::fresh();
        let found = self.tail.0.swap(next.pointer(0), PLUS_ARRIVE);
        Self::bring_at(found, next, words, marks, wait)
    }

    /// The same in the place that was found, or in a fresh one if there was none, where the `next` one is
    /// known to those that come.
    #[inline(always)]
    fn bring_at<R>(
        found: *mut Place,
        next: &'static Place,
        words: [*mut (); 2],
        marks: usize,
        wait: impl FnOnce(&Told) -> R,
    ) -> (Queued, R) {
        // SAFETY: a place stays as long as it is in the queue; this one is now the caller's.
        let mine = unsafe { found.cast_const().as_ref::<'static>() };
        let mine = mine.unwrap_or_else(|| {
            let mine = Place::fresh();
            mine.told.reset(FIRST);
            mine
        });
        // Written before it is read, so that its line moves once.
        mine.words.put(words);
        mine.next.store(next.pointer(marks), PLUS_BRING);
        let told = wait(&mine.told);
        (Queued { mine, next }, told)
    }

    /// Brings these words if there is nobody before the caller, and returns the word that it was told.
    fn arrive_first(&self, words: [*mut (); 2]) -> Option<(Queued, u32)> {
        let found = self.tail.0.load(PLUS_BROUGHT);
        // SAFETY: places stay, of whichever lock.
        let place = unsafe { found.cast_const().as_ref::<'static>() };
        if !place.is_none_or(|place| place.told.says_first()) {
            return None;
        }
        let next = Place::fresh();
        let tail = &self.tail.0;
        let came = tail.compare_exchange(found, next.pointer(0), PLUS_ARRIVE, Order::RELAXED);
        if came.is_err() {
            next.give();
            return None;
        }
        Some(Self::bring_at(found, next, words, HERE, Told::wait::<P>))
    }

    /// Brings these words, and blocks until something is told of them or patience runs out; nothing if they
    /// were not brought, or if their place is the holder's.
    fn arrive_within(&self, words: [*mut (); 2], patience: &Patience) -> Option<(Queued, u32)> {
        let heeds = &self.read.0.heeds;
        let heeded = || P::MAY_SLEEP || heeds.load(Order::RELAXED) == HEEDED;
        let mut spinner = Spinner::new();
        while !heeded() && !mutant(flaw::COME_UNHEEDED) {
            let _ = heeds.compare_exchange(UNASKED, ASKED, Order::RELAXED, Order::RELAXED);
            if let Some(arrived) = self.arrive_first(words) {
                return Some(arrived);
            }
            if runs_out(patience) {
                tally(Tallied::Withdrawals, 1);
                return None;
            }
            spinner.turn();
        }
        let wait = |told: &Told| told.wait_within::<P>(patience);
        let (queued, told) = self.arrive(words, MAY_GO, wait);
        told.map(|told| (queued, told))
    }

    /// Tells so the thread that comes to that place, now or later; false if that has given up.  The caller
    /// is the first in the queue, or has the lock by it.
    #[inline]
    fn hand(&self, at: &Place, word: u32) -> bool {
        if P::MAY_SLEEP {
            return at.told.hand_as::<P>(word);
        }
        let heeds = &self.read.0.heeds;
        match heeds.load(Order::RELAXED) {
            UNASKED => {
                at.told.leave::<P>(word);
                return true;
            }
            ASKED => heeds.store(HEEDED, Order::RELAXED),
            _ => {}
        }
        at.told.hand_as::<P>(word)
    }

    /// Goes on behind that place, of which the caller was told that, and gives it back.  The caller has
    /// the lock, and has run so many sections of others on the way.
    #[inline]
    fn end(&self, queued: &Queued, told: u32, others: u64) {
        self.go_on(queued.next, told.saturating_sub(YOURS), others);
        queued.mine.give();
    }

    /// Blocks until the calling thread has the lock, as for a section of its own that is not a
    /// function: it stands between this call and [`unlock`](Self::unlock).  A section must
    /// not, in its own lock.
    #[must_use = "the lock is held by it"]
    pub fn lock(&self) -> Turn {
        let mode = self.mode();
        let turn = if self.takes(mode) || self.stays(mode) && self.takes(STAYS) {
            None
        } else {
            // Of a place that says so nobody is told that it is done.
            let (queued, told) = self.arrive([ptr::null_mut(); 2], HERE, Told::wait::<P>);
            let _ = self.take_as_told(told, &Patience::ENDLESS);
            Some((queued, told))
        };
        if !mutant(flaw::FORGET_LOCKED) {
            enter();
        }
        Turn(turn)
    }

    /// Runs what others have brought meanwhile, unless the calling thread has locked another one, which
    /// those may want, and leaves the lock.
    ///
    /// # Safety
    /// The turn is of this lock, and the caller's.
    pub unsafe fn unlock(&self, turn: Turn) {
        if !mutant(flaw::FORGET_LOCKED) {
            leave();
        }
        match turn.0 {
            Some((queued, told)) => self.end(&queued, told, 0),
            // SAFETY: the caller has taken the word in place.
            None => unsafe { self.free_in_place() },
        }
    }

    /// Runs what is brought from that place on, and leaves the lock to the thread of the place that it
    /// comes to, or to the next that comes.  The caller has the lock, and has run so many sections of
    /// `others`; by `quiet`, turns to which nobody else comes prevailed before its own.
    #[inline]
    fn go_on(&self, from: &'static Place, quiet: u32, others: u64) {
        if from.next.load(Order::RELAXED).is_null() {
            if self.mode() == IN_PLACE {
                return self.free(from);
            }
            let quiet = if others == 0 {
                quiet + 1
            } else {
                less_quiet(quiet, others)
            };
            if quiet >= I::QUIET {
                return self.go_in_place(from);
            }
            // If it is left meanwhile by the thread that came there, the walk gives it back.
            if self.hand(from, YOURS + quiet) {
                return;
            }
        }
        let most = if may_serve(flaw::SERVE_INSIDE) {
            MOST
        } else {
            0
        };
        let moment = tally_moment();
        tally(Tallied::Nominations, 1);
        let (mut at, mut served) = (from, 0);
        while served < most {
            let (next, marks) = at.next();
            if next.is_null() || marks == HERE {
                break;
            }
            if marks == MAY_GO && !at.told.begin::<P>() {
                at.give();
                // SAFETY: as below.
                at = unsafe { &*next };
                continue;
            }
            if marks == BUS {
                let bus = at.words.of.load(Order::RELAXED).cast::<Bus>();
                // SAFETY: it is this lock's.
                served += unsafe { &*bus }.carry::<P>(SEATS);
            } else {
                // SAFETY: what is brought is the holder's, and its thread waits.
                unsafe { run_words(at.words.get()) };
                served += 1;
            }
            at.told.answer::<P>();
            // SAFETY: a place stays until its thread is told, and the last one until somebody has
            // brought something there.
            at = unsafe { &*next };
        }
        tally(Tallied::Served, served);
        tally(Tallied::Serving, tally_moment() - moment);
        tally(Tallied::HandOvers, 1);
        self.meet(served);
        if self.mode() == IN_PLACE {
            return self.free(at);
        }
        if !mutant(flaw::LEARN_LATE) {
            self.learn(served);
        }
        // Somebody has come, though it may not have been served.
        self.pass(at, YOURS + less_quiet(quiet, (served + others).max(1)));
        if mutant(flaw::LEARN_LATE) {
            self.learn(served);
        }
    }

    /// Tells so the thread that comes to that place, now or later, or if that has given up, to the next.
    #[inline]
    fn pass(&self, mut at: &'static Place, word: u32) {
        while !self.hand(at, word) {
            let (next, _) = at.next();
            at.give();
            // SAFETY: a place stays until its thread is told; that one had brought something before
            // it gave up.
            at = unsafe { &*next };
        }
    }

    /// Has sections run in place from here on, and leaves the lock so.
    #[cold]
    fn go_in_place(&self, from: &'static Place) {
        self.taken.0.meetings.store(0, Order::RELAXED);
        self.set_mode(IN_PLACE);
        self.free(from);
    }

    /// Leaves the lock to threads that find it free, of which the one that comes to that place is the
    /// first in the queue.  The caller has the lock by the queue.
    fn free(&self, from: &'static Place) {
        if !mutant(flaw::KEEP_WORD) {
            // SAFETY: the first in the queue took it, and each has left it to the next since.
            unsafe { self.word().release(&()) };
        }
        let word = if mutant(flaw::HAND_FREE) {
            YOURS
        } else {
            FIRST
        };
        self.pass(from, word);
    }

    /// Learns from how many sections the calling thread ran, which is about to leave the lock.
    fn learn(&self, served: u64) {
        if self.mode() == RIDES {
            let average = self.average.0.load(Order::RELAXED);
            let average = average - average / PART + served;
            if average < CALM * PART {
                self.set_mode(QUEUE);
            } else {
                self.average.0.store(average, Order::RELAXED);
            }
        } else if served >= MOST {
            self.average.0.store(MOST * PART, Order::RELAXED);
            self.set_mode(RIDES);
        }
    }
}

// SAFETY: the word excludes what is run in place and by the queue; in that one place at a time says that
// its thread has the lock: the one that the last holder came
// to; a section is run once, since the holder goes past it, before its thread is told.
unsafe impl<
    P: Parking,
    const MOST: u64,
    const CALM: u64,
    const AT_FIRST: u32,
    const BUSES: usize,
    const SEATS: usize,
    I: InPlace,
> Delegate for SanlPlus<P, MOST, CALM, AT_FIRST, BUSES, SEATS, I>
{
    type Context = Words;

    #[inline]
    fn run(&self, words: &mut Words, section: Section<'_>) {
        self.run_at(words, section, false);
    }

    #[inline]
    fn run_here(&self, words: &mut Words, section: Section<'_>) {
        self.run_at(words, section, true);
    }
}

// SAFETY: as above; one exchange decides whether what is given up is its thread's or the holder's.
unsafe impl<
    P: Parking,
    const MOST: u64,
    const CALM: u64,
    const AT_FIRST: u32,
    const BUSES: usize,
    const SEATS: usize,
    I: InPlace,
> AbortableDelegate for SanlPlus<P, MOST, CALM, AT_FIRST, BUSES, SEATS, I>
{
    fn run_within(&self, _: &mut Words, section: Section<'_>, patience: &Patience) -> Outcome {
        if let Some(outcome) = self.takes_within(self.mode(), patience) {
            if outcome == Outcome::Acquired {
                // SAFETY: the word has just been taken; a section is run once, here.
                unsafe { self.run_in_place(section) };
            }
            return outcome;
        }
        let words = section.into_words();
        let Some((queued, told)) = self.arrive_within(words, patience) else {
            return Outcome::GaveUp;
        };
        match told {
            DONE => queued.mine.give(),
            told if self.take_as_told(told, patience) == Outcome::GaveUp => {
                if !mutant(flaw::LEAVE_FIRST) {
                    self.pass(queued.next, FIRST);
                }
                queued.mine.give();
                tally(Tallied::Withdrawals, 1);
                return Outcome::GaveUp;
            }
            told => {
                // SAFETY: this call outlives it, and has the lock.
                unsafe { run_words(words) };
                self.end(&queued, told, 0);
            }
        }
        Outcome::Acquired
    }
}

impl<
    P: Parking,
    const MOST: u64,
    const CALM: u64,
    const AT_FIRST: u32,
    const BUSES: usize,
    const SEATS: usize,
    I: InPlace,
> Drop for SanlPlus<P, MOST, CALM, AT_FIRST, BUSES, SEATS, I>
{
    fn drop(&mut self) {
        let last = self.tail.0.load(PLUS_BROUGHT);
        // SAFETY: the last place is the lock's own.
        if let Some(last) = unsafe { last.cast_const().as_ref::<'static>() } {
            // A parent's holder would have come to it; none of this process does.
            outlast(|| !last.is_of_here() || last.told.is_left() || mutant(flaw::DROP_AT_ONCE));
            if !last.is_of_here() && !last.told.is_left() {
                return;
            }
            last.give();
        }
        for bus in &self.buses {
            // SAFETY: of the pool, and this lock's, which no thread uses any more.
            if let Some(bus) = unsafe { bus.load(PLUS_FIND).cast_const().as_ref::<'static>() } {
                bus.give();
            }
        }
    }
}

impl<
    const MOST: u64,
    const CALM: u64,
    const AT_FIRST: u32,
    const BUSES: usize,
    const SEATS: usize,
    I: InPlace,
> super::InTwoForms for SanlPlus<MayPark, MOST, CALM, AT_FIRST, BUSES, SEATS, I>
{
    type Spinning = SanlPlus<SpinOnly, MOST, CALM, AT_FIRST, BUSES, SEATS, I>;
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use crate::basic::Tas;
    use std::thread::{self, yield_now};
    use std::time::{Duration, Instant};

    /// Two meetings in a row are often, and two turns alone are quiet.
    enum Soon {}

    // SAFETY: it says nothing of its own.
    unsafe impl InPlace for Soon {
        type Word = Tas;
        const FEW: u32 = 0;
        const OFTEN: u32 = 2 * MEETING;
        const QUIET: u32 = 2;
        const PASSING_NANOSECONDS: u64 = u64::MAX;
    }

    /// Nobody passes the first in the queue for long.
    enum Insisting {}

    // SAFETY: as above.
    unsafe impl InPlace for Insisting {
        type Word = Tas;
        const FEW: u32 = 0;
        const OFTEN: u32 = u32::MAX;
        const QUIET: u32 = 1;
        const PASSING_NANOSECONDS: u64 = 1;
    }

    type Lock<I> = SanlPlus<MayPark, 256, 16, IN_PLACE, 1, 1, I>;

    fn run<I: InPlace>(lock: &Lock<I>) {
        let mut nothing = || {};
        // SAFETY: it does nothing.
        lock.run(&mut Words::default(), unsafe { Section::new(&mut nothing) });
    }

    /// So many threads bring sections while another has the lock, which it runs after its own if it has
    /// it by the queue.
    fn meet<I: InPlace>(lock: &Lock<I>, threads: usize, meanwhile: impl Fn()) {
        let turn = lock.lock();
        thread::scope(|scope| {
            for _ in 0..threads {
                let before = lock.tail.0.load(Order::RELAXED);
                scope.spawn(|| run(lock));
                // SAFETY: places stay; nobody gives that one back before the lock is unlocked.
                let place = unsafe { before.as_ref() };
                let is_here = |place: &Place| !place.next.load(Order::RELAXED).is_null();
                while lock.tail.0.load(Order::RELAXED) == before || !place.is_none_or(is_here) {
                    yield_now();
                }
            }
            meanwhile();
            // SAFETY: it is this lock's, and this thread's.
            unsafe { lock.unlock(turn) };
        });
    }

    #[test]
    fn others_come_to_the_queue_once_its_first_has_waited_for_long() {
        let lock = Lock::<Insisting>::default();
        let begun = Instant::now();
        meet(&lock, 1, || {
            while lock.mode() == IN_PLACE {
                assert!(begun.elapsed() < Duration::from_secs(60), "they pass it");
                yield_now();
            }
        });
        run(&lock);
        assert_eq!(lock.mode(), IN_PLACE, "it waits no more");
    }

    #[test]
    fn threads_go_to_the_queue_where_they_meet_often_and_leave_it_where_they_do_not() {
        let lock = Lock::<Soon>::default();
        meet(&lock, 1, || {});
        assert_eq!(lock.mode(), IN_PLACE, "they have met once");
        run(&lock);
        meet(&lock, 1, || {});
        assert_eq!(lock.mode(), IN_PLACE, "not twice in a row");
        meet(&lock, 1, || {});
        assert_eq!(lock.mode(), QUEUE);

        // The turn before was alone, after its meeting.
        run(&lock);
        assert_eq!(lock.mode(), IN_PLACE);
        run(&lock);
        assert_eq!(lock.taken.0.meetings.load(Order::RELAXED), 0);
    }

    #[test]
    fn threads_that_are_served_keep_others_at_the_queue() {
        let lock = Lock::<Soon>::default();
        meet(&lock, 2, || {});
        assert_eq!(lock.mode(), QUEUE, "the second has met others as well");
        meet(&lock, 1, || {});
        run(&lock);
        assert_eq!(lock.mode(), QUEUE, "one turn alone is not two");
        run(&lock);
        assert_eq!(lock.mode(), IN_PLACE);
    }
}
