//! Debian packages: made of an installed tree, installed and removed by dpkg in a root of their own; man
//! pages.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn succeeded(command: &mut Command) -> Output {
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{command:?}: {output:?}");
    output
}

/// The command that writes man pages and completions.
const MANUAL: &str = env!("CARGO_BIN_EXE_cohort-manual");

/// What `make install` would install, with this test's commands and, in place of the library for C, files of
/// its names.
fn tree(folder: &Path) -> PathBuf {
    let c = folder.join("c");
    fs::create_dir(&c).expect("it is ours");
    let version = env!("CARGO_PKG_VERSION");
    for name in ["libcohort.a".to_owned(), format!("libcohort.so.{version}")] {
        fs::write(c.join(name), "").expect("it is ours");
    }
    let tree = folder.join("tree");
    let cohort = Path::new(crate::command());
    let assign = |name: &str, value: &Path| format!("{name}={}", value.display());
    succeeded(
        Command::new("make")
            .args(["-s", "install-command", "install-library", "PREFIX=/usr"])
            .arg(assign("DESTDIR", &tree))
            .arg(assign("COHORT", cohort))
            .arg(assign("LAB", &cohort.with_file_name("cohort-lab")))
            .arg(assign(
                "DELEGATE",
                &cohort.with_file_name("cohort-delegate"),
            ))
            .arg(assign("MANUAL", Path::new(MANUAL)))
            .arg(assign("STAGE", &folder.join("stage")))
            .arg(assign("C", &c))
            .current_dir(sources()),
    );
    tree
}

/// Every file below a folder, without the folder.
fn files(below: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut folders = vec![below.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("it is ours").flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
            } else {
                found.insert(path.strip_prefix(below).expect("it is below").to_owned());
            }
        }
    }
    found
}

fn make_packages(tree: &Path, into: &Path) -> Output {
    let mut command = Command::new(sources().join("packaging/deb"));
    command
        .arg(tree)
        .arg(into)
        .args([env!("CARGO_PKG_VERSION"), "amd64"])
        // To pack a command with its debug information takes a minute.
        .env("DPKG_DEB_COMPRESSOR_TYPE", "none");
    command.output().expect("there is bash")
}

/// dpkg in a root of its own, whatever is installed on this machine.
fn dpkg(root: &Path, words: &[&str]) -> Command {
    let mut command = Command::new("dpkg");
    command
        .arg(format!("--root={}", root.display()))
        .args([
            "--force-not-root",
            "--force-depends",
            "--force-bad-path",
            "--force-architecture",
        ])
        .arg(format!("--log={}", root.join("log").display()))
        .args(words);
    command
}

