//! `cohort report`: the results of other commands as one page.

use clap::ValueHint;
use cohort_cli::page::{self, Origin};
use cohort_cli::problem::{self, Problem};
use cohort_cli::program::own_path;
use cohort_cli::{best, destination, results};
use cohort_lab::interrupt::{self, Interrupted};
use cohort_lab::progress::Progress;
use cohort_lab::report::host::HostView;
use cohort_lab::report::page::{Setting, page as html};
use cohort_lab::report::{Document, Gathered, Topic};
use cohort_lab::rounds::Observer;
use rustix::process::{Pid, Signal, kill_process};
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tempfile::NamedTempFile;

/// Options of `cohort report`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = NOTES)]
pub struct Arguments {
    /// Use these JSON documents of discover, bench, tune, study, replay and reproduce, and
    /// configurations of `tune -o`
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    files: Vec<PathBuf>,
    /// Write an HTML page
    #[arg(long, value_name = "FILE.html", value_hint = ValueHint::FilePath)]
    html: Option<PathBuf>,
    /// Gather only; run nothing
    #[arg(long)]
    no_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const NOTES: &str = "\
Results come from the named files, from ~/.config/cohort/best.toml, and from earlier runs of `study` and \
`reproduce`, which keep the latest result of each program and claim in ~/.cache/cohort/results. A named \
file replaces kept results. Hand-over times, a benchmark, two programs and four claims are measured if no \
file has any, in about a minute; idle CPUs make the figures exact. The page shows each result's command \
and date, and the commands that make missing ones.

Examples:
  cohort report --html report.html
  cohort report --html report.html --no-run study.json best.toml
  cohort report --no-run --json

Exit status: 0 if a report was made; 2 for invalid options or an invalid file; 125 if the page cannot be \
written; 130 after Ctrl-C, with the results so far.";

/// Topics with a short command, in the order of their runs.
const SHORT: [Topic; 4] = [
    Topic::HandOvers,
    Topic::Bench,
    Topic::Programs,
    Topic::Claims,
];

/// The short command of a topic on a machine with that many CPUs.
fn short(topic: Topic, cpus: usize) -> Vec<String> {
    let mut threads: Vec<usize> = (0..)
        .map(|power| 1 << power)
        .take_while(|one| *one < cpus)
        .collect();
    threads.extend([cpus, 2 * cpus]);
    let threads: Vec<String> = threads.iter().map(ToString::to_string).collect();
    let words = match topic {
        Topic::Bench => format!(
            "bench --workload loop --locks system,default,mcs --threads {} --oversubscribe --seconds 0.1 --rounds 5",
            threads.join(",")
        ),
        Topic::Programs => {
            "study hamster-50 phoenix-words --threads 2 --locks default,mcs --repeat 5".to_owned()
        }
        Topic::Claims => "reproduce K10 F1 S10 G1".to_owned(),
        _ => "discover".to_owned(),
    };
    words.split(' ').map(str::to_owned).collect()
}

/// A part of the report in JSON.
#[derive(Serialize)]
struct Part {
    topic: Topic,
    /// The file, or the command that was run.
    from: String,
    document: Value,
}

/// Results that are not there.
#[derive(Serialize)]
struct Missing {
    topic: Topic,
    /// The command that makes them.
    command: &'static str,
}

/// The report in JSON.
#[derive(Serialize)]
struct Sheet {
    host: HostView,
    parts: Vec<Part>,
    missing: Vec<Missing>,
}

/// What is gathered.
#[derive(Default)]
struct Collection {
    gathered: Gathered,
    parts: Vec<Part>,
}

impl Collection {
    /// Adds a document, with its text.
    fn add(&mut self, document: Document, from: String, text: &str) {
        self.parts.push(Part {
            topic: document.topic(),
            from,
            // A configuration is no JSON.
            document: serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned())),
        });
        self.gathered.add(document);
    }

    /// Adds a file.
    fn read(&mut self, file: &Path) -> Result<(), String> {
        let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
        let is_toml = file
            .extension()
            .is_some_and(|extension| extension == "toml");
        let document = if is_toml {
            Document::tuned(&text)
        } else {
            Document::read(&text)
        };
        self.add(
            document?.dated(modified(file)),
            file.display().to_string(),
            &text,
        );
        Ok(())
    }
}

/// The date of a file's last change.
fn modified(file: &Path) -> Option<String> {
    let modified = file.metadata().ok()?.modified().ok()?;
    Some(page::utc(
        modified.duration_since(UNIX_EPOCH).ok()?.as_secs(),
    ))
}

