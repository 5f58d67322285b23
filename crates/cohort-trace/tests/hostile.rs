//! Files that are no traces, or damaged ones, are errors, and never more.

use cohort_trace::{
    By, End, Ended, Error, Event, How, Info, Kind, Lock, Pause, Reader, Summary, Thread, Trace,
    What, Writer,
};

/// Pseudo-random numbers, the same in each run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }

    fn event(&mut self) -> Event {
        let gap = self.below(1 << 40);
        let slept = self.below(2) * self.below(gap / 2 + 1);
        let preempted = self.below(2) * self.below(gap / 2 + 1);
        let lock = self.below(4) as u32;
        let site = self.below(3) as u32;
        let waited = self.below(1 << 30);
        let thread = (self.below(2) as u32).checked_sub(1);
        let what = match self.below(8) {
            0 => What::Window {
                number: self.below(9),
            },
            1 => What::Release { lock },
            2 => What::Wait {
                condition: 3,
                site,
                ended: [Ended::Signal, Ended::Deadline, Ended::Error][site as usize],
                waited,
            },
            3 => What::Signal {
                condition: 3,
                all: lock > 1,
            },
            4 => What::Create { thread },
            5 => What::Pause {
                pause: [Pause::Join, Pause::Semaphore, Pause::Barrier][site as usize],
                thread,
                waited,
            },
            6 => What::End,
            _ => What::Acquire {
                lock,
                site,
                how: [How::Exclusive, How::Read, How::Write][site as usize],
                by: [By::Lock, By::Try, By::Timed, By::Relock][lock as usize],
                got: waited.is_multiple_of(2),
                contended: waited.is_multiple_of(3),
                waited,
            },
        };
        Event {
            gap,
            slept,
            preempted,
            what,
        }
    }
}

/// A good trace and its events.
fn good() -> (Vec<u8>, Vec<Vec<Event>>) {
    let mut chance = Chance(7);
    let mut writer = Writer::new(Vec::new()).expect("memory");
    let info = Info {
        program: "worker -n 4".to_owned(),
        lock: "mcs".to_owned(),
        host: "here".to_owned(),
        cpus: 8,
        began: 1_700_000_000,
        spent: 42,
    };
    writer.info(&info).expect("memory");
    for site in ["main", "work", "müde"] {
        writer.site(site).expect("memory");
    }
    for kind in [Kind::Mutex, Kind::Rwlock, Kind::Spin, Kind::Condition] {
        let lock = Lock {
            kind,
            name: kind.name().to_owned(),
            address: 0x5555_0000,
            process: 17,
        };
        writer.lock(&lock).expect("memory");
    }
    let mut all = Vec::new();
    for id in 0..3_u32 {
        let thread = Thread {
            process: 17,
            id: 17 + u64::from(id),
        };
        writer.thread(&thread).expect("memory");
        let events: Vec<Event> = (0..200).map(|_| chance.event()).collect();
        writer.events(id, 5_000, &events).expect("memory");
        all.push(events);
    }
    let end = End {
        ran: 10,
        recorded: 9,
        windows: 1,
        dropped: 3,
        is_full: true,
        cpu: 8,
        cost: 1,
        looking: 2,
    };
    (writer.end(&end).expect("memory"), all)
}

/// Reads all that can be read.
fn read(bytes: &[u8]) -> Result<Trace, Error> {
    let trace = Trace::read(bytes)?;
    // Figures of any readable trace can be had.
    let _ = Summary::of(&trace);
    Ok(trace)
}

#[test]
fn what_is_written_is_read() {
    let (file, all) = good();
    let trace = read(&file).expect("it is good");
    assert_eq!(trace.info.program, "worker -n 4");
    assert_eq!(trace.site(2), "müde");
    assert_eq!(trace.locks.len(), 4);
    assert_eq!(trace.end.expect("it is whole").dropped, 3);
    for (sequences, events) in trace.sequences.iter().zip(&all) {
        let read: Vec<Event> = sequences
            .iter()
            .flat_map(|one| one.events.clone())
            .collect();
        assert_eq!(&read, events);
    }
}

