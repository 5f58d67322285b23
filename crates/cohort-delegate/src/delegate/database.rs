//! The commands that compile a program: from `compile_commands.json`, from a build, or of plain files.

use cohort_cli::problem::Problem;
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process;

/// Compilation of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    pub folder: PathBuf,
    pub file: PathBuf,
    /// The options that decide what the text means.
    pub options: Vec<String>,
}

impl Command {
    /// The compilation of a file, with the options that decide its meaning.
    fn new(folder: &Path, file: &Path, words: &[String]) -> Self {
        Self {
            folder: folder.to_owned(),
            file: folder.join(file),
            options: kept(words),
        }
    }

    pub fn is_cpp(&self) -> bool {
        let mut words = self.options.iter();
        if let Some(at) = words.position(|word| word == "-x")
            && let Some(language) = self.options.get(at + 1)
        {
            return language.contains("++");
        }
        is_of(&self.file, &["cc", "cpp", "cxx", "C", "c++"])
    }
}

fn is_of(file: &Path, endings: &[&str]) -> bool {
    let ending = file.extension().and_then(OsStr::to_str);
    ending.is_some_and(|ending| endings.contains(&ending))
}

/// Whether this is a file of C or C++.
fn is_source(file: &Path) -> bool {
    is_of(file, &["c", "cc", "cpp", "cxx", "C", "c++"])
}

/// Options with a value, joined or in the next word.
const VALUED: [&str; 12] = [
    "-I",
    "-D",
    "-U",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-include",
    "-imacros",
    "-x",
    "-isysroot",
    "--sysroot",
    "-arch",
];

/// Options that decide what a text means, by their beginnings.
const KEPT: [&str; 20] = [
    "-std=",
    "-ansi",
    "-pthread",
    "-m32",
    "-m64",
    "-mx32",
    "-march=",
    "-mavx",
    "-msse",
    "-mbmi",
    "-maes",
    "-mpclmul",
    "-mlzcnt",
    "-mpopcnt",
    "-fsigned-char",
    "-funsigned-char",
    "-fshort-enums",
    "-fopenmp",
    "-nostdinc",
    "-fms-extensions",
];

/// The options that decide what a text means; a compiler has options of its own for the rest.
fn kept(words: &[String]) -> Vec<String> {
    let mut made = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if let Some(option) = VALUED.iter().find(|option| word.starts_with(**option)) {
            made.push(word.clone());
            if word == option
                && let Some(value) = words.next()
            {
                made.push(value.clone());
            }
        } else if KEPT.iter().any(|option| word.starts_with(option))
            || word.starts_with("-O") && word != "-O0"
        {
            made.push(word.clone());
        }
    }
    made
}

/// The words of a command, with those of response files such as `@options`.
fn spread(folder: &Path, words: &[String], depth: usize) -> Vec<String> {
    let inner = |word: &String| {
        let name = word.strip_prefix('@').filter(|_| depth < 8)?;
        let text = std::fs::read_to_string(folder.join(name)).ok()?;
        Some(spread(folder, &shlex::split(&text)?, depth + 1))
    };
    let all = words.iter();
    all.flat_map(|word| inner(word).unwrap_or_else(|| vec![word.clone()]))
        .collect()
}

/// Plain files, with options such as `-DNAME`.
pub fn plain(files: &[PathBuf], options: &[String]) -> Vec<Command> {
    let folder = std::env::current_dir().unwrap_or_default();
    let sources = files.iter().filter(|file| is_source(file));
    sources
        .map(|file| Command {
            folder: folder.clone(),
            file: folder.join(file),
            options: options.to_vec(),
        })
        .collect()
}

/// Entry of `compile_commands.json`.
#[derive(Deserialize)]
struct Entry {
    directory: PathBuf,
    file: PathBuf,
    command: Option<String>,
    arguments: Option<Vec<String>>,
}

