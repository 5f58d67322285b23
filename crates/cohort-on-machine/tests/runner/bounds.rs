//! Bounds that hold in every schedule: how long a cohort keeps the high lock, and how often `near`
//! passes over a waiter.

use super::trial::{KUNPENG, SUNFIRE, by_chance, by_chance_of, by_time, full, outcomes, passes};
use super::world::{Client, soon, together};
use crate::checks::{FromLeaf, Whole};
use crate::clients::guest::Guest;
use crate::clients::host::{self, Host, patience};
use crate::clients::{near, read, write};
use crate::locks::abortable::{ABo, AClh, AMcs};
use crate::locks::basic::{Bo, Clh, Hemlock, Mcs, Ticket};
use crate::locks::compose::{
    ACBoBo, ACBoClh, AClof, Bound, CacheGroup, Clof, Composed, Numa, Plan,
};
use crate::locks::door::{self, AtomicU32, Cell, Level, Order, Spinner, now, runs_out};
use crate::locks::host::Arena;
use crate::locks::numa::hmcs_t::{Cohort, HmcsTNode};
use crate::locks::numa::{HmcsT, HmcsT1, HmcsT2, Near};
use crate::locks::wait::{MayPark, SpinOnly};
use crate::locks::{
    Abortable, Counter, Deadline, LowLock, Outcome, Patience, RawLock, Resumable, ThreadOblivious,
    forwards,
};
use crate::slowest;
use cohort_machine::description::shipped;
use cohort_machine::{Hardware, Length, Memory, Options, Placement, Run, Waiting};
use libtest_mimic::{Failed, Trial};
use std::cell;
use std::sync::Arc;

std::thread_local! {
    /// Releases of the high lock in this host thread's run.
    static RELEASES: cell::Cell<u64> = const { cell::Cell::new(0) };
}

/// A high lock that counts its releases.
#[derive(Debug, Default)]
struct Noted<L>(L);

// SAFETY: every call goes to a lock that excludes.
unsafe impl<L: RawLock> RawLock for Noted<L> {
    type Context = L::Context;

    unsafe fn acquire(&self, cx: &Self::Context) {
        // SAFETY: the caller's.
        unsafe { self.0.acquire(cx) };
    }

    unsafe fn release(&self, cx: &Self::Context) {
        RELEASES.set(RELEASES.get() + 1);
        // SAFETY: passed on.
        unsafe { self.0.release(cx) };
    }

    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }
}

forwards! {
    [L: RawLock] Noted<L>: L in 0;
    RawTry: none,
    Abortable: inner,
    BoundedAbort: none,
    ThreadOblivious: inner,
    DetectsWaiters: none,
    HandsOver: none,
    Fair: none,
    Inherit: none,
    Adapts: none,
    Hosted: none,
    QuickRelease: none,
    LowLock: none,
    HighLock: inner,
    Resumable: inner,
}

// SAFETY: the top is the lock.
unsafe impl<L: RawLock> Composed for Noted<L> {
    type Top = Self;

    fn top(&self) -> &Self {
        self
    }

    fn planned(_plan: &Plan<'_>) -> Self {
        Self::default()
    }
}

/// A composition with at most `HAND_OFFS` hand-offs in a row.
type Bounded<Low, const HAND_OFFS: u32> = Clof<Low, Noted<Mcs>, Numa, HAND_OFFS>;

/// One tenure of the high lock, as its critical sections observe it.
#[derive(Clone, Copy, Default)]
struct Seen {
    releases: u64,
    sections: u64,
    began: u64,
}

/// Runs critical sections under `lock`, and calls `check` in each with the current tenure of the
/// high lock. Returns the longest tenure, in critical sections.
fn keeps<L: RawLock + 'static>(
    lock: L,
    threads: usize,
    rounds: u64,
    check: impl Fn(&Seen) + Send + Sync + 'static,
) -> u64 {
    let shared = Arc::new((lock, Cell::new(Seen::default())));
    let theirs = Arc::clone(&shared);
    let longest = together(threads, move |_| {
        let (lock, seen) = &*theirs;
        let guest = Guest::of(lock);
        let mut longest = 0;
        for _ in 0..rounds {
            guest.acquire();
            let mut now_seen = read(seen);
            if now_seen.sections == 0 || now_seen.releases != RELEASES.get() {
                now_seen = Seen {
                    releases: RELEASES.get(),
                    sections: 0,
                    began: now(),
                };
            }
            check(&now_seen);
            now_seen.sections += 1;
            longest = longest.max(now_seen.sections);
            write(seen, now_seen);
            guest.release();
        }
        longest
    });
    longest.unwrap_or_default().into_iter().max().unwrap_or(0)
}

