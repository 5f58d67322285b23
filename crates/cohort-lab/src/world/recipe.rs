//! What a lock's name can say beyond the catalogue: which basic locks, at which levels,
//! how long a cohort keeps the lock, which threads are in which cohort.
//!
//! ```text
//! clof:tkt-clh-tkt                    smallest cohort first, at the levels that suit the machine
//! clof:tkt-clh-tkt@cache,numa,system  at these
//! c-tkt-tkt/1000  c-tkt-tkt/20us      with another bound: hand-offs in a row, or time
//! c-tkt-mcs/bypass                    whose threads try the top lock first
//! c-tkt-mcs/adaptive                  as long as that is not in vain
//! clof:tkt-mcs/stacked                built at run time, as for a preloaded program
//! clof:tkt-mcs/compiled               compiled, as in the bench unless it is said
//! clof:clh-bo-mcs/abortable           of the forms of these locks whose waiters can give up
//! c-ptl-tkt/random                    with threads in cohorts that have nothing to do with memory
//! ```

use super::Topology;
use crate::bench::Span;
use cohort::catalogue;
use cohort::compose::abortables;
use cohort::compose::generated::{Basic, LEVELS, is_ordered};
use cohort::compose::stacked::{self, PREFIX, SYSTEM};
use cohort::compose::{Bound, cohorting};
use cohort::door::Level;
use std::fmt;

/// A lock to be composed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// Of what.
    pub of: Of,
    /// The levels of all locks but the top one, smallest cohort first; none for those
    /// that suit the machine.
    pub levels: Option<Vec<Level>>,
    /// How long a cohort keeps the lock, if not as long as usual.
    pub bound: Option<Bound>,
    /// Whether threads first try the top lock itself; for locks of the catalogue.
    pub bypass: Option<Bypass>,
    /// How it comes to be, if that is said; for compositions of basic locks.
    pub form: Option<Form>,
    /// Which threads are in which cohort, if the machine does not say it.
    pub assignment: Option<Assignment>,
}

/// What is composed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Of {
    /// A lock of the catalogue, by its printed name.
    Named(&'static str),
    /// These locks, smallest cohort first.
    Locks(Vec<Basic>),
    /// The forms of these whose waiters can give up.
    Abortable(Vec<abortables::Basic>),
}

/// How threads try the top lock itself (Dice et al. 2015 §5.1.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bypass {
    /// At each acquisition.
    Always,
    /// More rarely while it is in vain.
    Adaptive,
}

impl Bypass {
    const ALL: [Self; 2] = [Self::Always, Self::Adaptive];

    const fn name(self) -> &'static str {
        match self {
            Self::Always => "bypass",
            Self::Adaptive => "adaptive",
        }
    }
}

/// Ways to put CPUs into cohorts (Dice et al. 2015 §6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assignment {
    /// By chance.
    Random,
    /// By chance, as many in each.
    Balanced,
    /// Neighbours in different cohorts.
    Pathological,
}

/// How a composition of basic locks comes to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// By its recipe, when it is made: what programs get unless they ask for the other.
    Stacked,
    /// By the compiler: what is measured unless it is said.
    Compiled,
}

impl Form {
    const ALL: [Self; 2] = [Self::Stacked, Self::Compiled];

    /// The refinement that asks for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stacked => "stacked",
            Self::Compiled => "compiled",
        }
    }
}

/// The refinement that asks for waiters that can give up.
const ABORTABLE: &str = "abortable";

/// Compositions of the catalogue whose bound can be set.
const NAMED: &[&str] = &[
    "c-bo-bo",
    "c-tkt-tkt",
    "c-ptl-tkt",
    "c-bo-mcs",
    "c-tkt-mcs",
    "c-mcs-mcs",
    "a-c-bo-bo",
    "a-c-bo-clh",
];

impl Recipe {
    /// Whether a name is to be read as a recipe: the catalogue has no such name, and it
    /// has the look of one.
    #[must_use]
    pub fn is_one(name: &str) -> bool {
        catalogue::find(name).is_none() && (name.starts_with(PREFIX) || name.contains('/'))
    }

