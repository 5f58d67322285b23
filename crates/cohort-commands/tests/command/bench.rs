//! `cohort bench`: what it prints, that it repeats itself, what it refuses.

use crate::cohort;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::{contains, starts_with};
use serde_json::Value;

const THERE: [&str; 11] = [
    "bench",
    "--on",
    "xeon-e7-4850x4",
    "--workload",
    "lbench",
    "--locks",
    "ticket,mcs",
    "--threads",
    "1,12",
    "--seconds",
    "0.0005",
];

fn output(arguments: &[&str]) -> Vec<u8> {
    let output = cohort().args(arguments).output().expect("the command runs");
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    output.stdout
}

/// The envelope's words, on a machine that is quickly simulated.
const ENVELOPE: [&str; 11] = [
    "bench",
    "--envelope",
    "--served",
    "--on",
    "i5-12500",
    "--workload",
    "lbench",
    "--locks",
    "default,mcs",
    "--seconds",
    "0.0003",
];

#[test]
fn the_envelope_shows_each_points_best_and_the_shares_of_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let plot = folder.path().join("e.svg");
    let plot = plot.to_str().expect("a plain path");
    let said = output(&[&ENVELOPE[..], &["--plot", plot]].concat());
    let said = String::from_utf8(said).expect("text");
    for words in ["best raw", "both", "over posix", "i5-12500 (12 CPUs"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let widest = said.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{widest:?} columns:\n{said}");
    let drawn = std::fs::read_to_string(plot).expect("a plot was written");
    assert!(drawn.contains("futex-hmcs") && drawn.contains("lbench"));

    let json = [&ENVELOPE[..], &["--json"]].concat();
    let once = output(&json);
    assert_eq!(once, output(&json), "the same twice");
    let sheet: Value = serde_json::from_slice(&once).expect("it prints JSON");
    assert_eq!(sheet["wanted"], 6);
    let points = sheet["points"].as_array().expect("points");
    for run in points
        .iter()
        .flat_map(|point| point["runs"].as_array())
        .flatten()
    {
        assert!(run["per_second"].as_f64() > Some(0.0), "{run}");
    }
}

#[test]
fn the_envelope_refuses_what_it_has_itself() {
    for (more, why) in [
        (["--placement", "free"], "fixes placement"),
        (["--critical", "1us"], "fixes placement"),
        (["--threads", "2"], "cannot be used with"),
        (["--locks", "near"], "cannot be served"),
    ] {
        cohort()
            .args(["bench", "--envelope", "--served"])
            .args(more)
            .assert()
            .code(2)
            .stderr(contains(why));
    }
}

/// Twice, and however many of this machine's CPUs take part.
#[test]
fn a_simulated_benchmark_gives_the_same_bytes() {
    let run = |folder: &std::path::Path, cpus: Option<&str>| {
        let mut command = cohort();
        if let Some(cpus) = cpus {
            command.env("RAYON_NUM_THREADS", cpus);
        }
        let output = command
            .args(THERE)
            .args(["--json", "--plot", "p.svg"])
            .current_dir(folder)
            .output()
            .expect("the command runs");
        assert!(output.status.success(), "{output:?}");
        let plot = std::fs::read_to_string(folder.join("p.svg")).expect("a plot was written");
        (output.stdout, plot)
    };
    let folder = || tempfile::tempdir().expect("a temporary folder");
    let first = run(folder().path(), None);
    assert_eq!(first, run(folder().path(), None));
    assert_eq!(first, run(folder().path(), Some("1")));
    for words in ["ticket", "mcs", "threads", "simulated"] {
        assert!(first.1.contains(words), "{words}");
    }
}

