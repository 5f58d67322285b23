//! Kyoto Cabinet's own consistency test of its in-memory cache.

use crate::check::{Check, Tier};
use crate::program::complete;
use crate::selection::Selection;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(120);

/// Records that the cache may hold; fewer than the test writes.
const CAPACITY: &str = "50000";

/// With as many threads as small machines have processors, and with more.
pub fn checks(selection: &Selection) -> Result<Vec<Check>, String> {
    let mut checks = Vec::new();
    for lock in selection.locks() {
        for (threads, operations) in [("2", "50000"), ("8", "5000")] {
            checks.push(Check {
                name: format!("kccachetest/{lock}/{threads}"),
                tier: Tier::Quick,
                needs: &[("kccachetest", "kyotocabinet-utils")],
                run: Box::new(move || run(lock, threads, operations)),
            });
        }
    }
    Ok(checks)
}

fn run(lock: &str, threads: &str, operations: &str) -> Result<(), String> {
    let said = complete(
        lock,
        [
            "kccachetest",
            "wicked",
            "-th",
            threads,
            "-capcnt",
            CAPACITY,
            operations,
        ],
        LIMIT,
    )?;
    let records = said.lines().find_map(|line| {
        line.strip_prefix("count: ")?
            .split(' ')
            .next()?
            .parse()
            .ok()
    });
    match records {
        Some(1_u64..) if said.trim_end().ends_with("ok") => Ok(()),
        _ => Err(format!("kccachetest found its cache wrong:\n{said}")),
    }
}
