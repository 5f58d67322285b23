//! The command ends as the program ends, and forwards signals until then.

use crate::{LEFT_OUT, cohort, compiled};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};

/// Becoming the program, and staying its parent.
const WAYS: [&[&str]; 2] = [&[], &["--report"]];

#[test]
fn exit_statuses() {
    for way in WAYS {
        for status in [0, 1, 2, 7, 125, 126, 127, 255] {
            cohort()
                .arg("run")
                .args(way)
                .args(["--", "sh", "-c", &format!("exit {status}")])
                .assert()
                .code(status);
        }
    }
}

#[test]
fn deaths_by_signal() {
    for way in WAYS {
        for (name, number) in [("TERM", 15), ("KILL", 9), ("USR1", 10), ("ABRT", 6)] {
            let output = cohort()
                .arg("run")
                .args(way)
                .args(["--", "sh", "-c", &format!("ulimit -c 0; kill -{name} $$")])
                .output()
                .expect("the command runs");
            assert_eq!(output.status.signal(), Some(number), "{way:?} {name}");
        }
    }
}

#[test]
fn streams_belong_to_the_program() {
    for way in WAYS {
        cohort()
            .arg("run")
            .args(way)
            .args(["--", "cat"])
            .write_stdin("one\ntwo\n")
            .assert()
            .code(0)
            .stdout("one\ntwo\n");
    }
    cohort()
        .args(["run", "--", "sh", "-c", "echo out; echo err >&2"])
        .assert()
        .code(0)
        .stdout("out\n")
        .stderr("err\n");
}

#[test]
fn arguments_arrive_as_they_were_typed() {
    cohort()
        .args([
            "run", "--", "printf", "<%s>", "--lock", "a b", "", "*", "--",
        ])
        .assert()
        .code(0)
        .stdout("<--lock><a b><><*><-->");
}

/// The shell that started the tests may have had a signal ignored, as shells do for what
/// they run in the background; and what is ignored stays so in a program.
fn honour(command: &mut Command, signal: Signal) {
    // SAFETY: the call only sets how the new process takes that signal.
    unsafe {
        command.pre_exec(move || {
            libc::signal(signal.as_raw(), libc::SIG_DFL);
            Ok(())
        });
    }
}

#[test]
fn signals_reach_the_program() {
    let program = compiled::usual();
    for way in WAYS {
        for signal in [Signal::TERM, Signal::INT, Signal::HUP, Signal::USR1] {
            let mut command = Command::new(crate::command());
            for name in LEFT_OUT {
                command.env_remove(name);
            }
            honour(&mut command, signal);
            let mut child = command
                .arg("run")
                .args(way)
                .arg("--")
                .arg(program.path())
                .arg("waiting")
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .expect("the command runs");
            let mut said = String::new();
            let output = child.stdout.take().expect("it was asked for");
            BufReader::new(output)
                .read_line(&mut said)
                .expect("it is a pipe");
            assert_eq!(said, "counted\n");
            kill_process(Pid::from_child(&child), signal).expect("our child");
            let status = child.wait().expect("our child");
            assert_eq!(status.signal(), Some(signal.as_raw()), "{way:?} {signal:?}");
        }
    }
}
