//! What a trace says beside its events.

use crate::varint::{Bytes, put, put_text};
use serde::Serialize;

/// What was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Info {
    /// The program and its arguments.
    pub program: String,
    /// The lock that served it.
    pub lock: String,
    /// The host.
    pub host: String,
    /// The host's CPUs that the program could use.
    pub cpus: u64,
    /// The beginning, in seconds since 1970.
    pub began: u64,
    /// Nanoseconds that a gap contains for its event and for an uncontended lock operation; 0: unknown.
    pub spent: u64,
}

/// The sort of a lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A mutex.
    #[default]
    Mutex,
    /// An rwlock.
    Rwlock,
    /// A spin lock.
    Spin,
    /// A condition.
    Condition,
}

impl Kind {
    /// Its noun.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mutex => "mutex",
            Self::Rwlock => "rwlock",
            Self::Spin => "spin lock",
            Self::Condition => "condition",
        }
    }
}

/// A lock or a condition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Lock {
    /// Its sort.
    pub kind: Kind,
    /// Its variable, else the site of its initialisation, else of its first use.
    pub name: String,
    /// Its address in the process.
    pub address: u64,
    /// The process.
    pub process: u64,
}

/// A thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Thread {
    /// Its process.
    pub process: u64,
    /// Its number in the kernel.
    pub id: u64,
}

/// What the recording left out, and what it cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct End {
    /// Nanoseconds of the program's run.
    pub ran: u64,
    /// Nanoseconds of all windows together; as many as `ran` without a pause.
    pub recorded: u64,
    /// The number of windows.
    pub windows: u64,
    /// Dropped events, as far as they were counted.
    pub dropped: u64,
    /// Whether the limit of the trace's size ended the recording.
    pub is_full: bool,
    /// CPU nanoseconds of the program, its recording included.
    pub cpu: u64,
    /// CPU nanoseconds of the recording, in the program.
    pub cost: u64,
    /// CPU nanoseconds of looks at that cost, in the command.
    pub looking: u64,
}

impl Info {
    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        for text in [&self.program, &self.lock, &self.host] {
            put_text(to, text);
        }
        put(to, self.cpus);
        put(to, self.began);
        put(to, self.spent);
    }

    pub(crate) fn read(bytes: &mut Bytes<'_>) -> Result<Self, &'static str> {
        Ok(Self {
            program: bytes.text()?,
            lock: bytes.text()?,
            host: bytes.text()?,
            cpus: bytes.number()?,
            began: bytes.number()?,
            spent: bytes.number()?,
        })
    }
}

impl Lock {
    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        to.push(self.kind as u8);
        put_text(to, &self.name);
        put(to, self.address);
        put(to, self.process);
    }

    pub(crate) fn read(bytes: &mut Bytes<'_>) -> Result<Self, &'static str> {
        Ok(Self {
            kind: match bytes.byte()? {
                0 => Kind::Mutex,
                1 => Kind::Rwlock,
                2 => Kind::Spin,
                3 => Kind::Condition,
                _ => return Err("a lock is of an unknown sort"),
            },
            name: bytes.text()?,
            address: bytes.number()?,
            process: bytes.number()?,
        })
    }
}

impl Thread {
    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        put(to, self.process);
        put(to, self.id);
    }

    pub(crate) fn read(bytes: &mut Bytes<'_>) -> Result<Self, &'static str> {
        Ok(Self {
            process: bytes.number()?,
            id: bytes.number()?,
        })
    }
}

impl End {
    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        for number in [self.ran, self.recorded, self.windows, self.dropped] {
            put(to, number);
        }
        to.push(self.is_full.into());
        put(to, self.cpu);
        put(to, self.cost);
        put(to, self.looking);
    }

    pub(crate) fn read(bytes: &mut Bytes<'_>) -> Result<Self, &'static str> {
        Ok(Self {
            ran: bytes.number()?,
            recorded: bytes.number()?,
            windows: bytes.number()?,
            dropped: bytes.number()?,
            is_full: bytes.byte()? != 0,
            cpu: bytes.number()?,
            cost: bytes.number()?,
            looking: bytes.number()?,
        })
    }
}
