//! `futex-hmcs`: a [`Futex`] with waiters queued in an `hmcs` tree, if the machine has several
//! cache groups or more than `CROWD` CPUs.  The queue does not exclude.  It orders the waiters, so
//! that the lock serves one cache group several times before it moves to the next.
//!
//! **Not for** strict order: an arrival that finds the word free acquires the lock.  While
//! uncontended, and on a machine with few CPUs and one cache group, it is `futex`.
//!
//! **One cache group.**  Waiters first compete for the word, without time slices, for as long as it
//! takes to serve a few of them.  The first waiter to exceed that time starts a queue; later
//! arrivals join it at once.  Without a queue, a dozen competing waiters would move the word and
//! the data between caches for longer than the critical sections take.
//!
//! **Long sections.**  Spinning saves nothing, since a sleeper wakes well before the next section
//! ends.  It also slows a holder on the same core.  The queue is then short; further waiters park.
//!
//! **Oversubscription.**  A preempted waiter would block all others.  So the queue is halved, which
//! leaves CPUs to threads that wake or do not wait, and again as long as its waiters are preempted.
//! A very short only queue ends: then waiters compete for the word, as those of a `futex` do.  With
//! several groups a few waiters stay, and look at each other: if the next waiter of a group has
//! yielded its CPU, the word goes to another group or becomes free.  The waiter keeps its place.
//!
//! **Short queues.**  The same few threads would use the lock while the others sleep.  So a thread that
//! was awake for `STAY_NANOSECONDS` wakes a sleeper on departure and sleeps at its next arrival.  A woken
//! thread pinned to a CPU in use may run because a waiter in the queue has just yielded.  It yields once
//! before it queues: the waiter then finishes, instead of blocking the queue.  If an earlier sleeper is
//! still on its way, it may wait for the departing thread's CPU: that thread offers it by a yield.
//!
//! The head of the queue competes for the word as a `futex` waiter does.  From then on the queue
//! passes the word on: it stays `LOCKED` and `QUEUED` from one holder to the next.  It is not
//! written, so arrivals read it from their own caches.  It becomes free if the queue has no next
//! waiter, or if a waiter outside the queue has waited too long.  Waiters with deadlines and
//! waiters that return from conditions are outside the queue.
//!
//! | field of a queue | written by | meaning |
//! |---|---|---|
//! | `owner` | a waiter that finds the queue empty | address of the lock; 0: unused; 1: changing locks |
//! | `groups` | the first waiter of each cache group | the groups with used gates |
//! | `crowded` | a waiter that was preempted | until when oversubscribed, and since when |
//! | `halvings`, `halved` | the same | how often the queue has been halved since, and when last |
//! | `slow` | a holder after several long sections | until when sections count as long |
//! | `untold` | a waiter that finds or binds it | whether the lock leaves mode reports to another lock |
//! | `long` | holders, one time in `MEASURED_ONE_IN` | the recent excess of long sections over short ones |
//! | `order` | waiters | the tree of queues |
//! | `gates` | waiters | admitted threads of each cache group, the holder included; others park |
//!
//! **Ownership of queues.**  Queues belong to the process and are found by the lock's address.  A
//! lock owns no queue, so it may end once it is free and has no waiters: after the release of the
//! word, its last holder touches a queue only.  A queue with empty gates only may serve another
//! lock.  A waiter registers at a gate before it reads the owner; a thread that takes the queue
//! changes the owner before it reads the gates.  A fence on each side ensures that one of the two
//! sees the other.  A lock without a free candidate queue is a `futex` meanwhile.
//!
//! **Reused addresses.**  A new lock at the address of an ended lock inherits that lock's queue.
//! The queue is empty unless the old lock ended while held; see [`begin_at`](FutexHmcs::begin_at).
//! A forgotten guard with a moved lock, or memory reused without an end, skips that call.
//! Therefore the first waiter of a lock that joins a queue looks for a holder in it.  This lock has
//! no holder by a queue yet, so that holder is another lock's, and leaves.  The lock records seven
//! bits of the address at which this was done; a moved lock looks again.
//!
//! **The holder's place** is found through its thread's cache, or by a search of all places if
//! another thread releases the lock.  In a forked child all queues are empty.  A holder that
//! acquired by a queue in the parent frees the word and leaves no queue.

use super::Hmcs;
use super::hmcs::{Carried, HmcsContext, RootQueue};
use crate::basic::Futex;
use crate::compose::{CacheGroup, Numa};
use crate::door::{
    self, AsItIs, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Change, Level, Mode, Observer,
    Order, QUEUE_GROUPS, QUEUE_NODES, QUEUES, Spinner, beforehand, cache_groups, constructor, cpus,
    ends_extension, extends_slices, fence_after_update, flaws, generation, has_lost_cpu,
    has_waited, is_quiet_time, is_special_release, is_worth_a_try, keep_cpu, mutant, now, observer,
    offer_cpu, orders, policies, pool, process_wide, repeated, request_extension, return_extension,
    thread, waits_often,
};
use crate::host::{Census, Generation, HysteresisWindow, Outside, Pool, Scarcity, WideGate};
use crate::support::padded::CachePadded;
use crate::sync::fair_release::ReleaseFairly;
use crate::wait::{MayPark, Parking};
use cohort_raw::{
    Abortable, Inherit, Outcome, Patience, Quick, QuickRelease, RawLock, RawTry, ThreadOblivious,
    standalone,
};
use core::ptr;

