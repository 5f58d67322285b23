//! How a run can fail, and what is said about it.

use std::any::Any;
use std::fmt;

/// Why a run has no outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Every thread waits, and nobody is left to end that: a lost wake-up, or a
    /// circle of locks.
    Deadlock {
        /// Steps taken until then.
        steps: u64,
        /// What each thread waits for.
        waits: Vec<Waiting>,
    },
    /// The bound of steps was passed.
    Livelock {
        /// Steps taken.
        steps: u64,
        /// What each thread was doing.
        waits: Vec<Waiting>,
    },
    /// A thread's program panicked.
    Panicked {
        /// The thread.
        thread: usize,
        /// What it said.
        message: String,
    },
    /// The placement names a CPU that the machine does not have.
    NoSuchCpu {
        /// That CPU.
        cpu: usize,
        /// How many there are.
        cpus: usize,
    },
    /// The placement names no CPU.
    NoCpus,
}

/// What a thread was doing when the run failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The thread.
    pub thread: usize,
    /// The CPU it has, had, or waits for.
    pub cpu: usize,
    /// What it was doing.
    pub doing: Doing,
    /// Since when, in virtual nanoseconds.
    pub since: u64,
}

/// What a thread can be doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doing {
    /// Goes on, or would if it had a CPU.
    Running,
    /// Polls lines, by their numbers in order of first touch.
    Polling(Vec<u32>),
    /// Sleeps on a word in that line, `offset` bytes from its beginning, which held
    /// `value` then.
    Sleeping {
        /// The line's number.
        line: u32,
        /// Bytes from the line's beginning.
        offset: usize,
        /// What the word held.
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
            .unwrap_or_else(|| "something that is no text".to_owned());
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
