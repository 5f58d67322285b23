//! Random schedules must find each injected fault in lock code, as a deadlock, a panic or a wrong
//! count. Otherwise a list must state why this backend cannot show it.

use super::bounds::by_time_among_neighbours;
use super::locks::wanted_by_few;
use super::trial::{KUNPENG, by_chance, by_chance_in_four_nodes, full, outcomes};
use super::world::Client;
use crate::clients::mutex;
use crate::locks::door::FLAWS;
use crate::locks::{RawLock, RawTry};
use crate::slowest;
use cohort_machine::Options;
use libtest_mimic::{Failed, Trial};

/// The clients that search for a fault.
type Places = fn(&str) -> Vec<Client>;

/// The file of `checks` that names the clients for a source's faults, and its function from a fault
/// to clients.
#[linkme::distributed_slice]
pub static PLACES: [(&str, Places)];

/// Names the clients that search for the faults of this file's source: for particular faults, and
/// for all others.
macro_rules! on_machine {
    ($($flaw:tt => [$($client:expr),+ $(,)?];)+) => {
        const _: () = {
            fn places(flaw: &str) -> Vec<Client> {
                match flaw {
                    $($flaw => vec![$($client),+],)+
                }
            }

            #[linkme::distributed_slice($crate::runner::flaws::PLACES)]
            static HERE: (&str, fn(&str) -> Vec<Client>) = (module_path!(), places);
        };
    };
}
pub(crate) use on_machine;

/// The clients that search for a fault of that module; by default, clients of the lock of its name.
fn places(module: &str, flaw: &str) -> Vec<Client> {
    let (_, path) = module
        .split_once("::")
        .expect("locks are in no crate's root");
    // Files in a folder use the list of the folder's own file.
    let parts = [Some(path), path.rsplit_once("::").map(|(folder, _)| folder)];
    let said = parts.into_iter().flatten().find_map(|path| {
        let mirror = format!("checks::{path}");
        PLACES.iter().find(|(module, _)| module.ends_with(&mirror))
    });
    let lock = flaw.split_once('.').map_or(flaw, |(lock, _)| lock);
    match said {
        Some((_, places)) => places(flaw),
        None => wanted_by_few(&lock.replace('-', "_")).into_iter().collect(),
    }
}

/// The schedules of a fault's search.
fn schedules(flaw: &str) -> Vec<Options> {
    let in_nodes = ["near.", "h-synch.", "wide-gate."];
    if in_nodes.iter().any(|lock| flaw.starts_with(lock)) {
        by_chance_in_four_nodes().collect()
    } else if ["claim.forget-wake", "claim.forget-queue"].contains(&flaw) {
        // Durations of waits matter only in virtual time.
        vec![by_time_among_neighbours()]
    } else {
        by_chance().collect()
    }
}

/// How often all clients run with new seeds before a fault counts as missed.
const ROUNDS: u64 = 400;

/// Faults found so rarely that the quick tier leaves them to the full one.
static LATE: &[&str] = &["claim.forget-queue"];

/// Faults that make a thread use another owner's memory, which may crash the whole process, even
/// later. They are not injected here. Loom, which keeps that memory, finds each.
static RUINOUS: &[&str] = &[
    "cc-synch.drop-at-once",
    "h-synch.drop-at-once",
    "mcs-try.go-unpassed",
    "oyama.drop-at-once",
    "qd.drop-at-once",
    "qd.drop-beside",
    "qd.keep-posted",
    "qd.run-withdrawn",
    "request.leave-posted",
    "roster.drop-at-once",
    "sanl-plus.drop-at-once",
    "sanl-plus.learn-late",
    "told.go-anyway",
    "told.run-gone",
    "waking.keep-dropped",
];

