//! The models: which client, of which lock, within which bounds.

use super::broken::BROKEN;
use super::carrier::Little;
use super::child::{Verdict, verdict};
use super::{delegates, standard};
use crate::again_clients as again;
use crate::clients::condvar::Queued;
use crate::clients::glk::{self, Backwards, Forwards, ToAndFro};
use crate::clients::late::Late;
use crate::clients::object::{Beginning, CROWDED, NAMED, NAMELESS};
use crate::clients::recipes::{ClhHemlock, HemlockTicket, McsClh, McsTicketClh, TicketMcs};
use crate::clients::{arena, condvar, destroy, host, mutex, near, object, rwlock, service};
use crate::fork_clients as fork;
use crate::guard_clients as guard;
use crate::locks::abortable::{ABo, AClh};
use crate::locks::baseline::{Posix, PosixRwLock, SpinPark};
use crate::locks::basic::futex::TURN_NANOSECONDS;
use crate::locks::basic::{
    Anderson, Bo, Clh, Futex, Hemlock, K42, Malthusian, Mcs, Ptl, Reciprocating, Tas, Ticket, Ttas,
};
use crate::locks::compose::{
    AClof, Adaptive, Bypass, Clof, Core, Counted, Fast, Gated, Level, Numa, Stacked,
};
use crate::locks::door::{self, Model as Bounds, Tally, WaitPolicy, thread_id};
use crate::locks::numa::hmcs::Entry;
use crate::locks::numa::{
    Cna, FcMcs, Fissile, FutexHmcs, Hclh, Hmcs, HmcsT, HmcsT1, Near, Shfl, WhereMet,
};
use crate::locks::rwlock::{CohortRw, RawRwLock};
use crate::locks::wait::{MayPark, SpinOnly};
use crate::moved_clients::{self as moved, Hesitant};
use crate::slowest;
use libtest_mimic::{Failed, Trial};
use std::collections::BTreeMap;
use std::sync::{LazyLock, OnceLock};
use std::time::{Duration, Instant};

/// Lets the models go deeper where it is `full`.
const TIER: &str = "COHORT_TIER";

/// Overrides how many preemptions an execution may have.
const PREEMPTIONS: &str = "COHORT_PREEMPTIONS";

/// Overrides how often a thread may look in vain.
const POLLS: &str = "COHORT_POLLS";

/// The number in an environment variable, if it is set.
fn number(variable: &str) -> Option<usize> {
    let text = std::env::var(variable).ok()?;
    match text.parse() {
        Ok(number) => Some(number),
        Err(_) => {
            eprintln!("{variable}={text}: write a number");
            std::process::exit(2);
        }
    }
}

/// How long the full tier explores a model that nothing was found in one preemption deeper.
const DEEPER: Duration = Duration::from_secs(30);

/// A client of one lock, and how it is explored.
#[derive(Clone)]
pub struct Model {
    /// Its name.
    pub name: &'static str,
    bounds: Bounds,
    /// Whether only the full tier runs it.
    full_only: bool,
    client: fn(),
}

/// Whether everything is wanted.
pub fn full() -> bool {
    match std::env::var(TIER).as_deref() {
        Ok("full") => true,
        Ok("quick" | "") | Err(_) => false,
        Ok(other) => {
            eprintln!("{TIER}={other}: write quick or full");
            std::process::exit(2);
        }
    }
}

/// Waiters spin.
pub const SPIN: Bounds = Bounds {
    preemptions: 2,
    polls: 2,
    policy: WaitPolicy::Spin,
    nanoseconds_per_look: 0,
    quiet: false,
    tries: false,
    forks: false,
    ends: false,
};
/// Waiters sleep.
pub const PARK: Bounds = Bounds {
    policy: WaitPolicy::Park,
    ..SPIN
};
/// For clients with many steps.
const PARK_1: Bounds = Bounds {
    preemptions: 1,
    ..PARK
};
/// For clients with the fewest, where waiters spin.
const SPIN_5: Bounds = Bounds {
    preemptions: 5,
    ..SPIN
};
/// For clients with many steps, where waiters spin.
const SPIN_1: Bounds = Bounds {
    preemptions: 1,
    ..SPIN
};
/// For clients that switch threads by themselves.
const SPIN_0: Bounds = Bounds {
    preemptions: 0,
    ..SPIN
};
/// For clients with few.
pub const PARK_3: Bounds = Bounds {
    preemptions: 3,
    ..PARK
};
/// A sleeper that looks at its clock finds that it has waited too long.
const IMPATIENT: Bounds = Bounds {
    nanoseconds_per_look: 2_000_000,
    ..PARK_3
};
/// The same, for clients with many steps.
const IMPATIENT_2: Bounds = Bounds {
    preemptions: 2,
    ..IMPATIENT
};
/// The same, for clients with the most.
const IMPATIENT_1: Bounds = Bounds {
    preemptions: 1,
    ..IMPATIENT
};
/// A turn comes at the first look at the clock.
const DUE: Bounds = Bounds {
    nanoseconds_per_look: 500_000,
    ..PARK
};
/// The same, for clients with many steps.
const DUE_1: Bounds = Bounds {
    preemptions: 1,
    ..DUE
};
/// A deadline passes while its thread sleeps, or soon after.
pub const TICKING: Bounds = Bounds {
    nanoseconds_per_look: 1,
    ..PARK
};
/// The same, for clients with few steps.
pub const TICKING_3: Bounds = Bounds {
    preemptions: 3,
    ..TICKING
};
/// Every release makes the lock quick.
const QUIET: Bounds = Bounds {
    quiet: true,
    ..PARK
};
/// The same, for clients with many steps.
const QUIET_1: Bounds = Bounds {
    preemptions: 1,
    ..QUIET
};
/// Waiters take turns.
const TURNS: Bounds = Bounds {
    tries: true,
    ..PARK
};
/// Threads try what is worth a try, and spin.
const SPIN_TRIES: Bounds = Bounds {
    tries: true,
    ..SPIN
};
/// The same, for clients that switch threads by themselves.
const SPIN_0_TRIES: Bounds = Bounds {
    tries: true,
    ..SPIN_0
};
/// And a turn is over as soon as it began.
const TURNS_END: Bounds = Bounds {
    nanoseconds_per_look: TURN_NANOSECONDS,
    ..TURNS
};
/// The same, for clients with many steps.
const TURNS_END_1: Bounds = Bounds {
    preemptions: 1,
    ..TURNS_END
};
/// A deadline passes soon.
const TURNS_TICK: Bounds = Bounds {
    nanoseconds_per_look: 1,
    ..TURNS
};
/// Somebody gives up waiting for a turn.
const TURNS_LEFT: Bounds = Bounds {
    polls: 0,
    ..TURNS_TICK
};
/// And every release makes the lock quick.
const QUIET_TURNS: Bounds = Bounds {
    quiet: true,
    ..TURNS_END
};
/// A claim's turn comes at the first look at the clock.
const FORK_DUE: Bounds = Bounds {
    forks: true,
    ends: true,
    ..DUE_1
};
/// The same, for clients with few steps.
const FORK_DUE_2: Bounds = Bounds {
    preemptions: 2,
    ..FORK_DUE
};
pub const FORK: Bounds = Bounds {
    forks: true,
    ends: true,
    ..PARK_1
};
/// For clients with so many steps that one preemption takes more than half an hour.
pub const FORK_0: Bounds = Bounds {
    preemptions: 0,
    ..FORK
};
/// For clients with few steps.
const FORK_2: Bounds = Bounds {
    preemptions: 2,
    ..FORK
};
/// For clients with the fewest.
const FORK_3: Bounds = Bounds {
    preemptions: 3,
    ..FORK
};
/// Every release makes the lock quick.
const FORK_QUIET: Bounds = Bounds {
    quiet: true,
    ..FORK
};
/// Waiters take turns, which are over as soon as they began.
const FORK_TURNS: Bounds = Bounds {
    forks: true,
    ends: true,
    ..TURNS_END_1
};
/// Threads that end leave something behind.
pub const ENDING: Bounds = Bounds {
    ends: true,
    ..PARK_1
};

