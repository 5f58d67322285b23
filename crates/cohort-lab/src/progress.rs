//! Progress on stderr while something is measured, where somebody watches.

use crate::rounds::Observer;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
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
        let style = "{bar:32} {pos}/{len} {elapsed}, about {eta} left  {msg}";
        if let Ok(style) = ProgressStyle::with_template(style) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_secs(1));
        Self {
            bar,
            show_output,
            begun: false,
        }
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
                    eprintln!("{name}: {line}");
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
