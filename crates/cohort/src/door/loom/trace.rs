//! The steps of the execution being explored, for debugging a failure: kept if `COHORT_TRACE` is
//! set, and printed by the runner.

use super::std;
use core::cell::RefCell;
use core::panic::Location;
use std::format;
use std::string::String;
use std::sync::OnceLock;
use std::vec::Vec;

std::thread_local! {
    static STEPS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

fn is_wanted() -> bool {
    static WANTED: OnceLock<bool> = OnceLock::new();
    *WANTED.get_or_init(|| std::env::var_os("COHORT_TRACE").is_some())
}

/// Forgets the last execution's steps.
pub(super) fn begin() {
    STEPS.with_borrow_mut(Vec::clear);
}

/// Notes a step of a thread.
pub(super) fn note(thread: usize, place: &Location<'_>, what: impl FnOnce() -> String) {
    if is_wanted() {
        let file = place
            .file()
            .rsplit_once("/src/")
            .map_or(place.file(), |(_, file)| file);
        let line = place.line();
        STEPS.with_borrow_mut(|steps| {
            steps.push(format!(
                "{}{thread}: {file}:{line} {}",
                "    ".repeat(thread),
                what()
            ));
        });
    }
}

/// The steps so far of the execution being explored; none unless `COHORT_TRACE`
/// is set.
#[must_use]
pub fn steps() -> Vec<String> {
    STEPS.take()
}
