//! `sanl`: threads take a lock and run their sections in place while it is little wanted, and
//! vote to bring them to one of them, the server, while it is much wanted (Zhang et al. 2017
//! §3).
//!
//! **Not for** sections that wait for other threads, which may be those that they wait for
//! (`run_here` is); nor where one or two threads at a time want the lock, which `mcs` serves as
//! well without a vote.
//!
//! | field | meaning | written by |
//! |---|---|---|
//! | `lock` | whose holder runs sections: its own, or as the server those of others too | its queue |
//! | `attended` | of [`rcl`](super::rcl): whether a thread serves, or is to have the lock for that next: 1, or 0 if not | that thread |
//! | `in_hand` | the context by which it is held, where it is being handed on | the holder |
//! | `consecutive` | how often it was handed on since it was last released | the holder |
//! | `asleep` | posters that sleep, or are about to | they |
//! | `votes` | how many users there are, how they vote, and since when sections are brought | voters; each census |
//! | `generation` | the process in which it was last used | the first thread of a child to come, or its holder |
//! | `gates` | a bit for each NUMA node one of whose threads queues in `lock` to become its server | that thread |
//! | a place's `request` | see [`request`](super::request) | its thread, and the holder |
//! | what a seat `says` | whether its request is for servers of its own node: 1 plus the node; 0 if not | its thread |
//! | a place's `holds` | whether its thread runs sections: 1, or 0 if not | its thread |
//! | a place's `busy` | see [`roster`](super::roster) | its thread |
//! | the rest of a place | what its thread has found, and how it votes | its thread; `known` and `used` each census too |
//!
//! A thread that brings its section posts it by one store, and waits for the answer.  Meanwhile it
//! takes the lock if it finds that free; queues for it after `T_w`; or is handed it.  The thread
//! that has it so is the server: it goes through all places, `T_s` times or for a millisecond
//! at most, and leaves sooner if it has found nothing more than `L_s` times.  It hands the lock on
//! to a thread that has posted, if there is one, with the context by which it is held,
//! `MOST_CONSECUTIVE` times in a row; then it releases it, for the threads that queue.  A thread that has released
//! the lock looks for sections that were posted meanwhile, and takes it once more to hand it on: a server
//! always, others only if somebody sleeps.  A store, a fence and a look on both sides: the
//! poster finds the lock free, or the thread that left it finds the poster.
//!
//! What differs from the printed algorithms, and why:
//!
//! | Zhang et al. 2017 | here |
//! |---|---|
//! | `C_l` from Algorithm 3's lines 1 and 25, by each section | the same, wait included, in 1024ths; a thread that finds the lock free counts it as not wanted, without asking a clock |
//! | `Boundary`, no default given | 4 |
//! | §4.1: `θ_l` 17 % and 6 %, `θ_f` 56 % and 40 %, by machine | 10 % and 48 %, between them, unless `cohort tune sanl` has found others |
//! | §3.1: `C_g` and `N` of all threads | of this lock's users of late: a census every 10 ms leaves out those that have not come; one user alone never brings its sections |
//! | Fig. 4: an array of 256 places for each CPU, one Id manager | a [`Roster`]: places for the threads that use this lock |
//! | Alg. 2, 7: `code` stays set during a section, which the next server may run again in a conditional wait | a section is moved out of its request before it runs; there is no conditional wait |
//! | Alg. 3, 9 to 10: a client that has been its own server posts its request again | it returns: its section is gone, as the type says |
//! | Alg. 3, 19 to 26: `context` is returned in place of its own result | results are written by the section itself |
//! | Alg. 3, 22 to 24: a client that was served upgrades all the same | it serves nobody, and leaves |
//! | Alg. 2, 19 and Alg. 3, 7: the lock is handed over and locked once more | it is handed over locked, by an exchange that a client which queues, or has given up, refuses |
//! | `Q`: a list with a lock, of one client for each node | the posters are found in their places, those of the next nodes first; one of each node queues in `lock` |
//! | Alg. 3, 17: after `T_w`, tries alone | queues: tries starve behind those that wait in place |
//! | Alg. 1: the votes alone decide | a mode that was left in vain is kept longer: see `Votes::follow` |
//! | §3.3.1: under high contention a server serves its own node | the same, and all nodes after a pass without a request of its node |
//! | Alg. 2, 16: `T_s` bounds rounds | and time, to a millisecond |
//! | `L_s` by a fitted quadratic of 1/C_l, given as a figure | 2 + 2/C_l, 1000 at most, unless `cohort tune sanl` has fitted another |
//! | `T_w` counts polls: 10,000 | time: 100 µs |
//!
//! The child of a fork goes on with a lock that no thread was using, or whose section forked in
//! place (`run_here`): it drops what its parent's other threads had posted, and that they queued.
//! If another thread ran a section, the child waits for it for ever, as it would for a mutex.
//! That a fork in a section that a server runs goes as well is meant, and not checked.

