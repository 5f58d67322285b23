//! The report of `cohort run --report`: a file with the library's counters, and the table made from
//! it.

pub mod counts;
mod numbers;
pub mod summary;

use crate::choice::DEFAULT;
use crate::folder::Folder;
use crate::page;
use crate::problem::Problem;
use crate::program;
use crate::rwlocks::Rwlocks;
use crate::settings::Settings;
use crate::supervise::Usage;
use cohort::door::Mode;
use cohort::report::{MAGIC, NAME_BYTES, Report, ServedKind};
use counts::{Counts, uncounted};
use numbers::{grouped, percent};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::{File, Permissions};
use std::io::{Read, Write as _};
use std::mem::MaybeUninit;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// File with counters, mapped by the program's processes. Removed with this value; processes that
/// still map it go on counting without effect.
pub struct ReportFile {
    folder: Folder,
}

const FILE: &str = "report";

/// Maximum wait for a forked child to record its process ID: a failed fork, or an immediately
/// killed child, never does.
const FORKING: Duration = Duration::from_millis(100);

impl ReportFile {
    /// An empty report in a new folder.
    ///
    /// Any process may write to the file, since a program may continue as another user. But the
    /// folder cannot be listed, so that only processes that inherit its name find it.
    pub fn new() -> Result<Self, Problem> {
        Self::make().map_err(|error| {
            Problem::refused(format!(
                "cannot create a file for the report ({error}); set TMPDIR to a writable folder with \
                 free space, or leave out --report"
            ))
        })
    }

    fn make() -> std::io::Result<Self> {
        let shared_memory = Path::new("/dev/shm");
        let make = |parent: &Path| Folder::make_in(parent, 0o711);
        // Pages of a file in memory are not written to a disk.
        let folder = make(shared_memory).or_else(|_| make(&std::env::temp_dir()))?;
        let path = folder.path().join(FILE);
        let mut file = File::create_new(&path)?;
        file.write_all(&MAGIC)?;
        file.set_len(size_of::<Report>() as u64)?;
        file.set_permissions(Permissions::from_mode(0o666))?;
        Ok(Self { folder })
    }

    /// The path passed to the library.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join(FILE)
    }

    /// The IDs of processes that use it now, as far as visible: the living ones among the recorded
    /// ones. Waits briefly for a child that has not recorded itself yet.
    pub fn users(&self) -> Vec<u32> {
        let report = || self.read().ok();
        let is_forking =
            || report().is_some_and(|report| report.forking.load(Ordering::Acquire) > 0);
        let asked = Instant::now();
        while is_forking() && asked.elapsed() < FORKING {
            std::thread::sleep(Duration::from_millis(1));
        }
        let Some(report) = report() else {
            return Vec::new();
        };
        let path = self.path();
        let path = path.to_string_lossy();
        let noted = report.users.iter().map(|user| user.load(Ordering::Relaxed));
        let noted: BTreeSet<u32> = noted.filter(|user| *user != 0).collect();
        // Another process may have the ID by now, or outside of a PID namespace.
        let maps = |process: &u32| {
            std::fs::read_to_string(format!("/proc/{process}/maps"))
                .is_ok_and(|maps| maps.lines().any(|line| line.ends_with(&*path)))
        };
        noted.into_iter().filter(maps).collect()
    }

    /// The counts so far.
    ///
    /// # Errors
    /// The file is missing, or is not a report.
    pub fn read(&self) -> Result<Box<Report>, Problem> {
        let damaged = |what: &dyn std::fmt::Display| {
            Problem::refused(format!("the program damaged the report file: {what}"))
        };
        let mut report = Box::new(MaybeUninit::<Report>::zeroed());
        // SAFETY: the report has as many initialised bytes as its size.
        let bytes = unsafe {
            std::slice::from_raw_parts_mut(report.as_mut_ptr().cast::<u8>(), size_of::<Report>())
        };
        File::open(self.path())
            .and_then(|mut file| file.read_exact(bytes))
            .map_err(|error| damaged(&error))?;
        // SAFETY: every field is a number or an array of numbers, valid for any bytes.
        let report = unsafe { report.assume_init() };
        if report.magic == MAGIC {
            Ok(report)
        } else {
            Err(damaged(&"its header is invalid"))
        }
    }
}

