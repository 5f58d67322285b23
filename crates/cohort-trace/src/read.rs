//! Reads a trace, block by block.

use crate::event::{self, Bounds};
use crate::varint::Bytes;
use crate::{End, Error, Event, Info, LONGEST, Lock, MAGIC, Thread, VERSION};
use std::io::{ErrorKind, Read};

/// A block's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// What was recorded.
    Info(Info),
    /// Further call sites.
    Sites(Vec<String>),
    /// Further locks.
    Locks(Vec<Lock>),
    /// Further threads.
    Threads(Vec<Thread>),
    /// Consecutive events of a thread.
    Events {
        /// The thread's number.
        thread: u32,
        /// The time before the first one's gap, in nanoseconds of the host's clock.
        begin: u64,
        /// The events.
        events: Vec<Event>,
    },
    /// The trace's end.
    End(End),
}

/// Reads a trace. Keeps one block in memory.
pub struct Reader<R: Read> {
    from: R,
    offset: u64,
    bounds: Bounds,
    threads: u32,
    is_whole: bool,
    is_over: bool,
}

/// Reads until the buffer is full or the file ends; returns the number of bytes.
fn fill(from: &mut impl Read, buffer: &mut [u8]) -> Result<usize, Error> {
    let mut filled = 0;
    while filled < buffer.len() {
        match from.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(more) => filled += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(filled)
}

impl<R: Read> Reader<R> {
    /// Begins to read a trace.
    ///
    /// # Errors
    /// It is no trace, or one of another version.
    pub fn new(mut from: R) -> Result<Self, Error> {
        let mut first = [0; MAGIC.len() + 1];
        if fill(&mut from, &mut first)? < first.len() || first[..MAGIC.len()] != MAGIC {
            return Err(Error::Foreign);
        }
        if first[MAGIC.len()] != VERSION {
            return Err(Error::Version(first[MAGIC.len()]));
        }
        Ok(Self {
            from,
            offset: first.len() as u64,
            bounds: Bounds::default(),
            threads: 0,
            is_whole: false,
            is_over: false,
        })
    }

    /// Whether the trace's end has been read: false after the last block of a file cut short.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// The offset of the next block.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The next block; `None` after the last whole one.
    ///
    /// # Errors
    /// The block is damaged, or the file cannot be read.
    pub fn next_item(&mut self) -> Result<Option<Item>, Error> {
        if self.is_over {
            return Ok(None);
        }
        let offset = self.offset;
        let damaged = |why| Error::Damaged { offset, why };
        let mut head = [0; 9];
        if fill(&mut self.from, &mut head)? < head.len() {
            self.is_over = true;
            return Ok(None);
        }
        let four =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let length = four(1) as usize;
        if length > LONGEST {
            return Err(damaged("a block is longer than any that is written"));
        }
        let mut payload = vec![0; length];
        if fill(&mut self.from, &mut payload)? < length {
            self.is_over = true;
            return Ok(None);
        }
        if crc32fast::hash(&payload) != four(5) {
            return Err(damaged("a block's checksum is wrong"));
        }
        let item = self.item(head[0], &payload).map_err(damaged)?;
        self.offset += (head.len() + length) as u64;
        Ok(Some(item))
    }

    fn item(&mut self, tag: u8, payload: &[u8]) -> Result<Item, &'static str> {
        let mut bytes = Bytes::new(payload);
        let item = match tag {
            b'I' => Item::Info(Info::read(&mut bytes)?),
            b'S' => {
                let sites = all(&mut bytes, |bytes| bytes.text())?;
                self.bounds.sites = grown(self.bounds.sites, sites.len())?;
                Item::Sites(sites)
            }
            b'L' => {
                let locks = all(&mut bytes, Lock::read)?;
                self.bounds.locks = grown(self.bounds.locks, locks.len())?;
                Item::Locks(locks)
            }
            b'T' => {
                let threads = all(&mut bytes, Thread::read)?;
                self.threads = grown(self.threads, threads.len())?;
                Item::Threads(threads)
            }
            b'E' => {
                let thread = u32::try_from(bytes.number()?).unwrap_or(u32::MAX);
                if thread >= self.threads {
                    return Err("events are of a thread that is not in the table");
                }
                let begin = bytes.number()?;
                let bounds = self.bounds;
                let events = all(&mut bytes, |bytes| event::read(bytes, bounds))?;
                let mut at = begin;
                for event in &events {
                    at = at
                        .checked_add(event.gap)
                        .and_then(|at| at.checked_add(event.lasts()))
                        .ok_or("a time is beyond the clock's range")?;
                }
                Item::Events {
                    thread,
                    begin,
                    events,
                }
            }
            b'Z' => {
                let end = End::read(&mut bytes)?;
                self.is_whole = true;
                self.is_over = true;
                Item::End(end)
            }
            _ => return Err("a block is of an unknown sort"),
        };
        if bytes.is_empty() {
            Ok(item)
        } else {
            Err("a block has bytes after its content")
        }
    }
}

/// A table's new length.
fn grown(length: u32, more: usize) -> Result<u32, &'static str> {
    u32::try_from(more)
        .ok()
        .and_then(|more| length.checked_add(more))
        .ok_or("a table is too long")
}

/// The entries up to the end.
fn all<T>(
    bytes: &mut Bytes<'_>,
    mut next: impl FnMut(&mut Bytes<'_>) -> Result<T, &'static str>,
) -> Result<Vec<T>, &'static str> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        all.push(next(bytes)?);
    }
    Ok(all)
}
