//! `sanl+`: while threads seldom meet, each acquires one word and runs its critical section in
//! place. When they often meet, they publish their sections in a queue by one exchange, as in
//! [`cc-synch`](super::cc_synch), and the queue head runs the sections behind it. Under heavy
//! contention, the threads of a NUMA node share one place in the queue, a batch (`Bus`), with its
//! sections and answers side by side. (Zhang et al. 2017 §4.2 and §5 ask for a lock without a dip
//! between both modes.)
//!
//! **Not for** sections that wait for other threads: the holder may have such a thread's section
//! pending.
//!
//! | field | meaning | written by |
//! |---|---|---|
//! | `word` | taken while a section runs, or while the lock stays with the queue | a thread that runs its section in place; the queue head; the holder that leaves the queue |
//! | `meetings` | beside it: score of recent meetings in place | the thread that holds the word |
//! | `mode` | `IN_PLACE`, `STAYS` (all wait for the word), `QUEUE`, or `RIDES` (threads share batches) | holders, and the queue head; to `STAYS`, a thread that finds the word taken |
//! | `heeds` | beside it, used where waiters never sleep: `ASKED` once a thread with a timeout is to join the queue; `HEEDED` once holders allow for such threads | that thread; the holder that reads `ASKED` |
//! | `tail` | the place for the next arrival's section; null: unused | arrivals, by an exchange |
//! | a place's `of`, `code` | a section; or `of`: a batch of sections to run | the arrival that found the place |
//! | a place's `next` | the place after it, with marks for its own contents; null: still empty | the same, last |
//! | a place's `told` | see [`told`](super::told); its excess over `YOURS` is the score of recent turns without company | the holder; its thread, as it gives up |
//! | a place's `process` | the process of the arrival that appended the place | that arrival, before it publishes the place |
//! | `buses` | the batch of each NUMA node, from a pool; null: unused | the first thread that boards it |
//! | a bus's `aboard` | the batch's number (`ride`) and its count of taken seats; at least `FULL` once its sections run | threads that board; the holder |
//! | a bus's `code` | the code of the first seat's section; null: not yet written | the thread in that seat; the holder |
//! | a bus's `seats` | the data of a section with that code; or, marked, the address of a whole section; null: not yet written | the thread in that seat; the holder |
//! | a bus's `over` | the current ride while the batch is open: the last finished ride, plus one | the holder |
//! | `average` | in mode `RIDES`: recent sections per holder, in eighths | the holder |
//!
//! **In place and by the queue.** The word provides exclusion. In mode `IN_PLACE`, a thread that
//! finds the word taken joins the queue. Only the queue head waits for the word; each holder
//! notifies the next head. The head runs the sections behind it, frees the word and notifies the
//! next head. An uncontended acquisition moves the word's line and the data's lines, and reads the
//! mode from a shared copy. The queue would move a place's line as well.
//!
//! Holders count meetings. If threads meet often, or others barge past the queue head for long, the
//! lock stays with the queue: each holder leaves the word taken for its successor and does not
//! touch its line. Once threads seldom meet in the queue, a holder frees the word. The mode is a
//! hint: a thread that reads an old mode loses one try, or is alone in the queue.
//!
//! With at most [`FEW`](InPlace::FEW) CPUs, threads never join the queue. After the first meeting,
//! all threads wait for the word, as at the default lock, which it is. On so few CPUs, hardly any
//! thread can publish a section while another runs. If threads outnumber CPUs, a queue's next
//! thread must be woken, while a running thread can barge at the default lock.
//!
//! The thread in a batch's first seat takes the batch's place in the queue, and is notified there.
//! The holder closes the batch, runs its sections and announces their end by one word. A thread
//! that arrives at a closed batch takes its own place. Therefore threads need no agreement to start
//! or stop sharing batches. Sharing starts after a holder has run `MOST` sections without reaching
//! the queue's end. It stops when holders run fewer than `CALM` sections on average.
//!
//! A thread with a timeout takes its own place, since a batch has one answer for all its threads.
//! An abandoned place stays in the queue, and the holder that reaches it returns it to the pool.
//!
//! **Release by a store.** Where waiters never sleep, a holder releases by a store while no thread
//! with a timeout is in the queue. Stores of its section may still be in flight behind it. The
//! first thread with a timeout requests an exchange. Until a holder confirms, such a thread joins
//! only as the queue head: it reads the tail, sees that the place there is the first, and appends
//! by a compare-exchange. Queue heads succeed each other by notification, so all later holders
//! observe the confirmation, too. The place may be reused between the read and the
//! compare-exchange, and then not be the first. In this case the thread waits without its timeout.
//!
//! With a place per thread, one line moves to the holder for each section. With batches, a place
//! and one or two lines move for the sections of several threads. The holder reads a section where
//! it is, without taking it out, since its thread polls the same line.
//!
//! Ride numbers are compared for equality. So the number advances exactly when `over` does: when a
//! second thread boarded. A thread that polls only after the batch has advanced by a multiple of
//! `2^31` rides waits for one ride more.
//!
//! **Drop.** Notifying a place is a holder's last access to the lock. The last user, whose section
//! a holder ran, may drop the lock earlier; therefore the drop waits until the holder has reached
//! the last place. A thread in a batch may read its answer even later: batches come from a pool and
//! continue their numbers under the next lock.
//!
//! A child of a fork cannot use a lock with arrivals of its parent: their places are in its queue.