orders! {
    /// Sees a queue as it was made.
    QUEUE_FIND = Acquire;
    /// As above, on the maker's side.
    QUEUE_MAKE = Release;
    /// A registered waiter sees that the queue was taken from its lock, or the taking thread sees
    /// the waiter.
    QUEUE_ENTER = SeqCst;
    /// As above, on the taker's side.
    QUEUE_TAKE = SeqCst;
}

flaws! {
    LOSE_MARK = "futex-hmcs.lose-mark";
    KEEP_QUEUE = "futex-hmcs.keep-queue";
    TAKE_IN_USE = "futex-hmcs.take-in-use";
    TRUST_ADDRESS = "futex-hmcs.trust-address";
    BELIEVE_PLACES = "futex-hmcs.believe-places";
    PASS_WHAT_IS_FREE = "futex-hmcs.pass-what-is-free";
}

policies! {
    /// Waiters never queue.
    QUEUE_NOBODY = "futex-hmcs.queue-nobody";
    /// A queue stays long under oversubscription.
    IGNORE_CROWD = "futex-hmcs.ignore-crowd";
    /// The queue is short, or ends, at the first sign of oversubscription.
    HALVE_NOTHING = "futex-hmcs.halve-nothing";
    /// A queue stays long however long sections are.
    IGNORE_LENGTH = "futex-hmcs.ignore-length";
    /// Admitted threads stay, however long others sleep.
    CIRCULATE_ON = "futex-hmcs.circulate-on";
    /// A thread that has stayed long does not offer its CPU to the sleeper that another has woken.
    OFFER_NOTHING = "futex-hmcs.offer-nothing";
    /// A woken thread queues at once.
    CUT_IN = "futex-hmcs.cut-in";
    /// The queue passes the lock on, however long a waiter outside it has waited.
    OWE_NOBODY = "futex-hmcs.owe-nobody";
}

/// Acquisitions in a row of one cohort while another waits.  A value four times as large gains a
/// few percent, and makes a group with few waiters wait four times as long.
const HAND_OFFS: u32 = 16;

/// The largest number of CPUs under one cache with all waiters competing for the word.  A queue does
/// not tolerate waiters that leave by `longjmp`, and it ignores priorities.
const CROWD: u32 = 4;

/// How long a waiter competes for the word before it queues, if there is one cache group and the
/// queue is empty.  A few waiters are all served in that time and never touch the queue's lines.
/// Of many waiters, few are that recent.
const AMONG_FEW_NANOSECONDS: u64 = 1_000;

/// Admitted waiters of a short queue; at least one of each cache group.  The lock passes among them
/// while a parked waiter wakes.
const CROWDED_PLACES: u32 = 8;

/// Waiters of each cache group that a halved queue admits, at least: if it admitted one, the lock
/// would leave the group after each section.
const GROUP_PLACES: u32 = 2;

/// The time between two halvings of a queue.  A waiter may have lost its CPU before the last one and
/// notice only after another thread's time slice, about this long.
const HALVING_NANOSECONDS: u64 = 3_000_000;

/// How long an admitted thread passes the sleepers in a short queue, before it changes places with one:
/// twenty times the CPU time of a sleep and a wake-up.
const STAY_NANOSECONDS: u64 = 200_000;

/// What precedes a thread's next wait in a short queue: nothing; a yield, and a sleep if another
/// thread has used it; a sleep.
const GO: u32 = 0;
const OFFER: u32 = 1;
const REST: u32 = 2;

/// As above for long sections: the holder and the next waiter.
const SLOW_PLACES: u32 = 2;

/// The least duration of a long section.  A sleeper wakes in half that time.
const LONG_NANOSECONDS: u64 = 10_000;

/// The excess of long sections over short ones that shortens the queue: more than one preempted
/// section.
const PREVAILING: u32 = 3;

/// One in so many of a thread's sections is timed.
const MEASURED_ONE_IN: u32 = 16;

/// How rarely a lock tries to take another lock's queue.
const ONE_IN: u32 = 16;

/// Attempts of a waiter to join while a thread evicts a stale holder at this address: that thread
/// may be preempted.
const JOINS: u32 = 64;

/// The owner of an unused queue.
const NOBODY: usize = 0;
/// The owner of a queue that is changing locks; not the address of a lock.
const TAKEN: usize = 1;

/// A queue, for one lock at a time.
#[derive(Debug, Default)]
#[repr(C)]
struct Queue {
    bound: CachePadded<Bound>,
    order: Hmcs<(CacheGroup, Numa), QUEUE_GROUPS, QUEUE_NODES, MayPark, HAND_OFFS>,
    gates: Gates,
}

/// Fields that are rarely written.
#[derive(Debug, Default)]
struct Bound {
    owner: AtomicUsize,
    groups: AtomicU64,
    crowded: Scarcity,
    halvings: AtomicU32,
    halved: AtomicU64,
    slow: HysteresisWindow,
    long: AtomicU32,
    /// Not zero if the lock is part of another lock, which reports its own mode.
    untold: AtomicU32,
    generation: Generation,
}

/// How many waiters a queue admits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    /// As many of each cache group as it has CPUs.
    Whole,
    /// So many, in equal parts of each cache group: threads that wake, or do not wait, need the other
    /// CPUs.
    Halved(u32),
    /// Few, because of lasting oversubscription; none with one cache group.
    Crowded,
    /// Very few, because sections are long.
    Slow,
}