/// Faults that random schedules find too rarely for a test: in at most one of fifty rounds. Loom,
/// which explores all schedules, finds each.
static SELDOM: &[(&str, &str)] = &[
    (
        "arena.take-left",
        "a thread has to leave a node and take one before another returns the first",
    ),
    (
        "clh-try.go-pinned",
        "a thread has to release a lock while its last follower, which gave up, has its node pinned",
    ),
    (
        "condvar.look-only",
        "a waiter that looks has to fall asleep between two steps of its signaller",
    ),
    (
        "futex.ask-forgets",
        "a thread has to mark the word for itself while the marks of a head stand",
    ),
    (
        "futex.park-forgets",
        "a waiter has to park beside other marks, and these have to be of the last thread that can heed them",
    ),
    (
        "futex.take-back-forgets",
        "a waiter that has asked for a pause has to give up beside other marks",
    ),
    (
        "futex.unclaim-forgets",
        "a head has to run out of patience beside other marks",
    ),
    (
        "gls.clear-late",
        "another thread has to put the key anew between two steps of the thread that frees its lock",
    ),
    (
        "hmcs-t.keep-late",
        "a waiter has to come back between two steps of a releaser that passes over its node, with \
         its time just up when the node is given back",
    ),
    (
        "quick.revoke-alone",
        "a release has to wipe out the mark of a sleeper while another thread takes the quick time back",
    ),
];

/// Faults that no client here can show.
static BEYOND: &[(&str, &str)] = &[
    (
        "hmcs.forget-the-away",
        "waiters give no turns away where time does not decide; loom notices it",
    ),
    (
        "quick.no-barrier",
        "a barrier that orders stores against loads has nothing to order where values are \
         sequentially consistent",
    ),
    ("rw-announced.unfenced", "as quick.no-barrier"),
    ("rw-announced.sleep-at-once", "as quick.no-barrier"),
    (
        "rw-announced.keep-ghosts",
        "there are no forks here; loom notices it",
    ),
    (
        "rw-announced.announce-twice",
        "a thread has to read a biased lock twice, and locks are biased by chance only; loom notices it",
    ),
    (
        "rw-announced.take-twice",
        "a thread has to release another's hold of a biased lock, and locks are biased by chance only; \
         loom notices it",
    ),
    (
        "rw-phase.bar-everybody",
        "a reader that waits behind a writer in vain passes it after five milliseconds, which \
         pass here; loom's clock stands still",
    ),
    (
        "rwlock.wait-again",
        "threads count their read locks here from the beginning, and pass without saying so; loom \
         notices it",
    ),
    (
        "rwlock.leave-silently",
        "a reader has to stand between its look and its count while a writer falls asleep and \
         the last reader leaves: no client here brings these together, loom does",
    ),
    (
        "futex.take-anothers-role",
        "a sleeper is passed over and served later; loom looks at the order of heads",
    ),
    (
        "cache.open-twice",
        "no thread is interrupted by a handler here",
    ),
    (
        "cache.believe-hand",
        "no thread is interrupted by a handler here",
    ),
    (
        "gate.stop-handlers",
        "no thread is interrupted by a handler here",
    ),
    (
        "comers.open-early",
        "no two objects of a client share their fat locks: at one and the same, a thread that has looked \
         in an earlier session comes to the present one; loom notices it",
    ),
    (
        "comers.count-vain",
        "a thread has to stand between its look and its coming while a holder closes its group, and to come \
         before any other thread: no client here brings these together, loom does",
    ),
    (
        "futex-hmcs.take-in-use",
        "there are so many queues here that no two locks of a client want the same",
    ),
    (
        "futex-hmcs.trust-address",
        "threads that wait for the first time stand in no queue, and no client here lets some wait often \
         and then puts a lock where another was; loom notices it",
    ),
    (
        "oyama.forget-order",
        "threads change CPUs between two steps of a client, which so cannot know in which order \
         sections were put on the list; loom, where they do not, notices it",
    ),
    (
        "roster.name-by-id",
        "no thread has the number of an ended one here; loom notices it",
    ),
    ("sanl.keep-posted", "no forks here"),
    ("sanl.keep-queue", "no forks here"),
    ("futex-hmcs.believe-places", "no forks here"),
    ("futex-hmcs.keep-queue", "no forks here"),
    (
        "glk.change-first",
        "it publishes too little: values are sequentially consistent here",
    ),
    ("glk.forget-mode", "no forks here"),
    ("in_place.believe-grants", "no forks here"),
    ("in_place.believe-claims", "no forks here"),
    ("inflated.take-as-left", "no forks here"),
    ("inflated.believe-claims", "no forks here"),
    ("claim.outlive-fork", "no forks here"),
    ("thin.keep-parents", "no forks here"),
    ("thin.drop-parents", "no forks here"),
    ("thin.publish-beside", "no forks here"),
    ("rw-object.keep-readers", "no forks here"),
    ("rwlock.arrive-unsettled", "no forks here"),
    ("rwlock.arrive-with-gate", "no forks here"),
    ("rwlock.heed-parents", "no forks here"),
    ("rwlock.keep-ghosts", "no forks here"),
    ("rwlock.look-once-for-writer", "no forks here"),
];

