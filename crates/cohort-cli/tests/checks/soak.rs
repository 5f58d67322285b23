//! Soaks under chaos: threads draw operations from a seed, with libraries that delay them before
//! atomic operations. docs/checks.md describes each program.
//!
//! The libraries need the feature `chaos`, so the first row builds them, in the folder of the
//! command's build script.

use crate::check::{Check, Tier};
use crate::compiled::{changed, compile, is_older};
use crate::program::ended;
use crate::selection::{SYSTEM, Selection};
use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::thread::available_parallelism;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const CRATES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/soak");
const BUILT: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/soak");
const LIBRARIES: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/../libraries");

/// Duration of a row of the quick tier, in seconds; two dozen rows, several at a time.
const QUICK_SECONDS: u64 = 7;
/// Total duration of all rows of the full tier on one CPU.
const FULL_SECONDS: u64 = 3600;

/// Time for a program to end and, if a thread stops, to detect it.
const TO_END: Duration = Duration::from_secs(120);

const THREADS: &str = "8";
/// Both probabilities per operation in 65,536, and the longest nap in microseconds.
const CHAOS: &str = "1024,64,300";

/// One cohort for each of the first CPUs, so that threads of several cohorts meet on any machine.
const APART: &str = "cache 0;cache 1;cache 2;cache 3";

/// An abortable composition.
const ABORTABLE: &str = "clof:bo-clh-mcs@cache,numa,system/128/abortable";

/// Locks of the quick tier beside the default: a queue, trees of queues without and with timeouts,
/// an abortable composition, and an adaptive lock.
const QUICK_LOCKS: [&str; 5] = ["mcs", "hmcs-4", "hmcs-t-3", ABORTABLE, "glk"];

const RWLOCKS: [&str; 3] = ["rwlock", "c-rw-np", "c-rw-wp"];

/// Families of `cohort-soak`, and whether they are in the quick tier.
const FAMILIES: [(&str, bool); 13] = [
    ("upgrade", true),
    ("sanl-plus-rides", true),
    ("posts-sanl", true),
    ("tasks", true),
    ("sanl", false),
    ("sanl-plus", false),
    ("fc", false),
    ("rcl", false),
    ("cc-synch", false),
    ("futex", false),
    ("posts-fc", false),
    ("tasks-mcs", false),
    ("tasks-rwlock", false),
];

/// Source of a program's locks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    /// Pthread, by the preloaded library.
    Preloaded,
    /// `cohort.h`.
    C,
    /// The crate.
    Rust,
}

