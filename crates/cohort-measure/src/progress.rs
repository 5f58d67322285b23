//! Progress of measurements on stderr, on a terminal.

use crate::rounds::Observer;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::fmt;
use std::io::{IsTerminal, Write};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Progress bar of runs; hidden unless stderr is a terminal.
pub struct Progress {
    bar: ProgressBar,
    show_output: bool,
    begun: bool,
    pace: Pace,
}

/// A better estimate of the time left than by the number of runs.
#[derive(Clone, Debug, Default)]
pub struct Pace(Arc<Mutex<Option<(Instant, Duration)>>>);

impl Pace {
    /// Sets the time left.
    pub fn leaves(&self, left: Duration) {
        if let Ok(mut known) = self.0.lock() {
            *known = Some((Instant::now(), left));
        }
    }

    /// The time left, if known.
    fn left(&self) -> Option<Duration> {
        let known = self.0.lock().ok()?;
        known.map(|(since, left)| left.saturating_sub(since.elapsed()))
    }
}

impl Progress {
    /// A bar over `runs` runs; `show_output` passes the programs' output on.
    #[must_use]
    pub fn new(runs: usize, show_output: bool) -> Self {
        let target = if std::io::stderr().is_terminal() {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(runs as u64), target);
        let pace = Pace::default();
        let size = rustix::termios::tcgetwinsize(std::io::stderr());
        let columns = size.map_or(0, |size| size.ws_col);
        if let Ok(style) = ProgressStyle::with_template(template(columns)) {
            let pace = pace.clone();
            let left = move |state: &ProgressState, to: &mut dyn fmt::Write| {
                let by_runs = || (state.pos() > 0).then(|| state.eta());
                if let Some(left) = pace.left().or_else(by_runs) {
                    let _ = write!(to, ", about {:#} left", HumanDuration(left));
                }
            };
            bar.set_style(style.with_key("left", left));
        }
        bar.enable_steady_tick(Duration::from_secs(1));
        Self {
            bar,
            show_output,
            begun: false,
            pace,
        }
    }

    /// Its estimate of the time left.
    #[must_use]
    pub fn pace(&self) -> Pace {
        self.pace.clone()
    }
}

/// Progress of a wait of known length, in seconds; none for a wait of less than two.
pub struct Seconds {
    bar: Option<Progress>,
    passed: u64,
    what: String,
}

impl Seconds {
    /// A bar for that length, with a message of what is done meanwhile.
    #[must_use]
    pub fn new(length: Duration, what: impl Into<String>) -> Self {
        let seconds = length.as_secs_f64().ceil() as usize;
        Self {
            bar: (seconds > 1).then(|| Progress::new(seconds, false)),
            passed: 0,
            what: what.into(),
        }
    }

    /// Shows that so much of the length has passed.
    pub fn pass(&mut self, elapsed: Duration) {
        while let Some(bar) = &mut self.bar
            && self.passed <= elapsed.as_secs()
        {
            bar.starts(&self.what, false);
            self.passed += 1;
        }
    }
}

/// Prints a line on stderr; errors are ignored.
pub fn tell(text: impl fmt::Display) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// The template for a line of that many columns, 0 if unknown: a wrapped line would be redrawn
/// repeatedly. The message is truncated to the remaining room.
const fn template(columns: u16) -> &'static str {
    match columns {
        1..30 => "{pos}/{len}",
        30..72 => "{pos}/{len}{left}  {wide_msg}",
        _ => "{bar:24} {pos}/{len} {elapsed}{left}  {wide_msg}",
    }
}

impl Observer for Progress {
    fn starts(&mut self, name: &str, again: bool) {
        if again {
            self.bar
                .set_message(format!("{name} (repeated after disturbance)"));
            return;
        }
        if self.begun {
            self.bar.inc(1);
        }
        self.begun = true;
        self.bar.set_message(name.to_owned());
    }

    fn wrote(&mut self, name: &str, output: &str) {
        if self.show_output {
            self.bar.suspend(|| {
                for line in output.lines() {
                    tell(format_args!("{name}: {line}"));
                }
            });
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_as_estimated_last() {
        let pace = Pace::default();
        assert_eq!(pace.left(), None);
        pace.clone().leaves(Duration::from_secs(3_600));
        pace.leaves(Duration::from_secs(7_200));
        let left = pace.left().unwrap();
        assert!(left > Duration::from_secs(3_600) && left <= Duration::from_secs(7_200));
        pace.leaves(Duration::ZERO);
        assert_eq!(pace.left(), Some(Duration::ZERO));
    }
}