/// The bound on hand-offs in a row.
const HAND_OFFS: u32 = 3;

/// No tenure of the high lock has more critical sections than the bound allows.
fn keeps_to<L: RawLock + 'static>() {
    keeps(L::default(), 4, 8, |seen| {
        assert!(
            seen.sections <= u64::from(HAND_OFFS),
            "{} hand-offs in a row",
            seen.sections
        );
    });
}

/// For low locks that keep the hand-off count in their word, in the next holder's node or in the
/// last holder's, and for locks without a count.
pub fn keeps_to_its_hand_offs() {
    keeps_to::<Bounded<Ticket, HAND_OFFS>>();
    keeps_to::<Bounded<Mcs, HAND_OFFS>>();
    keeps_to::<Bounded<Clh, HAND_OFFS>>();
    keeps_to::<Bounded<Hemlock, HAND_OFFS>>();
    keeps_to::<AClof<ABo, Noted<Bo>, Numa, HAND_OFFS>>();
    keeps_to::<AClof<AClh, Noted<Bo>, Numa, HAND_OFFS>>();
    keeps_to::<AClof<AMcs, Noted<Bo>, Numa, HAND_OFFS>>();
}

std::thread_local! {
    /// How often in a row the latest wait at the high lock was handed on in this host thread's run,
    /// and the maximum.
    static HANDED_ON: cell::Cell<[u32; 2]> = const { cell::Cell::new([0, 0]) };
}

/// A high lock, of one cohort, that grants only waits without a deadline.
#[derive(Debug, Default)]
struct Refusing(Bo);

// SAFETY: every call goes to a lock that excludes.
unsafe impl RawLock for Refusing {
    type Context = ();

    unsafe fn acquire(&self, (): &()) {
        // SAFETY: the caller's.
        unsafe { self.0.acquire(&()) };
    }

    unsafe fn release(&self, (): &()) {
        // SAFETY: passed on.
        unsafe { self.0.release(&()) };
    }

    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }
}

// SAFETY: as above; a waiter that times out never reaches that lock.
unsafe impl Abortable for Refusing {
    unsafe fn acquire_within(&self, (): &(), patience: &Patience) -> Outcome {
        if patience.is_endless() {
            // SAFETY: the caller's.
            unsafe { self.acquire(&()) };
            return Outcome::Acquired;
        }
        let mut spinner = Spinner::new();
        while !runs_out(patience) {
            spinner.turn();
        }
        Outcome::GaveUp
    }
}

// SAFETY: as the inner lock.
unsafe impl ThreadOblivious for Refusing {}

// SAFETY: as `acquire_within`; a pending wait holds nothing.
unsafe impl Resumable for Refusing {
    const STAYS: bool = false;

    unsafe fn begin_within(&self, (): &(), patience: &Patience) -> Outcome {
        let [_, most] = HANDED_ON.get();
        HANDED_ON.set([0, most]);
        // SAFETY: the caller's.
        unsafe { self.acquire_within(&(), patience) }
    }

    unsafe fn resume_within(&self, (): &(), patience: &Patience) -> Outcome {
        let [in_a_row, most] = HANDED_ON.get();
        HANDED_ON.set([in_a_row + 1, most.max(in_a_row + 1)]);
        // SAFETY: the caller's.
        unsafe { self.acquire_within(&(), patience) }
    }

    unsafe fn retract(&self, (): &()) {}
}

/// Threads that time out above their cohorts.
const GIVING_UP: usize = 4;

/// Lets each thread time out above its cohort `visits` times; returns how often in a row one wait
/// was handed on at most.
fn hands_waits_on(visits: u64) -> u32 {
    type Lock = AClof<AMcs, AClof<AMcs, Refusing, Whole, HAND_OFFS, 1>, Numa, HAND_OFFS, 4>;
    HANDED_ON.set([0, 0]);
    let lock = Arc::new(Lock::default());
    together(GIVING_UP, move |thread| {
        let guest = Guest::of(&*lock);
        for visit in 0..visits {
            let hurry = 5_000 + 5_000 * ((thread as u64 + visit) % HURRIES);
            let patience = Patience::until(Deadline::monotonic(now() + hurry));
            let outcome = guest.acquire_within(&patience);
            assert!(outcome == Outcome::GaveUp, "no thread acquires it");
        }
    });
    let [_, most] = HANDED_ON.get();
    assert!(most <= HAND_OFFS, "handed on {most} times in a row");
    most
}

