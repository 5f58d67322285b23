//! `cohort compare`: measures a program under several locks and the system's.

pub mod closing;
pub mod contestants;
pub mod show;
pub(crate) mod subject;

use crate::choice::{self, Choice, DEFAULT, LockName, SYSTEM};
use crate::destination;
use crate::page::{self, Origin};
use crate::problem::{self, Problem, status};
use crate::report::counts::Counts;
use crate::rwlocks::Rwlocks;
use crate::settings::{Settings, executables};
use crate::wait::Wait;
use clap::{Parser, ValueHint};
use cohort::catalogue::LOCKS;
use cohort_measure::compare::Comparison;
use cohort_measure::interrupt::Interrupted;
use cohort_measure::metric::Metric;
use cohort_measure::progress::Progress;
use cohort_measure::rounds::Rules;
use cohort_measure::runner::{Address, Run};
use cohort_measure::{interrupt, options, rounds, runner};
use cohort_topology::names::rejoined;
use serde::Serialize;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;
use subject::{Served, Subject};

/// Options of `cohort compare`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = NOTES)]
pub struct Arguments {
    /// Compare these locks with the C library's: names from `cohort list`, `all`,
    /// or configuration files (*.toml)
    #[arg(
        long,
        value_name = "A,B,…",
        value_delimiter = ',',
        value_parser = LockName,
        hide_possible_values = true,
        default_value = DEFAULT
    )]
    locks: Vec<String>,
    /// Run the program N times under each lock, after the warm-up
    #[arg(long, short, visible_alias = "runs", value_name = "N", default_value_t = 7,
        value_parser = clap::value_parser!(u16).range(1..))]
    repeat: u16,
    /// Run N warm-up rounds, which do not count
    #[arg(long, short, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u16).range(1..))]
    warmup: u16,
    /// Compare `wall` or `cpu` seconds, or a figure from the output of the program
    /// or client: the group of a regular expression, optionally with a name, as in
    /// `tps=TPS: ([0-9]+)`; repeatable
    #[arg(long, value_name = "wall|cpu|[NAME=]REGEX", default_value = "wall")]
    metric: Vec<String>,
    /// Treat lower figures of REGEX as better; with names, only of these:
    /// `--lower-is-better=p99`
    #[arg(long, value_name = "NAME,…", num_args = 0..=1, require_equals = true,
        value_delimiter = ',', default_missing_value = "")]
    lower_is_better: Option<Vec<String>>,
    #[command(flatten)]
    served: Served,
    /// Use these rwlocks with each lock [default: as `run`]
    #[arg(long, value_enum, value_name = "A,B,…", value_delimiter = ',')]
    rwlocks: Vec<Rwlocks>,
    /// Serve only this executable (name or path) of the started processes;
    /// repeatable
    #[arg(long, value_name = "EXE", value_delimiter = ':')]
    only: Vec<String>,
    /// Do not serve this executable (name or path); repeatable
    #[arg(long, value_name = "EXE", value_delimiter = ':')]
    exclude: Vec<String>,
    /// Also measure the C library's locks on one CPU, the gain of `taskset`
    /// [default: if the program has several threads]
    #[arg(long, overrides_with = "no_one_cpu")]
    one_cpu: bool,
    /// Do not measure the C library's locks on one CPU
    #[arg(long, overrides_with = "one_cpu")]
    no_one_cpu: bool,
    /// Run this shell command before each run, unmeasured, under the C library's
    /// locks
    #[arg(long, short, value_name = "CMD")]
    prepare: Option<OsString>,
    /// Run this shell command once before all runs
    #[arg(long, short, value_name = "CMD")]
    setup: Option<OsString>,
    /// Run this shell command once after all runs
    #[arg(long, short, value_name = "CMD")]
    cleanup: Option<OsString>,
    /// Compare with each of these values in place of {VAR}; repeat for all
    /// combinations
    #[arg(long, short = 'L', value_names = ["VAR", "A,B,…"], num_args = 2,
        action = clap::ArgAction::Append)]
    parameter_list: Vec<String>,
    /// Name the program in plot and JSON
    #[arg(long, short = 'n', value_name = "NAME")]
    command_name: Option<String>,
    /// Choose how threads wait
    #[arg(long, value_enum, default_value_t)]
    wait: Wait,
    /// Abort a run after this time, as a failure [default: 30 s + 20 times the
    /// first run under the C library's locks]
    #[arg(long, value_name = "SECONDS", value_parser = options::seconds)]
    timeout: Option<f64>,
    /// Plot all rounds, medians and intervals
    #[arg(long, value_name = "FILE.svg", value_hint = ValueHint::FilePath)]
    plot: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print a Markdown table
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Also write JSON to this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    export_json: Option<PathBuf>,
    /// Also write the Markdown table to this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    export_markdown: Option<PathBuf>,
    /// Also write CSV to this file, one line for each lock and metric
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    export_csv: Option<PathBuf>,
    /// Show the program's output on stderr
    #[arg(long)]
    show_output: bool,
    /// The program and its arguments
    #[arg(required_unless_present = "server", group = "subject", trailing_var_arg = true, value_names = ["PROGRAM", "ARGS"],
        value_hint = ValueHint::CommandWithArguments)]
    command: Vec<OsString>,
}

