//! Individual locks for mutexes: finds these in the files of a program, in the library's format.
//!
//! A configuration file names a mutex by its variable, or by the site that initialises it, or else
//! locks it first. The library gets addresses, since it must not read debug information.

use crate::choice::Choice;
use crate::observe::stacks::Names;
use crate::problem::Problem;
use crate::program::Image;
use crate::proof;
use cohort::catalogue;
use cohort::name::Servable;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Limit of locks in a process beside its own: the library's room.
const OTHERS: usize = 4;

/// Limit of address ranges: the library's room.
const RANGES: usize = 256;

/// Line of a configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MutexesLock {
    /// The place of the line: file, row and column.
    pub at: String,
    /// Its mutexes.
    pub which: Which,
    /// Their lock.
    pub lock: String,
}

/// Selection of mutexes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// The mutexes in the variable of that name; with `+` and a number, the mutex at that offset.
    Name(String),
    /// The mutexes that a call initialises, or else locks first: a source line, a function, or a
    /// file with an offset in its image.
    Site(String),
}

impl MutexesLock {
    fn problem(&self, why: &str) -> Problem {
        Problem::usage(format!("{}: {why}", self.at))
    }
}

/// Checks that one process can have all these locks beside its own.
///
/// # Errors
/// The first line beyond the limit.
pub fn check(lines: &[MutexesLock], own: &Choice) -> Result<(), Problem> {
    if let (Choice::System, Some(first)) = (own, lines.first()) {
        return Err(first.problem(
            "the lock is `system`: the C library cannot serve individual mutexes; choose a lock \
             of Cohort",
        ));
    }
    let mut known = vec![own.name()];
    for line in lines {
        if known.contains(&line.lock.as_str()) {
            continue;
        }
        let composed = |name: &str| {
            let read = catalogue::read(name).and_then(|name| name.servable());
            read.is_ok_and(|lock| !matches!(lock, Servable::System | Servable::Listed(_)))
        };
        let word = |name: &str| ["futex", "futex-hmcs"].contains(&name);
        if let Some(other) = known.iter().find(|name| composed(name))
            && composed(&line.lock)
        {
            return Err(line.problem(&format!(
                "a process supports one composition, not both `{other}` and `{}`",
                line.lock
            )));
        }
        if let Some(other) = known.iter().find(|name| word(name))
            && word(&line.lock)
        {
            return Err(line.problem(&format!(
                "`{other}` and `{}` are variants of one lock: use one of them per process",
                line.lock
            )));
        }
        known.push(&line.lock);
        if known.len() > 1 + OTHERS {
            return Err(line.problem(&format!(
                "a process supports {OTHERS} locks besides its own; `{}` exceeds this number",
                line.lock
            )));
        }
    }
    Ok(())
}

/// These lines in the library's format, for programs consisting of one of `images` and the files
/// loaded with it.
///
/// # Errors
/// A line has no match, or more matches than the library has room for.
pub fn found(lines: &[MutexesLock], images: &[&Image]) -> Result<String, Problem> {
    let mut paths = BTreeSet::new();
    for image in images {
        paths.extend(image.path.canonicalize());
        let libraries = proof::libraries(image).map_err(Problem::refused)?;
        paths.extend(libraries.iter().filter_map(|path| path.canonicalize().ok()));
    }
    let files: Vec<File> = paths.into_iter().map(File::read).collect();
    let mut told = String::new();
    let mut count = 0;
    for line in lines {
        let mut any = false;
        for file in &files {
            let (what, ranges) = match &line.which {
                Which::Name(name) => ("name", file.variables(name)),
                Which::Site(site) => ("site", file.calls(site)),
            };
            for range in ranges {
                any = true;
                count += 1;
                let [from, to] = [range.start, range.end].map(|at| at.wrapping_sub(file.base));
                let (lock, path) = (&line.lock, file.path.display());
                writeln!(told, "{lock} {what} {from:x}-{to:x} {path}").expect("text grows");
            }
        }
        if !any {
            return Err(line.problem(&nothing(&line.which, &files, images)));
        }
        if count > RANGES {
            return Err(line.problem(&format!(
                "the lines up to here match more than {RANGES} call sites, the library's limit"
            )));
        }
    }
    Ok(told)
}

/// The reason why a line has no match, with a suggestion.
fn nothing(which: &Which, files: &[File], images: &[&Image]) -> String {
    let program = images.first().map_or(Path::new("?"), |image| &image.path);
    let program = program.file_name().unwrap_or_default().display();
    let others = match files.len().saturating_sub(1) {
        0 => String::new(),
        1 => " and the file beside it".to_owned(),
        others => format!(" and {others} files beside it"),
    };
    match which {
        Which::Name(name) => {
            let all = files.iter().flat_map(File::names);
            let hint = cohort_nearest::hint(name, all);
            format!("no variable `{name}` in {program}{others}{hint}")
        }
        Which::Site(site) => {
            let Some((file, line)) = source(site) else {
                let all = files.iter().flat_map(File::functions);
                let hint = cohort_nearest::hint(site, all);
                return format!("no function `{site}` in {program}{others}{hint}");
            };
            let lines: Vec<(&str, u32)> = files.iter().flat_map(File::lines).collect();
            if lines.is_empty() {
                return format!(
                    "cannot find `{site}`: {program}{others} has no debug information; build with -g, \
                     or give a function"
                );
            }
            let here = lines.iter().filter(|(path, _)| ends_with(path, file));
            if let Some((_, near)) = here.min_by_key(|(_, near)| near.abs_diff(line)) {
                return format!(
                    "no code for {file}:{line} in {program}{others}; the nearest line with code is {near}"
                );
            }
            let all = lines.iter().map(|(path, _)| tail(path, file));
            let hint = cohort_nearest::hint(file, all);
            let own = images
                .first()
                .and_then(|image| image.path.canonicalize().ok());
            let mut of_program = files.iter().filter(|one| Some(&one.path) == own.as_ref());
            let bare = match of_program.any(|one| one.lines().is_empty()) {
                true => format!(" ({program} has no debug information: build with -g)"),
                false => String::new(),
            };
            format!("no source file `{file}` in {program}{others}{bare}{hint}")
        }
    }
}

