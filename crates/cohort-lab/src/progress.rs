//! Progress on stderr while something is measured, where somebody watches.

use crate::rounds::Observer;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::fmt;
use std::io::{IsTerminal, Write};
use std::time::Duration;

/// A bar that counts runs; it shows nothing unless stderr is a terminal.
pub struct Progress {
    bar: ProgressBar,
    show_output: bool,
    begun: bool,
}

impl Progress {
    /// A bar over `runs` runs; `show_output` passes on what programs write.
    #[must_use]
    pub fn new(runs: usize, show_output: bool) -> Self {
        let target = if std::io::stderr().is_terminal() {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(runs as u64), target);
        let size = rustix::termios::tcgetwinsize(std::io::stderr());
        let columns = size.map_or(0, |size| size.ws_col);
        if let Ok(style) = ProgressStyle::with_template(template(columns)) {
            bar.set_style(style.with_key("left", left));
        }
        bar.enable_steady_tick(Duration::from_secs(1));
        Self {
            bar,
            show_output,
            begun: false,
        }
    }
}

/// Prints a line on stderr; that nobody can read it changes nothing.
pub fn tell(text: impl fmt::Display) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// What fits into a line of so many columns, 0 if that is not known: a line that the terminal
/// has to break is drawn again and again.  The message is cut to the room that is left.
const fn template(columns: u16) -> &'static str {
    match columns {
        1..30 => "{pos}/{len}",
        30..72 => "{pos}/{len}{left}  {wide_msg}",
        _ => "{bar:24} {pos}/{len} {elapsed}{left}  {wide_msg}",
    }
}

/// How much time is left: nothing until the first run has ended, which tells how long one takes.
fn left(state: &ProgressState, to: &mut dyn fmt::Write) {
    if state.pos() > 0 {
        let _ = write!(to, ", about {:#} left", HumanDuration(state.eta()));
    }
}

impl Observer for Progress {
    fn starts(&mut self, name: &str, again: bool) {
        if again {
            self.bar
                .set_message(format!("{name} (again: it was disturbed)"));
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
