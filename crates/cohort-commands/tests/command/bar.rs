//! `cohort bar`: simulated bars, drawn machines, what it refuses and what a signal leaves.

use crate::{LEFT_OUT, cohort};
use predicates::str::contains;
use rustix::process::{Pid, Signal, kill_process};
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn drawn_machines_are_refused_where_none_is_simulated() {
    for (words, why) in [
        (
            &["life", "--synthetic", "2"][..],
            "--synthetic adds simulated machines",
        ),
        (&["--synthetic", "2"], "--synthetic adds simulated machines"),
        (&["envelope", "--synthetic", "0"], "0 is not in 1..=1000"),
        (
            &["envelope", "--synthetic", "1001"],
            "1001 is not in 1..=1000",
        ),
        (&["envelope", "--synthetic", "two"], "two"),
        (&["envelope", "--seed", "3"], "--synthetic"),
        (&["envelope", "--synthetic", "2", "--seed", "-1"], "-1"),
    ] {
        cohort()
            .arg("bar")
            .args(words)
            .assert()
            .code(2)
            .stderr(contains(why));
    }
}

#[test]
fn the_envelope_has_a_bar_of_its_worst_machine() {
    cohort()
        .args(["bar", "--list", "envelope"])
        .assert()
        .code(0)
        .stdout(contains("envelope-machine-best"));
}

/// A machine that the bar names is run again by its name and by its file, alike.
#[test]
fn a_drawn_machine_is_run_again_by_its_name_and_by_its_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = cohort()
        .args(["machines", "show", "drawn-7-3", "--file"])
        .output()
        .expect("the command runs");
    assert!(file.status.success(), "{file:?}");
    let path = folder.path().join("drawn-7-3.toml");
    std::fs::write(&path, file.stdout).expect("the folder is writable");
    let run = |machine: &str| {
        let output = cohort()
            .args(["bench", "--on", machine, "--served", "--workload", "lbench"])
            .args(["--threads", "4", "--locks", "futex-hmcs,posix"])
            .args(["--placement", "free", "--critical", "20000ns"])
            .args(["--seconds", "0.0003"])
            .output()
            .expect("the command runs");
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).expect("text");
        assert!(text.contains("drawn-7-3"), "{text}");
        text
    };
    assert_eq!(run("drawn-7-3"), run(path.to_str().expect("a plain path")));
    cohort()
        .args(["bench", "--on", "drawn-7", "--workload", "lbench"])
        .assert()
        .code(2)
        .stderr(contains("drawn-SEED-NUMBER"));
}

/// A signal ends the bar with the points that are complete, or says that there is none.
#[test]
fn a_signal_leaves_what_was_measured() {
    let mut command = Command::new(crate::command());
    command.args(["bar", "envelope-machine", "--synthetic", "2", "--seed", "7"]);
    for name in LEFT_OUT {
        command.env_remove(name);
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the command runs");
    std::thread::sleep(Duration::from_secs(3));
    assert!(child.try_wait().expect("our child").is_none(), "it ended");
    kill_process(Pid::from_child(&child), Signal::INT).expect("our child");
    let output = child.wait_with_output().expect("our child");
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    let has_points = said.contains("envelope-machine") && said.contains("simulated points");
    assert!(
        has_points || complained.contains("before the first target was measured"),
        "{output:?}"
    );
}
