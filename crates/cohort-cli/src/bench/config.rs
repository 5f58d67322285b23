//! The thresholds of `sanl` that a benchmark is run with.

use super::Place;
use crate::config;
use crate::problem::{self, Problem};
use cohort::Thresholds;
use cohort_lab::tune::sanl::file::{self, File};
use cohort_lab::tune::shape::Shape;
use cohort_machine::description::nearest;
use std::path::Path;

/// Those of a file, or of the one that is shipped for a machine; says so if they are another
/// machine's than that place.
///
/// # Errors
/// It cannot be read, or is no such file: where, what stands there and what may.
pub fn read(named: &Path, place: &Place) -> Result<Thresholds, Problem> {
    let text = text(named)?;
    let read =
        File::parse(&text).map_err(|wrong| config::at(&text, wrong.at, named, &wrong.why))?;
    let (topology, fingerprint) = match place {
        Place::Here(host) => (host.topology(), None),
        Place::There(simulator) => (
            simulator.topology(),
            Some(&*simulator.machine().fingerprint),
        ),
    };
    let shape = Shape::of(topology);
    if let Some(stranger) = read.stranger(place.name(), fingerprint, &shape) {
        problem::tell(format!(
            "warning: {} was tuned on {stranger}, and {} is another ({shape}); its thresholds are \
             used all the same",
            named.display(),
            place.name(),
        ));
    }
    Ok(read.thresholds)
}

/// The text of a file, or of a shipped one: whatever has a `/` or ends in `.toml` is a path.
fn text(named: &Path) -> Result<String, Problem> {
    let is_toml = named.extension().is_some_and(|ending| ending == "toml");
    let name = named
        .to_str()
        .filter(|name| !is_toml && !name.contains('/'));
    let Some(name) = name else {
        return config::text(named);
    };
    file::shipped(name).map(str::to_owned).ok_or_else(|| {
        Problem::usage(format!(
            "--config: no thresholds are shipped for `{name}`{}; there are those of {}, and `cohort \
             tune sanl --on {name} -o FILE.toml` finds others",
            nearest::hint(name, file::machines()),
            file::machines().collect::<Vec<_>>().join(" and "),
        ))
    })
}
