//! `cohort record`: runs a program, and writes a trace of its lock operations.

mod convert;
mod dump;
mod show;
mod windows;

use crate::destination;
use crate::observe;
use crate::observe::traced::Traced;
use crate::page;
use crate::problem::{self, Problem};
use crate::profile::percent;
use crate::program::own_path;
use crate::purpose::Purpose;
use crate::settings::{Options, Settings};
use crate::supervise::{self, Usage};
use clap::{ArgMatches, ValueHint};
use cohort::records::CHUNK;
use cohort_measure::progress::Progress;
use cohort_measure::rounds::Observer;
use cohort_trace::{End, Info, Summary, Trace, Writer};
use rustix::process::Signal;
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufReader, IsTerminal, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::{Duration, Instant, SystemTime};
use tempfile::NamedTempFile;
use windows::{Course, Windows};

/// Options of `cohort record`.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = NOTES,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    disable_help_subcommand = true
)]
pub struct Arguments {
    #[command(subcommand)]
    what: Option<Subcommands>,
    #[command(flatten)]
    options: Options,
    /// Write the trace to this file
    #[arg(long, short, value_name = "FILE", required = true, value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
    /// Keep at most this much of events (32 bytes each) in memory: a number with K, M or G
    #[arg(long, value_name = "SIZE", default_value = "256M", value_parser = size)]
    limit: u64,
    /// Limit the recording to this percentage of the program's CPU time, by recording in windows
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0, value_parser = percent)]
    cost: f64,
    /// Record in this process (set by the command for its keeper)
    #[arg(long, hide = true)]
    in_keeper: bool,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_names = ["PROGRAM", "ARGS"],
        value_hint = ValueHint::CommandWithArguments)]
    command: Vec<OsString>,
}

#[derive(Debug, clap::Subcommand)]
enum Subcommands {
    /// Print a trace: its locks, and its first events
    Dump(dump::Arguments),
}

const NOTES: &str = "\
The program runs as under `cohort run`. Each thread writes its acquisitions, releases, waits at \
conditions and signals into memory, with the time between them; at the end they become the trace. \
Forked children are in the same trace. After exec, and after a signal that kills the program, what it \
wrote remains. If this command is killed, the program ends, and its trace is written.

If a full trace costs more than --cost, windows are recorded, and the time between them is left out; a \
program of less than 0.1 s of CPU time counts as one of 0.1 s. Events beyond --limit are left out; all of \
this is printed.

Not recorded: custom locks, programs that cannot be preloaded, and the causes of other waits. Times \
at joins, semaphores and barriers, asleep and without a CPU are in the trace.

Examples:
  cohort record -o kc.trace -- kccachetest wicked -th 4 400000
  cohort record -o mc.trace --limit 64M --lock mcs -- memcached -t 8
  cohort record dump kc.trace --head 20
  cohort replay kc.trace --on epyc-7352x2 --locks system,default,mcs

Exit status: the program's; 2 for invalid options; 125 if the program cannot be served or the trace \
cannot be written; 126 if it cannot be executed; 127 if it was not found.";

/// Parses a number of bytes.
fn size(text: &str) -> Result<u64, String> {
    let expected = || "expected a size from 1M to 64G, such as 256M".to_owned();
    let (digits, unit) = match text.char_indices().next_back() {
        Some((at, 'K' | 'k')) => (&text[..at], 1 << 10),
        Some((at, 'M' | 'm')) => (&text[..at], 1 << 20),
        Some((at, 'G' | 'g')) => (&text[..at], 1 << 30),
        _ => (text, 1),
    };
    let number: u64 = digits.parse().map_err(|_| expected())?;
    number
        .checked_mul(unit)
        .filter(|bytes| (1 << 20..=64 << 30).contains(bytes))
        .ok_or_else(expected)
}