/// Result of an attempt to acquire by the queue.
enum Joined {
    Acquired,
    /// The lock has no queue, or the waiter should not be in it.
    NoQueue,
    /// A thread is evicting a stale holder at this address.
    NotYet,
}

#[derive(Debug)]
struct Gates([CachePadded<WideGate>; QUEUE_GROUPS]);

impl Default for Gates {
    fn default() -> Self {
        Self(repeated!(CachePadded(WideGate::new()), QUEUE_GROUPS))
    }
}

/// A waiter's state in a queue, then the holder's.
#[derive(Debug, Default)]
struct QueuedWaiter {
    /// Written by the neighbours in the queue.
    context: HmcsContext<MayPark>,
    way: CachePadded<QueueEntry>,
}

/// How a place's owner entered the queue.
#[derive(Debug, Default)]
struct QueueEntry {
    /// The lock's address, while the place's owner holds it.
    lock: AtomicUsize,
    queue: AtomicPtr<Queue>,
    group: AtomicU32,
    /// The process generation at its entry.
    generation: AtomicU32,
    /// Acquisitions by this place.
    turns: AtomicU32,
    /// When the holder acquired the lock, if its section is timed; else 0.
    since: AtomicU64,
}

pool! {
    static MADE: Queue, placed
}

pool! {
    static PLACES: QueuedWaiter, cache 7
}

process_wide! {
    static TABLE: Table = Table::new
}

process_wide! {
    /// Whether queues are switched off for the process.
    static NEVER: Never = Never::new
}

/// Bytes of all queues and places made so far.
pub(crate) fn pool_bytes() -> usize {
    MADE.bytes() + PLACES.bytes()
}

/// Not zero if queues are off.
#[derive(Debug)]
struct Never(AtomicU32);

impl Never {
    constructor! {
        fn new() -> Self {
            Self(AtomicU32::new(0))
        }
    }
}

/// The queues made so far.
#[derive(Debug)]
struct Table([AtomicPtr<Queue>; QUEUES]);

impl Table {
    constructor! {
        fn new() -> Self {
            Self(repeated!(AtomicPtr::null(), QUEUES))
        }
    }

    /// The queue at index `place`.
    fn at(&self, place: usize) -> &'static Queue {
        let known = self.0[place].load(QUEUE_FIND);
        let known = if known.is_null() {
            self.make(place)
        } else {
            known
        };
        // SAFETY: pool nodes are never freed.
        unsafe { &*known }
    }

    #[cold]
    fn make(&self, place: usize) -> *mut Queue {
        let new = MADE.take();
        let pointer = ptr::from_ref(new).cast_mut();
        match self.0[place].compare_exchange(ptr::null_mut(), pointer, QUEUE_MAKE, QUEUE_FIND) {
            Ok(_) => pointer,
            Err(theirs) => {
                // SAFETY: taken above and never published.
                unsafe { MADE.give(new) };
                theirs
            }
        }
    }

    /// Whether a queue of the lock at that address may have waiters or a holder.
    fn is_in_use(&self, lock: usize) -> bool {
        let mut queues = self.queues(lock).into_iter();
        queues.any(|queue| queue.is_of(lock) && !queue.is_empty())
    }

    /// The two candidate queues of the lock at that address.
    fn queues(&self, lock: usize) -> [&'static Queue; 2] {
        // Fibonacci's hash spreads addresses that differ in their middle bits only.
        let spread = (door::key_of(lock) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        [48, 32].map(|bits: u32| {
            let part = usize::from((spread >> bits) as u16);
            self.at((part * QUEUES) >> u16::BITS)
        })
    }

    /// The queue that serves the lock at that address, if any.
    fn known(&self, lock: usize) -> Option<&'static Queue> {
        let mut queues = self.queues(lock).into_iter();
        queues.find(|queue| queue.is_of(lock))
    }

    /// As [`known`](Self::known), or else binds a candidate; see [`bind`](Queue::bind).
    fn find(&self, lock: usize, tells: bool) -> Option<&'static Queue> {
        if let Some(known) = self.known(lock) {
            known.let_tell(tells);
            return Some(known);
        }
        let mut queues = self.queues(lock).into_iter();
        queues.find(|queue| queue.bind(lock, tells))
    }
}

impl Queue {
    /// Whether it serves that lock in this process.
    fn is_of(&self, lock: usize) -> bool {
        let bound = &self.bound.0;
        bound.generation.settle(|| self.forget());
        bound.owner.load(Order::RELAXED) == lock
    }

    /// Whether its gates are empty.
    fn is_empty(&self) -> bool {
        let mut gates = self.gates.0.iter();
        gates.all(|CachePadded(gate)| gate.is_empty())
    }

    /// In a forked child, drops all state of the parent.
    fn forget(&self) {
        if mutant(flaw::KEEP_QUEUE) {
            return;
        }
        let bound = &self.bound.0;
        bound.owner.store(NOBODY, Order::RELAXED);
        bound.crowded.forget();
        bound.slow.forget();
        // The parent's count of long sections does not apply to this process.
        bound.long.store(0, Order::RELAXED);
        self.gates
            .0
            .iter()
            .for_each(|CachePadded(gate)| gate.reset());
        // SAFETY: no thread of this process has entered it.
        unsafe { self.order.inherit(None) };
    }

