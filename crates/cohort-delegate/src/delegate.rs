//! `cohort delegate`: outlines the critical sections of mutexes in C files into functions, so that
//! they can be delegated to the thread with the data.

mod calls;
#[expect(non_upper_case_globals, reason = "names of libclang's")]
mod clang;
mod database;
#[expect(non_upper_case_globals, reason = "names of libclang's")]
mod extents;
#[expect(non_upper_case_globals, reason = "names of libclang's")]
mod judge;
mod lex;
mod libclang;
mod macros;
#[expect(non_upper_case_globals, reason = "names of libclang's")]
mod objects;
#[expect(non_upper_case_globals, reason = "names of libclang's")]
mod sections;
mod tree;
#[expect(non_upper_case_globals, reason = "names of libclang's")]
mod write;

use clap::ValueHint;
use cohort_cli::destination;
use cohort_cli::page::{self, Origin};
use cohort_cli::problem::Problem;
use comfy_table::Cell;
use database::Command;
pub use database::record;
use judge::Judge;
use libclang::Library;
use objects::{Kind, Objects, Reason, Use};
use sections::Section;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tree::{Place, Program};

/// Options of `cohort delegate`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = NOTES)]
pub struct Arguments {
    /// Write the converted files into this folder; without it, only report
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: Option<PathBuf>,
    /// Read the compilations of a whole program from DIR/compile_commands.json
    #[arg(short = 'p', long, value_name = "DIR", value_hint = ValueHint::AnyPath)]
    project: Option<PathBuf>,
    /// Define a macro, as for the compiler
    #[arg(short = 'D', long, value_name = "NAME[=VALUE]", conflicts_with_all = ["project", "command"])]
    define: Vec<String>,
    /// Undefine a macro, as for the compiler
    #[arg(short = 'U', long, value_name = "NAME", conflicts_with_all = ["project", "command"])]
    undefine: Vec<String>,
    /// Look for headers in DIR, as the compiler
    #[arg(short = 'I', long, value_name = "DIR", conflicts_with_all = ["project", "command"])]
    include: Vec<PathBuf>,
    /// Leave files that do not parse as they are, with the mutexes named in them
    #[arg(long)]
    leave_unparsed: bool,
    /// Convert these files: all C files that use the mutexes
    #[arg(
        required_unless_present_any = ["project", "command"],
        conflicts_with_all = ["project", "command"],
        value_name = "FILE.c",
        value_hint = ValueHint::FilePath
    )]
    files: Vec<PathBuf>,
    /// Print the result for each mutex and critical section as JSON
    #[arg(long)]
    json: bool,
    /// Run this build, and convert what it compiles
    #[arg(last = true, value_name = "BUILD", conflicts_with = "project")]
    command: Vec<OsString>,
}

const NOTES: &str = "\
Each critical section, from pthread_mutex_lock() to pthread_mutex_unlock(), is outlined into a \
function, and cohort_delegate() runs it on the thread that holds the data in its cache \
(docs/delegation.md). A critical section that depends on its thread, is tried, waits for a condition \
or ends in another block locks the same object in place instead. A mutex that other files may lock stays \
unchanged. The output lists each with its line and the reason.

libclang reads the files as they are compiled: by compile_commands.json (-p), by a build that is run \
(`-- make`), or with -D, -U and -I. It is loaded when the command runs: install libclang-dev (Debian), \
or set LIBCLANG_PATH to its folder.

Pass all files of the program: calls of unknown functions prevent outlining, and an unconverted file \
that names a converted mutex does not link. Headers beside or below the files are converted too. The \
output needs <cohort.h> and libcohort (`make install-c`).

Examples:
  cohort delegate bank.c                      report only
  cohort delegate --json bank.c               report as JSON
  cohort delegate --out converted bank.c      write converted/bank.c
  cohort delegate -p build/ --out converted   write a program's changed files
  cohort delegate --out converted -- make     by what this build compiles

Exit status: 0; 2 if a file cannot be read or parsed, 125 if libclang is missing, the build fails or a \
file cannot be written.";

