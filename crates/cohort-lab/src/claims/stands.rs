//! Names for sets of compositions: those that match a pattern, and the best ones found by a search
//! (Chehab et al. 2021 §4.3).
//!
//! ```text
//! clof:*-ticket-*-*         all of four levels with a ticket lock in the second place
//! clof:best-4               LC-best: the search's first, few threads counting more
//! clof:best-4-high          HC-best: many threads counting more
//! clof:worst-4              the last of that ranking
//! clof:best-4@MACHINE       what was found on that machine, used here
//! ```
//!
//! The search is [`tune`](crate::tune)'s, exhaustive: every composition of that many levels, raw
//! and compiled as in the paper, each point run like any other.
//! levels, raw and compiled as the paper's are, each point as any other is run.

use super::Interrupted;
use super::experiment::{Experiment, FIRST_SEED, Points, Simulators, Sweep};
use crate::bench::simulated::Failure;
use crate::bench::{self, Setting, report};
use crate::discover::{self, Stop};
use crate::rounds::Observer;
use crate::tune::{self, Policy, TunePlan, field, sanl};
use crate::world::{Placement, Wait};
use cohort::compose::generated;
use cohort::name::{Lock, Name, PREFIX};
use cohort::recipe::{Basic, Level, Locks};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// The wildcard for a basic lock in a pattern.
const ANY: &str = "*";

/// Machines with searches, and their numbers of threads.
const SEARCHED: &[(&str, &[usize])] = &[
    ("epyc-7352x2", &[1, 8, 32, 48, 64, 95]),
    ("kunpeng-920x2", &[1, 8, 32, 64, 127]),
];

/// The names of all compositions.
static NAMES: LazyLock<Vec<(Locks, String)>> = LazyLock::new(|| {
    let named = |locks| (locks, Name::of(Lock::Composed(locks)).to_string());
    generated::all().map(named).collect()
});

/// Requested result of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Wanted {
    Low,
    High,
    Worst,
}

/// Profiled threshold of `sanl`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// `θ_l`.
    Brings,
    /// `θ_f`.
    Strict,
}

/// Comparison of all compositions with that many levels on a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Search {
    machine: &'static str,
    levels: usize,
}

impl Search {
    /// The search for a lock's name on a machine, and the requested result.
    fn asked(lock: &'static str, machine: &'static str) -> Option<(Self, Wanted)> {
        let name = lock.strip_prefix(PREFIX)?;
        let (what, machine) = name.split_once('@').unwrap_or((name, machine));
        let (wanted, levels) = if let Some(levels) = what.strip_prefix("worst-") {
            (Wanted::Worst, levels)
        } else {
            let best = what.strip_prefix("best-")?;
            match best.strip_suffix("-high") {
                Some(levels) => (Wanted::High, levels),
                None => (Wanted::Low, best),
            }
        };
        let levels = levels.parse().ok()?;
        let search = Self { machine, levels };
        (search.threads().is_some() && search.compositions().next().is_some())
            .then_some((search, wanted))
    }

    /// The search for a lock's name on a machine.
    pub fn of(lock: &'static str, machine: &'static str) -> Option<Self> {
        Self::asked(lock, machine).map(|(search, _)| search)
    }