/// A site's source file and line, if it has that form.
fn source(site: &str) -> Option<(&str, u32)> {
    let (file, line) = site.rsplit_once(':')?;
    let line = line.parse().ok()?;
    // A function such as `a::b` has no number there.
    (!file.is_empty() && !file.ends_with(':')).then_some((file, line))
}

/// Whether a path ends with these parts.
fn ends_with(path: &str, parts: &str) -> bool {
    Path::new(path).ends_with(parts.trim_start_matches('/'))
}

/// As many last parts of a path as `parts` has.
fn tail<'a>(path: &'a str, parts: &str) -> &'a str {
    let wanted = parts.split('/').count();
    let mut slashes = path.rmatch_indices('/');
    slashes
        .nth(wanted - 1)
        .map_or(path, |(at, _)| &path[at + 1..])
}

/// File of a program.
struct File {
    path: PathBuf,
    /// The address in its image of its first mapping.
    base: u64,
    names: Names,
}

impl File {
    fn read(path: PathBuf) -> Self {
        let names = Names::of(&path);
        Self {
            base: names.first_page(),
            path,
            names,
        }
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.names.variables().map(|(_, name)| name)
    }

    fn functions(&self) -> impl Iterator<Item = &str> {
        self.names.functions().map(|(_, name)| name)
    }

    fn lines(&self) -> Vec<(&str, u32)> {
        let mut lines = Vec::new();
        self.names
            .each_line(|_, file, line| lines.push((file, line)));
        lines.sort_unstable();
        lines.dedup();
        lines
    }

    /// The addresses of the variable of that name, or of a part of it.
    fn variables(&self, name: &str) -> Vec<Range<u64>> {
        let whole = name.strip_suffix("[…]").unwrap_or(name);
        let part = whole
            .rsplit_once('+')
            .and_then(|(base, inside)| Some((base, inside.parse::<u64>().ok()?)));
        let base = part.map_or(whole, |(base, _)| base);
        let all = self.names.variables();
        all.filter(|(_, known)| *known == base)
            .map(|(range, _)| match part {
                Some((_, inside)) => range.start + inside..range.start + inside + 1,
                None => range,
            })
            .collect()
    }

    /// The code addresses of that site.
    fn calls(&self, site: &str) -> Vec<Range<u64>> {
        let mut ranges: Vec<Range<u64>> = Vec::new();
        if let Some((file, line)) = source(site) {
            self.names.each_line(|range, of, at| {
                if at == line && ends_with(of, file) {
                    match ranges.last_mut() {
                        Some(last) if last.end == range.start => last.end = range.end,
                        _ => ranges.push(range),
                    }
                }
            });
            return ranges;
        }
        let offset = site.rsplit_once("+0x").and_then(|(module, offset)| {
            let is_here = self.path.file_name().is_some_and(|name| name == module);
            is_here.then(|| u64::from_str_radix(offset, 16).ok())?
        });
        if let Some(offset) = offset {
            ranges.push(offset..offset + 1);
            return ranges;
        }
        let all = self.names.functions();
        all.filter(|(_, known)| *known == site)
            .map(|(range, _)| range)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(lock: &str) -> MutexesLock {
        MutexesLock {
            at: "c.toml:2:1".to_owned(),
            which: Which::Name("m".to_owned()),
            lock: lock.to_owned(),
        }
    }

    #[test]
    fn a_process_has_a_few_locks() {
        let own = Choice::named("mcs").expect("a lock");
        let all = |locks: &[&str]| {
            let lines: Vec<MutexesLock> = locks.iter().map(|lock| line(lock)).collect();
            check(&lines, &own).map_err(|problem| problem.to_string())
        };
        assert_eq!(all(&["mcs", "tas", "clh", "ticket", "k42", "tas"]), Ok(()));
        for (locks, why) in [
            (
                &["tas", "clh", "ticket", "k42", "ttas"][..],
                "supports 4 locks",
            ),
            (&["futex", "futex-hmcs"], "variants of one lock"),
            (
                &["clof:ticket-mcs@core,system", "clof:mcs-ticket@core,system"],
                "one composition",
            ),
        ] {
            let said = all(locks).expect_err("too many");
            assert!(
                said.starts_with("c.toml:2:1: ") && said.contains(why),
                "{said}"
            );
        }
        assert!(check(&[line("mcs")], &Choice::System).is_err());
    }

    #[test]
    fn a_line_of_a_source_is_told_from_a_function() {
        assert_eq!(source("assoc.c:72"), Some(("assoc.c", 72)));
        assert_eq!(source("a/b.cc:7"), Some(("a/b.cc", 7)));
        for function in ["kc::Mutex::Mutex()", "start", "a::7", "lib.so+0x12"] {
            assert_eq!(source(function), None, "{function}");
        }
        assert!(ends_with("/home/me/src/assoc.c", "src/assoc.c"));
        assert!(!ends_with("/home/me/xassoc.c", "assoc.c"));
        assert_eq!(tail("/home/me/src/assoc.c", "arc/asoc.c"), "src/assoc.c");
    }
}
