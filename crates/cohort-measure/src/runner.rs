//! Runs a program once and measures its resource usage.

mod look;
mod served;

pub use look::{Address, Look};
pub use served::{Client, PORT, Ready, run_served};

use crate::interrupt::{self, Interrupted};
use cohort_topology::disturb::{self, Watch};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// The kept amount of a program's output: its end.
const KEPT: u64 = 16 << 20;

/// Program to run.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The program and its arguments.
    pub words: Vec<OsString>,
    /// Variables to change or remove.
    pub environment: Vec<(String, Option<OsString>)>,
    /// Its CPUs; none for this process's.
    pub cpus: Option<Vec<usize>>,
    /// Its time limit.
    pub limit: Option<Duration>,
}

/// Resource usage and output of one run.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// Seconds from start to end.
    pub wall: f64,
    /// CPU seconds in the program's own code.
    pub user: f64,
    /// CPU seconds in the kernel.
    pub system: f64,
    /// Voluntary context switches.
    pub voluntary: u64,
    /// Involuntary context switches.
    pub involuntary: u64,
    /// The share of its CPUs' time used by other processes, where known.
    pub foreign: Option<f64>,
    /// Its standard output and standard error, in order.
    pub output: String,
}

impl Run {
    /// CPU seconds in all.
    #[must_use]
    pub fn cpu(&self) -> f64 {
        self.user + self.system
    }

    /// Whether other processes used too much of the CPUs.
    #[must_use]
    pub fn is_disturbed(&self) -> bool {
        self.foreign.is_some_and(|share| share > disturb::TOLERANCE)
    }
}

/// Reason for a missing run.
#[derive(Clone, Debug)]
pub enum Failure {
    /// The whole measurement must end.
    Interrupted(Interrupted),
    /// The program could not be started, or failed.
    Program {
        /// The reason, in words.
        why: String,
        /// Its output so far.
        output: String,
    },
}

impl From<Interrupted> for Failure {
    fn from(signal: Interrupted) -> Self {
        Self::Interrupted(signal)
    }
}

/// Runs `launch` in a process group of its own, without input. Ends the processes that it leaves
/// running, and includes their usage. Blocks until the program ends.
///
/// # Errors
/// A signal that asks this process to end; a program that cannot be started, or that ends with
/// another status than 0, by a signal, or by its time limit.
pub fn run(launch: &Launch) -> Result<Run, Failure> {
    measured(launch, None)
}

/// [`run`], examining the program's threads while it runs. Without a time limit, a program that
/// listens and stays idle is ended: a server does not end by itself.
///
/// # Errors
/// As for [`run`].
pub fn run_looked_at(launch: &Launch, seen: &mut Look) -> Result<Run, Failure> {
    measured(launch, Some(seen))
}

fn measured(launch: &Launch, seen: Option<&mut Look>) -> Result<Run, Failure> {
    interrupt::check()?;
    let watch = watched(launch);
    let started = Instant::now();
    let mut process = Started::new(launch)?;
    let (in_time, listens) = match seen {
        None => (wait_for_end(process.pid, launch.limit), Vec::new()),
        Some(seen) => {
            let ends_servers = launch.limit.is_none();
            let (in_time, found) = looked_at(process.pid, ends_servers, || {
                wait_for_end(process.pid, launch.limit)
            });
            *seen = found;
            (in_time, seen.listens.clone())
        }
    };
    let wall = started.elapsed();
    let (status, usage) = process.reap()?;
    interrupt::check()?;
    let output = process.output()?;
    if !listens.is_empty() {
        let listens: Vec<String> = listens.iter().map(Address::to_string).collect();
        let why = format!(
            "it listens on {} and uses no CPU time: a server, which does not terminate",
            listens.join(", ")
        );
        return Err(Failure::Program { why, output });
    }
    if let Some(why) = complaint(status, in_time, launch.limit) {
        return Err(Failure::Program { why, output });
    }
    Ok(usage.run(wall, watch, output))
}

