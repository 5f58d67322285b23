//! `sanl`: under low contention, threads acquire a lock and run their critical sections in place.
//! Under high contention, they vote to send them to one thread, the server (Zhang et al. 2017 §3).
//!
//! **Not for** sections that wait for other threads (`run_here` is for those): the server may have
//! the other thread's section pending. Nor for one or two threads at a time, which `mcs` serves as
//! well without a vote.
//!
//! | field | meaning | written by |
//! |---|---|---|
//! | `lock` | its holder runs sections: its own, or, as the server, those of other threads too | its queue |
//! | `attended` | for [`rcl`](super::rcl): 1 while a thread serves or is to acquire the lock for that, else 0 | that thread |
//! | `in_hand` | the context of the acquisition that is being handed over | the holder |
//! | `consecutive` | hand-overs since the last release | the holder |
//! | `asleep` | posters asleep or about to sleep | these posters |
//! | `votes` | number of users, their votes, and the start of delegation | voters; each census |
//! | `generation` | the process of the last use | a forked child's first arrival, or its holder |
//! | `gates` | a bit per NUMA node: one of its threads queues in `lock` to become its server | that thread |
//! | a place's `request` | see [`request`](super::request) | its thread, and the holder |
//! | what a seat `says` | 1 plus the NUMA node, for a request to servers of its own node; 0 for any server | its thread |
//! | a place's `holds` | 1 while its thread runs sections, else 0 | its thread |
//! | a place's `busy` | see [`roster`](super::roster) | its thread |
//! | the rest of a place | its thread's measurements and votes | its thread; `known` and `used` each census too |
//!
//! A thread delegates its section: it posts a request by one store, and waits for the answer.
//! Meanwhile it may acquire the lock if it finds it free, queue for it after `T_w`, or receive it
//! from a holder. A thread that acquires the lock so is the server. It scans all places `T_s`
//! times, for at most a millisecond, and stops after more than `L_s` scans in vain. Then it hands
//! the lock to a poster, if there is one, with the context of its acquisition, up to
//! `MOST_CONSECUTIVE` times in a row. After that it releases the lock to the queue. After a
//! release, a thread scans for new requests, and if it finds one, acquires the lock again to hand
//! it over. A server always scans; other threads scan only if a poster sleeps. Both sides store,
//! fence and load: either the poster finds the lock free, or the releasing thread finds the
//! request.
//!
//! Differences from the printed algorithms, with reasons:
//!
//! | Zhang et al. 2017 | here |
//! |---|---|
//! | `C_l` from Algorithm 3's lines 1 and 25, for each section | the same, wait included, in 1024ths; a thread that finds the lock free counts zero contention, without reading a clock |
//! | `Boundary`, no default given | 4 |
//! | §4.1: `θ_l` 17 % and 6 %, `θ_f` 56 % and 40 %, by machine | 10 % and 48 %, between them, unless `cohort tune sanl` found others |
//! | §3.1: `C_g` and `N` of all threads | of this lock's recent users: a census every 10 ms drops the others; a single user never delegates |
//! | Fig. 4: an array of 256 places for each CPU, one Id manager | a [`Roster`]: places for the threads that use this lock |
//! | Alg. 2, 7: `code` stays set during a section, which the next server may run again in a conditional wait | a section is moved out of its request before it runs |
//! | §3.3.2: a server waits in a client's section while another thread serves | a section that waits runs in its own thread ([`pausing`](crate::Delegated::pausing)): the server may be the thread that is to signal |
//! | Alg. 3, 9 to 10: a client that was its own server posts its request again | it returns: its section is consumed, by its type |
//! | Alg. 3, 19 to 26: `context` is returned instead of its own result | the section itself writes its result |
//! | Alg. 3, 22 to 24: a client that was served still upgrades | it serves no other thread, and leaves |
//! | Alg. 2, 19 and Alg. 3, 7: the lock is handed over and locked again | it is handed over locked, by an exchange that fails for a client which queues or has given up |
//! | `Q`: a list with a lock, with one client for each node | posters are found in their places, the next nodes' first; one of each node queues in `lock` |
//! | Alg. 3, 17: after `T_w`, only tries | queues: tries starve behind in-place waiters |
//! | Alg. 1: the votes alone decide | after a short in-place period, delegation lasts: see `Votes::follow` |
//! | §3.3.1: under high contention a server serves its own node | the same, and all nodes after a scan without a request of its node |
//! | Alg. 2, 16: `T_s` bounds rounds | and time, to a millisecond |
//! | `L_s` by a fitted quadratic of 1/C_l, given as a figure | 2 + 2/C_l, at most 1000, unless `cohort tune sanl` fitted another |
//! | `T_w` counts polls: 10,000 | time: 100 µs |
//!
//! A forked child can use the lock if it was unused at the fork, or if its section forked in place
//! (`run_here`). The child drops the requests and queue of its parent's other threads. If another
//! thread ran a section, the child waits for ever, as at a mutex. Forking inside a delegated
//! section should work too; this is untested.

use super::request::{Request, Told};
use super::roster::{CHAINS, Call, Roster, Seat, Seated};
use super::{Held, StepsDown, TriesTurn, enter, leave, may_serve, run, timed};
use crate::basic::Mcs;
use crate::door::{
    Advice, AtomicPtr, AtomicU32, AtomicU64, Level, NODES, Order, Spinner, Tallied, cohort,
    constructor, fence, fence_after_update, flaws, generation, mutant, now, orders, policies, pool,
    runs_out, tally, tally_moment, tally_state,
};
use crate::host::{Generation, Pool, Served};
use crate::support::context::Kept;
use crate::wait::{MayPark, Parking, SpinOnly};
use cohort_raw::{
    AbortableDelegate, Deadline, Delegate, Outcome, Patience, Section, Thresholds, TryDelegate,
    Tunable, TwoForms, WHOLE,
};
use core::fmt;
use core::marker::PhantomData;
use core::ptr;

orders! {
    /// A request, or a release, is ordered before the load of the other.
    SANL_LOOK = SeqCst;
}

