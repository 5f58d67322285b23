//! Readers–writer locks.

mod announced;
mod cohorts;
mod count;
mod deference;
mod object;
mod phase;
mod raw;
mod table;
mod writers;
