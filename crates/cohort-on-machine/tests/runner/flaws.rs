//! Each flaw that lock code names must be noticed by chance, as a deadlock, a panic
//! or a wrong count; or stands in a list with the reason why this world cannot show
//! it.

use super::bounds::{
    by_time_among_neighbours, keeps_to_its_hand_offs, passes_few_over, serves_claims_soon,
    serves_the_queue_between_claims,
};
use super::clients::few;
use super::locks::wanted_by_few;
use super::trial::{KUNPENG, by_chance, by_chance_in_four_nodes, full, outcomes};
use super::world::Client;
use crate::clients::condvar::{self, Queued};
use crate::clients::mutex;
use crate::locks::baseline::{Posix, SpinPark4};
use crate::locks::basic::{Futex, Hemlock, Malthusian, Mcs, Reciprocating, Tas, Ticket, Ttas};
use crate::locks::compose::{Bypass, CMcsMcs, Clof, Numa};
use crate::locks::door::FLAWS;
use crate::locks::numa::{Cna, FutexHmcs, Hmcs, WhereMet};
use crate::locks::wait::MayPark;
use crate::locks::{RawLock, RawTry};
use crate::slowest;
use cohort_machine::Options;
use libtest_mimic::{Failed, Trial};

/// Where each flaw is looked for: if nothing else is said, in the lock of that name.
fn places(flaw: &str) -> Vec<Client> {
    let file = flaw.split_once('.').map_or(flaw, |(file, _)| file);
    match file {
        "cell" => vec![|| mutex::excludes::<Ticket>(4, 4, 0), || {
            mutex::excludes::<Mcs>(4, 4, 0)
        }],
        "futex" => vec![
            || mutex::excludes::<Futex>(3, 2, 0),
            || mutex::excludes::<Futex>(4, 4, 0),
            few("futex_lets_go"),
            few("condvar_signals"),
            few("condvar_broadcasts"),
        ],
        "futex-hmcs" => vec![few("futex_hmcs_lets_go"), || {
            mutex::excludes::<FutexHmcs>(6, 4, 0)
        }],
        "flag" => vec![
            few("tas_lets_go"),
            || mutex::remembers::<Ttas>([true, true, false]),
            || mutex::excludes::<Tas>(3, 2, 0),
            || mutex::excludes::<Tas>(4, 4, 0),
        ],
        "quick" => vec![
            || mutex::excludes::<Tas>(4, 4, 0),
            || mutex::excludes::<Ticket>(3, 2, 0),
            || mutex::excludes::<Ticket>(4, 4, 0),
            || mutex::excludes::<Futex>(4, 4, 0),
        ],
        "ticket" if flaw == "ticket.forget-dismissal" => vec![few("glk_comes_round")],
        "mcs" => vec![few("glk_changes"), few("glk_changes_back")],
        "gls" => vec![few("gls_excludes"), few("gls_frees"), few("gls_is_found")],
        "glk" => vec![
            few("glk_changes"),
            few("glk_changes_back"),
            few("glk_tries"),
        ],
        "ticket" => vec![|| mutex::excludes::<Ticket>(3, 2, 0), || {
            mutex::excludes::<Ticket>(4, 4, 0)
        }],
        "cache" => vec![few("arena_hands_out_once")],
        "in_place" => vec![few("ticket_in_place")],
        "inflated" => vec![few("anderson_inflated")],
        "claim" if flaw == "claim.forget-wake" => vec![serves_claims_soon],
        "claim" if flaw == "claim.forget-queue" => vec![serves_the_queue_between_claims],
        "claim" => vec![
            few("mcs_claimed"),
            few("ticket_claimed"),
            few("anderson_claimed"),
            few("claimed_by_many"),
        ],
        "gate" => vec![few("ticket_in_place"), few("mcs_in_place")],
        "malthusian" => vec![|| mutex::excludes::<Malthusian>(4, 4, 0)],
        "reciprocating" => vec![|| mutex::excludes::<Reciprocating>(4, 4, 0)],
        "posix" => vec![|| mutex::excludes::<Posix>(3, 2, 0)],
        "spin-park" => vec![|| mutex::excludes::<SpinPark4>(4, 4, 0)],
        "posix-rwlock" => vec![few("posix_readers_share"), few("posix_writers_come_first")],
        "rwlock" => vec![few("readers_share"), few("readers_and_writers_let_go")],
        "rw-phase" if flaw == "rw-phase.overtake" => vec![few("object_readers_share")],
        "rw-cohorts" | "rw-phase" | "rw-count" => vec![
            few("cohorts_readers_share"),
            few("cohorts_let_readers_in"),
            few("cohorts_are_read_again"),
            few("cohorts_readers_give_way"),
            few("cohorts_are_read_beside"),
            few("cohorts_let_go"),
            few("cohorts_let_writers_go"),
        ],
        "rw-table" | "rw-object" => vec![
            few("object_readers_give_way"),
            few("object_readers_share"),
            few("object_of_a_composition"),
        ],
        "clof" if flaw == "clof.keep-for-ever" => vec![keeps_to_its_hand_offs],
        "clof" => vec![
            || mutex::excludes::<Clof<Ticket, Mcs>>(4, 4, 0),
            || mutex::excludes::<CMcsMcs>(4, 4, 0),
            || mutex::excludes::<Clof<Hemlock, Mcs>>(4, 4, 0),
        ],
        "a-bo" => vec![few("a_c_bo_bo_lets_go")],
        "a-clh" => vec![few("a_c_bo_clh_lets_go")],
        "aclof" if flaw == "aclof.keep-for-ever" => vec![keeps_to_its_hand_offs],
        "aclof" => vec![few("aclof_of_three_levels")],
        "stacked" => vec![few("stacked_excludes")],
        "hmcs" => vec![
            || mutex::excludes::<Hmcs<(Numa,), 2, 0, MayPark, 2>>(4, 4, 0),
            || mutex::excludes::<Hmcs<(Numa,), 2, 0, MayPark, 2, WhereMet>>(4, 4, 0),
            few("hmcs_lets_others_in"),
        ],
        "hmcs-t" => vec![
            few("hmcs_t_lets_go"),
            few("hmcs_t_comes_back"),
            few("hmcs_t_of_three_levels"),
            few("hmcs_t_lets_others_in"),
        ],
        "cna" => vec![
            || mutex::excludes::<Cna<MayPark, 2>>(4, 4, 0),
            few("cna_queues"),
            few("cna_lets_others_in"),
        ],
        "near" => vec![few("near_queues"), passes_few_over],
        "fc-mcs" => vec![few("fc_mcs_queues")],
        "hclh" => vec![few("hclh_queues")],
        "shfl" => vec![few("shfl_queues")],
        "bypass" => vec![|| mutex::excludes::<Bypass<Clof<Ticket, Mcs>>>(4, 4, 0)],
        "cc-synch" => vec![few("cc_synch_hands_on")],
        "request" => vec![few("sanl_brings")],
        "sanl" => vec![
            few("sanl_brings"),
            few("sanl_brings_late"),
            few("sanl_lets_go"),
        ],
        "condvar" => vec![few("condvar_signals"), || {
            condvar::spends_no_signal_on_who_gave_up::<Queued>(3, false, true);
        }],
        "returning" => vec![few("condvar_signals_queued")],
        lock => wanted_by_few(&lock.replace('-', "_")).into_iter().collect(),
    }
}