flaws! {
    FORGET_ASLEEP = "sanl.forget-asleep";
    FORGET_POSTED = "sanl.forget-posted";
    /// Repeats a section: Zhang et al. 2017, algorithm 3, lines 9 and 10.
    POST_AGAIN = "sanl.post-again";
    /// Loses a section's result: Zhang et al. 2017, algorithm 3, lines 19 to 26.
    LOSE_RESULT = "sanl.lose-result";
    /// Serves after having been served: Zhang et al. 2017, algorithm 3, lines 22 to 24.
    UPGRADE_SERVED = "sanl.upgrade-served";
    /// Acquires a lock that was handed over: Zhang et al. 2017, algorithm 2, line 19, and 3, line
    /// 7.
    LOCK_TWICE = "sanl.lock-twice";
    HAND_TO_QUEUED = "sanl.hand-to-queued";
    KEEP_POSTED = "sanl.keep-posted";
    KEEP_QUEUE = "sanl.keep-queue";
    /// A server inside another lock's section runs sections of other threads here.
    SERVE_INSIDE = "sanl.serve-inside";
    /// A thread that has locked this lock serves other threads at another one.
    FORGET_LOCKED = "sanl.forget-locked";
}

policies! {
    /// No vote starts delegation.
    CARRY_NOTHING = "sanl.carry-nothing";
    /// A vote changes at the first deviating contention, whatever `Boundary` is.
    VOTE_AT_ONCE = "sanl.vote-at-once";
    /// Every contention is above `θ_f`.
    IGNORE_SHARE = "sanl.ignore-share";
    /// Servers run the sections of every NUMA node.
    SERVE_EVERY_NODE = "sanl.serve-every-node";
    /// A server continues in vain, whatever `L_s` is.
    SERVE_ON = "sanl.serve-on";
    /// Servers serve only their own NUMA node, even while it posts nothing.
    STAY_IDLE = "sanl.stay-idle";
    /// Sections run in place as soon as the votes say so, however short the last in-place period
    /// was.
    RETURN_AT_ONCE = "sanl.return-at-once";
    /// A client never queues, whatever `T_w` is.
    WAIT_ON = "sanl.wait-on";
    /// A server scans all places as often as it finds requests, whatever `T_s` is.
    SCAN_ON = "sanl.scan-on";
    /// A server serves for longer than a millisecond.
    SERVE_LONG = "sanl.serve-long";
    /// Servers hand the lock over while a request is posted, though others queue.
    HAND_ON = "sanl.hand-on";
    /// Threads count as users for ever.
    KEEP_USERS = "sanl.keep-users";
}

/// Hand-overs before queued threads get the lock. One would be too few: it may go to another node
/// each time. Then the threads of one node, which queue one at a time, would starve (the model
/// under Spin).
const MOST_CONSECUTIVE: u32 = 4;

/// Interval between two censuses of a lock's users.
const CENSUS_NANOSECONDS: u64 = 10_000_000;

/// Longest time of a server.
const SERVES_NANOSECONDS: u64 = 1_000_000;

/// How long delegation lasts against the votes after an in-place period of less than half as long.
/// So two changes take a second at least, whatever the votes are.
const STAY_NANOSECONDS: u64 = 2_000_000_000;

/// NUMA policy: the threads that a server serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// All threads.
    Flat,
    /// Threads of the server's NUMA node (Zhang et al. 2017 §3.3).
    DistanceFirst,
    /// All threads; under contention beyond a server's capacity, threads of its own NUMA node, and
    /// other threads that use the lock less (Zhang et al. 2017 §3.3.1).
    ServingFirst,
}

/// Compile-time parameters of a lock.
pub trait Tuning: Send + Sync + 'static {
    /// Its NUMA policy.
    const POLICY: Policy;
    /// Its initial thresholds.
    const THRESHOLDS: Thresholds = Thresholds::USUAL;
    /// Number of hash chains in which it looks up a thread's place.
    const CHAINS: usize = CHAINS;
    /// Permits [attending](cohort_raw::Attended); then no other thread acquires the lock to serve.
    const IS_ATTENDED: bool = false;
}

/// [`Policy::ServingFirst`].
#[derive(Debug)]
pub enum ServingFirst {}

impl Tuning for ServingFirst {
    const POLICY: Policy = Policy::ServingFirst;
}

/// [`Policy::Flat`].
#[derive(Debug)]
pub enum Flat {}

impl Tuning for Flat {
    const POLICY: Policy = Policy::Flat;
}

/// [`Policy::DistanceFirst`].
#[derive(Debug)]
pub enum DistanceFirst {}

impl Tuning for DistanceFirst {
    const POLICY: Policy = Policy::DistanceFirst;
}

/// A vote and its distance from a change (Zhang et al. 2017, algorithm 1).
#[derive(Debug, Default)]
struct Vote {
    /// 1: for; 0: against.
    cast: AtomicU32,
    count: AtomicU32,
}

impl Vote {
    fn begin(&self) {
        self.cast.store(0, Order::RELAXED);
        self.count.store(0, Order::RELAXED);
    }

    fn is_cast(&self) -> bool {
        self.cast.load(Order::RELAXED) != 0
    }

    /// Votes by contention, and updates the sum of all votes.
    fn cast(&self, contention: u32, threshold: u32, boundary: u32, sum: &AtomicU32) {
        let is_cast = self.is_cast();
        let count = self.count.load(Order::RELAXED);
        if (contention >= threshold) == is_cast {
            if count > 0 {
                self.count.store(count - 1, Order::RELAXED);
            }
        } else if count < boundary && !mutant(policy::VOTE_AT_ONCE) {
            self.count.store(count + 1, Order::RELAXED);
        } else {
            self.count.store(0, Order::RELAXED);
            self.cast.store((!is_cast).into(), Order::RELAXED);
            if is_cast {
                sum.fetch_sub(1, Order::RELAXED);
            } else {
                sum.fetch_add(1, Order::RELAXED);
            }
        }
    }
}

