//! The JSON documents, against docs/schemas: each command with `--json` is run, or its test in another
//! file validates its documents.

use crate::outside::Running;
use crate::top::compile;
use crate::{LEFT_OUT, cohort, compiled};
use jsonschema::Registry;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Commands that take a while: the files of their tests call [`valid`].
const ELSEWHERE: [(&str, &str); 11] = [
    ("machines-check", "machines.rs"),
    ("machines-measure", "machines.rs"),
    ("record-dump", "record.rs"),
    ("replay", "record.rs"),
    ("reproduce", "reproduce.rs"),
    ("reproduce-here", "reproduce.rs"),
    ("tune-explain", "discover.rs"),
    ("tune-mean", "discover.rs"),
    ("tune-glk", "glk.rs"),
    ("tune-sanl", "sanl.rs"),
    ("tune-program", "tuned.rs"),
];

/// Quick commands with documents on standard output, and the schemas of these.
const QUICK: [(&str, &[&str]); 27] = [
    ("bar", &["bar", "library-size", "--json"]),
    ("bar-list", &["bar", "--list", "--json"]),
    (
        "bench",
        &[
            "bench",
            "--on",
            "i5-12500",
            "--workload",
            "splay",
            "--locks",
            "glk,hmcs-t-1",
            "--threads",
            "1,4",
            "--seconds",
            "0.0003",
            "--json",
        ],
    ),
    (
        "bench",
        &[
            "bench",
            "--workload",
            "interval",
            "--locks",
            "ticket",
            "--threads",
            "1",
            "--seconds",
            "0.01",
            "--rounds",
            "2",
            "--interval",
            "100,1000",
            "--json",
        ],
    ),
    (
        "bench-envelope",
        &[
            "bench",
            "--envelope",
            "--quick",
            "--served",
            "--on",
            "i5-12500",
            "--workload",
            "lbench",
            "--locks",
            "default",
            "--seconds",
            "0.0003",
            "--json",
        ],
    ),
    ("bench-list", &["bench", "--list", "--json"]),
    ("check", &["check", "--json", "--", "./count"]),
    (
        "compare",
        &[
            "compare",
            "-r",
            "1",
            "--no-one-cpu",
            "--command-name",
            "queue",
            "--metric",
            "wall",
            "--metric",
            "cpu",
            "--json",
            "--",
            "./count",
        ],
    ),
    (
        "compare-parameters",
        &[
            "compare",
            "-r",
            "1",
            "--no-one-cpu",
            "-L",
            "n",
            "1,2",
            "--json",
            "--",
            "true",
            "{n}",
        ],
    ),
    ("delegate", &["delegate", "--json", "bank.c"]),
    ("demo", &["demo", "--seconds", "0.2", "--json"]),
    ("discover", &["discover", "--on", "i5-12500", "--json"]),
    ("doctor", &["doctor", "--json"]),
    ("list", &["list", "--json"]),
    ("list-compositions", &["list", "--compositions", "--json"]),
    ("list-delegates", &["list", "--delegates", "--json"]),
    ("list-rwlocks", &["list", "--rwlocks", "--json"]),
    ("machines", &["machines", "--json"]),
    (
        "machines-show",
        &["machines", "show", "epyc-7352x2", "--json"],
    ),
    ("ps", &["ps", "--all", "--seconds", "0.2", "--json"]),
    ("report", &["report", "--no-run", "--json"]),
    ("reproduce-list", &["reproduce", "--list", "--json"]),
    (
        "study",
        &[
            "study",
            "phoenix-words",
            "--repeat",
            "1",
            "--threads",
            "2",
            "--locks",
            "default",
            "--json",
        ],
    ),
    ("study-list", &["study", "--list", "--json"]),
    (
        "survey",
        &[
            "survey",
            "--file",
            "list.toml",
            "--repeat",
            "1",
            "--threads",
            "1",
            "--json",
        ],
    ),
    ("survey-list", &["survey", "--list", "--json"]),
    (
        "tune",
        &[
            "tune",
            "--on",
            "i5-12500",
            "--levels",
            "core",
            "--basic",
            "ticket",
            "--threads",
            "1",
            "--json",
        ],
    ),
];

