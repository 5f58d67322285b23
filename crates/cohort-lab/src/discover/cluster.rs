//! Finds levels in the hand-over times of pairs of CPUs (Chehab et al. 2021 §3.1, where it is done
//! by eye).
//!
//! A set of CPUs is split where its times separate into near and far ones, and "near" is
//! transitive. Cohorts have this property; distances over several hops do not. The most distant
//! split comes first; each part is then split separately, so that shapes may be uneven. The result
//! is a tree; the levels are its layers, matched by their times.
//!
//! Small sets are measured completely, large ones by a sample: some CPUs against all, and the pairs
//! needed to assign every CPU. A single time that distinguishes a part from all others is measured
//! again.
//! other part is, is measured again.

use super::map::{Map, Pair, median};
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use std::collections::BTreeMap;

/// Sets up to this size are measured completely.
const WHOLE: usize = 48;

/// In sets up to this size each pair matters, and is measured several times.
const FEW: usize = 8;

/// The number of these measurements.
const AGAIN: usize = 3;

/// All pairs of a machine are measured if there are at most this many per CPU and doubling of the
/// number of CPUs.
const PAIRS: usize = 12;

/// CPUs of a large set measured against all its others.
const PIVOTS: usize = 5;

/// Other CPUs that each CPU of a large set is measured against, to assign it to a part.
const VOTES: usize = 7;

/// Smaller differences define no level: locks gain nothing by them.
pub const APART: f64 = 1.2;

/// The share of pairs that must be consistent with a split.
const PURE: f64 = 0.9;

/// The total number of measurements of a decisive time.
const DOUBT: usize = 5;

/// Rounds of a search for a split, before doubts mean that there is none.
const ROUNDS: usize = 6;

/// Width of the window for counting times, as a share.
const WINDOW: f64 = 0.03;

/// Steps of the count.
const STEP: f64 = WINDOW / 4.0;

/// A dip between two peaks of times counts if it is at most this share of the lower peak.
const DIP: f64 = 0.8;

/// CPUs nearer to each other than to the others, and their division.
#[derive(Clone, Debug)]
struct Set {
    cpus: Vec<usize>,
    parts: Vec<Set>,
    /// The median time between its parts, or between its CPUs without parts.
    nanoseconds: f64,
}

/// Discovered level.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// Its cohorts, each with its CPUs in ascending order; the cohort with the lowest CPU first.
    /// CPUs near to no other are alone.
    pub cohorts: Vec<Vec<usize>>,
    /// The median time of a hand-over between CPUs with the smallest common cohort at this level.
    pub nanoseconds: f64,
}

/// Measures a list of pairs; returns each pair's time, or none if it cannot be measured.
pub type Measure<'a, E> = dyn FnMut(&[Pair]) -> Result<Vec<Option<f64>>, E> + 'a;

/// Finds the levels of `cpus` CPUs, smallest cohorts first; the last one is the whole system.
/// `full` measures all pairs.
///
/// # Errors
/// The first of `measure`.
pub fn levels<'a, E>(
    map: &'a mut Map,
    full: bool,
    measure: &'a mut Measure<'a, E>,
) -> Result<Vec<Level>, E> {
    let cpus: Vec<usize> = (0..map.cpus()).collect();
    let whole = full || pairs(cpus.len()) <= most(cpus.len());
    let mut finder = Finder {
        map,
        measure,
        whole,
        random: SmallRng::seed_from_u64(cpus.len() as u64),
    };
    let tree = finder.tree(cpus)?;
    Ok(finder.layers(&tree))
}

/// The number of pairs of `cpus` CPUs.
#[must_use]
pub const fn pairs(cpus: usize) -> usize {
    cpus * cpus.saturating_sub(1) / 2
}

/// The maximum number of pairs measured, unless all are requested.
#[must_use]
pub fn most(cpus: usize) -> usize {
    (PAIRS as f64 * cpus as f64 * (cpus.max(2) as f64).log2()) as usize
}

struct Finder<'a, E> {
    map: &'a mut Map,
    measure: &'a mut Measure<'a, E>,
    whole: bool,
    random: SmallRng,
}