use super::request::{Request, Told};
use super::roster::{CHAINS, Call, Roster, Seat, Seated};
use super::{may_serve, run, timed};
use crate::basic::Mcs;
use crate::context::Kept;
use crate::door::{
    Advice, AtomicPtr, AtomicU32, AtomicU64, Level, NODES, Order, Spinner, Tallied, cohort, fence,
    fence_after_update, flaws, generation, mutant, now, orders, policies, pool, runs_out, tally,
    tally_moment, tally_state,
};
use crate::host::{Generation, Pool, Served};
use crate::wait::{MayPark, Parking, SpinOnly};
use cohort_raw::{
    AbortableDelegate, Deadline, Delegate, Outcome, Patience, Section, Thresholds, TryDelegate,
    Tunable, TwoForms, WHOLE,
};
use core::fmt;
use core::marker::PhantomData;
use core::ptr;

orders! {
    /// A section that is posted, or a lock that is left, comes before the look at the other.
    SANL_LOOK = SeqCst;
}

flaws! {
    FORGET_ASLEEP = "sanl.forget-asleep";
    FORGET_POSTED = "sanl.forget-posted";
    /// Zhang et al. 2017, algorithm 3, lines 9 and 10.
    POST_AGAIN = "sanl.post-again";
    /// Zhang et al. 2017, algorithm 3, lines 19 to 26.
    LOSE_RESULT = "sanl.lose-result";
    /// Zhang et al. 2017, algorithm 3, lines 22 to 24.
    UPGRADE_SERVED = "sanl.upgrade-served";
    /// Zhang et al. 2017, algorithm 2, line 19, and 3, line 7.
    LOCK_TWICE = "sanl.lock-twice";
    HAND_TO_QUEUED = "sanl.hand-to-queued";
    KEEP_POSTED = "sanl.keep-posted";
    KEEP_QUEUE = "sanl.keep-queue";
    /// A server that is in a section of another lock runs those of others here.
    SERVE_INSIDE = "sanl.serve-inside";
}

policies! {
    /// No vote brings sections.
    CARRY_NOTHING = "sanl.carry-nothing";
    /// A vote changes at the first sight of another contention, whatever `Boundary` is.
    VOTE_AT_ONCE = "sanl.vote-at-once";
    /// Every contention is above `θ_f`.
    IGNORE_SHARE = "sanl.ignore-share";
    /// Servers run the sections of every node.
    SERVE_EVERY_NODE = "sanl.serve-every-node";
    /// A server that finds nothing goes on, whatever `L_s` is.
    SERVE_ON = "sanl.serve-on";
    /// Servers serve their own node alone, also while it posts nothing.
    STAY_IDLE = "sanl.stay-idle";
    /// Sections run in place as soon as the votes say so, however often that was undone.
    RETURN_AT_ONCE = "sanl.return-at-once";
}

/// How often the lock is handed on before the threads that queue for it have a turn.  Once would be too
/// few: that may go to another node each time, while threads that share a node, one of which queues at a
/// time, wait for ever (the model under Spin).
const MOST_CONSECUTIVE: u32 = 4;

/// From one census of a lock's users to the next.
const CENSUS_NANOSECONDS: u64 = 10_000_000;

/// For how long a server serves at most.
const SERVES_NANOSECONDS: u64 = 1_000_000;

