//! The shipped results of `cohort tune` are what their commands write today.

use crate::cohort;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A machine of the quick tier: its commands take a few seconds.
const SMALL: &str = "xeon-e7-4850x4.toml";

/// The file of means over the other files; its command simulates nothing.
const MEANS: &str = "nodes.toml";

/// The shipped files of a folder by name.
fn files(folder: &str) -> BTreeMap<String, PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = folder.read_dir().expect("the folder of shipped files");
    let files = entries.map(|entry| {
        let path = entry.expect("a readable folder").path();
        let name = path.file_name().and_then(|name| name.to_str());
        (name.expect("a name in UTF-8").to_owned(), path)
    });
    files.collect()
}

/// Compares the files with their commands' output; a file begins with its command.
fn check(folder: &str) {
    let everything = std::env::var("COHORT_TIER").as_deref() == Ok("full");
    let shipped = files(folder);
    let place = tempfile::tempdir().expect("a temporary folder");
    for (name, path) in &shipped {
        std::fs::copy(path, place.path().join(name)).expect("the folder is writable");
    }
    let mut checked = 0;
    for (name, path) in &shipped {
        if !everything && ![SMALL, MEANS].contains(&&**name) {
            continue;
        }
        let text = std::fs::read_to_string(path).expect("a readable file");
        let command = text
            .lines()
            .next()
            .and_then(|line| line.strip_prefix("# cohort "));
        let command = command.expect("a file begins with its command");
        cohort()
            .args(command.split(' '))
            .current_dir(place.path())
            .timeout(std::time::Duration::from_secs(7_200))
            .assert()
            .code(0);
        let written = place.path().join(name);
        let today = std::fs::read_to_string(&written).expect("the command writes it");
        assert_eq!(today, text, "`cohort {command}` in {folder}");
        // The means are over shipped files.
        std::fs::copy(path, written).expect("the folder is writable");
        checked += 1;
    }
    assert!(checked > 0, "{folder}");
}

#[test]
fn the_best_locks_are_what_their_commands_find() {
    check("../cohort-lab/src/tune/shipped");
}

#[test]
fn thresholds_of_sanl_are_what_their_commands_find() {
    check("../cohort-lab/src/tune/sanl/shipped");
}
