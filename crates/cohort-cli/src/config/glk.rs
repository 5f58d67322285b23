//! The table `[glk]` of a configuration file.

use cohort::adaptive::{Fault, Tuning};
use cohort_measure::tuned::origin::Origin;
use serde::Deserialize;
use toml::Spanned;

/// Table `[glk]`; missing values keep their defaults.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Glk {
    up: Option<Spanned<u32>>,
    down: Option<Spanned<u32>>,
    sample: Option<Spanned<u32>>,
    consider: Option<Spanned<u32>>,
    tuned: Option<Origin>,
}

impl Glk {
    /// The parameters.
    pub fn tuning(&self) -> Tuning {
        let said = |said: &Option<Spanned<u32>>, usual| {
            said.as_ref().map_or(usual, |said| *said.get_ref())
        };
        Tuning {
            up: said(&self.up, Tuning::USUAL.up),
            down: said(&self.down, Tuning::USUAL.down),
            sample: said(&self.sample, Tuning::USUAL.sample),
            consider: said(&self.consider, Tuning::USUAL.consider),
        }
    }

    /// Their origin, if given.
    pub fn tuned(&self) -> Option<&Origin> {
        self.tuned.as_ref()
    }

    /// An impossible setting, and its place if given.
    pub fn complaint(&self) -> Option<(Option<usize>, String)> {
        let at = |said: &Option<Spanned<u32>>| said.as_ref().map(|said| said.span().start);
        let tuning = self.tuning();
        let period = |found| {
            let most = Tuning::MOST;
            format!("found a period of {found}, expected a power of two up to {most}")
        };
        Some(match tuning.fault()? {
            Fault::Up => {
                let (up, longest) = (tuning.up, Tuning::LONGEST);
                let least = Tuning::LEAST;
                (
                    at(&self.up),
                    format!("up is {up}, expected {least} to {longest}"),
                )
            }
            Fault::Down => {
                let Tuning { up, down, .. } = tuning;
                let expected = match Tuning::LEAST {
                    least if least == up => least.to_string(),
                    least => format!("{least} to {up}"),
                };
                let what = format!("down is {down}, expected {expected} (up)");
                (at(&self.down).or(at(&self.up)), what)
            }
            Fault::Sample => (at(&self.sample), period(tuning.sample)),
            Fault::Consider => (at(&self.consider), period(tuning.consider)),
            Fault::Order => {
                let Tuning {
                    sample, consider, ..
                } = tuning;
                let what = format!("consider is {consider}, expected at least sample, {sample}");
                (at(&self.consider).or(at(&self.sample)), what)
            }
        })
    }
}