/// The longest time of delegation against the votes: under a steady load the mode changes once a second.
const LONGEST_STAY_NANOSECONDS: u64 = 2_000_000_000;

/// Which threads a server has time for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// For every thread.
    Flat,
    /// For those of their own NUMA node (Zhang et al. 2017 §3.3).
    DistanceFirst,
    /// For every thread; while the lock is wanted so much that they have no time for all, for those
    /// of their own NUMA node, and others that want it less (Zhang et al. 2017 §3.3.1).
    ServingFirst,
}

/// What is fixed of a lock when it is made.
pub trait Tuning: Send + Sync + 'static {
    /// Its NUMA policy.
    const POLICY: Policy;
    /// The thresholds that it begins with.
    const THRESHOLDS: Thresholds = Thresholds::USUAL;
    /// Among how many chains it looks for a thread's place.
    const CHAINS: usize = CHAINS;
    /// Whether a thread may [attend](cohort_raw::Attended): nobody else takes the lock meanwhile to
    /// serve.
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

/// A vote and how near it is to changing (Zhang et al. 2017, algorithm 1).
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

    /// Votes on contention; the sum of all votes follows.
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

/// How the users of a lock vote.  A thread may come while a census counts: what one of the two
/// loses, the next census finds.
///
/// | field | meaning |
/// |---|---|
/// | `users` | threads that have come of late |
/// | `bring` | those of them that would bring their sections |
/// | `strict` | those that find the lock so much wanted that each node should have a server in turn |
/// | `counted` | when the last census was |
/// | `brought` | since when sections are brought; 0: they run in place |
/// | `stay` | how long they are brought at least |
/// | `lasted` | how long they were brought the last time |
/// | `left` | when that ended |
#[derive(Debug, Default)]
#[repr(C, align(64))]
struct Votes {
    users: AtomicU32,
    bring: AtomicU32,
    strict: AtomicU32,
    counted: AtomicU64,
    brought: AtomicU64,
    stay: AtomicU64,
    lasted: AtomicU64,
    left: AtomicU64,
}

impl Votes {
    /// Whether more than half of the users, of which there are several, have cast such a vote.
    #[inline]
    fn carry(&self, votes: &AtomicU32) -> bool {
        let users = self.users.load(Order::RELAXED);
        // A sum that was counted anew may be one less than none for a moment.
        let votes = votes.load(Order::RELAXED).cast_signed();
        let carried = users > 1 && i64::from(votes) * 2 > i64::from(users);
        carried && !mutant(policy::CARRY_NOTHING)
    }

    /// Whether sections are brought.
    #[inline]
    fn are_brought(&self) -> bool {
        self.brought.load(Order::RELAXED) != 0
    }

    /// Changes the mode as the votes say; whether sections are brought from now on.
    ///
    /// Delegation shortens waits, so that threads vote against it; in-place waits are long, and they vote
    /// for it.  Some loads would alternate for ever.  If an in-place period is shorter than the
    /// delegation period before it, the next delegation period lasts at least twice as long.
    fn follow(&self, carried: bool, now: u64) -> bool {
        let since = self.brought.load(Order::RELAXED);
        let changes = |to| {
            self.brought
                .compare_exchange(since, to, Order::RELAXED, Order::RELAXED)
                .is_ok()
        };
        if carried && since == 0 {
            if changes(now.max(1)) {
                let before = self.lasted.load(Order::RELAXED);
                let is_undone = now.saturating_sub(self.left.load(Order::RELAXED)) < before;
                let stay = self.stay.load(Order::RELAXED).max(before) * 2;
                let stay = if is_undone { stay } else { 0 };
                self.stay
                    .store(stay.min(LONGEST_STAY_NANOSECONDS), Order::RELAXED);
            }
            return true;
        }
        if carried || since == 0 {
            return carried;
        }
        let lasted = now.saturating_sub(since);
        let stays = lasted < self.stay.load(Order::RELAXED) && !mutant(policy::RETURN_AT_ONCE);
        // A single user serves itself without waiting.
        if stays && self.users.load(Order::RELAXED) > 1 {
            return true;
        }
        if changes(0) {
            self.left.store(now, Order::RELAXED);
            self.lasted.store(lasted, Order::RELAXED);
        }
        false
    }

