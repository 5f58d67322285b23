//! A survey of real programs: each with a check of its result, under the system's locks and
//! Cohort's in turn, with several numbers of threads, on all CPUs and on one.

pub mod here;
pub mod judge;
pub mod list;
pub mod place;

use crate::interrupt::{self, Interrupted};
use crate::rounds::{Contestant, Observer, Series};
use crate::runner::Launch;
use crate::world::disturb::allowed_cpus;
use judge::{Medians, Ratios, Verdict};
use list::Row;
use place::{RowFolder, Unready};
use serde::Serialize;
use std::ffi::OsString;
use std::fmt;

/// CPUs for a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Cpus {
    /// All CPUs of this process.
    All,
    /// Only the first of them.
    One,
}

impl Cpus {
    /// Its name in a table.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::One => "one",
        }
    }

    fn list(self) -> Option<Vec<usize>> {
        match self {
            Self::All => None,
            Self::One => Some(allowed_cpus().into_iter().take(1).collect()),
        }
    }
}

/// Creates the contestants of a launch, the system's locks first.
pub type Contestants<'a> = dyn Fn(&Launch) -> Result<Vec<Contestant<'static>>, String> + 'a;

/// Plan of a survey.
pub struct SurveyPlan<'a> {
    /// The programs.
    pub rows: Vec<Row>,
    /// The numbers of threads.
    pub threads: Vec<u32>,
    /// The CPUs.
    pub cpus: Vec<Cpus>,
    /// The contestants and their environment.
    pub field: Field<'a>,
}

/// The contestants that run a row, and the environment of its texts.
pub struct Field<'a> {
    /// The number of counted rounds.
    pub rounds: usize,
    /// Additional variables for a row's texts, beside those of a case.
    pub variables: Vec<(String, Option<OsString>)>,
    /// The changes of the environment for the system's locks.
    pub system: Vec<(String, Option<OsString>)>,
    /// Creates the contestants of each launch.
    pub contestants: &'a Contestants<'a>,
}

/// Configuration of a program's run.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Case {
    /// The number of threads passed to it.
    pub threads: u32,
    /// The CPUs it may use.
    pub cpus: Cpus,
}

impl fmt::Display for Case {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let threads = if self.threads == 1 {
            "thread"
        } else {
            "threads"
        };
        let cpus = match self.cpus {
            Cpus::All => "all CPUs",
            Cpus::One => "one CPU",
        };
        write!(formatter, "{} {threads} on {cpus}", self.threads)
    }
}

/// Result of a program in one configuration.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    /// The configuration.
    #[serde(flatten)]
    pub case: Case,
    /// Cohort's figures over the system's.
    pub ratios: Ratios,
    /// Figures under the system's locks.
    pub system: Medians,
    /// Figures under Cohort's locks.
    pub ours: Medians,
    /// Rounds disturbed by other processes.
    pub disturbed: usize,
    /// The verdict.
    #[serde(flatten)]
    pub verdict: Verdict,
}

impl Cell {
    /// The result from the series of the system's locks and Cohort's.
    fn of(case: Case, series: &[Series<f64>]) -> Self {
        let [system, ours] = series else {
            unreachable!("the system's locks and ours are compared");
        };
        let ratios = Ratios::of(ours, system);
        Self {
            case,
            verdict: judge::verdict(&ratios, ours, system),
            ratios,
            system: Medians::of(system),
            ours: Medians::of(ours),
            disturbed: ours.disturbed().max(system.disturbed()),
        }
    }

    fn failed(case: Case, why: String) -> Self {
        Self {
            case,
            ratios: Ratios::default(),
            system: Medians::default(),
            ours: Medians::default(),
            disturbed: 0,
            verdict: Verdict::Failed { why },
        }
    }
}

/// Result of a program.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finding {
    /// A missing prerequisite, or its package.
    NotHere(String),
    /// Its preparation failed.
    Unprepared(String),
    /// It was run.
    Cells(Vec<Cell>),
}

/// Program with its result.
#[derive(Clone, Debug, Serialize)]
pub struct Surveyed {
    /// The program's name.
    pub name: String,
    /// The result.
    pub found: Finding,
}

impl From<Unready> for Finding {
    fn from(unready: Unready) -> Self {
        match unready {
            Unready::NotHere(what) => Self::NotHere(what),
            Unready::Unprepared(why) => Self::Unprepared(why),
        }
    }
}

impl Surveyed {
    /// Whether the survey fails because of it.
    #[must_use]
    pub fn is_bad(&self) -> bool {
        match &self.found {
            Finding::NotHere(_) => false,
            Finding::Unprepared(_) => true,
            Finding::Cells(cells) => cells.iter().any(|cell| cell.verdict.is_bad()),
        }
    }
}

impl SurveyPlan<'_> {
    /// The number of runs without missing programs, repetitions and failures.
    #[must_use]
    pub fn runs(&self) -> usize {
        let here = self.rows.iter().filter(|row| row.missing().is_none());
        let cases: usize = here.map(|row| self.cases(row).len()).sum();
        // The system's locks and Cohort's, with a warm-up round.
        cases * 2 * (self.field.rounds + 1)
    }

    /// Runs everything. Blocks. A signal that asks this process to end leaves the results so far.
    pub fn run(&self, observer: &mut dyn Observer) -> (Vec<Surveyed>, Option<Interrupted>) {
        let mut all = Vec::new();
        for row in &self.rows {
            let found = match row.missing() {
                Some(package) => Finding::NotHere(format!("package {package}")),
                None => match self.survey(row, observer) {
                    Ok(found) => found,
                    Err(signal) => return (all, Some(signal)),
                },
            };
            all.push(Surveyed {
                name: row.name.clone(),
                found,
            });
        }
        (all, None)
    }

    fn cases(&self, row: &Row) -> Vec<Case> {
        let threads = row.threads.as_ref().unwrap_or(&self.threads);
        let with = |threads: &u32| {
            let threads = *threads;
            self.cpus.iter().map(move |cpus| Case {
                threads,
                cpus: *cpus,
            })
        };
        threads.iter().flat_map(with).collect()
    }

    /// Prepares a row and runs it in every configuration.
    fn survey(&self, row: &Row, observer: &mut dyn Observer) -> Result<Finding, Interrupted> {
        let folder = match RowFolder::prepared(row, &self.field) {
            Ok(folder) => folder,
            Err(found) => {
                interrupt::check()?;
                return Ok(found.into());
            }
        };
        let cases = self.cases(row).into_iter();
        let cell = |case| {
            Ok(match folder.measure(case, observer)? {
                Ok(series) => Cell::of(case, &series),
                Err(why) => Cell::failed(case, why),
            })
        };
        cases
            .map(cell)
            .collect::<Result<_, _>>()
            .map(Finding::Cells)
    }
}
