//! Checks of an observed process's records.

mod awaited;
mod holder;
mod samples;
mod standing;
mod watch;
