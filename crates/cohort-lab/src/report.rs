//! The results of other commands together: their documents, read and merged.

pub mod host;
pub mod page;

use crate::claims::{self, CLAIMS, Judged};
use crate::stats::Estimate;
use crate::study::{Studied, list};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Subject of a part of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Topic {
    /// Hand-over times between CPUs.
    HandOvers,
    /// The lock that tuning found.
    Tuned,
    /// Benchmarks.
    Bench,
    /// Real programs.
    Programs,
    /// Replayed traces.
    Replays,
    /// The papers' claims.
    Claims,
}

impl Topic {
    /// All of them, in the report's order.
    pub const ALL: [Self; 6] = [
        Self::HandOvers,
        Self::Tuned,
        Self::Bench,
        Self::Programs,
        Self::Replays,
        Self::Claims,
    ];

    /// Its heading.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::HandOvers => "Hand-over times",
            Self::Tuned => "Tuned lock",
            Self::Bench => "Benchmarks",
            Self::Programs => "Programs",
            Self::Replays => "Replayed traces",
            Self::Claims => "The papers' claims",
        }
    }

    /// The commands that make its results.
    #[must_use]
    pub const fn commands(self) -> &'static str {
        match self {
            Self::HandOvers => "cohort discover --json > discover.json",
            Self::Tuned => "cohort tune -o best.toml",
            Self::Bench => "cohort bench --json > bench.json",
            Self::Programs => "cohort study --all",
            Self::Replays => {
                "cohort record -o t.trace -- PROGRAM; cohort replay t.trace --native --json > replay.json"
            }
            Self::Claims => "cohort reproduce",
        }
    }

    /// The topic of a subcommand's documents.
    fn of(subcommand: &str) -> Option<Self> {
        Some(match subcommand {
            "discover" => Self::HandOvers,
            "tune" => Self::Tuned,
            "bench" => Self::Bench,
            "study" => Self::Programs,
            "replay" => Self::Replays,
            "reproduce" => Self::Claims,
            _ => return None,
        })
    }
}

/// Origin of results.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Source {
    /// The date; none if it is unknown.
    pub date: Option<String>,
    /// The command line.
    pub command: String,
    /// The machine.
    pub machine: String,
}

impl Source {
    /// Command, machine and date in one line.
    #[must_use]
    pub fn caption(&self) -> String {
        match &self.date {
            Some(date) => format!("{}, {date}", self.machine),
            None => self.machine.clone(),
        }
    }
}

/// Results of a command.
#[derive(Debug)]
pub struct Document {
    /// Their origin.
    pub source: Source,
    /// The results.
    pub body: Body,
}

/// The results by command.
#[derive(Debug)]
pub enum Body {
    /// `cohort discover`.
    HandOvers(HandOvers),
    /// `cohort tune`.
    Tuned(Tuned),
    /// `cohort bench`.
    Bench(Bench),
    /// `cohort study`.
    Programs(Vec<Studied>),
    /// `cohort replay`.
    Replay(Replay),
    /// `cohort reproduce`.
    Claims(Vec<Judged>),
}

/// A level of the measured hierarchy.
#[derive(Debug, Deserialize)]
pub struct Level {
    /// Its name, if known.
    pub name: Option<String>,
    /// The CPUs of each cohort.
    pub cohorts: Vec<Vec<usize>>,
    /// A hand-over within a cohort.
    pub nanoseconds: Option<f64>,
}

/// Hand-over times.
#[derive(Debug, Deserialize)]
pub struct HandOvers {
    /// Smallest cohorts first.
    pub levels: Vec<Level>,
    /// A hand-over between CPUs without a common cohort.
    pub system_nanoseconds: Option<f64>,
}

/// Tuned lock.
#[derive(Debug)]
pub struct Tuned {
    /// The machine.
    pub on: String,
    /// The workload.
    pub workload: String,
    /// The numbers of threads.
    pub threads: Vec<usize>,
    /// The weights of these.
    pub policies: Vec<String>,
    /// The best lock.
    pub lock: String,
    /// Locks tied with it.
    pub ties: Vec<String>,
    /// Each lock's marks by policy.
    pub marks: BTreeMap<String, Vec<f64>>,
}