/// The report at the end of `program`, with its duration; `doubt` is the reason why it might not
/// have been served.
pub fn text(
    report: &Report,
    settings: &Settings,
    program: &OsStr,
    ran: Duration,
    doubt: Option<&str>,
) -> String {
    let processes = report.processes.load(std::sync::atomic::Ordering::Relaxed);
    let shown = program::shown(program);
    if processes == 0 {
        return inactive(settings, program, doubt);
    }
    let mut buffer = [0; NAME_BYTES];
    let lock = match report.lock_name(&mut buffer) {
        "" => settings.lock.name(),
        lock => lock,
    };
    let lock_is_default = lock == DEFAULT;
    let lock = match settings.rwlocks {
        Rwlocks::Rwlock => lock.to_owned(),
        rwlocks => format!("{lock}, rwlocks by {}", rwlocks.name()),
    };
    let noun = if processes == 1 {
        "process"
    } else {
        "processes"
    };
    let mut text = format!(
        "cohort: {shown} ran {:.2} s under {lock}, waiting by {}, in {processes} {noun}\n",
        ran.as_secs_f64(),
        settings.wait.name()
    );
    if let Some(table) = table(report) {
        text.push_str(&table);
        text.push_str(&memory(report));
        if lock_is_default {
            text.push_str(&queueing(report));
        }
        text.push_str(&adapting(report));
    }
    let counts = Counts::of(report);
    let closing = counts.judgement().unwrap_or_else(|| {
        format!(
            "{}: measure the cost with `cohort compare`",
            counts.in_words()
        )
    });
    let _ = writeln!(text, "cohort: {closing}");
    text
}

/// The report at the end of a program under the C library's own locks.
pub fn baseline(program: &OsStr, ran: Duration, usage: &Usage) -> String {
    format!(
        "cohort: {} ran {:.2} s under the C library's locks, which Cohort cannot count\n{}",
        program::shown(program),
        ran.as_secs_f64(),
        used(usage)
    )
}

/// The program's resource usage.
pub fn used(usage: &Usage) -> String {
    format!(
        "cohort: {:.2} CPU s, {} voluntary and {} involuntary context switches\n",
        usage.cpu,
        grouped(u64::try_from(usage.waits).unwrap_or(0)),
        grouped(u64::try_from(usage.preempted).unwrap_or(0)),
    )
}

/// The remark that these processes of the program continue without a waiting parent.
pub fn going_on(processes: &[u32]) -> String {
    const SHOWN: usize = 8;
    if processes.is_empty() {
        return String::new();
    }
    let numbers: Vec<String> = processes.iter().take(SHOWN).map(u32::to_string).collect();
    let more = if processes.len() > SHOWN { ", …" } else { "" };
    format!(
        "cohort: the report ends with the program's first process; others still run and are \
         not counted from this point (process {}{more}); run the program in the foreground for a \
         complete report\n",
        numbers.join(", ")
    )
}

/// Memory of mutexes and conditions beyond their own bytes, and its bound.
fn memory(report: &Report) -> String {
    use std::sync::atomic::Ordering::Relaxed;
    let memory = &report.memory;
    let waiters = memory.waiters.load(Relaxed);
    let threads = if waiters == 1 { "thread" } else { "threads" };
    let mut text = format!("cohort: at most {waiters} {threads} waited for mutexes at once");
    match memory.at_conditions.load(Relaxed) {
        0 => {}
        waiters => {
            let _ = write!(text, ", and {waiters} at conditions");
        }
    }
    let bytes = grouped(memory.bytes.load(Relaxed));
    let _ = write!(text, "; queue nodes took {bytes} bytes");
    match memory.inflated.load(Relaxed) {
        0 => {}
        1 => text.push_str(", with 1 inflated lock"),
        inflated => {
            let _ = write!(text, ", with {} inflated locks", grouped(inflated.into()));
        }
    }
    if report.processes.load(Relaxed) > 1 {
        text.push_str(" (in the process with the most)");
    }
    text.push('\n');
    text
}

/// The default lock's modes at waits, with their reasons; empty without waits.
fn queueing(report: &Report) -> String {
    use std::sync::atomic::Ordering::Relaxed;
    let [word, long, short] =
        [Mode::Word, Mode::Queue, Mode::ShortQueue].map(|mode| report.waited(mode));
    let waits = word + long + short;
    if waits == 0 {
        return String::new();
    }
    let groups = report.memory.cache_groups.load(Relaxed);
    match (long + short, short) {
        (0, _) if groups == 1 => "cohort: no lock switched to queueing (CPUs share one cache, \
                                  contention stayed low)\n"
            .to_owned(),
        (0, _) => "cohort: no lock switched to queueing (contention stayed low)\n".to_owned(),
        (queued, short) => {
            let mut text = format!(
                "cohort: {} of its waits were queued",
                percent(queued, waits)
            );
            if groups > 1 {
                let _ = write!(text, " by {groups} cache groups");
            }
            if short > 0 {
                let _ = write!(
                    text,
                    ", {} in the short queue for busy CPUs or long critical sections",
                    percent(short, waits)
                );
            }
            text.push('\n');
            text
        }
    }
}

/// The modes of `glk` at waits, and the number of mode changes of adaptive locks; empty without
/// any.
fn adapting(report: &Report) -> String {
    let listed = |modes: &[Mode], of: &dyn Fn(Mode) -> Option<String>| {
        let parts: Vec<String> = modes.iter().filter_map(|mode| of(*mode)).collect();
        parts.join(", ")
    };
    let modes = [Mode::Ticket, Mode::Mcs, Mode::Mutex];
    let waits: u64 = modes.map(|mode| report.waited(mode)).iter().sum();
    let waited = listed(&modes, &|mode| {
        let by = report.waited(mode);
        (by > 0).then(|| format!("{} {}", mode.name(), percent(by, waits)))
    });
    let changed = listed(&Mode::ALL, &|mode| {
        let times = report.changes_to(mode);
        (times > 0).then(|| format!("{} to {}", grouped(times), mode.name()))
    });
    let mut text = String::new();
    if !waited.is_empty() {
        let _ = writeln!(text, "cohort: waits by lock mode: {waited}");
    }
    if !changed.is_empty() {
        let _ = writeln!(
            text,
            "cohort: mode changes: {changed} (COHORT_CHANGES=print prints the reasons)"
        );
    }
    text
}

