//! Handles Ctrl-C and similar signals: ends the measured program, then the measurement, leaving
//! nothing behind.

use rustix::process::{Pid, Signal, kill_process_group};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time for a program to end by itself on request.
const GRACE: Duration = Duration::from_secs(2);

/// Repetitions of a signal within this time count as the same one. `timeout` sends one to its
/// command and one to the command's group; a terminal's user and a script may both send theirs.
const SAME: Duration = Duration::from_millis(200);

static RECEIVED: AtomicI32 = AtomicI32::new(0);
/// The process groups to end: a program's, or a server's and its client's.
static GROUPS: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

/// A signal asked this process to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted(pub i32);

/// Reason for a missing result.
#[derive(Debug)]
pub enum Stop {
    /// A signal asked this process to end.
    Interrupted(Interrupted),
    /// The measurement's error.
    Failed(String),
}

impl Interrupted {
    /// The exit status that shells expect: 130 for Ctrl-C.
    #[must_use]
    pub fn status(self) -> u8 {
        u8::try_from(128 + self.0).unwrap_or(u8::MAX)
    }
}

/// Makes signals that end a process end the measured program first. A second one, after this
/// signal's echo, ends this process immediately.
///
/// # Errors
/// The signals cannot be caught, or the waiting thread cannot be created.
pub fn arm() -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    std::thread::Builder::new()
        .name("interrupt".to_owned())
        .spawn(move || {
            let mut first = None;
            for signal in signals.forever() {
                let asked = *first.get_or_insert_with(Instant::now);
                if RECEIVED.swap(signal, Ordering::SeqCst) == 0 {
                    std::thread::spawn(end_group);
                } else if asked.elapsed() > SAME {
                    end_group_with(Signal::KILL);
                    std::process::exit(i32::from(Interrupted(signal).status()));
                }
            }
        })?;
    Ok(())
}

/// # Errors
/// The signal that has arrived.
pub fn check() -> Result<(), Interrupted> {
    match RECEIVED.load(Ordering::SeqCst) {
        0 => Ok(()),
        signal => Err(Interrupted(signal)),
    }
}

/// Adds a process group to end on a signal; it must not be reaped before [`forget`].
pub fn watch(group: Pid) {
    groups().push(group);
    // The signal may have arrived during the program's start.
    if check().is_err() {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// Removes a process group, which has ended.
pub fn forget(group: Pid) {
    groups().retain(|one| *one != group);
}

fn groups() -> MutexGuard<'static, Vec<Pid>> {
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn end_group() {
    end_group_with(Signal::TERM);
    let asked = Instant::now();
    while !groups().is_empty() {
        if asked.elapsed() > GRACE {
            end_group_with(Signal::KILL);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn end_group_with(signal: Signal) {
    for group in groups().iter() {
        // It may have ended meanwhile.
        let _ = kill_process_group(*group, signal);
    }
}
