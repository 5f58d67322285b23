//! `futex-hmcs`: a [`Futex`] whose waiters stand in an `hmcs` queue where their CPUs are in
//! several cache groups, or are more than a few.  The queue does not exclude: it puts the threads
//! that want the word in order, so that the lock goes round one cache group before it goes to the next.
//!
//! **Not for** strict order: a thread that comes while the word is free takes it.  Alone,
//! and on a machine of few CPUs that has one cache group, it is `futex`.
//!
//! Where all CPUs are in one cache group, waiters first compete for the word, for as long as a few
//! of them take to be served, and take no turns; the first that is not served in that time begins a queue, and
//! others join it at once.  A crowd of a dozen would have the word, and what it guards, on its way
//! for longer than the sections take.  There the queue ends where others want the CPUs: a
//! sleeper that is next would keep the lock from all that are awake, and no group gains by its order.
//!
//! Where sections are long, spinning saves nothing, for a sleeper is awake well before the next
//! section ends, and it slows a holder that shares a core with the spinner: the queue is short
//! then, and the others sleep outside.
//!
//! Where others want the waiters' CPUs, the word does not stay in a cache group whose next waiter
//! has given its CPU away: it goes to another group, or is freed.  The waiter keeps its place.
//!
//! The head of the queue waits for the word as one of `futex`'s crowd.  From then on the word
//! goes on with the queue: it stays `LOCKED`, and `QUEUED`, while the lock passes from one thread
//! to the next, so nobody writes it, and arrivals read a copy of it.  It is freed when
//! nobody is next, or when a waiter that is not in the queue, as those with deadlines and those
//! that come back from conditions are, has waited too long.
//!
//! | field of a queue | written by | meaning |
//! |---|---|---|
//! | `owner` | a waiter that finds the queue empty | the address of the lock whose waiters it has; 0: nobody's; 1: about to be another's |
//! | `groups` | the first waiter of each cache group | whose gates have been used |
//! | `crowded` | a waiter that has lost its CPU | until when its CPUs are wanted by others, and when the first of them lost its own |
//! | `slow` | a holder after a long section, as others were before | until when sections count as long |
//! | `untold` | a waiter that finds the queue, or takes it | whether the lock is a part of one that tells in which mode it is |
//! | `long` | holders, one time in some | by how much long sections have prevailed of late |
//! | `order` | waiters | the tree of queues |
//! | `gates` | waiters | how many of a cache group are in the queue, the holder included; those beyond its CPUs sleep outside |
//!
//! **A queue is nobody's part.**  Queues are the process's, found by the lock's address, so a lock
//! owns nothing and may end whenever nobody holds it or waits for it: what its last holder does
//! after the word is free, it does to a queue.  A queue whose gates are all empty may become
//! another lock's.  A waiter is counted in before it looks whose the queue is, and a queue is
//! taken from a lock before the gates are looked at, with a fence between the two of each: so
//! one of them sees the other.  A lock that finds both of its places taken is a `futex` meanwhile.
//! A lock at the address of another that has ended has that one's queue, which is empty unless
//! that one was held; see [`begin_at`](FutexHmcs::begin_at).  Nobody says so where a guard is forgotten
//! and its lock is moved, or where the lock's memory is used again without an end.  So the first waiter
//! of a lock that goes to a queue looks whether somebody is in it: no thread has come to this lock by
//! the queue yet, so a holder there is another lock's, and leaves.  The lock notes its place, cut off to
//! seven bits, since it may be moved: one that is moved to where a holder was left has to look again.
//!
//! **The holder's record** is found by its thread, or, where another thread releases the lock,
//! among all of them.  In a forked child the queues are empty, whatever threads stood in them; a
//! holder that came by one there frees the word, and leaves no queue.

