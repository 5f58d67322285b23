//! What the sources of the locks owe the lists that are kept beside them: an entry that is
//! forgotten is named by a test, and not by a figure or a flaw that is missing in silence.

use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the sources.
fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Every file below a folder: its path below the sources, and what is in it.
fn files(below: &Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(below).expect("the sources are here") {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let name = path.strip_prefix(sources()).expect("it is below them");
            let name = name.to_str().expect("names are plain").to_owned();
            let text = fs::read_to_string(&path).expect("sources are text");
            found.push((name, text));
        }
    }
}

/// The files in which locks and what stands beside them are, not the door to their worlds.
fn of_locks() -> Vec<(String, String)> {
    let mut all = Vec::new();
    files(&sources(), &mut all);
    all.retain(|(name, _)| !name.starts_with("door/") && name != "catalogue.rs");
    assert!(all.len() > 40, "the sources are elsewhere: {}", all.len());
    all
}

fn catalogue() -> String {
    fs::read_to_string(sources().join("catalogue.rs")).expect("the catalogue is a file")
}

#[test]
fn every_flaw_is_one_that_the_mutation_suite_knows() {
    let catalogue = catalogue();
    for (file, text) in of_locks() {
        for part in text.split("mutant(\"").skip(1) {
            let flaw = part.split('"').next().unwrap_or_default();
            assert!(
                catalogue.contains(&format!("\"{flaw}\"")),
                "src/{file}: no suite switches {flaw} on. Declare it beside the code, with \
                 `flaws! {{ WHAT = \"{flaw}\"; }}`, and write `mutant(flaw::WHAT)`"
            );
        }
    }
}

#[test]
fn every_pool_is_in_the_sum_of_all_pools() {
    let catalogue = catalogue();
    let (_, sum) = catalogue
        .split_once("pub fn own_pool_bytes() -> usize {")
        .expect("the sum is in the catalogue");
    let (sum, _) = sum.split_once("\n}").expect("the sum ends");
    // No program is served by a delegate, and the interposer has none.
    let locks = of_locks()
        .into_iter()
        .filter(|(file, _)| !file.starts_with("delegation/"));
    for (file, text) in locks {
        let declares = text.lines().any(|line| line.trim().ends_with("pool! {"));
        let module = file.trim_end_matches(".rs").replace('/', "::");
        assert!(
            !declares || sum.contains(&format!("crate::{module}::pool_bytes()")),
            "src/{file} has a pool, whose bytes `cohort run --report` leaves out. Add \
             crate::{module}::pool_bytes() to `own_pool_bytes` in src/catalogue.rs"
        );
    }
}
