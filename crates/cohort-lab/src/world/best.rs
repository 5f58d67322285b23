//! The best compositions that were found on simulated machines.
//!
//! Every composition of that depth ran `leveldb` with one hardware thread of each core
//! first, as 002 §5.2 does, with 1, 8, 32, 48, 64 and 95 threads on epyc-7352x2, with 1, 8,
//! 32, 64 and 127 on kunpeng-920x2.  A composition's mark is the mean of its throughputs,
//! each over the best one's with as many threads, weighed by the number of threads
//! (`…-high`, HC-best) or its inverse (LC-best), as 002 §4.3 does; the weights themselves
//! are ours, since it does not print them.  To search anew, which takes a minute of two CPUs:
//!
//! ```sh
//! cargo run --release -p cohort-lab --example best
//! ```

/// What was asked for, the machine, and what was found.
pub static FOUND: &[(&str, &str, &str)] = &[
    ("best-4", EPYC, "clof:ticket-mcs-mcs-ticket"),
    ("best-4-high", EPYC, "clof:ticket-mcs-mcs-ticket"),
    ("best-3", EPYC, "clof:mcs-mcs-ticket"),
    ("best-3-high", EPYC, "clof:mcs-mcs-ticket"),
    ("best-4", KUNPENG, "clof:mcs-ticket-ticket-ticket"),
    ("best-4-high", KUNPENG, "clof:mcs-mcs-ticket-ticket"),
    ("best-3", KUNPENG, "clof:mcs-ticket-ticket"),
];

const KUNPENG: &str = "kunpeng-920x2";
const EPYC: &str = "epyc-7352x2";

/// The composition called `best…` on that machine, if anybody has searched for it.
pub fn find(what: &str, machine: &str) -> Option<&'static str> {
    let what = if what == "best" { "best-4" } else { what };
    let mut found = FOUND.iter().filter(|(_, on, _)| *on == machine);
    found
        .find(|(asked, _, _)| *asked == what)
        .map(|(_, _, composition)| *composition)
}
