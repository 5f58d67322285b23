//! What docs/deploy.md and docs/configuration.md promise: the library alone, drop-ins of systemd, replaced
//! and removed files, the machine's configuration.

use crate::environment::in_a_container;
use crate::{LEFT_OUT, cohort, compiled};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::{contains, is_empty, starts_with};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

const USUAL: &str = "libcohort_preload.so";

fn page(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(name)).expect("the page is here")
}

/// The libraries in a folder of their own, as an installation has them.
fn libraries() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    cohort()
        .args(["generate", "libraries"])
        .arg(folder.path())
        .assert()
        .code(0);
    folder
}

/// A program under a library alone.
fn under(library: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(words[0]);
    for name in LEFT_OUT {
        command.env_remove(name);
    }
    command.args(&words[1..]).env("LD_PRELOAD", library);
    command
}

fn ran(mut command: Command) -> (Output, String) {
    let output = command.output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, said)
}

#[test]
fn the_library_alone_serves_a_program() {
    let folder = libraries();
    let library = folder.path().join(USUAL);
    let program = compiled::usual();
    let program = program.path();
    let program = program.to_str().expect("plain");
    for lock in ["mcs", "system"] {
        let mut command = under(&library, &[program]);
        command.env("COHORT_LOCK", lock);
        let (output, said) = ran(command);
        assert_eq!(output.stdout, b"counted\n", "{lock}");
        assert_eq!(said, "", "{lock}");
    }
    let mut command = under(&library, &[program]);
    command.env("COHORT_LOCK", "mcz");
    let (output, said) = ran(command);
    assert_eq!(output.stdout, b"counted\n");
    assert!(
        said.starts_with("cohort: COHORT_LOCK=mcz is not a lock of this library"),
        "{said}"
    );
    let (output, _) = ran(under(&library, &["cat", "/proc/self/maps"]));
    assert!(String::from_utf8_lossy(&output.stdout).contains(USUAL));
    // A library that is not there.
    let (output, said) = ran(under(Path::new("/absent.so"), &[program]));
    assert_eq!(output.stdout, b"counted\n");
    assert!(said.contains("cannot be preloaded"), "{said}");
}

/// An upgrade and a removal: what runs has what it has mapped, and its children what is there then.
#[test]
fn a_library_may_be_replaced_and_removed_under_running_programs() {
    let folder = libraries();
    let library = folder.path().join(USUAL);
    let program = compiled::usual();
    // It locks before and after, and starts a program in between.
    let script = "echo ready; read line; \"$0\"; echo over";
    let program = program.path();
    let begin = || {
        let mut command = under(
            &library,
            &["sh", "-c", script, program.to_str().expect("plain")],
        );
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("there is a shell");
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        output.read_line(&mut line).expect("text");
        assert_eq!(line, "ready\n");
        (child, output)
    };
    let end = |(mut child, mut output): (std::process::Child, BufReader<_>)| {
        drop(child.stdin.take());
        let (mut rest, mut said) = (String::new(), String::new());
        output.read_to_string(&mut rest).expect("text");
        let errors = child.stderr.take().expect("a pipe");
        BufReader::new(errors)
            .read_to_string(&mut said)
            .expect("text");
        assert!(child.wait().expect("it ends").success(), "{said}");
        assert_eq!(rest, "counted\nover\n", "{said}");
        said
    };
    let replaced = begin();
    let new = folder.path().join("new");
    std::fs::copy(&library, &new).expect("there is room");
    std::fs::rename(&new, &library).expect("one folder");
    assert_eq!(end(replaced), "");
    let removed = begin();
    std::fs::remove_file(&library).expect("it is ours");
    let said = end(removed);
    assert!(said.contains("cannot be preloaded"), "{said}");
}

/// A whole unit with that drop-in behind it.
fn unit(folder: &TempDir, drop_in: &str) -> PathBuf {
    let whole = format!(
        "[Unit]\nDescription=A test\n[Service]\nType=notify\nExecStart=/bin/sleep 1\n{drop_in}"
    );
    let file = folder.path().join("sleeper.service");
    std::fs::write(&file, whole).expect("it is ours");
    file
}