use super::Hmcs;
use super::hmcs::{Carried, HmcsContext, RootQueue};
use crate::basic::Futex;
use crate::compose::{CacheGroup, Numa};
use crate::door::{
    self, AsItIs, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Change, Hearer, Level, Mode, Order,
    QUEUE_GROUPS, QUEUE_NODES, QUEUES, Spinner, beforehand, cache_groups, constructor, cpus,
    fence_after_update, flaws, generation, has_lost_cpu, has_waited, hearer, is_long_quiet,
    is_worth_a_try, keep_cpu, mutant, now, orders, pool, process_wide, repeated, thread,
    waits_often,
};
use crate::fairly::ReleaseFairly;
use crate::host::{Census, Generation, Pool, Scarcity, Spell, WideGate};
use crate::padded::CachePadded;
use crate::wait::{MayPark, Parking};
use cohort_raw::{
    Abortable, Inherit, Outcome, Patience, Quick, QuickRelease, RawLock, RawTry, ThreadOblivious,
    standalone,
};
use core::ptr;

orders! {
    /// A queue is seen as it was made.
    QUEUE_FIND = Acquire;
    /// The same, from its maker's side.
    QUEUE_MAKE = Release;
    /// A waiter that is counted in sees that the queue is taken from its lock, or is seen
    /// by the thread that takes it.
    QUEUE_ENTER = SeqCst;
    /// The same, from the taker's side.
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

/// How often in a row a cohort has the lock while another waits.  Four times as often brings a few hundredths more,
/// and makes a group that has few waiters wait four times as long.
const HAND_OFFS: u32 = 16;

/// With so many CPUs of one cache group, or fewer, waiters need no order: all may compete for the
/// word.  An order costs what a crowd tolerates: waiters that leave by a jump, and others' priorities.
const CROWD: u32 = 4;

/// For how long a waiter of the only cache group competes for the word before it goes to the queue,
/// unless others are there.  A few waiters are all served in that time, and have spared the
/// queue's lines; of many, those that have just come are few.
const AMONG_FEW_NANOSECONDS: u64 = 1_000;

/// How many may be in a short queue, or one of each cache group if that is more: the lock goes
/// round among them while one is woken that sleeps outside.
const CROWDED_PLACES: u32 = 8;

/// The same where sections are long: the holder, and one that comes to be the next.
const SLOW_PLACES: u32 = 2;

/// How long a long section is: a sleeper is awake in half the time.
const LONG_NANOSECONDS: u64 = 10_000;

/// How many more long sections than others prevail: one that was interrupted is not enough.
const PREVAILING: u32 = 3;

/// How rarely a thread asks how long its section is.
const MEASURED_ONE_IN: u32 = 16;

/// How rarely a lock tries for a queue that is another lock's.
const ONE_IN: u32 = 16;

/// How often a waiter tries to join while a thread sees after what another lock has left: that thread
/// may have lost its CPU.
const JOINS: u32 = 64;

/// The owner of a queue that is nobody's.
const NOBODY: usize = 0;
/// And of one that is about to be another's: no lock is there.
const TAKEN: usize = 1;

/// A queue, for one lock at a time.
#[derive(Debug, Default)]
#[repr(C)]
struct Queue {
    bound: CachePadded<Bound>,
    order: Hmcs<(CacheGroup, Numa), QUEUE_GROUPS, QUEUE_NODES, MayPark, HAND_OFFS>,
    gates: Gates,
}

/// What is hardly ever written.
#[derive(Debug, Default)]
struct Bound {
    owner: AtomicUsize,
    groups: AtomicU64,
    crowded: Scarcity,
    slow: Spell,
    long: AtomicU32,
    /// Whether the lock tells in which mode it is; not if it is a part of one that tells of itself.
    untold: AtomicU32,
    generation: Generation,
}

/// How many waiters may be in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    /// As many of each cache group as have CPUs.
    Whole,
    /// Few, for others want the CPUs; none, where all are in one cache group.
    Crowded,
    /// Next to none, for sections are long.
    Slow,
}

/// What has become of a waiter that went to the queue.
enum Joined {
    Acquired,
    /// The lock has none, or the waiter is not to be in it.
    NoQueue,
    /// A thread sees after what another lock has left at this address.
    NotYet,
}