    /// Binds an empty queue to that lock; `tells` if the lock reports its mode.
    #[cold]
    fn bind(&self, lock: usize, tells: bool) -> bool {
        let bound = &self.bound.0;
        let owner = bound.owner.load(Order::RELAXED);
        if owner == lock {
            // Another waiter of this lock bound it first.  With a second queue, the waiters of that
            // one would overtake this one's.
            return true;
        }
        if owner == TAKEN || owner != NOBODY && !is_worth_a_try(ONE_IN) {
            return false;
        }
        let take = |from, to| {
            let taken = bound
                .owner
                .compare_exchange(from, to, Order::RELAXED, Order::RELAXED);
            taken.is_ok()
        };
        if owner == NOBODY {
            // An unused queue is empty.
            let taken = take(NOBODY, lock);
            if taken {
                self.begin_telling(tells);
            }
            return taken || bound.owner.load(Order::RELAXED) == lock;
        }
        if !take(owner, TAKEN) {
            return false;
        }
        fence_after_update(QUEUE_TAKE);
        let groups = bound.groups.load(Order::RELAXED);
        let mut used = (0..QUEUE_GROUPS).filter(|group| groups >> group & 1 != 0);
        let free = used.all(|group| self.gates.0[group].0.is_empty()) || mutant(flaw::TAKE_IN_USE);
        if free && owner != lock {
            self.tell(owner, Mode::Queue, Mode::Word, "another lock has its queue");
        }
        bound
            .owner
            .store(if free { lock } else { owner }, Order::RELAXED);
        if free && owner != lock {
            self.begin_telling(tells);
        }
        free
    }

    /// Registers the caller at the gate of its cache group, and returns the group; `None` if the
    /// queue serves another lock by then.  Blocks while the gate admits no more threads.
    fn enter(&self, lock: usize) -> Option<u32> {
        let bound = &self.bound.0;
        let group = door::cohort(Level::CacheGroup) % QUEUE_GROUPS;
        let bit = 1 << group;
        if bound.groups.load(Order::RELAXED) & bit == 0 {
            bound.groups.fetch_or(bit, Order::RELAXED);
        }
        let gate = &self.gates.0[group].0;
        let length = self.length();
        let rests = match thread().rest.replace(GO) {
            _ if length == Length::Whole => false,
            OFFER => offer_cpu(),
            rest => rest == REST,
        };
        let places = if rests { 1 } else { Self::places(length) };
        if gate.admit(places, length == Length::Whole) {
            // The thread that had this CPU meanwhile may be in the queue; it soon acquires, and rests.
            let _ = !mutant(policy::CUT_IN) && offer_cpu();
            thread().admitted.set(now());
        }
        fence_after_update(QUEUE_ENTER);
        if bound.owner.load(Order::RELAXED) == lock {
            return Some(group as u32);
        }
        gate.depart(0, false);
        None
    }

    /// Counts the caller out at the gate of that group.  In a short queue a thread that has stayed long
    /// changes places with a sleeper.
    fn depart(&self, group: usize) {
        let length = self.length();
        let (me, gate) = (thread(), &self.gates.0[group].0);
        let yields = matches!(length, Length::Halved(_) | Length::Crowded)
            && now() - me.admitted.get() >= STAY_NANOSECONDS
            && !mutant(policy::CIRCULATE_ON);
        match gate.depart(Self::places(length), yields) {
            Outside::Woken if yields => me.rest.set(REST),
            // It may wait for this thread's CPU.
            Outside::OnItsWay if yields && !mutant(policy::OFFER_NOTHING) => me.rest.set(OFFER),
            _ => {}
        }
    }

    /// Threads of one cache group that a queue of that length admits.
    fn places(length: Length) -> u32 {
        let groups = cache_groups().max(1) as u32;
        let all = match length {
            Length::Whole => cpus(),
            Length::Halved(places) => places,
            Length::Crowded => CROWDED_PLACES,
            Length::Slow => SLOW_PLACES,
        };
        all.div_ceil(groups)
    }

    /// The length that applies at present.
    #[inline(never)]
    fn length(&self) -> Length {
        let whole_again = || {
            self.tell_own(Mode::ShortQueue, Mode::Queue, "sections are short again");
        };
        if self.bound.0.slow.lasts(whole_again) && !mutant(policy::IGNORE_LENGTH) {
            Length::Slow
        } else if self.is_crowded() {
            self.crowded_length()
        } else {
            Length::Whole
        }
    }

    /// The length that applies under oversubscription.
    fn crowded_length(&self) -> Length {
        let halvings = self.bound.0.halvings.load(Order::RELAXED);
        let places = cpus().checked_shr(halvings).unwrap_or(0);
        let least = CROWDED_PLACES.max(GROUP_PLACES * cache_groups() as u32);
        if places >= least && !mutant(policy::HALVE_NOTHING) {
            Length::Halved(places)
        } else {
            Length::Crowded
        }
    }

    /// Whether CPUs are oversubscribed.
    #[inline]
    fn is_crowded(&self) -> bool {
        let crowded = &self.bound.0.crowded;
        crowded.lasts(|| self.tell_own(Mode::ShortQueue, Mode::Queue, "CPUs suffice again"))
            && !mutant(policy::IGNORE_CROWD)
    }

    /// Records that a waiter was preempted.
    fn be_crowded(&self) {
        let Bound {
            crowded,
            halvings,
            halved,
            ..
        } = &self.bound.0;
        if crowded.is_noticed() {
            self.tell_own(Mode::Queue, Mode::ShortQueue, "waiters lost their CPUs");
            halvings.store(1, Order::RELAXED);
            halved.store(now(), Order::RELAXED);
            return;
        }
        let (last, now) = (halved.load(Order::RELAXED), now());
        let halves = now.saturating_sub(last) >= HALVING_NANOSECONDS
            && halved
                .compare_exchange(last, now, Order::RELAXED, Order::RELAXED)
                .is_ok();
        if halves {
            halvings.fetch_add(1, Order::RELAXED);
        }
    }

