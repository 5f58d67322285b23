//! The conformance suite: every case of every topic, each in its own process.

use crate::check::{Check, Tier};
use crate::compiled::{changed, compile, is_older};
use crate::program::{cohort_run, ended};
use crate::selection::{SYSTEM, Selection, WAITS};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, SystemTime};

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/conformance");
const BUILT: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/conformance");

/// The topics that depend on the chosen lock, and partly on rwlocks. The others depend on parts
/// common to all locks; the default lock checks them, and the full tier checks them under every
/// lock.
const BOUND: [&str; 7] = [
    "fork",
    "life",
    "reuse",
    "many",
    "interrupted",
    "stress",
    "real_time",
];

/// Topics that depend on the chosen lock, and not on rwlocks.
const LOCK_BOUND: [&str; 3] = ["mutex", "misuse", "cond"];

/// The topic that the quick tier runs under every lock; it runs the others under one lock of each
/// kind.
const EVERYWHERE: &str = "mutex";

/// Topics that depend on rwlocks.
const RWLOCK_BOUND: [&str; 2] = ["rwlock", "rwlock_misuse"];

/// Kinds of mutex with cases that depend less on the lock: the quick tier checks these
/// under the default only.
const UNBOUND_KINDS: [&str; 6] = [
    "adaptive",
    "errorcheck",
    "shared",
    "robust",
    "inherit",
    "protect",
];

/// Alternatives to the default for rwlocks, each with the writers' lock of the quick tier: an
/// in-place and an inflated one.
const RWLOCKS: [(&str, &str); 2] = [("c-rw-np", "futex-hmcs"), ("c-rw-wp", "c-tkt-mcs")];

/// One cohort per CPU on any machine, so that readers of several cohorts meet.
const APART: &str = "cache 0\ncache 1\ncache 2\ncache 3\n";

/// Longer than the watchdog inside each case, which reports more: it allows a case with progress
/// five minutes.
pub const LIMIT: Duration = Duration::from_secs(330);

/// A case's own exit statuses for "cannot be checked here" and "hung".
const SKIPPED: i32 = 77;
const HUNG: i32 = 124;

/// After this many hanging cases of a topic, the others would hang too, for a minute each.
const MOST_HUNG: usize = 3;

/// One topic under each lock and way to wait.
///
/// # Errors
/// The C compiler's words.
pub fn checks(selection: &Selection) -> Result<Vec<Check>, String> {
    let locks = selection.locks();
    let mut checks = Vec::new();
    for topic in build()? {
        let name = topic.name.as_str();
        let bound_kinds = topic.without_unbound_kinds();
        for (place, lock) in locks.iter().copied().enumerate() {
            let all = place == 0 || selection.has(Tier::Full) || selection.names(lock);
            let topic = if all { &topic } else { &bound_kinds };
            for wait in WAITS {
                if lock == SYSTEM && wait != WAITS[0] {
                    continue;
                }
                let bound = BOUND.contains(&name) || LOCK_BOUND.contains(&name);
                let bound = bound && (name == EVERYWHERE || selection.has_all_under(lock));
                let quick = wait == WAITS[0] && (place == 0 || bound || selection.names(lock));
                let options = vec!["--wait".to_owned(), wait.to_owned()];
                checks.push(check(topic, lock, wait, quick, options));
            }
        }
        if BOUND.contains(&name) || RWLOCK_BOUND.contains(&name) {
            checks.extend(checks_of_rwlocks(&topic, selection)?);
        }
    }
    Ok(checks)
}

fn checks_of_rwlocks(topic: &Topic, selection: &Selection) -> Result<Vec<Check>, String> {
    let cohorts = format!("{BUILT}/apart.txt");
    std::fs::write(&cohorts, APART).map_err(|error| format!("{cohorts}: {error}"))?;
    let mut checks = Vec::new();
    for (rwlock, usual) in RWLOCKS {
        for lock in selection.locks() {
            if lock == SYSTEM {
                continue;
            }
            let options = ["--rwlock", rwlock, "--cohorts", &cohorts].map(str::to_owned);
            let quick = lock == usual || selection.names(lock);
            checks.push(check(topic, lock, rwlock, quick, options.to_vec()));
        }
    }
    Ok(checks)
}

/// A topic under a lock with these options; the last word of the check's name identifies them.
fn check(topic: &Topic, lock: &str, word: &str, quick: bool, options: Vec<String>) -> Check {
    let (topic, lock) = (topic.clone(), lock.to_owned());
    Check {
        name: format!("conformance/{}/{lock}/{word}", topic.name),
        tier: if quick { Tier::Quick } else { Tier::Full },
        needs: &[("cc", "gcc")],
        run: Box::new(move || run(&topic, &lock, &options)),
    }
}

/// The program of a topic, once [`checks`] has built it.
pub fn program(topic: &str) -> PathBuf {
    Path::new(BUILT).join(topic)
}

