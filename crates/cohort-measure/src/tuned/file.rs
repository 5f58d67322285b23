//! The output of tuning: a configuration for `cohort run`, with its origin.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Configuration written by tuning.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct File {
    /// The best lock.
    pub lock: String,
    /// The cohorts used in tuning, as a path relative to the file's folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cohorts: Option<PathBuf>,
    /// Its origin.
    pub tuned: Origin,
}

/// `[tuned]`: origin of a configuration's lock.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The machine.
    pub machine: String,
    /// The fingerprint of its file, if it was simulated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// The machine's [`Shape`](super::shape::Shape).
    pub shape: String,
    /// The workload.
    pub workload: String,
    /// Weights of the numbers of threads, in order of the marks.
    pub policies: Vec<String>,
    /// The numbers of threads.
    pub threads: Vec<usize>,
    /// The seed of all random choices.
    pub seed: u64,
    /// The best composition: the lock, unless a rival is better.
    pub composition: String,
    /// How far its mark is below the lock's, as a share of that.
    pub behind: f64,
    /// All locks statistically tied with the lock.
    pub ties: Vec<String>,
    /// Marks of all locks, by policy; for dropped locks, of their looks.
    pub scores: BTreeMap<String, Vec<f64>>,
}

/// Rounds a mark to the digits written.
#[must_use]
pub fn rounded(mark: f64) -> f64 {
    (mark * 1e4).round() / 1e4
}

impl File {
    /// The best lock on average over several machines, among the locks of all of them.
    ///
    /// # Errors
    /// The files are from different plans.
    pub fn mean(files: &[Self]) -> Result<Self, String> {
        let [first, others @ ..] = files else {
            return Err("no file to average".to_owned());
        };
        for other in others {
            let (one, other) = (&first.tuned, &other.tuned);
            if (&one.workload, &one.policies) != (&other.workload, &other.policies) {
                return Err(format!(
                    "{} was tuned for {} under {}, {} for {} under {}",
                    one.machine,
                    one.workload,
                    one.policies.join(" and "),
                    other.machine,
                    other.workload,
                    other.policies.join(" and ")
                ));
            }
        }
        let mean = |lock: &String| -> Option<Vec<f64>> {
            let marks = files.iter().map(|file| file.tuned.scores.get(lock));
            let marks: Vec<&Vec<f64>> = marks.collect::<Option<_>>()?;
            let policies = (0..first.tuned.policies.len()).map(|policy| {
                let sum: Option<f64> = marks.iter().map(|marks| marks.get(policy)).sum();
                sum.map(|sum| rounded(sum / marks.len() as f64))
            });
            policies.collect()
        };
        let scores = first.tuned.scores.keys();
        let scores: BTreeMap<String, Vec<f64>> = scores
            .filter_map(|lock| Some((lock.clone(), mean(lock)?)))
            .collect();
        let best = |of: &dyn Fn(&str) -> bool| {
            let of = scores.iter().filter(|(lock, _)| of(lock));
            let best = of.max_by(|one, other| one.1[0].total_cmp(&other.1[0]));
            best.ok_or_else(|| "no lock is in the files of all these machines".to_owned())
        };
        let lock = best(&|_| true)?;
        let composition = best(&|lock| super::parts(lock).is_some())?;
        let machines: Vec<&str> = files.iter().map(|file| &*file.tuned.machine).collect();
        let seed = first.tuned.seed;
        Ok(Self {
            lock: lock.0.clone(),
            cohorts: None,
            tuned: Origin {
                machine: machines.join(", "),
                fingerprint: None,
                shape: String::new(),
                workload: first.tuned.workload.clone(),
                policies: first.tuned.policies.clone(),
                threads: Vec::new(),
                seed,
                composition: composition.0.clone(),
                behind: rounded(1.0 - composition.1[0] / lock.1[0]),
                ties: vec![lock.0.clone()],
                scores: scores.clone(),
            },
        })
    }

    /// Parses a file.
    ///
    /// # Errors
    /// The reason and place of a mistake.
    pub fn parse(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }

    /// The text, under the command that made it.
    ///
    /// # Errors
    /// It cannot be written as TOML.
    pub fn text(&self, command: &str) -> Result<String, String> {
        let text = toml::to_string(self)
            .map_err(|error| format!("cannot write the configuration: {error}"))?;
        Ok(format!("# {command}\n{text}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(machine: &str, workload: &str, scores: &[(&str, [f64; 2])]) -> File {
        let scores = scores
            .iter()
            .map(|(lock, marks)| ((*lock).to_owned(), marks.to_vec()));
        File {
            lock: "mcs".to_owned(),
            cohorts: None,
            tuned: Origin {
                machine: machine.to_owned(),
                fingerprint: None,
                shape: "numa:2 cpus:4".to_owned(),
                workload: workload.to_owned(),
                policies: vec!["hc".to_owned(), "lc".to_owned()],
                threads: vec![1, 3],
                seed: 1,
                composition: "clof:mcs@system".to_owned(),
                behind: 0.0,
                ties: Vec::new(),
                scores: scores.collect(),
            },
        }
    }

    const PAIR: &str = "clof:mcs-mcs@numa,system";
    const PLAIN: &str = "clof:mcs@system";

    #[test]
    fn the_mean_is_of_what_all_have() {
        let one = [
            ("hmcs-4", [1.0, 0.9]),
            (PAIR, [0.9, 0.5]),
            (PLAIN, [0.2, 1.0]),
        ];
        let other = [
            ("hmcs-4", [0.8, 0.9]),
            (PAIR, [0.7, 0.6]),
            ("cna", [1.0, 1.0]),
        ];
        let files = [file("a", "leveldb", &one), file("b", "leveldb", &other)];
        let mean = File::mean(&files).unwrap();
        assert_eq!(mean.lock, "hmcs-4");
        assert_eq!(mean.tuned.machine, "a, b");
        assert_eq!(mean.tuned.composition, PAIR);
        assert_eq!(mean.tuned.scores[PAIR], [0.8, 0.55]);
        assert_eq!(mean.tuned.scores.len(), 2);
        let files = [file("a", "leveldb", &one), file("b", "kyoto", &other)];
        let why = File::mean(&files).unwrap_err();
        assert!(why.contains("b for kyoto"), "{why}");
        assert!(File::mean(&[]).is_err());
        let apart = [
            file("a", "kyoto", &one[2..]),
            file("b", "kyoto", &other[..1]),
        ];
        assert!(File::mean(&apart).unwrap_err().contains("no lock"));
    }

    #[test]
    fn a_file_is_read_as_it_is_written() {
        let written = file("a", "leveldb", &[(PAIR, [0.9, 0.5])]);
        let text = written.text("cohort tune --on a").unwrap();
        assert!(
            text.starts_with("# cohort tune --on a\nlock = \"mcs\"\n"),
            "{text}"
        );
        let read = File::parse(&text).unwrap();
        assert_eq!(read.tuned.scores, written.tuned.scores);
    }
}