    /// Reads a recipe.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn read(name: &str) -> Result<Self, String> {
        let mut parts = name.split('/');
        let base = parts.next().unwrap_or_default();
        let mut recipe = if parts.clone().any(|part| part == ABORTABLE) {
            Self::abortable(base)?
        } else {
            Self::base(base)?
        };
        for part in parts.filter(|part| *part != ABORTABLE) {
            recipe.refine(part)?;
        }
        Ok(recipe)
    }

    fn base(base: &str) -> Result<Self, String> {
        let Some(composition) = base.strip_prefix(PREFIX) else {
            let named = catalogue::find(base).filter(|lock| NAMED.contains(&lock.name));
            let named = named.ok_or_else(|| {
                format!(
                    "`{base}` has no bound to set: what can follow a `/` is for {PREFIX}… and {}",
                    NAMED.join(", ")
                )
            })?;
            return Ok(Self::plain(Of::Named(named.name)));
        };
        let (locks, at) = match composition.split_once('@') {
            None => (composition, None),
            Some((locks, at)) => (locks, Some(at)),
        };
        let locks = basic(locks)?;
        let levels = at.map(|at| levels(at, locks.len())).transpose()?;
        Ok(Self {
            levels,
            ..Self::plain(Of::Locks(locks))
        })
    }

    /// One whose waiters can give up.
    fn abortable(base: &str) -> Result<Self, String> {
        let composition = base.strip_prefix(PREFIX).ok_or_else(|| {
            format!(
                "`/{ABORTABLE}` is for {PREFIX}…; `cohort list` says which other waiters give up"
            )
        })?;
        let (names, at) = match composition.split_once('@') {
            None => (composition, None),
            Some((names, at)) => (names, Some(at)),
        };
        let locks: Vec<abortables::Basic> = names
            .split('-')
            .map(|name| {
                abortables::Basic::named(name).ok_or_else(|| {
                    let known = abortables::Basic::ALL.map(abortables::Basic::name);
                    format!(
                        "no waiter of `{name}` can give up: take {}",
                        known.join(", ")
                    )
                })
            })
            .collect::<Result<_, _>>()?;
        if locks.len() > LEVELS {
            return Err(format!("a composition has at most {LEVELS} levels"));
        }
        if !abortables::is_ordered(&locks) {
            return Err("mcs whose waiters can give up stands at the top only".to_owned());
        }
        let levels = at.map(|at| levels(at, locks.len())).transpose()?;
        Ok(Self {
            levels,
            ..Self::plain(Of::Abortable(locks))
        })
    }

    const fn plain(of: Of) -> Self {
        Self {
            of,
            levels: None,
            bound: None,
            bypass: None,
            form: None,
            assignment: None,
        }
    }

    fn refine(&mut self, part: &str) -> Result<(), String> {
        let assignment = Assignment::ALL
            .into_iter()
            .find(|assignment| assignment.to_string() == part);
        if assignment.is_some() {
            self.assignment = assignment;
            return Ok(());
        }
        let bypass = Bypass::ALL.into_iter().find(|way| way.name() == part);
        if bypass.is_some()
            && let Of::Named(name) = self.of
        {
            if !cohorting::has_bypass(name) {
                return Err(format!("{name} has no /{part}: its waiters can give up"));
            }
            self.bypass = bypass;
            return Ok(());
        }
        let form = Form::ALL.into_iter().find(|form| form.name() == part);
        if form.is_some()
            && let Of::Locks(locks) = &self.of
        {
            if form == Some(Form::Stacked) {
                is_stackable(locks)?;
            }
            self.form = form;
            return Ok(());
        }
        // A time alone bounds no count.
        let mut bound = self.bound.unwrap_or(Bound::hand_offs(u32::MAX));
        if let Ok(hand_offs) = part.parse() {
            bound.hand_offs = hand_offs;
        } else if let Ok(Span::Nanoseconds(nanoseconds)) = part.parse() {
            bound.nanoseconds = nanoseconds;
        } else {
            return Err(format!(
                "`/{part}` is neither a number of hand-offs (/100), nor a time (/20us), nor /random, \
                 /balanced or /pathological; cohort locks also know /bypass \
                 and /adaptive, and {PREFIX}… /{} and /{}",
                Form::Stacked.name(),
                Form::Compiled.name()
            ));
        }
        self.bound = Some(bound);
        Ok(())
    }

    /// The composition as it serves an unchanged program on that machine.
    ///
    /// # Errors
    /// It is one that only a measurement has.
    pub fn served_on(&self, topology: &Topology) -> Result<stacked::Recipe, String> {
        if let Some(assignment) = self.assignment {
            return Err(format!(
                "/{assignment} is for simulated machines; here a file says which cohort \
                 each CPU is in (--cohorts)"
            ));
        }
        if matches!(self.of, Of::Abortable(_)) {
            return Err(format!(
                "/{ABORTABLE} is for `cohort bench` and Rust; of what serves programs, waiters of \
                 hmcs-t give up"
            ));
        }
        let Of::Locks(locks) = &self.of else {
            return Err(format!(
                "programs run under {PREFIX}… with a bound of their own, and under the locks of \
                 `cohort list` as they are"
            ));
        };
        if self.form != Some(Form::Compiled) {
            is_stackable(locks)?;
        }
        let levels = self.levels_on(topology);
        stacked::Recipe::of(locks, &levels, self.bound)
            .ok_or_else(|| format!("{} locks need as many levels", locks.len()))
    }

    /// The levels of its low locks on a machine: the node first, which matters
    /// everywhere, then what is smaller, then the package (Chehab et al. 2021 §5.2.1), but those
    /// that the machine has before those that it has not.
    #[must_use]
    pub fn levels_on(&self, topology: &Topology) -> Vec<Level> {
        if let Some(levels) = &self.levels {
            return levels.clone();
        }
        let locks = match &self.of {
            Of::Named(_) => return Vec::new(),
            Of::Locks(locks) => locks.len(),
            Of::Abortable(locks) => locks.len(),
        };
        let mut wanted = [Level::Numa, Level::CacheGroup, Level::Core, Level::Package];
        let has = |level: Level| topology.levels().iter().any(|l| l.name == level.name());
        wanted.sort_by_key(|level| !has(*level));
        let mut levels = wanted[..locks - 1].to_vec();
        levels.sort_by_key(|level| *level as usize);
        levels
    }
}

