//! A machine's description as flat tables, for look-ups in a run.

use super::clock::{CYCLE, Rate, Ticks};
use super::rings::Rings;
use crate::description::{Atomics, Figure, Link, Machine, Protocol, Shape, Unit};

/// A machine, ready for any number of runs.
#[derive(Debug)]
pub struct Hardware {
    pub(crate) name: String,
    pub(crate) rate: Rate,
    pub(crate) protocol: Protocol,
    pub(crate) load_linked: bool,
    pub(crate) line_bytes: u64,
    pub(crate) cpus: usize,
    /// The private cache of each CPU.
    pub(crate) cache_of: Vec<u16>,
    pub(crate) caches: usize,
    /// Lines that a private cache holds.
    pub(crate) cache_lines: usize,
    /// The core of each CPU, if cores have several.
    pub(crate) core_of: Vec<u16>,
    pub(crate) cores: usize,
    /// Names of the levels, smallest cohort first.
    pub(crate) levels: Vec<String>,
    /// The cohort of each CPU, by level.
    pub(crate) cohorts: Vec<Vec<u16>>,
    /// A CPU of each cohort, by level.
    first_cpus: Vec<Vec<u16>>,
    /// The places of the CPUs from the left of the tree, by CPU.
    pub(crate) places: Vec<u16>,
    /// The distance between two caches, as an index of `transfers`.
    between: Vec<u8>,
    /// The caches at each of these distances.
    pub(crate) rings: Rings,
    pub(crate) transfers: Vec<Transfer>,
    pub(crate) hit: Hit,
    pub(crate) invalidate_each: Ticks,
    /// The memory node of each cache.
    pub(crate) node_of: Vec<u16>,
    /// A CPU of each node.
    node_cpu: Vec<u16>,
    /// The cost of a fetch from each node's memory, by cache.
    memory: Vec<Ticks>,
    /// The cost of a fetch from the last-level cache of a line that the private one evicted.
    pub(crate) refill: Ticks,
    /// The last-level cache of each private cache.
    pub(crate) last_level_of: Vec<u16>,
    pub(crate) last_levels: usize,
    /// Lines that a last-level cache holds.
    pub(crate) last_level_lines: usize,
    pub(crate) links: Links,
    pub(crate) costs: Costs,
    pub(crate) scheduler: Scheduler,
    /// Slowdown factors in 256ths, by the number of a core's running CPUs, in halves (a spinning
    /// CPU may count as less than one).
    pub(crate) slowdown: Vec<u64>,
    /// The weight of a spinning CPU, in 256ths.
    pub(crate) spinning: u64,
    /// A CPU's own factor, in 256ths.
    pub(crate) own_slowdown: Vec<u64>,
}

/// One, among factors.
pub(crate) const ONE: u64 = 256;

/// Costs over one distance.
#[derive(Clone, Debug)]
pub(crate) struct Transfer {
    /// The distance's name: a level, with hops if they matter.
    pub(crate) name: String,
    pub(crate) load: Ticks,
    pub(crate) clean: Ticks,
    pub(crate) store: Ticks,
    pub(crate) rmw: Ticks,
    pub(crate) invalidate: Ticks,
    pub(crate) occupancy: Ticks,
}

/// Costs of accesses that the private cache serves.
#[derive(Clone, Debug)]
pub(crate) struct Hit {
    pub(crate) load: Ticks,
    pub(crate) store: Ticks,
    pub(crate) rmw: Ticks,
}

/// Costs within a CPU.
#[derive(Clone, Debug)]
pub(crate) struct Costs {
    pub(crate) instruction: Ticks,
    /// One counted instruction.
    per_instruction: Option<f64>,
    pub(crate) clock: Ticks,
    /// Independent misses in flight.
    pub(crate) overlap: usize,
    pub(crate) pause: Ticks,
    pub(crate) fence: Ticks,
    pub(crate) store_buffer: usize,
    pub(crate) failed_conditional: Ticks,
    /// Failures in a row after which a load-linked holds the line.
    pub(crate) failures: u32,
}

/// Failed store-conditionals in a row after which a CPU holds the line for its next pair.  Cores
/// guarantee progress by such a bounded hold; no vendor publishes its length: an estimate.
const FAILURES: u32 = 4;

/// Costs of the operating system.
#[derive(Clone, Debug)]
pub(crate) struct Scheduler {
    pub(crate) period: Ticks,
    pub(crate) slice: Ticks,
    pub(crate) switch: Ticks,
    pub(crate) system_call: Ticks,
    pub(crate) sleep: Ticks,
    pub(crate) wake: Ticks,
    pub(crate) wake_latency: Ticks,
    pub(crate) yield_alone: Ticks,
    pub(crate) migration: Ticks,
    pub(crate) balance: Ticks,
}