    /// Records the duration of a section that began at `since`.
    fn measure(&self, since: u64) {
        let Bound { slow, long, .. } = &self.bound.0;
        let before = long.load(Order::RELAXED);
        if now() - since < LONG_NANOSECONDS {
            // Waiters read this line; it is not written while sections are short.
            if before > 0 {
                long.store(before - 1, Order::RELAXED);
            }
        } else if before < PREVAILING {
            long.store(before + 1, Order::RELAXED);
        } else if slow.is_noticed() {
            self.tell_own(Mode::Queue, Mode::ShortQueue, "sections are long");
        }
    }

    /// Records whether its lock reports its mode: another lock may have been at that address
    /// before.
    fn let_tell(&self, tells: bool) {
        let untold = u32::from(!tells);
        if self.bound.0.untold.load(Order::RELAXED) != untold {
            self.bound.0.untold.store(untold, Order::RELAXED);
        }
    }

    /// Reports that its lock has a queue, if the lock `tells`.
    fn begin_telling(&self, tells: bool) {
        self.let_tell(tells);
        let why = if cache_groups() > 1 {
            "CPUs of several cache groups want it"
        } else {
            "many CPUs may want it"
        };
        self.tell_own(Mode::Word, Mode::Queue, why);
    }

    /// Reports a mode change of its lock.
    fn tell_own(&self, from: Mode, to: Mode, why: &str) {
        self.tell(self.bound.0.owner.load(Order::RELAXED), from, to, why);
    }

    /// Reports a mode change of the lock at that address, if it reports at all and an observer
    /// exists.
    #[inline]
    fn tell(&self, lock: usize, from: Mode, to: Mode, why: &str) {
        if let Some(observer) = observer()
            && self.bound.0.untold.load(Order::RELAXED) == 0
        {
            tell(observer, lock, from, to, why);
        }
    }
}

/// Reports a mode change to the observer.
#[cold]
#[inline(never)]
fn tell(observer: &Observer, lock: usize, from: Mode, to: Mode, why: &str) {
    (observer.changed)(&Change {
        lock,
        from,
        to,
        why: format_args!("{}", AsItIs(why)),
    });
}

/// The lock; all zero when new.
///
/// ```
/// use cohort::{Mutex, numa::FutexHmcs};
///
/// static TOTAL: Mutex<u64, FutexHmcs> = Mutex::from_raw(FutexHmcs::new(), 1);
/// *TOTAL.lock() += 1;
/// assert_eq!(*TOTAL.lock(), 2);
/// ```
#[derive(Debug)]
#[repr(transparent)]
pub struct FutexHmcs {
    futex: Futex,
}

impl Default for FutexHmcs {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for FutexHmcs {
    fn drop(&mut self) {
        // The lock was not released; its queue continues without it.
        if self.futex.is_queued() {
            // SAFETY: the lock ends.
            unsafe { Self::begin_at(self) };
        }
    }
}

impl QueueEntry {
    /// Whether its owner entered in this process.
    fn is_here(&self) -> bool {
        self.generation.load(Order::RELAXED) == generation() || mutant(flaw::BELIEVE_PLACES)
    }
}

impl QueuedWaiter {
    /// Leaves the queue on behalf of the place's owner.
    fn leave(&'static self, futex: Option<&Futex>, goes_on: bool, fairly: bool) {
        let way = &self.way.0;
        way.lock.store(0, Order::RELAXED);
        // SAFETY: queues are never freed.
        let queue = unsafe { &*way.queue.load(Order::RELAXED) };
        let word = Word {
            futex,
            goes_on,
            fairly,
            queue,
        };
        // SAFETY: this context holds the queue.
        unsafe { queue.order.release_carried(&self.context, &word) };
        // The next holder's critical section has begun: nothing below delays it.
        let since = way.since.load(Order::RELAXED);
        if since != 0 {
            queue.measure(since);
        }
        let group = way.group.load(Order::RELAXED) as usize;
        queue.depart(group);
        self.give();
    }

    /// Returns a place that holds no lock.
    fn give(&'static self) {
        // SAFETY: the acquisition that took it ends here; no queue of this process refers to it.
        unsafe { PLACES.give(self) };
    }
}

/// The word of a lock, which its queue passes on; `None` once the lock has ended.
struct Word<'a> {
    futex: Option<&'a Futex>,
    goes_on: bool,
    /// Grant the word to a sleeping waiter if the queue does not pass it on.
    fairly: bool,
    queue: &'a Queue,
}

impl Carried for Word<'_> {
    #[inline]
    fn leave<P: Parking>(&self, root: RootQueue<'_, P>) {
        if self.goes_on && root.pass() {
            return;
        }
        match self.futex {
            Some(futex) if self.fairly => futex.release_queued_fair(),
            Some(futex) => futex.release_queued(),
            None => {}
        }
        if mutant(flaw::PASS_WHAT_IS_FREE) && root.pass() {
            return;
        }
        root.leave();
    }

    #[inline]
    fn may_go_on(&self) -> bool {
        self.goes_on
    }

    #[inline]
    fn stays_uncontended(&self) -> bool {
        true
    }

    /// Under oversubscription, a waiter that has yielded its CPU would block all other threads
    /// until it runs again.  The waiters of a halved queue have their CPUs; to look would delay each
    /// hand-off.
    #[inline]
    fn needs_presence(&self) -> bool {
        // The clock is read last: the lock's next holder waits for this.
        self.queue.bound.0.crowded.lasted()
            && self.queue.crowded_length() == Length::Crowded
            && self.queue.is_crowded()
    }
}