use super::told::{DONE, FIRST, Told, WAIT, YOURS};
use super::{StepsDown, TriesTurn, enter, leave, may_serve, run};
use crate::door::Spinner;
use crate::door::{
    AtomicPtr, AtomicU32, AtomicU64, Level, Order, Tallied, at_most, cohort, constructor, cpus,
    flaws, generation, mutant, orders, outlast, policies, pool, repeated, runs_out, tally,
    tally_moment, tally_state,
};
use crate::host::Pool;
use crate::numa::FutexHmcs;
use crate::support::padded::LinePadded;
use crate::wait::{MayPark, Parking, SpinOnly, WaitCell};
use cohort_raw::{
    Abortable, AbortableDelegate, Delegate, Outcome, Patience, RawLock, RawTry, Section,
    ThreadOblivious, TryDelegate,
};
use core::marker::PhantomData;
use core::ptr;

orders! {
    /// Publishes the fresh place to the next arrival; acquires the place found in `tail`.
    PLUS_ARRIVE = AcqRel;
    /// Publishes a place's contents, and what its thread wrote before.
    PLUS_BRING = Release;
    /// Reads a place's contents.
    PLUS_BROUGHT = Acquire;
    /// Publishes a section in a batch, and what its thread wrote before.
    PLUS_SIT = Release;
    /// Reads a seat.
    PLUS_SEATED = Acquire;
    /// Publishes what the sections of a batch wrote to its threads.
    PLUS_OVER = Release;
    /// Reads it.
    PLUS_RIDDEN = Acquire;
    /// Reopens a batch with its seats free.
    PLUS_OPEN = Release;
    /// Boards an open batch with free seats.
    PLUS_BOARD = Acquire;
    /// Publishes a batch in the state in which its last lock left it.
    PLUS_BUY = Release;
    /// Reads that state.
    PLUS_FIND = Acquire;
}

flaws! {
    /// An open batch accepts threads while its sections run.
    KEEP_OPEN = "sanl-plus.keep-open";
    /// All sections of a batch run with the code of the first.
    BELIEVE_CODE = "sanl-plus.believe-code";
    /// A thread inside another lock's section takes a batch's first seat.
    RIDE_INSIDE = "sanl-plus.ride-inside";
    /// A holder inside another lock's section runs sections of other threads here.
    SERVE_INSIDE = "sanl-plus.serve-inside";
    /// The code between `lock` and `unlock` does not count as a section.
    FORGET_LOCKED = "sanl-plus.forget-locked";
    /// The queue head does not acquire the word.
    FORGET_WORD = "sanl-plus.forget-word";
    /// A holder that leaves the queue does not free the word.
    KEEP_WORD = "sanl-plus.keep-word";
    /// It notifies the next thread as the holder, not as the queue head.
    HAND_FREE = "sanl-plus.hand-free";
    /// The queue head gives up and notifies no next head.
    LEAVE_FIRST = "sanl-plus.leave-first";
    /// A thread with a timeout joins the queue before holders confirm the exchange.
    COME_UNHEEDED = "sanl-plus.come-unheeded";
    /// A ride with one thread advances the number without announcing its end.
    COUNT_ALONE = "sanl-plus.count-alone";
    /// A holder updates the average after it has released the lock.
    LEARN_LATE = "sanl-plus.learn-late";
    /// The lock is dropped while a holder is about to release it.
    DROP_AT_ONCE = "sanl-plus.drop-at-once";
}

policies! {
    /// However often threads meet, they do not switch to the queue.
    STAY_IN_PLACE = "sanl-plus.stay-in-place";
    /// However seldom threads meet, they do not leave the queue.
    STAY_IN_QUEUE = "sanl-plus.stay-in-queue";
    /// Threads never share batches.
    RIDE_ALONE = "sanl-plus.ride-alone";
}

/// Mode: threads run their own sections in place, and join the queue if they find the word taken.
pub const IN_PLACE: u32 = 0;
/// Mode: threads publish their sections, each in its own place.
pub const QUEUE: u32 = 1;
/// Mode: the threads of a NUMA node share batches.
pub const RIDES: u32 = 2;
/// Mode: threads run their own sections, and all wait for the word.
const STAYS: u32 = 3;

