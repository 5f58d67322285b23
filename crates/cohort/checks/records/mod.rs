//! Checks of what an observed process writes down.

mod awaited;
mod holder;
mod samples;
mod standing;
mod watch;