/// A benchmark's results.
#[derive(Debug, Deserialize)]
pub struct Bench {
    /// The workload.
    pub workload: String,
    /// Its unit of work.
    pub operation: String,
    /// The machine.
    pub on: String,
    /// One for each lock and number of threads.
    pub points: Vec<Spot>,
}

/// A lock with a number of threads.
#[derive(Debug, Deserialize)]
pub struct Spot {
    /// The lock.
    pub lock: String,
    /// The number of threads.
    pub threads: usize,
    /// The work between two critical sections, if the workload has that option.
    pub outside: Option<String>,
    /// Operations per second.
    pub per_second: Estimate,
    /// Rounds disturbed by other processes.
    pub disturbed: usize,
}

/// A replay's results.
#[derive(Debug, Deserialize)]
pub struct Replay {
    /// The trace.
    pub trace: Traced,
    /// The machine.
    pub on: String,
    /// Recorded threads.
    pub threads: usize,
    /// Copies of each.
    pub copies: usize,
    /// The results by lock.
    pub points: Vec<Replayed>,
}

/// Origin of a trace.
#[derive(Debug, Deserialize)]
pub struct Traced {
    /// The program.
    pub program: String,
}

/// A replay under one lock.
#[derive(Debug, Deserialize)]
pub struct Replayed {
    /// The lock.
    pub lock: String,
    /// Throughput relative to the C library's, by seed.
    pub ratios: Vec<f64>,
}

/// `tune --json`.
#[derive(Deserialize)]
struct TunedSheet {
    on: String,
    workload: String,
    threads: Vec<usize>,
    policies: Vec<String>,
    best: Vec<Best>,
    scores: Vec<Score>,
}

#[derive(Deserialize)]
struct Best {
    lock: String,
    ties: Vec<String>,
}

#[derive(Deserialize)]
struct Score {
    lock: String,
    marks: Vec<f64>,
}

#[derive(Deserialize)]
struct Sheet {
    format: u32,
    origin: Origin,
    #[serde(flatten)]
    body: Value,
}

#[derive(Deserialize)]
struct Origin {
    command: Vec<String>,
    machine: BTreeMap<String, Value>,
    date: Option<String>,
}

/// The format of documents that this module reads.
const FORMAT: u32 = 1;

impl Document {
    /// Reads a JSON document.
    ///
    /// # Errors
    /// The text is no such document, or of a command without a place in the report.
    pub fn read(text: &str) -> Result<Self, String> {
        let sheet: Sheet = serde_json::from_str(text)
            .map_err(|error| format!("not a document of --json: {error}"))?;
        if sheet.format != FORMAT {
            return Err(format!(
                "format {}, expected {FORMAT}: written by another version",
                sheet.format
            ));
        }
        let subcommand = sheet.origin.command.get(1).map_or("", String::as_str);
        let topic = Topic::of(subcommand).ok_or_else(|| {
            format!(
                "a document of `cohort {subcommand}`, expected one of discover, tune, bench, study, replay or \
                 reproduce"
            )
        })?;
        let wrong = |error: String| {
            let typed = sheet.origin.command.join(" ");
            format!("`{typed}` has no results for a report: {error}")
        };
        let body = Body::of(topic, &sheet.body).map_err(wrong)?;
        let machine = sheet.origin.machine.get("cpu");
        let machine = machine.or_else(|| sheet.origin.machine.get("simulated"));
        let cpus = sheet.origin.machine.get("cpus").and_then(Value::as_u64);
        let mut machine = machine
            .and_then(Value::as_str)
            .unwrap_or("unknown")
            .to_owned();
        if let Some(cpus) = cpus {
            machine.push_str(&format!(", {cpus} CPUs"));
        } else if machine == "as each part says" {
            "simulated machines".clone_into(&mut machine);
        }
        Ok(Self {
            source: Source {
                date: sheet.origin.date,
                command: sheet.origin.command.join(" "),
                machine,
            },
            body,
        })
    }

    /// The same with that date, unless it has one.
    #[must_use]
    pub fn dated(mut self, date: Option<String>) -> Self {
        self.source.date = self.source.date.or(date);
        self
    }