/// Waits until `is_over` is closed, or until a process listens and stays idle; then ends its group
/// and returns its addresses.
#[must_use]
pub fn look_for_server(pid: Pid, is_over: &mpsc::Receiver<()>) -> Vec<Address> {
    look::look(pid, is_over, true).listens
}

/// Runs `act` while a process is examined.
fn looked_at<T>(pid: Pid, ends_servers: bool, act: impl FnOnce() -> T) -> (T, Look) {
    let (over, is_over) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let look = scope.spawn(move || look::look(pid, &is_over, ends_servers));
        let result = act();
        drop(over);
        (result, look.join().unwrap_or_default())
    })
}

/// Starts measuring the other use of a program's CPUs.
fn watched(launch: &Launch) -> Option<Watch> {
    let cpus = launch.cpus.clone().unwrap_or_else(disturb::allowed_cpus);
    // Servers that the program leaves running become children of this process, which then accounts
    // for their usage; otherwise it would look foreign.
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    Watch::start(&cpus)
}

fn failed(why: String) -> Failure {
    Failure::Program {
        why,
        output: String::new(),
    }
}

/// Started program that leads a process group and must be reaped.
struct Started {
    pid: Pid,
    file: File,
    is_reaped: bool,
}

impl Started {
    fn new(launch: &Launch) -> Result<Self, Failure> {
        let file = tempfile::tempfile().map_err(|error| {
            failed(format!(
                "cannot create a file for its output: {}",
                in_words(&error)
            ))
        })?;
        let child = command(launch, &file)
            .map_err(|error| failed(format!("cannot prepare it: {}", in_words(&error))))?
            .spawn()
            .map_err(|error| failed(format!("cannot start it: {}", in_words(&error))))?;
        let pid = Pid::from_child(&child);
        interrupt::watch(pid);
        Ok(Self {
            pid,
            file,
            is_reaped: false,
        })
    }

    /// Ends the rest of the group; returns how the program ended and the total usage.
    fn reap(&mut self) -> Result<(ExitStatus, Usage), Failure> {
        // The ended program still owns its ID here, so the group is its own.
        let _ = kill_process_group(self.pid, Signal::KILL);
        let reaped = reap_group(self.pid);
        self.is_reaped = true;
        interrupt::forget(self.pid);
        reaped.map_err(|error| failed(format!("cannot wait for it: {error}")))
    }

    fn output(&mut self) -> Result<String, Failure> {
        read(&mut self.file).map_err(|error| failed(format!("cannot read its output: {error}")))
    }
}

impl Drop for Started {
    /// Ends the processes after an error.
    fn drop(&mut self) {
        if !self.is_reaped {
            let _ = self.reap();
        }
    }
}

/// Runs an unmeasured command in a process group of its own, without input, even after a signal
/// that asks this process to end. Blocks until it ends, up to that limit.
///
/// # Errors
/// It cannot be started, or ends with another status than 0, by a signal, or by its time limit.
pub fn carry_out(command: &mut Command, limit: Duration) -> Result<(), String> {
    let nothing = nothing().map_err(|error| in_words(&error))?;
    let command = command.stdin(nothing).process_group(0);
    let mut child = command.spawn().map_err(|error| in_words(&error))?;
    let in_time = wait_for_end(Pid::from_child(&child), Some(limit));
    let status = child
        .wait()
        .map_err(|error| format!("cannot wait for it: {error}"))?;
    complaint(status, in_time, Some(limit)).map_or(Ok(()), Err)
}

/// Ends every child of this process, including adopted orphans outside the process group. The
/// caller has no other running children.
pub fn end_children() {
    const ROUNDS: usize = 100;
    for _ in 0..ROUNDS {
        let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten();
        let lists = threads
            .flatten()
            .filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
        let numbers: Vec<i32> = lists
            .flat_map(|list| {
                let words = list.split_whitespace().map(str::parse);
                words.flatten().collect::<Vec<i32>>()
            })
            .collect();
        if numbers.is_empty() {
            return;
        }
        for pid in numbers.into_iter().filter_map(Pid::from_raw) {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
            wait_for_end(pid, None);
            let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::NOHANG);
        }
    }
}