const NOTES: &str = "\
Each round runs the program once under each lock, in rotating order, with empty standard input. The \
warm-up round verifies that the locks serve the program. A run is repeated, at most twice, if other \
processes used more than a tenth of its CPU time; the verdict counts rounds that remain disturbed. \
Gains are computed within rounds; the interval covers the median with 95 % confidence from six \
rounds on.

An interval that contains 1 gives \"no difference shown\". A failing program is reported, never \
averaged. A narrow terminal omits the last columns; --json and --markdown have all. Ctrl-C ends \
the program and shows the complete rounds.

For a server, each run starts --server, waits until it listens at --ready, runs --client to its end \
and stops the server. Time and figures are then the client's, CPU time is the server's. The row \
`system, one CPU` confines the server only.

Examples:
  cohort compare --prepare 'rm -f big.tar.bz2' -- pbzip2 -k big.tar
  cohort compare -- kccachetest wicked -th 2 -capcnt 500000 400000
  cohort compare -r 3 -L threads 1,2 -- kccachetest wicked -th {threads} 400000
  cohort compare --only mariadbd --markdown -- ./start-everything.sh
  cohort compare --server 'memcached -u nobody -l 127.0.0.1 -p {port}' \\
      --client 'memcaslap -s 127.0.0.1:{port} -t 3s' --metric tps='TPS: ([0-9]+)'
  cohort compare --rwlocks rwlock,c-rw-np -- kcpolytest wicked -th 8 : 400000
  cohort compare --locks futex,mcs --metric 'time: ([0-9.]+)' \\
      --lower-is-better -- kccachetest wicked -th 2 400000
  cohort compare --locks default,advised.toml \\
      -- kccachetest wicked -th 4 -capcnt 500000 400000

Exit status: 0 if the program succeeded under every lock; 1 if it failed under one; 2 for invalid \
options; 125 if it fails under the C library's locks; 126 and 127 as for `cohort run`; 130 after \
Ctrl-C.";

/// One comparison as JSON shows it.
#[derive(Serialize)]
struct Sheet<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    parameters: BTreeMap<&'a str, &'a str>,
    #[serde(flatten)]
    comparison: &'a Comparison,
    /// A comparison for each metric, if there are several; the first is that above.
    #[serde(skip_serializing_if = "<[Comparison]>::is_empty")]
    metrics: &'a [Comparison],
    /// What a run under each lock counted.
    counted: &'a BTreeMap<String, Counts>,
    closing: Option<&'a str>,
    is_interrupted: bool,
}

/// A subject, and what came of it.
pub struct Compared {
    subject: Subject,
    /// One for each metric.
    pub comparisons: Vec<Comparison>,
    counted: BTreeMap<String, Counts>,
    closing: Option<String>,
    rounds: usize,
    interrupted: Option<Interrupted>,
}

impl Compared {
    fn sheet<'a>(&'a self, arguments: &'a Arguments) -> Sheet<'a> {
        let parameters = self.subject.parameters.iter();
        let is_one = self.comparisons.len() == 1;
        Sheet {
            name: arguments.command_name.as_deref(),
            parameters: parameters
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .collect(),
            comparison: &self.comparisons[0],
            metrics: if is_one { &[] } else { &self.comparisons },
            counted: &self.counted,
            closing: self.closing.as_deref(),
            is_interrupted: self.interrupted.is_some(),
        }
    }

