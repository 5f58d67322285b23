//! Events that a recorded program's threads write, for `cohort record`: one file for all processes.
//!
//! The file begins with a [`TraceHead`]. [`Chunk`]s follow. Each belongs to one thread, which maps it
//! and fills it; an event is complete once [`Chunk::used`] covers it. What a process wrote remains
//! when it is killed.
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | [`TraceHead::limit`] | the command | chunks that the file may have |
//! | [`TraceHead::taken`] | threads | chunks taken so far |
//! | [`TraceHead::dropped`] | threads | events without room |
//! | [`Chunk::used`] | its thread | events, or bytes of text |

use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

/// Bytes of the file's head, and of a page.
pub const HEAD: usize = 4096;

/// Bytes of a chunk.
pub const CHUNK: usize = 32 << 10;

/// Words of an event.
pub const EVENT_WORDS: usize = 4;

/// Bytes of a chunk's head.
const CHUNK_HEAD: usize = 64;

/// Events of a chunk.
pub const EVENTS: usize = (CHUNK - CHUNK_HEAD) / (EVENT_WORDS * size_of::<u64>());

/// The file's name in the folder of the records.
pub const FILE: &str = "trace";

/// The first page of the file.
#[derive(Debug, Default)]
#[repr(C)]
pub struct TraceHead {
    /// The largest number of chunks.
    pub limit: AtomicU32,
    /// Chunks taken; may exceed the limit.
    pub taken: AtomicU32,
    /// Process images so far: programs that were started, and forked children.
    pub images: AtomicU32,
    /// Threads so far.
    pub threads: AtomicU32,
    /// The least CPU nanoseconds of an event, in 16ths; 0: not measured yet.
    pub price: AtomicU32,
    /// The least CPU nanoseconds of an uncontended lock operation without an event, in 16ths.
    pub operation: AtomicU32,
    /// Events that were dropped for lack of room.
    pub dropped: AtomicU64,
    /// CPU nanoseconds spent on taking chunks, and on listing the code.
    pub taking: AtomicU64,
    /// How often threads asked the kernel how long they ran, and the least nanoseconds of that; 0: never.
    pub asked: AtomicU64,
    /// See [`asked`](Self::asked).
    pub ask_price: AtomicU64,
}

/// What a chunk contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Content {
    /// Events.
    Events = 1,
    /// The process's list of mappings.
    Maps = 2,
}

/// A part of the file with one writer; zero when new.
#[derive(Debug)]
#[repr(C)]
pub struct Chunk {
    /// [`Content`], written last of this head; 0: not taken.
    pub content: AtomicU32,
    /// Events, or bytes of text.
    pub used: AtomicU32,
    /// The process image.
    pub image: AtomicU32,
    /// The process ID.
    pub process: AtomicU32,
    /// The thread's number in the kernel.
    pub thread: AtomicU32,
    /// The thread's number among all recorded threads.
    pub number: AtomicU32,
    /// The C library's name of the thread.
    pub pthread: AtomicU64,
    _rest: [u64; 4],
    /// The events, in [`RawEvent`]'s words.
    pub events: [[AtomicU64; EVENT_WORDS]; EVENTS],
}

const _: () = assert!(core::mem::offset_of!(Chunk, events) == CHUNK_HEAD);
const _: () = assert!(size_of::<Chunk>() <= CHUNK);

impl Chunk {
    /// The events' room as bytes of text.
    #[must_use]
    pub fn text(&self) -> &[AtomicU8] {
        let bytes = size_of_val(&self.events);
        // SAFETY: the same bytes, as smaller atomics; a chunk has either content.
        unsafe { core::slice::from_raw_parts(self.events.as_ptr().cast(), bytes) }
    }
}