/// A wait is handed on no more often than the bound allows. So a cohort with waiters that time out one
/// after another cannot keep out a waiter without a deadline.
pub fn hands_few_waits_on() {
    hands_waits_on(12);
}

/// The bound is reached while other waiters of the cohort are always present.
fn hands_as_many_waits_on_as_it_may() {
    assert_eq!(hands_waits_on(60), HAND_OFFS);
}

/// The bound of [`keeps_to_its_time`].
const NANOSECONDS: u64 = 2_000;

/// No hand-off begins later than the bound after the high lock was acquired. The next critical
/// section starts one hand-over later: less than 0.1 µs between neighbours.
fn keeps_to_its_time() {
    let bound = Bound {
        hand_offs: u32::MAX,
        nanoseconds: NANOSECONDS,
    };
    let plan = Plan {
        bound: Some(bound),
        ..Plan::default()
    };
    let longest = keeps(Bounded::<Ticket, 0>::planned(&plan), 4, 400, |seen| {
        let kept = now() - seen.began;
        assert!(kept < NANOSECONDS + 1_000, "{kept} ns");
    });
    assert!(longest > 2, "a cohort keeps the lock meanwhile: {longest}");
}

fn has_all<Low: LowLock + Default + 'static, const HAND_OFFS: u32>() {
    let longest = keeps(Bounded::<Low, HAND_OFFS>::default(), 4, 200, |_| ());
    assert_eq!(longest, u64::from(HAND_OFFS) + 1);
}

/// A cohort with permanent waiters uses its whole bound, even beyond what a `ticket` can count.
fn has_what_its_bound_allows() {
    has_all::<Ticket, 3>();
    has_all::<Mcs, 3>();
    has_all::<Clh, 3>();
    has_all::<Hemlock, 3>();
    has_all::<Ticket, 300>();
}

/// Threads at a lock that counts its steps, on CPUs of two cohorts alternately.
const STEPPING: usize = 5;

/// Kinds of rounds of a thread: without a deadline, with a deadline that may be too short, and with
/// an expired one.
const HURRIES: u64 = 3;

/// Timing out takes no more steps than Chabbi et al. 2017 §5 allow, and neither does acquiring
/// after the deadline and releasing. `contexts`: the maximal number at a queue of each level,
/// smallest cohort first. Returns the bytes of the nodes created.
fn keeps_its_steps<L: Abortable + 'static>(contexts: &'static [u64], rounds: u64) -> u64 {
    let levels = contexts.len() as u64;
    let all: u64 = contexts.iter().map(|contexts| 2 * contexts).sum();
    let below = all - 2 * contexts.last().copied().unwrap_or_default();
    let (to_give_up, to_be_late) = (levels - 1 + below, levels + all);
    let lock = Arc::new(L::default());
    let made = together(STEPPING, move |thread| {
        let guest = Guest::<L>::of(&lock);
        for round in 0..rounds {
            let late = Patience::until(Deadline::monotonic(0));
            let hurry = (thread as u64 + round) % HURRIES;
            let patience = match hurry {
                0 => Patience::ENDLESS,
                1 => Patience::until(soon()),
                _ => late,
            };
            let before = door::counted(Counter::Steps);
            let taken = || door::counted(Counter::Steps) - before;
            if guest.acquire_within(&patience) == Outcome::GaveUp {
                let steps = taken();
                assert!(
                    steps <= to_give_up,
                    "{steps} steps to give up, of {to_give_up}"
                );
                continue;
            }
            guest.release();
            let steps = taken();
            assert!(
                hurry < HURRIES - 1 || steps <= to_be_late,
                "{steps} steps to acquire late and release, of {to_be_late}"
            );
        }
        door::counted(Counter::Bytes)
    });
    made.map_or(0, |made| made.iter().sum())
}

