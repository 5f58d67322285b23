//! `cohort study`: the papers' programs under several locks.

mod show;

use crate::survey::{SHELL, ours};
use clap::ValueHint;
use cohort_cli::choice::{Choice, LockName};
use cohort_cli::compare::contestants;
use cohort_cli::page::{self, Origin};
use cohort_cli::problem::{Problem, status};
use cohort_cli::settings::Settings;
use cohort_cli::{companion, destination, results, start};
use cohort_lab::progress::Progress;
use cohort_lab::rounds::Contestant;
use cohort_lab::runner::Launch;
use cohort_lab::study::list::{self, study};
use cohort_lab::study::page::{Setting, page as html};
use cohort_lab::study::{ONE_CPU, Studied, StudyPlan};
use cohort_lab::survey::Field;
use cohort_lab::survey::list::Row;
use cohort_lab::world::disturb::allowed_cpus;
use cohort_lab::{interrupt, options};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of `cohort study`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = NOTES)]
pub struct Arguments {
    /// Run these studies or programs of --list
    #[arg(value_name = "NAME", conflicts_with = "all")]
    names: Vec<String>,
    /// Run all studies
    #[arg(long)]
    all: bool,
    /// List the studies with descriptions and missing packages
    #[arg(long)]
    list: bool,
    /// Compare these locks of `cohort list` with the C library's
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = LockName,
        hide_possible_values = true, default_value = "default,mcs,hmcs-4,glk")]
    locks: Vec<String>,
    /// Run these numbers of threads
    #[arg(long, value_name = "N,N-M,…", value_delimiter = ',', default_value = "1,8",
        value_parser = options::counts)]
    threads: Vec<RangeInclusive<u32>>,
    /// Run each program N times under each lock, after the warm-up
    #[arg(long, value_name = "N", default_value_t = 6,
        value_parser = clap::value_parser!(u16).range(1..))]
    repeat: u16,
    /// Leave out the C library's locks on one CPU
    #[arg(long)]
    no_one_cpu: bool,
    /// Write a page with all figures
    #[arg(long, value_name = "FILE.html", value_hint = ValueHint::FilePath)]
    html: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Show the programs' output on stderr
    #[arg(long)]
    show_output: bool,
}

const NOTES: &str = "\
Each program does a fixed amount of work, with a check of its result, under the C library's locks and \
under each of --locks, in rotating order. The table shows the C library's seconds and each lock's gain, \
the median of the rounds: above 1 is faster. Intervals and conclusions follow; --html and --json have \
all figures. A study has several programs, such as `kyoto` with `kyoto-cache`, `kyoto-hash` and \
`kyoto-tree`; their names select one.

Programs come from packages, where these serve them; `phoenix`, `splash` and `hamster` are written anew, \
and compiled when they run. Nothing is installed; --list names missing packages. Servers listen on \
127.0.0.1 or on a socket in the program's folder.

The named lock is the best of several, so its gain is slightly too high by chance; repeat with that lock \
alone. A verdict needs five rounds.

Examples:
  cohort study --list
  cohort study hamster-50 --threads 2,8
  cohort study phoenix-words --locks default,mcs --html words.html

Exit status: 0 if no program failed; 1 if one failed; 2 for invalid options; 130 after Ctrl-C, with the \
completed programs.";

