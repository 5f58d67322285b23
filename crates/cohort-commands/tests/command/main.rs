//! What a person sees of the command: options, refusals, endings, reports.

mod advise;
mod analysis;
mod bar;
mod bench;
mod beside;
mod companion;
mod compare;
mod compiled;
mod debug;
mod delegate;
mod deploy;
mod discover;
mod ending;
mod environment;
mod examples;
mod export;
mod frames;
mod gathered;
mod glk;
mod library;
mod locks;
mod machines;
mod mutexes;
mod outside;
mod packages;
mod profile;
mod record;
mod refusal;
mod report;
mod reproduce;
mod sanl;
mod schemas;
mod shipped;
mod show;
mod study;
mod survey;
mod top;
mod tuned;
mod usage;

use assert_cmd::Command;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

/// What the command, or a test that reads the environment it passes on, would take
/// from the environment of the tests.
const LEFT_OUT: [&str; 13] = [
    "COLUMNS",
    "NO_COLOR",
    "COHORT_LOCK",
    "COHORT_RWLOCK",
    "COHORT_WAIT",
    "COHORT_MONITOR",
    "COHORT_SLICE",
    "COHORT_ONLY",
    "COHORT_EXCLUDE",
    "COHORT_REPORT",
    "COHORT_MUTEXES",
    "COHORT_TIER",
    "LD_PRELOAD",
];

/// The commands of this package, each with the name that it is installed under.
const COMMANDS: [(&str, &str); 3] = [
    ("cohort", env!("CARGO_BIN_EXE_whole-cohort")),
    ("cohort-lab", env!("CARGO_BIN_EXE_whole-lab")),
    ("cohort-delegate", env!("CARGO_BIN_EXE_whole-delegate")),
];

/// The path of `cohort`, in a folder with the commands that it hands over to.
fn command() -> &'static str {
    static COMMAND: LazyLock<PathBuf> = LazyLock::new(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("commands");
        std::fs::create_dir_all(&folder).expect("the folder is writable");
        for (name, built) in COMMANDS {
            let (built, installed) = (Path::new(built), folder.join(name));
            let of = |path: &Path| path.metadata().map(|file| (file.dev(), file.ino())).ok();
            if of(built) != of(&installed) {
                let new = folder.join(format!("{name}.{}", std::process::id()));
                std::fs::hard_link(built, &new).expect("a folder of the same file system");
                std::fs::rename(&new, &installed).expect("the folder is writable");
            }
        }
        folder.join("cohort")
    });
    COMMAND.to_str().expect("the path is plain")
}

/// The command, with nothing said yet.
fn cohort() -> Command {
    let mut command = Command::new(command());
    for name in LEFT_OUT {
        command.env_remove(name);
    }
    command.timeout(Duration::from_secs(60));
    command
}
