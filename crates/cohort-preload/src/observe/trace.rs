//! Tracing, for `cohort record`: each lock operation is an event in a file.
//!
//! A thread maps a chunk of the file and writes its events there, each by a few stores. So nothing is
//! written at its end, and what it wrote stays when the process is killed. A full chunk costs a few
//! system calls, no lock function, and no memory of the program's allocator.
//!
//! An acquisition reads the clock once if the lock is free, else twice, and a release reads it once.
//! After a long time between two events the thread also asks the kernel how long it ran: it may have
//! slept, or lost its CPU, and neither is computation.
//!
//! The command opens and closes windows of recording. Outside them an operation reads one word. Locks
//! that a thread holds at the beginning of a window are unknown.

use super::own::{Caller, Own, WAS_TAKEN, cpu_time, own, tracing};
use super::taken::is_locked;
use super::{RECORDED, file, price};
use crate::choice::variable_c;
use crate::filter;
use crate::libc::{ETIMEDOUT, close, getpid, map_at, open, read, say_texts, unmap};
use crate::next::observed;
use cohort::door::{now, system_call, thread_id};
use cohort::records::{
    CHUNK, Chunk, Content, Doing, EVENTS, How, RawEvent, Sort, TRACE_FILE, TRACE_HEAD, TraceHead,
    flag,
};
use core::cell::Cell;
use core::ffi::{CStr, c_int, c_void};
use core::ptr;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32};

/// Nanoseconds between two events after which the kernel is asked how long the thread ran.
const LONG: u64 = 50_000;

/// The shortest absence that is recorded: the kernel counts microseconds.
const ABSENT: u64 = 10_000;

/// A thread's place in the file, and its times. All zero at first.
#[repr(C)]
pub struct Tracing {
    /// Its number among all recorded threads.
    number: Cell<u32>,
    /// Its chunk; null: none yet.
    chunk: Cell<*const Chunk>,
    /// Its events there.
    used: Cell<u32>,
    /// Whether it is writing: a signal's handler must not.
    is_busy: Cell<bool>,
    /// Whether the file has no room left.
    is_full: Cell<bool>,
    /// The end of its last event.
    last: Cell<u64>,
    /// When the kernel was last asked, and what it said: the CPU time, and how often the thread lost
    /// its CPU.
    asked: Cell<u64>,
    ran: Cell<u64>,
    lost: Cell<u64>,
    /// Time in waits since then.
    waited: Cell<u64>,
}

/// The file's head; null before the first use.
static HEAD: AtomicPtr<TraceHead> = AtomicPtr::new(ptr::null_mut());

/// The file's path, ended by zero.
static PATH: [AtomicU8; 512] = [const { AtomicU8::new(0) }; 512];

/// The number of this process image, and its chunks so far.
static IMAGE: AtomicU32 = AtomicU32::new(0);
static CHUNKS: AtomicU32 = AtomicU32::new(0);

/// Whether the price of an event has been measured in this process.
static IS_PRICED: AtomicBool = AtomicBool::new(false);

/// The key that makes the C library report a thread's end, plus one.
static KEY: AtomicU32 = AtomicU32::new(0);

/// The file's head, in a recorded process.
fn head() -> Option<&'static TraceHead> {
    // SAFETY: null, or mapped permanently.
    unsafe { HEAD.load(Acquire).as_ref() }
}

/// Creates the key, if this process is recorded. Called while the library is loaded: a later key
/// could be one for which the C library allocates.
pub fn prepare() {
    if variable_c(RECORDED).is_none() {
        return;
    }
    let mut key = 0;
    // SAFETY: the key is writable, and the function lives as long as the program.
    if unsafe { observed::pthread_key_create(&raw mut key, ended as *const () as usize) } == 0 {
        KEY.store(key + 1, Relaxed);
    }
}

/// Runs at the end of a thread with a record.
unsafe extern "C" fn ended(_: *mut c_void) {
    if let Some(own) = own() {
        let at = arrives(&own);
        put(&own, event(Sort::End, 0, at));
    }
}