/// How a flaw is looked for.
fn schedules(flaw: &str) -> Vec<Options> {
    if flaw.starts_with("near.") {
        by_chance_in_four_nodes().collect()
    } else if ["claim.forget-wake", "claim.forget-queue"].contains(&flaw) {
        // Only there it means something how long a wait takes.
        vec![by_time_among_neighbours()]
    } else {
        by_chance().collect()
    }
}

/// How often all clients are tried with other seeds, before a flaw counts as missed.
const ROUNDS: u64 = 400;

/// Flaws that are noticed so seldom that the quick tier leaves them to the full one.
static LATE: &[&str] = &["claim.forget-queue"];

/// Flaws that no client here can notice.
static BEYOND: &[(&str, &str)] = &[
    (
        "quick.no-barrier",
        "a barrier that orders stores against loads has nothing to order where values are \
         sequentially consistent",
    ),
    (
        "rw-phase.bar-everybody",
        "a reader that waits behind a writer in vain passes it after five milliseconds, which \
         pass here; loom's clock stands still",
    ),
    (
        "rwlock.leave-silently",
        "a reader has to stand between its look and its count while a writer falls asleep and \
         the last reader leaves: no client here brings these together, loom does",
    ),
    (
        "cache.open-twice",
        "no thread is interrupted by a handler here",
    ),
    (
        "futex-hmcs.take-in-use",
        "there are so many queues here that no two locks of a client want the same",
    ),
    (
        "request.leave-posted",
        "a thread that gives up frees its section while that runs, and the whole process goes \
         down, so no client here gives up under it; loom, which keeps that memory, notices",
    ),
    ("sanl.keep-posted", "nobody forks here"),
    ("sanl.keep-queue", "nobody forks here"),
    ("futex-hmcs.believe-places", "nobody forks here"),
    ("futex-hmcs.keep-queue", "nobody forks here"),
    (
        "glk.change-first",
        "it publishes too little: values are sequentially consistent here",
    ),
    ("glk.forget-mode", "nobody forks here"),
    ("in_place.believe-grants", "nobody forks here"),
    ("in_place.believe-claims", "nobody forks here"),
    ("inflated.take-as-left", "nobody forks here"),
    ("inflated.believe-claims", "nobody forks here"),
    ("claim.outlive-fork", "nobody forks here"),
    ("rw-object.keep-readers", "nobody forks here"),
];

