//! What the program finds in its environment, and what the command needs of its
//! own.

use crate::{cohort, compiled};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

#[test]
fn an_empty_environment_is_enough() {
    let program = compiled::usual();
    cohort()
        .env_clear()
        .args(["run", "--report", "--"])
        .arg(program.path())
        .assert()
        .code(0)
        .stdout("counted\n")
        .stderr(contains("mutex-normal"));
}

/// Its shared conditions stay its own: other processes of theirs may not know us.
#[test]
fn a_c_library_may_keep_a_condition_s_flags_elsewhere() {
    let (program, _library) = compiled::newer();
    cohort()
        .args(["run", "--"])
        .arg(program.path())
        .assert()
        .code(0)
        .stdout("1\n");
}

#[test]
fn an_unwritable_cache_is_not_needed() {
    let program = compiled::usual();
    cohort()
        .env("XDG_CACHE_HOME", "/proc/none")
        .env("HOME", "/proc/none")
        .args(["run", "--report", "--"])
        .arg(program.path())
        .assert()
        .code(0)
        .stderr(contains("mutex-normal"));
}

/// Neither the program nor its loader is to blame.
#[test]
fn too_few_descriptors_are_named() {
    let command = crate::command();
    for words in ["run -- true", "compare --repeat 1 -- true"] {
        let output = std::process::Command::new("sh")
            .args(["-c", &format!("ulimit -n 7; exec {command} {words}")])
            .output()
            .expect("there is a shell");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(125), "{words}: {said}");
        assert!(said.contains("ulimit -n"), "{words}: {said}");
    }
}

/// Runs a script as if by root, with mounts of its own; `None`, said on stderr, where that is not
/// allowed.  The script ends with 99 if a mount fails.
pub fn in_a_container(script: &str) -> Option<std::process::Output> {
    let output = std::process::Command::new("unshare")
        .args(["-rm", "sh", "-c", script])
        .output();
    let Ok(output) = output else {
        eprintln!("skip: no `unshare` here; install the package util-linux");
        return None;
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    if matches!(output.status.code(), Some(99 | 1)) && errors.contains("mount: ")
        || errors.starts_with("unshare: ")
    {
        eprintln!("skip: no mounts of one's own are allowed here: {errors}");
        return None;
    }
    Some(output)
}

/// A container may lack both.
#[test]
fn neither_proc_nor_dev_null_is_needed_to_run() {
    let command = crate::command();
    for place in ["/proc", "/dev"] {
        let script = format!(
            "mount -t tmpfs none {place} || exit 99; {command} run -- echo served && {command} \
             compare --repeat 1 -- true"
        );
        let Some(output) = in_a_container(&script) else {
            return;
        };
        let errors = String::from_utf8_lossy(&output.stderr);
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{place}: {said}{errors}");
        assert!(said.starts_with("served\n"), "{place}: {said}{errors}");
    }
}

/// The file of counts is gone though the reader of the result ends the command.
#[test]
fn a_closed_pipe_leaves_no_file_behind() {
    let command = crate::command();
    let script = format!(
        "mount -t tmpfs none /dev/shm || exit 99; {command} compare --repeat 1 -- true | true; \
         echo left: /dev/shm/*"
    );
    let Some(output) = in_a_container(&script) else {
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(said, "left: /dev/shm/*\n", "{output:?}");
}

#[test]
fn other_preloaded_libraries_stay_behind_ours() {
    let output = cohort()
        .env("LD_PRELOAD", "libm.so.6")
        .args(["run", "--", "env"])
        .output()
        .expect("the command runs");
    let said = String::from_utf8_lossy(&output.stdout);
    let preload = said
        .lines()
        .find_map(|line| line.strip_prefix("LD_PRELOAD="))
        .expect("the program is served");
    let names: Vec<&str> = preload.split([':', ' ']).collect();
    assert_eq!(names.len(), 2, "{preload}");
    assert!(names[0].ends_with("libcohort_preload.so"), "{preload}");
    assert_eq!(names[1], "libm.so.6");
}

#[test]
fn the_systems_locks_leave_the_environment_alone() {
    cohort()
        .args(["run", "--lock", "system", "--", "env"])
        .assert()
        .code(0)
        .stdout(contains("LD_PRELOAD").not().and(contains("COHORT_").not()));
}

#[test]
fn the_library_finds_what_was_chosen() {
    cohort()
        .args([
            "run",
            "--lock",
            "mcs",
            "--rwlock",
            "c-rw-wp",
            "--wait",
            "yield",
            "--exclude",
            "a",
            "--exclude",
            "b",
        ])
        .args(["--", "env"])
        .assert()
        .code(0)
        .stdout(
            contains("COHORT_LOCK=mcs\n")
                .and(contains("COHORT_RWLOCK=c-rw-wp\n"))
                .and(contains("libcohort_compositions.so"))
                .and(contains("COHORT_WAIT=yield\n"))
                .and(contains("COHORT_EXCLUDE=a:b\n")),
        );
}
