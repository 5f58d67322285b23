//! Threads that run rounds for a time, under a watchdog that checks their progress.

use crate::dice::Dice;
use std::process::exit;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

/// The time limit of a round.
const PATIENCE_SECONDS: u32 = 30;
const MOST_THREADS: usize = 64;

/// The state of a thread.
#[derive(Default)]
struct Row {
    rounds: AtomicU64,
    ended: AtomicBool,
    what: AtomicPtr<&'static str>,
}

/// One run.
pub struct Soak {
    seconds: u64,
    threads: usize,
    seed: u64,
    over: AtomicBool,
    rows: [Row; MOST_THREADS],
}

impl Soak {
    /// A run with these arguments, if they are numbers within bounds.
    pub fn new(seconds: &str, threads: &str, seed: &str) -> Option<Self> {
        let threads = threads.parse().ok()?;
        let soak = Self {
            seconds: seconds.parse().ok()?,
            threads,
            seed: seed.parse().ok()?,
            over: AtomicBool::new(false),
            rows: std::array::from_fn(|_| Row::default()),
        };
        (1..=MOST_THREADS).contains(&threads).then_some(soak)
    }

    /// Whether the time is up.
    pub fn is_over(&self) -> bool {
        self.over.load(SeqCst)
    }

    /// The rounds of all threads.
    pub fn rounds(&self) -> u64 {
        self.rows.iter().map(|row| row.rounds.load(SeqCst)).sum()
    }

    /// Records a thread's next operation.
    pub fn note(&self, thread: usize, what: &'static &'static str) {
        let what = std::ptr::from_ref(what).cast_mut();
        self.rows[thread].what.store(what, SeqCst);
    }

    /// Runs rounds in each thread until the time is up, then `end`, all under the watchdog.
    pub fn run(&self, round: impl Fn(usize, &mut Dice) + Sync, end: impl FnOnce()) {
        let round = &round;
        let done = &AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| self.watch(done));
            thread::scope(|scope| {
                for thread in 0..self.threads {
                    scope.spawn(move || {
                        let mut dice = Dice::new(self.seed, thread);
                        while !self.is_over() {
                            round(thread, &mut dice);
                            self.rows[thread].rounds.fetch_add(1, SeqCst);
                        }
                        self.rows[thread].ended.store(true, SeqCst);
                    });
                }
                let until = Instant::now() + Duration::from_secs(self.seconds);
                while Instant::now() < until {
                    thread::sleep(Duration::from_millis(20));
                }
                self.over.store(true, SeqCst);
            });
            end();
            done.store(true, SeqCst);
        });
    }

    fn watch(&self, done: &AtomicBool) {
        let mut last = [0; MOST_THREADS];
        let mut still = [0; MOST_THREADS];
        let mut ending = 0;
        while !done.load(SeqCst) {
            thread::sleep(Duration::from_secs(1));
            let rows = &self.rows[..self.threads];
            for (thread, row) in rows.iter().enumerate() {
                let rounds = row.rounds.load(SeqCst);
                let goes_on = rounds != last[thread] || row.ended.load(SeqCst);
                still[thread] = if goes_on { 0 } else { still[thread] + 1 };
                last[thread] = rounds;
                if still[thread] > PATIENCE_SECONDS {
                    self.give_up(&format!("STOPPED: thread {thread}"));
                }
            }
            let all_ended = rows.iter().all(|row| row.ended.load(SeqCst));
            ending = if all_ended { ending + 1 } else { 0 };
            if ending > PATIENCE_SECONDS {
                self.give_up("STOPPED: after the last round");
            }
        }
    }

    /// Ends the process with a report.
    pub fn give_up(&self, why: &str) -> ! {
        println!("{why}");
        println!(
            "seed {}, {} threads, pid {}",
            self.seed,
            self.threads,
            std::process::id()
        );
        for (thread, row) in self.rows[..self.threads].iter().enumerate() {
            let what = row.what.load(SeqCst);
            // SAFETY: null, or a static passed to `note`.
            let what = unsafe { what.as_ref() }.unwrap_or(&"nothing");
            println!(
                "thread {thread}: {} rounds, last {what}",
                row.rounds.load(SeqCst)
            );
        }
        exit(1);
    }

    /// Ends the process with a report unless `holds`.
    #[track_caller]
    pub fn check(&self, holds: bool, what: &str) {
        if !holds {
            let place = std::panic::Location::caller();
            self.give_up(&format!("WRONG: {place}: not so: {what}"));
        }
    }
}
