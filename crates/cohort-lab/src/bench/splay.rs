//! `splay`: lookups in a splay tree shared by all threads, under the lock; after a timeout, a
//! thread looks into a tree of its own instead (Chabbi et al. 2017 §6.2).

use super::knobs::{cycles, size};
use super::tree::Tree;
use super::{Guarded, Knobs, Player, Setting, Span, Workload};
use crate::world::{Actor, WORDS, World};
use std::sync::Arc;

/// Lookups in the shared tree.
pub(super) const INSIDE: &str = "global";

/// Lookups in a thread's own tree.
pub(super) const ELSEWHERE: &str = "local";

/// Bytes of all trees.
pub const TREES: &str = "bytes of trees";

/// Lookups of a hundred that are for the hot key.
const HOT: u64 = 90;

/// Bytes of a node, which has a line.
const LINE: u64 = (WORDS * size_of::<u64>()) as u64;

/// The keys next to the hot key, sharing the remaining lookups.
const NEIGHBOURS: u64 = 64;

/// The workload.
pub enum Splay {}

/// State shared by its threads.
pub struct Shared<W: World> {
    guarded: Guarded<W>,
    global: Tree<W::Memory>,
    local: Vec<Tree<W::Memory>>,
    nodes: u64,
    timeout: Option<u64>,
    phase: u64,
    seed: u64,
}

impl<W: World> Shared<W> {
    /// The next key: the hot one, which changes with the phase, or a neighbour.
    fn key(&self, player: &mut Player<'_, W::Actor>) -> u64 {
        let phase = player.actor().now() / self.phase;
        let hot = self
            .seed
            .wrapping_add(phase)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            >> 16;
        let aside = if player.random_below(100) < HOT {
            0
        } else {
            player.random_below(NEIGHBOURS) + 1
        };
        (hot + aside) % self.nodes + 1
    }
}

impl Workload for Splay {
    const NAME: &'static str = "splay";
    const ABOUT: &'static str =
        "lookups in a shared splay tree; after a timeout, in the thread's own tree";
    const SOURCE: &'static str = "Chabbi et al. 2017 §6.2";
    const OPERATION: &'static str = "lookup";
    const TAKES: &'static [&'static str] = &["nodes", "timeout", "phase"];
    const DEFAULTS: Knobs = Knobs {
        nodes: Some(8_191),
        timeout: Some(Span::Cycles(10_000)),
        // A second in the paper's long runs; simulated runs last milliseconds.
        phase: Some(Span::Nanoseconds(1_000_000)),
        ..Knobs::NONE
    };

    type Shared<W: World> = Shared<W>;

    fn prepare<W: World>(world: &mut W, setting: &Setting) -> Shared<W> {
        let (knobs, hertz) = (&setting.knobs, world.hertz());
        let nodes = size(knobs.nodes).max(1);
        let guarded = Guarded::new(world, &setting.lock, 0, setting.threads, nodes + 1);
        let local = (0..setting.threads).map(|_| Tree::new(world.memory(nodes + 1), nodes));
        Shared {
            local: local.collect(),
            global: Tree::new(Arc::clone(guarded.shared()), nodes),
            guarded,
            nodes: nodes as u64,
            timeout: knobs.timeout.map(|timeout| timeout.cycles(hertz)),
            phase: cycles(knobs.phase, hertz).max(1),
            seed: setting.seed,
        }
    }

    fn take_part<W: World>(shared: &Shared<W>, player: &mut Player<'_, W::Actor>) {
        let local = &shared.local[player.index()];
        if player.index() == 0 {
            let trees = shared.local.len() as u64 + 1;
            player.note(TREES, trees * (shared.nodes + 1) * LINE);
        }
        while player.goes_on() {
            let key = shared.key(player);
            let found = player.section_within(&shared.guarded, shared.timeout, |_| {
                shared.global.splay(key);
            });
            if found.is_some() {
                player.count(INSIDE, 1);
            } else {
                local.splay(key);
                player.count(ELSEWHERE, 1);
            }
            player.done();
        }
    }
}
