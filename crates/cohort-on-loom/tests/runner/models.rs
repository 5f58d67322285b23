//! The models: a client, a lock and bounds each.

use super::broken::BROKEN;
use super::child::{MUTANT, Verdict, verdict};
use super::{delegates, standard};
use crate::locks::catalogue::LOCKS;
use crate::locks::door::{Model as Bounds, Tally};
use crate::slowest;
use libtest_mimic::{Failed, Trial};
use std::collections::BTreeMap;
use std::sync::{LazyLock, OnceLock};
use std::time::{Duration, Instant};

/// The environment variable that deepens the models if its value is `full`.
const TIER: &str = "COHORT_TIER";

/// Overrides the number of preemptions per execution.
const PREEMPTIONS: &str = "COHORT_PREEMPTIONS";

/// Overrides the number of unsuccessful looks per thread.
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

/// How long the full tier explores a model without findings one preemption deeper.
const DEEPER: Duration = Duration::from_secs(30);

/// A client of one lock, and its exploration.
#[derive(Clone)]
pub struct Model {
    /// Its name.
    pub name: &'static str,
    bounds: Bounds,
    /// Whether only the full tier runs it.
    full_only: bool,
    /// How many preemptions less the quick tier allows.
    fewer: usize,
    client: fn(),
}

/// Whether this is the full tier.
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

/// A model that every tier runs.
pub const fn quick(name: &'static str, bounds: Bounds, client: fn()) -> Model {
    Model {
        name,
        bounds,
        full_only: false,
        fewer: 0,
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

/// A model of every tier. The quick tier allows one preemption less, which needs a small part of
/// the executions; the search for an injected fault allows all.
pub const fn lighter(name: &'static str, bounds: Bounds, client: fn()) -> Model {
    quick(name, bounds, client).with_fewer(1)
}

/// The models of the files in `checks`, each with its module.
#[linkme::distributed_slice]
pub static OTHERS: [(&str, &[Model])];

/// Declares the models of one file in `checks`, beyond those of every lock.
macro_rules! models {
    ($($model:expr),+ $(,)?) => {
        const _: () = {
            #[linkme::distributed_slice($crate::runner::models::OTHERS)]
            static HERE: (&str, &[Model]) = (module_path!(), &[$($model),+]);
        };
    };
}
pub(crate) use models;

/// All models.
pub static MODELS: LazyLock<Vec<Model>> = LazyLock::new(|| {
    let mut models = standard::models();
    models.extend(delegates::models());
    // The linker gathers files in no order.
    let mut others: Vec<_> = OTHERS.iter().collect();
    others.sort_by_key(|(file, _)| *file);
    for (_, others) in others {
        models.extend_from_slice(others);
    }
    models
});

/// The model of that name.
pub fn find(name: &str) -> Option<&'static Model> {
    let broken = BROKEN.iter().map(|(model, _)| model);
    MODELS.iter().chain(broken).find(|model| model.name == name)
}

impl Model {
    /// The model, with so many preemptions less in the quick tier.
    pub const fn with_fewer(self, fewer: usize) -> Self {
        Self { fewer, ..self }
    }

    /// Explores the whole model in this process.
    pub fn check(&self) -> Tally {
        self.bounds().check(self.client, None)
    }

    /// Explores it one preemption deeper for a limited time, in the full tier.
    pub fn check_deeper(&self) -> Option<Tally> {
        let deeper = full() && !self.full_only && number(PREEMPTIONS).is_none();
        let mut bounds = self.bounds();
        bounds.preemptions += 1;
        deeper.then(|| bounds.check(self.client, Some(DEEPER)))
    }

    fn bounds(&self) -> Bounds {
        // The search for a fault uses all preemptions, since most faults show early.
        let all = full() || std::env::var_os(MUTANT).is_some();
        let fewer = if all { 0 } else { self.fewer };
        let preemptions = self.bounds.preemptions.saturating_sub(fewer);
        Bounds {
            preemptions: number(PREEMPTIONS).unwrap_or(preemptions),
            polls: number(POLLS).map_or(self.bounds.polls, |polls| polls as u32),
            ..self.bounds
        }
    }

    /// The cell of its verdict.
    fn known(&self) -> &'static OnceLock<(Verdict, Duration)> {
        static KNOWN: LazyLock<BTreeMap<&str, OnceLock<(Verdict, Duration)>>> =
            LazyLock::new(|| {
                let empty = |model: &Model| (model.name, OnceLock::new());
                MODELS.iter().map(empty).collect()
            });
        &KNOWN[self.name]
    }

    /// Its verdict without an injected fault, from a process of its own; computed once.
    pub fn verdict(&self) -> &'static Verdict {
        let (verdict, _) = self.known().get_or_init(|| {
            let began = Instant::now();
            let verdict = verdict(self.name, None, limit());
            (verdict, began.elapsed())
        });
        verdict
    }

    /// The time of that exploration, if it is done.
    pub fn took(&self) -> Option<Duration> {
        self.known().get().map(|(_, took)| *took)
    }

    /// Whether this tier runs it.
    pub fn is_wanted(&self) -> bool {
        !self.full_only || full()
    }
}

/// The time limit of a model, far above its need.
fn limit() -> Duration {
    Duration::from_secs(if full() { 3600 } else { 300 })
}

/// The number of this tier's models with fewer preemptions than in the full tier.
pub fn lighter_than_full() -> usize {
    let lighter = |model: &&Model| !full() && model.is_wanted() && model.fewer > 0;
    MODELS.iter().filter(lighter).count()
}

/// One test for each model and each broken lock.
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
    let every = Trial::test("checks::every_lock_has_models", every_lock_has_models);
    sound.chain(broken).chain([every]).collect()
}

/// A lock's models begin with its name, or with the name of the lock that shares its code.
fn every_lock_has_models() -> Result<(), Failed> {
    for (lock, standard) in LOCKS.iter().zip(standard::standards()) {
        let prefix = format!("{}::", standard.as_in.unwrap_or(lock.identifier));
        if !MODELS.iter().any(|model| model.name.starts_with(&prefix)) {
            return Err(Failed::from(format!(
                "{} has no models: none begins with {prefix}; see its file in crates/cohort/checks",
                lock.name
            )));
        }
    }
    Ok(())
}
