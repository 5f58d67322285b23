//! `cohort survey`: what real programs gain from our locks, each with its check.

mod show;

use crate::choice::{Choice, DEFAULT, LockName};
use crate::compare::contestants;
use crate::page::{self, Origin};
use crate::problem::{Problem, status};
use crate::settings::Settings;
use crate::{bar, config};
use clap::ValueHint;
use cohort_lab::progress::Progress;
use cohort_lab::rounds::Contestant;
use cohort_lab::runner::Launch;
use cohort_lab::survey::list::{self, Row};
use cohort_lab::survey::{Cpus, Plan, Surveyed};
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
    /// The programs to run, by the names that --list shows [default: all]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Show every program, what it does and what is missing for it; run nothing
    #[arg(long)]
    list: bool,
    /// Take the programs from this TOML file instead of the survey's own
    #[arg(long, value_name = "LIST.toml", value_hint = ValueHint::FilePath)]
    file: Option<PathBuf>,
    /// The lock to compare with the system's own, by a name that `cohort list` shows
    #[arg(long, value_name = "NAME", value_parser = LockName, hide_possible_values = true,
        default_value = DEFAULT)]
    lock: String,
    /// How often a program runs under either lock in each way, after a warm-up round
    #[arg(long, value_name = "N", default_value_t = 5,
        value_parser = clap::value_parser!(u16).range(1..))]
    repeat: u16,
    /// The numbers of threads
    #[arg(long, value_name = "N,N-M,…", value_delimiter = ',', default_value = "2,8",
        value_parser = options::counts)]
    threads: Vec<RangeInclusive<u32>>,
    /// The CPUs that a program may use
    #[arg(long, value_enum, default_value = "both")]
    cpus: Which,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Show on stderr what the programs write
    #[arg(long)]
    show_output: bool,
}

/// Which CPUs programs may use.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Which {
    /// All that this command may use
    All,
    /// The first of them
    One,
    /// Once so and once so
    Both,
}

const NOTES: &str = "\
Each program runs under the system's locks and under ours in turn, in an order that rotates; after \
each run its check looks at what it did. Shown are ratios, ours over the system's, of seconds, CPU \
seconds and context switches of all that the program starts: the median of the rounds, and the \
interval that holds it with 95 % confidence from six rounds on. Standard input is empty; servers \
listen on 127.0.0.1 or on a socket in the program's folder, and end with it.

A program fails if its check does, under either lock; if it is slower by more than 5 % beyond the \
interval; or if it switches context three times as often (and 500 times more often). Fewer than \
five rounds prove neither. A program that is not installed is left out, and the package named.

A list of one's own; each text is for sh, in a folder that the program has to itself:
  [[row]]
  name = \"packed\"                     # what the table calls it
  needs = [\"seq:coreutils\", \"xz\"]     # programs, files, libraries; after `:` the package
  setup = \"seq 2000000 > numbers\"     # once, before all
  command = \"xz -k -f -1 -T $THREADS numbers\"     # what is measured
  check = \"xz -d -c numbers.xz | cmp - numbers\"   # succeeds if the run went well
  cleanup = \"true\"                    # at the end; the folder goes by itself
Optional too: `about`, a line; `files`, a table of files to lay into the folder; `wall`, a regular \
expression whose group holds the seconds that count in what the command writes; `threads`, the only \
numbers that the program can have. They see THREADS, FOLDER, a free PORT, COHORT (this command) and \
LIST, the list's folder; a check finds what the command wrote in the file `output`. A setup that \
writes a file `not-here` leaves the program out for the reason in it.

Examples:
  cohort survey --list
  cohort survey --repeat 1 --threads 2 --cpus all sort
  cohort survey --file mine.toml --lock mcs

Exit status: 0 if no program failed, 1 if one did, 2 for a mistake in the options or the list, 130 \
after Ctrl-C, which still shows the programs that were finished.";

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
            "--lock names the system's own locks, which are always measured; name one of `cohort \
             list`",
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
    bar::prove(Path::new(SHELL))?;
    interrupt::arm()
        .map_err(|error| Problem::refused(format!("cannot watch for signals: {error}")))?;
    let plan = Plan {
        rows,
        threads: arguments.threads.into_iter().flatten().collect(),
        cpus: arguments.cpus.list(),
        rounds: usize::from(arguments.repeat),
        variables: variables(arguments.file.as_deref())?,
        system: contestants::environment(&all[0], &library, None),
        contestants: &contestants,
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
const SHELL: &str = "/bin/sh";

fn ours(lock: Choice) -> Settings {
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
    let text = config::text(file)?;
    list::read(&text).map_err(|error| config::misread(&error, &text, file))
}

fn chosen(rows: Vec<Row>, names: &[String]) -> Result<Vec<Row>, Problem> {
    for (place, row) in rows.iter().enumerate() {
        if rows[..place].iter().any(|other| other.name == row.name) {
            return Err(Problem::usage(format!(
                "two programs of the list are called `{}`",
                row.name
            )));
        }
    }
    let known = |name: &String| rows.iter().any(|row| row.name == *name);
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        return Err(Problem::usage(format!(
            "no program of the list is called `{unknown}`; --list shows them all"
        )));
    }
    let is_chosen = |row: &Row| names.is_empty() || names.contains(&row.name);
    Ok(rows.into_iter().filter(is_chosen).collect())
}

/// The environment of every text of the list.
fn variables(file: Option<&Path>) -> Result<Vec<(String, Option<OsString>)>, Problem> {
    let mut variables = vec![("COHORT".to_owned(), Some(bar::own_path()?.into()))];
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
