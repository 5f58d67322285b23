//! A thread's place in the file of events, for `cohort record`, and the file.
//!
//! A thread maps a chunk of the file and writes its events there, each by a few stores. A full chunk costs
//! a few system calls, no lock function, and no memory of the program's allocator.

use super::cpu::cpu_time;
use super::file;
use crate::filter;
use crate::libc::{close, getpid, map_at, open, read, say_texts, unmap};
use crate::next::observed;
use cohort::door::{now, system_call, thread_id};
use cohort::records::{
    CHUNK, Chunk, Content, EVENTS, RawEvent, Sort, TRACE_FILE, TRACE_HEAD, TraceHead,
};
use core::cell::Cell;
use core::ffi::{CStr, c_int};
use core::ptr;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32};

/// Nanoseconds between two events after which the kernel is asked how long the thread ran.
pub const LONG: u64 = 50_000;

/// The shortest absence that is recorded; interrupts are shorter.
const ABSENT: u64 = 10_000;

/// A thread's place in the file, and its times. All zero at first.
#[repr(C)]
pub struct Tracing {
    /// Its number among all recorded threads.
    number: Cell<u32>,
    /// The C library's name of it.
    pthread: Cell<u64>,
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

/// The number of this process image, its chunks so far, and its generation.
static IMAGE: AtomicU32 = AtomicU32::new(0);
static CHUNKS: AtomicU32 = AtomicU32::new(0);
static OF: AtomicU32 = AtomicU32::new(0);

/// The key that makes the C library report a thread's end, plus one.
pub static KEY: AtomicU32 = AtomicU32::new(0);

/// The file's head, in a recorded process.
pub fn head() -> Option<&'static TraceHead> {
    // SAFETY: null, or mapped permanently.
    unsafe { HEAD.load(Acquire).as_ref() }
}

