//! Checks of what an observed process writes down.

mod samples;
mod watch;
