//! Machines with one change, for counterfactuals: the row's result with another estimate in a
//! machine's file or model.

use cohort_machine::description::{End, Figure, Machine, Protocol, Source, Unit, shipped};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

/// Shipped machine with one change.
struct Variant {
    name: &'static str,
    of: &'static str,
    change: fn(&mut Machine),
}

const VARIANTS: &[Variant] = &[
    Variant {
        name: "sparc-t5440, MESI",
        of: "sparc-t5440",
        change: |machine| machine.protocol.value = Protocol::Mesi,
    },
    Variant {
        name: "sunfire-x4800, sockets 1.5 times as far",
        of: "sunfire-x4800",
        change: |machine| farther(machine, 3, 2),
    },
    Variant {
        name: "sunfire-x4800, sockets 2 times as far",
        of: "sunfire-x4800",
        change: |machine| farther(machine, 2, 1),
    },
    Variant {
        name: "kunpeng-920x2, reads keep a line busy 3 times as long",
        of: "kunpeng-920x2",
        change: |machine| {
            for transfer in &mut machine.transfers {
                transfer.occupancy.value *= 3;
            }
        },
    },
    Variant {
        name: "kunpeng-920x2, store-conditionals fail without end",
        of: "kunpeng-920x2",
        change: |machine| {
            let endless = estimate(u64::MAX, "no core guarantees progress");
            machine.costs.failures = Some(endless);
        },
    },
    Variant {
        name: "xeon-e7-4850x4, counted instructions",
        of: "xeon-e7-4850x4",
        change: |machine| count_instructions(machine, 0.7),
    },
    Variant {
        name: "xeon-e7-4850x4, counted instructions, two cycles each",
        of: "xeon-e7-4850x4",
        change: |machine| count_instructions(machine, 2.0),
    },
    Variant {
        name: "opteron-6274x8, counted instructions",
        of: "opteron-6274x8",
        change: |machine| count_instructions(machine, 1.0),
    },
    Variant {
        name: "opteron-6274x8, counted instructions, two cycles each",
        of: "opteron-6274x8",
        change: |machine| count_instructions(machine, 2.0),
    },
    Variant {
        name: "epyc-7352x2, invalidations 2 times as dear",
        of: "epyc-7352x2",
        change: |machine| {
            for transfer in &mut machine.transfers {
                transfer.invalidate.value *= 2;
            }
        },
    },
    Variant {
        name: "epyc-7352x2, 8 misses in flight",
        of: "epyc-7352x2",
        change: |machine| {
            machine.costs.overlap = Some(estimate(8, "usual for its class"));
        },
    },
    Variant {
        name: "haswell-ep-2s, invalidations at no cost",
        of: "haswell-ep-2s",
        change: free_invalidations,
    },
    Variant {
        name: "ivy-bridge-2s, invalidations at no cost",
        of: "ivy-bridge-2s",
        change: free_invalidations,
    },
    Variant {
        name: "sparc-t4-1, 10 times the instructions",
        of: "sparc-t4-1",
        change: |machine| machine.costs.instruction.value *= 10,
    },
];

fn estimate<U: Unit>(value: U::Value, note: &str) -> Figure<U> {
    Figure {
        value,
        range: None,
        source: Source::Estimate,
        note: note.to_owned(),
    }
}

/// Charges locks' counted instructions with so many cycles each, and readings of the clock as
/// Zhang et al. 2017 §4.2 measured them: about 100 cycles for the two of a section.
fn count_instructions(machine: &mut Machine, each: f64) {
    let note = "two to four a cycle at most, and branches and dependences in code of locks";
    machine.costs.per_instruction = Some(estimate(each, note));
    machine.costs.clock = Some(Figure {
        source: Source::Paper,
        ..estimate(50, "001 §4.2")
    });
}

fn free_invalidations(machine: &mut Machine) {
    for transfer in &mut machine.transfers {
        transfer.invalidate.value = 0;
    }
    machine.invalidation.each.value = 0;
}

/// Makes transfers between the largest cohorts slower by `times / over`.
fn farther(machine: &mut Machine, times: u64, over: u64) {
    let Some(system) = machine.transfers.last().map(|one| one.within.clone()) else {
        return;
    };
    let far = machine.transfers.iter_mut();
    for transfer in far.filter(|one| one.within == system) {
        let costs = [
            &mut transfer.load,
            &mut transfer.store,
            &mut transfer.rmw,
            &mut transfer.invalidate,
        ];
        for cost in costs.into_iter().chain(&mut transfer.clean) {
            cost.value = cost.value * times / over;
        }
    }
}

/// The name of the machine that a variant is of; of another machine, its own.
pub fn unchanged(name: &str) -> &str {
    name.split_once(", ").map_or(name, |(of, _)| of)
}

/// The machine of that name, if it is a variant of a shipped one.
pub fn find(name: &str) -> Option<Machine> {
    let Some(variant) = VARIANTS.iter().find(|variant| variant.name == name) else {
        return at_end(name);
    };
    let mut machine = shipped::find(variant.of)?;
    (variant.change)(&mut machine);
    variant.name.clone_into(&mut machine.name);
    machine.fingerprint.push_str(", changed");
    Some(machine)
}

/// The last words of a shipped machine's estimates.
pub(super) fn ranged(machine: &str) -> Vec<&'static str> {
    let entries = shipped::find(machine).map_or_else(Vec::new, |machine| machine.entries());
    let ranged = entries.iter().filter(|entry| entry.range.is_some());
    let words: BTreeSet<&str> = ranged
        .filter_map(|entry| entry.figure.rsplit(' ').next())
        .collect();
    words.into_iter().map(interned).collect()
}

/// The machine of that name, if it is a shipped one at an end of estimates.
fn at_end(name: &str) -> Option<Machine> {
    let (machine, change) = name.split_once(", ")?;
    let (end, estimate) = change.split_once(' ')?;
    let end = End::BOTH.into_iter().find(|one| one.name() == end)?;
    shipped::find(machine)?.at_end(estimate, end).ok()
}

/// A word for the rest of the process: points name their machines so.
pub(super) fn interned(word: &str) -> &'static str {
    static WORDS: Mutex<BTreeMap<String, &'static str>> = Mutex::new(BTreeMap::new());
    let mut words = WORDS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = words.get(word) {
        return known;
    }
    let kept: &'static str = Box::leak(word.to_owned().into_boxed_str());
    words.insert(word.to_owned(), kept);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variant_differs_from_its_machine() {
        for variant in VARIANTS {
            assert_eq!(unchanged(variant.name), variant.of);
            let of = shipped::find(variant.of).unwrap();
            let mut changed = find(variant.name).unwrap();
            assert_ne!(changed.fingerprint, of.fingerprint, "{}", variant.name);
            changed.name.clone_from(&of.name);
            changed.fingerprint.clone_from(&of.fingerprint);
            assert_ne!(
                format!("{changed:?}"),
                format!("{of:?}"),
                "{}",
                variant.name
            );
        }
    }
}
