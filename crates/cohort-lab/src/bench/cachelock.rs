//! `cachelock`: a model of memcached 1.4's cache lock under a mix of gets and sets
//! (Dice et al. 2015 §5.3).
//!
//! One lock guards the hash table and the LRU lists, another the counters. A get looks up an item
//! and counts its reference, in one critical section. A set allocates an item in one critical
//! section and links it in place of the old one in another. Both update counters under the second
//! lock. The lengths are estimates from Table I. With 90 % sets, the best locks reach 4.7 times one
//! thread, so a set spends about a fifth of its time in critical sections. With 90 % gets, the lock
//! does not matter, so a get's critical section is a fraction of that.
//! section is a fraction of that.

use super::knobs::{cycles, size};
use super::player::update;
use super::{Guarded, Knobs, Player, Setting, Span, Workload};
use crate::world::{Memory, World};

/// The head of the LRU list, and the allocator's free list.
const HEAD: usize = 0;
const FREE: usize = 1;
const HOT: usize = 2;

/// A get's work is this part of a set's critical section.
const GET: u64 = 4;

/// The workload.
pub enum CacheLock {}

/// State shared by its threads.
pub struct Shared<W: World> {
    cache: Guarded<W>,
    counters: Guarded<W>,
    items: u64,
    sets: u64,
    critical: u64,
    outside: u64,
}

impl Workload for CacheLock {
    const NAME: &'static str = "cachelock";
    const ABOUT: &'static str = "a model of memcached's cache lock: gets and sets, mixed";
    const SOURCE: &'static str = "Dice et al. 2015 §5.3; derived in bench/cachelock.rs";
    const OPERATION: &'static str = "request";
    const TAKES: &'static [&'static str] = &["sets", "critical", "outside", "nodes"];
    const DEFAULTS: Knobs = Knobs {
        sets: Some(50),
        critical: Some(Span::Nanoseconds(2_000)),
        outside: Some(Span::Nanoseconds(20_000)),
        nodes: Some(8_192),
        ..Knobs::NONE
    };

    type Shared<W: World> = Shared<W>;

    fn prepare<W: World>(world: &mut W, setting: &Setting) -> Shared<W> {
        let (knobs, hertz) = (&setting.knobs, world.hertz());
        let items = size(knobs.nodes).max(1);
        Shared {
            // A bucket and an item each.
            cache: Guarded::new(world, &setting.lock, 0, setting.threads, 2 * items + HOT),
            counters: Guarded::new(world, &setting.lock, 1, setting.threads, 1),
            items: items as u64,
            sets: knobs.sets.unwrap_or(0),
            critical: cycles(knobs.critical, hertz),
            outside: cycles(knobs.outside, hertz),
        }
    }

    fn take_part<W: World>(shared: &Shared<W>, player: &mut Player<'_, W::Actor>) {
        while player.goes_on() {
            let bucket = HOT + 2 * player.random_below(shared.items) as usize;
            if player.random_below(100) < shared.sets {
                set(shared, player, bucket);
            } else {
                get(shared, player, bucket);
            }
            player.section(&shared.counters, |_| {
                update(shared.counters.data(), 0, 2);
            });
            player.done();
            player.work_about(shared.outside);
        }
    }
}

fn get<W: World>(shared: &Shared<W>, player: &mut Player<'_, W::Actor>, bucket: usize) {
    player.section(&shared.cache, |player| {
        let data = shared.cache.data();
        data.read(bucket, 0);
        update(data, bucket + 1, 1);
        player.work(shared.critical / GET);
    });
}

fn set<W: World>(shared: &Shared<W>, player: &mut Player<'_, W::Actor>, bucket: usize) {
    player.section(&shared.cache, |player| {
        update(shared.cache.data(), FREE, 2);
        player.work(shared.critical);
    });
    player.section(&shared.cache, |player| {
        let data = shared.cache.data();
        update(data, bucket, 1);
        update(data, bucket + 1, 4);
        update(data, HEAD, 2);
        player.work(shared.critical);
    });
}