/// The names of a list again as they were typed: the commas between the levels of one
/// lock, of which the system's is the last, part no names.
#[must_use]
pub fn rejoined(pieces: &[String]) -> Vec<String> {
    let goes_on = |name: &String| {
        let levels = name.split_once('@').map_or("", |(_, levels)| levels);
        let first = levels.split(',').next().unwrap_or_default();
        Level::named(first).is_some() && !levels.contains(SYSTEM)
    };
    let mut names: Vec<String> = Vec::new();
    for piece in pieces.iter().map(|piece| piece.trim()) {
        match names.last_mut().filter(|name| goes_on(name)) {
            Some(name) => *name = format!("{name},{piece}"),
            None => names.push(piece.to_owned()),
        }
    }
    names
}

/// The name that is printed.
impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.of {
            Of::Named(name) => write!(f, "{name}")?,
            Of::Locks(locks) => {
                let names: Vec<&str> = locks.iter().map(|lock| lock.name()).collect();
                write!(f, "{PREFIX}{}", names.join("-"))?;
            }
            Of::Abortable(locks) => {
                let names: Vec<&str> = locks.iter().map(|lock| lock.name()).collect();
                write!(f, "{PREFIX}{}", names.join("-"))?;
            }
        }
        if let Some(levels) = &self.levels {
            let names = levels.iter().map(|level| level.name()).chain([SYSTEM]);
            write!(f, "@{}", names.collect::<Vec<_>>().join(","))?;
        }
        if let Some(bound) = self.bound {
            if bound.hand_offs < u32::MAX {
                write!(f, "/{}", bound.hand_offs)?;
            }
            if bound.nanoseconds > 0 {
                write!(f, "/{}", Span::Nanoseconds(bound.nanoseconds))?;
            }
        }
        if let Some(bypass) = self.bypass {
            write!(f, "/{}", bypass.name())?;
        }
        if let Some(form) = self.form {
            write!(f, "/{}", form.name())?;
        }
        if matches!(self.of, Of::Abortable(_)) {
            write!(f, "/{ABORTABLE}")?;
        }
        match self.assignment {
            None => Ok(()),
            Some(assignment) => write!(f, "/{assignment}"),
        }
    }
}

impl fmt::Display for Assignment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Random => "random",
            Self::Balanced => "balanced",
            Self::Pathological => "pathological",
        })
    }
}

/// Whether a composition can be built at run time, as programs have it unless they ask for
/// the compiled one.
fn is_stackable(locks: &[Basic]) -> Result<(), String> {
    if locks.contains(&Basic::Near) {
        return Err(format!(
            "near stands in compiled compositions only: add /{}",
            Form::Compiled.name()
        ));
    }
    Ok(())
}