/// What systemd complains about; nothing, with a line that says so, where there is none.
fn complaints(unit: &Path) -> Option<String> {
    if which::which("systemd-analyze").is_err() {
        eprintln!("skip: no `systemd-analyze` here; install the package systemd");
        return None;
    }
    let output = Command::new("systemd-analyze")
        .arg("verify")
        .arg(unit)
        .output();
    let output = output.expect("it runs");
    Some(String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn systemd_understands_a_drop_in() {
    let folder = libraries();
    for words in [
        vec!["--lock", "mcs"],
        vec!["--harden", "--only", "a\"b", "--exclude", "c%d\\e"],
        vec!["--observe", "--lock", "clof:ticket-mcs@numa,system"],
    ] {
        let output = cohort()
            .args(["unit", "sleeper", "--libraries"])
            .arg(folder.path())
            .args(&words)
            .output()
            .expect("it runs");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let text = String::from_utf8(output.stdout).expect("text");
        assert!(text.contains("\nEnvironment=\"LD_PRELOAD="), "{text}");
        let own = tempfile::tempdir().expect("a temporary folder");
        let Some(said) = complaints(&unit(&own, &text)) else {
            return;
        };
        assert!(!said.contains("sleeper.service"), "{said}\n{text}");
        // An unknown line would be reported.
        let said = complaints(&unit(&own, &format!("{text}NoNewPrivilege=yes\n")));
        assert!(said.is_some_and(|said| said.contains("NoNewPrivilege")));
    }
}

#[test]
fn a_drop_in_says_what_the_program_would_be_told() {
    let folder = libraries();
    let libraries = folder.path().to_str().expect("plain");
    let file = folder.path().join("cohort.conf");
    cohort()
        .args(["unit", "memcached.service", "--libraries", libraries])
        .args(["--lock", "mcs", "--only", "memcached", "-o"])
        .arg(&file)
        .env("LD_PRELOAD", "libm.so.6")
        .assert()
        .code(0)
        .stdout(is_empty());
    let text = std::fs::read_to_string(&file).expect("it was written");
    assert!(
        text.contains("/etc/systemd/system/memcached.service.d/cohort.conf"),
        "{text}"
    );
    assert!(text.contains("Environment=\"COHORT_LOCK=mcs\"\n"), "{text}");
    assert!(
        text.contains("Environment=\"COHORT_ONLY=memcached\"\n"),
        "{text}"
    );
    assert!(
        text.contains(&format!("LD_PRELOAD={libraries}/libcohort_")),
        "{text}"
    );
    assert!(!text.contains("libm.so.6"), "{text}");
    for (words, code, why) in [
        (
            vec!["--lock", "system", "a"],
            2,
            "without a drop-in uses the C library's locks",
        ),
        (vec!["--lock", "mcz", "a"], 2, "unknown lock `mcz`"),
        (vec!["a b"], 2, "a service name"),
        (
            vec!["--libraries", "/absent", "a"],
            125,
            "give the folder of the libraries with --libraries",
        ),
        (
            vec!["-o", "/absent/f", "--libraries", libraries, "a"],
            125,
            "choose another file",
        ),
    ] {
        cohort()
            .arg("unit")
            .args(&words)
            .assert()
            .code(code)
            .stdout(is_empty())
            .stderr(starts_with("cohort: ").and(contains(why)));
    }
    // A library that others can write would be a way into the service.
    let stale = folder.path().join(USUAL);
    std::fs::write(&stale, "stale").expect("it is ours");
    cohort()
        .args(["unit", "a", "--rwlock", "rwlock", "--libraries", libraries])
        .assert()
        .code(125)
        .stderr(contains("is from another build than this command"));
}

/// As in a container with a read-only root.
#[test]
fn where_no_folder_can_be_written_the_library_is_in_memory() {
    let command = crate::command();
    // What another test wrote there would be found, read-only or not.
    let script = format!(
        "own=/tmp/cohort-$(id -u); mkdir -p -m 755 $own && mount -t tmpfs -o ro,mode=755 none $own || exit 99; \
         export HOME=/proc/none; unset TMPDIR XDG_CACHE_HOME; \
         {command} run -- {command} run -- sh -c 'echo $LD_PRELOAD; grep -c memfd:libcohort /proc/self/maps'"
    );
    let Some(output) = in_a_container(&script) else {
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 2, "{said}{errors}");
    // Once, though the command itself was under it.
    assert!(
        lines[0].starts_with("/proc/self/fd/") && !lines[0].contains(':'),
        "{said}"
    );
    assert!(lines[1].parse().is_ok_and(|maps: u32| maps > 0), "{said}");
}

/// The command line, a named file, the environment, the machine's file.
#[test]
fn the_machines_file_is_the_last_to_be_asked() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let named = folder.path().join("named.toml");
    std::fs::write(&named, "lock = \"clh\"\n").expect("it is ours");
    let command = crate::command();
    let named = named.display();
    let script = format!(
        "mkdir {0}/etc && cp -a /etc/ld.so.* /etc/passwd {0}/etc && \
         printf 'lock = \"mcs\"\\nwait = \"yield\"\\n' > {0}/etc/cohort.toml && \
         mount --bind {0}/etc /etc || exit 99; \
         show() {{ \"$@\" sh -c 'echo $COHORT_LOCK $COHORT_WAIT'; }}; \
         unset COHORT_LOCK COHORT_WAIT; show {command} run --; \
         export COHORT_LOCK=ticket; show {command} run --; \
         show {command} run --config {named} --; \
         show {command} run --config {named} --lock tas --; \
         echo 'lok = 1' > /etc/cohort.toml; {command} run -- true; echo $?",
        folder.path().display()
    );
    let Some(output) = in_a_container(&script) else {
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        said, "mcs yield\nticket yield\nclh park\ntas park\n2\n",
        "{errors}"
    );
    assert!(
        errors.contains("/etc/cohort.toml:1:1: unknown field `lok`"),
        "{errors}"
    );
}

/// The page lists the parser's keys.
#[test]
fn the_reference_has_every_key() {
    let page = page("docs/configuration.md");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("c.toml");
    for (heading, text) in [
        ("Keys", "unknown = 1\n"),
        ("Keys of `[glk]`", "[glk]\nunknown = 1\n"),
        ("Keys of `[[mutex]]`", "[[mutex]]\nunknown = 1\n"),
    ] {
        std::fs::write(&file, text).expect("it is ours");
        let output = cohort()
            .args(["run", "--config"])
            .arg(&file)
            .args(["--", "true"])
            .output()
            .expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        let (_, expected) = said.split_once("expected").expect("a list");
        let known: BTreeSet<&str> = expected.split('`').skip(1).step_by(2).collect();
        assert!(known.len() > 3, "{said}");
        let (_, part) = page
            .split_once(&format!("\n## {heading}\n"))
            .expect(heading);
        let part = part.split("\n## ").next().unwrap_or_default();
        let rows = part.lines().filter_map(|row| row.strip_prefix("| `"));
        let told: BTreeSet<&str> = rows.filter_map(|row| row.split('`').next()).collect();
        assert_eq!(told, known, "{heading}");
    }
}

/// A pod's variable leads to the file that its init container copies, and an image's to its own.
#[test]
fn recipes_of_the_page_name_the_library_where_it_is() {
    let page = page("docs/deploy.md");
    for (mounted, preloaded) in [
        ("mountPath: /cohort,", "value: /cohort/libcohort_preload.so"),
        (
            "COPY --from=cohort /usr/lib/cohort /usr/lib/cohort\n",
            "LD_PRELOAD=/usr/lib/cohort/libcohort_preload.so\n",
        ),
    ] {
        assert!(
            page.contains(mounted) && page.contains(preloaded),
            "{mounted}"
        );
    }
    let folder = libraries();
    for file in page
        .split(['`', '/', ' '])
        .filter(|word| word.starts_with("libcohort_"))
    {
        let file = file.split_once(".so").map_or(file, |(name, _)| name);
        assert!(folder.path().join(format!("{file}.so")).exists(), "{file}");
    }
    let recipe = self::page("packaging/Dockerfile");
    assert!(recipe.contains("/usr/lib/cohort/") && page.contains("packaging/Dockerfile"));
}
