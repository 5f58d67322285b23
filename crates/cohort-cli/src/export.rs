//! `cohort export`: what the locks of running programs do, as metrics in OpenMetrics.

mod metrics;
mod subject;

use crate::destination;
use crate::observe::watching;
use crate::problem::{self, Problem};
use crate::top;
use clap::{ArgGroup, ValueHint};
use cohort_measure::interrupt;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use subject::Subject;
use tiny_http::{Header, Method, Request, Response, Server};

/// The file's name: node_exporter reads files with this ending.
const FILE: &str = "cohort.prom";

/// The content type of a scrape's answer.
const CONTENT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The intervals between searches for new processes, and between attempts to watch a process.
const SEARCH: Duration = Duration::from_secs(2);
const RETRY: Duration = Duration::from_secs(60);

/// The longest pause, for signals.
const PAUSE: Duration = Duration::from_millis(50);

/// Options of `cohort export`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = NOTES, group(ArgGroup::new("to").args(["textfile", "listen"]).required(true)))]
pub struct Arguments {
    /// Write FOLDER/cohort.prom periodically, for node_exporter's textfile collector; makes the folder
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    textfile: Option<PathBuf>,
    /// Serve http://ADDRESS/metrics; loopback addresses only, such as 127.0.0.1:9464
    #[arg(long, value_name = "ADDRESS", value_parser = loopback)]
    listen: Option<SocketAddr>,
    /// Write a file at this interval
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = top::interval)]
    interval: Duration,
    /// Exit after one file
    #[arg(long, conflicts_with = "listen")]
    once: bool,
    /// Export up to N locks of a process separately; the others share one metric
    #[arg(long, value_name = "N", default_value_t = 100)]
    most: usize,
    /// Export these processes [default: all started by `cohort run --observe`]
    #[arg(value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    processes: Vec<u32>,
}

const NOTES: &str = "\
A process has one observer at a time: during the export, `cohort top` is refused. A process that does \
not run under Cohort can be exported by its number, without counts of acquisitions. Counters start \
with the export. Without numbers, new processes are found within two seconds.

  cohort_lock_wait_seconds_total   thread-seconds of waiting
  cohort_lock_acquisitions_total   acquisitions
  cohort_lock_contended_total      contended acquisitions
  cohort_lock_waiters              currently waiting threads

Labels: lock, kind (mutex or rwlock), program and process (PID). The file is replaced atomically, and \
removed at the end except with --once.

Examples:
  cohort export --textfile /var/lib/prometheus/node-exporter
  cohort export --listen 127.0.0.1:9464
  cohort export --once --interval 1 --textfile .

Exit status: 0 after SIGINT or SIGTERM, at the end of the named processes, and after --once; 2 for \
invalid options or a missing process; 125 if the port is taken, the folder is not writable or a \
named process cannot be observed.";

/// An address that only this machine reaches.
fn loopback(text: &str) -> Result<SocketAddr, String> {
    match text.parse::<SocketAddr>() {
        Ok(address) if address.ip().is_loopback() => Ok(address),
        Ok(_) => Err(
            "the metrics have no authentication: use 127.0.0.1 or [::1], behind an authenticating proxy"
                .to_owned(),
        ),
        Err(_) => Err("expected an address and a port, such as 127.0.0.1:9464".to_owned()),
    }
}

/// Where the metrics go.
enum Sink {
    File { file: PathBuf, written: Instant },
    Scrapes(Server),
}

/// Makes the folder, unless it is there; its parent has to be.
fn made(folder: &Path) -> Result<(), Problem> {
    match std::fs::create_dir(folder) {
        Ok(()) => {
            problem::tell(format!("made the folder {}", folder.display()));
            Ok(())
        }
        Err(_) if folder.is_dir() => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Err(Problem::refused(
            format!("{} is not a folder; choose another", folder.display()),
        )),
        Err(error) => Err(Problem::refused(format!(
            "cannot make the folder {}: {error}; create it, or choose another",
            folder.display()
        ))),
    }
}

impl Sink {
    fn new(arguments: &Arguments) -> Result<Self, Problem> {
        if let Some(address) = arguments.listen {
            let server = Server::http(address).map_err(|error| {
                Problem::refused(format!(
                    "cannot listen on {address}: {error}; choose another port"
                ))
            })?;
            let address = server.server_addr();
            problem::tell(format!("metrics are at http://{address}/metrics"));
            return Ok(Self::Scrapes(server));
        }
        let folder = arguments.textfile.as_deref().unwrap_or(Path::new("."));
        made(folder)?;
        let file = folder.join(FILE);
        destination::writable(&file)?;
        // A new file is made beside the old one.
        rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).map_err(|error| {
            let error = std::io::Error::from(error);
            Problem::refused(format!(
                "cannot write {}: {error}; choose another folder",
                folder.display()
            ))
        })?;
        Ok(Self::File {
            file,
            written: Instant::now(),
        })
    }
}

/// The processes that are watched.
struct Subjects {
    watched: Vec<Subject>,
    /// Processes seen by a search, with their beginnings, and when another try may be worth it: never,
    /// if a process has no records and is no longer young.
    known: HashMap<u32, (Option<u64>, Option<Instant>)>,
    searched: Option<Instant>,
    most: usize,
}