/// The part of each CPU of a set, by its index there.
type Parts = Vec<usize>;

impl<E> Finder<'_, E> {
    /// Measures the unknown ones of these pairs.
    fn ask(&mut self, pairs: impl IntoIterator<Item = Pair>) -> Result<(), E> {
        let pairs = pairs.into_iter().filter(|(one, other)| one != other);
        let mut pairs: Vec<Pair> = pairs
            .map(|(one, other)| (one.min(other), one.max(other)))
            .filter(|pair| !self.map.knows(*pair))
            .collect();
        pairs.sort_unstable();
        pairs.dedup();
        self.ask_again(&pairs)
    }

    fn ask_again(&mut self, pairs: &[Pair]) -> Result<(), E> {
        if pairs.is_empty() {
            return Ok(());
        }
        for (pair, time) in pairs.iter().zip((self.measure)(pairs)?) {
            self.map.add(*pair, time);
        }
        Ok(())
    }

    fn tree(&mut self, cpus: Vec<usize>) -> Result<Set, E> {
        if cpus.len() > 1 {
            self.look_at(&cpus)?;
            for limit in self.limits(&cpus) {
                if let Some(parts) = self.split(&cpus, limit)? {
                    let between = self.times(&cpus, |one, other| parts[one] != parts[other]);
                    let mut sets: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
                    for (cpu, part) in cpus.iter().zip(&parts) {
                        sets.entry(*part).or_default().push(*cpu);
                    }
                    let sets = sets.into_values().map(|set| self.tree(set));
                    return Ok(Set {
                        parts: sets.collect::<Result<_, _>>()?,
                        nanoseconds: median(&between).unwrap_or(f64::NAN),
                        cpus,
                    });
                }
            }
        }
        let all = self.times(&cpus, |_, _| true);
        Ok(Set {
            nanoseconds: median(&all).unwrap_or(f64::NAN),
            parts: Vec::new(),
            cpus,
        })
    }

    /// Measures the set completely, or a sample.
    fn look_at(&mut self, cpus: &[usize]) -> Result<(), E> {
        if self.whole || cpus.len() <= WHOLE {
            let pairs = every_pair(cpus);
            self.ask(pairs.iter().copied())?;
            if cpus.len() <= FEW {
                for times in 1..AGAIN {
                    let again = pairs.iter().filter(|pair| self.map.times(**pair) == times);
                    let again: Vec<Pair> = again.copied().collect();
                    self.ask_again(&again)?;
                }
            }
            return Ok(());
        }
        let mut asked = Vec::new();
        let pivots: Vec<usize> = self.some(cpus, PIVOTS);
        for cpu in cpus {
            asked.extend(pivots.iter().map(|pivot| (*pivot, *cpu)));
            asked.extend(self.some(cpus, VOTES).into_iter().map(|one| (one, *cpu)));
        }
        self.ask(asked)
    }

    fn some(&mut self, of: &[usize], count: usize) -> Vec<usize> {
        if of.len() <= count {
            return of.to_vec();
        }
        let mut of = of.to_vec();
        of.partial_shuffle(&mut self.random, count).0.to_vec()
    }

    /// The known times of the wanted pairs, by their indices in the set.
    fn times(&self, cpus: &[usize], wanted: impl Fn(usize, usize) -> bool) -> Vec<f64> {
        let places = every_pair(&(0..cpus.len()).collect::<Vec<_>>());
        let wanted = places
            .into_iter()
            .filter(|(one, other)| wanted(*one, *other));
        wanted
            .filter_map(|(one, other)| self.map.get((cpus[one], cpus[other])))
            .collect()
    }

    /// Candidate limits between near and far pairs: the dips between peaks of times, the longest
    /// first.
    fn limits(&self, cpus: &[usize]) -> Vec<f64> {
        let times: Vec<f64> = self.times(cpus, |_, _| true);
        let logs: Vec<f64> = times.iter().map(|time| time.ln()).collect();
        let Some(least) = logs.iter().copied().reduce(f64::min) else {
            return Vec::new();
        };
        let first = least - 4.0 * WINDOW;
        let greatest = logs.iter().copied().fold(least, f64::max);
        let steps = ((greatest - first + 4.0 * WINDOW) / STEP) as usize + 1;
        let mut heaps = vec![0.0; steps];
        // Only four times the window on either side matters.
        for log in logs {
            let centre = ((log - first) / STEP) as usize;
            let near = centre.saturating_sub(16)..(centre + 17).min(steps);
            for (at, heap) in near.clone().zip(&mut heaps[near]) {
                let away = (first + at as f64 * STEP - log) / WINDOW;
                *heap += (-away * away / 2.0).exp();
            }
        }
        let mut limits = Vec::new();
        // The highest peak since the last dip, and the lowest place after it.
        let (mut top, mut dip, mut at) = (0.0_f64, f64::INFINITY, 0);
        for (step, heap) in heaps.iter().copied().enumerate() {
            if top > 0.0 && heap < dip {
                (dip, at) = (heap, step);
            }
            if dip <= DIP * heap.min(top) && at > 0 && heap > 0.5 {
                limits.push((first + at as f64 * STEP).exp());
                (top, dip, at) = (heap, f64::INFINITY, 0);
            }
            if heap >= top {
                (top, dip, at) = (heap, f64::INFINITY, 0);
            }
        }
        // In a sample of a large set, a few near pairs are not significant.
        let is_large = !self.whole && cpus.len() > WHOLE;
        let enough = if is_large { cpus.len() / 8 } else { 1 };
        limits.retain(|limit| times.iter().filter(|time| *time < limit).count() >= enough);
        limits.reverse();
        limits
    }

    fn is_near(&self, one: usize, other: usize, limit: f64) -> Option<bool> {
        self.map.get((one, other)).map(|time| time < limit)
    }

    /// The part of each CPU, if pairs below the limit divide the set.
    fn split(&mut self, cpus: &[usize], limit: f64) -> Result<Option<Parts>, E> {
        for _ in 0..ROUNDS {
            let Some(mut parts) = self.gather(cpus, limit)? else {
                return Ok(None);
            };
            self.merge(cpus, &mut parts, limit)?;
            let mut doubtful = self.doubtful(cpus, &parts, limit);
            self.settle(cpus, &mut parts, limit)?;
            doubtful.retain(|pair| self.map.times(*pair) < DOUBT);
            if doubtful.is_empty() {
                return Ok(self.is_a_split(cpus, &parts, limit).then_some(parts));
            }
            for _ in 1..DOUBT {
                self.ask_again(&doubtful)?;
            }
        }
        Ok(None)
    }

    /// Repeatedly takes the first CPU without a part, with all CPUs near to it. None for a large
    /// set whose first CPUs are near to no other, since it would have to be measured completely.
    fn gather(&mut self, cpus: &[usize], limit: f64) -> Result<Option<Parts>, E> {
        let is_large = !self.whole && cpus.len() > WHOLE;
        let mut alone = 0;
        let mut parts = vec![usize::MAX; cpus.len()];
        for first in 0..cpus.len() {
            if parts[first] != usize::MAX {
                continue;
            }
            let free: Vec<usize> = (0..cpus.len())
                .filter(|at| parts[*at] == usize::MAX)
                .collect();
            self.ask(free.iter().map(|at| (cpus[first], cpus[*at])))?;
            let free = free.into_iter().filter(|at| {
                *at == first || self.is_near(cpus[first], cpus[*at], limit) == Some(true)
            });
            let part: Vec<usize> = free.collect();
            part.iter().for_each(|at| parts[*at] = first);
            alone += usize::from(part.len() == 1);
            if is_large && alone > VOTES {
                return Ok(None);
            }
        }
        Ok(Some(parts))
    }

    /// Joins parts if most of their pairs are near.
    fn merge(&mut self, cpus: &[usize], parts: &mut Parts, limit: f64) -> Result<(), E> {
        loop {
            let members = members(parts);
            let names: Vec<usize> = members.keys().copied().collect();
            // Only unusually small parts can be fragments.
            let usual = members.values().map(Vec::len).max().unwrap_or(1);
            let mut joined = false;
            for one in names
                .iter()
                .filter(|name| 2 * members[*name].len() <= usual)
            {
                let mut asked = Vec::new();
                for other in names.iter().filter(|other| *other != one) {
                    let votes = self.votes(&members[one], &members[other]);
                    asked.push((*other, votes));
                }
                let all = asked.iter().flat_map(|(_, votes)| votes);
                let all: Vec<Pair> = all.map(|(a, b)| (cpus[*a], cpus[*b])).collect();
                self.ask(all)?;
                let near = asked.iter().find(|(_, votes)| {
                    self.share(cpus, votes, limit)
                        .is_some_and(|share| share > 0.5)
                });
                if let Some((other, _)) = near {
                    for part in parts.iter_mut().filter(|part| **part == *one) {
                        *part = *other;
                    }
                    joined = true;
                    break;
                }
            }
            if !joined {
                return Ok(());
            }
        }
    }

    /// Some pairs of two parts.
    fn votes(&mut self, one: &[usize], other: &[usize]) -> Vec<Pair> {
        let all = one.iter().flat_map(|a| other.iter().map(move |b| (*a, *b)));
        if one.len() * other.len() <= WHOLE {
            return all.collect();
        }
        let mut random = || {
            let a = one[self.random.random_range(0..one.len())];
            (a, other[self.random.random_range(0..other.len())])
        };
        (0..VOTES).map(|_| random()).collect()
    }

    /// The share of near pairs among the known ones of these.
    fn share(&self, cpus: &[usize], places: &[Pair], limit: f64) -> Option<f64> {
        let known: Vec<bool> = places
            .iter()
            .filter_map(|(a, b)| self.is_near(cpus[*a], cpus[*b], limit))
            .collect();
        let near = known.iter().filter(|near| **near).count();
        (!known.is_empty()).then(|| near as f64 / known.len() as f64)
    }

    /// Moves CPUs that are far from their own part to one that they are near to, or makes them
    /// single.
    fn settle(&mut self, cpus: &[usize], parts: &mut Parts, limit: f64) -> Result<(), E> {
        let members = members(parts);
        let mut asked = Vec::new();
        let mut votes: Vec<Vec<Pair>> = Vec::new();
        for (at, part) in parts.iter().enumerate() {
            let own: Vec<usize> = members[part].iter().copied().filter(|o| *o != at).collect();
            let own = if self.whole {
                own
            } else {
                self.some(&own, VOTES)
            };
            let own: Vec<Pair> = own.into_iter().map(|other| (at, other)).collect();
            asked.extend(own.iter().map(|(a, b)| (cpus[*a], cpus[*b])));
            votes.push(own);
        }
        self.ask(asked)?;
        for at in 0..cpus.len() {
            if self
                .share(cpus, &votes[at], limit)
                .is_none_or(|share| share >= 0.5)
            {
                continue;
            }
            let mut best = (0.5, None);
            for (name, others) in &members {
                let all: Vec<Pair> = others.iter().map(|other| (at, *other)).collect();
                let share = self.share(cpus, &all, limit).unwrap_or(0.0);
                if *name != parts[at] && share > best.0 {
                    best = (share, Some(*name));
                }
            }
            // If a CPU's index is its part's name, the part keeps the name.
            let free = (0..).map(|more| cpus.len() + at + more * cpus.len());
            let alone = free.into_iter().find(|name| !members.contains_key(name));
            parts[at] = best.1.or(alone).unwrap_or(at);
        }
        Ok(())
    }

    /// Pairs that alone distinguish a part from all others: near ones within parts of two or three
    /// CPUs, if most parts have another size; all pairs of single CPUs, if most are not single.
    fn doubtful(&self, cpus: &[usize], parts: &Parts, limit: f64) -> Vec<Pair> {
        let members = members(parts);
        let mut sizes: BTreeMap<usize, usize> = BTreeMap::new();
        for part in members.values() {
            *sizes.entry(part.len()).or_default() += part.len();
        }
        let most = sizes.iter().max_by_key(|(_, cpus)| **cpus);
        let usual = most.map_or(0, |(size, _)| *size);
        let odd = members
            .values()
            .filter(|part| part.len() != usual && part.len() <= 3);
        let odd: Vec<usize> = odd.flatten().copied().collect();
        let near = every_pair(&odd)
            .into_iter()
            .filter(|(a, b)| usual > 1 || self.is_near(cpus[*a], cpus[*b], limit) == Some(true));
        let alone = odd
            .iter()
            .filter(|at| usual > 1 && members[&parts[**at]].len() == 1);
        let others = |at: &usize| {
            let at = *at;
            let all = (0..cpus.len()).filter(move |_| cpus.len() <= WHOLE);
            all.map(move |other| (at, other))
        };
        let pairs = near.chain(alone.flat_map(others)).filter(|(a, b)| a != b);
        let mut pairs: Vec<Pair> = pairs
            .map(|(a, b)| (cpus[a].min(cpus[b]), cpus[a].max(cpus[b])))
            .collect();
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    }

    /// Whether near pairs are within parts, and far ones between them.
    fn is_a_split(&self, cpus: &[usize], parts: &Parts, limit: f64) -> bool {
        let members = members(parts);
        let is_any = members.len() > 1 && members.values().any(|part| part.len() > 1);
        if !is_any {
            return false;
        }
        let within = self.times(cpus, |one, other| parts[one] == parts[other]);
        let between = self.times(cpus, |one, other| parts[one] != parts[other]);
        let near = |times: &[f64]| {
            times.iter().filter(|time| **time < limit).count() as f64 / times.len().max(1) as f64
        };
        let (Some(inside), Some(outside)) = (median(&within), median(&between)) else {
            return false;
        };
        near(&within) >= PURE && 1.0 - near(&between) >= PURE && outside >= APART * inside
    }

    /// The layers of a tree.
    fn layers(&self, tree: &Set) -> Vec<Level> {
        let mut chains: Vec<Vec<&Set>> = Vec::new();
        chain(tree, &mut Vec::new(), &mut chains);
        let deepest = chains.iter().map(Vec::len).max().unwrap_or(0);
        // The times of the layers, largest cohorts first, from the deepest chains.
        let times: Vec<f64> = (0..deepest)
            .map(|layer| {
                let full = chains.iter().filter(|chain| chain.len() == deepest);
                let times: Vec<f64> = full.map(|chain| chain[layer].nanoseconds).collect();
                median(&times).unwrap_or(f64::NAN)
            })
            .collect();
        let mut layers = vec![Vec::new(); deepest];
        place(tree, 0, &times, &mut layers);
        let mut levels: Vec<Level> = Vec::new();
        for (layer, sets) in layers.iter().enumerate().rev() {
            let mut cohorts: Vec<Vec<usize>> = sets.iter().map(|set| sorted(&set.cpus)).collect();
            let below = levels.last().map_or(&[][..], |level| &level.cohorts);
            for cohort in below.iter().filter(|cohort| cohort.len() > 1) {
                if !cohorts.iter().any(|larger| larger.contains(&cohort[0])) {
                    cohorts.push(cohort.clone());
                }
            }
            let mut is_there = vec![false; self.map.cpus()];
            cohorts
                .iter()
                .flatten()
                .for_each(|cpu| is_there[*cpu] = true);
            let alone = (0..self.map.cpus()).filter(|cpu| !is_there[*cpu]);
            cohorts.extend(alone.map(|cpu| vec![cpu]));
            cohorts.sort();
            let nanoseconds: Vec<f64> = sets.iter().map(|set| set.nanoseconds).collect();
            levels.push(Level {
                cohorts,
                nanoseconds: median(&nanoseconds).unwrap_or(times[layer]),
            });
        }
        levels
    }
}

