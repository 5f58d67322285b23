//! StudiedCase: the programs of the papers' evaluations under several locks, each run with a check of its
//! result, judged against the system's locks.

pub mod list;
pub mod page;

use crate::compare::{self, Answer, Comparison};
use crate::interrupt::{self, Interrupted};
use crate::metric::Metric;
use crate::rounds::Observer;
use crate::stats::Estimate;
use crate::survey::list::Row;
use crate::survey::place::{RowFolder, Unready};
use crate::survey::{Case, Cpus, Field};
use serde::{Deserialize, Serialize};

/// Plan of studies.
pub struct StudyPlan<'a> {
    /// The programs.
    pub rows: Vec<Row>,
    /// The numbers of threads.
    pub threads: Vec<u32>,
    /// The number of contestants that `field` creates.
    pub contestants: usize,
    /// The contestants, the system's locks first, and their environment.
    pub field: Field<'a>,
}

/// Program with its result.
#[derive(Debug, Deserialize, Serialize)]
pub struct Studied {
    /// Its name.
    pub name: String,
    /// Its description.
    pub about: String,
    /// The result.
    pub found: Found,
    /// The conclusion.
    pub conclusion: Conclusion,
}

/// Result of a program.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Found {
    /// A missing prerequisite, or its package.
    NotHere(String),
    /// Its preparation failed.
    Unprepared(String),
    /// It was run.
    Cases(Vec<StudiedCase>),
}

/// Result of a program with one number of threads.
#[derive(Debug, Deserialize, Serialize)]
pub struct StudiedCase {
    /// The number of threads.
    pub threads: u32,
    /// Seconds under each lock; absent if none could start.
    pub comparison: Option<Comparison>,
    /// Why none could start.
    pub failure: Option<String>,
}

/// Conclusion about a program.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Conclusion {
    /// It was not run.
    NotRun,
    /// It failed under a lock, or its check did.
    Failed {
        /// The first failure.
        why: String,
    },
    /// A lock is faster than the system's.
    Gains {
        /// The lock with the highest lower end of the interval.
        lock: String,
        /// The number of threads.
        threads: u32,
        /// Its gain there.
        gain: Estimate,
        /// The gain of the system's locks on one CPU there, if that is faster too.
        one_cpu: Option<f64>,
    },
    /// No lock is faster.
    Nothing,
    /// Too few rounds to tell.
    Unsure,
}

/// The name of the row of the system's locks on one CPU.
pub const ONE_CPU: &str = "system, one CPU";

impl StudyPlan<'_> {
    /// The number of runs without missing programs, repetitions and failures.
    #[must_use]
    pub fn runs(&self) -> usize {
        let here = self.rows.iter().filter(|row| row.missing().is_none());
        let cases: usize = here.map(|row| self.threads(row).len()).sum();
        cases * self.contestants * (self.field.rounds + 1)
    }

    /// Runs everything. Blocks. A signal that asks this process to end leaves the results so far,
    /// with the completed numbers of threads of the current program.
    pub fn run(&self, observer: &mut dyn Observer) -> (Vec<Studied>, Option<Interrupted>) {
        let mut all = Vec::new();
        for row in &self.rows {
            let (found, ended) = self.study(row, observer);
            if !matches!(&found, Found::Cases(cases) if cases.is_empty()) {
                all.push(Studied {
                    name: row.name.clone(),
                    about: row.about.clone(),
                    conclusion: Conclusion::of(&found),
                    found,
                });
            }
            if ended.is_some() {
                return (all, ended);
            }
        }
        (all, None)
    }

    fn threads<'b>(&'b self, row: &'b Row) -> &'b [u32] {
        row.threads.as_ref().unwrap_or(&self.threads)
    }

    fn study(&self, row: &Row, observer: &mut dyn Observer) -> (Found, Option<Interrupted>) {
        let folder = match RowFolder::prepared(row, &self.field) {
            Ok(folder) => folder,
            Err(unready) => {
                return match (interrupt::check(), unready) {
                    (Err(signal), _) => (Found::Cases(Vec::new()), Some(signal)),
                    (Ok(()), Unready::NotHere(what)) => (Found::NotHere(what), None),
                    (Ok(()), Unready::Unprepared(why)) => (Found::Unprepared(why), None),
                };
            }
        };
        let mut cases = Vec::new();
        for threads in self.threads(row) {
            let case = Case {
                threads: *threads,
                cpus: Cpus::All,
            };
            let (comparison, failure) = match folder.measure(case, observer) {
                Err(signal) => return (Found::Cases(cases), Some(signal)),
                Ok(Ok(series)) => (Some(Comparison::new(&Metric::Wall, &series)), None),
                Ok(Err(why)) => (None, Some(why)),
            };
            cases.push(StudiedCase {
                threads: *threads,
                comparison,
                failure,
            });
        }
        (Found::Cases(cases), None)
    }
}

impl Studied {
    /// Whether it failed.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        matches!(self.conclusion, Conclusion::Failed { .. })
    }

    /// Its results by number of threads; empty if it was not run.
    #[must_use]
    pub fn cases(&self) -> &[StudiedCase] {
        match &self.found {
            Found::Cases(cases) => cases,
            Found::NotHere(_) | Found::Unprepared(_) => &[],
        }
    }

    /// The locks that are slower than the system's, with their numbers of threads and gains.
    pub fn losses(&self) -> impl Iterator<Item = (&str, u32, Estimate)> {
        self.cases().iter().flat_map(|case| {
            case.rows()
                .filter(|row| row.answer == Some(Answer::Worse) && row.lock != ONE_CPU)
                .filter_map(|row| Some((row.lock.as_str(), case.threads, row.gain?)))
        })
    }
}