/// Result for a mutex or a condition, or for one critical section.
#[derive(Serialize)]
struct Row {
    file: String,
    line: usize,
    name: String,
    /// `function`, `in place`, `unchanged`, `converted`, `left alone`.
    becomes: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// A path as it is printed: relative to the current folder, if below it.
fn shown(path: &Path) -> String {
    let here = std::env::current_dir().and_then(|here| here.canonicalize());
    let inner = here
        .ok()
        .and_then(|here| path.strip_prefix(here).ok().map(Path::to_owned));
    inner.as_deref().unwrap_or(path).display().to_string()
}

impl Arguments {
    /// The compilations of the program.
    fn commands(&self) -> Result<Vec<Command>, Problem> {
        if let Some(place) = &self.project {
            return database::read(place);
        }
        if !self.command.is_empty() {
            return database::build(&self.command);
        }
        let is_name = |one: &str| {
            !one.is_empty()
                && one
                    .chars()
                    .all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        };
        let words = |all: &[String], option: &str| -> Result<Vec<String>, Problem> {
            all.iter()
                .map(|one| {
                    let name = one.split('=').next().unwrap_or_default();
                    if is_name(name) {
                        Ok(format!("{option}{one}"))
                    } else {
                        Err(Problem::usage(format!("`{name}` is not a macro name")))
                    }
                })
                .collect()
        };
        let mut options = words(&self.define, "-D")?;
        options.extend(words(&self.undefine, "-U")?);
        let folders = self
            .include
            .iter()
            .map(|folder| format!("-I{}", folder.display()));
        options.extend(folders);
        for file in &self.files {
            std::fs::File::open(file).map_err(|error| {
                Problem::usage(format!("cannot read {}: {error}", file.display()))
            })?;
        }
        let made = database::plain(&self.files, &options);
        if made.is_empty() {
            return Err(Problem::usage("none of these files is a C file"));
        }
        Ok(made)
    }
}

impl Arguments {
    /// The folder of the program: files below it are converted.
    fn root(&self, commands: &[Command]) -> PathBuf {
        let folder = |file: &Path| {
            let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
            file.parent().unwrap_or(Path::new("/")).to_owned()
        };
        let given = commands.iter().map(|command| command.file.as_path());
        let given = given.chain(self.files.iter().map(PathBuf::as_path));
        let given: Vec<PathBuf> = given.map(folder).collect();
        // Headers may lie beside the folders of the sources.
        let mut beside = self.include.clone();
        if let Some(place) = &self.project {
            let place = place.canonicalize().unwrap_or_else(|_| place.clone());
            beside.push(if place.is_dir() {
                place
            } else {
                folder(&place)
            });
        } else if !self.command.is_empty() {
            beside.push(PathBuf::from("."));
        }
        let wide = common(given.iter().cloned().chain(beside));
        // Built elsewhere.
        if wide.parent().is_none() {
            return common(given.into_iter());
        }
        wide
    }
}

/// The folder with all these folders.
fn common(folders: impl Iterator<Item = PathBuf>) -> PathBuf {
    let mut common: Option<PathBuf> = None;
    for folder in folders {
        let folder = folder.canonicalize().unwrap_or(folder);
        common = Some(match common {
            None => folder,
            Some(root) => {
                let same = root.components().zip(folder.components());
                same.take_while(|(one, other)| one == other)
                    .map(|(one, _)| one)
                    .collect()
            }
        });
    }
    common.unwrap_or_default()
}

/// Reads the whole program.
fn read(arguments: &Arguments, commands: &[Command], root: &Path) -> Result<Program, Problem> {
    let library = Library::load()?;
    let mut program = Program::default();
    for command in commands {
        let Err(problem) = clang::read(&library, &mut program, command, root) else {
            continue;
        };
        if !arguments.leave_unparsed {
            return Err(Problem::new(
                cohort_cli::problem::status::USAGE,
                format!(
                    "{problem}; no file was written (--leave-unparsed leaves the file as it is)"
                ),
            ));
        }
        let path = command
            .file
            .canonicalize()
            .unwrap_or_else(|_| command.file.clone());
        let number = *program.paths.entry(path.clone()).or_insert_with(|| {
            program.sources.push(tree::Source::read(&path, true));
            program.sources.len() - 1
        });
        if !program.unparsed.contains(&number) {
            program.unparsed.push(number);
        }
    }
    Ok(program)
}

/// Executes `cohort delegate`.
///
/// # Errors
/// A file cannot be read, parsed or written.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let commands = arguments.commands()?;
    let root = arguments.root(&commands);
    if root.parent().is_none() {
        return Err(Problem::usage(
            "the compiled files have no folder in common but /; move them below one folder",
        ));
    }
    let unchanged = targets(arguments, &root)?;
    let program = read(arguments, &commands, &root)?;
    let (objects, made) = convert(&program);
    let judge = Judge::new(&program, &objects);
    if let Some(folder) = &arguments.out {
        let texts = write::converted(&judge, &made.functions);
        let mut files: BTreeMap<PathBuf, Vec<u8>> = BTreeMap::new();
        for (file, target) in unchanged {
            let bytes = std::fs::read(&file).map_err(|error| {
                Problem::usage(format!("cannot read {}: {error}", file.display()))
            })?;
            files.insert(target, bytes);
        }
        for (number, bytes) in texts {
            let path = &program.sources[number].path;
            let inner = path.strip_prefix(&root).unwrap_or(path);
            files.insert(folder.join(inner), bytes);
        }
        write(folder, &files)?;
    }
    let rows = rows(&program, &objects, &made);
    if arguments.json {
        page::print_list(Origin::here().of_subcommand("delegate"), "rows", &rows)?;
    } else {
        page::print(&report(&rows, arguments.out.as_deref()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes all files or none: a partly converted program does not compile.
fn write(folder: &Path, files: &BTreeMap<PathBuf, Vec<u8>>) -> Result<(), Problem> {
    let make = |folder: &Path| {
        std::fs::create_dir_all(folder).map_err(|error| {
            Problem::refused(format!("cannot create {}: {error}", folder.display()))
        })
    };
    make(folder)?;
    for target in files.keys() {
        if let Some(folder) = target.parent() {
            make(folder)?;
        }
    }
    let pairs: Vec<(&Path, &[u8])> = files
        .iter()
        .map(|(target, bytes)| (target.as_path(), bytes.as_slice()))
        .collect();
    destination::write_all(&pairs)
}

/// The given files, each with its output file; each distinct, and different from the input.
fn targets(arguments: &Arguments, root: &Path) -> Result<Vec<(PathBuf, PathBuf)>, Problem> {
    let Some(folder) = &arguments.out else {
        return Ok(Vec::new());
    };
    let is_same = |one: &Path, other: &Path| match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    };
    if is_same(folder, root) {
        return Err(Problem::usage(format!(
            "--out: the files of {} would be overwritten; choose another folder",
            folder.display()
        )));
    }
    let mut targets: Vec<(PathBuf, PathBuf)> = Vec::new();
    for file in &arguments.files {
        let path = file.canonicalize().unwrap_or_else(|_| file.clone());
        let target = folder.join(path.strip_prefix(root).unwrap_or(&path));
        if targets.iter().any(|(_, other)| *other == target) {
            return Err(Problem::usage(format!("{} is given twice", file.display())));
        }
        targets.push((path, target));
    }
    Ok(targets)
}

/// The reason of a lock with its section in the callers.
const ONLY_LOCKS: &str = "is a function that only locks";

/// Why a section stays in place after a trylock.
const ONLY_IF_FREE: &str = "runs only if its mutex is free";

/// Results for the critical sections.
struct Made {
    functions: Vec<Section>,
    /// In-place critical sections: the object's index, the place, and the reason.
    in_place: Vec<(usize, Place, Reason)>,
    /// Critical sections of mutexes that are left alone because none can be outlined.
    unchanged: Vec<(usize, Place, Reason)>,
}

/// Where a use begins.
fn place(program: &Program, one: &Use) -> Place {
    let node = &program.functions[one.within].nodes[one.call];
    Place {
        file: node.file,
        at: node.from,
    }
}

/// Converts everything possible; a mutex without an outlined critical section gains nothing and is
/// left alone.
fn convert(program: &Program) -> (Objects, Made) {
    let mut objects = Objects::find(program);
    let mut idle_sections = Vec::new();
    loop {
        let mut made = sections(program, &objects);
        let idle: Vec<usize> = (0..objects.all.len())
            .filter(|number| {
                let object = &objects.all[*number];
                let is_used = made
                    .functions
                    .iter()
                    .any(|section| section.object == *number);
                object.kind == Kind::Mutex && object.stays.is_none() && !is_used
            })
            .collect();
        if idle.is_empty() {
            made.unchanged = idle_sections;
            return (objects, made);
        }
        let of_idle = made.in_place.iter().filter(|(of, ..)| idle.contains(of));
        idle_sections.extend(of_idle.cloned());
        for number in idle {
            let mut all: Vec<_> = made.in_place.iter().collect();
            all.retain(|(of, ..)| *of == number);
            let says_more = |(_, _, reason): &&&(usize, Place, Reason)| reason.why != ONLY_LOCKS;
            let why = all.iter().find(says_more).or(all.first()).copied();
            let object = &objects.all[number];
            let why = why.map_or_else(
                || Reason::new(object.place(), "is not locked in these files"),
                |(_, _, reason)| {
                    let why = format!(
                        "has no critical section that can be a function: one {}",
                        reason.why.split(", which ").next().unwrap_or_default()
                    );
                    Reason::new(reason.place, why)
                },
            );
            objects.all[number].stays = Some(why);
        }
        objects.settle();
    }
}

fn sections(program: &Program, objects: &Objects) -> Made {
    let judge = Judge::new(program, objects);
    let mut made = Made {
        functions: Vec::new(),
        in_place: Vec::new(),
        unchanged: Vec::new(),
    };
    let mut found: Vec<(usize, &Use)> = Vec::new();
    for (number, object) in objects.all.iter().enumerate() {
        if object.stays.is_none() && object.kind == Kind::Mutex {
            let locks = object.uses.iter().filter(|one| is_lock(one));
            found.extend(locks.map(|one| (number, one)));
        }
    }
    found.sort_by_key(|(_, locks)| (place(program, locks), locks.within));
    // Readings of one text are one critical section.
    for readings in
        found.chunk_by(|(_, one), (_, next)| place(program, one) == place(program, next))
    {
        let (number, locks) = readings[0];
        let here = place(program, locks);
        let is_outer = |section: &&Section| {
            section.outline.file == here.file && section.outline.body.contains(&here.at)
        };
        let why = if locks.is_pair {
            "is made by a macro, with its end".to_owned()
        } else if is_wrapper(objects, number, locks) {
            ONLY_LOCKS.to_owned()
        } else if let Some(outer) = made.functions.iter().find(is_outer) {
            let start = Place {
                file: here.file,
                at: outer.outline.whole.start,
            };
            let line = program.line(start);
            format!("is inside the critical section that begins in line {line}")
        } else {
            match joined(&judge, readings) {
                Ok(section) => made.functions.push(section),
                Err(reason) => made.in_place.push((number, here, reason)),
            }
            continue;
        };
        made.in_place.push((number, here, Reason::new(here, why)));
    }
    for (number, object) in objects.all.iter().enumerate() {
        if object.stays.is_none() && object.kind == Kind::Mutex {
            let tries = object
                .uses
                .iter()
                .filter(|one| one.function == "pthread_mutex_trylock");
            let places: BTreeSet<Place> = tries.map(|one| place(program, one)).collect();
            let row = |here: Place| (number, here, Reason::new(here, ONLY_IF_FREE));
            made.in_place.extend(places.into_iter().map(row));
        }
    }
    made
}

/// The critical section that all readings of a text have.
fn joined(judge: &Judge<'_>, readings: &[(usize, &Use)]) -> Result<Section, Reason> {
    let program = judge.program;
    let (number, locks) = readings[0];
    let mut made = sections::section(judge, number, locks)?;
    let varied = || Reason::new(place(program, locks), "is compiled in several ways");
    let begun = program.functions[locks.within].place;
    if program.begun.get(&begun).map_or(0, Vec::len) != readings.len() {
        return Err(varied());
    }
    for (number, locks) in &readings[1..] {
        if !made.join(sections::section(judge, *number, locks)?) {
            return Err(varied());
        }
    }
    Ok(made)
}

fn is_lock(one: &Use) -> bool {
    one.function == "pthread_mutex_lock"
}

/// Whether a use is the only statement of a function that locks for its callers.
fn is_wrapper(objects: &Objects, object: usize, locks: &Use) -> bool {
    let uses = &objects.all[object].uses;
    uses.iter().any(|one| one.via == Some(locks.within))
}

/// A row for each critical section and each unconverted object, in the order of the files.
fn rows(program: &Program, objects: &Objects, made: &Made) -> Vec<Row> {
    let mut rows: Vec<(String, usize, Row)> = Vec::new();
    let mut add = |at: Place, name: &str, becomes, reason: Option<&Reason>| {
        let (file, line) = (shown(&program.sources[at.file].path), program.line(at));
        let reason = reason.map(|reason| {
            let there = program.line(reason.place);
            if (reason.place.file, there) == (at.file, line) {
                reason.why.clone()
            } else if reason.place.file == at.file {
                format!("{} (line {there})", reason.why)
            } else {
                let file = shown(&program.sources[reason.place.file].path);
                format!("{} ({file}:{there})", reason.why)
            }
        });
        let row = Row {
            file: file.clone(),
            line,
            name: name.to_owned(),
            becomes,
            reason,
        };
        rows.push((file, line, row));
    };
    for object in &objects.all {
        let becomes = match object.stays {
            Some(_) => "left alone",
            None => "converted",
        };
        add(object.place(), &object.name, becomes, object.stays.as_ref());
        let Some(stays) = &object.stays else {
            continue;
        };
        let mut locks: Vec<Place> = object
            .uses
            .iter()
            .filter(|one| is_lock(one))
            .map(|one| place(program, one))
            .collect();
        locks.sort_unstable();
        locks.dedup();
        for lock in locks {
            let own = made.unchanged.iter().find(|(_, at, _)| *at == lock);
            let of_mutex = Reason::new(stays.place, format!("its mutex {}", stays.why));
            let why = own.map_or(&of_mutex, |(_, _, own)| own);
            add(lock, &object.name, "unchanged", Some(why));
        }
    }
    for section in &made.functions {
        let name = &objects.all[section.object].name;
        add(place(program, &section.locks), name, "function", None);
    }
    for (object, at, reason) in &made.in_place {
        add(*at, &objects.all[*object].name, "in place", Some(reason));
    }
    for stray in &objects.strays {
        let reason = Reason::new(stray.place, stray.why.clone());
        add(stray.place, &stray.name, "unchanged", Some(&reason));
    }
    rows.sort_by(|(file, line, row), (of, at, other)| {
        (file, line, row.becomes, &row.name).cmp(&(of, at, other.becomes, &other.name))
    });
    rows.dedup_by(|(_, _, row), (_, _, other)| {
        (&row.file, row.line, &row.name, row.becomes)
            == (&other.file, other.line, &other.name, other.becomes)
    });
    rows.into_iter().map(|(_, _, row)| row).collect()
}

/// A table for each file, and the total.
fn report(rows: &[Row], out: Option<&Path>) -> String {
    let mut text = String::new();
    for of_file in rows.chunk_by(|one, next| one.file == next.file) {
        let mut table = page::titled(&["line", "name", "becomes", "because"]);
        for row in of_file {
            table.add_row([
                Cell::new(row.line),
                page::name(&row.name),
                Cell::new(row.becomes),
                Cell::new(row.reason.as_deref().unwrap_or_default()),
            ]);
        }
        let _ = writeln!(text, "{}\n{}\n", of_file[0].file, page::lines(table, 0..1));
    }
    let count = |becomes: &str| rows.iter().filter(|row| row.becomes == becomes).count();
    let mut sum = format!(
        "Critical sections: {} outlined, {} in place, {} unchanged. Mutexes and conditions: {} converted, {} left \
         alone.",
        count("function"),
        count("in place"),
        count("unchanged"),
        count("converted"),
        count("left alone")
    );
    match out {
        Some(folder) => {
            let _ = write!(sum, " Output: {}.", folder.display());
        }
        None => sum.push_str(" To write the files, add --out DIR."),
    }
    format!("{text}{}", page::prose(&sum))
}
