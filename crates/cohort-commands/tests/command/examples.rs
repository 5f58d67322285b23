//! Every example of the help is run, as a person would type it.

use crate::{LEFT_OUT, cohort, compiled};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// The subcommands with examples in their help; the first is the command alone.
const SUBCOMMANDS: [&str; 24] = [
    "",
    "run",
    "debug",
    "profile",
    "profile snapshot",
    "record",
    "top",
    "advise",
    "compare",
    "check",
    "ps",
    "machines",
    "machines measure",
    "machines check",
    "bench",
    "replay",
    "discover",
    "tune",
    "tune sanl",
    "tune glk",
    "delegate",
    "survey",
    "study",
    "report",
];

fn help(subcommand: &str) -> String {
    let words = subcommand.split_whitespace().chain(["--help"]);
    let output = cohort()
        .args(words)
        .env("COLUMNS", "1000")
        .output()
        .expect("the command runs");
    String::from_utf8(output.stdout).expect("help is text")
}

/// The examples of a subcommand's help, without what stands beside them.
fn examples(subcommand: &str) -> Vec<String> {
    let help = help(subcommand).replace("\\\n      ", "");
    let lines = help.lines().map(str::trim);
    let examples = lines.filter(|line| {
        // The second line of a usage begins so too.
        line.starts_with("cohort ") && !line.contains('<')
    });
    examples
        .map(|line| line.split("  ").next().unwrap_or(line).to_owned())
        .collect()
}

/// The same with less to do, or something that ends by itself.
fn shortened(example: &str) -> String {
    let shortened = example
        .replace("400000", "400")
        .replace("prog args", "true")
        .replace("memcached -t 8", "memcached -V");
    match example.split(' ').nth(1) {
        Some("bench") => format!("{shortened} --seconds 0.0005"),
        Some("demo") => format!("{shortened} --seconds 0.5"),
        Some("report") if !example.contains("--no-run") => format!("{shortened} --no-run"),
        Some("study") => format!("{shortened} --repeat 1 --no-one-cpu"),
        _ if example.ends_with(" $!") => format!(
            "rm -f said; cohort run --observe -- ./queue 50 > said & until [ -s said ]; do sleep 0.1; done; \
             {shortened}; status=$?; kill $!; exit $status"
        ),
        _ if example.contains("$(pgrep -n memcached)") => {
            let shortened = shortened.replace("$(pgrep -n memcached)", "$!");
            format!("./queue 50 & sleep 0.5; {shortened}; status=$?; kill $!; exit $status")
        }
        Some("compare") if example.contains(" --server ") => {
            shortened.replace("compare", "compare --repeat 1 --no-one-cpu")
        }
        Some("tune") if example.contains(" --server ") => shortened
            .replace("tune", "tune --within 5")
            .replace("-t 3s", "-t 1s"),
        _ => shortened,
    }
}

/// The program that an example runs, if any.
fn program(example: &str) -> Option<&str> {
    if example.contains("--server 'memcached") {
        return Some("memcached and memcaslap");
    }
    example.split_once(" -- ")?.1.split(' ').next()
}

/// What has to be installed for an example that runs that program.
fn needed(program: &str) -> Vec<&str> {
    match program {
        "prog" | "./start-everything.sh" => Vec::new(),
        "memcached and memcaslap" => vec!["memcached", "memcaslap"],
        _ => vec![program],
    }
}