impl FutexHmcs {
    constructor! {
        /// A free lock.
        #[must_use]
        pub fn new() -> Self {
            beforehand(&TABLE);
            beforehand(&NEVER);
            Self { futex: Futex::new() }
        }
    }

    /// Switches queues off for the rest of the process: each lock is a [`Futex`].
    pub fn never_queue() {
        NEVER.get().0.store(1, Order::RELAXED);
    }

    /// Acquires a free lock without an atomic read-modify-write; false if it is held.
    ///
    /// # Safety
    /// The process has one thread.
    #[inline(always)]
    pub unsafe fn acquire_alone(&self) -> bool {
        // SAFETY: the caller's.
        unsafe { self.futex.acquire_alone() }
    }

    /// Releases a lock that [`acquire_alone`](Self::acquire_alone) acquired; false if its word has
    /// marks.
    ///
    /// # Safety
    /// The process has one thread, and the caller holds the lock.
    #[inline(always)]
    pub unsafe fn release_alone(&self) -> bool {
        // SAFETY: the caller's.
        unsafe { self.futex.release_alone() }
    }

    /// As [`Futex::adopt`].
    pub fn adopt(&self, place: &AtomicU32, seen: u32) -> bool {
        self.futex.adopt(place, seen)
    }

    /// As [`Futex::acquire_adopted`].
    pub fn acquire_adopted(&self) {
        self.futex.acquire_adopted();
        self.extend_slice();
    }

    /// Requests an extension of the holder's time slice, if threads make such requests.  For the
    /// holder of a lock that was held or marked on its arrival.
    #[inline]
    pub fn extend_slice(&self) {
        // A release by a plain store does not look for the request.
        if extends_slices() && !self.futex.is_quick() {
            request_extension(self.address());
        }
    }

    /// The lock's present mode.  The caller holds it.
    #[cold]
    fn mode(&self) -> Mode {
        if !self.futex.is_queued() {
            return Mode::Word;
        }
        match TABLE.get().known(self.address()) {
            Some(queue) if queue.length() != Length::Whole => Mode::ShortQueue,
            _ => Mode::Queue,
        }
    }

    fn address(&self) -> usize {
        ptr::from_ref(self).addr()
    }

    /// Fast path: acquires the lock if its word is zero.
    #[inline(always)]
    pub fn acquire_untouched(&self) -> bool {
        // While the queue passes the word on, arrivals share its line.  An attempt that must fail
        // would invalidate it for all of them, and for the holder.
        self.futex.looks_free() && self.futex.acquire_untouched()
    }

    #[cold]
    #[inline(never)]
    fn acquire_contended(&self, patience: &Patience) -> Outcome {
        let outcome = self.wait(patience, true);
        if matches!(outcome, Outcome::Acquired) {
            self.extend_slice();
            if let Some(observer) = observer() {
                (observer.waited)(self.mode());
            }
        }
        outcome
    }

    /// Blocks until the lock is held, without a mode report: for a lock that contains this one.
    #[inline]
    pub(crate) fn acquire_untold(&self) {
        if !self.acquire_untouched() {
            self.wait_untold();
        }
    }

    /// As above, after a failed fast path.
    pub(crate) fn wait_untold(&self) {
        let _ = self.wait(&Patience::ENDLESS, false);
    }

    /// Blocks until the lock is held or patience runs out, for a caller that is the only waiter: as
    /// a `futex` waiter, without time slices.
    pub(crate) fn acquire_as_first(&self, patience: &Patience) -> Outcome {
        let outcome = self.futex.acquire_unless(patience, false, &|| false);
        outcome.unwrap_or(Outcome::GaveUp)
    }

    fn wait(&self, patience: &Patience, tells: bool) -> Outcome {
        let visits = !waits_often();
        let outcome = if patience.is_endless() && has_queues() {
            self.wait_endless(visits, tells)
        } else {
            self.futex.wait_long(patience, visits)
        };
        has_waited();
        outcome
    }

    /// Blocks until the lock is held.  A thread that rarely waits tries the word first; it does not
    /// while the queue passes the word on, since the word is not free then.
    fn wait_endless(&self, visits: bool, tells: bool) -> Outcome {
        let mut spinner = Spinner::new();
        for _ in 0..JOINS {
            if visits
                && !self.futex.is_queued()
                && let Some(outcome) = self.futex.acquire_unless_queued()
            {
                return outcome;
            }
            match self.acquire_in_queue(tells) {
                Joined::Acquired => return Outcome::Acquired,
                Joined::NoQueue => break,
                Joined::NotYet => spinner.turn(),
            }
        }
        self.futex.wait_long(&Patience::ENDLESS, visits)
    }