fn basic(names: &str) -> Result<Vec<Basic>, String> {
    let known = Basic::ALL.map(Basic::name).join(", ");
    let lock = |name| {
        Basic::named(name).ok_or_else(|| {
            format!("`{name}` is none of {known}, nor is it near, which stands at the top")
        })
    };
    let locks: Vec<Basic> = names.split('-').map(lock).collect::<Result<_, _>>()?;
    if locks.len() > LEVELS {
        return Err(format!("a composition has at most {LEVELS} levels"));
    }
    if !is_ordered(&locks) {
        return Err(format!("below the top lock stand {known} only"));
    }
    Ok(locks)
}

fn levels(names: &str, locks: usize) -> Result<Vec<Level>, String> {
    let below = names
        .strip_suffix(SYSTEM)
        .ok_or("the last level is `system`")?;
    let names: Vec<&str> = below.split(',').filter(|name| !name.is_empty()).collect();
    let level = |name: &&str| {
        Level::named(name).ok_or_else(|| {
            let known = Level::ALL.map(Level::name).join(", ");
            format!("`{name}` is no level; there are {known} and {SYSTEM}")
        })
    };
    let levels: Vec<Level> = names.iter().map(level).collect::<Result<_, _>>()?;
    if levels.len() + 1 != locks {
        return Err(format!("{locks} locks need {locks} levels"));
    }
    if !levels.is_sorted_by(|one, other| (*one as usize) < *other as usize) {
        return Err("levels begin with the smallest cohort".to_owned());
    }
    Ok(levels)
}

impl Assignment {
    const ALL: [Self; 3] = [Self::Random, Self::Balanced, Self::Pathological];

