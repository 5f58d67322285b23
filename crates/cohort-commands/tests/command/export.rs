//! `cohort export`: metrics that a scraper can read, and what it refuses.

use crate::debug::has_containers;
use crate::top::{Running, compile};
use crate::{LEFT_OUT, cohort};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::{contains, is_empty};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The samples of a text in OpenMetrics, which must be one: families with types, each sample once and
/// behind its family, counters that end in `_total`, an end.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let body = text.strip_suffix("# EOF\n").expect("an end");
    let mut types = BTreeMap::new();
    let mut closed = BTreeSet::new();
    let mut family = String::new();
    let mut samples = BTreeMap::new();
    for line in body.lines() {
        if let Some(about) = line.strip_prefix("# ") {
            let words: Vec<&str> = about.splitn(3, ' ').collect();
            assert!(["TYPE", "HELP", "UNIT"].contains(&words[0]), "{line}");
            if words[1] != family {
                assert!(closed.insert(words[1].to_owned()), "twice: {line}");
                words[1].clone_into(&mut family);
            }
            if words[0] == "TYPE" {
                types.insert(family.clone(), words[2].to_owned());
            }
            assert!(words[0] != "UNIT" || family.ends_with(words[2]), "{line}");
            continue;
        }
        let (key, value) = line.rsplit_once(' ').expect("a value");
        let name = key.split('{').next().expect("a name");
        let expected = match types[&family].as_str() {
            "counter" => format!("{family}_total"),
            "gauge" => family.clone(),
            other => panic!("{other} in {line}"),
        };
        assert_eq!(name, expected, "{line}");
        assert!(key.contains("{lock=\"") && key.ends_with("\"}"), "{line}");
        let value: f64 = value.parse().expect("a number");
        assert!(value >= 0.0 && value.is_finite(), "{line}");
        assert!(
            samples.insert(key.to_owned(), value).is_none(),
            "twice: {line}"
        );
    }
    assert_eq!(types.len(), 4, "{text}");
    samples
}

/// Whether the Prometheus project's own parser reads it; nothing, with a line that says so, where it is
/// missing.
fn parsed_by_prometheus(text: &str) {
    let parser = "import sys; from prometheus_client.openmetrics.parser import text_string_to_metric_families as p; \
         print(len(list(p(sys.stdin.read()))))";
    let python = |code: &str| {
        let mut command = Command::new("/usr/bin/python3");
        command
            .args(["-c", code])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.spawn()
    };
    let is_here = python("import prometheus_client").and_then(Child::wait_with_output);
    if !is_here.is_ok_and(|output| output.status.success()) {
        eprintln!(
            "skip: no parser of Prometheus here; install the package python3-prometheus-client"
        );
        return;
    }
    let mut child = python(parser).expect("it ran before");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(text.as_bytes()).expect("it reads");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.stdout, b"4\n", "{output:?}\n{text}");
}

fn of<'a>(samples: &'a BTreeMap<String, f64>, name: &str, lock: &str) -> Vec<&'a f64> {
    let begin = format!("{name}{{lock=\"{lock}\"");
    samples
        .iter()
        .filter(|(key, _)| key.starts_with(&begin))
        .map(|(_, value)| value)
        .collect()
}

fn check(text: &str, process: &str) {
    let samples = samples(text);
    for (name, least) in [
        ("cohort_lock_wait_seconds_total", 0.1),
        ("cohort_lock_acquisitions_total", 1.0),
        ("cohort_lock_contended_total", 1.0),
        ("cohort_lock_waiters", 0.0),
    ] {
        let found = of(&samples, name, "queue_lock");
        assert!(found.len() == 1 && *found[0] >= least, "{name}\n{text}");
    }
    let labels = format!("kind=\"mutex\",program=\"queue\",process=\"{process}\"}}");
    assert!(samples.keys().any(|key| key.ends_with(&labels)), "{text}");
    // One drains while two wait.
    assert!(
        *of(&samples, "cohort_lock_waiters", "queue_lock")[0] <= 3.0,
        "{text}"
    );
    parsed_by_prometheus(text);
}

#[test]
fn a_file_of_metrics_is_written() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let running = Running::queue(&folder, "50");
    let own = tempfile::tempdir().expect("a temporary folder");
    cohort()
        .args(["export", "--once", "--interval", "1", "--textfile"])
        .arg(own.path())
        .arg(running.id())
        .assert()
        .code(0)
        .stdout(is_empty())
        .stderr(is_empty());
    let file = own.path().join("cohort.prom");
    let text = std::fs::read_to_string(&file).expect("it was written");
    check(&text, &running.id());
    let names = std::fs::read_dir(own.path()).expect("a folder").count();
    assert_eq!(names, 1, "something is left beside {}", file.display());
}

/// In a container, where no process of another test is seen: each can be watched by one command only.
#[test]
fn processes_under_cohort_are_found() {
    if !has_containers() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = compile("../../examples/profile/queue.c", &folder);
    let script = "\"$0\" run --observe -- \"$1\" 50 > /dev/null & \
                  exec \"$0\" export --once --interval 4 --textfile \"$2\"";
    let output = Command::new("unshare")
        .args(["-rpf", "--mount-proc", "sh", "-c", script, crate::command()])
        .arg(&program)
        .arg(folder.path())
        .stdout(Stdio::null())
        .output()
        .expect("there is unshare");
    assert!(output.status.success(), "{output:?}");
    let text = std::fs::read_to_string(folder.path().join("cohort.prom"));
    let text = text.expect("it was written");
    let samples = samples(&text);
    let taken = of(&samples, "cohort_lock_acquisitions_total", "queue_lock");
    assert!(taken.len() == 1 && *taken[0] > 0.0, "{text}");
}

