//! `cohort record dump`: prints a trace.

use super::show;
use crate::page::{self, Origin};
use crate::problem::Problem;
use clap::ValueHint;
use cohort_trace::{End, Event, Info, Summary, Trace};
use serde::Serialize;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of `cohort record dump`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The trace
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    /// Print the first N events in order of time
    #[arg(long, value_name = "N", default_value_t = 0)]
    head: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A trace as JSON.
#[derive(Serialize)]
struct Dump<'a> {
    recorded: &'a Info,
    end: Option<&'a End>,
    summary: &'a Summary,
    events: Vec<Shown<'a>>,
}

#[derive(Serialize)]
struct Shown<'a> {
    /// Nanoseconds since the trace's first event.
    at: u64,
    /// The thread's number in the kernel.
    tid: u64,
    #[serde(flatten)]
    event: &'a Event,
    /// The lock's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
}

/// Reads a trace.
///
/// # Errors
/// It cannot be read, or is damaged.
pub fn read(file: &Path) -> Result<Trace, Problem> {
    let wrong = |why: &dyn std::fmt::Display| {
        Problem::usage(format!("{}: {why}", page::visible(&file.to_string_lossy())))
    };
    let opened = File::open(file).map_err(|error| wrong(&error))?;
    if opened.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(wrong(&"it is a folder; give a trace"));
    }
    Trace::read(BufReader::new(opened)).map_err(|error| wrong(&error))
}

/// Prints a trace.
///
/// # Errors
/// It cannot be read, or the output cannot be written.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let trace = read(&arguments.file)?;
    let summary = Summary::of(&trace);
    let events = first(&trace, arguments.head);
    let began = events.first().map_or(0, |(at, _, _)| *at);
    if arguments.json {
        let events = events.iter().map(|(at, thread, event)| Shown {
            at: at - began,
            tid: trace.threads[*thread].id,
            event,
            name: name_of(&trace, event),
        });
        let dump = Dump {
            recorded: &trace.info,
            end: trace.end.as_ref(),
            summary: &summary,
            events: events.collect(),
        };
        page::print_json(Origin::here(), &dump)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = head(&trace, &summary);
    if summary.acquired > 0 {
        text.push_str("\n\n");
        text.push_str(&show::locks(&summary));
    }
    if !events.is_empty() {
        text.push('\n');
    }
    for (at, thread, event) in events {
        text.push('\n');
        text.push_str(&show::event(&trace, thread, at - began, event));
    }
    text.push('\n');
    page::print_as_it_is(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// The name of an event's lock.
fn name_of<'a>(trace: &'a Trace, event: &Event) -> Option<&'a str> {
    use cohort_trace::What::{Acquire, Release, Signal, Wait};
    let lock = match event.what {
        Acquire { lock, .. } | Release { lock } => lock,
        Wait { condition, .. } | Signal { condition, .. } => condition,
        _ => return None,
    };
    Some(&trace.locks[lock as usize].name)
}

/// The first events in order of time.
fn first(trace: &Trace, count: usize) -> Vec<(u64, usize, &Event)> {
    let mut all = Vec::new();
    for thread in 0..trace.threads.len() {
        let events = trace.events(thread).take(count);
        all.extend(events.map(|(at, event)| (at, thread, event)));
    }
    all.sort_by_key(|(at, thread, _)| (*at, *thread));
    all.truncate(count);
    all
}

/// What was recorded.
fn head(trace: &Trace, summary: &Summary) -> String {
    let info = &trace.info;
    let mut text = format!(
        "{} under {} on {} ({}): {} events of {}, {} acquisitions, {:.1} % contended",
        page::visible(&info.program),
        page::visible(&info.lock),
        page::visible(&info.host),
        page::counted(info.cpus as usize, "CPU", "CPUs"),
        show::number(summary.events),
        page::counted(summary.threads as usize, "thread", "threads"),
        show::number(summary.acquired),
        summary.contended * 100.0
    );
    match &trace.end {
        Some(end) => text.push_str(&format!("\n{}", super::course(end))),
        None => text.push_str("\nthe file was cut short: read up to its last whole block"),
    }
    text
}
