//! Randomly drawn machines, as varied as servers are.
//!
//! A lock tuned on known machines may lose on others.  Drawn machines have the shapes of today's
//! servers, and costs from the ranges of the shipped files and of published measurements.

use super::check;
use super::costs::{Smt, Transfer};
use super::figure::{Figure, Source, Unit};
use super::hierarchy::{Hierarchy, Level, Numbering, PU, SYSTEM};
use super::interconnect::{Link, Shape};
use super::machine::{Atomics, Machine, Protocol};
use super::shipped;
use crate::random::Random;

/// The prefix of drawn machines' names.
const PREFIX: &str = "drawn-";

/// Minimal and maximal CPUs of a drawn machine.
const CPUS: [usize; 2] = [16, 384];

/// Hardware threads of a core.
const THREADS: [usize; 4] = [1, 2, 4, 8];

/// Cache groups of a socket and cores of a group: one large group, a few large ones, many small ones.
const GROUPS: [(&[usize], &[usize]); 3] = [
    (&[1], &[8, 12, 16, 24, 32, 48, 64, 96, 128, 192]),
    (&[2, 3, 4, 6], &[8, 12, 16, 24, 32, 43]),
    (&[4, 6, 8, 12, 24], &[3, 4, 6, 8]),
];

const SOCKETS: &[usize] = &[1, 2, 2, 4];

/// Nanoseconds of a load from another cache within the core, the group, the socket and the system.
const LOADS: [(&str, [u64; 2]); 4] = [
    ("a core", [3, 14]),
    ("a cache group", [13, 50]),
    ("a socket", [48, 147]),
    ("the system", [74, 230]),
];

/// The minimal cost of a load, in percent of a load one level below.
const FARTHER: u64 = 130;

impl Machine {
    /// The machine of that number under `seed`, the same on every host. Any twelve consecutive
    /// machines combine each number of hardware threads with each kind of cache group.
    ///
    /// # Panics
    /// Never: a test draws hundreds.
    #[must_use]
    pub fn drawn(seed: u64, number: u64) -> Self {
        let mut draw = Draw(Random::new(seed, number));
        let place = (seed % 12 + number % 12) as usize;
        let parts = Parts::drawn(&mut draw, place);
        let text = machine(&mut draw, &parts, format!("{PREFIX}{seed}-{number}")).to_toml();
        let machine = Self::parse(&text.expect("drawn figures fit into a file"));
        machine.expect("a drawn machine is sound")
    }
}

/// The drawn machine of that name; none if the name has another form.
pub fn named(name: &str) -> Option<Result<Machine, String>> {
    let (seed, number) = match name.strip_prefix(PREFIX)?.split_once('-') {
        Some((seed, number)) => (seed.parse().ok(), number.parse().ok()),
        None => (None, None),
    };
    Some(match (seed, number) {
        (Some(seed), Some(number)) => Ok(Machine::drawn(seed, number)),
        _ => Err(format!(
            "found the machine `{name}`, expected `{PREFIX}SEED-NUMBER` with two integers, such as \
             `{PREFIX}7-1`"
        )),
    })
}

/// Draws values, and creates figures.
struct Draw(Random);

impl Draw {
    fn of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.0.below(values.len() as u64) as usize]
    }

    fn within(&mut self, [least, most]: [u64; 2]) -> u64 {
        least + self.0.below(most - least + 1)
    }

    /// A figure with one of those values.
    fn figure<U: Unit>(&mut self, values: &[U::Value]) -> Figure<U>
    where
        U::Value: Copy,
    {
        estimate(self.of(values), "drawn from those of the shipped machines")
    }
}

fn estimate<U: Unit>(value: U::Value, note: &str) -> Figure<U> {
    Figure {
        value,
        range: None,
        source: Source::Estimate,
        note: note.to_owned(),
    }
}

/// The numbers of the parts.
struct Parts {
    sockets: usize,
    groups: usize,
    cores: usize,
    threads: usize,
    /// Whether each group has memory of its own.
    nodes: bool,
}

impl Parts {
    /// Draws until the number of CPUs is within bounds.
    fn drawn(draw: &mut Draw, place: usize) -> Self {
        let threads = THREADS[place % THREADS.len()];
        let (groups, cores) = GROUPS[place % GROUPS.len()];
        loop {
            let parts = Self {
                sockets: draw.of(SOCKETS),
                groups: draw.of(groups),
                cores: draw.of(cores),
                threads,
                nodes: draw.of(&[false, true]),
            };
            if (CPUS[0]..=CPUS[1]).contains(&parts.cpus()) {
                return parts;
            }
        }
    }

    const fn cpus(&self) -> usize {
        self.sockets * self.groups * self.cores * self.threads
    }