/// Opens the file in that folder, for a new process image; false if it cannot be written.
pub fn begin(folder: &CStr) -> bool {
    const O_RDWR: c_int = 2;
    const O_CLOEXEC: c_int = 0o2_000_000;
    const MAP_SHARED: c_int = 1;
    if head().is_none() {
        let names = [folder.to_bytes(), b"/", TRACE_FILE.as_bytes()];
        let bytes = names.iter().flat_map(|part| part.iter());
        // The last byte stays zero.
        for (place, byte) in PATH[..PATH.len() - 1].iter().zip(bytes) {
            place.store(*byte, Relaxed);
        }
        let file = open_file(O_RDWR | O_CLOEXEC);
        let mapped = map_at(TRACE_HEAD, MAP_SHARED, file, 0);
        close(file);
        let Some(mapped) = mapped else {
            say_texts(&["cohort: cannot record this process: its trace cannot be opened\n"]);
            return false;
        };
        HEAD.store(mapped.cast(), Release);
    }
    if let Some(head) = head() {
        IMAGE.store(head.images.fetch_add(1, Relaxed) + 1, Relaxed);
        CHUNKS.store(0, Relaxed);
    }
    true
}

fn open_file(flags: c_int) -> c_int {
    // SAFETY: the path is a string of zero-terminated bytes that no thread writes any more.
    let path = unsafe { CStr::from_ptr(PATH.as_ptr().cast()) };
    open(path, flags, 0)
}

/// Prepares a thread that has just got a record of this process. In a forked child, its chunk is the
/// parent's.
pub fn begin_thread() {
    let tracing = tracing();
    let number = head().map_or(0, |head| head.threads.fetch_add(1, Relaxed));
    tracing.number.set(number);
    tracing.chunk.set(ptr::null());
    tracing.is_full.set(false);
    tracing.last.set(0);
    tracing.asked.set(0);
    let key = KEY.load(Relaxed);
    if key != 0 {
        // SAFETY: the key is this library's; any value but null makes the C library call `ended`.
        unsafe { observed::pthread_setspecific(key - 1, 1) };
    }
}

/// Begins a window in this thread.
pub fn begin_window(own: &Own) {
    let at = now();
    ask();
    put(own, event(Sort::Window, own.watch as usize, at));
    tracing().last.set(at);
}

/// An event without a duration.
#[inline(always)]
fn event(sort: Sort, object: usize, at: u64) -> RawEvent {
    RawEvent {
        sort,
        site: 0,
        object: object as u64,
        flags: 0,
        at,
        lasted: 0,
    }
}

/// Writes an event.
#[inline(always)]
fn put(own: &Own, event: RawEvent) {
    let tracing = tracing();
    if tracing.is_busy.replace(true) {
        drop_event();
        return;
    }
    let used = tracing.used.get() as usize;
    let mut chunk = tracing.chunk.get();
    if chunk.is_null() || used == EVENTS {
        chunk = next_chunk(own, chunk);
    }
    // SAFETY: null, or mapped by this thread.
    if let Some(chunk) = unsafe { chunk.as_ref() } {
        let used = tracing.used.get();
        for (place, word) in chunk.events[used as usize].iter().zip(event.to_words()) {
            place.store(word, Relaxed);
        }
        tracing.used.set(used + 1);
        chunk.used.store(used + 1, Release);
    } else {
        drop_event();
    }
    tracing.is_busy.set(false);
}

#[cold]
fn drop_event() {
    if let Some(head) = head() {
        head.dropped.fetch_add(1, Relaxed);
    }
}

/// Takes the thread's next chunk and returns the old one; null if there is no room.
#[cold]
#[inline(never)]
fn next_chunk(own: &Own, old: *const Chunk) -> *const Chunk {
    let tracing = tracing();
    // A filter may kill for the system calls below.
    if tracing.is_full.get() || filter::is_there() {
        return ptr::null();
    }
    let Some(head) = head() else {
        return ptr::null();
    };
    let began = cpu_time();
    let number = CHUNKS.fetch_add(1, Relaxed) + 1;
    if number.is_power_of_two() {
        keep_maps(own, head);
    }
    let chunk = take(own, head, Content::Events);
    if !old.is_null() {
        unmap(old.cast_mut().cast(), CHUNK);
    }
    tracing.used.set(0);
    tracing.is_full.set(chunk.is_none());
    let chunk = chunk.map_or(ptr::null(), ptr::from_ref);
    tracing.chunk.set(chunk);
    head.taking.fetch_add(cpu_time() - began, Relaxed);
    chunk
}

