//! Options of workloads.

use super::Info;
use super::Span;
use clap::ValueEnum;
use serde::Serialize;
use std::fmt;

/// A workload's options; each workload takes some of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, clap::Args, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Knobs {
    /// Work in the critical section, besides the lines it writes
    #[arg(long, value_name = "TIME", help_heading = HEADING)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub critical: Option<Span>,
    /// Work between two critical sections; several values allowed
    #[arg(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside: Option<Span>,
    /// Cache lines written by a critical section
    #[arg(long, value_name = "N", help_heading = HEADING, value_parser = count)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<u64>,
    /// Timeout of an acquisition
    #[arg(long, value_name = "TIME", help_heading = HEADING)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Span>,
    /// Percentage of sets
    #[arg(long, value_name = "PERCENT", help_heading = HEADING,
        value_parser = clap::value_parser!(u64).range(..=100))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sets: Option<u64>,
    /// Percentage of reads
    #[arg(long, value_name = "PERCENT", help_heading = HEADING,
        value_parser = clap::value_parser!(u64).range(..=100))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reads: Option<u64>,
    /// Number of locks
    #[arg(long, value_name = "N", help_heading = HEADING, value_parser = count)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instances: Option<u64>,
    /// Nodes of each tree
    #[arg(long, value_name = "N", help_heading = HEADING, value_parser = count)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u64>,
    /// Duration of a phase
    #[arg(long, value_name = "TIME", help_heading = HEADING)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<Span>,
    /// Exponent of the Zipf distribution over the locks: 0 for uniform
    #[arg(long, value_name = "ALPHA", help_heading = HEADING, value_parser = exponent)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skew: Option<f64>,
    /// What MPI_Test does if the lock is taken
    #[arg(long, value_name = "HOW", help_heading = HEADING)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll: Option<Poll>,
}

/// How a thread asks for a lock that it can do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Poll {
    /// Acquire only if it appears free
    IsLocked,
    /// Try once
    Try,
}

impl fmt::Display for Poll {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::IsLocked => "is-locked",
            Self::Try => "try",
        })
    }
}

/// The heading of a workload's options in a command's help.
pub const HEADING: &str = "Workload options";

/// More lines, locks or nodes than this are a typing error.
const MOST: u64 = 1 << 24;

fn count(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(count) if count <= MOST => Ok(count),
        _ => Err(format!("expected an integer up to {MOST}")),
    }
}

fn exponent(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(alpha) if (0.0..=10.0).contains(&alpha) => Ok(alpha),
        _ => Err("expected a number from 0 to 10, as in 0.9".to_owned()),
    }
}

impl Knobs {
    /// No option set.
    pub const NONE: Self = Self {
        critical: None,
        outside: None,
        lines: None,
        timeout: None,
        sets: None,
        reads: None,
        instances: None,
        nodes: None,
        phase: None,
        skew: None,
        poll: None,
    };

    /// These options, completed by the workload's defaults.
    ///
    /// # Errors
    /// The workload lacks an option, or an option conflicts with another.
    pub fn over(self, info: &Info) -> Result<Self, String> {
        for name in self.turned() {
            if !info.takes.contains(&name) {
                let takes: Vec<String> =
                    info.takes.iter().map(|name| format!("--{name}")).collect();
                return Err(format!(
                    "the workload {} does not take --{name}; it takes {}",
                    info.name,
                    if takes.is_empty() {
                        "no options".to_owned()
                    } else {
                        takes.join(", ")
                    }
                ));
            }
        }
        let defaults = info.defaults;
        let knobs = Self {
            critical: self.critical.or(defaults.critical),
            outside: self.outside.or(defaults.outside),
            lines: self.lines.or(defaults.lines),
            timeout: self.timeout.or(defaults.timeout),
            sets: self.sets.or(defaults.sets),
            reads: self.reads.or(defaults.reads),
            instances: self.instances.or(defaults.instances),
            nodes: self.nodes.or(defaults.nodes),
            phase: self.phase.or(defaults.phase),
            skew: self.skew.or(defaults.skew),
            poll: self.poll.or(defaults.poll),
        };
        if knobs.poll == Some(Poll::Try) && knobs.timeout.is_some() {
            return Err(
                "--poll try never waits and excludes --timeout; leave one of them out".to_owned(),
            );
        }
        Ok(knobs)
    }

    /// Each set option, with its value.
    #[must_use]
    pub fn shown(&self) -> Vec<(&'static str, String)> {
        fn text<T: ToString>(value: Option<T>) -> Option<String> {
            value.map(|value| value.to_string())
        }
        let all = [
            ("critical", text(self.critical)),
            ("outside", text(self.outside)),
            ("lines", text(self.lines)),
            ("timeout", text(self.timeout)),
            ("sets", text(self.sets)),
            ("reads", text(self.reads)),
            ("instances", text(self.instances)),
            ("nodes", text(self.nodes)),
            ("phase", text(self.phase)),
            ("skew", text(self.skew)),
            ("poll", text(self.poll)),
        ];
        all.into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect()
    }

    fn turned(&self) -> Vec<&'static str> {
        self.shown().into_iter().map(|(name, _)| name).collect()
    }
}

/// That span in cycles; zero for none.
pub(super) fn cycles(span: Option<Span>, hertz: f64) -> u64 {
    span.map_or(0, |span| span.cycles(hertz))
}

/// That count as a size.
pub(super) fn size(count: Option<u64>) -> usize {
    count.map_or(0, |count| usize::try_from(count).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{WORKLOADS, find};

    #[test]
    fn defaults_are_knobs_that_the_workload_takes() {
        for info in WORKLOADS {
            for name in info.defaults.turned() {
                assert!(info.takes.contains(&name), "{}: {name}", info.name);
            }
            assert_eq!(info.defaults.over(info), Ok(info.defaults));
        }
    }

    #[test]
    fn a_knob_that_is_not_there_is_refused_with_those_that_are() {
        let turned = Knobs {
            sets: Some(50),
            ..Knobs::NONE
        };
        let why = turned.over(find("lbench").unwrap()).unwrap_err();
        assert!(why.contains("--sets") && why.contains("--lines"), "{why}");
    }

    #[test]
    fn a_timeout_of_what_does_not_wait_is_refused() {
        let turned = |poll| Knobs {
            poll: Some(poll),
            timeout: Some(Span::Cycles(10)),
            ..Knobs::NONE
        };
        let bfs = find("bfs").unwrap();
        let why = turned(Poll::Try).over(bfs).unwrap_err();
        assert!(
            why.contains("--poll try") && why.contains("--timeout"),
            "{why}"
        );
        assert!(turned(Poll::IsLocked).over(bfs).is_ok());
    }
}
