//! What is at a futex word: by the functions on the sleeper's stack, and by what the C library notes.

use super::Process;
use super::syscall::Sleep;
use crate::observe::stacks::Frame;

/// What threads sleep for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FutexUse {
    /// A pthread mutex that Cohort can serve.
    Mutex,
    /// A robust, process-shared, or priority-inheriting mutex, which stays the C library's.
    LibcMutex,
    /// A pthread rwlock.
    RwLock,
    /// A lock inside the C library, such as the allocator's.
    Inside(String),
    /// A lock of a language or a library that locks by itself.
    Foreign(&'static str),
    /// A condition.
    Condition,
    /// The end of a thread.
    Join,
    /// A semaphore.
    Semaphore,
    /// A barrier.
    Barrier,
    /// Something unknown.
    Unknown,
}

impl FutexUse {
    /// For a table and JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Mutex => "mutex",
            Self::LibcMutex => "C library's mutex",
            Self::RwLock => "rwlock",
            Self::Inside(_) => "lock in the C library",
            Self::Foreign(whose) => whose,
            Self::Condition => "condition",
            Self::Join => "join",
            Self::Semaphore => "semaphore",
            Self::Barrier => "barrier",
            Self::Unknown => "unknown futex",
        }
    }

    /// Merges the kinds that two stacks show: a stack with a named wait function wins over a stack inside
    /// the C library without one, which may lack a frame.
    pub fn or(self, other: Self) -> Self {
        let rank = |kind: &Self| match kind {
            Self::Unknown => 0,
            Self::Inside(_) => 1,
            _ => 2,
        };
        if rank(&other) > rank(&self) {
            other
        } else {
            self
        }
    }

    /// Whether no further stack says more.
    pub const fn is_certain(&self) -> bool {
        !matches!(self, Self::Unknown | Self::Inside(_))
    }

    /// Whether time at it is time lost to a lock.
    pub const fn is_lock(&self) -> bool {
        matches!(
            self,
            Self::Mutex | Self::LibcMutex | Self::RwLock | Self::Inside(_) | Self::Foreign(_)
        )
    }
}

/// Locks of languages and libraries, by parts of their functions' names.
const FOREIGN: [(&str, &[&str]); 7] = [
    ("parking_lot lock", &["parking_lot"]),
    (
        "Rust std lock",
        &[
            "sys::sync::mutex",
            "sys::sync::rwlock",
            "sys::pal::unix::locks",
            "sys::unix::locks",
            "sys_common::mutex",
        ],
    ),
    ("abseil lock", &["absl::", "AbslInternal"]),
    (
        "Go lock",
        &["runtime.lock", "runtime.semacquire", "runtime.semasleep"],
    ),
    (
        "Java lock",
        &[
            "ObjectMonitor",
            "PlatformMonitor",
            "Unsafe_Park",
            "JVM_MonitorWait",
        ],
    ),
    (".NET lock", &["CLREvent", "CorUnix", "CrstBase"]),
    (
        "libstdc++ wait",
        &["__atomic_futex_unsigned", "__platform_wait"],
    ),
];

/// Functions of the C library, by the words that their names hold, and what a thread waits for in them.
const FUNCTIONS: [(&[&str], FutexUse); 7] = [
    (
        &["pthread_mutex_", "mtx_lock", "mtx_timedlock"],
        FutexUse::Mutex,
    ),
    (&["pthread_rwlock_"], FutexUse::RwLock),
    (
        &["pthread_cond_", "cnd_wait", "cnd_timedwait"],
        FutexUse::Condition,
    ),
    (
        &[
            "pthread_join",
            "pthread_timedjoin",
            "pthread_clockjoin",
            "thrd_join",
        ],
        FutexUse::Join,
    ),
    (
        &["sem_wait", "sem_timedwait", "sem_clockwait"],
        FutexUse::Semaphore,
    ),
    (&["pthread_barrier_wait"], FutexUse::Barrier),
    (&["pthread_once", "call_once"], FutexUse::Unknown),
];

/// Whether a file is a C library, or the loader that is one.
pub fn is_libc(module: &str) -> bool {
    let name = module.rsplit('/').next().unwrap_or(module);
    ["libc.so", "libc-", "libpthread", "ld-linux", "ld-musl"]
        .iter()
        .any(|begin| name.starts_with(begin))
}

/// What a thread sleeps for, by its stack; `mutex` if what is at the word is a mutex that it found held.
pub fn kind(frames: &[Frame], mutex: Option<Mutex>, sleep: &Sleep) -> FutexUse {
    if let Some(mutex) = mutex {
        return if mutex.is_served() && !sleep.inherits {
            FutexUse::Mutex
        } else {
            FutexUse::LibcMutex
        };
    }
    if sleep.inherits {
        return FutexUse::LibcMutex;
    }
    // What only lies behind a function's end is another function, without a name.
    let is_inside = |function: &&str| !function.contains("+0x");
    let functions = || {
        let functions = frames.iter().filter_map(|frame| frame.function.as_deref());
        functions.filter(is_inside)
    };
    for function in functions() {
        let of = |(words, kind): &(&[&str], FutexUse)| {
            words
                .iter()
                .any(|word| function.contains(word))
                .then(|| kind.clone())
        };
        if let Some(kind) = FUNCTIONS.iter().find_map(of) {
            return kind;
        }
    }
    let foreign = FOREIGN.iter().find(|(_, words)| {
        functions().any(|function| words.iter().any(|word| function.contains(word)))
    });
    if let Some((whose, _)) = foreign {
        return FutexUse::Foreign(whose);
    }
    // A function of the C library that is none of these has a lock inside, unless it only sleeps for others.
    let sleeps = |function: &str| {
        ["futex", "lll_lock", "syscall"]
            .iter()
            .any(|word| function.contains(word))
    };
    let is_inside = |frame: &&Frame| frame.module.as_deref().is_some_and(is_libc);
    let inside = frames.iter().take_while(is_inside).last();
    match inside.and_then(|frame| frame.function.as_deref()) {
        Some(function) if frames.len() > 1 && !function.contains("+0x") && !sleeps(function) => {
            FutexUse::Inside(function.to_owned())
        }
        _ if sleep.seen == MUSL => FutexUse::Foreign("musl mutex"),
        _ => FutexUse::Unknown,
    }
}

