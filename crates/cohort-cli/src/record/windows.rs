//! Windows of recording: opened and closed so that recording stays below its limit of CPU time.

use crate::observe::Records;
use crate::observe::traced::Traced;
use cohort::records::EVENTS;
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// Interval between looks at the cost. A look costs up to 200 µs of a busy CPU, in cache misses.
const TICK: Duration = Duration::from_millis(20);

/// The longest such interval in a window and outside, where looks cost more than this part of a CPU.
const LONGEST_TICKS: [Duration; 2] = [Duration::from_millis(40), Duration::from_millis(200)];
const LOOKING: f64 = 0.01;

/// The same at the beginning, for short programs, and its duration.
const FIRST_TICK: Duration = Duration::from_millis(5);
const FIRST: Duration = Duration::from_millis(50);

/// The shortest window that is worth opening.
const WINDOW: Duration = TICK;

/// CPU time that a program is assumed to use at least: a shorter one is recorded whole.
const LEAST: f64 = 0.1e9;

/// The part of the limit that is spent: the rest is for what the price does not include, such as
/// cache misses of the program.
const SPENT: f64 = 0.8;

/// The most chunks that one look counts the events of, so that a look stays short.
const COUNTED: usize = 256;

/// What was recorded, and its cost.
#[derive(Clone, Copy, Debug, Default)]
pub struct Course {
    /// The duration of the program's run.
    pub ran: Duration,
    /// The duration of all windows together.
    pub recorded: Duration,
    /// The number of windows.
    pub windows: u64,
    /// Events.
    pub events: u64,
    /// CPU nanoseconds of the recording, in the program.
    pub cost: f64,
    /// CPU nanoseconds of looks at the cost, in this command.
    pub looking: f64,
    /// Whether the room for events was used up.
    pub is_full: bool,
}

/// Opens and closes windows while a program runs.
pub struct Windows {
    traced: Traced,
    limit: f64,
    began: Instant,
    opened: Option<Instant>,
    course: Course,
    /// CPU nanoseconds of each process, as last seen.
    cpu: HashMap<u32, f64>,
    /// Events of full chunks, and chunks that still grow with their events.
    counted: u64,
    growing: Vec<(u32, u32)>,
    known: u32,
    next: usize,
}

impl Windows {
    /// For a program that records into that folder, with a limit in per cent.
    ///
    /// # Errors
    /// The file of events cannot be opened.
    pub fn new(folder: &Path, limit: f64) -> std::io::Result<Self> {
        Ok(Self {
            traced: Traced::open(folder)?,
            limit,
            began: Instant::now(),
            opened: Some(Instant::now()),
            course: Course {
                windows: 1,
                ..Course::default()
            },
            cpu: HashMap::new(),
            counted: 0,
            growing: Vec::new(),
            known: 0,
            next: 0,
        })
    }

    /// Opens and closes windows until the program ends. Processes begin with an open window.
    pub fn watch(&mut self, records: &mut Records, is_over: impl Fn() -> bool) {
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        let mut pause = 0;
        let mut tick = TICK;
        while !is_over() {
            let is_young = self.began.elapsed() < FIRST;
            std::thread::park_timeout(if is_young { FIRST_TICK } else { tick });
            if records.find_more() {
                // A new process has an open window.
                self.set(records);
            }
            self.look(records);
            let allowed = self.limit / 100.0 * SPENT * self.used();
            let longest = LONGEST_TICKS[usize::from(self.opened.is_none())];
            let ran = self.began.elapsed().as_nanos() as f64;
            tick = if self.course.looking > LOOKING * ran {
                (2 * tick).min(longest)
            } else {
                TICK
            };
            if self.traced.is_full() {
                self.close(records);
                self.course.is_full = true;
            } else if self.opened.is_some() {
                if self.course.cost > allowed {
                    self.close(records);
                    random ^= random << 13;
                    random ^= random >> 7;
                    random ^= random << 17;
                    // Windows must not synchronise with the program.
                    pause = random % 4;
                }
            } else {
                let rate = self.course.cost / self.course.recorded.as_secs_f64().max(1e-3);
                let next = rate * WINDOW.as_secs_f64();
                if allowed - self.course.cost < next {
                    continue;
                }
                if pause == 0 {
                    self.opened = Some(Instant::now());
                    self.course.windows += 1;
                    self.set(records);
                } else {
                    pause -= 1;
                }
            }
        }
        self.course.ran = self.began.elapsed();
        self.close(records);
        self.growing_events(usize::MAX);
        self.look(records);
    }

    /// The file, and what was recorded.
    pub fn finish(self) -> (Traced, Course) {
        (self.traced, self.course)
    }

    /// CPU nanoseconds of the program so far.
    fn used(&self) -> f64 {
        self.cpu.values().sum::<f64>().max(LEAST)
    }

    fn close(&mut self, records: &mut Records) {
        if let Some(opened) = self.opened.take() {
            self.course.recorded += opened.elapsed();
            self.set(records);
        }
    }

    /// Opens or closes the window of each process.
    fn set(&self, records: &mut Records) {
        for process in records.processes().filter(|process| process.is_ours) {
            let watch = &process.records().watch;
            match (self.opened.is_some(), watch.number()) {
                (true, 0) => {
                    let _ = watch.begin(0);
                }
                (false, number) if number != 0 => watch.end(number),
                _ => {}
            }
        }
    }

    /// Determines the cost so far.
    fn look(&mut self, records: &Records) {
        for process in records.known() {
            if let Some(cpu) = cpu_nanoseconds(process.id) {
                let known = self.cpu.entry(process.id).or_default();
                *known = known.max(cpu);
            }
        }
        self.growing_events(COUNTED);
        let growing: u64 = self.growing.iter().map(|(_, used)| u64::from(*used)).sum();
        let head = self.traced.head();
        let price = f64::from(head.price.load(Relaxed)) / 16.0;
        let asking = head.asked.load(Relaxed) * head.ask_price.load(Relaxed);
        let once = head.taking.load(Relaxed) + asking;
        self.course.events = self.counted + growing;
        self.course.cost = self.course.events as f64 * price + once as f64;
        self.course.looking = own_nanoseconds();
    }

    /// Counts the events of up to so many chunks.
    fn growing_events(&mut self, most: usize) {
        let chunks = self.traced.chunks();
        self.growing
            .extend((self.known..chunks).map(|number| (number, 0)));
        self.known = chunks;
        for _ in 0..most.min(self.growing.len()) {
            self.next = (self.next + 1) % self.growing.len().max(1);
            let Some((number, used)) = self.growing.get_mut(self.next) else {
                break;
            };
            if let Some(events) = self.traced.events_in(*number) {
                *used = events;
            }
        }
        let counted = &mut self.counted;
        self.growing.retain(|(_, used)| {
            let grows = (*used as usize) < EVENTS;
            *counted += if grows { 0 } else { u64::from(*used) };
            grows
        });
    }
}

/// CPU nanoseconds of a process.
fn cpu_nanoseconds(process: u32) -> Option<f64> {
    let mut clock = 0;
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let process = libc::pid_t::try_from(process).ok()?;
    // SAFETY: the clock and the time are writable.
    let known = unsafe {
        libc::clock_getcpuclockid(process, &raw mut clock) == 0
            && libc::clock_gettime(clock, &raw mut time) == 0
    };
    known.then_some(time.tv_sec as f64 * 1e9 + time.tv_nsec as f64)
}

/// CPU nanoseconds of this thread.
fn own_nanoseconds() -> f64 {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    used.tv_sec as f64 * 1e9 + used.tv_nsec as f64
}
