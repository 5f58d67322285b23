//! `cohort ps`: every process of several threads, the time that locks cost it, and whether it runs under
//! Cohort.

use crate::check::judge::{Evidence, Verdict, percent, running};
use crate::observe::watching::is_under_cohort;
use crate::outside::Process;
use crate::outside::looker::{Looker, look_at_due};
use crate::page::{self, Origin};
use crate::problem::{self, Problem};
use crate::top::frame::Looks;
use cohort_measure::progress::Seconds;
use cohort_measure::{interrupt, options};
use serde::Serialize;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Processes that are looked at: those with most threads.
const MOST: usize = 64;

/// Options of `cohort ps`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = NOTES)]
pub struct Arguments {
    /// Sample the processes for this time
    #[arg(long, value_name = "SECONDS", default_value = "3", value_parser = options::seconds)]
    seconds: f64,
    /// Also show processes without lost time
    #[arg(long, short)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const NOTES: &str = "\
Multi-threaded processes are sampled from outside, as by `cohort check PID`, at no more than 4 % of \
one CPU: the 64 processes with the most threads. Processes of other users need that user or root.

  lost      waiting time, relative to time on a CPU or waiting for locks
  lost/s    thread-seconds of waiting per second
  under     whether the process runs under Cohort (see `cohort top`)

Examples:
  cohort ps
  cohort ps --all --seconds 1
  cohort ps --json

Exit status: 0; 2 for invalid options; 130 after Ctrl-C, with the results until then.";

/// What is shown of a process.
#[derive(Serialize)]
struct Row {
    process: u32,
    program: String,
    threads: usize,
    under_cohort: bool,
    /// Thread-seconds of waiting for locks in a second.
    lost_per_second: f64,
    /// The share of its threads' time.
    share_lost: f64,
    /// CPU seconds in a second.
    used_per_second: f64,
    verdict: &'static str,
    sentence: String,
    #[serde(skip)]
    brief: String,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Sheet {
    seconds: f64,
    processes: Vec<Row>,
    /// Processes of several threads that may not be looked into.
    unreadable: usize,
    /// Processes beyond the sampled ones.
    left_out: usize,
}

/// Carries out `cohort ps`.
///
/// # Errors
/// A look fails; standard output cannot be written to.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    interrupt::arm()
        .map_err(|error| Problem::refused(format!("cannot handle signals: {error}")))?;
    let mut listed = several_threads();
    let left_out = listed.len().saturating_sub(MOST);
    listed.truncate(MOST);
    let opened: Vec<Option<Process>> = listed.iter().map(|id| Process::open(*id).ok()).collect();
    // One that has ended since is none of another user.
    let unreadable = listed.iter().zip(&opened);
    let unreadable = unreadable.filter(|(id, process)| process.is_none() && is_here(**id));
    let unreadable = unreadable.count();
    let mut lookers: Vec<(Looker, Instant)> = opened
        .into_iter()
        .flatten()
        .map(|process| (Looker::new(process), Instant::now()))
        .collect();
    let length = Duration::from_secs_f64(arguments.seconds);
    let began = Instant::now();
    let mut progress = Seconds::new(length, "seconds of all processes");
    while began.elapsed() < length && interrupt::check().is_ok() {
        progress.pass(began.elapsed());
        let pause = look_at_due(&mut lookers)?;
        std::thread::sleep(pause.min(length.saturating_sub(began.elapsed())));
    }
    drop(progress);
    let seconds = began.elapsed().as_secs_f64();
    let mut processes: Vec<Row> = lookers
        .into_iter()
        .filter(|(looker, _)| !looker.is_over())
        .map(|(mut looker, _)| Row::of(&mut looker))
        .collect();
    processes.sort_by(|one, other| other.lost_per_second.total_cmp(&one.lost_per_second));
    let sheet = Sheet {
        seconds,
        processes,
        unreadable,
        left_out,
    };
    if arguments.json {
        page::print_json(Origin::here(), &sheet)?;
    } else {
        page::print(&sheet.in_words(arguments.all))?;
    }
    if let Err(signal) = interrupt::check() {
        problem::tell("interrupted: results until then");
        return Ok(ExitCode::from(signal.status()));
    }
    Ok(ExitCode::SUCCESS)
}

impl Row {
    fn of(looker: &mut Looker) -> Self {
        let process = looker.process();
        let program = looker.process.program.clone();
        let threads = looker.process.thread_count();
        let evidence = Evidence::of_processes([looker]);
        let verdict = running(&evidence, &format!("/proc/{process}/exe"));
        Self {
            process,
            program,
            threads,
            under_cohort: is_under_cohort(process),
            lost_per_second: evidence.lost_per_second(),
            share_lost: evidence.share(),
            used_per_second: evidence.used_per_second(),
            verdict: verdict.name(),
            sentence: verdict.to_string(),
            brief: verdict.brief(),
        }
    }

    /// Whether it lost time to locks, or too little was seen to say.
    fn is_shown(&self) -> bool {
        self.verdict != Verdict::NotLocks(0.0).name() || self.under_cohort
    }
}

impl Sheet {
    fn in_words(&self, all: bool) -> String {
        let mut table = page::titled(&[
            "PID", "threads", "CPUs", "lost", "lost/s", "under", "program", "verdict",
        ]);
        let shown: Vec<&Row> = self
            .processes
            .iter()
            .filter(|row| all || row.is_shown())
            .collect();
        for row in &shown {
            table.add_row([
                row.process.to_string(),
                row.threads.to_string(),
                format!("{:.2}", row.used_per_second),
                percent(row.share_lost),
                format!("{:.3}", row.lost_per_second),
                if row.under_cohort { "yes" } else { "no" }.to_owned(),
                row.program.clone(),
                row.brief.clone(),
            ]);
        }
        let mut text = if shown.is_empty() {
            String::new()
        } else {
            format!("{}\n\n", page::lines(table, 0..5))
        };
        let looked = page::counted(self.processes.len(), "process", "processes");
        let quiet = self.processes.len() - shown.len();
        let mut said = format!(
            "{looked} with several threads sampled for {:.1} s",
            self.seconds
        );
        if quiet > 0 {
            said.push_str(&format!(
                "; {quiet} lost less than 1 % of their time to locks (--all shows them)"
            ));
        }
        if self.unreadable > 0 {
            said.push_str(&format!(
                "; {} not accessible (`cohort check PID` prints the reason)",
                page::counted(self.unreadable, "process", "processes")
            ));
        }
        if self.left_out > 0 {
            said.push_str(&format!("; {} with fewer threads omitted", self.left_out));
        }
        said.push('.');
        text.push_str(&page::prose(&said));
        text
    }
}

/// The processes of several threads but this one, those with most threads first.
fn several_threads() -> Vec<u32> {
    let own = std::process::id();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut found: Vec<(usize, u32)> = ids
        .filter(|id| *id != own)
        .map(|id| (threads(id), id))
        .filter(|(threads, _)| *threads > 1)
        .collect();
    found.sort_by(|one, other| other.cmp(one));
    found.into_iter().map(|(_, id)| id).collect()
}

fn threads(id: u32) -> usize {
    let tasks = std::fs::read_dir(format!("/proc/{id}/task"));
    tasks.into_iter().flatten().count()
}

fn is_here(id: u32) -> bool {
    threads(id) > 1
}