#[derive(Debug)]
struct Gates([CachePadded<WideGate>; QUEUE_GROUPS]);

impl Default for Gates {
    fn default() -> Self {
        Self(repeated!(CachePadded(WideGate::new()), QUEUE_GROUPS))
    }
}

/// A waiter's, then a holder's.
#[derive(Debug, Default)]
struct Place {
    /// Written by those before and behind.
    context: HmcsContext<MayPark>,
    way: CachePadded<Way>,
}

/// The way by which somebody has come.
#[derive(Debug, Default)]
struct Way {
    /// The lock, while its holder is here.
    lock: AtomicUsize,
    queue: AtomicPtr<Queue>,
    group: AtomicU32,
    /// In which process it entered.
    generation: AtomicU32,
    /// How many came by it.
    turns: AtomicU32,
    /// Since when its holder has had the lock, if that is to be measured; otherwise 0.
    since: AtomicU64,
}

pool! {
    static MADE: Queue, placed
}

pool! {
    static PLACES: Place, cache 7
}

process_wide! {
    static TABLE: Table = Table::new
}

process_wide! {
    /// Whether no lock has a queue.
    static NEVER: Never = Never::new
}

/// Bytes of all queues and places made so far.
pub(crate) fn pool_bytes() -> usize {
    MADE.bytes() + PLACES.bytes()
}