/// The sort of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Sort {
    /// Recording begins or continues in this thread; [`RawEvent::object`]: the watch's number.
    Window = 1,
    /// An acquisition or an attempt; [`RawEvent::lasted`]: the wait.
    Acquire = 2,
    /// A release.
    Release = 3,
    /// A wait at a condition.
    Wait = 4,
    /// A signal to one waiter.
    Signal = 5,
    /// A signal to all waiters.
    Broadcast = 6,
    /// The creation of a thread; [`RawEvent::object`]: its `pthread_t`.
    Create = 7,
    /// A wait for a thread's end.
    Join = 8,
    /// A wait for a semaphore.
    Semaphore = 9,
    /// A wait at a barrier.
    Barrier = 10,
    /// The initialisation of a lock, at the call site.
    Initialise = 11,
    /// The thread slept in the time before the next event, for that long.
    Slept = 12,
    /// Other threads, or the recording, had its CPU in the time before the next event, for that long.
    Preempted = 13,
    /// The thread's end.
    End = 14,
}

impl Sort {
    /// Decodes a recorded byte.
    #[must_use]
    pub const fn of(raw: u8) -> Option<Self> {
        Some(match raw {
            1 => Self::Window,
            2 => Self::Acquire,
            3 => Self::Release,
            4 => Self::Wait,
            5 => Self::Signal,
            6 => Self::Broadcast,
            7 => Self::Create,
            8 => Self::Join,
            9 => Self::Semaphore,
            10 => Self::Barrier,
            11 => Self::Initialise,
            12 => Self::Slept,
            13 => Self::Preempted,
            14 => Self::End,
            _ => return None,
        })
    }
}

/// Flags of an event.
pub mod flag {
    /// The acquisition succeeded, or a signal ended the wait.
    pub const GOT: u16 = 1;
    /// The lock was held at the request.
    pub const CONTENDED: u16 = 2;
    /// The acquisition was one try.
    pub const TRY: u16 = 4;
    /// The acquisition had a deadline; or it ended the wait.
    pub const TIMED: u16 = 8;
    /// The acquisition follows a wait at a condition.
    pub const RELOCK: u16 = 16;
    /// The lowest bit of `How` in the flags.
    pub const HOW: u32 = 8;
}

/// An event as it is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawEvent {
    /// Its sort.
    pub sort: Sort,
    /// The call site; 0: unknown.
    pub site: u64,
    /// The lock's address, or another number of 48 bits.
    pub object: u64,
    /// [`flag`]s.
    pub flags: u16,
    /// Its beginning, in nanoseconds.
    pub at: u64,
    /// Its duration in nanoseconds.
    pub lasted: u64,
}

/// The bits of an event's object and call site.
const LOW: u64 = (1 << 48) - 1;

impl RawEvent {
    /// Encodes it.
    #[must_use]
    #[inline(always)]
    pub const fn to_words(self) -> [u64; EVENT_WORDS] {
        [
            self.site & LOW | (self.sort as u64) << 56,
            self.object & LOW | (self.flags as u64) << 48,
            self.at,
            self.lasted,
        ]
    }

    /// Decodes it; `None` if it is not complete.
    #[must_use]
    pub const fn of_words(words: [u64; EVENT_WORDS]) -> Option<Self> {
        let [site, object, at, lasted] = words;
        let Some(sort) = Sort::of((site >> 56) as u8) else {
            return None;
        };
        Some(Self {
            sort,
            site: site & LOW,
            object: object & LOW,
            flags: (object >> 48) as u16,
            at,
            lasted,
        })
    }
}

#[cfg(all(test, not(checker)))]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_the_same_in_words() {
        for sort in 1..=14 {
            let event = RawEvent {
                sort: Sort::of(sort).expect("it is one"),
                site: 0x7fff_1234_5678,
                object: 0x5555_8765_4321,
                flags: flag::GOT | flag::RELOCK | 6 << flag::HOW,
                at: u64::MAX,
                lasted: 17,
            };
            assert_eq!(RawEvent::of_words(event.to_words()), Some(event));
        }
        assert_eq!(RawEvent::of_words([0; EVENT_WORDS]), None);
    }
}