/// A row and a place on a curve each, also under a cohort lock without a bound on hand-offs.
#[test]
fn several_intervals_are_measured_one_by_one() {
    const SWEPT: [&str; 13] = [
        "bench",
        "--on",
        "xeon-e7-4850x4",
        "--workload",
        "interval",
        "--locks",
        "mcs,posix,c-tkt-mcs/endless,sanl",
        "--threads",
        "12",
        "--seconds",
        "0.0003",
        "--interval",
        "100,10000,100",
    ];
    let folder = tempfile::tempdir().expect("a temporary folder");
    let plot = folder.path().join("i.svg");
    let plot = plot.to_str().expect("a plain path");
    let said = output(&[&SWEPT[..], &["--detail", "--plot", plot]].concat());
    let said = String::from_utf8(said).expect("text");
    for words in [
        "apart",
        "cycles",
        "c-tkt-mcs/endless",
        "sanl with 12 threads, interval 100 cycles",
        "nominations:",
        "mode-switches:",
        "request density: 0.",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let widest = said.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{widest:?} columns:\n{said}");
    let drawn = std::fs::read_to_string(plot).expect("a plot was written");
    for words in [
        "cycles per critical section",
        "cycles between critical sections",
        "sanl",
    ] {
        assert!(drawn.contains(words), "{words}");
    }
    let json = output(&[&SWEPT[..], &["--json"]].concat());
    let report: Value = serde_json::from_slice(&json).expect("JSON");
    assert!(report["options"].get("outside").is_none(), "{report}");
    let points = report["points"].as_array().expect("points");
    let apart: Vec<&str> = points
        .iter()
        .filter_map(|point| point["outside"].as_str())
        .collect();
    assert_eq!(apart, ["100 cycles", "10000 cycles"].repeat(4));
    for point in points {
        let counts = &point["middle"]["counts"];
        assert_eq!(
            counts["served"].is_u64(),
            point["lock"] == "sanl",
            "{point}"
        );
    }
    cohort()
        .args(["bench", "--workload", "pingpong", "--interval", "1"])
        .assert()
        .code(2)
        .stderr(contains("does not take --outside"));
}

#[test]
fn a_simulated_result_says_that_it_is_one() {
    let said = String::from_utf8(output(&THERE)).expect("text");
    let words: Vec<&str> = said.split_whitespace().collect();
    assert!(
        words
            .join(" ")
            .contains("Simulated on xeon-e7-4850x4 (file "),
        "{said}"
    );
    let mut arguments = THERE.to_vec();
    arguments.push("--json");
    let report: Value = serde_json::from_slice(&output(&arguments)).expect("JSON");
    assert_eq!(report["on"], "xeon-e7-4850x4");
    let points = report["points"].as_array().expect("points");
    assert_eq!(points.len(), 4);
    for point in points {
        let facts = &point["middle"]["simulated"];
        assert_eq!(facts["hash"], report["hash"]);
        assert!(facts["because"].is_string(), "{facts}");
        assert!(point["middle"]["operations"].as_u64() > Some(0));
    }
}

#[test]
fn this_machine_is_measured_in_rounds() {
    let arguments = [
        "bench",
        "--workload",
        "loop",
        "--locks",
        "futex,posix,ticket",
        "--threads",
        "1",
        "--seconds",
        "0.02",
        "--rounds",
        "2",
        "--json",
    ];
    let report: Value = serde_json::from_slice(&output(&arguments)).expect("JSON");
    assert_eq!(report["on"], "native");
    for point in report["points"].as_array().expect("points") {
        assert_eq!(point["rounds"].as_array().expect("rounds").len(), 2);
        assert!(point["middle"]["acquire"]["p50"].as_u64() > Some(0));
    }
}

#[test]
fn readers_and_writers_are_both_counted_under_every_lock() {
    let mut arguments = THERE.to_vec();
    arguments.truncate(3);
    arguments.extend(["--workload", "rw", "--reads", "50", "--threads", "12"]);
    arguments.extend(["--seconds", "0.0005", "--json"]);
    for locks in [&[][..], &["--locks", "ticket"]] {
        let report = output(&[&arguments[..], locks].concat());
        let report: Value = serde_json::from_slice(&report).expect("JSON");
        let points = report["points"].as_array().expect("points");
        let all = cohort::catalogue::SHARED.len();
        assert_eq!(points.len(), if locks.is_empty() { all } else { 1 });
        for point in points {
            for what in ["reads", "writes"] {
                let count = point["middle"]["counts"][what].as_u64();
                assert!(count > Some(0), "{what}: {point}");
            }
        }
    }
}

#[test]
fn the_default_of_readers_and_writers_is_the_rwlock_that_programs_have() {
    for (machine, rwlock) in [("epyc-7352x2", "c-rw-np"), ("i5-12500", "rwlock")] {
        let names = ["--locks", "default,rwlock", "--threads", "1"];
        let arguments = [
            "bench",
            "--on",
            machine,
            "--workload",
            "rw",
            "--seconds",
            "0.0005",
        ];
        let report = output(&[&arguments[..], &names, &["--json"]].concat());
        let report: Value = serde_json::from_slice(&report).expect("JSON");
        let points = report["points"].as_array().expect("points");
        assert_eq!(points[0]["lock"], rwlock, "{machine}");
        let apart = usize::from(rwlock != "rwlock");
        assert_eq!(points.len(), 1 + apart, "{machine}");
    }
}

#[test]
fn all_locks_and_ranges_of_threads_have_a_short_form() {
    let mut arguments = THERE.to_vec();
    arguments[6] = "all";
    arguments[8] = "1-2";
    arguments.push("--json");
    let report: Value = serde_json::from_slice(&output(&arguments)).expect("JSON");
    let points = report["points"].as_array().expect("points");
    assert_eq!(points.len(), 2 * cohort::catalogue::LOCKS.len());
}

#[test]
fn a_plot_of_one_count_of_threads_has_one_tick() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("p.svg");
    let mut arguments = THERE.to_vec();
    arguments[8] = "12";
    arguments.extend(["--plot", file.to_str().expect("a plain name")]);
    output(&arguments);
    let plot = std::fs::read_to_string(&file).expect("a plot was written");
    let panels = plot.matches("\nthreads\n").count();
    assert!(panels > 0, "{plot}");
    assert_eq!(plot.matches("\n12\n").count(), panels, "{plot}");
    for other in ["\n11\n", "\n13\n", "\n8\n", "\n16\n"] {
        assert!(!plot.contains(other), "{plot}");
    }
}

