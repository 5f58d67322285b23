//! `rw`: threads read lines under a lock that readers may share, and occasionally change them.
//!
//! Under an exclusive lock, readers acquire it like writers. Counts by place (critical sections of
//! each cohort, hand-overs) are those of writers.

use super::knobs::{cycles, size};
use super::player::update;
use super::{Guarded, Knobs, Player, Setting, Span, Workload};
use crate::world::{Memory, World};

/// The workload.
pub enum Rw {}

/// State shared by its threads.
pub struct Shared<W: World> {
    guarded: Guarded<W>,
    reads: u64,
    lines: usize,
    critical: u64,
    outside: u64,
}

impl Workload for Rw {
    const NAME: &'static str = "rw";
    const ABOUT: &'static str = "readers and writers of one rwlock";
    const SOURCE: &'static str = "Calciu et al. 2013";
    const OPERATION: &'static str = "operation";
    const TAKES: &'static [&'static str] = &["reads", "critical", "outside", "lines"];
    const DEFAULTS: Knobs = Knobs {
        reads: Some(95),
        lines: Some(4),
        critical: Some(Span::Nanoseconds(100)),
        outside: Some(Span::Nanoseconds(1_000)),
        ..Knobs::NONE
    };

    type Shared<W: World> = Shared<W>;

    fn prepare<W: World>(world: &mut W, setting: &Setting) -> Shared<W> {
        let (knobs, hertz) = (&setting.knobs, world.hertz());
        let lines = size(knobs.lines);
        Shared {
            guarded: Guarded::new(world, &setting.lock, 0, setting.threads, lines),
            reads: knobs.reads.unwrap_or(0),
            lines,
            critical: cycles(knobs.critical, hertz),
            outside: cycles(knobs.outside, hertz),
        }
    }

    fn take_part<W: World>(shared: &Shared<W>, player: &mut Player<'_, W::Actor>) {
        let data = shared.guarded.data();
        while player.goes_on() {
            if player.random_below(100) < shared.reads {
                player.reading(&shared.guarded, |player| {
                    for line in 0..shared.lines {
                        data.read(line, 0);
                    }
                    player.work(shared.critical);
                });
                player.count("reads", 1);
            } else {
                player.section(&shared.guarded, |player| {
                    for line in 0..shared.lines {
                        update(data, line, 1);
                    }
                    player.work(shared.critical);
                });
                player.count("writes", 1);
            }
            player.done();
            player.work_about(shared.outside);
        }
    }
}
