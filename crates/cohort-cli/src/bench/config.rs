//! The parameters of `sanl` or `glk` for a benchmark.

use super::Place;
use crate::config::{self, Configuration};
use crate::problem::{self, Problem};
use cohort_lab::tune::sanl::file::{self, File};
use cohort_lab::tune::shape::Shape;
use cohort_lab::world::Tunings;
use cohort_machine::description::nearest;
use std::path::Path;

/// The parameters in a file, or those of `sanl` shipped for a machine. Warns if they are another
/// machine's.
///
/// # Errors
/// The place of a mistake in the file, its text and the alternatives.
pub fn read(named: &Path, place: &Place) -> Result<Tunings, Problem> {
    let text = text(named)?;
    let is_of_glk = toml::from_str(&text).is_ok_and(|table: toml::Table| table.contains_key("glk"));
    if is_of_glk {
        return of_glk(&Configuration::parse(&text, named)?, named, place);
    }
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
            "warning: {} was tuned on {stranger}, not on {} ({shape}); its thresholds are used \
             nevertheless",
            named.display(),
            place.name(),
        ));
    }
    Ok(Tunings {
        sanl: read.thresholds,
        ..Tunings::USUAL
    })
}

/// The parameters of `glk` in a configuration of `cohort run`.
fn of_glk(read: &Configuration, named: &Path, place: &Place) -> Result<Tunings, Problem> {
    let shape = Shape::of(match place {
        Place::Here(host) => host.topology(),
        Place::There(simulator) => simulator.topology(),
    });
    if let Some(tuned) = read
        .glk_tuned()
        .filter(|tuned| tuned.shape != shape.to_string())
    {
        problem::tell(format!(
            "warning: glk in {} was tuned on {} ({}), not on {} ({shape}); its thresholds are used \
             nevertheless",
            named.display(),
            tuned.machine,
            tuned.shape,
            place.name(),
        ));
    }
    Ok(Tunings {
        glk: read.glk().unwrap_or(Tunings::USUAL.glk),
        ..Tunings::USUAL
    })
}

/// The text of a file, or of a shipped one: a name with a `/` or the ending `.toml` is a path.
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
            "--config: no thresholds are shipped for `{name}`{}, only for {}; measure them with \
             `cohort tune sanl --on {name} -o FILE.toml`",
            nearest::hint(name, file::machines()),
            file::machines().collect::<Vec<_>>().join(" and "),
        ))
    })
}