/// Not zero if it is so.
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

    /// The queue in that place.
    fn at(&self, place: usize) -> &'static Queue {
        let known = self.0[place].load(QUEUE_FIND);
        let known = if known.is_null() {
            self.make(place)
        } else {
            known
        };
        // SAFETY: nodes of a pool stay.
        unsafe { &*known }
    }

    #[cold]
    fn make(&self, place: usize) -> *mut Queue {
        let new = MADE.take();
        let pointer = ptr::from_ref(new).cast_mut();
        match self.0[place].compare_exchange(ptr::null_mut(), pointer, QUEUE_MAKE, QUEUE_FIND) {
            Ok(_) => pointer,
            Err(theirs) => {
                // SAFETY: taken above, and seen by nobody.
                unsafe { MADE.give(new) };
                theirs
            }
        }
    }

    /// Whether somebody may be in a queue of the lock at that address.
    fn is_in_use(&self, lock: usize) -> bool {
        let mut queues = self.queues(lock).into_iter();
        queues.any(|queue| queue.is_of(lock) && !queue.is_empty())
    }

    /// The two queues of which one may be that of the lock at that address.
    fn queues(&self, lock: usize) -> [&'static Queue; 2] {
        // Fibonacci's hash spreads addresses that differ in their middle bits only.
        let spread = (door::key_of(lock) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        [48, 32].map(|bits: u32| {
            let part = usize::from((spread >> bits) as u16);
            self.at((part * QUEUES) >> u16::BITS)
        })
    }

    /// The queue of the lock at that address, if it has one.
    fn known(&self, lock: usize) -> Option<&'static Queue> {
        let mut queues = self.queues(lock).into_iter();
        queues.find(|queue| queue.is_of(lock))
    }

    /// The same, or one that becomes its queue; as for [`bind`](Queue::bind).
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
    /// Whether it is that lock's in this process.
    fn is_of(&self, lock: usize) -> bool {
        let bound = &self.bound.0;
        bound.generation.settle(|| self.forget());
        bound.owner.load(Order::RELAXED) == lock
    }

    /// Whether nobody is in it.
    fn is_empty(&self) -> bool {
        let mut gates = self.gates.0.iter();
        gates.all(|CachePadded(gate)| gate.is_empty())
    }

    /// In a forked child, forgets everybody.
    fn forget(&self) {
        if mutant(flaw::KEEP_QUEUE) {
            return;
        }
        let bound = &self.bound.0;
        bound.owner.store(NOBODY, Order::RELAXED);
        bound.crowded.forget();
        bound.slow.forget();
        // The tally of the parent's sections says nothing of this process's.
        bound.long.store(0, Order::RELAXED);
        self.gates
            .0
            .iter()
            .for_each(|CachePadded(gate)| gate.reset());
        // SAFETY: nobody of this process has entered it.
        unsafe { self.order.inherit(None) };
    }

    /// Makes it that lock's, if nobody is in it; a lock that `tells` says in which mode it is.
    #[cold]
    fn bind(&self, lock: usize, tells: bool) -> bool {
        let bound = &self.bound.0;
        let owner = bound.owner.load(Order::RELAXED);
        if owner == lock {
            // Another of its waiters was first.  With a second queue, this one's waiters would be passed
            // by the first one's for as long as that has any.
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
            // Nor has anybody been in it.
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

    /// Counts the caller in, in which of the cache groups; nothing if the queue is not that
    /// lock's any more.  Blocks while all places of the group are taken.
    fn enter(&self, lock: usize) -> Option<u32> {
        let bound = &self.bound.0;
        let group = door::cohort(Level::CacheGroup) % QUEUE_GROUPS;
        let bit = 1 << group;
        if bound.groups.load(Order::RELAXED) & bit == 0 {
            bound.groups.fetch_or(bit, Order::RELAXED);
        }
        let gate = &self.gates.0[group].0;
        let length = self.length();
        gate.admit(Self::places(length), length == Length::Whole, None);
        fence_after_update(QUEUE_ENTER);
        if bound.owner.load(Order::RELAXED) == lock {
            return Some(group as u32);
        }
        gate.depart(0);
        None
    }

    /// How many of a cache group may be in a queue of that length: as many as have CPUs; of a short
    /// one as many as it takes to have enough in all.
    fn places(length: Length) -> u32 {
        let groups = cache_groups().max(1) as u32;
        let all = match length {
            Length::Whole => cpus(),
            Length::Crowded => CROWDED_PLACES,
            Length::Slow => SLOW_PLACES,
        };
        all.div_ceil(groups)
    }

    /// How long it may be.
    #[inline(never)]
    fn length(&self) -> Length {
        let whole_again = || {
            self.tell_own(Mode::ShortQueue, Mode::Queue, "sections are short again");
        };
        if self.bound.0.slow.lasts(whole_again) {
            Length::Slow
        } else if self.is_crowded() {
            Length::Crowded
        } else {
            Length::Whole
        }
    }

    /// Whether others want the waiters' CPUs.
    #[inline]
    fn is_crowded(&self) -> bool {
        let crowded = &self.bound.0.crowded;
        crowded.lasts(|| self.tell_own(Mode::ShortQueue, Mode::Queue, "CPUs suffice again"))
    }

    /// Notes that others want the waiters' CPUs.
    fn be_crowded(&self) {
        if self.bound.0.crowded.is_noticed() {
            self.tell_own(Mode::Queue, Mode::ShortQueue, "waiters lost their CPUs");
        }
    }

    /// Notes that a section has lasted since then.
    fn measure(&self, since: u64) {
        let Bound { slow, long, .. } = &self.bound.0;
        let before = long.load(Order::RELAXED);
        if now() - since < LONG_NANOSECONDS {
            // Waiters read this line: it is left alone while sections are short.
            if before > 0 {
                long.store(before - 1, Order::RELAXED);
            }
        } else if before < PREVAILING {
            long.store(before + 1, Order::RELAXED);
        } else if slow.is_noticed() {
            self.tell_own(Mode::Queue, Mode::ShortQueue, "sections are long");
        }
    }

    /// Notes whether its lock `tells`: another may have been at the address when it was bound.
    fn let_tell(&self, tells: bool) {
        let untold = u32::from(!tells);
        if self.bound.0.untold.load(Order::RELAXED) != untold {
            self.bound.0.untold.store(untold, Order::RELAXED);
        }
    }

    /// Tells that its lock has a queue now, if that one `tells`.
    fn begin_telling(&self, tells: bool) {
        self.let_tell(tells);
        let why = if cache_groups() > 1 {
            "CPUs of several cache groups want it"
        } else {
            "many CPUs may want it"
        };
        self.tell_own(Mode::Word, Mode::Queue, why);
    }

    /// Tells that its lock goes on in another mode.
    fn tell_own(&self, from: Mode, to: Mode, why: &str) {
        self.tell(self.bound.0.owner.load(Order::RELAXED), from, to, why);
    }

    /// The same of a lock at that address, if it tells and anybody wants to know.
    #[inline]
    fn tell(&self, lock: usize, from: Mode, to: Mode, why: &str) {
        if let Some(hearer) = hearer()
            && self.bound.0.untold.load(Order::RELAXED) == 0
        {
            tell(hearer, lock, from, to, why);
        }
    }
}

/// Tells that one that a lock goes on in another mode.
#[cold]
#[inline(never)]
fn tell(hearer: &Hearer, lock: usize, from: Mode, to: Mode, why: &str) {
    (hearer.changed)(&Change {
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
        // Nobody released it; the queue goes on.
        if self.futex.is_queued() {
            // SAFETY: the lock ends.
            unsafe { Self::begin_at(self) };
        }
    }
}

impl Way {
    /// Whether somebody of this process came by it.
    fn is_here(&self) -> bool {
        self.generation.load(Order::RELAXED) == generation() || mutant(flaw::BELIEVE_PLACES)
    }
}

impl Place {
    /// Leaves the queue, which the place's owner, or the lock's releaser for it, holds.
    fn leave(&'static self, futex: Option<&Futex>, goes_on: bool, fairly: bool) {
        let way = &self.way.0;
        way.lock.store(0, Order::RELAXED);
        // SAFETY: queues stay.
        let queue = unsafe { &*way.queue.load(Order::RELAXED) };
        let word = Word {
            futex,
            goes_on,
            fairly,
            queue,
        };
        // SAFETY: held by this context.
        unsafe { queue.order.release_carried(&self.context, &word) };
        // The next holder's section has begun: nothing from here on keeps it waiting.
        let since = way.since.load(Order::RELAXED);
        if since != 0 {
            queue.measure(since);
        }
        let group = way.group.load(Order::RELAXED) as usize;
        let places = Queue::places(queue.length());
        queue.gates.0[group].0.depart(places);
        self.give();
    }

    /// Gives back a place by which no lock is held.
    fn give(&'static self) {
        // SAFETY: taken by the acquisition that ends here; no queue of this process has it.
        unsafe { PLACES.give(self) };
    }
}

/// The word of a lock, which its queue passes on; none if the lock has ended.
struct Word<'a> {
    futex: Option<&'a Futex>,
    goes_on: bool,
    /// Where the queue does not go on with it, a thread that sleeps for it is the next.
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
            Some(futex) if self.fairly => futex.release_queued_fairly(),
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
    fn stays_alone(&self) -> bool {
        true
    }

    /// Where others want the waiters' CPUs, a waiter that has given its own away would keep the
    /// word from everybody until it comes back.
    #[inline]
    fn needs_presence(&self) -> bool {
        self.queue.is_crowded()
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

    /// From here on no lock of this process has its waiters in a queue: each is a [`Futex`].
    pub fn never_queue() {
        NEVER.get().0.store(1, Order::RELAXED);
    }

    /// Takes a free lock without an atomic read-modify-write; false if it was not free.
    ///
    /// # Safety
    /// The process has one thread.
    #[inline(always)]
    pub unsafe fn acquire_alone(&self) -> bool {
        // SAFETY: the caller's.
        unsafe { self.futex.acquire_alone() }
    }

    /// Releases a lock without marks, as [`acquire_alone`](Self::acquire_alone) took it; false
    /// if it has some.
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
    }

    /// In which mode the lock is, which the caller holds.
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

    /// Takes the lock if it is free and has no marks: the shortest way.
    #[inline(always)]
    pub fn acquire_untouched(&self) -> bool {
        // While the queue passes the word on, arrivals share it: an attempt that must fail
        // would take it from them all, and from the holder.
        self.futex.looks_free() && self.futex.acquire_untouched()
    }

    #[cold]
    #[inline(never)]
    fn acquire_contended(&self, patience: &Patience) -> Outcome {
        let outcome = self.wait(patience, true);
        if let Some(hearer) = hearer()
            && matches!(outcome, Outcome::Acquired)
        {
            (hearer.waited)(self.mode());
        }
        outcome
    }

    /// Blocks until the lock is held, and tells nobody in which mode: for a lock of which this one is
    /// a part.
    #[inline]
    pub(crate) fn acquire_untold(&self) {
        if !self.acquire_untouched() {
            self.wait_untold();
        }
    }

    /// The same, for a caller that has just found it taken.
    pub(crate) fn wait_untold(&self) {
        let _ = self.wait(&Patience::ENDLESS, false);
    }

    /// Blocks until the lock is held or patience runs out, for the one thread that waits for it: as one of
    /// `futex`'s crowd, and never in turns.
    pub(crate) fn acquire_as_first(&self, patience: &Patience) -> Outcome {
        let outcome = self.futex.acquire_unless(patience, &|| false);
        outcome.unwrap_or(Outcome::GaveUp)
    }

    fn wait(&self, patience: &Patience, tells: bool) -> Outcome {
        let visits = !waits_often();
        let outcome = if patience.is_endless() && has_queues() {
            self.wait_endlessly(visits, tells)
        } else {
            self.futex.wait_long(patience, visits)
        };
        has_waited();
        outcome
    }

    /// Blocks until the lock is held.  What a thread wants that seldom comes is to be in and out; but a
    /// lock that a queue passes on is not free meanwhile.
    fn wait_endlessly(&self, visits: bool, tells: bool) -> Outcome {
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

    /// Blocks until the lock is held by way of a queue, or as one of a few.
    fn acquire_in_queue(&self, tells: bool) -> Joined {
        // Asking makes it known.
        let _ = door::cohort(Level::CacheGroup);
        if !has_queues() || NEVER.get().0.load(Order::RELAXED) != 0 {
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
        // Before the wait, so that the section begins sooner after it.
        let turns = way.turns.load(Order::RELAXED);
        way.turns.store(turns.wrapping_add(1), Order::RELAXED);
        way.since.store(0, Order::RELAXED);
        Self::remembered(lock).set(PLACES.number(place));
        keep_cpu(true);
        // SAFETY: the place was taken for this acquisition and goes back when it is released; queues stay.
        if !unsafe { queue.order.acquire_counted(&place.context) } {
            self.futex.acquire_as_queued();
        }
        keep_cpu(false);
        if has_lost_cpu() {
            queue.be_crowded();
        }
        // Not its first: that section's data are in no cache yet.
        if turns % MEASURED_ONE_IN == 1 {
            way.since.store(now(), Order::RELAXED);
        }
        way.lock.store(lock, Order::RELAXED);
        Joined::Acquired
    }

    /// Where the calling thread remembers its place as the holder of the lock at that address.
    fn remembered(lock: usize) -> &'static core::cell::Cell<u32> {
        let known = &thread().queued;
        &known[lock / align_of::<u64>() % known.len()]
    }

    /// The holder's place.
    fn place(lock: usize) -> Option<&'static Place> {
        let number = Self::remembered(lock).take();
        if number != 0 {
            // SAFETY: a number of this pool's.
            let place = unsafe { PLACES.at(number) };
            if place.way.0.lock.load(Order::RELAXED) == lock && place.way.0.is_here() {
                return Some(place);
            }
        }
        Self::search(lock)
    }

    /// The same, among everybody's: in a forked child a holder of the parent's may have left one, which
    /// is the lock's only where nobody of the child has another.
    #[cold]
    fn search(lock: usize) -> Option<&'static Place> {
        let mut found = None;
        PLACES.each(&mut |place| {
            let way = &place.way.0;
            if way.lock.load(Order::RELAXED) == lock && (found.is_none() || way.is_here()) {
                found = Some(place);
            }
        });
        found
    }

    /// Releases a lock that the caller holds by way of a queue; `fairly` as in [`Word`].
    #[inline(never)]
    fn release_in_queue(&self, fairly: bool) {
        match Self::place(self.address()) {
            Some(place) if place.way.0.is_here() => {
                let goes_on = !self.futex.owes_others();
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
    }

    /// Where a lock begins, or ends though somebody may hold it, which POSIX leaves undefined: a
    /// queue by which somebody came to the one that was here goes on without it.
    ///
    /// # Safety
    /// The calling thread holds no lock at that address, or the lock there ends.
    #[inline]
    pub unsafe fn begin_at(place: *const Self) {
        if has_queues() {
            let _ = Self::forget_holder(place.addr());
        }
    }

    /// Has the holder leave that came by a queue to a lock at that address; whether there was one.
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

    /// Releases a lock by an exchange, be it in a quick time or not.
    ///
    /// # Safety
    /// The caller holds the lock.
    #[inline(never)]
    pub unsafe fn release_attentive(&self) {
        let quiet = is_long_quiet();
        // A look at the word waits for the exchange that took it, so that a short section would take
        // half as long again; where there are queues, exchanges that must fail cost more.
        if (quiet || has_queues()) && self.futex.is_queued() {
            self.release_in_queue(false);
        } else if quiet || !self.futex.release_unmarked() {
            self.release_late(quiet);
        }
    }

    /// The same where the word has marks, or the caller's releases have long been `quiet`.
    #[cold]
    fn release_late(&self, quiet: bool) {
        if self.futex.is_queued() {
            self.release_in_queue(false);
        } else {
            self.futex.release_late(quiet);
        }
    }
}

/// Whether this machine is one where waiters may queue.
#[inline]
fn has_queues() -> bool {
    cache_groups() > 1 || cpus() > CROWD
}

// SAFETY: the word excludes: a thread that comes out of the queue has taken it, or was passed it
// by its holder.
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
        // SAFETY: passed on; a lock that was acquired by way of a queue is in no quick time.
        unsafe { self.futex.release_quickly(&()) }
    }

    #[cold]
    fn wake_everybody(place: *const Self) {
        Futex::wake_everybody(place.cast());
    }
}