/// Runs one case of a topic by `command`, such as [`cohort_run`]'s, to its end.
///
/// # Errors
/// How it ended, if it failed, and what it printed.
pub fn run_case(command: assert_cmd::Command, topic: &str, case: &str) -> Result<(), String> {
    let output = output(command, &program(topic), case)?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{topic} {case}: {}", ended(&output, LIMIT)))
}

fn output(mut command: assert_cmd::Command, program: &Path, case: &str) -> Result<Output, String> {
    command
        .arg(program)
        .arg(case)
        .timeout(LIMIT)
        .output()
        .map_err(|error| format!("{} cannot be run: {error}", program.display()))
}

/// One program of the suite.
#[derive(Clone)]
struct Topic {
    name: String,
    program: PathBuf,
    cases: Vec<Case>,
}

impl Topic {
    /// The topic without the cases that the default checks for all locks.
    fn without_unbound_kinds(&self) -> Self {
        let mut topic = self.clone();
        topic.cases.retain(|case| {
            let kind = case.name.rsplit_once('/').map(|(_, kind)| kind);
            kind.is_none_or(|kind| !UNBOUND_KINDS.contains(&kind))
        });
        topic
    }
}

#[derive(Clone)]
struct Case {
    name: String,
    /// Guaranteed by Cohort, and not by the C library.
    beyond: bool,
}

fn run(topic: &Topic, lock: &str, options: &[String]) -> Result<(), String> {
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let mut failed = Vec::new();
    let mut hung = 0;
    for case in &topic.cases {
        if hung == MOST_HUNG {
            failed.push("gave up on the other cases".to_owned());
            break;
        }
        if case.beyond && lock == SYSTEM {
            continue;
        }
        let command = cohort_run(lock, &options);
        let output = output(command, &topic.program, &case.name)?;
        match output.status.code() {
            Some(0) => {}
            Some(SKIPPED) => eprint!("{}", String::from_utf8_lossy(&output.stderr)),
            code => {
                hung += usize::from(code.is_none_or(|code| code == HUNG));
                failed.push(format!(
                    "{} {}: {}",
                    topic.name,
                    case.name,
                    ended(&output, LIMIT).trim_end()
                ));
            }
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{} of {} cases failed; one again: cohort run --lock {lock} {} -- {} CASE\n{}",
        failed.len(),
        topic.cases.len(),
        options.join(" "),
        topic.program.display(),
        failed.join("\n")
    ))
}

/// Compiles outdated programs, and lists each topic's cases.
fn build() -> Result<Vec<Topic>, String> {
    let sources = Path::new(SOURCES);
    let built = Path::new(BUILT);
    std::fs::create_dir_all(built).map_err(|error| format!("{BUILT}: {error}"))?;
    let mut programs = Vec::new();
    let (mut libraries, mut support) = (Vec::new(), Vec::new());
    let mut newest = SystemTime::UNIX_EPOCH;
    for folder in [sources.join("support"), sources.to_path_buf()] {
        for file in files(&folder)? {
            newest = newest.max(changed(&file).unwrap_or(newest));
            let is_c = file.extension().is_some_and(|extension| extension == "c");
            let name = stem(&file);
            match (is_c, folder == sources) {
                (true, true) if name.starts_with("lib") => libraries.push(file),
                (true, true) => programs.push(file),
                (true, false) => support.push(file),
                (false, _) => {}
            }
        }
    }
    for library in &libraries {
        let target = built.join(format!("{}.so", stem(library)));
        if is_older(&target, newest) {
            compile("cc", &["-shared", "-fPIC"], &[library], &[], &target)?;
        }
    }
    let mut topics = Vec::new();
    for program in &programs {
        let target = built.join(stem(program));
        if is_older(&target, newest) {
            let mut sources = vec![program];
            sources.extend(&support);
            let folder = format!("-L{BUILT}");
            let libraries = ["-Wl,--as-needed", "-learly", "-Wl,-rpath,$ORIGIN"];
            let mut link = vec![folder.as_str()];
            link.extend(libraries);
            compile("cc", &[], &sources, &link, &target)?;
        }
        topics.push(Topic {
            name: stem(program),
            cases: cases(&target)?,
            program: target,
        });
    }
    Ok(topics)
}

fn cases(program: &Path) -> Result<Vec<Case>, String> {
    let output = Command::new(program)
        .arg("--list")
        .output()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    let cases: Vec<Case> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|line| match line.split_once(' ') {
            Some((name, _)) => (name, true),
            None => (line, false),
        })
        .map(|(name, beyond)| Case {
            name: name.to_owned(),
            beyond,
        })
        .collect();
    if output.status.success() && !cases.is_empty() {
        Ok(cases)
    } else {
        Err(format!("{} lists no cases", program.display()))
    }
}

/// The files of a folder, in the order of their names.
fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn stem(file: &Path) -> String {
    file.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}