fn every_pair(of: &[usize]) -> Vec<Pair> {
    let after = |(at, one): (usize, &usize)| {
        let one = *one;
        of[at + 1..]
            .iter()
            .map(move |other| (one, *other))
            .collect::<Vec<_>>()
    };
    of.iter().enumerate().flat_map(after).collect()
}

/// The indices of each part.
fn members(parts: &Parts) -> BTreeMap<usize, Vec<usize>> {
    let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, part) in parts.iter().enumerate() {
        members.entry(*part).or_default().push(at);
    }
    members
}

/// Adds the chains of sets with several CPUs from `set` down, each largest first.
fn chain<'a>(set: &'a Set, above: &mut Vec<&'a Set>, chains: &mut Vec<Vec<&'a Set>>) {
    if set.cpus.len() < 2 {
        return;
    }
    above.push(set);
    if set.parts.iter().any(|part| part.cpus.len() > 1) {
        for part in &set.parts {
            chain(part, above, chains);
        }
    } else {
        chains.push(above.clone());
    }
    above.pop();
}

/// Puts each set into the layer with the nearest time, from `first` on, leaving room for the sets
/// inside it.
fn place<'a>(set: &'a Set, first: usize, times: &[f64], layers: &mut [Vec<&'a Set>]) {
    if set.cpus.len() < 2 {
        return;
    }
    let last = layers.len() - depth(set);
    let away = |layer: &usize| (set.nanoseconds / times[*layer]).ln().abs();
    let nearest = (first..=last.max(first)).min_by(|a, b| away(a).total_cmp(&away(b)));
    let layer = if first == 0 {
        0
    } else {
        nearest.unwrap_or(first)
    };
    layers[layer].push(set);
    for part in &set.parts {
        place(part, layer + 1, times, layers);
    }
}