/// Program with its arguments.
#[derive(Clone)]
struct Row {
    program: &'static str,
    from: From,
    /// Part of the row's name.
    under: String,
    environment: Vec<(&'static str, String)>,
    quick: bool,
}

/// Each program under the locks that it tests.
///
/// # Errors
/// None.
pub fn checks(selection: &Selection) -> Result<Vec<Check>, String> {
    let rows = rows(selection);
    let cpus = available_parallelism().map_or(1, usize::from) as u64;
    let seconds = if selection.has(Tier::Full) {
        (FULL_SECONDS * cpus / rows.len() as u64).max(QUICK_SECONDS)
    } else {
        QUICK_SECONDS
    };
    let mut checks: Vec<Check> = rows
        .into_iter()
        .map(|row| Check {
            name: format!("soak/{}/{}", row.program, row.under),
            tier: tier(row.quick),
            needs: &[("cc", "gcc")],
            run: Box::new(move || run(&row, seconds)),
        })
        .collect();
    if !selection.is_narrowed() {
        checks.push(Check {
            name: "soak/variables".to_owned(),
            tier: Tier::Quick,
            needs: &[],
            run: Box::new(variables),
        });
    }
    Ok(checks)
}

fn tier(quick: bool) -> Tier {
    if quick { Tier::Quick } else { Tier::Full }
}

fn rows(selection: &Selection) -> Vec<Row> {
    let mut rows = Vec::new();
    let default = "futex-hmcs";
    let mut preloaded = |program, lock: &str, rwlock: &str, apart: bool, quick| {
        let mut under = if rwlock == RWLOCKS[0] {
            lock.to_owned()
        } else {
            format!("{rwlock}/{lock}")
        };
        let mut environment = vec![
            ("COHORT_LOCK", lock.to_owned()),
            ("COHORT_RWLOCK", rwlock.to_owned()),
        ];
        if apart {
            under += "/apart";
            environment.push(("COHORT_COHORTS", APART.to_owned()));
        }
        rows.push(Row {
            program,
            from: From::Preloaded,
            under,
            environment,
            quick,
        });
    };
    for lock in selection.locks() {
        let named = selection.names(lock);
        let is_default = lock == default;
        let quick = is_default || QUICK_LOCKS.contains(&lock) || named;
        preloaded(
            "mutex",
            lock,
            RWLOCKS[0],
            !is_default && lock != SYSTEM,
            quick,
        );
        if is_default {
            preloaded("mutex", lock, RWLOCKS[0], true, true);
        }
        let is_like_a_quick_one = is_default || lock == "mcs" || named;
        preloaded("life", lock, RWLOCKS[0], false, is_like_a_quick_one);
        if lock != SYSTEM {
            preloaded("fork", lock, RWLOCKS[0], false, is_default || named);
        }
        if is_default || lock == SYSTEM {
            preloaded("rwlock", lock, RWLOCKS[0], false, true);
        }
        for rwlock in &RWLOCKS[1..] {
            if lock != SYSTEM {
                preloaded("rwlock", lock, rwlock, true, is_default || named);
            }
        }
    }
    if selection.is_narrowed() {
        return rows;
    }
    let others = [("gls", "futex-hmcs"), ("delegated", "sanl-plus")];
    rows.extend(others.map(|(program, under)| Row {
        program,
        from: From::C,
        under: under.to_owned(),
        environment: Vec::new(),
        quick: true,
    }));
    let in_c = selection.locks().into_iter().filter_map(name_in_c);
    rows.extend(in_c.map(|lock| Row {
        program: "words",
        from: From::C,
        under: lock.to_owned(),
        environment: vec![("SOAK_LOCK", lock.to_owned())],
        quick: lock == "mcs",
    }));
    rows.extend(FAMILIES.map(|(family, quick)| Row {
        program: "rust",
        from: From::Rust,
        under: family.to_owned(),
        environment: Vec::new(),
        quick,
    }));
    rows
}

/// The name of a lock for `cohort.h`, which stacks compositions at run time and has no abortable ones.
fn name_in_c(lock: &str) -> Option<&str> {
    let name = lock.strip_suffix("/compiled").unwrap_or(lock);
    (!name.ends_with("/abortable")).then_some(name)
}

/// Runs a program to its end.
///
/// # Errors
/// How it ended, with its output and the command that repeats it.
fn run(row: &Row, seconds: u64) -> Result<(), String> {
    let seed = seed(seconds);
    let is_system = row.under == SYSTEM;
    let mut command = match row.from {
        From::Preloaded => Command::new(program(row.program, None)?),
        From::C => Command::new(program(row.program, Some(library_for_c()?))?),
        From::Rust => {
            let mut command = Command::new(rust_program()?);
            command.arg(&row.under);
            command
        }
    };
    command.args([&seconds.to_string(), THREADS, &seed.to_string()]);
    let mut environment = row.environment.clone();
    environment.push(("COHORT_CHAOS", format!("{CHAOS},{seed}")));
    if row.from == From::Preloaded && !is_system {
        let library = preload_library()?.to_string_lossy().into_owned();
        environment.push(("LD_PRELOAD", library));
    }
    let again = again(&environment, &command);
    command.envs(environment);
    let limit = Duration::from_secs(seconds) + TO_END;
    let output = assert_cmd::Command::from_std(command)
        .timeout(limit)
        .output()
        .map_err(|error| format!("{again}: cannot be run: {error}"))?;
    // The library warns, for instance, about an unknown lock replaced by the default.
    let is_warned = output.stderr.starts_with(b"cohort: ");
    if output.status.success() && !is_warned {
        return Ok(());
    }
    Err(format!("{}\nagain: {again}", ended(&output, limit)))
}

/// The seed of this run: constant in the quick tier, random in the full one.
fn seed(seconds: u64) -> u64 {
    if seconds == QUICK_SECONDS {
        return 1;
    }
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(1, |since| since.as_secs())
}

/// The command line that repeats the run.
fn again(environment: &[(&str, String)], command: &Command) -> String {
    let mut words: Vec<String> = environment
        .iter()
        .map(|(name, value)| format!("{name}='{value}'"))
        .collect();
    words.push(command.get_program().to_string_lossy().into_owned());
    words.extend(
        command
            .get_args()
            .map(|word| word.to_string_lossy().into_owned()),
    );
    words.join(" ")
}

/// A wrong variable ends the process with a message, and no release has the feature.
fn variables() -> Result<(), String> {
    let library = preload_library()?;
    let wrong = [
        ("COHORT_CHAOS", "1024,64,300"),
        ("COHORT_CHAOS", "65537,0,1,1"),
        ("COHORT_CHAOS", "1,1,0,1"),
        ("COHORT_CHAOS_AT", "futex.rs"),
    ];
    for (name, value) in wrong {
        let output = Command::new("true")
            .env("LD_PRELOAD", library)
            .env(name, value)
            .output()
            .map_err(|error| format!("`true` cannot be run: {error}"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        let line = format!("cohort: {name}={value} is not ");
        if output.status.code() != Some(2) || !said.starts_with(&line) || said.lines().count() != 1
        {
            return Err(format!("{name}={value}: {}: {said}", output.status));
        }
    }
    let name = b"COHORT_CHAOS";
    let mut embedded = cohort_cli::library::ALL.iter();
    if embedded.any(|library| library.bytes.windows(name.len()).any(|bytes| bytes == name)) {
        return Err("the command carries a library with the feature chaos".to_owned());
    }
    Ok(())
}

/// A C program of the soaks, linked with the library for C if it uses that.
fn program(name: &str, library: Option<&Path>) -> Result<PathBuf, String> {
    let _turn = turn()?;
    fs::create_dir_all(BUILT).map_err(|error| format!("{BUILT}: {error}"))?;
    let sources = Path::new(SOURCES);
    let support = sources.join("support");
    let source = sources.join(name).with_extension("c");
    let of_all = support.join("soak.c");
    let target = Path::new(BUILT).join(name);
    let made_of = [&source, &of_all, &support.join("soak.h")];
    let newest = made_of.into_iter().map(PathBuf::as_path).chain(library);
    let newest = newest.filter_map(changed).max();
    if is_older(&target, newest.unwrap_or_else(SystemTime::now)) {
        let include = format!("-I{CRATES}/cohort-c/include");
        let library = library.map(|library| library.to_string_lossy().into_owned());
        let link: Vec<&str> = library.as_deref().into_iter().collect();
        compile("cc", &[&include], &[&source, &of_all], &link, &target)?;
    }
    Ok(target)
}

/// Built once per run.
type Once = OnceLock<Result<PathBuf, String>>;

fn preload_library() -> Result<&'static Path, String> {
    static LIBRARY: Once = OnceLock::new();
    once(
        &LIBRARY,
        "cohort-preload",
        "chaos,compositions",
        "libcohort_preload.so",
    )
}

fn library_for_c() -> Result<&'static Path, String> {
    static LIBRARY: Once = OnceLock::new();
    once(&LIBRARY, "cohort-c", "chaos", "libcohort.a")
}

fn rust_program() -> Result<&'static Path, String> {
    static PROGRAM: Once = OnceLock::new();
    once(&PROGRAM, "cohort-soak", "", "cohort-soak")
}

