//! Makes a trace of the events that threads wrote: with names instead of addresses, and gaps instead
//! of times.

use crate::observe::stacks::Stacks;
use crate::observe::traced::{Part, Traced};
use crate::profile::merge::label;
use cohort::records::{self as raw, RawEvent, Sort, flag};
use cohort_trace::{By, Ended, Event, How, Kind, Lock, Pause, Thread, What, Writer};
use std::collections::HashMap;
use std::io::{self, Write};

/// A process image: its code, and what it did once.
struct Image {
    stacks: Stacks,
    /// Initialisations of each lock, by time: the time and the call site.
    initialised: HashMap<u64, Vec<(u64, u64)>>,
    /// The numbers of call sites in the trace.
    sites: HashMap<u64, u32>,
}

/// A recorded thread.
#[derive(Clone, Copy)]
struct Known {
    image: u32,
    process: u32,
    thread: u32,
    pthread: u64,
    first: u64,
}

/// A lock: the process image, its address, and its initialisations before.
type Key = (u32, u64, usize);

/// What is known of the trace's numbers.
#[derive(Default)]
struct Tables {
    images: HashMap<u32, Image>,
    locks: HashMap<Key, u32>,
    sites: u32,
    /// By thread number: the number in the trace.
    threads: HashMap<u32, u32>,
    known: Vec<Known>,
    /// By image and `pthread_t`: the creations' times, and the threads with their first times.
    created: HashMap<(u32, u64), Vec<u64>>,
    named: HashMap<(u32, u64), Vec<(u64, u32)>>,
}

/// A thread's progress.
#[derive(Clone, Copy, Default)]
struct Progress {
    /// The end of its last event; 0: none yet.
    at: u64,
    slept: u64,
    preempted: u64,
}

/// Writes all events; returns their number. Calls `reaches` with each chunk's number.
///
/// # Errors
/// The trace cannot be written. What was written remains valid up to
/// [`Writer::written`].
pub fn write<W: Write>(
    traced: &Traced,
    writer: &mut Writer<W>,
    reaches: &mut dyn FnMut(u32),
) -> io::Result<u64> {
    let mut tables = Tables::default();
    tables.survey(traced);
    for known in &tables.known {
        writer.thread(&Thread {
            process: known.process.into(),
            id: known.thread.into(),
        })?;
    }
    let mut progress: HashMap<u32, Progress> = HashMap::new();
    let mut written = 0;
    for number in 0..traced.chunks() {
        reaches(number);
        let Some(chunk) = traced.read(number) else {
            continue;
        };
        let Part::Events(events) = chunk.content else {
            continue;
        };
        let Some(thread) = tables.threads.get(&chunk.number).copied() else {
            continue;
        };
        let progress = progress.entry(thread).or_default();
        let mut sequence: Vec<Event> = Vec::new();
        let mut begin = progress.at;
        for event in &events {
            let is_first = progress.at == 0;
            if event.sort == Sort::Window || is_first {
                written += sequence.len() as u64;
                writer.events(thread, begin, &sequence)?;
                sequence.clear();
                *progress = Progress {
                    at: event.at,
                    ..Progress::default()
                };
                begin = event.at;
            }
            match event.sort {
                Sort::Slept => progress.slept += event.lasted,
                Sort::Preempted => progress.preempted += event.lasted,
                Sort::Initialise => {}
                _ => {
                    if let Some(what) = tables.what(chunk.image, event, writer)? {
                        sequence.push(progress.next(event.at, what));
                    }
                }
            }
        }
        written += sequence.len() as u64;
        writer.events(thread, begin, &sequence)?;
    }
    Ok(written)
}

impl Progress {
    /// An event at that time.
    fn next(&mut self, at: u64, what: What) -> Event {
        let gap = at.saturating_sub(self.at);
        let slept = self.slept.min(gap);
        let event = Event {
            gap,
            slept,
            preempted: self.preempted.min(gap - slept),
            what,
        };
        *self = Self {
            at: self.at + gap + event.lasts(),
            ..Self::default()
        };
        event
    }
}