/// A deadline that comes after some looks at the clock, if a look takes as long as a claim's turn
/// does to come; or sooner, if its waiter sleeps.
const NEAR: u64 = 1_600_000;

/// One slot fewer than the most threads a model has, so that slots are shared.
pub type SmallAnderson = Anderson<2>;
/// As above.
pub type SmallPtl = Ptl<2>;

/// Two cohorts, in which two threads are the first and the third, and one hand-off.
type Small<Low, High> = Clof<Low, High, Numa, 1, 2>;

/// As above, with one hand-off.
pub type SmallCna<P> = Cna<P, 2>;

/// As above: nobody is passed over twice.
pub type SmallNear<P> = Near<P, 1>;

/// As above, with none.
pub type SmallHmcs<P> = Hmcs<(Numa,), 2, 0, P, 1>;

/// The same, whose waiters can give up.
pub type SmallHmcsT<P> = HmcsT<(Numa,), 2, 0, P, 1>;

/// As above, with one hand-off.
type SmallAClof<Low, High> = AClof<Low, High, Numa, 1, 2>;

/// As above.
pub type SmallACBoBo<P> = SmallAClof<ABo<P>, Bo<P>>;

/// Three levels, another lock at each: three cores, of which the first and the third are
/// neighbours.
type TallAClof = AClof<AClh<SpinOnly>, SmallAClof<ABo<SpinOnly>, HmcsT1<SpinOnly>>, Core, 1, 3>;

/// All threads in one cohort, below a lock that each release exchanges: loom does not tell a
/// plain store from exchanges of others that it does not know to be before it.
type OneCohort<Low> = AClof<Low, Bo<MayPark>, Whole, 1, 1>;

/// As above.
pub type SmallACBoClh<P> = SmallAClof<AClh<P>, Bo<P>>;

/// As above: readers of two cohorts, writers of a basic lock, neither preferred.
type Neutral<W> = CohortRw<W, true, Numa, 0, 2>;

/// The same, where writers are preferred.
type WritersFirst<W> = CohortRw<W, false, Numa, 1, 2>;

/// As above, in an object, its readers in its word until two cohorts meet.
type Nameless<W> = Beginning<W, true, NAMELESS>;

/// The same, with readers in a table.
type Named<W> = Beginning<W, true, NAMED>;

/// The same below a cohort of all.
type TallHmcs<P> = Hmcs<(Numa, Whole), 2, 1, P, 1>;

/// As above, with entries that learn.
pub type SmallAhmcs<P> = Hmcs<(Numa,), 2, 0, P, 1, WhereMet>;

/// The same below a cohort of all.
type TallAhmcs<P> = Hmcs<(Numa, Whole), 2, 1, P, 1, WhereMet>;

/// Neighbouring threads enter at neighbouring levels.
#[derive(Default)]
struct Mixed;

impl Entry for Mixed {
    fn level(&self, top: usize) -> usize {
        thread_id() as usize % (top + 1)
    }

    fn learn(&self, _top: usize, _met: usize) {}
}

/// A level with one cohort.
#[derive(Default)]
struct Whole;

impl Level for Whole {
    fn cohort() -> usize {
        0
    }
}
/// Three levels: three cores, of which the first and the third are neighbours.
type Deep = Clof<Ticket<SpinOnly>, Small<Mcs<SpinOnly>, Ticket<SpinOnly>>, Core, 1, 3>;

/// As few places as cohorts.
type SmallStack<T> = Stacked<T, 2, 2>;

/// The number after which a cell's 31 bits wrap.
const CELL: u32 = u32::MAX >> 1;

/// A model that every tier runs.
pub const fn quick(name: &'static str, bounds: Bounds, client: fn()) -> Model {
    Model {
        name,
        bounds,
        full_only: false,
        client,
    }
}

/// A model that only the full tier runs.
pub const fn deep(name: &'static str, bounds: Bounds, client: fn()) -> Model {
    Model {
        full_only: true,
        ..quick(name, bounds, client)
    }
}

