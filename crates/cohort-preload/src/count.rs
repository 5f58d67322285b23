//! Counting, for `cohort run --report`.

use crate::libc::{close, mmap, open};
use crate::serve::Service;
use cohort::door::thread;
use cohort::host::Generation;
use cohort::report::{Kind, MAGIC, Report, SHARDS};
use core::ffi::CStr;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

static REPORT: AtomicPtr<Report> = AtomicPtr::new(ptr::null_mut());

/// Maps the report file; false if it cannot be written or is none.
pub fn can_open(path: &CStr) -> bool {
    const O_RDWR: i32 = 2;
    const O_CLOEXEC: i32 = 0x80000;
    const READ_WRITE: i32 = 3;
    const MAP_SHARED: i32 = 1;
    if !REPORT.load(Ordering::Acquire).is_null() {
        return true;
    }
    // SAFETY: the path is a string; the file is the command's, of the right size,
    // or reading its first bytes below would end the process: its maker's magic
    // is at its beginning.
    let report = unsafe {
        let file = open(path.as_ptr(), O_RDWR | O_CLOEXEC);
        if file < 0 {
            return false;
        }
        let at = mmap(
            ptr::null_mut(),
            size_of::<Report>(),
            READ_WRITE,
            MAP_SHARED,
            file,
            0,
        );
        close(file);
        if at as usize == usize::MAX {
            return false;
        }
        at.cast::<Report>()
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
    }
}

/// Counts one acquisition.
#[cold]
pub fn count(kind: Kind, contended: bool) {
    if let Some(report) = report() {
        // Neighbouring threads' words are some kilobytes apart.
        let shard = (ptr::from_ref(thread()) as usize >> 12) % SHARDS;
        let counter = &report.shards[shard].kinds[kind as usize];
        counter.acquired.fetch_add(1, Ordering::Relaxed);
        if contended {
            counter.contended.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The process's threads that wait for a mutex.
static WAITING: AtomicU32 = AtomicU32::new(0);

/// The process that they are of.
static WAITING_OF: Generation = Generation::new();

/// Counts a thread among those that wait while `wait` lasts.
#[cold]
pub fn waiting<R>(wait: impl FnOnce() -> R) -> R {
    WAITING_OF.settle(|| WAITING.store(0, Ordering::Relaxed));
    let waiters = WAITING.fetch_add(1, Ordering::Relaxed) + 1;
    if let Some(report) = report() {
        let most = &report.memory.waiters;
        most.fetch_max(waiters, Ordering::Relaxed);
    }
    let result = wait();
    WAITING.fetch_sub(1, Ordering::Relaxed);
    result
}

/// Notes what the process's mutexes needed so far.
#[cold]
pub fn note_needs(service: &Service) {
    if let Some(report) = report() {
        let needs = (service.needs)();
        let memory = &report.memory;
        memory
            .bytes
            .fetch_max(needs.bytes as u64, Ordering::Relaxed);
        memory.inflated.fetch_max(needs.inflated, Ordering::Relaxed);
    }
}
