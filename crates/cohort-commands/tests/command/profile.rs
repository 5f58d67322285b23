//! `cohort profile` counts exactly, names locks, and charges waiting to the waiter and to the holder.

use crate::{cohort, compiled};
use ::cohort::records::MEMORY;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// Compiles the bank.
fn bank(into: &TempDir) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/profile/bank.c");
    let program = into.path().join("bank");
    let status = Command::new("cc")
        .args(["-g", "-O1", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&program)
        .arg(source)
        .arg("-lpthread")
        .status()
        .expect("there is a C compiler");
    assert!(status.success(), "bank.c does not compile");
    program
}

fn read(file: &Path) -> Value {
    let bytes = std::fs::read(file).expect("the profile was written");
    serde_json::from_slice(&bytes).expect("JSON")
}

/// The only lock with these words in its name.
fn lock<'a>(profile: &'a Value, words: &str) -> &'a Value {
    let named = |lock: &&Value| {
        lock["name"]
            .as_str()
            .is_some_and(|name| name.contains(words))
    };
    let locks = profile["locks"].as_array().expect("locks");
    let mut found = locks.iter().filter(named);
    let one = found.next();
    assert!(found.next().is_none(), "{words}: {profile:#}");
    one.unwrap_or_else(|| panic!("no {words}: {profile:#}"))
}

/// The site of a lock in this function.
fn site<'a>(lock: &'a Value, function: &str) -> &'a Value {
    let sites = lock["sites"].as_array().expect("sites");
    sites
        .iter()
        .find(|site| site["frames"][0]["function"] == function)
        .unwrap_or_else(|| panic!("no {function}: {lock:#}"))
}

#[test]
fn locks_are_counted_named_and_charged() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = bank(&folder);
    for lock_name in ["futex-hmcs", "mcs"] {
        let [json, page, graph] = ["p.json", "p.html", "p.pb"].map(|name| folder.path().join(name));
        let output = cohort()
            .args(["profile", "--lock", lock_name])
            .args([
                "-o",
                json.to_str().unwrap(),
                "--html",
                page.to_str().unwrap(),
            ])
            .args(["--pprof", graph.to_str().unwrap(), "--"])
            .arg(&program)
            .output()
            .expect("the command runs");
        assert_eq!(output.status.code(), Some(0));
        let profile = read(&json);
        crate::schemas::valid("profile", &profile);
        assert_eq!(profile["cohort_profile"], 1);
        assert_eq!(profile["lock"], lock_name);

        let accounts = lock(&profile, "accounts");
        assert_eq!(accounts["named_by"], "symbol");
        assert_eq!(accounts["acquired"], 440);
        let (audit, deposit) = (site(accounts, "audit"), site(accounts, "deposit"));
        assert_eq!(
            (&audit["acquired"], &deposit["acquired"]),
            (&40.into(), &400.into())
        );
        // The auditor sleeps with the lock held, and the other sleeps little without it.
        assert!(deposit["contended"].as_u64() >= Some(10), "{accounts:#}");
        assert!(
            deposit["lost"].as_f64() > audit["lost"].as_f64(),
            "{accounts:#}"
        );
        assert!(
            audit["blamed"].as_f64() > deposit["blamed"].as_f64(),
            "{accounts:#}"
        );
        assert_eq!(profile["locks"][0]["name"], "accounts");

        // One of the three is recursive, and its bytes have no room for its class.
        let branches = lock(&profile, "open_branch");
        assert_eq!(branches["named_by"], "initialised");
        assert_eq!(
            (&branches["objects"], &branches["acquired"]),
            (&3.into(), &400.into())
        );

        let rates = lock(&profile, "rates");
        assert_eq!(
            (&rates["kind"], &rates["acquired"]),
            (&"rwlock".into(), &200.into())
        );
        assert_eq!(site(rates, "quote")["how"], "read");

        let page = std::fs::read_to_string(page).expect("the page was written");
        assert!(
            page.contains("mutex accounts") && page.contains("<svg"),
            "{page}"
        );
        assert!(!page.contains("src=") && !page.contains("@import"));
        assert!(std::fs::metadata(graph).expect("written").len() > 0);
    }
}

