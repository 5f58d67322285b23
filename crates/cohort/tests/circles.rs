//! Modules with circular uses can only be understood and moved together; these sources have no
//! circles.

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

/// The modules that each module uses.
fn uses(modules: &Modules) -> BTreeMap<&[String], BTreeSet<Vec<String>>> {
    let of = |module: &Vec<String>, text: &String| {
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
        let homes = found.iter().filter_map(|(path, _)| {
            let home = home(modules, &absolute(modules, module, path)?)?;
            (home != *module).then_some(home)
        });
        homes.collect()
    };
    let all = modules.iter();
    all.map(|(module, text)| (module.as_slice(), of(module, text)))
        .collect()
}

/// The modules of that package on a circle, except those below `left_out`.
fn on_circles(package: &str, left_out: &[&str]) -> Vec<String> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../{package}/src"));
    let mut modules = Modules::new();
    read(&sources, &[], &mut modules);
    let uses = uses(&modules);
    let reaches = |from: &[String]| {
        let mut seen: BTreeSet<&[String]> = BTreeSet::new();
        let mut ahead: Vec<&[String]> = uses[from].iter().map(Vec::as_slice).collect();
        while let Some(next) = ahead.pop() {
            if seen.insert(next) {
                ahead.extend(uses[next].iter().map(Vec::as_slice));
            }
        }
        seen.contains(from)
    };
    let circles = modules.keys().filter(|module| reaches(module));
    let names = circles.map(|module| module.join("/"));
    names
        .filter(|name| !left_out.iter().any(|left_out| name.starts_with(left_out)))
        .collect()
}

#[test]
fn no_files_of_the_locks_use_each_other_in_a_circle() {
    assert_eq!(on_circles("cohort-raw", &[]), [""; 0]);
    // A backend's system calls, threads and memory depend on each other.
    assert_eq!(on_circles("cohort", &["door/"]), [""; 0]);
}

#[test]
fn no_files_of_the_interposer_use_each_other_in_a_circle() {
    assert_eq!(on_circles("cohort-preload", &["observe/"]), [""; 0]);
}

#[test]
fn no_files_of_the_simulated_machine_use_each_other_in_a_circle() {
    assert_eq!(on_circles("cohort-machine", &[]), [""; 0]);
}

/// Circles are found through re-exports and renames.
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
    assert!(uses[path("b").as_slice()].contains(&path("a/c")));
    assert!(uses[path("a/c").as_slice()].contains(&path("b")));
    assert!(uses[path("a").as_slice()].is_empty());
}