/// Maps a new chunk.
fn take(own: &Own, head: &TraceHead, content: Content) -> Option<&'static Chunk> {
    const O_RDWR: c_int = 2;
    const O_CLOEXEC: c_int = 0o2_000_000;
    const SHARED_AND_PRESENT: c_int = 0x8001;
    if head.taken.load(Relaxed) >= head.limit.load(Relaxed) {
        return None;
    }
    let number = head.taken.fetch_add(1, AcqRel);
    let offset = TRACE_HEAD + number as usize * CHUNK;
    if number >= head.limit.load(Relaxed) || !file::may_make(offset + CHUNK) {
        return None;
    }
    let file = open_file(O_RDWR | O_CLOEXEC);
    if file < 0 {
        return None;
    }
    // Without a reserved page, a store would end the process.
    let mapped = file::reserve(file, offset, CHUNK)
        .then(|| map_at(CHUNK, SHARED_AND_PRESENT, file, offset))
        .flatten();
    close(file);
    // SAFETY: mapped just above, in its length; all its bytes are atomics, for which zero is valid.
    let chunk: &Chunk = unsafe { &*mapped?.cast() };
    chunk.image.store(IMAGE.load(Relaxed), Relaxed);
    chunk.process.store(getpid(), Relaxed);
    chunk.thread.store(thread_id(), Relaxed);
    chunk.number.store(tracing().number.get(), Relaxed);
    chunk
        .pthread
        .store(own.thread.pthread.load(Relaxed), Relaxed);
    chunk.content.store(content as u32, Release);
    Some(chunk)
}

/// Stores the list of mappings, by which the command names addresses.
#[cold]
fn keep_maps(own: &Own, head: &TraceHead) {
    const O_CLOEXEC: c_int = 0o2_000_000;
    let file = open(c"/proc/self/maps", O_CLOEXEC, 0);
    if file < 0 {
        return;
    }
    // A line that a chunk's end cuts is written whole into the next one.
    let mut rest = [0_u8; 1024];
    let mut kept = 0;
    while let Some(chunk) = take(own, head, Content::Maps) {
        let text = chunk.text();
        for (to, byte) in text.iter().zip(&rest[..kept]) {
            to.store(*byte, Relaxed);
        }
        let mut length = kept;
        let mut is_over = false;
        while length < text.len() && !is_over {
            let room = text[length..].as_ptr().cast::<u8>().cast_mut();
            // SAFETY: the data goes into bytes that are atomics.
            let got = unsafe { read(file, room, text.len() - length) };
            is_over = got <= 0;
            length += usize::try_from(got).unwrap_or(0);
        }
        let is_end = |byte: &AtomicU8| byte.load(Relaxed) == b'\n';
        let whole = text[..length].iter().rposition(is_end);
        let whole = whole.map_or(0, |last| last + 1);
        kept = (length - whole).min(rest.len());
        for (to, byte) in rest.iter_mut().zip(&text[whole..whole + kept]) {
            *to = byte.load(Relaxed);
        }
        chunk.used.store(whole as u32, Release);
        unmap(ptr::from_ref(chunk).cast_mut().cast(), CHUNK);
        if is_over {
            break;
        }
    }
    close(file);
}

/// Measures the price of an event, in a chunk with some events and much room.
#[cold]
#[inline(never)]
fn measure() {
    let tracing = tracing();
    let used = tracing.used.get();
    let Some(head) = head() else { return };
    if IS_PRICED.swap(true, Relaxed) {
        return;
    }
    let forget = || {
        tracing.used.set(used);
        // SAFETY: the calling thread's chunk, which has events.
        unsafe { &*tracing.chunk.get() }.used.store(used, Release);
    };
    if let Some(price) = price::of_an_event(&forget) {
        head.price.store(price.max(1), Relaxed);
    }
    forget();
}