/// The votes of a lock's users. A thread may arrive during a census; the next census corrects the
/// sums.
///
/// | field | meaning |
/// |---|---|
/// | `users` | recent users |
/// | `bring` | their votes for delegation |
/// | `strict` | their votes for a server per NUMA node in turn |
/// | `counted` | time of the last census |
/// | `brought` | start of the delegation period; 0: sections run in place |
/// | `stay` | its shortest length |
/// | `left` | end of the last delegation period; 0: there was none |
#[derive(Debug, Default)]
#[repr(C, align(64))]
struct Votes {
    users: AtomicU32,
    bring: AtomicU32,
    strict: AtomicU32,
    counted: AtomicU64,
    brought: AtomicU64,
    stay: AtomicU64,
    left: AtomicU64,
}

impl Votes {
    /// Returns whether more than half of the users, and more than one, cast such a vote.
    #[inline]
    fn carry(&self, votes: &AtomicU32) -> bool {
        let users = self.users.load(Order::RELAXED);
        // During a census a sum may drop below zero for a moment.
        let votes = votes.load(Order::RELAXED).cast_signed();
        let carried = users > 1 && i64::from(votes) * 2 > i64::from(users);
        carried && !mutant(policy::CARRY_NOTHING)
    }

    /// Returns whether sections are delegated.
    #[inline]
    fn are_brought(&self) -> bool {
        self.brought.load(Order::RELAXED) != 0
    }

    /// Changes the mode by the votes, and returns whether sections are delegated from here on.
    ///
    /// Delegation shortens waits, so threads vote against it; in-place waits are long, and threads
    /// vote for it. Some loads would alternate for ever. After a short in-place period delegation
    /// lasts: it costs a few percent while threads seldom meet, and gains multiples while they do.
    fn follow(&self, carried: bool, now: u64) -> bool {
        let since = self.brought.load(Order::RELAXED);
        let changes = |to| {
            self.brought
                .compare_exchange(since, to, Order::RELAXED, Order::RELAXED)
                .is_ok()
        };
        if carried && since == 0 {
            if changes(now.max(1)) {
                let left = self.left.load(Order::RELAXED);
                let is_undone = left != 0 && now.saturating_sub(left) < STAY_NANOSECONDS / 2;
                let stay = if is_undone { STAY_NANOSECONDS } else { 0 };
                self.stay.store(stay, Order::RELAXED);
            }
            return true;
        }
        if carried || since == 0 {
            return carried;
        }
        let lasted = now.saturating_sub(since);
        let stays = lasted < self.stay.load(Order::RELAXED) && !mutant(policy::RETURN_AT_ONCE);
        // A single user runs its sections without waiting.
        if stays && self.users.load(Order::RELAXED) > 1 {
            return true;
        }
        if changes(0) {
            self.left.store(now, Order::RELAXED);
        }
        false
    }

    /// Resets the votes and the mode.
    fn forget(&self) {
        self.count(0, 0, 0);
        for time in [&self.brought, &self.stay, &self.left] {
            time.store(0, Order::RELAXED);
        }
    }

    fn count(&self, users: u32, bring: u32, strict: u32) {
        self.users.store(users, Order::RELAXED);
        self.bring.store(bring, Order::RELAXED);
        self.strict.store(strict, Order::RELAXED);
    }
}

/// The lock's data for one thread.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct ThreadState {
    request: Request,
    mine: Mine,
}

/// Data that servers do not read; on their own lines.
#[derive(Debug, Default)]
#[repr(C, align(64))]
struct Mine {
    busy: AtomicU32,
    holds: AtomicU32,
    /// Contention measured by this thread, in 1024ths of its time.
    contention: AtomicU32,
    /// Nonzero: it used the lock since the last census; and: it counts as a user.
    used: AtomicU32,
    known: AtomicU32,
    bring: Vote,
    strict: Vote,
    /// Start of its previous section, and its duration with the wait; 0: unknown.
    began: AtomicU64,
    took: AtomicU64,
}

pool! {
    /// Places of all such locks.
    static PLACES: Seat<ThreadState>, placed
}

/// Bytes of all places made so far.
pub(super) fn pool_bytes() -> usize {
    PLACES.bytes()
}

impl Seated for ThreadState {
    #[inline]
    fn pool() -> &'static (impl Pool<Seat<Self>> + 'static) {
        &PLACES
    }

    fn begin(&self) {
        self.request.renew();
        self.mine.holds.store(0, Order::RELAXED);
        self.forget();
    }

    fn is_left(&self) -> bool {
        self.mine.holds.load(Order::RELAXED) == 0
    }

    #[inline]
    fn busy(&self) -> &AtomicU32 {
        &self.mine.busy
    }

    fn inherit(&self) {
        self.request.inherit();
        self.mine.began.store(0, Order::RELAXED);
    }
}

impl ThreadState {
    /// Resets the measurements and votes.
    fn forget(&self) {
        self.mine.contention.store(0, Order::RELAXED);
        self.mine.known.store(0, Order::RELAXED);
        self.mine.began.store(0, Order::RELAXED);
        self.mine.bring.begin();
        self.mine.strict.begin();
    }
}

/// Returns whether the seat's thread declines a server of that NUMA node.
#[inline]
fn keeps_from(seat: &Seat<ThreadState>, node: usize) -> bool {
    let keeps = seat.says();
    keeps != 0 && keeps as usize != 1 + node
}

/// End of a poster's wait.
enum Ended<L: Served> {
    /// Its section has been run.
    Served,
    /// It holds the lock.
    Holding(Kept<L>),
    /// It has given up.
    GaveUp,
}

/// Fields that change with each hand-over; not on the lock's line, which all waiters read.
#[repr(C, align(64))]
struct Hand<L: Served> {
    in_hand: AtomicPtr<L::Context>,
    consecutive: AtomicU32,
    asleep: AtomicU32,
}

impl<L: Served> fmt::Debug for Hand<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hand").finish_non_exhaustive()
    }
}