#[test]
fn long_sequences_span_blocks_without_a_change_of_times() {
    let mut chance = Chance(3);
    let events: Vec<Event> = (0..40_000).map(|_| chance.event()).collect();
    let mut writer = Writer::new(Vec::new()).expect("memory");
    for kind in [Kind::Mutex, Kind::Rwlock, Kind::Spin, Kind::Condition] {
        let lock = Lock {
            kind,
            ..Lock::default()
        };
        writer.lock(&lock).expect("memory");
    }
    for site in ["a", "b", "c"] {
        writer.site(site).expect("memory");
    }
    writer.thread(&Thread::default()).expect("memory");
    writer.events(0, 77, &events).expect("memory");
    let file = writer.end(&End::default()).expect("memory");
    let trace = read(&file).expect("it is good");
    assert!(trace.sequences[0].len() > 1);
    let mut at = 77;
    for ((begins, read), event) in trace.events(0).zip(&events) {
        assert_eq!((begins, read), (at + event.gap, event));
        at += event.gap + event.lasts();
    }
    assert_eq!(trace.events(0).count(), events.len());
}

/// A prefix is readable up to its last whole block, and known to be cut.
#[test]
fn a_cut_file_is_read_up_to_the_cut() {
    let (file, _) = good();
    let whole = read(&file).expect("it is good");
    let count = |trace: &Trace| {
        (0..trace.threads.len())
            .map(|t| trace.events(t).count())
            .sum::<usize>()
    };
    let mut before = 0;
    for length in 0..file.len() {
        match read(&file[..length]) {
            Ok(trace) => {
                assert!(trace.end.is_none(), "cut at {length}");
                assert!(count(&trace) >= before);
                before = count(&trace);
            }
            Err(Error::Foreign) => assert!(length < 8, "cut at {length}"),
            Err(error) => panic!("cut at {length}: {error}"),
        }
    }
    assert_eq!(before, count(&whole));
}

#[test]
fn other_files_are_named_so() {
    for foreign in [
        &b""[..],
        b"#!/bin/sh\necho",
        b"\x7fELF\x02\x01\x01",
        b"COHORTOD12345678",
    ] {
        assert!(matches!(read(foreign), Err(Error::Foreign)), "{foreign:?}");
    }
    let error = read(b"COHORTR\x09").expect_err("a later version");
    assert!(error.to_string().contains("format 9"), "{error}");
}

/// Mutations of every byte are errors with an offset within the file, or change nothing that was
/// checked.
#[test]
fn a_changed_byte_is_an_error_with_its_place() {
    let (file, _) = good();
    for place in 8..file.len() {
        let mut changed = file.clone();
        changed[place] ^= 0x55;
        match read(&changed) {
            Err(Error::Damaged { offset, .. }) => assert!(offset as usize <= place),
            // A block with a greater length seems to be cut by the file's end.
            Ok(trace) => assert!(trace.end.is_none(), "byte {place}"),
            Err(error) => panic!("byte {place}: {error}"),
        }
    }
}

/// Blocks with valid checksums and any content.
#[test]
fn a_forged_block_is_no_more_than_an_error() {
    let mut chance = Chance(11);
    let (file, _) = good();
    for _ in 0..20_000 {
        let mut forged = file[..8].to_vec();
        for _ in 0..=chance.below(6) {
            let tag = b"ISLTEZx"[chance.below(7) as usize];
            let payload: Vec<u8> = if chance.below(2) == 0 {
                (0..chance.below(60))
                    .map(|_| chance.below(256) as u8)
                    .collect()
            } else {
                // Small numbers reach deeper.
                (0..chance.below(60))
                    .map(|_| chance.below(9) as u8)
                    .collect()
            };
            forged.push(tag);
            let length = if chance.below(50) == 0 {
                chance.below(u64::from(u32::MAX)) as u32
            } else {
                payload.len() as u32
            };
            forged.extend(length.to_le_bytes());
            forged.extend(crc32fast::hash(&payload).to_le_bytes());
            forged.extend(payload);
        }
        let _ = read(&forged);
    }
}

/// A length that the file does not have takes no memory beyond a block's.
#[test]
fn sizes_are_not_trusted() {
    let mut file = good().0[..8].to_vec();
    file.push(b'S');
    file.extend(u32::MAX.to_le_bytes());
    file.extend([0; 4]);
    let mut reader = Reader::new(&file[..]).expect("its beginning is good");
    let error = reader.next_item().expect_err("too long");
    assert!(error.to_string().contains("byte 8"), "{error}");
}