/// These do not show whether they are held.
#[test]
fn rwlocks_that_cannot_tell_are_not_called_contended() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (program, file) = (bank(&folder), folder.path().join("p.json"));
    for rwlocks in ["system", "c-rw-np"] {
        cohort()
            .args(["profile", "--rwlock", rwlocks, "-o"])
            .arg(&file)
            .arg("--")
            .arg(&program)
            .assert()
            .code(0);
        let profile = read(&file);
        let rates = lock(&profile, "rates");
        assert_eq!(
            (&rates["acquired"], &rates["contended"]),
            (&200.into(), &0.into()),
            "{rwlocks}"
        );
    }
}

#[test]
fn the_text_fits_a_terminal_and_begins_with_what_it_cost() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = cohort()
        .args(["profile", "--"])
        .arg(bank(&folder))
        .env("COLUMNS", "80")
        .output()
        .expect("the command runs");
    let said = String::from_utf8(output.stderr).expect("text");
    for words in [
        "preempted",
        "Profiling overhead",
        "1. accounts",
        "held, s",
        "deposit",
    ] {
        assert!(said.contains(words), "no {words:?} in {said}");
    }
    for line in said
        .lines()
        .filter(|line| !line.starts_with("cohort: note"))
    {
        assert!(line.chars().count() <= 80, "{line}");
        assert_eq!(line, line.trim_end());
    }
}

#[test]
fn processes_are_put_together() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("p.json");
    let program = bank(&folder);
    cohort()
        .args(["profile", "-o"])
        .arg(&file)
        .args(["--", "sh", "-c", "\"$0\" & \"$0\"; wait; exit 3"])
        .arg(program)
        .assert()
        .code(3);
    let profile = read(&file);
    assert_eq!(profile["processes"], 2);
    let accounts = lock(&profile, "accounts");
    assert_eq!(
        (&accounts["acquired"], &accounts["objects"]),
        (&880.into(), &2.into())
    );
}

#[test]
fn hand_overs_are_told_by_how_far_they_go() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (program, file) = (compiled::handed(), folder.path().join("p.json"));
    let output = cohort()
        .args(["profile", "-o"])
        .arg(&file)
        .arg("--")
        .arg(program.path())
        .output()
        .expect("the command runs");
    assert_eq!(output.status.code(), Some(0));
    let are_two = output.stdout == b"2\n";
    let profile = read(&file);
    for (name, is_back, is_near) in [
        ("alone", true, true),
        ("near", false, true),
        ("far", false, !are_two),
    ] {
        let handed = &lock(&profile, name)["handed"];
        assert!(handed["samples"].as_u64() > Some(0), "{name}: {handed:#}");
        let share = |level: &str| handed[level].as_f64().expect("a number");
        let is = |share: f64, all: bool| (share - f64::from(u8::from(all))).abs() < 1e-9;
        assert!(is(share("same_thread"), is_back), "{name}: {handed:#}");
        let here = share("same_thread") + share("same_cpu");
        assert!(is(here, is_near), "{name}: {handed:#}");
        let farther = ["same_core", "same_cache_group", "same_node", "across_nodes"];
        let all = here + farther.into_iter().map(share).sum::<f64>();
        assert!(is(all, true), "{name}: {handed:#}");
    }
    // After a reader, which shares it, no hand-over is recorded.
    let table = &lock(&profile, "table")["handed"];
    assert!(table["samples"].as_u64() > Some(0), "{table:#}");
    assert_eq!(table["same_thread"].as_f64(), Some(0.0), "{table:#}");
}

/// A thread alone cannot have held a lock for longer than it ran: half of all acquisitions took the
/// median or more.
#[test]
fn what_is_not_sampled_is_not_counted_from_the_last_sample() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (program, file) = (compiled::early(), folder.path().join("p.json"));
    cohort()
        .args(["profile", "-o"])
        .arg(&file)
        .arg("--")
        .arg(program.path())
        .assert()
        .code(0);
    let profile = read(&file);
    let ran = profile["seconds"].as_f64().expect("a number") * 1e9;
    for name in ["outer", "inner", "waiting"] {
        let lock = lock(&profile, name);
        let acquired = lock["acquired"].as_f64().expect("a number");
        let median = lock["hold"]["p50"].as_f64().expect("some are sampled");
        assert!(acquired / 2.0 * median < ran, "{name}: {profile:#}");
    }
}

/// A program's own measurements of its lock: nanoseconds, and a share.
struct Truth {
    taken: u64,
    wait: f64,
    hold: f64,
    slow: f64,
}

