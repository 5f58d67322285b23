//! `cohort survey`: what real programs gain from our locks, each with its check.

pub(crate) mod show;

use clap::ValueHint;
use cohort_cli::choice::{Choice, DEFAULT, LockName};
use cohort_cli::compare::contestants;
use cohort_cli::page::{self, Origin};
use cohort_cli::problem::{Problem, status};
use cohort_cli::settings::Settings;
use cohort_cli::{companion, start, toml_file};
use cohort_lab::progress::Progress;
use cohort_lab::rounds::Contestant;
use cohort_lab::runner::Launch;
use cohort_lab::survey::list::{self, Row};
use cohort_lab::survey::{Cpus, Field, SurveyPlan, Surveyed};
use cohort_lab::world::disturb::allowed_cpus;
use cohort_lab::{interrupt, options};
use std::ffi::OsString;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of `cohort survey`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = NOTES)]
pub struct Arguments {
    /// Run these programs of --list [default: all]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// List the programs with descriptions and missing packages
    #[arg(long)]
    list: bool,
    /// Read the programs from this TOML file instead of the built-in list
    #[arg(long, value_name = "LIST.toml", value_hint = ValueHint::FilePath)]
    file: Option<PathBuf>,
    /// Compare this lock of `cohort list` with the C library's
    #[arg(long, value_name = "NAME", value_parser = LockName, hide_possible_values = true,
        default_value = DEFAULT)]
    lock: String,
    /// Run each program N times under each lock, after the warm-up
    #[arg(long, value_name = "N", default_value_t = 5,
        value_parser = clap::value_parser!(u16).range(1..))]
    repeat: u16,
    /// Run these numbers of threads
    #[arg(long, value_name = "N,N-M,…", value_delimiter = ',', default_value = "2,8",
        value_parser = options::counts)]
    threads: Vec<RangeInclusive<u32>>,
    /// Restrict the programs to these CPUs
    #[arg(long, value_enum, default_value = "both")]
    cpus: Which,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Show the programs' output on stderr
    #[arg(long)]
    show_output: bool,
}

/// Which CPUs programs may use.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Which {
    /// All usable CPUs
    All,
    /// The first usable CPU
    One,
    /// Both in turn
    Both,
}

const NOTES: &str = "\
Each program runs under the C library's locks and under Cohort's, in rotating order; a check verifies \
each run. The table shows ratios, Cohort over the C library, of wall time, CPU time and context \
switches of all processes: medians of the rounds, with 95 % intervals from six rounds on. Standard \
input is empty; servers listen on 127.0.0.1 or on a socket in the program's folder.

A program fails if its check fails; if its interval lies beyond a slowdown of 5 %; or if it has \
three times as many context switches, and 500 more. Slowdowns and switches need five rounds. \
Programs that are not installed are skipped, with the name of the package.

