//! Resolves `clof:best`: the composition found by tuning for this machine, or for a similar one.
//!
//! ```text
//! clof:best             of the file tuned here; or else of the shipped one with the nearest shape
//! clof:best@MACHINE     what was found on that machine, at the levels of this one
//! clof:best/64          with another bound, as of any composition
//! ```

use super::file::File;
use super::parts;
use super::shape::Shape;
use cohort::catalogue::{self, LOCKS};
use cohort::name::Lock;
use cohort_nearest as nearest;
use cohort_topology::Topology;

/// Output of `cohort tune` for a machine of that name; the last entry is for several.
static SHIPPED: &[(&str, &str)] = &[
    ("epyc-7352x2", include_str!("shipped/epyc-7352x2.toml")),
    ("haswell-ep-2s", include_str!("shipped/haswell-ep-2s.toml")),
    ("ivy-bridge-2s", include_str!("shipped/ivy-bridge-2s.toml")),
    ("kunpeng-920x2", include_str!("shipped/kunpeng-920x2.toml")),
    (
        "opteron-6274x8",
        include_str!("shipped/opteron-6274x8.toml"),
    ),
    ("sparc-t4-1", include_str!("shipped/sparc-t4-1.toml")),
    ("sparc-t5440", include_str!("shipped/sparc-t5440.toml")),
    ("sunfire-x4800", include_str!("shipped/sunfire-x4800.toml")),
    ("superdome-x", include_str!("shipped/superdome-x.toml")),
    (
        "xeon-e7-4850x4",
        include_str!("shipped/xeon-e7-4850x4.toml"),
    ),
];

/// The shipped machines with nodes.
pub const NODED: [&str; 9] = [
    "epyc-7352x2",
    "haswell-ep-2s",
    "ivy-bridge-2s",
    "kunpeng-920x2",
    "opteron-6274x8",
    "sparc-t5440",
    "sunfire-x4800",
    "superdome-x",
    "xeon-e7-4850x4",
];

/// For any machine with nodes.
static NODES: &str = include_str!("shipped/nodes.toml");

/// Resolution of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stands {
    /// The lock's name.
    pub lock: String,
    /// The reason, in words that follow its name.
    pub why: String,
}

/// A file written by tuning, and its name in messages.
#[derive(Clone, Copy, Debug)]
pub struct Tuned<'a> {
    /// The file.
    pub file: &'a File,
    /// What it is called.
    pub called: &'a str,
}

/// Whether a lock's name is resolved here.
#[must_use]
pub fn is_asked(name: &str) -> bool {
    asked(name).is_some()
}

/// The machine in a name, and the text after it.
fn asked(name: &str) -> Option<(Option<&str>, &str)> {
    let Lock::Best { machine } = catalogue::read(name).ok()?.lock else {
        return None;
    };
    Some((machine, &name[name.find('/').unwrap_or(name.len())..]))
}

/// Resolves a name on a machine; `tuned` is the file written for it, if any.
///
/// # Errors
/// The reason why there is no composition for it.
pub fn stands(name: &str, topology: &Topology, tuned: Option<Tuned<'_>>) -> Result<Stands, String> {
    let (machine, refined) = asked(name).ok_or_else(|| format!("`{name}` is not clof:best"))?;
    let shape = Shape::of(topology);
    let found = match (machine, tuned) {
        (Some(machine), _) => {
            let file = shipped(machine)?;
            Stands {
                lock: moved(&file.tuned.composition, &shape),
                why: format!("tuned for {machine}"),
            }
        }
        (None, Some(Tuned { file, called })) => Stands {
            lock: file.tuned.composition.clone(),
            why: format!("from {called}{}", rival(file)),
        },
        (None, None) => fitting(&shape)?,
    };
    if !refined.is_empty() && parts(&found.lock).is_none() && machine.is_none() {
        return Err(format!(
            "on a machine with one node it is the plain lock {}, which accepts no `/`",
            found.lock
        ));
    }
    Ok(Stands {
        lock: found.lock + refined,
        ..found
    })
}

/// The shipped composition for a shape.
fn fitting(shape: &Shape) -> Result<Stands, String> {
    if !shape.has_nodes() {
        return Ok(Stands {
            lock: LOCKS[0].name.to_owned(),
            why: "a plain lock for a single node".to_owned(),
        });
    }
    let mut near: Option<(f64, File)> = None;
    for (_, text) in SHIPPED {
        let file = File::parse(text).map_err(|error| error.to_string())?;
        let unlike = file.tuned.shape.parse::<Shape>()?.unlike(shape);
        if let Some(unlike) = unlike
            && near.as_ref().is_none_or(|(least, _)| unlike < *least)
        {
            near = Some((unlike, file));
        }
    }
    let (file, why) = match near {
        Some((unlike, file)) => {
            let alike = if unlike == 0.0 {
                "with this topology"
            } else {
                "with similar levels"
            };
            let why = format!("tuned for {}, {alike}", file.tuned.machine);
            (file, why)
        }
        None => {
            let file = File::parse(NODES).map_err(|error| error.to_string())?;
            (
                file,
                "best on average over machines with several nodes".to_owned(),
            )
        }
    };
    Ok(Stands {
        why: why + &rival(&file),
        lock: file.tuned.composition,
    })
}