impl Truth {
    fn of(words: &str) -> Self {
        let numbers: Vec<f64> = words
            .split_whitespace()
            .map(|word| word.parse().expect("a number"))
            .collect();
        let [taken, wait, hold, slow] = numbers[..] else {
            panic!("{words}");
        };
        Self {
            taken: taken as u64,
            wait,
            hold,
            slow,
        }
    }
}

/// One run of a program that times its lock: its measurements, the profile of that lock, and the
/// nanoseconds that the program ran.
fn run_truth(program: &Path, kind: &str) -> (Truth, Value, f64) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("p.json");
    let output = cohort()
        .args(["profile", "-o"])
        .arg(&file)
        .arg("--")
        .arg(program)
        .arg(kind)
        .output()
        .expect("the command runs");
    assert_eq!(output.status.code(), Some(0), "{kind}");
    let truth = Truth::of(&String::from_utf8(output.stdout).expect("text"));
    let name = if kind == "readers" { "table" } else { "truth" };
    let profile = read(&file);
    let ran = profile["seconds"].as_f64().expect("a number") * 1e9;
    (truth, lock(&profile, name).clone(), ran)
}

/// Whether an interval of a figure contains the program's measurement, apart from the clock reads,
/// which are not part of the figure.
fn holds(lock: &Value, what: &str, measured: f64) -> bool {
    let mean = &lock[what]["mean"];
    let end = |end: &str| mean[end].as_f64();
    let (Some(low), Some(high)) = (end("low"), end("high")) else {
        return false;
    };
    let clocks = 300.0;
    low <= measured && measured <= high + clocks
}

/// Nine in ten intervals must contain the program's measurement. Then at least 82 of a hundred runs
/// do, with a probability of 99 %, and at least two of four runs, with one of 99.6 %.
#[test]
fn the_intervals_hold_what_programs_measure() {
    let everything = std::env::var("COHORT_TIER").as_deref() == Ok("full");
    let (runs, least) = if everything { (100, 82) } else { (4, 2) };
    let program = compiled::truth();
    for kind in ["bank", "sleepers", "herd", "readers", "spike", "tight"] {
        let mut held = [0; 2];
        let mut last = Value::Null;
        for _ in 0..runs {
            let (truth, lock, ran) = run_truth(&program.path(), kind);
            assert_eq!(lock["acquired"], truth.taken, "{kind}: {lock:#}");
            for (held, (what, measured)) in held
                .iter_mut()
                .zip([("wait", truth.wait), ("hold", truth.hold)])
            {
                let is_held = if kind == "tight" {
                    // The program measures whole turns alone, and few of them are sampled. An
                    // interrupted sample raises the mean, which the run's duration bounds.
                    let figure = |name: &str| lock[what]["mean"][name].as_f64();
                    let value = figure("value").expect("a number");
                    let median = lock[what]["p50"].as_f64().expect("a number");
                    let most = if what == "hold" {
                        ran / truth.taken as f64
                    } else {
                        measured
                    };
                    // Nothing shorter than the clock's resolution is told apart.
                    let resolution = lock[what]["floor"].as_f64().expect("a number");
                    value <= most * 1.01
                        && median <= measured.max(resolution)
                        && figure("low") <= Some(measured)
                } else {
                    holds(&lock, what, measured)
                };
                *held += u32::from(is_held);
            }
            last = lock;
        }
        assert!(
            held.iter().all(|held| *held >= least),
            "{kind}: {held:?} of {runs}: {last:#}"
        );
    }
}

/// The data on the first mutex, after the first module was opened that many more times.
fn closed(times: u64) -> Value {
    let (program, [one, other]) = compiled::closed(["alpha_takes", "beta_takes"]);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("p.json");
    cohort()
        .args(["profile", "-o"])
        .arg(&file)
        .arg("--")
        .arg(program.path())
        .args([one.path(), other.path(), times.to_string().into()])
        .assert()
        .success();
    lock(&read(&file), "first").clone()
}

#[test]
fn places_in_modules_that_were_closed_are_told_apart() {
    let first = closed(0);
    for name in ["alpha_takes", "beta_takes"] {
        assert_eq!(site(&first, name)["acquired"], 300, "{first:#}");
    }
}