Format of --file; commands run by sh in a temporary folder for each program:
  [[row]]
  name = \"packed\"                   # name in the table
  needs = [\"seq:coreutils\", \"xz\"]   # programs, files, libraries: package
  setup = \"seq 2000000 > numbers\"   # once, before all runs
  command = \"xz -k -f -1 -T $THREADS numbers\"    # the measured command
  check = \"xz -d -c numbers.xz | cmp - numbers\"  # fails for a wrong result
  cleanup = \"true\"                  # once, after all runs
Optional keys: `about`, a description; `files`, a table of files for the folder; `wall`, a regular \
expression with one group for the seconds in the command's output; `threads`, the supported numbers. \
Variables: THREADS, FOLDER, PORT (a free port), COHORT (the command `cohort`), LIST (the folder of the list). \
`check` reads the command's output from the file `output`. If `setup` writes a file `not-here`, the \
program is skipped with its text as the reason.

Examples:
  cohort survey --list
  cohort survey --repeat 1 --threads 2 --cpus all sort
  cohort survey --file mine.toml --lock mcs

Exit status: 0 if no program failed; 1 if one failed; 2 for invalid options or an invalid list; 130 \
after Ctrl-C, with the completed programs.";

/// Executes `cohort survey`.
pub fn run(arguments: Arguments) -> Result<ExitCode, Problem> {
    let rows = chosen(rows(arguments.file.as_deref())?, &arguments.names)?;
    if arguments.list {
        if arguments.json {
            page::print_list(Origin::here(), "programs", &rows)?;
        } else {
            page::print(&show::list(&rows))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let lock = Choice::for_programs(&arguments.lock)?;
    if let Choice::System = lock {
        return Err(Problem::usage(
            "--lock selects the C library's locks, which are always measured; choose a lock of \
             `cohort list`",
        ));
    }
    let all = [Settings::of(Choice::System), ours(lock)];
    let library = all[1].served_from().locate()?;
    let contestants = |launch: &Launch| -> Result<Vec<Contestant<'static>>, String> {
        all.iter()
            .map(|settings| contestants::under(settings, &library, launch))
            .collect::<Result<_, Problem>>()
            .map_err(|problem| problem.to_string())
    };
    start::prove(Path::new(SHELL))?;
    interrupt::arm()
        .map_err(|error| Problem::refused(format!("cannot handle signals: {error}")))?;
    let plan = SurveyPlan {
        rows,
        threads: arguments.threads.into_iter().flatten().collect(),
        cpus: arguments.cpus.list(),
        field: Field {
            rounds: usize::from(arguments.repeat),
            variables: variables(arguments.file.as_deref())?,
            system: contestants::environment(&all[0], &library, None),
            contestants: &contestants,
        },
    };
    let mut progress = Progress::new(plan.runs(), arguments.show_output);
    let (found, ended) = plan.run(&mut progress);
    drop(progress);
    if arguments.json {
        page::print_list(Origin::here(), "programs", &found)?;
    } else {
        page::print(&show::text(&found, usize::from(arguments.repeat)))?;
    }
    Ok(match ended {
        Some(signal) => ExitCode::from(signal.status()),
        None if found.iter().any(Surveyed::is_bad) => ExitCode::from(status::NEGATIVE),
        None => ExitCode::SUCCESS,
    })
}

/// The shell that runs the texts of rows; it is not itself observed.
pub(crate) const SHELL: &str = "/bin/sh";

/// Settings of a lock for a row's program.
pub(crate) fn ours(lock: Choice) -> Settings {
    let shell = Path::new(SHELL).canonicalize();
    Settings {
        exclude: shell.into_iter().map(PathBuf::into_os_string).collect(),
        ..Settings::of(lock)
    }
}

fn rows(file: Option<&Path>) -> Result<Vec<Row>, Problem> {
    let Some(file) = file else {
        return Ok(list::own());
    };
    let text = toml_file::text(file)?;
    list::read(&text).map_err(|error| toml_file::misread(&error, &text, file))
}

fn chosen(rows: Vec<Row>, names: &[String]) -> Result<Vec<Row>, Problem> {
    for (place, row) in rows.iter().enumerate() {
        if rows[..place].iter().any(|other| other.name == row.name) {
            return Err(Problem::usage(format!(
                "two programs of the list have the name `{}`",
                row.name
            )));
        }
    }
    let known = |name: &String| rows.iter().any(|row| row.name == *name);
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        return Err(Problem::usage(format!(
            "unknown program `{unknown}`; --list lists the programs"
        )));
    }
    let is_chosen = |row: &Row| names.is_empty() || names.contains(&row.name);
    Ok(rows.into_iter().filter(is_chosen).collect())
}

/// The environment of every text of the list.
fn variables(file: Option<&Path>) -> Result<Vec<(String, Option<OsString>)>, Problem> {
    let mut variables = vec![("COHORT".to_owned(), Some(companion::cohort()?.into()))];
    if let Some(file) = file {
        let whole = std::path::absolute(file)
            .map_err(|error| Problem::refused(format!("{}: {error}", file.display())))?;
        let folder = whole.parent().unwrap_or(Path::new("/"));
        variables.push(("LIST".to_owned(), Some(folder.into())));
    }
    Ok(variables)
}

impl Which {
    /// The choices of CPUs that differ on this machine.
    fn list(self) -> Vec<Cpus> {
        match self {
            Self::All => vec![Cpus::All],
            Self::One => vec![Cpus::One],
            Self::Both if allowed_cpus().len() == 1 => vec![Cpus::One],
            Self::Both => vec![Cpus::All, Cpus::One],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_chosen_by_name_in_the_order_of_the_list() {
        let name = |name: &str| name.to_owned();
        let names =
            |chosen: Vec<Row>| -> Vec<String> { chosen.into_iter().map(|row| row.name).collect() };
        let all = names(list::own());
        assert_eq!(names(chosen(list::own(), &[]).unwrap()), all);
        let two = [all[3].clone(), all[1].clone()];
        assert_eq!(
            names(chosen(list::own(), &two).unwrap()),
            [all[1].clone(), all[3].clone()]
        );
        assert!(chosen(list::own(), &[name("nope")]).is_err());
        assert!(chosen([list::own(), list::own()].concat(), &[]).is_err());
    }
}