#[test]
fn packages_are_installed_and_removed() {
    if ["dpkg", "dpkg-deb", "make"]
        .iter()
        .any(|name| which::which(name).is_err())
    {
        eprintln!("skip: no `dpkg` or `make` here; install the packages dpkg and make");
        return;
    }
    let folder = TempDir::new().expect("a temporary folder");
    let tree = tree(folder.path());
    let packages = folder.path().join("packages");
    // A file of no package: there are no packages at all.
    fs::write(tree.join("usr/forgotten"), "").expect("it is ours");
    let output = make_packages(&tree, &packages);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("usr/forgotten"));
    assert!(!packages.exists());
    fs::remove_file(tree.join("usr/forgotten")).expect("it is ours");
    let output = make_packages(&tree, &packages);
    assert!(output.status.success(), "{output:?}");
    let mut made: Vec<String> = files(&packages)
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    let names = made
        .iter()
        .map(|file| file.split('_').next().unwrap_or_default().to_owned());
    let names: Vec<String> = names.collect();
    assert_eq!(
        names,
        ["cohort-lab", "cohort", "libcohort-dev", "libcohort0"]
    );

    let root = folder.path().join("root");
    for below in ["info", "updates", "triggers"] {
        fs::create_dir_all(root.join("var/lib/dpkg").join(below)).expect("it is ours");
    }
    fs::write(root.join("var/lib/dpkg/status"), "").expect("it is ours");
    let before = files(&root);
    made.iter_mut()
        .for_each(|file| *file = packages.join(&file).display().to_string());
    let mut words = vec!["--install"];
    words.extend(made.iter().map(String::as_str));
    succeeded(&mut dpkg(&root, &words));
    for file in [
        "bin/cohort",
        "bin/cohort-lab",
        "bin/cohort-delegate",
        "lib/cohort/libcohort_preload.so",
        "include/cohort.h",
        "lib/libcohort.so.0",
        "lib/pkgconfig/cohort.pc",
        "lib/cmake/cohort/cohortConfig.cmake",
        "share/man/man1/cohort-run.1.gz",
        "share/man/man1/cohort-bench.1.gz",
        "share/bash-completion/completions/cohort",
        "share/doc/cohort/copyright",
    ] {
        assert!(root.join("usr").join(file).exists(), "{file}");
    }
    // The installed command finds the library that it was installed with.
    let output = succeeded(
        Command::new(root.join("usr/bin/cohort"))
            .args(["run", "--rwlock", "rwlock", "--", "cat", "/proc/self/maps"])
            .env_remove("LD_PRELOAD"),
    );
    let maps = String::from_utf8_lossy(&output.stdout).into_owned();
    let library = root.join("usr/lib/cohort/libcohort_preload.so");
    assert!(maps.contains(&*library.to_string_lossy()), "{maps}");
    let output = succeeded(Command::new(root.join("usr/bin/cohort")).args(["unit", "memcached"]));
    let drop_in = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        drop_in.contains(&*root.join("usr/lib/cohort").to_string_lossy()),
        "{drop_in}"
    );

    let mut words = vec!["--purge"];
    words.extend(names.iter().map(String::as_str));
    succeeded(&mut dpkg(&root, &words));
    let left = files(&root);
    let left: Vec<&PathBuf> = left
        .difference(&before)
        .filter(|file| file.starts_with("usr"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn every_man_page_has_its_sections() {
    let folder = TempDir::new().expect("a temporary folder");
    succeeded(Command::new(MANUAL).arg("man").arg(folder.path()));
    let pages = files(folder.path());
    assert!(
        pages.len() > 20 && pages.contains(Path::new("cohort-profile-snapshot.1")),
        "{pages:?}"
    );
    assert!(!pages.contains(Path::new("cohort-generate.1")));
    for page in pages {
        let text = fs::read_to_string(folder.path().join(&page)).expect("text");
        for section in [
            "NAME",
            "SYNOPSIS",
            "DESCRIPTION",
            "OPTIONS",
            "ENVIRONMENT",
            "FILES",
        ] {
            assert!(
                text.contains(&format!("\n.SH {section}\n")),
                "{section} in {}",
                page.display()
            );
        }
        assert!(text.contains("\n.SH \"SEE ALSO\"\n"), "{}", page.display());
    }
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).expect("a page");
    let run = read("cohort-run.1");
    for part in [
        "\\fB\\-\\-lock\\fR \\fINAME\\fR",
        "park|spin|yield",
        "\n.SH EXAMPLES\n",
        "\n.SH \"EXIT STATUS\"\n",
        "COHORT_LOCK",
        "/etc/cohort.toml",
    ] {
        assert!(run.contains(part), "{part} in:\n{run}");
    }
    if which::which("man").is_ok() {
        for page in ["cohort.1", "cohort-run.1", "cohort-export.1"] {
            let output = succeeded(
                Command::new("man")
                    .args(["--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z"])
                    .arg(folder.path().join(page)),
            );
            assert!(output.stderr.is_empty(), "{page}: {output:?}");
        }
    }
}

#[test]
fn completions_know_the_names() {
    let folder = TempDir::new().expect("a temporary folder");
    succeeded(Command::new(MANUAL).arg("completions").arg(folder.path()));
    let text = fs::read_to_string(folder.path().join("cohort.bash")).expect("bash");
    let offered = |after: &str, name: &str| {
        let mut lines = text.lines().skip_while(|line| line.trim() != after);
        let line = lines.find(|line| line.contains("compgen"));
        line.is_some_and(|line| line.contains(name))
    };
    assert!(offered("--on)", "epyc-7352x2"), "{text}");
    assert!(offered("--like)", "superdome-x"), "{text}");
    assert!(offered("--lock)", "ticket-delay"), "{text}");
    assert!(offered("--locks)", "c-tkt-mcs"), "{text}");
}
