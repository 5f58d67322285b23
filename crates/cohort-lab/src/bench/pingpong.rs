//! `pingpong`: threads increment a counter in turn; each waits for its own count (Chehab et al.
//! 2021 §3.1, with two threads and no lock).

use super::{Guarded, Knobs, Player, Setting, Workload};
use crate::world::{Actor, Memory, World};
use std::sync::Arc;

/// The workload.
pub enum PingPong {}

/// State shared by its threads.
pub struct Shared<W: World> {
    guarded: Guarded<W>,
    counter: Arc<W::Memory>,
    threads: u64,
}

impl Workload for PingPong {
    const NAME: &'static str = "pingpong";
    const ABOUT: &'static str =
        "threads alternately increment a counter, under the lock or under `none`";
    const SOURCE: &'static str = "Chehab et al. 2021 §3.1";
    const OPERATION: &'static str = "turn";
    const TAKES: &'static [&'static str] = &[];
    const DEFAULTS: Knobs = Knobs::NONE;

    type Shared<W: World> = Shared<W>;

    fn prepare<W: World>(world: &mut W, setting: &Setting) -> Shared<W> {
        Shared {
            guarded: Guarded::new(world, &setting.lock, 0, setting.threads, 0),
            counter: world.memory(1),
            threads: setting.threads as u64,
        }
    }

    fn take_part<W: World>(shared: &Shared<W>, player: &mut Player<'_, W::Actor>) {
        let counter = &*shared.counter;
        let mine = player.index() as u64;
        loop {
            let is_mine = || counter.read(0, 0) % shared.threads == mine;
            player.actor().poll(is_mine);
            if !player.goes_on() {
                // Lets the thread with the next turn see the end.
                counter.add(0, 0, 1);
                return;
            }
            player.section(&shared.guarded, |_| counter.add(0, 0, 1));
            player.done();
        }
    }
}
