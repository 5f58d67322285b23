//! From what a person typed to a lock.

use crate::best;
use crate::problem::Problem;
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command};
use cohort::catalogue::{self, LOCKS, LockInfo, Placement};
use cohort::compose::stacked::PREFIX;
use cohort_lab::tune::best::is_asked;
use cohort_lab::world::native::topology;
use cohort_lab::world::{Form, Recipe};
use std::borrow::Cow;
use std::ffi::OsStr;

/// The C library's own locks, under the names that are accepted for them.
pub const SYSTEM: [&str; 2] = ["system", "posix"];

/// What stands for every lock in a list of names.
pub const ALL: &str = "all";

/// What the name of a composition ends with that is compiled.
const COMPILED: &str = "/compiled";

/// The lock that `cohort run` uses when nobody names one: the catalogue's first.
pub const DEFAULT: &str = LOCKS[0].name;

/// Which locks a program is to run under.
#[derive(Clone, Debug)]
pub enum Choice {
    /// The C library's own: nothing is preloaded.
    System,
    /// One of ours, by its printed name; a composition, by its whole recipe.
    Ours(Cow<'static, str>),
}

impl Choice {
    /// The lock called `name`; the error names those that come nearest.
    pub fn named(name: &str) -> Result<Self, Problem> {
        if SYSTEM.contains(&name) {
            return Ok(Self::System);
        }
        if Recipe::is_one(name) {
            return Self::composed(name)
                .map_err(|why| Problem::usage(format!("the lock `{name}`: {why}")));
        }
        if catalogue::find_delegate(name).is_some() {
            return Err(Problem::usage(format!(
                "`{name}` is no lock that a thread holds: sections are brought to it, and a \
                 program that locks and unlocks has none to bring\nin Rust, write \
                 `cohort::Delegated` in place of `cohort::Mutex`; `cohort bench` has `{name}`, and \
                 `cohort list --delegates` shows all such locks"
            )));
        }
        catalogue::find(name)
            .map(|lock| Self::Ours(lock.name.into()))
            .ok_or_else(|| Problem::usage(unknown(name)))
    }

    /// The lock called `name`, for a program.
    pub fn for_programs(name: &str) -> Result<Self, Problem> {
        match catalogue::find(name) {
            Some(lock) if !lock.serves_programs() => {
                let whole = format!("{PREFIX}{}{COMPILED}", lock.name);
                let instead = match Self::composed(&whole) {
                    Ok(_) => format!(", and programs as `{whole}`"),
                    Err(_) => String::new(),
                };
                Err(Problem::usage(format!(
                    "no program runs under `{}` by this name: `cohort bench` and Rust have it\
                     {instead}",
                    lock.name
                )))
            }
            _ => Self::named(name),
        }
    }

    /// The composition that a name describes, at the levels of this machine.
    fn composed(name: &str) -> Result<Self, String> {
        let topology = topology()?;
        let found;
        let name = if is_asked(name) {
            found = best::here(name, &topology).map_err(|problem| problem.to_string())?;
            if let Some(lock) = catalogue::find(&found.lock) {
                return Ok(Self::Ours(lock.name.into()));
            }
            &found.lock
        } else {
            name
        };
        let recipe = Recipe::read(name)?;
        let served = recipe.served_on(&topology)?;
        let form = match recipe.form {
            Some(Form::Compiled) => COMPILED,
            Some(Form::Stacked) | None => "",
        };
        Ok(Self::Ours(format!("{served}{form}").into()))
    }

    /// Whether the usual library is without it: a composition, compiled, or a lock that is
    /// placed apart.
    pub fn is_apart(&self) -> bool {
        let is_placed = |info: &LockInfo| info.placement == Placement::Apart;
        self.name().ends_with(COMPILED) || catalogue::find(self.name()).is_some_and(is_placed)
    }

    /// The one name that is printed.
    pub fn name(&self) -> &str {
        match self {
            Self::System => SYSTEM[0],
            Self::Ours(name) => name,
        }
    }
}

/// Takes any text for a lock's name, and offers the printed names to the shells'
/// completion: an unknown name is answered by [`Choice::named`], whose answer
/// serves the configuration file too.
#[derive(Clone)]
pub struct LockName;

impl TypedValueParser for LockName {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        option: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, option, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let ours = LOCKS
            .iter()
            .map(|lock| PossibleValue::new(lock.name).help(lock.about));
        let system = PossibleValue::new(SYSTEM[0]).help("the C library's own locks");
        Some(Box::new(ours.chain([system])))
    }
}

/// What is said of a name that no lock has.
pub fn unknown(name: &str) -> String {
    let nearest = nearest(name);
    let hint = match nearest.as_slice() {
        [] => String::new(),
        [only] => format!("; did you mean `{only}`?"),
        [first @ .., last] => format!("; did you mean `{}` or `{last}`?", first.join("`, `")),
    };
    format!("no lock is called `{name}`{hint}\n`cohort list` shows every lock")
}

/// Up to three printed names that are close to `name`, the closest first.
fn nearest(name: &str) -> Vec<&'static str> {
    let accepted = LOCKS
        .iter()
        .flat_map(|lock| {
            let names = std::iter::once(&lock.name).chain(lock.aliases);
            names.map(move |accepted| (*accepted, lock.name))
        })
        .chain(SYSTEM.map(|accepted| (accepted, SYSTEM[0])));
    let tolerated = (name.chars().count() / 3).max(2);
    let lower = name.to_lowercase();
    let mut close: Vec<(usize, &str)> = accepted
        .filter_map(|(accepted, printed)| {
            let distance = strsim::osa_distance(&lower, accepted);
            // A distance of the whole length shares no letter at all.
            let shares = distance < accepted.chars().count();
            let extends = !lower.is_empty() && accepted.starts_with(&lower);
            (shares && distance <= tolerated || extends).then_some((distance, printed))
        })
        .collect();
    close.sort_unstable();
    let mut names: Vec<&str> = Vec::new();
    for (_, printed) in close {
        if !names.contains(&printed) {
            names.push(printed);
        }
    }
    names.truncate(3);
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_has_two_names_and_prints_one() {
        for name in SYSTEM {
            assert_eq!(Choice::named(name).unwrap().name(), "system");
        }
    }

    #[test]
    fn a_slip_finds_its_neighbour() {
        let message = Choice::named("systme").unwrap_err().to_string();
        assert!(message.contains("did you mean `system`?"), "{message}");
    }

    #[test]
    fn a_lock_that_serves_no_program_is_refused_for_one() {
        assert!(Choice::named("near").is_ok());
        let message = Choice::for_programs("near").unwrap_err().to_string();
        assert!(message.contains("clof:near/compiled"), "{message}");
    }

    #[test]
    fn a_lock_that_sections_are_brought_to_is_refused_with_what_to_do() {
        let message = Choice::for_programs("sanl").unwrap_err().to_string();
        assert!(message.contains("cohort::Delegated"), "{message}");
        assert!(message.contains("cohort list --delegates"), "{message}");
    }

    #[test]
    fn nonsense_is_not_guessed_at() {
        let message = Choice::named("qqqqqqqqqqqq").unwrap_err().to_string();
        assert!(!message.contains("did you mean"), "{message}");
        assert!(message.contains("cohort list"), "{message}");
    }
}