/// Commands of a running or finished program. Their documents go to standard error if `true`.
const PROGRAM: [(&str, &[&str], bool); 4] = [
    ("run", &["run", "--json", "--", "./count"], true),
    (
        "run",
        &["run", "--lock", "system", "--json", "--", "./count"],
        true,
    ),
    ("debug", &["debug", "--json", "--", "./count"], true),
    ("profile", &["profile", "--json", "--", "./count"], true),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas")
}

fn schemas() -> BTreeMap<String, Value> {
    let files = std::fs::read_dir(folder()).expect("the schemas are here");
    let paths = files.map(|entry| entry.expect("the folder can be read").path());
    let schemas = paths.map(|path| {
        let text = std::fs::read_to_string(&path).expect("a schema is text");
        let name = path
            .file_stem()
            .expect("a file")
            .to_string_lossy()
            .into_owned();
        let schema = serde_json::from_str(&text);
        (
            name,
            schema.unwrap_or_else(|error| panic!("{}: {error}", path.display())),
        )
    });
    schemas.collect()
}

/// A document is as its schema says.
pub fn valid(name: &str, document: &Value) {
    let all = schemas();
    let schema = all
        .get(name)
        .unwrap_or_else(|| panic!("docs/schemas/{name}.json is missing"));
    let address = |name: &str| format!("https://cohort.invalid/{name}.json");
    let registry = Registry::new().add(address("common"), all["common"].clone());
    let registry = registry
        .expect("an address")
        .prepare()
        .expect("sound schemas");
    let validator = jsonschema::options()
        .with_base_uri(address(name))
        .with_registry(&registry)
        .build(schema)
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    let errors = validator.iter_errors(document);
    let errors: Vec<String> = errors
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{name}: {}", errors.join("\n"));
}

/// The files that the commands read, and a program with contended locks.
fn place() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    compile("../../examples/profile/queue.c", &folder);
    let brief = folder.path().join("count");
    std::fs::copy(compiled::usual().path(), brief).expect("the folder is writable");
    let bank = include_str!("../../../../examples/delegate/bank.c");
    let files = [
        ("bank.c", bank),
        ("bank.h", "void pay(int from, int to);\n"),
        (
            "list.toml",
            "[[row]]\nname = \"one\"\ncommand = \"true\"\ncheck = \"true\"\n\
             [[row]]\nname = \"two\"\nneeds = [\"absent:absent\"]\ncommand = \"true\"\ncheck = \"true\"\n",
        ),
    ];
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).expect("the folder is writable");
    }
    folder
}

/// What a command prints: on standard output, or from the first brace on standard error.
fn document(folder: &Path, words: &[&str], on_stderr: bool) -> Value {
    let output = cohort().args(words).current_dir(folder).output();
    let output = output.expect("the command runs");
    let printed = if on_stderr {
        &output.stderr
    } else {
        &output.stdout
    };
    let text = String::from_utf8_lossy(printed);
    let begin = text.find('{').unwrap_or(0);
    serde_json::from_str(&text[begin..])
        .unwrap_or_else(|error| panic!("{words:?}: {error}: {output:?}"))
}

#[test]
fn every_schema_is_sound_and_closed() {
    let all = schemas();
    assert!(all.len() > 30, "{} schemas", all.len());
    for (name, schema) in &all {
        let sound = jsonschema::meta::validate(schema);
        assert!(sound.is_ok(), "{name}: {sound:?}");
        let mut waiting = vec![schema];
        while let Some(part) = waiting.pop() {
            let is_object = part.get("properties").is_some_and(Value::is_object);
            let closed = part.get("additionalProperties");
            assert!(
                !is_object || closed == Some(&Value::Bool(false)),
                "{name}: {part}"
            );
            match part {
                Value::Object(members) => waiting.extend(members.values()),
                Value::Array(members) => waiting.extend(members),
                _ => {}
            }
        }
    }
}

#[test]
fn documents_are_as_their_schemas_say() {
    let folder = place();
    for (name, words) in QUICK {
        if name != "delegate" || crate::delegate::is_readable() {
            valid(name, &document(folder.path(), words, false));
        }
    }
    for (name, words, on_stderr) in PROGRAM {
        valid(name, &document(folder.path(), words, on_stderr));
    }
    let load = ["workload", "mutex", "--latency", "--seconds", "0.05"];
    valid("workload", &document(folder.path(), &load, false));
    let profile = ["profile", "-o", "p.json", "--", "./count"];
    let profiled = cohort().args(profile).current_dir(folder.path()).output();
    assert!(profiled.expect("the command runs").status.success());
    valid(
        "advise",
        &document(folder.path(), &["advise", "--json", "p.json"], false),
    );
}