/// Holders release the lock by a store.
const UNASKED: u32 = 0;
/// A thread with a timeout has requested an exchange.
const ASKED: u32 = 1;
/// Holders release the lock by an exchange.
const HEEDED: u32 = 2;

/// Parameters of in-place execution.
///
/// # Safety
/// [`take_as_first`](Self::take_as_first) reports an acquisition if and only if it acquires the
/// word.
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
    /// The lock behind in-place sections.
    type Word: RawTry<Context = ()> + Abortable + ThreadOblivious;
    /// Up to this number of CPUs, all sections run in place.
    const FEW: u32;
    /// Score at which threads switch to the queue. A meeting adds three, a turn without a meeting
    /// subtracts one; so the score grows if more than every fourth turn is a meeting. At least 1.
    const OFTEN: u32;
    /// Score at which threads switch back to in-place sections. A turn without company adds one,
    /// and each section of another thread subtracts eight; so the score grows if fewer than one in
    /// nine sections is another thread's. At least 1, and at most `2^30`.
    const QUIET: u32;
    /// Wait of the queue head after which the lock stays with the queue for a while, because others
    /// barge; `u64::MAX`: never.
    const PASSING_NANOSECONDS: u64;

    /// Acquires the word, or gives up when patience runs out. Only the queue head calls it; other
    /// threads may barge meanwhile.
    fn take_as_first(word: &Self::Word, patience: &Patience) -> Outcome {
        // SAFETY: the word has no contexts, and does not move until it is freed, as the lock does
        // not.
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

/// Parameters for the default lock. The scores are high enough that a mode change, after which
/// every thread reads the mode anew, costs each of them little.
#[derive(Debug)]
pub enum Usual {}

// SAFETY: the lock reports whether it was acquired.
unsafe impl InPlace for Usual {
    type Word = FutexHmcs;
    const FEW: u32 = 4;
    const OFTEN: u32 = 96;
    const QUIET: u32 = 64;
    const PASSING_NANOSECONDS: u64 = 10_000;

    /// As the one waiter: it needs no order among waiters, and no turns.
    fn take_as_first(word: &FutexHmcs, patience: &Patience) -> Outcome {
        word.acquire_as_first(patience)
    }
}

/// Score of a meeting in place, against minus one for a turn without a meeting.
const MEETING: u32 = 3;

/// Deduction for another thread's section in the queue, against plus one for a turn without
/// company. Larger than [`MEETING`], since a turn there is longer and meets more threads.
const SERVED: u32 = 8;

/// The waiters of a batch.
const CLASS: u32 = 1;

/// Mark of a `next`: the place contains a batch.
const BUS: usize = 1;
/// Mark of a `next`: the place's thread runs the section itself.
const HERE: usize = 2;
/// Marks of a `next`: the place's thread may give up. A batch's thread cannot, nor one marked
/// `HERE`.
const MAY_GO: usize = BUS | HERE;
/// All marks.
const MARKS: usize = BUS | HERE;

/// Mark of a seat: it contains the address of a whole section.
const WHOLE: usize = 1;

/// Added to the count of a closed batch; more than any number of seats.
const FULL: u64 = 1 << 31;

/// Weight of the average: the last holder's sections make up one eighth.
const PART: u64 = 8;

/// The two words of a section.
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
/// The section's thread waits for its end, and the caller holds the lock.
unsafe fn run_words(words: [*mut (); 2]) {
    // SAFETY: the caller's.
    unsafe { run(Section::from_words(words)) };
}

/// A place in the queue; on one line with the pool's own data.
#[derive(Debug, Default)]
#[repr(C)]
pub struct SanlPlusNode {
    next: AtomicPtr<SanlPlusNode>,
    told: Told,
    process: AtomicU32,
    words: Words,
}

pool! {
    /// From a pool, since places change owners with each section.
    static PLACES: SanlPlusNode, cache 10
}

pool! {
    /// From a pool, since threads of a batch may read it after its lock is gone.
    static FLEET: Bus, placed
}

/// Bytes of all places and batches made so far.
pub(super) fn pool_bytes() -> usize {
    PLACES.bytes() + FLEET.bytes()
}

impl SanlPlusNode {
    /// Returns an empty place, owned by the caller.
    fn fresh() -> &'static Self {
        let place = PLACES.take();
        place.process.store(generation(), Order::RELAXED);
        place
    }

    /// Returns whether a thread of this process appended the place; then the holder that will reach
    /// it is of this process, too.
    fn is_of_here(&self) -> bool {
        self.process.load(Order::RELAXED) == generation()
    }

    /// Returns the place to the pool, empty. An arrival's exchange waits for earlier stores; these
    /// have completed by then.
    fn give(&'static self) {
        self.next.store(ptr::null_mut(), Order::RELAXED);
        self.told.reset(WAIT);
        // SAFETY: it came from this pool, and is the caller's: the thread that notified this place
        // has passed it, or its own thread has given up.
        unsafe { PLACES.give(self) };
    }

    /// Returns the next place and the marks of this one's contents; null and 0 while it is empty.
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

/// Seats of a batch; a lock may use fewer. With the fields before them they fill two lines.
const MOST_SEATS: usize = 14;

/// A batch: a place in the queue shared by the threads of a NUMA node.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Bus {
    aboard: AtomicU64,
    code: AtomicPtr<()>,
    seats: [AtomicPtr<()>; MOST_SEATS],
    over: LinePadded<WaitCell<MayPark>>,
}