    /// Forgets how sections ran.
    fn forget(&self) {
        self.count(0, 0, 0);
        for time in [&self.brought, &self.stay, &self.lasted, &self.left] {
            time.store(0, Order::RELAXED);
        }
    }

    fn count(&self, users: u32, bring: u32, strict: u32) {
        self.users.store(users, Order::RELAXED);
        self.bring.store(bring, Order::RELAXED);
        self.strict.store(strict, Order::RELAXED);
    }
}

/// What the lock keeps for a thread.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Place {
    request: Request,
    mine: Mine,
}

/// What servers do not look at; on lines of its own.
#[derive(Debug, Default)]
#[repr(C, align(64))]
struct Mine {
    busy: AtomicU32,
    holds: AtomicU32,
    /// Contention as this thread finds it, in 1024ths of its time.
    contention: AtomicU32,
    /// Whether it has come since the last census, and whether it is among the users.
    used: AtomicU32,
    known: AtomicU32,
    bring: Vote,
    strict: Vote,
    /// When its last section but this was brought, and how long that took; 0: not known.
    began: AtomicU64,
    took: AtomicU64,
}

pool! {
    /// Places of all such locks.
    static PLACES: Seat<Place>, placed
}

/// Bytes of all of them made so far.
pub(super) fn pool_bytes() -> usize {
    PLACES.bytes()
}

impl Seated for Place {
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

impl Place {
    /// Makes it one of a thread that has found nothing yet.
    fn forget(&self) {
        self.mine.contention.store(0, Order::RELAXED);
        self.mine.known.store(0, Order::RELAXED);
        self.mine.began.store(0, Order::RELAXED);
        self.mine.bring.begin();
        self.mine.strict.begin();
    }
}

/// Whether a server of that node is not to run the section of that seat's thread.
#[inline]
fn keeps_from(seat: &Seat<Place>, node: usize) -> bool {
    let keeps = seat.says();
    keeps != 0 && keeps as usize != 1 + node
}

/// How a poster's wait ends.
enum Ended<L: Served> {
    /// Its section has been run.
    Served,
    /// It has the lock.
    Holding(Kept<L>),
    /// It has given up.
    GaveUp,
}

/// What changes at every hand-over, which all that wait would see on the line of the lock.
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

/// The lock, of which another one is a part.
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
    roster: Roster<Place>,
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

/// [`Sanl`] whose threads wait for a server of their own node.
///
/// ```
/// use cohort::{Delegated, delegation::SanlDistanceFirst};
///
/// let total: Delegated<u64, SanlDistanceFirst> = Delegated::from(1);
/// total.run(|total| *total += 1);
/// assert_eq!(total.run(|total| *total), 2);
/// ```
pub type SanlDistanceFirst = Sanl<Mcs, DistanceFirst>;

impl<L: Served, T: Tuning, P: Parking> Default for Sanl<L, T, P> {
    fn default() -> Self {
        Self::with(&T::THRESHOLDS)
    }
}

impl<L: Served, T: Tuning, P: Parking> Tunable for Sanl<L, T, P> {
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
    /// [`run`](Delegate::run), but the section is brought to a server, or served with others,
    /// however the threads vote.
    pub fn run_by_server(&self, section: Section<'_>) {
        self.come();
        let _ = self.bring(&self.call(), section, None);
    }

    /// [`run_here`](Delegate::run_here), with `acquired` before the section.
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

    /// From here on nobody takes the lock to run what was brought, but the calling thread; whether
    /// it is the only one that does.
    pub(super) fn announce(&self) -> bool {
        self.come();
        let free = self.attended.load(Order::RELAXED) == 0;
        free && self.attended.swap(1, Order::RELAXED) == 0
    }

    /// The lock, to serve others, if it is free.  The calling thread has announced that.
    pub(super) fn try_attend(&self) -> Option<Kept<L>> {
        let held = self.try_acquire()?;
        self.place().mine.holds.store(1, Order::RELAXED);
        Some(held)
    }