/// Documents about a process that runs, under Cohort and without.
#[test]
fn documents_of_processes_are_as_their_schemas_say() {
    let folder = place();
    let program = folder.path().join("queue");
    let alone = Running::start(&program, &["60"]);
    let id = alone.id();
    valid(
        "locks",
        &document(folder.path(), &["locks", "--json", &id], false),
    );
    let top = ["top", "--once", "--interval", "0.2", "--json", &id];
    valid("top", &document(folder.path(), &top, false));
    let sampled = ["profile", "--pid", &id, "--seconds", "0.2", "--json"];
    valid("top", &document(folder.path(), &sampled, false));
    let check = ["check", "--seconds", "0.5", "--json", &id];
    valid("check", &document(folder.path(), &check, false));

    let mut observed = Command::new(crate::command());
    for name in LEFT_OUT {
        observed.env_remove(name);
    }
    observed
        .args(["run", "--observe", "--"])
        .arg(&program)
        .arg("60");
    let observed = Running::of(observed);
    let id = observed.id();
    valid(
        "locks",
        &document(folder.path(), &["locks", "--json", &id], false),
    );
    let top = ["top", "--once", "--interval", "0.2", "--json", &id];
    valid("top", &document(folder.path(), &top, false));
    let snapshot = ["profile", "snapshot", "--for", "0.2", "--json", &id];
    valid("profile", &document(folder.path(), &snapshot, false));
}

/// The subcommands in a help text: names below these headings.
fn subcommands(words: &[&str]) -> Vec<String> {
    const HEADINGS: [&str; 4] = ["Use:", "Diagnose:", "Machines and research:", "Commands:"];
    let output = cohort()
        .args(words)
        .arg("--help")
        .output()
        .expect("the command runs");
    let help = String::from_utf8_lossy(&output.stdout).into_owned();
    let (mut names, mut is_list) = (Vec::new(), false);
    for line in help.lines() {
        if !line.starts_with(' ') {
            is_list = HEADINGS.contains(&line);
        } else if is_list && !line.starts_with("   ") {
            names.extend(line.split_whitespace().next().map(str::to_owned));
        }
    }
    names.retain(|name| name != "help");
    names
}

#[test]
fn every_command_with_json_has_a_schema_and_a_run() {
    let known: Vec<String> = schemas()
        .into_keys()
        .filter(|name| name != "common")
        .collect();
    let mut run: BTreeSet<&str> = QUICK.iter().map(|(name, _)| *name).collect();
    run.extend(PROGRAM.iter().map(|(name, ..)| *name));
    run.extend(["workload", "advise", "locks", "top", "check", "profile"]);
    for (name, file) in ELSEWHERE {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/command")
            .join(file);
        let text = std::fs::read_to_string(path).expect("the tests are here");
        assert!(
            text.contains(&format!("valid(\"{name}\"")),
            "{file} does not validate {name}"
        );
        run.insert(name);
    }
    for name in &known {
        assert!(
            run.contains(name.as_str()),
            "no document of {name} is validated"
        );
    }
    let mut commands = Vec::new();
    for name in subcommands(&[]) {
        for inner in subcommands(&[&name]) {
            commands.push(vec![name.clone(), inner]);
        }
        commands.push(vec![name]);
    }
    assert!(commands.len() > 20, "{commands:?}");
    for words in commands {
        let help = cohort()
            .args(&words)
            .arg("--help")
            .output()
            .expect("the command runs");
        let help = String::from_utf8_lossy(&help.stdout).into_owned();
        if !help.contains("--json") || !help.contains("Usage: cohort") {
            continue;
        }
        let name = match words.join("-").as_str() {
            // The same document.
            "profile-snapshot" => "profile".to_owned(),
            name => name.to_owned(),
        };
        assert!(
            known.contains(&name),
            "cohort {words:?} has --json and no schema"
        );
    }
}
