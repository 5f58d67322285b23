//! The file that threads of a recorded program write their lock operations into.

use crate::problem::Problem;
use cohort::records::{
    CHUNK, Chunk, Content, EVENT_WORDS, EVENTS, RawEvent, TRACE_FILE, TRACE_HEAD, TraceHead,
};
use rustix::fs::{FallocateFlags, fallocate};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::fs::{File, Permissions};
use std::mem::offset_of;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::ptr;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

/// Creates the file in that folder, with room for `limit` chunks.
///
/// # Errors
/// There is no space.
pub fn make(folder: &Path, limit: u32) -> Result<(), Problem> {
    let create = || -> std::io::Result<()> {
        let path = folder.join(TRACE_FILE);
        let file = File::create_new(&path)?;
        // The program may run as another user; overrides this process's umask.
        std::fs::set_permissions(&path, Permissions::from_mode(0o666))?;
        fallocate(&file, FallocateFlags::empty(), 0, TRACE_HEAD as u64)?;
        let at = offset_of!(TraceHead, limit) as u64;
        file.write_all_at(&limit.to_ne_bytes(), at)
    };
    create().map_err(|error| {
        Problem::refused(format!(
            "cannot create a file for the events in {} ({error}); set TMPDIR to a folder with free \
             space",
            folder.display()
        ))
    })
}

/// The file, while it grows and afterwards.
pub struct Traced {
    file: File,
    head: &'static TraceHead,
}

/// A chunk as it is at present.
pub struct Read {
    /// The process image.
    pub image: u32,
    /// The process.
    pub process: u32,
    /// The thread's number in the kernel.
    pub thread: u32,
    /// Its number among all recorded threads.
    pub number: u32,
    /// The C library's name of it.
    pub pthread: u64,
    /// The content.
    pub content: Part,
}

/// A chunk's content.
pub enum Part {
    /// Events.
    Events(Vec<RawEvent>),
    /// A part of a list of mappings.
    Maps(String),
}

impl Drop for Traced {
    fn drop(&mut self) {
        // SAFETY: mapped by `open`, in this length; every reader borrows this.
        let unmapped = unsafe {
            munmap(
                ptr::from_ref(self.head).cast_mut().cast(),
                size_of::<TraceHead>(),
            )
        };
        debug_assert!(unmapped.is_ok(), "{unmapped:?}");
    }
}

impl Traced {
    /// Opens the file in that folder.
    ///
    /// # Errors
    /// It cannot be mapped.
    pub fn open(folder: &Path) -> std::io::Result<Self> {
        let path = folder.join(TRACE_FILE);
        let file = File::options().read(true).write(true).open(path)?;
        // SAFETY: the file has that length, and never gets shorter; all its bytes are atomics.
        let head: &TraceHead = unsafe {
            let at = mmap(
                ptr::null_mut(),
                size_of::<TraceHead>(),
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                &file,
                0,
            )?;
            &*at.cast()
        };
        Ok(Self { file, head })
    }

    /// The file's head.
    pub fn head(&self) -> &TraceHead {
        self.head
    }

    /// Nanoseconds of an event and of a lock operation.
    pub fn spent(&self) -> u64 {
        let sixteenths = self.head.price.load(Relaxed) + self.head.operation.load(Relaxed);
        u64::from(sixteenths.div_ceil(16))
    }

    /// The number of chunks.
    pub fn chunks(&self) -> u32 {
        let taken = self.head.taken.load(Acquire);
        taken.min(self.head.limit.load(Relaxed))
    }

    /// Whether there is no room for another chunk.
    pub fn is_full(&self) -> bool {
        self.chunks() >= self.head.limit.load(Relaxed)
    }

    /// The number of events in a chunk, so far; none if it has no events at all.
    pub fn events_in(&self, number: u32) -> Option<u32> {
        let mut head = [0; 8];
        self.file.read_exact_at(&mut head, place(number)).ok()?;
        let word =
            |at: usize| u32::from_ne_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        (word(offset_of!(Chunk, content)) == Content::Events as u32)
            .then(|| word(offset_of!(Chunk, used)).min(EVENTS as u32))
    }

    /// A chunk; none if its thread was stopped before it had any content.
    pub fn read(&self, number: u32) -> Option<Read> {
        let mut bytes = vec![0; CHUNK];
        self.file.read_exact_at(&mut bytes, place(number)).ok()?;
        let four = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let eight = |at: usize| Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let used = four(offset_of!(Chunk, used))? as usize;
        let first = offset_of!(Chunk, events);
        let content = match four(offset_of!(Chunk, content))? {
            content if content == Content::Events as u32 => {
                let event = |number: usize| {
                    let at = first + number * EVENT_WORDS * 8;
                    let mut words = [0; EVENT_WORDS];
                    for (place, word) in words.iter_mut().enumerate() {
                        *word = eight(at + place * 8)?;
                    }
                    RawEvent::of_words(words)
                };
                Part::Events((0..used.min(EVENTS)).filter_map(event).collect())
            }
            content if content == Content::Maps as u32 => {
                let text = bytes.get(first..first.checked_add(used)?)?;
                Part::Maps(String::from_utf8_lossy(text).into_owned())
            }
            _ => return None,
        };
        Some(Read {
            image: four(offset_of!(Chunk, image))?,
            process: four(offset_of!(Chunk, process))?,
            thread: four(offset_of!(Chunk, thread))?,
            number: four(offset_of!(Chunk, number))?,
            pthread: eight(offset_of!(Chunk, pthread))?,
            content,
        })
    }
}

fn place(number: u32) -> u64 {
    TRACE_HEAD as u64 + u64::from(number) * CHUNK as u64
}