/// Executes `cohort report`.
///
/// # Errors
/// A file cannot be read, the page cannot be written, or the kernel does not report the CPUs.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    if let Some(file) = &arguments.html {
        destination::writable(file)?;
    }
    let host = HostView::here().map_err(Problem::refused)?;
    let mut all = Collection::default();
    // The latest document of a program or claim counts: named files come last.
    for file in results::kept() {
        // Another version's results are left out.
        let _ = all.read(&file);
    }
    for file in &arguments.files {
        all.read(file)
            .map_err(|why| Problem::usage(format!("{}: {why}", file.display())))?;
    }
    let tuned = best::place().filter(|file| file.exists());
    if let Some(file) = tuned.filter(|_| !all.gathered.has(Topic::Tuned)) {
        all.read(&file)
            .map_err(|why| Problem::usage(format!("{}: {why}", file.display())))?;
    }
    interrupt::arm()
        .map_err(|error| Problem::refused(format!("cannot handle signals: {error}")))?;
    let ended = if arguments.no_run {
        None
    } else {
        measure(&mut all, host.cpus.len())?
    };
    let origin = Origin::here();
    if let Some(file) = &arguments.html {
        let (caption, command) = (origin.caption(), origin.command());
        let setting = Setting {
            caption: &caption,
            command: &command,
        };
        destination::write(file, html(&host, &all.gathered, &setting).as_bytes())?;
    }
    if arguments.json {
        let missing = all.gathered.missing().into_iter().map(|topic| Missing {
            topic,
            command: topic.commands(),
        });
        let sheet = Sheet {
            host,
            missing: missing.collect(),
            parts: all.parts,
        };
        page::print_json(origin, &sheet)?;
    } else {
        page::print(&text(&all.gathered, arguments.html.as_deref()))?;
    }
    Ok(ended.map_or(ExitCode::SUCCESS, |signal| ExitCode::from(signal.status())))
}

/// Runs the short commands of topics without results.
fn measure(all: &mut Collection, cpus: usize) -> Result<Option<Interrupted>, Problem> {
    let wanted: Vec<Topic> = SHORT
        .into_iter()
        .filter(|topic| !all.gathered.has(*topic))
        .collect();
    let mut progress = Progress::new(wanted.len(), false);
    for topic in wanted {
        progress.starts(topic.title(), false);
        let words = short(topic, cpus);
        let typed = format!("cohort {} --json", words.join(" "));
        let (said, ended) = said(&words)?;
        match said {
            Ok(text) => {
                let document = Document::read(&text)
                    .map_err(|why| Problem::refused(format!("`{typed}`: {why}")))?;
                all.add(document.dated(now()), typed, &text);
            }
            Err(_) if ended.is_some() => {}
            Err(why) => problem::tell(format!("`{typed}` failed: {why}")),
        }
        if ended.is_some() {
            return Ok(ended);
        }
    }
    Ok(None)
}

/// The document that a subcommand prints with --json, or else its last message. A signal ends it.
fn said(words: &[String]) -> Result<(Result<String, String>, Option<Interrupted>), Problem> {
    let failed =
        |error: std::io::Error| Problem::refused(format!("cannot run `{}`: {error}", words[0]));
    let [output, messages] = [NamedTempFile::new(), NamedTempFile::new()];
    let (output, messages) = (output.map_err(failed)?, messages.map_err(failed)?);
    let mut child = Command::new(own_path()?)
        .args(words)
        .arg("--json")
        .stdin(Stdio::null())
        .stdout(output.reopen().map_err(failed)?)
        .stderr(messages.reopen().map_err(failed)?)
        .spawn()
        .map_err(failed)?;
    let mut ended = None;
    while child.try_wait().map_err(failed)?.is_none() {
        if let Err(signal) = interrupt::check()
            && ended.replace(signal).is_none()
        {
            // A terminal signals the whole group, other senders this process alone.
            let _ = kill_process(Pid::from_child(&child), Signal::TERM);
        }
        std::thread::sleep(STEP);
    }
    let read = |file: &NamedTempFile| std::fs::read_to_string(file.path()).map_err(failed);
    let text = read(&output)?;
    let said = if text.is_empty() {
        let messages = read(&messages)?;
        let last = messages
            .trim_end()
            .lines()
            .last()
            .unwrap_or("it printed nothing");
        Err(last.trim_start_matches("cohort: ").to_owned())
    } else {
        Ok(text)
    };
    Ok((said, ended.or_else(|| interrupt::check().err())))
}

/// The present time.
fn now() -> Option<String> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    Some(page::utc(since.as_secs()))
}

/// Time between two looks at a running command.
const STEP: Duration = Duration::from_millis(20);

/// The parts with their origins, and the missing ones.
fn text(gathered: &Gathered, file: Option<&Path>) -> String {
    let mut table = page::titled(&["part", "from", "date"]);
    for topic in Topic::ALL {
        for (number, source) in gathered.sources(topic).into_iter().enumerate() {
            let title = if number == 0 { topic.title() } else { "" };
            let date = source.date.as_deref().unwrap_or("-");
            table.add_row([title, &page::visible(&source.command), date]);
        }
    }
    let mut parts = Vec::new();
    if !table.is_empty() {
        parts.push(page::lines(table, 0..0));
    }
    let mut lines: Vec<String> = Topic::ALL
        .into_iter()
        .filter_map(|topic| gathered.rest(topic))
        .collect();
    lines.extend(
        gathered
            .missing()
            .into_iter()
            .map(|topic| format!("Missing: {}. Add: {}", topic.title(), topic.commands())),
    );
    if !lines.is_empty() {
        parts.push(page::prose(&lines.join("\n")));
    }
    parts.push(match file {
        Some(file) => page::prose(&format!("Written: {}", file.display())),
        None => page::prose("`--html FILE.html` writes the page."),
    });
    parts.join("\n\n")
}
