//! `bfs`: a breadth-first search by threads that share a runtime with one lock (Chabbi et al. 2017
//! §6.4).
//!
//! The threads of each of four processes expand vertices. An edge to another process goes into a
//! message. Sending it takes the runtime's lock, and so does each test for an arrival. A test may
//! time out, or not wait at all; the thread then continues with the next vertex. The workload
//! measures what that gains or loses.
//!
//! Edges depend on messages: a thread expands what its process has received, and what its own edges
//! have found there. So the edges still to expand, in threads and in messages, are always equally
//! many, and a process without them can only test. A thread has buffers for a few messages: when
//! all are in flight, it tests too. Degrees are those of a Kronecker graph, where a few vertices
//! have most of the edges. Searches follow each other without end; their boundaries do not matter
//! to the lock.

use super::knobs::{Poll, cycles};
use super::player::update;
use super::{Guarded, Knobs, Player, Setting, Span, Workload};
use crate::world::{Actor, World};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Processes, each with a runtime.
const PROCESSES: usize = 4;

/// Messages of a thread in flight, an estimate: its buffers. The edges that a thread begins with
/// fill them.
const OUTSTANDING: usize = 8;

/// Edges in one message.
const BATCH: u64 = 64;

/// Cycles of work for each edge: a lookup in an uncached bitmap.
const EDGE: u64 = 40;

/// Edges of a vertex of average degree in Graph500's graphs.
const DEGREE: u64 = 16;

/// The largest degree, relative to the mean.
const SPREAD: u32 = 8;

/// The workload.
pub enum Bfs {}

/// A message on its way.
struct Message {
    sender: usize,
    arrives: u64,
}

/// State shared by its threads.
pub struct Shared<W: World> {
    runtimes: Vec<Guarded<W>>,
    /// The messages to each process, in the order of their sending.
    to: Vec<Mutex<VecDeque<Message>>>,
    /// Each thread's messages in flight.
    under_way: Vec<AtomicUsize>,
    processes: usize,
    critical: u64,
    latency: u64,
    timeout: Option<u64>,
    poll: Option<Poll>,
}

impl Workload for Bfs {
    const NAME: &'static str = "bfs";
    const ABOUT: &'static str =
        "graph search over a runtime with one lock per process; MPI_Test may time out";
    const SOURCE: &'static str = "Chabbi et al. 2017 §6.4";
    const OPERATION: &'static str = "edge";
    const TAKES: &'static [&'static str] = &["critical", "outside", "timeout", "poll"];
    /// The runtime's time under its lock and a message's time (here `outside`) are estimates.
    const DEFAULTS: Knobs = Knobs {
        critical: Some(Span::Cycles(300)),
        outside: Some(Span::Nanoseconds(2_000)),
        ..Knobs::NONE
    };

    type Shared<W: World> = Shared<W>;

    fn prepare<W: World>(world: &mut W, setting: &Setting) -> Shared<W> {
        let (knobs, hertz) = (&setting.knobs, world.hertz());
        let processes = PROCESSES.min(setting.threads);
        Shared {
            runtimes: (0..processes)
                .map(|number| Guarded::new(world, &setting.lock, number, setting.threads, 3))
                .collect(),
            to: (0..processes).map(|_| Mutex::default()).collect(),
            under_way: (0..setting.threads).map(|_| AtomicUsize::new(0)).collect(),
            processes,
            critical: cycles(knobs.critical, hertz),
            latency: cycles(knobs.outside, hertz),
            timeout: knobs.timeout.map(|timeout| timeout.cycles(hertz)),
            poll: knobs.poll,
        }
    }

    fn take_part<W: World>(shared: &Shared<W>, player: &mut Player<'_, W::Actor>) {
        // Adjacent threads share a process.
        let threads = shared.runtimes[0].threads();
        let process = player.index() * shared.processes / threads;
        let mut edges = (OUTSTANDING as i64) * BATCH as i64;
        let mut filled = 0;
        while player.goes_on() {
            if edges > 0 {
                let degree = degree(player);
                player.work(degree * EDGE);
                player.done_many(degree);
                let outside = degree * (shared.processes as u64 - 1) / shared.processes as u64;
                // A vertex of high degree takes edges in advance.
                edges -= outside as i64;
                filled += outside;
            }
            while filled >= BATCH && player.goes_on() {
                if shared.in_flight(player.index()) < OUTSTANDING {
                    filled -= BATCH;
                    send(shared, process, player);
                } else {
                    edges += test(shared, process, player);
                }
            }
            edges += test(shared, process, player);
        }
    }
}

impl<W: World> Shared<W> {
    fn in_flight(&self, thread: usize) -> usize {
        self.under_way[thread].load(Ordering::Relaxed)
    }

    /// The messages to that process, under its runtime's lock or its sender's.
    fn messages<T>(&self, process: usize, body: impl FnOnce(&mut VecDeque<Message>) -> T) -> T {
        let messages = self.to[process].lock();
        body(&mut messages.unwrap_or_else(PoisonError::into_inner))
    }
}

/// The probability halves with each doubling, so that the mean stays near [`DEGREE`].
fn degree<A: Actor>(player: &mut Player<'_, A>) -> u64 {
    let doublings = player.random_below(1 << SPREAD).max(1).leading_zeros() + SPREAD - 64;
    (DEGREE / 4) << doublings.min(SPREAD)
}

/// Sends a message to another process.
fn send<W: World>(shared: &Shared<W>, process: usize, player: &mut Player<'_, W::Actor>) {
    let runtime = &shared.runtimes[process];
    let others = (shared.processes as u64 - 1).max(1);
    let to = (process + 1 + player.random_below(others) as usize) % shared.processes;
    player.section(runtime, |player| {
        update(runtime.data(), 0, 2);
        update(runtime.data(), 1, 2);
        player.work(shared.critical);
        let message = Message {
            sender: player.index(),
            arrives: player.actor().now() + shared.latency,
        };
        shared.under_way[message.sender].fetch_add(1, Ordering::Relaxed);
        shared.messages(to, |messages| messages.push_back(message));
    });
    player.count("sent", 1);
}

/// Tests once whether a message has arrived; the edges received.
fn test<W: World>(shared: &Shared<W>, process: usize, player: &mut Player<'_, W::Actor>) -> i64 {
    let runtime = &shared.runtimes[process];
    let look = |player: &mut Player<'_, W::Actor>| {
        update(runtime.data(), 0, 1);
        update(runtime.data(), 2, 1);
        player.work(shared.critical);
        let now = player.actor().now();
        shared.messages(process, |messages| {
            messages.pop_front_if(|message| message.arrives <= now)
        })
    };
    let tested = match shared.poll {
        Some(Poll::IsLocked) if runtime.is_locked() => None,
        Some(Poll::Try) => player.section_if_free(runtime, look),
        _ => player.section_within(runtime, shared.timeout, look),
    };
    let Some(found) = tested else { return 0 };
    player.count("tests", 1);
    let Some(message) = found else { return 0 };
    shared.under_way[message.sender].fetch_sub(1, Ordering::Relaxed);
    player.count("received", 1);
    BATCH as i64
}