/// Executes `cohort record`.
///
/// # Errors
/// The program cannot be recorded, or not be started; the trace cannot be written.
pub fn run(arguments: Arguments, matches: &ArgMatches) -> Result<ExitCode, Problem> {
    if let Some(Subcommands::Dump(arguments)) = arguments.what {
        return dump::run(&arguments);
    }
    if !arguments.in_keeper {
        return keep();
    }
    supervise::kill_when_orphaned();
    let settings = Settings::new(arguments.options, matches)?.for_observing();
    let output = arguments.output.unwrap_or_default();
    destination::writable(&output)?;
    let limit = u32::try_from(arguments.limit / CHUNK as u64).unwrap_or(u32::MAX);
    let began = SystemTime::now();
    let before = Usage::of_children();
    let cost = arguments.cost;
    let (ending, watched) = observe::run(
        &settings,
        &arguments.command,
        Purpose::Record(limit),
        |mut records, is_over| {
            let folder = records.folder().map(Path::to_owned).unwrap_or_default();
            let mut windows = Windows::new(&folder, cost)?;
            windows.watch(&mut records, || is_over.load(Acquire));
            // The folder goes with the records; the file stays open.
            Ok::<_, std::io::Error>(windows.finish())
        },
    )?;
    let used = Usage::of_children().since(&before);
    let (traced, course) = watched.map_err(|error| {
        Problem::refused(format!("the recorded events cannot be read: {error}"))
    })?;
    let words = arguments.command.iter().map(|word| word.to_string_lossy());
    let info = Info {
        program: words.collect::<Vec<_>>().join(" "),
        lock: settings.name(),
        host: host(),
        cpus: std::thread::available_parallelism().map_or(0, |cpus| cpus.get() as u64),
        began: began
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |since| since.as_secs()),
        spent: traced.spent(),
    };
    let end = ended(&traced, &course, used.cpu);
    write(&output, &traced, &info, &end)?;
    tell(&output, &end, cost);
    supervise::end_alike(ending)
}

/// Records in another process, the keeper: if this one is killed, the keeper ends the program and writes the
/// trace. Ends as the program does.
fn keep() -> Result<ExitCode, Problem> {
    let own = own_path()?;
    let mut words = std::env::args_os();
    let mut command = Command::new(&own);
    command.arg0(words.next().unwrap_or_default());
    // The subcommand comes first.
    command.args(words.next()).arg("--in-keeper").args(words);
    let ending = supervise::run_until(command, Signal::TERM)
        .map_err(|error| Problem::refused(format!("cannot run {}: {error}", own.display())))?;
    supervise::end_alike(ending)
}

/// This machine's name.
fn host() -> String {
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().into_owned()
}

/// What the recording left out and cost; `cpu` is the program's, in seconds.
fn ended(traced: &Traced, course: &Course, cpu: f64) -> End {
    let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    End {
        ran: nanoseconds(course.ran),
        recorded: nanoseconds(course.recorded),
        windows: course.windows,
        dropped: traced.head().dropped.load(Relaxed),
        is_full: course.is_full,
        cpu: (cpu * 1e9) as u64,
        cost: course.cost as u64,
        looking: course.looking as u64,
    }
}

/// Writes the trace. On a full disk the file keeps what was written, as a valid trace.
fn write(output: &Path, traced: &Traced, info: &Info, end: &End) -> Result<(), Problem> {
    // Beyond `ulimit -f`, an error is better than the end of this command.
    // SAFETY: sets a signal's disposition; the program has ended.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    let failed = |error: &std::io::Error| {
        Problem::refused(format!("cannot write {}: {error}", output.display()))
    };
    if std::fs::metadata(output).is_ok_and(|old| !old.is_file()) {
        let file = File::create(output).map_err(|error| failed(&error))?;
        return all(file, traced, info, end).map_err(|(error, _)| failed(&error));
    }
    let target = output.canonicalize().unwrap_or_else(|_| output.to_owned());
    let folder = match target.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let beside = NamedTempFile::with_prefix_in(".cohort-", folder);
    let beside = beside.map_err(|error| failed(&error))?;
    let file = beside.reopen().map_err(|error| failed(&error))?;
    let written = all(file, traced, info, end);
    if let Err((_, whole)) = &written {
        let cut = beside.as_file().set_len(*whole);
        cut.map_err(|error| failed(&error))?;
    }
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o666 & !umask());
    let _ = beside.as_file().set_permissions(permissions);
    beside
        .persist(&target)
        .map_err(|error| failed(&error.error))?;
    written.map_err(|(error, whole)| {
        Problem::refused(format!(
            "cannot write all of {}: {error}; its first {} are a valid trace",
            output.display(),
            show::bytes(whole)
        ))
    })
}

