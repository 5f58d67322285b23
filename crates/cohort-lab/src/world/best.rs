//! The best compositions that were found on simulated machines.

/// A search's result: what was asked for, the machine, and what was found.
static FOUND: &[(&str, &str, &str)] = &[];

/// The composition called `best…` on that machine, if anybody has searched for it.
pub fn find(what: &str, machine: &str) -> Option<&'static str> {
    let what = if what == "best" { "best-4" } else { what };
    let found = FOUND
        .iter()
        .find(|(asked, on, _)| (*asked, *on) == (what, machine));
    found.map(|(_, _, composition)| *composition)
}
