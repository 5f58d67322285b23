//! `memcached-set`: a model of memcached's set requests under one lock (Zhang et al. 2017 §4.3.2).
//!
//! Per table 6 of Zhang et al. 2017, 61.6 % of the time is spent at the lock with 40 threads under
//! a POSIX mutex. A request of the model is one critical section that changes a bucket, an item and
//! the list's head. The work in between is set so that the simulated Xeon comes near that share; a
//! test checks it.
//!
//! A note to that table gives memcached 18 of the CPUs, and its clients 18 others: [`SETS`] is the
//! same model fitted to that share with 18 threads. Its gets spend 84.7 % of the time at the lock;
//! the paper finds their critical sections long (§4.3.2). [`GETS`] has the work of sets in between,
//! and a critical section fitted to that share.

use super::knobs::{cycles, size};
use super::player::update;
use super::{Guarded, Knobs, Player, Setting, Span, Workload};
use crate::world::World;

/// The head of the LRU list.
const HEAD: usize = 0;

/// Sets by 18 threads.
pub const SETS: Knobs = Knobs {
    outside: Some(Span::Cycles(13_600)),
    ..Knobs::NONE
};

/// Gets by 18 threads.
pub const GETS: Knobs = Knobs {
    critical: Some(Span::Cycles(2_900)),
    ..SETS
};

/// The workload.
pub enum MemcachedSet {}

/// State shared by its threads.
pub struct Shared<W: World> {
    guarded: Guarded<W>,
    items: u64,
    critical: u64,
    outside: u64,
}

impl Workload for MemcachedSet {
    const NAME: &'static str = "memcached-set";
    const ABOUT: &'static str = "a model of memcached's sets: one lock, long critical sections";
    const SOURCE: &'static str =
        "Zhang et al. 2017 §4.3.2, Table 6; derived in bench/memcached_set.rs";
    const OPERATION: &'static str = "set";
    const TAKES: &'static [&'static str] = &["critical", "outside", "nodes"];
    const DEFAULTS: Knobs = Knobs {
        critical: Some(Span::Cycles(600)),
        outside: Some(Span::Cycles(37_000)),
        nodes: Some(8_192),
        ..Knobs::NONE
    };

    type Shared<W: World> = Shared<W>;

    fn prepare<W: World>(world: &mut W, setting: &Setting) -> Shared<W> {
        let (knobs, hertz) = (&setting.knobs, world.hertz());
        let items = size(knobs.nodes).max(1);
        Shared {
            // A bucket and an item each, beside the head.
            guarded: Guarded::new(world, &setting.lock, 0, setting.threads, 2 * items + 1),
            items: items as u64,
            critical: cycles(knobs.critical, hertz),
            outside: cycles(knobs.outside, hertz),
        }
    }

    fn take_part<W: World>(shared: &Shared<W>, player: &mut Player<'_, W::Actor>) {
        while player.goes_on() {
            let bucket = 1 + 2 * player.random_below(shared.items) as usize;
            player.section(&shared.guarded, |player| {
                let data = shared.guarded.data();
                update(data, bucket, 1);
                update(data, bucket + 1, 4);
                update(data, HEAD, 2);
                player.work(shared.critical);
            });
            player.done();
            player.work_about(shared.outside);
        }
    }
}