/// The lock, built on another lock.
///
/// ```
/// use cohort::{Delegated, delegation::Sanl};
///
/// let total: Delegated<u64, Sanl> = Delegated::from(1);
/// total.run(|total| *total += 1);
/// assert_eq!(total.run(|total| *total), 2);
/// ```
#[derive(Debug)]
#[repr(C)]
pub struct Sanl<L: Served = Mcs, T: Tuning = ServingFirst, P: Parking = MayPark> {
    lock: L,
    attended: AtomicU32,
    hand: Hand<L>,
    votes: Votes,
    thresholds: Thresholds,
    generation: Generation,
    roster: Roster<ThreadState>,
    gates: AtomicU64,
    tuning: PhantomData<(T, P)>,
}

/// [`Sanl`] without a policy for NUMA nodes.
///
/// ```
/// use cohort::{Delegated, delegation::SanlFlat};
///
/// let total: Delegated<u64, SanlFlat> = Delegated::from(1);
/// total.run(|total| *total += 1);
/// assert_eq!(total.run(|total| *total), 2);
/// ```
pub type SanlFlat = Sanl<Mcs, Flat>;

/// [`Sanl`] whose threads wait for a server of their own NUMA node.
///
/// ```
/// use cohort::{Delegated, delegation::SanlDistanceFirst};
///
/// let total: Delegated<u64, SanlDistanceFirst> = Delegated::from(1);
/// total.run(|total| *total += 1);
/// assert_eq!(total.run(|total| *total), 2);
/// ```
pub type SanlDistanceFirst = Sanl<Mcs, DistanceFirst>;

/// An acquisition by [`Sanl::lock`].
#[must_use]
pub struct Turn<L: Served = Mcs> {
    held: Held<L>,
    place: &'static ThreadState,
}

impl<L: Served> fmt::Debug for Turn<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn").finish_non_exhaustive()
    }
}

impl<T: Tuning, P: Parking> Sanl<Mcs, T, P> {
    constructor! {
        /// A free lock with the usual thresholds, for statics.
        ///
        /// ```
        /// use cohort::{Delegated, delegation::Sanl};
        ///
        /// static TOTAL: Delegated<u64, Sanl> = Delegated::with_lock(1, Sanl::new());
        /// assert_eq!(TOTAL.run(|total| *total), 1);
        /// ```
        #[must_use]
        pub fn new() -> Self {
            Self {
                lock: Mcs::new(),
                attended: AtomicU32::new(0),
                hand: Hand {
                    in_hand: AtomicPtr::null(),
                    consecutive: AtomicU32::new(0),
                    asleep: AtomicU32::new(0),
                },
                votes: Votes {
                    users: AtomicU32::new(0),
                    bring: AtomicU32::new(0),
                    strict: AtomicU32::new(0),
                    counted: AtomicU64::new(0),
                    brought: AtomicU64::new(0),
                    stay: AtomicU64::new(0),
                    left: AtomicU64::new(0),
                },
                thresholds: T::THRESHOLDS,
                // The first thread to use it assigns it to its process.
                generation: Generation::new(),
                roster: Roster::new(),
                gates: AtomicU64::new(0),
                tuning: PhantomData,
            }
        }
    }
}

impl<L: Served, T: Tuning, P: Parking> Default for Sanl<L, T, P> {
    #[inline(always)]
    fn default() -> Self {
        Self::with(&T::THRESHOLDS)
    }
}

impl<L: Served, T: Tuning, P: Parking> Tunable for Sanl<L, T, P> {
    #[inline(always)]
    fn with(thresholds: &Thresholds) -> Self {
        let generation = Generation::new();
        generation.begin();
        Self {
            lock: L::default(),
            attended: AtomicU32::new(0),
            hand: Hand {
                in_hand: AtomicPtr::null(),
                consecutive: AtomicU32::new(0),
                asleep: AtomicU32::new(0),
            },
            votes: Votes::default(),
            thresholds: *thresholds,
            generation,
            roster: Roster::default(),
            gates: AtomicU64::new(0),
            tuning: PhantomData,
        }
    }
}

impl<L: Served, T: Tuning, P: Parking> Sanl<L, T, P> {
    /// [`run`](Delegate::run), but delegated whatever the votes are.
    pub fn run_by_server(&self, section: Section<'_>) {
        self.come();
        let _ = self.bring(&self.call(), section, None);
    }

    /// [`run_here`](Delegate::run_here), which calls `acquired` before the section.
    pub(super) fn run_here_once(
        &self,
        cx: &mut L::Context,
        section: Section<'_>,
        acquired: impl FnOnce(),
    ) {
        self.come();
        let call = self.call();
        // SAFETY: a call has its context for itself, and releases the lock before it returns.
        unsafe { self.lock.acquire(cx) };
        acquired();
        self.run_in_place(cx, &call.own, section);
    }

    /// Acquires the lock for a section in place that spans several calls.
    pub fn lock(&self) -> Turn<L> {
        self.come();
        let place = &self.roster.seat(T::CHAINS).own;
        // SAFETY: a new context in a block, which stays until the release in `unlock`.
        let held = Held::by(|context| unsafe { self.lock.acquire(context) });
        Self::begin_turn(held, place)
    }

    /// [`lock`](Self::lock) if the lock is free.
    pub fn try_lock(&self) -> Option<Turn<L>> {
        if !self.generation.is_settled() && !self.come_first(Some(&Patience::NONE)) {
            return None;
        }
        let place = &self.roster.seat(T::CHAINS).own;
        // SAFETY: as above.
        let held = Held::by_trying(|context| unsafe { self.lock.try_acquire(context) })?;
        Some(Self::begin_turn(held, place))
    }

    fn begin_turn(held: Held<L>, place: &'static ThreadState) -> Turn<L> {
        place.mine.holds.store(1, Order::RELAXED);
        if !mutant(flaw::FORGET_LOCKED) {
            enter();
        }
        Turn { held, place }
    }