fn table(report: &Report) -> Option<String> {
    let mut table = page::titled(&["kind", "acquisitions", "contended", "share"]);
    // It goes to standard error, which may be a file while standard output is a terminal.
    table.force_no_tty();
    for kind in ServedKind::ALL {
        let (acquired, contended) = report.total(kind);
        if acquired == 0 && contended == 0 {
            continue;
        }
        let (contended, share) = match kind {
            ServedKind::Libc if uncounted(kind, contended) => ("?".to_owned(), "?".to_owned()),
            _ if uncounted(kind, contended) => ("-".to_owned(), "-".to_owned()),
            _ => (grouped(contended), percent(contended, acquired)),
        };
        table.add_row([kind.name().to_owned(), grouped(acquired), contended, share]);
    }
    (!table.is_empty()).then(|| {
        let mut text = String::new();
        for line in page::lines(table, 1..4).lines() {
            let _ = writeln!(text, "{}", line.trim_end());
        }
        text
    })
}

fn inactive(settings: &Settings, program: &OsStr, doubt: Option<&str>) -> String {
    let why = match doubt {
        Some(doubt) => doubt,
        None if !settings.only.is_empty() || !settings.exclude.is_empty() => {
            "--only and --exclude may have left out every executable"
        }
        None => "its processes could not open the report, or cleared LD_PRELOAD",
    };
    format!(
        "cohort: Cohort served no process of {}: {why}\n",
        program.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn a_new_report_is_empty_and_others_can_count_in_it() {
        let file = ReportFile::new().unwrap();
        let report = file.read().unwrap();
        assert_eq!(report.processes.load(Ordering::Relaxed), 0);
        assert!(table(&report).is_none());
        let mode = file.path().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o666);
    }

    #[test]
    fn an_overwritten_report_is_noticed() {
        let file = ReportFile::new().unwrap();
        std::fs::write(file.path(), vec![b'x'; size_of::<Report>()]).unwrap();
        assert!(file.read().is_err());
        std::fs::write(file.path(), "short").unwrap();
        assert!(file.read().is_err());
    }

    #[test]
    fn the_form_of_the_default_lock_is_told() {
        let file = ReportFile::new().unwrap();
        let report = file.read().unwrap();
        assert_eq!(queueing(&report), "");
        report.shards[4].waited[Mode::Word as usize].store(100, Ordering::Relaxed);
        report.memory.cache_groups.store(1, Ordering::Relaxed);
        assert!(queueing(&report).contains("share one cache"));
        report.memory.cache_groups.store(8, Ordering::Relaxed);
        assert!(queueing(&report).contains("contention stayed low"));
        report.shards[0].waited[Mode::Queue as usize].store(90, Ordering::Relaxed);
        report.shards[9].waited[Mode::ShortQueue as usize].store(10, Ordering::Relaxed);
        assert_eq!(
            queueing(&report),
            "cohort: 50.00 % of its waits were queued by 8 cache groups, 5.00 % in the short \
             queue for busy CPUs or long critical sections\n"
        );
    }

    #[test]
    fn the_modes_of_a_lock_that_adapts_are_told() {
        let file = ReportFile::new().unwrap();
        let report = file.read().unwrap();
        assert_eq!(adapting(&report), "");
        report.shards[2].waited[Mode::Ticket as usize].store(3, Ordering::Relaxed);
        report.shards[5].waited[Mode::Mcs as usize].store(1, Ordering::Relaxed);
        report.changes[Mode::Mcs as usize].store(2_000, Ordering::Relaxed);
        assert_eq!(
            adapting(&report),
            "cohort: waits by lock mode: ticket 75.00 %, mcs 25.00 %\n\
             cohort: mode changes: 2,000 to mcs (COHORT_CHANGES=print prints the reasons)\n"
        );
    }

    #[test]
    fn counts_appear_by_kind() {
        let file = ReportFile::new().unwrap();
        let report = file.read().unwrap();
        let counter = &report.shards[3].kinds[ServedKind::Normal as usize];
        counter.acquired.store(2000, Ordering::Relaxed);
        counter.contended.store(500, Ordering::Relaxed);
        let table = table(&report).unwrap();
        let row = table.lines().find(|line| line.contains("mutex-normal"));
        let words: Vec<&str> = row.unwrap().split_whitespace().collect();
        assert_eq!(words, ["mutex-normal", "2,000", "500", "25.00", "%"]);
        assert_eq!(table.lines().count(), 3);
    }
}