// SAFETY: as the usual release, or the word is handed over; a queue goes on in its order anyway.
unsafe impl ReleaseFairly for FutexHmcs {
    unsafe fn release_fairly(&self, (): &()) {
        if self.futex.is_queued() {
            self.release_in_queue(true);
        } else {
            // SAFETY: the caller's.
            unsafe { self.futex.release_fairly(&()) };
        }
    }

    fn is_waited_for(&self, (): &()) -> bool {
        self.futex.is_queued() || self.futex.has_sleeper()
    }
}

// SAFETY: as the word's.
unsafe impl RawTry for FutexHmcs {
    #[inline(always)]
    unsafe fn try_acquire(&self, (): &()) -> bool {
        // SAFETY: the caller's.
        unsafe { self.futex.try_acquire(&()) }
    }
}

// SAFETY: as the word's; no waiter with a deadline is in the queue.
unsafe impl Abortable for FutexHmcs {
    #[inline]
    unsafe fn acquire_within(&self, (): &(), patience: &Patience) -> Outcome {
        if self.acquire_untouched() {
            return Outcome::Acquired;
        }
        self.acquire_contended(patience)
    }
}

// SAFETY: the holder's place is found by the thread that releases the lock.
unsafe impl ThreadOblivious for FutexHmcs {}

// SAFETY: as the word's; a queue is forgotten by the first thread that comes to it.
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

        // One long section more does not count as the last of many.
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
        // Both have seen that it has none.
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
