//! Readers–writer locks.

mod cohorts;
mod count;
mod deference;
mod object;
mod phase;
mod raw;
mod table;
mod writers;
