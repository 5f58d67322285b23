//! Weakens every memory order by one step, and injects every fault that the locks name: a model
//! must fail, or `equivalent.rs` must state why none can.

use super::child::{Verdict, verdict};
use super::equivalent::{BEYOND, EQUIVALENT, LATE};
use super::models::{MODELS, Model, full};
use super::noticed;
use crate::locks::door::{FLAWS, ORDERS};
use crate::slowest;
use libtest_mimic::{Failed, Trial};
use std::time::Duration;

/// The models in which to search for a file's faults, unless they begin with its name: the
/// file of `checks` that lists them, and their prefixes.
#[linkme::distributed_slice]
pub static WHERE: [(&str, &[&str])];

/// Lists the models in which to search for the faults of this file's source.
macro_rules! looked_for_in {
    ($($models:literal),+) => {
        const _: () = {
            #[linkme::distributed_slice($crate::runner::mutants::WHERE)]
            static HERE: (&str, &[&str]) = (module_path!(), &[$($models),+]);
        };
    };
}
pub(crate) use looked_for_in;

/// How long every model searches for a fault before any may search without this limit: most
/// findings occur in a small part of a model's executions.
const GLANCE: Duration = Duration::from_millis(300);

/// The time limit of one model's search.
fn limit() -> Duration {
    Duration::from_secs(if full() { 1200 } else { 120 })
}

/// All faults, each with its file.
pub fn flaws() -> Vec<(String, String)> {
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
    // The linker gathers files in no order.
    flaws.sort();
    flaws
}

/// One test for each fault, and one for the table itself.
pub fn tests() -> Vec<Trial> {
    let flaws = flaws();
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
            Err(Failed::from(format!("unknown flaws: {stale:?}")))
        },
    )];
    tests.extend(flaws.into_iter().map(|(file, flaw)| {
        // Only a search through all models shows that none finds a fault.
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

/// The faults that no model is expected to find.
fn unnoticed() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    EQUIVALENT.iter().chain(BEYOND)
}

fn is_noticed(file: &str, flaw: &str) -> Result<(), Failed> {
    let own = format!("{}::", file.rsplit('/').next().unwrap_or(file));
    // Files in a folder use the list of the folder's own file.
    let parts = [Some(file), file.rsplit_once('/').map(|(folder, _)| folder)];
    let said = parts.into_iter().flatten().find_map(|file| {
        let mirror = format!("checks::{}", file.replace('/', "::"));
        WHERE.iter().find(|(module, _)| module.ends_with(&mirror))
    });
    let places = said.map_or(vec![own.as_str()], |(_, places)| places.to_vec());
    let looks = |place: &&str| MODELS.iter().any(|model| model.name.starts_with(place));
    if !places.iter().all(looks) {
        return Err(Failed::from(format!(
            "no models for {file} begin with {places:?}: say where its flaws are looked for, by \
             `looked_for_in!` in crates/cohort/checks/{file}.rs"
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
    // Several models find most faults, at times that differ by up to a factor of a thousand.
    let known = noticed::by(flaw);
    let is_known = |model: &Model| known == Some(model.name);
    left.sort_by_key(|model| (!is_known(model), model.took().unwrap_or(Duration::MAX)));
    let mut undecided = Vec::new();
    for limit in [GLANCE, limit()] {
        undecided.clear();
        for model in std::mem::take(&mut left) {
            let limit = if is_known(model) {
                self::limit()
            } else {
                limit
            };
            match verdict(model.name, Some(flaw), limit) {
                Verdict::Passed(_) => {}
                // A model that fails without the fault proves nothing.
                Verdict::Failed(_) if !matches!(model.verdict(), Verdict::Passed(_)) => {}
                Verdict::Failed(_) if argument.is_none() => {
                    noticed::note(flaw, model.name);
                    return Ok(());
                }
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
            "no model detects it: add a model, or list it in equivalent.rs with the argument",
        )),
    }
}
