//! One row of the table.

use crate::here::is_here;
use crate::slowest;
use libtest_mimic::{Failed, Trial};

/// How long a check may take altogether.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// Part of every run.
    Quick,
    /// Only where `COHORT_TIER=full` asks for it.
    Full,
}

/// One check.
pub struct Check {
    /// What it is called on the command line and in the output.
    pub name: String,
    /// Which runs it belongs to.
    pub tier: Tier,
    /// Programs, libraries and files it cannot do without, each with the Debian package
    /// that has it.
    pub needs: &'static [(&'static str, &'static str)],
    /// What it does; the error says what went wrong.
    pub run: Box<dyn FnOnce() -> Result<(), String> + Send>,
}

impl Check {
    /// The row as the test harness takes it.  A check whose programs are
    /// missing is shown as ignored, and a line says what to install.
    pub fn into_trial(self) -> Trial {
        let missing = self.needs.iter().find(|(name, _)| !is_here(name));
        if let Some((name, package)) = missing {
            eprintln!(
                "skip: {}: no `{name}` here; install the package {package}",
                self.name
            );
        }
        slowest::trial(self.name, || (self.run)().map_err(Failed::from))
            .with_ignored_flag(missing.is_some())
    }
}
