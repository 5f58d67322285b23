//! Counting, for `cohort run --report`.

use crate::layout::Mutex;
use crate::libc::{__register_atfork, close, getpid, map, open, say};
use cohort::door::{Beyond, Change, Hearer, Mode, cache_groups, hear, is_allowed, thread};
use cohort::host::Generation;
use cohort::host::served::Service;
use cohort::report::{Kind, MAGIC, Memory, Report, SHARDS, Shard};
use core::ffi::CStr;
use core::mem::offset_of;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

static REPORT: AtomicPtr<Report> = AtomicPtr::new(ptr::null_mut());

/// Maps the report file; false if it cannot be written or is none.
pub fn can_open(path: &CStr) -> bool {
    const O_RDWR: i32 = 2;
    const O_CLOEXEC: i32 = 0x80000;
    const MAP_SHARED: i32 = 1;
    if !REPORT.load(Ordering::Acquire).is_null() {
        return true;
    }
    let file = open(path, O_RDWR | O_CLOEXEC, 0);
    if file < 0 {
        return false;
    }
    // The file is the command's, of the right size, or reading its first bytes below would end the
    // process: its maker's magic is at its beginning.
    let at = map(size_of::<Report>(), MAP_SHARED, file);
    close(file);
    let Some(report) = at.map(<*mut u8>::cast::<Report>) else {
        return false;
    };
    // SAFETY: mapped just now, for ever.
    if unsafe { (*report).magic } != MAGIC {
        return false;
    }
    REPORT.store(report, Ordering::Release);
    true
}

fn report() -> Option<&'static Report> {
    // SAFETY: null, or mapped for ever.
    unsafe { REPORT.load(Ordering::Acquire).as_ref() }
}

/// Says that this process is served.
pub fn announce(lock: &str) {
    if let Some(report) = report() {
        for (place, byte) in report.lock.iter().zip(lock.bytes()) {
            place.store(byte, Ordering::Relaxed);
        }
        report.processes.fetch_add(1, Ordering::Relaxed);
        note_user();
    }
}

/// Has each child of a process that counts note its number, so that the command finds a daemon without
/// a look at every process.  Called while the library is loaded: the C library allocates for it.
pub fn follow_forks() {
    if report().is_some() {
        // SAFETY: the functions stay for as long as the process does.
        unsafe { __register_atfork(Some(begin_fork), None, Some(begin_child), ptr::null_mut()) };
    }
}

extern "C" fn begin_fork() {
    if let Some(report) = report() {
        report.forking.fetch_add(1, Ordering::Relaxed);
    }
}

extern "C" fn begin_child() {
    note_user();
    if let Some(report) = report() {
        report.forking.fetch_sub(1, Ordering::Release);
    }
}

/// Notes the number of this process.
fn note_user() {
    if let Some(report) = report().filter(|_| is_allowed(Beyond::Search)) {
        report.note_user(getpid());
    }
}

/// Counts one acquisition.
#[cold]
pub fn count(kind: Kind, contended: bool) {
    if let Some(report) = report() {
        let counter = &own(report).kinds[kind as usize];
        counter.acquired.fetch_add(1, Ordering::Relaxed);
        if contended {
            counter.contended.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Counts what locks that adapt say of themselves.
static COUNTS: Hearer = Hearer {
    waited,
    changed: count_change,
};

/// The same, and prints each change.
static PRINTS: Hearer = Hearer {
    waited,
    changed: |change| {
        count_change(change);
        let lock = mutex_of(change);
        say(format_args!("cohort: {}\n", Change { lock, ..*change }));
    },
};

/// The address of the program's mutex whose lock changes: that of the default lock, or of the body that is inflated.
fn mutex_of(change: &Change<'_>) -> usize {
    match change.to {
        Mode::Word | Mode::Queue | Mode::ShortQueue => change.lock,
        Mode::Ticket | Mode::Mcs | Mode::Mutex => change.lock - offset_of!(Mutex, body),
    }
}

/// From here on locks that adapt tell us of themselves; each change is printed too, if `prints`.
pub fn hear_locks(prints: bool) {
    hear(if prints { &PRINTS } else { &COUNTS });
}

fn waited(mode: Mode) {
    if let Some(report) = report() {
        own(report).waited[mode as usize].fetch_add(1, Ordering::Relaxed);
    }
}

fn count_change(change: &Change<'_>) {
    if let Some(report) = report() {
        report.changes[change.to as usize].fetch_add(1, Ordering::Relaxed);
    }
}

/// The calling thread's share of the counters.
fn own(report: &Report) -> &Shard {
    // Neighbouring threads' words are some kilobytes apart.
    &report.shards[(ptr::from_ref(thread()) as usize >> 12) % SHARDS]
}

/// The process's threads that wait for the same kind of thing.
pub struct Crowd {
    now: AtomicU32,
    /// The process that they are of.
    of: Generation,
    /// Where the most that there were is noted.
    most: fn(&Memory) -> &AtomicU32,
}

static FOR_MUTEXES: Crowd = Crowd {
    now: AtomicU32::new(0),
    of: Generation::new(),
    most: |memory| &memory.waiters,
};

/// Those that wait at conditions.
pub static AT_CONDITIONS: Crowd = Crowd {
    now: AtomicU32::new(0),
    of: Generation::new(),
    most: |memory| &memory.at_conditions,
};

impl Crowd {
    /// Counts the calling thread in, until it [leaves](Self::leave).
    #[cold]
    pub fn join(&self) {
        self.of.settle(|| self.now.store(0, Ordering::Relaxed));
        let now = self.now.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(report) = report() {
            (self.most)(&report.memory).fetch_max(now, Ordering::Relaxed);
        }
    }

    /// Counts the calling thread out.
    #[cold]
    pub fn leave(&self) {
        self.now.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Waits; where somebody counts, as one of those that wait for mutexes.
pub fn waiting<R>(counting: bool, wait: impl FnOnce() -> R) -> R {
    if !counting {
        return wait();
    }
    FOR_MUTEXES.join();
    let result = wait();
    FOR_MUTEXES.leave();
    result
}

/// Notes what the process's mutexes and conditions needed so far.
#[cold]
pub fn note_needs(service: &Service) {
    if let Some(report) = report() {
        #[cfg(not(feature = "compositions"))]
        let needs = (service.needs)();
        #[cfg(feature = "compositions")]
        let needs = crate::by_mutex::needs(service);
        let bytes = needs.bytes;
        let memory = &report.memory;
        memory.bytes.fetch_max(bytes as u64, Ordering::Relaxed);
        memory.inflated.fetch_max(needs.inflated, Ordering::Relaxed);
        let groups = u32::try_from(cache_groups()).unwrap_or(u32::MAX);
        memory.cache_groups.fetch_max(groups, Ordering::Relaxed);
    }
}