/// For one to three levels; compositions start at the smallest cohort. A context has at most one
/// node in a queue, so the contexts at a queue bound its length.
pub fn keeps_to_its_steps() {
    type Two = HmcsT<(Numa,), 4, 0, MayPark, 2, FromLeaf>;
    type Three = HmcsT<(CacheGroup, Numa), 4, 2, MayPark, 2, FromLeaf>;
    // Three of the threads run in one cache group of one node, two on the other node. Each context
    // has a node, and each cohort has one of its own.
    let room = |cohorts: usize| {
        let (node, cohort) = (
            Arena::<HmcsTNode<MayPark>>::NODE_BYTES,
            Arena::<Cohort<MayPark>>::NODE_BYTES,
        );
        (STEPPING * node + cohorts * cohort) as u64
    };
    for (made, cohorts) in [
        (keeps_its_steps::<HmcsT1>(&[STEPPING as u64], 8), 0),
        (keeps_its_steps::<Two>(&[3, 2], 4), 2),
        (keeps_its_steps::<Three>(&[3, 1, 2], 4), 4),
    ] {
        assert!(
            made <= room(cohorts),
            "{made} bytes of nodes for {STEPPING} contexts and {cohorts} cohorts"
        );
    }
    keeps_its_steps_composed();
}

/// Like [`keeps_to_its_steps`], for a composition of that queue, where each cohort has a context
/// for the level above.
fn keeps_its_steps_composed() {
    type Three = AClof<AMcs, AClof<AMcs, HmcsT1, Numa, 2, 4>, CacheGroup, 2, 64>;
    let made = keeps_its_steps::<Three>(&[3, 1, 2], 4);
    let contexts = STEPPING + 2 + 2;
    assert!(
        made <= (contexts * Arena::<HmcsTNode<MayPark>>::NODE_BYTES) as u64,
        "{made} bytes of nodes for {contexts} contexts"
    );
}

/// Acquisitions of each thread at a lock with counted cache-line transfers, and the longest
/// deadline in nanoseconds.
const VISITS: u64 = 60;
const HURRY: u64 = 500;

/// Transfers of the lock's lines, from another cache or from memory, per acquisition or timeout of
/// a composition in one cohort, where `hurried` percent of the acquisitions have a deadline; and
/// the fraction that timed out.
fn transfers_each<Low>(threads: usize, hurried: u64) -> (f64, f64)
where
    AClof<Low, Bo, Whole, 100, 1>: Abortable<Context: 'static> + 'static,
    Low: 'static,
{
    let memory = Memory::new();
    let lock = memory.lock(AClof::<Low, Bo, Whole, 100, 1>::default());
    let options = Options {
        waiting: Waiting::Spin,
        ..by_time_among_neighbours()
    };
    let given_up = cell::Cell::new(0);
    let mut run = Run::new(&KUNPENG, &memory, options);
    for _ in 0..threads {
        let (memory, given_up) = (&memory, &given_up);
        run.spawn(move |thread| {
            let context =
                memory.lock(<AClof<Low, Bo, Whole, 100, 1> as RawLock>::Context::default());
            for _ in 0..VISITS {
                let patience = if thread.random_below(100) < hurried {
                    let wait = thread.random_below(HURRY);
                    Patience::until(Deadline::monotonic(now() + wait))
                } else {
                    Patience::ENDLESS
                };
                // SAFETY: only this thread uses the context. Like the lock, it lies in the
                // machine's memory until the run is over.
                unsafe {
                    if lock.acquire_within(context, &patience) == Outcome::GaveUp {
                        given_up.set(given_up.get() + 1);
                        continue;
                    }
                    thread.work(500);
                    lock.release(context);
                }
            }
        });
    }
    let outcome = run.go().unwrap_or_else(|failure| panic!("{failure}"));
    let between: u64 = outcome.transfers.iter().map(|one| one.count.lock).sum();
    let all = between + outcome.memory.lock + outcome.refills.lock;
    let visits = threads as u64 * VISITS;
    (
        all as f64 / visits as f64,
        given_up.get() as f64 / visits as f64,
    )
}

/// An acquisition at a low queue costs a constant number of transfers on average, whatever the
/// number of waiters and the fraction of timeouts (Jayanti and Jayanti 2019 show that a constant
/// suffices). The low lock of `a-c-bo-bo` has no such bound: it is no queue, and all waiters poll
/// one word.
fn costs_few_transfers() -> Result<(), Failed> {
    type Each = fn(usize, u64) -> (f64, f64);
    for (name, each, most) in [
        ("mcs", transfers_each::<AMcs> as Each, 6.0),
        ("clh", transfers_each::<AClh>, 10.0),
    ] {
        for threads in [8, 32, 128] {
            for hurried in [0, 50, 90] {
                let (transfers, given_up) = each(threads, hurried);
                let visits = format!(
                    "{name}, {threads} threads: {transfers:.2} transfers a visit, of which \
                     {given_up:.2} were given up"
                );
                if transfers > most || given_up < hurried as f64 / 200.0 {
                    return Err(Failed::from(visits));
                }
            }
        }
    }
    Ok(())
}