    fn text(&self, metrics: &[Metric], markdown: bool) -> String {
        let closing = self.closing.as_deref();
        let text = show::text(&self.comparisons, metrics, closing, markdown);
        match (self.subject.title(), markdown) {
            (title, _) if title.is_empty() => text,
            (title, true) => format!("### {title}\n\n{text}"),
            (title, false) => format!("{title}\n\n{text}"),
        }
    }
}

/// Executes `cohort compare`.
pub fn run(arguments: Arguments) -> Result<ExitCode, Problem> {
    let metrics = metrics(&arguments)?;
    if let Some(file) = &arguments.plot {
        destination::plot(file)?;
    }
    let exports = [
        &arguments.export_json,
        &arguments.export_markdown,
        &arguments.export_csv,
    ];
    for file in exports.into_iter().flatten() {
        destination::writable(file)?;
    }
    let all = all(&arguments)?;
    let subjects = Subject::all(&arguments)?;
    interrupt::arm()
        .map_err(|error| Problem::refused(format!("cannot handle signals: {error}")))?;
    let mut compared: Vec<Compared> = Vec::new();
    for subject in subjects {
        let one = compare(&arguments, &all, &metrics, subject);
        // Processes outside the process group too.
        runner::end_children();
        let one = one?;
        let is_over = one.interrupted.is_some();
        compared.push(one);
        if is_over {
            break;
        }
    }
    let interrupted = compared.iter().find_map(|one| one.interrupted);
    let begun = compared.len();
    // A lock without a round is compared with nothing.
    compared.retain(|one| {
        let values = one.comparisons[0].rows.iter().map(|row| row.values.len());
        one.interrupted.is_none() || values.filter(|values| *values > 0).count() > 1
    });
    if let Some(signal) = interrupted {
        let what = match compared.last() {
            Some(last) if compared.len() == begun => {
                let ended = last.comparisons[0].rows.iter().map(|row| row.values.len());
                format!(
                    "{} of {} rounds complete",
                    ended.min().unwrap_or(0),
                    last.rounds
                )
            }
            _ => "fewer than two locks measured".to_owned(),
        };
        problem::tell(format!("interrupted: {what}"));
        if compared.is_empty() {
            return Ok(ExitCode::from(signal.status()));
        }
    }
    show_all(&arguments, &metrics, &compared)?;
    let has_failures = compared
        .iter()
        .flat_map(|one| &one.comparisons)
        .any(Comparison::has_failures);
    Ok(match interrupted {
        Some(signal) => ExitCode::from(signal.status()),
        None if has_failures => ExitCode::from(status::NEGATIVE),
        None => ExitCode::SUCCESS,
    })
}

/// Prints what came of all, and writes the files.
fn show_all(
    arguments: &Arguments,
    metrics: &[Metric],
    compared: &[Compared],
) -> Result<(), Problem> {
    let json = || match compared {
        [one] => page::json(Origin::here(), &one.sheet(arguments)),
        several => {
            let sheets: Vec<Sheet> = several.iter().map(|one| one.sheet(arguments)).collect();
            page::json(Origin::here(), &BTreeMap::from([("comparisons", sheets)]))
        }
    };
    let text = |markdown: bool| {
        let texts: Vec<String> = compared
            .iter()
            .map(|one| one.text(metrics, markdown))
            .collect();
        texts.join("\n\n")
    };
    if arguments.json {
        page::print_as_it_is(&json()?)?;
    } else {
        page::print(&text(arguments.markdown))?;
    }
    if let Some(file) = &arguments.export_json {
        destination::write(file, json()?.as_bytes())?;
    }
    if let Some(file) = &arguments.export_markdown {
        destination::write(file, format!("{}\n", text(true)).as_bytes())?;
    }
    if let Some(file) = &arguments.export_csv {
        let lines = compared
            .iter()
            .enumerate()
            .map(|(place, one)| show::csv(&one.comparisons, &one.subject.parameters, place == 0));
        destination::write(file, lines.collect::<String>().as_bytes())?;
    }
    let Some(file) = &arguments.plot else {
        return Ok(());
    };
    let panels: Vec<(String, &Comparison)> = compared
        .iter()
        .flat_map(|one| {
            let comparisons = one.comparisons.iter();
            comparisons.map(|comparison| (one.subject.title(), comparison))
        })
        .collect();
    let program = Path::new(&compared[0].subject.words[0]).file_name();
    let program = program.map_or_else(String::new, |name| name.display().to_string());
    let name = arguments.command_name.as_ref().unwrap_or(&program);
    show::picture(name, &panels)
        .save(file)
        .map_err(Problem::refused)
}