/// Usage of ended processes.
#[derive(Default)]
struct Usage {
    user: f64,
    system: f64,
    voluntary: u64,
    involuntary: u64,
}

impl Usage {
    /// A run of that duration, with this usage.
    fn run(&self, wall: Duration, watch: Option<Watch>, output: String) -> Run {
        let used = Duration::from_secs_f64(self.user + self.system);
        Run {
            wall: wall.as_secs_f64(),
            user: self.user,
            system: self.system,
            voluntary: self.voluntary,
            involuntary: self.involuntary,
            foreign: watch.and_then(|watch| watch.foreign(wall, used)),
            output,
        }
    }

    fn add(&mut self, more: &libc::rusage) {
        self.user += seconds(more.ru_utime);
        self.system += seconds(more.ru_stime);
        self.voluntary += u64::try_from(more.ru_nvcsw).unwrap_or(0);
        self.involuntary += u64::try_from(more.ru_nivcsw).unwrap_or(0);
    }
}

/// Whether a process could not start because of too many open files.
#[must_use]
pub fn is_out_of_files(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

/// The reason why a process cannot start, with a remedy if the program is not the cause.
#[must_use]
pub fn in_words(error: &io::Error) -> String {
    if is_out_of_files(error) {
        return format!(
            "too many open files to start a process ({error}); raise the limit with `ulimit -n`"
        );
    }
    error.to_string()
}

/// Empty input: `/dev/null`, or in a container without it a pipe without a writer.
///
/// # Errors
/// Neither can be opened.
pub fn nothing() -> io::Result<Stdio> {
    match File::open("/dev/null") {
        Ok(file) => Ok(file.into()),
        Err(_) => io::pipe().map(|(reader, _)| reader.into()),
    }
}

fn command(launch: &Launch, output: &File) -> io::Result<Command> {
    let (program, arguments) = launch
        .words
        .split_first()
        .ok_or_else(|| io::Error::other("no program given"))?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .process_group(0)
        .stdin(nothing()?)
        .stdout(output.try_clone()?)
        .stderr(output.try_clone()?);
    for (name, value) in &launch.environment {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let cpus = launch.cpus.as_ref().map(|cpus| {
        let mut set = CpuSet::new();
        cpus.iter().for_each(|cpu| set.set(*cpu));
        set
    });
    let confine = move || {
        // Ends the program if the measurement itself is killed.
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        if let Some(cpus) = &cpus {
            sched_setaffinity(None, cpus)?;
        }
        Ok(())
    };
    // SAFETY: the closure makes two system calls and allocates nothing, which is
    // allowed between fork and exec.
    unsafe { command.pre_exec(confine) };
    Ok(command)
}

/// Waits for the program's end without reaping it; false if its time limit ended it.
fn wait_for_end(pid: Pid, limit: Option<Duration>) -> bool {
    let ended = || {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        // Other errors than an interruption reappear when it is reaped.
        while let Err(Errno::INTR) = rustix::process::waitid(WaitId::Pid(pid), options) {}
    };
    let Some(limit) = limit else {
        ended();
        return true;
    };
    let (over, is_over) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let watchdog = scope.spawn(move || {
            let in_time = is_over.recv_timeout(limit) != Err(mpsc::RecvTimeoutError::Timeout);
            if !in_time {
                let _ = kill_process_group(pid, Signal::KILL);
            }
            in_time
        });
        ended();
        drop(over);
        watchdog.join().unwrap_or(true)
    })
}

/// Reaps all of the group's processes that are children of this one. Returns the leader's status,
/// and the total usage.
fn reap_group(leader: Pid) -> io::Result<(ExitStatus, Usage)> {
    let leader = leader.as_raw_nonzero().get();
    let mut ended = None;
    let mut total = Usage::default();
    loop {
        let mut status = 0;
        // SAFETY: all zeroes is a valid rusage, and both places are writable.
        let (reaped, usage) = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            (
                libc::wait4(-leader, &raw mut status, 0, &raw mut usage),
                usage,
            )
        };
        if reaped >= 0 {
            total.add(&usage);
            if reaped == leader {
                ended = Some(ExitStatus::from_raw(status));
            }
            continue;
        }
        let error = io::Error::last_os_error();
        match (error.raw_os_error(), ended) {
            (Some(libc::EINTR), _) => {}
            (Some(libc::ECHILD), Some(ended)) => return Ok((ended, total)),
            _ => return Err(error),
        }
    }
}