/// Figures of hundreds of threads at a lock where nearly all acquisitions time out.
struct Hurried {
    /// Mean accesses of an acquisition to the memory of the lock, its nodes and their pools.
    accesses: f64,
    /// Mean nanoseconds from a deadline to the return of the acquisition that timed out.
    late: u64,
}

/// Cycles before the deadline of each acquisition; Chabbi et al. 2017 §6.2 use it for splay trees.
const SPLAY_PATIENCE: u64 = 10_000;

/// Threads, each on a CPU of the largest machine.
const HURRIED: usize = 288;

fn hurried<L: Abortable<Context: 'static> + Default + 'static>() -> Hurried {
    let machine = shipped::find("superdome-x").expect("it is shipped");
    let patience = SPLAY_PATIENCE * 1_000 / machine.clock.value;
    let hardware = Hardware::new(&machine);
    let memory = Memory::new();
    let lock = memory.lock(L::default());
    let options = Options {
        waiting: Waiting::Spin,
        spin: u64::MAX,
        length: Length {
            warm_up: 500_000,
            least: 1_500_000,
            most: 1_500_000,
            ..Length::default()
        },
        ..Options::default()
    };
    let [visits, given_up, late] = [(); 3].map(|()| cell::Cell::new(0));
    let mut run = Run::new(&hardware, &memory, options);
    for _ in 0..HURRIED {
        let (memory, visits, given_up, late) = (&memory, &visits, &given_up, &late);
        run.spawn(move |thread| {
            let context = memory.lock(L::Context::default());
            while !thread.is_over() {
                let until = thread.now() + patience;
                let outcome = {
                    let patience = Patience::until(Deadline::monotonic(until));
                    // SAFETY: only this thread uses the context. Like the lock, it lies in the
                    // machine's memory until the run is over.
                    unsafe { lock.acquire_within(context, &patience) }
                };
                // The engine, too, counts accesses only after the warm-up.
                let counts = thread.now() > 500_000;
                if outcome == Outcome::Acquired {
                    thread.acquired(0);
                    thread.work(300);
                    // SAFETY: acquired above, with this context.
                    unsafe { lock.release(context) };
                } else {
                    if counts {
                        given_up.set(given_up.get() + 1);
                        late.set(late.get() + thread.now() - until);
                    }
                    thread.work(1_500);
                }
                visits.set(visits.get() + u64::from(counts));
                thread.round();
            }
        });
    }
    let outcome = run.go().unwrap_or_else(|failure| panic!("{failure}"));
    Hurried {
        accesses: outcome.accesses.lock as f64 / visits.get().max(1) as f64,
        late: late.get() / given_up.get().max(1),
    }
}

/// An acquisition among hundreds of threads, at a lock with bounded abandonment, takes few steps,
/// including its node pool's. Waiters that time out do not delay each other there: the delay past a
/// deadline is no longer than the wait before it. Locks with waiters that poll one word, such as
/// `ttas`, are left out: that line is their bottleneck.
fn gives_up_soon() -> Result<(), Failed> {
    type Tree = AClof<
        AClh<SpinOnly>,
        AClof<AClh<SpinOnly>, AClh<SpinOnly>, Numa, 64, 64>,
        CacheGroup,
        64,
        64,
    >;
    const ACCESSES: f64 = 64.0;
    const LATE: u64 = 4_000;
    for (name, came) in [
        (
            "a-c-bo-clh",
            hurried::<ACBoClh<SpinOnly>> as fn() -> Hurried,
        ),
        ("a-c-bo-bo", hurried::<ACBoBo<SpinOnly>>),
        ("clof:clh-clh-clh/abortable", hurried::<Tree>),
        ("hmcs-t-1", hurried::<HmcsT1<SpinOnly>>),
        ("hmcs-t-2", hurried::<HmcsT2<SpinOnly>>),
        (
            "the low lock of clof:mcs-…/abortable",
            hurried::<AMcs<SpinOnly>>,
        ),
    ] {
        let Hurried { accesses, late } = came();
        if accesses > ACCESSES || late > LATE {
            return Err(Failed::from(format!(
                "{name}: {accesses:.1} accesses a visit, {late} ns from the deadline to its end"
            )));
        }
    }
    Ok(())
}