/// More often than there is room for modules.
#[test]
fn a_module_that_is_closed_again_and_again_keeps_its_names() {
    let first = closed(1_000);
    let alpha = site(&first, "alpha_takes")["acquired"].as_u64();
    assert!(alpha >= Some(300 * 1_001), "{first:#}");
    let sites = first["sites"].as_array().expect("sites");
    for site in sites {
        assert!(site["frames"][0]["function"].is_string(), "{first:#}");
    }
}

/// A free lock with a sleeper's mark is not contended.
#[test]
fn contended_are_those_that_found_the_lock_held() {
    let program = compiled::truth();
    let (truth, lock, _) = run_truth(&program.path(), "tries");
    assert_eq!(lock["acquired"], truth.taken, "{lock:#}");
    let contended = lock["contended"].as_f64().expect("a number") / truth.taken as f64;
    // The lock may have been released between a try and the acquisition.
    assert!(
        truth.slow > 0.05 && (contended - truth.slow).abs() < 0.05,
        "{} {lock:#}",
        truth.slow
    );
}

#[test]
fn a_mutex_that_is_taken_again_behind_a_condition_wait_is_an_acquisition() {
    let (truth, lock, _) = run_truth(&compiled::truth().path(), "herd");
    // All threads acquire it before and after they wait, and their caller once.
    assert_eq!(
        (truth.taken, &lock["acquired"]),
        (49, &49.into()),
        "{lock:#}"
    );
    // They hold it one after the other: the total wait is what each measured from the call on.
    let all = truth.wait * 49.0 / 1e9;
    let lost = lock["lost"]["value"].as_f64().expect("a number");
    assert!(lost > all / 2.0 && lost < all * 2.0, "{all} {lock:#}");
    let again = site(&lock, "herd");
    assert!(
        again["wait"]["mean"]["value"].as_f64() > Some(0.0),
        "{lock:#}"
    );
}

/// The records of very many mutexes, a million in the full tier, and of ten thousand concurrent
/// threads with full lists.
#[test]
fn many_locks_and_threads_take_little_memory() {
    const THREADS: u64 = 10_000;
    // A tenth of them uses as many pages of the table of counts, in a tenth of the time.
    let everything = std::env::var("COHORT_TIER").as_deref() == Ok("full");
    let each = if everything { 100 } else { 10 };
    let all = THREADS * each;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (program, file) = (compiled::many(), folder.path().join("p.json"));
    let output = cohort()
        .args(["profile", "-o"])
        .arg(&file)
        .arg("--")
        .arg(program.path())
        .arg(each.to_string())
        .timeout(Duration::from_secs(300))
        .output()
        .expect("the command runs");
    if output.status.code() == Some(77) {
        eprintln!("skip: ten thousand threads are not allowed here");
        return;
    }
    assert_eq!(output.status.code(), Some(0));
    let bytes = String::from_utf8(output.stdout).expect("text");
    let bytes: usize = bytes.trim().parse().expect("a number");
    // Fewer would be fewer than the locks' counts.
    assert!((24_000_000..=MEMORY).contains(&bytes), "{bytes}");
    let profile = read(&file);
    // The first thread starts the others.
    assert_eq!(profile["threads"], THREADS + 1);
    let locks = profile["locks"].as_array().expect("locks");
    let acquired: u64 = locks
        .iter()
        .filter_map(|lock| lock["acquired"].as_u64())
        .sum();
    let lost = profile["left_out"]["acquisitions"]
        .as_u64()
        .expect("a number");
    assert_eq!(acquired + lost, all);
    assert!(lost < all / 1000, "{lost}");
}

#[test]
fn a_program_without_locks_is_told_so() {
    cohort()
        .args(["profile", "--", "true"])
        .assert()
        .code(0)
        .stderr(predicates::str::contains("no acquisition of a lock"));
}

#[test]
fn mistakes_are_told_before_anything_runs() {
    for (words, status, says) in [
        (&["--lock", "system"][..], 2, "cohort profile"),
        (&["--cost", "0"], 2, "percentage from 0.1 to 100"),
        (&["-o", "/no/such/folder/p.json"], 125, "cannot write"),
    ] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mark = folder.path().join("mark");
        cohort()
            .arg("profile")
            .args(words)
            .args(["--", "touch"])
            .arg(&mark)
            .assert()
            .code(status)
            .stderr(predicates::str::contains(says));
        assert!(!mark.exists());
    }
}
