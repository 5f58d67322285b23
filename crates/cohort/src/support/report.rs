//! The interposer's counts, in a file mapped by the command and by every process of the program. So
//! they survive a killed program, and prove that the interposer was present.

use crate::door::Mode;
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

/// The first bytes of a report; the last digit is the version of the layout.
pub const MAGIC: [u8; 8] = *b"COHORTR6";

/// The kinds with separate counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum ServedKind {
    /// `PTHREAD_MUTEX_NORMAL`, the default.
    Normal,
    /// `PTHREAD_MUTEX_RECURSIVE`.
    Recursive,
    /// `PTHREAD_MUTEX_ERRORCHECK`.
    ErrorCheck,
    /// `PTHREAD_MUTEX_ADAPTIVE_NP`.
    Adaptive,
    /// Robust, priority-inheriting, priority-protecting and process-shared mutexes, which stay the
    /// C library's.
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

impl ServedKind {
    /// All kinds, in the order of the report.
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

    /// The kind's name in a report.
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
    /// Acquisitions that found the lock held at first.
    pub contended: AtomicU64,
}

/// The counters of a share of the threads, on their own cache lines.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Shard {
    /// The counters of each [`ServedKind`].
    pub kinds: [Counter; ServedKind::ALL.len()],
    /// Acquisitions that waited for an adaptive lock, by its [`Mode`] at that time.
    pub waited: [AtomicU64; Mode::ALL.len()],
}

/// Memory of the locks beside the program's own objects; each value is the maximum over all
/// processes.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Memory {
    /// Bytes of queue nodes, of mutexes and of conditions, and of inflated locks. This is the peak,
    /// since the memory stays allocated. A mutex under a queue lock takes a node for each waiter
    /// and one for its holder.
    pub bytes: AtomicU64,
    /// The peak number of inflated locks: one for each contended mutex, and the threads' spare
    /// ones.
    pub inflated: AtomicU32,
    /// The peak number of threads waiting for a mutex.
    pub waiters: AtomicU32,
    /// The peak number of threads waiting at conditions.
    pub at_conditions: AtomicU32,
    /// Groups of CPUs with a shared last-level cache, as detected by the library; 0 if no thread
    /// needed them.
    pub cache_groups: AtomicU32,
}

/// The number of shards; a thread's number selects one.
pub const SHARDS: usize = 16;

/// Bytes for a lock's name; the longest composition has fewer than a hundred.
pub const NAME_BYTES: usize = 116;

/// The number of processes that a report can list.
pub const USERS: usize = 1024;

/// The content of the file; a file of zeroes behind [`MAGIC`] is an empty report.
#[derive(Debug)]
#[repr(C)]
pub struct Report {
    /// [`MAGIC`].
    pub magic: [u8; 8],
    /// The number of processes that announced the interposer.
    pub processes: AtomicU32,
    /// The numbers of the last [`USERS`] such processes and of their forked children, each as the
    /// process knows itself; 0 in unused places.
    pub users: [AtomicU32; USERS],
    /// How many numbers have been written there.
    pub noted: AtomicU32,
    /// The number of forks in progress: their numbers follow, unless the fork fails.
    pub forking: AtomicU32,
    /// The name of their lock, zero-terminated.
    pub lock: [AtomicU8; NAME_BYTES],
    /// The memory in use.
    pub memory: Memory,
    /// Mode changes of adaptive locks, by the new [`Mode`].
    pub changes: [AtomicU64; Mode::ALL.len()],
    /// The counts.
    pub shards: [Shard; SHARDS],
}

impl Report {
    /// Records the number of a process that counts here.
    pub fn note_user(&self, process: u32) {
        let noted = self.noted.fetch_add(1, Ordering::Relaxed);
        self.users[noted as usize % USERS].store(process, Ordering::Relaxed);
    }

    /// One kind's acquisitions and contended acquisitions, over all shards.
    #[must_use]
    pub fn total(&self, kind: ServedKind) -> (u64, u64) {
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

    /// Acquisitions that waited for a lock in that mode, over all shards.
    #[must_use]
    pub fn waited(&self, mode: Mode) -> u64 {
        let of = |shard: &Shard| shard.waited[mode as usize].load(Ordering::Relaxed);
        self.shards.iter().map(of).sum()
    }

    /// The number of changes to that mode.
    #[must_use]
    pub fn changes_to(&self, mode: Mode) -> u64 {
        self.changes[mode as usize].load(Ordering::Relaxed)
    }

    /// The name of the lock; empty if it is not text.
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
