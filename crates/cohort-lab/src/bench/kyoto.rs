//! `kyoto`: a model of Kyoto Cabinet's in-memory cache under one lock, the control
//! workload of Chehab et al. 2021 §5.1.2.
//!
//! The paper says only that it is contended, and that its critical sections differ from LevelDB's.
//! The model is an in-memory hash table with an LRU list. An operation looks up a random record,
//! changes it and moves it to the list's head, all in one critical section. The lengths are
//! estimates: 300 cycles to hash, compare and copy, half a microsecond between two operations.

use super::knobs::{cycles, size};
use super::player::update;
use super::{Guarded, Knobs, Player, Setting, Span, Workload};
use crate::world::{Memory, World};

/// The line of the record count and of the list's head.
const HEAD: usize = 0;

/// The workload.
pub enum Kyoto {}

/// State shared by its threads.
pub struct Shared<W: World> {
    guarded: Guarded<W>,
    records: u64,
    critical: u64,
    outside: u64,
}

impl Workload for Kyoto {
    const NAME: &'static str = "kyoto";
    const ABOUT: &'static str = "a model of Kyoto Cabinet: an in-memory hash table under one lock";
    const SOURCE: &'static str = "Chehab et al. 2021 §5.1.2; derived in bench/kyoto.rs";
    const OPERATION: &'static str = "operation";
    const TAKES: &'static [&'static str] = &["critical", "outside", "nodes"];
    const DEFAULTS: Knobs = Knobs {
        critical: Some(Span::Cycles(300)),
        outside: Some(Span::Nanoseconds(500)),
        nodes: Some(4_096),
        ..Knobs::NONE
    };

    type Shared<W: World> = Shared<W>;

    fn prepare<W: World>(world: &mut W, setting: &Setting) -> Shared<W> {
        let (knobs, hertz) = (&setting.knobs, world.hertz());
        let records = size(knobs.nodes).max(1);
        Shared {
            // A bucket and a record each, beside the head.
            guarded: Guarded::new(world, &setting.lock, 0, setting.threads, 2 * records + 1),
            records: records as u64,
            critical: cycles(knobs.critical, hertz),
            outside: cycles(knobs.outside, hertz),
        }
    }

    fn take_part<W: World>(shared: &Shared<W>, player: &mut Player<'_, W::Actor>) {
        while player.goes_on() {
            let record = 1 + 2 * player.random_below(shared.records) as usize;
            player.section(&shared.guarded, |player| {
                let data = shared.guarded.data();
                data.read(record, 0);
                update(data, record + 1, 2);
                update(data, HEAD, 2);
                player.work(shared.critical);
            });
            player.done();
            player.work_about(shared.outside);
        }
    }
}
