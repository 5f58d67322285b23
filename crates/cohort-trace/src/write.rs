//! Writes a trace, block by block.

use crate::event;
use crate::varint::{put, put_text};
use crate::{End, Event, Info, Lock, MAGIC, Thread, VERSION};
use std::io::{self, Write};

/// Bytes of a block at which the next one begins, well below [`LONGEST`](crate::LONGEST).
const FULL: usize = 64 << 10;

/// The longest text that is written; a longer one is cut.
const TEXT: usize = 4096;

/// Writes a trace: each block by one write, from memory. A file needs no further buffer.
pub struct Writer<W: Write> {
    to: W,
    /// The tables' entries that are not written yet, with the tag of their block.
    pending: Vec<u8>,
    tag: u8,
    /// Bytes of whole blocks so far.
    written: u64,
}

/// A text that fits a block.
fn short(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT)]
}

impl<W: Write> Writer<W> {
    /// Begins a trace.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn new(mut to: W) -> io::Result<Self> {
        to.write_all(&MAGIC)?;
        to.write_all(&[VERSION])?;
        Ok(Self {
            to,
            pending: Vec::new(),
            tag: 0,
            written: MAGIC.len() as u64 + 1,
        })
    }

    /// Bytes of whole blocks so far: a file cut there is a valid trace.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Writes what was recorded.
    ///
    /// # Errors
    /// The file cannot be written; so for all below.
    pub fn info(&mut self, info: &Info) -> io::Result<()> {
        let cut = Info {
            program: short(&info.program).to_owned(),
            lock: short(&info.lock).to_owned(),
            host: short(&info.host).to_owned(),
            ..*info
        };
        self.add(b'I', |to| cut.write(to))
    }

    /// Adds a call site to the table.
    ///
    /// # Errors
    /// As above.
    pub fn site(&mut self, name: &str) -> io::Result<()> {
        self.add(b'S', |to| put_text(to, short(name)))
    }

    /// Adds a lock to the table.
    ///
    /// # Errors
    /// As above.
    pub fn lock(&mut self, lock: &Lock) -> io::Result<()> {
        let cut = Lock {
            name: short(&lock.name).to_owned(),
            ..*lock
        };
        self.add(b'L', |to| cut.write(to))
    }

    /// Adds a thread to the table.
    ///
    /// # Errors
    /// As above.
    pub fn thread(&mut self, thread: &Thread) -> io::Result<()> {
        self.add(b'T', |to| thread.write(to))
    }

    /// Writes consecutive events of a thread; `begin` is the time before the first one's gap, in
    /// nanoseconds of the host's clock.
    ///
    /// # Errors
    /// As above.
    pub fn events(&mut self, thread: u32, begin: u64, events: &[Event]) -> io::Result<()> {
        self.flush()?;
        let mut at = begin;
        let mut left = events;
        while !left.is_empty() {
            let mut payload = Vec::new();
            put(&mut payload, thread.into());
            put(&mut payload, at);
            let mut count = 0;
            for event in left {
                event::write(&mut payload, event);
                at = at.wrapping_add(event.gap).wrapping_add(event.lasts());
                count += 1;
                if payload.len() >= FULL {
                    break;
                }
            }
            left = &left[count..];
            self.block(b'E', &payload)?;
        }
        Ok(())
    }

    /// Ends the trace.
    ///
    /// # Errors
    /// As above.
    pub fn end(mut self, end: &End) -> io::Result<W> {
        self.flush()?;
        let mut payload = Vec::new();
        end.write(&mut payload);
        self.block(b'Z', &payload)?;
        self.to.flush()?;
        Ok(self.to)
    }

    /// Adds an entry to the pending block, or to the next one.
    fn add(&mut self, tag: u8, entry: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        if self.tag != tag || self.pending.len() >= FULL {
            self.flush()?;
        }
        self.tag = tag;
        entry(&mut self.pending);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let payload = std::mem::take(&mut self.pending);
        self.block(self.tag, &payload)
    }

    fn block(&mut self, tag: u8, payload: &[u8]) -> io::Result<()> {
        let length = u32::try_from(payload.len()).expect("a block is short");
        let mut block = vec![tag];
        block.extend(length.to_le_bytes());
        block.extend(crc32fast::hash(payload).to_le_bytes());
        block.extend(payload);
        self.to.write_all(&block)?;
        self.written += block.len() as u64;
        Ok(())
    }
}
