//! Checks between the parts of a machine's file.

use super::costs::{Cache, CoreClass, Costs, Hit, Memory, Smt, Transfer};
use super::figure::{Count, Figure};
use super::hierarchy::{Hierarchy, PU};
use super::interconnect::{Hops, Link};
use super::machine::Atomics;
use super::nearest;
use std::collections::BTreeSet;

/// The index of the level with that name; on failure, the expected names.
fn level(hierarchy: &Hierarchy, name: &str) -> Result<usize, String> {
    hierarchy.level(name).ok_or_else(|| {
        let names: Vec<&str> = hierarchy
            .levels()
            .iter()
            .map(|level| &*level.name)
            .collect();
        format!(
            "found the level `{name}`, expected one of this machine's: {}{}",
            names.join(", "),
            nearest::hint(name, names.iter().copied())
        )
    })
}

pub fn name(name: &str) -> Result<(), String> {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    if name.starts_with(|first: char| first.is_ascii_alphanumeric()) && name.chars().all(allowed) {
        Ok(())
    } else {
        Err(format!(
            "found the name `{name}`, expected letters, digits, `-`, `_` and `.`, the first a \
             letter or a digit"
        ))
    }
}

pub fn line(bytes: &Figure<Count>) -> Result<(), String> {
    if bytes.value.is_power_of_two() && (16..=256).contains(&bytes.value) {
        Ok(())
    } else {
        Err(format!(
            "found lines of {} bytes, expected a power of two from 16 to 256",
            bytes.value
        ))
    }
}

pub fn failed_conditional(atomics: Atomics, given: bool) -> Result<(), String> {
    match (atomics, given) {
        (Atomics::LoadLinked, false) => {
            Err("expected `failed-conditional`, since `atomics` is `ll/sc`".to_owned())
        }
        (Atomics::Native, true) => {
            Err("found `failed-conditional`, expected none, since `atomics` is `native`".to_owned())
        }
        _ => Ok(()),
    }
}

/// Checks that every loop takes virtual time. A loop without cost would never end.
pub fn time_passes(costs: &Costs, hit: &Hit) -> Result<(), String> {
    let hits = [
        ("load", &hit.load),
        ("store", &hit.store),
        ("rmw", &hit.rmw),
    ];
    let free = hits.iter().find(|(_, cost)| cost.value == 0);
    match free {
        Some((name, _)) if costs.instruction.value == 0 => Err(format!(
            "found `instruction` and the hit's `{name}` of 0 cycles, expected 1 or more for one of \
             them: a loop would take no time"
        )),
        _ => Ok(()),
    }
}

/// Checks that a CPU makes progress with its misses and its instructions.
pub fn code(costs: &Costs) -> Result<(), String> {
    if costs
        .overlap
        .as_ref()
        .is_some_and(|misses| misses.value == 0)
    {
        return Err(
            "found an `overlap` of 0 misses, expected 1 or more: 1 serves one miss after the other"
                .to_owned(),
        );
    }
    if costs
        .per_instruction
        .as_ref()
        .is_some_and(|cost| cost.value == 0.0)
    {
        return Err(
            "found a `per-instruction` of 0, expected more: remove it to charge `instruction` for \
             each access"
                .to_owned(),
        );
    }
    Ok(())
}

