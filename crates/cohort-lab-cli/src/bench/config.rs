//! What was tuned, for a benchmark: the parameters of `sanl` or `glk`, and what `clof:best` is.

use crate::testbed::Testbed;
use cohort_cli::config::Configuration;
use cohort_cli::problem::{self, Problem};
use cohort_cli::toml_file;
use cohort_lab::tune::file::File;
use cohort_lab::tune::sanl::file;
use cohort_lab::tune::shape::Shape;
use cohort_lab::world::Tunings;
use cohort_machine::description::nearest;
use std::path::Path;

/// What was tuned: in a configuration of `cohort run`, or the thresholds of `sanl` shipped for a machine.
pub struct Tuned {
    /// The parameters of locks that have some.
    pub tunings: Tunings,
    /// What `cohort tune` wrote.
    pub file: Option<File>,
}

/// Reads it. Warns if it is another machine's.
///
/// # Errors
/// The place of a mistake in the file, its text and the alternatives.
pub fn read(named: &Path, place: &Testbed) -> Result<Tuned, Problem> {
    let read = Configuration::parse(&text(named)?, named)?;
    let (topology, fingerprint) = match place {
        Testbed::Here(host) => (host.topology(), None),
        Testbed::There(simulator) => (
            simulator.topology(),
            Some(&*simulator.machine().fingerprint),
        ),
    };
    let shape = Shape::of(topology);
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
    let of_sanl = read.sanl_tuned();
    if let Some(stranger) =
        of_sanl.and_then(|tuned| tuned.stranger(place.name(), fingerprint, &shape))
    {
        problem::tell(format!(
            "warning: {} was tuned on {stranger}, not on {} ({shape}); its thresholds are used \
             nevertheless",
            named.display(),
            place.name(),
        ));
    }
    let file = read.tuned();
    if let Some(file) = file
        .as_ref()
        .filter(|file| file.tuned.shape != shape.to_string())
    {
        problem::tell(format!(
            "warning: {} was tuned on {} ({}), not on {} ({shape}); its lock is used anyway",
            named.display(),
            file.tuned.machine,
            file.tuned.shape,
            place.name(),
        ));
    }
    let (sanl, glk) = (read.sanl(), read.glk());
    if sanl.is_none() && glk.is_none() && file.is_none() {
        return Err(Problem::usage(format!(
            "--config: {} has nothing that was tuned: no table `[tuned]`, `[sanl]` or `[glk]`",
            named.display()
        )));
    }
    Ok(Tuned {
        tunings: Tunings {
            sanl: sanl.unwrap_or(Tunings::USUAL.sanl),
            glk: glk.unwrap_or(Tunings::USUAL.glk),
        },
        file,
    })
}

/// The text of a file, or of a shipped one: a name with a `/` or the ending `.toml` is a path.
fn text(named: &Path) -> Result<String, Problem> {
    let is_toml = named.extension().is_some_and(|ending| ending == "toml");
    let name = named
        .to_str()
        .filter(|name| !is_toml && !name.contains('/'));
    let Some(name) = name else {
        return toml_file::text(named);
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
