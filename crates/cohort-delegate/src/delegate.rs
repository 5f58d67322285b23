//! `cohort delegate`: outlines the critical sections of mutexes in C files into functions, so that
//! they can be delegated to the thread with the data.

mod calls;
mod conditions;
mod judge;
mod macros;
mod names;
mod objects;
mod sections;
mod source;
mod structures;
mod write;

use clap::ValueHint;
use cohort_cli::destination;
use cohort_cli::page::{self, Origin};
use cohort_cli::problem::Problem;
use comfy_table::Cell;
use conditions::Known;
use judge::Judge;
use names::Globals;
use objects::{At, Kind, Objects, Reason};
use sections::Section;
use serde::Serialize;
use source::{File, Reading};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of `cohort delegate`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = NOTES)]
pub struct Arguments {
    /// Write the converted files into this folder; without it, only report
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: Option<PathBuf>,
    /// Define the macro NAME, as for the compiler; untaken branches of #if are ignored
    #[arg(short = 'D', long, value_name = "NAME")]
    define: Vec<String>,
    /// Undefine the macro NAME
    #[arg(short = 'U', long, value_name = "NAME")]
    undefine: Vec<String>,
    /// Accept files with unparsable functions; these and the mutexes named in them stay unchanged
    #[arg(long)]
    leave_unparsed: bool,
    /// Convert these files: all C files that use the mutexes, and the headers that declare them
    #[arg(required = true, value_name = "FILE.c", value_hint = ValueHint::FilePath)]
    files: Vec<PathBuf>,
    /// Print the result for each mutex and critical section as JSON
    #[arg(long)]
    json: bool,
}

const NOTES: &str = "\
Each critical section, from pthread_mutex_lock() to pthread_mutex_unlock(), is outlined into a \
function, and cohort_delegate() runs it on the thread that holds the data in its cache \
(docs/delegation.md). A critical section that depends on its thread, leaves by a jump, waits for a \
condition or ends in another block locks the same object in place instead. A mutex that other files \
may lock stays unchanged. The output lists each with its line and the reason.

Pass all files of the program: calls of unknown functions prevent outlining, and an unconverted file \
that names a converted mutex does not link. The output needs <cohort.h> and libcohort (`make \
install-c`).

A file that does not parse is an error. -D and -U select the branches of #if; --leave-unparsed skips \
functions with macros that are not expressions. The compiler rejects a converted mutex that is \
passed as another type, except by a cast or `void *`.

Examples:
  cohort delegate bank.c                    report only
  cohort delegate --json bank.c             report as JSON
  cohort delegate --out converted bank.c    write converted/bank.c
  cohort delegate -D EXTSTORE -U TLS --leave-unparsed --out converted *.c *.h

Exit status: 0; 2 if a file cannot be read or parsed, 125 if one cannot be written.";

impl Arguments {
    /// How to read the files.
    fn reading(&self) -> Result<Reading, Problem> {
        // Values are irrelevant: only definedness matters.
        let names = |all: &[String]| {
            let names = all
                .iter()
                .map(|one| one.split('=').next().unwrap_or_default());
            names.map(str::to_owned).collect::<Vec<String>>()
        };
        let known = Known {
            defined: names(&self.define),
            undefined: names(&self.undefine),
        };
        let mut all = known.defined.iter().chain(&known.undefined);
        let is_name = |one: &&String| {
            !one.is_empty()
                && one
                    .chars()
                    .all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        };
        if let Some(odd) = all.find(|one| !is_name(one)) {
            return Err(Problem::usage(format!("`{odd}` is not a macro name")));
        }
        if let Some(both) = known
            .defined
            .iter()
            .find(|one| known.undefined.contains(one))
        {
            return Err(Problem::usage(format!(
                "{both} is both defined and undefined; use one of -D and -U"
            )));
        }
        Ok(Reading {
            known,
            leaves_unparsed: self.leave_unparsed,
        })
    }
}

