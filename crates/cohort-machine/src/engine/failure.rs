//! The failures of a run, and their messages.

use std::any::Any;
use std::fmt;

/// The cause of a failed run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// All threads wait, and none can end that: a lost wake-up, or a cycle of locks.
    Deadlock {
        /// Steps taken so far.
        steps: u64,
        /// The wait of each thread.
        waits: Vec<Waiting>,
    },
    /// The bound of steps was exceeded.
    Livelock {
        /// Steps taken.
        steps: u64,
        /// The state of each thread.
        waits: Vec<Waiting>,
    },
    /// A thread's program panicked.
    Panicked {
        /// The thread.
        thread: usize,
        /// Its message.
        message: String,
    },
    /// The placement names a CPU that the machine does not have.
    NoSuchCpu {
        /// That CPU.
        cpu: usize,
        /// The number of CPUs.
        cpus: usize,
    },
    /// The placement names no CPU.
    NoCpus,
}

/// The state of a thread at the failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The thread.
    pub thread: usize,
    /// The current, last or awaited CPU.
    pub cpu: usize,
    /// Its state.
    pub doing: Doing,
    /// The begin of that state, in virtual nanoseconds.
    pub since: u64,
}

/// The state of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doing {
    /// Runs, or waits for a CPU.
    Running,
    /// Polls lines, numbered in order of first access.
    Polling(Vec<u32>),
    /// Sleeps on a word in that line, `offset` bytes from its start, which held `value`.
    Sleeping {
        /// The line's number.
        line: u32,
        /// Bytes from the line's start.
        offset: usize,
        /// The word's value.
        value: u32,
    },
    /// Has returned.
    Returned,
}

impl Failure {
    pub(crate) fn panicked(thread: usize, reason: &(dyn Any + Send)) -> Self {
        let message = reason
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| reason.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "a non-string payload".to_owned());
        Self::Panicked { thread, message }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deadlock { steps, waits } => {
                write!(f, "deadlock after {steps} steps: every thread waits")?;
                list(f, waits)
            }
            Self::Livelock { steps, waits } => {
                write!(f, "livelock: not done after {steps} steps")?;
                list(f, waits)
            }
            Self::Panicked { thread, message } => {
                write!(f, "thread {thread} panicked: {message}")
            }
            Self::NoSuchCpu { cpu, cpus } => write!(
                f,
                "the placement names CPU {cpu}, but the machine's last one is {}",
                cpus - 1
            ),
            Self::NoCpus => write!(f, "the placement names no CPU"),
        }
    }
}

fn list(f: &mut fmt::Formatter<'_>, waits: &[Waiting]) -> fmt::Result {
    for wait in waits {
        write!(f, "\n  thread {} on CPU {} ", wait.thread, wait.cpu)?;
        match &wait.doing {
            Doing::Running => write!(f, "runs")?,
            Doing::Returned => write!(f, "has returned")?,
            Doing::Polling(lines) => {
                let lines: Vec<_> = lines.iter().map(u32::to_string).collect();
                write!(f, "polls line {}", lines.join(", "))?;
            }
            Doing::Sleeping {
                line,
                offset,
                value,
            } => write!(
                f,
                "sleeps on line {line}, byte {offset}, which held {value:#x}"
            )?,
        }
        write!(f, " since {} ns", wait.since)?;
    }
    Ok(())
}

impl std::error::Error for Failure {}