/// The word of a normal mutex of musl that is held and has sleepers: EBUSY, and the mark of sleepers.  musl's
/// functions cannot be unwound.
const MUSL: u32 = 0x8000_0000 | libc::EBUSY as u32;

/// What the C library notes in a mutex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mutex {
    /// The holder, by the number that it has for itself.
    pub owner: u32,
    kind: u32,
}

impl Mutex {
    /// Of a mutex that is held and has sleepers, if one is at this word.
    pub fn at(process: &Process, sleep: &Sleep) -> Option<Self> {
        /// The word of a mutex that is held and has sleepers.
        const HELD: u32 = 2;
        /// All kinds, with the marks of elision.
        const KINDS: u32 = 0x3ff;
        if sleep.has_classes || (!sleep.inherits && sleep.seen != HELD) {
            return None;
        }
        let mut bytes = [0; 24];
        process.read(sleep.word, &mut bytes)?;
        let word = |at: usize| {
            let bytes = bytes[at..at + 4].try_into().unwrap_or_default();
            u32::from_le_bytes(bytes)
        };
        let (owner, kind) = (word(8), word(16));
        let is_one = kind & !KINDS == 0 && process.here(owner).is_some();
        is_one.then_some(Self { owner, kind })
    }

    /// Whether Cohort serves this kind.
    fn is_served(self) -> bool {
        /// Robust, priority-inheriting and -protecting, process-shared.
        const LEFT: u32 = 0x10 | 0x20 | 0x40 | 0x80;
        self.kind & LEFT == 0
    }
}

/// The address of the rwlock that contains this futex word, and the thread ID of its writer, if any.
pub fn rwlock(process: &Process, word: u64) -> (u64, Option<u32>) {
    /// The words at which threads sleep, and the writer's number.
    const PHASE: u64 = 8;
    const WRITERS: u64 = 12;
    const WRITER: u64 = 24;
    let start = word
        - if word.is_multiple_of(8) {
            PHASE
        } else {
            WRITERS
        };
    let mut bytes = [0; 4];
    let writer = process
        .read(start + WRITER, &mut bytes)
        .map(|()| u32::from_le_bytes(bytes));
    (
        start,
        writer.filter(|writer| process.here(*writer).is_some()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(functions: &[(&str, &str)]) -> Vec<Frame> {
        let frame = |(module, function): &(&str, &str)| Frame {
            module: Some((*module).to_owned()),
            function: Some((*function).to_owned()),
            ..Frame::default()
        };
        functions.iter().map(frame).collect()
    }

    #[test]
    fn a_stack_tells_what_a_thread_waits_for() {
        let sleep = Sleep {
            word: 0,
            seen: 2,
            has_classes: false,
            inherits: false,
        };
        let of = |functions: &[(&str, &str)]| kind(&frames(functions), None, &sleep);
        let libc = "/lib/libc.so.6";
        for (function, wanted) in [
            ("pthread_rwlock_wrlock", FutexUse::RwLock),
            ("pthread_cond_clockwait", FutexUse::Condition),
            ("pthread_join", FutexUse::Join),
            ("malloc", FutexUse::Inside("malloc".to_owned())),
        ] {
            let stack = [
                (libc, "__lll_lock_wait_private"),
                (libc, function),
                ("a", "main"),
            ];
            assert_eq!(of(&stack), wanted);
        }
        let rust = "std::sys::sync::mutex::futex::Mutex::lock_contended";
        assert_eq!(
            of(&[(libc, "syscall"), ("a", rust)]),
            FutexUse::Foreign("Rust std lock")
        );
        let unknown = [(libc, "syscall"), ("a", "mine")];
        assert_eq!(of(&unknown), FutexUse::Unknown);
        let musl = Sleep {
            seen: MUSL,
            ..sleep
        };
        let named = FutexUse::Foreign("musl mutex");
        assert_eq!(kind(&frames(&unknown), None, &musl), named);
        // Frames are missing, so the lock's owner is unknown.
        for cut in [
            [(libc, "__futex_abstimed_wait64"), ("a", "main")],
            [(libc, "__lll_lock_wait"), (libc, "lll_lock_wait")],
        ] {
            assert_eq!(of(&cut), FutexUse::Unknown);
        }
        let whole = of(&[(libc, "__pthread_rwlock_wrlock_full64"), ("a", "main")]);
        let inside = FutexUse::Inside("malloc".to_owned());
        for (one, other) in [(&FutexUse::Unknown, &inside), (&inside, &whole)] {
            assert!(!one.is_certain());
            assert_eq!(&one.clone().or(other.clone()), other);
            assert_eq!(&other.clone().or(one.clone()), other);
        }
        assert!(whole.is_certain());
        let mutex = |kind| Some(Mutex { owner: 1, kind });
        assert_eq!(kind(&[], mutex(0), &sleep), FutexUse::Mutex);
        assert_eq!(kind(&[], mutex(0x80), &sleep), FutexUse::LibcMutex);
    }
}