/// Opens the file in that folder, for a process image of that generation; false if it cannot be written.
/// Several threads may begin concurrently.
pub fn begin(folder: &CStr, here: u32) -> bool {
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
    if let Some(head) = head()
        && OF.swap(here, AcqRel) != here
    {
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

/// An event without a duration.
#[inline(always)]
pub fn event(sort: Sort, object: usize, at: u64) -> RawEvent {
    RawEvent {
        sort,
        site: 0,
        object: object as u64,
        flags: 0,
        at,
        lasted: 0,
    }
}

#[cold]
fn drop_event() {
    if let Some(head) = head() {
        head.dropped.fetch_add(1, Relaxed);
    }
}

impl Tracing {
    /// Prepares a thread that has just got a record of this process. In a forked child, its chunk is the
    /// parent's.
    pub fn begin_thread(&self, pthread: u64) {
        self.pthread.set(pthread);
        let number = head().map_or(0, |head| head.threads.fetch_add(1, Relaxed));
        self.number.set(number);
        self.chunk.set(ptr::null());
        self.is_busy.set(false);
        self.is_full.set(false);
        self.last.set(0);
        self.asked.set(0);
        let key = KEY.load(Relaxed);
        if key != 0 {
            // SAFETY: the key is this library's; any value but null makes the C library call `ended`.
            unsafe { observed::pthread_setspecific(key - 1, 1) };
        }
    }

    /// Begins a window in this thread.
    pub fn begin_window(&self, watch: u32) {
        let at = now();
        self.ask();
        self.put(event(Sort::Window, watch as usize, at));
        self.last.set(at);
    }

    /// Writes an event.
    #[inline(always)]
    pub fn put(&self, event: RawEvent) {
        if self.is_busy.replace(true) {
            drop_event();
            return;
        }
        let chunk = self.chunk.get();
        if chunk.is_null() || self.used.get() as usize == EVENTS {
            self.put_into_next(chunk, event);
        } else {
            self.write(chunk, event);
        }
        self.is_busy.set(false);
    }

    /// Writes an event into a chunk with room.
    #[inline(always)]
    fn write(&self, chunk: *const Chunk, event: RawEvent) {
        // SAFETY: null, or mapped by this thread.
        let Some(chunk) = (unsafe { chunk.as_ref() }) else {
            return drop_event();
        };
        let used = self.used.get();
        for (place, word) in chunk.events[used as usize].iter().zip(event.to_words()) {
            place.store(word, Relaxed);
        }
        self.used.set(used + 1);
        chunk.used.store(used + 1, Release);
    }

    /// Writes an event into the thread's next chunk. The program does not compute meanwhile.
    #[cold]
    #[inline(never)]
    fn put_into_next(&self, old: *const Chunk, event: RawEvent) {
        let began = now();
        let chunk = self.next_chunk(old);
        self.write(chunk, event);
        if !chunk.is_null() {
            // The thread may have slept for the lock of the process's mappings: no later look at its CPU
            // time may count that again, as the program's sleep.
            self.ask();
            let absence = RawEvent {
                sort: Sort::Preempted,
                lasted: self.asked_at(began) - began,
                ..event
            };
            self.write(chunk, absence);
        }
    }

    /// Takes the thread's next chunk and returns the old one; null if there is no room.
    fn next_chunk(&self, old: *const Chunk) -> *const Chunk {
        // A filter may kill for the system calls below.
        if self.is_full.get() || filter::is_there() {
            return ptr::null();
        }
        let Some(head) = head() else {
            return ptr::null();
        };
        let began = cpu_time();
        let number = CHUNKS.fetch_add(1, Relaxed) + 1;
        if number.is_power_of_two() {
            self.keep_maps(head);
        }
        let chunk = self.take(head, Content::Events);
        if !old.is_null() {
            unmap(old.cast_mut().cast(), CHUNK);
        }
        self.used.set(0);
        self.is_full.set(chunk.is_none());
        let chunk = chunk.map_or(ptr::null(), ptr::from_ref);
        self.chunk.set(chunk);
        head.taking.fetch_add(cpu_time() - began, Relaxed);
        chunk
    }

    /// Maps a new chunk.
    fn take(&self, head: &TraceHead, content: Content) -> Option<&'static Chunk> {
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
        chunk.number.store(self.number.get(), Relaxed);
        chunk.pthread.store(self.pthread.get(), Relaxed);
        chunk.content.store(content as u32, Release);
        Some(chunk)
    }

    /// Stores the list of mappings, by which the command names addresses.
    #[cold]
    fn keep_maps(&self, head: &TraceHead) {
        const O_CLOEXEC: c_int = 0o2_000_000;
        let file = open(c"/proc/self/maps", O_CLOEXEC, 0);
        if file < 0 {
            return;
        }
        // A line that a chunk's end cuts is written whole into the next one.
        let mut rest = [0_u8; 1024];
        let mut kept = 0;
        while let Some(chunk) = self.take(head, Content::Maps) {
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

    /// Whether it has some events and much room.
    pub fn has_room(&self) -> bool {
        (16..64).contains(&self.used.get())
    }

    /// Returns a function that drops the events from now on.
    pub fn forgetting(&self) -> impl Fn() {
        let used = self.used.get();
        move || {
            self.used.set(used);
            // SAFETY: null, or mapped by the calling thread.
            if let Some(chunk) = unsafe { self.chunk.get().as_ref() } {
                chunk.used.store(used, Release);
            }
        }
    }

    /// Leaves that time out of the present gap.
    pub fn leave_out(&self, nanoseconds: u64) {
        self.last.set(self.last.get() + nanoseconds);
    }

    /// Whether the time from the last event up to `at` is long.
    #[inline(always)]
    pub fn is_long(&self, at: u64) -> bool {
        at.saturating_sub(self.last.get()) >= LONG
    }

    /// Asks the kernel how long the thread ran, and records how long it did not: before `at`, or up to the
    /// answer. A thread that is to lose its CPU loses it at the end of a system call, such as the question.
    #[cold]
    #[inline(never)]
    pub fn record_absence(&self, at: Option<u64>) {
        let (asked, ran, lost) = (self.asked.get(), self.ran.get(), self.lost.get());
        let waited = self.waited.get();
        self.ask();
        let at = at.unwrap_or(self.asked.get());
        let gap = at.saturating_sub(self.last.get());
        let ran = self.ran.get().saturating_sub(ran);
        let absent = at.saturating_sub(asked).saturating_sub(ran + waited);
        let absent = absent.min(gap);
        if asked != 0 && absent >= ABSENT {
            let sort = if self.lost.get() == lost {
                Sort::Slept
            } else {
                Sort::Preempted
            };
            self.put(RawEvent {
                lasted: absent,
                ..event(sort, 0, at)
            });
        }
    }

    /// When the kernel was last asked; now, if that was before `since`.
    pub fn asked_at(&self, since: u64) -> u64 {
        let asked = self.asked.get();
        if asked < since { now() } else { asked }
    }

    /// Asks the kernel how long the thread ran so far.
    pub fn ask(&self) {
        #[cfg(target_arch = "x86_64")]
        const GETRUSAGE: usize = 98;
        #[cfg(target_arch = "aarch64")]
        const GETRUSAGE: usize = 165;
        const THREAD: usize = 1;
        const TRIES: usize = 3;
        /// Words of `struct rusage`; the last is the count of CPU losses.
        const WORDS: usize = 18;
        const LOST: usize = 17;
        self.waited.set(0);
        // A filter may kill for the calls.
        if filter::is_there() {
            self.asked.set(0);
            return;
        }
        let began = now();
        for _ in 0..TRIES {
            self.asked.set(now());
            // The kernel brings the times of `usage` up to date at its ticks only.
            self.ran.set(cpu_time());
            // Both times are of one moment, unless the thread lost its CPU between them.
            if now() - self.asked.get() < ABSENT {
                break;
            }
        }
        // The count comes last: a loss at the end of the calls above is in it.
        let mut usage = [0_u64; WORDS];
        {
            let usage = (&raw mut usage) as usize;
            // SAFETY: the call writes as many words.
            unsafe { system_call(GETRUSAGE, [THREAD, usage, 0, 0, 0, 0]) };
        }
        self.lost.set(usage[LOST]);
        if let Some(head) = head() {
            head.asked.fetch_add(1, Relaxed);
            // The thread may have lost its CPU meanwhile: the least counts.
            let spent = now() - began;
            let least = head.ask_price.load(Relaxed);
            if least == 0 || spent < least {
                head.ask_price.store(spent, Relaxed);
            }
        }
    }

    /// Notes the end of an operation without a wait.
    #[inline(always)]
    pub fn ends(&self, at: u64) {
        self.last.set(at);
    }

    /// Notes the end of a wait that began at that time; returns its duration. A waiter spins and sleeps,
    /// so a long wait is no measure of the time without a CPU: the kernel is asked again.
    #[inline(always)]
    pub fn waited_since(&self, at: u64) -> u64 {
        let waited = self.waited.get() + (now() - at);
        self.waited.set(waited);
        if waited >= LONG {
            self.ask();
        }
        let ended = now();
        self.last.set(ended);
        ended - at
    }
}