/// The time at which an operation begins. Records an absence of the thread before it.
#[inline(always)]
fn arrives(own: &Own) -> u64 {
    let tracing = tracing();
    if !IS_PRICED.load(Relaxed) && (16..64).contains(&tracing.used.get()) {
        let began = now();
        measure();
        ask();
        tracing.last.set(tracing.last.get() + (now() - began));
    }
    let at = now();
    if at.saturating_sub(tracing.last.get()) < LONG {
        return at;
    }
    record_absence(own, at);
    now()
}

/// Asks the kernel how long the thread ran, and records how long it did not, before `at`.
#[cold]
#[inline(never)]
fn record_absence(own: &Own, at: u64) {
    let tracing = tracing();
    let gap = at.saturating_sub(tracing.last.get());
    let (asked, ran, lost) = (tracing.asked.get(), tracing.ran.get(), tracing.lost.get());
    let waited = tracing.waited.get();
    ask();
    let ran = tracing.ran.get() - ran;
    let absent = at.saturating_sub(asked).saturating_sub(ran + waited);
    let absent = absent.min(gap);
    if asked != 0 && absent >= ABSENT {
        let sort = if tracing.lost.get() == lost {
            Sort::Slept
        } else {
            Sort::Preempted
        };
        put(
            own,
            RawEvent {
                lasted: absent,
                ..event(sort, 0, at)
            },
        );
    }
}

/// Asks the kernel how long the thread ran so far.
fn ask() {
    #[cfg(target_arch = "x86_64")]
    const GETRUSAGE: usize = 98;
    #[cfg(target_arch = "aarch64")]
    const GETRUSAGE: usize = 165;
    const THREAD: usize = 1;
    /// Words of `struct rusage`: two times in seconds and microseconds, and counts.
    const WORDS: usize = 18;
    const LOST: usize = 17;
    let began = now();
    let mut usage = [0_u64; WORDS];
    // A filter may kill for the call.
    if !filter::is_there() {
        let usage = (&raw mut usage) as usize;
        // SAFETY: the call writes as many words.
        unsafe { system_call(GETRUSAGE, [THREAD, usage, 0, 0, 0, 0]) };
    }
    let tracing = tracing();
    let microseconds = (usage[0] + usage[2]) * 1_000_000 + usage[1] + usage[3];
    let at = now();
    tracing.asked.set(at);
    tracing.ran.set(microseconds * 1_000);
    tracing.lost.set(usage[LOST]);
    tracing.waited.set(0);
    if let Some(head) = head() {
        head.asking.fetch_add(at - began, Relaxed);
    }
}

/// Notes the end of an operation without a wait.
#[inline(always)]
fn ends(at: u64) {
    tracing().last.set(at);
}

/// Notes the end of a wait that began at that time; returns its duration. A waiter spins and sleeps,
/// so a long wait is no measure of the time without a CPU: the kernel is asked again.
#[inline(always)]
fn waited_since(at: u64) -> u64 {
    let tracing = tracing();
    let waited = tracing.waited.get() + (now() - at);
    tracing.waited.set(waited);
    if waited >= LONG {
        ask();
    }
    let ended = now();
    tracing.last.set(ended);
    ended - at
}

/// Runs a lock operation and records it.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "three steps of one operation")]
pub fn locking(
    own: &Own,
    doing: Doing,
    how: How,
    object: usize,
    caller: &Caller,
    begin: impl FnOnce() -> Option<bool>,
    is_taken: impl FnOnce() -> Option<bool>,
    lock: impl FnOnce(Option<bool>) -> c_int,
) -> c_int {
    let at = arrives(own);
    let begun = begin();
    let (result, lasted, contended) = if begun == Some(true) {
        ends(at);
        (0, 0, false)
    } else {
        // Marks of sleepers can make the fast path fail although the lock is free.
        let contended = is_taken() == Some(true);
        let result = lock(begun);
        (result, waited_since(at), contended)
    };
    let mut flags = (how as u16) << flag::HOW;
    if is_locked(result) {
        flags |= flag::GOT;
    }
    if contended {
        flags |= flag::CONTENDED;
    }
    flags |= match doing {
        Doing::Nothing => flag::TRY,
        Doing::Timed => flag::TIMED,
        _ => 0,
    };
    put(
        own,
        RawEvent {
            site: caller.returns_to as u64,
            flags,
            lasted,
            ..event(Sort::Acquire, object, at)
        },
    );
    result
}

