//! Allocators with locks: their first lock precedes all other code, and Cohort must not allocate
//! inside it.

use crate::check::Check;
use crate::conformance::run_case;
use crate::program::cohort_run;
use crate::selection::Selection;

/// A preloaded allocator.
#[derive(Clone, Copy)]
struct Allocator {
    name: &'static str,
    needs: &'static [(&'static str, &'static str)],
    object: &'static str,
    /// The setting that makes it lock at every call.
    settings: (&'static str, &'static str),
    /// A symbol present only with this library.
    symbol: &'static str,
    /// Cases that pass over the C library's locks.
    cases: &'static [&'static str],
}

const ALLOCATORS: [Allocator; 2] = [
    Allocator {
        name: "jemalloc",
        needs: &[("libjemalloc.so.2", "libjemalloc2")],
        object: "libjemalloc.so.2",
        settings: ("MALLOC_CONF", "narenas:1,tcache:false"),
        symbol: "mallctl",
        cases: &["threads", "forked", "thread-exit"],
    },
    Allocator {
        name: "dmalloc",
        needs: &[("libdmallocth.so.5", "libdmalloc5")],
        object: "libdmallocth.so.5",
        settings: ("DMALLOC_OPTIONS", "debug=0x0"),
        symbol: "dmalloc_shutdown",
        // It does not prepare for a fork: a child can hang over any lock.
        cases: &["threads", "thread-exit"],
    },
];

/// Each allocator under each lock.
pub fn checks(selection: &Selection) -> Result<Vec<Check>, String> {
    let mut checks = Vec::new();
    for lock in selection.locks() {
        for allocator in ALLOCATORS {
            checks.push(Check {
                name: format!("{}/{lock}", allocator.name),
                tier: selection.tier_under(lock),
                needs: allocator.needs,
                run: Box::new(move || {
                    let mut cases = allocator.cases.iter();
                    cases.try_for_each(|case| run(lock, allocator, case))
                }),
            });
        }
    }
    Ok(checks)
}

fn run(lock: &str, allocator: Allocator, case: &str) -> Result<(), String> {
    let (name, value) = allocator.settings;
    let mut command = cohort_run(lock, &[]);
    command
        .env("LD_PRELOAD", allocator.object)
        .env(name, value)
        .env("CHECK_ALLOCATOR_SYMBOL", allocator.symbol);
    run_case(command, "allocate", case)
}
