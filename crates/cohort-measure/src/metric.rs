//! The figure compared.

use crate::loads::Outcome;
use crate::runner::Run;
use regex_lite::{Regex, RegexBuilder};

/// Figure of a run.
#[derive(Clone, Debug)]
pub enum Metric {
    /// Seconds from start to end.
    Wall,
    /// CPU seconds of the program and its process group.
    Cpu,
    /// Operations per second, as printed by a bundled load.
    Throughput,
    /// A figure in the program's output.
    Output {
        /// The figure's name.
        name: Option<String>,
        /// An expression with one group for the figure; the last match counts.
        pattern: Regex,
        /// Whether less is better.
        lower_is_better: bool,
    },
}

impl Metric {
    /// Parses `wall`, `cpu`, or a regular expression with one group; optionally after a name and
    /// `=`.
    ///
    /// # Errors
    /// The mistake in the expression, and a correction.
    pub fn parse(text: &str, lower_is_better: bool) -> Result<Self, String> {
        let (name, text) = match named(text) {
            Some((name, text)) => (Some(name.to_owned()), text),
            None => (None, text),
        };
        match text {
            "wall" => return Ok(Self::Wall),
            "cpu" => return Ok(Self::Cpu),
            _ => {}
        }
        let pattern = RegexBuilder::new(text)
            .multi_line(true)
            .build()
            .map_err(|error| {
                format!("neither `wall` nor `cpu` nor a regular expression: {error}")
            })?;
        match pattern.captures_len() {
            2 => Ok(Self::Output {
                name,
                pattern,
                lower_is_better,
            }),
            groups => Err(format!(
                "`{text}` has {} groups, expected one around the figure, as in 'throughput: \
                 ([0-9.]+)'; write other groups as (?:…)",
                groups - 1
            )),
        }
    }

    /// Its name, if given.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Output { name, .. } => name.as_deref(),
            _ => None,
        }
    }

    /// Whether less is better.
    #[must_use]
    pub fn lower_is_better(&self) -> bool {
        match self {
            Self::Wall | Self::Cpu => true,
            Self::Throughput => false,
            Self::Output {
                lower_is_better, ..
            } => *lower_is_better,
        }
    }

    /// The title of a narrow column.
    #[must_use]
    pub fn column(&self) -> String {
        match self {
            Self::Output { name, .. } => name.clone().unwrap_or_else(|| "figure".to_owned()),
            _ => self.title(),
        }
    }

    /// The figures' title.
    #[must_use]
    pub fn title(&self) -> String {
        match self {
            Self::Wall => "wall s".to_owned(),
            Self::Cpu => "CPU s".to_owned(),
            Self::Throughput => "operations/s".to_owned(),
            Self::Output { name, pattern, .. } => {
                let name = name.as_deref();
                name.unwrap_or(pattern.as_str()).to_owned()
            }
        }
    }

    /// The words for better and worse.
    #[must_use]
    pub fn words(&self) -> Words {
        match self {
            Self::Wall | Self::Throughput => Words::Rate("faster", "slower"),
            Self::Cpu => Words::Amount("less CPU time", "more CPU time"),
            Self::Output { .. } => Words::Rate("better", "worse"),
        }
    }

    /// The figure of one run.
    ///
    /// # Errors
    /// The output has no such figure, or the figure is not a positive number.
    pub fn read(&self, run: &Run) -> Result<f64, String> {
        let (pattern, text) = match self {
            Self::Wall => return Ok(run.wall),
            Self::Cpu => return Ok(run.cpu()),
            Self::Throughput => return Outcome::read(run).map(|outcome| outcome.per_second),
            Self::Output { pattern, .. } => {
                let found = pattern.captures_iter(&run.output).last();
                (pattern, found.and_then(|groups| groups.get(1)))
            }
        };
        let text = text.ok_or_else(|| format!("its output does not match `{pattern}`"))?;
        let figure: f64 = text.as_str().replace(',', "").parse().map_err(|_| {
            format!(
                "`{pattern}` matches `{}`, which is not a number",
                text.as_str()
            )
        })?;
        if figure.is_finite() && figure > 0.0 {
            Ok(figure)
        } else {
            Err(format!("`{pattern}` gives {figure}, which has no ratio"))
        }
    }
}

/// Words for better and worse.
#[derive(Clone, Copy, Debug)]
pub enum Words {
    /// As "1.3 times faster", "2 % slower".
    Rate(&'static str, &'static str),
    /// As "20 % less CPU time".
    Amount(&'static str, &'static str),
}

/// The name before `=`, and the text after it. An expression that itself begins with letters and
/// `=` needs brackets, `(?:time)=…`.
fn named(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.split_once('=')?;
    let is_letter = |letter: char| letter.is_alphanumeric() || "_-./%".contains(letter);
    (!name.is_empty() && !rest.is_empty() && name.chars().all(is_letter)).then_some((name, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(output: &str) -> Run {
        Run {
            wall: 2.0,
            user: 1.0,
            system: 0.5,
            voluntary: 0,
            involuntary: 0,
            foreign: None,
            output: output.to_owned(),
        }
    }

    #[test]
    fn the_last_figure_counts() {
        let metric = Metric::parse("^rate ([0-9.,]+)", false).unwrap();
        assert_eq!(metric.read(&run("rate 1\nrate 1,234.5\n")), Ok(1234.5));
        assert!(metric.read(&run("no")).is_err());
        assert!(metric.read(&run("rate 0")).is_err());
        assert!(metric.read(&run("rate ..")).is_err());
    }

    #[test]
    fn a_figure_may_have_a_name() {
        let metric = Metric::parse("p99=at 99: ([0-9]+)", true).unwrap();
        assert_eq!(
            (metric.name(), metric.column().as_str()),
            (Some("p99"), "p99")
        );
        assert_eq!(metric.read(&run("at 99: 5")), Ok(5.0));
        let metric = Metric::parse("(?:time)=([0-9]+)", true).unwrap();
        assert_eq!(
            (metric.name(), metric.read(&run("time=5"))),
            (None, Ok(5.0))
        );
        assert!(Metric::parse("p99=", true).is_err());
    }

    #[test]
    fn an_expression_needs_one_group() {
        for text in ["rate", "(a)(b)", "(", ""] {
            assert!(Metric::parse(text, false).is_err(), "{text}");
        }
    }

    #[test]
    fn times_are_better_when_short() {
        assert!(Metric::parse("wall", false).unwrap().lower_is_better());
        assert_eq!(Metric::parse("cpu", false).unwrap().read(&run("")), Ok(1.5));
    }
}