/// A lock that lets everybody in.
#[derive(Debug, Default)]
struct Open;

// SAFETY: none: it breaks its promise on purpose, and its clients touch nothing that
// a second thread at once could harm, since all threads are fibers of one.
unsafe impl RawLock for Open {
    type Context = ();
    fn acquire(&self, (): &()) {}
    unsafe fn release(&self, (): &()) {}
    fn is_locked(&self) -> bool {
        false
    }
}

// SAFETY: as above.
unsafe impl RawTry for Open {
    fn try_acquire(&self, (): &()) -> bool {
        true
    }
}

/// Two threads in one section are reported as such.
fn an_open_lock_is_noticed() -> Result<(), Failed> {
    let run = |options| outcomes(&KUNPENG, options, || mutex::excludes::<Open>(2, 2, 0));
    let failures: Vec<String> = by_chance()
        .filter_map(|options| run(options).err())
        .collect();
    match failures
        .iter()
        .all(|why| why.contains("in the same data at once"))
    {
        true if !failures.is_empty() => Ok(()),
        _ => Err(Failed::from(format!("{failures:?}"))),
    }
}

/// One test for each, and for a lock that is none.
pub fn tests() -> Vec<Trial> {
    let open = Trial::test("flaw::open", an_open_lock_is_noticed);
    let gathered = FLAWS
        .iter()
        .flat_map(|(_, flaws)| flaws.iter().map(|flaw| flaw.0));
    let mut named: Vec<_> = gathered.collect();
    // The linker gathers files in no order.
    named.sort_unstable();
    let named = named.into_iter().map(|flaw| {
        let left = !full() && LATE.contains(&flaw);
        slowest::tiered(left, format!("flaw::{flaw}"), || is_noticed(flaw))
    });
    std::iter::once(open).chain(named).collect()
}

fn is_noticed(flaw: &str) -> Result<(), Failed> {
    let beyond = BEYOND.iter().find(|(known, _)| *known == flaw);
    let places = places(flaw);
    if places.is_empty() {
        return Err(Failed::from(format!(
            "no client for {flaw}: add one to `places` in tests/runner/flaws.rs"
        )));
    }
    for round in 0..ROUNDS {
        // Each client in turn, for not every one can notice it.
        for client in &places {
            for options in schedules(flaw) {
                let options = Options {
                    flaw: Some(flaw.to_owned()),
                    seed: options.seed + round * 10_000,
                    ..options
                };
                match (outcomes(&KUNPENG, options, *client), beyond) {
                    (Ok(_), _) => {}
                    (Err(_), None) => return Ok(()),
                    (Err(why), Some((_, reason))) => {
                        return Err(Failed::from(format!(
                            "listed as unnoticed ({reason}), and yet: {why}"
                        )));
                    }
                }
            }
        }
        if beyond.is_some() {
            return Ok(());
        }
    }
    Err(Failed::from(
        "no schedule noticed it: write a client that does, or list it with the reason",
    ))
}
