//! A run: threads on a machine, and the outcome.

use super::current::Installed;
use super::failure::{Doing, Failure, Waiting};
use super::fiber::Thread as Handle;
use super::hardware::Hardware;
use super::memory::Memory;
use super::options::Options;
use super::outcome::Outcome;
use super::placement::place;
use super::state::Engine;
use super::steady::Rule;
use super::thread::{State, Thread};
use super::turns::Next;
use crate::random::Random;
use corosensei::stack::{DefaultStack, Stack, StackPointer};
use corosensei::{Coroutine, CoroutineResult};
use std::cell::RefCell;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Bytes of a fiber's stack, enough for a panic's message; untouched pages cost nothing.
const STACK: usize = 256 * 1024;

type Program<'m> = Box<dyn FnOnce(&Handle) + 'm>;

/// Threads to be run on a simulated machine.
///
/// All of them run on the host thread that calls [`go`](Self::go).
pub struct Run<'m> {
    hardware: &'m Hardware,
    memory: &'m Memory,
    options: Options,
    programs: Vec<Program<'m>>,
    one_thread: PhantomData<*const ()>,
}

impl std::fmt::Debug for Run<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run")
            .field("machine", &self.hardware.name)
            .field("threads", &self.programs.len())
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl<'m> Run<'m> {
    /// A run without threads.
    #[must_use]
    pub const fn new(hardware: &'m Hardware, memory: &'m Memory, options: Options) -> Self {
        Self {
            hardware,
            memory,
            options,
            programs: Vec::new(),
            one_thread: PhantomData,
        }
    }

    /// Adds a thread; threads are numbered in this order.
    pub fn spawn(&mut self, program: impl FnOnce(&Handle) + 'm) {
        self.programs.push(Box::new(program));
    }

    /// Runs all threads until each has returned.
    ///
    /// # Errors
    /// A deadlock, a livelock, a thread that panicked, or a placement that names
    /// CPUs the machine does not have.
    ///
    /// # Panics
    /// If called by a simulated thread, or if the host has no memory for a stack.
    pub fn go(self) -> Result<Outcome, Failure> {
        let count = self.programs.len();
        let mut threads = Vec::with_capacity(count + self.options.background);
        let instructions = self.hardware.costs.instruction;
        let cpus = place(self.hardware, &self.options.placement, count)?;
        for (number, cpu) in cpus.into_iter().enumerate() {
            let random = Random::new(self.options.seed, number as u64);
            threads.push(Thread::new(
                cpu,
                self.options.pinned,
                false,
                instructions,
                random,
            ));
        }
        let background = place(
            self.hardware,
            &self.options.background_at,
            self.options.background,
        )?;
        for (number, cpu) in background.into_iter().enumerate() {
            let random = Random::new(self.options.seed, (count + number) as u64);
            threads.push(Thread::new(cpu, false, true, instructions, random));
        }
        let mut fibers: Vec<Fiber> = Vec::with_capacity(threads.len());
        let background = (0..self.options.background).map(|_| Box::new(toil) as Program<'m>);
        for (number, program) in self.programs.into_iter().chain(background).enumerate() {
            // SAFETY: the program may borrow for 'm, which outlives this call and therefore the
            // fibers.
            fibers.push(unsafe { Fiber::new(number, program) });
        }
        let mut engine = Engine::new(self.hardware, self.memory, self.options, threads);
        engine.begin();
        let engine: *mut Engine<'m> = &raw mut engine;
        let installed = Installed::new(engine);
        let end = drive(engine, &mut fibers);
        drop(installed);
        // SAFETY: no fiber runs, so this borrow is exclusive.
        let engine = unsafe { &mut *engine };
        match end {
            Ok(Next::Deadlock) => Err(Failure::Deadlock {
                steps: engine.steps,
                waits: waits(engine),
            }),
            Ok(Next::Livelock) => Err(Failure::Livelock {
                steps: engine.steps,
                waits: waits(engine),
            }),
            Ok(_) => {
                let at = engine.threads.iter().filter(|thread| !thread.background);
                let at = at.map(|thread| thread.clock).max().unwrap_or(0);
                engine.record.end(at, &engine.traffic, Rule::Returned);
                Ok(Outcome::new(engine))
            }
            Err(failure) => Err(failure),
        }
    }
}

/// The state of each thread.
fn waits(engine: &mut Engine<'_>) -> Vec<Waiting> {
    let count = engine.threads.len();
    let waiting = |thread: usize| {
        let state = engine.threads[thread].state;
        let doing = match state {
            State::Running | State::Ready => Doing::Running,
            State::Done => Doing::Returned,
            State::Polling => {
                let look = &engine.threads[thread].last_look;
                Doing::Polling(look.lines().iter().map(|(line, _)| *line).collect())
            }
            State::Asleep => match engine.sleepers.word(thread) {
                None => Doing::Running,
                Some((address, value)) => Doing::Sleeping {
                    line: engine.line(address),
                    offset: address % engine.hardware.line_bytes as usize,
                    value,
                },
            },
        };
        let thread_ = &engine.threads[thread];
        let since = match state {
            State::Polling | State::Asleep => thread_.poll.since,
            _ => thread_.clock,
        };
        Waiting {
            thread,
            cpu: thread_.cpu,
            doing,
            since: engine.hardware.rate.nanoseconds(since),
        }
    };
    (0..count).map(waiting).collect()
}

/// A background thread's program.
fn toil(thread: &Handle) {
    loop {
        thread.work(1_000_000);
    }
}

/// Lets fibers run in turn until the run ends.
fn drive(engine: *mut Engine<'_>, fibers: &mut [Fiber]) -> Result<Next, Failure> {
    loop {
        // SAFETY: `engine` is alive and no fiber runs; the borrow ends with the call.
        let next = unsafe { &mut *engine }.next();
        let Next::Run(thread) = next else {
            return Ok(next);
        };
        let resumed = catch_unwind(AssertUnwindSafe(|| fibers[thread].coroutine.resume(())));
        match resumed {
            Ok(CoroutineResult::Yield(())) => {}
            // SAFETY: as above.
            Ok(CoroutineResult::Return(())) => unsafe { &mut *engine }.finish(),
            Err(reason) => return Err(Failure::panicked(thread, reason.as_ref())),
        }
    }
}

/// Stacks of ended fibers to keep for later runs on this host thread. Mapping, protecting and
/// unmapping a stack for each fiber took a fifth of the time of short runs.
const KEPT: usize = 4_096;

thread_local! {
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

/// The stack of the fiber of that number.
fn stack(number: usize) -> Shifted {
    let kept = STACKS.with_borrow_mut(Vec::pop);
    let stack = kept.unwrap_or_else(|| {
        DefaultStack::new(STACK).expect("no memory for a simulated thread's stack")
    });
    Shifted {
        stack,
        by: number % SHIFTS * SHIFT,
    }
}

/// A stack with a gap between its top and its first frame. Stacks are mapped at whole pages, so
/// equal frames of all fibers would compete for the same sets of the host's first cache.
struct Shifted {
    stack: DefaultStack,
    by: usize,
}

/// The bytes from one shift to the next, a multiple of every machine's line size: what shares a line
/// on one stack does so on all.
const SHIFT: usize = 256;

/// Shifts within a page.
const SHIFTS: usize = 16;

// SAFETY: a part of a stack, which is large enough.
unsafe impl Stack for Shifted {
    fn base(&self) -> StackPointer {
        let base = self.stack.base().get() - self.by;
        StackPointer::new(base).expect("a stack does not begin at zero")
    }

    fn limit(&self) -> StackPointer {
        self.stack.limit()
    }
}

/// A thread's program, with its own stack.
struct Fiber {
    /// Valid until the fiber is dropped.
    coroutine: ManuallyDrop<Coroutine<(), (), (), Shifted>>,
}

impl Fiber {
    /// # Safety
    /// The borrows of `program` outlive the fiber.
    unsafe fn new(number: usize, program: Program<'_>) -> Self {
        let body = move |fiber: &super::thread::Fiber, ()| {
            super::current::with(|engine| engine.me().fiber = std::ptr::from_ref(fiber));
            program(&Handle { number });
        };
        // SAFETY: guaranteed by the caller.
        let coroutine = unsafe { Coroutine::with_stack_unchecked(stack(number), body) };
        Self {
            coroutine: ManuallyDrop::new(coroutine),
        }
    }
}

impl Drop for Fiber {
    fn drop(&mut self) {
        if self.coroutine.started() && !self.coroutine.done() {
            // SAFETY: the run is over, so this stack is never read again. Values on it are leaked:
            // dropping them would release locks on a stopped machine.
            unsafe { self.coroutine.force_reset() };
        }
        // SAFETY: the field is not read afterwards.
        let coroutine = unsafe { ManuallyDrop::take(&mut self.coroutine) };
        if !coroutine.done() {
            return;
        }
        let Shifted { stack, .. } = coroutine.into_stack();
        // Fails during the host thread's exit, when its stacks are gone.
        let _ = STACKS.try_with(|stacks| {
            let mut stacks = stacks.borrow_mut();
            if stacks.len() < KEPT {
                stacks.push(stack);
            }
        });
    }
}
