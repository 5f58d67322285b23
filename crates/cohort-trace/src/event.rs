//! The events of a thread, and their coding.

use crate::varint::{Bytes, put};
use serde::Serialize;

/// How a lock is held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum How {
    /// A mutex or a spin lock.
    #[default]
    Exclusive,
    /// An rwlock, for reading.
    Read,
    /// An rwlock, for writing.
    Write,
}

/// How an acquisition was requested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// Without a limit.
    #[default]
    Lock,
    /// By one try.
    Try,
    /// With a deadline.
    Timed,
    /// After a wait at a condition.
    Relock,
}

/// What ended a wait at a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ended {
    /// A signal or a broadcast.
    Signal,
    /// The deadline.
    Deadline,
    /// An error.
    Error,
}

/// A wait that no lock causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Pause {
    /// For a thread's end.
    Join,
    /// For a semaphore.
    Semaphore,
    /// For the others at a barrier.
    Barrier,
}

/// What a thread did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase", tag = "event")]
pub enum What {
    /// The recording begins or continues: the time before is unknown, and so is what is held.
    Window {
        /// The window's number.
        number: u64,
    },
    /// An acquisition, or an attempt.
    Acquire {
        /// The lock.
        lock: u32,
        /// The call site.
        site: u32,
        /// How.
        how: How,
        /// How it was requested.
        by: By,
        /// Whether it succeeded.
        got: bool,
        /// Whether the lock was seen held at the request.
        contended: bool,
        /// Nanoseconds from the request to the result.
        waited: u64,
    },
    /// A release.
    Release {
        /// The lock.
        lock: u32,
    },
    /// A wait at a condition; the mutex was released before, and is acquired again after it.
    Wait {
        /// The condition.
        condition: u32,
        /// The call site.
        site: u32,
        /// What ended it.
        ended: Ended,
        /// Nanoseconds up to the notification.
        waited: u64,
    },
    /// A signal to one waiter, or to all.
    Signal {
        /// The condition.
        condition: u32,
        /// Whether it is a broadcast.
        all: bool,
    },
    /// The creation of a thread, if it is known.
    Create {
        /// The thread.
        thread: Option<u32>,
    },
    /// A wait that no lock causes.
    Pause {
        /// For what.
        pause: Pause,
        /// For a join, the thread, if it is known.
        thread: Option<u32>,
        /// Nanoseconds.
        waited: u64,
    },
    /// The thread's end.
    End,
}

/// An event of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Event {
    /// Nanoseconds from the end of the thread's previous event to the beginning of this one. The
    /// thread computed in all but the two parts below.
    pub gap: u64,
    /// The part of the gap in which the thread slept, for input for example.
    #[serde(skip_serializing_if = "is_zero")]
    pub slept: u64,
    /// The part of the gap in which other threads, or the recording, had its CPU.
    #[serde(skip_serializing_if = "is_zero")]
    pub preempted: u64,
    /// What it did.
    #[serde(flatten)]
    pub what: What,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Default for Event {
    fn default() -> Self {
        Self {
            gap: 0,
            slept: 0,
            preempted: 0,
            what: What::End,
        }
    }
}

impl Event {
    /// Nanoseconds that the event lasts.
    #[must_use]
    pub fn lasts(&self) -> u64 {
        match self.what {
            What::Acquire { waited, .. }
            | What::Wait { waited, .. }
            | What::Pause { waited, .. } => waited,
            _ => 0,
        }
    }

    /// Nanoseconds of computation before it.
    #[must_use]
    pub fn computed(&self) -> u64 {
        self.gap
            .saturating_sub(self.slept)
            .saturating_sub(self.preempted)
    }
}

/// The tags of events, in the lower bits of their first byte.
mod tag {
    pub const WINDOW: u8 = 0;
    pub const ACQUIRE: u8 = 1;
    pub const RELEASE: u8 = 2;
    pub const WAIT: u8 = 3;
    pub const SIGNAL: u8 = 4;
    pub const CREATE: u8 = 5;
    pub const PAUSE: u8 = 6;
    pub const END: u8 = 7;
    pub const MASK: u8 = 15;
    /// The gap has a part in which the thread did not run.
    pub const AWAY: u8 = 16;
    /// Meanings of further bits by tag.
    pub const GOT: u8 = 32;
    pub const CONTENDED: u8 = 64;
    pub const ALL: u8 = 32;
}

/// Number of a thread that may be unknown, as it is coded.
fn optional(thread: Option<u32>) -> u64 {
    thread.map_or(0, |thread| u64::from(thread) + 1)
}