    /// Reads a configuration that `cohort tune -o` wrote.
    ///
    /// # Errors
    /// The text is none.
    pub fn tuned(text: &str) -> Result<Self, String> {
        let file = cohort_measure::tuned::file::File::parse(text)
            .map_err(|error| format!("not a configuration of `cohort tune -o`: {error}"))?;
        let command = text.lines().next().and_then(|line| line.strip_prefix("# "));
        Ok(Self {
            source: Source {
                date: None,
                command: command.unwrap_or("cohort tune").to_owned(),
                machine: file.tuned.machine.clone(),
            },
            body: Body::Tuned(Tuned {
                on: file.tuned.machine,
                workload: file.tuned.workload,
                threads: file.tuned.threads,
                policies: file.tuned.policies,
                lock: file.lock,
                ties: file.tuned.ties,
                marks: file.tuned.scores,
            }),
        })
    }

    /// Its topic.
    #[must_use]
    pub const fn topic(&self) -> Topic {
        match self.body {
            Body::HandOvers(_) => Topic::HandOvers,
            Body::Tuned(_) => Topic::Tuned,
            Body::Bench(_) => Topic::Bench,
            Body::Programs(_) => Topic::Programs,
            Body::Replay(_) => Topic::Replays,
            Body::Claims(_) => Topic::Claims,
        }
    }
}

impl Body {
    fn of(topic: Topic, body: &Value) -> Result<Self, String> {
        let list = |name: &str| {
            let list = body.get(name).and_then(Value::as_array);
            list.ok_or_else(|| format!("no `{name}`"))
        };
        let wrong = |error: serde_json::Error| error.to_string();
        Ok(match topic {
            Topic::HandOvers => Self::HandOvers(Deserialize::deserialize(body).map_err(wrong)?),
            Topic::Bench => Self::Bench(Deserialize::deserialize(body).map_err(wrong)?),
            Topic::Replays => Self::Replay(Deserialize::deserialize(body).map_err(wrong)?),
            Topic::Programs => {
                let read = |one| Studied::deserialize(one).map_err(wrong);
                Self::Programs(
                    list("programs")?
                        .iter()
                        .map(read)
                        .collect::<Result<_, _>>()?,
                )
            }
            Topic::Claims => {
                let read = list("claims")?.iter().map(claims::of_document);
                Self::Claims(read.collect::<Result<_, _>>()?)
            }
            Topic::Tuned => {
                let sheet = TunedSheet::deserialize(body).map_err(wrong)?;
                let best = sheet.best.into_iter().next().ok_or("no best lock")?;
                let marks = sheet.scores.into_iter();
                Self::Tuned(Tuned {
                    on: sheet.on,
                    workload: sheet.workload,
                    threads: sheet.threads,
                    policies: sheet.policies,
                    lock: best.lock,
                    ties: best.ties,
                    marks: marks.map(|score| (score.lock, score.marks)).collect(),
                })
            }
        })
    }
}

/// All documents, merged.
#[derive(Debug, Default)]
pub struct Gathered {
    documents: Vec<Document>,
}

impl Gathered {
    /// Adds a document. Its programs and claims replace those of earlier ones.
    pub fn add(&mut self, document: Document) {
        self.documents.push(document);
    }

    /// Whether a topic has results.
    #[must_use]
    pub fn has(&self, topic: Topic) -> bool {
        self.of(topic).any(|one| match &one.body {
            Body::Bench(bench) => !bench.points.is_empty(),
            Body::Programs(programs) => !programs.is_empty(),
            Body::Claims(claims) => !claims.is_empty(),
            Body::HandOvers(_) | Body::Tuned(_) | Body::Replay(_) => true,
        })
    }

    /// The topics without results.
    #[must_use]
    pub fn missing(&self) -> Vec<Topic> {
        let all = Topic::ALL.into_iter();
        all.filter(|topic| !self.has(*topic)).collect()
    }

    /// The documents of a topic.
    pub fn of(&self, topic: Topic) -> impl Iterator<Item = &Document> {
        self.documents
            .iter()
            .filter(move |one| one.topic() == topic)
    }

