//! What the interposer counts, in a file that the command and every process of
//! the program map: so it survives a program that is killed, and it proves that
//! the interposer was there.

use crate::door::Mode;
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

/// What a report begins with; the last digit is the layout's version.
pub const MAGIC: [u8; 8] = *b"COHORTR6";

/// What is counted apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Kind {
    /// `PTHREAD_MUTEX_NORMAL`, the default.
    Normal,
    /// `PTHREAD_MUTEX_RECURSIVE`.
    Recursive,
    /// `PTHREAD_MUTEX_ERRORCHECK`.
    ErrorCheck,
    /// `PTHREAD_MUTEX_ADAPTIVE_NP`.
    Adaptive,
    /// Robust, priority-inheriting or -protecting, and process-shared mutexes:
    /// the C library serves them.
    Libc,
    /// `pthread_cond_wait` and its timed forms.
    CondWait,
    /// `pthread_cond_signal` and `pthread_cond_broadcast`.
    CondSignal,
    /// Read locks.
    Read,
    /// Write locks.
    Write,
    /// `pthread_spin_lock`.
    Spin,
}

impl Kind {
    /// All of them, in the order of the report.
    pub const ALL: [Self; 10] = [
        Self::Normal,
        Self::Recursive,
        Self::ErrorCheck,
        Self::Adaptive,
        Self::Libc,
        Self::CondWait,
        Self::CondSignal,
        Self::Read,
        Self::Write,
        Self::Spin,
    ];

    /// The name a report prints.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Normal => "mutex-normal",
            Self::Recursive => "mutex-recursive",
            Self::ErrorCheck => "mutex-errorcheck",
            Self::Adaptive => "mutex-adaptive",
            Self::Libc => "mutex-libc",
            Self::CondWait => "cond-wait",
            Self::CondSignal => "cond-signal",
            Self::Read => "rwlock-read",
            Self::Write => "rwlock-write",
            Self::Spin => "spin",
        }
    }
}

/// One kind's counts.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Counter {
    /// Acquisitions, waits or signals that succeeded.
    pub acquired: AtomicU64,
    /// Those that found the lock taken at first.
    pub contended: AtomicU64,
}

/// Counters that a share of the threads writes, on lines of its own.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Shard {
    /// By [`Kind`].
    pub kinds: [Counter; Kind::ALL.len()],
    /// Acquisitions that waited for a lock that adapts, by the [`Mode`] in which it was.
    pub waited: [AtomicU64; Mode::ALL.len()],
}

/// What locks needed beside the program's own objects; of each the most that any one
/// process reached.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Memory {
    /// Bytes of queue nodes, of mutexes and of conditions, and of inflated locks: all that
    /// were ever needed at once, since none is given back to the system.  A mutex under a
    /// queue lock takes a node for each waiter and one for its holder.
    pub bytes: AtomicU64,
    /// Inflated locks among that: one for each mutex that was waited for at once, and
    /// those that threads kept for their next.
    pub inflated: AtomicU32,
    /// Threads that waited for a mutex at once.
    pub waiters: AtomicU32,
    /// Threads that waited at a condition at once.
    pub at_conditions: AtomicU32,
    /// Groups of CPUs with a last-level cache of their own, as the library sees the machine; 0
    /// while no thread had to know.
    pub cache_groups: AtomicU32,
}

/// How many shards there are: threads are spread over them by their number.
pub const SHARDS: usize = 16;

/// Bytes for a lock's name: the longest, of a composition, has not a hundred.
pub const NAME_BYTES: usize = 116;

/// How many processes a report can name.
pub const USERS: usize = 1024;

/// The file's content; a file of zeroes with [`MAGIC`] in front is an empty one.
#[derive(Debug)]
#[repr(C)]
pub struct Report {
    /// [`MAGIC`].
    pub magic: [u8; 8],
    /// How many processes announced that the interposer serves them.
    pub processes: AtomicU32,
    /// The numbers of the last [`USERS`] of them and of the processes that these have forked, each as
    /// the process itself knows it; 0 where there is none.
    pub users: [AtomicU32; USERS],
    /// How many numbers have been written there.
    pub noted: AtomicU32,
    /// How many processes are being forked: their numbers are to come, unless the fork fails.
    pub forking: AtomicU32,
    /// The name of the lock that served them, ended by zero.
    pub lock: [AtomicU8; NAME_BYTES],
    /// The memory.
    pub memory: Memory,
    /// How often a lock that adapts went on in another mode, by the new [`Mode`].
    pub changes: [AtomicU64; Mode::ALL.len()],
    /// The counts.
    pub shards: [Shard; SHARDS],
}

impl Report {
    /// Notes that a process of that number counts here from now on.
    pub fn note_user(&self, process: u32) {
        let noted = self.noted.fetch_add(1, Ordering::Relaxed);
        self.users[noted as usize % USERS].store(process, Ordering::Relaxed);
    }

    /// One kind's acquisitions and contended acquisitions, over all shards.
    #[must_use]
    pub fn total(&self, kind: Kind) -> (u64, u64) {
        self.shards
            .iter()
            .map(|shard| &shard.kinds[kind as usize])
            .fold((0, 0), |(acquired, contended), counter| {
                (
                    acquired + counter.acquired.load(Ordering::Relaxed),
                    contended + counter.contended.load(Ordering::Relaxed),
                )
            })
    }

    /// Acquisitions that waited for a lock of that mode, over all shards.
    #[must_use]
    pub fn waited(&self, mode: Mode) -> u64 {
        let of = |shard: &Shard| shard.waited[mode as usize].load(Ordering::Relaxed);
        self.shards.iter().map(of).sum()
    }

    /// How often a lock went on in that mode.
    #[must_use]
    pub fn changes_to(&self, mode: Mode) -> u64 {
        self.changes[mode as usize].load(Ordering::Relaxed)
    }

    /// The name of the lock, as far as it is text.
    pub fn lock_name<'a>(&self, buffer: &'a mut [u8; NAME_BYTES]) -> &'a str {
        for (place, byte) in buffer.iter_mut().zip(&self.lock) {
            *place = byte.load(Ordering::Relaxed);
        }
        let end = buffer
            .iter()
            .position(|byte| *byte == 0)
            .unwrap_or(NAME_BYTES);
        core::str::from_utf8(&buffer[..end]).unwrap_or("")
    }
}
