//! Every order one step weaker, and every flaw the locks name: a model has to
//! fail, or a place in `equivalent.rs` says why none can.

use super::child::{Verdict, verdict};
use super::equivalent::{BEYOND, EQUIVALENT, LATE};
use super::models::{MODELS, full};
use crate::locks::catalogue::MUTANTS;
use crate::locks::door::{FLAWS, ORDERS};
use crate::slowest;
use libtest_mimic::{Failed, Trial};
use std::time::Duration;

/// Where a file's flaws are looked for, if not in the models that begin with its own name: models
/// whose names begin like this, in that order.
static WHERE: &[(&str, &[&str])] = &[
    ("wait/cell", &["ticket::", "mcs::park", "anderson::park"]),
    ("wait/flag", &["tas::", "ttas::"]),
    (
        "wait/quick",
        &["tas::quick", "ticket::quick", "futex::quick"],
    ),
    ("service", &["gls::"]),
    ("basic/ticket", &["ticket::", "glk::"]),
    ("basic/mcs", &["mcs::", "glk::"]),
    ("basic/futex", &["futex::", "condvar::"]),
    ("basic/futex/manner", &["futex::", "condvar::"]),
    ("basic/hemlock", &["hemlock::", "hemlock_ctr::"]),
    (
        "baseline/posix_rwlock",
        &["posix_rwlock::", "posix_rwlock_w::"],
    ),
    ("rwlock/raw", &["rwlock::"]),
    ("rwlock/cohorts", &["rw_cohorts::", "rw_cohorts_w::"]),
    (
        "rwlock/count",
        &["rw_cohorts::", "rw_cohorts_w::", "rw_object::"],
    ),
    (
        "rwlock/phase",
        &["rw_cohorts::", "rw_cohorts_w::", "rw_object::"],
    ),
    ("rwlock/table", &["rw_object::"]),
    ("rwlock/object", &["fork::rw_object"]),
    ("host/returning", &["condvar::"]),
    ("abortable/bo", &["a_c_bo_bo::", "a_bo::"]),
    ("abortable/clh", &["a_clh::", "a_c_bo_clh::"]),
    ("compose/aclof", &["aclof::"]),
    ("compose/tree", &["stacked::", "hmcs_2::", "hmcs::"]),
    ("numa/futex_hmcs", &["fork::futex_hmcs", "futex_hmcs::"]),
    ("numa/hmcs", &["hmcs_2::", "hmcs::", "ahmcs_3::", "ahmcs::"]),
    (
        "numa/hmcs_t",
        &["hmcs_t_1::", "hmcs_t_2::", "hmcs_t::", "fork::hmcs_t"],
    ),
    ("delegation/request", &["sanl::"]),
    ("delegation/roster", &["sanl::"]),
    ("delegation/sanl", &["sanl::brings", "fork::sanl", "sanl::"]),
    ("door/cache", &["arena::entered_again"]),
    (
        "host/generation",
        &[
            "fork::mcs_multiplies",
            "fork::clh_multiplies",
            "fork::inflated_multiplies",
        ],
    ),
    ("host/claim", &["claim::", "fork::claim"]),
    (
        "host/in_place",
        &["fork::ticket_beside", "fork::claim_granted"],
    ),
    // Which lock is inflated makes no difference to these.
    (
        "host/inflated",
        &[
            "inflated::anderson",
            "inflated::three",
            "inflated::try",
            "inflated::ahead",
            "fork::inflated",
            "fork::anderson",
        ],
    ),
];

/// For how long every model looks for a flaw before any may look for as long as it needs: what a
/// model finds at all it mostly finds in a small part of its executions.
const GLANCE: Duration = Duration::from_millis(300);

/// How long one model may look for a flaw.
fn limit() -> Duration {
    Duration::from_secs(if full() { 1200 } else { 120 })
}