/// Appends an event.
pub fn write(to: &mut Vec<u8>, event: &Event) {
    let away = if event.slept | event.preempted != 0 {
        tag::AWAY
    } else {
        0
    };
    let bit = |set: bool, bit: u8| if set { bit } else { 0 };
    let first = match event.what {
        What::Window { .. } => tag::WINDOW,
        What::Acquire { got, contended, .. } => {
            tag::ACQUIRE | bit(got, tag::GOT) | bit(contended, tag::CONTENDED)
        }
        What::Release { .. } => tag::RELEASE,
        What::Wait { .. } => tag::WAIT,
        What::Signal { all, .. } => tag::SIGNAL | bit(all, tag::ALL),
        What::Create { .. } => tag::CREATE,
        What::Pause { .. } => tag::PAUSE,
        What::End => tag::END,
    };
    to.push(first | away);
    put(to, event.gap);
    if away != 0 {
        put(to, event.slept);
        put(to, event.preempted);
    }
    match event.what {
        What::Window { number } => put(to, number),
        What::Acquire {
            lock,
            site,
            how,
            by,
            waited,
            ..
        } => {
            put(to, lock.into());
            put(to, site.into());
            to.push(how as u8 | (by as u8) << 2);
            put(to, waited);
        }
        What::Release { lock } => put(to, lock.into()),
        What::Wait {
            condition,
            site,
            ended,
            waited,
        } => {
            put(to, condition.into());
            put(to, site.into());
            to.push(ended as u8);
            put(to, waited);
        }
        What::Signal { condition, .. } => put(to, condition.into()),
        What::Create { thread } => put(to, optional(thread)),
        What::Pause {
            pause,
            thread,
            waited,
        } => {
            to.push(pause as u8);
            put(to, optional(thread));
            put(to, waited);
        }
        What::End => {}
    }
}

/// Sizes of the tables that an event's numbers refer to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bounds {
    pub locks: u32,
    pub sites: u32,
}

impl Bounds {
    fn lock(self, bytes: &mut Bytes<'_>) -> Result<u32, &'static str> {
        let number = u32::try_from(bytes.number()?).unwrap_or(u32::MAX);
        if number < self.locks {
            Ok(number)
        } else {
            Err("an event names a lock that is not in the table")
        }
    }

    /// A site; without a table, 0 is none.
    fn site(self, bytes: &mut Bytes<'_>) -> Result<u32, &'static str> {
        let number = u32::try_from(bytes.number()?).unwrap_or(u32::MAX);
        if number < self.sites.max(1) {
            Ok(number)
        } else {
            Err("an event names a call site that is not in the table")
        }
    }
}

/// A thread that may be unknown. Threads that begin later may be named before their entry.
fn thread(bytes: &mut Bytes<'_>) -> Result<Option<u32>, &'static str> {
    let number = bytes.number()?;
    if number > u64::from(u32::MAX) {
        return Err("a thread's number is too large");
    }
    Ok((number as u32).checked_sub(1))
}

/// Reads the next event.
///
/// # Errors
/// What is wrong with it.
pub fn read(bytes: &mut Bytes<'_>, bounds: Bounds) -> Result<Event, &'static str> {
    let first = bytes.byte()?;
    let gap = bytes.number()?;
    let (slept, preempted) = if first & tag::AWAY != 0 {
        (bytes.number()?, bytes.number()?)
    } else {
        (0, 0)
    };
    if slept.checked_add(preempted).is_none_or(|away| away > gap) {
        return Err("a gap has parts longer than itself");
    }
    let what = match first & tag::MASK {
        tag::WINDOW => What::Window {
            number: bytes.number()?,
        },
        tag::ACQUIRE => {
            let (lock, site) = (bounds.lock(bytes)?, bounds.site(bytes)?);
            let packed = bytes.byte()?;
            let how = match packed & 3 {
                0 => How::Exclusive,
                1 => How::Read,
                2 => How::Write,
                _ => return Err("an acquisition is of an unknown sort"),
            };
            let by = match packed >> 2 {
                0 => By::Lock,
                1 => By::Try,
                2 => By::Timed,
                3 => By::Relock,
                _ => return Err("an acquisition is of an unknown sort"),
            };
            What::Acquire {
                lock,
                site,
                how,
                by,
                got: first & tag::GOT != 0,
                contended: first & tag::CONTENDED != 0,
                waited: bytes.number()?,
            }
        }
        tag::RELEASE => What::Release {
            lock: bounds.lock(bytes)?,
        },
        tag::WAIT => What::Wait {
            condition: bounds.lock(bytes)?,
            site: bounds.site(bytes)?,
            ended: match bytes.byte()? {
                0 => Ended::Signal,
                1 => Ended::Deadline,
                2 => Ended::Error,
                _ => return Err("a wait has an unknown end"),
            },
            waited: bytes.number()?,
        },
        tag::SIGNAL => What::Signal {
            condition: bounds.lock(bytes)?,
            all: first & tag::ALL != 0,
        },
        tag::CREATE => What::Create {
            thread: thread(bytes)?,
        },
        tag::PAUSE => What::Pause {
            pause: match bytes.byte()? {
                0 => Pause::Join,
                1 => Pause::Semaphore,
                2 => Pause::Barrier,
                _ => return Err("a pause has an unknown reason"),
            },
            thread: thread(bytes)?,
            waited: bytes.number()?,
        },
        tag::END => What::End,
        _ => return Err("an event is of an unknown sort"),
    };
    Ok(Event {
        gap,
        slept,
        preempted,
        what,
    })
}
