//! `bfs`: a breadth-first search by threads that share a runtime with one lock (Chabbi et al. 2017
//! §6.4).
//!
//! The threads of each of four processes expand vertices. An edge to another process goes into a
//! message. Sending it takes the runtime's lock, and so does each test for its arrival. A test may
//! time out, or not wait at all; the thread then continues with the next vertex. The workload
//! measures what that gains or loses. A thread has buffers for a few messages: when all are in
//! flight, it tests until one has arrived. Degrees are those of a Kronecker graph, where a few
//! vertices have most of the edges. Searches follow each other without end; their boundaries do not
//! matter to the lock.

use super::knobs::{Poll, cycles};
use super::player::update;
use super::{Guarded, Knobs, Player, Setting, Span, Workload};
use crate::world::{Actor, World};
use std::collections::VecDeque;

/// Processes, each with a runtime.
const PROCESSES: usize = 4;

/// Messages of a thread in flight, an estimate: its buffers.
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

/// State shared by its threads.
pub struct Shared<W: World> {
    runtimes: Vec<Guarded<W>>,
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
        let runtime = &shared.runtimes[player.index() * shared.processes / threads];
        let mut under_way: VecDeque<u64> = VecDeque::new();
        let mut filled = 0;
        while player.goes_on() {
            let edges = degree(player);
            player.work(edges * EDGE);
            player.done_many(edges);
            filled += edges * (shared.processes as u64 - 1) / shared.processes as u64;
            while filled >= BATCH {
                filled -= BATCH;
                while under_way.len() >= OUTSTANDING && player.goes_on() {
                    test(shared, runtime, player, &mut under_way);
                }
                send(shared, runtime, player);
                under_way.push_back(player.actor().now() + shared.latency);
            }
            if !under_way.is_empty() {
                test(shared, runtime, player, &mut under_way);
            }
        }
    }
}

/// The probability halves with each doubling, so that the mean stays near [`DEGREE`].
fn degree<A: Actor>(player: &mut Player<'_, A>) -> u64 {
    let doublings = player.random_below(1 << SPREAD).max(1).leading_zeros() + SPREAD - 64;
    (DEGREE / 4) << doublings.min(SPREAD)
}

fn send<W: World>(shared: &Shared<W>, runtime: &Guarded<W>, player: &mut Player<'_, W::Actor>) {
    player.section(runtime, |player| {
        update(runtime.data(), 0, 2);
        update(runtime.data(), 1, 2);
        player.work(shared.critical);
    });
    player.count("sent", 1);
}

/// Tests once whether the oldest message has arrived.
fn test<W: World>(
    shared: &Shared<W>,
    runtime: &Guarded<W>,
    player: &mut Player<'_, W::Actor>,
    under_way: &mut VecDeque<u64>,
) {
    let look = |player: &mut Player<'_, W::Actor>| {
        update(runtime.data(), 0, 1);
        update(runtime.data(), 2, 1);
        player.work(shared.critical);
        player.actor().now()
    };
    let tested = match shared.poll {
        Some(Poll::IsLocked) if runtime.is_locked() => None,
        Some(Poll::Try) => player.section_if_free(runtime, look),
        _ => player.section_within(runtime, shared.timeout, look),
    };
    let Some(now) = tested else { return };
    player.count("tests", 1);
    if under_way.front().is_some_and(|arrives| *arrives <= now) {
        under_way.pop_front();
        player.count("received", 1);
    }
}