    /// Blocks until the lock is held by way of a queue, or as one of a few waiters.
    fn acquire_in_queue(&self, tells: bool) -> Joined {
        // The call initialises the topology.
        let _ = door::cohort(Level::CacheGroup);
        let never = NEVER.get().0.load(Order::RELAXED) != 0;
        if !has_queues() || never || mutant(policy::QUEUE_NOBODY) {
            return Joined::NoQueue;
        }
        let lock = self.address();
        let table = TABLE.get();
        let is_free = || mutant(flaw::TRUST_ADDRESS) || !table.is_in_use(lock);
        let free = || while Self::forget_holder(lock) {};
        if !self.futex.may_queue(lock, is_free, free) {
            return Joined::NotYet;
        }
        if cache_groups() < 2 {
            let length = table.known(lock).map_or(Length::Whole, Queue::length);
            if length == Length::Crowded {
                return Joined::NoQueue;
            }
            if length == Length::Whole && self.futex.wait_among_few(AMONG_FEW_NANOSECONDS) {
                return Joined::Acquired;
            }
        }
        let Some(queue) = table.find(lock, tells) else {
            return Joined::NoQueue;
        };
        let Some(group) = queue.enter(lock) else {
            return Joined::NoQueue;
        };
        let place = PLACES.take();
        let way = &place.way.0;
        way.queue
            .store(ptr::from_ref(queue).cast_mut(), Order::RELAXED);
        way.group.store(group, Order::RELAXED);
        way.generation.store(generation(), Order::RELAXED);
        // Done before the wait, since work after it would delay the critical section.
        let turns = way.turns.load(Order::RELAXED);
        way.turns.store(turns.wrapping_add(1), Order::RELAXED);
        way.since.store(0, Order::RELAXED);
        Self::remembered(lock).set(PLACES.number(place));
        keep_cpu(true);
        // SAFETY: the place belongs to this acquisition until its release; queues are never freed.
        if !unsafe { queue.order.acquire_counted(&place.context) } {
            self.futex.acquire_as_queued();
        }
        keep_cpu(false);
        if has_lost_cpu() {
            queue.be_crowded();
        }
        // Not the first section by this place: its data are in no cache yet.
        if turns % MEASURED_ONE_IN == 1 {
            way.since.store(now(), Order::RELAXED);
        }
        way.lock.store(lock, Order::RELAXED);
        Joined::Acquired
    }

    /// The calling thread's cache slot for its place as the holder of the lock at that address.
    fn remembered(lock: usize) -> &'static core::cell::Cell<u32> {
        let known = &thread().queued;
        &known[lock / align_of::<u64>() % known.len()]
    }

    /// The holder's place.
    fn place(lock: usize) -> Option<&'static QueuedWaiter> {
        let number = Self::remembered(lock).take();
        if number != 0 {
            // SAFETY: a number of this pool.
            let place = unsafe { PLACES.at(number) };
            if place.way.0.lock.load(Order::RELAXED) == lock && place.way.0.is_here() {
                return Some(place);
            }
        }
        Self::search(lock)
    }

    /// The holder's place among all places.  In a forked child a stale place of the parent matches
    /// only if no place of the child does.
    #[cold]
    fn search(lock: usize) -> Option<&'static QueuedWaiter> {
        let mut found = None;
        PLACES.each(&mut |place| {
            let way = &place.way.0;
            if way.lock.load(Order::RELAXED) == lock && (found.is_none() || way.is_here()) {
                found = Some(place);
            }
        });
        found
    }

    /// Releases a lock that was acquired by a queue; `fairly` as in [`Word`].
    #[inline(never)]
    fn release_in_queue(&self, fairly: bool) {
        let extended = ends_extension(self.address());
        match Self::place(self.address()) {
            Some(place) if place.way.0.is_here() => {
                let goes_on = !self.futex.owes_others() || mutant(policy::OWE_NOBODY);
                place.leave(Some(&self.futex), goes_on, fairly);
            }
            left_behind => {
                self.futex.release_queued();
                if let Some(place) = left_behind {
                    place.way.0.lock.store(0, Order::RELAXED);
                    place.give();
                }
            }
        }
        if extended {
            return_extension();
        }
    }

    /// Call before a lock begins at `place`, or when a lock there ends while possibly held, which
    /// POSIX leaves undefined.  A queue with a stale holder of the old lock continues without it.
    ///
    /// # Safety
    /// The calling thread holds no lock at that address, or the lock there ends.
    #[inline]
    pub unsafe fn begin_at(place: *const Self) {
        if has_queues() {
            let _ = Self::forget_holder(place.addr());
        }
    }

    /// Evicts from its queue a holder of a lock at that address; whether there was one.
    #[cold]
    fn forget_holder(lock: usize) -> bool {
        if TABLE.get().is_in_use(lock)
            && let Some(place) = Self::search(lock)
            && place.way.0.is_here()
        {
            place.leave(None, false, false);
            return true;
        }
        false
    }

    /// Releases a lock by a read-modify-write, whether or not plain-store releases are on.
    ///
    /// # Safety
    /// The caller holds the lock.
    #[inline(never)]
    pub unsafe fn release_attentive(&self) {
        if is_special_release() {
            return self.release_special();
        }
        // A load of the word waits for the exchange that acquired it, and lengthens a short section
        // by half.  On machines with queues, exchanges that must fail cost more than that.
        if has_queues() && self.futex.is_queued() {
            self.release_in_queue(false);
        } else if !self.futex.release_unmarked() {
            self.release_marked();
        }
    }

    /// As above, if the release is [special](is_special_release).
    #[cold]
    #[inline(never)]
    fn release_special(&self) {
        if self.futex.is_queued() {
            self.release_in_queue(false);
            return;
        }
        let extended = ends_extension(self.address());
        self.futex.release_late(is_quiet_time());
        if extended {
            return_extension();
        }
    }

    /// As above, if the word has marks.
    #[cold]
    fn release_marked(&self) {
        if self.futex.is_queued() {
            self.release_in_queue(false);
        } else {
            self.futex.release_late(false);
        }
    }
}