    /// The level of the groups.
    const fn group(&self) -> &'static str {
        match (self.groups, self.nodes, self.sockets) {
            (1, _, 1) => SYSTEM,
            (1, ..) | (_, true, _) => "numa",
            _ => "cache",
        }
    }

    /// The level of cohorts with their own memory.
    const fn memory(&self) -> &'static str {
        if self.sockets > 1 || self.nodes && self.groups > 1 {
            "numa"
        } else {
            SYSTEM
        }
    }

    fn hierarchy(&self) -> Hierarchy {
        let mut notation = String::new();
        if self.sockets > 1 {
            notation.push_str(&format!("package:{} ", self.sockets));
            if self.group() != "numa" {
                notation.push_str("numa:1 ");
            }
        }
        if self.group() != SYSTEM {
            notation.push_str(&format!("{}:{} ", self.group(), self.groups));
        }
        notation.push_str(&format!("core:{} pu:{}", self.cores, self.threads));
        Hierarchy::parse(&notation).expect("the levels nest")
    }

    /// The distance within a level, as an index of [`LOADS`].
    const fn within(&self, level: &Level) -> usize {
        if level.cpus <= self.threads {
            0
        } else if level.cpus <= self.threads * self.cores {
            1
        } else if level.cpus <= self.threads * self.cores * self.groups {
            2
        } else {
            3
        }
    }
}

fn machine(draw: &mut Draw, parts: &Parts, name: String) -> Machine {
    let like = shipped::find("epyc-9454p").expect("it is shipped");
    let numbering = draw.of(&[true, false]);
    let numbering = if numbering {
        Numbering::ThreadsApart
    } else {
        Numbering::Consecutive
    };
    let hierarchy = parts.hierarchy().numbered(numbering);
    let hierarchy = hierarchy.expect("a rule numbers every CPU");
    let mut machine = Machine {
        name,
        about: format!(
            "{} CPUs: {} a socket, {} a group, {} a core",
            parts.cpus(),
            parts.cpus() / parts.sockets,
            parts.cores * parts.threads,
            parts.threads
        ),
        described: "drawn by a seed".to_owned(),
        clock: estimate(100 * draw.within([20, 46]), "drawn from 2.0 to 4.6 GHz"),
        hierarchy,
        protocol: estimate(
            draw.of(&[Protocol::Mesi, Protocol::Mesif, Protocol::Moesi]),
            "drawn",
        ),
        atomics: estimate(
            draw.of(&[
                Atomics::Native,
                Atomics::Native,
                Atomics::Native,
                Atomics::LoadLinked,
            ]),
            "drawn, one of four is ll/sc",
        ),
        ..like
    };
    machine.costs.pause = draw.figure(&[2, 10, 40, 65, 150]);
    machine.costs.store_buffer = draw.figure(&[8, 24, 42, 64]);
    machine.costs.failed_conditional = (machine.atomics.value == Atomics::LoadLinked)
        .then(|| estimate(10, "as kunpeng-920x2: the branch back"));
    let memory = machine.cycles(draw.within([80, 143]));
    machine.memory.local = estimate(memory, "drawn from 80 to 143 ns");
    parts.memory().clone_into(&mut machine.memory.of);
    caches(draw, parts, &mut machine);
    machine.transfers = transfers(draw, parts, &machine);
    let nearest = machine.transfers.iter().find(|transfer| {
        let level = machine.hierarchy.level(&transfer.within);
        level.is_some_and(|level| parts.within(&machine.hierarchy.levels()[level]) == 1)
    });
    if let Some(group) = nearest {
        machine.cache.refill = estimate(group.load.value, "as a load within the group");
    }
    machine.smt = smt(draw, parts.threads);
    let across = |draw: &mut Draw| Link {
        between: "package".to_owned(),
        shape: Shape::Pair,
        occupancy: draw.figure(&[2, 3, 5, 10, 14]),
    };
    machine.links = Vec::new();
    if parts.sockets > 1 {
        machine.links.push(across(draw));
    }
    let kernel = draw.of(&["epyc-9454p", "kunpeng-920x2"]);
    machine.scheduler = shipped::find(kernel).expect("it is shipped").scheduler;
    machine
}

fn caches(draw: &mut Draw, parts: &Parts, machine: &mut Machine) {
    let cache = &mut machine.cache;
    cache.private = draw.figure(&[2048, 4096, 8192, 16384, 32768]);
    // More than two threads of a core share its cache; two are often visible to each other with a
    // delay.
    let private_to = if parts.threads > 2 || draw.of(&[true, false]) {
        "core"
    } else {
        PU
    };
    private_to.clone_into(&mut cache.private_to);
    let each = draw.of(&[8192, 16384, 32768]);
    cache.shared = estimate(
        each * parts.cores as u64,
        "drawn from 0.5 to 2 MB a core of the group",
    );
    parts.group().clone_into(&mut cache.shared_by);
}

