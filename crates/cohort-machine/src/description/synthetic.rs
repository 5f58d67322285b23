//! A machine of another shape with the costs of a known one.

use super::complaint::Complaint;
use super::costs::{Smt, Transfer};
use super::figure::{Cycles, Figure, Ratio, Ratios, Source, Unit};
use super::hierarchy::{Hierarchy, Numbering, PU};
use super::machine::Machine;
use super::write::is_figure;
use super::{check, hierarchy};
use toml_edit::{DocumentMut, Item, Value};

/// The text of a file for a machine called `name` of the shape `notation` (hwloc's synthetic
/// notation), with the costs of `like`.
///
/// - A distance within a level that `like` has too: the same cost.
/// - The largest distance: the cost of `like`'s largest, over one hop.
/// - A distance between two of these: the geometric mean of the nearest ones inside and outside.
/// - A distance inside all of these: the cost of `like`'s smallest.
///
/// Links stay if both machines have their level. Hops and core classes belong to `like`'s own CPUs
/// and are left out. Every figure is an estimate that names `like`.
///
/// # Errors
/// States the error in the notation, in the name, or in the resulting machine.
pub fn synthetic(notation: &str, like: &Machine, name: &str) -> Result<String, String> {
    check::name(name)?;
    let numbering = match like.hierarchy.numbering() {
        Numbering::ThreadsApart => Numbering::ThreadsApart,
        Numbering::Consecutive | Numbering::Listed(_) => Numbering::Consecutive,
    };
    let hierarchy = Hierarchy::parse(notation)?.numbered(numbering)?;
    let mut machine = Machine {
        name: name.to_owned(),
        about: format!("{} CPUs at the costs of {}", hierarchy.cpus(), like.name),
        described: format!("made from {}", like.name),
        classes: Vec::new(),
        hops: None,
        ..like.clone()
    };
    if like.transfers.is_empty() {
        return Err(format!(
            "{} has no transfer costs: all its CPUs share one cache; choose another machine",
            like.name
        ));
    }
    settle(&mut machine, &hierarchy);
    machine.transfers = transfers(&hierarchy, like, &machine);
    machine.smt = smt(&hierarchy, like);
    machine.links.retain(|link| {
        let level = hierarchy.level(&link.between);
        level.is_some_and(|level| hierarchy.levels()[level].cohorts > 1)
    });
    machine.hierarchy = hierarchy;
    let text = machine.to_toml().map_err(|error| error.to_string())?;
    let text = estimated(&text, &like.name)?;
    match Machine::parse(&text) {
        Ok(_) => Ok(text),
        Err(Complaint { message, .. }) => Err(message),
    }
}

/// Assigns memory and caches to levels that the shape has.
fn settle(machine: &mut Machine, hierarchy: &Hierarchy) {
    let first = |names: &[&str]| {
        let has = |name: &&&str| hierarchy.level(name).is_some();
        (*names.iter().find(has).unwrap_or(&hierarchy::SYSTEM)).to_owned()
    };
    let memory = machine.memory.of.clone();
    machine.memory.of = first(&[&memory, "numa", "package", "blade"]);
    if machine.cache.private_to != PU && hierarchy.level(&machine.cache.private_to).is_none() {
        machine.cache.private_to = hierarchy.level("core").map_or(PU, |_| "core").to_owned();
    }
    let shared = machine.cache.shared_by.clone();
    machine.cache.shared_by = first(&[&shared, "cache", "numa", "package", "blade"]);
}

/// A transfer for each distance of the shape.
fn transfers(hierarchy: &Hierarchy, like: &Machine, machine: &Machine) -> Vec<Transfer> {
    let private = hierarchy.level(&machine.cache.private_to);
    let memory = hierarchy.level(&machine.memory.of);
    let levels: Vec<usize> = check::distances(hierarchy, private, None)
        .into_iter()
        .map(|(level, _)| level)
        .collect();
    let known: Vec<Option<Transfer>> = levels
        .iter()
        .enumerate()
        .map(|(index, level)| {
            if index + 1 == levels.len() {
                farthest(like)
            } else {
                same(&hierarchy.levels()[*level].name, like)
            }
        })
        .collect();
    let mut transfers = Vec::new();
    for (index, level) in levels.iter().enumerate() {
        let inside = known[..index].iter().rev().flatten().next();
        let outside = known[index..].iter().flatten().next();
        let mut transfer = match (&known[index], inside, outside) {
            (Some(transfer), ..) => transfer.clone(),
            (None, Some(inside), Some(outside)) => mean(inside, outside, &like.memory.local),
            _ => like.transfers[0].clone(),
        };
        transfer.within.clone_from(&hierarchy.levels()[*level].name);
        transfer.hops = 0;
        let local = || noted(&like.memory.local, "the local memory's");
        transfer.memory = (Some(*level) > memory).then(|| transfer.memory.unwrap_or_else(local));
        transfers.push(transfer);
    }
    transfers
}

