//! Modules with circular uses can only be understood and moved together; the packages have none.
//!
//! A module and its children are one unit where the module names a child directly, as in
//! `use child::Item`: this is no arrow. All other paths are arrows, a child's `super::` included.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// A module's path, and its text without comments and tests.
type Modules = BTreeMap<Vec<String>, String>;

/// Reads every file below `folder`, with the path `module`.
fn read(folder: &Path, module: &[String], modules: &mut Modules) {
    for entry in fs::read_dir(folder).expect("the sources are here") {
        let path = entry.expect("the folder can be read").path();
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        let mut module = module.to_vec();
        module.push(stem.expect("names are plain").to_owned());
        if path.is_dir() {
            read(&path, &module, modules);
            continue;
        }
        if matches!(stem, Some("mod" | "lib" | "main")) {
            module.pop();
        }
        let text = fs::read_to_string(&path).expect("sources are text");
        let (text, _) = text.split_once("\nmod tests {").unwrap_or((&text, ""));
        let code = text
            .lines()
            .map(|line| line.split("//").next().unwrap_or(line));
        modules.insert(module, code.collect::<Vec<_>>().join("\n"));
    }
}

/// Parses the `use` tree at the beginning of `text`: each path with its bound name. Returns the
/// rest of the text.
fn paths<'a>(text: &'a str, before: &[String], found: &mut Vec<(Vec<String>, String)>) -> &'a str {
    let (mut rest, mut path) = (text.trim_start(), before.to_vec());
    loop {
        let is_letter = |letter: char| letter.is_alphanumeric() || "_*$".contains(letter);
        let (word, behind) = rest.split_at(rest.find(|c| !is_letter(c)).unwrap_or(rest.len()));
        if !word.is_empty() {
            path.push(word.trim_start_matches('$').to_owned());
            rest = behind;
        } else if let Some(mut inside) = rest.strip_prefix('{') {
            loop {
                inside = inside.trim_start_matches(|c: char| c == ',' || c.is_whitespace());
                match inside.strip_prefix('}') {
                    Some(behind) => return behind,
                    None if inside.is_empty() => return inside,
                    None => {}
                }
                let behind = paths(inside, &path, found);
                // Anything that is not a path is skipped.
                inside = match behind.len() < inside.len() {
                    true => behind,
                    false => &inside[inside.chars().next().map_or(0, char::len_utf8)..],
                };
            }
        } else {
            return rest;
        }
        match rest.strip_prefix("::") {
            Some(behind) => rest = behind,
            None => break,
        }
    }
    let mut name = path.last().cloned().unwrap_or_default();
    if let Some(renamed) = rest.strip_prefix(" as ") {
        let end = renamed.find(|c: char| !c.is_alphanumeric() && c != '_');
        name = renamed[..end.unwrap_or(renamed.len())].to_owned();
        rest = &renamed[name.len()..];
    }
    found.push((path, name));
    rest
}

/// The path written in a module, from the root of its package; none if it leads elsewhere.
fn absolute(modules: &Modules, module: &[String], path: &[String]) -> Option<Vec<String>> {
    let (mut at, mut rest) = (module.to_vec(), path);
    match path.first()?.as_str() {
        "crate" => (at, rest) = (Vec::new(), &path[1..]),
        "self" => rest = &path[1..],
        "super" => {
            while let Some(above) = rest.strip_prefix(&["super".to_owned()]) {
                at.pop();
                rest = above;
            }
        }
        child => {
            let mut child_of = at.clone();
            child_of.push(child.to_owned());
            modules.get(&child_of)?;
        }
    }
    at.extend(rest.iter().filter(|part| *part != "self").cloned());
    Some(at)
}

/// The module that defines an item, beyond re-exports.
fn home(modules: &Modules, path: &[String]) -> Option<Vec<String>> {
    let depth = (0..=path.len()).rev();
    let module = depth.map(|depth| &path[..depth]);
    let module = module.into_iter().find(|at| modules.contains_key(*at))?;
    let Some(item) = path.get(module.len()) else {
        return Some(module.to_vec());
    };
    for (start, _) in modules[module].match_indices(" use ") {
        let line = modules[module][..start].rsplit('\n').next();
        let mut handed = Vec::new();
        if line.is_some_and(|line| line.trim_start().starts_with("pub")) {
            paths(&modules[module][start + 5..], &[], &mut handed);
        }
        let meant = handed.into_iter().find(|(_, name)| name == item);
        if let Some((from, _)) = meant
            && let Some(from) = absolute(modules, module, &from)
            && from != path
        {
            return home(modules, &from);
        }
    }
    Some(module.to_vec())
}

/// Each module's arrows: the modules that it uses, each with the paths written for it.
type Uses = BTreeMap<Vec<String>, BTreeMap<Vec<String>, BTreeSet<String>>>;

fn uses(modules: &Modules) -> Uses {
    let mut uses = Uses::new();
    for (module, text) in modules {
        let mut found = Vec::new();
        for word in ["crate::", "super::", "self::"] {
            for (start, _) in text.match_indices(word) {
                let before = text[..start].chars().next_back();
                if !before.is_some_and(|c| c.is_alphanumeric() || ":_".contains(c)) {
                    paths(&text[start..], &[], &mut found);
                }
            }
        }
        // The names of faults matter to the checks only.
        found.retain(|(path, _)| path.iter().all(|part| part != "flaw"));
        let arrows = uses.entry(module.clone()).or_default();
        for (path, _) in found {
            let absolute = absolute(modules, module, &path);
            let home = absolute.and_then(|path| home(modules, &path));
            if let Some(home) = home.filter(|home| home != module) {
                arrows.entry(home).or_default().insert(path.join("::"));
            }
        }
    }
    uses
}

