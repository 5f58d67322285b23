//! `clof:best`: the composition that tuning found for this machine, or for one like it.

use crate::problem::{self, Problem};
use crate::toml_file;
use cohort_measure::tuned::best::{self, Stands, Tuned};
use cohort_measure::tuned::file::File;
use cohort_topology::Topology;
use std::path::PathBuf;

/// The path of the file that `cohort tune` writes for this machine.
pub fn place() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let of_user = || Some(PathBuf::from(set("HOME")?).join(".config"));
    let folder = set("XDG_CONFIG_HOME").map(PathBuf::from).or_else(of_user);
    Some(folder?.join("cohort").join("best.toml"))
}

/// Its contents; none if the file does not exist.
fn tuned() -> Result<Option<File>, Problem> {
    let Some(place) = place().filter(|place| place.exists()) else {
        return Ok(None);
    };
    let text = toml_file::text(&place)?;
    let read = File::parse(&text).map_err(|error| toml_file::misread(&error, &text, &place));
    read.map(Some)
}

/// The composition that a name stands for on this machine.
///
/// # Errors
/// The file that was tuned here cannot be read, or there is nothing for the name.
pub fn here(name: &str, topology: &Topology) -> Result<Stands, Problem> {
    let tuned = tuned()?;
    let tuned = tuned.as_ref().map(|file| Tuned {
        file,
        called: "this machine's file",
    });
    by(name, topology, tuned)
}

/// The same by a file written by `cohort tune`, or by what is shipped, as for a simulated machine.
///
/// # Errors
/// There is nothing for the name.
pub fn by(name: &str, topology: &Topology, tuned: Option<Tuned<'_>>) -> Result<Stands, Problem> {
    best::stands(name, topology, tuned)
        .map_err(|why| Problem::usage(format!("the lock `{name}`: {why}")))
}

/// A message that says what a name stands for.
pub fn tell(name: &str, stands: &Stands) {
    problem::tell(format!("note: {name} is {}, {}", stands.lock, stands.why));
}

/// The cohorts that the file tuned here was tuned with.
pub fn cohorts() -> Result<Option<PathBuf>, Problem> {
    let named = tuned()?.and_then(|file| file.cohorts);
    let folder = place().and_then(|place| place.parent().map(PathBuf::from));
    Ok(named.map(|named| folder.unwrap_or_default().join(named)))
}