/// The links that each transfer crosses.
#[derive(Debug, Default)]
pub(crate) struct Links {
    /// How long a transfer occupies each link.
    pub(crate) occupancy: Vec<Ticks>,
    /// The name of each link.
    pub(crate) names: Vec<String>,
    /// For each pair of caches, the start of its way in `ways`, and its number of links.
    spans: Vec<(u32, u8)>,
    ways: Vec<u16>,
    /// The room of each cache: no transfer within one crosses a link.
    rooms: Vec<u16>,
}

fn cycles<U: Unit<Value = u64>>(figure: &Figure<U>) -> Ticks {
    figure.value * CYCLE
}

fn factor(ratio: f64) -> u64 {
    (ratio * ONE as f64).round() as u64
}

impl Hardware {
    /// Prepares a machine.
    #[must_use]
    pub fn new(machine: &Machine) -> Self {
        let rate = Rate::new(machine.clock.value);
        let hierarchy = &machine.hierarchy;
        let cpus = hierarchy.cpus();
        let levels = hierarchy.levels();
        let cohorts: Vec<Vec<u16>> = (0..levels.len())
            .map(|level| {
                let cohort = |cpu| hierarchy.cohort_of(cpu, level) as u16;
                (0..cpus).map(cohort).collect()
            })
            .collect();
        let each_alone: Vec<u16> = (0..cpus as u16).collect();
        // A level without cohorts of its own, such as `pu`: each CPU by itself.
        let by_level = |name: &str| match hierarchy.level(name) {
            Some(level) => cohorts[level].clone(),
            None => each_alone.clone(),
        };
        let cache_of = by_level(&machine.cache.private_to);
        let caches = count(&cache_of);
        let cache_cpu = representatives(&cache_of, caches);
        let core_of = match &machine.smt {
            Some(_) => cohorts[0].clone(),
            None => each_alone.clone(),
        };
        let mut between = vec![0; caches * caches];
        for one in 0..caches {
            for other in 0..caches {
                let pair = (cache_cpu[one] as usize, cache_cpu[other] as usize);
                if let Some(distance) = machine.distance(pair.0, pair.1) {
                    between[one * caches + other] = distance as u8;
                }
            }
        }
        let node_of_cpu = by_level(&machine.memory.of);
        let nodes = count(&node_of_cpu);
        let node_cpu = representatives(&node_of_cpu, nodes);
        let mut memory = Vec::with_capacity(caches * nodes);
        for cpu in &cache_cpu {
            for (node, other) in node_cpu.iter().enumerate() {
                let local = cycles(&machine.memory.local);
                let near = node_of_cpu[*cpu as usize] as usize == node;
                let distance = machine.distance(*cpu as usize, *other as usize);
                memory.push(match distance {
                    Some(distance) if !near => {
                        let remote = machine.transfers[distance].memory.as_ref();
                        remote.map_or(local, cycles)
                    }
                    _ => local,
                });
            }
        }
        let last_level = by_level(&machine.cache.shared_by);
        let of_cache = |of_cpu: &[u16]| {
            let of = |cpu: &u16| of_cpu[*cpu as usize];
            cache_cpu.iter().map(of).collect::<Vec<_>>()
        };
        let mut own_slowdown = vec![ONE; cpus];
        for class in &machine.classes {
            let [first, last] = class.cpus;
            own_slowdown[first..=last].fill(factor(class.slowdown.value));
        }
        Self {
            name: machine.name.clone(),
            rate,
            protocol: machine.protocol.value,
            load_linked: machine.atomics.value == Atomics::LoadLinked,
            line_bytes: machine.line.bytes.value,
            cpus,
            caches,
            cache_lines: machine.cache.private.value as usize,
            cores: count(&core_of),
            core_of,
            levels: levels.iter().map(|level| level.name.clone()).collect(),
            places: (0..cpus)
                .map(|cpu| hierarchy.place_of(cpu) as u16)
                .collect(),
            rings: Rings::new(&between, caches, machine.transfers.len()),
            between,
            transfers: machine.transfers.iter().map(Transfer::new).collect(),
            hit: Hit {
                load: cycles(&machine.hit.load),
                store: cycles(&machine.hit.store),
                rmw: cycles(&machine.hit.rmw),
            },
            invalidate_each: cycles(&machine.invalidation.each),
            node_of: of_cache(&node_of_cpu),
            node_cpu,
            memory,
            refill: cycles(&machine.cache.refill),
            last_level_of: of_cache(&last_level),
            last_levels: count(&last_level),
            last_level_lines: machine.cache.shared.value as usize,
            links: Links::new(machine, &cohorts, &cache_cpu),
            costs: Costs::new(machine),
            scheduler: Scheduler::new(machine, rate),
            slowdown: machine.smt.as_ref().map_or_else(
                || vec![ONE],
                |smt| smt.slowdown.value.iter().copied().map(factor).collect(),
            ),
            spinning: machine
                .smt
                .as_ref()
                .map_or(ONE, |smt| factor(smt.spinning.value)),
            own_slowdown,
            cache_of,
            first_cpus: cohorts
                .iter()
                .map(|of_cpu| representatives(of_cpu, self::count(of_cpu)))
                .collect(),
            cohorts,
        }
    }

