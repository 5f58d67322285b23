//! An application's lock below an interpreter's.
//!
//! Interpreters let one thread at a time run their program. A thread that finds an application's
//! lock held releases the interpreter's, sleeps, and acquires both again. If a woken thread finds
//! the interpreter's mutex still held by its waker, it arrives too late: meanwhile the waker has
//! gone on to the next lock. Soon all threads queue for both: a convoy, in which each step sleeps
//! twice. The number of times that the application's lock was found held distinguishes it from
//! chance.

use super::Outcome;
use super::pthread::{Condition, Mutex, MutexKind, Semaphore};
use crate::world::work::{Pace, Work};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Options of the load.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Number of threads
    #[arg(long, value_name = "N", default_value_t = 4,
        value_parser = clap::value_parser!(u16).range(1..1000))]
    threads: u16,
    /// Number of acquisitions of the application's lock
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    operations: u64,
    /// Hold time and time without the lock, in nanoseconds
    #[arg(long, value_name = "NS", default_value_t = 1_500)]
    section: u32,
}

/// Time that a thread waits before it requests a switch from the running thread.
const INTERVAL: Duration = Duration::from_millis(5);

/// No thread's number.
const NOBODY: u16 = u16::MAX;

/// The interpreter's lock: the right to run the program.
struct Interpreter {
    /// Guards `busy`.
    mutex: Mutex,
    freed: Condition,
    /// Held during a hand-over of the right, below `mutex` or by itself.
    change: Mutex,
    changed: Condition,
    busy: AtomicBool,
    /// Whether the running thread should let another one run.
    asked: AtomicBool,
    /// The thread that ran last.
    last: AtomicU16,
    /// The number of switches between threads.
    changes: AtomicU64,
}

// All of these change under a mutex. They are atomic because interpreters also read them without
// one, or to spare a cell.
impl Interpreter {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            mutex: Mutex::new(MutexKind::Normal)?,
            freed: Condition::new()?,
            change: Mutex::new(MutexKind::Normal)?,
            changed: Condition::new()?,
            busy: AtomicBool::new(false),
            asked: AtomicBool::new(false),
            last: AtomicU16::new(NOBODY),
            changes: AtomicU64::new(0),
        })
    }

    /// Waits until the thread `me` may run.
    fn enter(&self, me: u16) {
        self.mutex.with(|| {
            while self.busy.load(Relaxed) {
                let before = self.changes.load(Relaxed);
                // SAFETY: held by this thread, and the condition has no other mutex.
                let woken = unsafe { self.freed.wait_within(&self.mutex, INTERVAL) };
                if !woken && self.busy.load(Relaxed) && self.changes.load(Relaxed) == before {
                    self.asked.store(true, Relaxed);
                }
            }
            self.change.with(|| {
                self.busy.store(true, Relaxed);
                if self.last.swap(me, Relaxed) != me {
                    self.changes.fetch_add(1, Relaxed);
                }
                self.changed.signal();
            });
            self.asked.store(false, Relaxed);
        });
    }

    /// Releases the right to run.
    fn leave(&self) {
        self.mutex.with(|| {
            self.busy.store(false, Relaxed);
            self.freed.signal();
        });
    }

    /// Lets another thread run before `me` continues, if requested.
    fn oblige(&self, me: u16) {
        if !self.asked.load(Relaxed) {
            return;
        }
        self.leave();
        self.change.with(|| {
            // The requesting thread waits in `enter`, and signals when it leaves.
            if self.asked.load(Relaxed) && self.last.load(Relaxed) == me {
                self.asked.store(false, Relaxed);
                // SAFETY: held by this thread, and the condition has no other mutex.
                unsafe { self.changed.wait(&self.change) };
            }
        });
        self.enter(me);
    }
}

/// State shared by the threads.
struct Program {
    interpreter: Interpreter,
    application: Semaphore,
    left: AtomicU64,
    found_taken: AtomicU64,
    section: Work,
}

impl Program {
    fn run(&self, me: u16) {
        self.interpreter.enter(me);
        while self.left.load(Relaxed) > 0 {
            if !self.application.try_acquire() {
                self.found_taken.fetch_add(1, Relaxed);
                self.interpreter.leave();
                self.application.acquire();
                self.interpreter.enter(me);
            }
            // Another thread may have been the last one meanwhile.
            let left = self.left.load(Relaxed);
            self.left.store(left.saturating_sub(1), Relaxed);
            self.section.perform();
            self.interpreter.oblige(me);
            self.application.release();
            self.section.perform();
            self.interpreter.oblige(me);
        }
        self.interpreter.leave();
    }
}

/// Runs the load.  Blocks.
///
/// # Errors
/// A thread, a mutex, a condition or a semaphore cannot be created.
pub fn run(options: &Options) -> Result<Outcome, String> {
    let program = |error| format!("cannot create the locks: {error}");
    let program = Program {
        interpreter: Interpreter::new().map_err(program)?,
        application: Semaphore::new(1).map_err(program)?,
        left: AtomicU64::new(options.operations),
        found_taken: AtomicU64::new(0),
        section: Pace::measure().work(options.section),
    };
    let begun = Instant::now();
    std::thread::scope(|scope| {
        (0..options.threads).try_for_each(|me| {
            let program = &program;
            let builder = std::thread::Builder::new().name(format!("convoy-{me}"));
            let made = builder.spawn_scoped(scope, move || program.run(me));
            made.map(drop)
        })
    })
    .map_err(|error| format!("cannot create a thread: {error}"))?;
    let seconds = begun.elapsed().as_secs_f64();
    Ok(Outcome {
        operations: options.operations,
        seconds,
        per_second: options.operations as f64 / seconds,
        found_taken: Some(program.found_taken.into_inner()),
        ..Outcome::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_comes_to_an_end() {
        for threads in [1, 4] {
            let outcome = run(&Options {
                threads,
                operations: 3_000,
                section: 3_000,
            });
            let found = outcome.unwrap().found_taken.unwrap();
            assert!(threads > 1 || found == 0, "{found}");
        }
    }
}