/// A command that listens, and where.
fn listening(words: &[&str]) -> (Child, String) {
    let mut command = Command::new(crate::command());
    for name in LEFT_OUT {
        command.env_remove(name);
    }
    let mut child = command
        .args(["export", "--listen", "127.0.0.1:0"])
        .args(words)
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command runs");
    let mut line = String::new();
    let errors = child.stderr.take().expect("a pipe");
    BufReader::new(errors).read_line(&mut line).expect("text");
    let (_, address) = line
        .trim_end()
        .split_once("http://")
        .unwrap_or_else(|| panic!("{line}"));
    let address = address.strip_suffix("/metrics").expect("a path").to_owned();
    (child, address)
}

/// The status and the body of an answer.
fn asked(address: &str, line: &str) -> (u32, String, String) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .expect("a limit");
    write!(stream, "{line} HTTP/1.0\r\nHost: {address}\r\n\r\n").expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a body");
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    (status.expect("a status"), head.to_owned(), body.to_owned())
}

#[test]
fn scrapes_are_answered() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let running = Running::queue(&folder, "50");
    let (mut child, address) = listening(&[&running.id()]);
    std::thread::sleep(Duration::from_secs(1));
    let (status, head, body) = asked(&address, "GET /metrics");
    assert_eq!(status, 200, "{head}");
    assert!(
        head.contains("Content-Type: application/openmetrics-text; version=1.0.0"),
        "{head}"
    );
    check(&body, &running.id());
    // Counters do not fall.
    let before = samples(&body);
    let (_, _, body) = asked(&address, "GET /metrics?x=1");
    let after = samples(&body);
    for (key, value) in before.iter().filter(|(key, _)| key.contains("_total{")) {
        assert!(after[key] >= *value, "{key}");
    }
    assert_eq!(asked(&address, "GET /").0, 404);
    assert_eq!(asked(&address, "POST /metrics").0, 405);
    // A port that is taken.
    cohort()
        .args(["export", "--listen", &address])
        .assert()
        .code(125)
        .stderr(
            contains(format!("cannot listen on {address}")).and(contains("choose another port")),
        );
    // It ends with the process that it was given.
    drop(running);
    let last = Instant::now() + Duration::from_secs(20);
    while child.try_wait().expect("it is ours").is_none() {
        let _ = TcpStream::connect(&address).map(|_| asked(&address, "GET /metrics"));
        assert!(Instant::now() < last, "it goes on");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(child.wait().expect("it ended").code(), Some(0));
}

#[test]
fn a_folder_for_metrics_is_made() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let metrics = folder.path().join("m");
    let textfile = metrics.to_str().expect("plain");
    for told in [true, false] {
        let words = [
            "export",
            "--once",
            "--interval",
            "0.1",
            "--textfile",
            textfile,
        ];
        let output = cohort().args(words).output().expect("it runs");
        assert!(output.status.success(), "{output:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(said.contains("made the folder"), told, "{said}");
        assert!(metrics.join("cohort.prom").is_file());
    }
}

#[test]
fn what_cannot_be_exported_is_refused_at_once() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("file");
    std::fs::write(&file, "").expect("it is ours");
    let file = file.to_str().expect("plain");
    for (words, code, why) in [
        (vec!["export"], 2, "--textfile"),
        (
            vec!["export", "--listen", "0.0.0.0:9464"],
            2,
            "no authentication",
        ),
        (vec!["export", "--listen", "nine"], 2, "127.0.0.1:9464"),
        (
            vec!["export", "--textfile", "/absent/folder"],
            125,
            "create it",
        ),
        (vec!["export", "--textfile", file], 125, "is not a folder"),
        (vec!["export", "--textfile", "/proc/self"], 125, "cannot"),
        (
            vec!["export", "--textfile", ".", "4194999"],
            2,
            "no process",
        ),
        (
            vec!["export", "--textfile", ".", "--interval", "0"],
            2,
            "0.05",
        ),
    ] {
        cohort()
            .current_dir(folder.path())
            .args(&words)
            .assert()
            .code(code)
            .stdout(is_empty())
            .stderr(contains(why));
    }
    let left = std::fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(left, 1, "something was written");
    assert!(!Path::new("cohort.prom").exists());
}

/// SIGTERM ends it like a service, and removes the file with stale figures.
#[test]
fn the_file_goes_with_the_command() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let running = Running::queue(&folder, "50");
    let own = tempfile::tempdir().expect("a temporary folder");
    let mut child = Command::new(crate::command())
        .args(["export", "--interval", "0.2", "--textfile"])
        .arg(own.path())
        .arg(running.id())
        .spawn()
        .expect("the command runs");
    let file = own.path().join("cohort.prom");
    let last = Instant::now() + Duration::from_secs(20);
    while !file.exists() {
        assert!(Instant::now() < last, "no file");
        std::thread::sleep(Duration::from_millis(10));
    }
    samples(&std::fs::read_to_string(&file).expect("whole at any time"));
    let id = child.id().to_string();
    let sent = Command::new("kill").args(["-TERM", &id]).status();
    assert!(sent.expect("there is kill").success());
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    assert!(!file.exists());
}