    /// The machine's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of CPUs.
    #[must_use]
    pub const fn cpus(&self) -> usize {
        self.cpus
    }

    /// The names of its levels, smallest cohort first.
    #[must_use]
    pub fn levels(&self) -> &[String] {
        &self.levels
    }

    /// The cohort to which a CPU belongs, by level; smallest first.
    ///
    /// # Panics
    /// If there is no such CPU or level.
    #[must_use]
    pub fn cohort(&self, level: usize, cpu: usize) -> usize {
        self.cohorts[level][cpu] as usize
    }

    /// The first CPU of a cohort, if it exists.
    pub(crate) fn first_cpu(&self, level: usize, cohort: usize) -> Option<usize> {
        self.first_cpus[level].get(cohort).map(|cpu| *cpu as usize)
    }

    /// The distance between two different caches, as an index of `transfers`.
    #[inline]
    pub(crate) fn distance(&self, one: usize, other: usize) -> usize {
        self.between[one * self.caches + other] as usize
    }

    /// A cache's cost of a fetch from a node's memory.
    #[inline]
    pub(crate) fn memory(&self, cache: usize, node: usize) -> Ticks {
        self.memory[cache * self.node_cpu.len() + node]
    }

    /// A cache near a node's memory.
    pub(crate) fn cache_at(&self, node: usize) -> usize {
        self.cache_of[self.node_cpu[node] as usize] as usize
    }
}

impl Transfer {
    fn new(transfer: &crate::description::Transfer) -> Self {
        let load = cycles(&transfer.load);
        let name = match transfer.hops {
            0 => transfer.within.clone(),
            hops => format!("{}, {hops} hops", transfer.within),
        };
        Self {
            name,
            load,
            clean: transfer.clean.as_ref().map_or(load, cycles),
            store: cycles(&transfer.store),
            rmw: cycles(&transfer.rmw),
            invalidate: cycles(&transfer.invalidate),
            occupancy: cycles(&transfer.occupancy),
        }
    }
}

impl Costs {
    fn new(machine: &Machine) -> Self {
        let costs = &machine.costs;
        Self {
            instruction: cycles(&costs.instruction),
            per_instruction: costs.per_instruction.as_ref().map(|cost| cost.value),
            clock: cycles(costs.clock.as_ref().unwrap_or(&costs.fence)),
            overlap: costs
                .overlap
                .as_ref()
                .map_or(1, |misses| misses.value as usize),
            pause: cycles(&costs.pause).max(1),
            fence: cycles(&costs.fence),
            store_buffer: costs.store_buffer.value as usize,
            failures: costs.failures.as_ref().map_or(FAILURES, |failures| {
                u32::try_from(failures.value).unwrap_or(u32::MAX)
            }),
            failed_conditional: costs.failed_conditional.as_ref().map_or(0, cycles),
        }
    }
}

impl Costs {
    /// The instructions before each access of code that executes so many of them, on average; none
    /// if they are not counted.
    pub(crate) fn before_access(&self, counted: Option<f64>) -> Ticks {
        match (counted, self.per_instruction) {
            (Some(counted), Some(each)) => {
                ((counted * each * CYCLE as f64).round() as Ticks).max(1)
            }
            _ => self.instruction,
        }
    }
}

impl Scheduler {
    fn new(machine: &Machine, rate: Rate) -> Self {
        let scheduler = &machine.scheduler;
        Self {
            period: rate.ticks(scheduler.period.value),
            slice: rate.ticks(scheduler.slice.value).max(1),
            switch: rate.ticks(scheduler.switch.value),
            system_call: rate.ticks(scheduler.system_call.value),
            sleep: rate.ticks(scheduler.sleep.value),
            wake: rate.ticks(scheduler.wake.value),
            wake_latency: rate.ticks(scheduler.wake_latency.value),
            yield_alone: rate.ticks(scheduler.yield_alone.value).max(1),
            migration: rate.ticks(scheduler.migration.value),
            balance: rate.ticks(scheduler.balance.value).max(1),
        }
    }
}