/// A lock that excludes no thread.
#[derive(Debug, Default)]
struct Open;

// SAFETY: unsound on purpose; all threads are fibers of one host thread, so the clients' data
// cannot be corrupted.
unsafe impl RawLock for Open {
    type Context = ();
    unsafe fn acquire(&self, (): &()) {}
    unsafe fn release(&self, (): &()) {}
    fn is_locked(&self) -> bool {
        false
    }
}

// SAFETY: as above.
unsafe impl RawTry for Open {
    unsafe fn try_acquire(&self, (): &()) -> bool {
        true
    }
}

/// Two threads in one critical section are reported.
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

/// The lists above name existing faults only.
fn the_lists_are_current() -> Result<(), Failed> {
    let listed = SELDOM.iter().chain(BEYOND).map(|(flaw, _)| flaw);
    let stale: Vec<_> = listed
        .chain(LATE)
        .chain(RUINOUS)
        .filter(|listed| {
            FLAWS
                .iter()
                .all(|(_, flaws)| flaws.iter().all(|flaw| flaw.0 != **listed))
        })
        .collect();
    if stale.is_empty() {
        return Ok(());
    }
    Err(Failed::from(format!("unknown flaws: {stale:?}")))
}

/// One test for each fault, one for a lock without exclusion, and one for the lists.
pub fn tests() -> Vec<Trial> {
    let open = [
        Trial::test("flaw::open", an_open_lock_is_noticed),
        Trial::test("flaw::the_lists_are_current", the_lists_are_current),
    ];
    let gathered = FLAWS
        .iter()
        .flat_map(|(module, flaws)| flaws.iter().map(|flaw| (flaw.0, *module)));
    let mut named: Vec<_> = gathered
        .filter(|(flaw, _)| !RUINOUS.contains(flaw))
        .filter(|(flaw, _)| SELDOM.iter().all(|(seldom, _)| seldom != flaw))
        .collect();
    // The linker gathers files in no order.
    named.sort_unstable();
    let named = named.into_iter().map(|(flaw, module)| {
        let left = !full() && LATE.contains(&flaw);
        slowest::tiered(left, format!("flaw::{flaw}"), || is_noticed(module, flaw))
    });
    open.into_iter().chain(named).collect()
}

fn is_noticed(module: &str, flaw: &str) -> Result<(), Failed> {
    let beyond = BEYOND.iter().find(|(known, _)| *known == flaw);
    let places = places(module, flaw);
    if places.is_empty() {
        return Err(Failed::from(format!(
            "no client for {flaw}: say which look for it, by `on_machine!` in the file of \
             crates/cohort/checks"
        )));
    }
    for round in 0..ROUNDS {
        // All clients in turn, since not every one can show the fault.
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