/// Unlocks, and records it.
#[inline(always)]
pub fn unlocking(own: &Own, object: usize, unlock: impl FnOnce() -> c_int) -> c_int {
    let at = now();
    let result = unlock();
    if result == 0 {
        if at.saturating_sub(tracing().last.get()) >= LONG {
            record_absence(own, at);
        }
        put(own, event(Sort::Release, object, at));
        ends(at);
    }
    result
}

/// Records that a lock has been initialised.
pub fn initialised(own: &Own, how: How, object: usize, caller: &Caller) {
    put(
        own,
        RawEvent {
            site: caller.returns_to as u64,
            flags: (how as u16) << flag::HOW,
            ..event(Sort::Initialise, object, now())
        },
    );
}

/// Waits at a condition: a release of the mutex, the wait, and another acquisition.
#[inline(always)]
pub fn waiting(
    own: &Own,
    doing: Doing,
    cond: usize,
    how: How,
    mutex: usize,
    caller: &Caller,
    wait: impl FnOnce() -> c_int,
) -> c_int {
    let at = arrives(own);
    let knows_mutex = how != How::Condition;
    if knows_mutex {
        put(own, event(Sort::Release, mutex, at));
    }
    own.begins(doing, how, cond, mutex, caller);
    let result = wait();
    let granted = at + waited_since(at);
    let told = own.thread.told.load(Acquire);
    own.ends();
    // The C library's conditions do not report the notification's time.
    let over = if told == 0 {
        granted
    } else {
        (told & !WAS_TAKEN).clamp(at, granted)
    };
    let site = caller.returns_to as u64;
    let flags = match result {
        0 => flag::GOT,
        ETIMEDOUT => flag::TIMED,
        _ => 0,
    };
    let waited = RawEvent {
        site,
        flags,
        lasted: over - at,
        ..event(Sort::Wait, cond, at)
    };
    put(own, waited);
    if knows_mutex {
        let contended = if told & WAS_TAKEN != 0 {
            flag::CONTENDED
        } else {
            0
        };
        let relocked = RawEvent {
            site,
            flags: (how as u16) << flag::HOW | flag::GOT | flag::RELOCK | contended,
            lasted: granted - over,
            ..event(Sort::Acquire, mutex, over)
        };
        put(own, relocked);
    }
    result
}

/// Records a signal that is about to be given.
pub fn signalling(own: &Own, condition: usize, to_all: bool) {
    let at = arrives(own);
    let sort = if to_all {
        Sort::Broadcast
    } else {
        Sort::Signal
    };
    put(own, event(sort, condition, at));
    ends(at);
}

/// Creates a thread; `thread` is its name once there is one.
///
/// # Safety
/// `thread` is readable if `create` returns 0.
pub unsafe fn creating(own: &Own, thread: *const usize, create: impl FnOnce() -> c_int) -> c_int {
    let at = arrives(own);
    let result = create();
    if result == 0 {
        // SAFETY: the caller's.
        put(own, event(Sort::Create, unsafe { thread.read() }, at));
        ends(at);
    }
    result
}

/// Waits for another thread's end, a semaphore or a barrier.
pub fn sleeping(own: &Own, doing: Doing, object: usize, sleep: impl FnOnce() -> c_int) -> c_int {
    let sort = match doing {
        Doing::Join => Sort::Join,
        Doing::Barrier => Sort::Barrier,
        _ => Sort::Semaphore,
    };
    let at = arrives(own);
    let result = sleep();
    let lasted = waited_since(at);
    put(
        own,
        RawEvent {
            lasted,
            ..event(sort, object, at)
        },
    );
    result
}
