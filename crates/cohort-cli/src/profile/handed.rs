//! Distances of locks' hand-overs.

use cohort::door::{Level, lowest_of};
use cohort::records::HandOver;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Distance of a lock's two holders, the nearest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Far {
    Thread,
    Cpu,
    Core,
    CacheGroup,
    Node,
    Across,
}

const KINDS: usize = Far::Across as usize + 1;

/// Places of CPUs, each by the lowest CPU of its core, its cache group and its node.
#[derive(Default)]
pub struct Cpus(HashMap<u32, [usize; 3]>);

impl Cpus {
    fn place(&mut self, cpu: u32) -> [usize; 3] {
        *self.0.entry(cpu).or_insert_with(|| {
            [Level::Core, Level::CacheGroup, Level::Numa]
                .map(|level| lowest_of(level, cpu as usize))
        })
    }

    /// The distance of a hand-over's two CPUs.
    fn far(&mut self, hand_over: &HandOver) -> Far {
        if hand_over.is_own {
            return Far::Thread;
        }
        if hand_over.from == hand_over.to {
            return Far::Cpu;
        }
        let (from, to) = (self.place(hand_over.from), self.place(hand_over.to));
        // A level that the kernel does not report equals the next one.
        if from[2] != to[2] {
            Far::Across
        } else if from[1] != to[1] {
            Far::Node
        } else if from[0] != to[0] {
            Far::CacheGroup
        } else {
            Far::Core
        }
    }
}

/// Sampled hand-overs of a lock.
#[derive(Clone, Copy, Debug, Default)]
pub struct Handed {
    samples: u64,
    /// By [`Far`]: the sum of the samples' weights.
    weights: [f64; KINDS],
}

impl Handed {
    /// Adds a hand-over.
    pub fn add(&mut self, hand_over: &HandOver, cpus: &mut Cpus) {
        self.samples += 1;
        self.weights[cpus.far(hand_over) as usize] += f64::from(hand_over.of.max(1));
    }

    /// Adds another lock's hand-overs.
    pub fn add_all(&mut self, other: &Self) {
        self.samples += other.samples;
        for (own, more) in self.weights.iter_mut().zip(other.weights) {
            *own += more;
        }
    }

    /// Their shares; none without samples.
    pub fn shares(&self) -> Option<Shares> {
        let all: f64 = self.weights.iter().sum();
        if self.samples == 0 {
            return None;
        }
        let [
            same_thread,
            same_cpu,
            same_core,
            same_cache_group,
            same_node,
            across_nodes,
        ] = self.weights.map(|weight| weight / all);
        Some(Shares {
            samples: self.samples,
            same_thread,
            same_cpu,
            same_core,
            same_cache_group,
            same_node,
            across_nodes,
        })
    }
}

/// Destinations of a lock, as shares of all hand-overs.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Shares {
    /// The number of samples.
    pub samples: u64,
    /// Back to the same thread.
    pub same_thread: f64,
    /// To another thread on the same CPU.
    pub same_cpu: f64,
    /// To another CPU of the same core.
    pub same_core: f64,
    /// To another core of the same cache group.
    pub same_cache_group: f64,
    /// To another cache group of the same NUMA node.
    pub same_node: f64,
    /// To another node.
    pub across_nodes: f64,
}

impl Shares {
    /// The nonzero shares in words.
    pub fn text(&self) -> String {
        let words = [
            (self.same_thread, "to the same thread"),
            (self.same_cpu, "on the same CPU"),
            (self.same_core, "within the core"),
            (self.same_cache_group, "within the cache group"),
            (self.same_node, "within the node"),
            (self.across_nodes, "across nodes"),
        ];
        let told = words.iter().filter(|(share, _)| *share > 0.0);
        let told: Vec<String> = told
            .map(|(share, where_to)| match 100.0 * share {
                percent if percent < 0.5 => format!("<1 % {where_to}"),
                percent => format!("{percent:.0} % {where_to}"),
            })
            .collect();
        format!("handed on {}", told.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two nodes of two cache groups of two cores of two CPUs.
    fn cpus() -> Cpus {
        let place = |cpu: usize| [cpu & !1, cpu & !3, cpu & !7];
        Cpus((0..16).map(|cpu| (cpu, place(cpu as usize))).collect())
    }

    #[test]
    fn each_pair_of_cpus_is_of_the_smallest_level_that_has_both() {
        let mut cpus = cpus();
        for (from, to, far) in [
            (5, 5, Far::Cpu),
            (4, 5, Far::Core),
            (6, 4, Far::CacheGroup),
            (7, 0, Far::Node),
            (7, 8, Far::Across),
        ] {
            let hand_over = HandOver {
                from,
                to,
                ..HandOver::default()
            };
            assert_eq!(cpus.far(&hand_over), far, "{from} to {to}");
            let is_own = true;
            let back = HandOver {
                is_own,
                ..hand_over
            };
            assert_eq!(cpus.far(&back), Far::Thread);
        }
    }

    #[test]
    fn a_hand_over_counts_as_often_as_it_was_drawn_of() {
        let (mut one, mut other) = (Handed::default(), Handed::default());
        assert!(one.shares().is_none());
        for (handed, to, of) in [(&mut one, 1, 30), (&mut other, 8, 10)] {
            let hand_over = HandOver {
                to,
                of,
                ..HandOver::default()
            };
            handed.add(&hand_over, &mut cpus());
        }
        one.add_all(&other);
        let shares = one.shares().expect("there are two");
        assert_eq!(shares.samples, 2);
        assert!((shares.same_core - 0.75).abs() < 1e-9);
        assert_eq!(
            shares.text(),
            "handed on 75 % within the core, 25 % across nodes"
        );
    }
}