/// The transfer within a level of that name.
fn same(name: &str, like: &Machine) -> Option<Transfer> {
    let level = like.hierarchy.smallest_alike(like.hierarchy.level(name)?);
    let name = &like.hierarchy.levels()[level].name;
    like.transfers
        .iter()
        .find(|transfer| transfer.within == *name && transfer.hops <= 1)
        .map(|transfer| described(transfer, name))
}

/// The transfer of the largest distance, over one hop if there are several.
fn farthest(like: &Machine) -> Option<Transfer> {
    let farthest = like.transfers.iter().rfind(|transfer| transfer.hops <= 1)?;
    Some(described(farthest, &farthest.within))
}

fn described(transfer: &Transfer, name: &str) -> Transfer {
    let note = format!("as within `{name}`");
    costs(transfer, transfer, |cost, _| noted(cost, &note))
}

fn mean(inside: &Transfer, outside: &Transfer, local: &Figure<Cycles>) -> Transfer {
    let mut inside = inside.clone();
    inside.memory.get_or_insert_with(|| local.clone());
    let note = format!("between `{}` and `{}`", inside.within, outside.within);
    costs(&inside, outside, |near, far| Figure {
        value: (near.value * far.value).isqrt(),
        range: between(near, far),
        ..noted(near, &note)
    })
}

/// The range of such a mean, if both figures have one.
fn between(near: &Figure<Cycles>, far: &Figure<Cycles>) -> Option<[u64; 2]> {
    let (near, far) = (near.range?, far.range?);
    Some([0, 1].map(|end| (near[end] * far[end]).isqrt()))
}

/// A transfer with the combined costs of two others.
fn costs(
    one: &Transfer,
    other: &Transfer,
    cost: impl Fn(&Figure<Cycles>, &Figure<Cycles>) -> Figure<Cycles>,
) -> Transfer {
    let both = |one: &Option<Figure<Cycles>>, other: &Option<Figure<Cycles>>| {
        Some(cost(one.as_ref()?, other.as_ref()?))
    };
    Transfer {
        within: one.within.clone(),
        hops: one.hops,
        load: cost(&one.load, &other.load),
        clean: both(&one.clean, &other.clean),
        store: cost(&one.store, &other.store),
        rmw: cost(&one.rmw, &other.rmw),
        invalidate: cost(&one.invalidate, &other.invalidate),
        occupancy: cost(&one.occupancy, &other.occupancy),
        memory: both(&one.memory, &other.memory),
    }
}

fn noted<U: Unit>(figure: &Figure<U>, note: &str) -> Figure<U> {
    Figure {
        value: figure.value.clone(),
        range: figure.range.clone(),
        source: Source::Estimate,
        note: note.to_owned(),
    }
}

/// The slowdown by hardware threads of a core.
fn smt(hierarchy: &Hierarchy, like: &Machine) -> Option<Smt> {
    let threads = check::threads(hierarchy);
    if threads == 1 {
        return None;
    }
    let usual = || Smt {
        slowdown: Figure {
            value: vec![1.0, 1.6],
            range: Some([vec![1.0, 1.36], vec![1.0, 1.84]]),
            source: Source::Estimate,
            note: "has one thread per core; two run 25 % more than one".to_owned(),
        },
        spinning: Figure::<Ratio> {
            value: 0.5,
            range: Some([0.25, 0.75]),
            source: Source::Estimate,
            note: "has one thread per core; a spin hint leaves half to the others".to_owned(),
        },
    };
    let mut smt = like.smt.clone().unwrap_or_else(usual);
    let slowdown: &mut Figure<Ratios> = &mut smt.slowdown;
    slowdown.value.truncate(threads);
    for end in slowdown.range.iter_mut().flatten() {
        end.truncate(threads);
    }
    // Of a lone thread it is known.
    slowdown.range = slowdown.range.take().filter(|[least, most]| least != most);
    Some(smt)
}