    /// Runs what is posted, once round; whether anything was.  The caller has the lock by that
    /// context.
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

    /// Lets threads go first that queue for the lock.  The caller has announced that it serves,
    /// and has the lock.
    pub(super) fn let_go(&self, held: Kept<L>) {
        self.place().mine.holds.store(0, Order::RELAXED);
        // SAFETY: the caller has it, by that context.
        unsafe { self.lock.release(held.get()) };
    }

    /// The calling thread, which has announced that it serves, does no longer.  It does not have
    /// the lock.
    pub(super) fn renounce(&self) {
        self.attended.store(0, Order::RELAXED);
        fence(SANL_LOOK);
        self.look_after();
    }

    /// Whether a thread serves, or will.
    #[inline]
    fn is_attended(&self) -> bool {
        T::IS_ATTENDED && self.attended.load(Order::RELAXED) != 0
    }

    /// The place of the calling thread, which attends.
    fn place(&self) -> &Place {
        &self.roster.seat(T::CHAINS).own
    }

    /// Begins a call of the calling thread.
    #[inline]
    fn call(&self) -> Call<'_, Place> {
        timed(Tallied::Places, Tallied::Finding, || {
            self.roster.call(T::CHAINS)
        })
    }

    /// Counts the thread of that place among the users.
    #[inline]
    fn count(&self, place: &Place) {
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

    /// Learns from the last section, and votes.
    fn vote(&self, place: &Place, at: u64) {
        let began = place.mine.began.load(Order::RELAXED);
        if began != 0 {
            let took = place.mine.took.load(Order::RELAXED) * u64::from(WHOLE);
            let share = (took / at.saturating_sub(began).max(1)).min(WHOLE.into()) as u32;
            let contention = u32::midpoint(place.mine.contention.load(Order::RELAXED), share);
            self.vote_on(place, contention);
        }
        place.mine.began.store(at, Order::RELAXED);
    }

    fn vote_on(&self, place: &Place, contention: u32) {
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

    /// Counts the section of a thread that found the lock free.
    #[inline]
    fn was_free(&self, place: &Place) {
        let contention = place.mine.contention.load(Order::RELAXED);
        if contention != 0 || place.mine.bring.is_cast() {
            self.vote_on(place, contention / 2);
        }
        if place.mine.began.load(Order::RELAXED) != 0 {
            place.mine.began.store(0, Order::RELAXED);
        }
    }

    /// Counts the users and their votes again, without those that have not come since the last
    /// time, if that is long ago.  The caller has the lock.
    #[inline]
    fn take_census(&self, now: u64) {
        // Another thread's time may be later.
        let counted = self.votes.counted.load(Order::RELAXED);
        if now.saturating_sub(counted) > CENSUS_NANOSECONDS {
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

    /// Whether servers are for their own NUMA nodes, but for threads that want the lock little.
    fn is_strict(&self) -> bool {
        match T::POLICY {
            Policy::Flat => false,
            Policy::DistanceFirst => true,
            Policy::ServingFirst => self.votes.carry(&self.votes.strict),
        }
    }

    /// Which servers are to run the sections of that place, as its seat says it.
    fn keeps(place: &Place) -> u32 {
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

    /// The lock, if it is free, and no thread is to have it to serve.
    #[inline]
    fn try_hold(&self) -> Option<Kept<L>> {
        if self.is_attended() {
            return None;
        }
        self.try_acquire()
    }

    /// The lock, if it is free.
    #[inline]
    fn try_acquire(&self) -> Option<Kept<L>> {
        if self.lock.is_locked() {
            return None;
        }
        let held = Kept::new();
        // SAFETY: a new context in a block, which goes from holder to holder; as of all blocks here, the
        // one that releases the lock gives it back.
        unsafe { self.lock.try_acquire(held.get()) }.then_some(held)
    }

    /// Runs the section in place.  The caller has the lock by that context, which is released.
    #[inline]
    fn run_in_place(&self, cx: &L::Context, place: &Place, section: Section<'_>) {
        place.mine.holds.store(1, Order::RELAXED);
        // SAFETY: the lock excludes.
        unsafe { run(section) };
        self.settle(cx);
        place.mine.holds.store(0, Order::RELAXED);
        // SAFETY: the caller has it, by that context.
        unsafe { self.lock.release(cx) };
        fence(SANL_LOOK);
        if self.hand.asleep.load(Order::RELAXED) != 0 && !mutant(flaw::FORGET_ASLEEP) {
            self.look_after();
        }
    }

    /// Hands the lock to a thread that has posted, unless another has it and will look, too.
    #[cold]
    fn look_after(&self) {
        if let Some(held) = self.try_hold() {
            self.leave(held);
        }
    }

    /// Runs the section and serves others.  The caller has the lock.
    fn serve(&self, held: Kept<L>, place: &Place, section: Section<'_>) {
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

    fn serve_others(&self, cx: &L::Context, place: &Place) {
        let node = match T::POLICY {
            Policy::Flat => 0,
            _ => cohort(Level::Numa),
        };
        tally(Tallied::Nominations, 1);
        let (began, moment) = (now(), tally_moment());
        let contention = place.mine.contention.load(Order::RELAXED);
        let idle = self.thresholds.idle.at(contention);
        let mut vain = 0;
        for round in 1..=self.thresholds.serves {
            let mut found = false;
            // After a pass without a request of its node, the server has time for all nodes.
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
            // Now and then, since a clock takes as long as some sections.
            let late = round.is_multiple_of(8) && now() - began > SERVES_NANOSECONDS;
            if vain > idle && !mutant(policy::SERVE_ON) || late {
                break;
            }
        }
        tally(Tallied::Serving, tally_moment() - moment);
        self.take_census(began);
    }

    /// Runs what is posted there; whether anything was.  The caller has the lock by that context.
    #[inline]
    fn serve_one(&self, cx: &L::Context, request: &Request) -> bool {
        // SAFETY: the caller has the lock.
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
            // Its poster is in the parent; the place may be another thread's already.
            self.settle(cx);
        }
        true
    }

    /// Hands the lock on, or releases it, and sees to it that what is posted will be run.  The
    /// caller has it.
    fn leave(&self, held: Kept<L>) {
        let context = ptr::from_ref(held.get()).cast_mut();
        loop {
            let consecutive = self.hand.consecutive.load(Order::RELAXED);
            if consecutive < MOST_CONSECUTIVE && !self.is_attended() {
                self.hand.consecutive.store(consecutive + 1, Order::RELAXED);
                self.hand.in_hand.store(context, Order::RELAXED);
                if self.hand_on() {
                    tally(Tallied::HandOvers, 1);
                    // It is the one's that has the lock now.
                    let _ = held.into_raw();
                    return;
                }
            }
            self.hand.consecutive.store(0, Order::RELAXED);
            // SAFETY: the caller has it, by that context.
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

    /// Hands the lock to a thread that has posted, first to one of another node that waits for a
    /// server of its own, of each node in turn; whether there was one.
    fn hand_on(&self) -> bool {
        let hands = |seat: &Seat<Place>| seat.own.request.hand::<P>();
        if T::POLICY != Policy::Flat {
            let here = cohort(Level::Numa);
            // How far on the node is from which a seat's thread wants a server; 0 for any server and
            // for one of this node.
            let beyond = |seat: &Seat<Place>| match seat.says() as usize {
                0 => 0,
                keeps => (keeps + NODES - 1 - here % NODES) % NODES,
            };
            // Requests are looked at one node at a time, since each look may move a line.
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

    /// Brings the section to a server, or serves.
    fn bring(
        &self,
        seat: &Seat<Place>,
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
        // SAFETY: this thread has posted it, and has the lock.
        match unsafe { place.request.take_back() }.or(again) {
            Some(_) if mutant(flaw::LOSE_RESULT) => self.leave(held),
            Some(section) => self.serve(held, place, section),
            None => self.leave(held),
        }
        Outcome::Acquired
    }

    /// Waits until what is posted there has been run, its thread is to run it, or patience runs
    /// out.
    fn wait(&self, seat: &Seat<Place>, patience: Option<&Patience>) -> Ended<L> {
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
                if late != u64::MAX && now() >= late {
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

    /// Queues for the lock; not if another thread does, for the same node's server.
    fn queue(&self, seat: &Seat<Place>) -> Option<Ended<L>> {
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
            // It has been told something meanwhile.
            open();
            return None;
        }
        // A server of any node may run it from here on.
        seat.say(0);
        let held = Kept::new();
        // SAFETY: a new context, as in `try_acquire`.
        unsafe { self.lock.acquire(held.get()) };
        open();
        Some(Ended::Holding(held))
    }

    /// The lock that was handed to the calling thread.
    fn receive(&self) -> Kept<L> {
        let context = self.hand.in_hand.load(Order::RELAXED);
        // SAFETY: the thread that handed the lock on has put it there, and gives it away.
        let held: Kept<L> = unsafe { Kept::from_raw(ptr::NonNull::new_unchecked(context)) };
        if mutant(flaw::LOCK_TWICE) {
            // SAFETY: none: this is the flaw.
            unsafe { self.lock.acquire(Kept::<L>::new().get()) };
        }
        held
    }

    /// Sleeps until the poster is told something, or patience runs out.
    fn sleep(&self, request: &Request, patience: &Patience) {
        self.hand.asleep.fetch_add(1, Order::RELAXED);
        fence_after_update(SANL_LOOK);
        if self.lock.is_locked() || self.is_attended() {
            request.wait::<P>(patience);
        }
        self.hand.asleep.fetch_sub(1, Order::RELAXED);
    }

    /// Makes sure that the lock is one of this process: the first thing that a call does.
    #[inline]
    fn come(&self) {
        if !self.generation.is_settled() {
            self.come_first(None);
        }
    }

    /// Makes a lock that was inherited one of this process, unless a section of the parent's goes
    /// on, or patience runs out; whether it is.
    #[cold]
    fn come_first(&self, patience: Option<&Patience>) -> bool {
        let mut spinner = Spinner::new();
        while !self.generation.is_settled() {
            // The forking thread's, which settles at its end; or another's, and has no end.
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

    /// The same at the end of a section, whose thread has the lock by that context: it may have
    /// forked there.
    #[inline]
    fn settle(&self, cx: &L::Context) {
        self.generation.settle(|| self.inherit(Some(cx)));
    }

    /// Forgets every thread but the holder's.
    fn inherit(&self, holder: Option<&L::Context>) {
        if !mutant(flaw::KEEP_QUEUE) {
            // SAFETY: the others are not of this process, and those of this process wait until
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

/// A section that is to be run twice: for flaws.
fn twice(section: &Section<'_>) -> Section<'static> {
    // SAFETY: a flaw is none; what it does to a section's memory, which outlives the thread in
    // models, is what they look for.
    unsafe { ptr::read(section).outliving() }
}

// SAFETY: sections run by the holder of a lock that excludes; each is taken out of its request by
// the one that runs it, which says so there, and its poster waits for that.
unsafe impl<L: Served, T: Tuning, P: Parking> Delegate for Sanl<L, T, P> {
    type Context = L::Context;

    fn run(&self, cx: &mut L::Context, section: Section<'_>) {
        self.come();
        let call = self.call();
        let place = &call.own;
        self.count(place);
        let carried = self.votes.carry(&self.votes.bring);
        let in_place = !carried && !self.votes.are_brought();
        // SAFETY: a call has its context for itself, and releases the lock before it returns; so for all
        // below.
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

// SAFETY: as above; a section that was taken back is in nobody's hands.
unsafe impl<L: Served, T: Tuning, P: Parking> AbortableDelegate for Sanl<L, T, P> {
    /// The lock's own queue lets nobody go, so a section with a deadline is posted, however the
    /// threads vote, and its poster takes the lock only when it finds that free or is handed it:
    /// it may come late behind threads that wait in place.
    fn run_within(&self, _: &mut L::Context, section: Section<'_>, patience: &Patience) -> Outcome {
        if !self.generation.is_settled() && !self.come_first(Some(patience)) {
            return Outcome::GaveUp;
        }
        self.bring(&self.call(), section, Some(patience))
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