/// Measures one program, or one server, under all locks.
fn compare(
    arguments: &Arguments,
    all: &[Settings],
    metrics: &[Metric],
    subject: Subject,
) -> Result<Compared, Problem> {
    let field = contestants::all(arguments, all, &subject)?;
    let rounds = usize::from(arguments.repeat);
    let warm_ups = usize::from(arguments.warmup);
    let rules = Rules {
        rounds,
        warm_ups,
        client: field.client.as_ref(),
        looks: true,
        if_threaded: field.if_threaded,
    };
    beside(subject.setup.as_deref(), "--setup")?;
    let planned = rounds::planned(&field.contestants, rounds + warm_ups - 1);
    let mut progress = Progress::new(planned, arguments.show_output);
    let read = |run: &Run| -> Result<Vec<f64>, String> {
        metrics.iter().map(|metric| metric.read(run)).collect()
    };
    let played = rounds::play_by(&rules, &field.contestants, read, &mut progress);
    drop(progress);
    let cleaned = beside(subject.cleanup.as_deref(), "--cleanup");
    let counted = field.counted.take();
    // The reader of the result may close the pipe, which ends this process: no
    // file may be left then.
    drop(field.contestants);
    if let Some(why) = &played.series[0].failure {
        return Err(Problem::refused(if played.listens.is_empty() {
            format!("the program fails under the C library's locks too: {why}")
        } else {
            format!(
                "{}\nfor a program that listens and terminates, use --timeout SECONDS",
                server_instead("compare", &subject.words, &played.listens)
            )
        }));
    }
    cleaned?;
    let comparisons = Comparison::several(metrics, &played.series);
    Ok(Compared {
        closing: closing::closing(&comparisons[0], &counted),
        comparisons,
        counted,
        rounds,
        interrupted: played.interrupted,
        subject,
    })
}

/// The message for a program that turned out to be a server, with the line to type.
pub fn server_instead(subcommand: &str, words: &[OsString], listens: &[Address]) -> String {
    let listens_on: Vec<String> = listens.iter().map(Address::to_string).collect();
    format!(
        "the program is a server: it listens on {} and does not terminate; use instead\n  {}",
        listens_on.join(", "),
        subject::line_for_server(subcommand, words, listens)
    )
}

/// A command line that has the options of this subcommand alone.
#[derive(clap::Parser)]
struct Alone {
    #[command(flatten)]
    arguments: Arguments,
}

/// A program under the system's locks and the default, in so many rounds.
pub fn program(command: &[OsString], rounds: u16) -> Result<Compared, Problem> {
    let options = ["compare", "--repeat", &rounds.to_string(), "--"].map(OsString::from);
    let words = options.into_iter().chain(command.iter().cloned());
    let alone = Alone::try_parse_from(words)
        .map_err(|error| Problem::usage(error.to_string().trim_end().to_owned()))?;
    let arguments = alone.arguments;
    let metrics = metrics(&arguments)?;
    let all = all(&arguments)?;
    compare(&arguments, &all, &metrics, Subject::of(command))
}

