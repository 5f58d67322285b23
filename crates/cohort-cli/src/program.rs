//! The kind of a program's executable, and whether a library can be preloaded into it; this
//! command's own.

mod elf;
mod privilege;
pub mod runtime;
mod script;

use crate::problem::{Problem, status};
use rustix::fs::{Access, access};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The C library's default for an unset `PATH`.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// The kernel's limit for nested script interpreters.
const SCRIPT_DEPTH: usize = 5;

/// Executable program.
#[derive(Debug)]
pub struct Program {
    /// The file to execute.
    pub path: PathBuf,
    /// The executable for preloading, or the reason why there is none.
    pub image: Result<Image, String>,
}

/// Executable that the kernel finally starts, with its loader.
#[derive(Debug)]
pub struct Image {
    /// The executable: the program, or the interpreter of a script.
    pub path: PathBuf,
    /// Its dynamic loader.
    pub loader: PathBuf,
}

impl Program {
    /// Finds `name` as the shell does, and examines it.
    ///
    /// # Errors
    /// The program does not exist (127) or may not be executed (126).
    pub fn find(name: &OsStr) -> Result<Self, Problem> {
        let path = resolve(name)?;
        let image = image(&path, SCRIPT_DEPTH);
        Ok(Self { path, image })
    }
}

/// A program's name without its folder.
pub fn shown(program: &OsStr) -> std::ffi::os_str::Display<'_> {
    Path::new(program).file_name().unwrap_or(program).display()
}

/// Whether `path` is a script with an interpreter.
pub fn is_script(path: &Path) -> bool {
    script::start(path).is_ok_and(|start| script::shebang(&start).is_some())
}

/// This command's line, for a file that it writes.
pub fn command_line() -> String {
    let words = std::env::args_os().skip(1);
    let words = words.map(|word| word.to_string_lossy().replace('\n', " "));
    let words: Vec<String> = ["cohort".to_owned()].into_iter().chain(words).collect();
    words.join(" ")
}

/// This command's own file, which children run.
pub fn own_path() -> Result<PathBuf, Problem> {
    std::env::current_exe().map_err(|error| {
        let why = if Path::new("/proc/self").exists() {
            error.to_string()
        } else {
            "/proc is not mounted here".to_owned()
        };
        Problem::refused(format!("cannot find the path of this command: {why}"))
    })
}

fn resolve(name: &OsStr) -> Result<PathBuf, Problem> {
    if name.is_empty() {
        return Err(Problem::new(
            status::NOT_FOUND,
            "the program's name is empty; give a program after `--`",
        ));
    }
    if name.as_bytes().contains(&b'/') {
        return executable(Path::new(name)).map(|()| PathBuf::from(name));
    }
    let folders = std::env::var_os("PATH").unwrap_or_else(|| OsString::from(DEFAULT_PATH));
    let mut refused = None;
    for folder in std::env::split_paths(&folders) {
        // An empty entry of PATH means the current folder.
        let candidate = if folder.as_os_str().is_empty() {
            Path::new(".").join(name)
        } else {
            folder.join(name)
        };
        match executable(&candidate) {
            Ok(()) => return Ok(candidate),
            Err(problem) if candidate.is_file() => refused = Some(problem),
            Err(_) => {}
        }
    }
    Err(refused.unwrap_or_else(|| {
        Problem::new(
            status::NOT_FOUND,
            format!(
                "`{}` is not in PATH; check the spelling or give its path",
                name.display()
            ),
        )
    }))
}

fn executable(path: &Path) -> Result<(), Problem> {
    let shown = path.display();
    let metadata = path.metadata().map_err(|error| {
        let status = match error.kind() {
            std::io::ErrorKind::NotFound => status::NOT_FOUND,
            _ => status::NOT_EXECUTABLE,
        };
        Problem::new(status, format!("cannot run {shown}: {error}"))
    })?;
    let refusal = |why: &str| Err(Problem::new(status::NOT_EXECUTABLE, why));
    if metadata.is_dir() {
        return refusal(&format!("{shown} is a folder, not a program"));
    }
    if !metadata.is_file() {
        return refusal(&format!("{shown} is not a regular file"));
    }
    match access(path, Access::EXEC_OK) {
        Ok(()) => Ok(()),
        Err(error) => refusal(&format!(
            "{shown} is not executable ({error}); use `chmod +x {shown}` for a program"
        )),
    }
}

fn image(path: &Path, depth: usize) -> Result<Image, String> {
    let shown = path.display();
    let start = script::start(path)
        .map_err(|error| format!("{shown} is unreadable ({error}), and its type is unknown"))?;
    if let Some(shebang) = script::shebang(&start) {
        if depth == 0 {
            return Err(format!(
                "{shown} is a script with too many nested interpreters"
            ));
        }
        let interpreter = script::interpreter(&shebang)
            .map_err(|why| format!("{shown} is a script with an invalid first line: {why}"))?;
        let interpreter = resolve(&interpreter)
            .map_err(|problem| format!("{shown} is a script; its interpreter: {problem}"))?;
        return image(&interpreter, depth - 1)
            .map_err(|why| format!("{shown} is a script; its interpreter: {why}"));
    }
    if !start.starts_with(b"\x7fELF") {
        if depth == 0 || start.contains(&0) {
            return Err(format!("{shown} is neither an ELF executable nor a script"));
        }
        // Shells and `execvp` pass text without `#!` to the system's shell.
        return image(Path::new("/bin/sh"), depth - 1);
    }
    let loader = elf::loader(path)?;
    privilege::check(path)?;
    Ok(Image {
        path: path.to_path_buf(),
        loader,
    })
}