fn complaint(status: ExitStatus, in_time: bool, limit: Option<Duration>) -> Option<String> {
    if !in_time {
        let limit = limit.unwrap_or_default().as_secs_f64();
        return Some(format!("it did not end within {limit:.1} s"));
    }
    match (status.code(), status.signal()) {
        (Some(0), _) => None,
        (Some(code), _) => Some(format!("it ended with exit status {code}")),
        (None, Some(signal)) => Some(format!("it was killed by signal {signal}")),
        (None, None) => Some(format!("it ended with an unknown status: {status}")),
    }
}

fn read(file: &mut File) -> io::Result<String> {
    let length = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(length.saturating_sub(KEPT)))?;
    let mut bytes = Vec::new();
    file.take(KEPT).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn seconds(time: libc::timeval) -> f64 {
    let seconds = time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds.max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn shell(script: &str) -> Launch {
        Launch {
            words: ["/bin/sh", "-c", script].map(OsString::from).to_vec(),
            environment: vec![("COLOUR".to_owned(), Some("blue".into()))],
            cpus: None,
            limit: Some(Duration::from_secs(20)),
        }
    }

    fn why(script: &str) -> String {
        match run(&shell(script)) {
            Err(Failure::Program { why, .. }) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn output_and_environment_go_both_ways() {
        let run = run(&shell("echo $COLOUR; echo sky >&2")).unwrap();
        assert_eq!(run.output, "blue\nsky\n");
        assert!(run.wall > 0.0);
    }

    #[test]
    fn failures_are_told_apart() {
        assert!(why("exit 3").contains("exit status 3"));
        assert!(why("kill -11 $$").contains("signal 11"));
        let mut absent = shell("");
        absent.words = vec!["/nowhere/to/be/found".into()];
        assert!(matches!(run(&absent), Err(Failure::Program { .. })));
    }

    #[test]
    fn a_program_that_hangs_is_ended() {
        let mut hanging = shell("sleep 60");
        hanging.limit = Some(Duration::from_millis(100));
        let started = Instant::now();
        assert!(run(&hanging).is_err());
        assert!(started.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn what_is_not_measured_has_a_limit_too() {
        let run =
            |script: &str, limit| carry_out(Command::new("/bin/sh").args(["-c", script]), limit);
        let (short, long) = (Duration::from_millis(100), Duration::from_secs(20));
        assert_eq!(run("exit 0", long), Ok(()));
        assert_eq!(
            run("exit 3", long),
            Err("it ended with exit status 3".to_owned())
        );
        let started = Instant::now();
        // Its children wait too.
        let why = run("sleep 60 & sleep 60", short);
        assert!(why.is_err_and(|why| why.contains("did not end within 0.1 s")));
        assert!(started.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn what_a_server_in_the_background_used_is_counted() {
        let script = "(while :; do :; done) & sleep 0.5";
        let run = run(&shell(script)).unwrap();
        // Half a second of spinning, on a possibly busy machine.
        assert!(run.cpu() > 0.02, "{}", run.cpu());
    }

    #[test]
    fn what_it_leaves_running_is_ended() {
        let run = run(&shell("sleep 60 & echo $!")).unwrap();
        let pid = run.output.trim();
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
    }

    #[test]
    fn cpus_are_confined() {
        let first = disturb::allowed_cpus()[0];
        let mut pinned = shell("grep Cpus_allowed_list /proc/self/status");
        pinned.cpus = Some(vec![first]);
        let run = run(&pinned).unwrap();
        assert_eq!(
            run.output.split_whitespace().nth(1),
            Some(first.to_string().as_str())
        );
    }
}