/// The depth of nested sets with several CPUs.
fn depth(set: &Set) -> usize {
    if set.cpus.len() < 2 {
        return 0;
    }
    1 + set.parts.iter().map(depth).max().unwrap_or(0)
}

fn sorted(cpus: &[usize]) -> Vec<usize> {
    let mut cpus = cpus.to_vec();
    cpus.sort_unstable();
    cpus
}

#[cfg(test)]
mod tests {
    use super::*;
    use cohort_machine::description::{Machine, shipped};
    use std::convert::Infallible;

    /// Number of noise seeds tried.
    const SEEDS: u64 = 3;

    /// Times of a machine with randomly numbered CPUs, with 5 % noise and one in a hundred
    /// outliers.
    fn noisy(
        numbers: Vec<usize>,
        time: impl Fn(usize, usize) -> f64,
        seed: u64,
    ) -> impl FnMut(&[Pair]) -> Result<Vec<Option<f64>>, Infallible> {
        let mut random = SmallRng::seed_from_u64(seed);
        move |pairs: &[Pair]| {
            let mut one = |(a, b): &Pair| {
                let time = time(numbers[*a], numbers[*b]);
                let chance: f64 = random.random();
                if chance < 0.01 {
                    return Some(time * (0.2 + 9.8 * random.random::<f64>()));
                }
                // The sum of twelve has a deviation of 1 and is roughly normal.
                let sum: f64 = (0..12).map(|_| random.random::<f64>()).sum();
                Some(time * (1.0 + 0.05 * (sum - 6.0)))
            };
            Ok(pairs.iter().map(&mut one).collect())
        }
    }

