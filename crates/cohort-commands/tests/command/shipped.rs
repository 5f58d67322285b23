//! The shipped results of `cohort tune` are what their commands write today.

use crate::cohort;
use std::collections::BTreeSet;
use std::path::Path;

/// A folder of shipped files, and the command of each.
struct Shipped {
    folder: &'static str,
    commands: &'static [&'static str],
}

/// The best locks. The last command simulates nothing: it takes the means of the files before it.
static LOCKS: Shipped = Shipped {
    folder: "crates/cohort-measure/src/tuned/shipped",
    commands: &[
        "tune --on epyc-7352x2 -o epyc-7352x2.toml",
        "tune --on haswell-ep-2s -o haswell-ep-2s.toml",
        "tune --on ivy-bridge-2s -o ivy-bridge-2s.toml",
        "tune --on kunpeng-920x2 -o kunpeng-920x2.toml",
        "tune --on opteron-6274x8 -o opteron-6274x8.toml",
        "tune --on sparc-t4-1 -o sparc-t4-1.toml",
        "tune --on sparc-t5440 --threads 1,8,32,128,255 -o sparc-t5440.toml",
        "tune --on sunfire-x4800 -o sunfire-x4800.toml",
        "tune --on superdome-x --threads 1,36,144,575 -o superdome-x.toml",
        "tune --on xeon-e7-4850x4 -o xeon-e7-4850x4.toml",
        "tune --mean epyc-7352x2.toml,haswell-ep-2s.toml,ivy-bridge-2s.toml,kunpeng-920x2.toml,\
         opteron-6274x8.toml,sparc-t5440.toml,sunfire-x4800.toml,superdome-x.toml,\
         xeon-e7-4850x4.toml -o nodes.toml",
    ],
};

/// The thresholds of sanl.
static THRESHOLDS: Shipped = Shipped {
    folder: "crates/cohort-measure/src/tuned/shipped-sanl",
    commands: &[
        "tune sanl --on opteron-6274x8 -o opteron-6274x8.toml",
        "tune sanl --on xeon-e7-4850x4 -o xeon-e7-4850x4.toml",
    ],
};

/// The files of the quick tier: their commands take a few seconds.
const QUICK: [&str; 2] = ["xeon-e7-4850x4.toml", "nodes.toml"];

/// The file that a command writes.
fn written_by(command: &str) -> &str {
    let (_, file) = command.rsplit_once(' ').expect("it ends in `-o FILE`");
    file
}

/// The names of the files in a folder.
fn files(folder: &Path) -> BTreeSet<String> {
    let entries = folder.read_dir().expect("the folder of shipped files");
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        let name = entry.expect("a readable folder").file_name();
        name.into_string().expect("a name in UTF-8")
    };
    entries.map(name).collect()
}

/// Whether a file begins with its command and, if the command is run, is what it writes; or else
/// the reason.
fn compare(folder: &Path, command: &str, is_run: bool) -> Result<(), &'static str> {
    let name = written_by(command);
    let shipped = std::fs::read_to_string(folder.join(name)).map_err(|_| "is missing")?;
    if shipped.lines().next() != Some(&format!("# cohort {command}")) {
        return Err("does not begin with its command");
    }
    if !is_run {
        return Ok(());
    }
    let place = tempfile::tempdir().expect("a temporary folder");
    // The means are over shipped files.
    for other in files(folder) {
        std::fs::copy(folder.join(&other), place.path().join(other)).expect("a writable folder");
    }
    let written = place.path().join(name);
    std::fs::remove_file(&written).expect("it was copied");
    cohort()
        .args(command.split(' '))
        .current_dir(place.path())
        .timeout(std::time::Duration::from_secs(7_200))
        .assert()
        .code(0);
    let today = std::fs::read_to_string(written).expect("the command writes it");
    if today == shipped {
        Ok(())
    } else {
        Err("is not what its command writes today")
    }
}

/// The complaints about a folder's files, each with the command to type; `runs` says which commands
/// are run.
fn complaints(shipped: &Shipped, folder: &Path, runs: impl Fn(&str) -> bool) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut others = files(folder);
    for command in shipped.commands {
        let name = written_by(command);
        others.remove(name);
        if let Err(why) = compare(folder, command, runs(name)) {
            let folder = shipped.folder;
            complaints.push(format!(
                "{folder}/{name} {why}; type: (cd {folder} && cohort {command})"
            ));
        }
    }
    let unknown = |name| format!("{}/{name} has no command here", shipped.folder);
    complaints.extend(others.iter().map(unknown));
    complaints
}

fn check(shipped: &Shipped) {
    let everything = std::env::var("COHORT_TIER").as_deref() == Ok("full");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let runs = |name: &str| everything || QUICK.contains(&name);
    let complaints = complaints(shipped, &root.join(shipped.folder), runs);
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn the_best_locks_are_what_their_commands_find() {
    check(&LOCKS);
}

#[test]
fn thresholds_of_sanl_are_what_their_commands_find() {
    check(&THRESHOLDS);
}

#[test]
fn a_file_that_is_missing_or_differs_is_reported_with_its_command() {
    let shipped = Shipped {
        folder: "shipped",
        commands: &[
            "tune --mean a.toml -o right.toml",
            "tune --mean a.toml -o differs.toml",
            "tune --mean a.toml -o other.toml",
            "tune --mean a.toml -o missing.toml",
            "tune --on sparc-t4-1 -o a.toml",
        ],
    };
    let place = tempfile::tempdir().expect("a temporary folder");
    let put = |name: &str, text: &str| {
        std::fs::write(place.path().join(name), text).expect("a writable folder");
    };
    let tuned = include_str!("../../../cohort-measure/src/tuned/shipped/sparc-t4-1.toml");
    let (_, rest) = tuned.split_once('\n').expect("it has lines");
    put(
        "a.toml",
        &format!("# cohort tune --on sparc-t4-1 -o a.toml\n{rest}"),
    );
    put("extra.toml", "");
    put("other.toml", "# cohort tune --mean b.toml -o other.toml\n");
    put(
        "differs.toml",
        "# cohort tune --mean a.toml -o differs.toml\n",
    );
    put("right.toml", "");
    cohort()
        .args(["tune", "--mean", "a.toml", "-o", "right.toml"])
        .current_dir(place.path())
        .assert()
        .code(0);
    let complaints = complaints(&shipped, place.path(), |name| name != "a.toml");
    let typed = |name: &str, why: &str| {
        format!("shipped/{name} {why}; type: (cd shipped && cohort tune --mean a.toml -o {name})")
    };
    assert_eq!(
        complaints,
        [
            typed("differs.toml", "is not what its command writes today"),
            typed("other.toml", "does not begin with its command"),
            typed("missing.toml", "is missing"),
            "shipped/extra.toml has no command here".to_owned(),
        ]
    );
}