    fn threads(self) -> Option<&'static [usize]> {
        let mut known = SEARCHED.iter();
        let found = known.find(|(machine, _)| *machine == self.machine);
        found.map(|(_, threads)| *threads)
    }

    fn compositions(self) -> impl Iterator<Item = &'static str> {
        let names = NAMES.iter();
        let names = names.filter(move |(locks, _)| locks.len() == self.levels);
        names.map(|(_, name)| name.as_str())
    }

    /// Its experiment (Chehab et al. 2021 §5.2).
    pub(super) fn experiment(self) -> Experiment {
        let threads = Sweep::Threads(self.threads().unwrap_or_default());
        Experiment::new(self.machine, "leveldb", Placement::Cores, threads)
    }

    /// Its locks.
    pub(super) fn locks(self) -> Vec<&'static str> {
        self.compositions().collect()
    }

    /// The best and the worst composition by the points; compositions with a failed run are
    /// excluded.
    fn found(self, points: &Points) -> Vec<(Wanted, &'static str)> {
        let experiment = self.experiment();
        let Some(info) = bench::find(experiment.workload) else {
            return Vec::new();
        };
        let point = |lock: &str, threads: usize| {
            let (_, name) = NAMES.iter().find(|(_, name)| name == lock)?;
            let outcome =
                points.get(&experiment.point(name, threads, experiment.knobs, FIRST_SEED))?;
            let rounds = vec![outcome.as_ref().ok()?.clone()];
            let wait = Wait::natural(name, false);
            report::Point::of(name.clone(), wait, threads, rounds)
        };
        let plan = TunePlan {
            levels: Vec::new(),
            basic: Vec::new(),
            threads: self.threads().unwrap_or_default().to_vec(),
            policies: vec![Policy::Low, Policy::High],
            exhaustive: true,
            info,
            knobs: experiment.knobs,
            seed: 0,
        };
        let mut field = field::compiled(self.levels);
        field.retain(|entry| {
            let mut threads = plan.threads.iter();
            threads.all(|threads| point(&entry.name, *threads).is_some())
        });
        let Ok(tuned) = tune::search(&plan, field, &mut |settings: &[Setting], _| {
            let points = settings.iter();
            let points = points.map(|setting| point(&setting.lock, setting.threads).ok_or(()));
            points.collect()
        }) else {
            return Vec::new();
        };
        let firsts = [
            (Wanted::Low, tuned.first(0)),
            (Wanted::High, tuned.first(1)),
            (Wanted::Worst, tuned.last(1)),
        ];
        let named = |(wanted, score): (Wanted, Option<&tune::Score>)| {
            let lock = score?.lock.as_str();
            let (_, name) = NAMES.iter().find(|(_, name)| name == lock)?;
            Some((wanted, name.as_str()))
        };
        firsts.into_iter().filter_map(named).collect()
    }
}

/// Duration of a hand-over across a whole machine, relative to one within a level's cohorts.
type Nearer = BTreeMap<&'static str, f64>;

/// Results of searches and discovered hierarchies.
#[derive(Clone, Debug, Default)]
pub struct Found {
    locks: BTreeMap<(Search, Wanted), &'static str>,
    machines: BTreeMap<&'static str, Result<Nearer, String>>,
    profiles: BTreeMap<&'static str, Result<sanl::Profile, String>>,
}

impl Found {
    /// Adds the results of these searches' points.
    pub(super) fn search(&mut self, searches: &BTreeSet<Search>, points: &Points) {
        self.locks.extend(searches.iter().flat_map(|search| {
            let found = search.found(points).into_iter();
            found.map(|(wanted, lock)| ((*search, wanted), lock))
        }));
    }

    /// Whether a machine's hierarchy has been discovered.
    pub(super) fn has_discovered(&self, machine: &str) -> bool {
        self.machines.contains_key(machine)
    }

    /// Whether a machine has been profiled.
    pub(super) fn has_profiled(&self, machine: &str) -> bool {
        self.profiles.contains_key(machine)
    }

    /// Discovers a machine's hierarchy, as `cohort discover` does.
    ///
    /// # Errors
    /// A signal asked this process to end.
    pub(super) fn discover(
        &mut self,
        machine: &'static str,
        simulators: &Simulators,
        observer: &mut dyn Observer,
    ) -> Result<(), Interrupted> {
        let found = match discover::there(&simulators.get(machine), false, observer) {
            Ok(discovery) => {
                let nearer = Level::ALL.into_iter().filter_map(|level| {
                    let nearer = discovery.nearer(level.name())?;
                    Some((level.name(), nearer))
                });
                Ok(nearer.collect())
            }
            Err(Stop::Interrupted(signal)) => return Err(signal),
            Err(Stop::Failed(why)) => Err(why),
        };
        self.machines.insert(machine, found);
        Ok(())
    }

    /// Duration of a hand-over across a machine, relative to one within the cohorts of a discovered
    /// level.
    ///
    /// # Errors
    /// The level was not searched for, or not found.
    pub(super) fn nearer(&self, machine: &'static str, level: &str) -> Result<f64, String> {
        let known = self.machines.get(machine);
        let known = known.ok_or_else(|| format!("no discovery of {machine}"))?;
        let nearer = known.as_ref().map_err(Clone::clone)?.get(level).copied();
        nearer.ok_or_else(|| format!("no level {level} was discovered on {machine}"))
    }