impl Links {
    /// The links that a transfer from one cache to another crosses.
    #[inline]
    pub(crate) fn way(&self, caches: usize, from: usize, to: usize) -> &[u16] {
        if self.rooms[from] == self.rooms[to] {
            return &[];
        }
        let (start, count) = self.spans[from * caches + to];
        &self.ways[start as usize..start as usize + count as usize]
    }

    fn new(machine: &Machine, cohorts: &[Vec<u16>], cache_cpu: &[u16]) -> Self {
        let mut links = Self::default();
        let specs: Vec<Spec<'_>> = machine
            .links
            .iter()
            .map(|link| Spec::new(&mut links, machine, cohorts, link))
            .collect();
        // The cohorts of the smallest level with links.
        let finest = specs.iter().max_by_key(|spec| spec.count);
        let room = |cpu: &u16| finest.map_or(0, |spec| spec.connected[*cpu as usize]);
        links.rooms = cache_cpu.iter().map(room).collect();
        for from in cache_cpu {
            for to in cache_cpu {
                let start = links.ways.len();
                if from != to {
                    for spec in &specs {
                        spec.cross(machine, *from as usize, *to as usize, &mut links.ways);
                    }
                }
                let count = links.ways.len() - start;
                links.spans.push((start as u32, count as u8));
            }
        }
        links
    }
}

/// The links of one kind, and their place among all.
struct Spec<'a> {
    shape: Shape,
    /// The connected cohort of each CPU, and the larger cohort around it.
    connected: &'a [u16],
    within: &'a [u16],
    count: usize,
    first: usize,
    hops: bool,
}

impl<'a> Spec<'a> {
    fn new(links: &mut Links, machine: &Machine, cohorts: &'a [Vec<u16>], link: &Link) -> Self {
        let level = machine
            .hierarchy
            .level(&link.between)
            .expect("a description's links name levels");
        let larger = (level + 1).min(cohorts.len() - 1);
        let first = links.occupancy.len();
        let (connected, within) = (&cohorts[level], &cohorts[larger]);
        let count = count(connected);
        let names: Vec<String> = match link.shape {
            Shape::Shared => {
                let name = |one| format!("{} {one}", machine.hierarchy.levels()[larger].name);
                (0..self::count(within)).map(name).collect()
            }
            Shape::Port => {
                let name = |one| format!("{} {one}", link.between);
                (0..count).map(name).collect()
            }
            Shape::Pair => (0..count * count)
                .map(|pair| format!("{} {}–{}", link.between, pair / count, pair % count))
                .collect(),
        };
        links
            .occupancy
            .extend(names.iter().map(|_| cycles(&link.occupancy)));
        links.names.extend(names);
        let hops = &machine.hops;
        Self {
            shape: link.shape,
            connected,
            within,
            count,
            first,
            hops: hops
                .as_ref()
                .is_some_and(|hops| machine.hierarchy.level(&hops.between) == Some(level)),
        }
    }

    /// Adds the links that a transfer between two CPUs crosses.
    fn cross(&self, machine: &Machine, from: usize, to: usize, way: &mut Vec<u16>) {
        let ends = [self.connected[from] as usize, self.connected[to] as usize];
        let rooms = [self.within[from] as usize, self.within[to] as usize];
        if ends[0] == ends[1] {
            return;
        }
        let mut add = |link: usize| way.push((self.first + link) as u16);
        match self.shape {
            Shape::Shared => {
                add(rooms[0]);
                if rooms[1] != rooms[0] {
                    add(rooms[1]);
                }
            }
            Shape::Port => ends.into_iter().for_each(add),
            // The links of the larger cohorts serve ways between them.
            Shape::Pair if rooms[0] != rooms[1] => {}
            Shape::Pair => {
                let route = match &machine.hops {
                    Some(hops) if self.hops => hops.route(ends[0], ends[1]),
                    _ => ends.to_vec(),
                };
                for pair in route.windows(2) {
                    let (low, high) = (pair[0].min(pair[1]), pair[0].max(pair[1]));
                    add(low * self.count + high);
                }
            }
        }
    }
}

/// The number of a level's cohorts.
fn count(cohort_of: &[u16]) -> usize {
    cohort_of.iter().max().map_or(0, |last| *last as usize + 1)
}

/// The first CPU of each cohort.
fn representatives(cohort_of: &[u16], count: usize) -> Vec<u16> {
    let mut first = vec![0; count];
    for (cpu, cohort) in cohort_of.iter().enumerate().rev() {
        first[*cohort as usize] = cpu as u16;
    }
    first
}

impl Scheduler {
    /// A thread's time slice, with that many threads on its CPU, itself included.
    pub(crate) fn slice_among(&self, threads: usize) -> Ticks {
        (self.period / threads.max(1) as Ticks).max(self.slice)
    }
}