impl Tables {
    /// Collects what events refer to before they are written.
    fn survey(&mut self, traced: &Traced) {
        let mut maps: HashMap<u32, String> = HashMap::new();
        for number in 0..traced.chunks() {
            let Some(chunk) = traced.read(number) else {
                continue;
            };
            let image = self.images.entry(chunk.image).or_insert_with(|| Image {
                stacks: Stacks::new(0),
                initialised: HashMap::new(),
                sites: HashMap::new(),
            });
            let events = match chunk.content {
                Part::Maps(text) => {
                    maps.entry(chunk.image).or_default().push_str(&text);
                    continue;
                }
                Part::Events(events) => events,
            };
            for event in &events {
                match event.sort {
                    Sort::Initialise => {
                        let all = image.initialised.entry(event.object).or_default();
                        all.push((event.at, event.site));
                    }
                    Sort::Create => {
                        let key = (chunk.image, event.object);
                        self.created.entry(key).or_default().push(event.at);
                    }
                    _ => {}
                }
            }
            if let (Some(first), false) = (events.first(), self.threads.contains_key(&chunk.number))
            {
                let number = self.known.len() as u32;
                self.threads.insert(chunk.number, number);
                self.known.push(Known {
                    image: chunk.image,
                    process: chunk.process,
                    thread: chunk.thread,
                    pthread: chunk.pthread,
                    first: first.at,
                });
            }
        }
        for (image, text) in maps {
            if let Some(image) = self.images.get_mut(&image) {
                // The same file may be listed several times, as the list was kept anew.
                let mut lines: Vec<&str> = text.lines().collect();
                lines.sort_by_key(|line| line.split('-').next().map(|at| (at.len(), at)));
                lines.dedup();
                let text = lines.join("\n");
                image.stacks.refresh(std::iter::empty(), &text, Vec::new());
            }
        }
        for image in self.images.values_mut() {
            image
                .initialised
                .values_mut()
                .for_each(|all| all.sort_unstable());
        }
        self.created
            .values_mut()
            .for_each(|all| all.sort_unstable());
        for (number, known) in self.known.iter().enumerate() {
            // The C library's names have more bits than an event keeps.
            let key = (known.image, known.pthread & raw::OBJECT);
            let all = self.named.entry(key).or_default();
            all.push((known.first, number as u32));
        }
        self.named.values_mut().for_each(|all| all.sort_unstable());
    }

    /// The thread of that name that a creation at that time began.
    fn began(&self, image: u32, pthread: u64, at: u64) -> Option<u32> {
        let key = (image, pthread);
        let created = self.created.get(&key)?;
        let next = created.iter().copied().find(|other| *other > at);
        let named = self.named.get(&key)?.iter();
        let mut of_this =
            named.filter(|(first, _)| *first >= at && next.is_none_or(|next| *first < next));
        of_this.next().map(|(_, number)| *number)
    }

    /// The thread of that name that had begun by then.
    fn joined(&self, image: u32, pthread: u64, at: u64) -> Option<u32> {
        let named = self.named.get(&(image, pthread))?;
        let place = named.partition_point(|(first, _)| *first <= at);
        Some(named[place.checked_sub(1)?].1)
    }