/// Schedules of the full tier, divided into `PARTS` tests so that CPUs share them.
const SCHEDULES: u64 = 1_000_000;
const PARTS: u64 = 20;

/// Step bounds under schedules of seeds that no other test uses.
fn steps_tests() -> impl Iterator<Item = Trial> {
    let part = SCHEDULES / PARTS;
    (1..=PARTS).map(move |number| {
        let name = format!("bound::steps::chance_{number:02}");
        slowest::tiered(!full(), name, move || {
            for options in by_chance_of(number * part..(number + 1) * part) {
                outcomes(&KUNPENG, options, keeps_to_its_steps).map_err(Failed::from)?;
            }
            Ok(())
        })
    })
}

/// Threads at `near` at once: more than its list of known waiters holds.
const CROWD: usize = 12;

fn passes_over<const BOUND: u8>(rounds: u64) -> u32 {
    let come = CROWD as u32 - 1;
    let most = near::prefers_the_nearest::<MayPark, BOUND, CROWD>([rounds; CROWD], come, true);
    most.unwrap_or(0)
}

/// In each critical section, the waiters of the last one still wait in the same order. No waiter
/// was passed over too often, nor for a waiter that is no nearer.
pub fn passes_few_over() {
    passes_over::<1>(6);
    passes_over::<3>(6);
}

/// Under permanent contention, some waiter is passed over as often as the bound allows.
fn passes_as_many_over_as_it_may() {
    assert_eq!(passes_over::<1>(200), 1);
    assert_eq!(passes_over::<2>(200), 2);
}

/// Bound on the delay of a claim's grant, and the length of this client's critical sections.
const TURN: u64 = 700_000;
const SECTION: u64 = 2_000;

/// Threads that acquire the lock in a loop; one more claims it.
const QUEUE: usize = 3;

fn spend(nanoseconds: u64) {
    let until = now() + nanoseconds;
    let mut spinner = Spinner::new();
    while now() < until {
        spinner.spin();
    }
}

/// A waiter with a deadline acquires soon, however busy the queue keeps the lock.
fn is_served_in_time(host: impl Host) {
    let shared = Arc::new((host, AtomicU32::new(0)));
    together(QUEUE + 1, move |thread| {
        let (host, over) = &*shared;
        if thread < QUEUE {
            while over.load(Order::RELAXED) == 0 {
                host.lock();
                spend(SECTION);
                assert!(host.unlock(), "the holder does not hold it");
            }
            return;
        }
        for _ in 0..3 {
            let came = now();
            assert!(host.lock_within(&patience(Some(100 * TURN))), "starved");
            let waited = now() - came;
            assert!(waited < TURN + 2 * SECTION, "{waited} ns");
            assert!(host.unlock(), "the holder does not hold it");
        }
        over.store(1, Order::RELAXED);
    });
}

/// For hosted locks in place and inflated.
pub fn serves_claims_soon() {
    is_served_in_time(host::in_place::<Ticket>());
    is_served_in_time(host::in_place::<Mcs>());
    is_served_in_time(host::inflated::<Mcs>());
}

/// All threads but one claim, and critical sections are so long that claims are always due. The
/// queued thread acquires after two others.
pub fn serves_the_queue_between_claims() {
    const FIRST: u32 = 4;
    struct Shared<H> {
        host: H,
        sections: AtomicU32,
        /// One more than the number of critical sections at the arrival of the queued thread; 0
        /// while it is absent.
        came: AtomicU32,
        over: AtomicU32,
    }
    let shared = Arc::new(Shared {
        host: host::in_place::<Mcs>(),
        sections: AtomicU32::new(0),
        came: AtomicU32::new(0),
        over: AtomicU32::new(0),
    });
    together(QUEUE + 1, move |thread| {
        let Shared {
            host,
            sections,
            came,
            over,
        } = &*shared;
        if thread > 0 {
            while over.load(Order::RELAXED) == 0 {
                assert!(host.lock_within(&patience(Some(100 * TURN))), "starved");
                let section = sections.fetch_add(1, Order::RELAXED) + 1;
                // Checked by the claiming threads: a starved waiter cannot report.
                if let Some(before) = came.load(Order::RELAXED).checked_sub(1) {
                    let passed = section - before;
                    assert!(passed <= FIRST, "{passed} came first");
                }
                spend(TURN);
                assert!(host.unlock(), "the holder does not hold it");
            }
            return;
        }
        for _ in 0..5 {
            let before = sections.load(Order::RELAXED);
            came.store(before + 1, Order::RELAXED);
            host.lock();
            came.store(0, Order::RELAXED);
            let passed = sections.load(Order::RELAXED) - before;
            assert!(passed <= FIRST, "{passed} came first");
            assert!(host.unlock(), "the holder does not hold it");
            spend(TURN);
        }
        over.store(1, Order::RELAXED);
    });
}