    /// Releases the lock.
    ///
    /// # Safety
    /// The turn is of this lock, and the caller's.
    pub unsafe fn unlock(&self, turn: Turn<L>) {
        if !mutant(flaw::FORGET_LOCKED) {
            leave();
        }
        let _call = self.call();
        turn.held
            .end(|context| self.end_in_place(context, turn.place));
    }

    /// Reserves serving for the calling thread; false if another thread has reserved it.
    pub(super) fn announce(&self) -> bool {
        self.come();
        let free = self.attended.load(Order::RELAXED) == 0;
        free && self.attended.swap(1, Order::RELAXED) == 0
    }

    /// Acquires the lock to serve, if it is free. The calling thread has announced itself.
    pub(super) fn try_attend(&self) -> Option<Kept<L>> {
        let held = self.try_acquire()?;
        self.place().mine.holds.store(1, Order::RELAXED);
        Some(held)
    }

    /// Scans all places once and runs their sections; returns whether there were any. The caller
    /// holds the lock by that context.
    pub(super) fn attend_once(&self, cx: &L::Context) -> bool {
        let moment = tally_moment();
        let mut found = false;
        for seat in self.roster.seats() {
            tally(Tallied::Looks, 1);
            found |= self.serve_one(cx, &seat.own.request);
        }
        tally(Tallied::Passes, 1);
        tally(Tallied::Serving, tally_moment() - moment);
        found
    }

    /// Releases the lock to queued threads. The caller has announced itself, and holds the lock.
    pub(super) fn let_go(&self, held: Kept<L>) {
        self.place().mine.holds.store(0, Order::RELAXED);
        // SAFETY: the caller holds it, by that context.
        unsafe { self.lock.release(held.get()) };
    }

    /// Ends serving by the calling thread, which has announced itself and does not hold the lock.
    pub(super) fn renounce(&self) {
        self.attended.store(0, Order::RELAXED);
        fence(SANL_LOOK);
        self.look_after();
    }

    /// Returns whether a thread serves, or will.
    #[inline]
    fn is_attended(&self) -> bool {
        T::IS_ATTENDED && self.attended.load(Order::RELAXED) != 0
    }

    /// The place of the calling thread, which attends.
    fn place(&self) -> &ThreadState {
        &self.roster.seat(T::CHAINS).own
    }