/// Reads `compile_commands.json` of a build folder, or a file of that form.
///
/// # Errors
/// It is missing or damaged, or names no C file.
pub fn read(place: &Path) -> Result<Vec<Command>, Problem> {
    let file = if place.is_dir() {
        place.join("compile_commands.json")
    } else {
        place.to_owned()
    };
    let shown = file.display();
    let text = std::fs::read(&file).map_err(|error| {
        Problem::usage(format!(
            "cannot read {shown}: {error}; make it by `cmake -DCMAKE_EXPORT_COMPILE_COMMANDS=ON`, or use \
             `cohort delegate -- make`"
        ))
    })?;
    let entries: Vec<Entry> = serde_json::from_slice(&text)
        .map_err(|error| Problem::usage(format!("{shown}: {error}")))?;
    let mut made = Vec::new();
    for (number, entry) in entries.into_iter().enumerate() {
        let words = match (entry.arguments, entry.command) {
            (Some(words), _) => words,
            (None, Some(line)) => shlex::split(&line).ok_or_else(|| {
                Problem::usage(format!("{shown}: entry {}: unbalanced quotes", number + 1))
            })?,
            (None, None) => {
                return Err(Problem::usage(format!(
                    "{shown}: entry {} has neither `command` nor `arguments`",
                    number + 1
                )));
            }
        };
        let folder = if entry.directory.is_absolute() {
            entry.directory
        } else {
            let base = file.parent().unwrap_or(Path::new(""));
            std::env::current_dir()
                .unwrap_or_default()
                .join(base)
                .join(entry.directory)
        };
        let words = spread(&folder, words.get(1..).unwrap_or_default(), 0);
        let one = Command::new(&folder, &entry.file, &words);
        if !is_source(&one.file) {
            continue;
        }
        if !one.file.exists() {
            return Err(Problem::usage(format!(
                "{shown}: {} does not exist; build the program first",
                one.file.display()
            )));
        }
        if !made.contains(&one) {
            made.push(one);
        }
    }
    if made.is_empty() {
        return Err(Problem::usage(format!("{shown} names no C file")));
    }
    Ok(made)
}

/// The variable with the file that a recorded compiler writes to.
const RECORD: &str = "COHORT_DELEGATE_RECORD";

/// The variable with the folder of the recorders, which stand in `PATH` before the compilers.
const RECORDERS: &str = "COHORT_DELEGATE_RECORDERS";

/// Command of a compiler.
#[derive(Serialize, Deserialize)]
struct Said {
    folder: PathBuf,
    words: Vec<String>,
}

/// Whether a program is a compiler by its name: `cc`, `gcc-12`, `x86_64-linux-gnu-g++`.
fn is_compiler(name: &str) -> bool {
    let name = match name.rsplit_once('-') {
        Some((name, version))
            if version
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'.') =>
        {
            name
        }
        _ => name,
    };
    let name = name.rsplit('-').next().unwrap_or(name);
    ["cc", "gcc", "clang", "c++", "g++", "clang++", "c99", "c89"].contains(&name)
}

/// The programs of `PATH`, without those of one folder.
fn programs(without: Option<&OsStr>) -> impl Iterator<Item = PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path)
        .filter(|folder| Some(folder.as_os_str()) != without)
        .collect();
    let files = folders
        .into_iter()
        .filter_map(|folder| std::fs::read_dir(folder).ok());
    files.flat_map(|all| all.flatten().map(|one| one.path()))
}