/// Before anything is measured.
#[test]
fn a_plot_that_cannot_be_written_is_refused() {
    for (file, status) in [("p.png", 2), ("p", 2), ("/absent/p.svg", 125)] {
        for arguments in [
            &["bench", "--workload", "lbench"][..],
            &["demo"],
            &["compare", "true"],
        ] {
            let mut command = cohort();
            command.args([&arguments[..1], &["--plot", file], &arguments[1..]].concat());
            command
                .assert()
                .code(status)
                .stdout("")
                .stderr(contains(file));
        }
    }
}

#[test]
fn details_are_shown_on_request() {
    let mut arguments = THERE.to_vec();
    arguments.push("--detail");
    let said = String::from_utf8(output(&arguments)).expect("text");
    for words in [
        "by thread:",
        "sections by numa:",
        "hand-overs within system:",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn every_workload_is_listed_and_explained() {
    let said = String::from_utf8(output(&["bench", "--list"])).expect("text");
    let help = String::from_utf8(output(&["bench", "--help"])).expect("text");
    for workload in cohort_lab::bench::WORKLOADS {
        assert!(said.contains(workload.name), "{}", workload.name);
        assert!(
            help.contains(&format!("- {}:", workload.name)),
            "{}",
            workload.name
        );
    }
}

/// Trees of queues at chosen levels, one of them unknown to kernels.
#[test]
fn trees_are_named_by_their_levels() {
    let said = output(&[
        "bench",
        "--on",
        "superdome-x",
        "--workload",
        "loop",
        "--locks",
        "hmcs-1/64,hmcs-t-1@system/peers-2,hmcs-3@numa,blade,system/64,ahmcs-t-4@core,numa,blade,system",
        "--threads",
        "1,40",
        "--timeout",
        "10000",
        "--seconds",
        "0.0001",
        "--json",
    ]);
    let report: Value = serde_json::from_slice(&said).expect("JSON");
    let points = report["points"].as_array().expect("points");
    let mut locks: Vec<&str> = points.iter().filter_map(|at| at["lock"].as_str()).collect();
    locks.dedup();
    assert_eq!(
        locks,
        [
            "hmcs-1/64",
            "hmcs-t-1/peers-2",
            "hmcs-3@numa,blade,system/64",
            "ahmcs-t-4@core,numa,blade,system"
        ]
    );
    for point in points {
        assert_eq!(point["wait"], "busy", "{point}");
        assert!(point["middle"]["sections"].as_u64() > Some(0), "{point}");
    }
    cohort()
        .args(["bench", "--workload", "loop", "--threads", "1"])
        .args(["--locks", "hmcs-t-2@blade,system"])
        .assert()
        .code(2)
        .stderr(contains(
            "the level `blade` exists on simulated machines only",
        ));
}

/// A waiter that cannot leave its queue tries again and again until its time is up.
#[test]
fn a_timeout_ends_the_wait_for_any_lock() {
    let said = output(&[
        "bench",
        "--on",
        "i5-12500",
        "--workload",
        "splay",
        "--locks",
        "mcs,hmcs-2,c-tkt-tkt/7,clof:mcs-ticket",
        "--threads",
        "12",
        "--timeout",
        "500",
        "--seconds",
        "0.0002",
        "--json",
    ]);
    let report: Value = serde_json::from_slice(&said).expect("JSON");
    let points = report["points"].as_array().expect("points");
    assert_eq!(points.len(), 4);
    for point in points {
        assert!(point["middle"]["abandoned"].as_u64() > Some(0), "{point}");
        let longest = point["middle"]["acquire"]["most"].as_u64();
        assert!(longest < Some(5_000), "{point}");
    }
}

#[test]
fn slips_are_answered_with_what_was_meant() {
    for (arguments, words) in [
        (&["--workload", "lbnch"][..], "`lbench`"),
        (&["--workload", "lbench", "--locks", "tiket"], "`ticket`"),
        (
            &["--workload", "lbench", "--on", "kunpeng-920"],
            "`kunpeng-920x2`",
        ),
        (
            &["--workload", "lbench", "--on", "./absent.toml"],
            "./absent.toml",
        ),
        (&["--workload", "lbench", "--locks", "none"], "pingpong"),
        (
            &["--workload", "pingpong", "--lines", "3"],
            "does not take --lines",
        ),
        (&["--workload", "lbench", "--outside", "4 miles"], "4us"),
        (&["--workload", "lbench", "--threads", "0"], "--threads"),
        (
            &["--workload", "lbench", "--threads", "90000"],
            "--oversubscribe",
        ),
        (
            &[
                "--workload",
                "lbench",
                "--on",
                "epyc-7352x2",
                "--threads",
                "97",
            ],
            "--oversubscribe",
        ),
        (
            &["--workload", "lbench", "--locks", "posix-adaptive"],
            "--on",
        ),
        (
            &[
                "--workload",
                "lbench",
                "--locks",
                "mcs,posix",
                "--wait",
                "busy",
            ],
            "`posix`: its waiters always sleep",
        ),
        (&[], "--workload"),
    ] {
        cohort()
            .arg("bench")
            .args(arguments)
            .assert()
            .code(2)
            .stdout("")
            .stderr(starts_with("cohort: ").and(contains(words)));
    }
}

/// The queue of `mcs` is the same raw and served; what stands round it is not.
#[test]
fn what_programs_get_is_measured() {
    let run = |more: &[&str]| {
        let arguments = [&THERE[..], &["--wait", "park", "--json"], more].concat();
        let mut page: Value = serde_json::from_slice(&output(&arguments)).expect("JSON");
        (page["served"].take(), page["points"].take())
    };
    let (raw, served) = (run(&[]), run(&["--served"]));
    assert_eq!((raw.0, served.0), (false.into(), true.into()));
    assert_ne!(raw.1, served.1);
    let locks = [
        "--locks",
        "futex-hmcs,futex,posix,mcs,hmcs-4,clof:mcs-ticket",
    ];
    let arguments = [&THERE[..5], &["--served"], &locks[..], &THERE[7..]].concat();
    let said = String::from_utf8(output(&arguments)).expect("text");
    assert!(said.contains("as in programs"), "{said}");
    let here = [
        "bench",
        "--served",
        "--workload",
        "lbench",
        "--threads",
        "2",
        "--rounds",
        "1",
    ];
    for lock in ["mcs", "hmcs-2", "clof:mcs-ticket", "posix"] {
        output(&[&here[..], &["--seconds", "0.02", "--locks", lock]].concat());
    }
    for lock in ["near", "c-tkt-tkt/7"] {
        cohort()
            .args(&THERE[..5])
            .args(["--served", "--locks", lock])
            .assert()
            .code(2)
            .stderr(contains("cannot be served"));
    }
}

/// A name that is longer than its column stands above its figures.
#[test]
fn long_names_stay_whole() {
    let name = "clof:ticket-hemlock-mcs-clh";
    let output = cohort()
        .args(["bench", "--workload", "loop", "--threads", "1"])
        .args(["--seconds", "0.02", "--rounds", "1", "--locks"])
        .arg(format!("mcs,{name}"))
        .output()
        .expect("the command runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert!(said.lines().any(|line| line.trim_end() == name), "{said}");
}

/// Ctrl-C shows the measured points: the signal is sent later each time, until there is a point.
#[test]
fn points_that_were_measured_survive_a_signal() {
    use rustix::process::{Pid, Signal, kill_process};
    use std::process::{Command, Stdio};
    use std::time::Duration;

    for seconds in [1, 4, 16, 64] {
        let child = Command::new(crate::command())
            .args(["bench", "--workload", "loop", "--threads", "1"])
            .args([
                "--seconds",
                "0.1",
                "--rounds",
                "10000",
                "--locks",
                "tas,mcs",
            ])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command runs");
        std::thread::sleep(Duration::from_secs(seconds));
        kill_process(Pid::from_child(&child), Signal::INT).expect("our child");
        let output = child.wait_with_output().expect("it ends");
        let (said, told) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        if output.status.code() == Some(130) && told.contains("of 2 points measured") {
            let is_found = !told.contains("interrupted: 0 of");
            assert_eq!(said.contains("tas"), is_found, "{said}{told}");
            if is_found {
                return;
            }
        }
    }
    panic!("no point was measured");
}

/// A holder that reacquires at once changes the word between each look of a waiter and its exchange (8
/// threads).  A thread that leaves its time slice reaches the gate while another is woken there (4 threads).
#[test]
fn waiters_get_past_a_holder_that_reacquires_at_once() {
    for (machine, threads) in [
        ("kunpeng-920x2", 8),
        ("haswell-ep-2s", 8),
        ("kunpeng-920x2", 4),
        ("epyc-7352x2", 4),
    ] {
        let output = cohort()
            .args(["bench", "--on", machine, "--served", "--json"])
            .args(["--workload", "map64", "--locks", "default"])
            .args(["--threads", &threads.to_string(), "--seconds", "0.05"])
            .output()
            .expect("the command runs");
        let said: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let served = said["points"][0]["middle"]["per_thread"]
            .as_array()
            .expect("a list");
        assert_eq!(served.len(), threads);
        assert!(served.iter().all(|sections| *sections != 0), "{served:?}");
    }
}

/// The levels of a machine of 4,096 CPUs in 64 nodes.
const LEVELS: &str = "package:16 numa:4 cache:4 core:8 pu:2";

/// That machine's file, with these levels.
fn big(hierarchy: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("big.toml");
    let text = include_str!("big.toml");
    assert!(text.contains(LEVELS));
    std::fs::write(&path, text.replace(LEVELS, hierarchy)).expect("a file");
    let path = path.to_str().expect("a plain path").to_owned();
    (folder, path)
}

/// What a point of a run on [`big`] says.
struct Large {
    lock: String,
    threads: usize,
    per_thread: Vec<f64>,
    /// The part of the hand-overs that stays in a node.
    local: f64,
}

fn large(machine: &str, locks: &str, threads: &str) -> Vec<Large> {
    let said = output(&[
        "bench",
        "--on",
        machine,
        "--workload",
        "loop",
        "--locks",
        locks,
        "--threads",
        threads,
        "--placement",
        "scattered",
        "--seconds",
        "0.004",
        "--json",
    ]);
    let said: Value = serde_json::from_slice(&said).expect("JSON");
    let points = said["points"].as_array().expect("points").iter();
    points
        .map(|point| {
            let middle = &point["middle"];
            let counts = middle["per_thread"].as_array().expect("threads");
            let hand_overs = middle["migrations"].as_array().expect("levels");
            let count = |within: &[&str]| -> f64 {
                let here = |level: &&Value| within.contains(&level["within"].as_str().unwrap());
                let here = hand_overs.iter().filter(here);
                here.map(|level| level["count"].as_f64().unwrap()).sum()
            };
            let near = count(&["core", "cache", "numa"]);
            Large {
                lock: point["lock"].as_str().expect("a name").to_owned(),
                threads: point["threads"].as_u64().expect("a number") as usize,
                per_thread: counts.iter().map(|count| count.as_f64().unwrap()).collect(),
                local: near / (near + count(&["package", "system"])).max(1.0),
            }
        })
        .collect()
}

/// No two of 64 nodes share a low lock: of 1,024 threads, 16 to a node, a cohort lock passes within
/// a node but for one hand-over in 101. No thread gains or loses more than its cohort's longest
/// turn: with a mean of m acquisitions and at most t in a turn, Jain's index is m² / (m² + t²).
#[test]
fn every_cohort_of_a_machine_of_4096_cpus_has_its_own_place() {
    let (_folder, machine) = big(LEVELS);
    let points = large(&machine, "mcs,c-mcs-mcs,hmcs-5/2,hmcs-5", "1,64,1024");
    assert_eq!(points.len(), 12);
    for point in points {
        let Large {
            lock,
            threads,
            per_thread,
            local,
        } = point;
        let mean = per_thread.iter().sum::<f64>() / threads as f64;
        let squares = per_thread.iter().map(|count| count * count).sum::<f64>();
        let jain = mean * mean * threads as f64 / squares;
        let in_a_node = (threads / 64).max(1) as f64;
        let turn = match lock.as_str() {
            "mcs" => Some(1.0),
            "c-mcs-mcs" => Some(101.0 / in_a_node),
            // Two in a row at each of four levels.
            "hmcs-5/2" => Some(16.0),
            // A package's turn, 128⁴ acquisitions, is longer than the run.
            _ => None,
        };
        if let Some(turn) = turn {
            let least = mean * mean / (mean * mean + turn * turn);
            assert!(jain >= least, "{lock} × {threads}: {jain} < {least}");
        }
        assert!(mean > 1.0, "{lock} × {threads}: {mean}");
        if threads == 1024 && ["c-mcs-mcs", "hmcs-5"].contains(&lock.as_str()) {
            assert!(local > 0.95, "{lock}: {local}");
        }
    }
}

/// Levels of machine files that are none of the locks': the error names the level, not the list.
#[test]
fn a_level_that_locks_cannot_serve_is_named() {
    let (_folder, machine) = big("package:16 die:1 numa:4 cluster:1 cache:4 core:8 pu:2");
    for level in ["die", "cluster"] {
        let lock = format!("clof:mcs-mcs@{level},system");
        let mut command = cohort();
        command.args(["bench", "--on", &machine, "--workload", "loop"]);
        command.args(["--locks", &lock, "--threads", "1"]);
        let refused = command.assert().code(2);
        refused.stderr(contains(format!(
            "unknown level `{level}`, expected one of core"
        )));
    }
}

/// More cohorts than a lock has room for: where they are written, and what to do.
#[test]
fn a_lock_without_room_for_each_cohort_is_refused_by_file_and_line() {
    let (_folder, machine) = big("package:13 numa:5 cache:4 core:4 pu:2");
    let bench = |locks: &str| {
        let mut command = cohort();
        command.args([
            "bench",
            "--on",
            &machine,
            "--workload",
            "loop",
            "--locks",
            locks,
        ]);
        command.args(["--threads", "1", "--seconds", "0.0001"]);
        command.assert()
    };
    for lock in [
        "c-mcs-mcs",
        "futex-hmcs",
        "clof:mcs-mcs@numa,system/compiled",
    ] {
        let named = format!("`{lock}` has room for ");
        bench(lock).code(2).stderr(
            contains("big.toml:4: the level `numa` has 65 cohorts")
                .or(contains("big.toml:4: the level `cache` has 260 cohorts"))
                .and(contains(named))
                .and(contains("; use hmcs-2@")),
        );
    }
    for lock in [
        "mcs",
        "hmcs-5",
        "clof:mcs-mcs@core,system",
        "hmcs-2@numa,system",
    ] {
        bench(lock).success();
    }
    bench("hmcs-6").code(2).stderr(contains("1 to 5 levels"));
}

/// A composition of `mcs` queues built from its name hands over like `hmcs` of the same levels: no line
/// moves that the tree does not move too.
#[test]
fn a_composition_under_programs_keeps_up_with_the_tree_of_its_levels() {
    let output = output(&[
        "bench",
        "--on",
        "haswell-ep-2s",
        "--workload",
        "leveldb",
        "--served",
        "--locks",
        "hmcs-2@numa,system,clof:mcs-mcs@numa,system",
        "--threads",
        "24",
        "--seconds",
        "0.0005",
        "--json",
    ]);
    let page: Value = serde_json::from_slice(&output).expect("JSON");
    let sections = |point: usize| {
        let sections = &page["points"][point]["middle"]["sections"];
        sections.as_f64().expect("a number")
    };
    // With the kind of each lock on its own line it had 0.75.
    assert!(sections(1) > 0.95 * sections(0), "{page:#}");
}