/// One test for each, and one for the table's own sake.
pub fn tests() -> Vec<Trial> {
    let mut flaws = Vec::new();
    for (module, orders) in ORDERS {
        for order in *orders {
            let Some(name) = order.name else { continue };
            for weaker in order.strength.weaker() {
                let weaker = format!("{weaker:?}").to_lowercase();
                flaws.push((file(module), format!("{name}:{weaker}")));
            }
        }
    }
    for (module, named) in FLAWS {
        let named = named.iter().map(|flaw| (file(module), flaw.0.to_owned()));
        flaws.extend(named);
    }
    let others = MUTANTS
        .iter()
        .map(|(file, name)| ((*file).to_owned(), (*name).to_owned()));
    flaws.extend(others);
    // The linker gathers files in no order.
    flaws.sort();

    let stale: Vec<_> = unnoticed()
        .map(|(name, _)| *name)
        .filter(|name| flaws.iter().all(|(_, flaw)| flaw != name))
        .collect();
    let mut tests = vec![Trial::test(
        "mutant::the_list_of_the_unnoticed_is_current",
        move || {
            if stale.is_empty() {
                return Ok(());
            }
            Err(Failed::from(format!("no such flaws any more: {stale:?}")))
        },
    )];
    tests.extend(flaws.into_iter().map(|(file, flaw)| {
        // That nothing notices a flaw is known once everything has looked for it.
        let unnoticed = unnoticed().any(|(name, _)| *name == flaw);
        let left = !full() && (unnoticed || LATE.contains(&flaw.as_str()));
        let name = format!("mutant::{flaw}");
        slowest::tiered(left, name, move || is_noticed(&file, &flaw))
    }));
    tests
}

/// The path of a module's file below `src`, without its ending.
fn file(module: &str) -> String {
    let (_, path) = module
        .split_once("::")
        .expect("locks are in no crate's root");
    path.replace("::", "/")
}

/// The flaws that no model is expected to notice.
fn unnoticed() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    EQUIVALENT.iter().chain(BEYOND)
}

fn is_noticed(file: &str, flaw: &str) -> Result<(), Failed> {
    let own = format!("{}::", file.rsplit('/').next().unwrap_or(file));
    let places = match WHERE.iter().find(|(known, _)| *known == file) {
        Some((_, places)) => places.to_vec(),
        None => vec![own.as_str()],
    };
    let looks = |place: &&str| MODELS.iter().any(|model| model.name.starts_with(place));
    if !places.iter().all(looks) {
        return Err(Failed::from(format!(
            "no models for {file} begin with {places:?}: say where its flaws are looked for, in \
             `WHERE` of tests/runner/mutants.rs"
        )));
    }
    let argument = unnoticed()
        .find(|(name, _)| *name == flaw)
        .map(|(_, argument)| *argument);
    let mut left: Vec<_> = places
        .iter()
        .flat_map(|place| {
            MODELS
                .iter()
                .filter(move |model| model.name.starts_with(place))
        })
        .filter(|model| model.is_wanted())
        .collect();
    // Most flaws are noticed by several models, and some of these take a thousandth of what
    // others take.
    left.sort_by_key(|model| model.took().unwrap_or(Duration::MAX));
    let mut undecided = Vec::new();
    for limit in [GLANCE, limit()] {
        undecided.clear();
        for model in std::mem::take(&mut left) {
            match verdict(model.name, Some(flaw), limit) {
                Verdict::Passed(_) => {}
                // A model that fails anyway notices nothing.
                Verdict::Failed(_) if !matches!(model.verdict(), Verdict::Passed(_)) => {}
                Verdict::Failed(_) if argument.is_none() => return Ok(()),
                Verdict::Failed(why) => {
                    return Err(Failed::from(format!(
                        "listed as unnoticed ({}), yet {} fails: {why}",
                        argument.unwrap_or_default(),
                        model.name
                    )));
                }
                Verdict::Undecided(why) => {
                    undecided.push(format!("{}: {why}", model.name));
                    left.push(model);
                }
            }
        }
    }
    if !undecided.is_empty() {
        return Err(Failed::from(format!("undecided: {undecided:?}")));
    }
    match argument {
        Some(_) => Ok(()),
        None => Err(Failed::from(
            "no model notices it: write one that does, or list it in equivalent.rs with the argument",
        )),
    }
}
