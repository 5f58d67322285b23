//! Threads on other CPUs that do one job at a time to a chain.

use super::chain::Chain;
use super::{Stop, joined, on, pin};
use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};

/// What a helper does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Job {
    /// Writes each line.
    Write,
    /// Loads each line.
    Load,
    /// Loads each line from memory, so that it holds them unmodified.
    LoadClean,
}

const JOBS: [Job; 3] = [Job::Write, Job::Load, Job::LoadClean];

/// The helpers, as the driver sees them.
#[derive(Debug, Default)]
pub struct Crew {
    helpers: usize,
    job: AtomicU8,
    begun: AtomicUsize,
    done: AtomicUsize,
    over: AtomicBool,
}

impl Crew {
    /// Runs `drive` in a thread on `cpu`, with helpers on `others`.
    ///
    /// # Errors
    /// A thread cannot be pinned, or `drive` fails.
    pub fn run<T: Send>(
        cpu: usize,
        others: &[usize],
        chain: &Chain,
        drive: impl FnOnce(&Self) -> Result<T, Stop> + Send,
    ) -> Result<T, Stop> {
        let crew = Self {
            helpers: others.len(),
            ..Self::default()
        };
        std::thread::scope(|scope| {
            let helpers: Vec<_> = others
                .iter()
                .map(|other| scope.spawn(|| crew.help(*other, chain)))
                .collect();
            let driven = on(cpu, || drive(&crew));
            crew.over.store(true, Ordering::Release);
            let helped = helpers.into_iter().map(|helper| joined(helper.join()));
            let helped: Result<Vec<()>, Stop> = helped.collect();
            helped.and(driven)
        })
    }

    /// Lets all helpers do a job, and waits for them.
    ///
    /// # Errors
    /// A helper has ended.
    pub fn all(&self, job: Job) -> Result<(), Stop> {
        self.done.store(0, Ordering::Relaxed);
        self.job.store(job as u8, Ordering::Relaxed);
        self.begun.fetch_add(1, Ordering::Release);
        let ended = || Err(Stop::Failed("a helping thread ended".to_owned()));
        let ready = || self.done.load(Ordering::Acquire) == self.helpers;
        if self.wait(ready) { Ok(()) } else { ended() }
    }

    fn help(&self, cpu: usize, chain: &Chain) -> Result<(), Stop> {
        if let Err(why) = pin(cpu) {
            self.over.store(true, Ordering::Release);
            return Err(why);
        }
        let mut seen = 0;
        while self.wait(|| self.begun.load(Ordering::Acquire) > seen) {
            seen += 1;
            match JOBS[usize::from(self.job.load(Ordering::Relaxed))] {
                Job::Write => chain.write(),
                Job::Load => chain.load(chain.lines()),
                Job::LoadClean => {
                    chain.flush();
                    chain.load(chain.lines());
                }
            }
            self.done.fetch_add(1, Ordering::Release);
        }
        Ok(())
    }

    /// Waits until `ready`; false if the crew is over.
    fn wait(&self, ready: impl Fn() -> bool) -> bool {
        const LOOKS: usize = 1 << 12;
        loop {
            for _ in 0..LOOKS {
                if ready() {
                    return true;
                }
                spin_loop();
            }
            if self.over.load(Ordering::Acquire) {
                return ready();
            }
            // The other thread may have lost this CPU or its own.
            std::thread::yield_now();
        }
    }
}