fn once(
    made: &'static Once,
    package: &str,
    features: &str,
    file: &str,
) -> Result<&'static Path, String> {
    let made = made.get_or_init(|| build(package, features, file));
    made.as_deref().map_err(String::clone)
}

/// Held while building: another run of these checks may use the same files.
fn turn() -> Result<File, String> {
    let failed = |error| format!("{LIBRARIES} cannot be used: {error}");
    fs::create_dir_all(LIBRARIES).map_err(failed)?;
    let turn = File::create(Path::new(LIBRARIES).join("turn")).map_err(failed)?;
    turn.lock().map_err(failed)?;
    Ok(turn)
}

/// Builds a package, and copies its output out of the shared folder.
fn build(package: &str, features: &str, file: &str) -> Result<PathBuf, String> {
    let _turn = turn()?;
    let folder = Path::new(LIBRARIES).join("chaos");
    let output = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .current_dir(Path::new(CRATES).join(package))
        .args(["build", "--release", "--quiet", "--features", features])
        // These are not measured, so the fastest build suffices.
        .args(["--config", "profile.release.opt-level=1"])
        .arg("--target-dir")
        .arg(&folder)
        .output()
        .map_err(|error| format!("cargo cannot be run: {error}"))?;
    if !output.status.success() {
        return Err(format!(
            "cargo failed in {package} ({}):\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    Ok(folder.join("release").join(file))
}
