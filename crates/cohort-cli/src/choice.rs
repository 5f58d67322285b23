//! Resolves typed names to locks.

use crate::best;
use crate::problem::Problem;
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command};
use cohort::catalogue::{self, LOCKS, Storage};
use cohort::name::{Build, Lock, Mistake, Name, PREFIX, SYSTEM_LOCKS, Servable};
use cohort_topology::names::served_on;
use std::borrow::Cow;
use std::ffi::OsStr;

/// The accepted names of the C library's own locks.
pub const SYSTEM: [&str; 2] = SYSTEM_LOCKS;

/// The name for all locks in a list.
pub const ALL: &str = "all";

/// The default lock of `cohort run`: the catalogue's first.
pub const DEFAULT: &str = LOCKS[0].name;

/// Choice of a program's locks.
#[derive(Clone, Debug)]
pub enum Choice {
    /// The C library's own: nothing is preloaded.
    System,
    /// A lock of Cohort's, by its printed name; a composition, by its complete recipe.
    Ours(Cow<'static, str>),
}

impl Choice {
    /// The lock called `name`; the error suggests the nearest names.
    pub fn named(name: &str) -> Result<Self, Problem> {
        if catalogue::read_delegate(name).is_some() {
            return Err(Problem::usage(format!(
                "`{name}` is a delegation lock and cannot replace pthread locks\nuse \
                 `cohort::Delegated` in Rust; `cohort bench` measures `{name}`; `cohort list \
                 --delegates` lists the delegation locks"
            )));
        }
        match catalogue::read(name) {
            Ok(read) => {
                Self::of(&read).map_err(|why| Problem::usage(format!("the lock `{name}`: {why}")))
            }
            Err(why) => Err(wrong(name, &why)),
        }
    }

    /// The lock called `name`, for a program.
    pub fn for_programs(name: &str) -> Result<Self, Problem> {
        match catalogue::find(name) {
            Some(lock) if !lock.serves_programs() => {
                let whole = format!("{PREFIX}{}/{}", lock.name, Build::Compiled);
                let instead = match Self::named(&whole) {
                    Ok(_) => format!("\nfor programs, use `{whole}`"),
                    Err(_) => String::new(),
                };
                Err(Problem::usage(format!(
                    "`{}` is for `cohort bench` and Rust only{instead}",
                    lock.name
                )))
            }
            _ => Self::named(name),
        }
    }

    /// The lock for a parsed name; a composition gets the levels of this machine.
    fn of(name: &Name<'_>) -> Result<Self, String> {
        match name.lock {
            Lock::System => return Ok(Self::System),
            Lock::Listed { name: lock, .. } if *name == Name::of(name.lock) => {
                return Ok(Self::Ours(lock.into()));
            }
            _ => {}
        }
        let topology = cohort_topology::here()?;
        let found;
        let name = if let Lock::Best { .. } = name.lock {
            let asked = name.to_string();
            found = best::here(&asked, &topology).map_err(|problem| problem.to_string())?;
            catalogue::read(&found.lock).map_err(|why| why.to_string())?
        } else {
            *name
        };
        let served = served_on(&name, &topology).map_err(|why| why.to_string())?;
        Ok(Self::Ours(served.to_string().into()))
    }

    /// Whether the default library lacks it: a compiled lock outside the catalogue, or a lock that
    /// is placed apart.
    pub fn is_apart(&self) -> bool {
        let lock = catalogue::read(self.name()).and_then(|name| name.servable());
        match lock {
            Ok(Servable::System | Servable::Stacked(_)) => false,
            Ok(Servable::Listed(place)) => LOCKS[place].storage == Storage::Apart,
            Ok(_) => true,
            Err(_) => false,
        }
    }

    /// The printed name.
    pub fn name(&self) -> &str {
        match self {
            Self::System => SYSTEM[0],
            Self::Ours(name) => name,
        }
    }
}

/// Accepts any text as a lock's name, and offers the printed names for completion.
/// [`Choice::named`] rejects unknown names, with the same message as in the configuration file.
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
        let system = PossibleValue::new(SYSTEM[0]).help("the C library's locks");
        Some(Box::new(ours.chain([system])))
    }
}

/// The error for an unknown lock name.
pub fn wrong(name: &str, why: &Mistake<'_>) -> Problem {
    if catalogue::find_copying(name).is_some() {
        return Problem::usage(format!(
            "`{name}` may run an operation several times, on copies of the data, and cannot \
             replace a lock\nuse the type in Rust; see `cohort list --delegates`"
        ));
    }
    Problem::usage(match why {
        Mistake::Unknown(..) => format!("{why}\n`cohort list` lists the locks"),
        _ => format!("the lock `{name}`: {why}"),
    })
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
    fn a_type_that_is_no_lock_is_refused_as_such() {
        let message = Choice::for_programs("p-sim").unwrap_err().to_string();
        assert!(message.contains("several times"), "{message}");
        assert!(message.contains("cohort list --delegates"), "{message}");
    }

    #[test]
    fn nonsense_is_not_guessed_at() {
        let message = Choice::named("qqqqqqqqqqqq").unwrap_err().to_string();
        assert!(!message.contains("did you mean"), "{message}");
        assert!(message.contains("cohort list"), "{message}");
    }
}