/// A transfer for each distance: the load from its range, the other costs in the shipped files'
/// proportions.
fn transfers(draw: &mut Draw, parts: &Parts, machine: &Machine) -> Vec<Transfer> {
    let levels = machine.hierarchy.levels();
    let private = machine.hierarchy.level(&machine.cache.private_to);
    let memory = machine.hierarchy.level(&machine.memory.of);
    let mut transfers: Vec<Transfer> = Vec::new();
    for (at, _) in check::distances(&machine.hierarchy, private, None) {
        let (within, range) = LOADS[parts.within(&levels[at])];
        let nearer = transfers.last().map_or(0, |nearer| nearer.load.value);
        let load = machine.cycles(draw.within(range));
        let load = load.max((nearer * FARTHER).div_ceil(100));
        let [least, most] = range;
        let note = format!("drawn from {least} to {most} ns within {within}");
        let part = |percent: u64, note: &str| estimate((load * percent).div_ceil(100), note);
        transfers.push(Transfer {
            within: levels[at].name.clone(),
            hops: 0,
            load: estimate(load, &note),
            clean: None,
            store: part(103, "a little over the load"),
            rmw: part(107, "and the atomic operation"),
            invalidate: part(67, "two thirds of the load"),
            occupancy: part(25, "a quarter of the load"),
            memory: (Some(at) > memory).then(|| {
                let remote = machine.memory.local.value + load / 2;
                estimate(remote, "local memory and half the load")
            }),
        });
    }
    transfers
}

/// The slowdown of a core's k busy threads: a power of k.
fn smt(draw: &mut Draw, threads: usize) -> Option<Smt> {
    if threads == 1 {
        return None;
    }
    // Between sparc-t5440's pipelines and those of sparc-t4-1.
    let power = draw.within([5, 10]) as f64 / 10.0;
    let slowdown = (1..=threads).map(|busy| (10.0 * (busy as f64).powf(power)).round() / 10.0);
    Some(Smt {
        slowdown: estimate(
            slowdown.collect(),
            &format!("{power} drawn from 0.5 to 1.0: busy threads to that power"),
        ),
        spinning: draw.figure(&[0.1, 0.3, 0.5]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Threads per core, and the kind of groups per socket: one, up to six large ones, or more.
    fn kind(machine: &Machine) -> (usize, usize) {
        let levels = machine.hierarchy.levels();
        let of = |name: &str| machine.hierarchy.level(name).map(|level| &levels[level]);
        let group = of(&machine.cache.shared_by).expect("it has a cache");
        let sockets = of("package").map_or(1, |package| package.cohorts);
        let threads = levels[0].cpus;
        let kind = match (group.cohorts / sockets, group.cpus / threads) {
            (1, _) => 0,
            (2..=6, 9..) => 1,
            (2..=3, 8) => 1,
            _ => 2,
        };
        (threads, kind)
    }

    #[test]
    fn hundreds_are_sound_and_within_the_ranges() {
        for (seed, number) in (0..10).flat_map(|seed| (1..=12).map(move |number| (seed, number))) {
            let machine = Machine::drawn(seed, number);
            assert!((CPUS[0]..=CPUS[1]).contains(&machine.hierarchy.cpus()));
            for pair in machine.transfers.windows(2) {
                let costs = |one: &Transfer| [one.load.value, one.store.value, one.rmw.value];
                let both = costs(&pair[0]).into_iter().zip(costs(&pair[1]));
                assert!(
                    both.clone().all(|(near, far)| near < far),
                    "{seed}-{number}"
                );
            }
            let farthest = machine.transfers.last().expect("CPUs lie apart").load.value;
            assert!(farthest <= machine.cycles(LOADS[3].1[1]), "{seed}-{number}");
            assert!(farthest >= machine.cycles(LOADS[1].1[0]), "{seed}-{number}");
        }
    }

    #[test]
    fn twelve_in_a_row_have_each_number_of_threads_with_several_kinds_of_group() {
        for seed in [0, 1, 7, 1_000_003, u64::MAX] {
            let machines: Vec<Machine> = (1..=12).map(|n| Machine::drawn(seed, n)).collect();
            for threads in THREADS {
                let of = machines
                    .iter()
                    .map(kind)
                    .filter(|(each, _)| *each == threads);
                let kinds: Vec<usize> = of.map(|(_, kind)| kind).collect();
                assert_eq!(kinds.len(), 3, "{seed}, {threads} a core");
                assert!(
                    kinds.contains(&0) && kinds.iter().any(|kind| *kind > 0),
                    "{seed}: {kinds:?}"
                );
            }
            let prints: BTreeSet<&str> = machines.iter().map(|one| &*one.fingerprint).collect();
            assert_eq!(prints.len(), machines.len());
        }
    }

    #[test]
    fn a_name_finds_its_machine_and_a_slip_is_answered() {
        let machine = Machine::open("drawn-7-3").expect("it can be drawn");
        assert_eq!(machine.name, "drawn-7-3");
        assert_eq!(machine, Machine::drawn(7, 3));
        let again = Machine::parse(&machine.to_toml().expect("it can be written"));
        assert_eq!(again.expect("it can be read"), machine);
        for slip in ["drawn-7", "drawn-x-1", "drawn-7-", "drawn-7-1-1"] {
            let message = Machine::open(slip).expect_err("no such machine");
            assert!(
                message.contains("`drawn-7-1`") && message.contains(slip),
                "{message}"
            );
        }
    }
}
