//! RocksDB under its own benchmark: writers, flushes, compactions and readers at
//! once.  Every key is found while they are at it, and another program finds the
//! files whole afterwards.

use crate::check::{Check, Tier};
use crate::program::{complete, ended};
use crate::selection::Selection;
use assert_cmd::Command;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

const LIMIT: Duration = Duration::from_secs(120);

/// All keys are written first; from then on none may be missing.
const STEPS: &str = "--benchmarks=fillseq,readwhilewriting,overwrite,readrandom,verifychecksum";
const KEYS: u64 = 10_000;

/// Under each lock.
pub fn checks(selection: &Selection) -> Result<Vec<Check>, String> {
    let check = |lock: &'static str| Check {
        name: format!("rocksdb/{lock}"),
        tier: Tier::Full,
        needs: &[("db_bench", "rocksdb-tools"), ("ldb", "rocksdb-tools")],
        run: Box::new(move || run(lock)),
    };
    Ok(selection.locks().into_iter().map(check).collect())
}

fn run(lock: &str) -> Result<(), String> {
    let folder = TempDir::with_prefix("cohort-rocksdb-")
        .map_err(|error| format!("no temporary folder: {error}"))?;
    let data = format!("--db={}", folder.path().join("data").display());
    let keys = format!("--num={KEYS}");
    let said = complete(
        lock,
        [
            "db_bench",
            STEPS,
            &data,
            &keys,
            "--threads=8",
            // Little enough that it flushes and compacts all the time.
            "--write_buffer_size=262144",
            "--max_background_jobs=4",
        ],
        LIMIT,
    )?;
    let finished = |step: &str| said.lines().any(|line| line.starts_with(step));
    if let Some(step) = ["fillseq ", "overwrite ", "verifychecksum "]
        .into_iter()
        .find(|step| !finished(step))
    {
        return Err(format!("{step}is not reported:\n{said}"));
    }
    for step in ["readwhilewriting ", "readrandom "] {
        let all = format!("({KEYS} of {KEYS} found)");
        let found = |line: &str| line.starts_with(step) && line.contains(&all);
        if !said.lines().any(found) {
            return Err(format!("{step}missed keys:\n{said}"));
        }
    }
    check_files(&folder.path().join("data"))
}

/// By a program under the C library's locks.
fn check_files(data: &Path) -> Result<(), String> {
    let count = format!("Keys in range: {KEYS}");
    for (question, answer) in [
        (&["checkconsistency"][..], "OK"),
        (&["dump", "--count_only"][..], count.as_str()),
    ] {
        let output = Command::new("ldb")
            .arg(format!("--db={}", data.display()))
            .args(question)
            .timeout(LIMIT)
            .output()
            .map_err(|error| format!("ldb: {error}"))?;
        let said = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() || !said.lines().any(|line| line == answer) {
            return Err(format!("ldb {question:?}: {}", ended(&output, LIMIT)));
        }
    }
    Ok(())
}