/// Splits `aboard` into the ride and the number of threads that boarded.
const fn split(aboard: u64) -> (u32, u64) {
    ((aboard >> 32) as u32, aboard & u32::MAX as u64)
}

/// The value of `over` during this ride.
const fn on(ride: u32) -> u32 {
    ride & WaitCell::<MayPark>::MAX
}

impl Bus {
    /// Returns a bus with this ride; for a test.
    fn beginning_at(ride: u32) -> &'static Self {
        let bus = FLEET.take();
        bus.aboard.store(u64::from(ride) << 32, Order::RELAXED);
        bus.over.0.reset(on(ride));
        bus
    }

    /// Returns the bus to the pool if it is open and empty. After a fork it may be neither.
    fn give(&'static self) {
        let (ride, taken) = split(self.aboard.load(Order::RELAXED));
        if taken == 0 && self.over.0.value(Order::RELAXED) == on(ride) {
            // SAFETY: it came from this pool, and its lock is dropped.
            unsafe { FLEET.give(self) };
        }
    }

    /// Boards the bus with a section of these words, kept in `whole` if its code differs from the
    /// first section's. Returns the ride and the seat, or nothing if all seats were taken.
    ///
    /// # Safety
    /// A caller that boards waits until the section has been run.
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

    /// Closes the bus, runs its sections, announces their end, and reopens it. The caller holds the
    /// lock, and the bus has a place in the queue.
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
            // SAFETY: the thread in that seat waits; the caller holds the lock.
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

    /// Waits for the seat's thread to write it, and returns its contents.
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

    /// Runs the section in a seat.
    ///
    /// # Safety
    /// As [`run_words`].
    unsafe fn run_seated(&self, sits: *mut ()) {
        let words = if sits.addr() & WHOLE == 0 {
            // The first seat's thread writes the code before the seat.
            [sits, self.code.load(Order::RELAXED)]
        } else {
            let whole = sits.map_addr(|at| at & !WHOLE).cast::<Words>();
            // SAFETY: they are in the frame of the thread in that seat.
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

/// The lock, with the initial mode `AT_FIRST`, which matters only with more than [`InPlace::FEW`]
/// CPUs. A holder runs about `MOST` sections of other threads. Threads share batches after a holder
/// reached that number, and until holders run fewer than `CALM` sections on average.
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
    tail: LinePadded<AtomicPtr<SanlPlusNode>>,
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

impl SanlPlus {
    constructor! {
        /// A free lock, for statics.
        ///
        /// ```
        /// use cohort::{Delegated, delegation::SanlPlus};
        ///
        /// static TOTAL: Delegated<u64> = Delegated::with_lock(1, SanlPlus::new());
        /// assert_eq!(TOTAL.run(|total| *total), 1);
        /// ```
        #[must_use]
        pub fn new() -> Self {
            Self {
                read: LinePadded(Read {
                    mode: AtomicU32::new(IN_PLACE),
                    heeds: AtomicU32::new(UNASKED),
                }),
                taken: LinePadded(Taken {
                    word: FutexHmcs::new(),
                    meetings: AtomicU32::new(0),
                }),
                tail: LinePadded(AtomicPtr::null()),
                average: LinePadded(AtomicU64::new(256 * PART)),
                buses: repeated!(AtomicPtr::null(), 16),
                parking: PhantomData,
            }
        }
    }
}

/// Fields that all threads read and that seldom change.
#[derive(Debug)]
#[repr(C)]
struct Read {
    mode: AtomicU32,
    heeds: AtomicU32,
}

/// Fields written by threads that run their sections in place; on one line, which they write
/// anyway.
#[derive(Debug, Default)]
#[repr(C)]
struct Taken<W> {
    word: W,
    meetings: AtomicU32,
}

/// The `QUIET` score after a turn that ran `others` sections of other threads.
fn less_quiet(quiet: u32, others: u64) -> u32 {
    let others = u32::try_from(others).unwrap_or(u32::MAX);
    quiet.saturating_sub(others.saturating_mul(SERVED))
}

/// Proof of a `lock`: the place in the queue and its notification, or nothing if it was acquired in
/// place.
#[derive(Debug)]
pub struct Turn(Option<(Queued, u32)>);

/// A thread's place in the queue, and the next place.
#[derive(Debug)]
struct Queued {
    mine: &'static SanlPlusNode,
    next: &'static SanlPlusNode,
}

/// A place's contents.
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
    /// Returns a lock whose buses have this ride; for a test.
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

    /// Acquires the word for a section in place, and returns whether it did. Blocks only in mode
    /// `STAYS`.
    #[inline(always)]
    fn takes(&self, mode: u32) -> bool {
        if mode == STAYS {
            // SAFETY: the word has no contexts, and does not move until it is freed, as this lock
            // does not; so for all below.
            unsafe { self.word().acquire(&()) };
            return true;
        }
        // SAFETY: as above.
        mode == IN_PLACE && unsafe { self.word().try_acquire(&()) }
    }

    /// Returns whether all threads wait for the word. Switches to that mode if CPUs are few; the
    /// caller has found the word taken.
    fn stays(&self, mode: u32) -> bool {
        let begins = mode == IN_PLACE && AT_FIRST == IN_PLACE && cpus() <= I::FEW;
        if begins {
            self.set_mode(STAYS);
        }
        begins || mode == STAYS
    }

    /// [`takes`](Self::takes), but in mode `STAYS` no longer than `patience` lasts. Returns nothing
    /// if the section belongs to the queue.
    fn takes_within(&self, mode: u32, patience: &Patience) -> Option<Outcome> {
        if mode == IN_PLACE && self.takes(mode) {
            return Some(Outcome::Acquired);
        }
        let stays = self.stays(mode);
        // SAFETY: as above.
        stays.then(|| unsafe { self.word().acquire_within(&(), patience) })
    }

    /// Frees the word.
    ///
    /// # Safety
    /// The caller acquired it in place, and its section has ended.
    #[inline(always)]
    unsafe fn free_in_place(&self) {
        let meetings = self.taken.0.meetings.load(Order::RELAXED);
        if meetings != 0 {
            self.taken.0.meetings.store(meetings - 1, Order::RELAXED);
        }
        // SAFETY: the caller's.
        unsafe { self.word().release(&()) };
    }

    /// Counts `threads` meetings if sections run in place, and switches to the queue if they are
    /// frequent. The caller holds the lock by the queue.
    fn meet(&self, threads: u64) {
        if threads == 0 || self.mode() != IN_PLACE {
            return;
        }
        let counted = &self.taken.0.meetings;
        let met = u32::try_from(threads).unwrap_or(u32::MAX);
        let meetings = counted.load(Order::RELAXED);
        let meetings = meetings.saturating_add(met.saturating_mul(MEETING));
        counted.store(meetings, Order::RELAXED);
        if meetings >= I::OFTEN && !mutant(policy::STAY_IN_PLACE) {
            self.set_mode(QUEUE);
        }
    }

    /// Runs the section, and frees the word.
    ///
    /// # Safety
    /// As [`Section::run`]; the caller acquired the word in place.
    #[inline(always)]
    unsafe fn run_in_place(&self, section: Section<'_>) {
        // SAFETY: the caller's, and the word excludes.
        unsafe {
            run(section);
            self.free_in_place();
        }
    }

    /// Blocks until the section has been run; if `here`, by the calling thread.
    #[inline(always)]
    fn run_at(&self, words: &Words, section: Section<'_>, here: bool) {
        let mode = self.mode();
        if self.takes(mode) {
            // SAFETY: the word has just been acquired; the section runs once, here.
            unsafe { self.run_in_place(section) };
        } else {
            self.run_long(mode, words, section, here);
        }
    }

    /// Slow path of [`run_at`](Self::run_at), after the word was not acquired in that mode.
    #[inline(never)]
    fn run_long(&self, mode: u32, words: &Words, section: Section<'_>, here: bool) {
        if self.stays(mode) && self.takes(STAYS) {
            // SAFETY: the word has just been acquired; the section runs once, here.
            return unsafe { self.run_in_place(section) };
        }
        let section = section.into_words();
        let rides = mode == RIDES;
        if !here {
            tally_state(Tallied::ModeSwitches, ptr::from_ref(self).addr(), rides);
        }
        // A seat marks the section's data pointer in its lowest bit, so that pointer must be even.
        // The thread in the first seat runs the other sections.
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
        // SAFETY: this call outlives the section.
        unsafe { self.bring(&Brings::Section(section, here)) };
    }

    /// Returns the bus of the calling thread's NUMA node.
    fn bus(&self) -> &'static Bus {
        const { assert!(SEATS <= MOST_SEATS, "a bus has not so many seats") };
        let place = &self.buses[cohort(Level::Numa) % BUSES];
        // SAFETY: null, or of a pool that frees no node.
        let known = unsafe { place.load(PLUS_FIND).cast_const().as_ref::<'static>() };
        known.unwrap_or_else(|| Self::new_bus(place))
    }

    /// Installs a new bus, or returns the one another thread installed first.
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

    /// Blocks until these sections have been run.
    ///
    /// # Safety
    /// The call outlives the section, or the caller has the first seat of that bus.
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
                // SAFETY: the caller's; it holds the lock.
                unsafe { run_words(*words) };
                0
            }
            Brings::Bus(bus) => bus.carry::<P>(SEATS) - 1,
        };
        self.end(&queued, told, others);
    }

    /// Acquires the lock after its place was notified; gives up when patience runs out.
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

    /// Acquires the word, or gives up when patience runs out. After `PASSING_NANOSECONDS`, stops
    /// barging: a thread that reacquires at once would otherwise find the word free each time
    /// before the queue head.
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

    /// Appends a place, publishes these words, and waits by `wait` for the notification.
    #[inline(always)]
    fn arrive<R>(
        &self,
        words: [*mut (); 2],
        marks: usize,
        wait: impl FnOnce(&Told) -> R,
    ) -> (Queued, R) {
        let next = SanlPlusNode::fresh();
        let found = self.tail.0.swap(next.pointer(0), PLUS_ARRIVE);
        Self::bring_at(found, next, words, marks, wait)
    }

    /// [`arrive`](Self::arrive), after the tail was exchanged: publishes in the place found there,
    /// or in a fresh place if the queue was unused. `next` is already visible to other arrivals.
    #[inline(always)]
    fn bring_at<R>(
        found: *mut SanlPlusNode,
        next: &'static SanlPlusNode,
        words: [*mut (); 2],
        marks: usize,
        wait: impl FnOnce(&Told) -> R,
    ) -> (Queued, R) {
        // SAFETY: a place stays while it is in the queue; this one is now the caller's.
        let mine = unsafe { found.cast_const().as_ref::<'static>() };
        let mine = mine.unwrap_or_else(|| {
            let mine = SanlPlusNode::fresh();
            mine.told.reset(FIRST);
            mine
        });
        // Written before it is read, so that its line moves once.
        mine.words.put(words);
        mine.next.store(next.pointer(marks), PLUS_BRING);
        let told = wait(&mine.told);
        (Queued { mine, next }, told)
    }

    /// Publishes these words if the caller becomes the queue head, and waits by `wait` for the
    /// notification.
    fn arrive_first<R>(
        &self,
        words: [*mut (); 2],
        wait: impl FnOnce(&Told) -> R,
    ) -> Option<(Queued, R)> {
        let found = self.tail.0.load(PLUS_BROUGHT);
        // SAFETY: places are never freed, whichever lock uses them.
        let place = unsafe { found.cast_const().as_ref::<'static>() };
        if !place.is_none_or(|place| place.told.says_first()) {
            return None;
        }
        let next = SanlPlusNode::fresh();
        let tail = &self.tail.0;
        let came = tail.compare_exchange(found, next.pointer(0), PLUS_ARRIVE, Order::RELAXED);
        if came.is_err() {
            next.give();
            return None;
        }
        Some(Self::bring_at(found, next, words, HERE, wait))
    }

    /// Publishes these words and waits, at most as long as patience lasts. Returns nothing if it
    /// did not publish, or left its place to a holder.
    fn arrive_within(&self, words: [*mut (); 2], patience: &Patience) -> Option<(Queued, u32)> {
        let heeds = &self.read.0.heeds;
        let heeded = || P::MAY_SLEEP || heeds.load(Order::RELAXED) == HEEDED;
        let mut spinner = Spinner::new();
        while !heeded() && !mutant(flaw::COME_UNHEEDED) {
            let _ = heeds.compare_exchange(UNASKED, ASKED, Order::RELAXED, Order::RELAXED);
            if let Some(arrived) = self.arrive_first(words, Told::wait::<P>) {
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

    /// Notifies the current or future thread of that place; false if it has given up. The caller is
    /// the queue head, or holds the lock by the queue.
    #[inline]
    fn hand(&self, at: &SanlPlusNode, word: u32) -> bool {
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

    /// Releases the lock at the end of a turn, and frees its place. The caller holds the lock by
    /// the queue, was notified by `told`, and has run `others` sections of other threads.
    #[inline]
    fn end(&self, queued: &Queued, told: u32, others: u64) {
        self.go_on(queued.next, told.saturating_sub(YOURS), others);
        queued.mine.give();
    }

    /// Acquires the lock without delegation: the section is the code between this call and
    /// [`unlock`](Self::unlock). A section must not call this on its own lock.
    #[must_use = "the lock is held by it"]
    pub fn lock(&self) -> Turn {
        let mode = self.mode();
        let turn = if self.takes(mode) || self.stays(mode) && self.takes(STAYS) {
            None
        } else {
            // A holder never answers `DONE` for a place marked `HERE`.
            let (queued, told) = self.arrive([ptr::null_mut(); 2], HERE, Told::wait::<P>);
            let _ = self.take_as_told(told, &Patience::ENDLESS);
            Some((queued, told))
        };
        if !mutant(flaw::FORGET_LOCKED) {
            enter();
        }
        Turn(turn)
    }

    /// Releases the lock. First runs the published sections of other threads, unless the calling
    /// thread holds another lock, which they may need.
    ///
    /// # Safety
    /// The turn is of this lock, and the caller's.
    pub unsafe fn unlock(&self, turn: Turn) {
        if !mutant(flaw::FORGET_LOCKED) {
            leave();
        }
        match turn.0 {
            Some((queued, told)) => self.end(&queued, told, 0),
            // SAFETY: the caller acquired the word in place.
            None => unsafe { self.free_in_place() },
        }
    }

    /// Runs the published sections from that place on, and hands the lock to the thread of the
    /// place it reaches, or to its future thread. The caller holds the lock and has run `others`
    /// sections of other threads; `quiet` is the score before its turn.
    #[inline]
    fn go_on(&self, from: &'static SanlPlusNode, quiet: u32, others: u64) {
        if from.next.load(Order::RELAXED).is_null() {
            if self.mode() == IN_PLACE {
                return self.free(from);
            }
            let quiet = if others == 0 {
                quiet + 1
            } else {
                less_quiet(quiet, others)
            };
            if quiet >= I::QUIET && !mutant(policy::STAY_IN_QUEUE) {
                return self.go_in_place(from);
            }
            // If that place's thread gives up meanwhile, the loop below frees its place.
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
                // SAFETY: the bus is this lock's.
                served += unsafe { &*bus }.carry::<P>(SEATS);
            } else {
                // SAFETY: the contents are the holder's, and their thread waits.
                unsafe { run_words(at.words.get()) };
                served += 1;
            }
            at.told.answer::<P>();
            // SAFETY: a place stays until its thread is notified, and the last one until an arrival
            // has filled it.
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
        // Another thread arrived, though its section may not have been run here.
        self.pass(at, YOURS + less_quiet(quiet, (served + others).max(1)));
        if mutant(flaw::LEARN_LATE) {
            self.learn(served);
        }
    }

    /// Notifies the thread of that place, or, if it has given up, of the next place that is not
    /// abandoned.
    #[inline]
    fn pass(&self, mut at: &'static SanlPlusNode, word: u32) {
        while !self.hand(at, word) {
            let (next, _) = at.next();
            at.give();
            // SAFETY: a place stays until its thread is notified; this thread had filled its place
            // before it gave up.
            at = unsafe { &*next };
        }
    }

    /// Switches to in-place sections, and releases the lock.
    #[cold]
    fn go_in_place(&self, from: &'static SanlPlusNode) {
        self.taken.0.meetings.store(0, Order::RELAXED);
        self.set_mode(IN_PLACE);
        self.free(from);
    }

    /// Frees the word, and notifies the thread of that place as the queue head. The caller holds
    /// the lock by the queue.
    fn free(&self, from: &'static SanlPlusNode) {
        if !mutant(flaw::KEEP_WORD) {
            // SAFETY: a queue head acquired it, and each holder has left it to the next since.
            unsafe { self.word().release(&()) };
        }
        let word = if mutant(flaw::HAND_FREE) {
            YOURS
        } else {
            FIRST
        };
        self.pass(from, word);
    }

    /// Updates the average, and the mode by it, with the sections that the caller ran before its
    /// release.
    fn learn(&self, served: u64) {
        if self.mode() == RIDES {
            let average = self.average.0.load(Order::RELAXED);
            let average = average - average / PART + served;
            if average < CALM * PART {
                self.set_mode(QUEUE);
            } else {
                self.average.0.store(average, Order::RELAXED);
            }
        } else if served >= MOST && !mutant(policy::RIDE_ALONE) {
            self.average.0.store(MOST * PART, Order::RELAXED);
            self.set_mode(RIDES);
        }
    }
}

// SAFETY: the word excludes in-place sections and the queue from each other. In the queue, one
// place at a time says that its thread holds the lock: the place that the last holder reached. A
// section runs once, since the holder passes it before it notifies its thread.
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

// SAFETY: as above; one exchange decides whether an abandoned section is its thread's or the
// holder's.
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
                // SAFETY: the word has just been acquired; the section runs once, here.
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
                // SAFETY: this call outlives the section, and holds the lock.
                unsafe { run_words(words) };
                self.end(&queued, told, 0);
            }
        }
        Outcome::Acquired
    }
}

// SAFETY: as above.
unsafe impl<
    P: Parking,
    const MOST: u64,
    const CALM: u64,
    const AT_FIRST: u32,
    const BUSES: usize,
    const SEATS: usize,
    I: InPlace,
> StepsDown for SanlPlus<P, MOST, CALM, AT_FIRST, BUSES, SEATS, I>
{
    type Turn = Turn;

    fn take_turn(&self) -> Turn {
        self.lock()
    }

    unsafe fn end_turn(&self, turn: Turn) {
        // SAFETY: the caller's.
        unsafe { self.unlock(turn) };
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
            // A parent's holder would have reached it; no holder of this process will.
            outlast(|| !last.is_of_here() || last.told.is_left() || mutant(flaw::DROP_AT_ONCE));
            if !last.is_of_here() && !last.told.is_left() {
                return;
            }
            last.give();
        }
        for bus in &self.buses {
            // SAFETY: of the pool, and this lock's, which has no user left.
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
> SanlPlus<MayPark, MOST, CALM, AT_FIRST, BUSES, SEATS, I>
{
    /// [`lock`](Self::lock) if the lock is free: the word is, or the queue's last place has been
    /// notified.
    ///
    /// This place may change hands between the look and the exchange. Then the caller gives it up,
    /// which holders expect where threads may sleep.
    pub fn try_lock(&self) -> Option<Turn> {
        let mode = self.mode();
        let turn = if mode == IN_PLACE || mode == STAYS {
            // SAFETY: the word has no contexts.
            if !unsafe { self.word().try_acquire(&()) } {
                return None;
            }
            None
        } else {
            let now = |told: &Told| told.wait_within::<MayPark>(&Patience::NONE);
            let (queued, told) = self.arrive_first([ptr::null_mut(); 2], now)?;
            let told = told?;
            if self.take_as_told(told, &Patience::NONE) == Outcome::GaveUp {
                self.pass(queued.next, FIRST);
                queued.mine.give();
                return None;
            }
            Some((queued, told))
        };
        if !mutant(flaw::FORGET_LOCKED) {
            enter();
        }
        Some(Turn(turn))
    }
}

// SAFETY: as above.
unsafe impl<
    const MOST: u64,
    const CALM: u64,
    const AT_FIRST: u32,
    const BUSES: usize,
    const SEATS: usize,
    I: InPlace,
> TriesTurn for SanlPlus<MayPark, MOST, CALM, AT_FIRST, BUSES, SEATS, I>
{
    fn try_turn(&self) -> Option<Turn> {
        self.try_lock()
    }
}

// SAFETY: as above.
unsafe impl<
    const MOST: u64,
    const CALM: u64,
    const AT_FIRST: u32,
    const BUSES: usize,
    const SEATS: usize,
    I: InPlace,
> TryDelegate for SanlPlus<MayPark, MOST, CALM, AT_FIRST, BUSES, SEATS, I>
{
    fn try_run(&self, _: &mut Words, section: Section<'_>) -> bool {
        let Some(turn) = self.try_lock() else {
            return false;
        };
        // SAFETY: the turn excludes, and is of this lock.
        unsafe {
            section.run();
            self.unlock(turn);
        }
        true
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

    /// Two meetings in a row switch to the queue, and two turns without company switch back.
    enum Soon {}

    // SAFETY: it says nothing of its own.
    unsafe impl InPlace for Soon {
        type Word = Tas;
        const FEW: u32 = 0;
        const OFTEN: u32 = 2 * MEETING;
        const QUIET: u32 = 2;
        const PASSING_NANOSECONDS: u64 = u64::MAX;
    }

    /// Threads barge past the queue head for 1 ns at most.
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
        // SAFETY: the section does nothing.
        lock.run(&mut Words::default(), unsafe { Section::new(&mut nothing) });
    }

    /// `threads` threads publish sections while another holds the lock. If it holds the lock by the
    /// queue, it runs them after its own.
    fn meet<I: InPlace>(lock: &Lock<I>, threads: usize, meanwhile: impl Fn()) {
        let turn = lock.lock();
        thread::scope(|scope| {
            for _ in 0..threads {
                let before = lock.tail.0.load(Order::RELAXED);
                scope.spawn(|| run(lock));
                // SAFETY: places are never freed; this one stays in the queue until the lock is
                // released.
                let place = unsafe { before.as_ref() };
                let is_here = |place: &SanlPlusNode| !place.next.load(Order::RELAXED).is_null();
                while lock.tail.0.load(Order::RELAXED) == before || !place.is_none_or(is_here) {
                    yield_now();
                }
            }
            meanwhile();
            // SAFETY: the turn is of this lock, and this thread's.
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

        // The turn before had no company, after its meeting.
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