impl Subjects {
    /// These, or none yet.
    fn new(processes: &[u32], most: usize) -> Result<Self, Problem> {
        let one = |process: &u32| -> Result<Subject, Problem> {
            Ok(Subject::new(top::looker(*process)?, most))
        };
        Ok(Self {
            watched: processes.iter().map(one).collect::<Result<_, Problem>>()?,
            known: HashMap::new(),
            searched: None,
            most,
        })
    }

    /// Begins to watch the processes that have records and are not watched, if it is time to look for
    /// them. Of processes that were seen before only the beginning is read.
    fn search(&mut self) {
        if self.searched.is_some_and(|at| at.elapsed() < SEARCH) {
            return;
        }
        self.searched = Some(Instant::now());
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let living: Vec<u32> = numbers.filter(|id| *id != std::process::id()).collect();
        self.known.retain(|id, _| living.contains(id));
        for id in living {
            let began = watching::began(id);
            if let Some((then, retry)) = self.known.get(&id)
                && *then == began
                && retry.is_none_or(|at| Instant::now() < at)
            {
                continue;
            }
            if self.watched.iter().any(|subject| subject.process() == id) {
                continue;
            }
            let has_records = watching::open_records(id).is_ok_and(|file| file.is_some());
            let retry = if has_records {
                match subject::begin(id) {
                    Ok(looker) => {
                        self.watched.push(Subject::new(looker, self.most));
                        continue;
                    }
                    Err(_) => Some(Instant::now() + RETRY),
                }
            } else {
                // It may be about to become a program under Cohort.
                watching::is_young(id).then(Instant::now)
            };
            self.known.insert(id, (began, retry));
        }
    }

    /// Samples the processes that are due; returns the time until the next sample.
    fn look(&mut self) -> Duration {
        let mut pause = PAUSE;
        self.watched.retain_mut(|subject| match subject.look() {
            Ok(next) => {
                pause = pause.min(next);
                true
            }
            Err(problem) => {
                problem::tell(format!("warning: {problem}; its metrics end"));
                false
            }
        });
        pause
    }

    /// The metrics now; processes that have ended are in them for the last time.
    fn text(&mut self) -> Result<String, Problem> {
        for subject in &mut self.watched {
            subject.collect();
        }
        let text = metrics::text(&self.watched);
        self.watched.retain(|subject| !subject.has_ended());
        text
    }
}

/// Executes `cohort export`.
///
/// # Errors
/// The metrics have no place, or a process that was named cannot be watched.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    interrupt::arm()
        .map_err(|error| Problem::refused(format!("cannot handle signals: {error}")))?;
    let mut sink = Sink::new(arguments)?;
    let mut subjects = Subjects::new(&arguments.processes, arguments.most)?;
    let is_search = arguments.processes.is_empty();
    if let (Sink::File { file, .. }, false) = (&sink, arguments.once) {
        // A full disk shows at once.
        destination::write(file, metrics::text(&[])?.as_bytes())?;
        problem::tell(format!(
            "metrics are in {}, and are removed at the end",
            file.display()
        ));
    }
    if is_search {
        subjects.search();
        if subjects.watched.is_empty() {
            problem::tell(
                "no process runs under `cohort run --observe` yet; name a process to export it \
                 without Cohort",
            );
        }
    }
    loop {
        let is_over = interrupt::check().is_err() || !is_search && subjects.watched.is_empty();
        if is_over {
            if let Sink::File { file, .. } = &sink {
                // Otherwise a scraper would publish stale figures.
                let _ = std::fs::remove_file(file);
            }
            return Ok(ExitCode::SUCCESS);
        }
        if is_search {
            subjects.search();
        }
        let pause = subjects.look();
        match &mut sink {
            Sink::File { file, written } => {
                std::thread::sleep(pause.min(arguments.interval));
                if written.elapsed() >= arguments.interval {
                    *written = Instant::now();
                    destination::write(file, subjects.text()?.as_bytes())?;
                    if arguments.once {
                        return Ok(ExitCode::SUCCESS);
                    }
                }
            }
            Sink::Scrapes(server) => {
                let request = server
                    .recv_timeout(pause)
                    .map_err(|error| Problem::refused(format!("cannot answer scrapes: {error}")))?;
                if let Some(request) = request {
                    answer(request, &mut subjects)?;
                }
            }
        }
    }
}

/// Answers a request, and ignores a closed connection.
fn answer(request: Request, subjects: &mut Subjects) -> Result<(), Problem> {
    let path = request.url().split('?').next().unwrap_or_default();
    let response = match (request.method(), path) {
        (Method::Get | Method::Head, "/metrics") => {
            let content = Header::from_bytes("Content-Type", CONTENT).expect("a plain header");
            Response::from_string(subjects.text()?).with_header(content)
        }
        (Method::Get | Method::Head, _) => {
            Response::from_string("the metrics are at /metrics\n").with_status_code(404)
        }
        _ => Response::from_string("only GET is supported\n").with_status_code(405),
    };
    let _ = request.respond(response);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_listened_to() {
        assert!(loopback("127.0.0.1:9464").is_ok() && loopback("[::1]:0").is_ok());
        for text in [
            "0.0.0.0:9464",
            "[::]:1",
            "192.0.2.1:80",
            "9464",
            "localhost",
            "",
        ] {
            assert!(loopback(text).is_err(), "{text}");
        }
    }
}