/// Checks that all nodes can reach each other.
pub fn hops(hierarchy: &Hierarchy, hops: &Hops) -> Result<(), String> {
    let nodes = hierarchy.levels()[level(hierarchy, &hops.between)?].cohorts;
    if hops.matrix.len() != nodes || hops.matrix.iter().any(|row| row.len() != nodes) {
        let widths: BTreeSet<usize> = hops.matrix.iter().map(Vec::len).collect();
        return Err(format!(
            "found a matrix of {} rows with {} entries, expected {nodes} of {nodes}: the machine \
             has {nodes} of the level `{}`",
            hops.matrix.len(),
            widths
                .iter()
                .map(usize::to_string)
                .collect::<Vec<_>>()
                .join(" or "),
            hops.between
        ));
    }
    for (from, row) in hops.matrix.iter().enumerate() {
        for (to, &count) in row.iter().enumerate() {
            let back = hops.matrix[to][from];
            if count != back {
                return Err(format!(
                    "found {count} hops from {from} to {to} and {back} back, expected equal numbers"
                ));
            }
            if (count == 0) != (from == to) {
                return Err(format!(
                    "found {count} hops from {from} to {to}, expected 0 from a node to itself \
                     and 1 or more to any other"
                ));
            }
            let closer = |next: usize| row[next] == 1 && hops.matrix[next][to] + 1 == count;
            if count > 1 && !(0..nodes).any(closer) {
                return Err(format!(
                    "found {count} hops from {from} to {to}, expected a neighbour of {from} that \
                     is {} away from {to}",
                    count - 1
                ));
            }
        }
    }
    Ok(())
}

/// Every possible distance between two private caches, as level and hops, the nearest first.
pub fn distances(
    hierarchy: &Hierarchy,
    private: Option<usize>,
    hops: Option<&Hops>,
) -> BTreeSet<(usize, u64)> {
    let mut distances = BTreeSet::new();
    let nodes = hops.and_then(|hops| hierarchy.level(&hops.between));
    for at in hierarchy.distinct().filter(|at| Some(*at) > private) {
        match (hops, nodes) {
            (Some(hops), Some(nodes)) if at > nodes => {
                let each = hierarchy.levels()[nodes].cpus;
                let together = hierarchy.levels()[at].cpus / each;
                let inside = hierarchy.levels()[at - 1].cpus / each;
                for (from, row) in hops.matrix.iter().enumerate() {
                    for (to, &count) in row.iter().enumerate() {
                        if from / together == to / together && from / inside != to / inside {
                            distances.insert((at, count));
                        }
                    }
                }
            }
            _ => {
                distances.insert((at, 0));
            }
        }
    }
    distances
}

/// The distance of a transfer, which must exist in the machine.
pub fn transfer(
    hierarchy: &Hierarchy,
    distances: &BTreeSet<(usize, u64)>,
    memory: usize,
    transfer: &Transfer,
) -> Result<(usize, u64), String> {
    let at = hierarchy.smallest_alike(level(hierarchy, &transfer.within)?);
    let distance = (at, transfer.hops);
    if !distances.contains(&distance) {
        let hops: Vec<String> = distances
            .iter()
            .filter(|(other, _)| *other == at)
            .map(|(_, hops)| hops.to_string())
            .collect();
        return Err(if hops.is_empty() {
            format!(
                "found a transfer within `{}`, expected none: CPUs that share one share a smaller \
                 cohort or a private cache too",
                transfer.within
            )
        } else {
            format!(
                "found `hops = {}` within `{}`, expected {}",
                transfer.hops,
                transfer.within,
                hops.join(" or ")
            )
        });
    }
    match (&transfer.memory, at > memory) {
        (None, true) => Err(format!(
            "expected `memory` for the transfer within `{}`: CPUs at this distance have different \
             memory",
            transfer.within
        )),
        (Some(_), false) => Err(format!(
            "found `memory` for the transfer within `{}`, expected none: its CPUs share memory, \
             with the cost `local` in [memory]",
            transfer.within
        )),
        _ => Ok(distance),
    }
}

/// Checks that each distance has one transfer.
pub fn complete(
    hierarchy: &Hierarchy,
    distances: &BTreeSet<(usize, u64)>,
    given: &[(usize, u64)],
) -> Result<(), String> {
    let named = |&(at, hops): &(usize, u64)| {
        let name = &hierarchy.levels()[at].name;
        match hops {
            0 => format!("`{name}`"),
            hops => format!("`{name}` over {hops} hops"),
        }
    };
    for distance in distances {
        match given.iter().filter(|other| *other == distance).count() {
            0 => {
                return Err(format!(
                    "expected a [[transfer]] within {}",
                    named(distance)
                ));
            }
            1 => {}
            more => {
                return Err(format!(
                    "found {more} transfers within {}, expected one",
                    named(distance)
                ));
            }
        }
    }
    Ok(())
}