/// Runs a build, and collects the compilations.
///
/// # Errors
/// The build fails, or compiles nothing.
pub fn build(words: &[OsString]) -> Result<Vec<Command>, Problem> {
    let Some((program, arguments)) = words.split_first() else {
        return Err(Problem::usage("-- COMMAND: the command is missing"));
    };
    let failed = |what: &str, error: std::io::Error| Problem::refused(format!("{what}: {error}"));
    let folder = tempfile::tempdir().map_err(|error| failed("cannot make a folder", error))?;
    let own = std::env::current_exe().map_err(|error| failed("cannot find this command", error))?;
    for path in programs(None) {
        let name = path.file_name().unwrap_or_default();
        if is_compiler(&name.to_string_lossy()) {
            // The first of a name is made; the others have the same name.
            let _ = std::os::unix::fs::symlink(&own, folder.path().join(name));
        }
    }
    let record = folder.path().join("record");
    std::fs::write(&record, "").map_err(|error| failed("cannot write a file", error))?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(folder.path().to_owned()).chain(std::env::split_paths(&path));
    let path = std::env::join_paths(folders).unwrap_or(path.clone());
    let shown = program.to_string_lossy();
    let status = process::Command::new(program)
        .args(arguments)
        .env("PATH", path)
        .env(RECORD, &record)
        .env(RECORDERS, folder.path())
        // The report is on stdout.
        .stdout(std::io::stderr())
        .status()
        .map_err(|error| Problem::usage(format!("cannot run {shown}: {error}")))?;
    if !status.success() {
        return Err(Problem::refused(format!(
            "{shown} failed ({status}); no file was written"
        )));
    }
    let text = std::fs::read_to_string(&record).unwrap_or_default();
    let mut made = Vec::new();
    for said in text
        .lines()
        .filter_map(|line| serde_json::from_str::<Said>(line).ok())
    {
        let words = spread(&said.folder, &said.words, 0);
        for file in words.iter().map(Path::new).filter(|file| is_source(file)) {
            let one = Command::new(&said.folder, file, &words);
            // Tests of the build's own compile files that do not remain.
            if one.file.exists() && !made.contains(&one) {
                made.push(one);
            }
        }
    }
    if made.is_empty() {
        return Err(Problem::refused(format!(
            "{shown} compiled no C file by a compiler found in PATH; remove what is built (`make clean`) and \
             run it again"
        )));
    }
    Ok(made)
}

/// Records a compilation and runs the compiler, if this process stands for one.
pub fn record() -> Option<process::ExitCode> {
    let file = std::env::var_os(RECORD)?;
    let own = PathBuf::from(std::env::args_os().next()?);
    let name = own.file_name()?.to_owned();
    if !is_compiler(&name.to_string_lossy()) {
        return None;
    }
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let said = Said {
        folder: std::env::current_dir().unwrap_or_default(),
        words: words
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect(),
    };
    if let Ok(mut line) = serde_json::to_string(&said) {
        line.push('\n');
        // One write appends as a whole.
        let opened = std::fs::OpenOptions::new().append(true).open(file);
        let _ = opened.and_then(|mut file| file.write_all(line.as_bytes()));
    }
    let recorders = std::env::var_os(RECORDERS);
    let real = programs(recorders.as_deref()).find(|path| path.file_name() == Some(&name));
    let Some(real) = real else {
        eprintln!("cohort: found no {} in PATH", name.to_string_lossy());
        return Some(process::ExitCode::from(127));
    };
    // A compiler that looks for another in PATH does not find this one.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path);
    let folders = folders.filter(|folder| Some(folder.as_os_str()) != recorders.as_deref());
    let path = std::env::join_paths(folders).unwrap_or(path.clone());
    let error = process::Command::new(&real)
        .args(words)
        .env("PATH", path)
        .env_remove(RECORD)
        .exec();
    eprintln!("cohort: cannot run {}: {error}", real.display());
    Some(process::ExitCode::from(126))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_change_the_meaning_are_kept() {
        let words =
            "-O2 -g -Wall -I. -D A=1 -DB -o x.o -c x.c -MF x.d -std=gnu99 -fno-strict-aliasing";
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        assert_eq!(
            kept(&words),
            ["-O2", "-I.", "-D", "A=1", "-DB", "-std=gnu99"]
        );
    }

    #[test]
    fn compilers_have_versions_and_machines_in_their_names() {
        for (name, is) in [
            ("cc", true),
            ("gcc-12", true),
            ("x86_64-linux-gnu-g++-12", true),
            ("clang++", true),
            ("gcc-ar", false),
            ("ccache", false),
            ("make", false),
        ] {
            assert_eq!(is_compiler(name), is, "{name}");
        }
    }
}