/// Whether locks may have queues on this machine.
#[inline]
fn has_queues() -> bool {
    cache_groups() > 1 || cpus() > CROWD
}

// SAFETY: the word excludes: a thread that leaves the queue has acquired it, or its holder passed
// it on.
unsafe impl RawLock for FutexHmcs {
    type Context = ();

    #[inline(always)]
    unsafe fn acquire(&self, (): &()) {
        if !self.acquire_untouched() {
            let _ = self.acquire_contended(&Patience::ENDLESS);
        }
    }

    #[inline(always)]
    unsafe fn release(&self, (): &()) {
        let place = &raw const *self;
        // SAFETY: passed on.
        match unsafe { self.release_quickly(&()) } {
            Quick::Released => {}
            Quick::MarkLost => Self::wake_everybody(place),
            // SAFETY: the caller's.
            Quick::Refused => unsafe { self.release_attentive() },
        }
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.futex.is_locked()
    }
}

standalone!([] FutexHmcs: Hosted { strict: false }, HighLock, Resumable);

// SAFETY: the word is stored as by a release, or nothing happens.
unsafe impl QuickRelease for FutexHmcs {
    #[inline(always)]
    unsafe fn release_quickly(&self, (): &()) -> Quick {
        // SAFETY: the caller's; plain-store releases are off for a lock acquired by a queue.
        unsafe { self.futex.release_quickly(&()) }
    }

    #[cold]
    fn wake_everybody(place: *const Self) {
        Futex::wake_everybody(place.cast());
    }
}

// SAFETY: as the usual release, or the word is handed over; a queue keeps its order in either case.
unsafe impl ReleaseFairly for FutexHmcs {
    unsafe fn release_fairly(&self, (): &()) {
        if self.futex.is_queued() {
            self.release_in_queue(true);
            return;
        }
        let extended = ends_extension(self.address());
        // SAFETY: the caller's.
        unsafe { self.futex.release_fairly(&()) };
        if extended {
            return_extension();
        }
    }

    fn is_waited_for(&self, (): &()) -> bool {
        self.futex.is_queued() || self.futex.has_sleeper()
    }
}

// SAFETY: as for the word.
unsafe impl RawTry for FutexHmcs {
    #[inline(always)]
    unsafe fn try_acquire(&self, (): &()) -> bool {
        // SAFETY: the caller's.
        unsafe { self.futex.try_acquire(&()) }
    }
}

// SAFETY: as for the word; waiters with deadlines are not in the queue.
unsafe impl Abortable for FutexHmcs {
    #[inline]
    unsafe fn acquire_within(&self, (): &(), patience: &Patience) -> Outcome {
        if self.acquire_untouched() {
            return Outcome::Acquired;
        }
        self.acquire_contended(patience)
    }
}

// SAFETY: the releasing thread finds the holder's place, by a search if need be.
unsafe impl ThreadOblivious for FutexHmcs {}

// SAFETY: as for the word; the first thread of a child that uses a queue resets it.
unsafe impl Inherit for FutexHmcs {
    unsafe fn inherit(&self, holder: Option<&()>) {
        // SAFETY: passed on.
        unsafe { self.futex.inherit(holder) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_does_not_go_on_with_its_parents_tallies() {
        let queue = MADE.take();
        let bound = &queue.bound.0;
        (0..PREVAILING).for_each(|_| queue.measure(now() - 2 * LONG_NANOSECONDS));
        queue.be_crowded();
        assert_eq!(bound.long.load(Order::RELAXED), PREVAILING);
        assert!(bound.crowded.has_begun());

        queue.forget();
        assert_eq!(bound.long.load(Order::RELAXED), 0);
        assert!(!bound.crowded.has_begun());

        // A further long section counts as the first, not as the last of many.
        queue.measure(now() - 2 * LONG_NANOSECONDS);
        assert_eq!(queue.length(), Length::Whole);
    }

    #[test]
    fn a_child_finds_its_own_place_before_its_parent_s() {
        let lock = FutexHmcs::new().address();
        let places = [PLACES.take(), PLACES.take()];
        for own in 0..places.len() {
            for (number, place) in places.iter().enumerate() {
                let way = &place.way.0;
                let age = u32::from(number != own);
                way.generation
                    .store(generation().wrapping_sub(age), Order::RELAXED);
                way.lock.store(lock, Order::RELAXED);
            }
            FutexHmcs::remembered(lock).set(PLACES.number(places[1 - own]));
            let found = FutexHmcs::place(lock).expect("both have its address");
            assert!(ptr::eq(found, places[own]), "{own}");
        }
        for place in places {
            place.way.0.lock.store(0, Order::RELAXED);
            place.give();
        }
    }

    #[test]
    fn a_lock_has_one_queue_though_two_waiters_look_for_one() {
        let lock = 0x1_0de0;
        let [first, _] = TABLE.get().queues(lock);
        // Both waiters have seen that the lock has no queue.
        for waiter in 0..2 {
            assert!(first.bind(lock, false), "waiter {waiter} goes to another");
        }
    }

    #[test]
    fn a_lock_tells_of_itself_where_a_part_of_another_was() {
        let lock = 0x5ee0;
        for tells in [false, true, false] {
            let queue = TABLE.get().find(lock, tells).expect("no other is there");
            assert_eq!(queue.bound.0.untold.load(Order::RELAXED) == 0, tells);
        }
    }
}