/// The rival that was better than the composition, in words.
fn rival(file: &File) -> String {
    if file.lock == file.tuned.composition {
        return String::new();
    }
    let behind = 100.0 * file.tuned.behind;
    format!("; {} was faster there by {behind:.1} %", file.lock)
}

/// A composition for a machine of that shape: if the machine lacks its levels, at levels that suit
/// the machine.
#[must_use]
pub fn moved(composition: &str, to: &Shape) -> String {
    let fits = parts(composition).is_some_and(|(_, below)| to.has(&below));
    let bare = composition.split('@').next().unwrap_or_default();
    if fits { composition } else { bare }.to_owned()
}

/// The file written for a shipped machine.
///
/// # Errors
/// No such machine.
pub fn shipped(machine: &str) -> Result<File, String> {
    let found = SHIPPED.iter().find(|(name, _)| *name == machine);
    let (_, text) = found.ok_or_else(|| {
        let hint = nearest::hint(machine, SHIPPED.iter().map(|(name, _)| *name));
        format!("no tuned lock for `{machine}`{hint}")
    })?;
    File::parse(text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use cohort_machine::description::shipped as machines;
    use cohort_world::simulated::Simulator;

    fn topology(machine: &str) -> Topology {
        let machine = machines::find(machine).unwrap();
        Simulator::new(machine).topology().clone()
    }

    fn by(levels: &[(&str, usize)], cpus: usize) -> Topology {
        let levels = levels.iter().map(|(name, each)| {
            let cohorts = (0..cpus).map(|cpu| cpu / each).collect();
            ((*name).to_owned(), cohorts)
        });
        let system = ("system".to_owned(), vec![0; cpus]);
        Topology::new((0..cpus).collect(), levels.chain([system]).collect())
    }

    #[test]
    fn each_of_the_ten_machines_has_a_file_of_its_own_shape() {
        for file in &machines::MACHINES[..10] {
            let written = shipped(file.name).unwrap();
            let machine = machines::find(file.name).unwrap();
            assert_eq!(written.tuned.machine, file.name);
            assert_eq!(
                written.tuned.fingerprint.as_ref(),
                Some(&machine.fingerprint)
            );
            let topology = topology(file.name);
            assert_eq!(written.tuned.shape, Shape::of(&topology).to_string());
            let stands = stands("clof:best", &topology, None).unwrap();
            if Shape::of(&topology).has_nodes() {
                assert_eq!(stands.lock, written.tuned.composition, "{}", file.name);
                assert!(catalogue::read(&stands.lock).is_ok());
            } else {
                assert_eq!(stands.lock, LOCKS[0].name);
            }
        }
    }

    #[test]
    fn machines_with_nodes_are_those_whose_shape_has_them() {
        let noded = SHIPPED.iter().filter(|(_, text)| {
            let file = File::parse(text).unwrap();
            file.tuned.shape.parse::<Shape>().unwrap().has_nodes()
        });
        assert!(noded.map(|(name, _)| *name).eq(NODED));
    }

    #[test]
    fn a_machine_is_known_by_its_shape() {
        let found = |topology: &Topology| stands("clof:best", topology, None).unwrap();
        let like = found(&by(&[("numa", 12)], 48));
        assert!(like.why.contains("with similar levels"), "{like:?}");
        // No shipped machine has cache groups and nodes alone.
        let other = found(&by(&[("cache", 4), ("numa", 16)], 64));
        assert!(other.why.contains("on average over"), "{other:?}");
        let flat = found(&by(&[("core", 2)], 8));
        assert_eq!(flat.lock, LOCKS[0].name);
    }

    #[test]
    fn names_say_more() {
        let kunpeng = topology("kunpeng-920x2");
        let of = |name: &str| stands(name, &kunpeng, None);
        let own = of("clof:best").unwrap().lock;
        assert_eq!(of("clof:best/64").unwrap().lock, format!("{own}/64"));
        // Without the caches of its levels.
        let nodes = by(&[("numa", 8)], 32);
        let epyc = stands("clof:best@epyc-7352x2", &nodes, None).unwrap().lock;
        assert!(!epyc.contains('@'), "{epyc}");
        assert!(
            of("clof:best@epyc-7352")
                .unwrap_err()
                .contains("epyc-7352x2")
        );
        let mut tuned = shipped("epyc-7352x2").unwrap();
        tuned.tuned.composition = "clof:mcs-mcs@numa,system".to_owned();
        let named = Tuned {
            file: &tuned,
            called: "this machine's file",
        };
        let here = stands("clof:best", &kunpeng, Some(named)).unwrap();
        assert_eq!(here.lock, tuned.tuned.composition);
        let flat = by(&[], 4);
        assert!(stands("clof:best/64", &flat, None).is_err());
        for other in ["clof:best-4", "mcs", "clof:bestmcs", "best"] {
            assert!(!is_asked(other), "{other}");
        }
    }
}