/// Runs a text by the shell that belongs to all runs, also after Ctrl-C.
fn beside(text: Option<&OsStr>, option: &str) -> Result<(), Problem> {
    const PATIENCE: Duration = Duration::from_secs(600);
    let Some(text) = text else {
        return Ok(());
    };
    let launch = contestants::by_shell(text, None);
    let mut command = Command::new(&launch.words[0]);
    command.args(&launch.words[1..]);
    for (name, value) in &launch.environment {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    // Standard output is the table's.
    command.stdout(std::io::stderr());
    runner::carry_out(&mut command, PATIENCE)
        .map_err(|why| Problem::refused(format!("{option}: {why}: {}", text.display())))
}

/// What is compared.
fn metrics(arguments: &Arguments) -> Result<Vec<Metric>, Problem> {
    let lower = arguments.lower_is_better.as_deref();
    let parsed = arguments.metric.iter().map(|text| {
        let names = |lower: bool| {
            Metric::parse(text, lower).map_err(|why| Problem::usage(format!("--metric: {why}")))
        };
        let metric = names(false)?;
        let is_lower = lower.is_some_and(|lower| {
            let is_it = |name: &String| name.is_empty() || Some(name.as_str()) == metric.name();
            lower.iter().any(is_it)
        });
        if is_lower { names(true) } else { Ok(metric) }
    });
    let parsed: Vec<Metric> = parsed.collect::<Result<_, Problem>>()?;
    let unknown = lower.into_iter().flatten().find(|name| {
        !name.is_empty()
            && parsed
                .iter()
                .all(|metric| metric.name() != Some(name.as_str()))
    });
    match unknown {
        None => Ok(parsed),
        Some(name) => Err(Problem::usage(format!(
            "--lower-is-better={name}: no --metric has this name; use --metric {name}='REGEX'"
        ))),
    }
}

/// The system's locks, and each of the others with each that serves rwlocks.
fn all(arguments: &Arguments) -> Result<Vec<Settings>, Problem> {
    let only = executables("--only", Some(arguments.only.clone()))?;
    let exclude = executables("--exclude", Some(arguments.exclude.clone()))?;
    let mut all: Vec<Settings> = Vec::new();
    let rwlocks = if arguments.rwlocks.is_empty() {
        vec![Rwlocks::for_machine(None)]
    } else {
        arguments.rwlocks.clone()
    };
    let is_file = |name: &&String| name.ends_with(".toml");
    let (files, names): (Vec<&String>, Vec<&String>) = arguments.locks.iter().partition(is_file);
    let names: Vec<String> = names.into_iter().cloned().collect();
    let locks = match locks(&names) {
        Err(_) if names.is_empty() && !files.is_empty() => vec![Choice::System],
        locks => locks?,
    };
    for lock in locks {
        for rwlocks in &rwlocks {
            let settings = Settings {
                rwlocks: *rwlocks,
                wait: arguments.wait,
                only: only.clone(),
                exclude: exclude.clone(),
                ..Settings::of(lock.clone())
            };
            if all.iter().all(|other| other.name() != settings.name()) {
                all.push(settings);
            }
        }
    }
    for file in files {
        let mut settings = Settings::of_file(Path::new(file), arguments.wait)?;
        if matches!(settings.lock, Choice::System) {
            return Err(Problem::usage(format!(
                "{file} selects the C library's locks, which are always measured; choose another lock"
            )));
        }
        settings.only.extend(only.iter().cloned());
        settings.exclude.extend(exclude.iter().cloned());
        if all.iter().any(|other| other.name() == settings.name()) {
            settings.file = Some(file.clone());
        }
        if all.iter().all(|other| other.name() != settings.name()) {
            all.push(settings);
        }
    }
    Ok(all)
}

/// The system's own locks first, then each named lock once.
fn locks(names: &[String]) -> Result<Vec<Choice>, Problem> {
    let mut locks = vec![Choice::System];
    for name in rejoined(names) {
        for lock in meant(name.trim())? {
            if locks.iter().all(|other| other.name() != lock.name()) {
                locks.push(lock);
            }
        }
    }
    if locks.len() == 1 {
        return Err(Problem::usage(format!(
            "--locks has only `{}`, which is always measured; add a lock of `cohort list`",
            SYSTEM[0]
        )));
    }
    Ok(locks)
}

/// The lock of that name, or all that programs run under.
fn meant(name: &str) -> Result<Vec<Choice>, Problem> {
    if name != choice::ALL {
        return Choice::for_programs(name).map(|lock| vec![lock]);
    }
    let all = LOCKS.iter().filter(|lock| lock.serves_programs());
    all.map(|lock| Choice::named(lock.name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(locks: &[&str]) -> Result<Vec<String>, Problem> {
        let locks: Vec<String> = locks.iter().map(|name| (*name).to_owned()).collect();
        super::locks(&locks).map(|locks| locks.iter().map(|lock| lock.name().to_owned()).collect())
    }

    #[test]
    fn the_system_comes_first_and_nobody_twice() {
        assert_eq!(
            names(&[DEFAULT, "posix", DEFAULT]).unwrap(),
            ["system", DEFAULT]
        );
    }

    #[test]
    fn all_are_those_that_programs_run_under() {
        let all = names(&["all", "mcs"]).unwrap();
        let serve = LOCKS.iter().filter(|lock| lock.serves_programs());
        assert_eq!(all.len(), 1 + serve.count());
    }

    #[test]
    fn there_must_be_something_to_compare() {
        assert!(names(&["system"]).is_err());
        assert!(names(&["", DEFAULT]).is_err());
    }
}