    /// The cost of a hand-over by a machine's file.
    fn cost(machine: &Machine, one: usize, other: usize) -> f64 {
        let base = machine.hit.rmw.value + 4 * machine.costs.instruction.value;
        let far = machine.distance(one, other).map_or(0, |distance| {
            let transfer = &machine.transfers[distance];
            transfer.load.value + transfer.invalidate.value
        });
        (base + far) as f64
    }

    /// The cohorts in the CPUs' numbers.
    fn known(cohorts: &[Vec<usize>], numbers: &[usize]) -> Vec<Vec<usize>> {
        let known = |cohort: &Vec<usize>| {
            sorted(&cohort.iter().map(|cpu| numbers[*cpu]).collect::<Vec<_>>())
        };
        let mut cohorts: Vec<Vec<usize>> = cohorts.iter().map(known).collect();
        cohorts.sort();
        cohorts
    }

    fn found(cpus: usize, time: impl Fn(usize, usize) -> f64, seed: u64) -> Vec<Vec<Vec<usize>>> {
        let mut numbers: Vec<usize> = (0..cpus).collect();
        numbers.shuffle(&mut SmallRng::seed_from_u64(seed));
        let mut measure = noisy(numbers.clone(), time, seed);
        let mut map = Map::new(cpus);
        let levels = levels(&mut map, false, &mut measure).unwrap();
        assert!(
            map.pairs() <= most(cpus).max(1),
            "{} pairs of {cpus}",
            map.pairs()
        );
        levels
            .iter()
            .map(|level| known(&level.cohorts, &numbers))
            .collect()
    }

