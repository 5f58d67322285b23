//! Kyoto Cabinet's own consistency tests: of its cache in memory, and of the hash and
//! tree databases in a file, which another program checks afterwards.

use crate::check::{Check, Tier};
use crate::program::{complete, debugged, ended};
use crate::selection::Selection;
use assert_cmd::Command;
use std::time::Duration;
use tempfile::TempDir;

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
                tier: selection.tier_under(lock),
                needs: &[("kccachetest", "kyotocabinet-utils")],
                run: Box::new(move || run_cache(lock, threads, operations)),
            });
        }
        for kind in FILES {
            checks.push(Check {
                name: format!("{}/{lock}", kind.test),
                tier: Tier::Full,
                needs: kind.needs,
                run: Box::new(move || run_file(Some(lock), kind)),
            });
        }
    }
    if !selection.is_narrowed() {
        checks.push(Check {
            name: "kccachetest/debug".to_owned(),
            tier: Tier::Full,
            needs: &[("kccachetest", "kyotocabinet-utils")],
            run: Box::new(|| {
                let said = debugged(cache("8", "20000"), LIMIT)?;
                records(&said).map(|_| ())
            }),
        });
        for kind in FILES {
            checks.push(Check {
                name: format!("{}/debug", kind.test),
                tier: Tier::Full,
                needs: kind.needs,
                run: Box::new(move || run_file(None, kind)),
            });
        }
    }
    Ok(checks)
}

/// The test of the cache.
fn cache(threads: &'static str, operations: &'static str) -> [&'static str; 7] {
    [
        "kccachetest",
        "wicked",
        "-th",
        threads,
        "-capcnt",
        CAPACITY,
        operations,
    ]
}

/// A database in a file.
#[derive(Clone, Copy)]
struct File {
    test: &'static str,
    manager: &'static str,
    needs: &'static [(&'static str, &'static str)],
    name: &'static str,
}

const FILES: [File; 2] = [
    File {
        test: "kchashtest",
        manager: "kchashmgr",
        needs: &[
            ("kchashtest", "kyotocabinet-utils"),
            ("kchashmgr", "kyotocabinet-utils"),
        ],
        name: "data.kch",
    },
    File {
        test: "kctreetest",
        manager: "kctreemgr",
        needs: &[
            ("kctreetest", "kyotocabinet-utils"),
            ("kctreemgr", "kyotocabinet-utils"),
        ],
        name: "data.kct",
    },
];

fn run_cache(lock: &str, threads: &'static str, operations: &'static str) -> Result<(), String> {
    let said = complete(lock, cache(threads, operations), LIMIT)?;
    records(&said)?;
    Ok(())
}

/// Under a lock, or debugged.
fn run_file(lock: Option<&str>, kind: File) -> Result<(), String> {
    let folder = TempDir::with_prefix("cohort-kyoto-")
        .map_err(|error| format!("no temporary folder: {error}"))?;
    let path = folder.path().join(kind.name);
    let path = path.to_str().ok_or("the temporary folder is not UTF-8")?;
    let test = [kind.test, "wicked", "-th", "8", path, "5000"];
    let said = match lock {
        Some(lock) => complete(lock, test, LIMIT),
        None => debugged(test, LIMIT),
    }?;
    let written = records(&said)?;
    // By a program under the C library's locks.
    let output = Command::new(kind.manager)
        .args(["check", path])
        .timeout(LIMIT)
        .output()
        .map_err(|error| format!("{}: {error}", kind.manager))?;
    let whole = format!("{written} records were checked successfully");
    let found = String::from_utf8_lossy(&output.stdout);
    if output.status.success() && found.lines().any(|line| line == whole) {
        Ok(())
    } else {
        Err(format!("not \"{whole}\": {}", ended(&output, LIMIT)))
    }
}

/// How many records a test says that there are in the end, if all was well.
fn records(said: &str) -> Result<u64, String> {
    let records = said.lines().find_map(|line| {
        line.strip_prefix("count: ")?
            .split(' ')
            .next()?
            .parse()
            .ok()
    });
    match records {
        Some(records @ 1..) if said.trim_end().ends_with("ok") => Ok(records),
        _ => Err(format!("the test found its data wrong:\n{said}")),
    }
}
