//! The folder in which a row's texts run.

use super::list::Row;
use super::{Case, Field};
use crate::interrupt::Interrupted;
use crate::progress::tell;
use crate::rounds::{self, Observer, Series};
use crate::runner::{self, Failure, Launch, Run};
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// Time limit for preparing a row, checking a run, or cleaning up.
const PATIENCE: Duration = Duration::from_secs(300);

/// The shell for a row's texts; a failing command ends them.
const SHELL: [&str; 2] = ["/bin/sh", "-euc"];

/// The file in which a setup reports a missing prerequisite.
const NOT_HERE: &str = "not-here";

/// The file with the command's output, for a check.
const OUTPUT: &str = "output";

/// Folder of a row, removed with this value.
pub struct RowFolder<'a> {
    row: &'a Row,
    field: &'a Field<'a>,
    folder: TempDir,
}

/// Why a row cannot run.
#[derive(Clone, Debug)]
pub enum Unready {
    /// A missing prerequisite, or its package.
    NotHere(String),
    /// Its preparation failed.
    Unprepared(String),
}

impl<'a> RowFolder<'a> {
    /// A folder with the row's files, after its setup.
    ///
    /// # Errors
    /// A missing prerequisite, or the failure of its setup.
    pub fn prepared(row: &'a Row, field: &'a Field) -> Result<Self, Unready> {
        if let Some(package) = row.missing() {
            return Err(Unready::NotHere(format!("package {package}")));
        }
        let refused = |error: std::io::Error| Unready::Unprepared(format!("its folder: {error}"));
        let folder = tempfile::Builder::new()
            .prefix("cohort-survey-")
            // Servers that drop the super-user's rights read in it.
            .permissions(Permissions::from_mode(0o755))
            .tempdir()
            .map_err(refused)?;
        for (name, text) in &row.files {
            fs::write(folder.path().join(name), text).map_err(refused)?;
        }
        let place = Self { row, field, folder };
        if let Some(setup) = &row.setup {
            place
                .carry_out("its setup", setup, Vec::new())
                .map_err(Unready::Unprepared)?;
        }
        match fs::read_to_string(place.folder.path().join(NOT_HERE)) {
            Ok(what) => Err(Unready::NotHere(what.trim().to_owned())),
            Err(_) => Ok(place),
        }
    }

    /// Runs the row in one configuration: the series of each contestant, or why none could start.
    ///
    /// # Errors
    /// A signal asked this process to end.
    pub fn measure(
        &self,
        case: Case,
        observer: &mut dyn Observer,
    ) -> Result<Result<Vec<Series<f64>>, String>, Interrupted> {
        let (cpus, name) = (case.cpus.list(), &self.row.name);
        let variables = variables(case);
        let launch = Launch {
            cpus,
            ..self.launch(&self.row.command, variables.clone())
        };
        let contestants = match (self.field.contestants)(&launch) {
            Ok(contestants) => contestants,
            Err(why) => return Ok(Err(why)),
        };
        let mut observer = Titled {
            title: format!("{name}, {case}"),
            observer,
        };
        let read = |run: &Run| {
            self.check(run, &variables)?;
            self.wall(run)
        };
        let series = rounds::play(&contestants, self.field.rounds, read, &mut observer)?;
        // An interrupted check implies nothing about the program.
        crate::interrupt::check()?;
        Ok(Ok(series))
    }

    fn check(&self, run: &Run, variables: &[Variable]) -> Result<(), String> {
        fs::write(self.folder.path().join(OUTPUT), &run.output)
            .map_err(|error| format!("cannot keep its output: {error}"))?;
        self.carry_out("its check", &self.row.check, variables.to_vec())
    }

    /// The counted seconds.
    fn wall(&self, run: &Run) -> Result<f64, String> {
        let Some(expression) = &self.row.wall else {
            return Ok(run.wall);
        };
        let found = expression.captures_iter(&run.output).last();
        let seconds = found.and_then(|groups| groups.get(1)?.as_str().parse().ok());
        seconds
            .filter(|seconds| *seconds > 0.0)
            .ok_or_else(|| format!("its output has no seconds that match `{expression}`"))
    }

    /// Runs an unmeasured text, under the system's locks.
    fn carry_out(&self, what: &str, text: &str, variables: Vec<Variable>) -> Result<(), String> {
        let mut launch = self.launch(text, variables);
        launch.environment.extend(self.field.system.iter().cloned());
        launch.limit = Some(PATIENCE);
        match runner::run(&launch) {
            Ok(_) => Ok(()),
            Err(Failure::Interrupted(_)) => Err("interrupted".to_owned()),
            Err(Failure::Program { why, output }) if output.trim().is_empty() => {
                Err(format!("{what}: {why}"))
            }
            Err(Failure::Program { why, output }) => {
                Err(format!("{what}: {why}, with {}", output.trim()))
            }
        }
    }

    fn launch(&self, text: &str, mut variables: Vec<Variable>) -> Launch {
        variables.push(("FOLDER".to_owned(), Some(self.folder.path().into())));
        variables.extend(self.field.variables.iter().cloned());
        let [shell, options] = SHELL.map(OsString::from);
        Launch {
            words: vec![shell, options, format!("cd -- \"$FOLDER\"\n{text}").into()],
            environment: variables,
            cpus: None,
            limit: None,
        }
    }
}

impl Drop for RowFolder<'_> {
    /// Cleans up even after Ctrl-C, and so without the runner, which then runs nothing more.
    fn drop(&mut self) {
        let Some(cleanup) = &self.row.cleanup else {
            return;
        };
        let launch = self.launch(cleanup, Vec::new());
        let mut command = Command::new(&launch.words[0]);
        command.args(&launch.words[1..]).stdout(Stdio::null());
        for (name, value) in launch.environment.iter().chain(&self.field.system) {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Err(why) = runner::carry_out(&mut command, PATIENCE) {
            tell(format_args!("{}: its cleanup: {why}", self.row.name));
        }
    }
}

type Variable = (String, Option<OsString>);

/// The variables of a configuration, for a command and its check.
fn variables(case: Case) -> Vec<Variable> {
    let port = free_port().map(|port| port.to_string()).unwrap_or_default();
    vec![
        ("THREADS".to_owned(), Some(case.threads.to_string().into())),
        ("PORT".to_owned(), Some(port.into())),
    ]
}

/// A free port of this host.
fn free_port() -> std::io::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?.port())
}

/// Adds a program's title for an observer.
struct Titled<'a> {
    title: String,
    observer: &'a mut dyn Observer,
}

impl Observer for Titled<'_> {
    fn starts(&mut self, name: &str, again: bool) {
        self.observer
            .starts(&format!("{}: {name}", self.title), again);
    }

    fn wrote(&mut self, name: &str, output: &str) {
        self.observer
            .wrote(&format!("{}: {name}", self.title), output);
    }
}