/// Those that one lock has for what it alone does, and those of what stands beside the locks.
static OTHERS: &[Model] = &[
    quick("ticket::quick", QUIET, || {
        mutex::excludes::<Ticket>(2, 2, 0)
    }),
    quick("ticket::quick_three", QUIET, || {
        mutex::excludes::<Ticket>(3, 1, 0);
    }),
    quick("ticket::quick_three_again", QUIET_1, || {
        mutex::excludes::<Ticket>(3, 2, 0);
    }),
    quick("ticket::quick_late", QUIET, || {
        mutex::excludes::<Late<Ticket, CELL>>(2, 2, 0);
    }),
    quick("ticket::quick_destroyed", QUIET, || {
        destroy::is_destroyed::<Ticket>(2);
    }),
    quick("clof::ticket_mcs", SPIN, || {
        mutex::takes_turns::<Small<Ticket<SpinOnly>, Mcs<SpinOnly>>, _>([2, 1, 1]);
    }),
    quick("clof::mcs_ticket", SPIN, || {
        mutex::takes_turns::<Small<Mcs<SpinOnly>, Ticket<SpinOnly>>, _>([2, 1, 1]);
    }),
    quick("clof::ticket_ticket", SPIN, || {
        mutex::takes_turns::<Small<Ticket<SpinOnly>, Ticket<SpinOnly>>, _>([2, 1, 1]);
    }),
    quick("clof::ticket_clh", SPIN, || {
        mutex::takes_turns::<Small<Ticket<SpinOnly>, Clh>, _>([2, 1, 1]);
    }),
    quick("clof::clh_hemlock", PARK_1, || {
        mutex::takes_turns::<Small<Clh, Hemlock<false, SpinOnly>>, _>([2, 1, 1]);
    }),
    quick("clof::hemlock_ptl", PARK_1, || {
        mutex::takes_turns::<Small<Hemlock<false, SpinOnly>, Ptl<2, SpinOnly>>, _>([2, 1, 1]);
    }),
    quick("clof::counted_mcs", SPIN, || {
        mutex::takes_turns::<Small<Counted<Ticket<SpinOnly>>, Mcs<SpinOnly>>, _>([2, 1, 1]);
    }),
    quick("clof::bo_bo", PARK_1, || {
        mutex::takes_turns::<Small<Counted<Bo>, Bo>, _>([2, 1, 1]);
    }),
    quick("clof::beyond_what_is_carried", SPIN, || {
        mutex::takes_turns::<Clof<Little<Mcs<SpinOnly>, 1>, Ticket<SpinOnly>, Numa, 2, 2>, _>([
            2, 1, 1,
        ]);
    }),
    quick("clof::park", PARK_1, || {
        mutex::takes_turns::<Small<Ticket, Mcs>, _>([2, 1, 1]);
    }),
    quick("clof::try", SPIN, || {
        mutex::excludes::<Small<Ticket<SpinOnly>, Mcs<SpinOnly>>>(3, 1, 2);
    }),
    quick("clof::three_levels", SPIN, || {
        mutex::excludes::<Deep>(3, 1, 0);
    }),
    quick("stacked::turns", SPIN, || {
        mutex::takes_turns::<SmallStack<TicketMcs>, _>([2, 1, 1]);
    }),
    quick("stacked::mcs_clh", SPIN, || {
        mutex::takes_turns::<SmallStack<McsClh>, _>([2, 1, 1]);
    }),
    quick("stacked::clh_hemlock", PARK_1, || {
        mutex::takes_turns::<SmallStack<ClhHemlock>, _>([2, 1, 1]);
    }),
    quick("stacked::hemlock_ticket", PARK_1, || {
        mutex::takes_turns::<SmallStack<HemlockTicket>, _>([2, 1, 1]);
    }),
    quick("stacked::park", PARK, || {
        mutex::excludes::<SmallStack<TicketMcs>>(3, 1, 0);
    }),
    quick("stacked::try", SPIN, || {
        mutex::excludes::<SmallStack<McsClh>>(3, 1, 2);
    }),
    quick("stacked::three_levels", PARK_1, || {
        mutex::takes_turns::<SmallStack<McsTicketClh>, _>([2, 1, 1]);
    }),
    quick("bypass::ticket_mcs", SPIN, || {
        mutex::takes_turns::<Bypass<Small<Ticket<SpinOnly>, Mcs<SpinOnly>>>, _>([2, 1, 1]);
    }),
    quick("bypass::ticket_ticket", SPIN, || {
        mutex::takes_turns::<Bypass<Small<Ticket<SpinOnly>, Ticket<SpinOnly>>>, _>([2, 1, 1]);
    }),
    quick("bypass::adaptive", SPIN, || {
        mutex::takes_turns::<Adaptive<Small<Ticket<SpinOnly>, Mcs<SpinOnly>>>, _>([3, 1, 1]);
    }),
    quick("bypass::try", SPIN, || {
        mutex::excludes::<Bypass<Small<Ticket<SpinOnly>, Mcs<SpinOnly>>>>(3, 1, 2);
    }),
    quick("bypass::fast", PARK_1, || {
        mutex::takes_turns::<Fast<Small<Ticket<SpinOnly>, Mcs<SpinOnly>>, MayPark, 1>, _>([
            2, 1, 1,
        ]);
    }),
    deep("clof::three_levels_again", PARK_1, || {
        mutex::takes_turns::<Deep, _>([2, 1, 1]);
    }),
    deep("clof::three_levels_of_four", PARK_1, || {
        mutex::excludes::<Deep>(4, 1, 0);
    }),
    quick("cna::turns", SPIN, || {
        mutex::takes_turns::<SmallCna<SpinOnly>, _>([2, 1, 1]);
    }),
    quick("cna::four", SPIN_1, || {
        mutex::takes_turns::<SmallCna<SpinOnly>, _>([2, 1, 1, 1]);
    }),
    quick("cna::lets_others_in", SPIN_1, || {
        mutex::lets_others_in::<Cna<SpinOnly, 1>>(0, 2);
    }),
    quick("shfl::turns", SPIN_1, || {
        mutex::takes_turns::<Shfl, _>([2, 1, 1]);
    }),
    quick("cna::queues", SPIN_0, || {
        mutex::queues::<Cna<SpinOnly, 8>, _>([1; 5]);
    }),
    quick("shfl::queues", SPIN_0, || {
        mutex::queues::<Shfl, _>([2, 1, 1, 1, 1]);
    }),
    quick("malthusian::turns", SPIN, || {
        mutex::takes_turns::<Malthusian<SpinOnly>, _>([2, 1, 1]);
    }),
    quick("malthusian::promotes", SPIN_TRIES, || {
        mutex::takes_turns::<Malthusian<SpinOnly>, _>([2, 1, 1]);
    }),
    quick("malthusian::queues", SPIN_0, || {
        mutex::queues::<Malthusian<SpinOnly>, _>([2, 1, 1, 1]);
    }),
    quick("malthusian::promotes_of_many", SPIN_0_TRIES, || {
        mutex::queues::<Malthusian<SpinOnly>, _>([2, 1, 1, 1]);
    }),
    quick("reciprocating::turns", SPIN, || {
        mutex::takes_turns::<Reciprocating<SpinOnly>, _>([2, 1, 1]);
    }),
    quick("reciprocating::queues", SPIN_0, || {
        mutex::queues::<Reciprocating<SpinOnly>, _>([2, 1, 1, 1]);
    }),
    quick("fissile::impatient", IMPATIENT_1, || {
        mutex::excludes::<Fissile>(3, 1, 0);
    }),
    quick("near::turns", SPIN, || {
        mutex::takes_turns::<SmallNear<SpinOnly>, _>([2, 1, 1]);
    }),
    quick("near::four", SPIN_1, || {
        mutex::takes_turns::<SmallNear<SpinOnly>, _>([2, 1, 1, 1]);
    }),
    quick("near::park_four", PARK_1, || {
        mutex::excludes::<SmallNear<MayPark>>(4, 1, 0);
    }),
    quick("near::queues", SPIN_0, || {
        mutex::queues::<Near<SpinOnly, 8>, _>([1; 5]);
    }),
    quick("near::prefers", SPIN_0, || {
        near::prefers_the_nearest::<SpinOnly, 1, _>([2, 1, 1, 1, 1], 4, true);
    }),
    quick("near::prefers_nobody", SPIN_0, || {
        near::prefers_the_nearest::<SpinOnly, 0, _>([2, 1, 1, 1, 1], 4, true);
    }),
    quick("near::above_cohorts", SPIN, || {
        mutex::takes_turns::<Small<Ticket<SpinOnly>, SmallNear<SpinOnly>>, _>([2, 1, 1]);
    }),
    quick("near::above_mcs", SPIN, || {
        mutex::takes_turns::<Small<Mcs<SpinOnly>, SmallNear<SpinOnly>>, _>([2, 1, 1]);
    }),
    quick("near::above_cores", SPIN_1, || {
        mutex::takes_turns::<Clof<Ticket<SpinOnly>, SmallNear<SpinOnly>, Core, 1, 3>, _>([
            2, 1, 1, 1,
        ]);
    }),
    quick("fc_mcs::turns", SPIN_1, || {
        mutex::takes_turns::<FcMcs<SpinOnly>, _>([2, 1, 1]);
    }),
    quick("fc_mcs::queues", SPIN_0, || {
        mutex::queues::<FcMcs<SpinOnly>, _>([1; 4]);
    }),
    quick("hclh::turns", SPIN_1, || {
        mutex::takes_turns::<Hclh<SpinOnly>, _>([2, 1, 1]);
    }),
    quick("hclh::queues", SPIN_0, || {
        mutex::queues::<Hclh<SpinOnly>, _>([1; 5]);
    }),
    quick("glk::changes", SPIN_1, || {
        mutex::excludes::<Forwards>(3, 1, 0);
    }),
    quick("glk::changes_back", PARK_1, || {
        mutex::excludes::<Backwards>(3, 1, 0);
    }),
    quick("glk::comes_back_changed", SPIN_1, || {
        mutex::takes_turns::<ToAndFro, _>([2, 1]);
    }),
    quick("glk::to_and_fro", SPIN_1, || {
        mutex::takes_turns::<ToAndFro, _>([2, 1, 1]);
    }),
    quick("glk::again_changed", PARK, || {
        mutex::takes_turns::<Forwards, _>([2, 2]);
    }),
    quick("glk::tries", SPIN_1, || {
        mutex::excludes::<Forwards>(3, 1, 2);
    }),
    quick("glk::comes_round", SPIN_1, || glk::comes_round(3)),
    quick("glk::is_free", SPIN, glk::is_free_for_a_try::<Forwards>),
    quick("glk::destroyed_changed", PARK, || {
        destroy::is_destroyed::<Forwards>(2);
    }),
    quick("glk::inflated", PARK_1, || {
        host::excludes(host::inflated::<Backwards>(), 2, 2, 0);
    }),
    quick("glk::forked", FORK, || {
        fork::holds_changed::<Forwards>();
    }),
    quick("gls::first_users", SPIN, || service::excludes([&[1], &[1]])),
    quick("gls::grows", SPIN_1, || {
        service::excludes([&[1, 2, 3][..], &[3, 2]])
    }),
    quick("gls::splits", SPIN_1, || {
        service::excludes([&[1, 2, 3, 4][..], &[4, 1]])
    }),
    deep("gls::three", SPIN_1, || {
        service::excludes([&[1, 3][..], &[2, 3], &[3]])
    }),
    quick("gls::frees", SPIN, || service::frees(1)),
    quick("gls::is_found", SPIN_1, || service::is_found([2, 3, 4])),
    quick("gls::forks", FORK, fork::puts_keys),
    quick("hmcs::turns", SPIN, || {
        mutex::takes_turns::<SmallHmcs<SpinOnly>, _>([2, 1, 1]);
    }),
    quick("hmcs::park_turns", PARK_1, || {
        mutex::takes_turns::<SmallHmcs<MayPark>, _>([2, 1, 1]);
    }),
    quick("hmcs::lets_others_in", SPIN_1, || {
        mutex::lets_others_in::<SmallHmcs<SpinOnly>>(0, 2);
    }),
    quick("hmcs::three_levels", PARK_1, || {
        mutex::takes_turns::<TallHmcs<SpinOnly>, _>([2, 1, 1]);
    }),
    quick("hmcs::three_levels_try", PARK_1, || {
        mutex::excludes::<TallHmcs<SpinOnly>>(3, 1, 2);
    }),
    quick("aclof::two_contexts", SPIN_1, || {
        mutex::excludes::<SmallAClof<ABo<SpinOnly>, AClh<SpinOnly>>>(3, 1, 0);
    }),
    quick("aclof::lets_go_above", SPIN_1, || {
        mutex::lets_go::<SmallAClof<AClh<SpinOnly>, AClh<SpinOnly>>>(3, 1, 1);
    }),
    quick("aclof::below_hmcs_t", SPIN_1, || {
        mutex::lets_go::<SmallAClof<AClh<SpinOnly>, HmcsT1<SpinOnly>>>(3, 1, 1);
    }),
    quick("aclof::three_levels", SPIN_1, || {
        mutex::lets_go::<TallAClof>(3, 1, 1);
    }),
    quick("aclof::three_levels_two_let_go", SPIN_1, || {
        mutex::lets_go::<TallAClof>(3, 1, 2);
    }),
    // In this form releases are exchanges: loom lets the last look see a follower's
    // exchange instead of a plain store that it raced with, which no machine does.
    quick("a_clh::two_let_go", SPIN, || {
        mutex::lets_go::<AClh<MayPark>>(3, 1, 2);
    }),
    quick("a_clh::lets_go", PARK, || {
        mutex::lets_go::<AClh<MayPark>>(3, 1, 1);
    }),
    quick("a_clh::again", PARK, || {
        mutex::excludes::<AClh<MayPark>>(2, 2, 0);
    }),
    quick("a_clh::try", SPIN, || {
        mutex::excludes::<AClh<MayPark>>(3, 1, 2);
    }),
    quick("a_clh::leaves_what_is_handed_over", SPIN_5, || {
        mutex::lets_go::<OneCohort<AClh<MayPark>>>(2, 1, 1);
    }),
    quick("a_bo::leaves_what_is_handed_over", SPIN_5, || {
        mutex::lets_go::<OneCohort<ABo<MayPark>>>(2, 1, 1);
    }),
    deep("hmcs_t::turns", SPIN_1, || {
        mutex::takes_turns::<SmallHmcsT<SpinOnly>, _>([2, 1, 1]);
    }),
    quick("hmcs_t::two_let_go", SPIN_1, || {
        mutex::lets_go::<HmcsT1<SpinOnly>>(3, 1, 2);
    }),
    quick("hmcs_t::leaves_its_own", SPIN, || {
        mutex::comes_by::<SmallHmcsT<SpinOnly>>(3, SmallHmcsT::acquire_among_others);
    }),
    quick("hmcs_t::all_let_go", SPIN_0, || {
        mutex::all_let_go::<HmcsT1<SpinOnly>>(3);
    }),
    quick("hmcs_t::lets_go", TICKING_3, || {
        mutex::lets_go::<HmcsT1<MayPark>>(2, 1, 1);
    }),
    quick("hmcs_t::comes_back", PARK, || {
        mutex::comes_back::<HmcsT1<MayPark>>(2, 1, false);
    }),
    quick("hmcs_t::another_comes", SPIN_1, || {
        mutex::comes_back::<HmcsT1<SpinOnly>>(3, 1, true);
    }),
    quick("hmcs_t::two_levels_come_back", SPIN_1, || {
        mutex::comes_back::<SmallHmcsT<SpinOnly>>(3, 1, false);
    }),
    quick("hmcs_t::two_levels_two_let_go", SPIN_1, || {
        mutex::lets_go::<SmallHmcsT<SpinOnly>>(3, 1, 2);
    }),
    quick("ahmcs::turns", SPIN, || {
        mutex::takes_turns::<SmallAhmcs<SpinOnly>, _>([2, 1, 1]);
    }),
    quick("ahmcs::turns_of_neighbours", PARK_1, || {
        mutex::takes_turns::<SmallAhmcs<SpinOnly>, _>([2, 1, 2]);
    }),
    quick("ahmcs::park_turns", PARK_1, || {
        mutex::takes_turns::<SmallAhmcs<MayPark>, _>([2, 1, 1]);
    }),
    quick("ahmcs::comes_back", SPIN, || {
        mutex::takes_turns::<SmallAhmcs<SpinOnly>, _>([5, 1]);
    }),
    quick("ahmcs::three_levels", PARK_1, || {
        mutex::takes_turns::<TallAhmcs<SpinOnly>, _>([3, 1, 1]);
    }),
    quick("ahmcs::mixed", PARK, || {
        mutex::excludes::<Hmcs<(Numa,), 2, 0, MayPark, 1, Mixed>>(3, 1, 0);
    }),
    quick("ahmcs::mixed_turns", SPIN_1, || {
        mutex::takes_turns::<Hmcs<(Numa,), 2, 0, SpinOnly, 1, Mixed>, _>([2, 2, 1]);
    }),
    quick("ahmcs::mixed_three_levels", PARK_1, || {
        mutex::takes_turns::<Hmcs<(Numa, Whole), 2, 1, SpinOnly, 1, Mixed>, _>([2, 1, 1]);
    }),
    quick("ahmcs::mixed_four", SPIN_1, || {
        mutex::excludes::<Hmcs<(Numa, Whole), 2, 1, SpinOnly, 1, Mixed>>(4, 1, 0);
    }),
    quick("tas::spin_only", SPIN, || {
        mutex::excludes::<Tas<SpinOnly>>(3, 1, 0)
    }),
    quick("tas::quick", QUIET, || mutex::excludes::<Tas>(2, 2, 0)),
    quick("tas::quick_three", QUIET, || {
        mutex::excludes::<Tas>(3, 1, 0);
    }),
    quick("tas::quick_three_again", QUIET, || {
        mutex::excludes::<Tas>(3, 2, 0);
    }),
    quick("tas::quick_timed", QUIET, || mutex::lets_go::<Tas>(3, 1, 1)),
    quick("tas::quick_destroyed", QUIET, || {
        destroy::is_destroyed::<Tas>(2);
    }),
    quick("ttas::remembers", TICKING, || {
        mutex::remembers::<Ttas>([true, true, false])
    }),
    quick("ptl::spin_only", SPIN, || {
        mutex::excludes::<Ptl<2, SpinOnly>>(3, 1, 0)
    }),
    quick("ptl::late", PARK, || {
        mutex::excludes::<Late<SmallPtl, CELL>>(3, 1, 0)
    }),
    quick("hemlock::spin_only", SPIN, || {
        mutex::excludes::<Hemlock<false, SpinOnly>>(3, 1, 0)
    }),
    quick("hemlock_ctr::spin_only", SPIN, || {
        mutex::excludes::<Hemlock<true, SpinOnly>>(3, 1, 0)
    }),
    quick("ticket::late", PARK, || {
        mutex::excludes::<Late<Ticket, CELL>>(3, 1, 0)
    }),
    quick("ticket::late_again", PARK, || {
        mutex::excludes::<Late<Ticket, { CELL - 1 }>>(2, 2, 0)
    }),
    quick("ticket::late_try", PARK, || {
        mutex::excludes::<Late<Ticket, CELL>>(3, 1, 1)
    }),
    quick("anderson::late", PARK, || {
        mutex::excludes::<Late<SmallAnderson, { u32::MAX }>>(3, 1, 0)
    }),
    deep("futex_hmcs::park_deeper", PARK_3, || {
        mutex::excludes::<FutexHmcs>(2, 2, 0)
    }),
    quick("futex_hmcs::queues", PARK_1, || {
        mutex::queues::<FutexHmcs, 3>([1, 1, 1])
    }),
    quick("futex_hmcs::spin_queues", SPIN_1, || {
        mutex::queues::<FutexHmcs, 3>([1, 1, 1])
    }),
    quick("futex_hmcs::owed", IMPATIENT_1, || {
        mutex::lets_go::<FutexHmcs>(3, 1, 1)
    }),
    quick("futex_hmcs::quick", QUIET_1, || {
        mutex::excludes::<FutexHmcs>(3, 1, 0)
    }),
    quick("futex_hmcs::quick_timed", QUIET, || {
        mutex::lets_go::<FutexHmcs>(3, 1, 1)
    }),
    quick(
        "futex_hmcs::keeps_apart",
        TURNS,
        mutex::keeps_apart::<FutexHmcs>,
    ),
    quick(
        "futex_hmcs::keeps_apart_spin",
        SPIN_TRIES,
        mutex::keeps_apart::<FutexHmcs>,
    ),
    quick("futex::park_deeper", PARK_3, || {
        mutex::excludes::<Futex>(3, 1, 0)
    }),
    quick("futex::try_deeper", PARK_3, || {
        mutex::excludes::<Futex>(3, 1, 1)
    }),
    quick("futex::again_deeper", PARK_3, || {
        mutex::excludes::<Futex>(2, 2, 0)
    }),
    quick("futex::handed_over", IMPATIENT, || {
        mutex::excludes::<Futex>(3, 1, 0)
    }),
    quick("futex::handed_over_again", IMPATIENT, || {
        mutex::excludes::<Futex>(2, 2, 0)
    }),
    quick("futex::handed_over_timed", IMPATIENT, || {
        mutex::lets_go::<Futex>(3, 1, 1)
    }),
    quick("futex::timed_again", TICKING, || {
        mutex::remembers::<Futex>([false, true, false])
    }),
    quick("futex::remembers", TICKING, || {
        mutex::remembers::<Futex>([true, true, false])
    }),
    quick("futex::timed_by_two", TICKING, || {
        mutex::lets_go::<Futex>(3, 2, 2)
    }),
    quick("futex::three_again", PARK_3, || {
        mutex::excludes::<Futex>(3, 2, 0)
    }),
    quick("futex::four", PARK, || mutex::excludes::<Futex>(4, 1, 0)),
    quick("futex::quick_three_again", QUIET, || {
        mutex::excludes::<Futex>(3, 2, 0)
    }),
    quick("futex::turns", TURNS, || mutex::excludes::<Futex>(3, 1, 0)),
    quick("futex::turns_again", TURNS, || {
        mutex::excludes::<Futex>(2, 2, 0)
    }),
    quick("futex::turns_try", TURNS_END, || {
        mutex::excludes::<Futex>(3, 1, 1)
    }),
    quick("futex::turns_timed", TURNS_TICK, || {
        mutex::lets_go::<Futex>(3, 1, 2)
    }),
    quick("futex::turns_destroyed", TURNS_END, || {
        destroy::is_destroyed::<Futex>(2)
    }),
    quick("futex::turns_end", TURNS_END, || {
        mutex::excludes::<Futex>(3, 1, 0)
    }),
    quick("futex::turns_end_again", TURNS_END, || {
        mutex::excludes::<Futex>(2, 2, 0)
    }),
    quick("futex::turns_end_four", TURNS_END_1, || {
        mutex::excludes::<Futex>(4, 1, 0)
    }),
    quick("futex::turns_end_timed", TURNS_END, || {
        mutex::lets_go::<Futex>(3, 1, 1)
    }),
    quick("futex::turns_left", TURNS_LEFT, || {
        mutex::remembers::<Futex>([false, true, false])
    }),
    quick("futex::turns_end_quick", QUIET_TURNS, || {
        mutex::excludes::<Futex>(2, 2, 0)
    }),
    quick("futex::turns_end_quick_three", QUIET_TURNS, || {
        mutex::excludes::<Futex>(3, 1, 0)
    }),
    quick("futex::quick", QUIET, || {
        mutex::excludes::<Futex>(2, 2, 0);
    }),
    quick("futex::quick_three", QUIET, || {
        mutex::excludes::<Futex>(3, 1, 0);
    }),
    quick("futex::quick_timed", QUIET, || {
        mutex::lets_go::<Futex>(3, 1, 1);
    }),
    quick("futex::quick_destroyed", QUIET, || {
        destroy::is_destroyed::<Futex>(2);
    }),
    quick("posix::park", PARK, || mutex::excludes::<Posix>(3, 1, 0)),
    quick("posix::try", PARK, || mutex::excludes::<Posix>(3, 1, 2)),
    quick("posix::again", PARK, || mutex::excludes::<Posix>(2, 2, 0)),
    quick("posix::timed", PARK, || mutex::lets_go::<Posix>(3, 1, 1)),
    quick("posix::adaptive", PARK, || {
        mutex::excludes::<Posix<1>>(3, 1, 0)
    }),
    quick("posix::destroyed", PARK, || {
        destroy::is_destroyed::<Posix>(2)
    }),
    quick("spin_then_park::sleep", PARK, || {
        mutex::excludes::<SpinPark<0, 0>>(3, 1, 0)
    }),
    quick("spin_then_park::flood", PARK, || {
        mutex::excludes::<SpinPark<0, 1>>(3, 1, 0)
    }),
    quick("spin_then_park::one_spins", PARK, || {
        mutex::excludes::<SpinPark<1, 1>>(3, 1, 0)
    }),
    quick("spin_then_park::again", PARK, || {
        mutex::excludes::<SpinPark<1, 1>>(2, 2, 0)
    }),
    quick("spin_then_park::timed", PARK, || {
        mutex::lets_go::<SpinPark<1, 1>>(3, 1, 1)
    }),
    quick("spin_then_park::destroyed", PARK, || {
        destroy::is_destroyed::<SpinPark<1, 1>>(2)
    }),
    quick("posix_rwlock::reader", PARK, || {
        rwlock::shares::<PosixRwLock>(2, 1, 1, 0)
    }),
    quick("posix_rwlock::readers", PARK, || {
        rwlock::shares::<PosixRwLock>(3, 1, 1, 0)
    }),
    quick("posix_rwlock::writers", PARK, || {
        rwlock::shares::<PosixRwLock>(3, 2, 1, 0)
    }),
    quick("posix_rwlock::again", PARK, || {
        rwlock::shares::<PosixRwLock>(2, 1, 2, 0)
    }),
    quick("posix_rwlock::try", PARK, || {
        rwlock::shares::<PosixRwLock>(3, 1, 1, 2)
    }),
    quick("posix_rwlock::try_write", PARK, || {
        rwlock::shares::<PosixRwLock>(3, 3, 1, 1)
    }),
    quick("posix_rwlock_w::readers", PARK, || {
        rwlock::shares::<PosixRwLock<true>>(3, 1, 1, 0)
    }),
    quick("posix_rwlock_w::writers", PARK, || {
        rwlock::shares::<PosixRwLock<true>>(3, 2, 1, 0)
    }),
    quick("posix_rwlock_w::three_writers", PARK, || {
        rwlock::shares::<PosixRwLock<true>>(3, 3, 1, 0)
    }),
    quick("posix_rwlock_w::again", PARK, || {
        rwlock::shares::<PosixRwLock<true>>(2, 1, 2, 0)
    }),
    quick("rwlock::park", PARK, || {
        rwlock::shares::<RawRwLock>(3, 1, 1, 0)
    }),
    quick("rwlock::spin", SPIN, || {
        rwlock::shares::<RawRwLock>(3, 1, 1, 0)
    }),
    quick("rwlock::writers", PARK, || {
        rwlock::shares::<RawRwLock>(3, 2, 1, 0)
    }),
    quick("rwlock::again", PARK, || {
        rwlock::shares::<RawRwLock>(2, 1, 2, 0)
    }),
    quick("rwlock::reserved", IMPATIENT_2, || {
        rwlock::shares::<RawRwLock>(3, 1, 1, 0)
    }),
    quick("rwlock::turns", TURNS_END_1, || {
        rwlock::shares::<RawRwLock>(3, 1, 1, 0)
    }),
    quick("rwlock::timed_turns", TURNS_TICK, || {
        rwlock::lets_go::<RawRwLock>(3, 2, 1, 1)
    }),
    quick("rwlock::timed", PARK, || {
        rwlock::lets_go::<RawRwLock>(3, 1, 1, 1)
    }),
    quick("rwlock::timed_writer", PARK, || {
        rwlock::lets_go::<RawRwLock>(2, 2, 1, 1)
    }),
    quick("rwlock::timed_writer_of_three", PARK, || {
        rwlock::lets_go::<RawRwLock>(3, 3, 1, 1)
    }),
    quick("rwlock::try", PARK, || rwlock::is_tried::<RawRwLock>(3, 1)),
    quick("rwlock::read_again", PARK, || {
        rwlock::is_read_again::<RawRwLock>(1)
    }),
    quick("rw_cohorts::read_again", PARK, || {
        rwlock::is_read_again::<Neutral<Ticket>>(1);
    }),
    quick("rw_cohorts::read_again_spin", SPIN, || {
        rwlock::is_read_again::<Neutral<Ticket>>(1);
    }),
    quick("rw_cohorts::beside_another", PARK, || {
        rwlock::is_read_beside_another::<Neutral<Ticket>>(2, 1);
    }),
    quick("rw_cohorts::try", SPIN, || {
        rwlock::is_tried::<Neutral<Ticket>>(3, 1);
    }),
    quick("rw_cohorts::timed_again", PARK, || {
        rwlock::lets_go::<Neutral<Ticket>>(2, 1, 2, 1);
    }),
    quick("rw_cohorts::lets_writers_go", PARK, || {
        rwlock::lets_writers_go::<Neutral<Ticket>>(2, 2);
    }),
    quick("rw_cohorts::timed_writer", PARK, || {
        rwlock::lets_go::<Neutral<Ticket>>(2, 2, 1, 1);
    }),
    quick("rw_cohorts::timed_both", PARK, || {
        rwlock::lets_go::<Neutral<Ticket>>(2, 1, 1, 2);
    }),
    quick("rw_cohorts::lets_readers_in", SPIN_1, || {
        rwlock::lets_readers_in::<Mcs, true, 0, 2>(1);
    }),
    quick("rw_cohorts::spin", SPIN_1, || {
        rwlock::shares::<Neutral<Ticket>>(3, 1, 1, 0);
    }),
    quick("rw_cohorts::park", PARK_1, || {
        rwlock::shares::<Neutral<Ticket>>(3, 1, 1, 0);
    }),
    quick("rw_cohorts::strictly", PARK, || {
        rwlock::shares_strictly::<Neutral<Ticket>>(3, 1, 1);
    }),
    quick("rw_cohorts::writers", SPIN_1, || {
        rwlock::shares::<Neutral<Mcs>>(3, 2, 1, 0);
    }),
    quick("rw_cohorts::writers_park", PARK, || {
        rwlock::shares_strictly::<Neutral<Mcs>>(3, 2, 1);
    }),
    quick("rw_cohorts::again", PARK, || {
        rwlock::shares::<Neutral<Mcs>>(2, 1, 2, 0);
    }),
    quick("rw_cohorts::timed", PARK_1, || {
        rwlock::lets_go::<Neutral<Ticket>>(3, 1, 1, 1);
    }),
    quick("rw_cohorts::timed_writers", PARK_1, || {
        rwlock::lets_go::<Neutral<Mcs>>(3, 2, 1, 2);
    }),
    quick("rw_cohorts::composition", SPIN_1, || {
        rwlock::shares::<Neutral<Small<Ticket<SpinOnly>, Mcs<SpinOnly>>>>(3, 2, 1, 0);
    }),
    quick("rw_cohorts_w::spin", SPIN_1, || {
        rwlock::shares::<WritersFirst<Mcs>>(3, 2, 1, 0);
    }),
    quick("rw_cohorts_w::park", PARK_1, || {
        rwlock::shares_strictly::<WritersFirst<Mcs>>(3, 2, 1);
    }),
    quick("rw_cohorts_w::deference", IMPATIENT_1, || {
        rwlock::shares::<WritersFirst<Ticket>>(3, 1, 1, 0);
    }),
    quick("rw_cohorts_w::read_again", PARK, || {
        rwlock::is_read_again::<WritersFirst<Ticket>>(1);
    }),
    quick("rw_cohorts_w::lets_readers_in", IMPATIENT_1, || {
        rwlock::lets_readers_in::<Mcs, false, 0, 2>(1);
    }),
    quick("rw_object::park", PARK_1, || {
        rwlock::shares_strictly::<Nameless<Ticket>>(3, 1, 1);
    }),
    deep("rw_object::writers", PARK_1, || {
        rwlock::shares::<Nameless<Mcs>>(3, 2, 1, 0);
    }),
    quick("rw_object::is_named", PARK_1, || {
        rwlock::is_read_on::<Nameless<Ticket>>(1);
    }),
    deep("rw_object::meet", PARK_1, || {
        rwlock::shares::<Nameless<Ticket>>(3, 1, 2, 0);
    }),
    quick("rw_object::named", PARK, || {
        rwlock::shares_strictly::<Named<Ticket>>(3, 1, 1);
    }),
    quick("rw_object::named_spin", SPIN_1, || {
        rwlock::shares::<Named<Ticket>>(3, 1, 1, 0);
    }),
    deep("rw_object::named_writers", PARK_1, || {
        rwlock::shares::<Named<Mcs>>(3, 2, 1, 0);
    }),
    quick("rw_object::named_again", PARK, || {
        rwlock::shares::<Named<Mcs>>(2, 1, 2, 0);
    }),
    quick("rw_object::readers", PARK_3, || {
        rwlock::shares::<Nameless<Ticket>>(3, 0, 2, 0);
    }),
    quick("rw_object::crowded", PARK_1, || {
        rwlock::shares::<Beginning<Ticket, true, CROWDED>>(3, 1, 1, 0);
    }),
    quick("rw_object::read_again", PARK, || {
        rwlock::is_read_again::<Named<Ticket>>(1);
    }),
    quick("rw_object::beside_another", PARK, || {
        rwlock::is_read_beside_another::<Nameless<Ticket>>(2, 1);
    }),
    quick("rw_object::try", SPIN, || {
        rwlock::is_tried::<Named<Ticket>>(3, 1);
    }),
    quick("rw_object::timed", PARK_1, || {
        rwlock::lets_go::<Named<Ticket>>(3, 1, 1, 1);
    }),
    quick("rw_object::timed_writers", PARK_1, || {
        rwlock::lets_go::<Nameless<Mcs>>(3, 2, 1, 2);
    }),
    quick("rw_object::deference", IMPATIENT_1, || {
        rwlock::shares::<Beginning<Ticket, false, NAMED>>(3, 1, 1, 0);
    }),
    quick("condvar::signal", PARK, || {
        condvar::tells::<Futex>(2, 1, false, false);
    }),
    quick("condvar::signal_held", PARK, || {
        condvar::tells::<Futex>(2, 1, false, true);
    }),
    quick("condvar::signal_held_queued", PARK, || {
        condvar::tells::<Queued>(2, 1, false, true);
    }),
    quick("condvar::signal_two", PARK, || {
        condvar::tells::<Futex>(3, 1, false, false);
    }),
    quick("condvar::signal_two_held", PARK, || {
        condvar::tells::<Futex>(3, 1, false, true);
    }),
    quick("condvar::broadcast", PARK, || {
        condvar::tells::<Futex>(3, 1, true, false);
    }),
    quick("condvar::broadcast_held", PARK, || {
        condvar::tells::<Queued>(3, 1, true, true);
    }),
    quick("condvar::timed", PARK, || {
        condvar::spends_no_signal_on_who_gave_up::<Futex>(3, true, false);
    }),
    quick("condvar::cancelled", PARK, || {
        condvar::spends_no_signal_on_who_gave_up::<Queued>(3, false, true);
    }),
    quick("condvar::destroyed", PARK, || {
        condvar::is_destroyed::<Futex>(false);
    }),
    quick("condvar::destroyed_queued", PARK, || {
        condvar::is_destroyed::<Queued>(false);
    }),
    quick("condvar::destroyed_by_broadcast", PARK, || {
        condvar::is_destroyed::<Futex>(true);
    }),
    quick("guard::mcs", PARK, || guard::excludes::<Mcs>(2, 2)),
    quick("guard::clh", PARK, || guard::excludes::<Clh>(2, 2)),
    quick("guard::three", PARK_1, || guard::excludes::<Mcs>(3, 1)),
    quick("guard::reentrant", PARK, || guard::locks_again::<Mcs>(2)),
    quick("guard::ended", ENDING, || guard::excludes::<Mcs>(2, 1)),
    quick("guard::mcs_handed_on", PARK, || {
        guard::is_handed_on::<Mcs>(2);
    }),
    quick("guard::clh_handed_on", PARK, || {
        guard::is_handed_on::<Clh>(2);
    }),
    deep("guard::handed_on_three", PARK_1, || {
        guard::is_handed_on::<Mcs>(3);
    }),
    quick("arena::two", SPIN, || arena::hands_out_once(2, 1, 2)),
    quick("arena::again", PARK_1, || arena::hands_out_once(2, 2, 2)),
    deep("arena::three", PARK_1, || arena::hands_out_once(3, 1, 2)),
    quick("arena::adopts", ENDING, || arena::adopts_orphans(2)),
    quick("arena::entered_again", SPIN_0, || {
        again::is_entered_again(|moment, handler, it| door::interrupted_after(moment, handler, it));
    }),
    quick("in_place::mcs_try", PARK, || {
        host::excludes(host::in_place::<Mcs>(), 3, 1, 1)
    }),
    quick("in_place::tas_quick", QUIET, || {
        host::excludes(host::shortly_in_place::<Tas>(), 2, 2, 0)
    }),
    quick("in_place::ticket_quick", QUIET, || {
        host::excludes(host::shortly_in_place::<Ticket>(), 2, 2, 0)
    }),
    quick("gate::mcs", PARK, || {
        host::excludes(host::in_place::<Mcs>(), 3, 1, 0)
    }),
    quick("gate::ticket", PARK_1, || {
        host::excludes(host::in_place::<Ticket>(), 3, 1, 0)
    }),
    quick("gate::four", PARK_1, || {
        host::excludes(host::in_place::<Mcs>(), 4, 1, 0)
    }),
    quick("gate::gated", PARK_1, || {
        mutex::excludes::<Gated<Ticket>>(3, 1, 0)
    }),
    quick("gate::impatient", IMPATIENT_1, || {
        host::excludes(host::in_place::<Mcs>(), 3, 1, 0)
    }),
    quick("claim::mcs", DUE, || {
        host::is_claimed(host::in_place::<Mcs>(), 2, 2, [Some(host::NEVER)]);
    }),
    quick("claim::ticket", DUE, || {
        host::is_claimed(
            host::shortly_in_place::<Ticket>(),
            2,
            2,
            [Some(host::NEVER)],
        );
    }),
    quick("claim::inflated", DUE, || {
        host::is_claimed(host::inflated::<SmallAnderson>(), 2, 2, [Some(host::NEVER)]);
    }),
    quick("claim::given_up", DUE, || {
        host::is_claimed(host::in_place::<Ticket>(), 2, 2, [Some(NEAR)]);
    }),
    quick("claim::past_the_queue", DUE_1, || {
        host::is_claimed(host::in_place::<Mcs>(), 3, 1, [Some(NEAR)]);
    }),
    quick("claim::past_the_counted", DUE_1, || {
        host::is_claimed(host::inflated::<SmallAnderson>(), 3, 1, [Some(NEAR)]);
    }),
    quick("claim::line", DUE_1, || {
        host::is_claimed(host::in_place::<Ticket>(), 3, 1, [None; 3]);
    }),
    quick("claim::line_of_three", DUE_1, || {
        host::is_claimed_by_many(host::in_place::<Ticket>(), [None; 3]);
    }),
    quick("claim::left_line", DUE_1, || {
        host::is_claimed_by_many(
            host::in_place::<Ticket>(),
            [None, Some(host::NEVER), Some(NEAR)],
        );
    }),
    deep("gate::again", PARK_1, || {
        host::excludes(host::in_place::<Ticket>(), 3, 2, 0)
    }),
    quick("inflated::three", PARK, || {
        host::excludes(host::inflated::<SmallAnderson>(), 3, 1, 0);
    }),
    quick("inflated::try", PARK, || {
        host::excludes(host::inflated::<SmallAnderson>(), 3, 1, 1);
    }),
    quick("fork::futex_turns", FORK_TURNS, || {
        fork::holds(fork::bare::<Futex>(), 3)
    }),
    quick("fork::futex_turns_beside", FORK_TURNS, || {
        fork::looks_on(fork::bare::<Futex>(), 3)
    }),
    quick("fork::futex_turns_multiplies", FORK_TURNS, || {
        fork::multiplies(fork::bare::<Futex>(), 2);
    }),
    quick("fork::futex_hmcs_waited", FORK_0, || {
        fork::holds_what_it_waited_for(fork::bare::<FutexHmcs>())
    }),
    quick("fork::futex_hmcs_multiplies", FORK, || {
        fork::multiplies(fork::bare::<FutexHmcs>(), 2)
    }),
    quick("fork::futex_hmcs_beside", FORK_2, || {
        fork::looks_on(fork::bare::<FutexHmcs>(), 3)
    }),
    quick("fork::claim", FORK_DUE, || {
        fork::holds_what_is_claimed(host::in_place::<Mcs>(), 2)
    }),
    quick("fork::claim_of_inflated", FORK_DUE, || {
        fork::holds_what_is_claimed(host::inflated::<SmallAnderson>(), 3)
    }),
    quick("fork::claim_granted", FORK_DUE_2, || {
        fork::hands_over(host::in_place::<Mcs>())
    }),
    deep("fork::ticket_multiplies", FORK, || {
        fork::multiplies(host::in_place::<Ticket>(), 2);
    }),
    quick("fork::mcs_multiplies", FORK, || {
        fork::multiplies(host::in_place::<Mcs>(), 2);
    }),
    quick("fork::clh_multiplies", FORK, || {
        fork::multiplies(host::in_place::<Clh>(), 2);
    }),
    quick("fork::clof", FORK, || {
        fork::holds(host::inflated::<Small<Ticket, Mcs>>(), 3)
    }),
    quick("fork::stacked", FORK, || {
        fork::holds(host::inflated::<SmallStack<TicketMcs>>(), 3)
    }),
    quick("inflated::ahead", PARK_3, || {
        moved::looks_ahead::<Small<Hesitant<Mcs>, Ticket>>(|| ())
    }),
    quick("fork::inflated_ahead", FORK_3, || {
        moved::looks_ahead::<Small<Hesitant<Ticket>, Ticket>>(door::fork)
    }),
    quick("fork::rw_object", FORK, || {
        fork::holds(object::hosted(host::in_place::<Ticket>()), 2)
    }),
    quick("fork::rw_object_written", FORK_3, || {
        fork::writes(object::hosted(host::in_place::<Tas>()), 2)
    }),
    quick("fork::rw_object_of_futex", FORK, || {
        fork::holds(object::hosted(fork::bare::<Futex>()), 2)
    }),
    quick("fork::rw_object_of_futex_beside", FORK_2, || {
        fork::looks_on_grants(object::hosted(fork::bare::<Futex>()), 2)
    }),
    quick("fork::rw_object_read", FORK, || {
        fork::reads(object::hosted(host::in_place::<Tas>()), 2)
    }),
    quick("fork::rw_object_multiplies", FORK_0, || {
        fork::multiplies(object::hosted(host::in_place::<Tas>()), 2)
    }),
    quick("fork::rw_object_beside", FORK_2, || {
        fork::looks_on_grants(object::hosted(host::in_place::<Tas>()), 2)
    }),
    quick("fork::rw_object_inflated", FORK, || {
        fork::holds(object::hosted(host::inflated::<SmallAnderson>()), 2)
    }),
    quick("fork::inflated_multiplies", FORK, || {
        fork::multiplies(host::inflated::<SmallAnderson>(), 2);
    }),
    quick("fork::mcs_beside", FORK_2, || {
        fork::looks_on_grants(host::in_place::<Mcs>(), 3)
    }),
    quick("fork::ticket_quick", FORK_QUIET, || {
        fork::holds(host::shortly_in_place::<Ticket>(), 2)
    }),
    quick("fork::ticket_beside", FORK_2, || {
        fork::looks_on_grants(host::in_place::<Ticket>(), 3)
    }),
    quick("fork::tas_beside", FORK_2, || {
        fork::looks_on(host::in_place::<Tas>(), 3)
    }),
    quick("fork::clh_beside", FORK_2, || {
        fork::looks_on_grants(host::in_place::<Clh>(), 3)
    }),
    quick("fork::k42_beside", FORK_2, || {
        fork::looks_on_grants(host::in_place::<K42>(), 3)
    }),
    quick("fork::hemlock_beside", FORK_2, || {
        fork::looks_on_grants(host::in_place::<Hemlock>(), 3)
    }),
    quick("fork::inflated_beside", FORK_2, || {
        fork::looks_on(host::inflated::<SmallAnderson>(), 3);
    }),
    deep("ticket::deep", PARK_1, || {
        mutex::excludes::<Ticket>(3, 2, 0)
    }),
    deep("mcs::deep", PARK_1, || mutex::excludes::<Mcs>(3, 2, 0)),
    deep("clh::deep", PARK, || mutex::excludes::<Clh>(3, 2, 0)),
    deep("tas::deep", PARK_1, || mutex::excludes::<Tas>(3, 2, 0)),
    deep("ptl::deep", PARK_1, || mutex::excludes::<SmallPtl>(3, 2, 0)),
    deep("k42::deep", PARK_1, || mutex::excludes::<K42>(3, 2, 0)),
    deep("hemlock::deep", PARK_1, || {
        mutex::excludes::<Hemlock>(3, 2, 0)
    }),
    deep("anderson::deep", PARK, || {
        mutex::excludes::<SmallAnderson>(3, 2, 0)
    }),
    deep("futex::deep", PARK, || mutex::excludes::<Futex>(3, 2, 0)),
];