    /// The cohort of each CPU, which are as many as `real` has; `real` is where each CPU
    /// is.
    #[must_use]
    pub fn cohorts(self, real: &[usize], seed: u64) -> Vec<usize> {
        let count = real.iter().max().map_or(1, |last| last + 1);
        let mut state = seed;
        let mut random = move |below: usize| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut bits = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((bits ^ (bits >> 31)) % below as u64) as usize
        };
        match self {
            Self::Random => real.iter().map(|_| random(count)).collect(),
            Self::Balanced => {
                let mut cohorts: Vec<usize> = (0..real.len()).map(|cpu| cpu % count).collect();
                for last in (1..cohorts.len()).rev() {
                    cohorts.swap(last, random(last + 1));
                }
                cohorts
            }
            Self::Pathological => {
                let mut met = vec![0; count];
                real.iter()
                    .map(|cohort| {
                        met[*cohort] += 1;
                        (met[*cohort] - 1) % count
                    })
                    .collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(name: &str) -> String {
        Recipe::read(name).map_or_else(|why| why, |recipe| recipe.to_string())
    }

    #[test]
    fn one_name_is_printed() {
        assert_eq!(printed("clof:tkt-clh-hem"), "clof:ticket-clh-hemlock");
        let levels = "clof:ticket-mcs@numa,system";
        assert_eq!(printed(levels), levels);
        assert_eq!(printed("c-tkt-tkt/1000"), "c-tkt-tkt/1000");
        assert_eq!(printed("c-bo-mcs/random/bypass"), "c-bo-mcs/bypass/random");
        assert_eq!(printed("c-bo-mcs/adaptive/9"), "c-bo-mcs/9/adaptive");
        assert_eq!(printed("c-tkt-tkt/20us/random"), "c-tkt-tkt/20us/random");
        assert_eq!(printed("c-tkt-tkt/7/20us"), "c-tkt-tkt/7/20us");
        assert_eq!(printed("c-tkt-tkt/20us/7"), "c-tkt-tkt/7/20us");
        let abortable = "clof:clh-bo-mcs@cache,numa,system/64/abortable";
        assert_eq!(printed(abortable), abortable);
        assert_eq!(
            printed("clof:bo-clh/abortable/9"),
            "clof:bo-clh/9/abortable"
        );
    }

    #[test]
    fn mistakes_are_named() {
        for (name, word) in [
            ("clof:tkt-xyz", "xyz"),
            ("clof:near-mcs", "below the top"),
            ("clof:mcs-near/stacked", "near"),
            ("clof:mcs-mcs-mcs-mcs-mcs", "at most 4"),
            ("clof:mcs-mcs@numa", "`system`"),
            ("clof:mcs-mcs@core,numa,system", "2 levels"),
            ("clof:mcs-mcs-mcs@numa,core,system", "smallest"),
            ("clof:mcs-mcs@node,system", "node"),
            ("mcs/100", "no bound"),
            ("c-tkt-tkt/soon", "/soon"),
            ("clof:ticket-bo/abortable", "ticket"),
            ("clof:mcs-bo/abortable", "top only"),
            ("c-bo-bo/abortable", "clof:"),
            ("clof:clh-bo/abortable/bypass", "/bypass"),
        ] {
            assert!(printed(name).contains(word), "{name}: {}", printed(name));
        }
    }

    #[test]
    fn a_program_is_told_what_was_asked_for() {
        let all = |text: &str| stacked::Recipe::read(text).map(|recipe| recipe.to_string());
        for text in [
            "clof:mcs@system/128",
            "clof:ticket-mcs@numa,system/128",
            "clof:hemlock-clh-mcs-ticket@core,cache,numa,system/7/20us",
            "clof:mcs-mcs@package,system/1500ns",
        ] {
            let recipe = stacked::Recipe::read(text).unwrap();
            assert_eq!(recipe.to_string(), text);
            assert_eq!(stacked::Recipe::of_words(recipe.to_words()), recipe);
            let typed = Recipe::read(text).unwrap();
            assert_eq!(
                typed
                    .served_on(&Topology::new(vec![0], Vec::new()))
                    .unwrap(),
                recipe
            );
        }
        assert_eq!(
            all("clof:tkt-hem").unwrap(),
            "clof:ticket-hemlock@numa,system/128"
        );
        for text in [
            "mcs",
            "clof:",
            "clof:mcs-",
            "clof:mcs-mcs-mcs-mcs-mcs",
            "clof:mcs-mcs@numa",
            "clof:mcs-mcs@numa,numa,system",
            "clof:mcs-mcs-mcs@numa,core,system",
            "clof:mcs-mcs@system",
            "clof:near-mcs",
            "clof:mcs/x",
            "clof:mcs/-1",
            "clof:mcs/99999999999us",
            "clof:mcs-mcs@,system",
        ] {
            assert!(all(text).is_err(), "{text}");
        }
    }

    #[test]
    fn levels_suit_the_machine() {
        let by = |names: &[&str]| {
            let levels = names.iter().enumerate().map(|(at, name)| {
                let cohorts = (0..64).map(|cpu: usize| cpu >> (at + 1)).collect();
                ((*name).to_owned(), cohorts)
            });
            Topology::new((0..64).collect(), levels.collect())
        };
        let names = |name: &str, topology: &Topology| {
            let recipe = Recipe::read(name).unwrap();
            let levels = recipe.levels_on(topology);
            levels
                .iter()
                .map(|l| l.name())
                .collect::<Vec<_>>()
                .join(",")
        };
        let epyc = by(&["core", "cache", "numa", "system"]);
        assert_eq!(names("clof:mcs-mcs-mcs-mcs", &epyc), "core,cache,numa");
        assert_eq!(names("clof:mcs-mcs-mcs", &epyc), "cache,numa");
        let kunpeng = by(&["cache", "numa", "package", "system"]);
        assert_eq!(
            names("clof:mcs-mcs-mcs-mcs", &kunpeng),
            "cache,numa,package"
        );
        let small = by(&["core", "system"]);
        assert_eq!(names("clof:mcs-mcs", &small), "core");
        assert_eq!(names("clof:mcs", &small), "");
    }

    #[test]
    fn assignments_are_as_they_are_called() {
        let real: Vec<usize> = (0..32).map(|cpu| cpu / 8).collect();
        let sizes = |cohorts: &[usize]| {
            let count = |cohort| cohorts.iter().filter(|c| **c == cohort).count();
            [0, 1, 2, 3].map(count)
        };
        let balanced = Assignment::Balanced.cohorts(&real, 1);
        assert_eq!(sizes(&balanced), [8; 4]);
        assert_ne!(balanced, real);
        let pathological = Assignment::Pathological.cohorts(&real, 1);
        assert_eq!(sizes(&pathological), [8; 4]);
        assert_eq!(pathological[..4], [0, 1, 2, 3]);
        let random = |seed| Assignment::Random.cohorts(&real, seed);
        assert!((1..9).all(|seed| random(seed).iter().all(|cohort| *cohort < 4)));
        // One in some seventy is balanced by chance.
        let balanced = (1..101).filter(|seed| sizes(&random(*seed)) == [8; 4]);
        let balanced = balanced.count();
        assert!(balanced < 10, "{balanced} of 100");
    }
}
