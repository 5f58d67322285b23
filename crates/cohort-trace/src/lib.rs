//! Traces of a program's locking: what `cohort record` writes and `cohort replay` runs.
//!
//! A file is [`MAGIC`], a version byte, and blocks. A block is a tag, the payload's length, the
//! payload's checksum and the payload. Numbers in a payload are varints of seven bits a byte, low
//! bits first; a text is its length and UTF-8.
//!
//! | tag | payload |
//! |---|---|
//! | `I` | [`Info`]: what was recorded |
//! | `S` | call sites, numbered from 0 |
//! | `L` | [`Lock`]s and conditions, numbered from 0 |
//! | `T` | [`Thread`]s, numbered from 0 |
//! | `E` | consecutive [`Event`]s of one thread |
//! | `Z` | [`End`]: what the recording left out and cost |
//!
//! Tables come before the events that use them. A file that was cut short is readable up to its last
//! whole block. The reader trusts no size or number of a file: each is checked, and a mistake is an
//! [`Error`] with its offset.
//!
//! ```
//! use cohort_trace::{Event, How, By, Lock, Item, Kind, Reader, Thread, What, Writer};
//!
//! let mut writer = Writer::new(Vec::new())?;
//! writer.lock(&Lock { kind: Kind::Mutex, name: "queue".to_owned(), ..Lock::default() })?;
//! writer.thread(&Thread { process: 7, id: 7 })?;
//! let acquired = What::Acquire {
//!     lock: 0, site: 0, how: How::Exclusive, by: By::Lock, got: true, contended: false, waited: 0,
//! };
//! let events = [
//!     Event { gap: 900, what: acquired, ..Event::default() },
//!     Event { gap: 200, what: What::Release { lock: 0 }, ..Event::default() },
//! ];
//! writer.events(0, 1_000, &events)?;
//! let file = writer.end(&cohort_trace::End::default())?;
//!
//! let mut reader = Reader::new(&file[..])?;
//! let mut seen = Vec::new();
//! while let Some(item) = reader.next_item()? {
//!     if let Item::Events { events, .. } = item {
//!         seen.extend(events);
//!     }
//! }
//! assert_eq!(seen, events);
//! assert!(reader.is_whole());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod event;
mod form;
mod read;
mod summary;
mod trace;
mod varint;
mod write;

pub use error::Error;
pub use event::{By, Ended, Event, How, Pause, What};
pub use form::{End, Info, Kind, Lock, Thread};
pub use read::{Item, Reader};
pub use summary::{LockSummary, Quantiles, Summary};
pub use trace::{Sequence, Trace};
pub use write::Writer;

/// A file's first bytes.
pub const MAGIC: [u8; 7] = *b"COHORTR";

/// The format's version, the byte after [`MAGIC`].
pub const VERSION: u8 = 2;

/// The longest payload of a block, in bytes.
pub const LONGEST: usize = 1 << 20;