/// This process's file mode mask, which can only be read by setting it.
fn umask() -> u32 {
    let mask = rustix::process::umask(rustix::fs::Mode::from_bits_retain(0o077));
    rustix::process::umask(mask);
    mask.bits()
}

/// Writes the whole trace; after an error, also returns the length of the valid part.
fn all(file: File, traced: &Traced, info: &Info, end: &End) -> Result<(), (std::io::Error, u64)> {
    let mut writer = Writer::new(file).map_err(|error| (error, 0))?;
    let mut write = || {
        writer.info(info)?;
        let mut shown = Shown::new(traced.chunks());
        convert::write(traced, &mut writer, &mut |number| shown.reaches(number))
    };
    let result = write();
    let whole = writer.written();
    let result = result.and_then(|_| writer.end(end).map(drop));
    result.map_err(|error| (error, whole))
}

/// Progress of the writing, shown if it takes a while.
struct Shown {
    chunks: u32,
    began: Instant,
    bar: Option<Progress>,
    reached: u32,
}

/// The time after which progress is shown.
const QUIET: Duration = Duration::from_secs(1);

impl Shown {
    fn new(chunks: u32) -> Self {
        Self {
            chunks,
            began: Instant::now(),
            bar: None,
            reached: 0,
        }
    }

    /// The writing has come to that chunk.
    fn reaches(&mut self, number: u32) {
        if self.bar.is_none() && self.began.elapsed() < QUIET {
            return;
        }
        let chunks = self.chunks;
        let bar = self.bar.get_or_insert_with(|| {
            if !std::io::stderr().is_terminal() {
                problem::tell(format!(
                    "writing the trace: {number} of {chunks} parts so far"
                ));
            }
            Progress::new(chunks as usize, false)
        });
        while self.reached < number {
            bar.starts("writing the trace", false);
            self.reached += 1;
        }
    }
}

/// The course of a recording, in words.
fn course(end: &End) -> String {
    let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
    // The windows' beginnings and ends are not those of the run.
    let is_whole = end.recorded as f64 > 0.99 * end.ran as f64;
    let mut text = if end.windows > 1 || end.is_full || !is_whole {
        format!(
            "recorded {:.2} of {:.2} s in {}",
            seconds(end.recorded),
            seconds(end.ran),
            page::counted(end.windows as usize, "window", "windows")
        )
    } else {
        format!("recorded all {:.2} s", seconds(end.ran))
    };
    if end.is_full {
        text.push_str(", up to --limit");
    }
    if end.dropped > 0 {
        let dropped = show::number(end.dropped);
        text.push_str(&format!("; {dropped} events dropped"));
    }
    text
}

/// Prints what was recorded.
fn tell(output: &Path, end: &End, limit: f64) {
    let Ok(trace) = File::open(output)
        .map_err(cohort_trace::Error::from)
        .and_then(|file| Trace::read(BufReader::new(file)))
    else {
        return;
    };
    let length = std::fs::metadata(output).map_or(0, |metadata| metadata.len());
    let summary = Summary::of(&trace);
    if summary.events == 0 {
        problem::tell(format!(
            "{}: no lock operation was recorded; {}",
            output.display(),
            course(end)
        ));
        return;
    }
    let of_program = |nanoseconds: u64| nanoseconds as f64 / (end.cpu.max(1) as f64) * 100.0;
    let (cost, looking) = (of_program(end.cost), of_program(end.looking));
    problem::tell(format!(
        "{}: {} events of {} in {}; {}; {cost:.1} % of the program's CPU time (limit {limit} %), and {looking:.1} % in \
         this command",
        output.display(),
        show::number(summary.events),
        page::counted(summary.threads as usize, "thread", "threads"),
        show::bytes(length),
        course(end)
    ));
    if summary.acquired > 0 {
        let _ = writeln!(std::io::stderr(), "\n{}", show::locks(&summary));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units_and_bounds() {
        assert_eq!(size("1M"), Ok(1 << 20));
        assert_eq!(size("2g"), Ok(2 << 30));
        assert_eq!(size("2048K"), Ok(2 << 20));
        assert_eq!(size("1048576"), Ok(1 << 20));
        for wrong in [
            "",
            "M",
            "1",
            "1T",
            "65G",
            "-1M",
            "99999999999999999999G",
            "1.5G",
            "ü",
        ] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
