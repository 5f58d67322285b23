//! `cohort check`: whether a program's locks cost it time, and what helps, in one sentence.

pub mod judge;
mod watch;

use crate::outside::looker::Looker;
use crate::outside::tree::Tree;
use crate::outside::{self, is_32_bit};
use crate::page::{self, Origin};
use crate::problem::{self, Problem, status};
use crate::program::Program;
use clap::ValueHint;
use cohort_measure::{interrupt, options, runner};
use judge::{Evidence, Verdict};
use serde::Serialize;
use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

/// Options of `cohort check`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = NOTES)]
pub struct Arguments {
    /// Check this running process, under Cohort or not
    #[arg(value_name = "PID", value_parser = clap::value_parser!(u32).range(1..),
        conflicts_with = "command")]
    process: Option<u32>,
    /// Sample a running process for this time
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = options::seconds,
        conflicts_with = "command")]
    seconds: f64,
    /// Sample the process's descendants too
    #[arg(long, conflicts_with = "command")]
    tree: bool,
    /// Run the program N times under each compared lock
    #[arg(long, short, value_name = "N", default_value_t = 6,
        value_parser = clap::value_parser!(u16).range(1..))]
    repeat: u16,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// The program and its arguments; it must terminate
    #[arg(required_unless_present = "process", last = true, value_names = ["PROGRAM", "ARGS"],
        value_hint = ValueHint::CommandWithArguments)]
    command: Vec<OsString>,
}

const NOTES: &str = "\
A running process is sampled from outside, up to 125 times a second: waiting threads, their locks \
and the holders. The process is not stopped; sampling takes 0.5 % of one CPU. A program is sampled in \
the same way under the C library's locks; then a run under Cohort counts acquisitions. With lock \
contention, the program is compared under Cohort, and profiled if that shows no gain.

The last line is the verdict, below its evidence:
  Not locks: threads waited for locks for less than 1 % of their time.
  Locks, and Cohort gains 1.4× (1.3× to 1.5×).
  Locks, held too long at FILE:LINE: shorten the critical section.
  Locks that Cohort cannot serve: those of Go, Java, Rust's std and others.
A running process gets no gain, since that needs a restart. A verdict needs at least 100 samples.

Examples:
  cohort check $(pgrep -n memcached)
  cohort check -- sha256sum README.md
  cohort check -- kccachetest wicked -th 2 -capcnt 500000 400000

Exit status: 0; 2 for invalid options or a missing process; 125 if the process cannot be sampled or \
the program fails; 126 and 127 as for `cohort run`; 130 after Ctrl-C.";

/// What `--json` prints.
#[derive(Serialize)]
struct Sheet<'a> {
    program: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    process: Option<u32>,
    verdict: &'static str,
    sentence: &'a str,
    #[serde(flatten)]
    evidence: &'a Evidence,
}

/// Carries out `cohort check`.
///
/// # Errors
/// The process cannot be looked at; the program fails.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    interrupt::arm()
        .map_err(|error| Problem::refused(format!("cannot handle signals: {error}")))?;
    let checked = match arguments.process {
        Some(id) => {
            let length = Duration::from_secs_f64(arguments.seconds);
            check_process(id, arguments.tree, length)
        }
        None => {
            let checked = check_program(&arguments.command, arguments.repeat);
            runner::end_children();
            checked
        }
    };
    let (program, evidence, verdict) = checked?;
    if let Err(signal) = interrupt::check() {
        problem::tell("interrupted before a verdict");
        return Ok(ExitCode::from(signal.status()));
    }
    let Some(verdict) = verdict else {
        return Ok(ExitCode::from(status::REFUSED));
    };
    let sentence = verdict.to_string();
    if arguments.json {
        let sheet = Sheet {
            program,
            process: arguments.process,
            verdict: verdict.name(),
            sentence: &sentence,
            evidence: &evidence,
        };
        page::print_json(Origin::here(), &sheet)?;
    } else {
        let mut text = String::new();
        for (topic, said) in evidence.in_words() {
            text.push_str(&page::hanging(&format!("{topic:<12}"), &said));
        }
        page::print(&format!("{text}\n{}", page::prose(&sentence)))?;
    }
    Ok(ExitCode::SUCCESS)
}

type Checked = (String, Evidence, Option<Verdict>);

fn check_process(id: u32, has_tree: bool, length: Duration) -> Result<Checked, Problem> {
    let process = outside::Process::open(id)?;
    let program = process.program.clone();
    let (is_whole, mut lookers) = if has_tree {
        let mut tree = Tree::open(id)?;
        let looked = crate::top::look_for(&mut tree, length)?;
        (looked.is_ok(), tree.into_lookers())
    } else {
        let mut looker = Looker::new(process);
        let looked = crate::top::look_for(&mut looker, length)?;
        (looked.is_ok(), vec![looker])
    };
    if !is_whole {
        return Ok((program, Evidence::default(), None));
    }
    let evidence = Evidence::of_processes(&mut lookers);
    let verdict = judge::running(&evidence, &format!("/proc/{id}/exe"));
    Ok((program, evidence, Some(verdict)))
}

fn check_program(command: &[OsString], rounds: u16) -> Result<Checked, Problem> {
    let name = command[0].to_string_lossy().into_owned();
    let program = Program::find(&command[0])?;
    if is_32_bit(&program.path) {
        return Err(Problem::refused(format!(
            "{name} is a 32-bit program, which is not supported"
        )));
    }
    let none = |evidence| Ok((name.clone(), evidence, None));
    let Some(mut evidence) = watch::watch(&program, command)? else {
        return none(Evidence::default());
    };
    if let Some(verdict) = judge::unserved(&evidence, &program) {
        return Ok((name, evidence, Some(verdict)));
    }
    evidence.counted = judge::counts(command)?;
    if interrupt::check().is_err() {
        return none(evidence);
    }
    if evidence.is_without_locks() {
        let verdict = evidence.without_locks();
        return Ok((name, evidence, Some(verdict)));
    }
    let compared = judge::compare(command, rounds)?;
    if interrupt::check().is_err() {
        return none(evidence);
    }
    let verdict = match judge::gain(&compared) {
        Some(verdict) => verdict,
        None => judge::held(command, &mut evidence)?,
    };
    evidence.comparison = Some(compared);
    Ok((name, evidence, Some(verdict)))
}
