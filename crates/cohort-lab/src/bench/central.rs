//! A central lock, lines changed under it, and other work in between: the base of `loop` and
//! `lbench`.

use super::knobs::{cycles, size};
use super::player::{ahead, update};
use super::{Guarded, Player, Setting};
use crate::world::World;

/// State shared by the threads.
pub struct Central<W: World> {
    guarded: Guarded<W>,
    lines: usize,
    critical: u64,
    outside: u64,
    timeout: Option<u64>,
}

impl<W: World> Central<W> {
    /// Creates the lock and its lines.
    pub(super) fn new(world: &mut W, setting: &Setting) -> Self {
        let (knobs, hertz) = (&setting.knobs, world.hertz());
        let lines = size(knobs.lines);
        Self {
            guarded: Guarded::new(world, &setting.lock, 0, setting.threads, lines),
            lines,
            critical: cycles(knobs.critical, hertz),
            outside: cycles(knobs.outside, hertz),
            timeout: knobs.timeout.map(|timeout| timeout.cycles(hertz)),
        }
    }

    /// One thread's part: a critical section increments that many words of each line, and `rest`
    /// passes the time outside.
    pub(super) fn take_part(
        &self,
        player: &mut Player<'_, W::Actor>,
        words: usize,
        rest: impl Fn(&mut Player<'_, W::Actor>, u64),
    ) {
        while player.goes_on() {
            let done = player.section_within(&self.guarded, self.timeout, |player| {
                ahead(self.guarded.data(), self.lines);
                for line in 0..self.lines {
                    update(self.guarded.data(), line, words);
                }
                player.work(self.critical);
            });
            if done.is_some() {
                player.done();
            }
            rest(player, self.outside);
        }
    }
}