    #[test]
    fn the_ten_machines_are_found_whatever_their_cpus_are_called() {
        for file in &shipped::MACHINES[..10] {
            let machine = shipped::find(file.name).unwrap();
            let hierarchy = &machine.hierarchy;
            let wanted: Vec<Vec<Vec<usize>>> = hierarchy
                .distinct()
                .map(|level| {
                    let mut cohorts = vec![Vec::new(); hierarchy.levels()[level].cohorts];
                    for cpu in 0..hierarchy.cpus() {
                        cohorts[hierarchy.cohort_of(cpu, level)].push(cpu);
                    }
                    cohorts.sort();
                    cohorts
                })
                .collect();
            for seed in 0..SEEDS {
                let found = found(hierarchy.cpus(), |a, b| cost(&machine, a, b), seed);
                assert_eq!(
                    found.len(),
                    wanted.len(),
                    "{}, seed {seed}: {found:?}",
                    file.name
                );
                for (found, wanted) in found.iter().zip(&wanted) {
                    let wrong = found.iter().filter(|cohort| !wanted.contains(cohort));
                    let wrong: Vec<_> = wrong.collect();
                    assert!(wrong.is_empty(), "{}, seed {seed}: {wrong:?}", file.name);
                }
            }
        }
    }

    #[test]
    fn flat_machines_have_no_level_but_the_system() {
        for cpus in [2, 3, 4, 8, 30, 64, 200] {
            for seed in 0..10 {
                let found = found(cpus, |_, _| 100.0, seed);
                assert_eq!(
                    found,
                    [vec![(0..cpus).collect::<Vec<_>>()]],
                    "{cpus}, {seed}"
                );
            }
        }
        let mut map = Map::new(1);
        let none = levels(&mut map, false, &mut |_| Ok::<_, Infallible>(Vec::new()));
        assert!(none.unwrap().is_empty());
    }

