//! The CPUs of a machine and their cohorts.
//!
//! [`Topology`] describes any machine, [`here()`] examines this one. [`names`] fills in the
//! machine-dependent parts of a lock's name, [`disturb`] detects other processes on the CPUs.

pub mod disturb;
mod here;
pub mod names;
pub mod topology;

pub use here::here;
pub use topology::Topology;

/// Ascending numbers in the kernel's list format.
#[must_use]
pub fn list(numbers: &[usize]) -> String {
    let runs = numbers.chunk_by(|one, next| one + 1 == *next);
    let runs = runs.map(|run| match run {
        [one] => one.to_string(),
        [one, .., last] => format!("{one}-{last}"),
        [] => String::new(),
    });
    runs.collect::<Vec<_>>().join(",")
}