/// Result for a mutex or a condition, or for one critical section.
#[derive(Serialize)]
struct Row {
    file: String,
    line: usize,
    name: String,
    /// `function`, `in place`, `converted`, `left alone`.
    becomes: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// Executes `cohort delegate`.
///
/// # Errors
/// A file cannot be read, parsed or written.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let targets = targets(arguments)?;
    let how = arguments.reading()?;
    let files = arguments.files.iter().map(|file| File::read(file, &how));
    let mut files = files.collect::<Result<Vec<File>, Problem>>()?;
    macros::name_macros(&mut files);
    let globals = Globals::of(&files);
    let (objects, made) = convert(&files, &globals);
    if let Some(folder) = &arguments.out {
        std::fs::create_dir_all(folder).map_err(|error| {
            Problem::refused(format!("cannot create {}: {error}", folder.display()))
        })?;
    }
    let texts = (0..targets.len()).map(|number| {
        let own = made
            .functions
            .iter()
            .filter(|section| section.file == number);
        let own: Vec<&Section<'_>> = own.collect();
        write::converted(number, &files[number], &objects, &own)
    });
    let texts: Vec<String> = texts.collect();
    let pairs = targets.iter().zip(&texts);
    let pairs: Vec<(&Path, &[u8])> = pairs
        .map(|(target, text)| (target.as_path(), text.as_bytes()))
        .collect();
    // A partly converted program does not compile.
    destination::write_all(&pairs)?;
    let rows = rows(&files, &objects, &made);
    if arguments.json {
        page::print_list(Origin::here().of_subcommand("delegate"), "rows", &rows)?;
    } else {
        page::print(&report(&rows, arguments.out.as_deref()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The output files; each distinct, and different from the input.
fn targets(arguments: &Arguments) -> Result<Vec<PathBuf>, Problem> {
    let Some(folder) = &arguments.out else {
        return Ok(Vec::new());
    };
    let mut targets = Vec::new();
    for file in &arguments.files {
        let name = file.file_name().unwrap_or_default();
        let target = folder.join(name);
        let is_same = |one: &Path, other: &Path| match (one.canonicalize(), other.canonicalize()) {
            (Ok(one), Ok(other)) => one == other,
            _ => false,
        };
        if is_same(&target, file) {
            return Err(Problem::usage(format!(
                "--out: {} would be overwritten; choose another folder",
                file.display()
            )));
        }
        if targets.contains(&target) {
            return Err(Problem::usage(format!(
                "two files would be written to {}; convert them into separate folders",
                target.display()
            )));
        }
        targets.push(target);
    }
    Ok(targets)
}

/// Results for the critical sections.
struct Made<'p> {
    functions: Vec<Section<'p>>,
    /// In-place critical sections: the object's index, the place, and the reason.
    in_place: Vec<(usize, At<'p>, Reason)>,
    /// The objects of the functions.
    of: Vec<usize>,
}

/// Converts everything possible; a mutex without an outlined critical section gains nothing and is
/// left alone.
fn convert<'p>(files: &'p [File], globals: &Globals<'p>) -> (Objects<'p>, Made<'p>) {
    let mut objects = Objects::find(files, globals);
    loop {
        let made = sections(files, globals, &objects);
        let idle: Vec<usize> = (0..objects.all.len())
            .filter(|place| {
                let object = &objects.all[*place];
                object.kind == Kind::Mutex && object.stays.is_none() && !made.of.contains(place)
            })
            .collect();
        if idle.is_empty() {
            return (objects, made);
        }
        for place in idle {
            let why = made.in_place.iter().find(|(of, ..)| *of == place);
            let why = why.map_or_else(
                || Reason::new(objects.all[place].at(), "is not locked in these files"),
                |(_, at, reason)| {
                    let why = format!(
                        "has no critical section that can be a function: one {}",
                        reason.why
                    );
                    Reason::new(*at, why)
                },
            );
            objects.all[place].stays = Some(why);
        }
        objects.settle();
    }
}

fn sections<'p>(files: &'p [File], globals: &Globals<'p>, objects: &Objects<'p>) -> Made<'p> {
    let judge = Judge::new(files, globals, objects);
    let mut made = Made {
        functions: Vec::new(),
        in_place: Vec::new(),
        of: Vec::new(),
    };
    let mut found = Vec::new();
    for (place, object) in objects.all.iter().enumerate() {
        if object.stays.is_some() || object.kind != Kind::Mutex {
            continue;
        }
        for locks in object.uses_by("pthread_mutex_lock") {
            found.push((place, *locks));
        }
    }
    found.sort_by_key(|(_, locks)| (locks.file, locks.call.start_byte()));
    for (place, locks) in found {
        let outer = made
            .functions
            .iter()
            .find(|section| section.file == locks.file && section.contains(locks.call));
        if let Some(outer) = outer {
            let line = source::line(outer.locks.call);
            let why = format!("is inside the critical section that begins in line {line}");
            let reason = Reason::new(locks.at(), why);
            made.in_place.push((place, locks.at(), reason));
            continue;
        }
        match sections::section(&judge, place, locks) {
            Ok(section) => {
                made.functions.push(section);
                made.of.push(place);
            }
            Err(reason) => made.in_place.push((place, locks.at(), reason)),
        }
    }
    made
}

/// A row for each critical section and each unconverted object, in the order of the files.
fn rows(files: &[File], objects: &Objects<'_>, made: &Made<'_>) -> Vec<Row> {
    let mut rows: Vec<(usize, usize, Row)> = Vec::new();
    let mut add = |at: At<'_>, name: &str, becomes, reason: Option<&Reason>| {
        let line = source::line(at.node);
        let reason = reason.map(|reason| {
            let there = (reason.file, reason.line);
            if there == (at.file, line) {
                reason.why.clone()
            } else if reason.file == at.file {
                format!("{} (line {})", reason.why, reason.line)
            } else {
                let file = files[reason.file].path.display();
                format!("{} ({file}:{})", reason.why, reason.line)
            }
        });
        let row = Row {
            file: files[at.file].path.display().to_string(),
            line,
            name: name.to_owned(),
            becomes,
            reason,
        };
        rows.push((at.file, line, row));
    };
    for object in &objects.all {
        let becomes = match object.stays {
            Some(_) => "left alone",
            None => "converted",
        };
        add(object.at(), &object.name, becomes, object.stays.as_ref());
    }
    for (section, place) in made.functions.iter().zip(&made.of) {
        let name = &objects.all[*place].name;
        add(section.locks.at(), name, "function", None);
    }
    for (place, at, reason) in &made.in_place {
        add(*at, &objects.all[*place].name, "in place", Some(reason));
    }
    rows.sort_by_key(|(file, line, row)| (*file, *line, row.becomes));
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
        "Critical sections: {} outlined, {} in place. Mutexes and conditions: {} converted, {} left alone.",
        count("function"),
        count("in place"),
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