    /// The origins of a topic's results, each once.
    #[must_use]
    pub fn sources(&self, topic: Topic) -> Vec<&Source> {
        let mut all: Vec<&Source> = match topic {
            Topic::Programs => self
                .programs()
                .into_iter()
                .map(|(_, source)| source)
                .collect(),
            Topic::Claims => self
                .claims()
                .into_iter()
                .map(|(_, source)| source)
                .collect(),
            _ => self.of(topic).map(|one| &one.source).collect(),
        };
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The programs in the order of the studies' list, each by its latest document.
    #[must_use]
    pub fn programs(&self) -> Vec<(&Studied, &Source)> {
        let mut latest: BTreeMap<usize, (&Studied, &Source)> = BTreeMap::new();
        let rows = list::rows();
        for document in &self.documents {
            if let Body::Programs(programs) = &document.body {
                for program in programs {
                    let place = rows.iter().position(|row| row.name == program.name);
                    latest.insert(place.unwrap_or(rows.len()), (program, &document.source));
                }
            }
        }
        latest.into_values().collect()
    }

    /// The claims in their order, each by its latest document.
    #[must_use]
    pub fn claims(&self) -> Vec<(&Judged, &Source)> {
        let mut latest: BTreeMap<usize, (&Judged, &Source)> = BTreeMap::new();
        for document in &self.documents {
            if let Body::Claims(judged) = &document.body {
                for claim in judged {
                    let place = CLAIMS.iter().position(|row| row.id == claim.id);
                    latest.insert(place.unwrap_or(CLAIMS.len()), (claim, &document.source));
                }
            }
        }
        latest.into_values().collect()
    }

    /// What the results leave out, with the command that adds it.
    #[must_use]
    pub fn rest(&self, topic: Topic) -> Option<String> {
        let (there, all, noun) = match topic {
            Topic::Programs => (self.programs().len(), list::rows().len(), "programs"),
            Topic::Claims => (self.claims().len(), CLAIMS.len(), "claims"),
            _ => return None,
        };
        (there > 0 && there < all)
            .then(|| format!("{there} of {all} {noun}; `{}` runs all", topic.commands()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet(command: &str, date: &str, body: &str) -> String {
        format!(
            r#"{{"format": 1, "origin": {{"command": ["cohort", "{command}"], "version": "0",
                "machine": {{"cpu": "C", "cpus": 2, "architecture": "x", "kernel": "k"}}, "date": "{date}"}},
                {body}}}"#
        )
    }

    fn programs(date: &str, names: &[&str]) -> String {
        let each = names.iter().map(|name| {
            format!(r#"{{"name": "{name}", "about": "", "found": {{"not-here": "{date}"}}, "conclusion": {{"kind": "not-run"}}}}"#)
        });
        let each: Vec<String> = each.collect();
        sheet(
            "study",
            date,
            &format!(r#""programs": [{}]"#, each.join(",")),
        )
    }

    #[test]
    fn a_later_document_replaces_its_programs_only() {
        let mut all = Gathered::default();
        for text in [
            programs("2026-01-01", &["redis", "kyoto-hash"]),
            programs("2026-02-02", &["redis"]),
        ] {
            all.add(Document::read(&text).unwrap());
        }
        let dates: Vec<(&str, Option<&str>)> = all
            .programs()
            .into_iter()
            .map(|(program, source)| (program.name.as_str(), source.date.as_deref()))
            .collect();
        assert_eq!(
            dates,
            [
                ("kyoto-hash", Some("2026-01-01")),
                ("redis", Some("2026-02-02"))
            ]
        );
        assert_eq!(all.sources(Topic::Programs).len(), 2);
        assert!(all.rest(Topic::Programs).unwrap().starts_with("2 of "));
        assert_eq!(all.missing().len(), Topic::ALL.len() - 1);
    }

    #[test]
    fn other_documents_are_refused_with_a_reason() {
        for (text, why) in [
            ("no JSON".to_owned(), "not a document"),
            (sheet("list", "d", r#""locks": []"#), "`cohort list`"),
            (sheet("study", "d", r#""locks": []"#), "no `programs`"),
            (
                sheet("reproduce", "d", r#""claims": [{"id": "K1"}]"#),
                "no results",
            ),
            (
                programs("d", &["redis"]).replace(r#""format": 1"#, r#""format": 2"#),
                "another version",
            ),
        ] {
            let found = Document::read(&text).unwrap_err();
            assert!(found.contains(why), "{found}");
        }
        assert!(Document::tuned("lock = 3").is_err());
    }
}