    /// Begins a call by the calling thread.
    #[inline]
    fn call(&self) -> Call<'_, ThreadState> {
        timed(Tallied::Places, Tallied::Finding, || {
            self.roster.call(T::CHAINS)
        })
    }

    /// Counts the place's thread among the users.
    #[inline]
    fn count(&self, place: &ThreadState) {
        if place.mine.used.load(Order::RELAXED) == 0 {
            place.mine.used.store(1, Order::RELAXED);
        }
        if place.mine.known.load(Order::RELAXED) == 0 {
            place.mine.known.store(1, Order::RELAXED);
            let votes = &self.votes;
            votes.users.fetch_add(1, Order::RELAXED);
            for (vote, sum) in [
                (&place.mine.bring, &votes.bring),
                (&place.mine.strict, &votes.strict),
            ] {
                if vote.is_cast() {
                    sum.fetch_add(1, Order::RELAXED);
                }
            }
        }
    }

    /// Measures contention from the last section, and votes.
    fn vote(&self, place: &ThreadState, at: u64) {
        let began = place.mine.began.load(Order::RELAXED);
        if began != 0 {
            let took = place.mine.took.load(Order::RELAXED) * u64::from(WHOLE);
            let share = (took / at.saturating_sub(began).max(1)).min(WHOLE.into()) as u32;
            let contention = u32::midpoint(place.mine.contention.load(Order::RELAXED), share);
            self.vote_on(place, contention);
        }
        place.mine.began.store(at, Order::RELAXED);
    }

    fn vote_on(&self, place: &ThreadState, contention: u32) {
        let (these, votes) = (&self.thresholds, &self.votes);
        place.mine.contention.store(contention, Order::RELAXED);
        place
            .mine
            .bring
            .cast(contention, these.brings, these.boundary, &votes.bring);
        if T::POLICY == Policy::ServingFirst {
            let strict = if mutant(policy::IGNORE_SHARE) {
                0
            } else {
                these.strict
            };
            place
                .mine
                .strict
                .cast(contention, strict, these.boundary, &votes.strict);
        }
    }

    /// Counts a section with an uncontended acquisition.
    #[inline]
    fn was_free(&self, place: &ThreadState) {
        let contention = place.mine.contention.load(Order::RELAXED);
        if contention != 0 || place.mine.bring.is_cast() {
            self.vote_on(place, contention / 2);
        }
        if place.mine.began.load(Order::RELAXED) != 0 {
            place.mine.began.store(0, Order::RELAXED);
        }
    }

    /// Recounts the users and their votes if the last census is old; drops threads that did not use
    /// the lock since. The caller holds the lock.
    #[inline]
    fn take_census(&self, now: u64) {
        // Another thread's time may be later.
        let counted = self.votes.counted.load(Order::RELAXED);
        let is_due = now.saturating_sub(counted) > CENSUS_NANOSECONDS;
        if is_due && !mutant(policy::KEEP_USERS) {
            self.votes.counted.store(now, Order::RELAXED);
            self.count_again();
        }
    }

    #[cold]
    fn count_again(&self) {
        let (mut users, mut bring, mut strict) = (0, 0, 0);
        for seat in self.roster.seats() {
            let place = &seat.own;
            if place.mine.used.swap(0, Order::RELAXED) != 0 {
                users += 1;
                bring += u32::from(place.mine.bring.is_cast());
                strict += u32::from(place.mine.strict.is_cast());
            } else {
                place.mine.known.store(0, Order::RELAXED);
            }
        }
        self.votes.count(users, bring, strict);
    }

    /// Returns whether servers serve only their own NUMA node, and threads that use the lock
    /// little.
    fn is_strict(&self) -> bool {
        match T::POLICY {
            Policy::Flat => false,
            Policy::DistanceFirst => true,
            Policy::ServingFirst => self.votes.carry(&self.votes.strict),
        }
    }

    /// The server preference of the place's thread, as its seat announces it.
    fn keeps(place: &ThreadState) -> u32 {
        let keeps = match T::POLICY {
            Policy::Flat => false,
            Policy::DistanceFirst => true,
            Policy::ServingFirst => place.mine.strict.is_cast(),
        };
        if keeps {
            1 + cohort(Level::Numa) as u32
        } else {
            0
        }
    }

    /// Acquires the lock if it is free and not reserved for a serving thread.
    #[inline]
    fn try_hold(&self) -> Option<Kept<L>> {
        if self.is_attended() {
            return None;
        }
        self.try_acquire()
    }

    /// Acquires the lock if it is free.
    #[inline]
    fn try_acquire(&self) -> Option<Kept<L>> {
        if self.lock.is_locked() {
            return None;
        }
        let held = Kept::new();
        // SAFETY: a new context in a block, which goes from holder to holder; the releasing thread
        // frees the block, here and elsewhere.
        unsafe { self.lock.try_acquire(held.get()) }.then_some(held)
    }

    /// Runs the section in place. The caller holds the lock by that context; the call releases it.
    #[inline]
    fn run_in_place(&self, cx: &L::Context, place: &ThreadState, section: Section<'_>) {
        place.mine.holds.store(1, Order::RELAXED);
        // SAFETY: the lock excludes.
        unsafe { run(section) };
        self.end_in_place(cx, place);
    }

    /// Releases the lock after a section in place. The caller holds it by that context.
    #[inline]
    fn end_in_place(&self, cx: &L::Context, place: &ThreadState) {
        self.settle(cx);
        place.mine.holds.store(0, Order::RELAXED);
        // SAFETY: the caller holds it, by that context.
        unsafe { self.lock.release(cx) };
        fence(SANL_LOOK);
        if self.hand.asleep.load(Order::RELAXED) != 0 && !mutant(flaw::FORGET_ASLEEP) {
            self.look_after();
        }
    }

    /// Hands the lock to a poster, unless it is held: then its holder scans, too.
    #[cold]
    fn look_after(&self) {
        if let Some(held) = self.try_hold() {
            self.leave(held);
        }
    }

    /// Runs the section, serves others and leaves the lock. The caller holds it.
    fn serve(&self, held: Kept<L>, place: &ThreadState, section: Section<'_>) {
        place.mine.holds.store(1, Order::RELAXED);
        // SAFETY: the lock excludes.
        unsafe { run(section) };
        self.settle(held.get());
        if may_serve(flaw::SERVE_INSIDE) && self.thresholds.serves > 0 {
            self.serve_others(held.get(), place);
        }
        place.mine.holds.store(0, Order::RELAXED);
        self.leave(held);
    }

    fn serve_others(&self, cx: &L::Context, place: &ThreadState) {
        let node = match T::POLICY {
            Policy::Flat => 0,
            _ => cohort(Level::Numa),
        };
        tally(Tallied::Nominations, 1);
        let (began, moment) = (now(), tally_moment());
        let contention = place.mine.contention.load(Order::RELAXED);
        let idle = self.thresholds.idle.at(contention);
        let mut vain = 0;
        let most = if mutant(policy::SCAN_ON) {
            u32::MAX
        } else {
            self.thresholds.serves
        };
        for round in 1..=most {
            let mut found = false;
            // After a scan without a request of its node, the server serves all nodes.
            let strict = self.is_strict() && (vain == 0 || mutant(policy::STAY_IDLE));
            for seat in self.roster.seats() {
                if strict && keeps_from(seat, node) && !mutant(policy::SERVE_EVERY_NODE) {
                    continue;
                }
                tally(Tallied::Looks, 1);
                found |= self.serve_one(cx, &seat.own.request);
            }
            tally(Tallied::Passes, 1);
            vain = if found { vain.max(1) - 1 } else { vain + 1 };
            // Not every round, since a clock takes as long as some sections.
            let late = round.is_multiple_of(8)
                && now() - began > SERVES_NANOSECONDS
                && !mutant(policy::SERVE_LONG);
            if vain > idle && !mutant(policy::SERVE_ON) || late {
                break;
            }
        }
        tally(Tallied::Serving, tally_moment() - moment);
        self.take_census(began);
    }

    /// Runs the section of that request, if it is posted; returns whether it was. The caller holds
    /// the lock by that context.
    #[inline]
    fn serve_one(&self, cx: &L::Context, request: &Request) -> bool {
        // SAFETY: the caller holds the lock.
        let Some(section) = (unsafe { request.take::<P>() }) else {
            return false;
        };
        let process = generation();
        // SAFETY: the lock excludes.
        unsafe { run(section) };
        tally(Tallied::Served, 1);
        if generation() == process {
            request.answer::<P>();
        } else {
            // Its poster is in the parent; the place may already have another thread.
            self.settle(cx);
        }
        true
    }

    /// Hands the lock over, or releases it and makes sure that posted requests are served. The
    /// caller holds it.
    fn leave(&self, held: Kept<L>) {
        let context = ptr::from_ref(held.get()).cast_mut();
        loop {
            let consecutive = self.hand.consecutive.load(Order::RELAXED);
            let may = consecutive < MOST_CONSECUTIVE || mutant(policy::HAND_ON);
            if may && !self.is_attended() {
                let next = consecutive.saturating_add(1);
                self.hand.consecutive.store(next, Order::RELAXED);
                self.hand.in_hand.store(context, Order::RELAXED);
                if self.hand_on() {
                    tally(Tallied::HandOvers, 1);
                    // The receiver owns the context now.
                    let _ = held.into_raw();
                    return;
                }
            }
            self.hand.consecutive.store(0, Order::RELAXED);
            // SAFETY: the caller holds it, by that context.
            unsafe { self.lock.release(held.get()) };
            fence(SANL_LOOK);
            let posted = || self.roster.seats().any(|seat| seat.own.request.is_posted());
            // SAFETY: the context has just released the lock, and is the caller's.
            let takes = || unsafe { self.lock.try_acquire(held.get()) };
            if mutant(flaw::FORGET_POSTED) || self.is_attended() || !posted() || !takes() {
                return;
            }
        }
    }

    /// Hands the lock to a poster, and returns whether there was one. Prefers posters that wait for
    /// a server of another node, and goes round the nodes.
    fn hand_on(&self) -> bool {
        let hands = |seat: &Seat<ThreadState>| seat.own.request.hand::<P>();
        if T::POLICY != Policy::Flat {
            let here = cohort(Level::Numa);
            // Distance in node numbers to the server that the seat's thread requests; 0 for any
            // server and for this node's.
            let beyond = |seat: &Seat<ThreadState>| match seat.says() as usize {
                0 => 0,
                keeps => (keeps + NODES - 1 - here % NODES) % NODES,
            };
            // Reads requests one node at a time, since each read may move a line.
            let mut passed = 0;
            loop {
                let further = self
                    .roster
                    .seats()
                    .map(beyond)
                    .filter(|next| *next > passed);
                let Some(next) = further.min() else { break };
                if self
                    .roster
                    .seats()
                    .any(|seat| beyond(seat) == next && hands(seat))
                {
                    return true;
                }
                passed = next;
            }
        }
        self.roster.seats().any(hands)
    }

    /// Delegates the section, or serves.
    fn bring(
        &self,
        seat: &Seat<ThreadState>,
        section: Section<'_>,
        patience: Option<&Patience>,
    ) -> Outcome {
        let place = &seat.own;
        let mut section = section;
        if let Some(held) = self.try_hold() {
            let again = mutant(flaw::POST_AGAIN).then(|| twice(&section));
            self.serve(held, place, section);
            let Some(again) = again else {
                return Outcome::Acquired;
            };
            section = again;
        }
        let again = mutant(flaw::UPGRADE_SERVED).then(|| twice(&section));
        seat.say(Self::keeps(place));
        // SAFETY: the place is this thread's, which waits for the end below.
        unsafe { place.request.post(section, patience.is_some()) };
        let held = match self.wait(seat, patience) {
            Ended::GaveUp => return Outcome::GaveUp,
            Ended::Served => return Outcome::Acquired,
            Ended::Holding(held) => held,
        };
        // SAFETY: this thread posted it, and holds the lock.
        match unsafe { place.request.take_back() }.or(again) {
            Some(_) if mutant(flaw::LOSE_RESULT) => self.leave(held),
            Some(section) => self.serve(held, place, section),
            None => self.leave(held),
        }
        Outcome::Acquired
    }

    /// Waits until the request has been served, the calling thread holds the lock, or patience runs
    /// out.
    fn wait(&self, seat: &Seat<ThreadState>, patience: Option<&Patience>) -> Ended<L> {
        let request = &seat.own.request;
        let mut spinner = Spinner::new();
        let mut until = None;
        loop {
            match request.told() {
                Some(Told::Served) => return Ended::Served,
                Some(Told::Handed) => return Ended::Holding(self.receive()),
                None => {}
            }
            if let Some(held) = self.try_hold() {
                return Ended::Holding(held);
            }
            let limit = if let Some(patience) = patience {
                if request.gives_up::<P>(patience) {
                    return Ended::GaveUp;
                }
                *patience
            } else {
                let waits = self.thresholds.waits;
                let late = *until.get_or_insert_with(|| now().saturating_add(waits));
                if late != u64::MAX && now() >= late && !mutant(policy::WAIT_ON) {
                    if let Some(ended) = self.queue(seat) {
                        return ended;
                    }
                    // Another thread of this node queues.
                    until = Some(now().saturating_add(waits));
                }
                match until.unwrap_or(late) {
                    u64::MAX => Patience::ENDLESS,
                    late => Patience::until(Deadline::monotonic(late)),
                }
            };
            if spinner.step() == Advice::Again {
                continue;
            }
            if P::MAY_SLEEP {
                self.sleep(request, &limit);
            } else {
                spinner.insist();
            }
        }
    }

    /// Queues for the lock, unless another thread already queues to serve the same node.
    fn queue(&self, seat: &Seat<ThreadState>) -> Option<Ended<L>> {
        let keeps = seat.says() as usize;
        let gate = match keeps {
            0 => 0,
            _ => 1 << ((keeps - 1) % NODES),
        };
        if self.gates.load(Order::RELAXED) & gate != 0
            || gate != 0 && self.gates.fetch_or(gate, Order::RELAXED) & gate != 0
        {
            return None;
        }
        let open = || {
            if gate != 0 {
                self.gates.fetch_and(!gate, Order::RELAXED);
            }
        };
        if !mutant(flaw::HAND_TO_QUEUED) && !seat.own.request.queue() {
            // It was served or handed the lock meanwhile.
            open();
            return None;
        }
        // From here on, a server of any node may run it.
        seat.say(0);
        let held = Kept::new();
        // SAFETY: a new context, as in `try_acquire`.
        unsafe { self.lock.acquire(held.get()) };
        open();
        Some(Ended::Holding(held))
    }

    /// The context of the lock handed to the calling thread.
    fn receive(&self) -> Kept<L> {
        let context = self.hand.in_hand.load(Order::RELAXED);
        // SAFETY: the thread that handed the lock over stored it there, and gave up its ownership.
        let held: Kept<L> = unsafe { Kept::from_raw(ptr::NonNull::new_unchecked(context)) };
        if mutant(flaw::LOCK_TWICE) {
            // SAFETY: none: this is the flaw.
            unsafe { self.lock.acquire(Kept::<L>::new().get()) };
        }
        held
    }

    /// Sleeps until the request is answered, or patience runs out.
    fn sleep(&self, request: &Request, patience: &Patience) {
        self.hand.asleep.fetch_add(1, Order::RELAXED);
        fence_after_update(SANL_LOOK);
        if self.lock.is_locked() || self.is_attended() {
            request.wait::<P>(patience);
        }
        self.hand.asleep.fetch_sub(1, Order::RELAXED);
    }

    /// Makes the lock usable in this process; every call starts with it.
    #[inline]
    fn come(&self) {
        if !self.generation.is_settled() {
            self.come_first(None);
        }
    }

    /// Makes an inherited lock usable in this process, and returns whether it is. Waits, within its
    /// patience, while a section of the parent's is unfinished.
    #[cold]
    fn come_first(&self, patience: Option<&Patience>) -> bool {
        let mut spinner = Spinner::new();
        while !self.generation.is_settled() {
            // The section is the forking thread's, which settles at its end; or another thread's,
            // and never ends.
            if !self.roster.seats().all(|seat| seat.own.is_left()) {
                if patience.is_some_and(runs_out) {
                    return false;
                }
                spinner.turn();
                continue;
            }
            self.generation.settle(|| self.inherit(None));
        }
        true
    }

    /// Makes the lock usable at the end of a section that may have forked. Its thread holds the
    /// lock by that context.
    #[inline]
    fn settle(&self, cx: &L::Context) {
        self.generation.settle(|| self.inherit(Some(cx)));
    }

    /// Drops every thread but the holder.
    fn inherit(&self, holder: Option<&L::Context>) {
        if !mutant(flaw::KEEP_QUEUE) {
            // SAFETY: the others are not of this process, and threads of this process wait until
            // this is done; the holder's context is the caller's.
            unsafe { self.lock.inherit(holder) };
        }
        for seat in self.roster.seats() {
            if !mutant(flaw::KEEP_POSTED) {
                seat.own.request.renew();
            }
            seat.own.forget();
        }
        self.gates.store(0, Order::RELAXED);
        self.votes.forget();
        self.hand.asleep.store(0, Order::RELAXED);
        self.hand.consecutive.store(0, Order::RELAXED);
        self.attended.store(0, Order::RELAXED);
    }
}

