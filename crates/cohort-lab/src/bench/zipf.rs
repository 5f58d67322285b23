//! `zipf`: several locks with different demand (Antić et al. 2016 §3.2).

use super::knobs::{cycles, size};
use super::player::update;
use super::{Guarded, Knobs, Player, Setting, Span, Workload};
use crate::world::World;

/// The workload.
pub enum Zipf {}

/// Several locks with different demand.
pub struct Several<W: World> {
    locks: Vec<Guarded<W>>,
    chooser: Chooser,
    lines: usize,
    critical: u64,
    outside: u64,
}

impl<W: World> Several<W> {
    /// Creates the locks, each with its lines.
    pub(super) fn new(world: &mut W, setting: &Setting) -> Self {
        let (knobs, hertz) = (&setting.knobs, world.hertz());
        let lines = size(knobs.lines);
        let instances = size(knobs.instances).max(1);
        Self {
            locks: (0..instances)
                .map(|number| Guarded::new(world, &setting.lock, number, setting.threads, lines))
                .collect(),
            chooser: Chooser::new(instances, knobs.skew.unwrap_or(0.0)),
            lines,
            critical: cycles(knobs.critical, hertz),
            outside: cycles(knobs.outside, hertz),
        }
    }

    /// A critical section of a random lock, which increments a word of each line.
    pub(super) fn section(&self, player: &mut Player<'_, W::Actor>) {
        let guarded = &self.locks[self.chooser.choose(player)];
        player.section(guarded, |player| {
            for line in 0..self.lines {
                update(guarded.data(), line, 1);
            }
            player.work(self.critical);
        });
    }

    /// The work between two critical sections.
    pub(super) fn rest(&self, player: &mut Player<'_, W::Actor>) {
        player.work_about(self.outside);
    }
}

/// Chooses from a few, the first most often.
struct Chooser {
    /// For each, the range up to and including it.
    bounds: Vec<u64>,
}

/// Size of the whole range.
const RANGE: u64 = 1 << 52;

impl Chooser {
    /// A choice of `count`, the k-th with a weight of 1 / k^`alpha`.
    pub fn new(count: usize, alpha: f64) -> Self {
        let weights: Vec<f64> = (1..=count).map(|k| (k as f64).powf(-alpha)).collect();
        let total: f64 = weights.iter().sum();
        let mut sum = 0.0;
        let bounds = weights.iter().map(|weight| {
            sum += weight;
            (sum / total * RANGE as f64) as u64
        });
        Self {
            bounds: bounds.collect(),
        }
    }

    /// The next choice.
    pub fn choose<A: crate::world::Actor>(&self, player: &mut Player<'_, A>) -> usize {
        let drawn = player.random_below(RANGE);
        let place = self.bounds.partition_point(|bound| *bound <= drawn);
        place.min(self.bounds.len() - 1)
    }
}

impl Workload for Zipf {
    const NAME: &'static str = "zipf";
    const ABOUT: &'static str = "several locks, chosen by a Zipf distribution";
    const SOURCE: &'static str = "Antić et al. 2016 §3.2";
    const TAKES: &'static [&'static str] = &["critical", "outside", "lines", "instances", "skew"];
    /// The paper does not give the short pause after each round; this is an estimate.
    const DEFAULTS: Knobs = Knobs {
        critical: Some(Span::Cycles(1_024)),
        outside: Some(Span::Cycles(200)),
        lines: Some(1),
        instances: Some(8),
        skew: Some(0.9),
        ..Knobs::NONE
    };

    type Shared<W: World> = Several<W>;

    fn prepare<W: World>(world: &mut W, setting: &Setting) -> Several<W> {
        Several::new(world, setting)
    }

    fn take_part<W: World>(shared: &Several<W>, player: &mut Player<'_, W::Actor>) {
        while player.goes_on() {
            shared.section(player);
            player.done();
            shared.rest(player);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Antić et al. 2016 §3.2: the two busiest of eight serve 34 % and 18 %.
    #[test]
    fn the_shares_are_the_papers() {
        let chooser = Chooser::new(8, 0.9);
        let share = |place: usize| {
            let below = place.checked_sub(1).map_or(0, |p| chooser.bounds[p]);
            (chooser.bounds[place] - below) as f64 / RANGE as f64
        };
        assert!((share(0) - 0.34).abs() < 0.01, "{}", share(0));
        assert!((share(1) - 0.18).abs() < 0.01, "{}", share(1));
        assert_eq!(chooser.bounds.len(), 8);
    }
}