/// A folder with the files that the examples speak of.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |name: &str, text: &str| {
        let file = folder.path().join(name);
        std::fs::write(&file, text).expect("the folder is writable");
        let everybody = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&file, everybody).expect("our file");
    };
    write("big.tar", "not so big");
    write("study.json", crate::gathered::STUDY);
    write("README.md", "A program without locks reads this.\n");
    write("start-everything.sh", "#!/bin/sh\n./mariadbd\n");
    let server = compiled::usual();
    std::fs::copy(server.path(), folder.path().join("mariadbd")).expect("a copy");
    let status = Command::new("cc")
        .args(["-g", "-o"])
        .arg(folder.path().join("queue"))
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/profile/queue.c"))
        .arg("-lpthread")
        .status()
        .expect("there is a C compiler");
    assert!(status.success());
    let machine = cohort()
        .args(["machines", "show", "--synthetic", "core:4 pu:2"])
        .args(["--like", "epyc-7352x2"])
        .output()
        .expect("the command runs");
    let machine = String::from_utf8(machine.stdout).expect("text");
    write("my-own.toml", &machine);
    write("mine.toml", &machine);
    write("advised.toml", "# nothing pays\n");
    write("bank.h", "void pay(int from, int to);\n");
    write(
        "bank.c",
        include_str!("../../../../examples/delegate/bank.c"),
    );
    write("Makefile", "all:\n\tcc -c bank.c\n");
    std::fs::create_dir(folder.path().join("build")).expect("the folder is writable");
    let here = folder.path().display();
    let commands = format!(
        "[{{\"directory\": \"{here}\", \"file\": \"bank.c\", \"command\": \"cc -c bank.c\"}}]"
    );
    write("build/compile_commands.json", &commands);
    cohort()
        .args(["profile", "-o"])
        .arg(folder.path().join("p.json"))
        .arg("--")
        .arg(server.path())
        .assert()
        .code(0);
    folder
}

fn run(example: &str, folder: &Path) {
    let own = Path::new(crate::command()).parent().expect("a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("sh");
    for name in LEFT_OUT {
        command.env_remove(name);
    }
    let output = command
        .args(["-c", &shortened(example)])
        .env("PATH", format!("{}:{path}", own.display()))
        .current_dir(folder)
        .output()
        .expect("there is a shell");
    // The doctor may find that something is missing here.
    let well = output.status.success() || example == "cohort doctor";
    assert!(well, "{example}: {output:?}");
}

#[test]
fn every_example_works() {
    let folder = folder();
    for subcommand in SUBCOMMANDS {
        if subcommand == "delegate" && !crate::delegate::is_readable() {
            continue;
        }
        let examples = examples(subcommand);
        assert!(examples.len() > 2, "{subcommand}: {examples:?}");
        for example in examples {
            // The survey's list is another file than the machine of that name.
            if subcommand == "survey" && example.contains("mine.toml") {
                continue;
            }
            let needed = program(&example).map_or_else(Vec::new, needed);
            let missing = needed.iter().find(|program| which::which(program).is_err());
            match missing {
                Some(program) => eprintln!("skip: no `{program}` here for `{example}`"),
                None => run(&example, folder.path()),
            }
        }
    }
}

/// So that a terminal of 80 columns breaks none of them.
#[test]
fn every_example_fits_a_line() {
    for subcommand in SUBCOMMANDS {
        let help = help(subcommand);
        for line in help.lines().filter(|line| line.starts_with("  cohort ")) {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}

/// The list of programs and the configuration file that the help shows are read.
#[test]
fn the_files_in_the_help_are_understood() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let between = |help: &str, first: &str, last: &str| -> String {
        let lines = help.lines().map(str::trim);
        let lines = lines.skip_while(|line| !line.starts_with(first));
        let lines = lines.take_while(|line| !line.starts_with(last));
        lines.collect::<Vec<&str>>().join("\n")
    };
    let list = folder.path().join("list.toml");
    let text = between(&help("survey"), "[[row]]", "Optional keys");
    std::fs::write(&list, text).expect("the folder is writable");
    cohort()
        .args(["survey", "--list", "--file"])
        .arg(&list)
        .assert()
        .code(0)
        .stdout(predicates::str::contains("packed"));
    let settings = folder.path().join("cohort.toml");
    let text = between(&help("run"), "lock = ", "Exit status");
    std::fs::write(&settings, text).expect("the folder is writable");
    cohort()
        .args(["run", "--config"])
        .arg(&settings)
        .arg("--")
        .arg(compiled::mutexes(&["-g"]).path())
        .assert()
        .code(0);
}
