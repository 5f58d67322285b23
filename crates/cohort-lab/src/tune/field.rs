//! The locks compared: every composition, and rivals.

use cohort::basic::{Bo, Clh, Hemlock, HemlockCtr, K42, Mcs, Ticket};
use cohort::compose::generated;
use cohort::name::{Lock, Name, PREFIX, SYSTEM};
use cohort::recipe::{Basic, LEVELS, Level, Locks};
use cohort::wait::SpinOnly;
use cohort::{RawLock, catalogue};
pub use cohort_measure::tuned::parts;

/// Simplicity, for sorting: the number of a lock's levels, then the bytes of a lock and a waiter at
/// each.
pub type Size = (usize, usize);

/// Rivals with their numbers of levels; the default is among them.
pub const RIVALS: [(&str, usize); 5] = [
    ("futex-hmcs", 2),
    ("hmcs-4", 4),
    ("cna", 2),
    ("futex", 1),
    ("mcs", 1),
];

/// A lock's name in two short columns: its locks, as papers abbreviate them, and the levels below
/// the whole system.
#[must_use]
pub fn short(lock: &str) -> [String; 2] {
    let Some(composition) = lock.strip_prefix(PREFIX) else {
        return [lock.to_owned(), String::new()];
    };
    let (locks, at) = composition.split_once('@').unwrap_or((composition, ""));
    // A one-level composition keeps its level, to differ from the rival of the same name.
    let levels = at.strip_suffix(&format!(",{SYSTEM}")).unwrap_or(at);
    let locks = locks.replace("ticket", "tkt").replace("hemlock", "hem");
    [locks, levels.to_owned()]
}

/// A lock of the field.
#[derive(Clone, Debug)]
pub struct Contender {
    /// Its name.
    pub name: String,
    /// Whether it is no composition.
    pub is_rival: bool,
    /// Its size.
    pub size: Size,
}

impl Contender {
    /// A lock of the catalogue.
    #[must_use]
    pub fn rival(name: &str) -> Self {
        let known = RIVALS.iter().find(|(rival, _)| *rival == name);
        let bytes = catalogue::find(name).map(|info| info.bytes_raw + info.bytes_per_waiter);
        Self {
            name: name.to_owned(),
            is_rival: true,
            size: (known.map_or(1, |(_, levels)| *levels), bytes.unwrap_or(0)),
        }
    }
}

/// The number of [`entries`].
#[must_use]
pub fn count(levels: &[Level], basic: &[Basic]) -> usize {
    entries(levels, basic).len()
}

/// Every composition of these locks at these levels, which are optional below the whole system; the
/// simplest first.
#[must_use]
pub fn entries(levels: &[Level], basic: &[Basic]) -> Vec<Contender> {
    let mut entries = Vec::new();
    for set in 0..1_usize << levels.len() {
        let below: Vec<Level> = (0..levels.len())
            .filter(|at| set >> at & 1 == 1)
            .map(|at| levels[at])
            .collect();
        if below.len() >= LEVELS {
            continue;
        }
        let compositions = generated::all().filter(|locks| {
            locks.len() == below.len() + 1 && locks.iter().all(|lock| basic.contains(lock))
        });
        for locks in compositions {
            let bytes = locks.iter().map(|lock| bytes(*lock)).sum();
            entries.push(Contender {
                name: name(&locks, &below),
                is_rival: false,
                size: (locks.len(), bytes),
            });
        }
    }
    entries.sort_by_key(|entry| entry.size);
    entries
}

/// Every composition of `count` locks, by its compiled name, at levels that suit the machine.
#[must_use]
pub fn compiled(count: usize) -> Vec<Contender> {
    let all = generated::all().filter(|locks| locks.len() == count);
    let entry = |locks: Locks| Contender {
        name: Name::of(Lock::Composed(locks)).to_string(),
        is_rival: false,
        size: (locks.len(), locks.iter().map(|lock| bytes(*lock)).sum()),
    };
    all.map(entry).collect()
}

/// The name of the composition of these locks, the last for the whole system.
///
/// # Panics
/// If there are more locks than levels in a composition.
#[must_use]
pub fn name(locks: &[Basic], below: &[Level]) -> String {
    let name = Name::composed(locks, below);
    name.expect("so many locks stand in a composition")
        .to_string()
}

/// The bytes of a lock with a context.
const fn bytes(lock: Basic) -> usize {
    const fn of<L: RawLock>() -> usize {
        size_of::<L>() + size_of::<L::Context>()
    }
    match lock {
        Basic::Ticket => of::<Ticket<SpinOnly>>(),
        Basic::Mcs | Basic::Near => of::<Mcs<SpinOnly>>(),
        Basic::Clh => of::<Clh>(),
        Basic::Hemlock => of::<Hemlock>(),
        Basic::Bo => of::<Bo<SpinOnly>>(),
        Basic::K42 => of::<K42>(),
        Basic::HemlockCtr => of::<HemlockCtr>(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(levels: &[Level], basic: &[Basic]) -> Vec<String> {
        let entries = entries(levels, basic).into_iter();
        entries.map(|entry| entry.name).collect()
    }

    #[test]
    fn the_field_is_every_composition_with_levels_left_out() {
        let levels = [Level::Core, Level::CacheGroup, Level::Numa];
        let all = names(&levels, &Basic::ALL);
        assert_eq!(all.len(), 500);
        assert!(all[..4].iter().all(|name| name.ends_with("@system")));
        assert!(all.contains(&"clof:ticket-mcs@cache,system".to_owned()));
        assert_eq!(names(&[], &[Basic::Mcs]), ["clof:mcs@system"]);
        // Of four levels below the system, a composition holds three.
        let four = names(&Level::REPORTED, &[Basic::Mcs]);
        assert_eq!(four.len(), 1 + 4 + 6 + 4);
    }

    #[test]
    fn a_name_says_the_parts() {
        for name in names(&[Level::Core, Level::Numa], &Basic::ALL) {
            let (locks, below) = parts(&name).unwrap();
            assert_eq!(super::name(&locks, &below), name);
        }
        for other in [
            "mcs",
            "clof:mcs-mcs",
            "clof:mcs@numa,system",
            "clof:bo@system",
        ] {
            assert_eq!(parts(other), None, "{other}");
        }
    }

    #[test]
    fn rivals_are_locks_of_the_catalogue() {
        for (name, levels) in RIVALS {
            let entry = Contender::rival(name);
            assert!(
                entry.is_rival && entry.size.0 == levels && entry.size.1 > 0,
                "{name}"
            );
        }
    }
}