/// All of them.
pub static MODELS: LazyLock<Vec<Model>> = LazyLock::new(|| {
    let mut models = standard::models();
    models.extend(delegates::models());
    models.extend_from_slice(OTHERS);
    models
});

/// The model of that name.
pub fn find(name: &str) -> Option<&'static Model> {
    let broken = BROKEN.iter().map(|(model, _)| model);
    MODELS.iter().chain(broken).find(|model| model.name == name)
}

impl Model {
    /// Explores all of it in this process.
    pub fn check(&self) -> Tally {
        self.bounds().check(self.client, None)
    }

    /// Explores it one preemption deeper, for a while, where the full tier wants that.
    pub fn check_deeper(&self) -> Option<Tally> {
        let deeper = full() && !self.full_only && number(PREEMPTIONS).is_none();
        let mut bounds = self.bounds();
        bounds.preemptions += 1;
        deeper.then(|| bounds.check(self.client, Some(DEEPER)))
    }

    fn bounds(&self) -> Bounds {
        Bounds {
            preemptions: number(PREEMPTIONS).unwrap_or(self.bounds.preemptions),
            polls: number(POLLS).map_or(self.bounds.polls, |polls| polls as u32),
            ..self.bounds
        }
    }

    /// Where what is found out of it once is kept.
    fn known(&self) -> &'static OnceLock<(Verdict, Duration)> {
        static KNOWN: LazyLock<BTreeMap<&str, OnceLock<(Verdict, Duration)>>> =
            LazyLock::new(|| {
                let empty = |model: &Model| (model.name, OnceLock::new());
                MODELS.iter().map(empty).collect()
            });
        &KNOWN[self.name]
    }

    /// How it ends without a flaw, in a process of its own; found out once.
    pub fn verdict(&self) -> &'static Verdict {
        let (verdict, _) = self.known().get_or_init(|| {
            let began = Instant::now();
            let verdict = verdict(self.name, None, limit());
            (verdict, began.elapsed())
        });
        verdict
    }

    /// How long that took, if it is known yet.
    pub fn took(&self) -> Option<Duration> {
        self.known().get().map(|(_, took)| *took)
    }

    /// Whether this tier runs it.
    pub fn is_wanted(&self) -> bool {
        !self.full_only || full()
    }
}

/// How long a model may take: a guard, far beyond what it needs.
fn limit() -> Duration {
    Duration::from_secs(if full() { 3600 } else { 300 })
}

/// One test for each, and for each broken lock.
pub fn tests() -> Vec<Trial> {
    let sound = MODELS.iter().map(|model| {
        let name = format!("loom::{}", model.name);
        slowest::tiered(!model.is_wanted(), name, || match model.verdict() {
            Verdict::Passed(_) => Ok(()),
            Verdict::Failed(why) | Verdict::Undecided(why) => Err(Failed::from(why.as_str())),
        })
    });
    let broken = BROKEN.iter().map(|(model, reason)| {
        Trial::test(format!("checker::{}", model.name), move || {
            match (verdict(model.name, None, limit()), reason) {
                (Verdict::Passed(_), None) => Ok(()),
                (Verdict::Failed(why), Some(reason)) if why.contains(reason) => Ok(()),
                (verdict, reason) => Err(Failed::from(format!(
                    "expected {reason:?}, got {verdict:?}"
                ))),
            }
        })
    });
    sound.chain(broken).collect()
}