/// The file with every figure as an estimate that names the source machine.
fn estimated(text: &str, like: &str) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(|error| format!("{error}"))?;
    for (_, item) in document.iter_mut() {
        mark(item, like);
    }
    Ok(document.to_string())
}

fn mark(item: &mut Item, like: &str) {
    match item {
        Item::Value(Value::InlineTable(figure)) if is_figure(figure) => {
            let note = figure
                .get("note")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let note = format!("{like}: {note}");
            for (key, value) in [("source", Source::Estimate.name()), ("note", note.as_str())] {
                if let Some(old) = figure.get_mut(key) {
                    let decor = old.decor().clone();
                    *old = value.into();
                    *old.decor_mut() = decor;
                }
            }
        }
        Item::Table(table) => table.iter_mut().for_each(|(_, item)| mark(item, like)),
        Item::ArrayOfTables(tables) => tables
            .iter_mut()
            .flat_map(toml_edit::Table::iter_mut)
            .for_each(|(_, item)| mark(item, like)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::shipped;
    use super::*;

    fn made(notation: &str, like: &str) -> Machine {
        let like = shipped::find(like).unwrap();
        let text = synthetic(notation, &like, "what-if").unwrap();
        Machine::parse(&text).unwrap()
    }

    fn loads(machine: &Machine) -> Vec<(&str, u64)> {
        let load = |transfer: &'_ Transfer| transfer.load.value;
        machine
            .transfers
            .iter()
            .map(|transfer| (&*transfer.within, load(transfer)))
            .collect()
    }

    #[test]
    fn levels_of_the_same_name_cost_the_same() {
        let like = shipped::find("epyc-7352x2").unwrap();
        let load = |index: usize| like.transfers[index].load.value;
        let machine = made("pack:4 numa:1 l3:8 core:4 pu:2", "epyc-7352x2");
        assert_eq!(machine.hierarchy.cpus(), 256);
        assert_eq!(
            loads(&machine),
            [
                ("core", load(0)),
                ("cache", load(1)),
                ("numa", load(2)),
                ("system", load(3))
            ]
        );
        assert!(machine.smt.is_some());
        assert_eq!(machine.links.len(), 1);
    }

    #[test]
    fn what_lies_between_costs_the_geometric_mean() {
        let like = shipped::find("epyc-7352x2").unwrap();
        let load = |index: usize| like.transfers[index].load.value;
        let machine = made("pack:4 numa:2 l3:8 core:4 pu:2", "epyc-7352x2");
        let between = (load(2) * load(3)).isqrt();
        // One package was one node; here it has two.
        assert_eq!(
            loads(&machine)[2..],
            [("numa", load(2)), ("package", load(2)), ("system", load(3))]
        );
        let machine = made("blade:2 pack:2 l3:8 core:4 pu:2", "epyc-7352x2");
        assert_eq!(
            loads(&machine)[2..],
            [
                ("package", load(2)),
                ("blade", between),
                ("system", load(3))
            ]
        );
    }

    #[test]
    fn every_shape_can_be_had_at_every_machine_s_costs() {
        for file in shipped::all() {
            for notation in [
                "pu:1",
                "pu:2",
                "core:4 pu:4",
                "numa:2 core:2 pu:1",
                "blade:2 package:2 numa:2 cache:2 core:2 pu:2",
            ] {
                let machine = made(notation, file.name);
                assert!(machine.hops.is_none());
                assert!(
                    machine
                        .costs
                        .pause
                        .note
                        .starts_with(&format!("{}: ", file.name))
                );
                assert!(machine.costs.pause.source == Source::Estimate);
            }
        }
    }

    #[test]
    fn a_bad_shape_or_name_is_refused() {
        let like = shipped::find("kunpeng-920x2").unwrap();
        assert!(
            synthetic("core:2", &like, "x")
                .unwrap_err()
                .contains("`pu:N`")
        );
        let alone = Machine {
            transfers: Vec::new(),
            ..like.clone()
        };
        let message = synthetic("pu:2", &alone, "x").unwrap_err();
        assert!(
            message.starts_with("kunpeng-920x2 has no transfer costs"),
            "{message}"
        );
        assert!(
            synthetic("pu:2", &like, "a b")
                .unwrap_err()
                .contains("`a b`")
        );
    }
}