    /// The event in the trace's numbers; none for a release of an unknown lock.
    fn what<W: Write>(
        &mut self,
        image: u32,
        event: &RawEvent,
        writer: &mut Writer<W>,
    ) -> io::Result<Option<What>> {
        let how = raw::How::of(u32::from(event.flags >> flag::HOW));
        let has = |bit: u16| event.flags & bit != 0;
        Ok(Some(match event.sort {
            Sort::Window => What::Window {
                number: event.object,
            },
            Sort::Acquire => {
                let kind = match how {
                    raw::How::Spin => Kind::Spin,
                    how if how.is_read() || how.is_write() => Kind::Rwlock,
                    _ => Kind::Mutex,
                };
                What::Acquire {
                    lock: self.lock(image, event, kind, writer)?,
                    site: self.site(image, event.site, writer)?,
                    how: if how.is_read() {
                        How::Read
                    } else if how.is_write() {
                        How::Write
                    } else {
                        How::Exclusive
                    },
                    by: if has(flag::RELOCK) {
                        By::Relock
                    } else if has(flag::TRY) {
                        By::Try
                    } else if has(flag::TIMED) {
                        By::Timed
                    } else {
                        By::Lock
                    },
                    got: has(flag::GOT),
                    contended: has(flag::CONTENDED),
                    waited: event.lasted,
                }
            }
            Sort::Release => match self.locks.get(&self.key(image, event)) {
                Some(lock) => What::Release { lock: *lock },
                None => return Ok(None),
            },
            Sort::Wait => What::Wait {
                condition: self.lock(image, event, Kind::Condition, writer)?,
                site: self.site(image, event.site, writer)?,
                ended: if has(flag::GOT) {
                    Ended::Signal
                } else if has(flag::TIMED) {
                    Ended::Deadline
                } else {
                    Ended::Error
                },
                waited: event.lasted,
            },
            Sort::Signal | Sort::Broadcast => What::Signal {
                condition: self.lock(image, event, Kind::Condition, writer)?,
                all: event.sort == Sort::Broadcast,
            },
            Sort::Create => What::Create {
                thread: self.began(image, event.object, event.at),
            },
            Sort::Join | Sort::Semaphore | Sort::Barrier => What::Pause {
                pause: match event.sort {
                    Sort::Join => Pause::Join,
                    Sort::Semaphore => Pause::Semaphore,
                    _ => Pause::Barrier,
                },
                thread: (event.sort == Sort::Join)
                    .then(|| self.joined(image, event.object, event.at + event.lasted))
                    .flatten(),
                waited: event.lasted,
            },
            Sort::End => What::End,
            Sort::Initialise | Sort::Slept | Sort::Preempted => return Ok(None),
        }))
    }

    /// The lock at an event's address at its time.
    fn key(&self, image: u32, event: &RawEvent) -> Key {
        let initialised = self
            .images
            .get(&image)
            .and_then(|image| image.initialised.get(&event.object));
        let before = initialised.map_or(0, |all| all.partition_point(|(at, _)| *at <= event.at));
        (image, event.object, before)
    }

    /// The number of an event's lock, which is written to the table at its first use.
    fn lock<W: Write>(
        &mut self,
        image: u32,
        event: &RawEvent,
        kind: Kind,
        writer: &mut Writer<W>,
    ) -> io::Result<u32> {
        let key = self.key(image, event);
        if let Some(known) = self.locks.get(&key) {
            return Ok(*known);
        }
        let (_, object, before) = key;
        let name = self.images.get_mut(&image).map(|image| {
            let variable = image.stacks.variable(object);
            variable.unwrap_or_else(|| {
                let all = image.initialised.get(&object);
                let initialised = all.and_then(|all| all.get(before.checked_sub(1)?));
                let site = initialised.map_or(event.site, |(_, site)| *site);
                image.place(site)
            })
        });
        let process = self.known.iter().find(|known| known.image == image);
        writer.lock(&Lock {
            kind,
            name: name.unwrap_or_default(),
            address: object,
            process: process.map_or(0, |known| known.process.into()),
        })?;
        let number = self.locks.len() as u32;
        self.locks.insert(key, number);
        Ok(number)
    }

    /// The number of a call site, which is written to the table at its first use.
    fn site<W: Write>(
        &mut self,
        image: u32,
        address: u64,
        writer: &mut Writer<W>,
    ) -> io::Result<u32> {
        let Some(image) = self.images.get_mut(&image) else {
            return Ok(0);
        };
        if let Some(known) = image.sites.get(&address) {
            return Ok(*known);
        }
        writer.site(&image.place(address))?;
        let number = self.sites;
        self.sites += 1;
        image.sites.insert(address, number);
        Ok(number)
    }
}

impl Image {
    /// The name of a call site.
    fn place(&mut self, address: u64) -> String {
        let frames = self.stacks.frames(address.saturating_sub(1));
        frames.first().map_or_else(String::new, label)
    }
}