/// Executes `cohort study`.
pub fn run(arguments: Arguments) -> Result<ExitCode, Problem> {
    if arguments.names.is_empty() && !arguments.all && !arguments.list {
        return Err(Problem::usage("name a study of --list, or type --all"));
    }
    let rows = chosen(list::rows(), &arguments.names)?;
    if arguments.list {
        if arguments.json {
            page::print_list(Origin::here(), "programs", &rows)?;
        } else {
            page::print(&show::list(&rows))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(file) = &arguments.html {
        destination::writable(file)?;
    }
    let settings = settings(&arguments.locks)?;
    let one_cpu = !arguments.no_one_cpu && allowed_cpus().len() > 1;
    let contestants = |launch: &Launch| field(&settings, one_cpu, launch);
    start::prove(Path::new(SHELL))?;
    interrupt::arm()
        .map_err(|error| Problem::refused(format!("cannot handle signals: {error}")))?;
    let plan = StudyPlan {
        rows,
        threads: arguments.threads.into_iter().flatten().collect(),
        contestants: settings.len() + usize::from(one_cpu),
        field: Field {
            rounds: usize::from(arguments.repeat),
            variables: vec![("COHORT".to_owned(), Some(companion::cohort()?.into()))],
            system: contestants::environment(&settings[0], Path::new(""), None),
            contestants: &contestants,
        },
    };
    let mut progress = Progress::new(plan.runs(), arguments.show_output);
    let (found, ended) = plan.run(&mut progress);
    drop(progress);
    let origin = Origin::here();
    for program in found.iter().filter(|program| !program.cases().is_empty()) {
        results::keep("study", &program.name, "programs", program, origin.clone());
    }
    let setting = (origin.caption(), origin.command());
    let printed = if arguments.json {
        page::print_list(origin, "programs", &found)
    } else {
        page::print(&show::text(&found, usize::from(arguments.repeat)))
    };
    // The figures are lost only if neither can be written.
    if let Some(file) = &arguments.html {
        let setting = Setting {
            caption: &setting.0,
            command: &setting.1,
        };
        destination::write(file, html(&found, &setting).as_bytes())?;
    }
    printed?;
    Ok(match ended {
        Some(signal) => ExitCode::from(signal.status()),
        None if found.iter().any(Studied::has_failed) => ExitCode::from(status::NEGATIVE),
        None => ExitCode::SUCCESS,
    })
}

/// The rows of the named studies and programs, in the order of the list; all without a name.
fn chosen(rows: Vec<Row>, names: &[String]) -> Result<Vec<Row>, Problem> {
    let has = |row: &Row, name: &String| row.name == *name || study(row) == name;
    if let Some(unknown) = names
        .iter()
        .find(|name| !rows.iter().any(|row| has(row, name)))
    {
        let absent = list::ABSENT.iter().find(|(name, _)| name == unknown);
        return Err(Problem::usage(match absent {
            Some((name, why)) => format!("`{name}` is no study: {why}"),
            None => format!("unknown study `{unknown}`; --list lists the studies"),
        }));
    }
    let is_chosen = |row: &Row| names.is_empty() || names.iter().any(|name| has(row, name));
    Ok(rows.into_iter().filter(is_chosen).collect())
}

/// The settings of the system's locks and of each of `locks`.
fn settings(locks: &[String]) -> Result<Vec<Settings>, Problem> {
    let mut all = vec![Settings::of(Choice::System)];
    for name in locks {
        let lock = Choice::for_programs(name)?;
        if let Choice::System = lock {
            return Err(Problem::usage(
                "--locks names the C library's locks, which are always measured; choose locks of \
                 `cohort list`",
            ));
        }
        let lock = ours(lock);
        if all.iter().any(|other| other.name() == lock.name()) {
            return Err(Problem::usage(format!("--locks names `{name}` twice")));
        }
        all.push(lock);
    }
    Ok(all)
}

/// The contestants of a launch, the system's locks first.
fn field(
    settings: &[Settings],
    one_cpu: bool,
    launch: &Launch,
) -> Result<Vec<Contestant<'static>>, String> {
    let under = |settings: &Settings, launch: &Launch| {
        let library = match settings.lock {
            Choice::System => PathBuf::new(),
            Choice::Ours(_) => settings.served_from().locate()?,
        };
        contestants::under(settings, &library, launch)
    };
    let mut all: Vec<Contestant<'static>> = settings
        .iter()
        .map(|settings| under(settings, launch))
        .collect::<Result<_, Problem>>()
        .map_err(|problem| problem.to_string())?;
    if one_cpu {
        let launch = Launch {
            cpus: allowed_cpus().first().map(|cpu| vec![*cpu]),
            ..launch.clone()
        };
        let contestant = under(&settings[0], &launch).map_err(|problem| problem.to_string())?;
        all.insert(
            1,
            Contestant {
                name: ONE_CPU.to_owned(),
                ..contestant
            },
        );
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_study_selects_its_programs_and_a_name_one() {
        let names = |names: &[&str]| -> Vec<String> {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            let rows = chosen(list::rows(), &names).unwrap();
            rows.into_iter().map(|row| row.name).collect()
        };
        assert_eq!(
            names(&["hamster"]),
            ["hamster-10", "hamster-50", "hamster-90"]
        );
        assert_eq!(names(&["kyoto-hash", "redis"]), ["kyoto-hash", "redis"]);
        assert_eq!(names(&[]).len(), list::rows().len());
        for unknown in ["nope", "leveldb"] {
            assert!(chosen(list::rows(), &[unknown.to_owned()]).is_err());
        }
    }
}