    /// Two packages, one of them with cache groups of six and four CPUs, and hardware threads in
    /// one group.
    #[test]
    fn shapes_may_be_uneven() {
        let package = |cpu: usize| usize::from(cpu >= 10);
        let group = |cpu: usize| match cpu {
            0..6 => Some(0),
            6..10 => Some(1),
            _ => None,
        };
        let time = |a: usize, b: usize| {
            if package(a) != package(b) {
                400.0
            } else if group(a).is_none() || group(a) != group(b) {
                200.0
            } else if a < 6 && a / 2 == b / 2 {
                20.0
            } else {
                60.0
            }
        };
        for seed in 0..10 {
            let found = found(18, time, seed);
            assert_eq!(found.len(), 4, "{found:?}");
            assert_eq!(found[0][..4], [vec![0, 1], vec![2, 3], vec![4, 5], vec![6]]);
            assert_eq!(
                found[1][..2],
                [(0..6).collect::<Vec<_>>(), (6..10).collect()]
            );
            assert_eq!(found[2], [(0..10).collect::<Vec<_>>(), (10..18).collect()]);
        }
    }

    /// Four nodes in a ring: near to two, farther from the third.
    #[test]
    fn hops_are_no_level() {
        let time = |a: usize, b: usize| match (a / 8).abs_diff(b / 8) {
            0 => 100.0,
            2 => 400.0,
            _ => 250.0,
        };
        for seed in 0..10 {
            let found = found(32, time, seed);
            assert_eq!(found.len(), 2, "{found:?}");
            assert_eq!(found[0].len(), 4);
        }
    }
}
