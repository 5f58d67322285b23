//! A whole trace in memory.

use crate::{End, Error, Event, Info, Item, Lock, Reader, Thread};
use std::io::Read;

/// Events of one thread without a pause between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sequence {
    /// The time before the first event's gap, in nanoseconds of the host's clock.
    pub begin: u64,
    /// The events.
    pub events: Vec<Event>,
}

/// A trace.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// What was recorded.
    pub info: Info,
    /// The call sites.
    pub sites: Vec<String>,
    /// The locks.
    pub locks: Vec<Lock>,
    /// The threads.
    pub threads: Vec<Thread>,
    /// Each thread's events, in order.
    pub sequences: Vec<Vec<Sequence>>,
    /// What the recording left out; `None` if the file was cut short.
    pub end: Option<End>,
}

impl Trace {
    /// Reads a trace.
    ///
    /// # Errors
    /// It is no trace, or a damaged one.
    pub fn read(from: impl Read) -> Result<Self, Error> {
        let mut reader = Reader::new(from)?;
        let mut trace = Self::default();
        while let Some(item) = reader.next_item()? {
            match item {
                Item::Info(info) => trace.info = info,
                Item::Sites(sites) => trace.sites.extend(sites),
                Item::Locks(locks) => trace.locks.extend(locks),
                Item::Threads(threads) => {
                    trace.threads.extend(threads);
                    trace.sequences.resize(trace.threads.len(), Vec::new());
                }
                Item::Events {
                    thread,
                    begin,
                    events,
                } => trace.sequences[thread as usize].push(Sequence { begin, events }),
                Item::End(end) => trace.end = Some(end),
            }
        }
        for sequences in &mut trace.sequences {
            sequences.sort_by_key(|sequence| sequence.begin);
        }
        Ok(trace)
    }

    /// The events of a thread, each with the time of its beginning.
    pub fn events(&self, thread: usize) -> impl Iterator<Item = (u64, &Event)> {
        self.sequences[thread].iter().flat_map(|sequence| {
            let mut at = sequence.begin;
            sequence.events.iter().map(move |event| {
                let begins = at + event.gap;
                at = begins + event.lasts();
                (begins, event)
            })
        })
    }

    /// A call site's name; empty if it has none.
    #[must_use]
    pub fn site(&self, site: u32) -> &str {
        self.sites.get(site as usize).map_or("", String::as_str)
    }
}
