//! Counting, for `cohort run --report`.

use crate::layout::Mutex;
use crate::libc::{__register_atfork, close, getpid, map, open, say};
#[cfg(feature = "compositions")]
use crate::variable;
use cohort::door::{
    Beyond, Change, Mode, Observer, cache_groups, is_allowed, set_observer, thread,
};
use cohort::host::Generation;
use cohort::host::served::Service;
use cohort::report::{MAGIC, Memory, Report, SHARDS, ServedKind, Shard};
use core::ffi::CStr;
use core::mem::offset_of;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

static REPORT: AtomicPtr<Report> = AtomicPtr::new(ptr::null_mut());

/// Maps the report file; false if it cannot be written or is no report.
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
    // `cohort run` made the file, with the right size and its magic at the beginning. A shorter
    // file would end the process at the read below.
    let at = map(size_of::<Report>(), MAP_SHARED, file);
    close(file);
    let Some(report) = at.map(<*mut u8>::cast::<Report>) else {
        return false;
    };
    // SAFETY: mapped just above, permanently.
    if unsafe { (*report).magic } != MAGIC {
        return false;
    }
    REPORT.store(report, Ordering::Release);
    true
}

fn report() -> Option<&'static Report> {
    // SAFETY: null, or mapped permanently.
    unsafe { REPORT.load(Ordering::Acquire).as_ref() }
}

/// Reports that Cohort serves this process.
pub fn announce(lock: &str) {
    if let Some(report) = report() {
        for (place, byte) in report.lock.iter().zip(lock.bytes()) {
            place.store(byte, Ordering::Relaxed);
        }
        report.processes.fetch_add(1, Ordering::Relaxed);
        note_user();
    }
}

/// Makes each forked child of a counted process record its process ID, so that `cohort` finds
/// daemons without a scan of all processes. Called while the library is loaded: the C library
/// allocates for it.
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

/// Records this process's ID.
fn note_user() {
    if let Some(report) = report().filter(|_| is_allowed(Beyond::Search)) {
        report.note_user(getpid());
    }
}

/// Counts one acquisition.
#[cold]
pub fn count(kind: ServedKind, contended: bool) {
    if let Some(report) = report() {
        let counter = &own(report).kinds[kind as usize];
        counter.acquired.fetch_add(1, Ordering::Relaxed);
        if contended {
            counter.contended.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Counts the events of adaptive locks.
static COUNTS: Observer = Observer {
    waited,
    changed: count_change,
};

/// Counts the events, and prints each mode change.
static PRINTS: Observer = Observer {
    waited,
    changed: |change| {
        count_change(change);
        let lock = mutex_of(change);
        let change = Change { lock, ..*change };
        #[cfg(feature = "compositions")]
        if is_allowed(Beyond::Files)
            && let Some(variable) = variable::at(lock)
        {
            return say(format_args!("cohort: {change} ({variable})\n"));
        }
        say(format_args!("cohort: {change}\n"));
    },
};

/// The program's mutex behind a mode change: at the default lock's address, or before the inflated
/// body.
fn mutex_of(change: &Change<'_>) -> usize {
    match change.to {
        Mode::Word | Mode::Queue | Mode::ShortQueue => change.lock,
        Mode::Ticket | Mode::Mcs | Mode::Mutex => change.lock - offset_of!(Mutex, body),
    }
}

/// Starts observing adaptive locks; prints each change too, if `prints`.
pub fn hear_locks(prints: bool) {
    set_observer(if prints { &PRINTS } else { &COUNTS });
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

/// The process's threads in one kind of wait.
pub struct Crowd {
    now: AtomicU32,
    /// The process that `now` belongs to.
    of: Generation,
    /// The field for the maximum.
    most: fn(&Memory) -> &AtomicU32,
}

static FOR_MUTEXES: Crowd = Crowd {
    now: AtomicU32::new(0),
    of: Generation::new(),
    most: |memory| &memory.waiters,
};

/// Threads that wait at conditions.
pub static AT_CONDITIONS: Crowd = Crowd {
    now: AtomicU32::new(0),
    of: Generation::new(),
    most: |memory| &memory.at_conditions,
};

impl Crowd {
    /// Adds the calling thread, until it [leaves](Self::leave).
    #[cold]
    pub fn join(&self) {
        self.of.settle(|| self.now.store(0, Ordering::Relaxed));
        let now = self.now.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(report) = report() {
            (self.most)(&report.memory).fetch_max(now, Ordering::Relaxed);
        }
    }

    /// Removes the calling thread.
    #[cold]
    pub fn leave(&self) {
        self.now.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Waits; where acquisitions are counted, as one of the threads waiting for mutexes.
pub fn waiting<R>(counting: bool, wait: impl FnOnce() -> R) -> R {
    if !counting {
        return wait();
    }
    FOR_MUTEXES.join();
    let result = wait();
    FOR_MUTEXES.leave();
    result
}

/// Records the memory that the process's mutexes and conditions have needed so far.
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