/// The summed distance of all hand-overs.
fn way_of<L: RawLock + 'static>() -> u64 {
    let shared = Arc::new((L::default(), Cell::new((0, 0))));
    let theirs = Arc::clone(&shared);
    let run = together(16, move |_| {
        let (lock, way) = &*theirs;
        let guest = Guest::of(lock);
        let here = door::cohort(Level::Numa);
        for _ in 0..100 {
            guest.acquire();
            let (from, length) = read(way);
            write(way, (here, length + u64::from(door::distance(from, here))));
            guest.release();
        }
    });
    run.map_or(0, |_| read(&shared.1).1)
}

/// `near` moves the lock by a distance at least a fifth shorter than FIFO order does.
fn goes_a_shorter_way() {
    let (near, fifo) = (way_of::<Near>(), way_of::<Mcs>());
    assert!(10 * near < 8 * fifo, "{near} where `mcs` goes {fifo}");
}

/// Threads on the chips of a mesh, one and two hops apart; some chips have two threads.
fn near_tests() -> Vec<Trial> {
    let chips = [0, 2, 1, 4, 3, 7, 6, 5, 0, 3, 7, 2];
    let cpus = chips.iter().enumerate().map(|(at, chip)| 16 * chip + at);
    let placement = Placement::Cpus(cpus.collect());
    let by = |options: Options| Options {
        placement: placement.clone(),
        ..options
    };
    let chance: Vec<Options> = by_chance().map(by).collect();
    let time = vec![by(by_time())];
    let scattered = vec![Options {
        placement: Placement::Scattered,
        ..by_time()
    }];
    let on_mesh = |name: &str, options: Vec<Options>, client: Client| {
        passes(name.to_owned(), &SUNFIRE, || options, client)
    };
    vec![
        on_mesh("bound::near::chance", chance, passes_few_over),
        on_mesh("bound::near::time", time.clone(), passes_few_over),
        on_mesh("bound::near::is_used", time, passes_as_many_over_as_it_may),
        on_mesh("bound::near::way", scattered, goes_a_shorter_way),
    ]
}

/// Runs by virtual time with adjacent threads.
pub fn by_time_among_neighbours() -> Options {
    Options {
        placement: Placement::Compact,
        ..by_time()
    }
}

/// All tests of this module.
pub fn tests() -> Vec<Trial> {
    let neighbours = || vec![by_time_among_neighbours()];
    let by_time =
        |name: &str, client: Client| passes(name.to_owned(), &KUNPENG, neighbours, client);
    let mut all = vec![
        passes(
            "bound::hand_offs::chance".to_owned(),
            &KUNPENG,
            || by_chance().collect(),
            keeps_to_its_hand_offs,
        ),
        by_time("bound::hand_offs::time", keeps_to_its_hand_offs),
        passes(
            "bound::waits::chance".to_owned(),
            &KUNPENG,
            || by_chance().collect(),
            hands_few_waits_on,
        ),
        by_time("bound::waits::is_used", hands_as_many_waits_on_as_it_may),
        passes(
            "bound::steps::chance".to_owned(),
            &KUNPENG,
            || by_chance().collect(),
            keeps_to_its_steps,
        ),
        by_time("bound::steps::time", keeps_to_its_steps),
        slowest::trial("bound::transfers".to_owned(), costs_few_transfers),
        slowest::trial("bound::abandonment".to_owned(), gives_up_soon),
        by_time("bound::is_used", has_what_its_bound_allows),
        by_time("bound::time", keeps_to_its_time),
        by_time("bound::claim::soon", serves_claims_soon),
        by_time("bound::claim::queue", serves_the_queue_between_claims),
    ];
    all.extend(steps_tests());
    all.extend(near_tests());
    all
}