/// Copies a section, to run it twice: for flaws.
fn twice(section: &Section<'_>) -> Section<'static> {
    // SAFETY: none: this is a flaw. Models look for its effect on a section's memory, which
    // outlives the thread there.
    unsafe { ptr::read(section).outliving() }
}

// SAFETY: sections run in the holder of a lock that excludes. The thread that runs a section takes
// it out of its request and answers there; the poster waits for that.
unsafe impl<L: Served, T: Tuning, P: Parking> Delegate for Sanl<L, T, P> {
    type Context = L::Context;

    fn run(&self, cx: &mut L::Context, section: Section<'_>) {
        self.come();
        let call = self.call();
        let place = &call.own;
        self.count(place);
        let carried = self.votes.carry(&self.votes.bring);
        let in_place = !carried && !self.votes.are_brought();
        // SAFETY: a call has its context for itself, and releases the lock before it returns; so
        // for all below.
        if in_place && !self.lock.is_locked() && unsafe { self.lock.try_acquire(cx) } {
            self.was_free(place);
            return self.run_in_place(cx, place, section);
        }
        let at = timed(Tallied::Clocks, Tallied::Asking, now);
        timed(Tallied::Votes, Tallied::Voting, || self.vote(place, at));
        let bring = self.votes.follow(carried, at);
        tally_state(Tallied::ModeSwitches, ptr::from_ref(self).addr(), bring);
        if bring {
            let _ = self.bring(&call, section, None);
        } else {
            // SAFETY: as above.
            unsafe { self.lock.acquire(cx) };
            self.take_census(at);
            self.run_in_place(cx, place, section);
        }
        let ended = timed(Tallied::Clocks, Tallied::Asking, now);
        place.mine.took.store(ended - at, Order::RELAXED);
    }

    fn run_here(&self, cx: &mut L::Context, section: Section<'_>) {
        self.run_here_once(cx, section, || ());
    }
}

// SAFETY: as above.
unsafe impl<L: Served, T: Tuning, P: Parking> TryDelegate for Sanl<L, T, P> {
    fn try_run(&self, cx: &mut L::Context, section: Section<'_>) -> bool {
        if !self.generation.is_settled() && !self.come_first(Some(&Patience::NONE)) {
            return false;
        }
        let call = self.call();
        let place = &call.own;
        // SAFETY: as above.
        let free = unsafe { self.lock.try_acquire(cx) };
        if free {
            self.run_in_place(cx, place, section);
        }
        free
    }
}

// SAFETY: as above; a section that was taken back is out of the servers' reach.
unsafe impl<L: Served, T: Tuning, P: Parking> AbortableDelegate for Sanl<L, T, P> {
    /// Posts the section whatever the votes are, since waiters in the lock's own queue cannot give
    /// up. Its poster acquires the lock only if it finds it free or receives it. Under in-place
    /// waiters it may wait long.
    fn run_within(&self, _: &mut L::Context, section: Section<'_>, patience: &Patience) -> Outcome {
        if !self.generation.is_settled() && !self.come_first(Some(patience)) {
            return Outcome::GaveUp;
        }
        self.bring(&self.call(), section, Some(patience))
    }
}

// SAFETY: as above.
unsafe impl<L: Served, T: Tuning, P: Parking> StepsDown for Sanl<L, T, P> {
    type Turn = Turn<L>;

    fn take_turn(&self) -> Turn<L> {
        self.lock()
    }

    unsafe fn end_turn(&self, turn: Turn<L>) {
        // SAFETY: the caller's.
        unsafe { self.unlock(turn) };
    }
}

// SAFETY: as above.
unsafe impl<L: Served, T: Tuning, P: Parking> TriesTurn for Sanl<L, T, P> {
    fn try_turn(&self) -> Option<Turn<L>> {
        self.try_lock()
    }
}

impl<L: Served, T: Tuning, P: Parking> Drop for Sanl<L, T, P> {
    fn drop(&mut self) {
        self.roster.settle();
    }
}

impl<L, T: Tuning> super::InTwoForms for Sanl<L, T, MayPark>
where
    L: Served + TwoForms<Spinning: Served>,
{
    type Spinning = Sanl<L::Spinning, T, SpinOnly>;
}