    /// Profiles a machine, as `cohort tune sanl` does.
    ///
    /// # Errors
    /// A signal asked this process to end.
    pub(super) fn profile(
        &mut self,
        machine: &'static str,
        simulators: &Simulators,
        observer: &mut (dyn Observer + Send),
    ) -> Result<(), Interrupted> {
        let simulator = simulators.get(machine);
        let plan = sanl::SanlPlan::of(simulator.topology().cpus().len(), FIRST_SEED);
        let found = match sanl::there(&plan, &simulator, sanl::LOOK, observer) {
            Ok(profile) => Ok(profile),
            Err(Failure::Interrupted(signal)) => return Err(signal),
            Err(Failure::Run(why)) => Err(why),
        };
        self.profiles.insert(machine, found);
        Ok(())
    }

    /// A threshold profiled on a machine.
    ///
    /// # Errors
    /// It was not profiled, or the curves do not cross.
    pub(super) fn threshold(&self, machine: &str, threshold: Threshold) -> Result<f64, String> {
        let known = self.profiles.get(machine);
        let known = known.ok_or_else(|| format!("no profile of {machine}"))?;
        let profile = known.as_ref().map_err(Clone::clone)?;
        let found = match threshold {
            Threshold::Brings => profile.brings,
            Threshold::Strict => profile.strict,
        };
        found.ok_or_else(|| "the curves do not cross".to_owned())
    }

    /// The locks that a name resolves to on a machine; none if not found.
    #[must_use]
    pub fn locks(&self, name: &'static str, machine: &'static str) -> Vec<&'static str> {
        if is_pattern(name) {
            return fitting(name);
        }
        match Search::asked(name, machine) {
            None => vec![name],
            Some(asked) => self.locks.get(&asked).copied().into_iter().collect(),
        }
    }

    /// The name, with its resolution if different.
    #[must_use]
    pub fn text(&self, name: &'static str, machine: &'static str) -> String {
        let stands = self.locks(name, machine);
        if is_pattern(name) {
            return format!("the {} {name}", stands.len());
        }
        match stands.as_slice() {
            [lock] if *lock != name => {
                let lock = lock.trim_start_matches(PREFIX);
                format!("{name} ({lock})")
            }
            _ => name.to_owned(),
        }
    }
}

/// Whether a name is a pattern.
fn is_pattern(name: &str) -> bool {
    name.starts_with(PREFIX) && name.contains(ANY)
}

/// The compositions that match a pattern.
fn fitting(pattern: &str) -> Vec<&'static str> {
    let places: Vec<&str> = pattern.trim_start_matches(PREFIX).split('-').collect();
    let fits = |(place, lock): (&&str, &Basic)| *place == ANY || Basic::named(place) == Some(*lock);
    let names = NAMES.iter().filter(|(locks, _)| {
        locks.len() == places.len() && places.iter().zip(locks.iter()).all(fits)
    });
    names.map(|(_, name)| name.as_str()).collect()
}

/// Whether a name resolves to compositions on a machine.
pub fn is_known(name: &'static str, machine: &'static str) -> bool {
    Search::of(name, machine).is_some() || is_pattern(name) && !fitting(name).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_stand_for_what_fits_them() {
        assert_eq!(fitting("clof:*-*-*-*").len(), 256);
        assert_eq!(fitting("clof:*-*-*").len(), 64);
        let ticket = fitting("clof:*-tkt-*-*");
        assert_eq!(ticket.len(), 64);
        assert!(ticket.contains(&"clof:clh-ticket-mcs-hemlock"));
        assert_eq!(fitting("clof:mcs-clh"), ["clof:mcs-clh"]);
        assert!(fitting("clof:*-xyz").is_empty());
    }

    #[test]
    fn searches_are_asked_for_by_name() {
        let asked = |name| Search::asked(name, "epyc-7352x2");
        let search = |machine, levels| Search { machine, levels };
        let epyc = search("epyc-7352x2", 4);
        assert_eq!(asked("clof:best-4"), Some((epyc, Wanted::Low)));
        assert_eq!(asked("clof:best-4-high"), Some((epyc, Wanted::High)));
        assert_eq!(asked("clof:worst-4"), Some((epyc, Wanted::Worst)));
        let there = search("kunpeng-920x2", 3);
        let elsewhere = asked("clof:best-3@kunpeng-920x2");
        assert_eq!(elsewhere, Some((there, Wanted::Low)));
        for other in ["mcs", "clof:mcs-mcs", "clof:best-9", "clof:best-4@moon"] {
            assert_eq!(asked(other), None, "{other}");
        }
    }
}