/// The level of cohorts with memory.
pub fn memory(hierarchy: &Hierarchy, memory: &Memory) -> Result<usize, String> {
    level(hierarchy, &memory.of)
}

/// The level of cohorts with a private cache; none if each CPU has its own.
pub fn cache(hierarchy: &Hierarchy, cache: &Cache) -> Result<Option<usize>, String> {
    let shared = level(hierarchy, &cache.shared_by)?;
    if cache.private_to == PU {
        return Ok(None);
    }
    let private = level(hierarchy, &cache.private_to)?;
    if private > shared {
        return Err(format!(
            "found a cache private to `{}` and one shared by `{}`, expected the second level to \
             hold the first",
            cache.private_to, cache.shared_by
        ));
    }
    Ok(Some(private))
}

/// The number of CPUs per core.
pub fn threads(hierarchy: &Hierarchy) -> usize {
    hierarchy
        .level("core")
        .map_or(1, |core| hierarchy.levels()[core].cpus)
}

pub fn smt(hierarchy: &Hierarchy, smt: Option<&Smt>) -> Result<(), String> {
    let threads = threads(hierarchy);
    match smt {
        None if threads > 1 => Err(format!(
            "expected [smt]: a core of this hierarchy has {threads} CPUs"
        )),
        Some(_) if threads == 1 => {
            Err("found [smt], expected none: a core of this hierarchy has one CPU".to_owned())
        }
        Some(smt) if smt.slowdown.value.len() > threads => Err(format!(
            "found {} slowdowns, expected at most {threads}, one for each running CPU of a core",
            smt.slowdown.value.len()
        )),
        Some(smt) if smt.slowdown.value[0] > 1.0 => Err(format!(
            "found a slowdown of {} for a single CPU of a core, expected 1",
            smt.slowdown.value[0]
        )),
        Some(smt) if smt.spinning.value > 1.0 => Err(format!(
            "found `spinning` = {}, expected a share from 0 to 1",
            smt.spinning.value
        )),
        _ => Ok(()),
    }
}

pub fn class(
    hierarchy: &Hierarchy,
    class: &CoreClass,
    before: &[&CoreClass],
) -> Result<(), String> {
    let [first, last] = class.cpus;
    if first > last || last >= hierarchy.cpus() {
        return Err(format!(
            "found the CPUs {first} to {last}, expected a first and a last one from 0 to {}",
            hierarchy.cpus() - 1
        ));
    }
    if let Some(other) = before
        .iter()
        .find(|other| other.cpus[0] <= last && first <= other.cpus[1])
    {
        return Err(format!(
            "found a CPU in both `{}` and `{}`, expected each in one class at most",
            other.name, class.name
        ));
    }
    if class.slowdown.value < 1.0 {
        return Err(format!(
            "found a slowdown of {}, expected 1 or more: the clock is that of the fastest CPUs",
            class.slowdown.value
        ));
    }
    Ok(())
}

pub fn link(hierarchy: &Hierarchy, link: &Link, before: &[&Link]) -> Result<(), String> {
    let at = hierarchy.largest_alike(level(hierarchy, &link.between)?);
    if hierarchy.levels()[at].cohorts == 1 {
        return Err(format!(
            "found a link between cohorts of `{}`, expected a level with several cohorts",
            link.between
        ));
    }
    if before.iter().any(|other| {
        hierarchy
            .level(&other.between)
            .map(|at| hierarchy.largest_alike(at))
            == Some(at)
    }) {
        return Err(format!(
            "found a second link between cohorts of `{}`, expected one",
            link.between
        ));
    }
    Ok(())
}