/// The modules that can be reached from one by its arrows; itself if it is on a circle.
fn reached<'a>(uses: &'a Uses, from: &[String]) -> BTreeSet<&'a [String]> {
    let mut seen = BTreeSet::new();
    let mut ahead: Vec<&[String]> = uses[from].keys().map(Vec::as_slice).collect();
    while let Some(next) = ahead.pop() {
        if seen.insert(next) {
            ahead.extend(uses[next].keys().map(Vec::as_slice));
        }
    }
    seen
}

/// The circles, each a set of modules that reach each other; as text, with all arrows inside.
fn circles(modules: &Modules) -> Vec<String> {
    let uses = uses(modules);
    let all = modules.keys().map(Vec::as_slice);
    let reached: BTreeMap<&[String], _> = all.map(|from| (from, reached(&uses, from))).collect();
    let mut circles = Vec::new();
    for (from, ahead) in &reached {
        let circle: Vec<&[String]> = ahead
            .iter()
            .copied()
            .filter(|to| reached[to].contains(from))
            .collect();
        // Once per circle.
        if circle.first() != Some(from) {
            continue;
        }
        let mut arrows = format!("{} modules use each other:\n", circle.len());
        for module in &circle {
            for (to, written) in &uses[*module] {
                if circle.contains(&to.as_slice()) {
                    let written: Vec<_> = written.iter().map(String::as_str).collect();
                    let name = |module: &[String]| match module {
                        [] => "the root".to_owned(),
                        module => module.join("/"),
                    };
                    let (from, to, written) = (name(module), name(to), written.join(", "));
                    arrows += &format!("    {from} -> {to}: {written}\n");
                }
            }
        }
        circles.push(arrows);
    }
    circles
}

/// The modules of every package, by its folder's name.
fn packages() -> BTreeMap<String, Modules> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut packages = BTreeMap::new();
    for entry in fs::read_dir(beside).expect("the packages are here") {
        let folder = entry.expect("the folder can be read").path();
        let sources = folder.join("src");
        if sources.is_dir() {
            let name = folder.file_name().and_then(|name| name.to_str());
            let mut modules = Modules::new();
            read(&sources, &[], &mut modules);
            packages.insert(name.expect("names are plain").to_owned(), modules);
        }
    }
    packages
}

#[test]
fn no_modules_use_each_other_in_a_circle() {
    let packages = packages();
    assert!(packages.len() >= 14, "{} packages", packages.len());
    let mut found = String::new();
    for (package, modules) in &packages {
        for circle in circles(modules) {
            found += &format!("{package}: {circle}");
        }
    }
    assert!(found.is_empty(), "{found}");
}

/// The packages of this workspace that a package is built from, by its manifest and theirs.
fn needed(package: &str, found: &mut BTreeSet<String>) {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .join(package)
        .join("Cargo.toml");
    let text = fs::read_to_string(manifest).expect("a manifest is text");
    let (_, below) = text.split_once("\n[dependencies]\n").unwrap_or_default();
    let lines = below.lines().take_while(|line| !line.starts_with('['));
    let names = lines.filter_map(|line| line.split([' ', '.']).next());
    for name in names.filter(|name| name.starts_with("cohort")) {
        if found.insert(name.to_owned()) {
            needed(name, found);
        }
    }
}

/// A machine that runs programs needs no simulator and no parser of C.
#[test]
fn the_command_is_built_without_the_laboratory() {
    let mut found = BTreeSet::new();
    needed("cohort-cli", &mut found);
    assert!(found.contains("cohort-raw"), "{found:?}");
    for other in [
        "cohort-lab",
        "cohort-machine",
        "cohort-on-machine",
        "cohort-world",
        "cohort-delegate",
    ] {
        assert!(!found.contains(other), "{found:?}");
    }
    needed("cohort-lab-cli", &mut found);
    assert!(found.contains("cohort-machine"), "{found:?}");
}

/// Circles are found through re-exports and renames, and printed with the paths that close them.
#[test]
fn a_circle_is_seen() {
    let text = |uses: &str| uses.to_owned();
    let path = |path: &str| path.split('/').map(str::to_owned).collect::<Vec<_>>();
    let modules: Modules = [
        (Vec::new(), text("mod a;\nmod b;")),
        (path("a"), text("pub mod c;\npub use c::{D as E, F};")),
        (path("a/c"), text("use super::super::b::{G, self};")),
        (path("b"), text("fn b() { crate::a::E::new() }")),
    ]
    .into();
    let uses = uses(&modules);
    let arrows = |from: &str| uses[&path(from)].keys().cloned().collect::<Vec<_>>();
    assert_eq!(arrows("b"), [path("a/c")]);
    assert_eq!(arrows("a/c"), [path("b")]);
    assert!(arrows("a").is_empty());
    let circle = "2 modules use each other:\n    \
        a/c -> b: super::super::b::G, super::super::b::self\n    \
        b -> a/c: crate::a::E::new\n";
    assert_eq!(circles(&modules), [circle]);
}