impl Conclusion {
    fn of(found: &Found) -> Self {
        let cases = match found {
            Found::NotHere(_) => return Self::NotRun,
            Found::Unprepared(why) => return Self::Failed { why: why.clone() },
            Found::Cases(cases) => cases,
        };
        if let Some(why) = cases.iter().find_map(StudiedCase::first_failure) {
            return Self::Failed { why };
        }
        let best = cases
            .iter()
            .filter_map(StudiedCase::best)
            .max_by(|(_, one), (_, other)| one.low.total_cmp(&other.low));
        if let Some(((case, lock), gain)) = best {
            return Self::Gains {
                lock: lock.to_owned(),
                threads: case.threads,
                gain,
                one_cpu: case.one_cpu(),
            };
        }
        let mut answers = cases.iter().flat_map(StudiedCase::answers);
        if answers.any(|(_, answer)| answer == Answer::Unsure) {
            Self::Unsure
        } else {
            Self::Nothing
        }
    }
}

impl StudiedCase {
    /// Its results by lock, the system's first; empty if no lock could start.
    pub fn rows(&self) -> impl Iterator<Item = &compare::Row> {
        self.comparison
            .iter()
            .flat_map(|compared: &Comparison| &compared.rows)
    }

    fn first_failure(&self) -> Option<String> {
        let of_locks = self.rows().filter_map(|row| {
            let why = row.failure.as_ref()?;
            Some(format!("{}, {} threads: {why}", row.lock, self.threads))
        });
        self.failure.clone().into_iter().chain(of_locks).next()
    }

    /// The answers of Cohort's locks.
    fn answers(&self) -> impl Iterator<Item = (&str, Answer)> {
        self.rows()
            .filter(|row| row.lock != ONE_CPU)
            .filter_map(|row| Some((row.lock.as_str(), row.answer?)))
    }

    /// The lock that is faster than the system's with the highest lower end of its interval.
    fn best(&self) -> Option<((&Self, &str), Estimate)> {
        self.rows()
            .filter(|row| row.answer == Some(Answer::Better) && row.lock != ONE_CPU)
            .filter_map(|row| Some(((self, row.lock.as_str()), row.gain?)))
            .max_by(|(_, one), (_, other)| one.low.total_cmp(&other.low))
    }

    fn one_cpu(&self) -> Option<f64> {
        self.rows()
            .find(|row| row.lock == ONE_CPU && row.answer == Some(Answer::Better))
            .and_then(|row| Some(row.gain?.median))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rounds::{Sample, Series};
    use crate::runner::Run;

    fn series(name: &str, seconds: &[f64]) -> Series<f64> {
        let sample = |seconds: &f64| Sample {
            value: *seconds,
            run: Run {
                wall: *seconds,
                ..Run::default()
            },
        };
        Series {
            name: name.to_owned(),
            samples: seconds.iter().map(sample).collect(),
            failure: None,
        }
    }

    fn case(threads: u32, series: &[Series<f64>]) -> StudiedCase {
        StudiedCase {
            threads,
            comparison: Some(Comparison::new(&Metric::Wall, series)),
            failure: None,
        }
    }

    fn concluded(cases: Vec<StudiedCase>) -> Conclusion {
        Conclusion::of(&Found::Cases(cases))
    }

    const SIX: [f64; 6] = [1.0, 1.01, 0.99, 1.0, 1.02, 0.98];

    fn of(factor: f64) -> Vec<f64> {
        SIX.iter().map(|second| second * factor).collect()
    }

    #[test]
    fn the_lock_with_the_surest_gain_is_named() {
        let cases = vec![
            case(2, &[series("system", &SIX), series("mcs", &of(0.9))]),
            case(
                8,
                &[
                    series("system", &SIX),
                    series(ONE_CPU, &of(0.4)),
                    series("mcs", &of(0.8)),
                    series("hmcs", &of(0.5)),
                ],
            ),
        ];
        match concluded(cases) {
            Conclusion::Gains {
                lock,
                threads,
                gain,
                one_cpu,
            } => {
                assert_eq!((lock.as_str(), threads), ("hmcs", 8));
                assert!((gain.median - 2.0).abs() < 1e-9);
                assert!(one_cpu.is_some_and(|gain| (gain - 2.5).abs() < 1e-9));
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn one_cpu_is_no_lock() {
        let faster_on_one = [series("system", &SIX), series(ONE_CPU, &of(0.4))];
        assert_eq!(
            concluded(vec![case(2, &faster_on_one)]),
            Conclusion::Nothing
        );
    }

    #[test]
    fn few_rounds_conclude_nothing() {
        let two = [series("system", &[1.0, 1.0]), series("mcs", &[0.5, 0.5])];
        assert_eq!(concluded(vec![case(2, &two)]), Conclusion::Unsure);
    }

    #[test]
    fn a_loss_is_told_and_a_failure_concludes() {
        let slower = case(4, &[series("system", &SIX), series("mcs", &of(1.5))]);
        let studied = Studied {
            name: "a".to_owned(),
            about: String::new(),
            conclusion: Conclusion::Nothing,
            found: Found::Cases(vec![slower]),
        };
        let losses: Vec<(&str, u32)> = studied
            .losses()
            .map(|(lock, threads, _)| (lock, threads))
            .collect();
        assert_eq!(losses, [("mcs", 4)]);
        let mut failed = series("mcs", &[]);
        failed.failure = Some("wrong".to_owned());
        let why = "mcs, 4 threads: wrong".to_owned();
        assert_eq!(
            concluded(vec![case(4, &[series("system", &SIX), failed])]),
            Conclusion::Failed { why }
        );
    }
}
