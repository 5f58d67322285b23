//! The models: which client, of which lock, within which bounds.

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
    /// How many preemptions fewer the quick tier allows it.
    fewer: usize,
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

/// A model of every tier, to which the quick one allows a preemption fewer, which takes a small part
/// of the executions; not where it looks for a flaw.
pub const fn lighter(name: &'static str, bounds: Bounds, client: fn()) -> Model {
    quick(name, bounds, client).with_fewer(1)
}

/// What the files of `checks` have: where each is, and its models.
#[linkme::distributed_slice]
pub static OTHERS: [(&str, &[Model])];

/// Declares the models that one file of `checks` has, beside those that every lock has.
macro_rules! models {
    ($($model:expr),+ $(,)?) => {
        const _: () = {
            #[linkme::distributed_slice($crate::runner::models::OTHERS)]
            static HERE: (&str, &[Model]) = (module_path!(), &[$($model),+]);
        };
    };
}
pub(crate) use models;

/// All of them.
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
    /// The same, with so many preemptions fewer in the quick tier.
    pub const fn with_fewer(self, fewer: usize) -> Self {
        Self { fewer, ..self }
    }

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
        // A flaw is looked for with all of them: most are met early.
        let all = full() || std::env::var_os(MUTANT).is_some();
        let fewer = if all { 0 } else { self.fewer };
        let preemptions = self.bounds.preemptions.saturating_sub(fewer);
        Bounds {
            preemptions: number(PREEMPTIONS).unwrap_or(preemptions),
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

/// How many models of this tier have fewer preemptions than in the full one.
pub fn lighter_than_full() -> usize {
    let lighter = |model: &&Model| !full() && model.is_wanted() && model.fewer > 0;
    MODELS.iter().filter(lighter).count()
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
    let every = Trial::test("checks::every_lock_has_models", every_lock_has_models);
    sound.chain(broken).chain([every]).collect()
}

/// A lock's models begin with its name, or with another's whose code it is.
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
